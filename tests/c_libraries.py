"""The C files as they are now, compiled: by the installation, which names a library after its source, or else here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from ebformer.networks.libraries import compiled_from


def build_hook() -> ModuleType:
    """hatch_build.py."""
    pytest.importorskip("hatchling", reason="hatchling, which the dev extra brings, is not installed")
    spec = importlib.util.spec_from_file_location("hatch_build", Path(__file__).parents[1] / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library_of(source: Path, folder: Path) -> Path:
    """The library of a C file, compiled in `folder` where the installation has none; what does not compile fails."""
    installed = compiled_from(source)
    if installed.exists():
        return installed
    try:
        return build_hook().compile_kernels(source, folder)
    except OSError as why:
        pytest.skip(f"there is no C compiler to build {source.name} with: {why}")
