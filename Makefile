# `make demo` sets up and shows the main job; `make test` sets up and runs all quick tests.
# Both need Python 3.11 or newer and cargo, and fetch the rest. Running a target again is quick.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
# What users get: the release build. What tests use: an editable install of the `ci` build.
# Both take exactly the packages that python/locks has, by their hashes.
VENV := .venv
DEV := .venv-dev
# The documentation site has a third environment: Sphinx's packages are nobody else's.
SITE := .venv-docs
LOCKS := python/locks

RUST := Cargo.toml Cargo.lock rust-toolchain.toml \
	$(shell find crates -path '*/target' -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print)
PACKAGE := pyproject.toml \
	$(shell find python/clearpipe -type f ! -name '*.so' ! -path '*/__pycache__/*')
export CARGO_TERM_PROGRESS_WHEN ?= never
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
PIP_INSTALL := -m pip install
# A package that must be built would fetch what it is built with, of any version.
LOCKED := $(PIP_INSTALL) --require-hashes --only-binary :all: -r

.PHONY: help demo test test-long fingerprints lint types bench bench-gate bench-accept bench-fluid \
	check-peers check-peers-tcp check-peers-seeds bench-peers reproduce-quick reproduce-full \
	reproduce-readings reproduce-ci \
	docs docs-figures docs-links docs-lighthouse docs-reference models notebook locks deps-peers deps-dev deps-linux linux linux-kernels linux-full fuzz clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 18

demo: $(VENV)/installed ## set up .venv and run the demonstration
	$(VENV)/bin/clearpipe demo

test: $(DEV)/installed ## set up and run all quick tests
	cargo test --locked --profile ci --features clearpipe-results/arrow
	$(DEV)/bin/pytest -m 'not long'

test-long: $(DEV)/installed fingerprints ## every test, 100,000 random scenarios among them
	CLEARPIPE_RANDOM_SCENARIOS=100000 cargo test --locked --profile ci \
		--features clearpipe-results/arrow -- --include-ignored
	$(DEV)/bin/pytest

fingerprints: ## debug, release and native builds give the same bits
	cargo test --locked --quiet -p clearpipe-net --test golden
	cargo test --locked --quiet --release -p clearpipe-net --test golden
	RUSTFLAGS="-C target-cpu=native" CARGO_TARGET_DIR=target/native \
		cargo test --locked --quiet --release -p clearpipe-net --test golden

lint: $(DEV)/installed ## formatting and lints, Rust and Python
	cargo fmt --all --check
	cd ebpf/loader && cargo fmt --check
	PYO3_PYTHON=$(CURDIR)/$(DEV)/bin/python \
		cargo clippy --locked --workspace --all-targets --features clearpipe-results/arrow -- -D warnings
	$(DEV)/bin/ruff check python peers
	$(DEV)/bin/ruff format --check python peers

types: $(DEV)/installed ## mypy, and the stub against the compiled module
	$(DEV)/bin/mypy
	$(DEV)/bin/stubtest clearpipe._core

# A compiler told to use this CPU would count something else.
COUNTS := env -u RUSTFLAGS cargo run --locked --quiet --release -p clearpipe-benches --

bench: ## instructions per operation of the engine and its parts, beside the baseline
	@$(COUNTS) show

bench-gate: ## fails when one is over 3 % above the baseline; skips without valgrind
	@$(COUNTS) gate || { status=$$?; test $$status -eq 5 || exit $$status; }

bench-accept: ## make the present counts the baseline
	@$(COUNTS) accept

# BENCH='2500 25 30 500us': flows, links, seconds, and a finer step to compare with.
bench-fluid: ## speed and memory of the fluid engine: 10^5 flows over 10^3 links, some minutes
	cargo run --locked --quiet --release -p clearpipe-fluid --example scale -- $(BENCH)

check-peers: $(VENV)/installed ## truth: the same cases in ns-2 and here
	$(VENV)/bin/python peers/check.py

# BENCH='--only scale= --pairs 3' passes options on.
check-peers-tcp: $(VENV)/installed ## congestion controls against ns-2's TCP-Linux
	$(VENV)/bin/python peers/tcp.py

# SEEDS="--only xcp --seeds 60" passes options on.
check-peers-seeds: $(VENV)/installed ## thirty seeds and more beside ns-2, as distributions: 80 min, goes on
	$(VENV)/bin/python peers/seeds.py $(SEEDS)

bench-peers: $(VENV)/installed ## speed against ns-2 and ns-3, growth, memory, start-up
	$(VENV)/bin/python peers/bench.py $(BENCH)

# Figures and claims of five papers; docs/howto/reproduction.md. Interrupted, a target goes on.
REPRODUCE := $(VENV)/bin/clearpipe reproduce

reproduce-quick: $(VENV)/installed ## all figures of five papers at reduced scale, and what fails
	$(REPRODUCE) all --scale quick --check

reproduce-full: $(VENV)/installed ## the same as the papers did it: hours
	$(REPRODUCE) all --scale full --check

reproduce-readings: $(VENV)/installed ## verdicts under other starts, access links, timeouts: an hour
	$(REPRODUCE) all --scale quick --readings docs/evidence/reproduction/readings.md

# What takes seconds: theory, time series of a run or two, and a sweep.
REPRODUCE_CI := vcp:sec3b-transition vcp:sec3d-scaling vcp:tab1 vcp:fig01 vcp:fig02 vcp:sec3e-mdfreeze \
	vcp:fig10 vcp:fig11 vcp:fig12 vcp:thm1 vcp:thm2 vcp:thm3 vcp:thm4 vcp:eq14 vcp:fn5-rttprop \
	vcp:sec4d-weights vcp:sec5-modelgap vcp:fig13

reproduce-ci: $(DEV)/installed ## three minutes of reproduce-quick
	$(DEV)/bin/clearpipe reproduce $(REPRODUCE_CI) --scale quick --check

# Inputs that were found stay in fuzz/corpus, those that broke something in fuzz/artifacts.
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= scenario trace cdf graphml

fuzz: ## each fuzz target for FUZZ_SECONDS (600); needs the nightly compiler and cargo-fuzz
	@cargo +nightly fuzz --version >/dev/null 2>&1 || { \
		echo "make fuzz needs: rustup toolchain install nightly; cargo install cargo-fuzz" >&2; \
		exit 5; }
	mkdir -p $(addprefix fuzz/corpus/,scenario trace cdf graphml)
	cp python/clearpipe/examples/*.toml fuzz/corpus/scenario
	cp python/clearpipe/examples/*.trace fuzz/corpus/trace
	cp python/clearpipe/examples/*.cdf fuzz/corpus/cdf
	cp python/clearpipe/examples/*.graphml fuzz/corpus/graphml
	for target in $(FUZZ_TARGETS); do \
		cargo +nightly fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=512 -timeout=5 -max_len=65536 \
			-print_final_stats=1 || exit 1; \
	done

SPHINX := PYTHONPATH=$(CURDIR)/python $(SITE)/bin/python -m sphinx
RUSTDOC := docs/_extra/rust
# What stands in brackets is a unit, such as [packets], and no link.
UNITS := -A rustdoc::broken_intra_doc_links

# Protocols' and queues' pages, commands and metrics are written from the sources by docs/conf.py.
docs: $(DEV)/installed $(SITE)/installed ## the documentation site, in docs/_build/html
	RUSTDOCFLAGS="$(UNITS)" cargo doc --locked --quiet --no-deps --target-dir target/docs -p clearpipe-cc
	rm -rf $(RUSTDOC) && mkdir -p docs/_extra && cp -r target/docs/doc $(RUSTDOC)
	$(SPHINX) --quiet --fail-on-warning --keep-going --nitpicky -b html docs docs/_build/html
	$(SITE)/bin/python python/tools/docsite/check.py docs/_build/html

docs-figures: $(DEV)/installed ## every picture of the site again
	$(DEV)/bin/python python/tools/docsite/pictures.py
	$(DEV)/bin/python python/tools/fluid_figures.py docs/images
	$(DEV)/bin/python python/tools/docsite/shown.py docs/images

docs-links: ## the external links of the site, a line each: fetched by nobody here
	@$(PYTHON) python/tools/docsite/check.py --external docs/_build/html

docs-lighthouse: ## Lighthouse on the built site: accessibility, best practices (npm, Chromium)
	python/tools/docsite/lighthouse.sh docs/_build/html

docs-reference: ## regenerate docs/reference
	mkdir -p docs/reference
	cargo run --locked --quiet --profile ci -p clearpipe-scenario --example reference \
		> docs/reference/scenario.md
	cargo run --locked --quiet --profile ci -p clearpipe-scenario --example schema \
		> python/clearpipe/scenario.schema.json

models: ## regenerate python/clearpipe/scenario.py from its JSON Schema (after docs-reference)
	$(PYTHON) python/tools/make_models.py python/clearpipe/scenario.schema.json \
		python/clearpipe/scenario.py

notebook: $(DEV)/installed ## execute the notebooks in docs again, keep what they show, and make the students'
	$(DEV)/bin/python python/tools/run_notebook.py docs/tutorials/first-figure.ipynb
	$(DEV)/bin/python python/tools/run_notebook.py docs/tutorials/prototype.ipynb
	for exercise in docs/tutorials/exercises/solutions/*.ipynb; do \
		$(DEV)/bin/python python/tools/run_notebook.py $$exercise; done
	$(DEV)/bin/python python/tools/make_exercises.py docs/tutorials/exercises

# By the present lock's own uv; whether the package fits that lock is another matter.
locks: $(DEV)/bin/python ## lock the newest packages that pyproject.toml allows
	$(DEV)/bin/python $(LOCKED) $(LOCKS)/dev.txt
	PATH="$(CURDIR)/$(DEV)/bin:$$PATH" $(DEV)/bin/python python/tools/make_locks.py $(LOCKS)

APT := $(if $(filter 0,$(shell id -u)),,sudo) env DEBIAN_FRONTEND=noninteractive apt-get

# ns-3 as Debian 12 packages it; other systems have none or another version, and go without.
deps-peers: ## ns-2 and ns-3 (Debian, Ubuntu), for check-peers and bench-peers
	@if command -v ns >/dev/null; then echo "ns-2 is installed"; else \
		$(APT) update -qq; $(APT) install -y -qq --no-install-recommends ns2; fi
	@if dpkg -s libns3-dev g++ >/dev/null 2>&1; then echo "ns-3 is installed"; \
	elif $(APT) update -qq && apt-cache show libns3-dev >/dev/null 2>&1; then \
		$(APT) install -y -qq --no-install-recommends libns3-dev g++; \
	else echo "ns-3 has no package libns3-dev here: bench-peers goes without it"; fi

deps-dev: ## what bench and some tests use, and skip without
	@if command -v valgrind >/dev/null; then echo "valgrind is installed"; else \
		$(APT) update -qq; $(APT) install -y -qq --no-install-recommends valgrind; fi
	@if command -v tshark >/dev/null; then echo "tshark is installed"; else \
		$(APT) update -qq; $(APT) install -y -qq --no-install-recommends tshark; fi

# libelf and zlib are what libbpf links; iperf3, ethtool and tcpdump are for trying it.
LINUX_PACKAGES := clang llvm libbpf-dev libelf-dev zlib1g-dev pkg-config gcc make iproute2 iperf3 \
	ethtool tcpdump

deps-linux: ## what make linux needs, and the linux engine's tests (Debian, Ubuntu)
	@if dpkg -s $(LINUX_PACKAGES) >/dev/null 2>&1; then echo "deps-linux are installed"; else \
		$(APT) update -qq; $(APT) install -y -qq --no-install-recommends $(LINUX_PACKAGES); fi

LOADER := ebpf/loader/target/release/clearpipe-bpf

linux: $(LOADER) ## build clearpipe-bpf: end hosts in eBPF and their loader
	@for bin in $(VENV)/bin $(DEV)/bin; do if test -d $$bin; then install $(LOADER) $$bin; fi; done

$(LOADER): $(wildcard ebpf/*.bpf.c ebpf/include/*.h ebpf/loader/src/*.rs) \
		ebpf/loader/build.rs ebpf/loader/Cargo.toml ebpf/loader/Cargo.lock
	@command -v clang >/dev/null || { echo "clang is missing: make deps-linux" >&2; exit 5; }
	cd ebpf/loader && RUSTFLAGS="$(RUSTFLAGS) $(UNNAMED)" cargo build --quiet --release --locked
	@touch $@

# Kernels of Debian 12; they boot without KVM, half a minute each.
KERNELS ?= linux-image-6.1.0-50-cloud-amd64 linux-image-6.12.117+deb12-cloud-amd64

linux-kernels: $(LOADER) ## the end hosts on Debian's kernels 6.1 and 6.12, under QEMU
	ebpf/tests/kernels/run.sh $(LOADER) target/kernels $(KERNELS)

linux-full: $(VENV)/installed $(DEV)/installed linux ## docs/howto/linux-hosts.md's figures on this kernel (root, 25 minutes)
	$(VENV)/bin/python python/tools/linux_figures.py
	CLEARPIPE_GARBLED_PKTS=1000000 $(DEV)/bin/python -m pytest -q -s python/tests/test_linux_hosts.py -k stalls_no

clean: ## remove everything that make made
	rm -rf $(VENV) $(DEV) $(SITE) docs/_build docs/_extra target ebpf/loader/target demo build .mypy_cache .pytest_cache .ruff_cache
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

# What users get names no directory of the machine that built it.
UNNAMED := --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo \
	--remap-path-prefix=$(CURDIR)=/clearpipe

$(VENV)/installed: $(VENV)/bin/python $(RUST) $(PACKAGE) $(LOCKS)/demo.txt
	@echo "building the release version; the first time takes some minutes"
	$(VENV)/bin/python $(LOCKED) $(LOCKS)/demo.txt
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" RUSTFLAGS="$(RUSTFLAGS) $(UNNAMED)" \
		$(VENV)/bin/python $(PIP_INSTALL) --no-build-isolation --no-deps .
	$(VENV)/bin/python -m pip check
	@touch $@

$(SITE)/installed: $(DEV)/bin/python pyproject.toml $(LOCKS)/docs.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python $(LOCKED) $(LOCKS)/docs.txt
	@touch $@

$(DEV)/installed: $(DEV)/bin/python $(RUST) pyproject.toml $(LOCKS)/dev.txt
	$(DEV)/bin/python $(LOCKED) $(LOCKS)/dev.txt
	PIP_NO_INDEX=1 VIRTUAL_ENV=$(CURDIR)/$(DEV) $(DEV)/bin/maturin develop --quiet --profile ci
	$(DEV)/bin/python -m pip check
	@touch $@
