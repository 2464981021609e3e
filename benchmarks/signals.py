"""Observed over expected where the truth is known, and on reports of statins: `python benchmarks/signals.py [CSV]`.

A simulated 800 x 600 table whose ratios are of three gammas, and a CSV (.gz) with columns event, drug, reports. For
each method: squared error of the ratio as a share of the two-gamma prior's, and the list selected at a false discovery
rate of 5 %: its length and the share of it that is right. On real reports, every report goes to one of two halves at
random: the one is fitted, and the other, that no method saw, judges.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from ebformer.bayes import log_predictive
from ebformer.binning import coarsened, distinct_rows, merged
from ebformer.channels import POISSON
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import estimator
from ebformer.estimators.gamma_mixture import GammaMixture
from ebformer.rule import Rule
from ebformer.selection import selected
from ebformer.tally import Tally

METHODS = {
    "gamma-mixture (2)": GammaMixture(),
    "gamma-mixture (3)": GammaMixture(3),
    "priorformer": estimator("priorformer"),
    "npmle-em": estimator("npmle-em"),
}
WEIGHTS, SHAPES, MEANS = np.array([0.6, 0.3, 0.1]), np.array([5.0, 2.0, 2.0]), np.array([1.0, 0.5, 4.0])


def simulated(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, expected counts from the margins, and the true ratio of the mean count to these, cell by cell."""
    scale = np.exp(rng.normal(size=(800, 1))) * np.exp(1.5 * rng.normal(size=600)) / 2
    part = rng.choice(3, size=scale.shape, p=WEIGHTS)
    mean = scale * rng.gamma(SHAPES[part]) * (MEANS / SHAPES)[part]
    count = rng.poisson(mean)
    expected = np.outer(count.sum(axis=1), count.sum(axis=0)) / count.sum()
    some = expected > 0
    return count[some], expected[some], (mean[some] / expected[some])


def believed(method: Estimator, x: np.ndarray, expected: np.ndarray) -> tuple[Rule, np.ndarray, np.ndarray]:
    """The rule, its estimate of every ratio, and which pairs it selects; near observations are answered as one."""
    near = merged(POISSON, x.astype(np.float64), expected, np.ones(x.size, dtype=np.int64))
    first, which = distinct_rows(*near)
    rule = method(Tally.of(*near))
    after = rule.posterior(near[0][first], near[1][first])
    return rule, after.mean[which], selected(1.0 - after.exceeds(2.0), np.bincount(which), 0.05)[which]


def on_simulated(tables: int) -> None:
    print(
        "800 x 600 cells, three gammas: squared error (two gammas = 1), the list at FDR 5 % of ratios above 2, seconds"
    )
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
    for seed in range(tables):
        x, expected, ratio = simulated(np.random.default_rng(seed))
        for name, method in METHODS.items():
            start = time.process_time()
            _, mean, listed = believed(method, x, expected)
            off = float(((mean - ratio) ** 2).sum())
            rows[name].append((off, listed.sum(), (ratio[listed] > 2.0).mean(), time.process_time() - start))
    base = np.array([row[0] for row in rows["gamma-mixture (2)"]])
    for name, found in rows.items():
        off, length, right, seconds = np.array(found).T
        share = off / base
        error = share.std(ddof=1) / np.sqrt(tables) if tables > 1 else np.nan
        told = f"{length.mean():8.0f} pairs, {right.mean():.1%} right"
        print(f"{name:18s} {share.mean():.4f} ({error:.4f})  {told}  {seconds.mean():5.1f} s", flush=True)


def on_reports(path: str) -> None:
    import polars

    reports = polars.read_csv(path)
    total = reports.pivot("drug", index="event", values="reports").drop("event").to_numpy().astype(np.int64)
    first = np.random.default_rng(0).binomial(total, 0.5)
    expected = np.outer(total.sum(axis=1), total.sum(axis=0)) / total.sum()
    known, x, y = expected.ravel() / 2, first.ravel(), (total - first).ravel()
    print(f"\n{path}: half of the reports predicts the other; {x.size:,} pairs, {(total == 0).sum():,} of them empty")
    print(
        "                   chi-square   log-probability   pairs above 2 at FDR 5 %, again in the other half, seconds"
    )
    for name in ("gamma-mixture (2)", "gamma-mixture (3)"):  # counts to 10^6 take others minutes
        start, method = time.process_time(), METHODS[name]
        rule, mean, listed = believed(method, x, known)
        assert rule.prior is not None
        chi = ((y - known * mean) ** 2 / known).sum()
        told = log_predictive(rule.prior, x, known, y, known).mean()
        again = (y[listed] / known[listed] > 2.0).mean()
        seconds = time.process_time() - start
        print(f"{name:18s} {chi:10.0f} {told:12.4f} {listed.sum():12d} {again:18.1%} {seconds:12.1f} s", flush=True)
    tally = coarsened(Tally.of(total.ravel(), expected.ravel()))
    rule = GammaMixture()(tally)
    print(f"two gammas on all reports: log-likelihood {rule.log_likelihood:.6f}, {rule.prior}")
    print(f"an independent optimiser:  log-likelihood {independent(tally):.6f}")


def independent(tally: Tally) -> float:
    """The highest log-likelihood of two gammas that Nelder and Mead's simplices find, from plain log-gammas."""
    x, t = tally.x[:, None], tally.known[:, None]

    def loss(place: np.ndarray) -> float:
        a, b = np.exp(place[:2]), np.exp(place[2:4])
        log_f = gammaln(x + a) - gammaln(a) - gammaln(x + 1) - a * np.log1p(t / b) - x * np.log1p(b / t)
        weight = 1 / (1 + np.exp(-place[4]))
        return -float(tally.multiplicity @ np.logaddexp(np.log(weight) + log_f[:, 0], np.log1p(-weight) + log_f[:, 1]))

    best = np.array([0.0, 0.0, 0.0, -2.0, 0.0])
    for start in ([0.0, 0.0, 0.0, -2.0, 0.0], [5.0, -1.0, 5.0, -3.0, 0.0], [10.0, -1.5, 10.0, -3.0, 0.0]):
        found = minimize(loss, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-7, "fatol": 1e-7})
        best = min(best, found.x, key=loss)
    return -loss(best)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--reports-only" not in sys.argv:
        on_simulated(3)
    for each in sys.argv[1:]:
        if each != "--reports-only":
            on_reports(each)
