#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The image cores of all devices, as UHD's rfnoc_image_builder takes them. build.sh asks for one by its name.

`image_cores.py NAME` prints one as JSON, which is YAML; `image_cores.py` alone prints their names. The standard library
only: it runs where Vivado is.
"""

import json
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """What differs between devices."""

    target: str  # the default one
    bus_period_ns: str  # of rfnoc_chdr_clk
    radios: tuple[int, ...] = (2,)  # ports of each radio block
    buffer_words: int = 32768
    radio_port: str = "radio0"  # what the device calls the ports of its first radio
    control_port: str = "ctrlport_radio0"
    fastest_pair_msps: float = float("inf")  # of each of two channels of one radio


AD9361_PAIR_MSPS = 30.72

DEVICES = {
    "e310": Device(
        "E310_SG1",
        "10.0",
        buffer_words=16384,
        radio_port="radio",
        control_port="ctrlport",
        fastest_pair_msps=AD9361_PAIR_MSPS,
    ),
    "e320": Device("E320_1G", "5.0", radio_port="radio", control_port="ctrlport", fastest_pair_msps=AD9361_PAIR_MSPS),
    "x310": Device("X310_HG", "5.333", radios=(2, 2)),
    "n300": Device("N300_HG", "5.0"),
    "n310": Device("N310_HG", "5.0", radios=(2, 2)),
    "n320": Device("N320_HG", "5.0", radios=(1, 1)),
}

# The manager of mac_clk: of the bus's clock the DIVIDE, MULTIPLY and OUTPUT that make 60 MHz, or 64.
CLOCKS_60_MHZ = {
    "10.0": (1, "9.0", "15.0"),
    "5.0": (1, "4.5", "15.0"),
    "5.333": (5, "24.0", "15.0"),
}
CLOCKS_64_MHZ = {
    "5.0": (5, "24.0", "15.0"),
    "5.333": (3, "16.0", "15.625"),
}

# Samples at the antenna. 25 and 20.48 million a second are resampled to 22 on the way in, and from 44 on the way out.
SAMPLES = {
    "22": {"SAMPLES_PER_CHIP": 2, "LOOP_SAMPLES": 16},  # 802.11 DSSS
    "44": {"SAMPLES_PER_CHIP": 4, "LOOP_SAMPLES": 24},  # the same; the converter's filters are further away
    "25": {"RATE_IN": 25, "RATE_22": 22, "LOOP_SAMPLES": 24},
    "20p48": {"RATE_IN": 256, "RATE_22": 275, "LOOP_SAMPLES": 24, "CLOCKS_PER_US": 64},
}

# Device, samples, and which one of the converter's samples perhop takes; behind it the master clock rate to set.
PERHOP = [
    ("e310", "22", 1),  # 22e6
    ("e310", "44", 1),  # 44e6
    ("e320", "22", 1),  # 22e6
    ("e320", "44", 1),  # 44e6
    ("x310", "25", 8),  # 200e6
    ("x310", "20p48", 9),  # 184.32e6
    ("n300", "25", 5),  # 125e6
    ("n310", "25", 5),  # 125e6
    ("n310", "20p48", 6),  # 122.88e6
    ("n320", "25", 8),  # 200e6
    ("n320", "20p48", 12),  # 245.76e6
]


def link(source: str, destination: str) -> dict[str, str]:
    """A connection from BLOCK.PORT to BLOCK.PORT."""
    (source_block, source_port), (block, port) = source.split("."), destination.split(".")
    return {"srcblk": source_block, "srcport": source_port, "dstblk": block, "dstport": port}


def mac_clock(device: Device, clocks_per_us: int) -> dict[str, object]:
    """Parameters of the clock manager."""
    divide, multiply, output = (CLOCKS_64_MHZ if clocks_per_us == 64 else CLOCKS_60_MHZ)[device.bus_period_ns]
    return {
        "CLOCK_PERIOD_NS": device.bus_period_ns,
        "CLOCK_DIVIDE": divide,
        "CLOCK_MULTIPLY": multiply,
        "CLOCK_OUTPUT": output,
    }


def image_core(name: str, of: str, blocks: dict, connections: list, clocks: list, *, recorder: bool = False) -> dict:
    """An image with perhop between the device and its first radio block; further radio blocks are only connected.

    With a recorder the first radio block's second channel has an endpoint, too.
    """
    device = DEVICES[of]
    of_recorder = {"ep2": {"ctrl": False, "data": True, "buff_size": device.buffer_words}} if recorder else {}
    recording = [link("ep2.out0", "radio0.in_1"), link("radio0.out_1", "ep2.in0")] if recorder else []
    radios = {
        f"radio{i}": {"block_desc": "radio.yml", "parameters": {"NUM_PORTS": n}} for i, n in enumerate(device.radios)
    }
    control = [(f"radio{i}", device.control_port if i == 0 else f"ctrlport_radio{i}") for i in range(len(radios))]
    return {
        "schema": "rfnoc_imagebuilder_args",
        "copyright": "The perhop project",
        "license": "SPDX-License-Identifier: GPL-2.0-or-later",
        "version": "1.0",
        "chdr_width": 64,
        "device": of,
        "image_core_name": name,
        "default_target": device.target,
        "stream_endpoints": {
            # Samples of UHD's radio block, and all control.
            "ep0": {"ctrl": True, "data": True, "buff_size": device.buffer_words},
            # Packets, frames and records of perhop.
            "ep1": {"ctrl": False, "data": True, "buff_size": device.buffer_words},
            **of_recorder,
        },
        "noc_blocks": radios | blocks,
        "connections": [
            link("ep1.out0", "perhop0.packets"),
            link("perhop0.frames", "ep1.in0"),
            *connections,
            *recording,
            *(link(f"{radio}.ctrlport", f"_device_.{port}") for radio, port in control),
            *(link(f"_device_.{radio}", f"{radio}.radio") for radio in list(radios)[1:]),
            *(link("_device_.time", f"{radio}.time") for radio in radios),
        ],
        "clk_domains": [
            *(link("_device_.radio", f"{radio}.radio") for radio in radios),
            *clocks,
        ],
    }


def beside_the_radio(of: str, samples: str, decimation: int) -> dict:
    """perhop at the converter of the first channel. UHD's radio block has the converter where perhop leaves it."""
    device = DEVICES[of]
    parameters = {"NUM_CHANNELS": device.radios[0], "CHANNEL": 0, "DECIMATION": decimation, **SAMPLES[samples]}
    parameters |= mac_clock(device, parameters.get("CLOCKS_PER_US", 60))
    connections = [
        link("ep0.out0", "radio0.in_0"),
        link("radio0.out_0", "ep0.in0"),
        # The device's converter goes through perhop to UHD's radio block.
        link(f"_device_.{device.radio_port}", "perhop0.radio"),
        link("perhop0.other", "radio0.radio"),
        link("_device_.time", "perhop0.time"),
    ]
    block = {"perhop0": {"block_desc": "perhop.yml", "parameters": parameters}}
    clocks = [link("_device_.radio", "perhop0.radio")]
    recorder = device.radios[0] > 1 and float(samples.replace("p", ".")) <= device.fastest_pair_msps
    return image_core(f"{of}_perhop_{samples}", of, block, connections, clocks, recorder=recorder)


