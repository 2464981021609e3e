"""The scikit-learn estimator keeps scikit-learn's own laws, and exposure travels as metadata."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import ebformer as eb
from ebformer.errors import InputError


@parametrize_with_checks([eb.EmpiricalBayes("npmle")])
def test_scikit_learn_accepts_it(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def test_it_predicts_what_estimate_says() -> None:
    rng = np.random.default_rng(0)
    t = rng.integers(1, 5, 300)
    x = rng.poisson(rng.gamma(2.0, 1.0, 300) * t)
    model = eb.EmpiricalBayes("npmle").fit(x[:, None], exposure=t)
    np.testing.assert_allclose(model.predict(x[:, None], exposure=t), eb.estimate(x, t, method="npmle"))


def test_exposures_may_be_left_out_only_where_all_units_shared_one() -> None:
    """A count without its exposure would be answered as if it were seen at exposure 1."""
    x = np.array([[3], [0], [8]])
    alike, unlike = (eb.EmpiricalBayes("gamma").fit(x, exposure=t) for t in ([2, 2, 2], [1, 2, 4]))
    np.testing.assert_array_equal(alike.predict(x), alike.predict(x, exposure=[2, 2, 2]))
    with pytest.raises(InputError, match="unequal exposures: give predict the exposures"):
        unlike.predict(x)


@pytest.mark.parametrize("exposure", [[[1.0], [2.0], [4.0]], [1.0, 2.0], [0.0, 1.0, 4.0], ["a", "b", "c"]])
def test_fit_and_predict_refuse_the_same_exposures(exposure: object) -> None:
    x = np.array([[3], [0], [8]])
    model = eb.EmpiricalBayes("gamma").fit(x, exposure=[1, 2, 4])
    for ask in (eb.EmpiricalBayes("gamma").fit, model.predict):
        with pytest.raises(InputError, match=r"^exposure"):
            ask(x, exposure=exposure)


def test_one_unit_has_one_exposure() -> None:
    model = eb.EmpiricalBayes("gamma").fit([[3], [0], [8]], exposure=[1, 2, 4])
    with pytest.raises(InputError, match="exposure has 3 entries but X has 1 rows: give one per unit"):
        model.predict([[3]], exposure=[1, 2, 4])
    np.testing.assert_array_equal(model.predict([[3], [3]], exposure=2.0), model.predict([[3], [3]], exposure=[2, 2]))


def test_columns_are_fitted_apart() -> None:
    counts = np.random.default_rng(1).poisson([[1.0, 9.0]], (200, 2))
    both = eb.EmpiricalBayes("npmle").fit(counts).predict(counts)
    for j in range(2):
        np.testing.assert_array_equal(
            both[:, j], eb.EmpiricalBayes("npmle").fit(counts[:, [j]]).predict(counts[:, [j]])
        )


def test_exposure_is_routed_through_a_pipeline() -> None:
    rng = np.random.default_rng(2)
    t = rng.integers(1, 5, 100)
    x = rng.poisson(2.0 * t)[:, None]
    with sklearn.config_context(enable_metadata_routing=True):
        model = eb.EmpiricalBayes("npmle").set_fit_request(exposure=True).set_predict_request(exposure=True)
        piped = make_pipeline(FunctionTransformer(), model).fit(x, exposure=t).predict(x, exposure=t)
    np.testing.assert_array_equal(piped, eb.EmpiricalBayes("npmle").fit(x, exposure=t).predict(x, exposure=t))
