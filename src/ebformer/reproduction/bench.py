"""The experiments behind the tables: each is run once, kept in a folder, and continued where it was interrupted."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

from ebformer.arena import Arena, Loss, draw_trials
from ebformer.arena.timing import Timing, time_estimators
from ebformer.atomic import replacing
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import CATALOGUE, estimator
from ebformer.fielddata import Holdout, Score, baseball, books, evaluate, hockey
from ebformer.probes.experiment import Finding, probe, transformer_activations, untrained
from ebformer.transformer import zoo
from ebformer.worlds import LeastFavourable, Multinomial, Neural, World

CLASSICAL = ("mle", "minimax", "robbins", "erm", "npmle", "npmle-em")
NETWORKS = ("T24r", "L24r", "T24f", "priorformer")
PROBED = ("T24r", "L24r", "T24f")
THETA_MAX = 50.0
Row = TypeVar("Row", bound=NamedTuple)


@dataclass(frozen=True)
class Scale:
    """How much to compute. `full` has the paper's counts, except that one exact regret replaces thousands of draws."""

    name: str
    priors: int
    sizes: tuple[int, ...]
    books: int | None
    seasons: int | None
    probe_tallies: int
    probe_seeds: int
    timed: int
    minutes: str

    @staticmethod
    def of(name: str) -> Scale:
        """The scale of that name.

        >>> Scale.of("smoke").priors
        8
        """
        if name not in SCALES:
            raise InputError(f"there is no scale {name!r}: choose among {', '.join(SCALES)}")
        return SCALES[name]


SIZES = (128, 256, 512, 1024, 2048, 4096)
SCALES = {
    scale.name: scale
    for scale in (
        Scale("smoke", 8, (128, 2048), 4, 2, 24, 1, 2, "5 minutes"),
        Scale("laptop", 400, SIZES, None, None, 200, 3, 9, "90 minutes"),
        Scale("full", 4096, SIZES, None, None, 1000, 5, 25, "a day"),
    )
}


@dataclass(frozen=True)
class Bench:
    """A scale and the folder that keeps its results; experiments run when they are first asked for."""

    scale: Scale
    folder: Path
    data_dir: Path | None = None
    say: Callable[[str], object] = lambda sentence: None

    @cached_property
    def methods(self) -> dict[str, Estimator]:
        """The paper's methods and ours, as far as their weights are shipped."""
        options: dict[str, dict[str, Any]] = {"minimax": {"theta_max": THETA_MAX}}
        return {name: estimator(name, **options.get(name, {})) for name in (*CLASSICAL, *NETWORKS) if name in CATALOGUE}

    @cached_property
    def losses(self) -> list[Loss]:
        """Regret of every method on fresh tallies of the paper's three evaluation worlds."""
        self.say("synthetic worlds")
        worlds: list[World] = [Neural(THETA_MAX), Multinomial(THETA_MAX), LeastFavourable(THETA_MAX)]
        trials = draw_trials(worlds, self.scale.sizes, self.scale.priors, seed=2025)
        return Arena(self.methods, trials).run(self._file("losses.csv"), progress=True)

    @cached_property
    def timings(self) -> list[Timing]:
        """Seconds per data set of every method."""

        def run() -> list[Timing]:
            return time_estimators(self.methods, Neural(THETA_MAX), self.scale.sizes, self.scale.timed)

        return self._kept("timings.csv", Timing, run)

    @cached_property
    def scores(self) -> list[Score]:
        """Errors on hockey, baseball and books of every method that needs no theta_max; kept data set by data set."""
        methods = {name: method for name, method in self.methods.items() if name not in ("minimax", "T24f")}
        found = []
        for name, load in self._field().items():
            found += self._kept(f"scores-{name}.csv", Score, lambda load=load: self._evaluate(load(), methods))  # type: ignore[misc]
        return found

    @cached_property
    def findings(self) -> list[Finding]:
        """R^2 of linear probes in the three networks and in an untrained one."""
        found = []
        for world in (Neural(THETA_MAX), Multinomial(THETA_MAX)):
            for model in (*(name for name in PROBED if name in CATALOGUE), "untrained"):
                for seed in range(self.scale.probe_seeds):
                    name = f"probe-{model}-{world.name}-{seed}.csv"
                    found += self._kept(name, Finding, lambda m=model, w=world, s=seed: self._probe(m, w, s))  # type: ignore[misc]
        return found

    def _probe(self, model: str, world: World, seed: int) -> list[Finding]:
        import numpy as np

        weights = zoo.load(PROBED[0] if model == "untrained" else model)
        if model == "untrained":
            weights = untrained(weights.config, np.random.default_rng(seed))
        return probe(model, transformer_activations(weights), world, seed, tallies=self.scale.probe_tallies)

    def _field(self) -> dict[str, Callable[[], list[Holdout]]]:
        seasons = self.scale.seasons
        loads: dict[str, Callable[[], list[Holdout]]] = {
            f"nhl-{position}": lambda p=position: hockey.load((), p, data_dir=self.data_dir)[:seasons]  # type: ignore[misc]
            for position in hockey.POSITIONS
        }
        for role in baseball.ROLES:
            loads[f"mlb-{role}"] = lambda r=role: baseball.load((), r, data_dir=self.data_dir)[:seasons]  # type: ignore[misc]
        return loads | {"books": lambda: books.load((), self.data_dir)[: self.scale.books]}

    def _evaluate(self, holdouts: Sequence[Holdout], methods: dict[str, Estimator]) -> list[Score]:
        self.say(f"{holdouts[0].data}: {len(holdouts)} cases")
        return [score for batch in evaluate(holdouts, methods, jobs=2) for score in batch]

    def _kept(self, name: str, kind: type[Row], run: Callable[[], list[Row]]) -> list[Row]:
        path = self._file(name)
        if not path.exists():
            write_rows(run(), kind, path)
        return read_rows(path, kind)

    def _file(self, name: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / name


def paper(item: str) -> dict[str, Any]:
    """The paper's own numbers for an item, from the one file where they are typed.

    >>> paper("claims")["npmle-neural-4096"]
    0.104
    """
    text = resources.files("ebformer.reproduction").joinpath("paper.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)[item]
    return numbers


def write_rows(rows: Iterable[Row], kind: type[Row], path: Path) -> None:
    """Named tuples as CSV; floats keep every bit."""
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kind._fields)
        writer.writerows(rows)


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """What `write_rows` wrote."""
    types = [get_type_hints(kind)[field] for field in kind._fields]
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        next(rows)
        return [kind._make(as_type(cell) for as_type, cell in zip(types, row, strict=True)) for row in rows]
