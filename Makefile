# Everything needs only Python (3.11 or later) and make; each target sets up what it uses.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest

.PHONY: help demo mine-demo bench-demo serve-demo coding-demo claude-code codex litellm test test-all test-rest test-oracle test-fuzz check release-check results-check format docs clean

help:
	@echo "make demo         a procedure, a good and a bad trace, the verdict explained"
	@echo "make mine-demo    a procedure mined from good and bad runs, and tried on them"
	@echo "make bench-demo   four simulated agents on the benchmark, under all settings"
	@echo "make coding-demo  a scripted coding agent in a scratch repository, behind a gate"
	@echo "make serve-demo   a resident gate, and agents to watch in the browser"
	@echo "make test         the core suite: every test that takes less than ten seconds, and a third of"
	@echo "                  the random cases"
	@echo "make test-rest    slow tests, the oracle, the browser, frameworks, models"
	@echo "make test-all     both, with all random cases"
	@echo "make test-oracle  1,200 random formulas against ltlf2dfa and MONA"
	@echo "make test-fuzz    20,000 damaged files"
	@echo "make check        style, types, layers, docs"
	@echo "make docs         the documentation as a searchable site: site/index.html"
	@echo "make release-check  the wheel, alone in a fresh environment, follows the tutorial"
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

# What adapters adapt to comes with the package's extras. All of them at once is quickest; where one
# cannot be installed, they are installed one by one, and only its own tests are left out.
# The Claude Agent SDK is left out, as it is 350 MB: its tests run where it is installed.
FRAMEWORKS := smolagents inspect langchain openai-agents pydantic-ai agentdojo mcp fastmcp google-adk strands agent-framework
comma := ,
$(VENV)/frameworks: $(VENV)/core
	$(PIP) install --editable '.[$(subst $() ,$(comma),$(FRAMEWORKS))]' \
		|| for each in $(FRAMEWORKS); do \
			$(PIP) install --editable ".[$$each]" \
				|| echo "NOT TESTED: $$each, which could not be installed"; \
		done
	@touch $@

$(VENV)/serve: $(VENV)/core
	$(PIP) install --editable '.[serve,client]'
	@touch $@

# Where these packages cannot be had, only the tests that need them are left out.
$(VENV)/models $(VENV)/formats $(VENV)/protocols $(VENV)/docs: $(VENV)/%: $(VENV)/core
	$(PIP) install $$($(BIN)/python tools/dependency_group.py $*) \
		|| echo "NOT TESTED: $*, whose packages could not be installed"
	@touch $@

# The real Claude Code, for the tests of its hooks; it is 350 MB, and needs npm.
CLAUDE_CODE := @anthropic-ai/claude-code@2.1.325
.tools/claude-code:
	@mkdir -p .tools
	npm install --no-audit --no-fund --loglevel=error --prefix .tools $(CLAUDE_CODE) && touch $@ \
		|| echo "NOT TESTED: Claude Code, which npm could not install"

claude-code: .tools/claude-code

# The real Codex, likewise; it is 400 MB.
CODEX := @openai/codex@0.169.0
.tools/codex/installed:
	@mkdir -p .tools/codex
	npm install --no-audit --no-fund --loglevel=error --prefix .tools/codex $(CODEX) && touch $@ \
		|| echo "NOT TESTED: Codex, which npm could not install"

codex: .tools/codex/installed

# The real LiteLLM, for the test of its guardrail; its pinned dependencies need a place of their own.
.tools/litellm/bin/litellm:
	$(PYTHON) -m venv .tools/litellm
	.tools/litellm/bin/python -m pip --quiet install 'litellm[proxy]>=1.106,<1.108.4'

litellm: .tools/litellm/bin/litellm

# ── use ────────────────────────────────────────────────────────────────────────────────────

demo: $(VENV)/core
	@$(BIN)/python examples/demo.py

mine-demo: $(VENV)/test
	@$(BIN)/bylaw mine examples/mining/good.jsonl --bad examples/mining/bad.jsonl -o mine-demo.yaml \
		--page mine-demo.html --force
	@cat mine-demo.yaml
	@$(BIN)/bylaw verify -p mine-demo.yaml examples/mining/bad.jsonl --summary || test $$? = 1

bench-demo: $(VENV)/core
	@$(BIN)/bylaw bench run sim:careless sim:batcher sim:misrouter sim:stubborn \
		--trials 1 -o bench-demo.jsonl
	@$(BIN)/bylaw bench report bench-demo.jsonl

coding-demo: $(VENV)/core
	@$(BIN)/python examples/coding/demo.py

serve-demo: $(VENV)/serve
	@$(BIN)/python examples/resident-gate/demo.py

test: $(VENV)/test
	$(PYTEST) -n auto -m "not oracle and not browser and not frameworks and not models and not slow"

test-all: $(VENV)/test $(VENV)/oracle $(VENV)/browser $(VENV)/frameworks $(VENV)/models $(VENV)/formats $(VENV)/protocols $(VENV)/docs .tools/claude-code .tools/codex/installed
	BYLAW_CASES=all $(PYTEST) -n auto

test-rest: $(VENV)/test $(VENV)/oracle $(VENV)/browser $(VENV)/frameworks $(VENV)/models $(VENV)/formats $(VENV)/protocols $(VENV)/docs .tools/claude-code
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

# Broken links, missing headings and pages that the index does not list are errors.
docs: $(VENV)/docs
	@if $(BIN)/python -c 'import furo, myst_parser' 2>/dev/null; then \
		$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs site \
			&& echo "wrote site/index.html"; \
	else \
		echo "NOT BUILT: the site, whose packages could not be installed"; \
	fi

release-check: $(VENV)/core
	$(BIN)/python tools/release_check.py

results-check: $(VENV)/core
	$(BIN)/python benchmarks/form_only.py
	$(BIN)/python benchmarks/lookup_study.py

format: $(VENV)/check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) build site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
