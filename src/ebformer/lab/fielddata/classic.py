"""Small published tables of counts. They show one look only, so a second one is made by thinning."""

from __future__ import annotations

import numpy as np

from ebformer.datasets import DATASETS
from ebformer.errors import InputError
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.sources import FilePath, find, read_columns
from ebformer.tally import Tally


def shipped() -> dict[str, Tally]:
    """The tables that ship with ebformer and whose units have equal exposure.

    >>> list(shipped())
    ['claims', 'accidents', 'horse-kicks']
    """
    alike = (dataset for dataset in DATASETS.values() if list(dataset.words) == ["count"])
    return {dataset.name: Tally.of(dataset.table()[dataset.columns.x]) for dataset in alike}


def tallies(data_dir: FilePath | None = None) -> dict[str, Tally]:
    """Every table of the folder classic/ by name; Norberg's have exposures (expected deaths), the others none."""
    counts = read_columns(find(data_dir, "classic/classic_counts.csv"), ["dataset", "count", "freq"])
    deaths = read_columns(find(data_dir, "classic/norberg_group_life.csv"), ["exposure", "deaths"])
    by_name = {
        str(name): Tally(counts["count"][counts["dataset"] == name], counts["freq"][counts["dataset"] == name])
        for name in np.unique(counts["dataset"].astype(str))
    }
    return by_name | {"norberg_group_life": Tally.of(deaths["deaths"], deaths["exposure"].astype(np.float64) / 344)}


def load(
    dataset: str, rng: np.random.Generator, thinnings: int = 20, data_dir: FilePath | None = None
) -> list[Holdout]:
    """Holdouts that see each event with probability 1/2; the intervals of their scores tell of the thinning alone.

    The folder of the data is looked for only where no table of this name is shipped.
    Butterflies and words are known only from one sighting on: their zeros come short, which no method here knows.
    """
    found = shipped()
    if dataset not in found:
        try:
            found |= tallies(data_dir)
        except InputError as error:
            ours = ", ".join(found)
            raise InputError(
                f"no table {dataset!r} of units of equal exposure ships with ebformer ({ours} do), and {error}"
            ) from error
    if dataset not in found or found[dataset].common is None:
        usable = [name for name, tally in found.items() if tally.common is not None]
        raise InputError(f"no table {dataset!r} of units of equal exposure: give one of {', '.join(usable)}")
    return [Holdout.thinned(found[dataset], 0.5, rng, dataset, str(i)) for i in range(thinnings)]
