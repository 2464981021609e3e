"""How rates move: the law of the next theta, what a simulated league teaches, what earlier looks are worth."""

import json
from pathlib import Path

import numpy as np
import pytest

import ebformer as eb
from ebformer.channels import POISSON, channel_named
from ebformer.channels.base import Channel
from ebformer.distributions import DiscretePosterior, Floats, GridPosterior
from ebformer.drift import PARAMETERS
from ebformer.drift.cells import FINEST, gathered, shares
from ebformer.prior import AnyPrior
from ebformer.ranking import cells, expected_rank
from ebformer.rule import BayesRule

LEAGUE = eb.GammaPrior(1.2, 0.12)
PRIORS: list[tuple[Channel, AnyPrior, list[float], float]] = [
    (POISSON, LEAGUE, [0, 3, 30], 1.0),
    (POISSON, eb.Prior([0.0, 2.0, 8.0], [0.3, 0.4, 0.3]), [0, 3, 9], 2.0),
    (channel_named("binomial"), eb.BetaPrior(8.0, 20.0), [0, 9, 30], 30.0),
    (channel_named("normal"), eb.NormalPrior(1.0, 2.0), [-1.0, 0.3, 4.0], 0.5),
]


def step(theta: Floats, drift: eb.Drift, prior: AnyPrior, channel: Channel, rng: np.random.Generator) -> Floats:
    """The next thetas, drawn as the model says and not as the package computes."""
    kept = drift.kept(theta, prior.mean, channel)
    jumped = channel.around(kept, np.full(theta.size, max(drift.spread(prior, channel), 1e-9))).sample(1, rng)[:, 0]
    afresh = drift.shifted(prior.draw(theta.size, rng), channel)
    return np.where(rng.random(theta.size) < drift.renewal, afresh, jumped)


def season(n: int, drift: eb.Drift, rng: np.random.Generator) -> eb.Looks:
    theta = LEAGUE.draw(n, rng)
    return eb.Looks.of(rng.poisson(theta), rng.poisson(step(theta, drift, LEAGUE, POISSON, rng)))


@pytest.mark.parametrize(("channel", "prior", "x", "known"), PRIORS)
def test_no_drift_is_todays_prediction(channel: Channel, prior: AnyPrior, x: list[float], known: float) -> None:
    rule = BayesRule("oracle", prior, channel=channel)
    plain, still = rule.predict(x, known, known), rule.predict(x, known, known, drift=eb.Drift.none())
    assert np.array_equal(plain.mean, still.mean)
    assert np.array_equal(plain.quantile(0.9), still.quantile(0.9))


@pytest.mark.parametrize(("channel", "prior", "x", "known"), PRIORS)
def test_the_mean_is_pulled_by_its_share(channel: Channel, prior: AnyPrior, x: list[float], known: float) -> None:
    drift = eb.Drift(pull=0.3, jump=0.2)
    now = eb.Drift.none().posterior(prior, x, known, channel=channel).mean
    then = drift.moved(drift.posterior(prior, x, known, channel=channel), prior, channel).mean
    assert then == pytest.approx(0.7 * now + 0.3 * prior.mean, rel=2e-3)


@pytest.mark.parametrize(("channel", "prior", "x", "known"), PRIORS)
def test_predictions_are_those_of_simulated_units(
    channel: Channel, prior: AnyPrior, x: list[float], known: float
) -> None:
    rng = np.random.default_rng(0)
    drift = eb.Drift(pull=0.2, fade=0.9, jump=0.3, trend=0.1)
    after = drift.posterior(prior, x[1:2], known, channel=channel)
    theta = step(after.sample(40_000, rng)[0], drift, prior, channel, rng)
    y = channel.draw(theta, np.full(theta.size, known), rng)
    ahead = drift.predictive(prior, x[1:2], known, known, channel=channel)
    assert ahead.mean[0] == pytest.approx(y.mean(), abs=5 * y.std() / 200)
    for level in (0.1, 0.5, 0.9):
        at = float(np.quantile(y, level))
        assert float(ahead.cdf(at)[0]) == pytest.approx(np.mean(y <= at), abs=0.02)


def test_effects_in_other_units_move_alike() -> None:
    normal, drift = channel_named("normal"), eb.Drift(pull=0.2, fade=0.9, jump=0.3)
    one = drift.predictive(eb.NormalPrior(1.0, 2.0), 3.0, 0.5, 0.4, channel=normal)
    two = drift.predictive(eb.NormalPrior(-3.0, 6.0), -9.0, 1.5, 1.2, channel=normal)
    assert two.mean == pytest.approx(-3 * one.mean, rel=1e-6)
    assert two.variance == pytest.approx(9 * one.variance, rel=1e-6)


