"""Every method in the catalogue obeys the laws, and the checker finds those that do not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import ebformer as eb
from ebformer.distributions import DiscretePosterior, Posterior
from ebformer.errors import ContractError, InputError, KnownError
from ebformer.estimators.catalogue import CATALOGUE, CLASSICAL, estimator, find, typed
from ebformer.estimators.contract import LAWS
from ebformer.networks import weights, zoo
from ebformer.rule import BayesRule

VARIANTS = [
    eb.Robbins("plain"),
    eb.Robbins("clipped", d=30, M=20.0),
    eb.Minimax(theta_max=12.0),
    eb.Npmle(theta_max=12.0),
    eb.Oracle(eb.Prior([0.5, 4.0, 9.0], [0.3, 0.4, 0.3])),
    eb.Oracle(eb.GammaPrior(2.0, 0.5)),
]


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_method_of_the_catalogue_obeys_the_laws(name: str) -> None:
    method = CATALOGUE[name]
    assert method.name == name
    assert eb.check_estimator(method) == tuple(LAWS)


@pytest.mark.parametrize("method", VARIANTS, ids=repr)
def test_every_variant_obeys_the_laws(method: eb.Estimator) -> None:
    assert eb.check_estimator(method) == tuple(LAWS)


@pytest.mark.parametrize("name", CATALOGUE)
def test_bare_counts_are_refused_with_the_way_to_tally_them(name: str) -> None:
    with pytest.raises(InputError, match=rf"{name} is fitted to a Tally, not to a list: give Tally\.of\(counts\)"):
        CATALOGUE[name]([1, 2, 3])


@pytest.mark.filterwarnings("ignore:npmle-em has 300 nodes")
@pytest.mark.parametrize("name", [name for name in CLASSICAL if "poisson" in CATALOGUE[name].channels])
def test_one_huge_count_among_a_billion_zeros(name: str) -> None:
    rule = CATALOGUE[name](eb.Tally([0, 10**5], [10**9, 1]))
    assert np.all(np.isfinite(rule([0, 10**5])))
    assert rule(0) < 1


@dataclass(frozen=True)
class Pooled(eb.Estimator):
    """Everybody is average: an honest method by a stranger, as in CONTRIBUTING.md."""

    name, monotone, answers_unseen, unequal_known = "pooled", True, True, False

    def fit(self, tally: eb.Tally) -> BayesRule:
        return BayesRule(self.name, eb.Prior([float(tally.values @ tally.multiplicity) / tally.n], [1.0]))


class Restless(Pooled):
    """Not the same twice."""

    def fit(self, tally: eb.Tally) -> BayesRule:
        return BayesRule(self.name, eb.Prior([np.random.default_rng().random()], [1.0]))


class Boastful(Pooled):
    """Promises to use exposures, and falls over them."""

    unequal_known = True

    def fit(self, tally: eb.Tally) -> BayesRule:
        if tally.common is None:
            raise KnownError("these units have unequal exposures")
        return super().fit(tally)


class FallingRule(eb.Mle()(eb.Tally.of([0])).__class__):  # type: ignore[misc]
    """Falls as the count grows."""

    kind = "falling"

    def _estimate(self, x: np.ndarray, exposure: np.ndarray) -> np.ndarray:
        return 1 / (1 + x) / exposure


class Falling(Pooled):
    """Promises to be monotone."""

    def fit(self, tally: eb.Tally) -> FallingRule:
        return FallingRule(self.name)


class NegativeRule(FallingRule):
    """Below zero at unseen counts."""

    kind = "negative"

    def _estimate(self, x: np.ndarray, exposure: np.ndarray) -> np.ndarray:
        return np.where(x > 100, -1.0, x) / exposure


class Negative(Falling):
    """Promises to answer at unseen counts."""

    def fit(self, tally: eb.Tally) -> NegativeRule:
        return NegativeRule(self.name)


def test_a_strangers_honest_method_passes() -> None:
    assert eb.check_estimator(Pooled()) == tuple(LAWS)


def test_a_method_that_has_nothing_but_a_fit_promises_nothing() -> None:
    class Halved(eb.Estimator):
        """Half of the mean for everybody."""

        def fit(self, tally: eb.Tally) -> BayesRule:
            return BayesRule(self.name, eb.Prior([tally.values @ tally.multiplicity / tally.n / 2], [1.0]))

    method = Halved()
    assert (method.name, method.monotone, method.answers_unseen, method.unequal_known) == ("halved", *[False] * 3)
    assert eb.estimate([1, 3], method=method).tolist() == [1.0, 1.0]
    with pytest.raises(eb.EbformerError, match="halved treats all units alike and cannot use unequal exposures"):
        eb.estimate([1, 3], [1.0, 2.0], method=method)


class GappyRule(FallingRule):
    """No number where a unit has count 4."""

    kind = "gappy"

    def _estimate(self, x: np.ndarray, exposure: np.ndarray) -> np.ndarray:
        return np.where(x == 4, np.nan, x) / exposure


class Gappy(Pooled):
    """Promises an estimate for every unit."""

    def fit(self, tally: eb.Tally) -> GappyRule:
        return GappyRule(self.name)


class SingleRule(FallingRule):
    """Answers in single precision."""

    kind = "single"

    def _estimate(self, x: np.ndarray, exposure: np.ndarray) -> np.ndarray:
        return (x / exposure).astype(np.float32)


class Single(Pooled):
    """Saves memory."""

    def fit(self, tally: eb.Tally) -> SingleRule:
        return SingleRule(self.name)


class Deaf(Pooled):
    """Takes no notice of an exposure that all units share."""

    def __call__(self, tally: eb.Tally) -> BayesRule:
        return self.fit(tally)


class DoubtfulRule(BayesRule):
    """Trusts its prior half-way."""

    kind = "doubtful"

    def _estimate(self, x: np.ndarray, exposure: np.ndarray) -> np.ndarray:
        return (super()._estimate(x, exposure) + x / exposure) / 2


class Doubtful(Pooled):
    """Its estimate is not the mean of its posterior."""

    def fit(self, tally: eb.Tally) -> DoubtfulRule:
        return DoubtfulRule(self.name, super().fit(tally).prior)


class ForgetfulRule(BayesRule):
    """Writes its prior down in round numbers."""

    kind = "forgetful"

    def _content(self) -> dict[str, list[float]]:
        return {name: np.round(values).tolist() for name, values in super()._content().items()}


class Forgetful(Pooled):
    """Other answers after it was saved."""

    def fit(self, tally: eb.Tally) -> ForgetfulRule:
        return ForgetfulRule(self.name, super().fit(tally).prior)


class BiasedRule(BayesRule):
    """Draws nothing but the posterior's mean."""

    kind = "biased"

    def posterior(self, *asked: Any, **words: Any) -> Posterior:
        return BiasedPosterior(*vars(super().posterior(*asked, **words)).values())


