"""A holdout is a sufficient statistic, thinning makes independent looks, dispersion is 1 under the model."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ebformer as eb
from ebformer.errors import InputError
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.scoring import score
from ebformer.tally import Tally

pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30)


@given(pairs, st.randoms())
def test_order_is_irrelevant_and_equal_pairs_add_up(units, random):
    shuffled = list(units)
    random.shuffle(shuffled)
    a, b = (Holdout.of(*zip(*some, strict=True)) for some in (units, shuffled))
    for name in ("before", "after", "multiplicity"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    expanded = np.repeat(np.stack([a.before, a.after], axis=1), a.multiplicity, axis=0).tolist()
    assert sorted(map(tuple, expanded)) == sorted(units)
    assert a.tally == Tally.of([x for x, _ in units])
    assert a.n == len(units)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 8.0])
@pytest.mark.parametrize(
    "draw_rates", [lambda rng, n: rng.gamma(0.3, 10, n), lambda rng, n: rng.choice([1.0, 30.0], n)]
)
def test_dispersion_and_drift_are_one_under_the_model_whatever_the_prior(ratio, draw_rates):
    rng = np.random.default_rng(1)
    theta = draw_rates(rng, 200_000)
    still = Holdout.of(rng.poisson(theta), rng.poisson(ratio * theta), ratio)
    assert still.dispersion == pytest.approx(1, abs=0.02)
    assert still.drift == pytest.approx(1, abs=0.02)
    moved = Holdout.of(rng.poisson(theta), rng.poisson(ratio * theta * rng.choice([0.4, 1.6], theta.size)), ratio)
    assert moved.dispersion > 1.1


def test_thinning_makes_two_independent_poisson_looks():
    rng = np.random.default_rng(2)
    tally = Tally.of(rng.poisson(3.0, 100_000))
    looks = Holdout.thinned(tally, 0.25, rng)
    x, y = (np.repeat(a, looks.multiplicity) for a in (looks.before, looks.after))
    assert looks.ratio == 3.0
    assert Tally.of(x + y) == tally
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.015
    assert x.mean() == pytest.approx(0.75, abs=0.02)
    assert x.var() == pytest.approx(0.75, abs=0.03)


def test_two_columns_of_a_table(tmp_path):
    path = tmp_path / "autumn=7" / "teams.csv"  # a folder of that name is no column
    path.parent.mkdir()
    path.write_text("club,autumn,spring\nA,3,4\nB,0,1\nC,3,4\n")
    clubs = Holdout.from_table(path, "autumn", "spring", ratio=2.0)
    assert (clubs.before.tolist(), clubs.multiplicity.tolist()) == ([0, 3], [1, 2])
    assert (clubs.data, clubs.ratio) == ("teams.csv", 2.0)


def test_a_name_with_brackets_is_a_name(tmp_path):
    for name, count in (("mine[1].csv", 3), ("mine1.csv", 5)):
        (tmp_path / name).write_text(f"before,after\n{count},1\n")
    assert Holdout.from_table(tmp_path / "mine[1].csv", "before", "after").before.tolist() == [3]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n", "no column 'before'"),
        ("before,after\n1,2\n,3\n", "column 'before' has no entry in row 2"),
        ("before,after\n1,2\n1,-2\n", r"wrong\.csv, row 2: after is -2: give whole numbers of at least 0"),
        ("before,after\n1,2\n1.5,2\n", r"wrong\.csv, row 2: before is 1\.5: counts are whole numbers"),
        ("before,after\n1,2\nNA,2\n", r"wrong\.csv: column 'before' has no entry in row 2"),
        ("before,after\n1,2\nx,2\n2,3\n,1\ny,1", r"wrong\.csv: column 'before' has no entry in row 4"),
        ("before,after\n1,2\nx,2\n2,3\ny,1", r"wrong\.csv, row 2: before is 'x', not a number \(and 1 more row\)"),
    ],
)
def test_a_wrong_table_is_refused_in_one_sentence(tmp_path, content, said):
    path = tmp_path / "wrong.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=said) as caught:
        Holdout.from_table(path, "before", "after")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ratio", [0.0, -1.0, np.inf, np.nan])
def test_a_ratio_is_positive_and_finite(ratio):
    with pytest.raises(InputError, match="exposure ratio"):
        Holdout.of([1], [1], ratio)


def test_exposures_of_both_looks_are_read_and_scored(tmp_path: Path) -> None:
    """A fitted prior beats the raw rates, and exposures in other units change nothing."""
    rng = np.random.default_rng(0)
    n = 400
    theta, t, s = rng.gamma(3.0, 0.2, n), rng.integers(1, 40, n), rng.integers(1, 40, n)
    path = tmp_path / "skaters.csv"
    rows = zip(rng.poisson(theta * t), t, rng.poisson(theta * s), s, strict=True)
    path.write_text("a,t,b,s\n" + "".join(f"{a},{k},{b},{f}\n" for a, k, b, f in rows))
    looks = Holdout.from_table(path, "a", "b", known="t", future="s")
    assert looks.n == n
    assert looks.ratio == pytest.approx(s.sum() / t.sum())
    assert looks.dispersion == pytest.approx(1.0, abs=0.25)
    found = score(looks, eb.estimator("gamma")(looks.tally))
    assert found.rmse_improvement > 10
    assert found.coverage == pytest.approx(0.93, abs=0.05)
    doubled = Holdout(looks.before, looks.after, looks.multiplicity, known=2.0 * looks.known, future=2.0 * looks.future)
    again = score(doubled, eb.estimator("gamma")(doubled.tally))
    assert again.rmse_improvement == pytest.approx(found.rmse_improvement, rel=1e-6)
    assert again.log_score == pytest.approx(found.log_score, rel=1e-6)
    with pytest.raises(InputError, match="only one look has exposures"):
        Holdout.from_table(path, "a", "b", known="t")
