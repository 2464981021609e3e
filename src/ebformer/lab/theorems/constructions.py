"""Theorem 4.1 and algorithm 1 as code: the weights of a transformer that is the clipped Robbins estimator.

    robbins(x) = min((x + 1) N(x + 1) / N(x), M)  for x < d,  and M for x >= d

One attention layer lets a token of value x see N(x) / (N(x) + (x + 1) N(x + 1)) = 1 / (1 + robbins(x)), and a two-layer
ReLU network turns r into min(1 / r - 1, M). docs/theorems.md says where this differs from the printed proof, and why.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrc

from ebformer.bayes.marginal import bayes_rule, log_marginal
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.prior import Prior
from ebformer.tally import Tally


@dataclass(frozen=True, eq=False)
class Decoder:
    """Two layers of ReLU neurons, r -> start + sum_k jump[k] max(r - knot[k], 0)."""

    start: float
    knot: Floats
    jump: Floats

    def __call__(self, r: Floats) -> Floats:
        return self.start + np.maximum(r[..., None] - self.knot, 0.0) @ self.jump


def decoder(M: float, epsilon: float) -> Decoder:
    """min(1 / r - 1, M) on [0, 1] within epsilon, from above, exact where it is 0 and where it is M.

    A chord of 1 / r from a to b errs by at most (1 / sqrt(a) - 1 / sqrt(b))^2, so knots with 1 / sqrt evenly spaced err
    equally: ceil((sqrt(1 + M) - 1) / sqrt(epsilon)) neurons suffice where the theorem asks O((1 + M)^2 / epsilon).

    >>> f = decoder(M=8.0, epsilon=0.01)
    >>> len(f.knot), f(np.array([0.0, 0.25, 1.0])).round(2).tolist()
    (20, [8.0, 3.0, 0.0])
    """
    neurons = max(1, int(np.ceil((np.sqrt(1 + M) - 1) / np.sqrt(epsilon))))
    knot = np.linspace(np.sqrt(1 + M), 1.0, neurons + 1) ** -2.0
    slope = -1.0 / (knot[:-1] * knot[1:])
    return Decoder(M, knot[:-1], np.diff(slope, prepend=0.0))


@dataclass(frozen=True, eq=False)
class RobbinsTransformer:
    """One attention layer and a ReLU decoder. Tokens are rows: queries Y query, keys Y key, values Y value."""

    attention: Literal["softmax", "linear"]
    d: int
    query: Floats
    key: Floats
    value: Floats
    decode: Decoder

    @property
    def width(self) -> int:
        """Dimension of the embedding."""
        return len(self.query)

    @property
    def parameters(self) -> int:
        """Numbers in the three matrices, the bias of the mask and the decoder."""
        return 3 * self.width**2 + 1 + 2 * len(self.decode.knot) + 1

    def embed(self, x: NDArray[np.int64]) -> Floats:
        """[u, width]: the unit vector of x up to d; beyond, the last unit vector if there is room for it, else 0."""
        return np.asarray((np.minimum(x, self.d + 1)[:, None] == np.arange(self.width)).astype(np.float64))

    def attend(self, x: NDArray[np.int64], tally: Tally) -> Floats:
        """[u, width]: what tokens of value x gather from the tally, equal tokens collapsed."""
        y, seen = self.embed(x), self.embed(tally.values)
        scores = (y @ self.query) @ (seen @ self.key).T
        if self.attention == "softmax":
            scores /= np.sqrt(self.width)
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores *= tally.multiplicity
        # Linear attention may ask for a value that, like its successor, nobody showed: no mass, so it gathers nothing.
        mass = scores.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(scores @ (seen @ self.value), mass, out=np.zeros_like(y), where=mass > 0))

    def __call__(self, tally: Tally, x: NDArray[np.int64] | None = None) -> Floats:
        """Estimates at the values of the tally, or at x: embed, attend, mask by ReLU(y + z - 1), decode.

        >>> robbins_transformer(d=20, M=10.0, epsilon=0.01, n_max=1000)(Tally([0, 1, 5], [4, 2, 1])).round(2)
        array([0.5, 0. , 0. ])
        """
        x = tally.values if x is None else x
        masked = np.maximum(self.embed(x) + self.attend(x, tally) - 1.0, 0.0)
        return self.decode(masked.sum(axis=1))


def robbins_transformer(
    d: int, M: float, epsilon: float, n_max: int, attention: Literal["softmax", "linear"] = "softmax"
) -> RobbinsTransformer:
    """The clipped Robbins estimator within epsilon, for every sample of at most n_max.

    Softmax: the score of x_j for x_i is D at x_j = x_i, D + sqrt(d + 1) log x_j at x_j = x_i + 1 and 0 elsewhere. The
    other tokens together leak at most n exp(-D / sqrt(d + 1)) of the attention, and the decoder multiplies that by at
    most (1 + M)^2: D = sqrt(d + 1) log(2 n_max (1 + M)^2 / epsilon) keeps it below epsilon / 2.

    Linear (normalised, identity features): scores 1 and x_j, without leakage. Its normaliser must not vanish, so values
    beyond d need an embedding, and it must differ from that of d, whose number enters the estimate at d - 1.
    """
    if d < 1 or n_max < 1 or not (M > 0 and epsilon > 0):
        raise InputError(f"d = {d}, M = {M}, epsilon = {epsilon} and n_max = {n_max} must all be positive")
    if attention not in ("softmax", "linear"):
        raise InputError(f"attention is {attention!r}: choose from softmax, linear")
    width = d + 1 if attention == "softmax" else d + 2
    same, next_up = np.eye(width), np.zeros((width, width))
    if attention == "linear":
        next_up[np.arange(1, d + 1), np.arange(d)] = np.arange(1, d + 1)
        key, share = same + next_up, 1.0
    else:
        strength = np.sqrt(width) * np.log(2 * n_max * (1 + M) ** 2 / epsilon)
        next_up[np.arange(1, d + 1), np.arange(d)] = strength + np.sqrt(width) * np.log(np.arange(1, d + 1))
        key, share = strength * same + next_up, 0.5
    value = np.diag((np.arange(width) < d).astype(np.float64))
    return RobbinsTransformer(attention, d, np.eye(width), key, value, decoder(M, share * epsilon))


def clipped_robbins(tally: Tally, d: int, M: float) -> Floats:
    """The definition that the transformer has to meet, at the values of the tally.

    >>> clipped_robbins(Tally([0, 1, 5], [4, 2, 1]), d=20, M=10.0)
    array([0.5, 0. , 0. ])
    """
    x, number = tally.values, dict(zip(tally.values.tolist(), tally.multiplicity.tolist(), strict=True))
    ratio = np.array([(v + 1) * number.get(v + 1, 0) / m for v, m in number.items()])
    return np.where(x < d, np.minimum(ratio, M), M)


def for_regret(regret: float, theta_max: float, n: int) -> RobbinsTransformer:
    """The sizes in the proof of corollary `cor:vanish-regret`, for priors on [0, theta_max] and a regret to aim at.

    d is the smallest with P(X > d) < regret / (6 theta_max^2) at theta_max; M = theta_max; epsilon = sqrt(regret / 6).
    """
    d = 1
    while pdtrc(d, theta_max) >= regret / (6 * theta_max**2):
        d += 1
    return robbins_transformer(d, theta_max, float(np.sqrt(regret / 6)), n)


class RegretPoint(NamedTuple):
    """What `vanishing_regret` measured at one sample size: means over fresh tallies, and the size of the network."""

    prior: str
    n: int
    aim: float
    transformer: float
    transformer_error: float
    """Standard error of the mean."""
    robbins: float
    width: int
    neurons: int


def vanishing_regret(
    priors: Mapping[str, Prior], theta_max: float, sizes: Sequence[int], repeats: int, rng: np.random.Generator
) -> list[RegretPoint]:
    """Corollary `cor:vanish-regret` measured on priors by name: transformers built for each n, on fresh tallies of n.

    Each aims at (log n / log log n)^2 / n, the order of the regret of Robbins' estimator (Polyanskiy and Wu 2021).
    """
    points = []
    for (name, prior), n in itertools.product(priors.items(), sizes):
        aim = (np.log(n) / np.log(np.log(n))) ** 2 / n
        network = for_regret(aim, theta_max, n)
        clipped = partial(clipped_robbins, d=network.d, M=theta_max)
        seed = int(rng.integers(2**63))  # both see the same tallies
        measured = regrets(network, prior, n, repeats, np.random.default_rng(seed))
        exact = regrets(clipped, prior, n, repeats, np.random.default_rng(seed))
        error = float(measured.std(ddof=1) / np.sqrt(repeats))
        size = (network.width, len(network.decode.knot))
        points.append(RegretPoint(name, n, float(aim), float(measured.mean()), error, float(exact.mean()), *size))
    return points


def regrets(
    estimate: Callable[[Tally], Floats], prior: Prior, n: int, repeats: int, rng: np.random.Generator
) -> Floats:
    """[repeats] mean squared distances to the Bayes rule, each over a fresh tally of n units."""
    top = prior.atoms[-1]
    x = np.arange(int(top + 12 * np.sqrt(top) + 30))
    chance, bayes = np.exp(log_marginal(prior, x)), bayes_rule(prior, x)
    drawn = rng.multinomial(n, chance / chance.sum(), size=repeats)
    seen = [row > 0 for row in drawn]
    return np.array(
        [
            np.average((estimate(Tally(x[at], row[at])) - bayes[at]) ** 2, weights=row[at])
            for at, row in zip(seen, drawn, strict=True)
        ]
    )
