"""Means, rankings and pairings of scores, on scores small enough to work out by hand."""

import numpy as np
import pytest

from ebformer.errors import InputError
from ebformer.fielddata.scoring import Score
from ebformer.fielddata.summary import against, means, paired_tests, rankings
from ebformer.report.fielddata_tables import p_value_tables

pytest.importorskip("choix")


def scores(errors: dict[str, list[float]], data: str = "nhl all") -> list[Score]:
    """RMSE by method and case, the MLE's being 10."""
    return [
        Score(data, str(1990 + i), name, 9, rmse, rmse, 10 * (10 - rmse), 10 * (10 - rmse), 0.0, 0.9, 0.1)
        for i in range(len(errors["mle"]))
        for name, rmse in ((name, of[i]) for name, of in errors.items())
    ]


TABLE = scores({"mle": [10, 10, 10, 10], "npmle": [9, 8, 9, 11], "other": [9.5, 9, 9.5, 9]})


def test_means_have_student_intervals():
    found = means(TABLE)["nhl all"]
    assert found["mle"].mean == 0
    assert found["npmle"].mean == pytest.approx(7.5)
    # sd of 10, 20, 10, -10 is 12.583; t(0.975, 3) = 3.1824; half width = 3.1824 * 12.583 / 2
    assert found["npmle"].half_width == pytest.approx(20.02, abs=0.01)


def test_rankings_put_the_mle_at_zero_and_the_usual_winner_above():
    strength = rankings(TABLE)["nhl all"]
    assert strength["mle"] == 0
    assert strength["npmle"] > strength["mle"]


def test_a_test_and_its_reverse_are_complementary():
    (forth,) = paired_tests(TABLE, ["npmle"], ["other"])["nhl all"]
    (back,) = paired_tests(TABLE, ["other"], ["npmle"])["nhl all"]
    assert forth.p + back.p == pytest.approx(1)
    assert forth.difference.mean == pytest.approx(-back.difference.mean)


def test_a_network_nobody_has_heard_of_is_tested_and_no_classical_rival():
    tables = p_value_tables(scores({"mle": [10, 10, 10], "T99x": [9, 8, 9], "gamma": [9, 9, 9.5]}))
    assert [(table.title.partition(":")[0], table.columns) for table in tables] == [("T99x", ("data", "mle", "gamma"))]


def test_published_scores_are_paired_by_case_whatever_their_order(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(
        "data,case,estimator,rmse_improvement\n"
        "nhl all,1993,theirs,-20\nnhl all,1990,theirs,0\nnhl all,1991,theirs,10\nnhl all,2050,theirs,99\n"
    )
    rows = {row.ours: row for row in against(TABLE, path)}
    # npmle gains 10, 20, -10 on 1990, 1991, 1993: ahead by 10 on each.
    assert rows["npmle"].difference.mean == pytest.approx(10)
    assert rows["npmle"].difference.units == 3
    assert not rows["npmle"].below
    path.write_text(
        "data,case,estimator,rmse_improvement\n" + "".join(f"nhl all,{1990 + i},best,{50 + i}\n" for i in range(4))
    )
    assert all(row.below for row in against(TABLE, path))


def test_a_table_about_something_else_is_refused(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text("data,case,estimator,rmse_improvement\ncricket,1990,theirs,1\n")
    with pytest.raises(InputError, match="it has cricket"):
        against(TABLE, path)


def test_violins_show_every_data_set_and_leave_robbins_out():
    plt = pytest.importorskip("matplotlib.pyplot")
    from ebformer.report.fielddata_figures import violins

    rng = np.random.default_rng(0)
    several = [
        score
        for data in ("nhl all", "mlb bat", "books")
        for score in scores({"mle": [10] * 9, "robbins": [30] * 9, "npmle": rng.normal(9, 0.3, 9).tolist()}, data)
    ]
    figure = violins(several, "mae")
    assert [axes.get_title(loc="left").split(" (")[0] for axes in figure.axes] == ["nhl all", "mlb bat", "books"]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["npmle"]
    plt.close(figure)
