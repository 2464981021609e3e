"""A rule answers, remembers its exposure, and can be written down and read back."""

import json
from pathlib import Path

import numpy as np
import pytest

from ebformer.bayes.marginal import bayes_rule
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.errors import InputError, KnownError, NoPriorError
from ebformer.estimators.catalogue import CATALOGUE
from ebformer.estimators.erm_monotone import ErmMonotone
from ebformer.estimators.gamma import Gamma
from ebformer.estimators.mle import Mle
from ebformer.estimators.robbins import Robbins
from ebformer.prior import GridPrior, Prior
from ebformer.rule import BayesRule, Convergence, Rule
from ebformer.tally import Tally

TALLY = Tally([0, 1, 2, 5, 9], [20, 11, 6, 2, 1])
METHODS = [Mle(), Robbins(), Robbins("plain"), Robbins("clipped", d=4, M=3.0), ErmMonotone(), Gamma()]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("exposure", [None, 2.5])
def test_a_saved_rule_answers_the_same(method: Mle, exposure: float | None, tmp_path: Path) -> None:
    rule = method(Tally(TALLY.values, TALLY.multiplicity, exposure))
    rule.save(tmp_path / "rule.json")
    loaded = Rule.load(tmp_path / "rule.json")
    x = np.arange(20)
    assert np.array_equal(loaded(x), rule(x), equal_nan=True)
    assert (loaded.method, loaded.known, loaded.convergence) == (rule.method, rule.known, rule.convergence)
    assert json.loads((tmp_path / "rule.json").read_text())["format"] == "ebformer-rule"


@pytest.mark.parametrize("prior", [Prior([1.0, 4.0], [0.5, 0.5]), GridPrior([1.0, 2.0], [0.5, 0.5]), GammaPrior(2, 1)])
def test_a_saved_rule_keeps_the_kind_of_its_prior(prior: Prior, tmp_path: Path) -> None:
    rule = BayesRule("test", prior)
    rule.save(tmp_path / "rule.json")
    loaded = Rule.load(tmp_path / "rule.json")
    assert type(loaded.prior) is type(prior)
    assert loaded.prior == prior
    assert loaded.posterior(3).interval(0.5) == rule.posterior(3).interval(0.5)


def test_a_rule_of_a_prior_is_that_priors_bayes_rule() -> None:
    prior = GammaPrior(2.0, 0.5)
    rule = BayesRule("test", prior, known=3.0)
    assert rule([0, 4]) == pytest.approx(bayes_rule(prior, [0, 4], 3.0))
    assert rule([0, 4], exposure=[1.0, 2.0]) == pytest.approx(bayes_rule(prior, [0, 4], [1.0, 2.0]))
    assert rule.posterior(4).mean == pytest.approx(rule(4))
    assert rule.predict(4, future=2.0).mean == pytest.approx(2 * rule(4))


@pytest.mark.parametrize("method", [Gamma(), CATALOGUE["npmle"]], ids=lambda method: method.name)
def test_unequal_exposures_must_be_named_in_every_question(method: Gamma, tmp_path: Path) -> None:
    """rule(deaths) of an SMR would take every expected count for 1, and nobody would notice."""
    tally = Tally([0, 3, 9, 4], [5, 2, 1, 1], [1.0, 2.0, 2.5, 8.0])
    method(tally).save(tmp_path / "rule.json")
    for rule in (method(tally), Rule.load(tmp_path / "rule.json")):
        assert rule([3], 1.0) == bayes_rule(rule.prior, [3], 1.0)  # type: ignore[arg-type]
        for question in (rule, rule.posterior, rule.predict):
            with pytest.raises(KnownError, match="fitted units had unequal exposures: give those"):
                question([3, 0])


@pytest.mark.parametrize("method", METHODS[1:5], ids=repr)
def test_a_method_without_a_prior_says_so(method: Robbins) -> None:
    rule = method(TALLY)
    assert rule.prior is None
    for question in (rule.posterior, rule.predict):
        with pytest.raises(NoPriorError, match="such as npmle or gamma"):
            question(3)
    with pytest.raises(KnownError, match="fitted at exposure 1 and cannot answer for another"):
        rule(3, exposure=2.0)


def test_many_questions_cost_no_more_than_the_distinct_ones() -> None:
    rule = BayesRule("test", Prior(np.linspace(0, 9, 500), np.full(500, 1 / 500)))
    # A million answers by 500 atoms would be 4 GB of posterior weights.
    x = np.arange(1_000_000).reshape(1000, 1000) % 7
    answers = rule(x)
    assert answers.shape == x.shape
    assert np.array_equal(answers[3], rule(x[3]))


@pytest.mark.parametrize("rule", [method(TALLY) for method in METHODS], ids=lambda rule: rule.method)
@pytest.mark.parametrize("x", [-1, 0.5, float("nan"), "three"])
def test_questions_that_are_no_counts_are_refused(rule: Rule, x: object) -> None:
    with pytest.raises(InputError):
        rule(x)  # type: ignore[arg-type]


def record(**changes: object) -> dict[str, object]:
    whole: dict[str, object] = {
        "format": "ebformer-rule",
        "version": 1,
        "kind": "bayes",
        "method": "npmle",
        "exposure": 1.0,
        "convergence": None,
        "content": {"atoms": [1.0, 2.0], "weights": [0.5, 0.5]},
    }
    return whole | changes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("not json", "is not a saved rule"),
        ("[1, 2]", "is not a saved rule"),
        ("[" * 100_000, "is not a saved rule"),
        (json.dumps({"format": "something else"}), "is not a saved rule"),
        (json.dumps(record(version=99)), "version 99"),
        (json.dumps(record(kind="os.system")), "of kind 'os.system'"),
        (json.dumps(record(kind=["bayes"])), "which this ebformer cannot read"),
        (json.dumps(record(exposure=-1)), r"exposure is -1"),
        (json.dumps(record(exposure="much")), "not a number"),
        (json.dumps(record(exposure=10**400)), "damaged"),
        (json.dumps(record(content={"atoms": [1.0]})), "damaged"),
        (json.dumps(record(content={"atoms": [1.0], "weights": [2.0]})), "add up to 1"),
        (json.dumps(record(convergence={"gap": 0})), "damaged"),
    ],
)
def test_a_file_that_is_no_rule_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint) as caught:
        Rule.load(path)
    assert "rule.json" in str(caught.value)


def test_the_record_above_is_a_rule(tmp_path: Path) -> None:
    (tmp_path / "rule.json").write_text(json.dumps(record()))
    assert Rule.load(tmp_path / "rule.json") == BayesRule("npmle", Prior([1.0, 2.0], [0.5, 0.5]))


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    class Unwritable(BayesRule):
        def _content(self) -> dict[str, object]:
            return {"atoms": object()}

    BayesRule("good", Prior([1.0], [1.0])).save(tmp_path / "rule.json")
    with pytest.raises(TypeError):
        Unwritable("bad", Prior([1.0], [1.0])).save(tmp_path / "rule.json")
    assert Rule.load(tmp_path / "rule.json").method == "good"
    assert [path.name for path in tmp_path.iterdir()] == ["rule.json"]


def test_convergence_reads_as_a_sentence() -> None:
    stopped = Convergence(gap=0.5, iterations=9, reached=False, meaning="max D - 1")
    assert str(stopped) == "stopped after 9 iterations: max D - 1 = 0.5"
