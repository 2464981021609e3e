"""Maps: areas of a GeoJSON file in the colours of their numbers, raw beside shrunken."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.report.cells import cell
from ebformer.report.svg import tag

CLASSES = 7
SIDE = 2000
"""A map is drawn in so many steps, from its one end to the other ..."""
MOST_TEXT = 500_000
"""... and in coarser ones if its outlines would take more letters than this ..."""
FEW_LETTERS = 32
"""... unless each took no more than these, which no step makes far fewer."""
FAR = 1e100
"""Beyond this, and closer together than one over it, coordinates are none: no canvas tells them apart."""


@dataclass(frozen=True, eq=False)
class Areas:
    """The areas of a map by their key: polygons as rings [k, 2] of longitude and latitude, or of plane coordinates."""

    key: str
    rings: dict[str, list[Floats]]

    @classmethod
    def read(cls, path: str, key: str) -> Areas:
        """Those of a GeoJSON file, called by the property `key` or, where they have none, by their id."""
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is no GeoJSON: it does not hold JSON") from error
        features = found.get("features") if isinstance(found, dict) else None
        if not isinstance(features, list):
            raise InputError(f"{path} is no GeoJSON with features: give a FeatureCollection of areas")
        rings: dict[str, list[Floats]] = {}
        for feature in filter(lambda each: isinstance(each, dict), features):
            properties = feature.get("properties")
            called = properties.get(key) if isinstance(properties, dict) else None
            called = feature.get("id") if called is None else called
            outlines = [ring for ring in map(_ring, _outlines(feature.get("geometry"))) if ring is not None]
            if called is not None and outlines:
                rings.setdefault(str(called), []).extend(outlines)
        if not rings:
            raise InputError(f"{path} has no area with a property {key!r} or an id: name another key")
        return cls(key, rings)

    def places(self, keys: Sequence[str]) -> dict[str, int]:
        """Where the row of each area stands among these keys; leading zeros may be missing on one side."""
        for plain in (str, lambda text: text.strip().lstrip("0") or "0"):
            rows: dict[str, list[int]] = {}
            for place, entry in enumerate(keys):
                rows.setdefault(plain(entry), []).append(place)
            shared = [area for area in self.rings if plain(area) in rows]
            if shared:
                crowded = next((area for area in shared if len(rows[plain(area)]) > 1), None)
                if crowded is not None:
                    raise InputError(f"several rows have {self.key} {crowded}, and a map shows one number per area")
                return {area: rows[plain(area)][0] for area in shared}
        raise InputError(
            f"no row's {self.key} is on the map: the table has {next(iter(keys), '')!r}, "
            f"the map {next(iter(self.rings))!r}"
        )


def _outlines(geometry: Any) -> Iterator[Any]:
    """The rings of polygons, however they are nested; what is no geometry has none."""
    waiting = [geometry]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict):
            continue
        if part.get("type") == "Polygon":
            yield from _listed(part.get("coordinates"))
        elif part.get("type") == "MultiPolygon":
            for polygon in _listed(part.get("coordinates")):
                yield from _listed(polygon)
        waiting.extend(_listed(part.get("geometries")))


def _listed(found: Any) -> list[Any]:
    """What a file lists, nothing where it lists nothing."""
    return found if isinstance(found, list) else []


def _ring(points: Any) -> Floats | None:
    """A ring as an array, None where it is none."""
    try:
        ring = np.array([[float(point[0]), float(point[1])] for point in points])
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        return None
    return ring if ring.ndim == 2 and len(ring) >= 3 and bool((np.abs(ring) <= FAR).all()) else None


def projected(rings: Sequence[Floats]) -> list[Floats]:
    """Rings on a plane, y downwards: degrees by Lambert's azimuthal equal-area projection around their middle.

    Areas of the whole world, which it would bend too far, and coordinates that are no degrees stay as they are.
    """
    points = np.concatenate(rings)
    if np.abs(points[:, 0]).max() > 180.001 or np.abs(points[:, 1]).max() > 90.001:
        return [ring * [1.0, -1.0] for ring in rings]
    angles = np.radians(points[:, 0])
    middle = np.arctan2(np.sin(angles).mean(), np.cos(angles).mean())
    centre = np.radians((points[:, 1].min() + points[:, 1].max()) / 2)
    away = np.abs((angles - middle + np.pi) % (2 * np.pi) - np.pi)
    if away.max() > np.radians(110):
        return [ring * [1.0, -1.0] for ring in rings]

    def place(ring: Floats) -> Floats:
        east, north = np.radians(ring[:, 0]) - middle, np.radians(ring[:, 1])
        near = 1 + np.sin(centre) * np.sin(north) + np.cos(centre) * np.cos(north) * np.cos(east)
        k = np.sqrt(2 / np.maximum(near, 1e-9))
        x = k * np.cos(north) * np.sin(east)
        y = k * (np.cos(centre) * np.sin(north) - np.sin(centre) * np.cos(north) * np.cos(east))
        return np.stack([x, -y], axis=1)

    return [place(ring) for ring in rings]


def outlines(areas: Areas) -> tuple[dict[str, str], float]:
    """The path of every area on a canvas `SIDE` wide, and how high it is."""
    flat = [ring for rings in areas.rings.values() for ring in rings]
    placed = projected(flat)
    points = np.concatenate(placed)
    first, size = points.min(axis=0), np.ptp(points, axis=0)
    widest = max(size[0], 0.8 * size[1])
    times = SIDE / (widest if widest > 1 / FAR else 1.0)
    most = max(MOST_TEXT, FEW_LETTERS * len(flat))
    step = 1.0
    while True:
        paths, ring = {}, iter(placed)
        for area, rings in areas.rings.items():
            paths[area] = "".join(_path((next(ring) - first) * times / step, step) for _ in rings)
        if sum(map(len, paths.values())) <= most:
            return paths, float(np.ceil(size[1] * times)) or 1.0
        step *= 2.0


def _path(ring: Floats, step: float) -> str:
    """Whole steps from point to point, without those that do not move; a ring too small for them stays a dot."""
    grid = np.round(ring).astype(np.int64)
    moved = np.diff(grid, axis=0)
    moved = moved[np.any(moved != 0, axis=1)] * int(step)
    start = grid[0] * int(step)
    if moved.shape[0] < 2:
        return f"M{start[0]},{start[1]}h2v2z"
    return f"M{start[0]},{start[1]}l" + " ".join(f"{a},{b}" for a, b in moved) + "z"


def choropleths(areas: Areas, keys: Sequence[str], raw: Floats, estimate: Floats, unit: str) -> Markup:
    """Two maps in the same classes, of raw and of estimated thetas, and what the classes mean."""
    places, (paths, height) = areas.places(keys), outlines(areas)
    shown = np.array(sorted(places.values()))
    both = np.concatenate([raw[shown], estimate[shown]])
    both = both[np.isfinite(both)]
    if not both.size:
        raise InputError(f"no row with an answer has its {areas.key} on the map: leave the map out")
    breaks = np.unique(np.quantile(both, np.arange(1, CLASSES) / CLASSES))
    order = list(paths)
    names = {area: f"area-{number}" for number, area in enumerate(order)}
    drawn: list[Markup] = []
    for title, values in (("raw", raw), ("estimated", estimate)):
        inside = []
        for area in order:
            place = places.get(area)
            known = place is not None and bool(np.isfinite(values[place]))
            which = f"class-{np.searchsorted(breaks, values[place], side='right')}" if known else "nothing"
            inside.append(tag("use", href=f"#{names[area]}", class_=which, data_unit=place))
        shapes = [tag("defs", *(tag("path", id=names[area], d=paths[area]) for area in order))] if not drawn else []
        box = f"-10 -10 {SIDE + 20} {height + 20:g}"
        label = f"Map of {title} {unit}"
        svg = tag("svg", *shapes, *inside, viewBox=box, role="img", aria_label=label, data_kind="map", class_="map")
        drawn.append(tag("div", tag("p", f"{title} {unit}", class_="map-title"), svg, class_="one-map"))
    ends = [
        f"below {cell(float(breaks[0]))}",
        *(f"{cell(float(a))} to {cell(float(b))}" for a, b in pairwise(breaks)),
    ]
    ends.append(f"from {cell(float(breaks[-1]))}")
    entries = [tag("li", tag("span", class_=f"swatch class-{number}"), text) for number, text in enumerate(ends)]
    return tag("div", *drawn, class_="maps") + tag("ul", *entries, class_="classes")
