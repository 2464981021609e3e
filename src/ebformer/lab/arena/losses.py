"""What an estimator pays: the row of every table, and its exact regret where the prior is known.

Drawn tallies and real data share the row, so that they are paired, tested and ranked by the same functions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes.marginal import likely, log_marginal, posterior
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.prior import Prior
from ebformer.tally import Tally


class Key(NamedTuple):
    """Which data: the world or data set, the number of units, the case, and which tally of that case.

    The case is what intervals and tests take for independent: the number of the prior, or the season, the book.
    """

    data: str
    n: int
    case: int | str
    repeat: int = 0


class Loss(NamedTuple):
    """What one estimator paid on one case; NaN where the case cannot tell.

    A drawn tally, whose prior is known, tells `regret`, `mse` = regret + E[Var(theta | x)] over the tally and
    `population_regret`; a given one with its Bayes rule the first.

    Units counted twice tell how well the first count predicts the second. `rmse` and `mae` are in units of the first
    look, improvements in percent of the MLE's error. `log_score` is the mean of log p(y | x), the higher the better,
    and `coverage` the share of units inside their 90 % predictive interval, both for methods with a prior only.

    Units of an everyday prior tell `regret`, `mse`, and the share of 90 % intervals that hold theta: of all units in
    `coverage`, of the tenth with the highest estimates in `top_tenth`, of the very highest in `leader`.

    `seconds` is the time to fit and, on tallies, to answer.
    """

    data: str
    n: int
    case: int | str
    repeat: int
    estimator: str
    regret: float = nan
    mse: float = nan
    population_regret: float = nan
    rmse: float = nan
    mae: float = nan
    rmse_improvement: float = nan
    mae_improvement: float = nan
    log_score: float = nan
    coverage: float = nan
    top_tenth: float = nan
    leader: float = nan
    seconds: float = nan

    @property
    def key(self) -> Key:
        return Key(*self[:4])


@dataclass(frozen=True, eq=False)
class Truth:
    """What the oracle knows: theta_G(x) at every likely x and, where the prior is known, f_G(x) and Var(theta | x).

    x: int64 [s], sorted; bayes, marginal, variance: float64 [s].

    >>> truth = Truth.of(Prior([1.0, 3.0], [0.5, 0.5]))
    >>> tally = truth.draw(100, np.random.default_rng(0))
    >>> tally.n, round(float(truth.marginal.sum()), 12)
    (100, 1.0)
    """

    x: NDArray[np.int64]
    bayes: Floats
    marginal: Floats | None = None
    variance: Floats | None = None

    @classmethod
    def of(cls, prior: Prior) -> Truth:
        """The exact answers for a prior, one block of counts after the other: a posterior holds all atoms for each."""

        def answers(x: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
            after = posterior(prior, x)
            return after.mean, np.exp(log_marginal(prior, x)), after.variance

        blocks = [x.astype(np.int64) for x, _ in likely(prior)]
        return cls(np.concatenate(blocks), *map(np.concatenate, zip(*map(answers, blocks), strict=True)))

    def draw(self, n: int, rng: np.random.Generator) -> Tally:
        """The tally of n units: one multinomial draw from the marginal, at a cost that does not grow with n."""
        if self.marginal is None:
            raise InputError(
                "a tally is drawn from a marginal, and this truth has only a Bayes rule: make it by Truth.of(prior)"
            )
        return Tally(self.x, rng.multinomial(n, self.marginal / self.marginal.sum()))


@dataclass(frozen=True, eq=False)
class Case:
    """A tally and the truth about it."""

    key: Key
    tally: Tally
    truth: Truth

    def score(self, name: str, estimator: Estimator) -> Loss:
        """What an estimator pays."""
        return score(self, name, estimator)


def score(case: Case, name: str, estimator: Estimator) -> Loss:
    """Fit, answer at the observed values (timed together), and compare with the truth.

    regret = sum_x N(x)/n (rule(x) - theta_G(x))^2, over the tally; population_regret weighs by f_G(x) instead.

    >>> from ebformer.estimators.mle import Mle
    >>> truth = Truth.of(Prior([2.0], [1.0]))
    >>> case = Case(Key("point", 4, 0, 0), Tally.of([1, 2, 2, 3]), truth)
    >>> score(case, "mle", Mle()).regret, round(score(case, "mle", Mle()).population_regret, 9)
    (0.5, 2.0)
    """
    tally, truth = case.tally, case.truth
    start = time.perf_counter()
    rule = estimator(tally)
    estimates = rule(tally.values)
    seconds = time.perf_counter() - start
    share = tally.multiplicity / tally.n
    at = np.searchsorted(truth.x, tally.values)
    regret = float(share @ (estimates - truth.bayes[at]) ** 2)
    mse = nan if truth.variance is None else regret + float(share @ truth.variance[at])
    population = nan
    if truth.marginal is not None and estimator.answers_unseen:
        population = float(truth.marginal @ (rule(truth.x) - truth.bayes) ** 2)
    return Loss(*case.key, name, regret, mse, population, seconds=seconds)
