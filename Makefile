# Each target makes the environment it needs in .venv: a fresh machine needs Python 3.11 to 3.14 and this file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --retries 5

# What `make test` and `make fuzz` run, on how many processes, and how many examples fuzzing draws a property.
# `WEFT_FUZZ_FROM=5000 make fuzz` takes up the search among kernels with barriers at that seed; the search among all
# others has no end, keeps its state in out/fuzz/ and goes on from there when it is interrupted: `make search` is it alone.
TESTS ?= tests
WORKERS ?= auto
FUZZ ?= 5000

EXAMPLES := mandelbrot bilateral reaction
BENCHES := latency analysis precision speed suite elementwise groups ablation

.PHONY: run test fuzz search bench lint format docs notebooks package clean

run: $(VENV)/.examples
	@for example in $(EXAMPLES); do $(BIN)/python examples/$$example.py || exit 1; done

test: $(VENV)/.test
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(TESTS)

fuzz: $(VENV)/.test
	@WEFT_FUZZ=$(FUZZ) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(TESTS)
	@$(MAKE) --no-print-directory search

search: $(VENV)/.test
	@PYTHONPATH=tests $(BIN)/python -m codegen.fuzz

bench: $(VENV)/.bench
	@for bench in $(BENCHES); do $(BIN)/python -m bench.$$bench || exit 1; done

lint: $(VENV)/.dev
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/pyright
	@$(BIN)/lint-imports

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

# Pages and pictures go to out/site/; a link that leads nowhere, or a docstring that cannot be read, is an error.
docs: $(VENV)/.docs
	@for example in $(EXAMPLES); do $(BIN)/python examples/$$example.py || exit 1; done
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict

notebooks: $(VENV)/.docs
	@$(BIN)/python -m pytest -q --nbmake docs/notebooks

package: $(VENV)/.package
	@$(BIN)/python -m pytest -q packaging

clean:
	rm -rf out .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# One stamp file an extra: installed again when pyproject.toml changes.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "Installing what 'weft[$*]' needs into $(VENV) ..."
	@$(PIP) install --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
