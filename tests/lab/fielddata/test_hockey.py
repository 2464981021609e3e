"""Seasons pair with the next, positions are asked in both, and a hockey-reference page reads like the compact table."""

import gzip

import pytest

from ebformer.errors import InputError
from ebformer.lab.fielddata.hockey import SkaterSeason, holdouts, load, read, read_page, season_of

OLD_PAGE = """,,,,,,Scoring,Scoring,Scoring,,,,Goals,Goals
Rk,Player,Age,Tm,Pos,GP,G,A,PTS,+/-,PIM,PS,EV,G
1,Ann Able\\ablean01,22,BOS,C,70,20,30,50,5,10,4.1,15,99
2,Bo Baker\\bakerbo01,30,TOT,D,60,5,9,14,-1,20,1.0,4,99
2,Bo Baker\\bakerbo01,30,BOS,D,40,3,6,9,-1,10,0.7,2,99
2,Bo Baker\\bakerbo01,30,NYR,LW,20,2,3,5,0,10,0.3,2,99
Rk,Player,Age,Tm,Pos,GP,G,A,PTS,+/-,PIM,PS,EV,G
3,Cy Cole*\\coleccy01,28,NYR,G,50,0,1,1,0,0,0,0,99
"""
NEW_PAGE = """Rk,Player,Age,Team,Pos,GP,G,A,PTS,+/-,PIM,Player-additional
1,Ann Able,23,BOS,C,80,25,30,55,5,10,ablean01
2,Bo Baker,31,2TM,LW,50,4,9,13,-1,20,bakerbo01
2,Bo Baker,31,NYR,LW,30,4,5,9,-1,10,bakerbo01
2,Bo Baker,31,DET,D,20,0,4,4,0,10,bakerbo01
,League Average,,,,60,9,15,24,,,
"""


def test_a_traded_player_counts_once_with_all_his_teams(tmp_path):
    (tmp_path / "NHL_1990_skaters.csv").write_text(OLD_PAGE)
    (tmp_path / "NHL_1991_skaters.csv").write_text(NEW_PAGE)
    assert read(sorted(tmp_path.iterdir())) == [
        SkaterSeason(1990, "ablean01", "C", 70, 20, 50),
        SkaterSeason(1990, "bakerbo01", "D", 60, 5, 14),
        SkaterSeason(1991, "ablean01", "C", 80, 25, 55),
        SkaterSeason(1991, "bakerbo01", "LW", 50, 4, 13),
    ]
    (pair,) = load(sorted(tmp_path.iterdir()))
    assert list(zip(pair.before.tolist(), pair.after.tolist(), strict=True)) == [(5, 4), (20, 25)]


def test_pages_without_identifiers_keep_namesakes_apart(tmp_path):
    heading = "Rk,Player,Age,Tm,Pos,GP,G,A,PTS\n"
    (tmp_path / "2018.csv").write_text(
        heading + "1,Sebastian Aho,20,CAR,C,78,29,36,65\n2,Sebastian Aho,21,NYI,D,22,1,3,4\n"
    )
    (tmp_path / "2019.csv").write_text(
        heading + "1,Sebastian Aho,21,CAR,C,82,30,53,83\n2,Sebastian Aho,22,NYI,D,3,0,0,0\n"
    )
    (pair,) = load(sorted(tmp_path.iterdir()))
    assert list(zip(pair.before.tolist(), pair.after.tolist(), strict=True)) == [(1, 0), (29, 30)]


def test_the_position_is_asked_in_both_seasons_and_seasons_are_consecutive():
    skaters = [
        SkaterSeason(1990, "stays", "LW", 80, 10, 30),
        SkaterSeason(1991, "stays", "RW", 80, 12, 31),
        SkaterSeason(1990, "moves", "C", 80, 7, 20),
        SkaterSeason(1991, "moves", "LW", 80, 8, 21),
        SkaterSeason(2004, "stays", "LW", 80, 1, 2),
        SkaterSeason(2006, "stays", "LW", 80, 1, 2),
        SkaterSeason(1991, "bench", "LW", 0, 0, 0),
        SkaterSeason(1992, "bench", "LW", 9, 1, 1),
    ]
    (wingers,) = holdouts(skaters, "winger", "points")
    assert (wingers.before.tolist(), wingers.after.tolist(), wingers.case) == ([30], [31], "1990")
    assert [pair.case for pair in holdouts(skaters)] == ["1990"]
    assert holdouts(skaters, "center") == []


def test_without_ages_players_go_by_their_names(tmp_path):
    path = tmp_path / "NHL_1990.csv"
    path.write_text("Player,Tm,Pos,GP,G,PTS\nWayne Gretzky*,LAK,C,73,40,142\n")
    assert read_page(path) == [SkaterSeason(1990, "Wayne Gretzky", "C", 73, 40, 142)]


