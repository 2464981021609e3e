"""Bounds of posterior means: published figures, independent programmes, coverage of the truth."""

from __future__ import annotations

import numpy as np
import pytest

import ebformer as eb
from ebformer.bayes import bayes_rule, marginal_cdf
from ebformer.errors import InputError, KnownError
from ebformer.localization import posterior_mean_bounds
from ebformer.prior import Prior

PRIOR = Prior([0.5, 2.0, 6.0], [0.5, 0.3, 0.2])


def test_the_bayes_rule_lies_within_bounds_that_narrow_with_units() -> None:
    rng, widths = np.random.default_rng(0), []
    x = np.arange(8)
    for n in (100, 1000, 20_000):
        bounds = posterior_mean_bounds(eb.Tally.of(rng.poisson(PRIOR.draw(n, rng))), x, level=0.9)
        truth = bayes_rule(PRIOR, x)
        assert np.all((bounds.lower <= truth + 1e-6) & (truth <= bounds.upper + 1e-6))
        widths.append((bounds.upper - bounds.lower).mean())
    assert widths[0] > widths[1] > widths[2]


@pytest.mark.parametrize("word", ["exposure", "trials", "se"])
def test_unequal_units_and_every_channel(word: str) -> None:
    rng, n = np.random.default_rng(1), 400
    if word == "trials":
        known, prior = rng.integers(5, 40, n), Prior([0.1, 0.6], [0.7, 0.3])
        x = rng.binomial(known, prior.draw(n, rng))
        asked = {"x": [2, 9], "trials": 20}
    elif word == "se":
        known, prior = rng.uniform(0.5, 2.0, n), Prior([-1.0, 3.0], [0.7, 0.3])
        x = rng.normal(prior.draw(n, rng), known)
        asked = {"x": [0.0, 2.5], "se": 1.0}
    else:
        known, prior = rng.uniform(0.5, 2.0, n), PRIOR
        x = rng.poisson(prior.draw(n, rng) * known)
        asked = {"x": [0, 4], "exposure": 1.5}
    tally = eb.Tally.of(x, **{word: known})
    bounds = posterior_mean_bounds(tally, **asked)
    truth = bayes_rule(prior, asked["x"], **{word: asked[word]})
    assert np.all((bounds.lower <= truth) & (truth <= bounds.upper))
    assert np.all(bounds.upper > bounds.lower)


def test_priors_inside_of_the_band_stay_inside_of_the_bounds() -> None:
    rng = np.random.default_rng(2)
    tally = eb.Tally.of(rng.poisson(PRIOR.draw(500, rng)))
    bounds, half = posterior_mean_bounds(tally, 3), np.sqrt(np.log(2 / 0.05) / 1000)
    y = np.arange(40.0)
    seen = np.cumsum(np.bincount(np.repeat(tally.values, tally.multiplicity), minlength=40)) / 500
    inside = 0
    for _ in range(300):
        other = Prior(PRIOR.atoms * rng.uniform(0.7, 1.3, 3), rng.dirichlet(20 * PRIOR.weights))
        if np.abs(marginal_cdf(other, tally.channel, y, np.ones(40)) - seen).max() <= half:
            inside += 1
            assert bounds.lower <= bayes_rule(other, 3) + 1e-3
            assert bayes_rule(other, 3) <= bounds.upper + 1e-3
    assert inside > 20


def test_a_higher_level_gives_wider_bounds() -> None:
    tally = eb.Tally([0, 1, 2, 3, 4, 5, 6, 7], [7840, 1317, 239, 42, 14, 4, 4, 1])
    narrow, wide = (posterior_mean_bounds(tally, 1, level=level) for level in (0.5, 0.99))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


@pytest.mark.parametrize("x", [6, 20])
@pytest.mark.parametrize("counts", [[6, 1, 4], np.random.default_rng(0).poisson(3.0, 200)], ids=["three", "many"])
def test_far_from_all_others_bounds_are_thetas_and_wider_for_a_higher_level(counts: list[int], x: int) -> None:
    tally = eb.Tally.of(counts)
    found = [posterior_mean_bounds(tally, x, level=level) for level in (0.5, 0.95, 0.999)]
    lower, upper = np.array([(float(each.lower), float(each.upper)) for each in found]).T
    assert (lower >= 0).all()
    assert (np.diff(lower) <= 1e-6).all()
    assert (np.diff(upper) >= -1e-6).all()
    assert lower[2] <= eb.estimator("npmle")(tally)(x) <= upper[2]


def test_effects_as_far_apart_as_numbers_get_have_bounds() -> None:
    found = posterior_mean_bounds(eb.Tally.of([1e50, 1e50, -1e50], se=1.0), [1e50, -1e50])
    assert (found.lower <= found.upper).all()


def test_counts_that_no_prior_explains_are_named() -> None:
    with pytest.raises(InputError, match="no prior explains these counts"):
        posterior_mean_bounds(eb.Tally([5], [1000]), 5)


def test_questions_that_lack_something_are_refused() -> None:
    with pytest.raises(KnownError, match="unequal exposures"):
        posterior_mean_bounds(eb.Tally.of([1, 2], exposure=[1.0, 2.0]), 1)
    with pytest.raises(InputError, match=r"Tally\.of"):
        posterior_mean_bounds([1, 2], 1)
