"""Hierarchical Bayes: the exact Bayes rule of a world, the best that anybody can do who knows the world alone.

E[theta_i | all x] is the mean over the world's priors, given the table, of what each says of unit i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincinv

from ebformer.channels import POISSON
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.lab.tempering import followed, tempered
from ebformer.lab.uniform_numbers import priors_of
from ebformer.lab.worlds import Multinomial, Universal, World
from ebformer.rule import Convergence, CurveRule
from ebformer.tally import Tally

ALIVE = 30.0
"""Priors that must be left, in effect: a mean over k of them has about 1 + 1 / k times the least regret."""
WARM_UP, BATCHES = 200, 20
"""Sweeps of Gibbs' sampler that are left out, and the batches of draws whose means tell the standard error."""
EVERY = 5
"""Where atoms are drawn too, they move slowly, and every fifth sweep is looked at."""
LOOKS = 12
"""How often tempered particles are looked at; in between they move."""
MEANING = "1 / effective number of priors"


class Averaged(NamedTuple):
    """The hierarchical Bayes rule at x = 0, 1, ... [s], the standard error of the draws [s], and how far priors differ.

    `spread` [s] is the variance of theta_G(x) over priors G given the table: what one who knows G would gain.
    """

    estimates: Floats
    errors: Floats
    spread: Floats
    effective: float


@dataclass(frozen=True)
class Hierarchical(Estimator):
    """The Bayes rule of a world, for counts: the mean over `priors` draws from the posterior over its priors.

    `power` is that of the likelihood, 1 for Bayes; the networks of the world's makers behave like less. Where the
    world's atoms are given and only their weights are drawn, as in `Multinomial`, or where a few atoms are uniform up
    to a given end, as in `Universal`, the draws are Gibbs'; elsewhere tempered particles. `rule.convergence` tells how
    many draws are left in effect.

    >>> from ebformer.lab.worlds import Universal
    >>> rule = Hierarchical(Universal(10.0, size=2), priors=2000)(Tally([0, 1, 2, 9], [20, 9, 3, 8]))
    >>> rule([0, 9]).round(1).tolist(), rule.convergence.reached
    ([0.5, 8.7], True)
    """

    name: ClassVar[str] = "hierarchical"

    world: World
    priors: int = 1000
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
        found = self.averages(tally, [self.power])[self.power]
        evidence = Convergence(1.0 / found.effective, self.priors, found.effective >= ALIVE, MEANING)
        return HierarchicalRule(self.name, found.estimates, found.errors, convergence=evidence)

    def averages(self, tally: Tally, powers: Sequence[float]) -> dict[float, Averaged]:
        """The rule for several powers of the likelihood, in rising order."""
        size, rng = size_for(tally), np.random.default_rng(self.seed)
        if self.by_gibbs:
            atoms = self.world.draw(np.random.default_rng(0)).atoms
            if self.end is not None:
                middles = (np.arange(atoms.size) + 0.5) / atoms.size
                atoms = np.minimum(np.quantile(tally.values, middles) + 0.5, self.end)
            weights = np.full(atoms.size, 1.0 / atoms.size)
            first = WARM_UP if self.end is None else WARM_UP // EVERY
            rules, evidence = gibbs(atoms, weights, tally, size, first + self.priors, rng, self.end)
            return {power: averaged(rules[first:], (power - 1.0) * evidence[first:]) for power in powers}
        looks: dict[float, list[Floats]] = {}
        for power, rules in tempered(self.world, tally, size, self.particles, powers, LOOKS, rng):
            looks.setdefault(power, []).append(rules)
        # One particle after the other, so that batches are as good as independent.
        return {power: averaged(np.stack(each, axis=1).reshape(-1, size)) for power, each in looks.items()}

    def draws_from(self, start: Floats, tally: Tally) -> Floats:
        """Rules [draws, s] of priors given a tally, if the one of these uniform numbers [1, d] made it.

        That prior is a draw given the tally, so that all it moves to are, with no need to warm up; half are left out,
        where it is not yet forgotten.
        """
        size, rng = size_for(tally), np.random.default_rng([self.seed, 1])
        if self.by_gibbs:
            prior = priors_of(self.world, start)
            return gibbs(prior.atoms[0], prior.weights[0], tally, size, self.priors, rng, self.end)[0][
                self.priors // 2 :
            ]
        rules = followed(self.world, tally, size, start, max(1, self.particles // 2), LOOKS, rng)
        return rules[:, LOOKS // 2 :].reshape(-1, size)

    @property
    def by_gibbs(self) -> bool:
        """Whether the atoms are given, or few and uniform up to a given end."""
        return isinstance(self.world.theta_max, int | float) and isinstance(self.world, Universal | Multinomial)

    @property
    def end(self) -> float | None:
        """Up to which atoms are uniform; none where they are given."""
        return float(self.world.theta_max) if isinstance(self.world, Universal) else None  # type: ignore[arg-type]

    @property
    def particles(self) -> int:
        return max(BATCHES, self.priors // LOOKS)


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


def averaged(rules: Floats, log_weight: Floats | None = None) -> Averaged:
    """The mean of rules [draws, s] in the order in which they were drawn, each with its weight."""
    log_weight = np.zeros(len(rules)) if log_weight is None else log_weight
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    estimates = weight @ rules
    apart = rules - estimates
    batches = [part @ each for part, each in zip(*(np.array_split(a, BATCHES) for a in (weight, apart)), strict=True)]
    error = np.square(batches).sum(axis=0) * (BATCHES / (BATCHES - 1))
    spread = weight @ apart**2 + error
    share = float(spread.sum() / max(float(error.sum()), 1e-300))
    return Averaged(estimates, np.sqrt(error), spread, float(np.clip(share, 1.0, len(rules))))


def size_for(tally: Tally) -> int:
    """The number of counts 0, 1, ... that rules answer for."""
    return int(2 ** np.ceil(np.log2(max(64, int(tally.values.max()) + 2))))


def gibbs(
    atoms: Floats,
    weights: Floats,
    tally: Tally,
    size: int,
    draws: int,
    rng: np.random.Generator,
    end: float | None = None,
) -> tuple[Floats, Floats]:
    """Rules [draws, size] of priors drawn given the tally, where weights are uniform on the simplex before the data.

    In turn every unit is given an atom; the weights are drawn given how many units each atom has; and, where atoms are
    uniform up to an `end` before the data, each is drawn given the counts of its units. Otherwise they stay. Also the
    log-likelihood [draws] of each.
    """
    x = np.arange(size, dtype=np.float64)[:, None]
    kernel = np.exp(POISSON.log_likelihood(x, atoms))
    rules, evidence, every = np.empty((draws, size)), np.empty(draws), 1 if end is None else EVERY
    for sweep in range(1, draws * every + 1):
        chance = kernel[tally.values] * weights + 1e-300
        chance /= chance.sum(axis=1, keepdims=True)
        units = rng.multinomial(tally.multiplicity, chance)
        weights = rng.dirichlet(1.0 + units.sum(axis=0))
        if end is not None:
            atoms = atoms_given(units.sum(axis=0), tally.values @ units, end, rng)
            kernel = np.exp(POISSON.log_likelihood(x, atoms))
        if sweep % every == 0:
            f, draw = np.maximum(kernel @ weights, 1e-300), sweep // every - 1
            rules[draw], evidence[draw] = kernel @ (atoms * weights) / f, tally.multiplicity @ np.log(f[tally.values])
    return rules, evidence


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
