"""What can be reproduced, by which command, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence

from ebformer.lab.reproduction.bench import SCALES
from ebformer.lab.reproduction.items import Item, costs
from ebformer.report.text_table import TextTable


def listed(items: Sequence[Item]) -> TextTable:
    """One row per item, the whole at the end, and where the costs come from."""
    rows = [(item.key, item.title, item.where, *(shown(item.cost(scale)) for scale in SCALES)) for item in items]
    rows.append(("all of them", "", "", *(shown(sum(costs()[scale].values())) for scale in SCALES)))
    title = "ebformer reproduce --only ITEM, and what it takes at each --scale"
    return TextTable(title, ("item", "", "the paper's", *SCALES), tuple(rows), (costs()["note"],))


def shown(seconds: float) -> str:
    """Processor time in the unit that suits it.

    >>> shown(0.2), shown(42.0), shown(600.0), shown(30_000.0)
    ('1 s', '42 s', '10 min', '8.3 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
