"""Do lists keep their promise? The share of false discoveries they have, and how many true ones beside the oracle's.

    python benchmarks/selection.py [--tables 20] [--fdr 0.1] [--channels poisson,normal] [--methods beta,..]
    python benchmarks/selection.py --channels normal-again --only "all zero 200" --tables 100 --verbose

Thirty worlds or more per channel: ten to thirteen priors, each with 200, 1,000 and 5,000 units of unequal exposure,
standard error or trials. Discoveries are rates above 1.5 times the mean, probabilities above 1.25 times the mean and
effects whose sign is right (an effect of exactly 0 has none, so it is none). The oracle knows the prior. A world breaks
the promise where its share of false discoveries, a mean over tables, is more than two standard errors above the stated
one. `power` is the number of true discoveries over the oracle's, a mean over worlds, and `short` counts worlds where it
is below 90 %.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from coverage import Draw, Report
from numpy.random import Generator
from numpy.typing import NDArray
from selection_worlds import HELD_OUT, WORLDS

import ebformer as eb
from ebformer.binning import coarsened
from ebformer.channels import channel_named
from ebformer.distributions import Posterior
from ebformer.estimators.catalogue import default_method
from ebformer.point_null import pointed
from ebformer.selection import Bar, Side, error, selected

Floats = NDArray[np.float64]
SIZES = (200, 1000, 5000)
DISTINCT = 512
"""Tables are fitted with so many distinct observations at most, as large tables are, which saves time."""
ATOMS = 1000
"""The oracle's prior: so many points with as much mass each."""


def true_prior(draw: Draw, rng: Generator) -> eb.Prior:
    """Quantiles of many draws: an atom of the law, such as an effect of exactly 0, stays where it is."""
    drawn = np.sort(draw(rng, 201 * ATOMS)).reshape(ATOMS, 201)
    return eb.Prior(drawn[:, 100], np.full(ATOMS, 1.0 / ATOMS))


def discoveries(
    after: Posterior, errors: Floats, theta: Floats, bar: float, side: Side, fdr: float
) -> tuple[float, int]:
    """The share of false discoveries in a list, and how many are true."""
    listed = selected(errors, np.ones(theta.size, dtype=np.int64), fdr)
    sign = np.where(after.exceeds(bar) > 0.5, 1.0, -1.0) if side == "apart" else 1.0
    true = (sign * (theta - bar) > 0)[listed]
    return float((~true).mean()) if true.size else 0.0, int(true.sum())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", type=int, default=4, help="how many tables of each world")
    parser.add_argument("--fdr", type=float, default=0.1)
    parser.add_argument("--channels", default="poisson,binomial,normal")
    parser.add_argument("--methods", help="others than the default, the conjugate one, npmle-em and full-bayes")
    parser.add_argument("--held-out", action="store_true", help="the worlds that no choice was made with")
    parser.add_argument("--only", default="", metavar="TEXT", help="only worlds with this in their name and size")
    parser.add_argument("--verbose", action="store_true", help="a line for each world as well")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page to put the table into")
    chosen, say = parser.parse_args(), Report("selection")
    say("")
    say("| channel | method | false discoveries | worst world | broken | power | short |")
    say("|" + " --- |" * 7)
    for name in chosen.channels.split(","):
        priors, knowns, bar_text, side = (HELD_OUT if chosen.held_out else WORLDS)[name]
        channel = channel_named(name.partition("-")[0])
        usual = [default_method(channel), str(channel.conjugate), "npmle-em", "full-bayes"]
        methods = chosen.methods.split(",") if chosen.methods else usual
        numbered = enumerate((prior, n) for prior in priors for n in SIZES)
        worlds = [(seed, prior, n) for seed, (prior, n) in numbered if chosen.only in f"{prior} {n}"]
        fdp, hits = (np.zeros((len(worlds), chosen.tables, 1 + len(methods))) for _ in range(2))
        for w, (seed, prior, n) in enumerate(worlds):
            rng = np.random.default_rng([seed, n])
            oracle = true_prior(priors[prior], rng)
            for table in range(chosen.tables):
                theta, known = priors[prior](rng, n), knowns(rng, n)
                x = channel.draw(theta, known, rng)
                tally = eb.Tally.of(x, known, channel=channel)
                bar = Bar.of(bar_text).at(tally.mean).number
                for m, method in enumerate([eb.Oracle(oracle), *map(eb.estimator, methods)]):
                    rule = method(coarsened(tally, DISTINCT))
                    if m > 0 and side == "apart":  # the oracle knows what is exactly at the null
                        rule = pointed(rule, bar)
                    after = rule.posterior(x, known)
                    errors = error(after, side, bar)
                    fdp[w, table, m], hits[w, table, m] = discoveries(after, errors, theta, bar, side, chosen.fdr)
            if chosen.verbose:
                spread = fdp[w].std(0, ddof=1) / np.sqrt(chosen.tables)
                each = zip(fdp[w].mean(0), spread, hits[w].mean(0), strict=True)
                cells = [f"{f:.3f} ± {s:.3f} ({h:.1f})" for f, s, h in each]
                print(f"| {prior} {n} | {' | '.join(cells)} |", flush=True)
        rate, spread = fdp.mean(axis=1), fdp.std(axis=1, ddof=1) / np.sqrt(chosen.tables)
        found = hits.mean(axis=1)
        told = found[:, 0] >= 1.0  # a world where even the oracle lists nobody tells nothing of power
        if len(worlds) < 2:
            continue
        for m, method in enumerate(["oracle", *methods]):
            broken = int((rate[:, m] > chosen.fdr + 2 * spread[:, m]).sum())
            power = (found[:, m] / np.maximum(found[:, 0], 1e-9))[told]
            cells = [
                f"{rate[:, m].mean():.3f} ± {rate[:, m].std(ddof=1) / np.sqrt(len(worlds)):.3f}",
                f"{rate[:, m].max():.3f}",
                f"{broken} of {len(worlds)}",
                f"{power.mean():.2f} ± {power.std(ddof=1) / np.sqrt(power.size):.2f}",
                f"{int((power < 0.9).sum())} of {power.size}",
            ]
            say(f"| {name} | {method} | {' | '.join(cells)} |")
    if chosen.write:
        say("")
        say.write(chosen.write)


if __name__ == "__main__":
    main()
