"""The arena: estimators against each other on tallies whose truth is known."""

from ebformer.lab.arena.arena import Arena
from ebformer.lab.arena.given import read_trials
from ebformer.lab.arena.losses import Case, Key, Loss, Truth, score
from ebformer.lab.arena.published import read_published
from ebformer.lab.arena.table import read, write
from ebformer.lab.arena.trials import draw_trials

__all__ = [
    "Arena",
    "Case",
    "Key",
    "Loss",
    "Truth",
    "draw_trials",
    "read",
    "read_published",
    "read_trials",
    "score",
    "write",
]
