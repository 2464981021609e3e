"""A game's plays become hits by batter and pitcher, and games are split where the authors split them."""

from collections import Counter

import pytest

from ebformer.errors import InputError
from ebformer.lab.fielddata.baseball import HIT, Game, HalfSeasons, halve, holdouts, load, read, read_games, split_date
from ebformer.lab.fielddata.sources import read_columns

GAME = """id,AAA{date}0
version,2
info,visteam,BBB
info,date,ignored
com,"a remark with an odd quote " in it
start,vis-a001,"Visitor, Jr.",0,1,7
start,vis-p001,"Visiting Pitcher",0,0,1
start,hom-a001,"Home Batter",1,1,4
start,hom-p001,"Home Pitcher",1,0,1
play,1,0,vis-a001,11,CBX,S8/G4M
play,1,0,vis-a001,00,>B,SB2
play,1,0,vis-a001,00,X,DGR/L9
play,1,0,vis-a001,00,.,DI.2-3
play,1,1,hom-a001,00,X,T9/F9
play,1,1,hom-a001,00,H,HP
play,1,1,hom-a001,00,,NP
sub,vis-q001,"Relief, Visitor",0,0,1
play,1,1,hom-a001,32,CBFBBX,HR/78/F
play,1,1,hom-a001,00,X,64(1)3/GDP
play,2,1,hom-a001,00,X,E6/TH
play,2,1,hom-a001,00,X,FC5
play,2,1,hom-a001,00,X,H9/L9
data,er,vis-p001,1
"""


@pytest.mark.parametrize(
    "play", ["S7/G56.1-3", "S", "D8/L78", "DGR/F9", "T9", "H/F7", "HR/F7D", "H8/F8", "S6/G6MD.2-3;1-2"]
)
def test_hits(play):
    assert HIT.match(play)


OTHER = "SB2 SBH(UR);SB2 DI.1-2 HP HP.1-2 K W.1-2 IW I NP FLE3 E9 63/G6 FC5 CS2(24) POCS2 C/E2 WP.2-3 14/SH/BG15 8/SF"


@pytest.mark.parametrize("play", OTHER.split())
def test_other_plays_are_no_hits(play):
    assert not HIT.match(play)


def test_a_hit_goes_to_the_batter_and_to_whoever_pitches_for_the_other_side(tmp_path):
    path = tmp_path / "1999AAA.EVA"
    path.write_text(GAME.format(date=19990405), encoding="latin-1")
    (game,) = read_games(path)
    assert game.date == 19990405
    assert dict(game.hits) == {
        ("bat", "vis-a001"): 2,
        ("pitch", "hom-p001"): 2,
        ("bat", "hom-a001"): 3,
        ("pitch", "vis-p001"): 1,
        ("pitch", "vis-q001"): 2,
    }
    assert {key: n for key, n in game.triples.items() if n} == {("bat", "hom-a001"): 1, ("pitch", "vis-p001"): 1}


def test_a_season_of_event_files_becomes_one_holdout_per_role(tmp_path):
    for club, dates in (("AAA", (19990405, 19990601)), ("CCC", (19990405, 19990930))):
        games = "".join(GAME.format(date=date).replace("AAA", club) for date in dates)
        (tmp_path / f"1999{club}.EVN").write_text(games)
    files = sorted(tmp_path.iterdir())
    (bat,) = load(files, "bat")
    assert (bat.before.tolist(), bat.after.tolist()) == ([4, 6], [4, 6])
    (pitch,) = load(files, "pitch", triples=False)
    assert (pitch.before.tolist(), pitch.multiplicity.tolist()) == ([4], [2])  # vis-p001 gave up triples alone


def test_the_split_leaves_at_least_half_of_the_games_before_it():
    assert split_date([1, 1, 1, 2]) == 2
    assert split_date([1, 2, 2, 2, 3]) == 3
    assert split_date([5, 4, 3, 2, 1]) == 3
    with pytest.raises(InputError, match="no second half"):
        split_date([7, 7])


def season(folder, *clubs, extra=""):
    """Event files of two games each, in 1999."""
    folder.mkdir(exist_ok=True)
    for club in clubs:
        games = "".join(GAME.format(date=date).replace("AAA", club) for date in (19990405, 19990601))
        (folder / f"1999{club}.EVA").write_text(games.replace("version,2\n", f"version,2\n{extra}"))
    return sorted(folder.iterdir())


