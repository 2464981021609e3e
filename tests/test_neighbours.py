"""Districts and their neighbours: what lies near tells more, as far as the counts say so."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars
import pytest

import ebformer as eb
from command_line import ebformer
from ebformer.errors import InputError
from ebformer.pooling import pool, side_by_side

warnings.simplefilter("ignore")
SIDE = 12


def chain(trend: float, seed: int) -> tuple[polars.DataFrame, list[tuple[str, str]], np.ndarray]:
    """Districts on a square grid, whose log rates rise from corner to corner; their neighbours, and the truth."""
    rng = np.random.default_rng(seed)
    i, j = (axis.ravel() for axis in np.indices((SIDE, SIDE)))
    theta = np.exp(trend * ((i + j) / (2 * SIDE) - 0.5) + 0.2 * rng.normal(size=i.size))
    expected = rng.gamma(3.0, 1.0, i.size)
    names = [f"{a}-{b}" for a, b in zip(i, j, strict=True)]
    frame = polars.DataFrame({"district": names, "cases": rng.poisson(theta * expected), "expected": expected})
    near = [(f"{a}-{b}", f"{a + c}-{b + 1 - c}") for a in range(SIDE) for b in range(SIDE) for c in (0, 1)]
    return frame, near, theta


@pytest.mark.parametrize(("trend", "most"), [(3.0, 0.8), (0.0, 1.03)])
def test_neighbours_help_where_there_is_a_trend_and_do_no_harm_elsewhere(trend: float, most: float) -> None:
    off, held = np.zeros(2), []
    for seed in range(4):  # on one map without a pattern chance alone moves the ratio by a few percent
        frame, near, theta = chain(trend, seed)
        alone = eb.shrink(frame, "cases", "expected", method="gamma")
        together = eb.shrink(frame, "cases", "expected", "district", neighbours=near, method="gamma")
        off += [float(((each["estimate"].to_numpy() - theta) ** 2).sum()) for each in (together, alone)]
        low, high = (together[name].to_numpy() for name in ("lower", "upper"))
        held.append((low <= theta) & (theta <= high))
        assert (together["estimate"] > 0).all()
    assert off[0] < most * off[1]
    assert np.mean(held) > 0.84


def test_a_district_without_neighbours_has_the_common_prior() -> None:
    tallies = [eb.Tally.of([x], [t]) for x, t in ((3, 1.0), (4, 1.5), (0, 2.0), (9, 2.0), (7, 1.0))]
    names = list("abcde")
    found = pool(tallies, eb.estimator("npmle-em"), None, side_by_side(names, [("a", "b"), ("d", "e")]))
    assert np.allclose(found.rules[2]([0, 5], 1.5), found.common([0, 5], 1.5), rtol=1e-9)


def test_pairs_in_either_order_twice_or_of_strangers_change_nothing() -> None:
    frame, near, _ = chain(2.0, 1)
    other = [(b, a) for a, b in near] + near[:9] + [("nowhere", "0-0")]
    one, two = (eb.shrink(frame, "cases", "expected", "district", neighbours=pairs) for pairs in (near, other))
    assert np.array_equal(one["estimate"], two["estimate"])


def test_the_command_and_a_saved_fit_agree_with_python(tmp_path: Path) -> None:
    frame, near, _ = chain(2.0, 2)
    frame.write_csv(tmp_path / "map.csv")
    polars.DataFrame(near, schema=["a", "b"], orient="row").write_csv(tmp_path / "borders.csv")
    told = ["--count", "cases", "--exposure", "expected", "--group", "district", "--neighbours", "borders.csv"]
    ran = ebformer("estimate", "map.csv", *told, "-o", "out.csv", "--save", "fit.json", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    same = eb.shrink(frame, "cases", "expected", "district", neighbours=near)
    assert np.allclose(polars.read_csv(tmp_path / "out.csv")["estimate"], same["estimate"])
    kept = eb.load_fit(tmp_path / "fit.json")
    assert np.allclose(kept.apply(frame)["estimate"], same["estimate"])
    assert kept.neighbours is not None
    assert kept.neighbours[0] == near[0]


def test_neighbours_that_are_not_in_the_table_are_refused() -> None:
    frame, _, _ = chain(1.0, 3)
    with pytest.raises(InputError, match="neighbours"):
        eb.shrink(frame, "cases", "expected", "district", neighbours=[("x", "y")])
