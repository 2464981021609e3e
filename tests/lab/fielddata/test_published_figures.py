"""The sanity table of ../shared/data/README.md, and the published scores of ../shared/arena, case by case."""

from functools import cache

import numpy as np
import pytest

from ebformer.estimators.catalogue import CATALOGUE
from ebformer.lab.fielddata import Holdout, baseball, books, evaluate, hockey
from ebformer.lab.fielddata.sources import read_columns

# Percent improvement of the RMSE over the MLE (Robbins, ERM): table "Sanity figures" of the README beside the data.
SANITY = {
    "nhl all": (-30.75, 1.61),
    "nhl defender": (-20.11, 2.81),
    "nhl center": (-52.79, 0.18),
    "nhl winger": (-41.38, 1.18),
    "nhl all points": (-53.05, 0.41),
    "nhl defender points": (-60.33, 0.48),
    "nhl center points": (-88.87, -0.55),
    "nhl winger points": (-70.06, -0.28),
    "mlb bat": (-62.74, 0.22),
    "mlb pitch": (-41.32, 0.15),
    "mlb pitch without triples": (-42.81, 0.23),
    "books": (8.66, 12.82),
}
pytestmark = pytest.mark.data


@cache
def holdouts(data: str) -> list[Holdout]:
    kind, _, rest = data.partition(" ")
    if kind == "nhl":
        position, _, count = rest.partition(" ")
        return hockey.load(position=position, count=count or "goals")
    if kind == "mlb":
        role, _, without = rest.partition(" ")
        return baseball.load(role=role, triples=not without)
    return books.load()


@pytest.mark.parametrize("data", SANITY)
def test_robbins_and_erm_equal_the_sanity_figures(data_dir, data):
    for name, expected in zip(("robbins", "erm"), SANITY[data], strict=True):
        scores = [score for some in evaluate(holdouts(data), {name: CATALOGUE[name]}) for score in some]
        improvement = [score.rmse_improvement for score in scores]
        assert np.mean(improvement) == pytest.approx(expected, abs=0.0051), (name, len(scores))
        if data == "books":
            assert np.median(improvement) == pytest.approx({"robbins": 12.72, "erm": 12.42}[name], abs=0.0051)
        assert len(scores) == (1085 if data == "books" else 20)


@pytest.mark.parametrize(("ours", "theirs"), [("robbins", "robbins+1"), ("npmle", "npmle"), ("npmle-em", "npmle-em")])
@pytest.mark.parametrize("data", [data for data in SANITY if "points" not in data and "without" not in data])
def test_classical_methods_equal_the_published_scores_case_by_case(published, data, ours, theirs):
    table = read_columns([published], ["data", "case", "estimator", "rmse_improvement", "mae_improvement"])
    rows = list(zip(*(column.tolist() for column in table.values()), strict=True))
    expected = {str(case): scores for of, case, name, *scores in rows if (of, name) == (data, theirs)}
    cases = [holdout for holdout in holdouts(data) if holdout.case in expected]
    assert len(cases) == len(expected) > 0
    for some in evaluate(cases, {ours: CATALOGUE[ours]}):
        for score in some:
            found = (score.rmse_improvement, score.mae_improvement)
            assert found == pytest.approx(expected[score.case], abs=0.01), score.case
