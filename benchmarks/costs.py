"""What `ebformer reproduce --list` says about costs, from what a whole run of a scale spent.

    python benchmarks/costs.py reproduction/laptop

writes the scale of that folder into costs.json: seconds of processor time by experiment. The other scales, and the note
that says when and how they were measured, are left to you; `python tests/test_docs_examples.py` then brings
docs/commands.md up to date.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import ebformer.lab.reproduction
from ebformer.lab.reproduction.items import ITEMS, costs
from ebformer.lab.reproduction.store import COSTS as SPENT

COSTS = Path(ebformer.lab.reproduction.__file__).with_name("costs.json")


def spent(folder: Path) -> dict[str, int]:
    """Seconds by experiment; of files that were made again with other weights or data, the latest counts."""
    latest = {cost.file.partition(".")[0]: cost for cost in SPENT.read(folder / "costs.csv")}
    experiments = dict.fromkeys(experiment for item in ITEMS for experiment in item.needs)
    missing = experiments.keys() - {cost.experiment for cost in latest.values()}
    if missing:
        raise SystemExit(f"{folder} has no {', '.join(sorted(missing))}: run `ebformer reproduce` without --only")
    return {
        experiment: max(1, round(sum(cost.seconds for cost in latest.values() if cost.experiment == experiment)))
        for experiment in experiments
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="OUTPUT/SCALE of a finished run")
    folder = parser.parse_args().folder
    before, measured = costs(), spent(folder)
    for experiment, seconds in measured.items():
        print(f"{experiment}: {before[folder.name][experiment]} s, now {seconds} s")
    after = before | {folder.name: {experiment: measured[experiment] for experiment in before[folder.name]}}
    COSTS.write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")