class BiasedPosterior(DiscretePosterior):
    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.repeat(self.mean[..., None], n, axis=-1)


class Biased(Pooled):
    """Its draws know no spread."""

    channels = ("poisson",)

    def fit(self, tally: eb.Tally) -> BiasedRule:
        return BiasedRule(self.name, eb.Prior([3.0, 9.0], [0.3, 0.7]))


class Remembering(Pooled):
    """Counts its calls, and so what it was given before."""

    calls: ClassVar[list[int]] = []

    def fit(self, tally: eb.Tally) -> BayesRule:
        self.calls.append(1)
        return BayesRule(self.name, eb.Prior([float(len(self.calls))], [1.0]))


@pytest.mark.parametrize(
    ("method", "law"),
    [
        (Remembering(), "the order of the units does not matter, but of .* at x = 0 it answers 1 and 2"),
        (Remembering(), "are one of multiplicity k, but of .* it answers"),
        (Restless(), "the same tally gets the same answer, but of Tally"),
        (Gappy(), "estimates are finite and possible, but of .*: at x = 4 it answers nan"),
        (Negative(), "estimates at unseen observations .* at x = 101.0 it answers -1"),
        (Falling(), "never fall as the observation grows, .* from x = 0.0 to 1.0 the estimate falls"),
        (Single(), "float64 arrays in the shape of the question, but of .* the answer is of float32"),
        (Deaf(), "follow a change of units.* at x = 5 it is 5.725, not 2.29"),
        (Boastful(), "unequal exposures, trials or errors are used where promised .*: they are refused"),
        (Doubtful(), "the posterior mean is the estimate, .*: its mean differs"),
        (Biased(), "draws from the posterior are as its probabilities say, .* of its draws exceed"),
        (Forgetful(), "a rule that was saved and loaded answers the same, but of .* it answers"),
    ],
)
def test_a_broken_law_is_named_with_its_counter_example(method: eb.Estimator, law: str) -> None:
    with pytest.raises(ContractError, match=law):
        eb.check_estimator(method)


