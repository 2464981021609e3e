"""Regressions of the natural parameter on covariates, fitted by scikit-learn with the loss that a channel asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ebformer.channels.base import Loss
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.regression.forest import LEAST_LEAF, Forest, fit_forest
from ebformer.regression.line import Line, ends, fit_line

Kind = Literal["trees", "linear"]


def train(
    kind: Kind,
    loss: Loss,
    y: Floats,
    weight: Floats,
    z: Floats,
    categories: Sequence[int],
    least: int = LEAST_LEAF,
    limits: tuple[Floats, Floats] | None = None,
) -> Forest | Line | None:
    """Fit eta(z) to raw rates, shares or effects y [n] with these weights; None where all are the same.

    `categories` [p] tells how many a covariate has, 0 where it is a number; those that have any come first. A leaf of
    a tree holds `least` of these n; a line ends at these `limits`, or at the `ends` of z.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise InputError("covariates need scikit-learn: pip install 'ebformer[covariates]'") from error
    used = weight > 0
    z, y, weight = z[used], y[used], weight[used]
    if y.size == 0 or np.all(y == y[0]):
        return None
    # Weights add up to what so many units tell, whatever the unit of exposure and however rare successes are: a line's
    # penalty and the tolerances of scikit-learn are for rates of about 1.
    weight, mean = weight / weight.mean(), float(weight @ y / weight.sum())
    if loss == "poisson":
        y = y / mean
    elif loss == "logistic":  # a share y of weight w is y w successes and (1 - y) w failures
        parts = np.concatenate([y * weight, (1.0 - y) * weight]) / (mean * (weight @ (1.0 - y) / weight.sum()))
        some = parts > 0
        z, y, weight = np.concatenate([z, z])[some], np.repeat([1.0, 0.0], y.size)[some], parts[some]
    fitted: Forest | Line
    if kind == "linear":
        fitted = fit_line(loss, y, weight, z, categories, limits or ends(z, weight))
    else:
        fitted = fit_forest(loss, y, weight, z, categories, least)
    return replace(fitted, start=float(fitted.start + np.log(mean))) if loss == "poisson" else fitted
