"""When the machine fails: a full disk, no permission, a closed pipe, too little memory, two writers, a kill."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import faults
from ebformer import load_fit

OLD = "what stood here before\n"
ESTIMATE = ("estimate", "in.csv", "--count", "x", "--method", "gamma")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("name,x\n" + "".join(f"unit {i},{i % 7}\n" for i in range(20_000)))
    (tmp_path / "out.csv").write_text(OLD)
    return tmp_path


def run(*arguments: str, folder: Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ebformer", *arguments], cwd=folder, capture_output=True, text=True, **options
    )  # type: ignore[call-overload,no-any-return]


def limited(what: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(what, (most, most))


def nothing_lost(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """A sentence, the old file, and no litter."""
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("ebformer: ")
    assert (folder / "out.csv").read_text() == OLD
    assert not [path for path in folder.iterdir() if path.name.endswith(".partial")]


def test_a_full_disk_ends_in_a_sentence(folder: Path) -> None:
    """A limit on the size of files: the write fails as on a full disk, with EFBIG in the place of ENOSPC."""
    done = run(*ESTIMATE, "-o", "out.csv", folder=folder, preexec_fn=limited(resource.RLIMIT_FSIZE, 100_000))
    nothing_lost(done, folder)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder here refuses everybody")
def test_a_folder_that_may_not_be_written_in_ends_in_a_sentence(folder: Path) -> None:
    nothing_lost(run(*ESTIMATE, "-o", "/proc/out.csv", folder=folder), folder)


def test_too_little_memory_ends_in_a_sentence(folder: Path) -> None:
    done = run(*ESTIMATE, "-o", "out.csv", folder=folder, preexec_fn=limited(resource.RLIMIT_AS, 700 * 2**20))
    if done.returncode:  # it may be enough
        nothing_lost(done, folder)


def test_a_pipe_that_closes_early_is_no_failure(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ebformer", *ESTIMATE], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 141
    assert "Traceback" not in said


def test_an_update_whose_rows_nobody_reads_is_an_update(folder: Path) -> None:
    assert run(*ESTIMATE, "--save", "fit.json", "-o", "out.csv", folder=folder).returncode == 0
    command = [sys.executable, "-m", "ebformer", "apply", "fit.json", "in.csv", "--update"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
    assert process.returncode == 141
    tally = load_fit(folder / "fit.json").tally
    assert tally is not None
    assert tally.n == 40_000


def test_two_writers_leave_the_whole_file_of_one(folder: Path) -> None:
    writing = [sys.executable, "-m", "ebformer", *ESTIMATE, "-o", "out.csv"]
    both = [subprocess.Popen(writing, cwd=folder, stderr=subprocess.PIPE) for _ in range(2)]
    for one in both:
        one.communicate()
    assert [one.returncode for one in both] == [0, 0]
    assert len((folder / "out.csv").read_text().splitlines()) == 20_001
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "out.csv"]


def test_updates_at_once_lose_no_units(folder: Path) -> None:
    """A fit has the units of all commands that said they added theirs, and the others say that they did not."""
    assert run(*ESTIMATE, "--save", "fit.json", "-o", "out.csv", folder=folder).returncode == 0
    adding = [sys.executable, "-m", "ebformer", "apply", "fit.json", "in.csv", "--update", "-o"]
    several = [
        subprocess.Popen([*adding, f"{i}.csv"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for i in range(3)
    ]
    said = [one.communicate()[1] for one in several]
    added = [one.returncode == 0 for one in several]
    tally = load_fit(folder / "fit.json").tally
    assert tally is not None
    assert tally.n == 20_000 * (1 + sum(added))
    for done, told in zip(added, said, strict=True):
        assert done or "another command has changed fit.json" in told
    assert sorted(path.name for path in folder.iterdir()) == [
        "0.csv",
        "1.csv",
        "2.csv",
        "fit.json",
        "in.csv",
        "out.csv",
    ]


@pytest.mark.parametrize("name", ["estimate", "site"])
def test_kills_at_random_moments_lose_nothing(name: str) -> None:
    """`python tests/faults.py` does the same to every command, a hundred times."""
    attack = [sys.executable, str(Path(faults.__file__)), "--kills", "5", "--only", name]
    done = subprocess.run(attack, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "nothing" in done.stdout
