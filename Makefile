# Every target sets up what it needs: a virtual environment with the package built in it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard cpp/*) CMakeLists.txt pyproject.toml
TEST := $(BIN)/python -m pytest -n auto

.PHONY: demo test test-fast check docs bench experiments clean
.DEFAULT_GOAL := demo

demo: $(VENV)/installed-cli
	$(BIN)/kdi demo -o out

# Everything, and then what depends on the numeric core once more with the NumPy core.
test: $(VENV)/installed-test
	$(BIN)/python -c "import kdi._numerics._core"  # a build that failed is no reason to test NumPy alone
	$(TEST)
	KDI_PURE_PYTHON=1 $(TEST)

# Without what takes seconds, Spark, the browser and runs of experiments: under two minutes on two cores.
test-fast: $(VENV)/installed-test
	$(TEST) -m "not slow and not spark and not browser and not experiments"

check: $(VENV)/installed-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The pages lie in the site as they do in the repository, so the source is all of it; warnings are errors.
docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going --quiet -c docs . docs/_build

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks

experiments: $(VENV)/installed-bench
	$(BIN)/python -m experiments all

# One stamp per extra: it is older than the sources when the core has to be built again.
$(VENV)/installed-%: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

clean:
	rm -rf $(VENV) build out docs/_build docs/api docs/auto_examples
