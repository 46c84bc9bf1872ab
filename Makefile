# A thin front over the CMake presets; see CMakePresets.json and tools/setup.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SECONDS ?= 20
# Rooms whose tests run under ASan and UBSan, and under TSan (those that use threads, and whole programs).
ASAN_TESTS ?= cli backend engine model quantise search serve eval text grade diagnose base tensor cache theory
TSAN_TESTS ?= cli engine search serve eval backend diagnose base cache
# Left out under a sanitizer: comparisons of numbers, and tests that need their full size. Other long
# tests are smaller there (tests/support/test_size.h).
SANITIZED ?= -*Statistics*:Parity*:*CpuParity*f32:*ShippedParity*:HalvingOnTheToyEngine.*:ContextsSearch.OwnPairs*:ReproduceAll.RunsEvery*
# Also left out under TSan: tests of programs that start no threads, or only threads that other tests start too.
SANITIZED_tsan = :CommandLine/*:CommandLine.Summaries*:Completion*:Help*:Manual*:Render*:Report*:ContextsSearch.*:Reproduce*:Eval.AModelOfTheHub*:CacheMemory.*:CacheDtype.*:Activations.*

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-asan test-tsan test-install test-web test-clients test-slurm test-vllm test-quantize wheel test-python test-gpu test-faults test-kills test-valgrind reliability fuzzers fuzz-smoke fuzz-night coverage bench bench-serve format check-format check-headers clean

help:
	@echo 'make demo        build, and show Counterbeam on a shipped model'
	@echo 'make test        build and run every test'
	@echo 'make build       build only build/release/counterbeam'
	@echo 'make bench       build and run the benchmarks'
	@echo 'make bench-serve  measure the server: load, disconnects, SIGTERM, overhead'
	@echo 'make test-asan   run the tests under AddressSanitizer and UBSan (test-tsan: ThreadSanitizer)'
	@echo 'make test-install  install, then build and run the example against the installed library'
	@echo 'make test-web    test the HTML pages in Chromium'
	@echo 'make test-clients  test the server with openai-python, lm-evaluation-harness, inspect_ai (PyPI)'
	@echo 'make test-slurm  test tools/slurm on a real Slurm cluster on this machine'
	@echo 'make test-vllm   test the remote engine with real vLLM on the CPU (PyPI, 6 GB); not part of make test'
	@echo 'make test-quantize  read models that quantize writes with compressed-tensors and transformers (PyPI)'
	@echo 'make wheel       build the Python package for PYTHONS=$(PYTHONS) into build/wheels (PyPI)'
	@echo 'make test-python  install the package into fresh environments and test it there (LM_EVAL=1: lm-evaluation-harness too)'
	@echo 'make test-faults  make allocations, threads and file operations fail, one by one (PART=I/N: every N-th; MOST=M: M of each kind; DAY=D: other ones)'
	@echo 'make test-kills  kill -9 evaluations KILLS=$(KILLS) times, tear records, fill the disk, and compare'
	@echo 'make test-valgrind  run the fuzz corpora under Valgrind'
	@echo 'make reliability  run the rows ROWS=$(ROWS) of docs/reliability.md and print a table'
	@echo 'make test-gpu    test the CUDA back end on a machine with a GPU'
	@echo 'make fuzz-smoke  run every fuzz target for SECONDS=$(SECONDS)'
	@echo 'make fuzz-night  run every fuzz target, HOURS=$(HOURS) in all, and keep new inputs in build/fuzz-corpus'
	@echo 'make coverage    print the share of the branches of parsers that tests (under ASan) and fuzz corpora take'
	@echo 'make format      run clang-format on everything (check-format: only check)'
	@echo 'make check-headers  compile every header by itself'
	@echo 'make clean       remove build/'
	@echo 'Missing Debian packages (tools/packages.txt) are installed first.'

setup:
	@tools/setup build

build: setup
	cmake --preset release
	cmake --build build/release -j $(JOBS) --target counterbeam

demo: build
	@tools/demo build/release/counterbeam

test: setup
	cmake --preset release
	cmake --build build/release -j $(JOBS) --target counterbeam tests
	ctest --test-dir build/release -j $(JOBS) --output-on-failure
	tools/check_arrows

test-asan test-tsan: test-%: setup
	@tools/setup check
	cmake --preset $*
	cmake --build build/$* -j $(JOBS) --target $(addprefix test_,$(TESTS_$*)) $(if $(filter cli,$(TESTS_$*)),counterbeam)
	rm -rf build/$*/profiles
	@# Several at a time, the longest first; each prints when it is done. Profiles are for tools/coverage.
	@printf '%s\n' $(TESTS_$*) | xargs -P $(JOBS) -I{} sh -c 'log=build/$*/tests/{}.log; echo "== {} under $*" >$$log; \
	  LLVM_PROFILE_FILE=$(CURDIR)/build/$*/profiles/{}-%2m.profraw build/$*/tests/test_{} --gtest_brief=1 --gtest_filter="$(SANITIZED)$(SANITIZED_$*)" >>$$log 2>&1; code=$$?; cat $$log; exit $$code'
