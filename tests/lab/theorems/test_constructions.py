"""Theorem 4.1: the constructed transformer is the clipped Robbins estimator within epsilon, with few enough neurons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ebformer.errors import InputError
from ebformer.lab.theorems.constructions import (
    RobbinsTransformer,
    clipped_robbins,
    decoder,
    for_regret,
    regrets,
    robbins_transformer,
)
from ebformer.prior import Prior
from ebformer.tally import Tally

tallies = st.dictionaries(st.integers(0, 40), st.integers(1, 10**6), min_size=1, max_size=25).map(
    lambda number: Tally(list(number), list(number.values()))
)
sizes = {"d": st.integers(1, 35), "M": st.floats(0.01, 200.0), "epsilon": st.floats(1e-4, 1.0)}


@settings(max_examples=300, deadline=None)
@given(tally=tallies, attention=st.sampled_from(["softmax", "linear"]), **sizes)
@example(tally=Tally([8, 9, 10], [1, 3, 10**9]), attention="softmax", d=9, M=100.0, epsilon=1e-3)
@example(tally=Tally([8, 9, 30], [1, 3, 10**9]), attention="linear", d=9, M=100.0, epsilon=1e-3)
def test_the_transformer_is_the_clipped_robbins_estimator(
    tally: Tally, attention: str, d: int, M: float, epsilon: float
) -> None:
    network = robbins_transformer(d, M, epsilon, n_max=tally.n, attention=attention)
    error = network(tally) - clipped_robbins(tally, d, M)
    rounding = 1e-12 * (1 + M) ** 2
    assert -rounding <= error.min()
    assert error.max() <= epsilon + rounding


@settings(max_examples=300, deadline=None)
@given(attention=st.sampled_from(["softmax", "linear"]), **sizes)
def test_width_and_neurons_obey_the_theorem(attention: str, d: int, M: float, epsilon: float) -> None:
    network = robbins_transformer(d, M, epsilon, n_max=10**6, attention=attention)
    assert network.width == (d + 1 if attention == "softmax" else d + 2)
    assert len(network.decode.knot) <= 1 + (1 + M) ** 2 / epsilon
    assert len(network.decode.knot) <= 1 + np.sqrt(2 * (1 + M) / epsilon)


@settings(max_examples=60, deadline=None)
@given(M=sizes["M"], epsilon=sizes["epsilon"])
def test_the_decoder_stays_within_epsilon_everywhere(M: float, epsilon: float) -> None:
    r = np.concatenate([[0.0], np.linspace(np.sqrt(1.5 + M), 1, 4000) ** -2.0])
    error = decoder(M, epsilon)(r) - np.minimum(1 / np.maximum(r, 1e-9) - 1, M)
    assert error.min() >= -1e-11 * (1 + M) ** 2
    assert error.max() <= epsilon + 1e-11 * (1 + M) ** 2


@pytest.mark.parametrize("attention", ["softmax", "linear"])
def test_collapsing_equal_tokens_changes_nothing(attention: str) -> None:
    x = np.random.default_rng(0).poisson(4.0, 300)
    network = robbins_transformer(8, 20.0, 0.01, n_max=300, attention=attention)
    y = network.embed(x)
    scores = y @ network.query @ (y @ network.key).T
    kernel = np.exp(scores / np.sqrt(network.width)) if attention == "softmax" else scores
    z = kernel @ (y @ network.value) / kernel.sum(axis=1, keepdims=True)
    uncollapsed = network.decode(np.maximum(y + z - 1, 0).sum(axis=1))
    tally = Tally.of(x)
    np.testing.assert_allclose(network(tally)[np.searchsorted(tally.values, x)], uncollapsed, rtol=1e-10, atol=1e-10)


def as_printed(d: int, M: float, attention: str, strength: float = 0.0) -> RobbinsTransformer:
    """Algorithm 1 and the remark as they stand in the paper, with a decoder that is not to blame."""
    width = d + 1
    i = np.arange(d)
    key = np.eye(width) * (strength if attention == "softmax" else 1.0)
    if attention == "softmax":
        key[i, i + 1] = strength + np.sqrt(width) * np.log(i + 1)
    else:
        key[i[1:], i[1:] - 1] = i[1:]  # tokens at or above d are their own, so N(d) is lost
    value = np.diag((np.arange(width) < d).astype(float))
    return RobbinsTransformer(attention, d, np.eye(width), key, value, decoder(M, 1e-6))


def test_the_slips_of_the_printed_proof_are_real() -> None:
    tally = Tally([0, 1, 2, 3], [50, 30, 15, 5])
    exact = clipped_robbins(tally, d=5, M=10.0)
    np.testing.assert_allclose(exact, [0.6, 1.0, 1.0, 0.0])
    # W_K as printed looks at x - 1 instead of x + 1, so its answer is x N(x - 1) / N(x).
    np.testing.assert_allclose(as_printed(5, 10.0, "softmax", 100.0)(tally), [0.0, 50 / 30, 4.0, 9.0], atol=1e-5)
    np.testing.assert_allclose(robbins_transformer(5, 10.0, 1e-6, 100)(tally), exact, atol=1e-6)
    # The remark gives tokens at or above d one embedding of their own, and N(d) is missing at d - 1.
    printed = as_printed(2, 10.0, "linear")
    assert printed(tally)[1] == pytest.approx(0.0, abs=1e-5)
    assert robbins_transformer(2, 10.0, 1e-6, 100, "linear")(tally)[1] == pytest.approx(exact[1], abs=1e-5)
    # D = max(100, (d + 1)^2) is smallest against sqrt(d + 1) at d = 9, where a billion other units leak through.
    crowded, loose = Tally([8, 9, 40], [1, 1, 10**9]), robbins_transformer(9, 100.0, 1e-6, 10**9 + 2)
    strength = loose.key[0, 0]
    loose.key[loose.key > 0] += 100.0 - strength
    leak = abs(loose(crowded)[0] - clipped_robbins(crowded, 9, 100.0)[0])
    assert leak > 1e-5
    assert abs(robbins_transformer(9, 100.0, 1e-6, 10**9 + 2)(crowded)[0] - 9.0) < 1e-6


def test_regret_of_the_constructed_transformer_vanishes_with_n() -> None:
    prior, rng = Prior([1.0, 6.0], [0.5, 0.5]), np.random.default_rng(3)
    means = []
    for n in (10**3, 10**5, 10**7):
        network = for_regret(10 / n, theta_max=8.0, n=n)
        means.append(regrets(network, prior, n, repeats=20, rng=rng).mean())
    assert means[1] < means[0] / 20
    assert means[2] < means[1] / 20


def test_senseless_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="epsilon = 0"):
        robbins_transformer(3, 1.0, 0.0, 10)
    with pytest.raises(InputError, match="attention is 'additive'"):
        robbins_transformer(3, 1.0, 0.1, 10, attention="additive")
