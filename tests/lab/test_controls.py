"""Control variates: the mean stays, the noise falls, and the standard error says by how much."""

from __future__ import annotations

import numpy as np
import pytest

from ebformer.lab.controls import by_weighing, controlled
from ebformer.lab.worlds import PointMass
from ebformer.tally import Tally


def test_a_controlled_mean_is_unbiased_surer_and_tells_its_error() -> None:
    rng = np.random.default_rng(6)
    plain, better = [], []
    for _ in range(2000):
        control, further = rng.gamma(2.0, 1.0, 60), rng.gamma(2.0, 1.0, 1000)
        values = 3.0 + 2.0 * control + rng.standard_normal(60)
        plain.append(controlled(values))
        better.append(controlled(values, control, further))
    for found in (np.array(plain), np.array(better)):
        z = (found[:, 0] - 7.0) / found[:, 1]
        assert abs(z.mean()) < 0.15
        assert z.std() == pytest.approx(1.0, abs=0.08)
    assert np.mean(better, axis=0)[1] < 0.5 * np.mean(plain, axis=0)[1]


def test_weighed_rates_of_a_point_mass_differ_as_a_gamma_law_does() -> None:
    """A uniform rate of n units that count k in all is gamma(k + 1, n) given them."""
    tally = Tally.of([10, 13, 12, 9, 11, 12])
    assert by_weighing(PointMass(50.0), tally) == pytest.approx(68 / 36, rel=0.1)
