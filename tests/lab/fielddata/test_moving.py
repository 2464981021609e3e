"""Scores with rates that move: drifts are learnt from earlier cases only."""

import numpy as np
import pytest

import ebformer as eb
from ebformer.channels import channel_named
from ebformer.lab.fielddata import Holdout
from ebformer.lab.fielddata.moving import HISTORY, elsewhere, looks_of, moving
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


def per_game(seed: int) -> Holdout:
    """The same law of goals per game, twice, with games that differ from season to season."""
    rng = np.random.default_rng(seed)
    theta, games = rng.gamma(2.0, 0.1, 300), rng.integers(20, 83, (2, 300))
    ones = np.ones(300, dtype=np.int64)
    data = "nhl per game"
    return Holdout(rng.poisson(theta * games[0]), rng.poisson(theta * games[1]), ones, 1.0, data, f"{seed:02}", *games)


def test_exposures_explain_what_seemed_to_move() -> None:
    known = [per_game(seed) for seed in range(HISTORY + 1)]
    plain = [Holdout(one.before, one.after, one.multiplicity, 1.0, "nhl", one.case) for one in known]
    found = list(moving([*plain, *known], {"gamma": eb.estimator("gamma")}))
    without, with_games = found
    assert with_games.learnt.jump < 0.2 * without.learnt.jump
    assert with_games.count_rmse < 0.8 * without.count_rmse
    assert len(drift_tables(found)) == 3  # one per data set, and what of it is playing time


def test_hits_out_of_trials_are_scored_by_the_binomial_law() -> None:
    rng = np.random.default_rng(0)
    p, trials = rng.beta(30.0, 80.0, 400), rng.integers(20, 300, (2, 400))
    hits = [rng.binomial(each, p) for each in trials]
    ones, channel = np.ones(400, dtype=np.int64), channel_named("binomial")
    case = Holdout(hits[0], hits[1], ones, 1.0, "hits", "all", trials[0], trials[1], channel)
    (one,) = moving([case], {"beta": eb.estimator("beta")})
    assert 0.85 < one.kinds["none"].coverage < 0.96
    rule = eb.estimator("beta")(eb.Tally.of(hits[0], trials=trials[0]))
    pmf = [rule.predict(x, t, f).log_density(y).item() for x, t, f, y in zip(hits[0], *trials, hits[1], strict=True)]
    assert one.kinds["none"].log_score == pytest.approx(np.mean(pmf))


def test_other_domains_count_once_each_and_teach_no_trend() -> None:
    taught = {
        "nhl all": eb.Drift(0.1, 0.9, 0.2, 0.3),
        "nhl center": eb.Drift(0.3, 0.9, 0.4),
        "books": eb.Drift(0.4, 1.0, 0.1),
        "mlb bat": eb.Drift(0.9, 0.5, 0.9),
        "nhl all per game": eb.Drift(0.0),
    }
    found = elsewhere(taught, "mlb pitch")
    assert found is not None
    assert (found.pull, found.fade, found.jump, found.trend) == pytest.approx((0.3, 0.95, 0.2, 0.0))
    assert elsewhere({"books": eb.Drift(0.4)}, "books") is None


def test_one_case_has_no_history_and_is_predicted_by_the_typical_drift() -> None:
    (one,) = moving([league(0, 0.3)], {"gamma": eb.estimator("gamma")})
    assert one.kinds["learnt"].rmse == one.kinds["typical"].rmse
    assert np.isfinite(one.kinds["none"].log_score)
