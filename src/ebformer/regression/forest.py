"""Boosted trees as arrays: what scikit-learn found, copied, so that answering needs numpy alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Loss
from ebformer.distributions import Floats
from ebformer.saved import finite

TREES, LEARNING_RATE, LEAVES, LEAST_LEAF, BINS = 100, 0.1, 8, 20, 63
"""At most so many small trees; how many of them are used is decided by units that they were not fitted to. Numbers are
cut into so many bins, or as many as the categories of another covariate need. A leaf holds so many units."""
MANY = 20_000
"""Units, below which threads would wait for each other longer than they work."""
LARGEST = float(np.finfo(np.float64).max)
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
        numbers = bool(np.isfinite(arrays["value"]).all()) and not np.isnan(arrays["threshold"]).any()
        if not (inside and forward and bounded and numbers and all(each.shape == (nodes,) for each in arrays.values())):
            raise ValueError("nodes of trees that lead nowhere")
        return cls(start=finite(found["start"]), roots=roots, sets=sets, **arrays)


def fit_forest(loss: Loss, y: Floats, weight: Floats, z: Floats, categories: Sequence[int], least: int) -> Forest:
    """Boost trees on y [n] with these weights, by this loss; a leaf holds `least` of these n."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits  # which scikit-learn needs itself

    z = np.where(np.isnan(z).all(axis=0), 0.0, z)  # what is missing throughout is constant, which is refused as missing
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
    model = (
        HistGradientBoostingClassifier(**common)
        if loss == "logistic"
        else HistGradientBoostingRegressor(loss="poisson" if loss == "poisson" else "squared_error", **common)
    )
    with threadpool_limits(1 if len(y) < MANY else None, user_api="openmp"):
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
