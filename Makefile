# Everything needs only Python (3.11 or later) and make; each target sets up what it uses.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest

.PHONY: help demo bench-demo test test-all test-rest test-oracle test-fuzz check results-check format docs clean

help:
	@echo "make demo         a procedure, a good and a bad trace, the verdict explained"
	@echo "make bench-demo   four simulated agents on the benchmark, under all settings"
	@echo "make test         the core suite: every test that takes less than ten seconds, and a third of"
	@echo "                  the random cases"
	@echo "make test-rest    slow tests, the oracle, the browser, frameworks, models"
	@echo "make test-all     both, with all random cases"
	@echo "make test-oracle  1,200 random formulas against ltlf2dfa and MONA"
	@echo "make test-fuzz    20,000 damaged files"
	@echo "make check        style, types, layers, docs"
	@echo "make results-check  published tables and figures, recomputed from the recorded runs"
	@echo "make format       rewrite code and generated docs in house style"

# ── set-up: a stamp per set of dependencies ────────────────────────────────────────────────

$(VENV)/core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --editable .
	@touch $@

# Dependency groups need pip 25.1; the small reader keeps older ones working.
$(VENV)/%: $(VENV)/core
	$(PIP) install $$($(BIN)/python tools/dependency_group.py $*)
	@touch $@

# What adapters adapt to comes with the package's extras.
$(VENV)/frameworks: $(VENV)/core
	$(PIP) install --editable '.[smolagents,inspect]'
	@touch $@

# Where these packages cannot be had, only the tests that need them are left out.
$(VENV)/models $(VENV)/formats: $(VENV)/%: $(VENV)/core
	$(PIP) install $$($(BIN)/python tools/dependency_group.py $*) \
		|| echo "NOT TESTED: $*, whose packages could not be installed"
	@touch $@

# ── use ────────────────────────────────────────────────────────────────────────────────────

demo: $(VENV)/core
	@$(BIN)/python examples/demo.py

bench-demo: $(VENV)/core
	@$(BIN)/bylaw bench run sim:careless sim:batcher sim:misrouter sim:stubborn \
		--trials 1 -o bench-demo.jsonl
	@$(BIN)/bylaw bench report bench-demo.jsonl

test: $(VENV)/test
	$(PYTEST) -n auto -m "not oracle and not browser and not frameworks and not models and not slow"

test-all: $(VENV)/test $(VENV)/oracle $(VENV)/browser $(VENV)/frameworks $(VENV)/models $(VENV)/formats
	BYLAW_CASES=all $(PYTEST) -n auto

test-rest: $(VENV)/test $(VENV)/oracle $(VENV)/browser $(VENV)/frameworks $(VENV)/models $(VENV)/formats
	$(PYTEST) -n auto -m "slow or oracle or browser or frameworks or models"

test-oracle: $(VENV)/test $(VENV)/oracle
	BYLAW_ORACLE_FORMULAS=1200 $(PYTEST) -m oracle -s tests/oracle

test-fuzz: $(VENV)/test
	BYLAW_FUZZ_FILES=20000 $(PYTEST) -m fuzz -s tests/fuzz

check: $(VENV)/check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(PYTEST) -n auto -m "not slow" tests/docs

results-check: $(VENV)/core
	$(BIN)/python benchmarks/form_only.py

format: $(VENV)/check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
