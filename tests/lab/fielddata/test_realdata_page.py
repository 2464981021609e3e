"""docs/realdata.md says what its examples print."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "realdata.md"


@pytest.mark.data
def test_the_examples_of_the_page_print_what_it_says(data_dir):
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 20
    assert failed == 0
