"""Means, rankings and pairings of scores, on scores small enough to work out by hand."""

import numpy as np
import pytest

from ebformer.errors import InputError
from ebformer.lab.arena.losses import Key, Loss
from ebformer.lab.arena.published import read_published
from ebformer.lab.arena.table import published_errors
from ebformer.lab.fielddata.summary import against, means, paired_tests, rankings
from ebformer.lab.figures.fielddata_tables import p_value_tables


def real(data: str, case: str, name: str, error: float, gain: float) -> Loss:
    """Both errors alike."""
    alike = {"rmse": error, "mae": error, "rmse_improvement": gain, "mae_improvement": gain}
    return Loss(data, 9, case, 0, name, **alike, log_score=0.0, coverage=0.9, seconds=0.1)


def scores(errors: dict[str, list[float]], data: str = "nhl all") -> list[Loss]:
    """RMSE by method and case, the MLE's being 10."""
    return [
        real(data, str(1990 + i), name, rmse, 10 * (10 - rmse))
        for i in range(len(errors["mle"]))
        for name, rmse in ((name, of[i]) for name, of in errors.items())
    ]


CASES = [Key("nhl all", 9, str(1990 + i)) for i in range(4)]
RMSE = published_errors(["rmse"])
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
    rows = {row.ours: row for row in against(TABLE, read_published(path, CASES, RMSE))}
    # npmle gains 10, 20, -10 on 1990, 1991, 1993: ahead by 10 on each.
    assert rows["npmle"].difference.mean == pytest.approx(10)
    assert rows["npmle"].difference.units == 3
    assert not rows["npmle"].below
    path.write_text(
        "data,case,estimator,rmse_improvement\n" + "".join(f"nhl all,{1990 + i},best,{50 + i}\n" for i in range(4))
    )
    assert all(row.below for row in against(TABLE, read_published(path, CASES, RMSE)))


def test_a_table_about_something_else_is_refused(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text("data,case,estimator,rmse_improvement\ncricket,1990,theirs,1\n")
    with pytest.raises(InputError, match="it has cricket"):
        read_published(path, CASES, RMSE)
    path.write_text("data,case,estimator,rmse_improvement\nnhl all,1990,theirs,1\nnhl all,1990,theirs,2\n")
    with pytest.raises(InputError, match="two scores of theirs on nhl all, 1990"):
        read_published(path, CASES, RMSE)


def test_a_case_where_the_mle_has_no_error_leaves_the_others_their_mean():
    perfect = [real("nhl all", "1994", name, 0.0, np.nan) for name in ("mle", "npmle", "other")]
    found = means([*TABLE, *perfect])["nhl all"]["npmle"]
    assert (found.mean, found.units) == (pytest.approx(7.5), 4)
    assert np.isnan(means(perfect)["nhl all"]["npmle"].mean)


def test_violins_show_every_data_set_and_leave_robbins_out():
    pytest.importorskip("matplotlib")
    from ebformer.lab.figures.fielddata_figures import violins

    rng = np.random.default_rng(0)
    several = [
        score
        for data in ("nhl all", "mlb bat", "books")
        for score in scores({"mle": [10] * 9, "robbins": [30] * 9, "npmle": rng.normal(9, 0.3, 9).tolist()}, data)
    ]
    for errors in (("mae",), ("rmse", "mae")):
        figure = violins(several, *errors)
        shown = [axes for axes in figure.axes if axes.get_visible()]
        titles = [axes.get_title(loc="left") for axes in shown]
        assert titles == ["nhl all (9 cases)", "mlb bat (9 cases)", "books (9 cases)"] * len(errors)
        assert [axes.get_ylabel()[:4].strip() for axes in shown[::3]] == [error.upper() for error in errors]
        assert [label.get_text() for label in shown[0].get_xticklabels()] == ["npmle"]


def test_violins_leave_out_cases_without_a_ratio_and_say_so_if_none_is_left():
    pytest.importorskip("matplotlib")
    from ebformer.lab.figures.fielddata_figures import violins

    perfect = [real("books", "x", name, 0.0, np.nan) for name in ("mle", "npmle")]
    good = scores({"mle": [10], "npmle": [9]}, "books")
    figure = violins([*good, *perfect], "rmse")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["books (1 case)"]
    with pytest.raises(InputError, match="the MLE's error is 0 in every case"):
        violins(perfect, "rmse")
