"""Regressions of the natural parameter on covariates: boosted trees or a line, as arrays that JSON can hold.

scikit-learn fits them; what it found is copied, so that answering needs numpy alone and a saved fit holds no code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.errors import InputError

Kind = Literal["trees", "linear"]
TREES, LEARNING_RATE, LEAVES, LEAST_LEAF, BINS = 100, 0.1, 8, 20, 63
"""At most so many small trees; how many of them are used is decided by units that they were not fitted to. Numbers are
cut into so many bins, or as many as the categories of another covariate need. A leaf holds so many units."""

STRANGE = 0.02
"""Such a share of numbers at either end may be anything without tilting a line."""
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Forest:
    """eta(z) = start + sum over trees of the value of the leaf that z [covariates] falls into.

    All nodes of all trees stand in one array [nodes]; `roots` [trees] tells where each begins. A node sends z to the
    left where z[feature] <= threshold, where it is missing and `missing_left`, or where it is one of the categories in
    `sets[category_set]`; a leaf leads to itself.
    """

    start: float
    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Floats
    missing_left: NDArray[np.bool_]
    category_set: NDArray[np.int64]
    """-1 where the node compares numbers."""
    sets: tuple[tuple[int, ...], ...]

    @property
    def stages(self) -> int:
        """How many steps there are from a constant to this regression."""
        return int(self.roots.size)

    def up_to(self, stages: int) -> Forest:
        """The first trees alone."""
        end = int(self.roots[stages]) if stages < self.stages else self.left.size
        nodes = {name: getattr(self, name)[:end] for name in NODES}
        used = 1 + int(nodes["category_set"].max(initial=-1))
        return Forest(start=self.start, roots=self.roots[:stages], sets=self.sets[:used], **nodes)

    def leaves(self, z: Floats) -> Iterator[list[tuple[NDArray[np.intp], float]]]:
        """For every tree the rows of z [n, p] that fall into each of its leaves, and what the leaf adds."""
        columns, everyone = np.ascontiguousarray(z.T), np.arange(z.shape[0])
        missing = np.isnan(columns)
        for root in self.roots.tolist():
            found, waiting = [], [(root, everyone)]
            while waiting:
                node, rows = waiting.pop()
                if self.left[node] == node:
                    found.append((rows, float(self.value[node])))
                    continue
                feature, which = self.feature[node], self.category_set[node]
                entry = columns[feature][rows]
                left = entry <= self.threshold[node] if which < 0 else np.isin(entry, self.sets[which])
                if self.missing_left[node]:
                    left |= missing[feature][rows]
                waiting += [(int(self.left[node]), rows[left]), (int(self.right[node]), rows[~left])]
            yield found

    def eta(self, z: Floats) -> Floats:
        """[n], for covariates z [n, p]."""
        total = np.full(z.shape[0], self.start)
        for tree in self.leaves(z):
            for rows, value in tree:
                total[rows] += value
        return total

    def by_stage(self, z: Floats) -> Floats:
        """eta after 1, 2, ... trees: [n, trees]."""
        added = np.empty((self.stages, z.shape[0]))
        for stage, tree in enumerate(self.leaves(z)):
            for rows, value in tree:
                added[stage, rows] = value
        return np.asarray(self.start + np.cumsum(added, axis=0).T)

    @classmethod
    def mean(cls, forests: Sequence[Forest]) -> Forest:
        """The mean of several, which is one with all their trees."""
        nodes = np.cumsum([0] + [one.left.size for one in forests])
        sets = np.cumsum([0] + [len(one.sets) for one in forests])
        joined: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in forests]) for name in NODES}
        for name in ("roots", "left", "right"):
            parts = [getattr(one, name) + first for one, first in zip(forests, nodes, strict=False)]
            joined[name] = np.concatenate(parts)
        which = [
            np.where(one.category_set < 0, -1, one.category_set + first)
            for one, first in zip(forests, sets, strict=False)
        ]
        joined["category_set"] = np.concatenate(which)
        joined["value"] = joined["value"] / len(forests)
        start = float(np.mean([one.start for one in forests]))
        return cls(start=start, sets=tuple(each for one in forests for each in one.sets), **joined)

    def record(self) -> dict[str, Any]:
        """As plain JSON values."""
        arrays = {name: getattr(self, name).tolist() for name in ("roots", *NODES)}
        return {"kind": "trees", "start": self.start, "sets": [list(codes) for codes in self.sets], **arrays}

    @classmethod
    def from_record(cls, found: dict[str, Any]) -> Forest:
        """What `record` wrote; a `ValueError` where it could not have."""
        arrays: dict[str, Any] = {name: np.array(found[name], dtype=kind) for name, kind in NODES.items()}
        roots, nodes = np.array(found["roots"], dtype=np.int64), arrays["left"].size
        sets = tuple(tuple(int(code) for code in codes) for codes in found["sets"])
        inside = all(
            each.size == 0 or (each.min() >= least and each.max() < most)
            for each, least, most in (
                (roots, 0, nodes),
                (arrays["category_set"], -1, len(sets)),
                (arrays["feature"], 0, 2**31),
            )
        )
        leaf = arrays["left"] == np.arange(nodes)
        forward = all(np.all(leaf | (arrays[side] > np.arange(nodes))) for side in ("left", "right"))
        bounded = nodes == 0 or max(arrays["left"].max(), arrays["right"].max()) < nodes
        if not (inside and forward and bounded and all(each.shape == (nodes,) for each in arrays.values())):
            raise ValueError("nodes of trees that lead nowhere")
        return cls(start=float(found["start"]), roots=roots, sets=sets, **arrays)


NODES: dict[str, Any] = {
    "feature": np.int64,
    "threshold": np.float64,
    "left": np.int64,
    "right": np.int64,
    "value": np.float64,
    "missing_left": np.bool_,
    "category_set": np.int64,
}
"""What a node has, and of which kind."""


@dataclass(frozen=True, eq=False)
class Line:
    """eta(z) = start + a sum over covariates: slope (z - centre), or the effect of its category, or of none.

    Numbers below `low` [p] count as that and those above `high` as that: one strange entry tilts no line.
    `effects[j]` are those of the categories of covariate j, without any where it is a number; `missing` [p] is added
    where the entry is missing or of a new category.
    """

    start: float
    centre: Floats
    slope: Floats
    missing: Floats
    effects: tuple[tuple[float, ...], ...]
    low: Floats
    high: Floats

    def up_to(self, stages: int) -> Line:
        """The line itself: it is fitted in one stage."""
        return self

    def parts(self, z: Floats) -> Floats:
        """What each covariate adds: [n, p] for covariates z [n, p]."""
        found = self.slope * (np.clip(z, self.low, self.high) - self.centre)
        for j, effects in enumerate(self.effects):
            if effects:
                known = np.isfinite(z[:, j]) & (z[:, j] < len(effects))
                found[:, j] = np.array(effects)[np.where(known, z[:, j], 0.0).astype(np.int64)]
                found[~known, j] = np.nan
        return np.where(np.isnan(found), self.missing, found)

    def eta(self, z: Floats) -> Floats:
        """[n], for covariates z [n, p]."""
        return np.asarray(self.start + self.parts(z).sum(axis=1))

    def by_stage(self, z: Floats) -> Floats:
        """eta after its one stage: [n, 1]."""
        return self.eta(z)[:, None]

    @classmethod
    def mean(cls, lines: Sequence[Line]) -> Line:
        """The mean of several with the same ends, which is a line."""
        each = [one.slope for one in lines]
        start = np.mean([one.start - one.slope @ one.centre for one in lines])
        none = np.zeros_like(each[0])
        missing = np.mean([one.missing + one.slope * one.centre for one in lines], axis=0)
        together = zip(*(one.effects for one in lines), strict=True)
        effects = tuple(tuple(np.mean(same, axis=0).tolist()) for same in together)
        return cls(float(start), none, np.mean(each, axis=0), missing, effects, lines[0].low, lines[0].high)

    def record(self) -> dict[str, Any]:
        """As plain JSON values."""
        arrays = {name: getattr(self, name).tolist() for name in ("centre", "slope", "missing", "low", "high")}
        return {"kind": "linear", "start": self.start, "effects": [list(each) for each in self.effects], **arrays}

    @classmethod
    def from_record(cls, found: dict[str, Any]) -> Self:
        """What `record` wrote; a `ValueError` where it could not have."""
        effects = tuple(tuple(float(effect) for effect in each) for each in found["effects"])
        without = {"low": [-LARGEST] * len(effects), "high": [LARGEST] * len(effects)}  # as in fits of 0.2
        arrays: dict[str, Any] = {
            name: np.array((without | found)[name], dtype=np.float64)
            for name in ("centre", "slope", "missing", "low", "high")
        }
        if any(each.shape != (len(effects),) for each in arrays.values()):
            raise ValueError("a line with parts missing")
        return cls(start=float(found["start"]), effects=effects, **arrays)


@dataclass(frozen=True, eq=False)
class Blend:
    """eta(z) = start + sum over parts of share * eta_part(z): regressions, of which a constant takes the rest."""

    start: float
    shares: tuple[float, ...] = ()
    parts: tuple[Forest | Line, ...] = ()

    def eta(self, z: Floats) -> Floats:
        """[n], for covariates z [n, p]."""
        total = np.full(z.shape[0], self.start)
        for share, part in zip(self.shares, self.parts, strict=True):
            total += share * part.eta(z)
        return total

    @classmethod
    def mean(cls, blends: Sequence[Blend]) -> Blend:
        """The mean of several with the same shares of regressions of the same kinds."""
        together: Any = zip(*(one.parts for one in blends), strict=True)
        parts = tuple(type(same[0]).mean(same) for same in together)
        return cls(float(np.mean([one.start for one in blends])), blends[0].shares, parts)

    def record(self) -> dict[str, Any]:
        """As plain JSON values."""
        parts = [part.record() for part in self.parts]
        return {"kind": "blend", "start": self.start, "shares": list(self.shares), "parts": parts}

    @classmethod
    def from_record(cls, found: dict[str, Any]) -> Blend:
        """What `record` wrote; a `ValueError` where it could not have."""
        parts = tuple((Line if each["kind"] == "linear" else Forest).from_record(each) for each in found["parts"])
        shares = tuple(float(share) for share in found["shares"])
        if len(shares) != len(parts) or not np.all(np.isfinite([found["start"], *shares])):
            raise ValueError("a blend with parts missing")
        return cls(float(found["start"]), shares, parts)


def read_regression(found: dict[str, Any]) -> Blend:
    """The regression that a record holds; fits of 0.2 have one part."""
    one = {"kind": "blend", "start": 0.0, "shares": [1.0], "parts": [found]}
    return Blend.from_record(found if found["kind"] == "blend" else one)


def ends(z: Floats, units: Floats) -> tuple[Floats, Floats]:
    """Where the numbers of covariates [n, p] end for a line, each of so many units: all but `STRANGE` lie within.

    Where these are alike up to an end, as among flags that are hardly ever set, the end is the farthest number.

    >>> low, high = ends(np.append(np.arange(99.0), 1e9)[:, None], np.ones(100))
    >>> low.tolist(), high.tolist()
    ([1.0], [97.0])
    """
    low, high = np.full(z.shape[1], -LARGEST), np.full(z.shape[1], LARGEST)
    for j, entries in enumerate(z.T):
        seen = np.flatnonzero(np.isfinite(entries))
        if seen.size:
            order = seen[np.argsort(entries[seen], kind="stable")]
            below = np.cumsum(units[order])
            at = np.searchsorted(below, below[-1] * np.array([STRANGE, 0.5, 1.0 - STRANGE]))
            first, middle, last = entries[order][at]
            low[j] = first if first < middle else entries[order[0]]
            high[j] = last if last > middle else entries[order[-1]]
    return low, high


def train(
    kind: Kind,
    channel: Channel,
    y: Floats,
    weight: Floats,
    z: Floats,
    categories: Sequence[int],
    least: int = LEAST_LEAF,
    limits: tuple[Floats, Floats] | None = None,
) -> Forest | Line | None:
    """Fit eta(z) to raw rates, shares or effects y [n] with these weights; None where all are the same.

    The loss is that of the channel: Poisson, logistic or squared. `categories` [p] tells how many a covariate has, 0
    where it is a number; those that have any come first. A leaf of a tree holds `least` of these n; a line ends at
    these `limits`, or at the `ends` of z.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise InputError("covariates need scikit-learn: pip install 'ebformer[covariates]'") from error
    if channel.name == "binomial":  # a share y of weight w is y w successes and (1 - y) w failures
        z, y, weight = (
            np.concatenate([z, z]),
            np.repeat([1.0, 0.0], y.size),
            np.concatenate([y * weight, (1.0 - y) * weight]),
        )
    used = weight > 0
    z, y, weight = z[used], y[used], weight[used] / weight[used].mean()
    if y.size == 0 or np.all(y == y[0]):
        return None
    if kind == "linear":
        return _line(channel, y, weight, z, categories, limits or ends(z, weight))
    return _forest(channel, y, weight, z, categories, least)


