"""A prior as plain JSON values, and back: what a saved rule holds of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ebformer.bayes.marginal import admitted
from ebformer.channels.base import Channel
from ebformer.channels.mixed_prior import ConjugateMixture, MixedPrior
from ebformer.distributions import Floats
from ebformer.prior import AnyPrior, ConjugatePrior, GridPrior, Prior, UncertainPrior
from ebformer.saved import finite, vector


def prior_record(prior: AnyPrior) -> dict[str, Any]:
    """The values, under a name that tells the kind of prior; atoms and weights alone where it has no other.

    >>> prior_record(Prior([1.0, 4.0], [0.5, 0.5]))
    {'atoms': [1.0, 4.0], 'weights': [0.5, 0.5]}
    """
    if isinstance(prior, ConjugateMixture):
        return {"mixture": prior.parameters()}
    if isinstance(prior, MixedPrior):
        return {"mixed": prior.parameters()}
    if isinstance(prior, ConjugatePrior):
        return {prior.name: prior.parameters()}
    found = {"atoms": prior.atoms.tolist(), "weights": prior.weights.tolist()}
    if not isinstance(prior, GridPrior):
        return found
    point = {} if prior.point is None else {"point": prior.point}
    if isinstance(prior, UncertainPrior):
        return {"versions": found | {"weights": prior.versions.tolist()} | point}
    return {"grid": found | point}


def prior_of(record: dict[str, Any], channel: Channel) -> AnyPrior:
    """The prior that `prior_record` wrote down; a ValueError, or the like, where the values are none of a prior."""
    return admitted(_prior(record, channel), channel)


def _prior(record: dict[str, Any], channel: Channel) -> AnyPrior:
    if channel.conjugate in record:
        prior: AnyPrior = channel.conjugate_prior(**{k: finite(v) for k, v in record[channel.conjugate].items()})
        return prior
    if "mixed" in record:
        return MixedPrior(*_parts(record["mixed"], channel))
    if "mixture" in record:
        named = dict(record["mixture"])
        in_doubt = int(named.pop("in_doubt", 1))
        parts, weights = _parts(named, channel)
        if not (in_doubt >= 1 and weights.size % in_doubt == 0):
            raise ValueError("priors of several lengths")
        return ConjugateMixture(parts, weights, in_doubt)
    if "versions" in record:
        found = record["versions"]
        rows = np.stack([vector(row, 0.0, np.inf) for row in found["weights"]])
        return UncertainPrior(vector(found["atoms"], -np.inf, np.inf), rows, channel, _point(found))
    if "grid" in record:
        return GridPrior(*_atoms(record["grid"]), channel, _point(record["grid"]))
    return Prior(*_atoms(record))


def _parts(named: dict[str, Any], channel: Channel) -> tuple[ConjugatePrior, Floats]:
    """Conjugate priors by their parameters, and the weights of these."""
    vectors = {name: vector(values, -np.inf, np.inf) for name, values in named.items()}
    weights = vectors.pop("weights")
    if any(values.size != weights.size for values in vectors.values()):
        raise ValueError("parameters of several lengths")
    total = float(weights.sum())
    if not (bool(np.all(weights >= 0)) and abs(total - 1.0) < 1e-6):
        raise ValueError("weights that do not add up to 1")
    # As in `Prior`: to rounding they keep their bits, and beyond it a quantile would look for what is missing.
    return channel.conjugate_prior(**vectors), weights if abs(total - 1.0) < 1e-14 else weights / total


def _atoms(record: dict[str, Any]) -> tuple[Floats, Floats]:
    return vector(record["atoms"], -np.inf, np.inf), vector(record["weights"], 0.0, np.inf)


def _point(record: dict[str, Any]) -> float | None:
    """The atom that is a point, where one is."""
    point = record.get("point")
    if point is not None and finite(point) not in record["atoms"]:
        raise ValueError("a point that is no atom")
    return point
