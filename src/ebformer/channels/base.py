"""What the rest of the package asks of a channel: how an observation x arises from a rate theta and what is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.channels.bounds import LARGEST_WHOLE
from ebformer.channels.words import Advice, Words
from ebformer.distributions import Floats
from ebformer.errors import InputError

Loss = Literal["poisson", "logistic", "squared"]


class Parts(NamedTuple):
    """Observations split in two that are independent given theta, each with what is known about it."""

    kept: Floats
    kept_known: Floats
    held: Floats
    held_known: Floats


class Reduced(NamedTuple):
    """The same observations in other units, from another origin: theta is origin + scale times what it is for them.

    The scale is below 0 where they are turned round.
    """

    x: Floats
    known: Floats
    origin: float
    scale: float


def longer_tail(units: NDArray[Any], x: Floats) -> float:
    """1.0 where observations of so many units reach further above 0, -1.0 where they reach further below it.

    1.0, too, where neither side is the longer but for rounding, as in a table that is its own mirror image.

    >>> longer_tail(np.ones(3), np.array([-2.0, 1.0, 1.0])), longer_tail(np.ones(2), np.array([-2.0, 2.0]))
    (-1.0, 1.0)
    """
    furthest = float(np.abs(x).max()) or 1.0
    for power in (3, 5, 7):
        moments = units * (x / furthest) ** power
        if abs(float(moments.sum())) > 1e-9 * float(np.abs(moments).sum()):
            return float(np.sign(moments.sum()))
    return 1.0


class Symmetry(NamedTuple):
    """A change of x and of what is known that changes theta in a known way: methods should follow it."""

    name: str
    observation: Callable[[Floats, Floats], tuple[Floats, Floats]]
    theta: Callable[[Floats], Floats]
    scale: float = 1.0
    """By what theta is multiplied."""


class Channel(ABC):
    """x ~ p(. | theta, known). Channels have no state: two of a kind are equal.

    All functions broadcast their arguments and expect numbers that `possible` and `possible_known` admit.
    """

    name: ClassVar[str]
    keyword: ClassVar[str]
    """What users write for `known`: exposure=, trials=, se=. With `sign` it picks the channel."""
    sign: ClassVar[tuple[str, str] | None] = None
    """A further keyword and the value it must have, where the keyword alone would pick another channel."""
    column: ClassVar[str] = "count"
    """What users call the column of a table that holds x."""
    words: ClassVar[Words]
    advice: ClassVar[Advice]
    whole: ClassVar[bool] = True
    """Observations are whole numbers,"""
    whole_known: ClassVar[bool] = False
    """and so is what is known."""
    domain: ClassVar[tuple[float, float]]
    """The smallest and the largest theta; one that is finite may be an atom of its own."""
    inside: ClassVar[tuple[float, float]]
    """The same, but where an end has no derivatives, a theta that no observation can tell from it."""
    usual: ClassVar[float | None] = None
    """What is known of units about which nothing is said, where that has a meaning."""
    usual_future: ClassVar[float | None] = 1.0
    """What is known about the next observation where nothing is said."""
    conjugate: ClassVar[str | None] = None
    """The name of the conjugate prior, and of the method that fits it."""
    loss: ClassVar[Loss]
    """What regressions of theta make as small as they can; a channel that is not `complete` has none."""
    deviation: ClassVar[Literal["ratio", "difference"] | None] = None
    """What sets theta apart from what is expected of it, where one prior of that serves all units."""
    widths: ClassVar[tuple[float, float]]
    """The narrowest and the widest bins of a table, powers of two (`bin`)."""

    # What can be observed.

    @abstractmethod
    def possible(self, x: Floats) -> NDArray[np.bool_]:
        """Which numbers can be observations."""

    @abstractmethod
    def possible_known(self, known: Floats) -> NDArray[np.bool_]:
        """Which numbers can be known of a unit."""

    def possible_future(self, known: Floats) -> NDArray[np.bool_]:
        """Which numbers can be known of the next observation: 0, too, where that means that nothing will be seen."""
        if self.next_look.whole:
            return self.possible_known(known) | np.equal(known, 0)
        return self.possible_known(known)

    def ask(self, number: float) -> str:
        """What to give instead of a number that is no observation."""
        large = self.whole and number > LARGEST_WHOLE
        return "give whole numbers of at most 2^53" if large else self.words.ask_x

    def possible_pair(self, x: Floats, known: Floats) -> NDArray[np.bool_]:
        """Which observations can have been made, given what is known of their units: by default any two numbers."""
        return np.equal(x, x) & np.equal(known, known)

    def moments_seen(self, known: Floats) -> int | None:
        """How many moments of a prior such observations depend on; None for the whole of it."""
        return None

    def blank(self, x: Floats, known: Floats) -> NDArray[np.bool_]:
        """Which observations are no look at all, such as no event in no time: they leave the prior as it is."""
        return np.less(known, -np.inf)

    def known_or_usual(self, known: Any) -> Any:
        """What is known, which may go without saying where there is a usual value."""
        if known is None and self.usual is None:
            raise InputError(f"{self.words.xs} need {self.keyword}=: {self.words.ask_known}")
        return self.usual if known is None else known

    def usable(self, x: Floats, known: Floats) -> NDArray[np.bool_]:
        """Which pairs of numbers are observations, blank ones included."""
        known_is = self.possible_known(known) | self.blank(x, known)
        found: NDArray[np.bool_] = self.possible(x) & known_is & self.possible_pair(x, known)
        return found

    # The likelihood.

    @abstractmethod
    def mle(self, x: Floats, known: Floats) -> Floats:
        """The theta under which x is likeliest."""

    @abstractmethod
    def log_peak(self, x: Floats, known: Floats) -> Floats:
        """log p(x | mle): the largest log-likelihood that x can have."""

    @abstractmethod
    def deviance(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        """log p(x | mle) - log p(x | theta) >= 0, without cancellation where the two are close."""

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike, known: ArrayLike | None = None) -> Floats:
        """log p(x | theta)."""
        given = x, theta, self.known_or_usual(known)
        at, rate, about = (np.asarray(number, dtype=np.float64) for number in given)
        return np.asarray(self.log_peak(at, about) - self.deviance(at, rate, about))

    def likelihood_matrix(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        """p(x | theta) of observations [u] at thetas [k], every row divided by its largest entry: [u, k].

        Relative to the nearest theta, since all of them may be so far from an observation that p is no number above 0.
        """
        deviance = self.deviance(x[:, None], theta, known[:, None])
        return np.asarray(np.exp(deviance.min(axis=1, keepdims=True) - deviance))

    def fall(self, x: Floats, theta: Floats, known: Floats, best: Floats) -> Floats:
        """log p(x | best) - log p(x | theta), for the theta `best` that suits x best among those admitted."""
        return np.asarray(self.deviance(x, theta, known) - self.deviance(x, best, known))

    @abstractmethod
    def derivatives(self, x: Floats, theta: Floats, known: Floats) -> tuple[Floats, Floats]:
        """p' / p and p'' / p: the first two derivatives of p(x | theta) in theta over p, for theta `inside`."""

    @abstractmethod
    def concave(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        """An interval that holds every theta at which p(x | theta) bends down."""

    def within(self, x: Floats, known: Floats, depth: float) -> tuple[Floats, Floats]:
        """An interval that holds every theta whose deviance is at most `depth`.

        In the stable coordinate the deviance is at least that of a normal of twice the noise.
        """
        u, reach = self.coordinate(self.mle(x, known)), np.sqrt(8.0 * depth) * self.noise(known)
        return self.at_coordinate(u - reach), self.at_coordinate(u + reach)

    # The stable coordinate, in which the noise is the same everywhere.

    @abstractmethod
    def coordinate(self, theta: Floats) -> Floats:
        """u(theta), rising."""

    @abstractmethod
    def at_coordinate(self, u: Floats) -> Floats:
        """theta at a coordinate u, the inverse of `coordinate`."""

    @abstractmethod
    def noise(self, known: Floats) -> Floats:
        """The standard deviation of u(mle), roughly, wherever theta lies."""

    # The natural parameter, in which a common trend is a constant, and laws of a theta that has moved.

    @abstractmethod
    def natural(self, theta: Floats) -> Floats:
        """eta(theta), rising; infinite where theta is a finite end of the domain."""

    @abstractmethod
    def at_natural(self, eta: Floats) -> Floats:
        """theta at a natural parameter, the inverse of `natural`."""

    @abstractmethod
    def around(self, mean: Floats, spread: Floats) -> Any:
        """The conjugate law of theta, a `Posterior`, with this mean and a deviation of `spread` in the coordinate."""

    @abstractmethod
    def log_around(self, x: Floats, known: Floats, mean: Floats, spread: Floats) -> Floats:
        """log p(x) where theta has the law `around` this mean."""

    # Distributions of x.

    @abstractmethod
    def mean(self, theta: Floats, known: Floats) -> Floats:
        """E[x | theta]."""

    @abstractmethod
    def variance(self, theta: Floats, known: Floats) -> Floats:
        """Var[x | theta]."""

    @abstractmethod
    def cdf(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        """P(at most x | theta), for any real x."""

    @abstractmethod
    def nodes(self, low: float, high: float, known: float) -> tuple[Floats, Floats]:
        """Points x and weights with E g(x) = sum_i weights_i f(x_i) g(x_i) for every prior on [low, high].

        f is the marginal; what is left out has probability 1e-15 at most.
        """

    @abstractmethod
    def draw(self, theta: Floats, known: Floats, rng: np.random.Generator) -> Floats:
        """One observation per theta."""

    # Units, parts and copies of observations.

    @abstractmethod
    def pooled(self, x: Floats, known: Floats, weight: Floats) -> float:
        """The theta that suits all observations best if they share one."""

    @abstractmethod
    def about(self, common: float | None) -> str:
        """What to add to "12 counts from 0 to 7" about what is known; `common` is what all units share."""

    def standard(self, x: Floats, known: float) -> tuple[Floats, float, float]:
        """The same observations in natural units, what is known then, and what one unit of theta is worth."""
        return x, known, 1.0

    def reduced(self, x: Floats, known: Floats, units: NDArray[Any]) -> Reduced:
        """Observations, of so many units each, of which nothing is left that depends on units or origin."""
        return Reduced(x, known, 0.0, 1.0)

    @abstractmethod
    def split(self, x: Floats, known: Floats, folds: int, rng: np.random.Generator) -> list[Parts]:
        """`folds` ways to hold a part of every observation out, the held parts of a unit independent given theta.

        A part about which nothing is known has `known` NaN.
        """

    @abstractmethod
    def unbiased_square(self, x: Floats, known: Floats) -> Floats:
        """A function of x whose mean is theta^2; NaN where there is none."""

    @abstractmethod
    def merge(self, x: Floats, known: Floats, units: NDArray[Any], width: float) -> tuple[Floats, Floats]:
        """Observations moved together, by no more than about `width` of their noise, so that they become fewer."""

    @abstractmethod
    def bin(self, x: Floats, known: Floats, width: float) -> tuple[Floats, Floats]:
        """Two numbers that near observations share: bins whose width is about `width` of the noise, or none at all.

        Bins of twice the width hold two of these each. Written in ufuncs alone, so that a database can compute them.
        """

    @abstractmethod
    def unbin(self, x: Floats, known: Floats, width: float, at: tuple[float, float]) -> tuple[Floats, Floats]:
        """The observations at these places of bins: from the first, (0, 0), to the last that they hold, (1, 1)."""

    def scale(self, theta: Floats, known: Floats) -> Floats:
        """By what a small change of theta is measured: by theta, or by the noise where 0 means nothing."""
        return theta

    @abstractmethod
    def symmetries(self) -> Sequence[Symmetry]:
        """Changes of units, origin or labels that leave the problem the same."""

    def sufficient(self, theta: Floats) -> Floats:
        """Two functions of theta, [2, ...]: the conjugate priors have densities exp(eta . sufficient(theta)).

        For theta within the domain; where there is no conjugate prior, those of its next of kin.
        """
        raise NotImplementedError

    def summands(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        """What is added up over several looks at one unit (`added_up`): by default x and what is known themselves."""
        return x, known

    def added_up(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        """The one observation that tells as much of theta as all whose summands have these sums."""
        return x, known

    def conjugate_prior(self, **parameters: Any) -> Any:
        """The `ConjugatePrior` of this channel with these parameters, where it has one."""
        raise NotImplementedError

    def hyperprior(self, x: Floats, known: Floats, units: Floats) -> Any:
        """The `Hyperprior` of its conjugate prior; of the observations it may use their reach, never their spread."""
        raise NotImplementedError

    def missed(self, theta: Floats, known: Floats) -> Floats:
        """How many units of this theta never enter the table, for each that does: 0 where all are in it."""
        return np.zeros(np.broadcast_shapes(np.shape(theta), np.shape(known)))

    @property
    def complete(self) -> bool:
        """Whether every unit is in the table, whatever it showed."""
        return type(self).missed is Channel.missed

    @property
    def next_look(self) -> Channel:
        """The channel of the next observation of the same unit."""
        return self

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
