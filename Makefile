# Every target sets up what it needs: a virtual environment with the package built in it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard cpp/*) CMakeLists.txt pyproject.toml
TEST := $(BIN)/python -m pytest -n auto

.PHONY: demo test test-cpp test-fast test-gpu sanitize check check-core check-targets docs bench experiments fuzz fuzz-short clean
.DEFAULT_GOAL := demo

demo: $(VENV)/installed-cli
	$(BIN)/kdi demo -o out

# Everything, and then what depends on the numeric core once more with the NumPy core.
test: $(VENV)/installed-test test-cpp
	$(BIN)/python -c "import kdi._numerics._core"  # a build that failed is no reason to test NumPy alone
	$(TEST)
	KDI_PURE_PYTHON=1 $(TEST)

# The headers of the core without Python. `make test-cpp SANITIZE=thread` runs them under a sanitizer.
CPP_TEST := $(CXX) -std=c++17 -Wall -Wextra -Wconversion -Wshadow -Werror -ffp-contract=off -pthread -Icpp tests/cpp/test_core.cpp
# The bits of results of a build for several processors, and of one for any.
CPP_DIGITS := $(CXX) -std=c++17 -O3 -w -ffp-contract=off -pthread -Icpp tests/cpp/digits.cpp
test-cpp:
	mkdir -p build
	$(CPP_TEST) -g -O1 $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all) -o build/test_core
	build/test_core
	$(CPP_DIGITS) -o build/digits && build/digits > build/digits.txt
	$(CPP_DIGITS) -DKDI_ONE_LEVEL -o build/digits && build/digits | diff - build/digits.txt

# The same under three sanitizers, and the numeric tests with a core that was built with two of them. Python is not, so its
# leaks and its locks are not reported. Limits on memory cannot be tested: the sanitizer itself needs terabytes of addresses.
SANITIZED := build/sanitized
sanitize: $(VENV)/installed-test
	$(MAKE) test-cpp SANITIZE=address,undefined
	$(MAKE) test-cpp SANITIZE=thread
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(SANITIZED) --config-settings=build-dir=build/cmake-sanitized \
	  --config-settings=cmake.define.KDI_SANITIZE=address,undefined .
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so.6)" ASAN_OPTIONS=detect_leaks=0 \
	  PYTHONPATH=$(SANITIZED) $(BIN)/python tests/cpp/run_sanitized.py $(SANITIZED) -p no:cacheprovider -m "not slow" \
	  tests/numerics tests/integral --ignore tests/numerics/test_out_of_memory.py

# Without what takes seconds, Spark, the browser and runs of experiments: under two minutes on two cores.
test-fast: $(VENV)/installed-test
	$(TEST) -m "not slow and not spark and not browser and not experiments"

# The tests of kdi.torch with a GPU, in the Python that is there: nothing is installed. The report is committed. Warnings
# are no errors, since those of drivers and compilers depend on the machine.
GPU_REPORT ?= tests/torch/gpu_report.txt
test-gpu:
	$(PYTHON) -c "import torch; assert torch.cuda.is_available(), 'test-gpu needs a GPU'"
	PYTHON=$(PYTHON) PYTHONPATH=tests/helpers KDI_GPU_REPORT=$(GPU_REPORT) sh benchmarks/build_in_place.sh \
	  -m pytest -p no:benchmark -p gpu_report -W default -n 8 tests/torch tests/transformer/test_array_api.py

check: $(VENV)/installed-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The core has no warnings; this needs clang++ too.
check-core: $(VENV)/installed-check
	$(BIN)/python -m pip install --quiet nanobind
	for compiler in g++ clang++; do for file in cpp/*.cpp; do \
	  $$compiler -std=c++17 -fsyntax-only -fvisibility=hidden -Wall -Wextra -Wconversion -Wshadow -Werror \
	    -isystem "$$($(BIN)/python -m nanobind --include_dir)" \
	    -isystem "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')" $$file || exit 1; \
	done; done

# The headers compile for other systems: a compiler for all of them comes from PyPI.
TARGETS := x86_64-windows-gnu aarch64-windows-gnu x86_64-macos aarch64-macos x86_64-linux-musl aarch64-linux-gnu riscv64-linux-gnu
check-targets: $(VENV)/installed-check
	$(BIN)/python -m pip install --quiet ziglang
	for target in $(TARGETS); do echo $$target; \
	  $(BIN)/python -m ziglang c++ -target $$target -std=c++17 -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only -Icpp \
	    tests/cpp/test_core.cpp || exit 1; \
	done

# The pages lie in the site as they do in the repository, so the source is all of it; warnings are errors.
docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going --quiet -c docs . docs/_build

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks

experiments: $(VENV)/installed-bench
	$(BIN)/python -m experiments all

# Coverage-guided fuzzing (fuzz/README.md) of a core built by Clang with AddressSanitizer, some seconds per target.
FUZZ_TARGETS := sketch_bytes saved_models tables transformer distribution correlation clusters
FUZZ_SECONDS ?= 600
FUZZ_SHORT_SECONDS ?= 5
FUZZ_CORE := build/fuzz/core
FUZZ = LD_PRELOAD=$$($(BIN)/python -c "import atheris; print(atheris.path())")/asan_with_fuzzer.so \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	$(BIN)/python -m fuzz --core $$(echo $(FUZZ_CORE)/_core.*.so)

fuzz: $(FUZZ_CORE)/built
	rm -rf build/fuzz/findings
	set -e; for target in $(FUZZ_TARGETS); do $(FUZZ) $$target --seconds $(FUZZ_SECONDS) --keep-going; done
	test -z "$$(find build/fuzz/findings -type f)"

# The corpus, and then a few seconds of changes to it; ends at the first finding.
fuzz-short: $(FUZZ_CORE)/built
	set -e; for target in $(FUZZ_TARGETS); do $(FUZZ) $$target --seconds $(FUZZ_SHORT_SECONDS) --seed 1; done

# The runtime of the sanitizer is in the library that is loaded before Python.
$(FUZZ_CORE)/built: $(VENV)/installed-fuzz
	$(BIN)/cmake -S . -B $(FUZZ_CORE) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ \
		-DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
		-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
		-DCMAKE_CXX_FLAGS="-fsanitize=address -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp -g1" \
		-DCMAKE_MODULE_LINKER_FLAGS=-fno-sanitize=all
	$(BIN)/ninja -C $(FUZZ_CORE)
	touch $@

# One stamp per extra: it is older than the sources when the core has to be built again.
$(VENV)/installed-%: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

clean:
	rm -rf $(VENV) build out docs/_build docs/api docs/auto_examples
