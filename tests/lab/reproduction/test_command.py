"""`ebformer reproduce` as a user runs it: complete, kept, and the same after a kill."""

import re
import signal
import subprocess
import sys

import pytest

from command_line import ebformer
from ebformer.lab.reproduction import training_worlds
from ebformer.lab.reproduction.items import ITEMS

SHIPPED = all((training_worlds.FOLDER / f"{name}.safetensors").exists() for name in training_worlds.TRAINED_ON)


KILLED_AT_T24R = """
import os, signal
from ebformer.lab.journal import Journal
from ebformer.cli import main

append = Journal.append

def append_and_die(journal, losses):
    append(journal, losses)
    if journal.path.name.startswith("losses-T24r"):
        os.kill(os.getpid(), signal.SIGKILL)

Journal.append = append_and_die
main()
"""


def reproduce(*arguments, code=0):
    done = ebformer("reproduce", "--scale", "smoke", *arguments)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory, shared_data):
    folder = tmp_path_factory.mktemp("reproduction")
    reproduce("--output", folder, "--data-dir", shared_data)
    return folder


def sections(report):
    text = (report / "index.md").read_text(encoding="utf-8")
    return {part.partition("\n")[0]: part for part in text.split("\n## ")[1:]}


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.key)
def test_every_item_has_the_papers_number_ours_its_interval_and_a_word(report, item):
    section = sections(report)[item.title]
    command, word = section.split("\n\n")[1:3]
    assert f"--only {item.key}`" in command
    page = (report / "index.html").read_text(encoding="utf-8")
    assert f"Key: {item.key}." in page
    if item.key == "tab-mixture-training" and not SHIPPED:
        assert "ebformer train ablation-mixture" in word
        return
    assert len(word.split()) > 10
    tables = [line for line in section.splitlines() if line.startswith("| ")]
    compared = "the paper's | ours | 95 % interval | word" in tables[0]
    beside = "ours (the paper's)" in section
    assert compared or beside
    cells = [cell.strip() for line in tables[2:] for cell in line.strip("|").split("|")]
    if compared:
        first = [cell.strip() for cell in tables[2].strip("|").split("|")]
        assert all(first[1:])
        assert re.search(r"\d", first[2])
        assert re.search(r" to |exact|largest of", first[3])
    else:
        assert any(re.search(r"-?\d.* \(.*\d.*\)", cell) for cell in cells)
        assert any("±" in cell or cell.partition(" (")[0].endswith("*") for cell in cells)
    for picture in re.findall(r"\]\(([^)#]+\.png)\)", section):
        assert (report / picture).stat().st_size > 1000
    assert "nan" not in re.findall(r"\w+", section)


@pytest.mark.data
@pytest.mark.slow
def test_a_second_run_reads_what_was_kept_and_writes_the_same_pages(report, shared_data):
    before = {path: path.read_bytes() for path in report.rglob("*") if path.is_file()}
    told = reproduce("--output", report, "--data-dir", shared_data)
    ran = [line for line in told.splitlines() if "tab-mixture-training" not in line]
    assert len(ran) == 1, told
    assert "wrote" in ran[0]
    assert {path: path.read_bytes() for path in report.rglob("*") if path.is_file()} == before


@pytest.mark.data
@pytest.mark.slow
def test_after_a_kill_the_report_is_that_of_an_uninterrupted_run(report, tmp_path, shared_data):
    only = ("--only", "tab-pl-synthetic", "--only", "fig-regret")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_AT_T24R, "reproduce", "--scale", "smoke", "--output", tmp_path / "killed", *only],
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    results = tmp_path / "killed" / "smoke"
    assert list(results.glob("losses-T24r*.journal"))
    assert not (tmp_path / "killed" / "index.md").exists()
    (kept,) = results.glob("losses-classical*.csv")
    bytes_before = kept.read_bytes()
    told = reproduce("--output", tmp_path / "killed", *only)
    assert "losses classical" not in told
    assert kept.read_bytes() == bytes_before
    reproduce("--output", report, "--data-dir", shared_data, *only)
    for page in ("index.md", "index.html"):
        assert (tmp_path / "killed" / page).read_bytes() == (report / page).read_bytes()


def test_what_is_not_there_is_refused_in_one_sentence(tmp_path):
    for arguments, complaint in (
        (("--only", "fig-nothing"), "there is no item 'fig-nothing': choose among fig-probe"),
        (("--only", "tab-rmse", "--data-dir", tmp_path / "none"), "there is no folder"),
        (("--only", "fig-probe", "--docs", tmp_path), "leave out --only"),
    ):
        told = reproduce("--output", tmp_path / "out", *arguments, code=1)
        assert complaint in told
        assert "Traceback" not in told
        assert not (tmp_path / "out" / "index.md").exists()
