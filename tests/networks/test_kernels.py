"""kernels.c computes what forward.py says, from many threads too, and nobody needs it: installing works without cc."""

from __future__ import annotations

import copy
import ctypes
import pickle
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from random_weights import random_weights

from c_libraries import build_hook, library_of
from ebformer.bayes.marginal import bayes_rule
from ebformer.channels import POISSON
from ebformer.estimators.npmle import loops
from ebformer.networks import constants, forward, kernels, zoo
from ebformer.networks.architecture import Architecture
from ebformer.networks.constants import PER_CELL, TRACK_FEATURES
from ebformer.networks.em_track import EmTrack
from ebformer.networks.estimates import estimate, estimate_many
from ebformer.networks.forward import Layer, Precision, ready
from ebformer.networks.grid import Grid
from ebformer.networks.libraries import compiled_from
from ebformer.networks.likelihood import Likelihood
from ebformer.networks.priorformer import PriorformerNetwork
from ebformer.networks.priorformer_block import STATIC_FEATURES, PriorformerBlock, PriorformerConfig
from ebformer.networks.weights import Weights
from ebformer.prior import Prior
from ebformer.tally import Tally

ROOT = Path(__file__).parents[2]
HEADS = {1: 32, 2: 16, 4: 8, 8: 8, 16: 4}
"""Heads of every dimension that is compiled."""
same_fixture = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="session")
def build() -> ModuleType:
    return build_hook()


