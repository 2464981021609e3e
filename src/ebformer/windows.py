"""Priors of groups drawn around a common one: the common prior seen through a window, somewhere, more or less wide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.prior import AnyPrior, GridPrior, Prior

SHARES = np.array([0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98])
"""How much of the spread of theta may lie between groups: nothing, or nearly all of it."""
BEFORE = 3.0 / (1.0 + 10.0 * SHARES) / np.sum(1.0 / (1.0 + 10.0 * SHARES))
"""Three groups more, of small shares rather than large ones: few groups do not show that groups differ."""
STEP, REACH = 0.5, 2.5
"""How far windows are from each other, and beyond the outermost atoms, in standard deviations of a place."""
STRANGERS = 1e-3
"""The chance of a unit that has nothing to do with its group: one of them must not move the others."""
TAIL, CELL, NODES = 1e-9, 0.125, (128, 1024)
"""A prior without atoms is cut where it has this tail and laid on cells of this share of the noise, within limits."""
ENTRIES = 2**22
"""Groups are held against all windows in blocks of so many numbers, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class Windows:
    """What a group's prior may be: `priors` [s, k], each with a `share` (a place in SHARES) and its `chance` under it.

    Let z be the standardised stable coordinate of theta under the common prior G. A group has a place m with
    m | z ~ Normal(rho z, rho (1 - rho)), where rho is the share of the spread that lies between groups. So its prior is
    G_m(z) ~ G(z) exp(-(m - rho z)^2 / (2 rho (1 - rho))), which is a normal of variance 1 - rho around m where G is a
    standard one. Whatever G is, the G_m of all places average to G: a group of which nothing is known has prior G.

    >>> from ebformer.channels import POISSON
    >>> found = windows(Prior([1.0, 4.0, 9.0], [0.2, 0.5, 0.3]), POISSON)
    >>> [(found.chance @ np.where(found.share[:, None] == r, found.priors, 0)).round(9).tolist() for r in (0, 5)]
    [[0.2, 0.5, 0.3], [0.2, 0.5, 0.3]]
    """

    priors: Floats
    chance: Floats
    share: NDArray[np.intp]

    def evidence(self, counts: sparse.csr_array, log_f: Floats) -> Floats:
        """P(what a group showed | share), up to a factor per group: [g, shares]. `log_f` is [u, s], counts [g, u]."""
        first = np.flatnonzero(np.diff(self.share, prepend=-1))
        return np.concatenate(
            [np.add.reduceat(chance, first, axis=1) for chance in self._weighed(counts, log_f, self.chance)]
        )

    def mixed(self, counts: sparse.csr_array, log_f: Floats, shares: Floats) -> Floats:
        """The expected prior [g, k] of groups that showed these counts [g, u], where shares have these chances."""
        return np.concatenate(
            [
                (chance / chance.sum(axis=1, keepdims=True)) @ self.priors
                for chance in self._weighed(counts, log_f, self.chance * shares[self.share])
            ]
        )

    def log_marginals(self, likelihood: Floats) -> Floats:
        """log f of every observation under every window, [u, s], from likelihoods [u, k] up to a factor per row."""
        return np.log(likelihood @ self.priors.T)

    def _weighed(self, counts: sparse.csr_array, log_f: Floats, chance: Floats) -> Iterator[Floats]:
        block = max(1, ENTRIES // chance.size)
        with np.errstate(divide="ignore"):
            log_chance = np.log(chance)
        for start in range(0, counts.shape[0], block):
            logs = counts[start : start + block] @ log_f + log_chance
            yield np.exp(logs - logs.max(axis=1, keepdims=True))


def windows(prior: Prior, channel: Channel) -> Windows:
    """The windows on a common prior, for every share."""
    u, weights = channel.coordinate(prior.atoms), prior.weights
    centre = weights @ u
    z = (u - centre) / np.sqrt(weights @ (u - centre) ** 2)
    priors, chance, share = [weights[None]], [np.ones(1)], [np.zeros(1, dtype=np.intp)]
    for number, rho in enumerate(SHARES[1:], start=1):
        spread = np.sqrt(rho * (1 - rho))
        low, high = rho * z[0] - REACH * spread, rho * z[-1] + REACH * spread
        places = np.linspace(low, high, 2 + int((high - low) / (STEP * spread)))
        seen = np.exp(-0.5 * ((places[:, None] - rho * z) / spread) ** 2)
        seen *= weights / seen.sum(axis=0)  # so that the places that a theta comes from have probability 1
        total = seen.sum(axis=1)
        possible = total > 1e-12
        priors.append((1 - STRANGERS) * seen[possible] / total[possible, None] + STRANGERS * weights)
        chance.append(total[possible])
        share.append(np.full(int(possible.sum()), number))
    return Windows(np.concatenate(priors), np.concatenate(chance), np.concatenate(share))


def learnt_shares(evidence: Floats, times: Floats, before: Floats = BEFORE) -> Floats:
    """How likely each share is [r], from its evidence [g, r] in groups that stand for so many each [g], by EM.

    So many groups more of every share, `before` [r], keep each of them possible.

    >>> learnt_shares(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), np.ones(3), np.array([0.5, 0.5])).tolist()
    [0.875, 0.125]
    """
    shares: Floats = before / before.sum()
    for _ in range(500):
        joint = evidence * shares
        new = (times @ (joint / joint.sum(axis=1, keepdims=True)) + before) / (times.sum() + before.sum())
        moved = np.abs(new - shares).sum()
        shares = new
        if moved < 1e-6:
            break
    return shares


def with_atoms(prior: AnyPrior, channel: Channel, x: Floats, known: Floats) -> Prior:
    """The prior itself, or one without atoms laid on a grid that reaches as far as these observations [u] do.

    Cells are even in the stable coordinate and narrower than the noise. Each has a little weight, whatever the prior:
    its family is a guess, and groups far off must not be impossible.

    >>> from ebformer.channels import POISSON
    >>> from ebformer.channels.gamma_prior import GammaPrior
    >>> found = with_atoms(GammaPrior(2.0, 1.0), POISSON, np.array([0.0, 40.0]), np.ones(2))
    >>> round(found.mean, 1), bool(found.atoms[-1] > 30)
    (2.0, True)
    """
    if isinstance(prior, Prior):
        return prior
    noise = channel.noise(known)
    seen = channel.coordinate(channel.mle(x, known))
    low, high = channel.coordinate(prior.law.quantile([TAIL, 1 - TAIL]))
    low, high = min(low, (seen + noise).min()), max(high, (seen - noise).max())
    ends = np.linspace(low, high, 1 + int(np.clip((high - low) / (CELL * noise.min()), *NODES)))
    weights = -np.diff(prior.law.exceeds(channel.at_coordinate(ends)))
    weights = (1 - STRANGERS) * weights / weights.sum() + STRANGERS / weights.size
    return GridPrior(channel.at_coordinate((ends[1:] + ends[:-1]) / 2), weights, channel)
