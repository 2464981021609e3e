"""The figure of the corollary draws what was measured."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")


from ebformer.lab.figures import theorem_figures
from ebformer.lab.theorems.constructions import vanishing_regret
from ebformer.prior import Prior


def test_every_prior_has_its_measured_curve() -> None:
    rng = np.random.default_rng(0)
    priors = {"one": Prior([1.0], [1.0]), "four": Prior([4.0], [1.0])}
    measured = vanishing_regret(priors, 4.0, [100, 1000], 5, rng)
    curves = {name: [point for point in measured if point.prior == name] for name in priors}
    figure = theorem_figures.vanishing_regret(curves, 4.0)
    drawn = [line.get_ydata().tolist() for line in figure.axes[0].lines]
    for points in curves.values():
        assert [p.n for p in points] == [100, 1000]
        assert [p.transformer for p in points] in drawn
        assert [p.robbins for p in points] in drawn
        assert points[1].transformer < points[0].transformer
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()][-2:] == ["one", "four"]
