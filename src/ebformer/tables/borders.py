"""Neighbours by geometry: places on a map whose outlines meet, be it in a corner (Queen contiguity)."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from ebformer.errors import InputError
from ebformer.tables.columns import Columns
from ebformer.tables.eager import EagerTable

AREAS = {"Polygon", "MultiPolygon"}


def borders(frame: Any, shapes: str, columns: Columns) -> list[tuple[str, str]]:
    """The pairs of groups whose shapes, in this column of a GeoDataFrame, have a point in common.

    A group may have several shapes, and a shape may stand in several rows.

    >>> import geopandas, shapely
    >>> boxes = [shapely.box(x, 0, x + 1, 1) for x in (0, 1, 5)]
    >>> frame = geopandas.GeoDataFrame({"county": ["a", "b", "c"], "n": [1, 0, 2]}, geometry=boxes)
    >>> borders(frame, "geometry", Columns("n", group="county"))
    [('a', 'b')]
    """
    if columns.group is None:
        raise InputError("neighbours are groups, and no column of groups is named: name the one that names the places")
    kinds: Any = getattr(frame, "dtypes", None)
    if not hasattr(kinds, "get") or getattr(kinds.get(shapes), "name", None) != "geometry":
        raise InputError(f"the table has no column {shapes!r} of shapes: give a GeoDataFrame, or pairs of neighbours")
    from geopandas import GeoSeries

    table = EagerTable(nw.from_native(frame))
    columns.found_in(table.names)
    names = table.texts(columns.group)
    named = np.array([name is not None for name in names])
    names, areas = names[named], GeoSeries(frame[shapes].array[named])
    if (absent := areas.isna() | areas.is_empty).any():
        without = names[absent.to_numpy()][0]
        raise InputError(f"{columns.group} {without} has no shape in {shapes}: give one, or pairs of neighbours")
    if strange := set(areas.geom_type) - AREAS:
        raise InputError(f"{shapes} has a {min(strange)}, and only areas have borders: give pairs of neighbours")
    place = dict(zip(zip(names, areas.to_wkb(), strict=True), range(len(names)), strict=True))
    once = np.array(list(place.values()))
    names, areas = names[once], areas.iloc[once]
    meet = areas.sindex.query(areas, predicate="intersects").T.tolist()
    found = sorted({(names[a], names[b]) for a, b in meet if names[a] < names[b]})
    if not found:
        raise InputError(f"no two shapes in {shapes} meet, so no {columns.group} has neighbours: give pairs, or none")
    return found
