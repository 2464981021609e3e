"""Seasons pair with the next, positions are asked in both, and a hockey-reference page reads like the compact table."""

import pytest

from ebformer.errors import InputError
from ebformer.fielddata.hockey import SkaterSeason, holdouts, load, read, read_page

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


@pytest.mark.data
def test_a_page_made_from_the_table_gives_the_table_back(data_dir, tmp_path):
    compact = [s for s in read(sorted((data_dir / "nhl").iterdir())) if s.season == 1990]
    rows = [f"1,N\\{s.player},20,BOS,{s.position},{s.games},{s.goals},{s.points - s.goals},{s.points}" for s in compact]
    path = tmp_path / "NHL_1990.csv"
    path.write_text("\n".join(["Rk,Player,Age,Tm,Pos,GP,G,A,PTS", *rows]))
    assert read_page(path) == compact
    assert len(compact) == 655  # ../shared/data/README.md
