"""Scores with rates that move: drifts are learnt from earlier cases only."""

import numpy as np

import ebformer as eb
from ebformer.lab.fielddata import Holdout
from ebformer.lab.fielddata.moving import HISTORY, looks_of, moving
from ebformer.lab.figures.fielddata_tables import drift_tables


def league(seed: int, pull: float) -> Holdout:
    rng = np.random.default_rng(seed)
    theta = rng.gamma(1.0, 9.0, 300)
    later = np.where(rng.random(300) < pull, rng.gamma(1.0, 9.0, 300), theta)
    return Holdout.of(rng.poisson(theta), rng.poisson(later), data="league", case=f"{seed:02}")


def test_a_case_is_predicted_from_those_before_it_and_drift_pays() -> None:
    cases = [league(seed, 0.3) for seed in range(HISTORY + 2)]
    method = eb.estimator("gamma")
    found = list(moving(cases, {"gamma": method, "mle": eb.estimator("mle")}))
    assert [one.kinds["none"].case for one in found] == ["05", "06"]
    assert found[0].learnt == eb.Drift.learn([looks_of(case) for case in cases[:HISTORY]], method)
    for one in found:
        assert one.kinds["learnt"].rmse < one.kinds["none"].rmse
        assert one.kinds["learnt"].log_score > one.kinds["none"].log_score
    (table,) = drift_tables(found)
    assert len(table.rows) == 3


def test_one_case_has_no_history_and_is_predicted_by_the_typical_drift() -> None:
    (one,) = moving([league(0, 0.3)], {"gamma": eb.estimator("gamma")})
    assert one.kinds["learnt"].rmse == one.kinds["typical"].rmse
    assert np.isfinite(one.kinds["none"].log_score)
