# make demo   a table of shrunken claims in the terminal, and a report to open
# make test   everything, with the development extras
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test clean

demo: .venv/demo
	$(BIN)/ebformer demo

test: .venv/test
	$(BIN)/python -m pytest

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ebformer needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml src/ebformer/transformer/kernels.c .venv/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[plot]'
	touch $@

.venv/test: pyproject.toml src/ebformer/transformer/kernels.c .venv/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	touch $@ .venv/demo

clean:
	rm -rf .venv demo build dist
