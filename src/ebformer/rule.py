"""A fitted answer: a function of x, with its prior where it has one and the evidence that it converged."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ebformer.atomic import replacing
from ebformer.bayes.marginal import AnyPrior, bayes_rule, observations, posterior
from ebformer.bayes.posterior import Floats, Posterior
from ebformer.bayes.predictive import Predictive, predictive
from ebformer.errors import ExposureError, InputError, NoPriorError, WeightsError
from ebformer.prior import GammaPrior, GridPrior, Prior
from ebformer.tally import exposures

FORMAT, VERSION = "ebformer-rule", 1

HOMES = {
    "mle": "ebformer.estimators.mle",
    "robbins": "ebformer.estimators.robbins",
    "step": "ebformer.estimators.erm_monotone",
    "network": "ebformer.estimators.pretrained",
}
"""Where the kinds of rules that are not in this module are defined: a file names a kind, never a module to import."""


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
    """x -> estimate of theta, for any x.

    `exposure` is what the fitted units shared, 1 where they had none; a question that names no exposure means this one.
    Where they differed it is None, and every question has to name its own. Subclasses say how to answer (`_estimate`)
    and how to be written down (`_content`, `_from_content`).

    >>> from ebformer.prior import Prior
    >>> rule = BayesRule("oracle", Prior([1.0, 4.0], [0.5, 0.5]))  # E[theta | x]: counts [k] to estimates [k]
    >>> rule([0, 2, 9]).round(3)
    array([1.142, 2.33 , 4.   ])
    """

    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Rule]]] = {}

    method: str
    exposure: float | None = field(default=1.0, kw_only=True)
    convergence: Convergence | None = field(default=None, kw_only=True)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            Rule._kinds[cls.kind] = cls

    @property
    def prior(self) -> AnyPrior | None:
        """The prior this rule is the Bayes rule of, or None."""
        return None

    def __call__(self, x: ArrayLike, exposure: ArrayLike | None = None) -> Floats:
        """Estimates of theta in the shape of x, broadcast against exposure; equal questions are answered once."""
        counts, t = observations(x, self._exposure(exposure))
        if counts.size == 0 or not bool(np.all(t == t.flat[0])):
            return self._estimate(counts, t)
        asked, where = np.unique(counts, return_inverse=True)
        return np.asarray(self._estimate(asked, np.asarray(t.flat[0]))[where].reshape(counts.shape))

    def posterior(self, x: ArrayLike, exposure: ArrayLike | None = None) -> Posterior:
        """The distribution of theta given x."""
        return posterior(self._known_prior(), x, self._exposure(exposure))

    def predict(self, x: ArrayLike, exposure: ArrayLike | None = None, future: ArrayLike = 1.0) -> Predictive:
        """The distribution of the next count over exposure `future`, given x."""
        return predictive(self._known_prior(), x, self._exposure(exposure), future)

    @abstractmethod
    def at_exposure(self, exposure: float) -> Self:
        """The same fit in other units: every fitted unit had this exposure instead of 1, so rates shrink by it."""

    @abstractmethod
    def _estimate(self, x: Floats, exposure: Floats) -> Floats:
        """The answers to whole numbers x, at exposures of the same shape or at one exposure."""

    @abstractmethod
    def _content(self) -> dict[str, Any]: ...

    @classmethod
    @abstractmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> Rule: ...

    def _exposure(self, exposure: ArrayLike | None) -> ArrayLike:
        if exposure is not None:
            return exposure
        if self.exposure is None:
            raise ExposureError("the fitted units had unequal exposures: give those of the units you ask about, too")
        return self.exposure

    def _known_prior(self) -> AnyPrior:
        if self.prior is None:
            raise NoPriorError(
                f"{self.method} estimates rates without a prior, so it has no posterior; "
                "use a method that has one, such as priorformer or npmle"
            )
        return self.prior

    def record(self) -> dict[str, Any]:
        """The rule as plain JSON values; `Rule.from_record` reads them back."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "method": self.method,
            "exposure": self.exposure,
            "convergence": None if self.convergence is None else asdict(self.convergence),
            "content": self._content(),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule as readable JSON; `Rule.load` reads it back."""
        with replacing(path) as partial:
            partial.write_text(json.dumps(self.record(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Rule:
        """Read a rule that `save` wrote; nothing in the file is executed."""
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not a saved rule: write one with rule.save(path)") from error
        return Rule.from_record(record, path)

    @staticmethod
    def from_record(record: Any, path: str | os.PathLike[str]) -> Rule:
        """The rule that `record` wrote down; complaints name the path it came from."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise InputError(f"{path} is not a saved rule: write one with rule.save(path)")
        kind = str(record.get("kind"))
        if kind in HOMES:
            import_module(HOMES[kind])
        if record.get("version") != VERSION or kind not in Rule._kinds:
            raise InputError(
                f"{path} holds a rule of kind {kind!r}, version {record.get('version')!r}, "
                "which this ebformer cannot read: install the version that wrote it"
            )
        try:
            convergence = None if record["convergence"] is None else Convergence(**record["convergence"])
            exposure = None if record["exposure"] is None else float(exposures(record["exposure"])[0])
            common = {"method": record["method"], "exposure": exposure, "convergence": convergence}
            return Rule._kinds[kind]._from_content(record["content"], **common)
        except WeightsError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{path} is damaged, for a rule of kind {kind!r}, at {error}: save it again") from error


@dataclass(frozen=True)
class BayesRule(Rule):
    """The Bayes rule of an estimated prior: answers for any x and any exposure, with posterior and predictions.

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

    def at_exposure(self, exposure: float) -> Self:
        """Rates per unit of exposure: the prior shrinks by the same factor."""
        return replace(self, mixing=self.mixing.scaled(1.0 / exposure), exposure=exposure)

    def _estimate(self, x: Floats, exposure: Floats) -> Floats:
        return bayes_rule(self.mixing, x, exposure)

    def _content(self) -> dict[str, Any]:
        if isinstance(self.mixing, GammaPrior):
            return {"gamma": {"shape": self.mixing.shape, "rate": self.mixing.rate}}
        found = {"atoms": self.mixing.atoms.tolist(), "weights": self.mixing.weights.tolist()}
        return {"grid": found} if isinstance(self.mixing, GridPrior) else found

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> BayesRule:
        if "gamma" in content:
            return cls(mixing=GammaPrior(**content["gamma"]), **common)
        kind, found = (GridPrior, content["grid"]) if "grid" in content else (Prior, content)
        return cls(mixing=kind(found["atoms"], found["weights"]), **common)


@dataclass(frozen=True)
class CurveRule(Rule):
    """A rule without a prior: a curve over counts, for units that share one exposure. Subclasses define `curve`."""

    @abstractmethod
    def curve(self, x: Floats) -> Floats:
        """The estimate of exposure * theta at every x, whole numbers [u]."""

    def at_exposure(self, exposure: float) -> Self:
        """The same curve, divided by the exposure when it answers."""
        return replace(self, exposure=exposure)

    def _estimate(self, x: Floats, exposure: Floats) -> Floats:
        assert self.exposure is not None  # no method that draws a curve takes unequal exposures
        if not bool(np.all(exposure == self.exposure)):
            raise ExposureError(
                f"{self.method} was fitted at exposure {self.exposure:g} and cannot answer for another; "
                "use a method with a prior, such as priorformer or npmle"
            )
        return self.curve(x) / self.exposure
