"""Hierarchical Bayes: the exact Bayes rule of a world, the best that anybody can do who knows the world alone.

E[theta_i | all x] is the mean over the world's priors, weighed by the likelihood of the table, of what each says of
unit i. The average regret of this rule on the world's own tables is the floor that no method gets below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

from ebformer.channels import POISSON
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Truth
from ebformer.lab.worlds import Multinomial, Universal, World
from ebformer.rule import Convergence, CurveRule
from ebformer.tally import Tally

Singles = NDArray[np.float32]
CELL = 0.05
"""Spacing of the grid on which drawn priors are held, in standard deviations of the noise."""
AT_ONCE = 1000
"""Priors that are drawn at a time, which bounds the memory."""
ALIVE = 30.0
"""Priors that must be left, in effect: a mean over k of them has about 1 + 1 / k times the least regret."""
SWEEPS, WARM_UP, BATCHES = 1000, 200, 20
"""Of Gibbs' sampler: all sweeps, those that are left out, and the batches whose means tell its standard error."""
MEANING = "1 / effective number of priors"


class Averaged(NamedTuple):
    """The hierarchical Bayes rule at x = 0, 1, ... [s], its standard error [s], and how many priors are left."""

    estimates: Floats
    errors: Floats
    effective: float


@dataclass(frozen=True)
class Hierarchical(Estimator):
    """The Bayes rule of a world, for counts: importance sampling over priors drawn from it, in self-normalised form.

    `power` is that of the likelihood, 1 for Bayes; the networks of the world's makers behave like less. Where the
    world's atoms are given and only their weights are drawn, as in `Multinomial`, or where a few atoms are uniform up
    to a given end, as in `Universal`, the priors are drawn from their posterior by Gibbs' sampler, `priors` of them:
    drawn from the world instead, none would be left at a thousand units. `rule.convergence` tells how many priors are
    left in effect.

    >>> from ebformer.lab.worlds import Universal
    >>> rule = Hierarchical(Universal(10.0, size=2), priors=2000)(Tally([0, 1, 2, 9], [20, 9, 3, 8]))
    >>> rule([0, 9]).round(1).tolist(), rule.convergence.reached
    ([0.5, 8.7], True)
    """

    name: ClassVar[str] = "hierarchical"

    world: World
    priors: int = 20_000
    power: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.world.channel != POISSON.name:
            raise InputError(f"hierarchical averages over priors of rates, not of {self.world.channel} data")
        if not (self.priors >= BATCHES and 0 < self.power < np.inf):
            raise InputError(
                f"hierarchical draws {self.priors} priors with power {self.power}: give at least {BATCHES} priors "
                "and a positive power"
            )

    def fit(self, tally: Tally) -> HierarchicalRule:
        """Average over the priors of the world."""
        size = 2 ** int(np.ceil(np.log2(max(64, int(tally.values.max()) + 2))))
        world, rng = self.world, np.random.default_rng(self.seed)
        bounded = isinstance(world.theta_max, int | float)
        if isinstance(world, Multinomial) and bounded:
            if self.power != 1.0:
                raise InputError(f"the power {self.power} needs drawn atoms: where they are given it can only be 1")
            found = by_gibbs(world.draw(np.random.default_rng(0)).atoms, tally, size, self.priors, rng)
        elif isinstance(world, Universal) and bounded and self.power == 1.0:
            end = float(world.theta_max)  # type: ignore[arg-type]
            atoms = np.minimum(np.quantile(tally.values, (np.arange(world.size) + 0.5) / world.size) + 0.5, end)
            found = by_gibbs(atoms, tally, size, self.priors, rng, end)
        else:
            found = by_importance(drawn(self.world, self.priors, self.seed, size), tally, self.power)
        evidence = Convergence(1.0 / found.effective, self.priors, found.effective >= ALIVE, MEANING)
        return HierarchicalRule(self.name, found.estimates, found.errors, convergence=evidence)


