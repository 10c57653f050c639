# All that a newcomer types: `make demo` and `make test`. Each makes .venv from the hashed pins and goes on.

VENV := .venv
BIN := $(VENV)/bin
UV_PIP := $(BIN)/uv pip install --quiet --python $(BIN)/python
PHASE := sh scripts/phase.sh
# Tests that run in parallel: `auto` is one for each processor.
JOBS ?= auto
# Where the demo's queue lies: `postgres` starts a private server for it.
STORE ?= sqlite
# What the programs under bench/ are called with; `make bench BENCH=` runs them in full.
BENCH ?= --quick

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv demo test agents check fmt bench conformance docs requirements faults-store power-cuts clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

venv: $(VENV)/.dev ## Make .venv with all that tests need (again only when a pin changed)

demo: $(VENV)/.$(if $(filter postgres,$(STORE)),dev,base) ## Run the real Codex on a scripted model: no key, no network, under a minute
	@sh scripts/demo.sh $(STORE)

test: check agents ## Run every check and every test, as CI does
	@$(BIN)/pytest -q -n $(JOBS) --maxprocesses 8 --dist worksteal

agents: ## Fetch Claude Code and OpenCode for their tests, where npm is (again only when their lock changed)
	@sh scripts/agents.sh

check: $(VENV)/.dev ## Check format, lint, types and layers, without running tests
	@$(PHASE) format $(BIN)/ruff format --check --quiet .
	@$(PHASE) lint $(BIN)/ruff check --quiet .
	@$(PHASE) types $(BIN)/mypy
	@$(PHASE) layers $(BIN)/lint-imports --no-logo

fmt: $(VENV)/.dev ## Format, and mend what the linter can mend
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.base ## Run the benchmark programs; their figures stand beside a floor from the same run
	@set -e; for program in bench/*.py; do $(BIN)/python "$$program" $(BENCH); done

conformance: $(VENV)/.dev ## Print every requirement with the tests that prove it: a report, not a gate
	@$(BIN)/python scripts/conformance.py

docs: $(VENV)/.dev ## Write what is generated again: docs/states.md, schemas/, the tables of docs/contract-v1.md
	@$(BIN)/python scripts/states.py
	@$(BIN)/python scripts/schemas.py

faults-store: $(VENV)/.dev ## Kill a worker of the store COUNT times (1000), and check the store after each
	@PYTHONPATH=tests:. $(BIN)/python tests/faults/kill_store.py $(COUNT)
	@PYTHONPATH=tests:. $(BIN)/python tests/faults/kill_store.py $(COUNT) --engine postgres

power-cuts: $(VENV)/.dev ## Cut the power of a disk COUNT times (100), and check what is left: as root
	@if [ "$$(id -u)" = 0 ]; then PYTHONPATH=tests:. unshare --mount $(BIN)/python tests/faults/power_cuts.py $(COUNT); \
	else echo "power-cuts: not run, mounting a disk needs root"; fi

requirements: $(VENV)/.uv ## Renew the pins under requirements/ from pyproject.toml
	@BIN=$(BIN) sh scripts/requirements.sh

clean: ## Remove .venv and what tools left behind; nothing that git knows
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage* dist
	@find src tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is touched last: what was interrupted is done again, what is whole is not.
$(VENV)/.uv: requirements/uv.txt
	@sh scripts/venv.sh $(VENV)
	@$(PHASE) uv $(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt
	@touch $@

$(VENV)/.base: $(VENV)/.uv requirements/base.txt pyproject.toml
	@$(PHASE) requirements $(UV_PIP) --require-hashes -r requirements/base.txt
	@$(PHASE) teamster $(UV_PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.uv requirements/dev.txt pyproject.toml
	@$(PHASE) requirements $(UV_PIP) --require-hashes -r requirements/dev.txt
	@$(PHASE) teamster $(UV_PIP) --no-deps --no-build-isolation -e .
	@touch $(VENV)/.base $@
