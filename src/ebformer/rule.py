"""A fitted answer: a function of x and what is known, with its prior where it has one and evidence of convergence."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ebformer.bayes import bayes_rule, log_marginal, posterior, predictive
from ebformer.bayes.marginal import observations
from ebformer.bayes.prediction import units_to_come
from ebformer.channels import POISSON, pick
from ebformer.channels.base import Channel
from ebformer.distributions import Floats, Posterior, Predictive
from ebformer.errors import InputError, KnownError, NoPriorError
from ebformer.plural import counted
from ebformer.prior import AnyPrior, Prior
from ebformer.saved import write_json
from ebformer.saved_prior import prior_of, prior_record
from ebformer.tally import Tally

if TYPE_CHECKING:
    from ebformer.drift import Drift, Earlier

FORMAT, VERSION = "ebformer-rule", 2


@dataclass(frozen=True)
class Convergence:
    """Evidence: a `gap` that is 0 at the exact answer, after so many iterations, and whether it met its tolerance.

    >>> print(Convergence(gap=1e-9, iterations=7, reached=True, meaning="max D - 1"))
    converged in 7 iterations: max D - 1 = 1e-09
    """

    gap: float
    iterations: int
    reached: bool
    meaning: str

    def __str__(self) -> str:
        outcome = "converged in" if self.reached else "stopped after"
        return f"{outcome} {self.iterations} iterations: {self.meaning} = {self.gap:.3g}"


@dataclass(frozen=True)
class Rule(ABC):
    """(x, known) -> estimate of theta, for any x.

    `known` is what the fitted units shared, such as their exposure; a question that names none means this one. Where
    they differed it is None, and every question has to name its own, by the channel's own word: rule(x, trials=45).
    Subclasses say how to answer (`_estimate`) and how to be written down (`_content`, `_from_content`).

    >>> rule = BayesRule("oracle", Prior([1.0, 4.0], [0.5, 0.5]))  # E[theta | x]: counts [k] to estimates [k]
    >>> rule([0, 2, 9]).round(3)
    array([1.142, 2.33 , 4.   ])
    """

    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Rule]]] = {}

    method: str
    channel: Channel = field(default=POISSON, kw_only=True)
    known: float | None = field(default=POISSON.usual, kw_only=True)
    convergence: Convergence | None = field(default=None, kw_only=True)
    tally: Tally | None = field(default=None, kw_only=True, repr=False, compare=False)
    """What was fitted, where it is at hand; of a rule that was read from a file, `as_saved` is left."""
    as_saved: tuple[int | None, float | None] = field(default=(None, None), kw_only=True, repr=False, compare=False)
    """The number of units and the log-likelihood."""
    parameters: int | None = field(default=None, kw_only=True, repr=False, compare=False)
    """How many numbers were found by maximum likelihood, where they can be counted."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            Rule._kinds[cls.kind] = cls

    @property
    def prior(self) -> AnyPrior | None:
        """The prior this rule is the Bayes rule of, or None."""
        return None

    @property
    def units(self) -> int | None:
        """How many units were fitted."""
        return self.as_saved[0] if self.tally is None else self.tally.n

    @cached_property
    def log_likelihood(self) -> float | None:
        """sum log f(x) over the fitted units, under the estimated prior; None for a method without one."""
        if self.tally is None or self.prior is None:
            return self.as_saved[1]
        log_f = log_marginal(self.prior, self.tally.x, self.tally.known, channel=self.channel)
        return float(self.tally.multiplicity @ log_f)

    @property
    def aic(self) -> float | None:
        """Akaike's criterion, 2 parameters - 2 log-likelihood; lower is better. None where it has no meaning.

        It compares shapes of priors by a fixed number of parameters, such as gamma. A nonparametric prior has no number
        of parameters, a network did not maximise the likelihood: `ebformer compare` scores these by prediction.

        >>> from ebformer.estimators.gamma import Gamma
        >>> rule = Gamma()(Tally.of([0, 0, 0, 5, 1, 9]))
        >>> round(rule.aic + 2 * rule.log_likelihood, 9)
        4.0
        """
        likelihood = self.log_likelihood
        return None if self.parameters is None or likelihood is None else 2.0 * self.parameters - 2.0 * likelihood

    def __call__(self, x: ArrayLike, known: ArrayLike | None = None, **words: ArrayLike | None) -> Floats:
        """Estimates of theta in the shape of x, broadcast against what is known; equal questions are answered once."""
        at, about = observations(self.channel, x, self._known(known, words))
        if at.size == 0 or not bool(np.all(about == about.flat[0])):
            return self._estimate(at, about)
        asked, where = np.unique(at, return_inverse=True)
        return np.asarray(self._estimate(asked, np.asarray(about.flat[0]))[where].reshape(at.shape))

    @property
    def look(self) -> Channel:
        """The channel of an observation that a question tells of."""
        return self.channel

    def posterior(
        self,
        x: ArrayLike,
        known: ArrayLike | None = None,
        *,
        drift: Drift | None = None,
        earlier: Earlier = (),
        **words: ArrayLike | None,
    ) -> Posterior:
        """The distribution of theta given x, and given `earlier` looks where a `drift` says what they are worth.

        Earlier looks are pairs of observations and what is known, the oldest first; NaN where a unit was not seen.
        """
        prior, about = self._given_prior(), self._known(known, words)
        if earlier:
            return _moving(drift).posterior(prior, x, about, channel=self.look, earlier=earlier)
        return posterior(prior, x, about, channel=self.look)

    def predict(
        self,
        x: ArrayLike,
        known: ArrayLike | None = None,
        future: ArrayLike | None = None,
        *,
        drift: Drift | None = None,
        earlier: Earlier = (),
        **words: ArrayLike | None,
    ) -> Predictive:
        """The distribution of the next observation given x; `future` is what will be known about it.

        That is its exposure or its number of trials, 1 where nothing is said, or its standard error. With a `drift`,
        thetas move before it is made, and `earlier` looks count as in `posterior`.
        """
        prior, about = self._given_prior(), self._known(known, words)
        if drift is None and not earlier:
            return predictive(prior, x, about, future, channel=self.look)
        return _moving(drift).predictive(prior, x, about, future, channel=self.look, earlier=earlier)

    def next(
        self,
        x: ArrayLike,
        known: ArrayLike | None = None,
        *,
        drift: Drift,
        earlier: Earlier = (),
        **words: ArrayLike | None,
    ) -> Posterior:
        """The distribution of the next theta, for ranks and chances of the next season."""
        prior, about = self._given_prior(), self._known(known, words)
        now = drift.posterior(prior, x, about, channel=self.look, earlier=earlier)
        return drift.moved(now, prior, self.look)

    def __str__(self) -> str:
        units = "" if self.units is None else f" of {counted(self.units, 'unit')}"
        found = "" if self.prior is None else f": {self.prior}"
        doubt = "" if self.convergence is None or self.convergence.reached else ", not converged"
        return f"{self.method}{units}, {self.channel.name}{found}{doubt}"

    def summary(self) -> str:
        """The fit as a person reads it, a line each: method, channel, units, log-likelihood, prior, convergence."""
        likelihood = self.log_likelihood
        lines = {
            "method": self.method,
            "channel": f"{self.channel.name}: {self.channel.words.xs} with {self.channel.keyword}",
            "units": "not recorded" if self.units is None else f"{self.units:,}",
            "log-likelihood": "not recorded" if likelihood is None else f"{likelihood:,.3f}",
            "prior": str(self.prior),
            "convergence": "no iterations" if self.convergence is None else str(self.convergence),
        }
        if (aic := self.aic) is not None:
            lines["log-likelihood"] += f", AIC {aic:,.3f}"
        if not self.channel.complete and self.known is not None and isinstance(self.prior, Prior) and self.tally:
            further = float(self.prior.weights @ units_to_come(self.prior.atoms, self.tally))
            number = f"{further:,.0f} further units" if np.isfinite(further) else "too many units to count"
            lines["never seen"] = f"{number}: eb.unseen(rule) gives an interval"
        if self.prior is None:
            lines |= {"prior": f"none: {self.method} estimates without one", "log-likelihood": "none without a prior"}
        return "\n".join(f"{name:<15} {text}" for name, text in lines.items())

    @abstractmethod
    def rescaled(self, scale: float, known: float) -> Self:
        """The same fit in other units: theta times `scale`, for units about which `known` is known."""

    @abstractmethod
    def _estimate(self, x: Floats, known: Floats) -> Floats:
        """The answers to observations x, with what is known of the same shape or one number for all."""

    @abstractmethod
    def _content(self) -> dict[str, Any]: ...

    @classmethod
    @abstractmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> Rule: ...

    def _known(self, known: ArrayLike | None, words: dict[str, ArrayLike | None]) -> ArrayLike:
        about: ArrayLike | None = pick(known, words, self.channel)[1]
        if about is not None and not (self.channel.complete or bool(np.all(np.asarray(about) == self.known))):
            raise KnownError(
                f"the prior is of units that entered the table at {self.channel.keyword} {self.known:g}: "
                "ask about such units, or fit those of another"
            )
        if about is not None:
            return about
        if self.known is None:
            raise KnownError(
                f"the fitted units had unequal {self.channel.words.knowns}: give those of the units you ask about, too"
            )
        return self.known

    def _given_prior(self) -> AnyPrior:
        if self.prior is None:
            raise NoPriorError(
                f"{self.method} estimates {self.channel.words.thetas} without a prior, so it has no posterior; "
                f"use a method that has one, such as npmle or {self.channel.conjugate or 'npmle-em'}"
            )
        return self.prior

    def record(self) -> dict[str, Any]:
        """The rule as plain JSON values; `saved_rule.rule_of` reads them back."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "method": self.method,
            "channel": self.channel.name,
            "known": self.known,
            "units": self.units,
            "log_likelihood": self.log_likelihood,
            "parameters": self.parameters,
            "convergence": None if self.convergence is None else asdict(self.convergence),
            "content": self._content(),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule as readable JSON; `Rule.load` reads it back."""
        write_json(path, self.record())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Rule:
        """Read a rule that `save` wrote, or the one in a fit of a table without groups; nothing in it is executed."""
        from ebformer.saved_rule import read

        return read(path)


