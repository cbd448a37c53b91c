# `make demo` sets up and shows the main job; `make test` sets up and runs all quick tests.
# Both need Python 3.11 or newer and cargo, and fetch the rest. Running a target again is quick.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
# What users get: the release build. What tests use: an editable install of the `ci` build.
VENV := .venv
DEV := .venv-dev

RUST := Cargo.toml Cargo.lock rust-toolchain.toml \
	$(shell find crates -path '*/target' -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print)
PACKAGE := pyproject.toml \
	$(shell find python/clearpipe -type f ! -name '*.so' ! -path '*/__pycache__/*')
export CARGO_TERM_PROGRESS_WHEN ?= never
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
PIP_INSTALL := -m pip install

.PHONY: help demo test test-long fingerprints lint types bench check-peers bench-peers docs-reference \
	deps-peers deps-dev clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

demo: $(VENV)/installed ## set up .venv and run the demonstration
	$(VENV)/bin/clearpipe demo

test: $(DEV)/installed ## set up and run all quick tests
	cargo test --profile ci --features clearpipe-results/arrow
	$(DEV)/bin/pytest -m 'not long'

test-long: $(DEV)/installed fingerprints ## every test, 100,000 random scenarios among them
	CLEARPIPE_RANDOM_SCENARIOS=100000 cargo test --profile ci --features clearpipe-results/arrow -- --include-ignored
	$(DEV)/bin/pytest

fingerprints: ## debug, release and native builds give the same bits
	cargo test --quiet -p clearpipe-net --test golden
	cargo test --quiet --release -p clearpipe-net --test golden
	RUSTFLAGS="-C target-cpu=native" CARGO_TARGET_DIR=target/native \
		cargo test --quiet --release -p clearpipe-net --test golden

lint: $(DEV)/installed ## formatting and lints, Rust and Python
	cargo fmt --all --check
	PYO3_PYTHON=$(CURDIR)/$(DEV)/bin/python \
		cargo clippy --workspace --all-targets --features clearpipe-results/arrow -- -D warnings
	$(DEV)/bin/ruff check python peers
	$(DEV)/bin/ruff format --check python peers

types: $(DEV)/installed ## mypy, and the stub against the compiled module
	$(DEV)/bin/mypy
	$(DEV)/bin/stubtest clearpipe._core

bench: ## the engine's own benchmarks
	cargo bench

check-peers: $(VENV)/installed ## truth: the same cases in ns-2 and here
	$(VENV)/bin/python peers/check.py

bench-peers: $(VENV)/installed ## speed against ns-2
	$(VENV)/bin/python peers/bench.py

docs-reference: ## regenerate docs/reference
	mkdir -p docs/reference
	cargo run --quiet --profile ci -p clearpipe-scenario --example reference \
		> docs/reference/scenario.md
	cargo run --quiet --profile ci -p clearpipe-scenario --example schema \
		> docs/reference/scenario.schema.json

APT := $(if $(filter 0,$(shell id -u)),,sudo) env DEBIAN_FRONTEND=noninteractive apt-get

deps-peers: ## ns-2 (Debian, Ubuntu), for check-peers and bench-peers
	@if command -v ns >/dev/null; then echo "ns-2 is installed"; else \
		$(APT) update -qq; $(APT) install -y -qq --no-install-recommends ns2; fi

deps-dev: deps-peers ## what some tests use, and skip without
	@if command -v valgrind >/dev/null; then echo "valgrind is installed"; else \
		$(APT) install -y -qq --no-install-recommends valgrind; fi

clean: ## remove everything that make made
	rm -rf $(VENV) $(DEV) target demo build .mypy_cache .pytest_cache .ruff_cache
	rm -f python/clearpipe/_core*.so
	find python -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python $(DEV)/bin/python:
	@command -v cargo >/dev/null || { \
		echo "cargo is missing: install Rust from https://rustup.rs, or apt install rustup" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Clearpipe needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1);" \
			"name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(@D)/..

$(VENV)/installed: $(VENV)/bin/python $(RUST) $(PACKAGE)
	@echo "building the release version; the first time takes some minutes"
	$(VENV)/bin/python $(PIP_INSTALL) '.[figures]'
	@touch $@

$(DEV)/installed: $(DEV)/bin/python $(RUST) pyproject.toml
	$(DEV)/bin/python $(PIP_INSTALL) 'maturin>=1.16,<2'
	VIRTUAL_ENV=$(CURDIR)/$(DEV) $(DEV)/bin/maturin develop --quiet --profile ci \
		--extras dev,figures
	@touch $@
