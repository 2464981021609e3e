"""The Dirichlet process: the urn and the sticks are one law, and conditioning on the measure loses nothing."""

from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammainc, gammaln, logsumexp

from ebformer.channels.poisson import Poisson
from ebformer.lab.worlds import Dirichlet


def urn(alpha, n, rng):
    """n rates on [0, 1] from a Dirichlet process on the uniform law, its measure integrated out (Blackwell-MacQueen).

    Rate j + 1 is new with probability alpha / (alpha + j), else a copy of one of the j before it, each equally likely.
    """
    before = np.arange(n)
    source = np.where(rng.random(n) * (alpha + before) < alpha, before, (rng.random(n) * before).astype(np.int64))
    for j in range(n):  # a copy of a copy: sources always point backwards, so one pass resolves them
        source[j] = source[source[j]]
    return rng.random(n)[source]


def stick_rates(alpha, n, rng):
    priors = Dirichlet(theta_max=1.0, alpha=alpha).draw_many(rng, 1)
    return rng.choice(priors.atoms[0], size=n, p=priors.weights[0])


def largest_group(rates):
    return np.unique(rates, return_counts=True)[1].max()


def test_the_urn_and_the_sticks_agree_in_distribution():
    alpha, n, repeats = 5.0, 60, 600
    rng = np.random.default_rng(0)
    from_urn = [urn(alpha, n, rng) for _ in range(repeats)]
    from_sticks = [stick_rates(alpha, n, rng) for _ in range(repeats)]
    # The number of distinct rates has mean sum_j alpha / (alpha + j), a sum of independent indicators.
    new = alpha / (alpha + np.arange(n))
    error = 4 * np.sqrt((new * (1 - new)).sum() / repeats)
    for rates in (from_urn, from_sticks):
        assert np.mean([len(set(r.tolist())) for r in rates]) == pytest.approx(new.sum(), abs=error)
    for statistic in (largest_group, np.mean, np.max):
        assert stats.ks_2samp([statistic(r) for r in from_urn], [statistic(r) for r in from_sticks]).pvalue > 1e-3


def test_the_weights_have_the_known_second_moment():
    for alpha in (0.5, 50.0):
        weights = Dirichlet(alpha=alpha).draw_many(np.random.default_rng(1), 4000).weights
        same = (weights**2).sum(axis=1)  # the chance that two units share their rate: 1 / (1 + alpha) on average
        assert same.mean() == pytest.approx(1 / (1 + alpha), abs=4 * same.std() / np.sqrt(len(same)) + 1e-5)


@cache
def log_integral(total, members, theta_max):
    """log of the integral of theta^total exp(-members theta) over [0, theta_max]."""
    inside = gammainc(total + 1, members * theta_max)
    return gammaln(total + 1) - (total + 1) * np.log(members) + np.log(inside)


def group_mean(total, members, theta_max):
    return np.exp(log_integral(total + 1, members, theta_max) - log_integral(total, members, theta_max))


def gibbs(x, alpha, theta_max, sweeps, rng):
    """E[theta_i | all x] by sampling partitions with rates and measure integrated out (Neal 2000, algorithm 3)."""
    group = np.arange(len(x))
    answer = np.zeros(len(x))
    for sweep in range(sweeps + sweeps // 10):
        for i in range(len(x)):
            group[i] = -1
            labels = sorted(set(group.tolist()) - {-1})
            score = [np.log(alpha / theta_max) + log_integral(int(x[i]), 1, theta_max)]
            for label in labels:
                total, size = int(x[group == label].sum()), int((group == label).sum())
                joined = log_integral(total + int(x[i]), size + 1, theta_max)
                score.append(np.log(size) + joined - log_integral(total, size, theta_max))
            chance = np.exp(score - logsumexp(score))
            choice = min(int(np.searchsorted(np.cumsum(chance), rng.random())), len(score) - 1)
            group[i] = max(labels, default=-1) + 1 if choice == 0 else labels[choice - 1]
        if sweep >= sweeps // 10:
            for label in set(group.tolist()):
                total, size = int(x[group == label].sum()), int((group == label).sum())
                answer[group == label] += group_mean(total, size, theta_max)
    return answer / sweeps


def by_measures(x, alpha, theta_max, measures, rng):
    """The same by importance sampling: E over drawn measures of prod_i f_G(x_i) theta_G(x_i), normalised."""
    priors = Dirichlet(theta_max=theta_max, alpha=alpha).draw_many(rng, measures)
    likelihood = np.exp(Poisson().log_likelihood(x[:, None, None], priors.atoms))  # [units, measures, atoms]
    f = (likelihood * priors.weights).sum(axis=2)
    rule = (likelihood * priors.weights * priors.atoms).sum(axis=2) / f
    weight = f.prod(axis=0) / f.prod(axis=0).sum()
    error = np.sqrt((weight**2 * (rule - (rule @ weight)[:, None]) ** 2).sum(axis=1))
    return rule @ weight, error


def test_two_units_have_a_closed_form():
    alpha, theta_max, x = 2.0, 10.0, np.array([1, 6])
    log_same = log_integral(x.sum(), 2, theta_max) - np.log(theta_max)
    log_apart = sum(log_integral(each, 1, theta_max) - np.log(theta_max) for each in x) + np.log(alpha)
    same = 1 / (1 + np.exp(log_apart - log_same))
    apart = np.array([group_mean(each, 1, theta_max) for each in x])
    exact = same * group_mean(x.sum(), 2, theta_max) + (1 - same) * apart
    sampled = gibbs(x, alpha, theta_max, 3000, np.random.default_rng(0))
    assert sampled == pytest.approx(exact, abs=0.06)
    averaged, error = by_measures(x, alpha, theta_max, 20_000, np.random.default_rng(1))
    assert (np.abs(averaged - exact) < 4 * error).all()


def test_averaging_the_bayes_rule_over_measures_gives_what_gibbs_sampling_gives():
    alpha, theta_max, x = 3.0, 20.0, np.array([0, 2, 2, 9, 11])
    sampled = gibbs(x, alpha, theta_max, 2000, np.random.default_rng(2))
    averaged, error = by_measures(x, alpha, theta_max, 40_000, np.random.default_rng(3))
    assert (np.abs(averaged - sampled) < 4 * error + 0.1).all()
    assert (error < 0.3).all()