def test_rates_of_zero_come_to_life_and_intervals_hold_what_they_say() -> None:
    prior = eb.Prior([0.0, 10.0], [0.5, 0.5])
    ahead = eb.Drift(pull=0.2, jump=0.3).predictive(prior, [0, 9], channel=POISSON)
    assert float(ahead.pmf(0)[0]) < 0.9 < float(ahead.pmf(0)[0]) + 0.25
    low, high = ahead.interval(0.9)
    for unit in (0, 1):
        held = float(ahead.cdf(high)[unit, unit] - ahead.cdf(low - 1)[unit, unit])
        shorter = float(ahead.cdf(high - 1)[unit, unit] - ahead.cdf(low - 1)[unit, unit])
        assert held >= 0.9 > shorter or high[unit] == low[unit]


@pytest.mark.parametrize("truth", [eb.Drift(0.2, 1.0, 0.3, 0.0), eb.Drift(0.1, 0.9, 0.5, -0.1)])
def test_simulated_leagues_teach_their_drift(truth: eb.Drift) -> None:
    """Each parameter lies within two standard errors as often as it should: in 95 % of leagues, of which six are few.

    If each did so with probability 0.95, fewer than 20 of 24 would in one of 160 such tests; the seeds are fixed.
    """
    within, covered = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        learnt = eb.Drift.learn([season(1500, truth, rng) for _ in range(5)], "gamma")
        assert learnt.errors is not None
        within += [abs(getattr(learnt, name) - getattr(truth, name)) < 2 * learnt.errors[name] for name in PARAMETERS]
        last = season(4000, truth, rng)
        rule = eb.estimator("gamma")(last.tally)
        x, at = np.unique(last.x, return_inverse=True)
        low, high = rule.predict(x, drift=learnt).interval(0.9)
        covered.append(np.average((last.y >= low[at]) & (last.y <= high[at]), weights=last.multiplicity))
    assert sum(within) >= 20
    assert all(0.88 < share < 0.92 for share in covered)


def test_without_drift_learning_costs_next_to_nothing() -> None:
    rng = np.random.default_rng(2)
    learnt = eb.Drift.learn([season(1000, eb.Drift.none(), rng) for _ in range(3)], "gamma")
    last = season(4000, eb.Drift.none(), rng)
    rule = eb.estimator("gamma")(last.tally)

    def error(drift: eb.Drift) -> float:
        return (
            float(np.average((rule.predict(last.x, drift=drift).mean - last.y) ** 2, weights=last.multiplicity)) ** 0.5
        )

    assert error(learnt) < 1.01 * error(eb.Drift.none())


def test_short_histories_are_typical() -> None:
    learnt = eb.Drift.learn(eb.Looks.of([3, 0, 5], [2, 1, 4]), "gamma")
    assert learnt.pull == pytest.approx(eb.Drift.typical().pull, abs=0.05)
    assert learnt.jump == pytest.approx(eb.Drift.typical().jump, abs=0.1)


@pytest.mark.parametrize("drift", [eb.Drift(pull=0.2, jump=0.2), eb.Drift(pull=0.1, jump=0.05)])
def test_three_looks_beat_two_and_two_beat_one(drift: eb.Drift) -> None:
    rng = np.random.default_rng(3)
    theta = [LEAGUE.draw(3000, rng)]
    for _ in range(3):
        theta.append(step(theta[-1], drift, LEAGUE, POISSON, rng))
    looks = [rng.poisson(each).astype(float) for each in theta]
    rule = eb.estimator("gamma")(eb.Tally.of(looks[2].astype(int)))
    errors = []
    for first in (2, 1, 0):
        after = rule.posterior(looks[2], drift=drift, earlier=[(looks[k], 1.0) for k in range(first, 2)])
        errors.append(np.mean((after.mean - theta[2]) ** 2))
    assert errors[0] > 1.1 * errors[1] > 1.1 * errors[2]


def test_a_unit_without_earlier_looks_is_answered_as_ever_and_one_without_drift_adds_up() -> None:
    rule = BayesRule("oracle", eb.Prior([1.0, 4.0], [0.5, 0.5]))
    unseen = rule.posterior([2, 3], drift=eb.Drift.typical(), earlier=[(np.nan, 1.0)])
    assert unseen.mean == pytest.approx(rule([2, 3]))
    both = rule.posterior([2], drift=eb.Drift.none(), earlier=[(3, 1.0)])
    assert both.mean == pytest.approx(rule([5], exposure=2.0))


