# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates, clocks, channels and samples a chip of each image: YAML against Verilog against what the device can do.

What an image core says is compared with what each module got when the image's block was elaborated, with the real
radio_top in it. All images have the same channel, and many have the same numbers elsewhere; so each block is elaborated
once more with numbers that no image has, where a parameter that is not handed on shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from checks.elaboration import Instance, instances
from checks.tree import CheckError, Tree

CHIPS_PER_US = 11  # IEEE 802.11-2012, 16.4.6.4
MODEM_SAMPLES_PER_CHIP = 2  # behind resamplers: what RATE_22 stands for
MANAGER_MHZ = (600.0, 1200.0)
MAC_CLOCK_MHZ = 60  # where a block has no CLOCKS_PER_US
NOT_OURS = {"THIS_PORTID", "CHDR_W", "MTU"}  # parameters that every RFNoC block has


@dataclass(frozen=True)
class Device:
    """What of a device decides on rates."""

    bus_mhz: float
    """rfnoc_chdr_clk of UHD 4.x."""
    master_mhz: tuple[float, ...]
    """Master clock rates that UHD sets; of an AD9361 the least and the greatest."""
    any_between: bool = False


DEVICES = {
    "e310": Device(100.0, (0.22, 61.44), True),
    "e320": Device(200.0, (0.22, 61.44), True),
    "x310": Device(187.5, (184.32, 200.0)),
    "n300": Device(200.0, (122.88, 125.0, 153.6)),
    "n310": Device(200.0, (122.88, 125.0, 153.6)),
    "n320": Device(200.0, (200.0, 245.76, 250.0)),
}

# By module, its parameter, and the image's parameter of which it must have the value, beside those of the same name.
RENAMED = [
    ("radio_tap", "CHANNELS", "NUM_CHANNELS"),
    ("sample_decimator", "FACTOR", "DECIMATION"),
    ("sample_interpolator", "FACTOR", "DECIMATION"),
    ("mac_clock", "PERIOD_NS", "CLOCK_PERIOD_NS"),
    ("mac_clock", "DIVIDE", "CLOCK_DIVIDE"),
    ("mac_clock", "MULTIPLY", "CLOCK_MULTIPLY"),
    ("mac_clock", "OUTPUT", "CLOCK_OUTPUT"),
    ("MMCME2_BASE", "CLKIN1_PERIOD", "CLOCK_PERIOD_NS"),
    ("MMCME2_BASE", "DIVCLK_DIVIDE", "CLOCK_DIVIDE"),
    ("MMCME2_BASE", "CLKFBOUT_MULT_F", "CLOCK_MULTIPLY"),
    ("MMCME2_BASE", "CLKOUT0_DIVIDE_F", "CLOCK_OUTPUT"),
    ("rx_resampler", "IN_RATE", "RATE_IN"),
    ("rx_resampler", "OUT_RATE", "RATE_22"),
    ("tx_resampler", "OUT_RATE", "RATE_IN"),
]
# Modules without which an image is none, and what each must have been told.
TOLD = {
    "shell_top": {"CLOCKS_PER_US", "SAMPLES_PER_CHIP", "RATE_IN", "RATE_22", "LOOP_SAMPLES", "DECIMATION", "CHANNEL"},
    "dsss_phy": {"SAMPLES_PER_CHIP", "RATE_IN", "RATE_22"},
    "radio_registers": {"SAMPLES_PER_CHIP", "RATE_IN", "RATE_22"},
    "shell_registers": {"CLOCKS_PER_US", "LOOP_SAMPLES", "DECIMATION", "CHANNEL"},
    "mac_top": {"CLOCKS_PER_US"},
    "heartbeat_watch": {"CLOCKS_PER_US"},
    "sample_port": {"LOOP_SAMPLES"},
    "sample_pacer": {"SPACING_CLOCKS"},
}
# Legal numbers that no image has. Twice, since at four samples a chip there is no resampler.
PROBES = [
    {
        "NUM_CHANNELS": 3, "CHANNEL": 2, "SAMPLES_PER_CHIP": 2, "RATE_IN": 31, "RATE_22": 29, "DECIMATION": 7,
        "LOOP_SAMPLES": 19, "CLOCKS_PER_US": 73, "SAMPLES_PER_PACKET": 96, "CLOCK_PERIOD_NS": "7.5",
        "CLOCK_DIVIDE": 4, "CLOCK_MULTIPLY": "31.5", "CLOCK_OUTPUT": "13.5",
    },
    {"SAMPLES_PER_CHIP": 4, "RATE_IN": 0, "RATE_22": 0, "LOOP_SAMPLES": 21},
]  # fmt: skip