def over_streams() -> dict:
    """perhop over streams of an X310's radio block: SIFS does not hold.

    Set the master clock rate to 200e6, and DDC and DUC to 25e6.
    """
    parameters = {**SAMPLES["25"], "LOOP_SAMPLES": 16, "SAMPLES_PER_PACKET": 64, **mac_clock(DEVICES["x310"], 60)}
    blocks = {"perhop0": {"block_desc": "perhop_stream.yml", "parameters": parameters}}
    blocks |= {f"{name}0": {"block_desc": f"{name}.yml", "parameters": {"NUM_PORTS": 1}} for name in ("duc", "ddc")}
    connections = [
        link("radio0.out_0", "ddc0.in_0"),
        link("ddc0.out_0", "perhop0.samples"),
        link("perhop0.samples", "duc0.in_0"),
        link("duc0.out_0", "radio0.in_0"),
        link("_device_.radio0", "radio0.radio"),
    ]
    clocks = [link("_device_.ce", "duc0.ce"), link("_device_.ce", "ddc0.ce")]
    return image_core("x310_perhop_stream", "x310", blocks, connections, clocks)


def image_cores() -> dict[str, dict]:
    """All of them, by name."""
    cores = [*(beside_the_radio(*each) for each in PERHOP), over_streams()]
    return {core["image_core_name"]: core for core in cores}


def main() -> int:
    cores = image_cores()
    if len(sys.argv) == 1:
        print(" ".join(cores))
    elif sys.argv[1] not in cores:
        print(f"there is no image {sys.argv[1]}; one of: {' '.join(cores)}", file=sys.stderr)
        return 2
    else:
        print(json.dumps(cores[sys.argv[1]], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
