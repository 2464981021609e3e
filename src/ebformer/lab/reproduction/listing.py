"""What can be reproduced, by which command, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence

from ebformer.lab.reproduction.bench import SCALES
from ebformer.lab.reproduction.items import Item, costs


def listed(items: Sequence[Item]) -> str:
    """One line per item, the whole at the end, and where the costs come from."""
    rows: list[tuple[str, ...]] = [("ebformer reproduce --only ...", "the paper's", *SCALES, "")]
    rows += [(item.key, item.where, *(shown(item.cost(scale)) for scale in SCALES), item.title) for item in items]
    rows.append(("all of them", "", *(shown(sum(costs()[scale].values())) for scale in SCALES), ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", costs()["note"]])


def shown(seconds: float) -> str:
    """Processor time in the unit that suits it.

    >>> shown(0.2), shown(42.0), shown(600.0), shown(30_000.0)
    ('1 s', '42 s', '10 min', '8.3 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
