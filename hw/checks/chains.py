# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether UHD can switch the AD9361's chains on that an E3xx image needs.

On E310 and E320 UHD runs those chains of the converter whose ports of its radio block are connected, and knows nothing
of perhop's use of them: a receiver without its transmitter switches perhop's transmitter off. It takes one pair or
both, and both at no more than 30.72 million samples a second. So the ports of the image core must come in pairs.
"""

from __future__ import annotations

from checks.rates import master_clock_mhz
from checks.tree import CheckError, Tree

AD9361 = ("e310", "e320")
PAIR_MSPS = 30.72


def radio_ports(core: dict) -> set[str]:
    """Ports of the first radio block that streams can be connected to: in_0, out_0, ..."""
    ports = set()
    for each in core["connections"]:
        for side in ("src", "dst"):
            if each[f"{side}blk"] == "radio0" and each[f"{side}port"].startswith(("in_", "out_")):
                ports.add(each[f"{side}port"])
    return ports


def wrong_chains(core: dict, parameters: dict) -> list[str]:
    """What is wrong with the ports of an image core's radio."""
    ports = radio_ports(core)
    channels = {int(port.rpartition("_")[2]) for port in ports}
    wrong = [
        f"channel {channel} of the radio has no {port}: UHD would switch off what is not connected"
        for channel in sorted(channels)
        for port in (f"in_{channel}", f"out_{channel}")
        if port not in ports
    ]
    own = parameters["CHANNEL"]
    if own not in channels:
        wrong.append(f"perhop's channel {own} of the radio has no streams: its chain cannot be switched on")
    if len(channels) > 1 and master_clock_mhz(parameters) > PAIR_MSPS:
        wrong.append(f"the AD9361 runs two channels up to {PAIR_MSPS} million samples a second")
    return wrong


def check_chains(tree: Tree) -> str:
    """CheckError with everything that is wrong; else how many images were looked at."""
    wrong, looked_at = [], 0
    for name, core in tree.image_cores().items():
        block, parameters = tree.block_of(core)
        if core["device"] in AD9361 and block == "perhop":
            looked_at += 1
            wrong += [f"{name}: {each}" for each in wrong_chains(core, parameters)]
    if wrong or not looked_at:
        raise CheckError("\n".join(wrong) or "there is no image of an E310 or E320")
    return f"{looked_at} images with an AD9361"
