# Every target sets up what it needs: python3 >= 3.11, make and a package registry are enough.

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
APP := $(VENV)/.stamp-app
DEV := $(VENV)/.stamp-dev
BENCH := $(VENV)/.stamp-bench
BOUNDS_CACHE := $(CURDIR)/.cache/boundscheck
UV := $(shell command -v uv 2>/dev/null)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

ifneq ($(UV),)
MAKE_VENV := $(UV) venv --quiet --python $(PYTHON) $(VENV)
READY := true
INSTALL := $(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt
BUILD_WHEEL := $(UV) build --quiet --wheel --out-dir dist .
else
MAKE_VENV := $(PYTHON) -m venv $(VENV)
# pip reads dependency groups since 25.1; a venv of uv's has no pip.
READY := ($(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip) \
	&& $(BIN)/python -m pip install --quiet 'pip>=25.1'
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
BUILD_WHEEL := $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
endif

.PHONY: help demo test test-fast coverage bench check docs wheel format clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo       compare the whole family on built-in data, write the report and the model'
	@echo 'make test       all tests, doctests, and the kernels once with bounds checks'
	@echo 'make test-fast  the unit tests that take less than a second, and doctests'
	@echo 'make coverage   test-fast, with the coverage of the Python code by module'
	@echo 'make bench      measure against the peers, write benchmarks/RESULTS.md'
	@echo 'make check      lint, format, types, layers'
	@echo 'make docs       build the documentation in build/site'
	@echo 'make wheel      build dist/*.whl with compiled kernels for this platform, and the pure wheel'
	@echo 'make format     rewrite the code in the project style'
	@echo 'make clean      remove caches and the virtual environment'

demo: $(APP)
	$(BIN)/committee demo

# The cache is warmed first: parallel workers would each compile the kernels.
test: $(DEV)
	$(BIN)/committee warmup --n-jobs $(JOBS)
	$(BIN)/python -m pytest -n $(JOBS) --doctest-modules src/committee reproductions/src tests reproductions/tests
	rm -rf $(BOUNDS_CACHE)
	NUMBA_BOUNDSCHECK=1 COMMITTEE_CACHE_DIR=$(BOUNDS_CACHE) $(BIN)/python -m pytest -q tests/unit/kernels tests/naive tests/unit/trees/test_extreme_splits.py tests/unit/trees/test_tree_invariants.py tests/unit/svm/test_extreme_values.py tests/unit/tree_engine/test_bin_mapper.py tests/unit/tree_engine/test_stumps.py tests/unit/tree_engine/test_histogram_trees.py tests/unit/experts/test_em.py tests/unit/explain/test_forest_importances.py

test-fast: $(DEV)
	$(BIN)/committee warmup --n-jobs $(JOBS)
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" --doctest-modules src/committee tests/unit

coverage: $(DEV)
	$(BIN)/committee warmup --n-jobs $(JOBS)
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term:skip-covered --cov-report=html:build/coverage --doctest-modules src/committee tests/unit

bench: $(BENCH)
	$(BIN)/python -m benchmarks

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: $(DEV)
	$(BIN)/mkdocs build --strict --quiet
	@echo 'open build/site/index.html'

# Kernels for other versions of Python: run tools/compile_kernels.py with each of them before (the workflow "wheels"
# does). LEVELS="x86-64-v3 x86-64-v2" compiles for more than the best level of this machine.
wheel: $(DEV)
	$(BIN)/python tools/compile_kernels.py $(addprefix --level ,$(LEVELS)) build/kernels
	$(BUILD_WHEEL)
	COMMITTEE_KERNELS=build/kernels $(BUILD_WHEEL)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "committee needs python >= 3.11, $(PYTHON) is " + sys.version)'
	$(MAKE_VENV)

# The product alone: the tools of its developers take longer to install than the demonstration takes to run. The kernels
# are compiled while the packages for reports are installed (PYTHONPATH: the link to the sources is replaced meanwhile).
$(APP): pyproject.toml constraints.txt | $(BIN)/python
	$(READY)
	$(INSTALL) --editable .
	PYTHONPATH=src $(BIN)/python -m committee warmup --n-jobs $(JOBS) >/dev/null & $(INSTALL) --editable '.[app]' && wait $$!
	@touch $@

$(DEV): pyproject.toml reproductions/pyproject.toml constraints.txt | $(BIN)/python
	$(READY)
	$(INSTALL) --editable '.[app]' --editable ./reproductions --group dev
	@touch $(APP) $@

$(BENCH): $(DEV)
	$(INSTALL) --group bench
	@touch $@
