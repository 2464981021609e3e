"""The tables are not in the repository: tests that need them say so and are skipped where they are absent."""

from pathlib import Path

import pytest

from ebformer.errors import InputError
from ebformer.lab.fielddata.sources import data_folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real data."""
    try:
        return data_folder()
    except InputError as error:
        pytest.skip(f"real data absent: {error}")


@pytest.fixture(scope="session")
def published(data_dir: Path) -> Path:
    """The published networks' scores on the same cases."""
    path = data_dir.parent / "arena" / "published_real.csv"
    if not path.exists():
        pytest.skip(f"published scores absent: there is no {path}")
    return path
