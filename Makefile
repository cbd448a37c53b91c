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
# What makes wheels and checks them: maturin, zig as the linker, auditwheel, abi3audit.
TOOLS := .venv-wheels
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
	reproduce-abc reproduce-readings reproduce-ci wheels wheels-check wheel-smoke workflows evaluate \
	bbr-cases attack lab lab-site lab-test lab-docs docs docs-figures docs-links docs-lighthouse \
	docs-reference gallery systems models notebook locks deps-peers deps-dev deps-linux linux \
	linux-endings linux-kernels linux-full fuzz mutants rfc packetdrill packetdrill-page \
	check-peers-ns3 check-kernel-recovery check-kernel-dualpi2 wide-area defaults mutants-python deb \
	deb-check packetdrill-accecn-page linux-safety linux-routers clean

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 19

demo: $(VENV)/installed ## set up .venv and run the demonstration
	$(VENV)/bin/clearpipe demo

test: $(DEV)/installed ## set up and run all quick tests
	cargo test --locked --profile ci --features clearpipe-results/arrow
	$(DEV)/bin/pytest -m 'not long and not kernel' -n 2 --dist loadfile
	$(DEV)/bin/pytest -m 'not long and kernel'

# Random scenarios that the same program has checked are not checked again after an interruption.
test-long: $(DEV)/installed fingerprints ## every test, 2 x 100,000 random scenarios among them
	CLEARPIPE_RANDOM_SCENARIOS=100000 CLEARPIPE_RANDOM_STATE=$(CURDIR)/target/random-scenarios cargo test --locked --profile ci \
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
	cd lab/bindgen && cargo fmt --check
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

check-peers-tcp: $(VENV)/installed ## congestion controls against ns-2's TCP-Linux
	$(VENV)/bin/python peers/tcp.py

# SEEDS="--only xcp --seeds 60" passes options on.
check-peers-seeds: $(VENV)/installed ## thirty seeds and more beside ns-2, as distributions: 80 min, goes on
	$(VENV)/bin/python peers/seeds.py $(SEEDS)

# NS3=FILE names ns-3.37's examples/tcp/tcp-validation.cc; without one nothing is run.
check-peers-ns3: $(VENV)/installed ## the four cases of ns-3's tcp-validation.cc, there and here
	$(VENV)/bin/python peers/validation.py $(NS3)

check-kernel-recovery: $(VENV)/installed ## the same losses here and on this kernel, as root
	$(VENV)/bin/python peers/recovery.py --write

# Debian leaves sch_dualpi2 out of its kernels; the module is built from the same kernel's sources.
check-kernel-dualpi2: $(VENV)/installed ## Linux's DualPI2 beside ours, under QEMU (root, 15 minutes, 3 GB)
	$(VENV)/bin/python peers/dualpi2.py target/dualpi2 \
		|| { test $$? = 5 && echo "check-kernel-dualpi2 is skipped"; }

# HTSIM=folder of github.com/Broadcom/csg-htsim: against htsim, too.
# BENCH='--only scale= --pairs 3' passes options on.
bench-peers: $(VENV)/installed ## speed against ns-2, ns-3 and htsim, growth, memory, start-up
	$(VENV)/bin/python peers/bench.py $(BENCH)

# Figures and claims of five papers and of ABC; docs/howto/reproduction.md. Interrupted, a target
# goes on.
REPRODUCE := $(VENV)/bin/clearpipe reproduce

reproduce-quick: $(VENV)/installed ## all figures of the papers at reduced scale, and what fails
	$(REPRODUCE) all --scale quick --check

reproduce-full: $(VENV)/installed ## the same as the papers did it: hours
	$(REPRODUCE) all --scale full --check

reproduce-abc: $(VENV)/installed ## ABC's figures as their authors ran them, over the traces in TRACES=FOLDER
	$(REPRODUCE) abc --scale full --check $(if $(TRACES),--traces "$(TRACES)")

reproduce-readings: $(VENV)/installed ## verdicts under other starts, access links, timeouts: hours; goes on where it was stopped
	$(REPRODUCE) all --scale quick --readings docs/evidence/reproduction/readings.md

# What takes seconds: theory, time series of a run or two, and a sweep.
REPRODUCE_CI := vcp:sec3b-transition vcp:sec3d-scaling vcp:tab1 vcp:fig01 vcp:fig02 vcp:sec3e-mdfreeze \
	vcp:fig10 vcp:fig11 vcp:fig12 vcp:thm1 vcp:thm2 vcp:thm3 vcp:thm4 vcp:eq14 vcp:fn5-rttprop \
	vcp:sec4d-weights vcp:sec5-modelgap vcp:fig13 abc:sec1-range abc:thm1 abc:sec3-loop abc:foreign

