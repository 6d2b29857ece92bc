# Everything a newcomer needs: `make demo` shows it, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/customer-orders
MINUTES ?= 60
EXAMPLE ?= customer-orders
SUITE ?= bookworm
VERSION ?=
BENCH ?=
ONLY ?=
WALKS ?= examples/* docs/tutorial.md
BROWSER ?= tests/browser

.PHONY: browser pictures demo test test-all recording touched check unit soak bench versions walks emulated bare-roots checkers deploy-tests release-tests actionlint orchestrators docs format clean

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lakesmith needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

$(VENV)/orchestrators: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test-orchestrators]'
	touch $@

orchestrators: $(VENV)/orchestrators  ## Jupyter's kernel and Dagster, for the tests of docs/orchestrators.md; a minute

$(VENV)/browser: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test-browser]'
	touch $@

browser: $(VENV)/browser  ## the web page in Debian's Chromium, which has to be installed: apt-get install chromium
	LAKESMITH_BROWSER=1 $(BIN)/python -m pytest $(BROWSER)

pictures: $(VENV)/browser  ## the pictures of the documentation, in a walk through the page of examples/retail-sales
	$(BIN)/python -m pytest tests/browser/test_pictures_of_docs.py
	cp build/pictures/docs/*.webp docs/pictures/

demo: $(VENV)/installed  ## makes the environment and runs the customer-orders example from files to gold
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/demo.py $(DEMO)

# In the order of their folders: the units, which come last, leave neither half waiting for the other.
test: $(VENV)/installed  ## the suite: units, Spark, crashes; of the long tail of cases the part that is this commit's turn
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test-all: $(VENV)/installed  ## every case: what a soak begins with
	LAKESMITH_PART=all $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

recording: $(VENV)/installed  ## every case, with the lines that it reaches: what `make touched` and scripts/mutants.py read
	rm -rf build/reach
	LAKESMITH_PART=all $(BIN)/python -m pytest -p spent -p reach --numprocesses 2 --dist loadfile --no-loadscope-reorder

touched: $(VENV)/installed  ## the cases that what has changed since the recording can reach, as many as a minute has
	$(BIN)/python scripts/touched.py

unit: $(VENV)/installed  ## the tests that need neither Spark nor a server: a minute
	$(BIN)/python -m pytest tests/unit -m "not processes" --numprocesses 2

soak: $(VENV)/installed  ## random histories and kills, round after round, for as long as it is told: make soak MINUTES=600
	$(BIN)/python scripts/soak.py --minutes $(MINUTES)

bench: $(VENV)/installed  ## lakesmith against dbt-spark as one table, some 30 minutes on a quiet machine: make bench BENCH=--small
	$(BIN)/python benchmarks/bench.py $(BENCH)

versions: $(VENV)/installed  ## the conformance suite with older versions of Spark and Iceberg: make versions VERSION=4.0.2
	$(BIN)/python scripts/versions.py $(VERSION)

check: $(VENV)/installed docs  ## style, types, the order of imports, sizes, words, and the documentation
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/words.py
	$(BIN)/python scripts/house.py

walks: $(VENV)/installed  ## runs the commands of the examples' READMEs and of the tutorial, and compares what they print
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/refresh_outputs.py --check --side-by-side 2 $(WALKS)

emulated: $(VENV)/installed  ## an example with S3 and Glue played on this machine, beside its local tables: make emulated EXAMPLE=invoices
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/emulated.py examples/$(EXAMPLE) build/emulated

# In a place of their own: they pin libraries that lakesmith uses.
$(VENV)/checkers: $(VENV)/installed
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check checkov==3.3.30 parliament==1.6.4 statelint==3.1.0

checkers: $(VENV)/checkers  ## checkov, parliament and statelint read what deploy writes; minutes, the first time
	$(BIN)/python -m pytest tests/deploy/test_checkers.py

# Mostly they wait for resources, so that more than two go on at once.
deploy-tests: $(VENV)/installed  ## Terraform applies the deployments of the examples to an emulated AWS; needs terraform and its provider: make deploy-tests ONLY=privileges
	$(BIN)/python -m pytest tests/deploy -m deploys -k "$(ONLY)" --numprocesses 4 --dist loadgroup

release-tests: test-all walks browser checkers deploy-tests versions  ## all that a release has to pass besides: hours

actionlint: $(VENV)/installed  ## the linter of workflows, for the tests of what deploy writes for GitHub; needs Go
	GOBIN=$(CURDIR)/$(BIN) go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

bare-roots: $(VENV)/installed  ## all examples, or one, as deployed jobs run them, in a root with the service's Python and Spark alone; needs debootstrap: make bare-roots EXAMPLE=invoices SUITE=trixie
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/bare_roots.py --suite $(SUITE) $(if $(filter file,$(origin EXAMPLE)),,$(EXAMPLE))

docs: $(VENV)/installed  ## the documentation as a site in build/docs; fails on broken links and on pages that no menu has
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --conf-dir docs --doctree-dir build/doctrees --builder html . build/docs

format: $(VENV)/installed
	$(BIN)/ruff check --no-cache --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist
