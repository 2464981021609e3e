"""How rates move from one look to the next: the law of the next theta given this one, acting on whole posteriors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer import bayes
from ebformer.channels import channel_named
from ebformer.channels.base import Channel
from ebformer.channels.bounds import LARGEST
from ebformer.distributions import DiscretePosterior, Floats, GridPosterior, Posterior, Predictive
from ebformer.drift import answers, words
from ebformer.drift.answers import Earlier
from ebformer.drift.cells import coordinate_variance, even_edges, gathered, in_cells, middles, on_atoms, shares, split
from ebformer.drift.record import FORMAT, PARAMETERS, VERSION, record_checked
from ebformer.errors import InputError
from ebformer.prior import AnyPrior, Prior
from ebformer.saved import read_json, write_json

if TYPE_CHECKING:
    from ebformer.estimators.base import Estimator
    from ebformer.looks import Looks

RENEWED = 0.5
"""How much of the pull is by units that start afresh. Of 0, 1/4, 1/2 and 1 it had the best log scores on hockey,
baseball and books alike, and intervals that hold what they say; docs/drift.md has the figures."""
FINE = 0.15
"""The width of cells in deviations of a jump."""
REACH = 7.0
"""How many deviations of a jump the cells reach beyond the thetas that jump."""
NOTHING = 1e-20
"""Thetas of smaller probability are not asked where they jump to."""

LEAST_JUMP = 1e-12
"""A smaller jump is none: no table could tell, and one over its variance would not be a number."""


@dataclass(frozen=True, eq=False)
class Jumps:
    """The law of the next theta, cell by cell, of those atoms [k] that are borne: law [borne, cells]."""

    borne: NDArray[np.bool_]
    law: Floats
    middles: Floats
    edges: Floats

    def of(self, weights: Floats) -> GridPosterior:
        """The next thetas of units with these weights [..., k]."""
        ahead = weights[..., self.borne] @ self.law
        return GridPosterior(self.middles, ahead, self.edges, np.zeros(self.middles.size, dtype=bool))


@dataclass(frozen=True)
class Drift:
    """The law of a unit's next theta given this one, where thetas have mean m and eta is their natural parameter.

    A unit starts afresh with probability r = pull / 2: its next theta is drawn from the prior of all. Otherwise

        E[next | theta] = q m + (1 - q) eta^-1(eta(m) + fade (eta(theta) - eta(m))),    q = (pull - r) / (1 - r),

    and around this mean the next theta has the channel's conjugate law (gamma, beta, normal), with the same deviation
    in the stable coordinate for all units: `jump` is its variance as a share of the variance between units. So `pull`
    is the share of the mean in everybody's next theta, and a rate of 0 may come to life; a `fade` below 1 takes high
    rates down further, as a power of the rate (Poisson) or of the odds (binomial). `trend` is added to eta of all:
    rates and odds are multiplied by exp(trend), effects grow by it.

    >>> from ebformer.prior import Prior
    >>> from ebformer.channels import POISSON
    >>> ahead = Drift(pull=0.2, jump=0.4).predictive(Prior([2.0, 8.0], [0.5, 0.5]), [0, 12], channel=POISSON)
    >>> ahead.mean.round(2).tolist()                       # 2 and 8, pulled to the mean, 5
    [2.61, 7.4]
    """

    pull: float = 0.0
    fade: float = 1.0
    jump: float = 0.0
    trend: float = 0.0
    errors: dict[str, float] | None = field(default=None, compare=False)
    """The standard error of each parameter, where it was learnt."""
    pairs: int | None = field(default=None, compare=False)
    """From how many pairs of looks, each at one unit, it was learnt."""
    channel: str | None = field(default=None, compare=False)
    """The channel of these looks: what rates do is not what effects do."""
    exposures: bool | None = field(default=None, compare=False)
    """Whether the exposures of units, or their trials, were known: if not, playing time is part of what moves."""
    look: str | None = field(default=None, compare=False)
    """What one look is called, such as a season."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("pull", 0.0, 1.0),
            ("fade", 0.0, 1.0),
            ("jump", 0.0, 1e4),
            ("trend", -1e6, 1e6),
        ):
            number = getattr(self, name)
            if not (isinstance(number, int | float) and low <= number <= high):
                raise InputError(f"the {name} of a drift is {number!r}: give a number from {low:g} to {high:g}")
        if self.fade == 0:
            raise InputError("the fade of a drift is 0: give a positive number of at most 1")
        if self.jump < LEAST_JUMP:
            object.__setattr__(self, "jump", 0.0)

    @classmethod
    def none(cls) -> Drift:
        """Thetas stay as they are.

        >>> Drift.none()
        Drift(pull=0.0, fade=1.0, jump=0.0, trend=0.0)
        """
        return cls()

    @classmethod
    def typical(cls, exposures: bool = False) -> Drift:
        """What hockey, baseball and books have in common, for units without a history; `errors` is its spread.

        `exposures` says whether those of each unit are known, or its trials: then its playing time is no part of what
        moves, and thetas move far less.
        """
        return TYPICAL[exposures]

    @classmethod
    def named(cls, name: str, exposures: bool = False) -> Drift:
        """That of a file, or "typical" or "none".

        >>> Drift.named("none") == Drift.none()
        True
        """
        if not isinstance(name, str | os.PathLike):
            raise InputError(f"{name!r} is no drift: give one, the path of one, or typical")
        if name == "typical":
            return cls.typical(exposures)
        return cls.none() if name == "none" else cls.load(name)

    @classmethod
    def learn(cls, looks: Looks | Sequence[Looks], method: str | Estimator | None = None) -> Drift:
        """Learn from units that were seen twice; short histories are pulled to `typical`. See `drift.learning`."""
        from ebformer.drift.learning import learn

        return learn(looks, method)

    def check(self, channel: Channel) -> None:
        """An `InputError` where it was learnt in another channel; one that was not learnt serves all."""
        if self.channel not in (None, channel.next_look.name):
            theirs, ours = channel_named(self.channel).words.xs, channel.words.xs
            raise InputError(f"the drift was learnt from {theirs}, and these are {ours}: learn one from {ours}")

    # The law.

    @property
    def renewal(self) -> float:
        """The probability that a unit starts afresh."""
        return RENEWED * self.pull

    def shifted(self, theta: Floats, channel: Channel) -> Floats:
        """Thetas after the common trend."""
        if not self.trend:
            return theta
        with np.errstate(over="ignore"):
            moved = channel.at_natural(channel.natural(theta) + self.trend)
        if bool(np.any(np.abs(moved) > LARGEST)):
            raise InputError(f"a trend of {self.trend:g} takes {channel.words.thetas} beyond {LARGEST:g}: give less")
        return moved

    def kept(self, theta: Floats, centre: float, channel: Channel) -> Floats:
        """E[next | theta] of a unit that does not start afresh, where the mean of all thetas is `centre`."""
        own = np.asarray(theta, dtype=np.float64)
        middle = channel.natural(np.asarray(centre))
        if self.fade != 1.0 and np.isfinite(middle):  # where the mean is 0 all are
            own = channel.at_natural(middle + self.fade * (channel.natural(own) - middle))
        share = (self.pull - self.renewal) / (1.0 - self.renewal)
        return self.shifted(share * centre + (1.0 - share) * own, channel)

    def spread(self, prior: AnyPrior, channel: Channel) -> float:
        """The deviation of a jump in the stable coordinate."""
        return float(np.sqrt(self.jump * coordinate_variance(prior, channel)))

    def moved(self, after: Posterior, prior: AnyPrior, channel: Channel, noise: float = np.inf) -> DiscretePosterior:
        """The law of the next theta, from that of the present one and the prior of all.

        `noise` is that of the next observation in the stable coordinate: cells are finer than it.
        """
        self.check(channel)
        everybody = on_atoms(prior, channel)
        kept = self.jumped(after, everybody, channel, noise)
        if self.renewal == 0.0:
            return kept
        afresh = self.shifted(everybody.atoms, channel)
        if isinstance(kept, GridPosterior):
            new = split(everybody.weights, afresh, kept.atoms)
            return replace(kept, weights=(1.0 - self.renewal) * kept.weights + self.renewal * new)
        atoms = np.concatenate([kept.atoms, afresh])
        new = np.broadcast_to(everybody.weights, (*kept.weights.shape[:-1], afresh.size))
        weights = np.concatenate([(1.0 - self.renewal) * kept.weights, self.renewal * new], axis=-1)
        order = np.argsort(atoms, kind="stable")
        return DiscretePosterior(atoms[order], weights[..., order])

    def jumped(self, after: Posterior, prior: Prior, channel: Channel, noise: float = np.inf) -> DiscretePosterior:
        """The law of the next theta of units that do not start afresh."""
        now = after if isinstance(after, DiscretePosterior) else in_cells(after, channel)
        if self.spread(prior, channel) == 0.0:
            unmoved = self == Drift.none()
            return now if unmoved else DiscretePosterior(self.kept(now.atoms, prior.mean, channel), now.weights)
        now = gathered(now, channel)
        borne = np.asarray((now.weights > NOTHING).reshape(-1, now.atoms.size).any(axis=0))
        return self.jumps(now.atoms, prior, channel, noise, borne).of(now.weights)

    def jumps(
        self,
        atoms: Floats,
        prior: Prior,
        channel: Channel,
        noise: float = np.inf,
        borne: NDArray[np.bool_] | None = None,
    ) -> Jumps:
        """Where thetas on these atoms jump to, or those of them that are `borne`, where all have a deviation above 0.

        It is the same for all units, and at every look.
        """
        borne = np.ones(atoms.size, dtype=np.bool_) if borne is None else borne
        spread, means = self.spread(prior, channel), self.kept(atoms, prior.mean, channel)
        u = channel.coordinate(np.concatenate([means, self.shifted(prior.atoms, channel)]))
        low, high = u.min() - REACH * spread, u.max() + REACH * spread
        edges = even_edges(channel, float(low), float(high), min(FINE * spread, noise / 2))
        law = shares(channel.next_look.around(means[borne], np.full(int(borne.sum()), spread)), edges)
        return Jumps(borne, law, middles(channel, edges), edges)

    # Answers, for a prior and observations.

    def posterior(
        self,
        prior: AnyPrior,
        x: ArrayLike,
        known: ArrayLike | None = None,
        *,
        channel: Channel,
        earlier: Earlier = (),
    ) -> Posterior:
        """The distribution of the present theta given x and what was seen earlier, discounted by how thetas move.

        The prior is that of the present look. A unit without earlier looks is answered as ever.
        """
        self.check(channel)
        return answers.posterior(self, prior, x, known, channel, earlier)

    def predictive(
        self,
        prior: AnyPrior,
        x: ArrayLike,
        known: ArrayLike | None = None,
        future: ArrayLike | None = None,
        *,
        channel: Channel,
        earlier: Earlier = (),
    ) -> Predictive:
        """The distribution of the next observation given x, and given earlier looks where there are any."""
        if self == Drift.none() and not earlier:
            return bayes.predictive(prior, x, known, future, channel=channel)
        return answers.predictive(self, prior, x, known, future, channel, earlier)

    # On paper.

    def sentences(self, channel: Channel) -> list[str]:
        """What the drift means, in two sentences.

        >>> from ebformer.channels import POISSON
        >>> for sentence in Drift(0.2, 0.95, 0.3, -0.05, pairs=400, look="season").sentences(POISSON):
        ...     print(sentence)
        From one season to the next, rates lose on average 20 % of their distance to the mean of all, partly because 10 % of units start afresh; high rates fall a little further (learnt from 400 pairs of looks).
        Beyond that, they jump up or down by about 55 % of the usual difference between units, and all rates fall by 4.9 %.
        """  # noqa: E501
        return words.sentences(self, channel)

    def record(self) -> dict[str, Any]:
        """The drift as plain JSON values; `Drift.from_record` reads them back."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drift as readable JSON; `Drift.load` reads it back."""
        write_json(path, self.record())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Drift:
        """Read a drift that `save` wrote."""
        return cls.from_record(read_json(path, "a saved drift", "write one with drift.save(path)"), path)

    @classmethod
    def from_record(cls, record: Any, path: str | os.PathLike[str]) -> Drift:
        """The drift that `record` wrote down; complaints name the path it came from."""
        fields = record_checked(record, path)
        try:
            return cls(**fields)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def __repr__(self) -> str:
        numbers = {name: getattr(self, name) for name in PARAMETERS}
        return f"Drift({', '.join(f'{name}={round(number, 4)}' for name, number in numbers.items())})"


SPREAD = {"pull": 0.08, "fade": 0.06, "jump": 0.2, "trend": 0.1}
TYPICAL = {
    False: Drift(0.22, 0.98, 0.25, 0.0, SPREAD, exposures=False),
    True: Drift(0.04, 1.0, 0.1, 0.0, SPREAD, exposures=True),
}
"""Without and with known exposures: about the means over domains, and how far these lie apart without."""
