"""Real data for judging estimators: units seen before and after, and the exposure of both looks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.binning import distinct_rows
from ebformer.channels import POISSON
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.errors import InputError, KnownError
from ebformer.lab.arena.losses import Key
from ebformer.lab.fielddata.sources import read_columns
from ebformer.plural import counted
from ebformer.tables.columns import Columns
from ebformer.tables.entries import Offender, complaint, means_missing
from ebformer.tally import Tally, known_numbers, whole_numbers

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Holdout:
    """x_i ~ Poisson(known_i theta_i) is seen, y_i ~ Poisson(future_i theta_i) is to be predicted from all x.

    Units with equal looks act alike, so only distinct ones are kept: `before`, `after` and `multiplicity`, int64 [m],
    and the exposures `known` and `future`, float64 [m]: 1 and `ratio` where they are not given. Where `channel` is the
    binomial one these are the trials of both looks.
    `data` and `case` name where the units come from, as in "nhl center", "1990".

    >>> players = Holdout.of([3, 0, 3], [5, 1, 5], data="goals", case="1990")
    >>> players.before.tolist(), players.after.tolist(), players.multiplicity.tolist()
    ([0, 3], [1, 5], [1, 2])
    >>> players.tally
    Tally(n=3, 2 distinct counts from 0 to 3)
    """

    before: Ints
    after: Ints
    multiplicity: Ints
    known: Floats
    future: Floats
    data: str
    case: str
    channel: Channel

    def __init__(
        self,
        before: ArrayLike,
        after: ArrayLike,
        multiplicity: ArrayLike,
        ratio: float = 1.0,
        data: str = "table",
        case: str = "all",
        known: ArrayLike | None = None,
        future: ArrayLike | None = None,
        channel: Channel = POISSON,
    ) -> None:
        x, y = whole_numbers(before, "before"), whole_numbers(after, "after")
        m = whole_numbers(multiplicity, "multiplicity")
        if not x.size == y.size == m.size:
            raise InputError(
                f"before, after and multiplicity have {x.size}, {y.size} and {m.size} entries: give one each"
            )
        if not 0 < ratio < np.inf:
            raise InputError(f"the exposure ratio is {ratio:g}: give a positive finite number")
        t, s = (
            np.full(x.size, usual) if given is None else known_numbers(channel, given)
            for given, usual in ((known, 1.0), (future, float(ratio)))
        )
        if not t.size == s.size == x.size:
            raise InputError(f"there are {t.size} and {s.size} exposures for {x.size} units: give one each")
        first, cell = distinct_rows(x, y, t, s)
        units = np.bincount(cell, weights=m).astype(np.int64)
        looks = {"before": x[first], "after": y[first], "multiplicity": units, "known": t[first], "future": s[first]}
        for name, array in looks.items():
            kept = array[units > 0]
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)
        for name, entry in (("data", data), ("case", case), ("channel", channel)):
            object.__setattr__(self, name, entry)

    @classmethod
    def of(
        cls, before: ArrayLike, after: ArrayLike, ratio: float = 1.0, data: str = "table", case: str = "all"
    ) -> Holdout:
        """One pair per unit."""
        x = whole_numbers(before, "before")
        return cls(x, after, np.ones_like(x), ratio, data, case)

    @classmethod
    def from_table(
        cls,
        path: str | os.PathLike[str],
        before: str,
        after: str,
        ratio: float = 1.0,
        known: str | None = None,
        future: str | None = None,
    ) -> Holdout:
        """Two columns of a CSV or Parquet file, one row per unit, and those of their exposures where they differ."""
        if (known is None) != (future is None):
            raise InputError("only one look has exposures: give those of both, before and after")
        looks = [name for name in (before, after, known, future) if name is not None]
        columns = read_columns([path], looks)
        x, y = (_counts(path, name, columns[name].tolist()) for name in (before, after))
        if known is None or future is None:
            return cls.of(x, y, ratio, os.path.basename(path))
        one_each = np.ones(x.size, dtype=np.int64)
        return cls(x, y, one_each, 1.0, os.path.basename(path), "all", columns[known], columns[future])

    @classmethod
    def thinned(
        cls, tally: Tally, share: float, rng: np.random.Generator, data: str = "table", case: str = "all"
    ) -> Holdout:
        """Two independent looks made of one: each event of a unit is seen with probability `share`, else held out.

        If z ~ Poisson(theta) and x | z ~ Binomial(z, share), then x ~ Poisson(share theta) and
        z - x ~ Poisson((1 - share) theta) are independent, so the exposure ratio is (1 - share) / share. This holds
        only as far as counts are Poisson given theta. Units of unequal exposure are refused.

        >>> Holdout.thinned(Tally.of([4, 9]), 0.25, np.random.default_rng(0)).ratio
        3.0
        """
        if not 0 < share < 1:
            raise InputError(f"the share of events to see is {share:g}: give a number between 0 and 1")
        if tally.common is None:
            raise KnownError("these units have unequal exposures, which thinning to one ratio cannot keep")
        whole = np.repeat(tally.values, tally.multiplicity)
        seen = rng.binomial(whole, share)
        return cls.of(seen, whole - seen, (1 - share) / share, data, case)

    @property
    def tally(self) -> Tally:
        """What the estimators may see: the first look."""
        return Tally(self.before, self.multiplicity, self.known, channel=self.channel)

    @property
    def ratio(self) -> float:
        """The exposure of the second look of all units over that of the first."""
        return float(self.multiplicity @ self.future) / float(self.multiplicity @ self.known)

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.multiplicity.sum())

    @property
    def key(self) -> Key:
        """Which case this is in a table of losses."""
        return Key(self.data, self.n, self.case)

    @property
    def drift(self) -> float:
        """sum y / (ratio sum x): near 1 when rates stay put, below 1 when units fade, inf if none was seen before.

        >>> Holdout.of([2, 2], [1, 2]).drift
        0.75
        """
        expected = self.ratio * float(self.multiplicity @ self.before)
        return float(self.multiplicity @ self.after) / expected if expected > 0 else np.inf

    @property
    def dispersion(self) -> float:
        """How much more x and y differ than Poisson counts of equal rate would: 1 under the model, whatever the prior.

        Given s = x + y, x is Binomial(s, p) with p = known / (known + future), for every theta. So
        (x - s p)^2 / (s p (1 - p)) has mean 1 over the units with s > 0; what exceeds 1 is rates that moved between the
        two looks. NaN without such units.

        >>> Holdout.of([4, 0], [0, 4]).dispersion
        4.0
        """
        p = self.known / (self.known + self.future)
        seen = self.before + self.after > 0
        if not seen.any():
            return np.nan
        x, s, m, p = self.before[seen], (self.before + self.after)[seen], self.multiplicity[seen], p[seen]
        return float(m @ ((x - s * p) ** 2 / (s * p * (1 - p))) / m.sum())

    def __repr__(self) -> str:
        return f"Holdout({self.data}, {self.case}: {counted(self.n, 'unit')}, ratio {self.ratio:.4g})"


def _counts(path: str | os.PathLike[str], column: str, entries: list[Any]) -> NDArray[np.float64]:
    """The entries of a column as numbers, or an `InputError` that names the first that is no count."""
    numbers = np.array([_number(entry) for entry in entries])
    bad = np.flatnonzero(~POISSON.possible(numbers))
    if bad.size:
        entry, row = entries[bad[0]], int(bad[0]) + 1
        if means_missing(str(entry)):
            raise InputError(f"{path}: column {column!r} has no entry in row {row}: fill it in or drop the row")
        raise InputError(f"{path}, {complaint(Columns(column), 'x', Offender(entry, row, bad.size))}")
    return numbers


def _number(entry: Any) -> float:
    try:
        return float(entry)
    except (TypeError, ValueError):
        return np.nan