EVALUATED := reno cubic bbr bbr3 dctcp vcp xcp mlcp dpcp

evaluate: $(VENV)/installed ## controls against RFC 9743 and its kin, into docs/evidence/evaluate
	for name in $(EVALUATED); do \
		$(VENV)/bin/clearpipe evaluate $$name --publish docs/evidence/evaluate >/dev/null || exit; done

bbr-cases: $(DEV)/installed ## the example test cases of BBR's draft, into docs/evidence/bbr-cases.md
	$(DEV)/bin/python python/tools/bbr_cases.py docs/evidence/bbr-cases.md

ATTACKED := bbr vcp mlcp dpcp xcp ixcp
ATTACK := $(DEV)/bin/clearpipe attack --seed 9743 --publish docs/evidence/attack
# Nothing but what the literature varies: rates and buffers of its kind, round trips or jitter.
STEADY := --fix flows --fix cross --fix loss --fix bunches --fix period \
	--fix level-1 --fix level-2 --fix level-3 --fix level-4
DEEP := --bound rate=20Mbps..50Mbps --bound rtt=10ms..100ms --bound buffer=1bdp..8bdp

# Interrupted, it goes on: the runs are in target/wide-area.
wide-area: $(DEV)/installed ## docs/evidence/wide-area.md and csig.md with their figures: minutes
	$(DEV)/bin/python python/tools/wide_area.py

attack: $(DEV)/installed ## the worst scenarios of controls, into docs/evidence/attack
	for name in $(ATTACKED); do $(ATTACK) $$name >/dev/null || exit; done
	$(ATTACK) bbr --goal starve $(STEADY) $(DEEP) --fix jitter --label bbr-round-trips
	$(ATTACK) bbr --goal starve $(STEADY) $(DEEP) --fix farther --fix later --label bbr-jitter
	$(ATTACK) vcp --goal idle $(STEADY) --fix jitter --label vcp-round-trips

# packetdrill's scripts are under the GPL and are not here: PACKETDRILL is a folder that has some.
PACKETDRILL_RUN := cargo run --locked --quiet --profile ci -p clearpipe-packetdrill --

packetdrill: ## the scripts in the folder PACKETDRILL against the transport; skips without one
	@if test -z "$(PACKETDRILL)"; then \
		echo "skipped: PACKETDRILL names no folder of scripts; github.com/google/packetdrill has them in gtests/net,"; \
		echo "Linux in tools/testing/selftests/net/packetdrill: make packetdrill PACKETDRILL=packetdrill/gtests/net/tcp"; \
	else $(PACKETDRILL_RUN) "$(PACKETDRILL)"; fi

# The 33 scripts about congestion control; PACKETDRILL is a clone of google/packetdrill here.
PACKETDRILL_DIRS := $(addprefix $(PACKETDRILL)/gtests/net/tcp/,cubic slow_start fast_recovery \
	fast_retransmit sack limited_transmit cwnd_moderation ecn)

packetdrill-page: ## the table of docs/evidence/packetdrill.md, from a clone of google/packetdrill
	@test -n "$(PACKETDRILL)" || { echo "PACKETDRILL must be a clone of google/packetdrill"; exit 2; }
	$(PACKETDRILL_RUN) $(PACKETDRILL_DIRS) --page docs/evidence/packetdrill.md \
		--why docs/evidence/packetdrill.toml --source \
		"Scripts of google/packetdrill at $$(git -C "$(PACKETDRILL)" rev-parse --short=12 HEAD), in gtests/net/tcp"

packetdrill-accecn-page: ## that of docs/evidence/packetdrill-accecn.md, from a clone of minuscat/packetdrill_accecn
	@test -n "$(PACKETDRILL)" || { echo "PACKETDRILL must be a clone of minuscat/packetdrill_accecn"; exit 2; }
	$(PACKETDRILL_RUN) "$(PACKETDRILL)/gtests/net/tcp/accecn" --page docs/evidence/packetdrill-accecn.md \
		--why docs/evidence/packetdrill-accecn.toml --source \
		"Scripts of minuscat/packetdrill_accecn at $$(git -C "$(PACKETDRILL)" rev-parse --short=12 HEAD), in gtests/net/tcp/accecn"

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

# DEFAULTS='--minutes 60 --report table.md' passes options on.
defaults: ## which behaviour test notices each changed default: an hour, goes on from where it was
	$(PYTHON) python/tools/defaults.py $(DEFAULTS)

