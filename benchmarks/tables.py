"""Time and peak memory of `ebformer estimate` on large files, in a process of its own.

    python benchmarks/tables.py            # 10^6 rows of CSV and 10^8 rows of Parquet; needs 6 GB of disk for a while

The files are made in a temporary folder and removed; the results are printed as a table in Markdown.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

CASES = [
    ("csv", 1_000_000, ""),
    ("csv", 1_000_000, "--exposure games"),
    ("csv", 1_000_000, "--exposure years"),
    ("csv", 1_000_000, "--trials shots"),
    ("csv", 1_000_000, "--effect years --se games"),
    ("parquet", 10_000_000, "--exposure games"),
    ("parquet", 10_000_000, "--trials shots"),
    ("parquet", 100_000_000, ""),
    ("parquet", 100_000_000, "--exposure games"),
    ("parquet", 100_000_000, "--exposure years"),
]


def make(path: Path, rows: int) -> None:
    """Players with gamma rates: whole games, years played as a continuous exposure, and shots, each a goal or not."""
    drawn = f"""
        SELECT i AS number, 1 + floor(random() * 82)::INT AS games, 0.5 + 20 * random() AS years,
               -ln(random()) - ln(random()) AS rate
        FROM range({rows}) AS units(i)
    """
    # Without a Poisson generator in SQL, a rounded normal around the mean serves: only sizes matter here.
    count = "greatest(0, round(rate * 5 + sqrt(rate * 5) * sqrt(-2 * ln(random())) * cos(6.283185307 * random())))::INT"
    with duckdb.connect() as connection:
        scored = f"SELECT number, games, years, {count} AS goals FROM ({drawn})"
        table = connection.sql(f"SELECT *, goals + games AS shots FROM ({scored})")
        (table.write_parquet if path.suffix == ".parquet" else table.write_csv)(str(path))


def measure(source: Path, options: str, method: str) -> tuple[float, float, float]:
    """Seconds, processor seconds and gigabytes of the whole command, from its start to the finished file."""
    output = source.with_stem("shrunken")
    options = options if "--effect" in options else f"--count goals {options}"
    command = f"{sys.executable} -m ebformer estimate {source} {options} --method {method} -o {output}"
    started = time.perf_counter()
    process = subprocess.Popen(command.split(), stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"{command} failed")
    output.unlink()
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="npmle")
    parser.add_argument("--largest", type=int, default=10**8, help="Leave out cases with more rows.")
    chosen = parser.parse_args()
    print(
        f"`python benchmarks/tables.py --method {chosen.method}` on {os.cpu_count()} cores ({platform.machine()}), "
        f"load average {os.getloadavg()[0]:.1f} at the start. Wall and processor time of the whole command, reading "
        "and writing included, and the peak resident memory of its process.\n\n"
        "| file | rows | options | file size | time | processor time | peak memory |\n"
        "| --- | --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind, rows, options in CASES:
            if rows > chosen.largest:
                continue
            source = Path(folder) / f"{rows}.{kind}"
            if not source.exists():
                make(source, rows)
            seconds, processor, gigabytes = measure(source, options, chosen.method)
            size = source.stat().st_size / 2**20
            cells = (kind, f"{rows:,}", f"`{options}`", f"{size:,.0f} MB", f"{seconds:.1f} s", f"{processor:.1f} s")
            print(f"| {' | '.join(cells)} | {gigabytes:.2f} GB |", flush=True)


if __name__ == "__main__":
    main()
