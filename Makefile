# Everything a newcomer needs: `make demo` shows it, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/customer-orders
MINUTES ?= 60
EXAMPLE ?= customer-orders
VERSION ?=

.PHONY: demo test test-all check unit soak versions walks emulated orchestrators docs format clean

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lakesmith needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

$(VENV)/orchestrators: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test-orchestrators]'
	touch $@

orchestrators: $(VENV)/orchestrators  ## Jupyter's kernel and Dagster, for the tests of docs/orchestrators.md; a minute

demo: $(VENV)/installed  ## makes the environment and runs the customer-orders example from files to gold
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/demo.py $(DEMO)

# In the order of their folders: the units, which come last, leave neither half waiting for the other.
test: $(VENV)/installed  ## the suite: units, Spark, crashes; of the long tail of cases the part that is this commit's turn
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test-all: $(VENV)/installed  ## every case: what a soak begins with
	LAKESMITH_PART=all $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

unit: $(VENV)/installed  ## the tests that need neither Spark nor a server: a minute
	$(BIN)/python -m pytest tests/unit -m "not processes" --numprocesses 2

soak: $(VENV)/installed  ## random histories and kills, round after round, for as long as it is told: make soak MINUTES=600
	$(BIN)/python scripts/soak.py --minutes $(MINUTES)

versions: $(VENV)/installed  ## the conformance suite with older versions of Spark and Iceberg: make versions VERSION=4.0.2
	$(BIN)/python scripts/versions.py $(VERSION)

check: $(VENV)/installed docs  ## style, types, the order of imports, sizes, words, and the documentation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/words.py
	$(BIN)/python scripts/house.py

walks: $(VENV)/installed  ## runs the commands of the examples' READMEs and of the tutorial, and compares what they print
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/refresh_outputs.py --check examples/* docs/tutorial.md

emulated: $(VENV)/installed  ## an example with S3 and Glue played on this machine, beside its local tables: make emulated EXAMPLE=invoices
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/emulated.py examples/$(EXAMPLE) build/emulated

docs: $(VENV)/installed  ## the documentation as a site in build/docs; fails on broken links and on pages that no menu has
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --conf-dir docs --doctree-dir build/doctrees --builder html . build/docs

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist
