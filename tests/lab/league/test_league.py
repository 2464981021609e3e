"""The league: exact regrets and coverages on everyday priors, guests as they are, and a table that resumes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ebformer.channels import channel_named
from ebformer.errors import InputError
from ebformer.estimators.catalogue import find
from ebformer.estimators.oracle import Oracle
from ebformer.lab.arena.losses import Key, Loss
from ebformer.lab.arena.summary import Cell
from ebformer.lab.league.peers import Ashrink
from ebformer.lab.league.play import play_league, players
from ebformer.lab.league.priors import EVERYDAY, Everyday
from ebformer.lab.league.table import bar, geometric, page, ratios, tables
from ebformer.lab.league.trials import ASKED, EverydayTrial, everyday_trials, spread
from ebformer.tally import Tally

ONE_EACH = [EVERYDAY[2], EVERYDAY[24], EVERYDAY[30], EVERYDAY[42]]


def test_thirty_priors_of_rates_and_a_dozen_of_the_others_all_in_their_channel() -> None:
    names = [(prior.channel, prior.name) for prior in EVERYDAY]
    assert len(set(names)) == len(EVERYDAY)
    assert [sum(channel == each for channel, _ in names) for each in ("poisson", "normal", "binomial")] == [30, 12, 12]
    for prior in EVERYDAY:
        low, high = channel_named(prior.channel).domain
        assert low <= prior.prior.atoms[0] <= prior.prior.atoms[-1] <= high


@pytest.mark.parametrize("everyday", EVERYDAY, ids=lambda each: f"{each.channel} {each.name}")
def test_one_who_knows_the_prior_pays_nothing_and_covers(everyday: Everyday) -> None:
    (case,) = EverydayTrial(everyday, 0, (50,), 3).cases([Key("any", 50, 0)])
    paid = case.score("oracle", Oracle(everyday.prior))
    assert paid.regret == pytest.approx(0.0, abs=1e-18 + 1e-20 * paid.mse)
    assert min(paid.coverage, paid.top_tenth, paid.leader) >= 0.9 - 1e-9


def test_coverage_is_the_share_of_drawn_thetas_inside() -> None:
    everyday, n = EVERYDAY[2], 4000
    rng = np.random.default_rng(0)
    theta = everyday.prior.draw(n, rng)
    x = rng.poisson(theta)
    rule = find("gamma")(Tally.of(x[:300]))
    low, high = rule.posterior(x).interval(0.9)
    seen = np.mean((low <= theta) & (theta <= high))
    found = []
    for number in range(20):
        (case,) = EverydayTrial(everyday, number, (300,), 0).cases([Key("any", 300, number)])
        found.append(case.score("gamma", find("gamma")).coverage)
    assert abs(np.mean(found) - seen) < 0.02


def test_asked_units_stand_evenly_and_the_leader_is_last() -> None:
    rng = np.random.default_rng(1)
    estimates, multiplicity = rng.normal(size=50), rng.integers(1, 9, 50)
    units = spread(estimates, multiplicity)
    assert len(units) == ASKED
    assert units[-1] == estimates.argmax()
    assert units[0] == estimates.argmin()
    share = np.bincount(units, minlength=50) / ASKED
    assert np.abs(np.cumsum((share - multiplicity / multiplicity.sum())[np.argsort(estimates)])).max() < 2 / ASKED


def test_a_table_depends_on_its_number_alone() -> None:
    few, many = (everyday_trials(count, (20, 50), 5, ONE_EACH[:1]) for count in (1, 3))
    of = [next(iter(trials[0].cases([Key("any", 50, 0)]))).tally for trials in (few, many)]
    assert np.array_equal(of[0].x, of[1].x)


def test_a_league_that_was_killed_goes_on_and_tells_the_same(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.csv", tmp_path / "broken.csv"
    asked = (20, 30), 2, 1, ["mle", "gamma", "npmle-em", "normal", "beta"]
    first = play_league(*asked, whole, workers=1, priors=ONE_EACH)
    lines = whole.read_text().splitlines(keepends=True)
    broken.write_text("".join([lines[0], *lines[1:-9]]))
    again = play_league(*asked, broken, workers=1, priors=ONE_EACH)
    assert sorted(loss[:8] for loss in again) == sorted(loss[:8] for loss in first)
    shown = tables(first)
    assert set(shown) == {"poisson", "normal", "binomial"}
    text = page(first, "ebformer arena --everyday")
    assert "weights of priorformer" in text
    assert "| numbers of units | 20, 30 |" in text
    with pytest.raises(InputError, match="another seed"):
        play_league(*asked[:2], 2, asked[3], broken, workers=1, priors=ONE_EACH)


def test_the_better_of_the_bar_is_one_and_scale_does_not_matter() -> None:
    def league(scale: float) -> list[Loss]:
        paid = {"gamma": 2.0, "npmle-em": 4.0, "mle": 6.0}
        return [Loss("poisson p", 20, case, 0, name, scale * cost) for name, cost in paid.items() for case in range(3)]

    assert bar("poisson") == ("gamma", "npmle-em")
    for scale in (1.0, 1e-6):
        of = ratios(league(scale))["poisson"][Cell("poisson p", 20)]
        assert of == pytest.approx({"gamma": 1.0, "npmle-em": 2.0, "mle": 3.0})
    assert geometric([0.25, 4.0]).mean == pytest.approx(1.0)


def test_a_method_nobody_has_is_refused() -> None:
    with pytest.raises(InputError, match="no method 'nobody'"):
        players(EVERYDAY[0], ["nobody"])
    with pytest.raises(InputError, match="at least 1"):
        play_league((20,), 0)


@pytest.mark.parametrize("everyday", ONE_EACH, ids=lambda each: each.channel)
def test_ashrink_answers_as_it_does_by_itself(everyday: Everyday) -> None:
    ashrink = pytest.importorskip("ashrink")
    channel, x, known = everyday.draw(40, np.random.default_rng(2))
    ours = Ashrink()(Tally.of(x, known, channel=channel))(x, known)
    if everyday.channel == "normal":
        theirs = ashrink.fit(x, known).posterior_mean
    else:
        fit = ashrink.fit_poisson if everyday.channel == "poisson" else ashrink.fit_binomial
        theirs = fit(x, known, null_value=x.sum() / known.sum()).posterior_mean
    assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-8)