def _forest(channel: Channel, y: Floats, weight: Floats, z: Floats, categories: Sequence[int], least: int) -> Forest:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    common: dict[str, Any] = {
        "max_iter": TREES,
        "learning_rate": LEARNING_RATE,
        "max_leaf_nodes": LEAVES,
        "min_samples_leaf": least,
        "max_bins": max(BINS, *categories),
        "categorical_features": [many > 0 for many in categories],
        "early_stopping": False,
        "random_state": 0,
    }
    loss = {"poisson": "poisson", "normal": "squared_error"}
    model = (
        HistGradientBoostingClassifier(**common)
        if channel.name == "binomial"
        else HistGradientBoostingRegressor(loss=loss[channel.name], **common)
    )
    model.fit(z, y, sample_weight=weight)
    return copied(model, categories)


def copied(model: Any, categories: Sequence[int]) -> Forest:
    """The trees of a HistGradientBoosting model whose categorical covariates, if any, come first."""
    encoders = [] if model.is_categorical_ is None else model._preprocessor.named_transformers_["encoder"].categories_
    nodes: dict[str, list[NDArray[Any]]] = {name: [] for name in NODES}
    roots: list[int] = []
    sets: list[tuple[int, ...]] = []
    first = 0
    for (tree,) in model._predictors:
        node, bits = tree.nodes, tree.raw_left_cat_bitsets
        size, leaf = node.size, node["is_leaf"].astype(bool)
        which = np.full(size, -1)
        for at in np.flatnonzero(node["is_categorical"].astype(bool) & ~leaf):
            feature, of = int(node["feature_idx"][at]), bits[node["bitset_idx"][at]]
            number = {int(code): i for i, code in enumerate(encoders[feature]) if code == code}
            left = {code: bool((of[i // 32] >> (i % 32)) & 1) for code, i in number.items()}
            unseen = bool(node["missing_go_to_left"][at])  # a category without units is as good as missing
            which[at] = len(sets)
            sets.append(tuple(code for code in range(categories[feature]) if left.get(code, unseen)))
        own = np.arange(first, first + size)
        found = {
            "feature": np.where(leaf, 0, node["feature_idx"]),
            # Infinite where only what is missing goes right; JSON has no word for it.
            "threshold": np.minimum(np.where(leaf | (which >= 0), 0.0, node["num_threshold"]), LARGEST),
            "left": np.where(leaf, own, node["left"].astype(np.int64) + first),
            "right": np.where(leaf, own, node["right"].astype(np.int64) + first),
            "value": np.where(leaf, node["value"], 0.0),
            "missing_left": node["missing_go_to_left"].astype(bool),
            "category_set": which,
        }
        for name, array in found.items():
            nodes[name].append(array)
        roots.append(first)
        first += size
    joined: dict[str, Any] = {name: np.concatenate(nodes[name]).astype(kind) for name, kind in NODES.items()}
    start = float(np.ravel(model._baseline_prediction)[0])
    return Forest(start=start, roots=np.array(roots, dtype=np.int64), sets=tuple(sets), **joined)


def _line(
    channel: Channel,
    y: Floats,
    weight: Floats,
    z: Floats,
    categories: Sequence[int],
    limits: tuple[Floats, Floats],
) -> Line:
    """A penalty of one unit's worth on standardised coefficients keeps categories of few units near the others."""
    from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

    number = np.equal(categories, 0)
    low, high = np.where(number, limits[0], -LARGEST), np.where(number, limits[1], LARGEST)
    p, z = z.shape[1], np.clip(z, low, high)
    centre, scale, blocks = np.zeros(p), np.ones(p), []
    for j, many in enumerate(categories):
        seen = np.isfinite(z[:, j])
        if many:
            blocks.append(z[:, j, None] == np.arange(many))
        elif seen.any():
            share = weight[seen] / weight[seen].sum()
            centre[j] = share @ z[seen, j]
            scale[j] = np.sqrt(share @ (z[seen, j] - centre[j]) ** 2) or 1.0
            blocks.append(np.where(seen, (z[:, j] - centre[j]) / scale[j], 0.0)[:, None])
        else:
            blocks.append(np.zeros((z.shape[0], 1)))
        blocks.append(~seen[:, None])
    features = np.concatenate(blocks, axis=1).astype(np.float64)
    model: Any
    if channel.name == "binomial":
        model = LogisticRegression(C=1.0, max_iter=1000)
    elif channel.name == "poisson":
        model = PoissonRegressor(alpha=1.0 / weight.sum(), max_iter=1000)
    else:
        model = Ridge(alpha=1.0)
    model.fit(features, y, sample_weight=weight)
    found, slope, missing, effects = np.ravel(model.coef_).tolist(), np.zeros(p), np.zeros(p), []
    for j, many in enumerate(categories):
        own, found = found[: (many or 1)], found[(many or 1) :]
        effects.append(tuple(own) if many else ())
        slope[j] = 0.0 if many else own[0] / scale[j]
        missing[j] = found.pop(0)
    return Line(float(np.ravel(model.intercept_)[0]), centre, slope, missing, tuple(effects), low, high)