@dataclass(frozen=True)
class HierarchicalRule(CurveRule):
    """The rule at x = 0, 1, ..., with the standard error of the draws."""

    kind: ClassVar[str] = "hierarchical"
    estimates: Floats = field(repr=False, compare=False)
    errors: Floats = field(repr=False, compare=False)

    def curve(self, x: Floats) -> Floats:
        """What was averaged."""
        if x.size and float(x.max()) >= self.estimates.size:
            raise InputError(f"the priors were drawn for counts below {self.estimates.size}: fit a tally that has more")
        return np.asarray(self.estimates[x.astype(np.intp)])

    def _content(self) -> dict[str, Any]:
        raise InputError("a hierarchical rule is of the laboratory and is not saved: save its world and seed")

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> HierarchicalRule:
        raise InputError("a hierarchical rule cannot be read")


class Draws(NamedTuple):
    """log f_G(x) and theta_G(x) at x = 0, 1, ..., of many priors: two arrays [s, priors]."""

    logs: Singles
    rules: Singles


@lru_cache(maxsize=2)
def drawn(world: World, priors: int, seed: int, size: int) -> Draws:
    """Priors of a world, seen through what they say of counts below `size`.

    Their atoms are split between the two nearest points of a grid, which keeps means.
    """
    rng, x = np.random.default_rng(seed), np.arange(size, dtype=np.float64)[:, None]
    logs, rules = (np.empty((size, priors), dtype=np.float32) for _ in range(2))
    for start in range(0, priors, AT_ONCE):
        some = slice(start, min(start + AT_ONCE, priors))
        batch = world.draw_many(rng, some.stop - start)
        u = POISSON.coordinate(batch.atoms)
        nodes = CELL * np.arange(int(u.max() / CELL) + 3, dtype=np.float64)
        theta = POISSON.at_coordinate(nodes)
        low = np.minimum((u / CELL).astype(np.intp), nodes.size - 2)
        upper = (batch.atoms - theta[low]) / (theta[low + 1] - theta[low])
        row = nodes.size * np.arange(len(batch))[:, None]
        weights = np.zeros((len(batch), nodes.size))
        for cell, share in ((low, 1.0 - upper), (low + 1, upper)):
            weights += np.bincount((row + cell).ravel(), (share * batch.weights).ravel(), weights.size).reshape(
                weights.shape
            )
        kernel = np.exp(POISSON.log_likelihood(x, theta))
        f = np.maximum(kernel @ weights.T, 1e-30)
        logs[:, some], rules[:, some] = np.log(f), (kernel * theta) @ weights.T / f
    return Draws(logs, rules)


def by_importance(draws: Draws, tally: Tally, power: float = 1.0) -> Averaged:
    """The mean over drawn priors, each weighed by the likelihood of the tally to that power."""
    evidence = power * (tally.multiplicity.astype(np.float64) @ draws.logs[tally.values].astype(np.float64))
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    alive = np.flatnonzero(weight > 1e-12 * weight.max())
    weight, rules = weight[alive], draws.rules[:, alive].astype(np.float64)
    estimates = rules @ weight
    errors = np.sqrt((rules - estimates[:, None]) ** 2 @ weight**2)
    return Averaged(estimates, errors, float(weight.sum() ** 2 / (weight @ weight)))


def by_gibbs(
    atoms: Floats, tally: Tally, size: int, sweeps: int, rng: np.random.Generator, end: float | None = None
) -> Averaged:
    """The mean over priors drawn from their posterior, where weights are uniform on the simplex before the data.

    In turn every unit is given an atom; the weights are drawn given how many units each atom has; and, where atoms are
    uniform up to an `end` before the data, each is drawn given the counts of its units. Otherwise they stay.
    """
    x = np.arange(size, dtype=np.float64)[:, None]
    kernel, weights, total = np.exp(POISSON.log_likelihood(x, atoms)), np.full(atoms.size, 1.0 / atoms.size), []
    for sweep in range(WARM_UP + sweeps):
        chance = kernel[tally.values] * weights + 1e-300
        chance /= chance.sum(axis=1, keepdims=True)
        units = rng.multinomial(tally.multiplicity, chance)
        weights = rng.dirichlet(1.0 + units.sum(axis=0))
        if end is not None:
            atoms = atoms_given(units.sum(axis=0), tally.values @ units, end, rng)
            kernel = np.exp(POISSON.log_likelihood(x, atoms))
        if sweep >= WARM_UP:
            total.append((kernel @ (atoms * weights)) / np.maximum(kernel @ weights, 1e-300))
    rules = np.array(total)
    batches = np.array([part.mean(axis=0) for part in np.array_split(rules, BATCHES)])
    errors = batches.std(axis=0, ddof=1) / np.sqrt(BATCHES)
    share = tally.multiplicity / tally.n
    spread, error = share @ rules.var(axis=0)[tally.values], share @ errors[tally.values] ** 2
    return Averaged(rules.mean(axis=0), errors, float(np.clip(spread / max(error, 1e-300), 1.0, sweeps)))


