# `make run` starts the app, `make test` checks a change, `make test-all` checks everything as CI does.
PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
# What is installed: exactly what the lock files name, by hash. They are made from the requirements by `make lock`.
LOCKED := -m pip install --quiet --no-deps --require-hashes --requirement
# Processes that run tests side by side. A file of tests stays in one of them, with the server it may have started. One more
# than the cores of the smallest machine: while one waits for a browser or a worker, another computes.
WORKERS ?= 3

.PHONY: run test test-all check format bench lock
.DEFAULT_GOAL := run

$(VENV)/ready: requirements.lock requirements-cpu.lock requirements-cuda.lock Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Errorscope needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 run")'
	$(PYTHON) -m venv $(VENV)
	@$(PY) $(LOCKED) requirements-cpu.lock 2>/dev/null || echo "pip finds no CPU build of torch that is locked: installing the public build"
	$(PY) $(LOCKED) requirements.lock
	if ! $(PY) -c 'import sys; from importlib.metadata import version; sys.exit("+cpu" not in version("torch"))'; then $(PY) $(LOCKED) requirements-cuda.lock; fi
	touch $@

# The command line, from any folder: Python finds the program here, and what it starts does too.
$(VENV)/bin/errorscope: $(VENV)/ready
	printf '#!/bin/sh\nPYTHONSAFEPATH=1 PYTHONPATH="%s$${PYTHONPATH:+:$$PYTHONPATH}" exec "%s" -m cli "$$@"\n' '$(CURDIR)' '$(abspath $(VENV))/bin/python' > $@
	chmod +x $@

$(VENV)/ready-to-test: $(VENV)/bin/errorscope tests/requirements.lock
	$(PY) $(LOCKED) tests/requirements.lock
	-$(PY) -m mypy --num-workers 2 >/dev/null # reads the types of the packages, which takes longer than those of the program, and keeps them
	touch $@

run: $(VENV)/bin/errorscope
	$(PY) -m streamlit run app.py

check: $(VENV)/ready-to-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

# Many tests start the app or a command: each would compile every module anew where Python may not keep what it compiled.
test test-all: export PYTHONDONTWRITEBYTECODE =
# Thousands of small databases: in memory, where there is room for them, no test waits for the disk.
ROOM := $(shell df --output=avail /dev/shm 2>/dev/null | tail -1)
test test-all: export TMPDIR := $(shell [ "$(ROOM)" -gt 4000000 ] 2>/dev/null && [ -w /dev/shm ] && echo /dev/shm || echo "$${TMPDIR:-/tmp}")
PYTEST := $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# For example `make test ARGS="tests/core/stats -k tau"`.
test: check
	$(PYTEST) -m "not extended" $(ARGS)

# PostgreSQL is tested too with `.ci/postgres make test-all`.
test-all: check
	$(PYTEST) --hypothesis-profile full --durations 25 $(ARGS)

format: $(VENV)/ready-to-test
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(VENV)/ready-to-test
	$(PY) -m tests.bench

lock:
	$(PYTHON) .ci/lock.py
