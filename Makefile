# make demo   a table of shrunken claims in the terminal, and a report to open
# make test   everything, with the development extras
PYTHON ?= python3
BIN := .venv/bin
# A change of these asks for a new installation; all other files are read where they lie.
INSTALLED := pyproject.toml hatch_build.py src/ebformer/networks/kernels.c src/ebformer/networks/constants.py

.PHONY: demo test clean

demo: .venv/demo
	$(BIN)/ebformer demo

test: .venv/test
	$(BIN)/python -m pytest

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ebformer needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv

.venv/demo: $(INSTALLED) .venv/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[plot]'
	touch $@

.venv/test: $(INSTALLED) .venv/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	touch $@ .venv/demo

clean:
	rm -rf .venv demo build dist
