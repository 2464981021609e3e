# make demo   a table of shrunken claims in the terminal, and a report to open
# make test   everything, with the development extras
# make fuzz   attack every door for MINUTES, and keep what breaks as tests
# make site   the documentation as pages in site/, to open without a server
# make pictures  the README's picture, a screenshot of a report
# make pages  what the pages in docs/ print and show, by running their code again
# make playground   one page that runs the package in a browser: build/playground.html
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
MINUTES ?= 5
# A change of these asks for a new installation; all other files are read where they lie.
INSTALLED := pyproject.toml hatch_build.py src/ebformer/networks/kernels.c src/ebformer/networks/constants.py \
	src/ebformer/estimators/npmle/loops.c

.PHONY: demo test fuzz pages pictures site playground clean

demo: .venv/demo
	$(BIN)/ebformer demo

# Every worker of the tests has a core of its own, on which threads of BLAS would wait for each other.
test fuzz: export OPENBLAS_NUM_THREADS = 1

# Tests start processes: what these import is compiled once, even where bytecode is otherwise not kept. Each file is
# run by one worker, so that what its tests share (a report, a browser, a Spark session) is made once.
test: export PYTHONDONTWRITEBYTECODE =
test: export PYTHONPYCACHEPREFIX = $(CURDIR)/.venv/bytecode
test: .venv/test
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

fuzz: .venv/test
	PYTHONPATH=tests $(BIN)/python tests/fuzz/run.py --minutes $(MINUTES)
	PYTHONPATH=tests $(BIN)/python tests/fuzz/guided.py --minutes $(MINUTES)

site: export NO_MKDOCS_2_WARNING = 1
site: .venv/site
	$(BIN)/python website/build.py site

pages: .venv/test
	$(BIN)/python tests/test_docs_examples.py

playground: .venv/test
	$(BIN)/python playground/build.py build/playground.html

pictures: .venv/test
	$(BIN)/python benchmarks/pictures.py

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ebformer needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv

.venv/demo: $(INSTALLED) .venv/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[plot]'
	touch $@

.venv/test: $(INSTALLED) .venv/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	touch $@ .venv/demo .venv/site

.venv/site: $(INSTALLED) .venv/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[docs]'
	touch $@

clean:
	rm -rf .venv demo build dist site
