# Each target works on a fresh machine that has make and Python >= 3.11.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Some machines switch it on, and then each of the many processes compiles the package again.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help book test quick-test lint compiled format browser check mutants drill bench readme lock audit matrix release data-hashes clean
BIN := .venv/bin
# Tests that share a table or a browser run in one process (tests/conftest.py).
PYTEST := $(BIN)/pytest -n auto --no-loadscope-reorder
NOTEBOOKS = $(wildcard book/*.ipynb book/*/*.ipynb)

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

book: .venv/installed compiled ## Run the changed chapters and build the book in _build/html (4-6 minutes on 2 cores)
	@$(BIN)/ettr book

test: .venv/installed browser ## Run all checks and tests, including those in a browser
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint compiled
	@$(PYTEST) -m "not slow" --durations=10

quick-test: .venv/installed ## Run the tests that need no browser
	@$(PYTEST)

lint: .venv/installed ## Check style, types, layers, and that notebooks have no outputs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/nbstripout --keep-id --verify $(NOTEBOOKS)

compiled: .venv/installed
	@$(BIN)/python tests/compiled.py

format: .venv/installed ## Format code and strip notebooks
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .
	$(BIN)/nbstripout --keep-id $(NOTEBOOKS)

check: .venv/installed browser ## Run the slow tests: full samples, index checks in the simulator, mutants, and more mutated inputs
	@$(BIN)/python tests/check.py

mutants: .venv/installed ## Break one line at a time (tests/mutants.csv) and report the changes that no test notices
	@$(BIN)/python tests/mutants.py

drill: .venv/installed ## Run the recorded drills again: real training jobs that are killed (12 minutes on an idle machine)
	@$(BIN)/python benchmarks/drill.py

bench: .venv/installed ## Run the benchmarks of commands, kernels, finishing dates, fits, sweeps and the book build
	@$(BIN)/python benchmarks/commands.py
	@$(BIN)/python benchmarks/simulator.py
	@$(BIN)/python benchmarks/finishing.py
	@$(BIN)/python benchmarks/fit_coverage.py
	@$(BIN)/python benchmarks/sweep.py
	@$(BIN)/python benchmarks/book_build.py

readme: .venv/installed ## Update generated blocks and command outputs in the documentation
	@$(BIN)/python tests/generated.py

data-hashes: .venv/installed ## Accept edits of data/: validate it, list new presets, update the hashes
	@$(BIN)/python -m ettr.evidence --stamp

# Wheels only, because source distributions run code during installation.
lock: .venv/installed ## Lock the dependencies of pyproject.toml in uv.lock and, with hashes, requirements.txt
	$(BIN)/uv lock --no-build $(LOCK_OPTIONS)
	$(BIN)/uv export --frozen --all-extras --all-groups --no-emit-project --quiet --output-file requirements.txt

# These tools run in environments of their own and are not part of the lock.
TOOL := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/uv tool run --no-build
NOX := $(TOOL) nox==2026.10.20 --envdir _build/nox

audit: .venv/installed ## Check the licences and known vulnerabilities of the locked packages
	@$(TOOL) pip-licenses==5.5.5 --python $(BIN)/python --summary --order count
	@$(TOOL) pip-audit==2.10.1 --strict --disable-pip --require-hashes --requirement requirements.txt --progress-spinner off \
	  || { echo "audit failed: a locked package has a known vulnerability (above), or PyPI could not be reached" >&2; exit 1; }

matrix: .venv/installed ## Run the quick tests on every Python found, with the newest and the oldest dependencies allowed (MATRIX_OPTIONS="--python 3.13 -- -n 1")
	@$(NOX) --session tests $(MATRIX_OPTIONS)

release: audit ## Build the committed state into dist/ and try it in an empty environment
	@$(NOX) --session release -- $(RELEASE_OPTIONS)

clean: ## Remove everything that was built
	rm -rf _build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# The browser for the tests: one that is installed, else Debian's (as root, with a library that Playwright needs), else Playwright's.
browser: .venv/installed
	@for name in chromium google-chrome google-chrome-stable chromium-browser chrome msedge; do \
	  command -v $$name > /dev/null && exit 0; done; \
	mkdir -p _build; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "installing Debian's Chromium for the browser tests"; \
	  apt-get update -q > _build/browser.log 2>&1 && \
	    apt-get install -q -y --no-install-recommends chromium fonts-liberation fonts-dejavu-core libatomic1 >> _build/browser.log 2>&1; \
	else \
	  echo "downloading Playwright's Chromium for the browser tests"; \
	  $(BIN)/playwright install chromium > _build/browser.log 2>&1; \
	fi || { echo "no Chromium or Chrome for the browser tests, and none could be installed (see _build/browser.log): install one, or run \`make quick-test\`, which runs all other tests" >&2; exit 1; }

# The environment: the first Python >= 3.11 found, the locked wheels checked by hash, and this package in editable mode. The lock is
# complete, so nothing is resolved, and the build tools come from it too.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-deps
.venv/installed: requirements.txt pyproject.toml
	@for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then python=$$name; break; fi; done; \
	if [ -z "$$python" ]; then echo "no Python 3.11 or newer was found; please install one" >&2; exit 1; fi; \
	if ! $$python -c 'import ensurepip, venv' 2> /dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    apt-get update -q && apt-get install -q -y python$$version-venv; \
	  else \
	    echo "$$python has no venv module; on Debian or Ubuntu, install it with: sudo apt-get install python3-venv" >&2; exit 1; \
	  fi; fi; \
	echo "installing the locked packages into .venv (only the first time)"; \
	$$python -m venv .venv && $(INSTALL) --only-binary :all: --require-hashes --requirement requirements.txt \
	  && $(INSTALL) --no-build-isolation --editable . \
	  || { echo "the locked packages could not be installed: this needs PyPI once, or a mirror in PIP_INDEX_URL" >&2; exit 1; }
	@touch $@
