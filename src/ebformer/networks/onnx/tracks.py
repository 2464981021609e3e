"""Where priorformer's two tracks begin and how EM goes on (em_track.py, conjugate_start.py), as parts of its graph."""

from __future__ import annotations

import numpy as np

from ebformer.networks.conjugate_start import CONJUGATE_SHARE, CONJUGATE_STEPS, LEAST_CURVATURE
from ebformer.networks.constants import MOMENTUM_DELAY
from ebformer.networks.em_track import CHECK, LARGEST_PULL, LEAST_PULL, LOWEST_LOG_WEIGHT, STRIDE
from ebformer.networks.likelihood import NEGLIGIBLE
from ebformer.networks.onnx.graph import Value
from ebformer.networks.onnx.grid import GridGraph
from ebformer.networks.priorformer import MANY, MOST_POLISH, POLISH, WORTHWHILE


def em_factor(likelihood: Value, share: Value, log_weights: Value) -> tuple[Value, Value, Value]:
    """The marginal f [m], share / f [m] and the EM factor D [a] of log-weights [a]."""
    f = likelihood @ log_weights.exp()
    ratio = share / f
    return f, ratio, ratio @ likelihood


def em_track(
    likelihood: Value, share: Value, state: tuple[Value, Value, Value], rounds: int, steps: int
) -> tuple[Value, Value, Value, Value]:
    """Log-weights, velocities and steps since the last restart after so many rounds; the log-weights after each."""
    where = likelihood.graph.where

    def step(i: Value, log_weights: Value, velocity: Value, run: Value) -> tuple[list[Value], list[Value], None]:
        taken = i + 1.0
        weights = log_weights.exp()
        d = (share / (likelihood @ weights)) @ likelihood
        against = ((d - 1.0) * weights * velocity).sum() < 0.0
        restart = where(against, multiple(taken, CHECK), 0.0) > 0.0
        run = where(restart, 1.0, run + 1.0)
        beta = run / (run + MOMENTUM_DELAY)
        kept = where(restart, 0.0, beta)
        velocity = kept * velocity + (1.0 + STRIDE * beta) * d.log().clip(LEAST_PULL, LARGEST_PULL)
        moved = log_weights + velocity
        least = moved.at_least(LOWEST_LOG_WEIGHT)
        moved = where(multiple(taken, steps) > 0.0, least - least.exp().sum().log(), moved)
        return [moved, velocity, run], [moved], None

    *after, track = likelihood.graph.loop(rounds * steps, step, state)
    log_weights, velocity, run = after
    return log_weights, velocity, run, track.part(steps - 1, rounds * steps, steps, axis=0)


def multiple(number: Value, of: int) -> Value:
    """1 where a whole number is a multiple of another, 0 elsewhere."""
    part = number / of
    return number.graph.where(part - part.floor() > 0.5 / of, 0.0, 1.0)


def polished(likelihood: Value, share: Value, n: Value, weights: Value) -> Value:
    """EM steps from the weights [a] while they gain WORTHWHILE nats at a time, where units are MANY."""

    def climb(_: Value, best: Value, reached: Value, *state: Value) -> tuple[list[Value], list[Value], Value]:
        log_weights, velocity, run, _ = em_track(likelihood, share, (state[0], state[1], state[2]), 1, POLISH)
        further = log_weights.exp()
        level = (share * (likelihood @ further).log()).sum()
        better = n * (level - reached) >= WORTHWHILE
        where = n.graph.where
        chosen = where(better, further / further.sum(), best), where(better, level, reached)
        return [*chosen, log_weights, velocity, run], [], better

    level = (share * (likelihood @ weights).log()).sum()
    state = [weights, level, weights.log(), weights * 0.0, n * 0.0]
    return likelihood.graph.loop(MOST_POLISH // POLISH, climb, state, going=n > MANY)[0]


def conjugate_start(grid: GridGraph, likelihood: Value, share: Value, flat_start: Value) -> Value:
    """Log-weights [a]: CONJUGATE_SHARE of the conjugate prior of greatest likelihood, the rest of the other track."""
    base, statistics = grid.conjugate_family()
    begun = normalised(flat_start.exp())
    inner = normalised(begun * grid.inner)
    statistics = whitened(statistics, inner) * grid.inner

    def step(_: Value, eta: Value) -> tuple[list[Value], list[Value], None]:
        weights = family(base, statistics, eta)
        marginal = likelihood @ weights
        mean = statistics @ weights
        moments = (statistics * weights) @ likelihood.transpose() + NEGLIGIBLE * mean.unsqueeze(1)  # [2, m]
        scores = moments / (marginal + NEGLIGIBLE) - mean.unsqueeze(1)
        around = statistics - mean.unsqueeze(1)
        spread = (around * weights) @ around.transpose()
        curvature = (scores * share) @ scores.transpose() + LEAST_CURVATURE * (spread + 1e-6 * np.eye(2))
        move = solved(curvature, scores @ share)
        return [eta + move / (move * (spread @ move)).sum().sqrt().at_least(1.0)], [], None

    first = nearest(base, statistics, flat_start, inner)
    (eta,) = likelihood.graph.loop(CONJUGATE_STEPS, step, [first])
    return (CONJUGATE_SHARE * family(base, statistics, eta) + (1.0 - CONJUGATE_SHARE) * begun).log()


def normalised(weights: Value) -> Value:
    return weights / weights.sum()


def family(base: Value, statistics: Value, eta: Value) -> Value:
    """The weights of one conjugate prior."""
    logarithm = base + eta @ statistics
    return normalised((logarithm - logarithm.max()).exp())


def whitened(statistics: Value, weights: Value) -> Value:
    """Statistics [2, a] with mean 0 and covariance 1 under the weights, by Cholesky's factor."""
    around = statistics - (statistics @ weights).unsqueeze(1)
    covariance = (around * weights) @ around.transpose()
    a, b, c = (covariance.row(i).row(j) for i, j in ((0, 0), (0, 1), (1, 1)))
    first = (a * (1.0 + 1e-6) + 1e-30).sqrt()
    below = b / first
    second = (c * (1.0 + 1e-6) + 1e-30 - below * below).sqrt()
    one = around.row(0) / first
    return statistics.graph.stack([one, (around.row(1) - below * one) / second])


def nearest(base: Value, statistics: Value, log_weights: Value, weights: Value) -> Value:
    """eta of the member whose log-weights come closest to those given; the statistics have mean 0."""
    where, there = base.graph.where, weights > 0.0
    above = where(there, log_weights - where(there, base, 0.0), 0.0)
    weighted = statistics * weights
    return solved(weighted @ statistics.transpose() + 1e-6 * np.eye(2), weighted @ above)


def solved(matrix: Value, right: Value) -> Value:
    """The solution of two equations with a symmetric matrix, by Cramer."""
    a, b, c = (matrix.row(i).row(j) for i, j in ((0, 0), (0, 1), (1, 1)))
    y, z = right.row(0), right.row(1)
    return matrix.graph.stack([c * y - b * z, a * z - b * y]) / (a * c - b * b)
