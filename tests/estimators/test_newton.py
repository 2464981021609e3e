"""Newton's recursion: the update itself, streams, what it keeps, and how near it comes to the likeliest prior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ebformer.bayes import bayes_rule
from ebformer.errors import ChannelError, InputError, KnownError
from ebformer.estimators.newton import Newton, NewtonRule, clock
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.prior import Prior
from ebformer.rule import Rule
from ebformer.tally import Tally


@pytest.mark.parametrize("permutations", [0, 3])
def test_a_unit_moves_the_weights_towards_its_posterior_by_its_step(permutations: int) -> None:
    rule = Newton(nodes=40, permutations=permutations)(Tally.of([0, 2, 9, 4]))
    later = rule.update(Tally.of([3]))
    step = 1 - np.exp(clock(4) - clock(5))
    p = np.exp(-rule.theta) * rule.theta**3
    after = rule.weights * p / (rule.weights @ p)[:, None]
    assert later.weights == pytest.approx((1 - step) * rule.weights + step * after, rel=1e-9, abs=1e-12)
    assert later.units == 5


def test_random_orders_agree_with_a_plain_loop() -> None:
    tally = Tally.of([0, 2, 2, 9, 4])
    rule = Newton(nodes=30, permutations=1)(tally)
    order = np.random.default_rng([0, 0]).permutation(np.repeat(np.arange(len(tally)), tally.multiplicity))
    theta, w = rule.theta, np.gradient(rule.theta)
    w = w / w.sum()
    for i, x in enumerate(tally.values[order]):
        p = theta ** float(x) * np.exp(-theta)
        step = 1 - np.exp(-2.0 * ((2.0 + i) ** 0.49 - (1.0 + i) ** 0.49) / 0.49)
        w = (1 - step) * w + step * w * p / (w @ p)
    assert rule.weights[0] == pytest.approx(w, rel=1e-9, abs=1e-13)


def test_the_more_units_in_one_pass_the_nearer_to_the_largest_likelihood_and_to_the_truth() -> None:
    rng, short, off = np.random.default_rng(0), [], []
    prior = Prior([1.0, 8.0], [0.5, 0.5])
    for n in (100, 3000, 100_000):
        tally = Tally.of(rng.poisson(prior.draw(n, rng)))
        newton = Newton()(tally)
        short.append((Npmle()(tally).log_likelihood - newton.log_likelihood) / n)
        off.append(tally.multiplicity @ (newton(tally.values) - bayes_rule(prior, tally.values)) ** 2 / n)
    assert short[0] > short[1] > short[2] > 0
    assert off[0] > off[1] > off[2]
    assert off[2] < 0.03


def test_a_stream_needs_no_more_memory_and_comes_near_a_single_pass() -> None:
    rng = np.random.default_rng(1)
    x = rng.poisson(rng.gamma(3.0, 2.0, 60_000))
    rule = Newton()(Tally.of(np.append(x[:999], x.max())))
    size = rule.theta.size
    for part in np.array_split(x[1000:], 118):
        rule = rule.update(Tally.of(part))
    assert (rule.theta.size, rule.weights.size, rule.tally, rule.units) == (size, size, None, 60_000)
    whole = Newton()(Tally.of(x))
    values = np.arange(15)
    assert rule(values) == pytest.approx(whole(values), rel=0.1, abs=0.1)


def test_observations_beyond_the_grid_widen_it() -> None:
    rule = Newton()(Tally.of([3, 4, 5]))
    assert (rule.theta[0], rule.theta[-1]) == (3.0, 5.0)
    later = rule.update(Tally.of([0, 100, 90]))
    assert (later.theta[0], later.theta[-1]) == (0.0, 100.0)
    assert np.all(np.diff(later.theta) > 0)
    assert later(100) > 50


def test_units_of_other_exposures_follow_and_then_every_question_names_its_own() -> None:
    later = Newton()(Tally.of([1, 5, 2], exposure=2.0)).update(Tally.of([3, 9], exposure=[1.0, 4.0]))
    assert later.known is None
    assert later(9, exposure=4.0) == pytest.approx(2.2, abs=0.4)


def test_a_saved_rule_goes_on_where_it_stopped(tmp_path: Path) -> None:
    rule, more = Newton()(Tally.of([18, 17, 3, 9], trials=45)), Tally.of([7, 20], trials=45)
    rule.save(tmp_path / "rule.json")
    again = Rule.load(tmp_path / "rule.json")
    assert isinstance(again, NewtonRule)
    assert np.array_equal(again.update(more)([3, 20]), rule.update(more)([3, 20]))


def test_what_cannot_be_added_is_refused_in_a_sentence() -> None:
    rule = Newton()(Tally.of([1, 5, 2]))
    with pytest.raises(InputError, match=r"give Tally\.of"):
        rule.update([1, 2])
    with pytest.raises(ChannelError, match="the rule is for counts, and these are effects"):
        rule.update(Tally.of([0.5], se=1.0))


def test_units_without_zeros_are_followed_by_units_of_the_same_exposure() -> None:
    rule = Newton()(Tally.of([1, 1, 4], zeros="missing"))
    assert isinstance(rule, NewtonRule)
    assert rule.update(Tally.of([2, 1], zeros="missing")).units == 5
    with pytest.raises(KnownError, match="entered the table at exposure 1"):
        rule.update(Tally.of([2, 1], exposure=3.0, zeros="missing"))