# MUTANTS='--set others --minutes 60' passes options on.
mutants: ## mutation testing of the laws (cargo-mutants): hours, goes on from where it was
	@cargo mutants --version >/dev/null 2>&1 || { \
		echo "make mutants needs: cargo install --locked cargo-mutants" >&2; exit 5; }
	$(PYTHON) python/tools/mutants.py $(MUTANTS)

# PYTHON names one that has mutmut and what the tests need.
mutants-python: ## mutation testing of sweeps, comparisons and statistics (mutmut): an hour
	@$(PYTHON) -c 'import clearpipe, mutmut, pytest' 2>/dev/null || { \
		echo "make mutants-python needs in $(PYTHON): pip install mutmut, and python/locks/dev.txt" >&2; exit 5; }
	$(PYTHON) python/tools/python_mutants.py $(MUTANTS)

SPHINX := PYTHONPATH=$(CURDIR)/python $(SITE)/bin/python -m sphinx
RUSTDOC := docs/_extra/rust
# What stands in brackets is a unit, such as [packets], and no link.
UNITS := -A rustdoc::broken_intra_doc_links

# Protocols' and queues' pages, commands and metrics are written from the sources by docs/conf.py.
docs: $(DEV)/installed $(SITE)/installed ## the documentation site, in docs/_build/html
	RUSTDOCFLAGS="$(UNITS)" cargo doc --locked --quiet --no-deps --target-dir target/docs -p clearpipe-cc
	rm -rf $(RUSTDOC) && mkdir -p docs/_extra && cp -r target/docs/doc $(RUSTDOC)
	@if command -v node >/dev/null && command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory lab-docs; \
	else rm -rf docs/_extra/lab; echo "the site has no lab: that needs node 20 or newer and npm"; fi
	$(SPHINX) --quiet --fail-on-warning --keep-going --nitpicky -b html docs docs/_build/html
	$(SITE)/bin/python python/tools/docsite/check.py docs/_build/html

docs-figures: $(DEV)/installed ## every picture of the site again
	$(DEV)/bin/python python/tools/docsite/pictures.py
	$(DEV)/bin/python python/tools/fluid_figures.py docs/images
	$(DEV)/bin/python python/tools/docsite/shown.py docs/images
	$(DEV)/bin/python python/tools/make_gallery.py

docs-links: ## the external links of the site, a line each: fetched by nobody here
	@$(PYTHON) python/tools/docsite/check.py --external docs/_build/html

docs-lighthouse: ## Lighthouse on the built site: accessibility, best practices (npm, Chromium)
	python/tools/docsite/lighthouse.sh docs/_build/html

# With zig as the linker the wheels hold for every Linux since glibc 2.28 (2018), whatever this one has.
WHEEL_ARCHS := x86_64 aarch64
MATURIN = RUSTFLAGS="$(RUSTFLAGS) $(UNNAMED)" PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" $(TOOLS)/bin/maturin

wheels: $(TOOLS)/installed ## dist: the sdist, and wheels for Linux on x86_64 and aarch64 (10 min)
	rustup target add $(addsuffix -unknown-linux-gnu,$(WHEEL_ARCHS))
	rm -rf dist
	$(MATURIN) sdist --out dist
	for arch in $(WHEEL_ARCHS); do \
		$(MATURIN) build --release --zig --target $$arch-unknown-linux-gnu \
			--compatibility manylinux_2_28 --out dist; done
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(TOOLS)/bin/python python/tools/finish_wheels.py dist
	$(TOOLS)/bin/python python/tools/check_wheels.py dist