def test_estimators_are_values() -> None:
    assert estimator("minimax", theta_max=3.0) == eb.Minimax(3.0)
    assert hash(estimator("mle")) == hash(eb.Mle())
    method = eb.Minimax(3.0)
    assert find(method) is method
    with pytest.raises(AttributeError):
        eb.Minimax(3.0).theta_max = 4.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("npml", "there is no method 'npml': did you mean 'npmle'?"),
        ("robins", "did you mean 'robbins'?"),
        ("mine.safetensors", "read a file of weights with eb.Priorformer.load"),
        ("xyzzy", "choose among mle, robbins, erm"),
    ],
)
def test_an_unknown_name_gets_the_closest_one(name: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace("?", r"\?")):
        estimator(name)
    with pytest.raises(KeyError):
        CATALOGUE[name]


def test_what_is_no_name_and_no_prior_is_refused() -> None:
    with pytest.raises(InputError, match="None is no name of a method: give one as text, such as 'gamma'"):
        estimator(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the prior of the oracle is 3: give a Prior or a conjugate one"):
        eb.Oracle(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [eb.Gamma, 3])
def test_what_is_no_method_is_refused_wherever_one_is_asked_for(method: object) -> None:
    """The class itself above all, which scikit-learn has taught people to name and which needs its parentheses."""
    for ask in (lambda: eb.estimate([1, 2], method=method), lambda: eb.EmpiricalBayes(method).fit([[1], [2]])):
        with pytest.raises(InputError, match=r"is no method: give a name or an estimator, such as 'gamma'"):
            ask()


def test_options_that_are_unknown_or_make_no_sense_are_named() -> None:
    for name, options in (("npmle-em", {"nodes": 1}), ("npmle-em", {"steps": 0}), ("T24r", {"precision": "float16"})):
        with pytest.raises(InputError, match=r"give at least 2 nodes|choose from float32, float64"):
            estimator(name, **options)
    with pytest.raises(InputError, match="mle does not take these options: theta_max"):
        estimator("mle", theta_max=3.0)


def test_the_catalogue_is_a_mapping() -> None:
    assert set(CLASSICAL) <= set(CATALOGUE)
    assert len(CATALOGUE) == len(list(CATALOGUE))
    assert "mle" in CATALOGUE
    assert "xyzzy" not in CATALOGUE


def test_what_fails_in_its_own_way_breaks_the_contract() -> None:
    class Unfinished(Falling):
        def fit(self, tally: eb.Tally) -> FallingRule:
            raise TypeError("'int' object is not callable")

    with pytest.raises(ContractError, match="TypeError 'int' object is not callable"):
        eb.check_estimator(Unfinished())


def test_the_contract_is_checked_of_a_name_too_and_not_of_what_is_no_method() -> None:
    assert eb.check_estimator("gamma") == tuple(LAWS)
    with pytest.raises(InputError, match="3 is no method"):
        eb.check_estimator(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["T24r", "priorformer"])
def test_a_file_of_weights_is_a_method_where_it_is_typed(name: str, tmp_path: Path) -> None:
    shipped, tally = zoo.load(name), eb.Tally([0, 1, 2, 5], [30, 20, 9, 1])
    weights.save(tmp_path / "mine.safetensors", shipped)
    mine = typed(str(tmp_path / "mine.safetensors"))
    assert mine.name == "mine"
    assert mine(tally)(tally.values).tolist() == typed(name)(tally)(tally.values).tolist()
    with pytest.raises(InputError, match="there is no method"):  # a saved fit may name any file
        find(str(tmp_path / "mine.safetensors"))
