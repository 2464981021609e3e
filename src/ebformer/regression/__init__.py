"""Regressions on covariates: boosted trees, lines and their blends, as arrays that JSON can hold."""

from ebformer.regression.blend import Blend, read_regression
from ebformer.regression.forest import LEAST_LEAF, Forest, copied
from ebformer.regression.line import Line, ends
from ebformer.regression.training import Kind, train

__all__ = ["LEAST_LEAF", "Blend", "Forest", "Kind", "Line", "copied", "ends", "read_regression", "train"]
