"""The arena: estimators against each other on tallies whose truth is known."""

from ebformer.arena.arena import Arena
from ebformer.arena.given import read_published, read_trials
from ebformer.arena.losses import Case, Key, Loss, Truth, score
from ebformer.arena.table import read, write
from ebformer.arena.trials import draw_trials

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
