"""`EmpiricalBayes`: the methods as one scikit-learn estimator, exposure passed as metadata."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from ebformer.binning import coarsened
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import DEFAULT, find
from ebformer.tally import Tally, exposures


class EmpiricalBayes(BaseEstimator):  # type: ignore[misc]
    """Learns the prior of many counts in `fit` and answers with E[theta | x] in `predict`.

    X [n, p] holds the counts of n units, usually with p = 1; further columns are fitted apart, y is ignored. Exposures
    are metadata, one per unit: `fit(X, exposure=games)`, `predict(X, exposure=games)`, and inside a pipeline
    `set_fit_request(exposure=True)` and `set_predict_request(exposure=True)`. The fitted rules, one per column, are
    `rules_`.

    >>> model = EmpiricalBayes(method="gamma").fit([[0], [0], [1], [2], [9]])
    >>> model.predict([[0], [9]]).shape
    (2,)
    """

    def __init__(self, method: str | Estimator = DEFAULT) -> None:
        self.method = method

    def fit(self, X: ArrayLike, y: object = None, exposure: ArrayLike | None = None) -> Self:
        """Fit the method to every column of counts."""
        counts = self._counts(X, reset=True)
        method = find(self.method)
        self.rules_ = [method(coarsened(Tally.of(column, exposure))) for column in counts.T]
        return self

    def predict(self, X: ArrayLike, exposure: ArrayLike | None = None) -> NDArray[np.float64]:
        """E[theta | x], [n] for one column and [n, p] for more; exposures may be left out where units shared one."""
        check_is_fitted(self)
        if exposure is None and self.rules_[0].exposure is None:
            raise InputError(
                "the fitted units had unequal exposures: give predict the exposures of these units too "
                "(in a pipeline, set_predict_request(exposure=True))"
            )
        counts = self._counts(X, reset=False)
        t = None if exposure is None else exposures(exposure)
        if t is not None and t.size not in (1, len(counts)):  # rules broadcast, units do not
            raise InputError(f"exposure has {t.size} entries but X has {len(counts)} rows: give one per unit")
        answers = [rule(column, t) for rule, column in zip(self.rules_, counts.T, strict=True)]
        return answers[0] if len(answers) == 1 else np.stack(answers, axis=1)

    def _counts(self, X: ArrayLike, reset: bool) -> NDArray[Any]:
        counts: NDArray[Any] = validate_data(self, X, reset=reset)
        check_non_negative(counts, type(self).__name__)
        return counts

    def __sklearn_tags__(self) -> Tags:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        # scikit-learn has no word for counts; this one makes its checks draw whole numbers.
        tags.input_tags.categorical = True
        return tags