def modem_msps(parameters: dict) -> Fraction:
    """Million samples a second at the modem's antenna side."""
    if parameters.get("RATE_IN", 0):
        rate_22 = CHIPS_PER_US * MODEM_SAMPLES_PER_CHIP
        return Fraction(parameters["RATE_IN"], parameters["RATE_22"]) * rate_22
    return Fraction(CHIPS_PER_US * parameters["SAMPLES_PER_CHIP"])


def master_clock_mhz(parameters: dict) -> Fraction:
    """The device's master clock rate that an image of this block wants."""
    return modem_msps(parameters) * parameters.get("DECIMATION", 1)


def clocks_per_us(parameters: dict) -> int:
    """Clocks of mac_clk in a microsecond, as an image says it."""
    return parameters.get("CLOCKS_PER_US", MAC_CLOCK_MHZ)


def name_of_rate(msps: Fraction) -> str:
    """As image names have it: 22, 20p48."""
    return f"{float(msps):g}".replace(".", "p")


def check_rates(tree: Tree) -> str:
    """CheckError with everything that is wrong; else how much was compared."""
    cores = tree.image_cores()
    wrong: list[str] = []
    compared = 0
    for block in tree.blocks():
        wrong += _defaults(tree, block)
        wrong += _probes(tree, block)
    for name, core in cores.items():
        block, parameters = tree.block_of(core)
        wrong += [f"{name}: {each}" for each in _image(name, core, block, parameters)]
        found = instances(tree, block, parameters)
        wrong += [f"{name}: {each}" for each in handed_on(found, parameters)]
        wrong += [f"{name}: {each}" for each in _budget(found, core, block, parameters)]
        compared += len(comparisons(found, numbers(parameters)))
    wrong += _comments(tree, cores)
    if wrong:
        raise CheckError("\n".join(wrong))
    return f"{len(cores)} images, {compared} parameters of modules"


# ---- What the image core says by itself ----


def _image(name: str, core: dict, block: str, parameters: dict) -> list[str]:
    wrong = []
    device = DEVICES.get(core["device"])
    if device is None:
        return [f"hw/checks/rates.py knows no device {core['device']}: add its clocks"]
    clock = {key: float(parameters[f"CLOCK_{key}"]) for key in ("PERIOD_NS", "DIVIDE", "MULTIPLY", "OUTPUT")}
    if abs(1e3 / clock["PERIOD_NS"] - device.bus_mhz) > 0.1:
        wrong.append(f"CLOCK_PERIOD_NS {clock['PERIOD_NS']:g} is not that of the device's {device.bus_mhz:g} MHz")
    manager_mhz = device.bus_mhz / clock["DIVIDE"] * clock["MULTIPLY"]
    if not MANAGER_MHZ[0] <= manager_mhz <= MANAGER_MHZ[1]:
        wrong.append(f"the clock manager cannot run at {manager_mhz:g} MHz: CLOCK_DIVIDE, CLOCK_MULTIPLY")
    mac_mhz = manager_mhz / clock["OUTPUT"]
    if abs(mac_mhz - clocks_per_us(parameters)) > 0.01:
        wrong.append(f"mac_clk is {mac_mhz:.2f} MHz, and CLOCKS_PER_US is {clocks_per_us(parameters)}")
    msps, master = modem_msps(parameters), master_clock_mhz(parameters)
    if block == "perhop":
        if name.rpartition("_")[2] != name_of_rate(msps):
            wrong.append(f"the modem has {float(msps):g} million samples a second, and the name says another rate")
        low, high = min(device.master_mhz), max(device.master_mhz)
        takes = low <= master <= high if device.any_between else float(master) in device.master_mhz
        if not takes:
            wrong.append(f"{core['device']} has no master clock rate of {float(master):g} MHz: DECIMATION or rates")
        ports = core["noc_blocks"]["radio0"]["parameters"]["NUM_PORTS"]
        if ports != parameters["NUM_CHANNELS"]:
            wrong.append(f"NUM_CHANNELS is {parameters['NUM_CHANNELS']}, and the first radio has {ports} ports")
    return wrong


def _comments(tree: Tree, cores: dict[str, dict]) -> list[str]:
    """The master clock rates that image_cores.py says behind each image."""
    said = re.findall(r'^\s*\("(\w+)", "(\w+)", \d+\),\s*# (\S+)$', tree.read("hw/images/image_cores.py"), re.MULTILINE)
    wrong = []
    for device, samples, rate in said:
        core = cores.get(f"{device}_perhop_{samples}")
        if core is not None:
            wanted = master_clock_mhz(tree.block_of(core)[1])
            if abs(float(rate) / 1e6 - wanted) > 1e-9:
                wrong.append(f"hw/images/image_cores.py: {device}, {samples}: {float(wanted):g}e6, not {rate}")
    ours = sum(tree.block_of(core)[0] == "perhop" for core in cores.values())
    if len(said) != ours:
        wrong.append(f"hw/images/image_cores.py: {len(said)} of {ours} images say their master clock rate")
    return wrong


