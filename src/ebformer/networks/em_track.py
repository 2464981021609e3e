"""Accelerated EM for the weights of given atoms: beside priorformer, and on its own a road to the NPMLE."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.networks import kernels
from ebformer.networks.constants import MOMENTUM_DELAY
from ebformer.networks.likelihood import Likelihood

Array = NDArray[Any]

STRIDE = 1.8
"""An accelerated EM step is 1 + STRIDE * momentum times as long as a plain one."""
CHECK = 4
"""Every so many steps the direction of the momentum is checked."""
LEAST_PULL, LARGEST_PULL = -3.0, 10.0
"""Bounds of log D in an accelerated EM step: momentum must not carry an atom where nothing brings it back."""
LOWEST_LOG_WEIGHT = -60.0
"""No atom is ever given up for good."""


class EmTrack:
    """EM with momentum on the log-weights l: v <- beta v + alpha log D(l), l <- l + v.

    Plain EM is alpha = 1, beta = 0. Near the maximum its steps contract with eigenvalues in [0, 1], for which the heavy
    ball is stable while alpha < 2 (1 + beta): a hundred steps then do the work of thousands. Where the velocity turns
    against the gradient of the likelihood it is dropped and the run starts anew (O'Donoghue and Candes 2015).
    The weights need not sum to one on the way: what is climbed is sum_k share_k log f_k - sum_j w_j, and at its maximum
    they do.
    """

    def __init__(self, likelihood: Likelihood, share: Array, log_weights: Array) -> None:
        self.likelihood, self.share, self.run = likelihood, share, 0
        self.log_weights, self.velocity = log_weights.copy(), np.zeros_like(log_weights)

    def along(self, count: int, steps: int) -> Array:
        """The log-weights after `steps` steps, twice as many, and so on: [count, a]."""
        if len(self.likelihood.pieces) == 1:
            constants = steps, CHECK, STRIDE, LEAST_PULL, LARGEST_PULL
            matrix = self.likelihood.pieces[0].matrix
            found = kernels.em_track(matrix, self.share, self.log_weights, count, constants, LOWEST_LOG_WEIGHT)
            if found is not None:
                return found
        return np.stack([self.advance(steps) for _ in range(count)])

    def advance(self, steps: int) -> Array:
        """The log-weights after so many more steps."""
        if not self.advance_compiled(steps):
            self.advance_in_numpy(steps)
        log_weights = self.log_weights
        np.maximum(log_weights, LOWEST_LOG_WEIGHT, out=log_weights)
        log_weights -= math.log(np.exp(log_weights).sum())
        return log_weights.copy()

    def advance_compiled(self, steps: int) -> bool:
        """The steps in C; False where only numpy can take them."""
        if len(self.likelihood.pieces) > 1:
            return False
        state = self.likelihood.pieces[0].matrix, self.share, self.log_weights, self.velocity
        run = kernels.em_steps(*state, steps, self.run, CHECK, STRIDE, LEAST_PULL, LARGEST_PULL)
        if run is not None:
            self.run = run
        return run is not None

    def advance_in_numpy(self, steps: int) -> None:
        """The steps as they are defined."""
        share, log_weights, velocity = self.share, self.log_weights, self.velocity
        marginal, pull_back = self.likelihood.marginal, self.likelihood.pull_back
        weights = np.empty_like(log_weights)
        least, largest = np.array([LEAST_PULL, LARGEST_PULL], dtype=log_weights.dtype)[:, None]  # arrays: faster
        for step in range(1, steps + 1):
            self.run += 1
            np.exp(log_weights, out=weights)
            f = marginal(weights)
            d = pull_back(np.divide(share, f, out=f))
            if step % CHECK == 0 and (d - 1.0) * weights @ velocity < 0:
                self.run = 1
                velocity[:] = 0.0
            beta = momentum(self.run)
            np.log(d, out=d)
            np.maximum(d, least, out=d)
            np.minimum(d, largest, out=d)
            d *= 1.0 + STRIDE * beta
            velocity *= beta
            velocity += d
            log_weights += velocity


def momentum(step: Any) -> Any:
    """Nesterov's schedule, with no need to know how well the problem is conditioned."""
    return step / (step + MOMENTUM_DELAY)


def em_factor(likelihood: Likelihood, share: Array, log_weights: Array) -> tuple[Array, Array, Array]:
    """The marginal f [..., m], share / f and the EM factor D [..., a] of log-weights [..., a]."""
    f = likelihood.marginal(np.exp(log_weights))
    ratio = share / f
    return f, ratio, likelihood.pull_back(ratio)
