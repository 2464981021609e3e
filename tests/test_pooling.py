"""Pooled groups: what is exact, what is promised, and the same answers at every door."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import polars
import pytest
from scipy import sparse

import ebformer as eb
from command_line import ebformer
from ebformer.channels import POISSON, channel_named
from ebformer.errors import InputError, NoPriorError
from ebformer.pooling import CERTAIN, own_shapes, pool
from ebformer.prior import Prior, UncertainPrior
from ebformer.windows import SHARES, windows

warnings.simplefilter("ignore")


def groups(effect: float, sizes: list[int], seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rates and counts, group by group: gamma rates around a log-normal place."""
    rng = np.random.default_rng(seed)
    drawn = [2.0 * rng.gamma(3.0, 1 / 3, size) * np.exp(effect * rng.normal()) for size in sizes]
    return [(theta, rng.poisson(theta)) for theta in drawn]


def squared(rules: list, table: list[tuple[np.ndarray, np.ndarray]]) -> float:
    return sum(float(((rule(x) - theta) ** 2).sum()) for rule, (theta, x) in zip(rules, table, strict=True))


@pytest.mark.parametrize("prior", [Prior([0.0, 1.0, 7.0], [0.5, 0.3, 0.2]), Prior([0.2, 0.9], [0.9, 0.1])])
def test_the_windows_of_every_share_average_to_the_common_prior(prior: Prior) -> None:
    found = windows(prior, POISSON)
    for share in range(SHARES.size):
        at = found.share == share
        assert np.allclose(found.chance[at] @ found.priors[at], prior.weights, rtol=1e-9)


@pytest.mark.parametrize("method", ["gamma", "npmle", "priorformer"])
def test_one_group_alone_changes_nothing(method: str) -> None:
    tally = eb.Tally.of([0, 3, 1, 1, 9, 2])
    found, alone = pool([tally], eb.estimator(method)), eb.estimator(method)(tally)
    assert found.rules[0].prior == alone.prior
    assert np.array_equal(found.rules[0]([0, 5]), alone([0, 5]))


def test_a_group_of_one_unit_has_the_common_prior() -> None:
    table = groups(0.5, [1, 50, 50, 50], 0)
    found = pool([eb.Tally.of(x) for _, x in table], eb.estimator("npmle"))
    assert np.allclose(found.rules[0].prior.weights, found.common.prior.weights, rtol=1e-9)


def test_a_group_doubts_its_prior_as_all_units_doubt_theirs() -> None:
    table = groups(0.5, [1, 6, 6], 0)
    found = pool([eb.Tally.of(x) for _, x in table], eb.estimator("priorformer"))
    common, one, six = (rule.prior for rule in (found.common, *found.rules[:2]))
    assert np.allclose(one.versions, common.versions, rtol=1e-9)
    ratio = six.versions / common.versions  # one window in front of every version, up to a factor each
    assert np.allclose(ratio / ratio[:, :1], ratio[0] / ratio[0, 0], rtol=1e-9)
    assert np.ptp(ratio[0] / ratio[0, 0]) > 0.1


def test_ten_thousand_units_leave_no_doubt_to_carry() -> None:
    rng = np.random.default_rng(0)
    x = rng.poisson(rng.gamma(3.0, 1.0, CERTAIN + 1))
    found = pool([eb.Tally.of(x[:50]), eb.Tally.of(x[50:])], eb.estimator("priorformer"))
    asked = found.common.posterior(np.arange(12))
    certain = eb.bayes.posterior(found.common.prior.certain, np.arange(12))
    assert not isinstance(found.rules[0].prior, UncertainPrior)
    assert np.all(np.abs(asked.mean - certain.mean) < 0.02 * np.sqrt(certain.variance))


def test_groups_that_look_alike_may_be_counted_instead() -> None:
    a, b = eb.Tally.of([0, 1, 4, 2]), eb.Tally.of([8, 3, 9, 12])
    several = pool([a, b, a, a], eb.estimator("npmle-em"))
    counted = pool([a, b], eb.estimator("npmle-em"), times=[3, 1])
    assert several.between == pytest.approx(counted.between, abs=1e-6)
    assert np.allclose(several.rules[0]([0, 9]), counted.rules[0]([0, 9]), rtol=1e-6)


def test_a_large_group_keeps_its_own_shape() -> None:
    rng = np.random.default_rng(1)
    others = [rng.poisson(rng.gamma(3.0, 1.0, 200)) for _ in range(20)]
    two_points = rng.poisson(rng.choice([0.2, 9.0], 20_000))
    found = pool([eb.Tally.of(x) for x in (two_points, *others)], eb.estimator("priorformer"))
    asked = np.arange(15)
    truth = eb.bayes.bayes_rule(Prior([0.2, 9.0], [0.5, 0.5]), asked)
    weight = np.bincount(two_points, minlength=15)[:15] / two_points.size
    off = [float(weight @ (rule(asked) - truth) ** 2) for rule in (found.rules[0], found.common)]
    assert off[0] < 0.05 * off[1]


