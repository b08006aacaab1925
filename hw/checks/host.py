# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host's programs take for granted, against what the images are.

The controller's NoC ids and names, the register map's addresses, heads of packets, delays of the modem, rates and
limits of the bring-up tools: each stands in a file of the host, and would be wrong there in silence.
"""

from __future__ import annotations

import ast
import re
from fractions import Fraction

from checks.elaboration import Instance, instances
from checks.rates import CHIPS_PER_US, MODEM_SAMPLES_PER_CHIP, clocks_per_us, modem_msps
from checks.tree import CheckError, Tree

CONTROLLER = "host/drivers/uhd/perhop_block_control.hpp"
REGISTRATION = "host/drivers/uhd/perhop_block_control.cpp"
SHELL = "hw/fpga/shell_top.sv"
# Of a packet of CHDR with a time; what an Ethernet of ordinary length carries.
CHDR_HEAD_BYTES, IP_AND_UDP_BYTES, ETHERNET_BYTES = 16, 28, 1500
LINK = "host/drivers/uhd/uhd_link.cpp"
DRIVER = "host/drivers/rfnoc_driver.cpp"
MODEL = "host/python/perhop/phy/converter_rates.py"
DELAYS = "host/python/perhop/registers/radio.py"
PYTHON_SPEC = "host/python/perhop/registers/spec_generated.py"
CPP_PROTOCOL = "host/core/wire/generated/protocol.hpp"
CPP_FRAMES = "host/core/wire/generated/frames.hpp"
RTL_SPEC = "gateware/rtl/common/perhop_pkg.sv"
BRINGUP, RADIO, RECORDING, STEPS = (f"hw/bringup/{name}.py" for name in ("bringup", "uhd_radio", "recording", "steps"))
SIFS_US = 10
# What UHD counts a block's times in: ticks of the device's timekeeper, or what the blocks around it have.
RADIO_CLOCK, GRAPH_CLOCK = '"radio_clk"', "::uhd::rfnoc::CLOCK_KEY_GRAPH"
# steps.calibrate: what the registers of the delays can hold of SIFS.
LEAST_SETTLE_CLOCKS = 16


def constant(tree: Tree, path: str, pattern: str) -> str:
    """What one place of a file says; CheckError if it does not say it, or twice."""
    found = re.findall(pattern, tree.read(path), re.MULTILINE)
    if len(found) != 1:
        raise CheckError(f"{path} says {len(found)} times what this check looks for: {pattern}")
    return found[0]


def table(tree: Tree, path: str, name: str) -> dict:
    """A dictionary of literals in a Python file."""
    for node in ast.parse(tree.read(path)).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == name for each in node.targets
        ):
            return ast.literal_eval(node.value)
    raise CheckError(f"{path} has no {name}")


def check_host(tree: Tree) -> str:
    """CheckError with everything that is wrong; else how much was compared."""
    told: list[tuple[str, object, str, object]] = []  # place, what it says, place, what that says
    _ids(tree, told)
    _addresses(tree, told)
    _packets(tree, told)
    _bringup(tree, told)
    _channels(tree, told)
    wrong = [f"{one} says {said}, {other} {wanted}" for one, said, other, wanted in told if said != wanted]
    delays = _delays(tree)
    if wrong + delays:
        raise CheckError("\n".join(wrong + delays))
    return f"{len(told)} constants, delays of {len(tree.image_cores())} images"


def _ids(tree: Tree, told: list) -> None:
    for block in tree.blocks():
        described = tree.description(block)
        at = f"hw/rfnoc/blocks/{block}.yml"
        noc_id = int(constant(tree, CONTROLLER, rf"\b{block}_noc_id = (0x[0-9A-Fa-f]+);"), 16)
        told.append((f"{CONTROLLER}: NoC id of {block}", f"0x{noc_id:08X}", at, f"0x{described['noc_id']:08X}"))
        told.append((f"{at}: module_name", described["module_name"], "its name", block))
        names = re.findall(rf'\badd\({block}_noc_id, "(\w+)", ', tree.read(REGISTRATION))
        told.append((f"{REGISTRATION}: {block} is registered", names, at, [block]))
        timed = "time" in (described.get("io_ports") or {})
        clock = constant(tree, REGISTRATION, rf"\badd\({block}_noc_id, \"{block}\", ([^)]+)\)")
        told.append((f"{REGISTRATION}: clock of {block}'s time", clock, at, RADIO_CLOCK if timed else GRAPH_CLOCK))
        for side in ("inputs", "outputs"):
            for name, port in described["data"][side].items():
                told.append((f"{at}: item_width of {name}", port["item_width"], "a word of the shell", 32))
    ids = [tree.description(block)["noc_id"] for block in tree.blocks()]
    told.append(("hw/rfnoc/blocks: different NoC ids", len(set(ids)), "blocks", len(ids)))


def _addresses(tree: Tree, told: list) -> None:
    for name in ("RADIO_REGISTERS_BASE", "SHELL_REGISTERS_BASE"):
        rtl = int(constant(tree, RTL_SPEC, rf"localparam int unsigned {name} = (\d+);"))
        python = int(constant(tree, PYTHON_SPEC, rf"^{name} = (\d+)"))
        cpp = int(constant(tree, CPP_PROTOCOL, rf"\b{name.lower()} = (\d+);"))
        told += [(f"{PYTHON_SPEC}: {name}", python, RTL_SPEC, rtl), (f"{CPP_PROTOCOL}: {name}", cpp, RTL_SPEC, rtl)]
    gain = int(constant(tree, PYTHON_SPEC, r'^\s*"tx_gain", "[^"]*", (0x[0-9a-fA-F]+),'), 16)
    literal = int(constant(tree, STEPS, r"write32\((0x[0-9a-fA-F]+), \d+\)  # radio\.tx_gain"), 16)
    told.append((f"{STEPS}: address of radio.tx_gain", f"0x{literal:x}", PYTHON_SPEC, f"0x{gain:x}"))


def _packets(tree: Tree, told: list) -> None:
    core = next(core for core in tree.image_cores().values() if tree.block_of(core)[0] == "perhop")
    found = instances(tree, *tree.block_of(core))
    sizes = {name: _size(tree, name) for name in ("HostSend", "HostFrame")}
    for module, name in (("packet_input", "HostSend"), ("frame_output", "HostFrame")):
        rtl_bytes = 4 * int(_only(found, module).values["HEAD_WORDS"])
        cpp = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
        cpp_bytes = int(
            constant(tree, CPP_FRAMES, rf"struct {cpp} \{{\s*static constexpr std::size_t size_bytes = (\d+);")
        )
        told.append((f"{PYTHON_SPEC}: bytes of {name}", sizes[name], f"{module}.sv", rtl_bytes))
        told.append((f"{CPP_FRAMES}: bytes of {cpp}", cpp_bytes, f"{module}.sv", rtl_bytes))
    msdu_bytes = int(constant(tree, PYTHON_SPEC, r"^MOST_MSDU_BYTES = (\d+)"))
    words = int(constant(tree, LINK, r"most_words = (\d+);"))
    longest = max(sizes.values()) + msdu_bytes
    told.append((f"{LINK}: most_words hold the longest packet", 4 * words >= longest, f"{longest} bytes", True))
    # A packet of the MAC is a burst of the stream, whose packets are no longer than the transport carries.
    for block in tree.blocks():
        path = f"hw/rfnoc/fpga/rfnoc_block_{block}/rfnoc_block_{block}.v"
        for stream in ("s_frames", "m_packets"):
            name = stream.partition("_")[2]
            ends = constant(tree, path, rf"\.{stream}_axis_teob\(([^)]*)\)")
            told.append((f"{path}: end of a burst of {name}", ends, "shell_top's", f"{name}_teob"))
    cut_words = int(constant(tree, SHELL, r"PACKET_WORDS\s*= (\d+)"))
    longest_bytes = 4 * cut_words + CHDR_HEAD_BYTES + IP_AND_UDP_BYTES
    told.append((f"{SHELL}: IP packet of a whole packet of the stream", longest_bytes, "Ethernet", ETHERNET_BYTES))
    # The format that UHD copies as it is, word by word.
    for path, pattern in (
        (LINK, r'words_format = "(\w+)"'),
        (RADIO, r'words = uhd\.usrp\.StreamArgs\("(\w+)", "\1"\)'),
    ):
        told.append((f"{path}: format of packets", constant(tree, path, pattern), "as UHD copies words", "f32"))


def _size(tree: Tree, name: str) -> int:
    text = tree.read(PYTHON_SPEC).partition(f"\nclass {name}(")[2].partition("\nclass ")[0]
    found = re.search(r"SIZE_BYTES: ClassVar\[int\] = (\d+)", text)
    if not found:
        raise CheckError(f"{PYTHON_SPEC} has no size of {name}")
    return int(found.group(1))


def _only(found: list[Instance], module: str) -> Instance:
    return next(each for each in found if each.module == module)


def _bringup(tree: Tree, told: list) -> None:
    msps = CHIPS_PER_US * MODEM_SAMPLES_PER_CHIP
    name = f"0/{tree.description('perhop')['module_name']}#0"
    told += [
        (
            f"{RECORDING}: SAMPLES_PER_US",
            int(constant(tree, RECORDING, r"^SAMPLES_PER_US = (\d+)")),
            "two a chip",
            msps,
        ),
        (
            f"{RADIO}: SAMPLE_RATE_HZ",
            float(constant(tree, RADIO, r"^SAMPLE_RATE_HZ = (\S+)")),
            "two a chip",
            msps * 1e6,
        ),
        (f"{BRINGUP}: --block", constant(tree, BRINGUP, r'"--block", default="([^"]+)"'), "hw/rfnoc/blocks", name),
        (f"{RADIO}: block", constant(tree, RADIO, r'^    block: str = "([^"]+)"'), "hw/rfnoc/blocks", name),
        (f"{STEPS}: SIFS_US", float(constant(tree, STEPS, r"^SIFS_US = (\S+)")), "IEEE 802.11-2012, 16.3.4", SIFS_US),
    ]
    standard = clocks_per_us(tree.block_of(tree.image_cores()["e320_perhop_22"])[1])
    default = int(constant(tree, BRINGUP, r'"--clocks-per-us", type=int, default=(\d+)'))
    told.append((f"{BRINGUP}: --clocks-per-us", default, "e320_perhop_22", standard))
    msps_default = float(constant(tree, BRINGUP, r'"--msps", type=float, default=([\d.]+)'))
    told.append((f"{BRINGUP}: --msps", msps_default, "two a chip", float(msps)))


def _channels(tree: Tree, told: list) -> None:
    """Which channel of the radio is perhop's, and which is the recorder's."""
    images = [tree.block_of(core) for core in tree.image_cores().values()]
    own = {parameters["CHANNEL"] for block, parameters in images if block == "perhop"}
    reference = tree.block_of(tree.image_cores()["e320_perhop_22"])[1]
    driver = int(constant(tree, DRIVER, r'count_field\("channel", (\d+),'))
    radio = int(constant(tree, RADIO, r"^    channel: int = (\d+)"))
    recorder = int(constant(tree, BRINGUP, r'"--recorder-channel",[^")]*?default=(\d+)'))
    told += [
        (f"{DRIVER}: channel", {driver}, "images", own),
        (f"{RADIO}: channel", {radio}, "images", own),
        (f"{BRINGUP}: --recorder-channel is there", recorder < reference["NUM_CHANNELS"], "e320_perhop_22", True),
        (f"{BRINGUP}: --recorder-channel is not perhop's", recorder not in own, "images", True),
    ]
    resampled = {(each["RATE_IN"], each["RATE_22"]) for _, each in images if each.get("RATE_IN", 0)}
    told.append((f"{MODEL}: rates", set(table(tree, MODEL, "CONVERTER_RATES").values()), "images", resampled))


def first_delays_clocks(tree: Tree, parameters: dict) -> tuple[int, int] | None:
    """Delays of modem and shell, as `bringup.py delays` says them; None for a modem that the host has not measured."""
    if parameters.get("RATE_IN", 0):
        found = table(tree, DELAYS, "RESAMPLED_DELAYS").get((parameters["RATE_IN"], parameters["RATE_22"]))
    else:
        found = table(tree, DELAYS, "DELAYS").get(parameters["SAMPLES_PER_CHIP"])
    if found is None:
        return None
    per_sample = clocks_per_us(parameters) / modem_msps(parameters)
    (tx_samples, tx_clocks), (rx_samples, rx_clocks) = found
    tx = tx_samples * float(per_sample) + tx_clocks
    both = tx + rx_samples * float(per_sample) + rx_clocks
    loop = round(Fraction(parameters["LOOP_SAMPLES"]) * per_sample)
    return round(tx) + loop, round(both) - round(tx)


def _delays(tree: Tree) -> list[str]:
    wrong = []
    for name, core in tree.image_cores().items():
        parameters = tree.block_of(core)[1]
        found = first_delays_clocks(tree, parameters)
        if found is None:
            wrong.append(f"{name}: {DELAYS} knows no delays of its modem: the host refuses to load a profile")
            continue
        room = SIFS_US * (clocks_per_us(parameters) - LEAST_SETTLE_CLOCKS) - 4
        if sum(found) > room:
            wrong.append(f"{name}: modem and shell take {sum(found)} clocks, and SIFS has room for {room}")
    return wrong
