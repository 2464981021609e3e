"""A conjugate prior whose parameters are uncertain: a mixture over them, and the exact answers of its units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from ebformer.channels.mixtures import ContinuousMixedPredictive, MixedPosterior, MixedPredictive
from ebformer.distributions import Floats
from ebformer.prior import ConjugatePrior


@dataclass(frozen=True, eq=False)
class MixedPrior(ConjugatePrior):
    """theta ~ sum_h weights[h] parts[h]: `parts` is one conjugate prior with vectors [h] for parameters.

    The weights are what all units together tell about the parameters. A unit's posterior mixes the parts' posteriors
    by the same weights: the unit has had its say in them, and weighing them by its likelihood would count it twice.
    """

    parts: ConjugatePrior
    weights: Floats

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of its parts."""
        return self.parts.name

    @property
    def mean(self) -> float:
        """E theta."""
        return float(self.weights @ self.parts.mean)

    @property
    def variance(self) -> float:
        """Var theta."""
        return float(self.weights @ (self.parts.variance + (self.parts.mean - self.mean) ** 2))

    def scaled(self, factor: float) -> Self:
        """The distribution of factor * theta."""
        return type(self)(self.parts.scaled(factor), self.weights)

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent thetas of new units, each with parameters of its own."""
        return self.part(rng.choice(self.weights.size, size=size, p=self.weights)).draw(size, rng)

    def part(self, which: Any) -> ConjugatePrior:
        """Some of the parts."""
        return type(self.parts)(**{name: value[which] for name, value in self.parts.parameters().items()})

    @property
    def law(self) -> MixedPosterior:
        """The distribution of theta before anything is seen."""
        parts: Any = self.parts.law
        return MixedPosterior(parts, self.weights)

    def log_marginal(self, x: Floats, known: Floats) -> Floats:
        return self._mixed_logs(self.parts.log_marginal(x[..., None], known[..., None]))

    def marginal_cdf(self, x: Floats, known: Floats) -> Floats:
        return np.asarray(self.parts.marginal_cdf(x[..., None], known[..., None]) @ self.weights)

    def posterior(self, x: Floats, known: Floats) -> MixedPosterior:
        parts: Any = self.parts.posterior(x[..., None], known[..., None])
        return MixedPosterior(parts, self.weights)

    def predictive(self, x: Floats, known: Floats, future: Floats) -> MixedPredictive:
        parts: Any = self.parts.predictive(*(number[..., None] for number in (x, known, future)))
        return (MixedPredictive if parts.whole else ContinuousMixedPredictive)(parts, self.weights)

    def log_predictive(self, x: Floats, known: Floats, y: Floats, future: Floats) -> Floats:
        return self._mixed_logs(self.parts.log_predictive(*(number[..., None] for number in (x, known, y, future))))

    def mmse(self, known: float) -> float:
        """E Var[theta | x] of units whose prior is one of the parts, and known."""
        return float(self.weights @ self.parts.mmse(known))

    def _mixed_logs(self, logs: Floats) -> Floats:
        return np.asarray(logsumexp(logs, axis=-1, b=self.weights))

    def __len__(self) -> int:
        return int(self.weights.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MixedPrior):
            return NotImplemented
        ours, theirs = ({"weights": each.weights, **each.parts.parameters()} for each in (self, other))
        return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)

    def __hash__(self) -> int:
        return hash(self.weights.tobytes())

    def __str__(self) -> str:
        means = np.asarray(self.parts.mean)
        order = np.argsort(means)
        below = np.cumsum(self.weights[order])
        low, high = means[order][np.minimum(np.searchsorted(below, (0.05, 0.95)), len(self) - 1)]
        return f"MixedPrior({len(self)} {self.name} priors, nine tenths of their means from {low:.4g} to {high:.4g})"

    __repr__ = __str__

    def parameters(self) -> dict[str, Any]:
        """The parameters of the parts, and the weights, as lists."""
        return {"weights": self.weights.tolist()} | {
            name: np.broadcast_to(value, self.weights.shape).tolist() for name, value in self.parts.parameters().items()
        }
