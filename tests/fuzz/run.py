"""Attack every door for as long as you like, and print what came of it.

    make fuzz MINUTES=5
    PYTHONPATH=tests python tests/fuzz/run.py --calls 10000 --figures figures.json

Cases that broke something are kept in tests/fuzz/found, one file each, where `make test` runs them again. With
--figures FILE the counts of this run are added to those in the file, and all of them are printed; with --calls a door
rests once the file has so many of its calls.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import signal
import time
from collections import Counter
from functools import reduce
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.doors import DOORS
from fuzz.judging import FAULTS, judged

FOUND = Path(__file__).parent / "found"
BATCH = 50
KINDS = ("answered", "refused", *FAULTS)
SLOWEST = "slowest, ms"
KEPT: set[tuple[str, str]] = set()
"""Doors and causes of which this run has kept a case."""


def attack(door: str, number: int) -> Counter[str]:
    """A batch of cases of one seed, what came of each, and the processor time of the slowest."""
    counted: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=BATCH,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(DOORS[door].cases)
    def one(case: object) -> None:
        outcome = judged(DOORS[door].run, json.loads(json.dumps(case)))
        counted[outcome.kind] += 1
        counted[SLOWEST] = max(counted[SLOWEST], math.ceil(1000 * outcome.seconds))
        if outcome.faulty:
            keep(door, case, f"{outcome.kind}: {outcome.what}")

    one()
    return counted


def keep(door: str, case: object, why: str) -> None:
    """The first counter-example of each cause as a file, and as a line on the terminal."""
    cause = "hang" if why.startswith("hang") else why
    if (door, cause) in KEPT:
        return
    KEPT.add((door, cause))
    text = json.dumps({"door": door, "why": why, "case": case}, indent=1, sort_keys=True)
    name = f"{door.replace(' ', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.json"
    FOUND.mkdir(exist_ok=True)
    (FOUND / name).write_text(text + "\n", encoding="utf-8")
    print(f"{door}: {why[:160]} -> {name}", flush=True)


def table(counts: dict[str, Counter[str]]) -> str:
    """The figures of every door, as the page has them."""
    lines = [f"| door | calls | {' | '.join(KINDS)} | slowest |", "| --- |" + " ---: |" * (len(KINDS) + 2)]
    for door, counted in [*counts.items(), ("all", reduce(added, counts.values()))]:
        figures = " | ".join(f"{counted[kind]:,}" for kind in KINDS)
        lines.append(f"| {door} | {calls(counted):,} | {figures} | {counted[SLOWEST] / 1000:.1f} s |")
    return "\n".join(lines)


def added(one: Counter[str], other: Counter[str]) -> Counter[str]:
    """The counts of both, and the slower of the two slowest calls."""
    both = one + other
    both[SLOWEST] = max(one[SLOWEST], other[SLOWEST])
    return both


def calls(counted: Counter[str]) -> int:
    return sum(counted[kind] for kind in KINDS)


def ended(number: int, _: object) -> None:
    """End the run at once: an exception would be taken for the fault of the case that it interrupts."""
    os._exit(128 + number)


def main() -> None:
    signal.signal(signal.SIGTERM, ended)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--calls", type=int, help="of every door, in place of the minutes")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="of the first batch; the next one's is one more"
    )
    parser.add_argument(
        "--door", action="append", choices=list(DOORS), help="only this one; may be given several times"
    )
    parser.add_argument("--figures", type=Path, help="a JSON file that counts add up in")
    given_ = parser.parse_args()
    counts = {door: Counter[str]() for door in DOORS}
    if given_.figures and given_.figures.exists():
        counts |= {door: Counter(found) for door, found in json.loads(given_.figures.read_text()).items()}
    end, number = time.monotonic() + 60 * given_.minutes, given_.seed
    while True:
        open_ = [door for door in given_.door or DOORS if given_.calls is None or calls(counts[door]) < given_.calls]
        if not open_ or (given_.calls is None and time.monotonic() > end):
            break
        for door in open_:
            counts[door] = added(counts[door], attack(door, number))
            if given_.figures:
                given_.figures.write_text(json.dumps(counts, indent=1) + "\n")
        number += 1
    print(table(counts))


if __name__ == "__main__":
    main()
