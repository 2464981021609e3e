"""Effects with known errors: commuting zones and genes.

Neighborhoods: effects of 595 commuting zones on children's incomes, errors unequal (Chetty and Hendren 2018, QJE 133).
Prostate: z-values of 6,033 genes (Efron 2010, Large-Scale Inference). For both, theorems rather than figures.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from convex_npmle import convex_program
from ebformer.bayes import log_marginal
from ebformer.channels.normal_prior import NormalPrior
from ebformer.estimators.catalogue import estimator
from ebformer.prior import Prior
from ebformer.rule import Rule
from ebformer.tally import Tally

pytestmark = pytest.mark.data
METHODS = ("normal", "npmle", "npmle-em")


@pytest.fixture(scope="module")
def zones(published: Callable) -> Tally:
    table = published("classic/neighborhoods.csv")
    measured = np.isfinite(table["effect"]) & np.isfinite(table["se"])
    assert (measured.size, measured.sum()) == (741, 595)
    return Tally.of(table["effect"][measured], se=table["se"][measured])


@pytest.fixture(scope="module")
def genes(published: Callable) -> Tally:
    return Tally.of(published("classic/prostate_z.csv.gz")["z"], se=1.0)


@pytest.fixture(scope="module", params=["zones", "genes"])
def tally(request: pytest.FixtureRequest) -> Tally:
    found: Tally = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def fitted(tally: Tally) -> dict[str, Rule]:
    return {method: estimator(method)(tally) for method in METHODS}


def kernel(tally: Tally, theta: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * ((tally.x[:, None] - theta) / tally.known[:, None]) ** 2)


def test_a_dense_grid_finds_no_direction_that_improves_the_npmle(tally: Tally, fitted: dict[str, Rule]) -> None:
    rule = fitted["npmle"]
    assert rule.convergence is not None
    assert rule.convergence.reached
    assert isinstance(rule.prior, Prior)
    weight = tally.multiplicity / tally.n / (kernel(tally, rule.prior.atoms) @ rule.prior.weights)
    step = 0.02 * tally.known.min()
    theta = np.arange(tally.x.min(), tally.x.max() + step, step)
    d = np.concatenate([weight @ kernel(tally, part) for part in np.array_split(theta, 1 + theta.size // 500)])
    assert d.max() <= 1 + 1e-9
    assert weight @ kernel(tally, rule.prior.atoms) == pytest.approx(1, abs=1e-8)
    assert rule.log_likelihood >= fitted["npmle-em"].log_likelihood >= fitted["normal"].log_likelihood


def test_an_independent_convex_solver_finds_the_same_likelihood(zones: Tally) -> None:
    rule = estimator("npmle")(zones)
    assert isinstance(rule.prior, Prior)
    theta = np.union1d(np.linspace(zones.x.min(), zones.x.max(), 60), rule.prior.atoms)
    q = zones.multiplicity / zones.n
    _, objective = convex_program(kernel(zones, theta), q)
    found = float(q @ np.log(kernel(zones, rule.prior.atoms) @ rule.prior.weights))
    assert objective - 1e-8 <= found <= objective + 1e-6  # the general solver stops a little short


def test_an_independent_optimiser_finds_the_same_normal(tally: Tally, fitted: dict[str, Rule]) -> None:
    def loss(parameters: np.ndarray) -> float:
        spread = np.hypot(np.exp(parameters[1]), tally.known)
        return -float(tally.multiplicity @ norm.logpdf(tally.x, parameters[0], spread)) / tally.n

    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    found = minimize(loss, [0.0, -1.0], method="Nelder-Mead", options=options)
    prior = fitted["normal"].prior
    assert isinstance(prior, NormalPrior)
    assert (prior.centre, prior.spread) == pytest.approx((found.x[0], np.exp(found.x[1])), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_tweedies_formula_holds_for_the_fitted_marginal(tally: Tally, fitted: dict[str, Rule], method: str) -> None:
    """E[theta | x] = x + s^2 d/dx log f(x) and Var[theta | x] = s^2 + s^4 d^2/dx^2 log f(x) (Efron 2011)."""
    rule, some = fitted[method], np.linspace(0, len(tally) - 1, 200).astype(int)
    x, s = tally.x[some], tally.known[some]
    h = 1e-3 * s
    down2, down, here, up, up2 = (log_marginal(rule.prior, x + k * h, se=s) for k in (-2, -1, 0, 1, 2))
    slope = (8 * (up - down) - (up2 - down2)) / (12 * h)
    bend = (16 * (up + down) - (up2 + down2) - 30 * here) / (12 * h**2)
    assert (rule(x, se=s) - x) / s == pytest.approx(s * slope, abs=1e-8)
    assert rule.posterior(x, se=s).variance / s**2 == pytest.approx(1 + s**2 * bend, abs=1e-5)


@pytest.mark.parametrize("method", ["normal", "npmle"])
def test_nothing_is_gained_by_moving_the_prior(tally: Tally, fitted: dict[str, Rule], method: str) -> None:
    pull = tally.multiplicity * (tally.x - fitted[method](tally.x, tally.known)) / tally.known**2
    assert abs(pull.sum()) < 1e-8 * np.abs(pull).sum()


@pytest.mark.parametrize("method", METHODS)
def test_large_effects_are_shrunk_and_small_errors_hardly(tally: Tally, fitted: dict[str, Rule], method: str) -> None:
    """Estimates spread less than effects, in their order where errors are equal, and no effect stays an outlier."""
    estimates = fitted[method](tally.x, tally.known)
    assert np.ptp(estimates) < np.ptp(tally.x)
    assert np.std(estimates) < np.std(tally.x)
    if tally.common is not None:
        assert np.all(np.diff(estimates) >= -1e-12)
    z = (tally.x - estimates) / tally.known
    assert np.mean(z**2) < 1.1
