"""Observed over expected where the truth is known, and on reports of statins: `python benchmarks/signals.py [CSV]`.

Simulated 800 x 600 tables whose ratios are of three gammas (`--tables 3`), and a CSV (.gz) with columns event, drug,
reports; both whole and without their zeros. For each method: squared error of the ratio as a share of the two-gamma
prior's, and the list selected at a false discovery rate of 5 %: its length and the share of it that is right. On real
reports, every report goes to one of two halves at random: the one is fitted, and the other, that no method saw, judges.
At last DuMouchel's two gammas beside those of an independent optimiser. `--reports-only` leaves the simulation out.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammaln, log_expit

from ebformer.bayes import log_predictive
from ebformer.binning import coarsened, distinct_rows, merged
from ebformer.channels import POISSON
from ebformer.channels.mixed_prior import ConjugateMixture
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
    rule = method(Tally.of(*near, zeros=None if (x == 0).any() else "missing"))
    after = rule.posterior(near[0][first], near[1][first])
    return rule, after.mean[which], selected(1.0 - after.exceeds(2.0), np.bincount(which), 0.05)[which]


def on_simulated(tables: int, zeros: bool) -> None:
    told = "whole" if zeros else "without zeros"
    print(f"800 x 600 cells, {told}: squared error (two gammas = 1), the list at FDR 5 % of ratios above 2, seconds")
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
    for seed in range(tables):
        x, expected, ratio = simulated(np.random.default_rng(seed))
        kept = np.full(x.size, True) if zeros else x > 0
        for name, method in METHODS.items():
            start = time.process_time()
            _, mean, listed = believed(method, x[kept], expected[kept])
            off, right = float(((mean - ratio[kept]) ** 2).sum()), (ratio[kept][listed] > 2.0).mean()
            rows[name].append((off, listed.sum(), right, time.process_time() - start))
    base = np.array([row[0] for row in rows["gamma-mixture (2)"]])
    for name, found in rows.items():
        off, length, right, seconds = np.array(found).T
        share = off / base
        error, doubt = (each.std(ddof=1) / np.sqrt(tables) if tables > 1 else np.nan for each in (share, right))
        told = f"{length.mean():8.0f} pairs, {right.mean():.1%} ({doubt:.1%}) right"
        print(f"{name:18s} {share.mean():.4f} ({error:.4f})  {told}  {seconds.mean():5.1f} s", flush=True)


def on_reports(path: str) -> None:
    import polars

    reports = polars.read_csv(path)
    total = reports.pivot("drug", index="event", values="reports").drop("event").to_numpy().astype(np.int64)
    first = np.random.default_rng(0).binomial(total, 0.5)
    expected = (np.outer(total.sum(axis=1), total.sum(axis=0)) / total.sum()).ravel()
    print(
        f"\n{path}: half of the reports predicts the other; {total.size:,} pairs, {(total == 0).sum():,} of them empty"
    )
    print(
        "                   chi-square   log-probability   pairs above 2 at FDR 5 %, again in the other half, seconds"
    )
    for kept, told in ((total.ravel() >= 0, "whole"), (first.ravel() > 0, "without zeros")):
        known, x, y = expected[kept] / 2, first.ravel()[kept], (total - first).ravel()[kept]
        print(told)
        for name in ("gamma-mixture (2)", "gamma-mixture (3)"):  # counts to 10^6 take others minutes
            start, method = time.process_time(), METHODS[name]
            rule, mean, listed = believed(method, x, known)
            assert rule.prior is not None
            chi = ((y - known * mean) ** 2 / known).sum()
            log_p = log_predictive(rule.prior, x, known, y, known).mean()
            again = (y[listed] / known[listed] > 2.0).mean()
            seconds = time.process_time() - start
            print(
                f"{name:18s} {chi:10.0f} {log_p:12.4f} {listed.sum():12d} {again:18.1%} {seconds:12.1f} s", flush=True
            )
    for kept, zeros in ((total.ravel() >= 0, None), (total.ravel() > 0, "missing")):
        tally = coarsened(Tally.of(total.ravel()[kept], expected[kept], zeros=zeros))
        rule = GammaMixture()(tally)
        assert isinstance(rule.prior, ConjugateMixture)
        own = rule.prior.parameters()
        told = "without zeros" if zeros else "whole"
        print(f"two gammas on all reports, {told}: log-likelihood, weights, shapes, rates")
        height, other = independent(tally)
        for name, number, found in (
            ("ours", rule.log_likelihood, np.concatenate([own["weights"], own["shape"], own["rate"]])),
            ("an independent optimiser", height, other),
        ):
            print(f"{name:25s} {number:.6f} " + " ".join(f"{each:.5g}" for each in found), flush=True)


def independent(tally: Tally) -> tuple[float, np.ndarray]:
    """The highest log-likelihood of two gammas that scipy finds by differences of plain log-gammas, and the gammas."""
    x, t = tally.x[:, None], tally.known[:, None]

    def log_f(x: np.ndarray, place: np.ndarray) -> np.ndarray:
        a, b = np.exp(place[:2]), np.exp(place[2:4])
        each = gammaln(x + a) - gammaln(a) - gammaln(x + 1) - a * np.log1p(t / b) - x * np.log1p(b / t)
        return np.logaddexp(log_expit(place[4]) + each[:, 0], log_expit(-place[4]) + each[:, 1])

    def loss(place: np.ndarray) -> float:
        unseen = 0.0 if tally.channel.complete else np.log(-np.expm1(log_f(0 * x, place)))
        return -float(tally.multiplicity @ (log_f(x, place) - unseen))

    best = np.array([0.0, 0.0, 0.0, -2.0, 0.0])
    exact = {"ftol": 1e-15, "gtol": 1e-6}
    for start in ([0.0, 0.0, 0.0, -2.0, 0.0], [5.0, -1.0, 5.0, -3.0, 0.0], [10.0, -1.5, 10.0, -3.0, 0.0]):
        for _ in range(3):  # a climb that has stopped too soon begins anew
            start = minimize(loss, start, method="L-BFGS-B", bounds=[(-9, 12)] * 5, options=exact).x
        best = min(best, start, key=loss)
    a, b, weight = np.exp(best[:2]), np.exp(best[2:4]), expit(np.array([1.0, -1.0]) * best[4])
    order = np.argsort(a / b)
    return -loss(best), np.concatenate([weight[order], a[order], b[order]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("reports", nargs="?", metavar="CSV")
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--reports-only", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if not given.reports_only:
        on_simulated(given.tables, zeros=True)
        on_simulated(given.tables, zeros=False)
    if given.reports:
        on_reports(given.reports)
