# `make demo` and `make test` are all the set-up there is: both create .venv when it is missing.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DOCS := .venv/.docs

.PHONY: demo test test-slow gallery gallery-psq gallery-pd bench bench-pcs bench-psq bench-pd docs package clean

demo: $(READY)
	$(BIN)/plisse run src/plisse/gallery/05-sphere.toml --out runs/drape --overwrite

test: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2

test-slow: $(READY) $(DOCS)
	$(BIN)/pytest -n 2 -m slow

gallery: $(READY)
	sh tools/gallery.sh drapes runs/gallery $(BIN)/plisse

gallery-psq: $(READY)
	sh tools/gallery.sh shells runs/gallery-psq $(BIN)/plisse

gallery-pd: $(READY)
	sh tools/gallery.sh motions runs/gallery-pd $(BIN)/plisse

bench: $(READY)
	$(BIN)/plisse bench newton
	$(BIN)/plisse bench contact
	$(BIN)/plisse bench drop
	$(BIN)/plisse bench start
	$(BIN)/plisse bench export
	$(BIN)/plisse bench hierarchy --part speed

bench-pcs: $(READY)
	$(BIN)/plisse bench pcs

bench-psq: $(READY)
	$(BIN)/plisse bench psq

bench-pd: $(READY)
	$(BIN)/plisse bench pd

docs: $(DOCS)
	$(BIN)/sphinx-build -q -W --keep-going docs build/docs
	@echo build/docs/index.html

package: $(READY)
	$(BIN)/python tools/package.py dist

clean:
	rm -rf .venv runs build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Plissé needs Python 3.11 or newer as $(PYTHON): name another one with `make PYTHON=python3.12 ...`.' >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo 'This Python cannot create environments: on Debian and Ubuntu install the package python3-venv, then run make again.' >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@
