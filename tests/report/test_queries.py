"""What a report asks of a table must stay quick however long the table is."""

import re
from pathlib import Path

import duckdb
import numpy as np

from ebformer.estimators.catalogue import CATALOGUE
from ebformer.report.table_page import Shrunken, table_page
from ebformer.tables.checking import check_fit
from ebformer.tables.columns import Columns
from ebformer.tables.duck import DuckTable
from ebformer.tables.files import open_table
from ebformer.tables.fit import Wanted, fit_table
from ebformer.tables.observations import observe


class Explaining(DuckTable):
    """Remembers how DuckDB means to answer what it is asked."""

    plans: list[str]

    def ask(self, sql: str) -> duckdb.DuckDBPyRelation:
        answer = super().ask(sql)
        self.plans = [*getattr(self, "plans", []), answer.explain()]
        return answer


def test_no_question_of_a_report_pairs_every_row_with_every_observation(tmp_path: Path) -> None:
    """A million rows and ten thousand observations make ten thousand million pairs: ten minutes for a second's work."""
    rng = np.random.default_rng(0)
    lines = [f"{x},{t:.3f}\n" for x, t in zip(rng.poisson(2.0, 300), rng.uniform(1.0, 2.0, 300), strict=True)]
    (tmp_path / "claims.csv").write_text("claims,years\n" + "".join(lines))
    with open_table(str(tmp_path / "claims.csv")) as file:
        columns = Columns("claims", "years")
        observations = observe(file.table, columns)
        fit = fit_table(observations, CATALOGUE["gamma"])
        answers = fit.answers(observations, Wanted())
        rows = Explaining(file.table.with_answers(columns, observations.width, observations.keys, answers))
        checks = check_fit(fit, observations, rng)
        table_page(Shrunken("claims.csv", rows, fit, observations, Wanted(), checks), [])
        assert len(rows.plans) == 3  # the highest, the lowest, and the rows
        for plan in rows.plans:
            assert re.search("hash.join", plan, re.IGNORECASE)
            assert not re.search("cross.product|nested.loop", plan, re.IGNORECASE)