def _moving(drift: Drift | None) -> Drift:
    """The drift, without which earlier looks mean nothing."""
    if drift is None:
        raise InputError("earlier looks are worth what thetas kept of them: give drift=, or Drift.none() for all")
    if not hasattr(drift, "predictive"):
        raise InputError(f"the drift is a {type(drift).__name__}: give one, such as eb.Drift.typical()")
    return drift


@dataclass(frozen=True)
class BayesRule(Rule):
    """The Bayes rule of an estimated prior: answers for any x and whatever is known, with posterior and predictions.

    >>> rule = BayesRule("oracle", Prior([1.0, 3.0], [0.5, 0.5]))
    >>> rule([0, 9]).round(3)
    array([1.238, 2.999])
    >>> rule.predict(0, future=2.0).mean.round(3).item()
    2.477
    """

    kind: ClassVar[str] = "bayes"
    mixing: AnyPrior

    @property
    def prior(self) -> AnyPrior:
        """The prior this rule is the Bayes rule of."""
        return self.mixing

    def rescaled(self, scale: float, known: float) -> Self:
        """The prior is scaled by the same factor."""
        return replace(self, mixing=self.mixing.scaled(scale), known=known)

    def _estimate(self, x: Floats, known: Floats) -> Floats:
        return bayes_rule(self.mixing, x, known, channel=self.look)

    def _content(self) -> dict[str, Any]:
        return prior_record(self.mixing)

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> BayesRule:
        return cls(mixing=prior_of(content, common["channel"]), **common)


@dataclass(frozen=True)
class CurveRule(Rule):
    """A rule without a prior: a curve over x, for units about which the same is known. Subclasses define `curve`."""

    @abstractmethod
    def curve(self, x: Floats) -> Floats:
        """The estimate at every x [u] in natural units, such as exposure * theta."""

    def rescaled(self, scale: float, known: float) -> Self:
        """The same curve, in the units of what is known when it answers."""
        return replace(self, known=known)

    def _estimate(self, x: Floats, known: Floats) -> Floats:
        assert self.known is not None  # no method that draws a curve takes units that differ
        if not bool(np.all(known == self.known)):
            raise KnownError(
                f"{self.method} was fitted at {self.channel.keyword} {self.known:g} and cannot answer for another; "
                "use a method with a prior, such as priorformer or npmle"
            )
        at, _, scale = self.channel.standard(x, self.known)
        return self.curve(at) * scale