def atoms_given(units: Floats, counts: Floats, end: float, rng: np.random.Generator) -> Floats:
    """Rates of groups of so many units with so many counts in all, uniform on [0, end] before: cut-off gamma laws.

    >>> drawn = atoms_given(np.array([0, 400]), np.array([0, 1200]), 50.0, np.random.default_rng(0))
    >>> bool(0 <= drawn[0] <= 50), bool(2.5 < drawn[1] < 3.5)
    (True, True)
    """
    q, seen = rng.random(units.size), units > 0
    rate, shape = np.where(seen, units, 1.0), counts + 1.0
    upto = gammainc(shape, rate * end)
    inside = gammaincinv(shape, q * upto) / rate
    return np.where(seen, np.where(upto > 0, np.minimum(inside, end), end), q * end)


class Floor(NamedTuple):
    """The mean regret of the hierarchical rule on a world's own tables, its standard error, and what it rests on.

    `sampling` is the part of the regret that more drawn priors would take away; tables on which too few priors are
    left are not counted. `over` has the regret of other methods on the same tables, divided by the floor's, and the
    standard error of this ratio.
    """

    regret: float
    error: float
    sampling: float
    effective: float
    tables: int
    over: dict[str, tuple[float, float]]


def floor(
    method: Hierarchical, n: int, tables: int, rng: np.random.Generator, others: Sequence[Estimator] = ()
) -> Floor:
    """The floor of a world for tables of n units, each of a prior of its own.

    >>> from ebformer.lab.worlds import Universal
    >>> found = floor(Hierarchical(Universal(10.0, size=2), priors=500), 64, 5, np.random.default_rng(1))
    >>> found.tables, 0 < found.regret < 1
    (5, True)
    """
    rows = []
    for _ in range(tables):
        truth = Truth.of(method.world.draw(rng))
        tally = truth.draw(n, rng)
        rule = method.fit(tally)
        assert rule.convergence is not None
        if rule.convergence.reached:
            share, exact = tally.multiplicity / n, truth.bayes[np.searchsorted(truth.x, tally.values)]
            answers = rule.estimates[tally.values], *(other(tally)(tally.values) for other in others)
            paid = [float(share @ (answer - exact) ** 2) for answer in answers]
            rows.append((float(share @ rule.errors[tally.values] ** 2), 1.0 / rule.convergence.gap, *paid))
    if len(rows) < 2:
        raise InputError(f"fewer than two of {tables} tables leave {ALIVE:g} priors alive: draw more priors")
    sampling, effective, regrets, *theirs = np.array(rows).T
    over = {other.name: ratio_of_means(each, regrets) for other, each in zip(others, theirs, strict=True)}
    error = float(regrets.std(ddof=1) / np.sqrt(len(rows)))
    means = float(regrets.mean()), error, float(sampling.mean()), float(np.median(effective))
    return Floor(*means, len(rows), over)


def ratio_of_means(above: Floats, below: Floats) -> tuple[float, float]:
    """The ratio of the means of paired numbers, and its standard error.

    >>> ratio_of_means(np.array([2.0, 4.0]), np.array([1.0, 2.0]))
    (2.0, 0.0)
    """
    ratio = above.mean() / below.mean()
    return float(ratio), float((above - ratio * below).std(ddof=1) / np.sqrt(below.size) / below.mean())