# Not what users get: the `ci` profile, of which make test has compiled nearly all already. What is
# tried is what does not depend on that: what is in the wheel, and that nothing else is needed.
wheel-smoke: $(DEV)/installed ## a wheel in a clean environment without matplotlib: a minute
	rm -rf target/wheel-smoke
	PATH="$(CURDIR)/$(DEV)/bin:$$PATH" $(DEV)/bin/maturin build --quiet --profile ci --out target/wheel-smoke
	$(PYTHON) python/tools/try_wheel.py target/wheel-smoke/*.whl --lock $(LOCKS)/user.txt \
		--fingerprints golden/packet-engine.txt

# Debian roots are made in target/roots; that takes root, debootstrap and qemu-user-static.
wheels-check: $(TOOLS)/installed ## wheels of dist in bare Debian roots, aarch64 under qemu; the sdist offline
	python/tools/bare_roots.sh dist target/roots $(TOOLS)/bin/python

ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

workflows: ## lint .github/workflows, which cannot run here; skips without actionlint or Go
	@if command -v actionlint >/dev/null; then actionlint; \
	elif GOBIN=$(CURDIR)/target/tools go install $(ACTIONLINT) 2>/dev/null; then target/tools/actionlint; \
	else echo "actionlint is missing, and no Go fetches it: workflows are not linted"; fi

docs-reference: ## regenerate docs/reference
	mkdir -p docs/reference
	cargo run --locked --quiet --profile ci -p clearpipe-scenario --example reference docs/reference
	cargo run --locked --quiet --profile ci -p clearpipe-scenario --example schema \
		> python/clearpipe/scenario.schema.json

gallery: $(DEV)/installed ## draw the gallery's pictures and write its pages: docs/gallery
	$(DEV)/bin/python python/tools/make_gallery.py

systems: ## regenerate docs/reference/systems.md from systems.toml
	$(PYTHON) python/tools/make_systems.py docs/reference/systems.toml docs/reference/systems.md

rfc: ## regenerate docs/evidence/rfc from its tables; RUN=1 runs the tests that they name first
	$(PYTHON) python/tools/make_rfc.py docs/evidence/rfc $(if $(RUN),--run)

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
	ethtool tcpdump nftables

deps-linux: ## what make linux needs, and the linux engine's tests (Debian, Ubuntu)
	@if dpkg -s $(LINUX_PACKAGES) >/dev/null 2>&1; then echo "deps-linux are installed"; else \
		$(APT) update -qq; $(APT) install -y -qq --no-install-recommends $(LINUX_PACKAGES); fi

LOADER := ebpf/loader/target/release/clearpipe-bpf

linux: $(LOADER) ## build clearpipe-bpf: end hosts in eBPF and their loader
	@there=; for bin in $(VENV)/bin $(DEV)/bin; do \
		if test -d $$bin; then install $(LOADER) $$bin; there="$$there $$bin/clearpipe-bpf"; fi; done; \
	if test -n "$$there"; then echo "clearpipe-bpf is installed:$$there"; else \
		echo "clearpipe-bpf is built: $(LOADER). It works by itself; without a virtual environment" \
			"here (make demo, make test) clearpipe finds it on the PATH or by CLEARPIPE_BPF"; fi

linux-endings: $(DEV)/installed linux ## 100 runs ended at random moments leave nothing (root, 8 minutes)
	CLEARPIPE_ENDINGS=100 $(DEV)/bin/python -m pytest -q -s python/tests/test_linux_endings.py

$(LOADER): $(wildcard ebpf/*.bpf.c ebpf/include/*.h ebpf/loader/src/*.rs ebpf/debian/*.json) \
		ebpf/loader/build.rs ebpf/loader/Cargo.toml ebpf/loader/Cargo.lock \
		crates/scenario/src/lib.rs crates/scenario/src/error.rs crates/scenario/src/values/quantity.rs
	@command -v clang >/dev/null || { echo "clang is missing: make deps-linux" >&2; exit 5; }
	cd ebpf/loader && RUSTFLAGS="$(RUSTFLAGS) $(UNNAMED)" cargo build --quiet --release --locked
	@touch $@

# Kernels of Debian 12, without KVM.
KERNELS ?= linux-image-6.1.0-50-cloud-amd64 linux-image-6.12.117+deb12-cloud-amd64

linux-kernels: $(LOADER) $(VENV)/installed ## end hosts, routers and DCTCP on Debian's kernels 6.1 and 6.12, under QEMU
	PYTHON=$(VENV)/bin/python ebpf/tests/kernels/run.sh $(LOADER) target/kernels $(KERNELS)

# The loader's own version; a package of Debian's tools alone.
DEB_VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' ebpf/loader/Cargo.toml | head -1)
DEB_KERNEL ?= $(lastword $(KERNELS))

deb: $(LOADER) ## dist/clearpipe-bpf_VERSION_ARCH.deb: the loader as a service, without Python
	ebpf/debian/build.sh $(LOADER) $(DEB_VERSION) dist

deb-check: deb ## the package in a bare Debian and under systemd in QEMU (root, 5 minutes)
	ebpf/tests/package/check.sh dist/clearpipe-bpf_$(DEB_VERSION)_*.deb target/deb-check $(DEB_KERNEL) \
		|| { test $$? = 5 && echo "deb-check is skipped"; }

linux-routers: $(VENV)/installed linux ## the kernel's routers between kernel hosts, beside the packet engine (root, 36 minutes)
	$(VENV)/bin/python python/tools/linux_routers.py

linux-full: $(VENV)/installed $(DEV)/installed linux ## docs/evidence/linux.md's figures on this kernel (root, 40 minutes)
	$(VENV)/bin/python python/tools/linux_figures.py
	CLEARPIPE_GARBLED_PKTS=1000000 $(DEV)/bin/python -m pytest -q -s python/tests/test_linux_hosts.py -k stalls_no

linux-safety: $(DEV)/installed linux ## end hosts without their signals, and 10^6 hostile packets each (root, 20 minutes)
	$(DEV)/bin/python -m pytest -q -s python/tests/test_linux_safety.py
	CLEARPIPE_HOSTILE_PKTS=1000000 $(DEV)/bin/python -m pytest -q -s python/tests/test_linux_hosts.py \
		-k 'hostile or conntrack or firewall'

# The lab's page in target/lab/site. Node's packages are those of lab/package-lock.json.
LAB := target/lab
LAB_WASM := target/wasm32-unknown-unknown/lab/clearpipe_lab.wasm
LAB_BINDGEN := target/lab-tools/release/clearpipe-lab-bindgen
LAB_PORT ?= 8300

lab: lab-site ## the lab, the engine in a browser: build it and serve it on 127.0.0.1:8300
	@echo "the lab is at http://127.0.0.1:$(LAB_PORT)/; Ctrl-C ends it"
	@$(PYTHON) -m http.server --bind 127.0.0.1 --directory $(LAB)/site $(LAB_PORT)

lab-site: $(LAB)/site/index.html ## the lab's folder for any file server, in target/lab/site

lab-docs: $(LAB)/site/index.html ## the lab's folder as a part of the documentation site
	mkdir -p docs/_extra && rm -rf docs/_extra/lab && cp -r $(LAB)/site docs/_extra/lab

lab-test: ## the lab in Node, and in Chromium if there is one
	@if command -v node >/dev/null && command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory lab-site && cd lab && npm test --silent; \
	else echo "the lab was not tested: it needs node 20 or newer and npm (apt install nodejs npm)"; fi

lab/node_modules/installed: lab/package.json lab/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: apt install nodejs npm" >&2; exit 5; }
	cd lab && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(LAB_BINDGEN): lab/bindgen/Cargo.toml lab/bindgen/Cargo.lock lab/bindgen/src/main.rs
	CARGO_TARGET_DIR=target/lab-tools cargo build --quiet --release --locked \
		--manifest-path lab/bindgen/Cargo.toml
	@touch $@

$(LAB_WASM): $(RUST)
	@test -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown)" || \
		rustup target add wasm32-unknown-unknown
	RUSTFLAGS="$(RUSTFLAGS) $(UNNAMED)" cargo build --quiet --locked --profile lab \
		-p clearpipe-lab --target wasm32-unknown-unknown
	@touch $@

$(LAB)/site/index.html: $(LAB_WASM) $(LAB_BINDGEN) lab/node_modules/installed lab/build.mjs \
		lab/explorables.js $(wildcard lab/src/*) $(wildcard python/clearpipe/examples/*)
	mkdir -p $(LAB)
	$(LAB_BINDGEN) $(LAB_WASM) $(LAB)/engine
	cd lab && node build.mjs
	@touch $@

clean: ## remove everything that make made
	rm -rf $(VENV) $(DEV) $(SITE) $(TOOLS) docs/_build docs/_extra target dist lab/node_modules ebpf/loader/target demo build \
		.mypy_cache .pytest_cache .ruff_cache
	rm -f python/clearpipe/_core*.so
	find python -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python $(DEV)/bin/python $(TOOLS)/bin/python:
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

$(TOOLS)/installed: $(TOOLS)/bin/python $(LOCKS)/wheels.txt
	@command -v rustup >/dev/null || { \
		echo "make wheels needs rustup, for Rust's library on other systems: https://rustup.rs" >&2; \
		exit 5; }
	$(TOOLS)/bin/python $(LOCKED) $(LOCKS)/wheels.txt
	@touch $@

$(DEV)/installed: $(DEV)/bin/python $(RUST) pyproject.toml $(LOCKS)/dev.txt
	$(DEV)/bin/python $(LOCKED) $(LOCKS)/dev.txt
	PIP_NO_INDEX=1 VIRTUAL_ENV=$(CURDIR)/$(DEV) $(DEV)/bin/maturin develop --quiet --profile ci
	$(DEV)/bin/python -m pip check
	@touch $@
