"""How far the networks are from the best possible on neural priors: beside exact hierarchical Bayes.

python benchmarks/floor.py --priors 400000 --tallies 300          # 6 minutes, 1 GB

The least mean regret of any estimator that knows the world, theta_max = 50 included, is that of the posterior mean over
all its priors. It is computed by importance sampling: priors drawn from the world, weighed by the likelihood of the
tally. A tally counts if it leaves enough of them alive (effective sample size), since a posterior mean over k draws
has about 1 + 1/k times the least regret.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ebformer.estimators.catalogue import find
from ebformer.lab.worlds import Neural
from ebformer.tally import Tally

Singles = NDArray[np.float32]
THETA_MAX, LARGEST_X, CELLS, AT_ONCE = 50.0, 110, 384, 2000
ALIVE = 30.0
"""The least effective sample size of a tally that counts."""
NETWORKS = ("T24f", "T24r", "priorformer")


def marginals(count: int, rng: np.random.Generator) -> tuple[Singles, Singles]:
    """log f_G(x) and the Bayes rule at x = 0, ..., LARGEST_X - 1 of so many neural priors: two arrays [x, priors]."""
    x = np.arange(LARGEST_X)[:, None]
    theta = ((np.arange(CELLS) + 0.5) / CELLS) ** 2 * THETA_MAX
    poisson = np.exp(xlogy(x, theta) - theta - gammaln(x + 1)).astype(np.float32)  # [x, cells]
    logs, rules = (np.empty((LARGEST_X, count), dtype=np.float32) for _ in range(2))
    for start in range(0, count, AT_ONCE):
        some = slice(start, min(start + AT_ONCE, count))
        drawn = Neural(theta_max=THETA_MAX).draw_many(rng, some.stop - start)
        cell = np.minimum((np.sqrt(drawn.atoms / THETA_MAX) * CELLS).astype(np.int64), CELLS - 1)
        cell += CELLS * np.arange(len(drawn))[:, None]
        weights = np.bincount(cell.ravel(), drawn.weights.ravel(), CELLS * len(drawn)).reshape(len(drawn), CELLS).T
        f = np.maximum(poisson @ weights.astype(np.float32), 1e-30)
        logs[:, some] = np.log(f)
        rules[:, some] = (poisson * theta.astype(np.float32)) @ weights.astype(np.float32) / f
    return logs, rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--priors", type=int, default=400_000, help="drawn for the hierarchical Bayes rule")
    parser.add_argument("--tallies", type=int, default=300, help="per sample size, each of a prior of its own")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    logs, rules = marginals(given.priors, rng)
    tested, truth = (array.astype(np.float64) for array in marginals(given.tallies, rng))
    print("n     tallies  hierarchical Bayes", *(f"{name:>19}" for name in NETWORKS))
    for n in (128, 256):
        rows = []
        for k in range(given.tallies):
            f = np.exp(tested[:, k])
            count = rng.multinomial(n, f / f.sum())
            x = np.flatnonzero(count)
            share = count[x] / n
            evidence = count[x].astype(np.float32) @ logs[x]
            alive = np.exp(evidence - evidence.max())
            alive /= alive.sum()
            if 1 / (alive @ alive) < ALIVE:
                continue
            answers = [rules[x] @ alive, *(find(name)(Tally(x, count[x]))(x) for name in NETWORKS)]
            rows.append([share @ (answer - truth[x, k]) ** 2 for answer in answers])
        floor, *others = np.mean(rows, axis=0)
        each = np.array(rows)
        cells = []
        for i, mean in enumerate(others, start=1):
            ratio = mean / floor
            error = 1.96 * (each[:, i] - ratio * each[:, 0]).std() / np.sqrt(len(rows)) / floor
            cells.append(f"{mean:6.3f} {ratio:5.3f}±{error:.3f}")
        print(f"{n:<5} {len(rows):7}  {floor:18.3f}", *(f"{cell:>19}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
