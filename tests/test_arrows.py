"""Imports point the way docs/architecture.md says, and heavy libraries stay where they belong."""

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ebformer"

LAYERS = [
    {"errors", "atomic", "plural", "saved", "levels", "distributions"},
    {"tally", "prior", "channels", "binning"},
    {"bayes"},
    {"rule", "saved_prior", "saved_rule"},
    {"estimators", "networks"},
    {
        "tables",
        "windows",
        "pooling",
        "margins",
        "ranking",
        "selection",
        "point_null",
        "check",
        "unseen_units",
        "localization",
        "comparison",
        "datasets",
        "scikit_learn",
        "drift",
        "looks",
        "covariates",
        "expectation",
        "deviations",
        "encoding",
        "regression",
    },
    {"report"},
    {"cli"},
    {"lab"},
]
"""A module may import from its own layer and from those before it."""

HOMES = {
    "torch": {"lab/pretraining"},
    "matplotlib": {"report", "lab/figures"},
    "pandas": set(),
    "polars": set(),
    "duckdb": {"tables", "cli", "lab/fielddata", "lab/arena"},
    "narwhals": {"tables"},
    "pyspark": {"tables"},
    "click": {"cli", "lab/commands"},
    "rich": {"cli", "lab/commands"},
    "sklearn": {"scikit_learn"},
}
"""Where a library may be imported when a module loads (inside a function, who needs it may ask for it)."""


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))


def part(path: Path) -> str:
    """The first name below ebformer: the part of the house a module lives in."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def room(path: Path) -> str:
    """The part, and in the laboratory its room: lab/arena."""
    parts = path.relative_to(SOURCE).parts
    return "/".join(parts[:2]).removesuffix(".py") if parts[0] == "lab" else part(path)


def layer(name: str) -> int:
    return next(number for number, names in enumerate(LAYERS) if name in names)


@cache
def statements(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def imported(path: Path, *, anywhere: bool) -> set[str]:
    """The dotted names a module imports when it loads, or anywhere in it; what only type checkers read is left out."""
    found: set[str] = set()

    def visit(nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                visit(node.orelse)
            elif anywhere or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for block in ("body", "orelse", "finalbody", "handlers"):
                    visit(getattr(node, block, []))

    visit(statements(path))
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_arrows_point_one_way(path: Path) -> None:
    for name in imported(path, anywhere=True):
        package, _, rest = name.partition(".")
        if package == "ebformer":
            other = rest.partition(".")[0]
            if other == "__version__":
                continue
            assert layer(other) <= layer(part(path)), f"{path.name} may not import ebformer.{other}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_heavy_libraries_stay_where_they_belong(path: Path) -> None:
    for name in imported(path, anywhere=False):
        library = name.partition(".")[0]
        if library in HOMES:
            assert room(path) in HOMES[library], f"{path.name} may not import {library} when it loads"
    assert room(path) == "lab/pretraining" or not any(
        name.partition(".")[0] == "torch" for name in imported(path, anywhere=True)
    ), f"{path.name} may not import torch at all"


def test_networks_know_nothing_of_estimators() -> None:
    for path in (SOURCE / "networks").rglob("*.py"):
        allowed = {"tally", "prior", "binning", "bayes", "errors", "networks", "channels", "atomic", "distributions"}
        ours = {name.split(".")[1] for name in imported(path, anywhere=True) if name.startswith("ebformer.")}
        assert ours <= allowed, f"networks/{path.name} imports {ours - allowed}"


def test_every_part_has_a_place() -> None:
    parts = {part(path) for path in modules()}
    assert parts <= set().union(*LAYERS), f"give {parts - set().union(*LAYERS)} a layer in this test"
