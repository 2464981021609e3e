"""How a `Drift` is learnt from units that were seen twice."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from ebformer.bayes.marginal import posterior
from ebformer.binning import coarsened, distinct_rows
from ebformer.channels.base import Channel
from ebformer.distributions import DiscretePosterior, Floats
from ebformer.drift import TYPICAL, Drift, _atoms, coordinate_variance
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import default_method, find
from ebformer.looks import Looks
from ebformer.networks.estimates import OutsideTrainingRange
from ebformer.prior import Prior

MEAN = ("pull", "fade", "trend")
BOUNDS = {"pull": (0.0, 0.98), "fade": (0.3, 1.0), "trend": (None, None)}
LOG_JUMP = (-7.0, 3.0)
TYPICAL_SPREAD: dict[str, float] = TYPICAL.errors or {}


def learn(looks: Looks | Sequence[Looks], method: str | Estimator | None = None) -> Drift:
    """The drift of units seen twice, from one table or several seasons of one kind.

    Every first look is fitted by `method`, the channel's default unless named. Then pull, fade and trend are those under
    which the means of the second looks have the highest likelihood, as if thetas jumped no further: this finds the
    mean of the next look right however thetas jump. The jump is the one with the highest likelihood of the second looks
    themselves. Each has a normal prior, `Drift.typical` and its spread, which fades as pairs become many; since counts
    vary more than the channel says, the first likelihood is divided by their dispersion. Standard errors are sandwiches.
    """
    several = [looks] if isinstance(looks, Looks) else list(looks)
    if not several:
        raise InputError("there is nothing to learn from: give at least one table of units that were seen twice")
    if len({each.channel for each in several}) > 1:
        raise InputError("these looks are of several channels: learn one drift from each")
    channel = several[0].channel
    estimator = find(default_method(channel)) if method is None else find(method) if isinstance(method, str) else method
    cases = [_Case.of(each, estimator) for each in several]

    units = np.concatenate([case.looks.multiplicity for case in cases])
    start = np.array([getattr(TYPICAL, name) for name in MEAN])
    width = np.array([TYPICAL_SPREAD[name] for name in MEAN])
    width[MEAN.index("trend")] *= np.mean([case.natural_spread for case in cases])
    jumps = float(units @ np.concatenate([case.variance_ahead(TYPICAL) for case in cases])) / float(units.sum())
    dispersion = np.concatenate([1.0 + jumps / case.channel.noise(case.looks.future) ** 2 for case in cases])
    dispersion *= max(1.0, float(units @ (np.concatenate([case.misfit(TYPICAL) for case in cases]) / dispersion)) / units.sum())

    def of_means(at: Floats) -> Floats:
        drift = Drift(**dict(zip(MEAN, at.tolist(), strict=True)))
        return np.concatenate([case.misfit_of_mean(drift) for case in cases]) / dispersion

    means = minimize(
        _penalised(of_means, units, start, width),
        start,
        method="L-BFGS-B",
        bounds=[BOUNDS[name] for name in MEAN],
        options={"ftol": 1e-12},
    ).x
    errors = _standard_errors(of_means, units, means, width, [BOUNDS[name] for name in MEAN])
    found = dict(zip(MEAN, means.tolist(), strict=True))
    drift = Drift(**found)

    def of_jump(at: Floats) -> Floats:
        return np.concatenate([case.misfit_of_jump(drift, float(np.exp(at[0]))) for case in cases])

    typical, share = np.log([TYPICAL.jump]), np.array([TYPICAL_SPREAD["jump"] / TYPICAL.jump])
    total = _penalised(of_jump, units, typical, share)
    log_jump = minimize_scalar(lambda at: total(np.array([at])), bounds=LOG_JUMP, method="bounded").x
    jump = float(np.exp(log_jump))
    relative = _standard_errors(of_jump, units, np.array([log_jump]), share, [LOG_JUMP])
    of = dict(zip(MEAN, errors.tolist(), strict=True)) | {"jump": jump * float(relative[0])}
    return Drift(**found, jump=jump, errors=of, pairs=int(units.sum()))


@dataclass(frozen=True, eq=False)
class _Case:
    """A table of pairs, and the posteriors of its first look: weights [d, k] of distinct (x, known) on atoms [k]."""

    looks: Looks
    channel: Channel
    prior: Prior
    variance: float
    weights: Floats
    which: Floats
    atoms: Floats

    @classmethod
    def of(cls, looks: Looks, estimator: Estimator) -> _Case:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideTrainingRange)
            rule = estimator(coarsened(looks.tally))
        if rule.prior is None:
            raise InputError(f"{rule.method} estimates without a prior, so it cannot say how thetas move: use another")
        prior = _atoms(rule.prior, looks.channel)
        first, which = distinct_rows(looks.x, looks.known)
        after = posterior(prior, looks.x[first], looks.known[first], channel=looks.channel)
        assert isinstance(after, DiscretePosterior)
        return cls(
            looks,
            looks.channel.next_look,
            prior,
            coordinate_variance(prior, looks.channel),
            after.weights,
            which,
            after.atoms,
        )

    @property
    def natural_spread(self) -> float:
        """The deviation of the natural parameter between units, as far as it is finite."""
        eta = self.channel.natural(self.prior.atoms)
        finite = np.isfinite(eta)
        weights = self.prior.weights[finite] / self.prior.weights[finite].sum()
        return max(float(np.sqrt(weights @ (eta[finite] - weights @ eta[finite]) ** 2)), 1e-9)

    def moments(self, drift: Drift) -> tuple[Floats, Floats, Floats]:
        """Of the next theta given each pair's first look: its mean, its variance without jumps, and where they add.

        The last is the chance of a jump times the variance that one unit of it in the stable coordinate is worth.
        """
        to = drift.kept(self.atoms, self.prior.mean, self.channel)
        kept = self.weights @ to
        afresh = drift.shifted(self.prior.atoms, self.channel)
        new = self.prior.weights @ afresh
        r = drift.renewal
        mean = np.clip((1.0 - r) * kept + r * new, *self.channel.inside)
        within = (1.0 - r) * (self.weights @ to**2 - kept**2) + r * (self.prior.weights @ (afresh - new) ** 2)
        between = r * (1.0 - r) * (kept - new) ** 2
        worth = (1.0 - r) * self.channel.variance(np.clip(kept, *self.channel.inside), np.asarray(1.0))
        return mean[self.which], np.maximum(within + between, 0.0)[self.which], worth[self.which]

    def misfit_of_mean(self, drift: Drift) -> Floats:
        """-log p(y | mean of the next theta), for every pair."""
        return self.channel.deviance(self.looks.y, self.moments(drift)[0], self.looks.future)

    def misfit(self, drift: Drift) -> Floats:
        """Squared errors over what the channel makes of them."""
        mean = self.moments(drift)[0]
        error = self.looks.y - self.channel.mean(mean, self.looks.future)
        return np.asarray(error**2 / self.channel.variance(mean, self.looks.future))

    def variance_ahead(self, drift: Drift) -> Floats:
        """The variance of the next theta given each pair's first look, in the stable coordinate."""
        mean, variance, worth = self.moments(drift)
        variance = variance + worth * drift.jump * self.variance
        return np.asarray(variance / self.channel.variance(mean, np.asarray(1.0)))

    def misfit_of_jump(self, drift: Drift, jump: float) -> Floats:
        """-log p(y | x) for every pair, the next theta having the conjugate law with the mean and variance of its own."""
        spread = np.sqrt(self.variance_ahead(replace(drift, jump=jump)))
        mean = self.moments(drift)[0]
        return -self.channel.log_around(self.looks.y, self.looks.future, mean, np.maximum(spread, 1e-9))


