"""Tables in, estimates out: files, data frames, DuckDB relations and Spark frames.

One walk, whatever the table: a `Source` groups its rows (`observe`), every group is fitted (`fit_table`), the fit
answers for the distinct observations (`Fit.answers`) and the source joins the answers back (`with_answers`).
"""
