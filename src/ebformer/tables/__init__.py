"""Tables in, estimates out: files, data frames, DuckDB relations and Spark frames.

One walk, whatever the table (`shrink.py`): a `Source` groups its rows (`observe`), every group is fitted (`fit_table`)
and checked (`check_fit`), the fit answers for the distinct observations (`Fit.answers`) and the source joins the
answers back (`with_answers`).
"""
