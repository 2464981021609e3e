"""Mixtures of conjugate priors: over parameters that are uncertain, and as priors in their own right. All is exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
        return replace(self, parts=self.parts.scaled(factor))

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


@dataclass(frozen=True, eq=False)
class ConjugateMixture(MixedPrior):
    """theta ~ sum_h weights[h] parts[h] as an estimated prior: a unit's posterior weighs the parts by its likelihood.

    The parts may come as several priors in doubt, of as many parts each, of which one is that of all units: within each
    a unit weighs the parts, but not the priors, as in `MixedPrior`.

    >>> from ebformer.channels.gamma_prior import GammaPrior
    >>> prior = ConjugateMixture(GammaPrior(np.array([2.0, 2.0]), np.array([8.0, 1.0])), np.array([0.5, 0.5]))
    >>> prior.posterior(np.array([0.0, 9.0]), np.ones(2)).mean.round(2).tolist()
    [0.41, 5.5]
    """

    in_doubt: int = 1
    """So many priors, one after the other."""

    def posterior(self, x: Floats, known: Floats) -> MixedPosterior:
        return replace(super().posterior(x, known), weights=self._after(x, known))

    def predictive(self, x: Floats, known: Floats, future: Floats) -> MixedPredictive:
        return replace(super().predictive(x, known, future), weights=self._after(x, known))

    def log_predictive(self, x: Floats, known: Floats, y: Floats, future: Floats) -> Floats:
        logs = self.parts.log_predictive(*(number[..., None] for number in (x, known, y, future)))
        return np.asarray(logsumexp(logs, axis=-1, b=self._after(x, known)))

    def mmse(self, known: float) -> float:
        """E Var[theta | x], summed over all x that the prior makes possible."""
        from ebformer.channels import channels

        channel = next(each for each in channels() if each.conjugate == self.name)
        low, high = self.law.quantile([1e-15, 1.0 - 1e-15])
        nodes, total = channel.nodes(float(low), float(high), known), 0.0
        for x, weight in zip(*(np.array_split(each, -(-each.size // 4096)) for each in nodes), strict=True):
            about = np.full(x.size, known)
            total += float((weight * np.exp(self.log_marginal(x, about))) @ self.posterior(x, about).variance)
        return total

    def _after(self, x: Floats, known: Floats) -> Floats:
        """P(part | x), x.shape + (h,); an x that is impossible in every part tells nothing of which it is."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights) + self.parts.log_marginal(x[..., None], known[..., None])
        priors = self.weights.reshape(self.in_doubt, -1)
        logs = logs.reshape(*logs.shape[:-1], *priors.shape)
        total = logsumexp(logs, axis=-1, keepdims=True)
        impossible = np.isneginf(total)
        before = priors / priors.sum(axis=1, keepdims=True)
        own = np.where(impossible, before, np.exp(logs - np.where(impossible, 0.0, total)))
        return np.asarray((own * priors.sum(axis=1, keepdims=True)).reshape(*logs.shape[:-2], len(self)))

    def parameters(self) -> dict[str, Any]:
        """Those of any mixture, and how many priors are in doubt, where it is more than one."""
        return super().parameters() | ({} if self.in_doubt == 1 else {"in_doubt": self.in_doubt})

    def __str__(self) -> str:
        parts = [", ".join(f"{name} {each:.4g}" for name, each in one.items()) for one in self._each()]
        told = "; ".join(f"{weight:.3g} of {part}" for weight, part in zip(self.weights, parts, strict=True))
        return f"ConjugateMixture({told})"

    __repr__ = __str__

    def _each(self) -> list[dict[str, float]]:
        named = super().parameters()
        del named["weights"]
        return [dict(zip(named, values, strict=True)) for values in zip(*named.values(), strict=True)]
