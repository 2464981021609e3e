"""The table: the same whatever the workers, and whatever interrupted it."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebformer.errors import InputError
from ebformer.estimators.mle import Mle
from ebformer.estimators.robbins import Robbins
from ebformer.lab.arena import Arena, Loss, draw_trials, read, write
from ebformer.lab.arena.table import DRAWN
from ebformer.lab.journal import Journal
from ebformer.lab.worlds import FewAtoms, Multinomial, PointMass

ESTIMATORS = {"mle": Mle(), "robbins": Robbins()}


def trials(seed=0, priors=6):
    return draw_trials([PointMass(), Multinomial()], [50, 400], priors=priors, repeats=2, seed=seed)


def numbers(losses):
    """Everything but the clock; repr keeps every bit and makes NaN equal to itself."""
    return [repr(loss[:-1]) for loss in losses]


@pytest.fixture(scope="module")
def reference():
    return Arena(ESTIMATORS, trials()).run(workers=1)


def test_one_row_for_every_estimator_world_size_prior_and_repeat(reference):
    rows = {loss[:5] for loss in reference}
    assert len(rows) == len(reference) == 2 * 2 * 6 * 2 * 2
    assert reference == sorted(reference, key=lambda loss: loss[:5])


def test_two_workers_give_the_same_table(reference):
    assert numbers(Arena(ESTIMATORS, trials()).run(workers=2)) == numbers(reference)


def test_a_row_does_not_depend_on_what_else_was_asked(reference):
    some = Arena({"robbins": Robbins()}, draw_trials([Multinomial()], [400], priors=3, repeats=1)).run(workers=1)
    assert set(numbers(some)) <= set(numbers(reference))
    assert len(some) == 3


def test_another_seed_gives_other_tallies(reference):
    assert set(numbers(Arena(ESTIMATORS, trials(seed=1)).run(workers=1))).isdisjoint(numbers(reference))


def test_the_prior_is_shared_by_sizes_and_repeats_but_the_tallies_are_not():
    one = draw_trials([FewAtoms()], [50, 400], priors=1, repeats=2)[0]
    cases = list(one.cases(one.keys))
    assert all(case.truth is cases[0].truth for case in cases)
    assert cases[0].tally != cases[1].tally


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_come_back_bit_for_bit(reference, tmp_path, suffix):
    odd = [Loss("a,b", 1, 0, 0, 'quo"te', 0.1 + 0.2, np.nan, 5e-324, seconds=1e300)]
    write(reference + odd, tmp_path / f"losses{suffix}")
    expected = sorted(reference + odd, key=lambda loss: loss[:5])
    assert list(map(repr, read(tmp_path / f"losses{suffix}"))) == list(map(repr, expected))


@settings(max_examples=12, deadline=None)
@given(cut=st.floats(0, 1), suffix=st.sampled_from([".csv", ".parquet"]))
def test_a_journal_cut_anywhere_is_resumed_to_the_same_table(reference, tmp_path_factory, cut, suffix):
    path = tmp_path_factory.mktemp("cut") / f"losses{suffix}"
    with Journal(path, DRAWN) as journal:
        journal.append(reference)
    os.truncate(journal.beside, int(cut * journal.beside.stat().st_size))
    resumed = Arena(ESTIMATORS, trials()).run(path, workers=1)
    assert numbers(resumed) == numbers(reference)
    assert numbers(read(path)) == numbers(reference)
    assert os.listdir(path.parent) == [path.name]


def test_a_killed_run_resumes_without_losing_or_changing_a_number(tmp_path):
    path = tmp_path / "losses.csv"
    script = textwrap.dedent(f"""
        import os, signal
        from ebformer.lab.arena import Arena, draw_trials
        from ebformer.estimators.mle import Mle
        from ebformer.estimators.robbins import Robbins
        from ebformer.lab.worlds import Multinomial, PointMass

        class MleUntilKilled(Mle):
            fits = 0

            def __call__(self, tally):
                MleUntilKilled.fits += 1
                if MleUntilKilled.fits == 30:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().__call__(tally)

        trials = draw_trials([PointMass(), Multinomial()], [50, 400], priors=40, repeats=2)
        Arena({{"mle": MleUntilKilled(), "robbins": Robbins()}}, trials).run({str(path)!r}, workers=1)
    """)
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    assert not path.exists()
    with Journal(path, DRAWN) as journal:
        kept = journal.rows
    assert len(kept) == 7 * 2 * 2 * 2  # killed in the eighth trial; two sizes, repeats and estimators in each
    resumed = Arena(ESTIMATORS, trials(priors=40)).run(path, workers=2)
    assert set(map(repr, kept)) <= set(map(repr, resumed))  # not even the clock of a finished row is touched
    assert numbers(resumed) == numbers(Arena(ESTIMATORS, trials(priors=40)).run(workers=2))


def test_a_finished_table_is_extended_by_new_estimators_only(reference, tmp_path):
    path = tmp_path / "losses.csv"
    before = Arena({"mle": Mle()}, trials()).run(path, workers=1)
    after = Arena(ESTIMATORS, trials()).run(path, workers=1)
    assert set(before) <= set(after)
    assert numbers(after) == numbers(reference)


def test_a_table_of_another_run_is_not_extended(tmp_path):
    path = tmp_path / "losses.csv"
    Arena({"mle": Mle()}, trials()).run(path, workers=1)
    content = path.read_bytes()
    with pytest.raises(InputError, match="another seed"):
        Arena(ESTIMATORS, trials(seed=1)).run(path, workers=1)
    with pytest.raises(InputError, match="another seed"):  # though none of its methods played before
        Arena({"robbins": Robbins()}, trials(seed=1)).run(path, workers=1)
    assert path.read_bytes() == content
    assert len(Arena({"robbins": Robbins()}, trials()).run(path, workers=1)) == 2 * len(content.splitlines()[1:])


def test_what_is_not_a_table_of_losses_is_refused(tmp_path):
    (tmp_path / "other.csv").write_text("name,goals\nLee,3\n")
    with pytest.raises(InputError, match="has the columns 'name, goals', not world, n"):
        Arena(ESTIMATORS, trials()).run(tmp_path / "other.csv", workers=1)
    assert os.listdir(tmp_path) == ["other.csv"]
    (tmp_path / "other.parquet").write_text("name,goals\nLee,3\n")
    with pytest.raises(InputError, match="is no Parquet file"):
        Arena(ESTIMATORS, trials()).run(tmp_path / "other.parquet", workers=1)
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        Arena(ESTIMATORS, trials()).run(tmp_path / "losses.txt", workers=1)
    assert not (tmp_path / "losses.txt.journal").exists()  # refused before the first trial
    with pytest.raises(InputError, match="no folder"):
        Arena(ESTIMATORS, trials()).run(tmp_path / "nowhere" / "losses.csv", workers=1)


@pytest.mark.parametrize("damaged", ["multinomial,50,0,one,mle", "multinomial,50,0,mle"])
def test_a_damaged_row_is_named_and_the_table_left_alone(reference, tmp_path, damaged):
    path = tmp_path / "losses.csv"
    write(reference, path)
    content = path.read_text().replace("multinomial,50,0,1,mle", damaged)
    path.write_text(content)
    row = next(number for number, line in enumerate(content.splitlines()) if line.startswith(damaged))
    with pytest.raises(InputError, match=rf"losses\.csv is damaged in row {row}, '{damaged}"):
        Arena(ESTIMATORS, trials()).run(path, workers=1)
    assert path.read_text() == content


@pytest.mark.parametrize(("sizes", "priors", "repeats"), [([0], 1, 1), ([5], 0, 1), ([5], 1, 0)])
def test_empty_designs_are_refused(sizes, priors, repeats):
    with pytest.raises(InputError, match="at least 1"):
        draw_trials([PointMass()], sizes, priors, repeats)


def test_worlds_and_sizes_that_would_share_rows_are_not_both_drawn():
    with pytest.raises(InputError, match="two worlds are called point-mass"):
        draw_trials([PointMass(50.0), PointMass(20.0)], [5], priors=1)
    (trial,) = draw_trials([PointMass()], [5, 9, 5], priors=1)
    assert [key.n for key in trial.keys] == [5, 9]


def test_two_runs_never_write_the_same_table_and_a_row_in_table_and_journal_counts_once(reference, tmp_path):
    path = tmp_path / "losses.csv"
    first = Journal(path, DRAWN)
    with pytest.raises(InputError, match=r"another run is writing .*losses\.csv"):
        Journal(path, DRAWN)
    first.append(reference)
    journal = first.beside.read_text()
    first.finish()
    # As if killed between writing the table and removing the journal.
    first.beside.write_text(journal)
    assert numbers(Journal(path, DRAWN).finish()) == numbers(reference)


def kept(journal, losses):
    """Whether the next run would find these losses again if this one were killed after them."""
    journal.append(losses)
    journal.file.close()
    with Journal(journal.path, DRAWN) as again:
        return numbers(again.rows) == numbers(losses)


def test_a_run_that_starts_when_another_gave_up_its_lock_keeps_its_journal(reference, tmp_path):
    pytest.importorskip("fcntl")
    started = []

    class Closing:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def close(self):
            self.file.close()
            started.append(Journal(tmp_path / "losses.csv", DRAWN))

    first = Journal(tmp_path / "losses.csv", DRAWN)
    first.file = Closing(first.file)
    first.close()
    assert kept(started[0], reference)


def test_a_run_that_opened_the_journal_before_another_removed_it_makes_its_own(reference, tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    first, lock = Journal(tmp_path / "losses.csv", DRAWN), fcntl.flock

    def flock(file, how):
        first.close()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    assert kept(Journal(tmp_path / "losses.csv", DRAWN), reference)
