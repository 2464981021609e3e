"""`EmpiricalBayes`: the methods as one scikit-learn estimator; what is known of the units is metadata."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from ebformer.binning import coarsened
from ebformer.channels import pick
from ebformer.channels.base import Channel
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import method_for
from ebformer.tally import Tally, known_numbers


class EmpiricalBayes(BaseEstimator):  # type: ignore[misc]
    """Learns the prior of many units in `fit` and answers with E[theta | x] in `predict`.

    X [n, p] holds the observations of n units, usually with p = 1; further columns are fitted apart, y is ignored. What
    is known of the units is metadata, one number each, and its name picks the channel: `fit(X, exposure=games)` for
    counts, `fit(X, trials=at_bats)` for successes, `fit(X, se=errors)` for effects, and the same in `predict`. Inside a
    pipeline it is routed by `set_fit_request(exposure=True)` and `set_predict_request(exposure=True)`. The fitted
    rules, one per column, are `rules_`. `method=None` is the default method of the channel, `zeros="missing"` is for
    counts of units that enter the table only with an event.

    >>> model = EmpiricalBayes(method="gamma").fit([[0], [0], [1], [2], [9]])
    >>> model.predict([[0], [9]]).shape
    (2,)
    >>> EmpiricalBayes(method="beta").fit([[3], [9]], trials=[10, 12]).predict([[5]], trials=10).shape
    (1,)
    """

    def __init__(self, method: str | Estimator | None = None, zeros: str | None = None) -> None:
        self.method = method
        self.zeros = zeros

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        exposure: ArrayLike | None = None,
        trials: ArrayLike | None = None,
        se: ArrayLike | None = None,
    ) -> Self:
        """Fit the method to every column of observations."""
        channel, known = pick(None, {"exposure": exposure, "trials": trials, "se": se, "zeros": self.zeros})
        columns = self._observations(X, channel, reset=True)
        method = method_for(channel, self.method)
        self.rules_ = [method(coarsened(Tally.of(column, known, channel=channel))) for column in columns.T]
        return self

    def predict(
        self,
        X: ArrayLike,
        exposure: ArrayLike | None = None,
        trials: ArrayLike | None = None,
        se: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """E[theta | x], [n] for one column and [n, p] for more; what is known may be left out where units shared it."""
        check_is_fitted(self)
        channel = self.rules_[0].channel
        _, known = pick(None, {"exposure": exposure, "trials": trials, "se": se}, channel)
        if known is None and self.rules_[0].known is None:
            word, knowns = channel.keyword, channel.words.knowns
            raise InputError(
                f"the fitted units had unequal {knowns}: give predict the {knowns} of these units too "
                f"(in a pipeline, set_predict_request({word}=True))"
            )
        columns = self._observations(X, channel, reset=False)
        about = None if known is None else known_numbers(channel, known, columns[:, 0])
        if about is not None and about.size not in (1, len(columns)):  # rules broadcast, units do not
            word = channel.keyword
            raise InputError(f"{word} has {about.size} entries but X has {len(columns)} rows: give one per unit")
        answers = [rule(column, about) for rule, column in zip(self.rules_, columns.T, strict=True)]
        return answers[0] if len(answers) == 1 else np.stack(answers, axis=1)

    def _observations(self, X: ArrayLike, channel: Channel, reset: bool) -> NDArray[Any]:
        observations: NDArray[Any] = validate_data(self, X, reset=reset)
        if channel.domain[0] == 0.0:
            check_non_negative(observations, type(self).__name__)
        return observations

    def __sklearn_tags__(self) -> Tags:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        # scikit-learn has no word for counts; this one makes its checks draw whole numbers.
        tags.input_tags.categorical = True
        return tags
