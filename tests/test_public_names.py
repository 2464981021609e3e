"""The public names exist, say what they do, and cost nothing before they are used."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import ebformer


@pytest.mark.parametrize("name", dir(ebformer))
def test_every_public_name_is_documented_with_an_example(name: str) -> None:
    thing = getattr(ebformer, name)
    assert ">>> " in str(inspect.getdoc(thing)), f"{name} has no example"


def test_a_star_imports_what_needs_no_extra() -> None:
    assert set(dir(ebformer)) - set(ebformer.__all__) == {"EmpiricalBayes"}


def test_the_version_is_that_of_the_citation_and_the_changelog() -> None:
    root = Path(__file__).parents[1]
    assert f"\nversion: {ebformer.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {ebformer.__version__}\n" in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_what_is_raised_and_warned_of_can_be_caught_by_a_public_name() -> None:
    assert issubclass(ebformer.InputError, ebformer.EbformerError)
    assert issubclass(ebformer.ModelWarning, UserWarning)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match=r"attribute.*shrinkage"):
        _ = ebformer.shrinkage


def loaded_by(code: str) -> set[str]:
    """The top-level modules and scipy's parts that a fresh interpreter holds after running code."""
    report = f"{code}; import sys; print(*{{'.'.join(n.split('.')[:2]) for n in sys.modules}})"
    return set(
        subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True).stdout.split()
    )


def test_importing_ebformer_loads_nothing_heavy() -> None:
    loaded = loaded_by("import ebformer")
    assert not loaded & {"numpy", "scipy", "torch", "matplotlib", "pandas", "duckdb"}


def test_the_core_needs_numpy_and_the_special_functions_only() -> None:
    loaded = loaded_by("import ebformer as eb; eb.Oracle(eb.Prior([1.0], [1.0]))(eb.Tally.of([3])).predict(3)")
    assert not loaded & {"torch", "matplotlib", "pandas", "duckdb", "safetensors", "scipy.stats", "scipy.optimize"}
