"""Johnstone and Silverman's thousand normal means: k of them at mu and the rest at 0, each seen with noise of sd 1.

    OMP_NUM_THREADS=1 python benchmarks/thousand_means.py [--samples 40] [--methods npmle,normal]

Sums of squared errors, means over samples ("Needles and straw in haystacks", Annals of Statistics 2004, table 1, has
the design), beside those of ebnm 1.1-38 for its npmle, measured over 40 samples of its own.
"""

from __future__ import annotations

import argparse

import numpy as np

import ebformer as eb
from ebformer.cli.terminal import show
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


def squared_errors(method: str, k: int, mu: float, samples: int) -> np.ndarray:
    """The sum of squared errors in each of some samples."""
    rng = np.random.default_rng([k, int(mu)])
    theta, sums = np.where(np.arange(MEANS) < k, mu, 0.0), []
    for _ in range(samples):
        x = rng.normal(theta)
        rule = eb.estimator(method)(eb.Tally.of(x, se=1.0))
        sums.append(float(((rule(x) - theta) ** 2).sum()))
    return np.array(sums)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--methods", default="npmle")
    chosen = parser.parse_args()
    methods, rows = chosen.methods.split(","), []
    for (k, mu), theirs in EBNM.items():
        found = [squared_errors(method, k, mu, chosen.samples) for method in methods]
        error = [each.std(ddof=1) / np.sqrt(each.size) for each in found]
        cells = [f"{each.mean():.1f} ± {se:.1f}" for each, se in zip(found, error, strict=True)]
        rows.append((f"{k} at {mu}", *cells, f"{theirs:g}", f"{(found[0].mean() - theirs) / error[0]:+.1f}"))
    note = "Apart: the difference to ebnm in standard errors of the first method; ebnm's own are as large."
    columns = ("means", *methods, "ebnm npmle", "apart")
    show(TextTable("Sum of squared errors", columns, tuple(rows), (note,)))


if __name__ == "__main__":
    main()