@pytest.fixture(scope="session")
def library_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_of(kernels.SOURCE, tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session")
def library(library_file: Path) -> ctypes.CDLL:
    loaded = kernels.load(library_file)
    if loaded is None:
        pytest.skip("this processor has no AVX2, which kernels.c needs on x86-64")
    return loaded


@pytest.fixture
def compiled(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kernels in use, even if the installation has none."""
    monkeypatch.setattr(kernels, "library", lambda: library)


def one_layer(c: int, stretch: float, precision: Precision = "float32") -> tuple[Architecture, Layer]:
    config = Architecture(layers=1, width=c * HEADS[c], heads=HEADS[c], weight_sets=1, gain=1.0)
    return config, ready(random_weights(config, stretch=stretch), precision).layers[0]


def tokens(rng: np.random.Generator, d: int, b: int, u: int) -> NDArray[np.float32]:
    return rng.normal(size=(d, b, u)).astype(np.float32)


def shares(rng: np.random.Generator, b: int, k: int, zeros: float) -> NDArray[np.float32]:
    """Shares over many orders of magnitude, some of them 0; the first never is."""
    share = np.exp(rng.uniform(-30, 0, (b, k)))
    share[:, 1:] *= rng.random((b, k - 1)) >= zeros
    return (share / share.sum(axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.usefixtures("compiled")
@same_fixture
@given(
    c=st.sampled_from(sorted(HEADS)),
    b=st.integers(1, 3),
    u=st.integers(1, 300),
    hidden=st.integers(0, 40),
    zeros=st.sampled_from([0.0, 0.5]),
    stretch=st.sampled_from([0.1, 1.0, 4.0]),
    seed=st.integers(0, 100),
)
def test_attention_is_the_formula(c: int, b: int, u: int, hidden: int, zeros: float, stretch: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    (config, layer), (_, exact) = one_layer(c, stretch), one_layer(c, stretch, "float64")
    h, share = tokens(rng, config.width, b, u), shares(rng, b, max(1, u - hidden), zeros)
    wide = h.astype(np.float64).reshape(config.width, -1)
    normal = forward.normalised(wide)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        expected = wide + forward.attention(config, exact, normal.reshape(h.shape), share.astype(np.float64))
    q, keys = np.split(forward.affine(exact.qkv, normal)[: 2 * config.width].reshape(2 * HEADS[c], c, -1), 2)
    longest = np.sqrt(np.max((q**2).sum(1)) * np.max((keys**2).sum(1)))  # no score exceeds this
    assert kernels.attention(h, share, config.heads, layer.qkv, layer.out)
    # Rounding a score by one part in 2^24 multiplies its weight by as much, times the score.
    np.testing.assert_allclose(
        h.reshape(wide.shape), expected, rtol=0, atol=1e-6 * max(1, stretch) ** 2 * (1 + longest)
    )


@pytest.mark.parametrize("by", ["kernels.c", "numpy"])
@pytest.mark.parametrize("c", sorted(HEADS))
@pytest.mark.parametrize("size", [10, 1e4, 1e8, 1e16])
def test_with_huge_scores_opposite_tokens_see_only_themselves(
    c: int, size: float, by: str, request: pytest.FixtureRequest
) -> None:
    """Queries and keys are the tokens times `size`; tokens of share 0, whatever their scores, are seen by nobody."""
    (config, layer), rng = one_layer(c, 1.0), np.random.default_rng(0)
    d, opposite = config.width, [70, 141]  # beyond the first block of keys, and in two
    h, share = 3 * tokens(rng, d, 1, 150), np.zeros((1, 150), dtype=np.float32)
    h[:, 0, 70] = rng.choice([-1, 1], d)
    h[:, 0, 141] = -h[:, 0, 70]
    share[0, opposite] = 0.5
    weight, bias = (array.copy() for array in layer.qkv)
    weight[: 2 * d], bias[: 2 * d] = np.vstack([np.eye(d), np.eye(d)]) * size, 0
    values = forward.affine((weight[2 * d :], bias[2 * d :]), forward.normalised(h[:, 0])).reshape(HEADS[c], c + 1, -1)
    expected = h[:, 0] + forward.affine(layer.out, values[:, :c].reshape(d, -1))
    if by == "numpy":
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            normal = forward.normalised(h[:, 0]).reshape(h.shape)
            h[:, 0] += forward.attention(config, replace(layer, qkv=(weight, bias)), normal, share)
    else:
        request.getfixturevalue("compiled")
        assert kernels.attention(h, share, config.heads, (weight, bias), layer.out)
    assert np.isfinite(h).all()
    np.testing.assert_allclose(h[:, 0, opposite], expected[:, opposite], rtol=0, atol=1e-5)


@pytest.mark.usefixtures("compiled")
@same_fixture
@given(
    d=st.sampled_from([1, 3, 32, 64]),
    t=st.integers(1, 300),
    stretch=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 100),
)
def test_mlp_is_the_formula(d: int, t: int, stretch: float, seed: int) -> None:
    config, rng = Architecture(layers=1, width=d, heads=1, weight_sets=1, gain=1.0), np.random.default_rng(seed)
    layer, exact = (ready(random_weights(config, seed, stretch=stretch), p).layers[0] for p in ("float32", "float64"))
    h = tokens(rng, d, 1, t).reshape(d, t)
    wide = h.astype(np.float64)
    expected = wide + forward.mlp(*exact.mlp, forward.normalised(wide))
    assert kernels.mlp(h, *layer.mlp)
    np.testing.assert_allclose(h, expected, rtol=0, atol=4e-6 * max(1, stretch**2))


@pytest.mark.usefixtures("compiled")
def test_threads_and_neighbours_change_no_digit() -> None:
    rng = np.random.default_rng(0)
    config, layer = one_layer(4, 1.0)
    h, share = tokens(rng, config.width, 24, 65), shares(rng, 24, 60, 0.2)

    def run(chosen: list[int]) -> NDArray[np.float32]:
        part = np.ascontiguousarray(h[:, chosen])
        assert kernels.attention(part, np.ascontiguousarray(share[chosen]), config.heads, layer.qkv, layer.out)
        flat = part.reshape(config.width, -1)
        assert kernels.mlp(flat, *layer.mlp)
        return part

    alone = np.concatenate([run([i]) for i in range(24)], axis=1)
    np.testing.assert_array_equal(run(list(range(24))), alone)
    with ThreadPoolExecutor(8) as threads:
        for together in threads.map(run, [list(range(24))] * 40):
            np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("c", sorted(HEADS))
def test_estimates_are_the_same_with_and_without(c: int, library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    weights = random_weights(Architecture(layers=6, width=c * HEADS[c], heads=HEADS[c], weight_sets=3))
    tallies = [Tally.of(rng.poisson(rng.uniform(0, top, n))) for n, top in [(1, 5), (40, 3), (900, 50), (500, 400)]]
    at = np.arange(0, 300, 7)
    monkeypatch.setattr(kernels, "library", lambda: None)
    expected = [*estimate_many(weights, tallies), estimate(weights, tallies[2], at)]
    monkeypatch.setattr(kernels, "library", lambda: library)
    for found, answer in zip(
        [*estimate_many(weights, tallies), estimate(weights, tallies[2], at)], expected, strict=True
    ):
        np.testing.assert_allclose(found, answer, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("compiled")
def test_what_is_not_compiled_is_left_to_numpy() -> None:
    rng = np.random.default_rng(2)
    for heads, dtype in [(4, np.float32), (8, np.float64)]:  # heads of dimension 3; double precision
        config = Architecture(layers=1, width=3 * heads if heads == 4 else 32, heads=heads, weight_sets=1)
        layer = ready(random_weights(config), "float32" if dtype is np.float32 else "float64").layers[0]
        h = rng.normal(size=(config.width, 2, 5)).astype(dtype)
        before = h.copy()
        assert not kernels.attention(h, np.full((2, 5), 0.2, dtype=dtype), heads, layer.qkv, layer.out)
        np.testing.assert_array_equal(h, before)
    assert not kernels.mlp(h.reshape(32, 10), *layer.mlp)
    np.testing.assert_array_equal(h, before)


def test_a_library_that_cannot_be_loaded_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernels.load(tmp_path / "missing.so") is None
    (tmp_path / "broken.so").write_bytes(b"not a library")
    assert kernels.load(tmp_path / "broken.so") is None
    monkeypatch.setattr(kernels, "SOURCE", tmp_path / "kernels.c")  # as where only *.py and the zoo were bundled
    assert kernels.library.__wrapped__() is None


def test_a_library_appears_whole_or_not_at_all(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To load one that was cut short is to crash: a compiler that fails halfway must leave nothing behind."""
    halfway = tmp_path / "halfway"
    halfway.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf half > "$2"\nexit 1\n')
    halfway.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.setenv("CC", str(halfway))
    with pytest.raises(subprocess.CalledProcessError):
        build.compile_kernels(kernels.SOURCE, folder)
    assert list(folder.iterdir()) == []


def test_kernels_take_every_shared_number_from_python_and_another_number_makes_another_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = kernels.SOURCE.read_text()
    for name in (name for name in vars(constants) if name.isupper()):
        assert name in source
        assert f"#define {name}" not in source
    before = constants.library_name("kernels", source.encode())
    monkeypatch.setattr(constants, "LARGEST_GAP", 9.0)
    assert constants.library_name("kernels", source.encode()) != before


def test_the_first_error_of_the_compiler_is_passed_on(build: ModuleType, tmp_path: Path) -> None:
    if shutil.which(build.compiler()) is None:
        pytest.skip("there is no C compiler")
    source = tmp_path / "broken.c"
    source.write_text(
        '#warning "not this line"\nint first(void) { return nothing; }\nint second(void) { return no; }\n'
    )
    with pytest.raises(subprocess.CalledProcessError) as failed:
        build.compile_kernels(source, tmp_path)
    said = build.reason(failed.value)
    assert "broken.c:2:" in said
    assert "error:" in said
    assert "\n" not in said


@pytest.mark.parametrize("compiler", ["cc", "false", "no-such-compiler"])
def test_installing_needs_no_compiler(
    compiler: str,
    build: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("hatchling", reason="hatchling, which the dev extra brings, is not installed")
    from hatchling.builders.wheel import WheelBuilder

    if compiler == "cc" and shutil.which("cc") is None:
        pytest.skip("there is no C compiler named cc")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    sources = [kernels.SOURCE, loops.SOURCE]
    for source in (*sources, Path(constants.__file__)):
        copied = tmp_path / source.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copied)
        if source in sources:
            copied.write_text("int nothing(void) { return 0; }\n")  # whatever they compute
            copied.with_name(f"{source.stem}-0123456789ab.so").touch()  # left by another version
    shutil.copy(ROOT / "src/ebformer/__init__.py", tmp_path / "src/ebformer")
    monkeypatch.setenv("CC", compiler)
    wheel = Path(next(WheelBuilder(str(tmp_path)).build(directory=str(tmp_path / "dist"), versions=["standard"])))
    libraries = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]
    if compiler == "cc":
        names = [compiled_from(tmp_path / source.relative_to(ROOT)).name for source in sources]
        assert set(libraries) == {f"ebformer/networks/{names[0]}", f"ebformer/estimators/npmle/{names[1]}"}
        assert "-py3-none-" in wheel.name
        assert not wheel.name.endswith("-any.whl")
    else:
        assert libraries == []
        assert wheel.name.endswith("-py3-none-any.whl")
        why = {"false": "exit 1", "no-such-compiler": "[Errno 2] No such file or directory: 'no-such-compiler'"}[
            compiler
        ]
        said = capsys.readouterr().err
        for source in sources:
            assert f"{compiler} did not compile {source.name} ({why}): numpy will run" in said


@pytest.mark.parametrize("n", [1, 100, 10_000, 10**9])
@pytest.mark.usefixtures("compiled")
def test_em_steps_are_those_of_numpy_in_double_precision(n: int) -> None:
    rng = np.random.default_rng(n)
    tally = Tally(np.arange(90), rng.multinomial(n, rng.dirichlet(np.ones(90))))
    x = tally.values.astype(np.float64)
    on = Grid.of(POISSON, x, np.ones(x.shape), tally.multiplicity)
    theta = on.theta
    share, start = tally.multiplicity / n, np.full(len(theta), -np.log(len(theta)))
    ours, exact = (
        EmTrack(Likelihood.of(on, x, np.ones(len(x)), kind), share.astype(kind), start.astype(kind))
        for kind in (np.float32, np.float64)
    )
    for _ in range(5):
        rules = []
        for track in (ours, exact):
            weights = np.exp(track.advance(16).astype(np.float64))
            rules.append(bayes_rule(Prior(theta, weights / weights.sum()), x))
        assert ours.run == exact.run
        assert rules[0] == pytest.approx(rules[1], rel=1e-5, abs=1e-6)


@pytest.mark.usefixtures("compiled")
def test_em_steps_in_pieces_and_in_double_precision_are_left_to_numpy() -> None:
    x = np.array([3.0, 10_000.0])
    wide_grid, narrow = Grid.of(POISSON, x, np.ones(2), np.ones(2)), Grid(POISSON, 1.0, 0, 25)
    whole, wide = (Likelihood.of(some, x, np.ones(2), np.float64) for some in (narrow, wide_grid))
    assert len(wide.pieces) > 1
    mixed = Likelihood.of(narrow, x, np.ones(2), np.float32)  # beside shares and weights in double precision
    for likelihood in (whole, wide, mixed):
        start = np.zeros(likelihood.shape[1])
        assert not EmTrack(likelihood, np.array([0.5, 0.5]), start).advance_compiled(1)


def one_block(config: PriorformerConfig, stretch: float, dtype: type) -> PriorformerBlock:
    rng = np.random.default_rng(0)
    sizes = {name: stretch / np.sqrt(shape[-1]) for name, shape in config.shapes().items()}
    arrays = {name: (sizes[name] * rng.normal(size=shape)).astype(dtype) for name, shape in config.shapes().items()}
    return PriorformerBlock.of(Weights(config, arrays, {}), 0, dtype)


@pytest.mark.usefixtures("compiled")
@same_fixture
@given(
    c=st.sampled_from(constants.NEAR_HEAD_SIZES),
    reach=st.sampled_from([0, 1, 8, 32, constants.LARGEST_REACH]),
    cells=st.integers(1, 300),
    stretch=st.sampled_from([0.1, 1.0, 3.0]),
    seed=st.integers(0, 100),
)
def test_a_block_of_priorformer_is_that_of_numpy_in_double_precision(
    c: int, reach: int, cells: int, stretch: float, seed: int
) -> None:
    config, rng = PriorformerConfig(blocks=1, width=4 * c, heads=4, reach=reach), np.random.default_rng(seed)
    h = rng.normal(size=(cells, config.width)).astype(np.float32)
    features = rng.normal(size=(cells, TRACK_FEATURES * PER_CELL + STATIC_FEATURES)).astype(np.float32)
    found = one_block(config, stretch, np.float32).compiled(h, features)
    assert found is not None
    exact = one_block(config, stretch, np.float64).in_numpy(h.astype(np.float64), features.astype(np.float64))
    for ours, numpys in zip(found, exact, strict=True):
        np.testing.assert_allclose(ours, numpys, rtol=0, atol=2e-6 * max(1.0, stretch) ** 5)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])
