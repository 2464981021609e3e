from __future__ import annotations

import numpy as np
import pytest

from ebformer.estimators.gamma_mixture import log_entering


@pytest.mark.parametrize("scale", [1e-250, 1e-40, 1e-8, 1.0, 1e3])
def test_the_chance_to_enter_a_table_keeps_its_digits_however_small(scale: float) -> None:
    """Next to none is the expected count; at any scale the gradient is the slope of the chance itself."""
    weight, a, t, units = np.array([0.3, 0.7]), np.array([0.5, 4.0]), np.array([1.0, 2.0, 9.0]), np.full(3, 1 / 3)

    def entering(place: np.ndarray) -> tuple[float, np.ndarray]:
        logs, a, mean = place.reshape(3, 2)
        return log_entering(logs - np.log(np.exp(logs).sum()), np.exp(a), np.exp(mean) * t[:, None], units)

    place = np.concatenate([np.log(weight), np.log(a), np.log(scale * np.array([1.0, 3.0]))])
    value, gradient = entering(place)
    if scale < 1e-20:
        assert value == pytest.approx(float(units @ np.log(scale * t * 2.4)), rel=1e-14)
    moves = 1e-5 * np.eye(6)
    slopes = [(entering(place + move)[0] - entering(place - move)[0]) / 2e-5 for move in moves]
    np.testing.assert_allclose(gradient, slopes, atol=1e-7 if scale < 1e-20 else 1e-8)
