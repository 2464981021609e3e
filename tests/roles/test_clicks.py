"""An analyst of clicks: item-days by category, a fit that is saved, and new items and categories scored overnight."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars
import pytest

import ebformer as eb
from command_line import ebformer

CATEGORIES, ITEMS, DAYS = 12, 1500, 14
COLUMNS = {"count": "clicks", "trials": "views", "group": "category", "unit": "item"}


def item_days(rng: np.random.Generator, first: int, categories: int) -> tuple[polars.DataFrame, np.ndarray]:
    """Days of items that begin with number `first`, and the click rate of each item."""
    category = rng.integers(categories, size=ITEMS)
    rate = rng.beta(4.0, 4.0 / (0.01 * (1 + category)))
    views = rng.poisson(rng.gamma(1.0, 40.0, ITEMS)[:, None], (ITEMS, DAYS))
    rows = {
        "item": [f"item {first + i}" for i in np.repeat(np.arange(ITEMS), DAYS)],
        "category": [f"category {c}" for c in np.repeat(category, DAYS)],
        "views": views.ravel(),
        "clicks": rng.binomial(views, rate[:, None]).ravel(),
    }
    return polars.DataFrame(rows), rate


@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
def test_a_fit_of_item_days_scores_new_items_and_new_categories_overnight(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    today, _ = item_days(rng, 0, CATEGORIES)
    tonight, rate = item_days(rng, ITEMS, CATEGORIES + 3)
    eb.fit(today, **COLUMNS).save(tmp_path / "fit.json")

    scored = eb.load_fit(tmp_path / "fit.json").apply(tonight)
    assert len(scored) == ITEMS  # one row per item, none refused
    known = scored["category"].is_in([f"category {c}" for c in range(CATEGORIES)])
    assert scored.filter(known)["note"].is_null().all()
    assert scored.filter(~known)["note"].str.contains("not in the fit").all()
    theta = polars.DataFrame({"item": tonight["item"].unique(maintain_order=True), "rate": rate})
    scored = scored.join(theta, on="item")
    error = (scored["estimate"] - scored["rate"]).pow(2).filter(known).mean()
    raw = (scored["clicks"] / scored["views"].clip(1) - scored["rate"]).pow(2).filter(known).mean()
    assert error < raw / 2
    inside = (scored["lower"] <= scored["rate"]) & (scored["rate"] <= scored["upper"])
    assert inside.filter(known).mean() == pytest.approx(0.9, abs=0.03)

    # The command line opens the same fit, adds up the same units and gives the same answers.
    tonight.write_csv(tmp_path / "tonight.csv")
    run = ebformer("apply", "fit.json", "tonight.csv", "-o", "scored.csv", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    written = polars.read_csv(tmp_path / "scored.csv").sort("item")
    assert np.allclose(written["estimate"], scored.sort("item")["estimate"])


def test_a_night_that_is_learnt_from_says_how_many_units_the_fit_has(tmp_path: Path) -> None:
    head = "item,clicks,views\n"
    (tmp_path / "today.csv").write_text(head + "".join(f"{i},{i % 4},20\n" for i in range(40)))
    (tmp_path / "tonight.csv").write_text(head + "90,1,9\n91,1,\n92,8,3\n")
    asked = ["--count", "clicks", "--trials", "views", "--unit", "item", "--method", "beta"]
    first = ebformer("estimate", "today.csv", *asked, "--save", "fit.json", "-o", "out.csv", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    done = ebformer("apply", "fit.json", "tonight.csv", "--update", "-o", "scored.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "fit.json is a fit of 41 units now" in done.stderr
    notes = polars.read_csv(tmp_path / "scored.csv")["note"].to_list()
    assert notes[0] is None
    for note in notes[1:]:  # it may be the views that are not there
        assert note.startswith("in a row of this item, clicks or views is missing or cannot be used")


@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
def test_a_fit_adds_up_units_as_shrink_does() -> None:
    days, _ = item_days(np.random.default_rng(1), 0, 3)
    items = days.group_by("item", "category").agg(polars.col("clicks").sum(), polars.col("views").sum())
    added = eb.fit(days, **COLUMNS, method="beta")
    by_hand = eb.fit(items, count="clicks", trials="views", group="category", method="beta")
    assert added.rules == by_hand.rules
    twice = added.updated(days.with_columns(item="again " + polars.col("item")))
    assert {name: rule.units for name, rule in twice.rules.items()} == {
        name: 2 * (rule.units or 0) for name, rule in added.rules.items()
    }


def test_a_category_without_a_view_is_answered_with_the_prior_of_all() -> None:
    rows = {"category": list("aaaabbbb") + ["new"] * 2, "views": [30, 20, 9, 14, 40, 8, 10, 50, 0, 0]}
    table = polars.DataFrame({**rows, "clicks": [9, 1, 1, 2, 1, 1, 4, 10, 0, 0]})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = eb.shrink(table, count="clicks", trials="views", group="category", method="full-bayes")
    assert "no trials in category new: answered with the prior of all" in [str(each.message) for each in said]
    together = eb.fit(table, count="clicks", trials="views", method="full-bayes").apply(table[-1:])
    assert found["estimate"][-1] == pytest.approx(together["estimate"][0])
