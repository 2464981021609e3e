"""A fit as a file: readable JSON with the columns, one rule per group and the tally that each was fitted to."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ebformer.channels import channel_named
from ebformer.errors import EbformerError, InputError
from ebformer.expectation import Covariates, Expectation
from ebformer.rule import Rule
from ebformer.saved import finite, read_json
from ebformer.saved_rule import FIT_FORMAT, rule_of
from ebformer.tables.columns import Columns
from ebformer.tables.fit import Fit
from ebformer.tally import Tally

FORMAT, VERSION = FIT_FORMAT, 4


def record(fit: Fit) -> dict[str, Any]:
    """A fit as plain JSON values; a rule that groups share stands there once."""
    pooled = None if None in fit.rules or fit.pooled is None else _written(fit.pooled)
    return {
        "format": FORMAT,
        "version": VERSION,
        "columns": {**asdict(fit.columns), "channel": fit.columns.channel.name},
        "rules": [{"groups": groups, **_written(rule)} for rule, groups in fit.shared],
        "pooled": pooled,
        "between": fit.between,
        "neighbours": fit.neighbours,
        "expectation": None if fit.expectation is None else fit.expectation.record(),
    }


def read(path: str | os.PathLike[str]) -> Fit:
    """The fit in a file; nothing in it is executed."""
    advice = "write one with `ebformer estimate --save`"
    found = read_json(path, "a saved fit", advice)
    try:
        if found["format"] != FORMAT or found["version"] not in (2, 3, VERSION):
            raise ValueError(found["format"])
        columns = _columns(found["columns"], found["version"])
        rules: dict[str | None, Rule] = {}
        for entry in found["rules"]:
            rules |= dict.fromkeys(entry["groups"], _read(entry, path))
        if not rules or any(rule.channel != columns.channel for rule in rules.values()):
            raise ValueError("rules of another channel")
        between, pairs, pooled = (found.get(name) for name in ("between", "neighbours", "pooled"))
        neighbours = None if pairs is None else tuple((str(a), str(b)) for a, b in pairs)
        told, covariates = found.get("expectation"), columns.covariates
        expectation = None if told is None else Expectation.from_record(told)
        if expectation is not None and columns.channel.deviation is None and found["version"] < 4:
            raise InputError(f"{path} holds proportions with covariates as ebformer 0.2 fits them: fit them once more")
        if {*(expectation.encoding.names if expectation else ())} != {*(covariates.names if covariates else ())}:
            raise ValueError("other covariates than those that were learnt from")
        fit = Fit(columns, rules, None, None if between is None else finite(between), neighbours, expectation)
        if None not in rules:
            fit.__dict__["pooled"] = None if pooled is None else _read(pooled, path)
        return fit
    except EbformerError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise InputError(f"{path} is not a saved fit: {advice}") from error


def _written(rule: Rule) -> dict[str, Any]:
    tally = rule.tally
    if tally is None:
        return {"rule": rule.record(), "tally": None}
    numbers = {"x": tally.values.tolist(), "known": tally.known.tolist(), "units": tally.multiplicity.tolist()}
    return {"rule": rule.record(), "tally": numbers}


def _read(entry: dict[str, Any], path: str | os.PathLike[str]) -> Rule:
    rule, seen = rule_of(entry["rule"], path), entry.get("tally")
    if seen is None:
        return rule
    return replace(rule, tally=Tally(seen["x"], seen["units"], seen["known"], channel=rule.channel))


def _columns(named: dict[str, Any], version: int) -> Columns:
    """The columns of a record; those of version 2 are of counts."""
    if version == 2:
        named = {"x": named["count"], "known": named["exposure"], "group": named["group"], "channel": "poisson"}
    told, channel = named.get("covariates"), channel_named(named["channel"])
    covariates = None if told is None else Covariates(tuple(told["names"]), told["regression"])
    columns = Columns(named["x"], named["known"], named["group"], channel, named.get("unit"), covariates=covariates)
    for name in (columns.x, columns.group or "", columns.unit or "", *(covariates.names if covariates else ())):
        if not isinstance(name, str):
            raise TypeError("a column without a name")
    if columns.constant is None and columns.role("known") is None:
        raise ValueError(f"no {columns.channel.words.known}")
    if not (columns.constant is None or columns.channel.possible_known(np.asarray(float(columns.constant)))):
        raise ValueError(columns.constant)
    return columns
