"""Attack the readers of files by coverage: bytes that reach new lines of ours are changed further. Needs atheris.

    pip install atheris
    PYTHONPATH=tests python tests/fuzz/guided.py --minutes 10       # all readers in turn; --reader csv for one of them

What breaks is kept in tests/fuzz/found, as with the other attacks. Without atheris it says so and ends.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path


def attack(reader: str, seconds: int) -> None:
    """One reader in this process, which ends with the attack."""
    import atheris

    with atheris.instrument_imports(include=["ebformer"], exclude=["ebformer.lab"]):
        from fuzz import run
        from fuzz.judging import FAULTS, judged
        from fuzz.readers import READERS, coded, run_reader

    def one(content: bytes) -> None:
        case = {"reader": reader, "bytes": coded(content)}
        outcome = judged(run_reader, case)
        if outcome.kind in FAULTS:
            run.keep("raw bytes", case, f"{outcome.kind}: {outcome.what}")

    with tempfile.TemporaryDirectory() as corpus:
        for number, content in enumerate(READERS[reader][1]()):
            (Path(corpus) / str(number)).write_bytes(content)
        atheris.Setup([sys.argv[0], corpus, f"-max_total_time={seconds}", "-print_final_stats=1"], one)
        atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--reader")
    given = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: readers were not attacked by coverage")
        return
    if given.reader is not None:
        attack(given.reader, round(60 * given.minutes))
        return
    from fuzz.readers import READERS

    for reader in READERS:
        each = [sys.executable, __file__, "--reader", reader, "--minutes", str(given.minutes / len(READERS))]
        done = subprocess.run(each, capture_output=True, text=True)
        calls = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line]
        print(f"{reader}: {calls[0].split()[-1] if calls else done.stderr[-300:]} files", done.stdout, flush=True)


if __name__ == "__main__":
    main()
