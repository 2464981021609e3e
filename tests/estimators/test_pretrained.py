"""A pre-trained network is an estimator like any other: immutable, exact at unseen values, saved by name and hash."""

from __future__ import annotations

import pickle
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebformer.bayes.marginal import bayes_rule
from ebformer.check import ModelWarning
from ebformer.errors import EbformerError, InputError, KnownError, NoPriorError, WeightsError
from ebformer.estimators.contract import check_estimator
from ebformer.estimators.pretrained import Pretrained, excess_over_mean
from ebformer.estimators.priorformer import Priorformer
from ebformer.networks import weights, zoo
from ebformer.networks.architecture import Architecture
from ebformer.networks.estimates import OutsideTrainingRange
from ebformer.networks.weights import Weights
from ebformer.prior import Prior
from ebformer.rule import Rule
from ebformer.tables.frames import shrink
from ebformer.tally import Tally

CONFIG = Architecture(layers=4, width=16, heads=4)
TALLY = Tally.of(np.random.default_rng(0).poisson(np.random.default_rng(1).uniform(0, 30, 200)))


def some_weights(seed: int, config: Architecture = CONFIG) -> Weights[Architecture]:
    rng = np.random.default_rng(seed)
    arrays = {name: (0.3 * rng.normal(size=shape)).astype(np.float32) for name, shape in config.shapes().items()}
    return Weights(config, arrays, {"seed": seed})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A zoo with one network in it."""
    weights.save(tmp_path / "tiny.safetensors", some_weights(0))
    monkeypatch.setattr(zoo, "FOLDER", tmp_path)
    yield tmp_path
    zoo._read.cache_clear()


@pytest.mark.parametrize("config", [CONFIG, Architecture(layers=2, embedding="linear", attention="linear")])
def test_every_network_obeys_the_laws_of_estimators(folder: Path, config: Architecture) -> None:
    for seed in range(3):
        weights.save(folder / f"network{seed}.safetensors", some_weights(seed, config))
        assert check_estimator(Pretrained(f"network{seed}"))


def test_the_rule_answers_anything_it_is_asked_in_the_shape_of_the_question(folder: Path) -> None:
    rule = Pretrained("tiny", precision="float64")(TALLY)
    at = np.arange(0, 600, 7)
    one_by_one = np.array([rule(x) for x in at])
    assert one_by_one.shape == at.shape
    np.testing.assert_allclose(rule(at), one_by_one, rtol=1e-12)
    np.testing.assert_allclose(rule(np.tile(at, (3, 2))), np.tile(one_by_one, (3, 2)), rtol=1e-12)
    np.testing.assert_array_equal(rule(TALLY.values), rule.fitted)
    assert rule(np.empty((0, 4), dtype=int)).shape == (0, 4)
    with pytest.raises(InputError, match="x is -1"):
        rule([3, -1])
    assert np.isfinite(rule(2.0**53))
    with pytest.raises(InputError, match="of at most 2\\^53"):
        rule(1e300)


def test_a_common_exposure_divides_the_rates_and_others_are_refused(folder: Path) -> None:
    network = Pretrained("tiny")
    exposed = network(Tally(TALLY.values, TALLY.multiplicity, np.full(len(TALLY), 4.0)))
    np.testing.assert_allclose(exposed([0, 9, 99]), network(TALLY)([0, 9, 99]) / 4)
    with pytest.raises(KnownError):
        network(Tally.of([3, 4], exposure=[1.0, 2.0]))
    with pytest.raises(NoPriorError):
        exposed.posterior(3)


def test_a_fit_outside_the_training_range_is_warned_about_once_and_at_the_line_that_asked_for_it() -> None:
    trained = {"x": [0, 500], "n": [32, 10**5]}
    network = Pretrained("mine", replace(some_weights(0), provenance={"range": trained}))
    table = pl.DataFrame({"goals": [0, 1, 5]})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", OutsideTrainingRange)
        warnings.simplefilter("ignore", ModelWarning)
        rule = network(Tally.of([0, 1, 2, 3]))
        rule([0, 9])
        rule([0, 9])
        shrink(table, "goals", method=network)
        rule([4, 501])
    assert [str(one.message).partition(" trained")[0] for one in said] == [
        *("n = 4, but mine was", "n = 3, but mine was", "x = 501, but mine was")
    ]
    lines = Path(__file__).read_text().splitlines()
    shown = [lines[one.lineno - 1].strip() for one in said if one.filename == __file__]
    assert shown == [
        "rule = network(Tally.of([0, 1, 2, 3]))",
        'shrink(table, "goals", method=network)',
        "rule([4, 501])",
    ]


@pytest.mark.filterwarnings("ignore::ebformer.networks.estimates.OutsideTrainingRange")
@pytest.mark.parametrize("name", zoo.names("transformer"))
def test_after_n_zeros_no_rate_is_above_three_in_n(name: str) -> None:
    for n in (1, 100, 10**4, 10**9, 10**15):
        assert Pretrained(name)(Tally([0], [n]))(0) <= 3 / n + 1e-17  # rounding of the answer that was too large


@pytest.mark.filterwarnings("ignore::ebformer.networks.estimates.OutsideTrainingRange")
def test_a_few_busy_units_among_many_idle_ones_keep_their_rates() -> None:
    """The networks say 0.04 at 0 and so a mean far above the mean count: a factor would take it from the busy too."""
    tally = Tally([0, 1, 30], [49_500, 450, 50])
    for name in zoo.names("transformer"):
        rule = Pretrained(name).fit(tally)
        assert rule.excess > 0
        assert rule(30) > 20


@given(
    units=st.lists(st.integers(1, 10**6), min_size=3, max_size=3),
    rates=st.lists(st.floats(0.0, 10.0), min_size=3, max_size=3),
    other=st.lists(st.floats(0.0, 10.0), min_size=3, max_size=3),
)
def test_estimates_move_no_farther_than_needed_and_come_nearer_to_all_that_agree_with_the_mean_count(
    units: list[int], rates: list[float], other: list[float]
) -> None:
    """(m - c)^2 <= 3 m / n, with equality where they moved; and the theorem on projections."""
    tally, given_rates, others = Tally([0, 1, 5], units), np.array(rates), np.array(other)
    share, c = np.array(units) / tally.n, tally.values @ np.array(units) / tally.n
    excess = excess_over_mean(given_rates, tally)
    found = np.maximum(given_rates - excess, 0.0)
    m = share @ found
    if excess == 0.0:
        assert (m - c) ** 2 <= 3 * m / tally.n * (1 + 1e-9)
    else:
        assert (m > c) == (excess > 0)
        assert (m - c) ** 2 == pytest.approx(3 * m / tally.n, rel=1e-6)
    if excess_over_mean(others, tally) == 0.0:
        assert share @ (found - others) ** 2 <= share @ (given_rates - others) ** 2 + 1e-12


def test_the_bayes_rule_itself_agrees_with_the_mean_count() -> None:
    """The premise: for priors of all kinds, at most a few samples in a hundred would have their estimates moved."""
    rng, moved = np.random.default_rng(0), []
    for _ in range(300):
        prior = Prior(rng.gamma(0.3, 10.0, size=4), rng.dirichlet(np.ones(4)))
        tally = Tally.of(rng.poisson(prior.draw(200, rng)))
        moved.append(np.sign(excess_over_mean(bayes_rule(prior, tally.values), tally)))
    assert np.mean(np.array(moved) > 0) < 0.05  # P(z > sqrt(3)) = 0.042, reached where the rates hardly differ
    assert np.mean(np.array(moved) < 0) < 0.05


def test_a_saved_rule_answers_the_same_and_refuses_other_weights(folder: Path) -> None:
    rule = Pretrained("tiny")(TALLY)
    rule.save(folder / "rule.json")
    loaded = Rule.load(folder / "rule.json")
    np.testing.assert_array_equal(loaded(np.arange(100)), rule(np.arange(100)))
    weights.save(folder / "tiny.safetensors", some_weights(1))
    zoo._read.cache_clear()
    with pytest.raises(WeightsError, match="another version of tiny"):
        Rule.load(folder / "rule.json")
    (folder / "tiny.safetensors").unlink()
    with pytest.raises(InputError, match="'tiny' is not a shipped network"):
        Rule.load(folder / "rule.json")


def test_only_networks_of_the_family_are_offered() -> None:
    """The transformers were offered priorformer, which they then refused."""
    with pytest.raises(InputError, match=r"choose among L24r, T24f, T24r, T24u, T24ur$"):
        Pretrained("foo")
    with pytest.raises(InputError, match=r"choose among priorformer$"):
        Priorformer("foo")


def test_a_name_in_a_saved_rule_never_becomes_a_path(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    shutil.move(folder / "tiny.safetensors", inner)
    with pytest.raises(InputError, match="not a shipped network"):
        zoo.load("inner/tiny")


def test_networks_of_your_own_load_from_a_file_and_travel_to_other_processes(folder: Path, tmp_path: Path) -> None:
    weights.save(tmp_path / "mine.safetensors", some_weights(2))
    mine = Pretrained.load(tmp_path / "mine.safetensors")
    assert mine.name == "mine"
    shutil.move(tmp_path / "mine.safetensors", tmp_path / "mine.elsewhere")
    rule = mine(TALLY)
    copy = pickle.loads(pickle.dumps((mine, rule)))
    np.testing.assert_array_equal(copy[0](TALLY)(np.arange(50)), rule(np.arange(50)))
    np.testing.assert_array_equal(copy[1](np.arange(50)), rule(np.arange(50)))
    with pytest.raises(InputError, match="mine cannot be saved"):
        rule.save(tmp_path / "rule.json")


def test_an_unknown_name_is_refused_with_the_known_ones(folder: Path) -> None:
    with pytest.raises(EbformerError, match="'T1000' is not a shipped network: choose among tiny"):
        Pretrained("T1000")


@pytest.mark.parametrize("name", zoo.names("transformer"))
def test_every_shipped_network_has_a_card_that_tells_the_truth_about_it(name: str) -> None:
    network, card = zoo.load(name), zoo.card(name)
    assert network.sha256 in card
    assert f"{network.config.parameters:,}" in card
    (_, x_high), (n_low, n_high) = network.trained_range("x"), network.trained_range("n")
    assert np.isfinite([x_high, n_high]).all()
    for number in (x_high, n_low, n_high):
        assert f"{number:,.0f}" in card
    assert "regret" in card.lower()
    assert "recipe" in network.provenance
