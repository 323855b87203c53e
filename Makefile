# All that is needed is make and Python 3.11 or newer: `make run` serves memoryweb, `make test` checks it.

# Which Python makes the virtual environment; empty: python3, or the first of its relatives that is new enough.
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
# Checks that read the settings leave the store in ./data alone.
SCRATCH := DATA_DIR="$(CURDIR)/$(VENV)/scratch" DATABASE_URL=

.PHONY: run setup setup-test test bench

run: setup
	@exec $(BIN)/python manage.py start

setup:
	$(make-venv)
	$(call install,requirements.txt)

setup-test: setup
	$(call install,tests/requirements.txt)
	$(install-axe)

test: setup-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(SCRATCH) $(BIN)/mypy .
	$(BIN)/lint-imports
	$(SCRATCH) $(BIN)/python manage.py makemigrations --check --dry-run
	$(SCRATCH) $(BIN)/python manage.py check
	$(BIN)/pytest -n 2 --dist worksteal

bench: setup-test
	@exec $(BIN)/python -m tests.benchmarks

# A virtual environment outlives the Python it was made with, for instance over an upgrade of the system: then it is made anew.
define make-venv
@if ! $(BIN)/python -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("pip"))' 2>/dev/null; then \
	new_enough() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python3); do new_enough "$$python" && break; done; \
	new_enough "$$python" || { \
		echo "memoryweb needs Python 3.11 or newer, and $$python is: $$("$$python" --version 2>&1 | tail -n 1)." >&2; \
		echo "Name another one: make $(or $(MAKECMDGOALS),run) PYTHON=/path/to/python3.12" >&2; exit 1; }; \
	"$$python" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$$python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	echo "Preparing $(VENV) with $$("$$python" --version), about a minute"; \
	"$$python" -m venv --clear $(VENV); \
fi
endef

# Installs again only when what the files say has changed since it was last installed.
define install
@record="$(VENV)/installed-$(subst /,-,$(1))"; \
if ! cat requirements.txt $(1) | cmp -s - "$$record"; then \
	$(BIN)/python -m pip install --disable-pip-version-check -r $(1) && cat requirements.txt $(1) > "$$record"; \
fi
endef

# What looks for barriers in pages, in the browser tests alone. Without npm they are skipped and say so.
AXE := axe-core@4.14.1
define install-axe
@if command -v npm >/dev/null && ! grep -qs '"version": "$(lastword $(subst @, ,$(AXE)))"' $(VENV)/node_modules/axe-core/package.json; then \
	npm install --prefix $(VENV) --no-save --no-package-lock --no-audit --no-fund --loglevel=error $(AXE) >/dev/null || \
	echo "axe-core could not be installed: pages are not looked through for barriers" >&2; \
fi
endef
