"""Is one estimator better than another? The paired one-sided t-test, with the prior as the unit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from ebformer.lab.arena.summary import Interval, Paired, interval


class PairedT(NamedTuple):
    """loss(challenger) - loss(rival): mean difference with 95 % interval, and the one-sided p-value.

    `p` is the probability of a t statistic at least this far below 0 if the two had equal mean loss: small when the
    challenger is better, near 1 when it is worse, NaN when all differences are equal. The paper writes it as
    P[Regret(challenger) > Regret(rival)], which it is not. `log10_p` stays exact where p underflows.
    """

    challenger: str
    rival: str
    difference: Interval
    t: float
    p: float
    log10_p: float


def paired_t(paired: Paired, challenger: str, rival: str) -> PairedT:
    """Test whether the challenger's mean loss is below the rival's.

    >>> table = Paired(("a", "b"), (0, 1, 2), np.array([[1.0, 2.0], [1.0, 2.5], [1.0, 1.5]]))
    >>> round(paired_t(table, "a", "b").p, 4)
    0.0371
    """
    difference = paired[challenger] - paired[rival]
    spread = float(np.std(difference, ddof=1)) if len(difference) > 1 else 0.0
    t = float(np.mean(difference) / (spread / np.sqrt(len(difference)))) if spread > 0 else np.nan
    log_p = float(stats.t.logcdf(t, len(difference) - 1)) if spread > 0 else np.nan
    return PairedT(challenger, rival, interval(difference), t, float(np.exp(log_p)), log_p / np.log(10))


def show_p(test: PairedT) -> str:
    """The p-value as the paper prints it, with its limits.

    >>> show_p(PairedT("a", "b", Interval(0, 0, 0, 2), -80.0, 0.0, -312.4))
    '< 1e-100'
    """
    if np.isnan(test.p):
        return "-"
    if test.log10_p < -100:
        return "< 1e-100"
    upper = float(stats.t.sf(test.t, test.difference.units - 1))
    if upper < 1e-4:
        return f"1 - {upper:.2g}" if upper > 1e-100 else "> 1 - 1e-100"
    return f"{test.p:.3g}"
