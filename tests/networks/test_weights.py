"""Weights survive the disk digit by digit, and a file that is not what it claims is refused in one sentence."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import numpy as safetensors

from ebformer.errors import InputError, WeightsError
from ebformer.networks.architecture import Architecture
from ebformer.networks.weights import Weights, load, save

SMALL = Architecture(layers=3, width=8, heads=2, weight_sets=2)


def random_weights(config: Architecture, seed: int = 0, dtype: type = np.float32) -> Weights[Architecture]:
    rng = np.random.default_rng(seed)
    arrays = {name: rng.normal(size=shape).astype(dtype) for name, shape in config.shapes().items()}
    return Weights(config, arrays, {"seed": seed, "range": {"x": [0, 500], "n": [32, 1_000_000]}})


def with_header(path: Path, header: Any, arrays: dict[str, Any] | None = None) -> Path:
    arrays = dict(random_weights(SMALL).arrays) if arrays is None else arrays
    path.write_bytes(safetensors.save(arrays, {"ebformer": header if isinstance(header, str) else json.dumps(header)}))
    return path


def header(**config: Any) -> dict[str, Any]:
    described = SMALL.describe() | config
    return {"version": 1, "family": "transformer", "config": described, "provenance": {}}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("config", [SMALL, Architecture(attention="linear", normalised=True, mlp=False)])
def test_what_is_saved_is_loaded_digit_by_digit(tmp_path: Path, config: Architecture, dtype: type) -> None:
    weights = random_weights(config, dtype=dtype)
    digest = save(tmp_path / "w.safetensors", weights)
    loaded = load(tmp_path / "w.safetensors")
    assert loaded.config == config
    assert loaded.provenance == weights.provenance
    assert loaded.sha256 == digest
    for name, array in weights.arrays.items():
        assert loaded.arrays[name].dtype == dtype
        np.testing.assert_array_equal(loaded.arrays[name], array)


def test_equal_weights_give_equal_bytes_whatever_the_memory_layout(tmp_path: Path) -> None:
    weights = random_weights(SMALL)
    transposed = Weights(SMALL, {k: np.asfortranarray(v) for k, v in weights.arrays.items()}, weights.provenance)
    assert save(tmp_path / "a", weights) == save(tmp_path / "b", transposed)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"attention": "additive"}, "attention is 'additive': choose from softmax, linear"),
        ({"attention": "linear", "feature_map": "gelu"}, "feature_map is 'gelu'"),
        ({"embedding": "one-hot"}, "embedding is 'one-hot'"),
        ({"heads": 0}, "heads must divide"),
        ({"heads": 3}, "heads must divide"),
        ({"weight_sets": 25}, "weight_sets must lie"),
    ],
)
def test_what_no_network_is_built_like_is_refused(setting: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Architecture(**setting)


def test_a_wrong_array_is_named_with_both_shapes() -> None:
    arrays = dict(random_weights(SMALL).arrays)
    with pytest.raises(WeightsError, match=r"sets\.1\.mlp\.up\.weight has shape \(8, 32\).*\(32, 8\)"):
        Weights(SMALL, arrays | {"sets.1.mlp.up.weight": np.zeros((8, 32))})
    with pytest.raises(WeightsError, match=r"sets\.0\.norm1\.bias is missing"):
        Weights(SMALL, {name: array for name, array in arrays.items() if name != "sets.0.norm1.bias"})
    with pytest.raises(WeightsError, match=r"extra is not part of this config"):
        Weights(SMALL, arrays | {"extra": np.zeros(1)})
    with pytest.raises(WeightsError, match=r"head\.bias holds a number that is not finite"):
        Weights(SMALL, arrays | {"head.bias": np.array([np.nan])})
    with pytest.raises(WeightsError, match=r"head\.bias has type int64"):
        Weights(SMALL, arrays | {"head.bias": np.array([1])})


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_truncated_or_altered_file_is_refused_or_still_passes_every_check(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("weights") / "w.safetensors"
    save(path, random_weights(Architecture(layers=1, width=2, heads=1, weight_sets=1)))
    content = path.read_bytes()
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1), label="length")])
    with pytest.raises(WeightsError):
        load(path)
    at, byte = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 255))
    path.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
    try:
        loaded = load(path)
    except WeightsError:
        return
    assert {name: array.shape for name, array in loaded.arrays.items()} == loaded.config.shapes()


@pytest.mark.parametrize(
    ("hostile", "complaint"),
    [
        ("not json", "not one that ebformer wrote"),
        pytest.param("[" * 100_000, "not one that ebformer wrote", id="deeply nested"),
        ([], "not one that ebformer wrote"),
        (header() | {"version": 2}, "version 2"),
        (header() | {"family": "pickle"}, "family 'pickle'"),
        (header() | {"family": ["transformer"]}, "version 1"),
        (header(layers=10**12, weight_sets=10**12), "layers = 1000000000000"),
        (header(heads=0), "describes no network"),
        (header(heads=3), "describes no network"),
        (header(attention="__import__('os')"), "attention = "),
        (header(gain=float("nan")), "gain = nan"),
        (header(mlp=1), "mlp = 1"),
        (header(unheard_of=1), "unheard_of = 1"),
        (header(weight_sets=1), "not part of this config"),
        (header(width=16), r"shape \(8, 12\), but the config asks for \(16, 12\)"),
    ],
)
def test_a_hostile_header_is_refused(tmp_path: Path, hostile: Any, complaint: str) -> None:
    with pytest.raises(WeightsError, match=complaint) as refusal:
        load(with_header(tmp_path / "hostile.safetensors", hostile))
    assert "hostile.safetensors" in str(refusal.value)


def test_a_pickle_is_not_executed(tmp_path: Path) -> None:
    fired = tmp_path / "fired"

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(fired),)

    (tmp_path / "evil").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(WeightsError, match="truncated or is no safetensors file"):
        load(tmp_path / "evil")
    assert not fired.exists()


def test_a_missing_or_monstrous_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="No such file"):
        load(tmp_path / "absent")
    with (tmp_path / "monster").open("wb") as file:
        file.truncate(2**31)
    with pytest.raises(WeightsError, match="larger than"):
        load(tmp_path / "monster")


def test_a_failed_save_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    digest = save(path, random_weights(SMALL))
    with pytest.raises(ValueError, match="not JSON compliant"):
        save(path, Weights(SMALL, random_weights(SMALL, 1).arrays, {"loss": float("nan")}))
    assert load(path).sha256 == digest
    assert [file.name for file in tmp_path.iterdir()] == ["w.safetensors"]