TESTS_asan = $(ASAN_TESTS)
TESTS_tsan = $(TSAN_TESTS)

# Builds the example against an installed copy and checks its answer.
test-install: build
	rm -rf build/installed build/example
	cmake --install build/release --prefix build/installed > /dev/null
	cmake -S examples/ask -B build/example -G Ninja -DCMAKE_PREFIX_PATH=$(CURDIR)/build/installed
	cmake --build build/example
	build/example/ask build/installed/share/counterbeam/models/tiny-dense 'Compute 12 + 3 * 7.' | grep -F 'boxed{33}'
	for file in man/man1/counterbeam.1 bash-completion/completions/counterbeam zsh/site-functions/_counterbeam \
	  fish/vendor_completions.d/counterbeam.fish; do grep -q steer build/installed/share/$$file || exit 1; done
	build/installed/bin/counterbeam ask 'Compute 12 + 3 * 7.' -q --steer 0.7 | grep -F 'boxed{33}'

test-web: build
	@tools/setup web
	cd tests/web && /usr/bin/python3 -m unittest discover -v -p '*_test.py'

# Clients of the server, from PyPI in a virtual environment; CLIENTS=FOLDER uses an existing one.
CLIENTS ?= build/clients
CLIENT_TESTS ?= $(notdir $(basename $(wildcard tests/clients/*_test.py)))
build/clients: tests/clients/requirements.txt
	@tools/setup clients
	python3 -m venv $@
	$@/bin/pip install -q -r $<
	@touch $@
# OPEN_WEBUI=build/open-webui runs open-webui itself too; without it that test is skipped.
build/open-webui: tests/clients/requirements-open-webui.txt
	@tools/setup clients
	python3 -m venv $@
	$@/bin/pip install -q -r $<
	@touch $@
test-clients: build $(CLIENTS) $(OPEN_WEBUI)
	cd tests/clients && OPEN_WEBUI=$(abspath $(OPEN_WEBUI)) $(abspath $(CLIENTS))/bin/python -B -W ignore::ResourceWarning -m unittest -v $(CLIENT_TESTS)

# A Slurm cluster of its own under build/slurm, on ports of 127.0.0.1; it is removed afterwards.
test-slurm: build
	@tools/setup slurm
	cd tests/slurm && /usr/bin/python3 -B -m unittest discover -v -p '*_test.py'

# Real vLLM on the CPU, in a virtual environment; VLLM=FOLDER uses an existing one. Needs some 16 GB of memory.
VLLM ?= build/vllm
VLLM_TESTS ?= $(notdir $(basename $(wildcard tests/vllm/*_test.py)))
test-vllm: build
	@tools/setup clients
	$(if $(filter build/vllm,$(VLLM)),tests/vllm/install $(VLLM))
	cd tests/vllm && VLLM=$(abspath $(VLLM)) $(abspath $(VLLM))/bin/python -B -W ignore::ResourceWarning -m unittest -v $(VLLM_TESTS)

# Models that quantize writes are read by packages from PyPI in a virtual environment; QUANTIZE=FOLDER uses an existing one.
QUANTIZE ?= build/quantize
build/quantize: tests/quantise/requirements.txt
	@tools/setup clients
	python3 -m venv $@
	$@/bin/pip install -q -r $<
	@touch $@
test-quantize: build $(QUANTIZE)
	$(QUANTIZE)/bin/python -B tools/quantize_parity.py build/release/counterbeam models/tiny-dense models/tiny-hybrid

# The Python package; PYTHONS='python3.10 python3.11 python3.12 python3.13' makes wheels for all of them.
PYTHONS ?= python3
PYTEST ?=
wheel: setup
	@tools/setup python
	tools/wheel $(PYTHONS)
test-python: wheel
	tools/test_python $(PYTHONS) -- $(PYTEST)

test-gpu: setup
	cmake --preset cuda
	cmake --build build/cuda -j $(JOBS) --target counterbeam test_cuda test_model test_engine test_search
	build/cuda/tests/test_cuda
	@for room in model engine search; do build/cuda/tests/test_$$room --gtest_filter='*Gpu*' || exit 1; done

PART ?= 0/1
MOST ?= 2000
DAY ?= 0
test-faults: build
	tests/faults/campaign.py build/release/counterbeam --part $(PART) --most $(MOST) --day $(DAY) --jobs $(JOBS)

KILLS ?= 200
test-kills: build
	tests/faults/kills.py build/release/counterbeam --kills $(KILLS)

fuzzers: setup
	@tools/setup check
	cmake --preset asan
	cmake --build build/asan -j $(JOBS) --target fuzzers

fuzz-smoke: fuzzers
	tools/fuzz_smoke build/asan/fuzz $(SECONDS) $(JOBS)

# The fuzz corpora under Valgrind, which also sees memory that is read before it is written.
VALGRIND = valgrind --error-exitcode=1 --quiet --leak-check=full --errors-for-leak-kinds=definite
test-valgrind: setup
	@tools/setup valgrind
	cmake --preset release
	cmake --build build/release -j $(JOBS) --target replays
	@for target in $(basename $(notdir $(wildcard fuzz/*.cpp))); do echo "== $$target"; \
	  $(VALGRIND) build/release/fuzz/replay_$$target fuzz/corpus/$$target || exit 1; done

HOURS ?= 8
ROWS ?= 1-20
reliability: build test-asan fuzzers
	tools/reliability --rows $(ROWS)

# HOURS in all; new inputs stay in build/fuzz-corpus for the next night.
fuzz-night: fuzzers
	tools/fuzz_smoke build/asan/fuzz $$(awk 'BEGIN { print int($(HOURS) * 3600 * $(JOBS) / $(words $(wildcard fuzz/*.cpp))) + 1 }') $(JOBS) $(CURDIR)/build/fuzz-corpus

# The branches of parsers that the tests under ASan and the fuzz corpora take.
LEAST ?= 95
coverage: test-asan fuzzers
	tools/coverage build/asan $(LEAST)

bench: setup
	cmake --preset release
	cmake --build build/release -j $(JOBS) --target benches
	@for bench in build/release/bench/bench_*; do case $$bench in *bench_cuda_*) continue;; esac; \
	  echo "== $$bench"; $$bench || exit 1; done

# Of the server: load, disconnects, SIGTERM, overhead.
bench-serve: build
	python3 -B bench/serve/run.py build/release/counterbeam

SOURCES = $(shell git ls-files -- '*.h' '*.cpp' '*.cu' '*.cuh')
format check-format:
	@tools/setup check
	@clang-format $(if $(filter format,$@),-i,--dry-run -Werror) $(SOURCES)

# That no two headers clash is a part of `make test` (test_headers).
check-headers: setup
	cmake --preset release
	cmake --build build/release -j $(JOBS) --target headers_alone

clean:
	rm -rf build
