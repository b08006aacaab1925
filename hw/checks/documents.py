# SPDX-License-Identifier: GPL-2.0-or-later
"""What pages and examples say of images, rates and addresses, against what these are."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from checks.host import RTL_SPEC, constant, first_delays_clocks
from checks.rates import clocks_per_us, master_clock_mhz, modem_msps, name_of_rate
from checks.tree import CheckError, Tree

GUIDE = "hw/README.md"
SHELL_PAGE = "docs/hw/README.md"
# Where master clock rates stand, in examples and remedies.
PLACES = ("hw/**/*.md", "hw/**/*.py", "hw/**/*.yml", "host/drivers/**/*.[ch]pp", "host/node/*.yaml", "docs/**/*.md")
REFERENCE_IMAGE = "e320_perhop_22"


def check_documents(tree: Tree) -> str:
    """CheckError with everything that is wrong; else how much was compared."""
    wrong = _images(tree)
    rates, said = _master_clocks(tree)
    delays = _delays(tree)
    spaces = _register_spaces(tree)
    wrong += rates + delays + spaces
    if wrong:
        raise CheckError("\n".join(wrong))
    return f"{len(tree.image_cores())} images of the guide's table, {said} master clock rates"


def _images(tree: Tree) -> list[str]:
    """The table of images in the bench guide: | `e310_perhop_22`, `e320_...` | 22 million a second, 2 a chip | ... |"""
    cores, wrong = tree.image_cores(), []
    named: dict[str, str] = {}
    for line in tree.read(GUIDE).splitlines():
        names = (
            re.findall(r"`((?:[enx]\d{3})_[\w.]+)`", line.split("|")[1]) if re.match(r"\| `[enx]\d{3}_", line) else []
        )
        for name in names:
            first = names[0].partition("_")[2]
            named[name.replace("...", first)] = line
    wrong += [f"{GUIDE}: the table names no image {name}" for name in sorted(cores.keys() - named.keys())]
    wrong += [f"{GUIDE}: the table names {name}, which is no image" for name in sorted(named.keys() - cores.keys())]
    for name in sorted(named.keys() & cores.keys()):
        parameters, line = tree.block_of(cores[name])[1], named[name]
        said = re.search(r"([\d.]+) million", line)
        if not said or name_of_rate(modem_msps(parameters)) != said.group(1).replace(".", "p"):
            wrong.append(f"{GUIDE}: {name} has {float(modem_msps(parameters)):g} million samples a second: {line}")
        chip = re.search(r"(\d+) a chip", line)
        if chip and int(chip.group(1)) != parameters["SAMPLES_PER_CHIP"]:
            wrong.append(f"{GUIDE}: {name} has {parameters['SAMPLES_PER_CHIP']} samples a chip: {line}")
        clock = re.search(r"at (\d+) MHz", line)
        if int(clock.group(1) if clock else 60) != clocks_per_us(parameters):
            wrong.append(f"{GUIDE}: mac_clk of {name} has {clocks_per_us(parameters)} MHz: {line}")
    return wrong


def _master_clocks(tree: Tree) -> tuple[list[str], int]:
    """Every master_clock_rate of an example is one that an image wants."""
    cores = [tree.block_of(core) for core in tree.image_cores().values()]
    known = {float(master_clock_mhz(parameters)) for block, parameters in cores if block == "perhop"}
    known.add(200.0)  # the image over streams: DDC and DUC make its rate
    wrong, count = [], 0
    for pattern in PLACES:
        for path in sorted(tree.root.glob(pattern)):
            name = PurePosixPath(path.relative_to(tree.root))
            if "checks" in name.parts:
                continue
            for rate in re.findall(r"master_clock_rate=([\d.]+(?:e\d+)?)", path.read_text()):
                count += 1
                if float(rate) / 1e6 not in known:
                    wrong.append(f"{name}: master_clock_rate={rate} is of no image")
    if not count:
        wrong.append(f"no example says a master_clock_rate: {', '.join(PLACES)}")
    return wrong, count


def _delays(tree: Tree) -> list[str]:
    """The guide's first delays, and the clocks that its self-test expects."""
    parameters = tree.block_of(tree.image_cores()[REFERENCE_IMAGE])[1]
    delays = first_delays_clocks(tree, parameters)
    said = tuple(map(int, constant(tree, GUIDE, r"# tx (\d+), rx (\d+) clocks")))
    wrong = []
    if said != delays:
        wrong.append(f"{GUIDE}: the first delays of {REFERENCE_IMAGE} are {delays}, not {said}")
    commands = re.findall(r"--tx-delay-clocks (\d+)(?:.|\\\n)*?--rx-delay-clocks (\d+)", tree.read(GUIDE))
    wrong += [
        f"{GUIDE}: a command has delays of {each[0]} and {each[1]} clocks, and `delays` says {delays}"
        for each in commands
        if tuple(map(int, each)) != delays
    ]
    clocks = constant(tree, GUIDE, r"^\| clocks a microsecond \| (\d+)")
    if int(clocks) != clocks_per_us(parameters):
        wrong.append(f"{GUIDE}: {REFERENCE_IMAGE} has {clocks_per_us(parameters)} clocks a microsecond, not {clocks}")
    return wrong


def _register_spaces(tree: Tree) -> list[str]:
    """The shell's page says from where to where the three register maps go."""
    radio, shell = (
        int(constant(tree, RTL_SPEC, rf"localparam int unsigned {name}_REGISTERS_BASE = (\d+);"))
        for name in ("RADIO", "SHELL")
    )
    text = " ".join(tree.read(SHELL_PAGE).split())
    wanted = (
        f"0x000 to 0x{radio - 1:03X}",
        f"0x{radio:03X} to 0x{shell - 1:03X}",
        f"0x{shell:03X} to 0x{shell + 0x3FF:03X}",
    )
    return [f"{SHELL_PAGE} does not say that registers are at {each}" for each in wanted if each not in text]
