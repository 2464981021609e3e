"""Columns of numbers and text as numbers, for regressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats
from ebformer.errors import InputError

MOST_CATEGORIES = 255
"""What scikit-learn's trees take; the categories of fewest units count as missing beyond."""
MOST_NOTED = 50
"""Of more covariates than these it is not said which are new."""


@dataclass(frozen=True)
class Encoding:
    """Columns as numbers: those of numbers as they are, those of text as the place of the entry among `categories`.

    Columns with categories come first, as the regressions ask; `names` is in this order. Missing is NaN, and so is
    a category that is new.
    """

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]) -> Encoding:
        """From columns of numbers (float64) or text (object, None where missing), of so many rows each.

        >>> Encoding.of({"age": np.array([20.0]), "team": np.array(["b"], dtype=object)}, np.ones(1, dtype=np.int64))
        Encoding(names=('team', 'age'), categories=(('b',), ()))
        """
        found: dict[str, tuple[str, ...]] = {}
        for name, entries in columns.items():
            if entries.dtype != object:
                if np.isnan(entries).all():
                    raise InputError(f"covariate {name!r} has no entries: leave it out")
                found[name] = ()
                continue
            units: dict[str, int] = {}
            for entry, many in zip(entries.tolist(), rows.tolist(), strict=True):
                if entry is not None:
                    units[entry] = units.get(entry, 0) + many
            kept = sorted(units, key=lambda entry: (-units[entry], entry))[:MOST_CATEGORIES]
            found[name] = tuple(sorted(kept))
        names = sorted(found, key=lambda name: not found[name])  # stable: those with categories first
        return cls(tuple(names), tuple(found[name] for name in names))

    @property
    def sizes(self) -> list[int]:
        """How many categories each has, 0 where it is a number."""
        return [len(each) for each in self.categories]

    def numbers(self, columns: Mapping[str, NDArray[Any]]) -> Floats:
        """[n, p] from columns [n]; text that stands where numbers are expected is missing."""
        z = np.empty((len(next(iter(columns.values()))), len(self.names)))
        for j, (name, categories) in enumerate(zip(self.names, self.categories, strict=True)):
            entries = columns[name]
            if categories:
                place = {entry: float(i) for i, entry in enumerate(categories)}
                texts = entries.tolist() if entries.dtype == object else [f"{entry:g}" for entry in entries]
                z[:, j] = [place.get(text, np.nan) for text in texts]
            else:
                z[:, j] = np.nan if entries.dtype == object else entries
        return np.where(np.isinf(z), np.nan, z)

    def unseen(self, columns: Mapping[str, NDArray[Any]]) -> Floats:
        """Which entries of each row [n] count as missing although there are some: 2^j for covariate j, added up.

        >>> encoding = Encoding(("team", "age"), (("a", "b"), ()))
        >>> rows = {"team": np.array(["a", "z", None], dtype=object), "age": np.array([20.0, 30.0, np.nan])}
        >>> encoding.unseen(rows).tolist(), encoding.about_unseen(1)
        ([0.0, 1.0, 0.0], 'the fit never saw this team: counted as missing')
        """
        z, found = self.numbers(columns), np.zeros(len(next(iter(columns.values()))))
        for j, name in enumerate(self.names[:MOST_NOTED]):
            entries = columns[name]
            text = entries.dtype == object
            there = np.array([entry is not None for entry in entries.tolist()]) if text else np.isfinite(entries)
            found += 2.0**j * (there & np.isnan(z[:, j]))
        return found

    def about_unseen(self, code: int) -> str | None:
        """What to know about a row with this code of `unseen`."""
        names = [name for j, name in enumerate(self.names[:MOST_NOTED]) if code >> j & 1]
        return f"the fit never saw this {', '.join(names)}: counted as missing" if names else None
