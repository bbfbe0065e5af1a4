# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_FLAGS := --disable-pip-version-check -q
# More than half of the suite waits: for processes, terminals, screens. So two workers a core, each with one thread of
# its own for what is computed.
WORKERS ?= $(shell echo $$(( $$(nproc) * 2 )))

.DEFAULT_GOAL := help
.PHONY: help demo test lint types contracts screenshots perf soak wheel clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 24

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 4))' \
		|| { echo "Exuvia needs Python 3.11.4 or newer and found $$($(PYTHON) -V 2>&1); name one: make demo PYTHON=/path/to/python3"; \
		exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing into $(VENV); a minute or two."
	$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e '.[dev,trainer,reasoning]'
	@touch $(VENV)/.run $@

demo: $(VENV)/.run  ## set up and open the console on a fresh demonstration
	$(BIN)/exuvia demo $(ARGS)

test: $(VENV)/.dev lint types contracts  ## set up and run lint, types, import contracts and tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not perf and not soak' $(ARGS)

lint: $(VENV)/.dev  ## ruff, check and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## mypy, strict
	$(BIN)/mypy

contracts: $(VENV)/.dev  ## the import arrows of docs/ARCHITECTURE.md
	$(BIN)/lint-imports

screenshots: $(VENV)/.dev  ## pictures of every screen from a real rehearsal run
	$(BIN)/python screenshots/make.py

perf: $(VENV)/.dev  ## speed tables; run on a quiet machine
	@for script in tests/perf/[a-z]*.py; do \
		echo "== $$script"; $(BIN)/python -P -m tests.perf.$$(basename $$script .py) || exit 1; done

soak: $(VENV)/.dev  ## long trials: many kills, many seeds
	$(BIN)/python -m pytest -n auto -m soak $(ARGS)

wheel: $(VENV)/.dev  ## build the wheel into dist/
	$(BIN)/python -m build --wheel --no-isolation

clean:  ## remove the environment and what was built
	rm -rf $(VENV) dist build *.egg-info
