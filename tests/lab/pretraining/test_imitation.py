"""A network trained for seconds already imitates the clipped NPMLE better than it did untrained, on fresh tallies."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from ebformer.lab.pretraining.imitation import SIZES, ClippedNpmle, imitate, largest_errors


def test_imitation_learns_and_generalises() -> None:
    target, rng = ClippedNpmle(), np.random.default_rng(0)
    examples, fresh = target.draw(200, rng), target.draw(40, rng)
    for tally, estimates in fresh:
        assert ((estimates >= 0) & (estimates <= target.M)).all()
        assert (estimates[tally.values > target.d] == target.M).all()
        assert (np.diff(estimates) >= -1e-6).all()
    untrained, trained = (imitate(SIZES["medium"], examples, steps, seed=0, batch=64) for steps in (1, 150))
    before, after = (largest_errors(weights, fresh, target.d).mean() for weights in (untrained, trained))
    assert after < before / 2