@pytest.mark.parametrize(("effect", "gain"), [(0.0, 1.03), (0.4, 0.95), (1.2, 1.03)])
def test_pooling_is_as_good_as_the_better_of_together_and_apart(effect: float, gain: float) -> None:
    table = groups(effect, [3] * 200 + [10] * 60 + [30] * 20 + [300] * 2, 3)
    tallies, method = [eb.Tally.of(x) for _, x in table], eb.estimator("gamma")
    found = pool(tallies, method)
    together, apart = squared([found.common] * len(table), table), squared([method(tally) for tally in tallies], table)
    assert squared(found.rules, table) < gain * min(together, apart)
    held = [
        (low <= theta) & (theta <= high)
        for rule, (theta, x) in zip(found.rules, table, strict=True)
        for low, high in [rule.posterior(x).interval(0.9)]
    ]
    assert np.concatenate(held).mean() > 0.87
    assert np.concatenate(held[:200]).mean() > 0.84


@pytest.mark.parametrize(("name", "known"), [("binomial", 20.0), ("normal", 0.7), ("zero-truncated", 1.0)])
def test_every_channel_pools(name: str, known: float) -> None:
    channel, rng = channel_named(name), np.random.default_rng(2)
    places = [0.2, 0.4, 0.7] * 5
    seen = [channel.draw(np.clip(place + 0.05 * rng.normal(size=8), 0.01, 0.99), known, rng) for place in places]
    found = pool([eb.Tally.of(x, known, channel=channel) for x in seen], eb.estimator("npmle-em"))
    middle = channel.mean(np.asarray(0.4), np.asarray(known)).round()
    low, high = (found.rules[i](max(float(middle), 1.0)) for i in (0, 2))
    assert 0.0 <= found.between < 1.0
    assert low <= high + 1e-9


def test_own_shapes_are_a_maximum() -> None:
    rng = np.random.default_rng(0)
    likelihood, around = rng.random((5, 3)), np.array([[0.2, 0.5, 0.3]])
    counts = np.array([[4.0, 0.0, 7.0, 1.0, 2.0]])

    def goal(w: np.ndarray) -> float:
        return float(counts[0] @ np.log(likelihood @ w) + 10.0 * around[0] @ np.log(w))

    best = own_shapes(sparse.csr_array(counts), likelihood, around, 10.0)[0]
    assert all(goal(best) >= goal(0.999 * best + 0.001 * corner) - 1e-9 for corner in np.eye(3))


def test_a_method_without_a_prior_is_refused_by_name() -> None:
    with pytest.raises(NoPriorError, match="mle"):
        pool([eb.Tally.of([1, 2]), eb.Tally.of([4])], eb.estimator("mle"))


def table_of(seed: int) -> polars.DataFrame:
    rng = np.random.default_rng(seed)
    team = np.repeat([f"t{i}" for i in range(30)], rng.integers(2, 12, 30))
    place = dict(zip(np.unique(team), np.exp(rng.normal(size=30)), strict=True))
    return polars.DataFrame({"team": team, "goals": rng.poisson([2 * place[name] for name in team])})


def test_the_doors_agree_and_a_new_group_gets_the_common_prior(tmp_path: Path) -> None:
    frame = table_of(0)
    frame.write_csv(tmp_path / "goals.csv")
    shrunken = eb.shrink(frame, "goals", group="team", pool=True)
    told = ["--count", "goals", "--group", "team", "--pool", "-o", "out.csv", "--save", "fit.json"]
    assert ebformer("estimate", "goals.csv", *told, folder=tmp_path).returncode == 0
    assert np.allclose(polars.read_csv(tmp_path / "out.csv")["estimate"], shrunken["estimate"])
    kept = eb.load_fit(tmp_path / "fit.json")
    assert np.allclose(kept.apply(frame)["estimate"], shrunken["estimate"])
    new = kept.apply(polars.DataFrame({"team": ["new"], "goals": [4]}))
    together = eb.shrink(frame.drop("team"), "goals")
    same = together.filter(polars.col("goals") == 4)["estimate"][0]
    assert new["estimate"][0] == pytest.approx(same)
    assert json.loads((tmp_path / "fit.json").read_text())["between"] == pytest.approx(kept.between)


def test_an_updated_fit_is_that_of_all_rows() -> None:
    first, second = table_of(1), table_of(2)
    both = eb.fit(polars.concat([first, second]), "goals", group="team", pool=True)
    grown = eb.fit(first, "goals", group="team", pool=True).updated(second)
    assert grown.between == pytest.approx(both.between, abs=1e-6)
    assert np.allclose(grown.rules["t3"]([0, 4]), both.rules["t3"]([0, 4]), rtol=1e-6)


def test_the_order_of_rows_does_not_matter() -> None:
    frame = table_of(4).with_row_index()
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=0)
    one, other = (eb.shrink(each, "goals", group="team", pool=True).sort("index") for each in (frame, shuffled))
    assert np.array_equal(one["estimate"], other["estimate"])


def test_pooling_without_groups_is_refused() -> None:
    with pytest.raises(InputError, match="group"):
        eb.shrink(polars.DataFrame({"goals": [1, 2]}), "goals", pool=True)
