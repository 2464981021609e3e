"""Estimators x trials -> one tidy table of losses: resumable, and the same whatever the number of workers."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Key, Loss
from ebformer.lab.arena.table import DRAWN
from ebformer.lab.arena.trials import Trial
from ebformer.lab.journal import Journal
from ebformer.lab.rows import Format
from ebformer.networks.estimates import OutsideTrainingRange

Work = dict[Key, list[str]]
"""Which estimators are still to play which tallies of a trial."""


@dataclass(frozen=True)
class Arena:
    """Every estimator, by the name it gets in the table, on every tally of every trial.

    >>> from ebformer.lab.arena import draw_trials
    >>> from ebformer.estimators.mle import Mle
    >>> from ebformer.lab.worlds import PointMass
    >>> losses = Arena({"mle": Mle()}, draw_trials([PointMass()], [100, 10_000], priors=3)).run(workers=1)
    >>> len(losses), losses[0].data, losses[0].n
    (6, 'point-mass', 100)
    """

    estimators: Mapping[str, Estimator]
    trials: Sequence[Trial]
    format: Format[Loss] = DRAWN
    """Of the table on disk."""

    def run(self, path: str | os.PathLike[str] | None = None, workers: int = -1, progress: bool = False) -> list[Loss]:
        """Play what `path` does not already hold, then write and return the whole table, sorted.

        `workers` counts processes as joblib does (-1 for all cores); inside `joblib.parallel_config(backend="dask")`
        the work goes to that cluster. BLAS runs on one thread throughout: neither numbers nor times depend on it.
        """
        from ebformer.cli import terminal

        try:
            from joblib import Parallel, delayed
        except ImportError as error:
            raise InputError("the arena needs joblib: pip install 'ebformer[arena]'") from error
        if workers == 0:
            raise InputError("workers is 0: give a number of processes, or -1 for one per core")
        with Journal(path, self.format) as journal:
            self._check(journal.rows)
            work = self._missing(journal.rows)
            results = Parallel(n_jobs=workers, return_as="generator_unordered")(
                delayed(play)(trial, wanted, self.estimators) for trial, wanted in work
            )
            played = 0
            with terminal.progress("Playing", lambda: played, len(work)) if progress else nullcontext():
                for losses in results:
                    journal.append(losses)
                    played += 1
            return journal.finish()

    def _missing(self, stored: list[Loss]) -> list[tuple[Trial, Work]]:
        """What remains to be played, trial by trial."""
        have = {(loss.key, loss.estimator) for loss in stored}
        work = []
        for trial in self.trials:
            wanted = {key: [name for name in self.estimators if (key, name) not in have] for key in trial.keys}
            if any(wanted.values()):
                work.append((trial, {key: names for key, names in wanted.items() if names}))
        return work

    def _check(self, stored: list[Loss]) -> None:
        """A table may be extended only by what made it: replay one row of every world and estimator, and compare.

        If some do not play this time, another estimator replays a tally of theirs: what even the oracle pays on it,
        mse - regret, is the same for all (and unknown for given tallies).
        """
        trials = {key: trial for trial in self.trials for key in trial.keys}
        known = [loss for loss in stored if loss.key in trials and self.estimators]
        known.sort(key=lambda loss: -loss.n)  # of rows with the same name the last one counts: the cheapest to replay
        some = {(loss.data, loss.estimator if loss.estimator in self.estimators else ""): loss for loss in known}
        for (_, name), old in some.items():
            plays = bool(name)
            name = name or next(iter(self.estimators))
            (new,) = play(trials[old.key], {old.key: [name]}, self.estimators)
            before, now = (loss.regret if plays else loss.mse - loss.regret for loss in (old, new))
            # Another machine may round a float32 network differently; another seed differs in the first digit.
            if not (math.isnan(before) or math.isclose(before, now, rel_tol=1e-4, abs_tol=1e-9)):
                what = f"{old.estimator}'s regret" if plays else "the oracle's mean squared error"
                raise InputError(
                    f"the stored table has {before:.6g} for {what} on {old.key}, this run {now:.6g}: "
                    "another seed, theta_max, version or network made it; choose another output"
                )


def play(trial: Trial, wanted: Work, estimators: Mapping[str, Estimator]) -> list[Loss]:
    """The losses of the wanted estimators on the wanted tallies of one trial, on one thread."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        # Population regret asks about counts far in the tail, which no network has seen and hardly any unit shows.
        warnings.simplefilter("ignore", OutsideTrainingRange)
        return [case.score(name, estimators[name]) for case in trial.cases(wanted) for name in wanted[case.key]]
