"""What a report asks of a table must stay quick however long the table is."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from ebformer.estimators.catalogue import CATALOGUE
from ebformer.report.table_page import table_page
from ebformer.tables.columns import Columns
from ebformer.tables.files import open_table
from ebformer.tables.shrink import shrink_table
from ebformer.tables.wanted import Wanted


class Explaining:
    """Rows that remember how DuckDB means to answer what it is asked."""

    def __init__(self, rows: duckdb.DuckDBPyRelation) -> None:
        self.rows, self.plans = rows, list[str]()

    def query(self, name: str, sql: str) -> duckdb.DuckDBPyRelation:
        answer = self.rows.query(name, sql)
        self.plans.append(answer.explain())
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rows, name)


def test_no_question_of_a_report_pairs_every_row_with_every_observation(tmp_path: Path) -> None:
    """A million rows and ten thousand observations make ten thousand million pairs: ten minutes for a second's work."""
    rng = np.random.default_rng(0)
    lines = [f"{x},{t:.3f}\n" for x, t in zip(rng.poisson(2.0, 300), rng.uniform(1.0, 2.0, 300), strict=True)]
    (tmp_path / "claims.csv").write_text("claims,years\n" + "".join(lines))
    with open_table(str(tmp_path / "claims.csv")) as file:
        shrunken = shrink_table(file.table, Columns("claims", "years"), CATALOGUE["gamma"], Wanted())
        rows = Explaining(shrunken.rows)
        table_page("claims.csv", replace(shrunken, rows=rows), [])
        assert len(rows.plans) == 2  # a look at some rows, and all that the page shows
        for plan in rows.plans:
            assert re.search("hash.join", plan, re.IGNORECASE)
            assert not re.search("cross.product|nested.loop", plan, re.IGNORECASE)
