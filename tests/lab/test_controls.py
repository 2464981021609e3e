"""Control variates: the mean stays, the noise falls, and the standard error says by how much."""

from __future__ import annotations

import numpy as np
import pytest

from ebformer.lab.controls import by_delta_method, controlled
from ebformer.lab.worlds import PointMass


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


@pytest.mark.parametrize("u", [0.2, 0.7])
def test_the_delta_method_of_a_point_mass_is_its_rate_over_n(u: float) -> None:
    """The rate 50 u of n units has information 2500 n / (50 u) about u, and 12 before the data."""
    exact = 2500 / (400 * 2500 / (50 * u) + 12)
    assert by_delta_method(PointMass(50.0), np.array([[u]]), 400) == pytest.approx(exact, rel=0.01)
