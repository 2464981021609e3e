"""Who plays where: the arena, once for every kind of units, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from ebformer.channels import channel_named
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import CATALOGUE, serving
from ebformer.lab.arena.arena import Arena
from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.table import EVERYDAY as FORMAT
from ebformer.lab.league.peers import PEERS, installed
from ebformer.lab.league.priors import EVERYDAY, Everyday
from ebformer.lab.league.trials import a_quarter, everyday_trials

GUESTS_UP_TO = 200
"""Units of the largest tables that methods of other packages play, a quarter of them: ashrink takes 3 s for 200 effects
and ever more for more."""
WITHOUT_PRIOR = ("robbins", "erm", "minimax")
"""Methods that answer with no prior, or need to be told its upper end; so do the paper's networks."""


def players(everyday: Everyday, names: Sequence[str] | None = None) -> dict[str, Estimator]:
    """The methods that can serve such units, by name: those asked for, or all with a prior, `mle`, and the guests.

    >>> from ebformer.lab.league.priors import EVERYDAY
    >>> sorted(players(EVERYDAY[0], ["gamma", "npmle", "beta"]))
    ['gamma', 'npmle']
    """
    known = serving(channel_named(everyday.channel))
    methods = {name: each for name, each in known.items() if each.unequal_known and name not in WITHOUT_PRIOR}
    methods |= {name: each for name, each in installed().items() if everyday.channel in each.channels}
    if names is not None:
        if strangers := [name for name in names if name not in {*CATALOGUE, *installed()}]:
            raise InputError(f"there is no method {strangers[0]!r} here: choose among {', '.join(CATALOGUE)}")
        methods = {name: methods.get(name) or known[name] for name in names if name in {*methods, *known}}
    return {name: each for name, each in methods.items() if everyday.equal or each.unequal_known}


def play_league(
    sizes: Sequence[int],
    tallies: int,
    seed: int = 0,
    names: Sequence[str] | None = None,
    output: Path | None = None,
    workers: int = -1,
    progress: bool = False,
    priors: Sequence[Everyday] = EVERYDAY,
) -> list[Loss]:
    """All losses, played or read from the output, of the priors, sizes and methods asked for; guests come last."""
    if tallies < 1 or min(sizes) < 1:
        raise InputError(f"{tallies} tables of {min(sizes)} units: give at least 1 of each")
    losses: list[Loss] = []
    kinds = [list(group) for _, group in groupby(priors, key=lambda prior: (prior.channel, prior.equal))]
    for guests, upto, tables in ((False, max(sizes), tallies), (True, GUESTS_UP_TO, a_quarter(tallies))):
        for several in kinds:
            playing = {name: each for name, each in players(several[0], names).items() if (name in PEERS) == guests}
            trials = everyday_trials(tables, [n for n in sizes if n <= upto], seed, several)
            asked = {key for trial in trials for key in trial.keys}
            if asked and playing:
                played = Arena(playing, trials, FORMAT).run(output, workers, progress)
                losses += [loss for loss in played if loss.key in asked and loss.estimator in playing]
    return losses
