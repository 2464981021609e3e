"""The column of notes: why a row has no answer, or what to know about the one it has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.prior import Prior
from ebformer.tables.fit import Fit
from ebformer.tables.observations import Observations
from ebformer.tables.source import Distinct

NOTE = "note"
"""What the column is called."""
FAR = 4.0
"""An observation so many deviations of its noise outside of a prior is none that the prior explains."""


def with_notes(
    fit: Fit, observations: Observations, unusable: Distinct, answers: dict[str, NDArray[Any]]
) -> tuple[Distinct, dict[str, NDArray[Any]]]:
    """The observations and those that have no answer, and the answers with their notes."""
    lost = unusable.rows.size
    padded: dict[str, NDArray[Any]] = {
        name: np.ma.array(
            np.append(values, np.zeros(lost, values.dtype)), mask=np.arange(values.size + lost) >= values.size
        )
        for name, values in answers.items()
    }
    texts = np.concatenate([notes(fit, observations), np.array(observations.reasons, dtype=object)])
    padded[NOTE] = np.ma.array(texts, mask=[text is None for text in texts])
    return observations.keys.and_then(unusable), padded


def notes(fit: Fit, observations: Observations) -> NDArray[np.object_]:
    """What to know about each answer [u], None where there is nothing."""
    names, group = observations.groups
    new = set(fit.unknown(observations))
    said = f"{fit.columns.group} is not in the fit: answered with the prior of all"
    told = [np.array([said if name in new else None for name in names], dtype=object)[group]]
    if observations.unseen is not None and fit.expectation is not None:
        codes, which = np.unique(observations.unseen, return_inverse=True)
        about = [fit.expectation.encoding.about_unseen(int(code)) for code in codes]
        told.append(np.array(about, dtype=object)[which])
    far = f"{fit.columns.x} is far beyond what the fit saw: the answer is the nearest it has"
    told.append(np.array([None, far], dtype=object)[beyond(fit, observations).astype(np.intp)])
    none = "nothing was seen of it, and the method has no prior to answer from"
    told.append(np.array([None, none], dtype=object)[unanswered(fit, observations).astype(np.intp)])
    several = [[text for text in texts if text is not None] for texts in zip(*told, strict=True)]
    return np.array(["; ".join(texts) or None for texts in several], dtype=object)


def unanswered(fit: Fit, observations: Observations) -> NDArray[np.bool_]:
    """Which observations [u] tell nothing, such as those of no exposure, where the method has no prior."""
    blank = observations.columns.channel.blank(observations.x, observations.known)
    return np.asarray(blank) & any(rule.prior is None for rule, _ in fit.shared)


def beyond(fit: Fit, observations: Observations) -> NDArray[np.bool_]:
    """Which observations [u] lie so `FAR` outside of all thetas of their prior that none explains them."""
    asked, channel = fit.questions(observations), observations.columns.channel
    x, known = observations.x[asked.first], observations.known[asked.first]
    found = np.zeros(x.size, dtype=np.bool_)
    for rule, at in asked.blocks():
        if isinstance(rule.prior, Prior):
            with np.errstate(all="ignore"):  # nothing is known of a unit of exposure 0
                raw, noise = channel.coordinate(channel.mle(x[at], known[at])), FAR * channel.noise(known[at])
            low, high = channel.coordinate(rule.prior.atoms[[0, -1]])
            found[at] = (raw < low - noise) | (raw > high + noise)
    return found[asked.which]
