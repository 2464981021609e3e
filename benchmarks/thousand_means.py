"""Johnstone and Silverman's thousand normal means: k of them at mu and the rest at 0, each seen with noise of sd 1.

    OMP_NUM_THREADS=1 python benchmarks/thousand_means.py [--samples 40] [--methods npmle,normal]

Sums of squared errors, means over samples ("Needles and straw in haystacks", Annals of Statistics 2004, table 1, has
the design), beside those of ebnm 1.1-38 for its npmle, measured over 40 samples of its own.

ebnm's npmle puts its atoms on a grid, (64 / n)^(1/4) standard errors apart; "on ebnm's grid" does the same, on the
samples of the other columns. What is then left between the two is the chance of 40 samples.
"""

from __future__ import annotations

import argparse

import numpy as np

import ebformer as eb
from ebformer.cli.terminal import show
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import find
from ebformer.report.text_table import TextTable

MEANS = 1000
EBNM = {
    (5, 3): 33.0,
    (5, 4): 35.0,
    (5, 5): 20.0,
    (5, 7): 7.4,
    (50, 3): 159.0,
    (50, 4): 103.0,
    (50, 5): 52.0,
    (50, 7): 14.0,
    (500, 3): 464.0,
    (500, 4): 265.0,
    (500, 5): 136.0,
    (500, 7): 17.0,
}
"""What ebnm's npmle has for (k, mu)."""


GRID = "on ebnm's grid"


def squared_errors(method: str | Estimator, k: int, mu: float, samples: int) -> np.ndarray:
    """The sum of squared errors in each of some samples."""
    rng = np.random.default_rng([k, int(mu)])
    theta, sums = np.where(np.arange(MEANS) < k, mu, 0.0), []
    for _ in range(samples):
        x = rng.normal(theta)
        estimate = on_ebnms_grid(x) if method == GRID else find(method)(eb.Tally.of(x, se=1.0))(x)
        sums.append(float(((estimate - theta) ** 2).sum()))
    return np.array(sums)


def on_ebnms_grid(x: np.ndarray) -> np.ndarray:
    """Posterior means of the most likely weights of atoms on ebnm's grid, by EM."""
    atoms = np.linspace(x.min(), x.max(), 1 + int(np.ceil(np.ptp(x) / (64 / x.size) ** 0.25)))
    likelihood = np.exp(-0.5 * (x[:, None] - atoms) ** 2)
    weights = np.full(atoms.size, 1 / atoms.size)
    for _ in range(3000):
        before, weights = weights, weights * (likelihood.T @ (1 / (likelihood @ weights))) / x.size
        if np.abs(weights - before).sum() < 1e-6:
            break
    return np.asarray(likelihood @ (weights * atoms) / (likelihood @ weights))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--methods", default="npmle")
    chosen = parser.parse_args()
    methods, rows, apart = [GRID, *chosen.methods.split(",")], [], []
    for (k, mu), theirs in EBNM.items():
        found = [squared_errors(method, k, mu, chosen.samples) for method in methods]
        error = [each.std(ddof=1) / np.sqrt(each.size) for each in found]
        cells = [f"{each.mean():.1f} ± {se:.1f}" for each, se in zip(found, error, strict=True)]
        chance = found[0].std(ddof=1) * np.sqrt(1 / chosen.samples + 1 / 40)
        apart.append((found[0].mean() - theirs) / chance)
        rows.append((f"{k} at {mu}", *cells, f"{theirs:g}", f"{apart[-1]:+.1f}"))
    note = (
        f"Apart: the first column less ebnm's, in standard errors of the difference; their squares add up to "
        f"{np.square(apart).sum():.1f}, where {len(apart)} are expected."
    )
    columns = ("means", *methods, "ebnm npmle", "apart")
    show(TextTable("Sum of squared errors", columns, tuple(rows), (note,)))


if __name__ == "__main__":
    main()
