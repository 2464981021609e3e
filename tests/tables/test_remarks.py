"""What a fitted table says about itself: small groups, a method that does not fit, a model that does not."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest

import ebformer as eb
from ebformer.check import ModelWarning, model_check
from ebformer.estimators.catalogue import CATALOGUE
from ebformer.expectation import Covariates
from ebformer.tables.checking import check_fit, departures, verdict
from ebformer.tables.columns import Columns
from ebformer.tables.frames import shrink, source_of
from ebformer.tables.learning import fit_table
from ebformer.tables.observations import Observations, observe
from ebformer.tables.remarks import remarks
from ebformer.tables.shrink import shrink_table
from ebformer.tables.wanted import Wanted


def two_kinds(n: int = 2_000) -> pl.DataFrame:
    """Rates 1 and 20, half and half: a mixture of Poisson counts that no gamma prior can follow."""
    rng = np.random.default_rng(0)
    return pl.DataFrame({"goals": rng.poisson(rng.choice([1.0, 20.0], n)), "team": ["a", "b"] * (n // 2)})


def said_of(method: str, observations: Observations) -> list[str]:
    return remarks(fit_table(observations, eb.CATALOGUE[method]), observations, eb.CATALOGUE[method])


def test_a_method_that_does_not_fit_is_told_from_a_model_that_does_not() -> None:
    observations = observe(source_of(two_kinds()), Columns("goals"))
    for method, fits in (("gamma", False), ("npmle", True)):
        fit = fit_table(observations, eb.CATALOGUE[method])
        ((check, _),) = check_fit(fit, observations, np.random.default_rng(0))
        assert check.fits is fits, check.sentence
        if not fits:
            assert "the prior that gamma found does not fit these counts, but the one of npmle does" in check.sentence


def test_methods_without_a_prior_are_checked_with_the_best_prior_there_is() -> None:
    observations = observe(source_of(two_kinds()), Columns("goals"))
    fit = fit_table(observations, eb.CATALOGUE["mle"])
    ((check, _),) = check_fit(fit, observations, np.random.default_rng(0))
    assert check.fits, check.sentence


def test_groups_with_the_same_trouble_share_a_sentence() -> None:
    rounded = two_kinds().with_columns(goals=10 * (pl.col("goals") % 9 + 1))
    observations = observe(source_of(rounded), Columns("goals", group="team"))
    checks = check_fit(fit_table(observations, eb.CATALOGUE["npmle"]), observations, np.random.default_rng(0))
    (sentence,) = departures(checks, "team")
    assert sentence.startswith("team a, b: most counts are multiples of 10")


def test_small_groups_are_named() -> None:
    table = pl.concat([two_kinds(200), pl.DataFrame({"goals": [1, 2, 3], "team": ["tiny"] * 3})])
    observations = observe(source_of(table), Columns("goals", group="team"))
    said = said_of("gamma", observations)
    assert said[0] == "few rows to learn a prior from in team tiny (3): consider pooling"


@pytest.mark.parametrize(
    ("method", "taught"),
    [("gamma", True), ("robbins", True), ("mle", False), ("minimax", False), ("full-bayes", False)],
)
def test_few_rows_are_remarked_on_only_where_a_method_learns_from_them(method: str, taught: bool) -> None:
    source = source_of(pl.DataFrame({"goals": [0, 1, 7]}))
    observations = observe(source, Columns("goals"))
    said = said_of(method, observations)
    assert any("few rows" in sentence for sentence in said) == taught


@pytest.mark.parametrize(("most", "told"), [(1, True), (2, False)])
def test_one_trial_each_leaves_the_spread_of_probabilities_open(most: int, told: bool) -> None:
    """Probabilities of 0 and 1, half and half, are then as likely as one of 1/2 for all, whatever was seen."""
    table = pl.DataFrame({"hits": np.arange(40) % 2, "tries": np.repeat([1, most], 20)})
    observations = observe(source_of(table), Columns.named("hits", trials="tries"))
    x, trials = observations.x, observations.known
    alike, apart = (
        eb.bayes.log_marginal(prior, x, trials=trials)
        for prior in (eb.Prior([0.5], [1.0]), eb.Prior([0.0, 1.0], [0.5, 0.5]))
    )
    assert bool(np.allclose(alike, apart)) is told
    said = said_of("priorformer", observations)
    assert any("nothing of how far these lie apart" in sentence for sentence in said) is told


def test_shrink_warns_where_the_command_line_would_speak() -> None:
    with pytest.warns(ModelWarning, match="most counts are multiples of 10"):
        shrink(two_kinds().with_columns(goals=10 * (pl.col("goals") % 9 + 1)), "goals", method="gamma")


def test_intervals_of_npmle_come_with_a_doubt() -> None:
    table = two_kinds(200)
    with pytest.warns(ModelWarning, match="intervals of npmle are too narrow"):
        shrink(table, "goals", method="npmle")
    observations = observe(source_of(table), Columns("goals"))
    assert not any("too narrow" in sentence for sentence in said_of("gamma", observations))


def test_groups_that_fit_are_told_in_one_sentence_and_small_ones_are_no_proof() -> None:
    rng = np.random.default_rng(0)
    sizes = {"a": 100, "b": 80, "c": 5}
    for left_out, sentence in (
        ("", "Poisson with a mixing distribution fits in 2 of 3 groups; the others have too few rows to tell"),
        ("c", "Poisson with a mixing distribution fits in 2 of 2 groups"),
        ("ab", "too few rows to tell whether Poisson with a mixing distribution fits"),
    ):
        group = [name for name, size in sizes.items() if name not in left_out for _ in range(size)]
        table = pl.DataFrame({"group": group, "x": rng.poisson(rng.gamma(2.0, size=len(group)))})
        observations = observe(source_of(table), Columns("x", group="group"))
        checks = check_fit(fit_table(observations, eb.CATALOGUE["gamma"]), observations, rng)
        assert verdict(checks, observations.columns.channel) == sentence


def test_a_departure_that_only_a_crowd_can_show_is_not_called_a_fit_by_its_p_value() -> None:
    prior = eb.Prior([4.0], [1.0])
    crowd = eb.Tally.of(np.random.default_rng(0).poisson(4.02, 10**6))
    check = model_check(prior, crowd, np.random.default_rng(0))
    assert check.fits
    assert check.p_value < 1e-3
    assert "it moves only 0." in check.sentence


@pytest.mark.filterwarnings("ignore:few rows")
def test_a_prior_of_one_point_is_said_to_have_intervals_without_width() -> None:
    """Counts that vary less than Poisson counts, in two groups of three: there the likeliest gamma is a point."""
    table = pl.DataFrame({"goals": [2, 3, 2, 3, 5, 5, 5, 5, 0, 9, 0, 9], "team": [*"aaaabbbbcccc"]})
    with pytest.warns(ModelWarning, match="^team a, b: gamma cannot tell the rates of these units apart"):
        shrunken = shrink(table, "goals", group="team", method="gamma")
    width = (shrunken["upper"] - shrunken["lower"]).to_numpy()
    assert (width[:8] == 0).all()
    assert (width[8:] > 0).all()


def test_of_many_groups_a_few_are_named() -> None:
    table = pl.DataFrame({"goals": np.zeros(1_200, dtype=int), "team": np.arange(1_200)})
    observations = observe(source_of(table), Columns("goals", group="team"))
    small, one_rate = said_of("gamma", observations)
    assert "team 0 (1), 1 (1), 10 (1), 100 (1), 1000 (1) and 1,195 more: consider pooling" in small
    assert one_rate.startswith("team 0, 1, 10, 100, 1000 and 1,195 more: gamma cannot tell")


@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({"covariates": Covariates(("team",))}, "Learning what covariates tell"),
        ({"unit": "player", "look": "year"}, "Learning how rates move"),
    ],
)
def test_progress_says_what_is_learnt_before_the_prior(known, told):
    goals = np.random.default_rng(0).poisson(3.0, 120)
    table = pl.DataFrame({"goals": goals, "team": ["a", "b"] * 60, "player": np.arange(120) // 2, "year": [1, 2] * 60})
    seen = []

    def watch(task):
        seen.append(task)
        return nullcontext()

    shrink_table(source_of(table), Columns("goals", **known), CATALOGUE["gamma"], Wanted(), watch=watch)
    assert told in seen
    assert seen.index("Reading") < seen.index(told) < seen.index("Estimating")
