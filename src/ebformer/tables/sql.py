"""The SQL that DuckDB and Spark share: names and texts, what is missing, bins of what is known."""

from __future__ import annotations

from ebformer.binning import SMALL


def quoted(name: str, mark: str = '"') -> str:
    """A name as it stands in SQL, between double quotes or, for Spark, backticks.

    >>> print(quoted('the "b"'), quoted("a`b", "`"))
    "the ""b\""" `a``b`
    """
    return mark + name.replace(mark, mark * 2) + mark


def literal(text: str) -> str:
    """A text as it stands in SQL; with quotes in it, in DuckDB's alone."""
    return quoted(text, "'")


def unless_missing(missing: tuple[str, ...], text: str, answer: str) -> str:
    """The answer, and NULL where the text is NULL or one of those that mean a missing entry."""
    return f"CASE WHEN lower(trim({text})) NOT IN ({', '.join(map(literal, missing))}) THEN {answer} END"


def log_bin(x: str, known: str, width: float) -> str:
    """The bin of log known, floor(log known / width * fineness(x)) as in `binning`.

    NULL where it is missing, -inf where it has no finite logarithm.
    """
    fineness = f"pow(2, greatest(ceil(log2((greatest({x}, 0) + 0.5) / {SMALL}) / 2), 0))"
    return (
        f"CASE WHEN {known} <= 0 OR {known} = CAST('inf' AS DOUBLE) THEN CAST('-inf' AS DOUBLE) "
        f"ELSE CAST(floor(ln({known}) / {width!r} * {fineness}) AS DOUBLE) END"
    )
