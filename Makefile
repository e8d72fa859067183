# Two commands: `make demo` and `make test`. Both work on a machine with only python3 (3.11+) and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
# Threads inside numerical libraries only fight with pytest's own workers on two cores.
QUIET  := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test soak lint docs bench hashes clean help
.DEFAULT_GOAL := help

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "apportion needs Python 3.11 or newer; got $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --editable . --constraint constraints.txt
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --editable '.[test]' --constraint constraints.txt
	@touch $@ $(VENV)/.base

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --editable '.[lab,web,docs]' --constraint constraints.txt
	@touch $@ $(VENV)/.base

$(VENV)/.bench: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --editable '.[bench]' --constraint constraints.txt
	@touch $@ $(VENV)/.base

demo: $(VENV)/.base  ## install and run the paper's three examples and one as data are, end to end
	$(BIN)/apportion demo

test: $(VENV)/.test lint  ## install the test extras (and a browser where none is found) and run every test
	$(BIN)/python tests/browser/install.py
	$(BIN)/python tests/client/generator.py
	$(QUIET) $(BIN)/python -m pytest -n 2 --dist worksteal

soak: $(VENV)/.test  ## the full count of cases where `make test` runs a tenth
	$(BIN)/python tests/browser/install.py
	$(BIN)/python tests/client/generator.py
	APPORTION_SOAK=1 $(QUIET) $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.test  ## ruff and mypy --strict
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/ruff format --check src tests benchmarks examples docs/*.py docs/tools
	$(BIN)/mypy

docs: $(VENV)/.docs  ## build the documentation into site/, strictly
	$(BIN)/python docs/tools/generate.py
	$(BIN)/python docs/tools/beyond.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.bench  ## measure the speed bars; every figure is a ratio or a minimum over repeats
	$(QUIET) $(BIN)/python -m benchmarks

hashes: $(VENV)/.test  ## write the packages of the Docker image anew, with their hashes, as constraints.txt has them
	$(BIN)/python docs/tools/image_requirements.py

clean:  ## remove the virtual environment and every cache
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
