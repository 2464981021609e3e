"""Groups with equal tallies share a fit and its answers, and nobody can tell from the answers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ebformer as eb
from ebformer.rule import Rule
from ebformer.tables.checking import check_fit
from ebformer.tables.columns import Columns
from ebformer.tables.fit import Fit
from ebformer.tables.frames import source_of
from ebformer.tables.learning import fit_table, with_units
from ebformer.tables.observations import Observations, observe
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally, added_up

COLUMNS = Columns("goals", "games", "team")
ROWS = st.lists(
    st.tuples(st.sampled_from(["none", "a", "b", "c", "10", "9"]), st.integers(0, 3), st.sampled_from([1.0, 2.5])),
    min_size=1,
    max_size=40,
)


def observed(rows: list[tuple[str, int, float]]) -> Observations:
    return observe(source_of(pl.DataFrame(rows, schema=["team", "goals", "games"], orient="row")), COLUMNS)


def many_teams(teams: int = 200, rows: int = 3) -> Observations:
    rng = np.random.default_rng(3)
    team = rng.permutation(np.repeat(np.arange(teams), rows)).tolist()
    goals, games = rng.poisson(1.0, teams * rows).tolist(), rng.choice([1.0, 2.0], teams * rows).tolist()
    return observed([(str(name), x, t) for name, x, t in zip(team, goals, games, strict=True)])


@settings(deadline=None)
@given(ROWS)
def test_every_group_has_the_tally_of_its_rows_and_equal_ones_are_found(rows: list[tuple[str, int, float]]) -> None:
    observations = observed(rows)
    names = sorted({team for team, _, _ in rows})
    expected = {
        name: Tally.of([x for team, x, _ in rows if team == name], [t for team, _, t in rows if team == name])
        for name in names
    }
    assert observations.tallies() == expected
    assert list(observations.tallies()) == names
    assert len(observations.distinct_tallies) == len(set(expected.values()))
    assert sorted(str(name) for _, groups in observations.distinct_tallies for name in groups) == names


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(0.5, future=2.0)])
def test_shared_fits_answer_as_fits_of_every_group_apart(wanted: Wanted) -> None:
    observations = many_teams()
    shared = fit_table(observations, eb.CATALOGUE["gamma"])
    apart = Fit(COLUMNS, {name: eb.CATALOGUE["gamma"](tally) for name, tally in observations.tallies().items()})
    assert len(shared.shared) == len(observations.distinct_tallies) < len(apart.shared) == 200
    expected = apart.answers(observations, wanted)
    for name, column in shared.answers(observations, wanted).items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)


def test_ranks_count_every_unit_of_the_groups_that_share_a_fit() -> None:
    observations = many_teams(teams=30, rows=2)
    assert len(observations.distinct_tallies) < 30
    shared = fit_table(observations, eb.CATALOGUE["gamma"])
    apart = Fit(COLUMNS, {name: eb.CATALOGUE["gamma"](tally) for name, tally in observations.tallies().items()})
    expected = apart.answers(observations, Wanted(top=4))
    answers = shared.answers(observations, Wanted(top=4))
    for name in ("expected_rank", "p_top"):
        np.testing.assert_allclose(answers[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
    assert observations.keys.rows @ answers["p_top"] == pytest.approx(4)


def test_equal_tallies_are_fitted_and_checked_once() -> None:
    observations, fitted = many_teams(), list[Tally]()

    def method(tally: Tally) -> Rule:
        fitted.append(tally)
        return eb.CATALOGUE["gamma"](tally)

    fit = fit_table(observations, method)
    assert len(fitted) == len(set(fitted)) == len(observations.distinct_tallies)
    checks = check_fit(fit, observations, np.random.default_rng(0))
    assert list(fit.rules) == sorted(fit.rules, key=str) == sorted(group for _, groups in checks for group in groups)
    assert len(checks) == len(fitted)


def test_groups_that_were_alike_and_are_take_in_new_rows_once() -> None:
    first, more, fitted = many_teams(rows=1), many_teams(rows=2), list[Tally]()

    def method(tally: Tally) -> Rule:
        fitted.append(tally)
        return eb.CATALOGUE["gamma"](tally)

    grown = with_units(replace(fit_table(first, eb.CATALOGUE["gamma"]), method=method), more)
    before, then = first.tallies(), more.tallies()
    assert len(fitted) == len({(before[team], then[team]) for team in then}) < len(then)
    for team, rule in grown.rules.items():
        assert rule.tally == added_up([(before[team], 1), (then[team], 1)])


def test_a_saved_fit_writes_a_shared_rule_once(tmp_path: Path) -> None:
    observations = many_teams()
    fit = fit_table(observations, eb.CATALOGUE["gamma"])
    fit.save(tmp_path / "rule.json")
    assert len(json.loads((tmp_path / "rule.json").read_text())["rules"]) == len(observations.distinct_tallies)
    again = Fit.load(tmp_path / "rule.json")
    assert again.rules == fit.rules
    assert len(again.shared) == len(fit.shared)


def test_an_unknown_group_is_refused_without_a_list_of_all_the_others() -> None:
    fit = fit_table(many_teams(), eb.CATALOGUE["gamma"])
    new = observed([("z", 1, 1.0)])
    assert re.search(
        r"group 'z' was not in .* \(its groups: .* and 195 more\)", str(fit.about_unknown(fit.unknown(new)))
    )
