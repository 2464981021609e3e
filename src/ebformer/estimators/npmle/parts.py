"""Observations too far apart to inform each other: the NPMLE of a wide sample, part by part.

A theta about which no observation has anything to say cuts the likelihood in two. Either side is then maximised on its
own, and each holds the weight of its units: cost grows with the largest part, not with the whole range of the counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ebformer.estimators.npmle.sample import SILENT, Sample, clusters
from ebformer.estimators.npmle.solver import Solution, maximise


def maximise_by_parts(sample: Sample, tolerance: float) -> Solution:
    """The mixing distribution of largest likelihood, as `maximise` finds it, each part of the sample on its own.

    Let part c hold a share Q_c of the units and G_c maximise its likelihood, with gradient D_c. Under G = sum_c Q_c G_c
    F_k is at least Q_c times what it is under G_c, so D <= sum_c D_c, and of these only one speaks at any theta.
    The terms of D_c are at most 1 + gap_c where they are largest, so at most exp(-SILENT) (1 + gap_c) in another part:
    gap = max_c gap_c + u exp(-SILENT) (1 + max_c gap_c) bounds max D - 1 over the whole interval.

    >>> from ebformer.tally import Tally
    >>> solution = maximise_by_parts(Sample.of(Tally.of([0, 0, 0, 8, 9, 1000])), 1e-9)
    >>> solution.atoms.round(6).tolist(), (6 * solution.weights).round(6).tolist()
    ([0.0, 8.498268, 1000.0], [2.999592, 2.000408, 1.0])
    """
    parts = independent_parts(sample)
    if len(parts) == 1:
        return maximise(sample, tolerance)
    shares = [float(sample.q[part].sum()) for part in parts]
    solutions = [maximise(sample.part(part, share), tolerance) for part, share in zip(parts, shares, strict=True)]
    gap = max(solution.gap for solution in solutions)
    return Solution(
        atoms=np.concatenate([solution.atoms for solution in solutions]),
        weights=np.concatenate([share * solution.weights for share, solution in zip(shares, solutions, strict=True)]),
        gap=gap + sample.x.size * float(np.exp(-SILENT)) * (1 + gap),
        iterations=sum(solution.iterations for solution in solutions),
    )


def independent_parts(sample: Sample) -> list[NDArray[np.intp]]:
    """Which observations make up each part: at some theta between neighbouring parts, all observations are silent.

    They are the unions of the intervals in which one observation may speak.

    >>> from ebformer.tally import Tally
    >>> [part.tolist() for part in independent_parts(Sample.of(Tally.of([0, 8, 9, 1000, 1100])))]
    [[0, 1, 2], [3, 4]]
    """
    return [np.sort(part) for part in clusters(*sample.speaking)]
