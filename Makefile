# Every target sets up what it needs: a virtual environment with the package built in it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard cpp/*) CMakeLists.txt pyproject.toml

.PHONY: demo test check docs bench experiments clean
.DEFAULT_GOAL := demo

demo: $(VENV)/installed-cli
	$(BIN)/kdi demo -o out

test: $(VENV)/installed-test
	$(BIN)/python -c "import kdi._numerics._core"  # a build that failed is no reason to test NumPy alone
	$(BIN)/python -m pytest -n auto --dist loadgroup

check: $(VENV)/installed-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pages lie in the site as they do in the repository, so the source is all of it; no warning is let pass.
docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going --quiet -c docs . docs/_build

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks

experiments: $(VENV)/installed-bench
	$(BIN)/python -m experiments all

# One stamp an extra: it is older than the sources when the core has to be built again.
$(VENV)/installed-%: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

clean:
	rm -rf $(VENV) build out docs/_build docs/api docs/auto_examples
