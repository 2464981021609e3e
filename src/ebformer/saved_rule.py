"""A saved rule on its way in: what a file holds is checked whole, and nothing in it is executed."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from ebformer.bayes.marginal import check_known
from ebformer.channels import CHANNELS, POISSON, channel_named
from ebformer.errors import InputError, WeightsError
from ebformer.rule import FORMAT, VERSION, Convergence, CurveRule, Rule
from ebformer.saved import finite, line, read_json, whole

FIT_FORMAT = "ebformer-fit"
"""What a file says that holds the rules of a table (`tables.saved_fit`)."""

RULE_KINDS = {
    "mle": "ebformer.estimators.mle",
    "robbins": "ebformer.estimators.robbins",
    "step": "ebformer.estimators.erm_monotone",
    "network": "ebformer.estimators.pretrained",
    "completed": "ebformer.estimators.unseen_zeros",
    "newton": "ebformer.estimators.newton",
}
"""Where kinds of rules that are not in rule.py are defined: a file names a kind, never a module to import."""


def read(path: str | os.PathLike[str]) -> Rule:
    """The rule in a file, or the one in that of a fit without groups."""
    return rule_of(_only_rule(read_json(path, "a saved rule", "write one with rule.save(path)"), path), path)


def rule_of(record: Any, path: str | os.PathLike[str]) -> Rule:
    """The rule that `record` wrote down; complaints name the path it came from."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{path} is not a saved rule: write one with rule.save(path)")
    kind, version = str(record.get("kind")), record.get("version")
    if kind in RULE_KINDS:
        import_module(RULE_KINDS[kind])
    if version not in (1, VERSION) or kind not in Rule._kinds:
        raise InputError(
            f"{path} holds a rule of kind {kind!r}, version {version!r}, "
            "which this ebformer cannot read: install the version that wrote it"
        )
    try:
        # Files of version 1 hold rules for Poisson counts, and nothing about what was fitted.
        rule = Rule._kinds[kind]._from_content(
            record["content"], **_common(record if version == VERSION else {**record, "known": record["exposure"]})
        )
        if isinstance(rule, CurveRule) and rule.known is None:
            raise ValueError("'known', which no curve is without")
        return rule
    except WeightsError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise InputError(f"{path} is damaged, for a rule of kind {kind!r}, at {error}: save it again") from error


def _only_rule(record: Any, path: str | os.PathLike[str]) -> Any:
    """The record of a rule: the file itself, or what a fit without groups holds."""
    if not isinstance(record, dict) or record.get("format") != FIT_FORMAT:
        return record
    match record.get("rules"):
        case [{"groups": [None], "rule": rule}]:
            return rule
    raise InputError(f"{path} holds a fit with a rule for each group: open it with eb.load_fit")


def _common(record: dict[str, Any]) -> dict[str, Any]:
    """What rules of every kind have, from a record."""
    of, known, convergence = record.get("channel", POISSON.name), record["known"], record["convergence"]
    units, log_likelihood, parameters = (record.get(name) for name in ("units", "log_likelihood", "parameters"))
    if of not in CHANNELS:
        raise ValueError(f"channel {of!r}")
    for number, least in ((units, 1), (parameters, 0)):
        if number is not None:
            whole(number, least)
    if known is None and not channel_named(of).complete and record["kind"] != "completed":
        raise ValueError("what its units shared")
    if known is not None:
        known = finite(known)
        check_known(channel_named(of), np.asarray(known), channel_named(of).keyword)
    return {
        "method": line(record["method"]),
        "channel": channel_named(of),
        "known": known,
        "convergence": None if convergence is None else _convergence(**convergence),
        "as_saved": (units, None if log_likelihood is None else finite(log_likelihood)),
        "parameters": parameters,
    }


def _convergence(gap: Any, iterations: Any, reached: Any, meaning: Any) -> Convergence:
    if not isinstance(reached, bool):
        raise TypeError("its convergence")
    return Convergence(finite(gap), whole(iterations), reached, line(meaning))
