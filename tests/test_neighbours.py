"""Districts and their neighbours: what lies near tells more, as far as the counts say so."""

from __future__ import annotations

import warnings
from pathlib import Path

import geopandas
import numpy as np
import pandas
import polars
import pytest
import shapely
from libpysal.graph import Graph

import ebformer as eb
from command_line import ebformer
from ebformer.datasets import DATASETS, FILES
from ebformer.errors import InputError
from ebformer.pooling import pool, side_by_side
from ebformer.tables.borders import borders
from ebformer.tables.columns import Columns

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


def test_a_fit_keeps_pairs_that_come_but_once() -> None:
    frame, near, _ = chain(2.0, 1)
    fits = [eb.fit(frame, "cases", "expected", "district", neighbours=pairs) for pairs in (near, iter(near))]
    assert fits[0].neighbours == fits[1].neighbours
    assert fits[0].updated(frame) == fits[1].updated(frame)


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


def counties() -> geopandas.GeoDataFrame:
    """The shipped map of North Carolina with its births and deaths."""
    table = pandas.DataFrame(DATASETS["sids"].table())
    return geopandas.read_file(FILES["sids-map"])[["county", "geometry"]].merge(table, on="county")


SIDS = Columns("deaths_74", "births_74", "county")


def test_shapes_that_meet_are_those_of_queen_contiguity() -> None:
    found = counties()
    graph = Graph.build_contiguity(found.set_index("county").geometry, rook=False)
    queen = {(a, b) for a, b in graph.adjacency.index if a < b}
    near = borders(found, "geometry", SIDS)
    assert set(near) == queen
    shipped = pandas.read_csv(FILES["sids-borders"])
    assert near == list(shipped.itertuples(index=False, name=None))


def test_districts_meet_without_a_corner_in_common_and_in_several_rows_or_pieces() -> None:
    boxes = {"large": (0, 0, 3, 3), "beside": (3, 1, 4, 2), "corner": (4, 2, 5, 3), "island": (9, 9, 10, 10)}
    rows = [*boxes, "large", "island"]
    shapes = [shapely.box(*boxes[name]) for name in rows[:-1]] + [shapely.box(9, 2, 5, 3)]  # the island has a bridge
    frame = geopandas.GeoDataFrame({"place": rows, "n": 1}, geometry=shapes).rename_geometry("outline")
    pairs = [("beside", "corner"), ("beside", "large"), ("corner", "island")]
    assert borders(frame, "outline", Columns("n", group="place")) == pairs


def test_a_map_learns_from_its_own_borders_and_stays_a_map() -> None:
    found = counties()
    near = borders(found, "geometry", SIDS)
    by_shape = eb.shrink(found, "deaths_74", "births_74", "county", neighbours="geometry", method="gamma")
    by_pairs = eb.shrink(found, "deaths_74", "births_74", "county", neighbours=near, method="gamma")
    assert isinstance(by_shape, geopandas.GeoDataFrame)
    assert by_shape.crs == found.crs
    assert np.array_equal(by_shape["estimate"], by_pairs["estimate"])
    fit = eb.fit(found, "deaths_74", "births_74", "county", neighbours="geometry", method="gamma")
    assert np.allclose(fit.apply(found)["estimate"], by_shape["estimate"])


def test_no_weight_and_no_rate_is_negative_on_maps_of_equal_risk() -> None:
    found, rng = counties(), np.random.default_rng(0)
    near = borders(found, "geometry", SIDS)
    for _ in range(20):
        drawn = found.assign(deaths_74=rng.poisson(0.002 * found["births_74"]))
        fit = eb.fit(drawn, "deaths_74", "births_74", "county", neighbours=near, method="npmle-em")
        for rule in fit.rules.values():
            assert (rule.prior.weights > 0).all()
            assert rule.prior.weights.sum() == pytest.approx(1)
            assert (rule.prior.atoms >= 0).all()
        answered = fit.apply(drawn)
        assert (answered["estimate"] > 0).all()
        assert (answered["lower"] >= 0).all()


def test_neighbours_on_a_real_map_help_where_rates_have_a_trend() -> None:
    found, off = counties(), np.zeros(2)
    near = borders(found, "geometry", SIDS)
    west_to_east = np.array([shape.centroid.x for shape in found.geometry])
    theta = 0.002 * np.exp(0.35 * (west_to_east - west_to_east.mean()))
    for seed in range(4):
        deaths = np.random.default_rng(seed).poisson(theta * found["births_74"])
        drawn = found.assign(deaths_74=deaths)
        for i, pairs in enumerate((near, None)):
            group = None if pairs is None else "county"
            answered = eb.shrink(drawn, "deaths_74", "births_74", group, neighbours=pairs, method="gamma")
            off[i] += ((answered["estimate"] - theta) ** 2).sum()
    assert off[0] < 0.8 * off[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: pandas.DataFrame(frame.drop(columns="geometry")), "no column 'geometry' of shapes"),
        (lambda frame: frame.assign(geometry=frame.representative_point()), "only areas have borders"),
        (lambda frame: frame.assign(geometry=frame.geometry.where(frame.county != "Ashe")), "county Ashe has no shape"),
        (lambda frame: frame.iloc[[0, 50]], "no two shapes in geometry meet"),
        (lambda frame: polars.DataFrame({"county": ["a"], "deaths_74": [1], "births_74": [9]}), "give a GeoDataFrame"),
    ],
)
def test_maps_without_neighbours_are_refused_in_a_sentence(change, said: str) -> None:
    with pytest.raises(InputError, match=said):
        eb.shrink(change(counties()), "deaths_74", "births_74", "county", neighbours="geometry")


def test_shapes_need_names() -> None:
    with pytest.raises(InputError, match="name the one that names the places"):
        eb.shrink(counties(), "deaths_74", "births_74", neighbours="geometry")
