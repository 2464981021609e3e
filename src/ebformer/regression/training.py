"""Regressions of the natural parameter on covariates, fitted by scikit-learn with the loss that a channel asks for."""

from __future__ import annotations

from collections.abc import Sequence
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
    if loss == "logistic":  # a share y of weight w is y w successes and (1 - y) w failures
        z, y, weight = (
            np.concatenate([z, z]),
            np.repeat([1.0, 0.0], y.size),
            np.concatenate([y * weight, (1.0 - y) * weight]),
        )
    used = weight > 0
    z, y, weight = z[used], y[used], weight[used] / weight[used].mean()
    if y.size == 0 or np.all(y == y[0]):
        return None
    if kind == "linear":
        return fit_line(loss, y, weight, z, categories, limits or ends(z, weight))
    return fit_forest(loss, y, weight, z, categories, least)
