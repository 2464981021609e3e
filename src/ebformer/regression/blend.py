"""Blends of regressions, each with its share, and how they are read from a saved fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ebformer.distributions import Floats
from ebformer.regression.forest import Forest
from ebformer.regression.line import Line
from ebformer.saved import finite


@dataclass(frozen=True, eq=False)
class Blend:
    """eta(z) = start + sum over parts of share * eta_part(z): regressions, of which a constant takes the rest."""

    start: float
    shares: tuple[float, ...] = ()
    parts: tuple[Forest | Line, ...] = ()

    def eta(self, z: Floats) -> Floats:
        """[n], for covariates z [n, p]."""
        total = np.full(z.shape[0], self.start)
        for share, part in zip(self.shares, self.parts, strict=True):
            total += share * part.eta(z)
        return total

    @classmethod
    def mean(cls, blends: Sequence[Blend]) -> Blend:
        """The mean of several with the same shares of regressions of the same kinds."""
        together: Any = zip(*(one.parts for one in blends), strict=True)
        parts = tuple(type(same[0]).mean(same) for same in together)
        return cls(float(np.mean([one.start for one in blends])), blends[0].shares, parts)

    def record(self) -> dict[str, Any]:
        """As plain JSON values."""
        parts = [part.record() for part in self.parts]
        return {"kind": "blend", "start": self.start, "shares": list(self.shares), "parts": parts}

    @classmethod
    def from_record(cls, found: dict[str, Any]) -> Blend:
        """What `record` wrote; a `ValueError` where it could not have."""
        parts = tuple((Line if each["kind"] == "linear" else Forest).from_record(each) for each in found["parts"])
        shares = tuple(finite(share) for share in found["shares"])
        if len(shares) != len(parts):
            raise ValueError("a blend with parts missing")
        return cls(finite(found["start"]), shares, parts)


def read_regression(found: dict[str, Any]) -> Blend:
    """The regression that a record holds; fits of 0.2 have one part."""
    one = {"kind": "blend", "start": 0.0, "shares": [1.0], "parts": [found]}
    return Blend.from_record(found if found["kind"] == "blend" else one)
