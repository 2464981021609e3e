"""What the pictures draw, read back from them."""

import json
import re

import numpy as np
import pytest

from ebformer.bayes.marginal import log_marginal
from ebformer.channels.normal import Normal
from ebformer.estimators.catalogue import CATALOGUE
from ebformer.prior import GridPrior
from ebformer.report.fit_pictures import bins, expected_units
from ebformer.report.pictures import against, share_between
from ebformer.report.svg import Scale
from ebformer.tally import Tally


@pytest.mark.parametrize("method", ["gamma", "npmle"])
def test_the_rootogram_expects_what_the_marginal_says(method: str) -> None:
    """For each bin, the sum over exposures and its counts of f(x), computed count by count."""
    rng = np.random.default_rng(0)
    t = rng.choice([0.5, 1.0, 40.0], size=200)
    tally = Tally.of(rng.poisson(t * rng.gamma(2.0, size=200)), t)
    prior = CATALOGUE[method](tally).prior
    assert prior is not None
    edges = bins(tally.x, tally.channel)
    assert edges.size <= 30
    found = expected_units(prior, tally, edges)
    for low, high, drawn in zip(edges[:-1], edges[1:], found, strict=True):
        x = np.arange(low, high)
        expected = sum(np.exp(log_marginal(prior, x, u)).sum() * np.sum(t == u) for u in np.unique(t))
        assert drawn == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_grid_is_drawn_by_its_cells() -> None:
    """Rates that are uniform over cells of unequal width give bars of equal height, however bars and cells meet."""
    atoms = np.linspace(0.0, 3.0, 64) ** 2
    edges = GridPrior(atoms, np.full(64, 1 / 64)).edges
    prior = GridPrior(atoms, np.diff(edges) / np.ptp(edges))
    shares = share_between(prior, np.linspace(edges[0], edges[-1], 51))
    assert shares == pytest.approx([0.02] * 50)


def test_axes_are_equal_where_the_diagonal_means_that_nothing_moved() -> None:
    raw, estimate = np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.9, 1.4])
    drawn = str(
        against("raw", raw, estimate, np.ones(3), Scale.of(np.append(raw, estimate), floor=0.0), "rate", "the same")
    )
    x, y = (json.loads(re.search(f'data-{axis}="(.*?)"', drawn)[1].replace("&#34;", '"')) for axis in "xy")
    assert [x[name] for name in ("low", "high", "kind")] == [y[name] for name in ("low", "high", "kind")]
    assert abs(x["end"] - x["start"]) == pytest.approx(abs(y["end"] - y["start"]))


@pytest.mark.parametrize("kind", ["linear", "log", "asinh"])
def test_scales_find_numbers_again(kind: str) -> None:
    scale = Scale(0.5, 90.0, 10.0, 400.0, kind, 2.0)
    numbers = np.array([0.5, 3.0, 90.0])
    assert scale(numbers)[[0, 2]] == pytest.approx([10.0, 400.0])
    assert scale.straight(scale.bent(numbers)) == pytest.approx(numbers)
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks())


def test_points_stay_points_and_only_what_is_asked_for_is_drawn() -> None:
    """The point of a null is drawn whole in the bar that holds it, however wide the cells beside it are."""
    prior = GridPrior([-1.0, 0.0, 1.0], [0.25, 0.5, 0.25], Normal(), point=0.0)
    assert share_between(prior, np.array([-0.75, -0.01, 0.01, 0.75])) == pytest.approx([0.0625, 0.5, 0.0625])
    assert share_between(prior, np.array([-2.0, 2.0])) == pytest.approx([1.0])