# ---- What Verilog made of it ----


def _defaults(tree: Tree, block: str) -> list[str]:
    """Parameters of the block's YAML and Verilog: the same ones, with the same defaults."""
    top = next(each for each in instances(tree, block, {}) if not each.path)
    described = {name: float(value) for name, value in tree.description(block)["parameters"].items()}
    verilog = {name: value for name, value in top.values.items() if name not in NOT_OURS}
    at = f"hw/rfnoc/blocks/{block}.yml and rfnoc_block_{block}.v"
    return [
        f"{at} differ in {name}: {described.get(name)} and {verilog.get(name)}"
        for name in sorted(described.keys() | verilog.keys())
        if described.get(name) != verilog.get(name)
    ]


def _probes(tree: Tree, block: str) -> list[str]:
    """Whether every parameter of a block reaches the modules that are to have it."""
    defaults = tree.description(block)["parameters"]
    wrong = []
    for probe in PROBES:
        parameters = defaults | {name: value for name, value in probe.items() if name in defaults}
        found = instances(tree, block, parameters)
        wrong += [f"rfnoc_block_{block}.v with other numbers: {each}" for each in handed_on(found, parameters)]
    return wrong


def numbers(parameters: dict) -> dict[str, float]:
    """The parameters of a block, CLOCKS_PER_US among them."""
    return {"CLOCKS_PER_US": float(MAC_CLOCK_MHZ)} | {name: float(value) for name, value in parameters.items()}


def handed_on(found: list[Instance], parameters: dict) -> list[str]:
    """Where an instance has another value of a parameter than the block was given, or is not there."""
    given = numbers(parameters)
    modules = {each.module for each in found}
    wrong = [f"there is no {module} in it" for module in sorted(TOLD.keys() - modules)]
    for each in found:
        missing = sorted(TOLD.get(each.module, set()) - each.values.keys())
        wrong += [f"{each.module} has no parameter {name}" for name in missing]
    for each, name, of, wanted in comparisons(found, given):
        if each.values[name] != wanted:
            at = each.path or "the block"
            wrong.append(f"{at} ({each.module}) has {name} = {each.values[name]:g}, and {of} is {wanted:g}")
    return wrong


def comparisons(found: list[Instance], given: dict[str, float]) -> list[tuple[Instance, str, str, float]]:
    """Parameters of instances that come from the block's: instance, name, the block's name, the value there."""
    renamed = {(module, name): of for module, name, of in RENAMED}
    told = []
    for each in found:
        for name in each.values:
            of = renamed.get((each.module, name), name)
            # Deeper in the MAC a name may mean something else.
            ours = (each.module, name) in renamed or name in TOLD.get(each.module, ()) or "." not in each.path
            if ours and of in given:
                told.append((each, name, of, given[of]))
    return told


def _budget(found: list[Instance], core: dict, block: str, parameters: dict) -> list[str]:
    """Whether mac_clk takes the samples as fast as they come."""
    pacer = next(each for each in found if each.module == "sample_pacer")
    spacing, msps = int(pacer.values["SPACING_CLOCKS"]), modem_msps(parameters)
    takes = Fraction(clocks_per_us(parameters), spacing)
    wrong = []
    if takes < msps:
        wrong.append(
            f"the modem takes a sample each {spacing} clocks, {float(takes):g} million a second of {float(msps):g}: "
            f"more CLOCKS_PER_US"
        )
    told = next(each for each in found if each.module == "shell_registers").values
    if bool(told["STREAMED"]) != (block == "perhop_stream"):
        wrong.append("the shell tells the host that samples come over streams, or not, and it is the other way")
    shell = next(each for each in found if each.module == "shell_top").values
    if bool(shell["TIMED"]) != bool(told["TIMED"]):
        wrong.append("the shell tells the host of another time than its samples have")
    has_time = any(each["dstport"] == "time" and each["dstblk"] == "perhop0" for each in core["connections"])
    if bool(shell["TIMED"]) != has_time:
        wrong.append("the block has the device's time, or not, and the image core says the other")
    if block == "perhop_stream":
        stream = next(each for each in found if each.module == "sample_stream")
        gives = DEVICES[core["device"]].bus_mhz / stream.values["SPACING_CLOCKS"]
        if not float(msps) < gives <= float(takes):
            wrong.append(
                f"the stream gives {gives:.2f} million samples a second: {float(msps):g} come, the modem takes "
                f"{float(takes):g}"
            )
    return wrong
