"""The numeric claims that the paper makes in its text and captions, as rows: the paper's number, ours, and a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ebformer.arena.summary import Cell, Paired, pair
from ebformer.reproduction.bench import Bench, paper


class Claim(NamedTuple):
    """A sentence of the paper, its number, ours, and whether they agree."""

    text: str
    theirs: str
    ours: str
    verdict: str


def claims(bench: Bench) -> Iterator[Claim]:
    """Every claim that the methods at hand allow to check."""
    tables, numbers = pair(bench.losses), paper("claims")
    largest = max(bench.scale.sizes)
    neural = {cell.n: paired for cell, paired in tables.items() if cell.world == "neural"}
    if _have(neural[largest], "T24r", "T24f"):
        ratio = float(np.mean([paired["T24r"].mean() / paired["T24f"].mean() for paired in neural.values()]))
        yield _claim("T24r's regret over T24f's, neural world, all n", numbers["T24r-over-T24f"], ratio, 0.2)
    if 2048 in neural and _have(neural[2048], "T24r", "L24r"):
        ratio = float(neural[2048]["L24r"].mean() / neural[2048]["T24r"].mean())
        yield _claim(
            "L24r's regret over T24r's, neural world, n = 2048", numbers["L24r-over-T24r-at-2048"], ratio, 0.15
        )
    if 4096 in neural:
        for name, key in (("npmle-em", "npmle-neural-4096"), ("T24f", "T24f-neural-4096")):
            if _have(neural[4096], name):
                ours = float(neural[4096][name].mean())
                yield _claim(f"{name}'s regret, neural world, n = 4096", numbers[key], ours, 0.15)
    yield from _time_claims(bench, float(numbers["npmle-seconds-over-T24r"]))
    yield from _length_claims(bench, tables)


def _time_claims(bench: Bench, hundred: float) -> Iterator[Claim]:
    seconds = {(timing.estimator, timing.n): timing.seconds for timing in bench.timings}
    n = 2048 if 2048 in bench.scale.sizes else max(bench.scale.sizes)
    if ("T24r", n) not in seconds:
        return
    for rival, note in (("npmle-em", "early-stopped EM"), ("npmle", "our certified solver")):
        ratio = seconds[rival, n] / seconds["T24r", n]
        verdict = "as claimed" if ratio > hundred / 2 else "our NPMLE runs on the tally and is far faster than theirs"
        yield Claim(f"seconds of NPMLE ({note}) over T24r's, n = {n}", f"{hundred:g}", f"{ratio:.2g}", verdict)
    ratio = seconds["T24r", n] / seconds["erm", n]
    verdict = "as claimed" if 0.2 < ratio < 5 else "ERM on the tally is a sort of a hundred numbers: far faster"
    yield Claim(f"seconds of T24r over ERM's, n = {n}", "comparable", f"{ratio:.2g}", verdict)


def _length_claims(bench: Bench, tables: dict[Cell, Paired]) -> Iterator[Claim]:
    if not {512, 2048} <= set(bench.scale.sizes):
        return
    for world in dict.fromkeys(cell.world for cell in tables):
        for name in ("T24r", "L24r"):
            before, after = tables[Cell(world, 512)], tables[Cell(world, 2048)]
            if _have(before, name):
                ratio = float(after[name].mean() / before[name].mean())
                verdict = "still falling" if ratio < 1 else "not falling"
                yield Claim(
                    f"{name}'s regret at n = 2048 over that at 512, {world}", "below 1", f"{ratio:.2f}", verdict
                )


def _have(paired: Paired, *names: str) -> bool:
    return all(name in paired.estimators for name in names)


def _claim(text: str, theirs: float, ours: float, tolerance: float) -> Claim:
    close = abs(ours / theirs - 1) <= tolerance
    verdict = "agrees" if close else ("ours is lower" if ours < theirs else "ours is higher")
    return Claim(text, f"{theirs:g}", f"{ours:.3g}", verdict)
