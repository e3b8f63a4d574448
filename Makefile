# One way in.  `make help` lists it all.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export UNDERSTUDY_DATA ?= $(wildcard $(abspath ../shared/data))
# Modules are compiled once, for all the processes that tests start.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'
	@for f in benchmarks/[a-z]*.py; do n=$$(basename $$f .py | tr _ -); printf "  make %-12s %s\n" bench-$$n "$$(sed -n '1s/"""//gp' $$f)"; done

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Installing into $(VENV), once; it takes a minute or two ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

# DuckDB's extensions are packed for one version of it, so they have an environment of their own.
.databases/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .databases
	.databases/bin/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[databases]' \
		--constraint <(grep -v ^duckdb= constraints.txt) pytest hypothesis pandas polars pyarrow
	scripts/system postgres postgresql
	touch $@

install: $(VENV)/.installed ## make .venv with everything the project needs

demo: install ## from a private table to its evaluation, on a simulated city, in demo-out: init, check, synth, evaluate
	@rm -rf demo-out
	@$(BIN)/understudy demo demo-out

test: install .databases/.installed ## all checks and tests
	scripts/system chromedriver chromium chromium-driver
	@rm -f .raises
	@$(MAKE) --no-print-directory --jobs 4 lint docs databases tests
	$(BIN)/python tests/raises.py

# Three processes for two cores: a part of the time a test waits for another program.  Four take as long.
tests: # while types are checked, the docs are made and databases are tried
	$(BIN)/python -m pytest -p tests.raises --numprocesses 3 --dist worksteal --durations=10

databases:
	.databases/bin/python -m pytest -p tests.raises --quiet tests/engine/test_databases.py

audit: install ## all tests, tried hard: 500 pairs in all containers, 152 on Spark, killed clusters, all small worlds, 200 kills, 10,000 bad inputs
	UNDERSTUDY_AUDIT=1 $(BIN)/python -m pytest -q --numprocesses 2 --dist worksteal --durations=10 tests
	$(BIN)/understudy audit --pairs 500 --statistical

zoo: install ## planted bugs, one at a time: each must be caught by its named test
	$(BIN)/python tests/zoo/zoo.py

mutants: install ## small changes to the privacy rooms: each must be caught, or be explained
	$(BIN)/python tests/mutants.py

lint: install ## ruff, strict types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: install ## the docs site, in site/ (warnings are errors)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench-%: install
	$(BIN)/python benchmarks/$(subst -,_,$*).py

.PHONY: help install demo test tests databases audit zoo mutants lint docs