@pytest.mark.parametrize(("channel", "prior", "x", "known"), PRIORS)
def test_what_is_told_of_a_unit_hangs_on_no_other(
    channel: Channel, prior: AnyPrior, x: list[float], known: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together, one by one, and in blocks; some looks are the same for several units, and some are missing."""
    drift = eb.Drift(0.2, 0.95, 0.3, 0.05)
    now, then, before = np.tile(x, 3), np.array([*x, *x[::-1], np.nan, *x[1:]]), np.repeat([x[0], np.nan, x[2]], 3)
    earlier = [(before, 2 * known), (then, known)]

    def told(units: slice) -> Floats:
        some = [(look[units], about) for look, about in earlier]
        return drift.posterior(prior, now[units], known, channel=channel, earlier=some).mean

    alone = np.concatenate([told(slice(i, i + 1)) for i in range(now.size)])
    np.testing.assert_allclose(told(slice(None)), alone, rtol=1e-12)
    monkeypatch.setattr("ebformer.bayes.marginal.CACHED", 2 * 1024)
    np.testing.assert_allclose(told(slice(None)), alone, rtol=1e-12)


def test_ranks_of_the_next_season_lie_closer_together() -> None:
    rule = eb.estimator("gamma")(
        eb.Tally.of(np.random.default_rng(0).poisson(LEAGUE.draw(200, np.random.default_rng(1))))
    )
    x = np.array([0, 10, 60])
    now, then = (
        expected_rank(cells([law], np.ones(3, dtype=np.int64)), np.ones(3, dtype=np.int64))
        for law in (rule.posterior(x), rule.next(x, drift=eb.Drift.typical()))
    )
    assert now[2] < then[2] < then[1] < then[0] < now[0]


def test_a_drift_survives_being_written_down(tmp_path: Path) -> None:
    drift = eb.Drift.learn(eb.Looks.of([3, 0, 5, 2], [2, 1, 4, 6]), "gamma")
    drift.save(tmp_path / "drift.json")
    again = eb.Drift.load(tmp_path / "drift.json")
    assert (again, again.errors, again.pairs) == (drift, drift.errors, 4)
    assert (again.channel, again.exposures, again.look) == ("poisson", False, None)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(eb.InputError, match="is not a saved drift"):
        eb.Drift.load(tmp_path / "other.json")


def test_a_drift_says_what_it_was_learnt_from_and_serves_nothing_else(tmp_path: Path) -> None:
    learnt = eb.Drift.learn(eb.Looks.of([3, 0, 5, 2], [2, 1, 4, 6], trials=9, future=9), "beta")
    counts = eb.estimator("gamma")(eb.Tally.of([1, 2, 9]))
    for ask in (counts.predict, counts.next):
        with pytest.raises(eb.InputError, match="was learnt from successes, and these are counts"):
            ask(3, drift=learnt)
    old = {name: entry for name, entry in learnt.record().items() if name not in ("channel", "exposures", "look")}
    (tmp_path / "old.json").write_text(json.dumps(old))
    served = eb.Drift.load(tmp_path / "old.json")
    assert served == learnt
    assert counts.predict(3, drift=served).mean > 0  # an old file does not say


@pytest.mark.parametrize(
    ("looks", "method"),
    [
        (eb.Looks.of([5] * 40, [5] * 40), "gamma"),
        (eb.Looks.of([0] * 40, [0] * 40), "gamma"),
        (eb.Looks.of([9] * 40, [9] * 40, trials=9, future=9), "beta"),
        (eb.Looks.of([2e-6, -2e-6] * 20, [-1e-6, 1e-6] * 20, se=3e-6, future=3e-6), "normal"),
    ],
)
def test_units_that_do_not_differ_teach_nothing(looks: eb.Looks, method: str) -> None:
    learnt, typical = eb.Drift.learn(looks, method), eb.Drift.typical(looks.exposed)
    assert learnt.errors is not None
    assert typical.errors is not None
    for name in ("pull", "fade"):
        assert getattr(learnt, name) == pytest.approx(getattr(typical, name), abs=1e-3)
        assert learnt.errors[name] == pytest.approx(typical.errors[name], rel=1e-3)


def test_what_is_typical_depends_on_whether_playing_time_is_known() -> None:
    pairs = [3, 0, 5], [2, 1, 4]
    learnt = [
        eb.Drift.learn(looks, "gamma") for looks in (eb.Looks.of(*pairs), eb.Looks.of(*pairs, [1, 2, 1], [2, 1, 1]))
    ]
    assert [drift.exposures for drift in learnt] == [False, True]
    assert learnt[1].pull == pytest.approx(eb.Drift.typical(exposures=True).pull, abs=0.02)
    assert learnt[1].pull < learnt[0].pull - 0.1


def test_offenders_are_named(tmp_path: Path) -> None:
    with pytest.raises(eb.InputError, match=r"the pull of a drift is 1\.5"):
        eb.Drift(pull=1.5)
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(eb.Drift().record() | {"pull": 1.5}))
    with pytest.raises(eb.InputError, match=r"edited\.json: the pull of a drift is 1\.5"):
        eb.Drift.load(path)
    with pytest.raises(eb.InputError, match="3 units and the second 2"):
        eb.Looks.of([1, 2, 3], [1, 2])
    rule = eb.estimator("gamma")(eb.Tally.of([1, 2, 9]))
    with pytest.raises(eb.InputError, match="give drift="):
        rule.predict(3, earlier=[(2, 1.0)])


@pytest.mark.parametrize("earlier", [(2, 1.0), [2], [([1, 2, 3], 1.0)], [("two", 1.0)], [([1, 2],)]])
def test_earlier_looks_that_are_none_are_refused(earlier) -> None:
    rule = eb.estimator("gamma")(eb.Tally.of([0, 3, 1, 8]))
    with pytest.raises(eb.InputError, match="earlier is no list of looks"):
        rule.posterior([3, 1], drift=eb.Drift.typical(), earlier=earlier)


def test_precise_looks_are_not_rounded_to_coarse_cells() -> None:
    """Where nothing moves, two looks are one of twice the exposure, also among counts of hundreds to millions."""
    prior, x = eb.GammaPrior(0.8, 1e-6), np.array([300.0, 20_000.0, 1_000_000.0, 4_000_000.0])
    rule = BayesRule("gamma", prior)
    after = rule.posterior(x, drift=eb.Drift.none(), earlier=[(x, 1.0)])
    together = prior.posterior(2.0 * x, np.full(4, 2.0))
    assert after.mean == pytest.approx(together.mean, rel=1e-5)
    assert np.sqrt(after.variance) == pytest.approx(np.sqrt(together.variance), rel=0.01)


def test_where_thetas_jump_to_is_the_same_for_whomever_and_whenever() -> None:
    of, drift = channel_named("poisson"), eb.Drift(pull=0.1, fade=0.95, jump=0.2)
    prior = eb.Prior(np.linspace(0.0, 30.0, 300), np.full(300, 1 / 300))
    now = DiscretePosterior(prior.atoms, np.eye(300)[[0, 7, 150]])
    jumps, ahead = drift.jumps(prior.atoms, prior, of), drift.jumped(now, prior, of)
    assert isinstance(ahead, GridPosterior)
    assert np.array_equal(jumps.edges, ahead.edges)
    assert jumps.of(now.weights).weights == pytest.approx(ahead.weights, abs=1e-15)


@pytest.mark.parametrize("channel", ["poisson", "normal"])
def test_many_more_atoms_than_cells_move_as_each_of_them_would(channel: str) -> None:
    of, drift = channel_named(channel), eb.Drift(pull=0.1, fade=0.95, jump=1e-5)
    atoms = of.at_coordinate(np.linspace(3.0, 5000.0, 3 * FINEST))
    now = DiscretePosterior(atoms, np.random.default_rng(0).dirichlet(np.ones(atoms.size), 2))
    prior = eb.Prior(atoms, now.weights.mean(axis=0))
    ahead = drift.jumped(now, prior, of)
    assert isinstance(ahead, GridPosterior)
    means, spread = drift.kept(atoms, prior.mean, of), drift.spread(prior, of)
    law = sum(
        now.weights[:, some] @ shares(of.around(means[some], np.full(some.size, spread)), ahead.edges)
        for some in np.array_split(np.arange(atoms.size), 32)
    )
    assert np.cumsum(ahead.weights, axis=1) == pytest.approx(np.cumsum(law, axis=1), abs=1e-4)
    assert gathered(now, of).mean == pytest.approx(now.mean, rel=1e-12)


def test_jumps_wider_than_the_domain_take_thetas_to_either_end() -> None:
    rule = BayesRule("oracle", eb.BetaPrior(2.0, 5.0), channel=channel_named("binomial"), known=10.0)
    ahead = rule.next([3.0], drift=eb.Drift(pull=0.1, jump=1e4))
    assert ahead.exceeds([0.0, 1.0])[0] == pytest.approx([1.0, 0.0])
    assert 0.0 < ahead.mean.item() < 1.0