def test_a_page_says_what_it_lacks(tmp_path):
    path = tmp_path / "skaters.csv"
    path.write_text(NEW_PAGE)
    with pytest.raises(InputError, match="has no year"):
        read_page(path)
    path.write_text("name,goals\nA,1\n")
    with pytest.raises(InputError, match="no line with Player"):
        read_page(path, 1990)
    path.write_bytes(NEW_PAGE.encode() + "Teemu Selänne".encode("latin-1"))
    with pytest.raises(InputError, match="no text in UTF-8"):
        read_page(path, 1990)


@pytest.mark.parametrize(
    ("name", "season"),
    [
        ("NHL_1990.csv", 1990),
        ("NHL 1989-90 skaters.csv", 1990),
        ("nhl_1989_1990.csv.gz", 1990),
        ("1999–00.CSV", 2000),
        ("sportsref_20240105_NHL_1990.csv", 1990),
        ("1990, again 1990.csv", 1990),
        ("NHL_1990_12.csv", 1990),
    ],
)
def test_a_season_is_the_year_in_which_it_ended(name, season):
    assert season_of(name) == season


@pytest.mark.parametrize("name", ["saved 2024-01-05 NHL_1991.csv", "NHL_1990-2012.csv", "skaters.csv", "19891990.csv"])
def test_a_name_with_several_years_or_none_is_refused(name):
    with pytest.raises(InputError, match="name it after the year in which the season ended"):
        season_of(name)


def test_seasons_that_cannot_pair_are_named_instead_of_left_out(tmp_path):
    heading = "Rk,Player,Age,Tm,Pos,GP,G,A,PTS\n"
    (tmp_path / "1990.csv").write_text(OLD_PAGE)
    with pytest.raises(InputError, match=r"no two consecutive seasons are among those found \(1990\)"):
        load([tmp_path / "1990.csv"])
    (tmp_path / "1991.csv").write_text(heading + "1,Ann Able,23,BOS,C,80,25,30,55\n")
    with pytest.raises(InputError, match=r"1990 and 1991 have no player in common: .*without the players' ids"):
        load(sorted(tmp_path.iterdir()))


def test_several_rows_of_a_player_in_a_compact_table_are_his_teams(tmp_path):
    path = tmp_path / "skaters.csv"
    path.write_text("season,player_id,pos,gp,goals,points\n1990,a,C,40,10,20\n1991,a,C,40,30,60\n1990,a,LW,39,12,20\n")
    assert read([path]) == [SkaterSeason(1990, "a", "LW", 79, 22, 40), SkaterSeason(1991, "a", "C", 40, 30, 60)]


def test_a_season_in_two_files_is_refused_with_their_names(tmp_path):
    (tmp_path / "NHL_1990.csv").write_text(OLD_PAGE)
    (tmp_path / "skaters.csv").write_text("season,player_id,pos,gp,goals,points\n1990,other,C,40,10,20\n")
    with pytest.raises(InputError, match=r"season 1990 is in .*NHL_1990\.csv and in .*skaters\.csv"):
        read(sorted(tmp_path.iterdir()))


def test_the_ending_of_a_page_may_be_upper_case_or_gz_and_an_archive_is_to_be_unpacked(tmp_path):
    folder = tmp_path / "nhl"
    folder.mkdir()
    (folder / "NHL_1990.CSV").write_text(OLD_PAGE)
    (folder / "NHL_1991.csv.gz").write_bytes(gzip.compress(NEW_PAGE.encode()))
    (pair,) = load(data_dir=tmp_path)
    assert (pair.case, pair.n) == ("1990", 2)
    with pytest.raises(InputError, match=r"1992\.zip is an archive: unzip it"):
        load([folder / "NHL_1990.CSV", folder / "1992.zip"])


def test_whole_numbers_may_have_a_point_and_others_are_named_with_their_line(tmp_path):
    path = tmp_path / "NHL_2018.csv"
    path.write_text("Player,Age,Pos,GP,G,PTS\nSebastian Aho,20.0,C,78.0,29.0,65.\nAnn Able,22,C,70,,30\n")
    assert read_page(path) == [
        SkaterSeason(2018, "Sebastian Aho 1998", "C", 78, 29, 65),
        SkaterSeason(2018, "Ann Able 1996", "C", 70, 0, 30),
    ]
    path.write_text("Player,Age,Pos,GP,G,PTS\nSebastian Aho,20,C,78,29,65\nAnn Able,22,C,70,2.5,30\n")
    with pytest.raises(InputError, match=r"line 3: '2\.5' under G is no whole number"):
        read_page(path)


@pytest.mark.data
def test_a_page_made_from_the_table_gives_the_table_back(data_dir, tmp_path):
    compact = [s for s in read(sorted((data_dir / "nhl").iterdir())) if s.season == 1990]
    rows = [f"1,N\\{s.player},20,BOS,{s.position},{s.games},{s.goals},{s.points - s.goals},{s.points}" for s in compact]
    path = tmp_path / "NHL_1990.csv"
    path.write_text("\n".join(["Rk,Player,Age,Tm,Pos,GP,G,A,PTS", *rows]))
    assert read_page(path) == compact
    assert len(compact) == 655  # ../shared/data/README.md
