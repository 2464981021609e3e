"""The numeric claims that the paper makes in its text and captions, as rows."""

from __future__ import annotations

from collections.abc import Iterator

from ebformer.distributions import Floats
from ebformer.lab.arena.summary import Cell, Interval, Paired, interval, pair
from ebformer.lab.reproduction.bench import Bench
from ebformer.lab.reproduction.compare import Comparison, Entry, compared, comparison_table, out_of, paper, ratio, show
from ebformer.lab.reproduction.synthetic import time_comparisons
from ebformer.networks import zoo


def claims(bench: Bench) -> Entry:
    """Every claim, with a count of those that hold."""
    rows = [*regret_claims(bench), *time_comparisons(bench), *training_claims()]
    good = sum(row.word.startswith(("agrees", "as claimed", "holds")) for row in rows)
    word = (
        f"{out_of(good, len(rows)).capitalize()} claims hold as stated. Those about time compare the paper's GPUs and "
        "its slow NPMLE with one core and an NPMLE that works on the tally; those about networks compare networks "
        "trained here, for hours instead of days, with the published ones."
    )
    return Entry(word, [comparison_table("Claims in text and captions", rows)])


def regret_claims(bench: Bench) -> Iterator[Comparison]:
    """What is said about regret on [0, 50]."""
    tables, theirs = pair(bench.losses), paper("claims")
    sizes = bench.scale.sizes
    for n in sizes:
        of = ratio(*_columns(tables[Cell("neural", n)], "T24r", "T24f"))
        yield compared(f"T24r's regret over T24f's, neural, n = {n}", theirs["T24r over T24f"], of)
    of = ratio(*_columns(tables[Cell("neural", 2048)], "L24r", "T24r"))
    yield compared("L24r's regret over T24r's, neural, n = 2048", theirs["L24r over T24r at 2048"], of)
    for name, key in (("npmle-em", "npmle, neural, 4096"), ("T24f", "T24f, neural, 4096")):
        yield compared(f"{name}'s regret, neural, n = 4096", theirs[key], interval(tables[Cell("neural", 4096)][name]))
    of = ratio(*_columns(tables[Cell("neural", 4096)], "npmle-em", "T24f"))
    yield _ordered("npmle-em's regret over T24f's, neural, n = 4096", of)
    for world in ("neural", "multinomial", "least-favourable"):
        for name in ("T24r", "L24r"):
            of = ratio(tables[Cell(world, 2048)][name], tables[Cell(world, 512)][name])
            yield _ordered(f"{name}'s regret at n = 2048 over that at 512, {world}", of)
    for n in sizes:
        of = ratio(*_columns(tables[Cell("multinomial", n)], "L24r", "T24r"))
        yield _ordered(f"L24r's regret over T24r's, multinomial, n = {n}", of)
    of = ratio(*_columns(tables[Cell("least-favourable", 2048)], "T24r", "L24r"))
    yield _ordered("T24r's regret over L24r's, least-favourable, n = 2048", of)


def training_claims() -> Iterator[Comparison]:
    """What is said about the size and the training of the networks."""
    theirs = paper("claims")
    for name in ("T24r", "L24r"):
        weights = zoo.load(name)
        count, limit = weights.config.parameters, theirs["parameters at most"]
        word = "holds" if count <= limit else "more here: every layer has weights of its own"
        yield Comparison(f"parameters of {name}", f"at most {limit:,}", f"{count:,}", "exact", word)
        hours = float(weights.provenance.get("seconds", 0.0)) / 3600
        what = f"hours of training, {name} (ours: the last leg, on one core)"
        yield Comparison(
            what, f"{theirs[f'hours of {name}']:g}", f"{hours:.2g}", "exact", "other hardware, exact targets"
        )


def _ordered(what: str, of: Interval) -> Comparison:
    word = "holds" if of.high < 1 else "does not hold" if of.low > 1 else "undecided"
    return Comparison(what, "below 1", f"{of.mean:.3g}", show(of), word)


def _columns(paired: Paired, above: str, below: str) -> tuple[Floats, Floats]:
    return paired[above], paired[below]
