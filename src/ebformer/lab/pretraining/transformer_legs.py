"""How T24r, L24r, T24f, T24u and T24ur are trained, leg by leg, and the paper's protocol."""

from __future__ import annotations

from dataclasses import replace

from ebformer.lab.pretraining.loop import Training
from ebformer.lab.pretraining.transformer_recipe import TransformerRecipe
from ebformer.networks.architecture import Architecture


def legs(
    name: str, long: TransformerRecipe, short: Training, last: Training, tallies: int, weight_sets: int
) -> dict[str, TransformerRecipe]:
    """The legs of a shipped network: any number of units; up to the paper's 512; and, from their mean, up to 2048."""
    capped = replace(long, architecture=replace(long.architecture, weight_sets=weight_sets, largest_n=512.0))
    capped = replace(capped, tallies=tallies)
    return {
        f"{name}-long": long,
        f"{name}-short": replace(capped, training=short, n=(32, 512), n_power=0.5, start=(f"{name}-long",)),
        name: replace(capped, training=last, n=(32, 2048), n_power=0.4, start=(f"{name}-long", f"{name}-short")),
    }


LONG = TransformerRecipe(
    architecture=Architecture(), training=Training(steps=2400, learning_rate=0.006, muon=3.0, average=0.995)
)
LINEAR = replace(LONG, architecture=Architecture(attention="linear"))
FIXED = replace(
    LONG,
    theta_max=50.0,
    training=replace(LONG.training, steps=1500, learning_rate=0.004, warmup=50),
    start=("T24r-long",),
)
SHORT = replace(LONG.training, learning_rate=0.004, warmup=100)
LAST = replace(LONG.training, learning_rate=0.004, warmup=100, average=0.998, seed=1)

TIED = legs("T24f-tied", FIXED, replace(SHORT, steps=1600), replace(LAST, steps=6000), tallies=64, weight_sets=2)
UNTIED = replace(
    TIED["T24f-tied"],
    architecture=replace(TIED["T24f-tied"].architecture, weight_sets=24),
    training=replace(LAST, steps=5500, learning_rate=0.003),
    start=("T24f-tied",),
)


def neural_to_one(times: int, start: str, training: Training, theta_power: float = 0.75) -> TransformerRecipe:
    """A further leg of T24f with so many neural priors for every Dirichlet one."""
    return replace(
        UNTIED, worlds=("neural",) * times + ("dirichlet",), theta_power=theta_power, training=training, start=(start,)
    )


LATE = replace(LAST, warmup=50, clip=11.0)
"""theta_power 3/4 makes losses on [0, 50] eleven times as large as 3/2 does."""

UNIVERSAL = replace(
    UNTIED,
    architecture=replace(UNTIED.architecture, largest_n=8192.0),
    worlds=("universals",),
    theta_power=0.75,
    n=(32, 8192),
    n_power=0.5,
    tallies=32,
    training=replace(LATE, steps=800, learning_rate=0.003, seed=11),
    start=("T24f",),
)
"""Universal priors on [0, 50] (Cannella, Teh, Han and Polyanskiy 2026), from the weights of T24f on. Ten atoms, as they
have it, are too lumpy for smooth priors: the number of atoms is random."""

ABLATION = replace(LONG, architecture=Architecture(layers=12), training=replace(LONG.training, steps=1000))

LEGS: dict[str, TransformerRecipe] = {
    **legs("T24r", LONG, replace(SHORT, steps=1700), replace(LAST, steps=1700), tallies=48, weight_sets=2),
    **legs("L24r", LINEAR, replace(SHORT, steps=1500, learning_rate=0.005), replace(LAST, steps=3000), 48, 24),
    **TIED,
    "T24f-untied": UNTIED,
    "T24f-2": neural_to_one(2, "T24f-untied", replace(LAST, steps=1500, learning_rate=0.002, seed=2), theta_power=1.5),
    "T24f-7": neural_to_one(7, "T24f-2", replace(LATE, steps=4000, learning_rate=0.003, seed=6)),
    "T24f": neural_to_one(15, "T24f-7", replace(LATE, steps=2500, learning_rate=0.002, seed=9)),
    "T24u": UNIVERSAL,
    "T24ur": replace(
        LONG,
        architecture=replace(LONG.architecture, weight_sets=2, largest_n=8192.0),
        worlds=("universals",),
        n=(32, 8192),
        n_power=0.4,
        training=replace(LAST, steps=3000, seed=12),
        start=("T24r",),
    ),
    "ablation-mixture": ABLATION,
    "ablation-neural": replace(ABLATION, worlds=("neural",)),
    "ablation-dirichlet": replace(ABLATION, worlds=("dirichlet",)),
    "paper": TransformerRecipe(
        architecture=Architecture(embedding="linear"),
        training=Training(
            50_000, learning_rate=0.02, schedule="step", warmup=0, betas=(0.9, 0.999), epsilon=0.01, clip=None
        ),
        n=(512, 512),
        tallies=192,
        theta_power=0.0,
        n_power=0.0,
        targets="theta",
        collapsed=False,
        one_prior=True,
    ),
    "smoke": TransformerRecipe(
        architecture=Architecture(layers=4, width=16, heads=4),
        training=Training(steps=300, warmup=30),
        theta_max=10.0,
        n=(32, 512),
    ),
}
"""What the zoo ships, in three legs each; T24f has one more that unties its layers, and three of mostly neural priors;
T24u is one leg from there. `T24ur`, from T24r on, does not know theta_max.
`ablation-...` are the rows of the paper's tab:mixture-training; `paper` is the published protocol; `smoke` takes under
a minute."""
