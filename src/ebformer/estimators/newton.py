"""Newton's recursive estimator of the prior, for streams: each unit is seen once, and more may come at any time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import coarsened
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.errors import ChannelError, InputError, KnownError
from ebformer.estimators.base import EVERY_CHANNEL, Estimator
from ebformer.prior import GridPrior, Prior
from ebformer.rule import BayesRule
from ebformer.tally import Tally

PACE, DECAY = 2.0, 0.51
"""Unit i counts for about PACE i^-DECAY: the recursion finds the prior where DECAY lies between 1/2 and 1."""
LARGEST = 0.25
"""Steps of units that are dealt out evenly are no larger, unless that would take more steps than units."""
STILL = 10**-3.5
"""Where all units together would move the weights by less, in all, more of them would fit noise: as npmle-em ends."""
RECENT = 3.0
"""Later looks at the prior weigh more in the average of all: the first so many units have a share n^-RECENT of it."""

FEW, FINEST = 512, 2.0**-5
"""So many distinct observations are taken in at a time; more are moved together, at first by this share of their
noise."""


@dataclass(frozen=True)
class Newton(Estimator):
    """Predictive recursion (Newton 2002; Favaro and Fortini, arXiv 2411.07651): one pass, one update per unit.

        w_j <- (1 - a_i) w_j + a_i w_j p(x_i | theta_j) / f(x_i),   f(x) = sum_j w_j p(x | theta_j),

    on a grid of `nodes` points, even in the stable coordinate. `rule.update(more)` goes on with further units and holds
    nothing but the grid. Units that come together are dealt out evenly, so that their order does not matter. With
    `permutations` they come one by one instead, in so many random orders, over which the prior is averaged.

    >>> rule = Newton()(Tally.of([0, 0, 3, 1, 12]))
    >>> later = rule.update(Tally.of([2, 0, 1, 30]))
    >>> later.units, later([0, 30]).round(1).tolist()
    (9, [0.6, 27.8])
    """

    name: ClassVar[str] = "newton"
    channels: ClassVar[tuple[str, ...]] = EVERY_CHANNEL
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True

    nodes: int = 300
    permutations: int = 0

    def __post_init__(self) -> None:
        if not (self.nodes >= 2 and self.permutations >= 0):
            raise InputError(
                f"newton has {self.nodes} nodes and {self.permutations} permutations: give at least 2 nodes, "
                "and a number of permutations of at least 0"
            )

    def fit(self, tally: Tally) -> NewtonRule:
        """Begin with a flat prior from the lowest to the highest raw rate, and take in all units."""
        theta = grid(tally, self.nodes)
        flat = np.gradient(theta) if theta.size > 1 else np.ones(1)
        weights = np.tile(flat / flat.sum(), (max(1, self.permutations), 1))
        start = NewtonRule(
            self.name,
            Prior([tally.mean], [1.0]),
            channel=tally.channel,
            theta=theta,
            weights=weights,
            average=weights.mean(axis=0),
            shuffled=self.permutations > 0,
        )
        return start.update(tally)


@dataclass(frozen=True)
class NewtonRule(BayesRule):
    """The Bayes rule of the prior so far, and what the recursion needs to go on: weights [permutations, k]."""

    kind: ClassVar[str] = "newton"
    theta: Floats = field(kw_only=True, repr=False, compare=False)
    weights: Floats = field(kw_only=True, repr=False, compare=False)
    average: Floats = field(kw_only=True, repr=False, compare=False)
    seen: int = field(default=0, kw_only=True)
    shuffled: bool = field(default=False, kw_only=True)

    def update(self, more: Tally) -> NewtonRule:
        """The rule after these units, too: theirs may lie outside of all before, and anything may be known of them."""
        if not isinstance(more, Tally):
            raise InputError(f"newton is updated with a Tally, not with a {type(more).__name__}: give Tally.of(counts)")
        if more.channel != self.channel:
            raise ChannelError(f"the rule is for {self.channel.words.xs}, and these are {more.channel.words.xs}")
        if not self.channel.complete and self.seen and more.common != self.known:
            raise KnownError(
                f"the prior is of units that entered the table at {self.channel.keyword} {self.known:g}: "
                "update it with such units, or fit those of another"
            )
        theta, weights, average = widened(self.channel, self.theta, self.weights, self.average, more, self.seen)
        few = coarsened(more, FEW, FINEST)
        kernel = few.channel.likelihood_matrix(few.x, theta, few.known)
        if self.shuffled:
            weights = one_by_one(kernel, few.multiplicity, weights, self.seen)
        else:
            weights = dealt_evenly(kernel, few.multiplicity / few.n, weights, self.seen, more.n)
        after = self.seen + more.n
        average = average + (1.0 - (self.seen / after) ** RECENT) * (weights.mean(axis=0) - average)
        return replace(
            self,
            mixing=GridPrior(theta, average / average.sum(), self.channel),
            theta=theta,
            weights=weights,
            average=average,
            seen=after,
            known=self.known if more.common == self.known or self.seen == 0 else None,
            tally=None,
            as_saved=(after, None),
        )

    def rescaled(self, scale: float, known: float) -> Self:
        """The grid is scaled by the same factor."""
        return replace(super().rescaled(scale, known), theta=self.theta * scale)

    def _content(self) -> dict[str, Any]:
        return {
            "theta": self.theta.tolist(),
            "weights": self.weights.tolist(),
            "average": self.average.tolist(),
            "seen": self.seen,
            "shuffled": self.shuffled,
        }

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> NewtonRule:
        theta, weights, average = (np.array(content[name], dtype=float) for name in ("theta", "weights", "average"))
        if not (theta.shape == average.shape and weights.ndim == 2 and weights.shape[1:] == theta.shape):
            raise ValueError("theta, weights and average")
        prior = GridPrior(theta, average / average.sum(), common["channel"])
        common |= {"seen": int(content["seen"]), "shuffled": bool(content["shuffled"])}
        return cls(mixing=prior, theta=theta, weights=weights, average=average, **common)


def grid(tally: Tally, nodes: int) -> Floats:
    """Points even in the stable coordinate, from the lowest raw rate to the highest."""
    channel, raw = tally.channel, tally.channel.mle(tally.x, tally.known)
    low, high = float(raw.min()), float(raw.max())
    if low == high:
        return np.array([low])
    first, last = (float(u) for u in channel.coordinate(np.array([low, high])))
    theta = channel.at_coordinate(np.linspace(first, last, nodes))
    theta[0], theta[-1] = low, high
    return theta


def widened(
    channel: Channel, theta: Floats, weights: Floats, average: Floats, more: Tally, seen: int
) -> tuple[Floats, Floats, Floats]:
    """The grid with points for observations beyond its ends, as many again as it has at most on either side.

    What lies beyond an end gets the weight of one unit, spread evenly.
    """
    raw, size = channel.mle(more.x, more.known), theta.size
    u = channel.coordinate(theta)
    cell = float(np.diff(u).min()) if size > 1 else float(channel.noise(more.known).min()) / 4
    for below, end, beyond in ((True, theta[0], float(raw.min())), (False, theta[-1], float(raw.max()))):
        if not (beyond < end if below else beyond > end):
            continue
        first, last = channel.coordinate(np.array([beyond, end]))
        count = int(np.clip(np.ceil(abs(last - first) / cell), 1, max(size, 100)))
        new = channel.at_coordinate(np.linspace(first, last, count + 1)[:-1])
        new[0] = beyond
        new = np.sort(new)
        share = 1.0 / ((seen + more.n) * count)
        theta = np.concatenate([new, theta] if below else [theta, new])
        weights, average = (
            np.concatenate([extra, old] if below else [old, extra], axis=-1)
            for old in (weights, average)
            for extra in [np.full((*old.shape[:-1], count), share)]
        )
    return theta, weights / weights.sum(axis=1, keepdims=True), average / average.sum()


def clock(units: float) -> float:
    """The sum of PACE unit^-DECAY so far: between two readings t apart, new units count for 1 - exp(-t) in all."""
    return float(PACE * ((1.0 + units) ** (1.0 - DECAY) - 1.0) / (1.0 - DECAY))


def dealt_evenly(kernel: Floats, share: Floats, weights: Floats, seen: int, units: int) -> Floats:
    """The weights [1, k] after `units` units, every step taking the same share [u] of all, or once they are still."""
    time, w = clock(seen + units) - clock(seen), weights[0]
    steps = min(int(np.ceil(time / -np.log1p(-LARGEST))), units)
    step = -np.expm1(-time / steps)
    for _ in range(steps):
        pull = (share / (kernel @ w)) @ kernel
        if w @ np.abs(pull - 1.0) < STILL:
            break
        w = w * ((1.0 - step) + step * pull)
    return np.asarray(w / w.sum())[None]


def one_by_one(kernel: Floats, multiplicity: NDArray[np.int64], weights: Floats, seen: int) -> Floats:
    """The weights [permutations, k] after each has taken the units one by one, in an order of its own."""
    units, w = np.repeat(np.arange(multiplicity.size), multiplicity), weights.copy()
    orders = [np.random.default_rng([seen, each]).permutation(units) for each in range(len(w))]
    for i, which in enumerate(np.stack(orders, axis=1), start=seen):
        step, p = -np.expm1(clock(i) - clock(i + 1)), kernel[which]
        w *= (1.0 - step) + (step / (w * p).sum(axis=1, keepdims=True)) * p
    return np.asarray(w / w.sum(axis=1, keepdims=True))
