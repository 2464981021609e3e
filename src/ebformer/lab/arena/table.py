"""The tables of losses on disk, CSV or Parquet, in the columns of drawn tallies or of real data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ebformer.lab.arena.losses import Loss
from ebformer.lab.rows import Column, FilePath, Format


def _numbers(*names: str) -> list[Column]:
    return [Column(name, name, float) for name in names]


def _identity(loss: Loss) -> tuple[str, int, int | str, int, str]:
    return loss[:5]


DRAWN = Format(
    Loss,
    (
        Column("world", "data", str),
        Column("n", "n", int),
        Column("prior", "case", int),
        Column("repeat", "repeat", int),
        Column("estimator", "estimator", str),
        *_numbers("regret", "mse", "population_regret", "seconds"),
    ),
    _identity,
)
"""What `ebformer arena -o` writes."""
EVERYDAY = Format(
    partial(Loss, repeat=0),
    (
        Column("prior", "data", str),
        Column("n", "n", int),
        Column("tally", "case", int),
        Column("estimator", "estimator", str),
        *_numbers("regret", "mse", "coverage", "top_tenth", "leader", "seconds"),
    ),
    _identity,
)
"""What `ebformer arena --everyday -o` writes."""
REAL = Format(
    partial(Loss, repeat=0),
    (
        Column("data", "data", str),
        Column("case", "case", str),
        Column("estimator", "estimator", str),
        Column("units", "n", int),
        *_numbers("rmse", "mae", "rmse_improvement", "mae_improvement", "log_score", "coverage", "seconds"),
    ),
    _identity,
)
"""What `ebformer fielddata -o` writes."""
PUBLISHED_REGRETS = (
    Column("world", "data", str),
    Column("n", "n", int),
    Column("tally", "case", int),
    Column("estimator", "estimator", str),
    Column("regret", "regret", float),
)
"""Others' regrets on given tallies, for `read_published`."""


def published_errors(errors: Iterable[str]) -> tuple[Column, ...]:
    """Others' gains over the MLE on real data, by "rmse", "mae" or both, such as `ebformer fielddata -o` writes."""
    return (*REAL.columns[:3], *_numbers(*(f"{error}_improvement" for error in errors)))


def write(losses: Iterable[Loss], path: FilePath) -> None:
    """Write a sorted table of drawn tallies, CSV or Parquet by its suffix; the file appears whole or not at all."""
    DRAWN.write(sorted(losses, key=DRAWN.identity), path)


def read(path: FilePath) -> list[Loss]:
    """Read a table that `write` wrote; floats come back bit for bit."""
    return DRAWN.read(path)
