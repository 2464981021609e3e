"""A prior is a distribution however it was written down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebformer.channels import channel_named
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.errors import InputError
from ebformer.prior import GridPrior, Prior

weighted_atoms = st.lists(st.tuples(st.floats(0, 100), st.floats(0.01, 1)), min_size=1, max_size=12)


def prior_of(pairs: list[tuple[float, float]]) -> Prior:
    atoms, weights = np.array(pairs).T
    return Prior(atoms, weights / weights.sum())


@given(weighted_atoms)
def test_atoms_are_sorted_and_distinct_and_keep_the_mass(pairs: list[tuple[float, float]]) -> None:
    prior = prior_of(pairs)
    assert np.all(np.diff(prior.atoms) > 0)
    assert abs(prior.weights.sum() - 1) < 1e-12
    total = sum(weight for _, weight in pairs)
    for atom, weight in zip(prior.atoms, prior.weights, strict=True):
        assert weight == pytest.approx(sum(w for a, w in pairs if a == atom) / total)


@given(weighted_atoms)
def test_a_prior_survives_being_written_down(pairs: list[tuple[float, float]]) -> None:
    prior = prior_of(pairs)
    assert Prior(prior.atoms.tolist(), prior.weights.tolist()) == prior


def test_weights_are_normalised() -> None:
    assert Prior([1.0, 2.0], [0.5, 0.5 + 5e-7]).weights.sum() == pytest.approx(1, abs=1e-15)


def test_one_atom_is_not_called_atoms() -> None:
    assert repr(Prior([2.5], [1.0])) == "Prior(1 atom at 2.5, mean 2.5)"
    assert repr(Prior([0.0, 5.0], [0.5, 0.5])) == "Prior(2 atoms from 0 to 5, mean 2.5)"


@given(weighted_atoms, st.floats(0.1, 10))
def test_scaling_scales_the_moments(pairs: list[tuple[float, float]], factor: float) -> None:
    prior = prior_of(pairs)
    assert prior.scaled(factor).mean == pytest.approx(factor * prior.mean)
    assert prior.scaled(factor).variance == pytest.approx(factor**2 * prior.variance, abs=1e-9)


@pytest.mark.parametrize("prior", [Prior([1.0, 4.0, 9.0], [0.5, 0.3, 0.2]), GammaPrior(2.5, 0.5)])
def test_draws_have_the_moments(prior: Prior | GammaPrior) -> None:
    draws = prior.draw(200_000, np.random.default_rng(0))
    error = np.sqrt(prior.variance / draws.size)
    assert draws.mean() == pytest.approx(prior.mean, abs=5 * error)
    assert draws.var() == pytest.approx(prior.variance, rel=0.03)


def test_a_scaled_gamma_is_the_gamma_of_the_scaled_rate() -> None:
    assert GammaPrior(3.0, 2.0).scaled(4.0) == GammaPrior(3.0, 0.5)


@pytest.mark.parametrize(
    ("atoms", "weights", "complaint"),
    [
        ([1.0, np.inf], [0.5, 0.5], r"atoms\[1\] is inf"),
        ([1.0, float("nan")], [0.5, 0.5], r"atoms\[1\] is nan"),
        ([1.0, float("inf")], [0.5, 0.5], r"atoms\[1\] is inf"),
        ([1.0, 2.0], [1.5, -0.5], r"weights\[1\] is -0.5"),
        ([1.0, 2.0], [0.5, 0.6], "add up to 1, not 1.1"),
        ([1.0, 2.0], [0.5, 0.4], "add up to 1, not 0.9"),
        ([1.0], [0.5, 0.5], "as many weights as atoms"),
        ([], [], "as many weights as atoms"),
        (["a"], [1.0], "are numbers"),
    ],
)
def test_what_is_not_a_prior_is_refused(atoms: list[float], weights: list[float], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Prior(atoms, weights)


@pytest.mark.parametrize(
    ("shape", "rate"), [(0.0, 1.0), (1.0, -1.0), (float("inf"), 1.0), (1.0, float("nan")), ("a", 1.0)]
)
def test_what_is_not_a_gamma_prior_is_refused(shape: float, rate: float) -> None:
    with pytest.raises(InputError, match="give a positive finite number"):
        GammaPrior(shape, rate)


def test_a_gamma_prior_is_scaled_by_positive_numbers() -> None:
    with pytest.raises(InputError, match="a gamma prior is scaled by 0: give a positive number"):
        GammaPrior(1.0, 1.0).scaled(0)


def test_grids_of_different_channels_are_different_priors() -> None:
    counts, successes = GridPrior([0.2, 0.5], [0.5, 0.5]), GridPrior([0.2, 0.5], [0.5, 0.5], channel_named("binomial"))
    assert counts == GridPrior([0.2, 0.5], [0.5, 0.5])
    assert counts != successes
    assert counts.edges != pytest.approx(successes.edges)
