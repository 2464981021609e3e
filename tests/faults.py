"""Kill every writing command at random moments, and see that nothing is lost.

    python tests/faults.py --kills 100            # every command; --only estimate for one of them

A command is run to its end once; then again and again, killed (SIGKILL, every fourth time SIGTERM) after a random part
of the time that its work takes, or of what is left of it where a run goes on with another's. Only a run that its signal
ended counts as killed: one that was over before it is tried again. After each kill a target holds what it held before,
or what a finished run writes, and never a part of it. After five kills the next run goes to its end: it writes what an
uninterrupted run does, but for its clocks, and leaves no litter. Commands run in forks of a process that has imported
what they need, so that kills meet their work.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import multiprocessing
import os
import random
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

ROWS = 50_000
"""Enough that writing is a good part of a run."""
OLD = b"what stood here before\n"
WEBSITE = Path(__file__).parents[1] / "website"


def ebformer() -> None:
    from ebformer.cli import main

    main(sys.argv[1:])


def train_with_checkpoints() -> None:
    """`ebformer` whose training writes a checkpoint after each step, so that a kill often meets one."""
    from ebformer.lab.pretraining import loop

    loop.train.__kwdefaults__["checkpoint_every_seconds"] = 0.0
    ebformer()


def build_the_site() -> None:
    runpy.run_path(str(WEBSITE / "build.py"))


def content(path: Path) -> object:
    """What a file or a folder holds."""
    if path.is_dir():
        return {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    return path.read_bytes()


def without_clocks(path: Path) -> object:
    """The rows of a table but for their seconds."""
    with path.open(newline="", encoding="utf-8") as file:
        return [[row[name] for name in row if "seconds" not in name] for row in csv.DictReader(file)]


def scores(path: Path) -> object:
    """A table without its clocks, or a picture."""
    return without_clocks(path) if path.suffix == ".csv" else content(path)


def checkpoint(path: Path) -> object:
    """The step, the weights and the generators of a run; its clocks and its log differ by them."""
    import torch

    kept = torch.load(path, weights_only=True)
    weights = {name: tensor.numpy().tobytes() for name, tensor in kept["average"].items()}
    return kept["progress"]["step"], weights, kept["generators"]


@dataclass(frozen=True)
class Command:
    """A program with its `arguments`, and the files and folders that it writes."""

    arguments: tuple[str, ...]
    targets: tuple[str, ...]
    program: Callable[[], None] = ebformer
    read: Callable[[Path], object] = content
    """What counts of a target; it fails on half of one."""
    resumes: bool = False
    """It goes on where it was killed, so it begins with no targets."""
    passes: bool = False
    """A target may hold an earlier state of the run, whole."""


COMMANDS = {
    "estimate": Command(
        ("estimate", "in.csv", "--count", "x", "--exposure", "t", "-o", "out.csv", "--save", "fit.json"),
        ("out.csv", "fit.json"),
    ),
    "estimate, Parquet": Command(("estimate", "in.csv", "--count", "x", "-o", "out.parquet"), ("out.parquet",)),
    "apply": Command(("apply", "given.json", "in.csv", "-o", "out.csv"), ("out.csv",)),
    "report": Command(("report", "in.csv", "--count", "x", "-o", "out.html"), ("out.html",)),
    "drift": Command(
        ("drift", "in.csv", "--before", "x", "--after", "y", "-o", "drift.json", "--figure", "drift.png"),
        ("drift.json", "drift.png"),
    ),
    "signals": Command(
        ("signals", "in.csv", "--row", "name", "--column", "t", "--count", "x", "-o", "out.csv"), ("out.csv",)
    ),
    "fielddata": Command(
        ("fielddata", "table", "in.csv", "--before", "x", "--after", "y", "-o", "scores.csv", "--figure", "scores.png"),
        ("scores.csv", "scores.png"),
        read=scores,
    ),
    "export": Command(("export", "T24r", "-o", "T24r.onnx"), ("T24r.onnx",)),
    "datasets": Command(("datasets", "league", "-o", "league.csv"), ("league.csv",)),
    "demo": Command(("demo", "-o", "shown"), ("shown/league.csv", "shown/report.html")),
    "arena": Command(
        ("arena", "--estimators", "mle,gamma", "--n", "50", "--priors", "120", "--workers", "1", "-o", "losses.csv"),
        ("losses.csv",),
        read=without_clocks,
        resumes=True,
    ),
    "train": Command(
        ("train", "smoke", "--steps", "12", "--folder", "run", "--resume"),
        ("run/state.pt",),
        program=train_with_checkpoints,
        read=checkpoint,
        resumes=True,
        passes=True,
    ),
    "reproduce": Command(
        ("reproduce", "--scale", "smoke", "--only", "fig-minimax", "--only", "cor-regret", "-o", "pages"),
        ("pages/index.html", "pages/index.md", "pages/fig-minimax.png", "pages/cor-regret.png"),
        resumes=True,
    ),
    "site": Command(("site",), ("site",), program=build_the_site),
}


def prepare(folder: Path) -> None:
    """The inputs of all commands."""
    rng = np.random.default_rng(0)
    x, y, t = rng.poisson(3, ROWS), rng.poisson(3, ROWS), rng.uniform(0.5, 4, ROWS).round(1)
    rows = "\n".join(f"u{i},{a},{b},{c}" for i, (a, b, c) in enumerate(zip(x, y, t, strict=True)))
    (folder / "in.csv").write_text(f"name,x,y,t\n{rows}\n")
    run(Command(("estimate", "in.csv", "--count", "x", "--save", "given.json", "-o", "first.csv"), ()), folder)
    (folder / "first.csv").unlink()
    (folder / "docs").mkdir()
    for page in ("index", "one", "two"):
        (folder / "docs" / f"{page}.md").write_text(f"# {page}\n\nA page of a site.\n")
    (folder / "mkdocs.yml").write_text("site_name: three pages\n")


def start(command: Command, folder: Path) -> BaseProcess:
    """The command in a process of its own; what it says and what it imports go to files beside the folder."""
    process = multiprocessing.get_context("fork").Process(target=child, args=(command, folder))
    process.start()
    return process


def child(command: Command, folder: Path) -> None:
    os.setsid()
    os.chdir(folder)
    said = os.open(f"{folder}.said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = ["ebformer", *command.arguments]
    try:
        command.program()
    finally:
        Path(f"{folder}.modules").write_text(json.dumps(list(sys.modules)))


def run(command: Command, folder: Path) -> str:
    """To its end: what it complained of, or nothing."""
    process = start(command, folder)
    process.join()
    return f"fails by itself: {Path(f'{folder}.said').read_text()[-300:]}" if process.exitcode else ""


def import_as_it_did(folder: Path) -> None:
    """What a command imported, so that its forks find it; no threads begin by that."""
    for name in json.loads(Path(f"{folder}.modules").read_text()):
        with suppress(Exception):
            importlib.import_module(name)


def everything(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def make_old(command: Command, folder: Path) -> None:
    """Targets that are replaced hold something."""
    for target in command.targets:
        place = folder / target
        if not place.suffix:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            place /= "index.html"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(OLD)


def remove(folder: Path, paths: set[Path]) -> None:
    for path in sorted(paths, reverse=True):
        place = folder / path
        place.rmdir() if place.is_dir() else place.unlink()


def faults_of(command: Command, folder: Path, whole: dict[str, object], before: dict[str, object]) -> list[str]:
    """Targets that are neither as before nor whole."""
    found = []
    for target in command.targets:
        path = folder / target
        if path.exists():
            try:
                good = content(path) == before.get(target) or command.read(path) == whole[target] or command.passes
            except Exception as error:  # whatever half a file brings about
                found.append(f"{target}: {error}")
                continue
        else:
            good = target not in before or not path.suffix  # a folder has no name between two renames
        if not good:
            found.append(f"{target} is neither old nor whole")
    return found


def attack(name: str, kills: int, rng: random.Random) -> list[str]:
    """What was lost by so many kills."""
    command, lost = COMMANDS[name], list[str]()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "folder"
        folder.mkdir()
        prepare(folder)
        inputs = everything(folder)
        if said := run(command, folder):
            return [said]
        import_as_it_did(folder)
        remove(folder, everything(folder) - inputs)
        begun = time.monotonic()
        run(command, folder)
        took = time.monotonic() - begun
        whole = {target: command.read(folder / target) for target in command.targets}
        finished = everything(folder)
        remove(folder, finished - inputs)
        number, left = 0, took
        while number < kills:
            if not command.resumes:
                make_old(command, folder)
            before = {target: content(folder / target) for target in command.targets if (folder / target).exists()}
            moment = rng.uniform(0.0, left)
            killed = run_and_kill(command, folder, moment, signal.SIGTERM if number % 4 == 3 else signal.SIGKILL)
            number += killed
            left = max(left - moment, took / 10) if command.resumes else took
            lost += [f"kill {number}: {fault}" for fault in faults_of(command, folder, whole, before)]
            if killed and number % 5 > 0 and number < kills:
                continue
            if said := run(command, folder):
                lost.append(f"kill {number}: the next run {said}")
            elif any(command.read(folder / target) != whole[target] for target in command.targets):
                lost.append(f"kill {number}: the next run ends otherwise")
            elif litter := everything(folder) - finished:
                lost.append(f"kill {number}: the next run leaves {sorted(map(str, litter))[0]}")
            remove(folder, everything(folder) - inputs)
            left = took
    return lost


def run_and_kill(command: Command, folder: Path, moment: float, how: signal.Signals) -> bool:
    """Whether the signal, sent after so many seconds, ended the run: else it had ended by itself."""
    process = start(command, folder)
    process.join(moment)
    if process.exitcode is None and process.pid is not None:
        os.kill(process.pid, how)
    process.join()
    return process.exitcode in (-how, 128 + how)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--only", action="append", choices=list(COMMANDS))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "0", "NO_MKDOCS_2_WARNING": "1"}
    failed = False
    print("| command | kills before its end | lost |\n| --- | ---: | --- |", flush=True)
    for name in given.only or COMMANDS:
        lost = attack(name, given.kills, random.Random(given.seed))
        failed |= bool(lost)
        print(f"| {name} | {given.kills} | {'; '.join(lost) or 'nothing'} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
