# Every target sets up what it needs in a local virtual environment first; the second time that takes no time.
#   make demo          LeNet-5 on a simulated H200       make lint     ruff, mypy, clang-format
#   make test          the test suite                    make docs     the documentation site, in site/
#   make bench         how fast the simulator is         make tidy     clang-tidy over the C++ core (minutes)
#                                                        make format   import order and C++ layout, in place
# PYTHON=python3.12 picks the interpreter of a new environment, VENV=folder another one; ARGS="-k lanes" goes to the program a target runs.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin
CORE := $(shell find src/warpsight/core benchmarks \( -name '*.cpp' -o -name '*.h' -o -name '*.c' \))
BUILD_INPUTS := $(filter src/%,$(CORE)) CMakeLists.txt pyproject.toml tools/environment.py

.PHONY: help demo test bench lint docs tidy format clean
.PRECIOUS: $(VENV)/.with-%
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

demo: $(VENV)/.with-nothing
	$(BIN)/warpsight demo $(ARGS)

test: $(VENV)/.with-$(if $(filter 1,$(WARPSIGHT_SLOW)),slow,test)
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal $(ARGS)

bench: $(VENV)/.with-nothing
	$(BIN)/python -m benchmarks.run $(ARGS)

lint: $(VENV)/.with-lint
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CORE)

docs: $(VENV)/.with-docs
	$(BIN)/mkdocs build --strict --quiet --site-dir site $(ARGS)

tidy: $(VENV)/.with-tidy
	$(BIN)/clang-tidy -p $$(dirname $$(ls -t build/*/compile_commands.json | head -1)) --quiet $(filter %.cpp,$(CORE))

format: $(VENV)/.with-lint
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CORE)

clean:
	rm -rf $(VENV) build site

# One stamp an extra of pyproject.toml ("nothing": the package alone); older than a build input, it is made again.
$(VENV)/.with-%: $(BUILD_INPUTS)
	$(PYTHON) tools/environment.py $(VENV) $*
	@touch $@
