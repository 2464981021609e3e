"""Where everything is installed, nothing may be skipped: EBFORMER_NO_SKIP=1 turns such skips into failures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Before numpy is imported: the matrices of tests are small, and threads that wait for each other take longer than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples every time, and no deadline: a busy machine is not a broken law.
settings.register_profile("ebformer", deadline=None, derandomize=True)
settings.load_profile("ebformer")

NEEDS = {"data", "browser", "spark"}
"""Markers of tests that need something which is not in the repository."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    needs = NEEDS & {marker.name for marker in item.iter_markers()}
    if os.environ.get("EBFORMER_NO_SKIP") and report.skipped and needs and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} needs {', '.join(sorted(needs))} and was skipped: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report = yield
    if os.environ.get("EBFORMER_NO_SKIP") and report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped as a whole: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data: EBFORMER_DATA, or ../shared/data beside the repository."""
    beside = Path(__file__).resolve().parent.parent / "shared" / "data"
    folder = Path(os.environ.get("EBFORMER_DATA", beside))
    if not (folder / "README.md").exists():
        pytest.skip(f"there is no real data in {folder}: set EBFORMER_DATA to its folder")
    return folder