def test_a_copy_of_a_block_reads_its_own_arrays(again: Callable[[kernels.NearBlock], kernels.NearBlock]) -> None:
    """Else it would read memory that is free once the original is gone, or that of another process."""
    copied = again(one_block(PriorformerConfig(blocks=1), 1.0, np.float32).compiled)
    assert copied.addresses == kernels.addresses(*copied.rows)


@pytest.mark.usefixtures("compiled")
def test_blocks_of_priorformer_that_are_not_compiled_are_left_to_numpy() -> None:
    wide, far = PriorformerConfig(blocks=1, width=96), PriorformerConfig(blocks=1, reach=constants.LARGEST_REACH + 1)
    odd = PriorformerConfig(blocks=1, width=20)  # heads of dimension 5
    for config, dtype in [(wide, np.float32), (far, np.float32), (odd, np.float32), (PriorformerConfig(), np.float64)]:
        h = np.ones((3, config.width), dtype=dtype)
        features = np.ones((3, TRACK_FEATURES * PER_CELL + STATIC_FEATURES), dtype=dtype)
        block = one_block(config, 1.0, dtype)
        assert block.compiled(h, features) is None
        assert block(h, features)[0].shape == h.shape


@pytest.mark.parametrize("n", [1, 3, 100, 10_000, 10**6])
@pytest.mark.parametrize("theta_max", [0.1, 3.0, 50.0])
@pytest.mark.usefixtures("compiled")
def test_priorformer_in_c_answers_as_numpy_in_double_precision_after_every_block(n: int, theta_max: float) -> None:
    rng, weights = np.random.default_rng(n), zoo.load("priorformer")
    tally = Tally.of(np.append(rng.poisson(theta_max * rng.beta(0.5, 1.0, size=n - 1)), 1))  # never without an event
    x, share = tally.values.astype(np.float64), tally.multiplicity / n
    on = Grid.of(POISSON, x, np.ones(x.shape), tally.multiplicity)
    theta = on.theta
    single, double = (PriorformerNetwork(weights, kind) for kind in (np.float32, np.float64))
    likelihoods = [Likelihood.of(on, x, np.ones(len(x)), kind) for kind in (np.float32, np.float64)]
    start = double.start(on, likelihoods[1], share, float(n))  # the same for both
    rounded = [each.astype(np.float32) for each in start]
    found = single.answers(likelihoods[0], share.astype(np.float32), float(n), on.edges(), *rounded)
    exact = double.answers(likelihoods[1], share, float(n), on.edges(), *start)
    assert len(found) == weights.config.blocks
    for ours, numpys in zip(np.exp(found.astype(np.float64)), np.exp(exact), strict=True):
        assert ours.sum() == pytest.approx(1.0, abs=1e-5)
        rules = [bayes_rule(Prior(theta, each / each.sum()), x) for each in (ours, numpys)]
        assert rules[0] == pytest.approx(rules[1], rel=1e-4, abs=1e-5)


@pytest.mark.usefixtures("compiled")
def test_priorformer_on_a_wide_grid_and_in_double_precision_is_left_to_numpy() -> None:
    weights = zoo.load("priorformer")
    for x, kind in [(np.array([3.0, 10_000.0]), np.float32), (np.array([3.0, 10.0]), np.float64)]:
        network, on = PriorformerNetwork(weights, kind), Grid.of(POISSON, x, np.ones(2), np.ones(2))
        theta, share = on.theta, np.array([0.5, 0.5], dtype=kind)
        likelihood = Likelihood.of(on, x, np.ones(2), kind)
        start, static = np.zeros(len(theta), dtype=kind), np.zeros((STATIC_FEATURES, len(theta) // 4), dtype=kind)
        track = np.zeros((weights.config.blocks, len(theta)), dtype=kind)
        assert network.answers_compiled(likelihood, share, start, np.ones_like(start), track, static, 1.0) is None
        if kind is np.float64:  # shares in double precision beside all else in single
            likelihood = Likelihood.of(on, x, np.ones(2), np.float32)
            start, static, track = (each.astype(np.float32) for each in (start, static, track))
            assert network.answers_compiled(likelihood, share, start, np.ones_like(start), track, static, 1.0) is None
