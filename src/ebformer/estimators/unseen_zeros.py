"""Units of unequal exposure that enter the table only with an event: the zeros that are missing are imputed.

Given an event, a unit of exposure t has likelihood f_G(x | t) / (1 - f_G(0 | t)), with G the prior of all units, seen
or not. It is that of a table in which each such unit stands for f_G(0 | t) / (1 - f_G(0 | t)) further ones that showed
nothing, so that EM asks for no more than a fit of counts with those zeros, again and again, by any method with a prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ebformer.bayes import log_marginal
from ebformer.channels import pick
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.errors import KnownError
from ebformer.prior import AnyPrior
from ebformer.rule import BayesRule, Convergence, Rule
from ebformer.tally import Tally

STEPS = 60
CLOSE = 1e-3
"""The imputed zeros change by no more than this share of the units when the iteration ends."""
MOST = 100.0
"""Units that are seen once in a hundred times leave too little behind to be told from others that are rarer still."""


@dataclass(frozen=True)
class CompletedRule(BayesRule):
    """The Bayes rule of a prior of all units, asked about those that were seen: a look that was made is a look."""

    kind: ClassVar[str] = "completed"

    @cached_property
    def log_likelihood(self) -> float | None:
        """sum log f(x) / (1 - f(0)) over the fitted units."""
        if self.tally is None:
            return self.as_saved[1]
        look, t = self.tally.channel.next_look, self.tally.known
        seen = np.log1p(-_zero(self.prior, self.tally, t))
        return float(self.tally.multiplicity @ (log_marginal(self.prior, self.tally.x, t, channel=look) - seen))

    @property
    def look(self) -> Channel:
        return self.channel.next_look

    def _known(self, known: ArrayLike | None, words: dict[str, ArrayLike | None]) -> ArrayLike:
        about: ArrayLike | None = pick(known, words, self.channel)[1]
        if about is None:
            raise KnownError(f"the fitted units had unequal {self.channel.words.knowns}: give those of the units, too")
        return about

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> CompletedRule:
        made = BayesRule._from_content(content, **{**common, "channel": common["channel"].next_look})
        return cls(mixing=made.mixing, **common)


def fit_with_zeros(method: Any, tally: Tally) -> Rule:
    """The rule of a method, fitted to the units in the table and to those that it implies were never seen.

    >>> from ebformer.estimators.catalogue import estimator
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(0.2, 3.0, 3000)
    >>> x = rng.poisson(rng.gamma(2.0, 0.5, 3000) * t)
    >>> whole = estimator("gamma")(Tally.of(x, exposure=t))
    >>> part = estimator("gamma")(Tally.of(x[x > 0], exposure=t[x > 0], zeros="missing"))
    >>> print(whole([1, 4], 1.0).round(1), part([1, 4], 1.0).round(1))
    [1.  2.1] [1.  2.1]
    """
    look = tally.channel.next_look
    order = np.argsort(tally.known, kind="stable")
    t, units = tally.known[order], tally.multiplicity[order].astype(np.float64)
    start = np.exp(-t * max(tally.mean, 1.0 / float(units @ t)))
    zeros, step, change = _unseen(start, units), 0, np.inf
    before: list[float] = []
    while step < STEPS and change > CLOSE:
        step += 1
        # Rounded so that sums are kept: many units each stand for a fraction of one that was not seen.
        whole = np.diff(np.round(np.cumsum(zeros)), prepend=0.0).astype(np.int64)
        x = np.concatenate([tally.values, np.zeros(t.size, dtype=np.int64)])
        completed = Tally(
            x, np.concatenate([tally.multiplicity, whole]), np.concatenate([tally.known, t]), channel=look
        )
        rule: Rule = method(completed)
        if rule.prior is None:
            raise KnownError(
                f"{rule.method} has no prior, so that it cannot tell how many units were never seen; "
                "use a method that has one, such as gamma or npmle"
            )
        prior = rule.prior
        found = _unseen(_zero(prior, tally, t), units)
        total = float(found.sum())
        change = abs(total - float(zeros.sum())) / float(units.sum())
        before.append(total)
        zeros = found * _further(before)
    evidence = Convergence(change, step, change <= CLOSE, "change of the zeros imputed, per unit")
    return CompletedRule(rule.method, prior, channel=tally.channel, known=None, convergence=evidence, tally=tally)


def _zero(prior: AnyPrior, tally: Tally, t: Floats) -> Floats:
    """f_G(0 | t)."""
    return np.exp(log_marginal(prior, np.zeros(t.size), t, channel=tally.channel.next_look))


def _unseen(zero: Floats, units: Floats) -> Floats:
    """How many units each kind stands for that were never seen."""
    return np.asarray(units * np.minimum(zero / np.maximum(1.0 - zero, 1e-300), MOST))


def _further(totals: list[float]) -> float:
    """By what to multiply the last total to come where the sequence is going, if its steps shrink evenly (Aitken).

    >>> round(8.5 * _further([4.0, 7.0, 8.5]), 6)
    10.0
    """
    if len(totals) % 3:
        return 1.0
    a, b, c = totals[-3:]
    first, second = b - a, c - b
    if first == 0 or not 0 < second / first < 0.98:
        return 1.0
    return float(np.clip((c + second * second / (first - second)) / c, 0.5, 2.0))
