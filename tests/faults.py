"""Kill every writing command at random moments, and see that nothing is lost.

    python tests/faults.py --kills 100            # every command; --only estimate for one of them

A command is run to its end once; then again and again, killed (SIGKILL, every fourth time SIGTERM) after a random part
of the time it took. After each kill the target holds what it held before, or what a finished run writes, and never a
part of it; what can be resumed is run to its end. The next run leaves no litter.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

OLD = b"what stood here before\n"


@dataclass(frozen=True)
class Command:
    """`arguments` as in a shell, and the files it writes; a run that is resumed goes on where it was killed."""

    arguments: tuple[str, ...]
    targets: tuple[str, ...]
    resumes: bool = False
    varies: tuple[str, ...] = ()
    """Targets whose bytes differ from run to run, such as with a date: these are only looked at for being whole."""


COMMANDS = {
    "estimate": Command(
        ("estimate", "in.csv", "--count", "x", "--exposure", "t", "-o", "out.csv", "--save", "fit.json"),
        ("out.csv", "fit.json"),
    ),
    "parquet": Command(("estimate", "in.csv", "--count", "x", "-o", "out.parquet"), ("out.parquet",)),
    "apply": Command(("apply", "given.json", "in.csv", "-o", "out.csv"), ("out.csv",)),
    "report": Command(("report", "in.csv", "--count", "x", "-o", "out.html"), ("out.html",), varies=("out.html",)),
    "drift": Command(("drift", "in.csv", "--before", "x", "--after", "y", "-o", "drift.json"), ("drift.json",)),
    "arena": Command(
        ("arena", "--estimators", "mle,gamma", "--n", "50", "--priors", "3", "--workers", "1", "-o", "losses.csv"),
        ("losses.csv",),
        resumes=True,
        varies=("losses.csv",),
    ),
}


def prepare(folder: Path) -> None:
    """The inputs of all commands, and targets that already hold something."""
    rng = np.random.default_rng(0)
    x, y, t = rng.poisson(3, 400), rng.poisson(3, 400), rng.uniform(0.5, 4, 400).round(2)
    rows = "\n".join(f"u{i},{a},{b},{c}" for i, (a, b, c) in enumerate(zip(x, y, t, strict=True)))
    (folder / "in.csv").write_text(f"name,x,y,t\n{rows}\n")
    run(("estimate", "in.csv", "--count", "x", "--save", "given.json", "-o", "first.csv"), folder).communicate()
    (folder / "first.csv").unlink(missing_ok=True)


def run(arguments: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "ebformer", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def litter(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".partial")]


def attack(name: str, kills: int, rng: random.Random) -> tuple[int, int, list[str]]:
    """How often it was killed before its end, how often after, and what was lost."""
    command, lost, early, late = COMMANDS[name], [], 0, 0
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        prepare(folder)
        start = time.monotonic()
        finished = run(command.arguments, folder)
        _, said = finished.communicate()
        if finished.returncode:
            return 0, 0, [f"{name} fails by itself: {said.decode()[-300:]}"]
        took = time.monotonic() - start
        whole = {target: digest(folder / target) for target in command.targets}
        for number in range(kills):
            for target in command.targets:
                (folder / target).unlink(missing_ok=True)
                if not command.resumes:
                    (folder / target).write_bytes(OLD)
            process = run(command.arguments, folder)
            time.sleep(rng.uniform(0.0, took * 1.1))
            over = process.poll() is not None
            early, late = early + (not over), late + over
            os.killpg(process.pid, signal.SIGTERM if number % 4 == 3 else signal.SIGKILL) if not over else None
            process.communicate()
            for target in command.targets:
                path = folder / target
                if command.resumes and not path.exists():
                    continue
                if path.read_bytes() != OLD and target not in command.varies and digest(path) != whole[target]:
                    lost.append(f"kill {number}: {target} is neither old nor whole")
                page = target.endswith(".html") and path.read_bytes() != OLD
                if page and not path.read_text(encoding="utf-8").rstrip().endswith("</html>"):
                    lost.append(f"kill {number}: {target} ends early")
            if command.resumes:
                again = run(command.arguments, folder)
                _, said = again.communicate()
                if again.returncode:
                    lost.append(f"kill {number}: cannot be resumed: {said.decode()[-200:]}")
        run(command.arguments, folder).communicate()
        if left := litter(folder):
            lost.append(f"{len(left)} unfinished files are left after the next run, such as {left[0]}")
    return early, late, lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--only", action="append", choices=list(COMMANDS))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed = False
    print("| command | kills before its end | after it | lost |\n| --- | ---: | ---: | --- |", flush=True)
    for name in given.only or COMMANDS:
        early, late, lost = attack(name, given.kills, random.Random(given.seed))
        failed |= bool(lost)
        print(f"| {name} | {early} | {late} | {'; '.join(lost) or 'nothing'} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
