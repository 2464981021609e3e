"""Floors: what the best rule pays, from below and from above; tables that are kept; pages and cards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.command_line import ebformer

from ebformer.errors import InputError
from ebformer.estimators.catalogue import find
from ebformer.lab.figures.floor_tables import SECTION, card_with_floors, floor_table, with_section
from ebformer.lab.floors import CONTROL, FEWEST, FLOOR, POWERS, Paid, drawn, made, play, play_all
from ebformer.lab.hierarchical import Hierarchical
from ebformer.lab.worlds import Universal


def test_the_floor_is_what_its_rule_turns_out_to_pay_on_average_and_no_less_than_the_bound() -> None:
    rows = [row for row in play_all(["universal"], [64], 30, [], priors=100) if row.method == FLOOR]
    turned_out = []
    for row in rows:
        _, (tally, exact) = made(Universal(), 64, row.table, 0)
        rule = Hierarchical(Universal(), 100, seed=row.table).averages(tally, POWERS)[1.0]
        paid = (rule.estimates[tally.values] - exact[0]) ** 2 - rule.errors[tally.values] ** 2
        turned_out.append(float(paid @ tally.multiplicity / 64))
    apart = np.array([row.regret for row in rows]) - turned_out
    assert abs(apart.mean()) < 4 * apart.std() / np.sqrt(apart.size)
    above = np.array([row.regret - row.at_least for row in rows])
    assert above.mean() > -4 * above.std() / np.sqrt(above.size)


def test_priors_that_the_true_one_moves_to_cost_a_method_what_the_true_one_does() -> None:
    world, apart = Universal(), []
    for table in range(60):
        _, (tally, own) = made(world, 64, table, 0)
        moved_to = drawn(world, 64, table, 60, 0).exact
        paid = [((tally.values - exact) ** 2).mean(axis=0) @ tally.multiplicity / 64 for exact in (moved_to, own)]
        apart.append(paid[0] - paid[1])
    assert abs(np.mean(apart)) < 4 * np.std(apart) / np.sqrt(len(apart))


def test_a_method_that_is_the_rule_pays_the_floor_and_is_nearest_to_its_own_power() -> None:
    method = Hierarchical(Universal(), priors=2000, power=0.5)
    own, _, other = play("universal", 100, 0, [method], priors=2000)
    assert own.regret < other.regret
    assert other.half < other.whole
    assert own.whole < own.half


def test_what_was_played_is_not_played_again(tmp_path: Path) -> None:
    output = tmp_path / "floors.csv"
    first = play_all(["universal"], [32], 2, [], 40, output)
    more = play_all(["universal"], [32], 3, [find("mle")], 40, output, further=2)
    assert [row for row in more if row.method == FLOOR][:2] == [row for row in first if row.method == FLOOR]
    assert {row.method for row in more} == {FLOOR, CONTROL, "mle"}
    assert [row.table for row in more if row.method == CONTROL] == [-1, -2, 0, 1, 2]


def test_no_more_tables_are_played_than_make_the_floor_sure() -> None:
    rows = play_all(["universal"], [32], FEWEST + 2, [], 20, error=1.0)
    assert len([row for row in rows if row.method == FLOOR]) == FEWEST


def test_a_method_that_pays_twice_the_floor_is_told_so() -> None:
    rows = [
        Paid("gamma", 128, table, method, paid * (table + 1), 0.9, *away)
        for table in range(4)
        for method, paid, away in ((FLOOR, 1.0, (4, 3, 2, 0)), ("mle", 2.0, (4, 3, 1, 2)))
    ]
    assert floor_table(rows).rows == (("gamma 128", "2.5 ± 25.8%", "0.9 ± 0.0%", "2.00 ± 0.00 (0.75)", "4"),)
    card = card_with_floors("# mle\n", "mle", rows, "command")
    assert "| gamma | 2.00 ± 0.00 |" in card
    assert card_with_floors(card, "mle", rows, "command") == card
    assert with_section(card, SECTION, "gone").startswith("# mle\n\n## Over the floor\n\ngone")


def test_the_command_tells_the_floor_and_writes_page_and_cards(tmp_path: Path) -> None:
    page, card = tmp_path / "floors.md", tmp_path / "mle.md"
    card.write_text("# mle\n\nNo shrinkage.\n")
    told = ebformer(
        *("floor", "--world", "multinomial", "--n", "20", "--priors", "40", "--tables", "2", "--beside", "mle"),
        *("--page", str(page), "--cards", str(tmp_path)),
    )
    assert "mle" in told.stdout
    assert "multinomial 20" in page.read_text()
    assert card.read_text().startswith("# mle\n\nNo shrinkage.\n\n## Over the floor\n")


def test_too_few_tables_are_refused() -> None:
    with pytest.raises(InputError, match="at least 2 tables"):
        play_all(["universal"], [20], 1, [], 40)
