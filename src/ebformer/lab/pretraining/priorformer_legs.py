"""How priorformer is trained: channels, worlds, sample sizes, legs, optimiser and seeds."""

from __future__ import annotations

from dataclasses import replace

from ebformer.lab.pretraining.loop import Training
from ebformer.lab.pretraining.priorformer_recipe import PriorformerRecipe
from ebformer.lab.pretraining.priorformer_studies import Counts, Measurements, Trials
from ebformer.networks.priorformer_block import PriorformerConfig

COUNTS = Counts(
    chance=0.5,
    unequal=0.25,
    worlds={  # of the 32 tallies of a step: n below 64, below 400, beyond
        "gammas": (5, 4, 4),
        "tails": (5, 4, 4),
        "groups": (6, 5, 5),
        "alike": (4, 3, 3),
        "neural": (5, 9, 5),
        "coarse-dirichlet": (1, 1, 1),
        "fine-dirichlet": (1, 2, 4),
        "few": (1, 1, 1),
        "spaced": (1, 1, 0),
        "smooth": (2, 1, 1),
        "edged": (1, 1, 4),
    },
)
"""Everyday laws with unbounded tails first; hard priors beyond 400 units, where the data tell them from others."""
MEASUREMENTS = Measurements(
    chance=0.27,
    unequal=0.5,
    worlds={
        "bells": (9, 8, 6),
        "skewed": (4, 4, 4),
        "flat": (3, 4, 4),
        "modes": (3, 4, 5),
        "scales": (4, 4, 4),
        "sparse": (6, 6, 6),
        "few-effects": (3, 2, 3),
    },
)
TRIALS = Trials(
    chance=0.23,
    unequal=0.5,
    worlds={
        "betas": (12, 11, 10),
        "logits": (4, 4, 4),
        "spiked": (5, 5, 5),
        "kinds": (4, 4, 4),
        "few-proportions": (4, 4, 4),
        "pushed": (3, 4, 5),
    },
)

FIRST = PriorformerRecipe(
    architecture=PriorformerConfig(blocks=6),
    training=Training(
        steps=18_000,
        learning_rate=2e-3,
        muon=3.0,
        warmup=200,
        betas=(0.9, 0.98),
        weight_decay=0.01,
        average=0.998,
        seed=0,
    ),
    tallies=32,
    studies=(COUNTS, MEASUREMENTS, TRIALS),
    sizes=(
        (5, 64, 0.25),
        (64, 400, 0.3),
        (400, 20_000, 0.3),
        (1, 2_000_000, 0.15),
    ),
    worlds_change_at=(64, 400),
)
"""Most is to be learnt where samples are too small to speak for themselves."""

TWELVE = replace(
    FIRST,
    architecture=PriorformerConfig(blocks=12),
    training=replace(FIRST.training, steps=16_000, learning_rate=1.5e-3, seed=1),
    start=("priorformer-6",),
    divergence_weight=0.5,
    leaders=4,
)

LEADERS = replace(
    TWELVE,
    training=replace(TWELVE.training, steps=24_000, seed=2),
    studies=(
        replace(
            COUNTS,
            worlds=COUNTS.worlds
            | {
                "gammas": (6, 4, 5),
                "tails": (6, 5, 4),
                "groups": (6, 5, 4),
                "alike": (3, 3, 3),
                "neural": (4, 7, 4),
                "fine-dirichlet": (1, 1, 4),
                "few": (1, 2, 1),
                "spaced": (1, 1, 1),
                "edged": (1, 2, 4),
            },
        ),
        replace(
            MEASUREMENTS,
            worlds=MEASUREMENTS.worlds
            | {
                "bells": (8, 7, 5),
                "skewed": (4, 4, 3),
                "flat": (3, 3, 4),
                "sparse": (7, 7, 7),
                "few-effects": (3, 3, 4),
            },
        ),
        TRIALS,
    ),
    start=("priorformer-12",),
    divergence_weight=1.0,
    leaders=6,
)
BUSY, MEASURED, TRIED = LEADERS.studies

LEGS: dict[str, PriorformerRecipe] = {
    "priorformer-6": FIRST,
    "priorformer-12": TWELVE,
    "priorformer-leaders": LEADERS,
    "priorformer": replace(
        LEADERS,
        training=replace(LEADERS.training, steps=20_000, learning_rate=1e-3, seed=4),
        studies=(
            replace(BUSY, chance=0.45, worlds=BUSY.worlds | {"tails": (6, 4, 4), "few": (1, 1, 1), "edged": (1, 4, 4)}),
            MEASURED,
            replace(
                TRIED,
                chance=0.28,
                worlds=TRIED.worlds
                | {"betas": (10, 9, 8), "wide": (4, 4, 4), "spiked": (4, 4, 4), "few-proportions": (3, 3, 3)},
            ),
        ),
        start=("priorformer-leaders",),
    ),
    "priorformer-smoke": replace(
        FIRST,
        architecture=PriorformerConfig(blocks=2, width=16, reach=8, em_steps=4),
        training=replace(FIRST.training, steps=100, warmup=10),
    ),
}
"""What the zoo ships, in four legs: six blocks; six fresh ones after them; all twelve again, with more weight on whole
posteriors and on those of the leaders; and once more at a lower rate, with proportions of every size between 0 and 1
and more hard edges in tables of some hundred units. `priorformer-smoke` takes under a minute."""
