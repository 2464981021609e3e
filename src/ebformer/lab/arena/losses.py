"""What an estimator pays on a tally whose prior is known: exactly, with no noise from theta."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes.marginal import Floats, likely, log_marginal, posterior
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.prior import Prior
from ebformer.tally import Tally


class Key(NamedTuple):
    """Which tally: the world, the number of units, the number of the prior and of the tally drawn from it."""

    world: str
    n: int
    prior: int
    repeat: int


class Loss(NamedTuple):
    """One row of the table. `mse` = regret + E[Var(theta | x)] over the tally; NaN where the truth is not known."""

    world: str
    n: int
    prior: int
    repeat: int
    estimator: str
    regret: float
    mse: float
    population_regret: float
    seconds: float

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
    mse = np.nan if truth.variance is None else regret + float(share @ truth.variance[at])
    population = np.nan
    if truth.marginal is not None and estimator.answers_unseen:
        population = float(truth.marginal @ (rule(truth.x) - truth.bayes) ** 2)
    return Loss(*case.key, name, regret, mse, population, seconds)