def _penalised(
    misfit: Callable[[Floats], Floats], units: Floats, typical: Floats, spread: Floats
) -> Callable[[Floats], float]:
    """The misfit of all units, and how far the parameters are from typical ones."""
    return lambda at: float(units @ misfit(at)) + 0.5 * float((((at - typical) / spread) ** 2).sum())


def _standard_errors(
    misfit: Callable[[Floats], Floats],
    units: Floats,
    at: Floats,
    spread: Floats,
    bounds: Sequence[tuple[float | None, float | None]],
) -> Floats:
    """Sandwiches: H^-1 (sum of g g' + P) H^-1 with slopes g of each pair, bend H of all, and P of the typical values.

    A parameter at its bound has none of its own (0) and is held there.
    """
    step = 1e-3 * spread
    low = np.array([-np.inf if end is None else end for end, _ in bounds])
    high = np.array([np.inf if end is None else end for _, end in bounds])
    free = (at > low) & (at < high)
    inner = np.clip(at, low + 2 * step, high - 2 * step)
    moves = np.diag(step)
    slopes = np.stack([(misfit(inner + one) - misfit(inner - one)) / (2 * one.sum()) for one in moves])
    bend = np.array(
        [
            [units @ (misfit(inner + a + b) - misfit(inner + a - b) - misfit(inner - a + b) + misfit(inner - a - b))]
            for a in moves
            for b in moves
        ]
    ).reshape(at.size, at.size) / (4 * np.outer(step, step))
    prior = np.diag(1.0 / spread**2)
    kept = np.ix_(free, free)
    inverse = np.linalg.pinv((bend + prior)[kept])
    errors = np.zeros(at.size)
    errors[free] = np.sqrt(np.diag(inverse @ ((slopes * units) @ slopes.T + prior)[kept] @ inverse))
    return errors
