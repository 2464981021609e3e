"""The early-stopped EM approximation of the NPMLE: a different estimator, with lower regret than the exact one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import EVERY_CHANNEL, Estimator
from ebformer.estimators.newton import grid
from ebformer.prior import Prior
from ebformer.rule import BayesRule, Convergence
from ebformer.tally import Tally


@dataclass(frozen=True)
class NpmleEm(Estimator):
    """EM for the mixing weights on a fixed grid, stopped once a step moves them by less than `tolerance` in L1:

        w_j <- w_j D(theta_j),   D(theta) = sum_x (N(x)/n) p(x | theta) / f(x),   f(x) = sum_j w_j p(x | theta_j).

    `nodes` points, even in the stable coordinate from the lowest raw rate to the highest, start with weight
    proportional to their width in theta. Stopping early regularises: this is the estimator that the paper benchmarks as
    NPMLE (Laird 1978 for the EM).

    >>> rule = NpmleEm()(Tally.of([0, 0, 3, 1, 12]))
    >>> rule([0, 12]).round(2)
    array([ 0.43, 11.92])
    >>> rule.convergence.reached
    True
    """

    name: ClassVar[str] = "npmle-em"
    channels: ClassVar[tuple[str, ...]] = EVERY_CHANNEL
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True

    nodes: int = 300
    tolerance: float = 10**-3.5
    steps: int = 10_000

    def __post_init__(self) -> None:
        if not (self.nodes >= 2 and self.tolerance >= 0 and self.steps >= 1):
            raise InputError(
                f"npmle-em has {self.nodes} nodes, tolerance {self.tolerance:g} and {self.steps} steps: "
                "give at least 2 nodes, a tolerance of at least 0 and at least 1 step"
            )

    def fit(self, tally: Tally) -> BayesRule:
        """Run EM from the flat start until it slows down."""
        channel, theta = tally.channel, grid(tally, self.nodes)
        if theta.size == 1:
            prior = Prior(theta, [1.0])
            return BayesRule(self.name, prior, channel=channel, convergence=Convergence(0.0, 0, True, MEANING))
        first, last = channel.coordinate(theta[[0, -1]])
        precision = channel.noise(tally.known) ** -2.0 @ tally.multiplicity / tally.n
        if (last - first) / (self.nodes - 1) * np.sqrt(precision) > 1:
            words = channel.words
            warnings.warn(
                f"npmle-em has {self.nodes} nodes, more than a deviation of the noise apart: too few "
                f"for {words.xs} as far apart as these; take npmle, which needs none",
                stacklevel=3,
            )
        kernel = channel.likelihood_matrix(tally.x, theta, tally.known)
        width = np.gradient(theta)
        weights, moved, step = expectation_maximisation(
            kernel, tally.multiplicity / tally.n, width / width.sum(), self.tolerance, self.steps
        )
        evidence = Convergence(moved, step, moved < self.tolerance, MEANING)
        return BayesRule(self.name, Prior(theta, weights), channel=channel, convergence=evidence)


MEANING = "L1 change of the weights in the last step"


def expectation_maximisation(
    kernel: Floats, frequency: Floats, weights: Floats, tolerance: float, steps: int
) -> tuple[Floats, float, int]:
    """Iterate w <- w * K'(q / K w) from the given weights: the new weights, the last L1 change and the steps taken.

    `kernel` [u, k] holds p(x | theta) up to a factor per row, `frequency` q [u] sums to 1, `weights` [k].

    >>> expectation_maximisation(np.eye(2), np.array([0.25, 0.75]), np.array([0.5, 0.5]), 1e-9, 10)
    (array([0.25, 0.75]), 0.0, 2)
    """
    transposed = np.ascontiguousarray(kernel.T)
    moved, step = np.inf, 0
    while moved >= tolerance and step < steps:
        new = weights * (transposed @ (frequency / (kernel @ weights)))
        moved = float(np.abs(new - weights).sum())
        weights, step = new, step + 1
    return weights, moved, step
