"""One keyword picks the channel at every door: tallies, rules, arrays, scikit-learn, saved rules, methods of others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ebformer as eb
from ebformer.channels import channels
from ebformer.comparison import compare
from ebformer.estimators import catalogue
from ebformer.estimators.base import Estimator
from ebformer.rule import BayesRule, Rule

RNG = np.random.default_rng(0)
TABLES = {
    "poisson": (RNG.poisson(RNG.gamma(2.0, 2.0, 60)), "exposure", RNG.uniform(0.5, 2.0, 60)),
    "binomial": (RNG.binomial(30, RNG.beta(4.0, 9.0, 60)), "trials", RNG.integers(30, 60, 60)),
    "normal": (RNG.normal(RNG.normal(size=60), 1.0), "se", RNG.uniform(0.5, 2.0, 60)),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("method", ["mle", "npmle", "npmle-em", None])
def test_every_door_gives_the_same_answer(name: str, method: str | None, tmp_path: Path) -> None:
    x, word, known = TABLES[name]
    words = {word: known}
    tally = eb.Tally.of(x, **words)
    assert tally.channel.name == name
    chosen = method or catalogue.default_method(tally.channel)
    rule = eb.estimator(chosen)(tally)
    answers = rule(x, **words)
    assert eb.estimate(x, **words, method=method) == pytest.approx(answers, rel=1e-12)
    model = eb.EmpiricalBayes(method).fit(x[:, None], **words)
    assert model.predict(x[:, None], **words) == pytest.approx(answers, rel=1e-12)
    rule.save(tmp_path / "rule.json")
    loaded = Rule.load(tmp_path / "rule.json")
    assert (loaded.channel, loaded.units) == (tally.channel, 60)
    assert loaded.log_likelihood == rule.log_likelihood
    assert np.array_equal(loaded(x, **words), answers)
    if rule.prior is not None:
        assert loaded.posterior(x, **words).mean == pytest.approx(answers, rel=1e-9)
        future = {"poisson": 2.0, "binomial": 50, "normal": 0.5}[name]
        low, high = rule.predict(x, **words, future=future).interval(0.9)
        assert (low <= high).all()


def test_another_keyword_is_refused_with_the_right_one() -> None:
    x, word, known = TABLES["binomial"]
    rule = eb.estimator("beta")(eb.Tally.of(x, **{word: known}))
    with pytest.raises(eb.InputError, match="these are successes with trials: give trials=, not exposure="):
        rule(3, exposure=2.0)
    with pytest.raises(eb.InputError, match="exposure and trials were given: give one of them"):
        eb.Tally.of([1, 2], exposure=1.0, trials=4)
    with pytest.raises(eb.InputError, match=r"there is no sd to give: write exposure=, trials=, se="):
        eb.Tally.of([1, 2], sd=1.0)
    with pytest.raises(eb.InputError, match=r"successes\[1\] is 5 with trials 4: give whole numbers from 0 to"):
        eb.Tally.of([1, 5], trials=4)
    with pytest.raises(eb.InputError, match=r"se\[0\] is -1: give positive numbers"):
        eb.Tally.of([0.3], se=-1.0)
    with pytest.raises(eb.InputError, match="give its se as future"):
        eb.estimator("normal")(eb.Tally.of([0.3, 4.0], se=1.0)).predict(0.0)


@pytest.mark.parametrize("word", ["interval", "future", "top", "above"])
def test_estimates_of_arrays_say_who_answers_more(word: str) -> None:
    with pytest.raises(eb.InputError, match=f"for {word} give a table to eb.shrink"):
        eb.estimate([1, 2], trials=4, **{word: 1})


@pytest.mark.parametrize("name", catalogue.CATALOGUE)
def test_a_method_serves_a_channel_or_names_one_that_does(name: str) -> None:
    method = eb.estimator(name)
    for channel in channels():
        x = np.array([1.0, 2.0, 4.0])
        tally = eb.Tally.of(x, 5.0 if channel.name == "binomial" else 1.0, channel=channel)
        if channel.name in method.channels:
            tally = eb.Tally(x, np.full(3, 20), tally.known, channel=channel)  # enough for a network
            assert method(tally).channel == channel
            continue
        with pytest.raises(eb.ChannelError) as refusal:
            method(tally)
        named = str(refusal.value).rpartition("such as ")[2].replace(" or ", ", ").split(", ")
        assert all(channel.name in eb.estimator(other).channels for other in named)


def test_a_line_and_a_summary_tell_what_was_fitted() -> None:
    rule = eb.estimator("npmle")(eb.Tally.of([3, 9, 4], trials=12))
    assert str(rule).startswith("npmle of 3 units, binomial: Prior(")
    told = dict(line.split(maxsplit=1) for line in rule.summary().splitlines())
    assert (told["method"], told["units"]) == ("npmle", "3")
    assert float(told["log-likelihood"]) == pytest.approx(rule.log_likelihood, abs=1e-3)


class Stranger(Estimator):
    """Everybody is average: a method of another package."""

    name, monotone, answers_unseen = "stranger", True, True
    remark = "everybody is average"
    colour = "#123456"

    def fit(self, tally: eb.Tally) -> BayesRule:
        return BayesRule(self.name, eb.Prior([tally.mean], [1.0]))


def test_another_package_adds_a_method_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ebformer.methods]\nstranger = test_doors:Stranger\nmle = test_doors:Stranger\nbad = json:loads\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    catalogue._registered.cache_clear()
    try:
        assert "stranger" in eb.CATALOGUE
        assert eb.estimator("stranger")(eb.Tally.of([1, 3]))(7) == 2.0
        assert eb.estimator("mle").__class__.__name__ == "Mle"  # ours cannot be replaced
        with pytest.raises(eb.InputError, match="no subclass of Estimator"):
            eb.estimator("bad")
    finally:
        monkeypatch.undo()
        catalogue._registered.cache_clear()


TALLY, PAIRS = eb.Tally.of([1, 2, 5]), [("a", "b")]
FRAME = {"x": [1, 2, 3, 4], "g": ["a", "a", "b", "b"]}


@pytest.mark.filterwarnings("ignore::ebformer.check.ModelWarning")
@pytest.mark.parametrize(
    "odd", [5, 0.5, 10**400, None, [], {}, object(), np.array([0.5, 0.6])], ids=lambda odd: type(odd).__name__
)
@pytest.mark.parametrize("door", range(12))
def test_what_is_of_no_kind_that_a_door_takes_is_refused_in_a_sentence(odd: Any, door: int) -> None:
    def frame() -> Any:
        return pl.DataFrame(FRAME)

    doors: list[Callable[[], object]] = [
        lambda: eb.estimate_many(odd, "gamma"),
        lambda: eb.Drift.learn(odd, "gamma"),
        lambda: eb.load_fit(odd),
        lambda: Rule.load(odd),
        lambda: eb.Drift.load(odd),
        lambda: eb.estimator("gamma")(TALLY).save(odd),
        lambda: eb.shrink(frame(), "x", covariates=odd, method="gamma"),
        lambda: eb.shrink(frame(), "x", group="g", pool=True, neighbours=odd, method="gamma"),
        lambda: eb.shrink(frame(), "x", drift=odd, future=1.0, method="gamma"),
        lambda: eb.shrink(frame(), "x", trials=odd, method="beta"),
        lambda: compare(odd, {"gamma": eb.Gamma()}, RNG),
        lambda: eb.Priorformer(weights=odd),
    ]
    with suppress(eb.EbformerError):  # some of these are what some doors take
        doors[door]()


@pytest.mark.parametrize("odd", [5, "gamma", ["gamma"], object()], ids=lambda odd: type(odd).__name__)
def test_comparisons_ask_for_methods_by_name_and_a_generator(odd: Any) -> None:
    with pytest.raises(eb.InputError, match="give estimators by name"):
        compare(TALLY, odd, RNG)
    with pytest.raises(eb.InputError, match="a generator of random numbers"):
        compare(TALLY, {"gamma": eb.Gamma()}, odd)
    with pytest.raises(eb.InputError, match="there is no channel"):
        eb.Looks.of([1, 2], [2, 3], channel=odd)
