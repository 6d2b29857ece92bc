# Everything a newcomer needs: `make demo` shows it, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/customer-orders
HISTORIES ?= 300
# Tests of a part each whose histories are drawn from a seed: a soak draws a tenth as many more of each.
SEEDED := $(addprefix tests/spark/,iceberg/test_change_feed.py refresh/test_sums.py write/test_history_type2.py \
	refresh/test_refresh_keys.py refresh/test_refresh_keyed.py write/test_semantics_keyed.py)

.PHONY: demo test check unit soak walks format clean

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lakesmith needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/installed  ## makes the environment and runs the customer-orders example from files to gold
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/demo.py $(DEMO)

# In the order of their folders: the units, which come last, leave neither half waiting for the other.
test: $(VENV)/installed  ## all tests: units, Spark, crashes; two files at a time, each half with one JVM for all of its tests
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

unit: $(VENV)/installed  ## the tests that need no JVM
	$(BIN)/python -m pytest tests/unit

soak: $(VENV)/installed  ## hundreds of random histories, each in a lake of its own: hours (make soak HISTORIES=50: fewer)
	LAKESMITH_SOAK=$(HISTORIES) $(BIN)/python -m pytest tests/spark/refresh/test_refresh_histories.py --timeout 0 -x
	LAKESMITH_SOAK=$$(( ($(HISTORIES) + 9) / 10 )) $(BIN)/python -m pytest $(SEEDED) --timeout 0 -x

check: $(VENV)/installed  ## style, types, and the order of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

walks: $(VENV)/installed  ## runs the commands of the examples' READMEs and compares what they print
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/refresh_outputs.py --check examples/*

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist
