"""The experiments behind the tables: each runs once, is kept in a folder, and is continued where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ebformer.bayes.marginal import mmse
from ebformer.errors import InputError
from ebformer.estimators import catalogue
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import estimator
from ebformer.lab.arena import Arena, Loss, draw_trials
from ebformer.lab.arena.table import REAL
from ebformer.lab.arena.table import read as read_losses
from ebformer.lab.arena.timing import time_estimators
from ebformer.lab.fielddata import Holdout, baseball, books, evaluate, hockey
from ebformer.lab.fielddata.sources import data_folder
from ebformer.lab.floors import FORMAT as FLOORS
from ebformer.lab.floors import Paid, play_all
from ebformer.lab.probes.blocks import BlockFinding, watch
from ebformer.lab.probes.experiment import Finding, probe, transformer_activations, untrained
from ebformer.lab.reproduction import training_worlds
from ebformer.lab.reproduction.store import Store, digest
from ebformer.lab.rows import Format
from ebformer.lab.theorems.constructions import RegretPoint, vanishing_regret
from ebformer.lab.worlds import Dirichlet, LeastFavourable, Multinomial, Neural, World
from ebformer.networks import zoo
from ebformer.prior import Prior

CLASSICAL = ("mle", "minimax", "robbins", "erm", "npmle", "npmle-em")
PROBED = ("T24r", "L24r", "T24f")
NETWORKS = (*PROBED, *(name for name in catalogue.CATALOGUE if name not in {*catalogue.CLASSICAL, *PROBED}))
CONTROL = "untrained"
THETA_MAX = 50.0
ON_THE_LINE = {
    "uniform on [0, 2]": Prior(np.linspace(0, 2, 41), np.full(41, 1 / 41)),
    "atoms 0.5 and 2": Prior([0.5, 2.0], [0.5, 0.5]),
}
"""The priors on which the corollary is measured."""


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
    largest_power: int
    workers: int

    @staticmethod
    def of(name: str) -> Scale:
        """The scale of that name.

        >>> Scale.of("full").priors
        4096
        """
        if name not in SCALES:
            raise InputError(f"there is no scale {name!r}: choose among {', '.join(SCALES)}")
        return SCALES[name]


SIZES = (128, 256, 512, 1024, 2048, 4096)
SCALES = {
    scale.name: scale
    for scale in (
        Scale("smoke", 6, (512, 2048, 4096), 4, 3, 8, 2, 3, largest_power=4, workers=1),
        Scale("laptop", 400, SIZES, None, None, 200, 3, 15, largest_power=6, workers=-1),
        Scale("full", 4096, SIZES, None, None, 1000, 5, 41, largest_power=7, workers=-1),
    )
}


class Timed(NamedTuple):
    """One method on one data set."""

    estimator: str
    n: int
    dataset: int
    seconds: float


class Drawn(NamedTuple):
    """One prior of the neural world: its mean and its mmse."""

    prior: int
    mean: float
    mmse: float


@dataclass(frozen=True)
class Bench:
    """A scale and where its results are kept; experiments run when they are first asked for."""

    scale: Scale
    store: Store
    data_dir: Path | None = None
    ablation_folder: Path = training_worlds.FOLDER

    @cached_property
    def groups(self) -> dict[str, dict[str, Estimator]]:
        """The methods that are computed and kept together: a new network makes only its own results anew."""
        minimax = estimator("minimax", theta_max=THETA_MAX)
        classical = {name: estimator(name) for name in CLASSICAL} | {"minimax": minimax}
        return {"classical": classical} | {name: {name: estimator(name)} for name in NETWORKS}

    @cached_property
    def losses(self) -> list[Loss]:
        """Regret of every method on fresh tallies of the paper's three evaluation worlds."""
        worlds: list[World] = [Neural(THETA_MAX), Multinomial(THETA_MAX), LeastFavourable(THETA_MAX)]
        return [loss for name, methods in self.groups.items() for loss in self._played(name, methods, worlds, "losses")]

    @cached_property
    def ablation(self) -> list[Loss]:
        """Regret of the networks of the table of training worlds, on the worlds they were trained on, at n = 512."""
        worlds: list[World] = [Neural(THETA_MAX), Dirichlet(THETA_MAX)]
        found = []
        for name, network in training_worlds.networks(self.ablation_folder).items():
            found += self._played(name, {name: network}, worlds, "ablation", (512,), network.network.sha256)
        return found

    def _played(
        self,
        name: str,
        methods: Mapping[str, Estimator],
        worlds: Sequence[World],
        experiment: str,
        sizes: tuple[int, ...] | None = None,
        sha256: str = "",
    ) -> list[Loss]:
        sizes = sizes or self.scale.sizes
        made_of = (worlds, sizes, self.scale.priors, sha256 or _made_by(name))
        path = self.store.path(f"{experiment}-{name}", made_of)
        if path.exists():
            return read_losses(path)
        with self.store.running(f"{experiment}-{name}", path):
            trials = draw_trials(worlds, sizes, self.scale.priors, seed=2025)
            return Arena(methods, trials).run(path, self.scale.workers, progress=self.scale.workers != 1)

    @cached_property
    def timings(self) -> list[Timed]:
        """Seconds of every method on the same data sets, one thread, warm."""

        def run() -> list[Timed]:
            methods = {name: method for group in self.groups.values() for name, method in group.items()}
            return [
                Timed(timing.estimator, timing.n, dataset, timing.seconds)
                for dataset in range(self.scale.timed)
                for timing in time_estimators(methods, Neural(THETA_MAX), self.scale.sizes, 1, seed=dataset)
            ]

        made_of = (self.scale.sizes, self.scale.timed, *map(_made_by, self.groups))
        return self.store.kept("timings", Format.of(Timed), made_of, run)

    @cached_property
    def scores(self) -> list[Loss]:
        """Errors on hockey, baseball and books of every method that needs no theta_max."""
        files = sorted(path for path in data_folder(self.data_dir).rglob("*") if path.is_file())
        made_of = (
            self.scale.seasons,
            self.scale.books,
            digest(files),
        )
        found = []
        for data, load in self._field().items():
            for name, methods in self.groups.items():
                fair = {name: method for name, method in methods.items() if name not in ("minimax", "T24f", "T24u")}
                if fair:
                    found += self.store.kept(
                        f"scores-{data}-{name}",
                        REAL,
                        (*made_of, _made_by(name)),
                        partial(self._scored, load, fair),
                    )
        return found

    def _scored(self, load: Callable[[], list[Holdout]], methods: Mapping[str, Estimator]) -> list[Loss]:
        return [score for batch in evaluate(load(), methods, jobs=self.scale.workers) for score in batch]

    def _field(self) -> dict[str, Callable[[], list[Holdout]]]:
        """How to load each real data set, as far as the scale goes."""

        def some_skaters(position: str) -> list[Holdout]:
            return hockey.load((), position, data_dir=self.data_dir)[: self.scale.seasons]

        def some_players(role: str) -> list[Holdout]:
            return baseball.load((), role, data_dir=self.data_dir)[: self.scale.seasons]

        return {
            **{f"nhl-{position}": partial(some_skaters, position) for position in hockey.POSITIONS},
            **{f"mlb-{role}": partial(some_players, role) for role in baseball.ROLES},
            "books": lambda: books.load((), self.data_dir)[: self.scale.books],
        }

    @cached_property
    def findings(self) -> list[Finding]:
        """R^2 of linear probes in the three networks and in an untrained one."""
        found = []
        for world in (Neural(THETA_MAX), Multinomial(THETA_MAX)):
            for model in (*PROBED, CONTROL):
                made_of = (
                    world,
                    self.scale.probe_tallies,
                    _made_by(PROBED[0] if model == CONTROL else model),
                )
                for seed in range(self.scale.probe_seeds):
                    found += self.store.kept(
                        f"findings-{model}-{world.name}-{seed}",
                        Format.of(Finding),
                        made_of,
                        partial(self._probed, model, world, seed),
                    )
        return found

    def _probed(self, model: str, world: World, seed: int) -> list[Finding]:
        weights = zoo.load(PROBED[0] if model == CONTROL else model)
        if model == CONTROL:
            weights = untrained(weights.config, np.random.default_rng(seed))
        return probe(model, transformer_activations(weights), world, seed, tallies=self.scale.probe_tallies)

    @cached_property
    def blocks(self) -> list[BlockFinding]:
        """What each block of priorformer does to the prior."""
        found = []
        for world in (Neural(THETA_MAX), Multinomial(THETA_MAX), LeastFavourable(THETA_MAX)):
            found += self.store.kept(
                f"blocks-{world.name}",
                Format.of(BlockFinding),
                (world, self.scale.probe_tallies, _made_by("priorformer")),
                partial(watch, zoo.load("priorformer"), world, 0, priors=self.scale.probe_tallies),
            )
        return found

    @cached_property
    def floors(self) -> list[Paid]:
        """What the Bayes rule of universal priors and every network pay on tables of these."""
        tables = min(60, max(3, self.scale.priors // 10))
        run = partial(play_all, ["universal"], (128, 512, 2048), tables, [estimator(name) for name in NETWORKS], 400)
        return self.store.kept("floors", FLOORS, (tables, *map(_made_by, NETWORKS)), run)

    @cached_property
    def drawn(self) -> list[Drawn]:
        """The mmse of many neural priors."""

        def run() -> list[Drawn]:
            priors = Neural(THETA_MAX).draw_many(np.random.default_rng(0), count)
            return [Drawn(i, prior.mean, mmse(prior)) for i, prior in enumerate(priors)]

        count = max(50, self.scale.priors)
        return self.store.kept("drawn", Format.of(Drawn), (count,), run)

    @cached_property
    def vanishing(self) -> list[RegretPoint]:
        """Regret of the transformers that the corollary constructs, on two priors within [0, 2]."""
        sizes = [10**k for k in range(2, self.scale.largest_power + 1)]
        repeats = min(200, 10 * self.scale.probe_tallies)
        run = partial(vanishing_regret, ON_THE_LINE, 2.0, sizes, repeats, np.random.default_rng(0))
        return self.store.kept("vanishing", Format.of(RegretPoint), (sizes, repeats), run)


def _made_by(group: str) -> str:
    return f"{group} {zoo.load(group).sha256}" if group in NETWORKS else group
