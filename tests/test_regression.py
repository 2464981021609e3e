"""Copies of scikit-learn's regressions answer as it does, and survive being written down."""

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from ebformer.regression import Blend, Forest, Line, copied, ends, read_regression, train

CATEGORIES = [12, 0, 0]


def covariates(n: int = 600) -> np.ndarray:
    """A category, of which number 11 is never seen, and two numbers; all have gaps."""
    rng = np.random.default_rng(1)
    z = np.column_stack([rng.integers(0, 11, n).astype(float), rng.normal(size=n), rng.exponential(size=n)])
    z[rng.random(z.shape) < 0.1] = np.nan
    return z


def outcome(z: np.ndarray) -> np.ndarray:
    known = np.nan_to_num(z)
    return np.random.default_rng(2).poisson(np.exp(0.4 * (known[:, 0] % 3) + 0.5 * known[:, 1])).astype(float)


def test_copied_trees_answer_as_scikit_learn_does() -> None:
    z, y = covariates(), outcome(covariates())
    asked = np.concatenate([z, [[11.0, 0.0, 1.0], [np.nan, np.nan, np.nan]]])
    fitted = z[:, 0] != 7.0  # a category that only the others have
    by_kind = {"categorical_features": [True, False, False], "max_iter": 30, "early_stopping": False}
    counts = HistGradientBoostingRegressor(loss="poisson", **by_kind).fit(z[fitted], y[fitted])
    np.testing.assert_allclose(copied(counts, CATEGORIES).eta(asked), np.log(counts.predict(asked)), atol=1e-12)
    effects = HistGradientBoostingRegressor(**by_kind).fit(z[fitted], y[fitted])
    np.testing.assert_allclose(copied(effects, CATEGORIES).eta(asked), effects.predict(asked), atol=1e-12)
    odds = HistGradientBoostingClassifier(**by_kind).fit(z[fitted], y[fitted] > 1)
    np.testing.assert_allclose(copied(odds, CATEGORIES).eta(asked), odds.decision_function(asked), atol=1e-12)


@pytest.mark.parametrize("kind", ["trees", "linear"])
@pytest.mark.parametrize("loss", ["poisson", "logistic", "squared"])
def test_a_mean_of_regressions_answers_with_their_mean_also_after_json(loss, kind) -> None:
    z, y = covariates(), outcome(covariates())
    y = y / y.max() if loss == "logistic" else y
    limits = ends(z, np.ones(y.size))
    found = [
        train(kind, loss, y, weight, z, CATEGORIES, limits=limits)
        for weight in np.random.default_rng(3).random((3, y.size))
    ]
    mean = type(found[0]).mean(found)
    np.testing.assert_allclose(mean.eta(z), np.mean([one.eta(z) for one in found], axis=0), atol=1e-12)
    again = read_regression(json.loads(json.dumps(mean.record())))
    assert np.array_equal(again.eta(z), mean.eta(z))
    assert isinstance(again.parts[0], Line if kind == "linear" else Forest)
    blends = [Blend(0.1 * i, (0.25, 0.5), (one, one)) for i, one in enumerate(found)]
    blend = read_regression(json.loads(json.dumps(Blend.mean(blends).record())))
    np.testing.assert_allclose(blend.eta(z), 0.1 + 0.75 * mean.eta(z), atol=1e-12)


def test_one_strange_entry_tilts_no_line() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 1))
    y = rng.poisson(np.exp(0.5 * z[:, 0])).astype(float)
    strange = np.append(z, [[1e6]], axis=0)
    found = [
        train("linear", "poisson", each, np.ones(each.size), at, [0])
        for each, at in ((y, z), (np.append(y, 0), strange))
    ]
    slopes = [one.eta(np.array([[1.0]])) - one.eta(np.array([[0.0]])) for one in found]
    assert slopes[0] == pytest.approx(0.5, abs=0.1)
    assert found[1].eta(np.array([[1e9]])) == found[1].eta(np.array([[1e6]]))
    older = found[0].record()
    del older["low"], older["high"]  # as a fit of 0.2 has it
    assert read_regression(older).eta(np.array([[0.3]])) == pytest.approx(found[0].eta(np.array([[0.3]])))


def test_stages_lead_from_the_first_tree_to_all() -> None:
    z, y = covariates(), outcome(covariates())
    found = train("trees", "poisson", y, np.ones(y.size), z, CATEGORIES)
    by_stage = found.by_stage(z)
    for stage in (1, 7, found.stages):
        np.testing.assert_allclose(found.up_to(stage).eta(z), by_stage[:, stage - 1], atol=1e-12)


def test_a_line_finds_the_coefficients_of_a_linear_world() -> None:
    rng = np.random.default_rng(4)
    z = np.column_stack([rng.integers(0, 2, 20_000).astype(float), rng.normal(size=20_000)])
    y = rng.poisson(np.exp(0.5 + 0.8 * z[:, 0] - 0.3 * z[:, 1]))
    found = train("linear", "poisson", y.astype(float), np.ones(y.size), z, [2, 0])
    assert found.slope[1] == pytest.approx(-0.3, abs=0.02)
    assert found.effects[0][1] - found.effects[0][0] == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("kind", ["trees", "linear"])
@pytest.mark.parametrize("loss", ["poisson", "logistic"])
@pytest.mark.parametrize("rate", [0.1, 1e-3, 1e-6])
def test_covariates_tell_as_much_of_rare_events_as_of_common_ones(loss, kind, rate) -> None:
    rng = np.random.default_rng(5)
    z, times = rng.normal(size=(1000, 1)), 100 / rate  # a hundred events per unit, seen so much the longer
    y = rng.poisson(100 * np.exp(0.5 * z[:, 0])) / times
    found = train(kind, loss, np.minimum(y, 1.0), np.full(y.size, times), z, [0])
    low, high = found.eta(np.array([[-1.0], [1.0]]))
    assert high - low == pytest.approx(1.0, abs=0.15 if rate < 0.1 else 0.3)


@pytest.mark.parametrize("kind", ["trees", "linear"])
def test_the_unit_of_exposure_changes_no_regression(kind) -> None:
    z, y = covariates(), outcome(covariates())
    hours, years = (
        train(kind, "poisson", y * unit, np.full(y.size, 1 / unit), z, CATEGORIES) for unit in (1.0, 2.0**30)
    )
    np.testing.assert_allclose(years.eta(z), hours.eta(z) + 30 * np.log(2.0), rtol=1e-12)


@pytest.mark.parametrize("broken", [{"left": [5]}, {"roots": [3]}, {"feature": []}, {"category_set": [2]}])
def test_trees_that_lead_nowhere_are_refused(broken) -> None:
    leaf = Forest(
        start=0.0,
        roots=np.array([0]),
        feature=np.array([0]),
        threshold=np.array([0.0]),
        left=np.array([0]),
        right=np.array([0]),
        value=np.array([2.0]),
        missing_left=np.array([False]),
        category_set=np.array([-1]),
        sets=(),
    ).record()
    assert read_regression(leaf).eta(np.zeros((2, 1))).tolist() == [2.0, 2.0]
    with pytest.raises((ValueError, KeyError)):
        read_regression(leaf | broken)
