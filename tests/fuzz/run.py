"""Attack every door for as long as you like, and print what came of it.

    make fuzz MINUTES=5

Cases that broke something are kept in tests/fuzz/found, one file each, where `make test` runs them again. With
--figures FILE the counts of this run are added to those in the file, and all of them are printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.doors import DOORS
from fuzz.judging import FAULTS, judged

FOUND = Path(__file__).parent / "found"
BATCH = 50
KINDS = ("answered", "refused", *FAULTS)


def attack(door: str, number: int) -> Counter[str]:
    """A batch of cases of one seed, and what came of each."""
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
        if outcome.faulty:
            keep(door, case, f"{outcome.kind}: {outcome.what}")

    one()
    return counted


def keep(door: str, case: object, why: str) -> None:
    """A counter-example as a file, and as a line on the terminal."""
    text = json.dumps({"door": door, "why": why, "case": case}, indent=1, sort_keys=True)
    name = f"{door.replace(' ', '-')}-{hashlib.sha256(why.encode()).hexdigest()[:10]}.json"  # one for each cause
    FOUND.mkdir(exist_ok=True)
    if (FOUND / name).exists():
        return
    (FOUND / name).write_text(text + "\n", encoding="utf-8")
    print(f"{door}: {why[:160]} -> {name}", flush=True)


def table(counts: dict[str, Counter[str]]) -> str:
    """The figures of every door, as the page has them."""
    lines = [f"| door | calls | {' | '.join(KINDS)} |", "| --- |" + " ---: |" * (len(KINDS) + 1)]
    for door, counted in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        lines.append(f"| {door} | {sum(counted.values()):,} | {' | '.join(f'{counted[kind]:,}' for kind in KINDS)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
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
    while time.monotonic() < end:
        for door in given_.door or DOORS:
            counts[door] += attack(door, number)
            if given_.figures:
                given_.figures.write_text(json.dumps(counts, indent=1) + "\n")
        number += 1
    print(table(counts))


if __name__ == "__main__":
    main()