def test_a_game_given_twice_is_refused(tmp_path):
    (file,) = season(tmp_path / "mlb", "AAA")
    copy = tmp_path / "copy_1999AAA.EVA"
    copy.write_text(file.read_text())
    with pytest.raises(InputError, match=r"copy_1999AAA\.EVA has the game AAA199904050, which was there before"):
        read([file, copy])


def test_games_of_other_seasons_than_the_regular_one_are_left_out(tmp_path):
    regular = season(tmp_path / "mlb", "AAA", extra="info,gametype,regular\n")
    final = GAME.format(date=19991016).replace("version,2\n", "version,2\ninfo,gametype,worldseries\n")
    (tmp_path / "1999WS.EVE").write_text(GAME.format(date=19991016))
    assert read([*regular, tmp_path / "1999WS.EVE"]) == read(regular)
    (tmp_path / "1999BBB.EVN").write_text(final)
    assert read([*regular, tmp_path / "1999BBB.EVN"]) == read(regular)
    with pytest.raises(InputError, match="no game of the regular season"):
        read([tmp_path / "1999WS.EVE"])


def test_a_season_in_a_table_and_in_event_files_is_refused(tmp_path):
    season(tmp_path / "mlb", "AAA")
    table = tmp_path / "mlb" / "mlb_half_season_hits_1999.csv"
    halves = "hits_first_half,hits_second_half,triples_first_half,triples_second_half"
    table.write_text(f"season,player_id,role,{halves}\n1999,vis-a001,bat,3,4,0,0\n")
    with pytest.raises(InputError, match=r"vis-a001 \(bat\) is in the season 1999 twice"):
        load(data_dir=tmp_path)
    table.write_text(table.read_text().replace("1999,", "1998,"))
    assert [half.case for half in load(data_dir=tmp_path)] == ["1998", "1999"]


def test_names_may_be_in_lower_case_and_an_archive_is_to_be_unpacked(tmp_path):
    (file,) = season(tmp_path / "mlb", "AAA")
    file.rename(file.with_name("1999aaa.eva"))
    assert [half.n for half in load(data_dir=tmp_path)] == [2]
    with pytest.raises(InputError, match=r"1999eve\.zip is an archive: unzip it"):
        load([tmp_path / "1999eve.zip"])


def test_players_without_a_hit_are_left_out():
    players = [
        HalfSeasons(2000, "a", "bat", 0, 0),
        HalfSeasons(2000, "b", "bat", 0, 1),
        HalfSeasons(2000, "c", "pitch", 2, 0, 2),
    ]
    assert [h.n for h in holdouts(players, "bat")] == [1]
    assert holdouts(players, "pitch", triples=False) == []


def test_a_file_that_is_no_event_file_is_named(tmp_path):
    path = tmp_path / "x.EVA"
    path.write_text("hello\n")
    with pytest.raises(InputError, match="holds no game"):
        list(read_games(path))
    path.write_text("id,AAA199904050\nplay,1,0\n")
    with pytest.raises(InputError, match="line 2"):
        list(read_games(path))


@pytest.mark.data
def test_the_given_games_split_and_add_up_to_the_given_halves(data_dir):
    (path,) = (data_dir / "mlb").glob("mlb_game_hits_*.parquet")
    columns = read_columns([path], ["season", "date", "game", "role", "player_id", "hits", "triples"])
    games: dict[tuple[int, str], Game] = {}
    for season, date, game, role, player, hits, triples in zip(*(c.tolist() for c in columns.values()), strict=True):
        if season in (1994, 2001):
            at = games.setdefault((date, game), Game(f"{date} {game}", date, Counter(), Counter()))
            at.hits[role, player] += hits
            at.triples[role, player] += triples
    splits = read_columns((data_dir / "mlb").glob("mlb_season_split_*.csv"), ["season", "n_games", "threshold_date"])
    expected = {row[0]: row[1:] for row in zip(*(c.tolist() for c in splits.values()), strict=True)}
    table = read((data_dir / "mlb").glob("mlb_half_season_hits_*"))
    for season in (1994, 2001):
        played = [game for game in games.values() if game.date // 10_000 == season]
        assert (len(played), split_date([game.date for game in played])) == expected[season]
        assert sorted(halve(played)) == sorted(p for p in table if p.season == season and p.first + p.second > 0)
