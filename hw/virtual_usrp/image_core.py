# SPDX-License-Identifier: GPL-2.0-or-later
"""What an image core says of a device: its endpoints, its blocks and what is connected to what.

As UHD's image builder numbers them: port 0 of the core is its own registers, then come endpoints, then blocks, in the
order of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml
from perhop.errors import PerhopError

HW = Path(__file__).resolve().parents[1]
DESCRIPTIONS = HW / "rfnoc" / "blocks"
RADIO_NOC_ID = 0x12AD1000
DEVICE_TYPES = {"e310": 0xE310, "e320": 0xE320}
PRODUCTS = {"e310": "e310_sg1", "e320": "e320"}


@dataclass(frozen=True)
class Endpoint:
    """A stream endpoint: what a host opens streams to."""

    name: str
    has_control: bool
    has_data: bool
    buffer_bytes: int
    inputs: int = 1
    outputs: int = 1


@dataclass(frozen=True)
class Block:
    """An RFNoC block, with the names of its ports in order."""

    name: str
    noc_id: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: dict[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Edge:
    """A connection of the image; numbers of the core's ports, and of the port there."""

    source: int
    source_port: int
    destination: int
    destination_port: int


@dataclass(frozen=True)
class ImageCore:
    """An image, as far as a host can see it."""

    name: str
    device: str
    endpoints: tuple[Endpoint, ...]
    blocks: tuple[Block, ...]
    edges: tuple[Edge, ...]

    @property
    def device_type(self) -> int:
        return DEVICE_TYPES[self.device]

    @property
    def product(self) -> str:
        return PRODUCTS[self.device]


def _block(name: str, core: dict, descriptions: Path, where: str) -> Block:
    wanted = core["block_desc"]
    if wanted == "radio.yml":
        numbers = range(int(core.get("parameters", {}).get("NUM_PORTS", 2)))
        return Block(name, RADIO_NOC_ID, tuple(f"in_{n}" for n in numbers), tuple(f"out_{n}" for n in numbers))
    path = descriptions / wanted
    if not path.is_file():
        raise PerhopError(
            f"{where}: noc_blocks.{name}.block_desc: there is no {path}",
            "name radio.yml or a description of hw/rfnoc/blocks; the virtual device has no others",
        )
    read = yaml.safe_load(path.read_text())
    ports = (tuple(read["data"][side]) for side in ("inputs", "outputs"))
    return Block(name, int(str(read["noc_id"]), 0), *ports, core.get("parameters", {}))


def parse(core: dict, where: str, descriptions: Path = DESCRIPTIONS) -> ImageCore:
    """An image core as read from its file; `where` names it in messages."""
    device = str(core.get("device", "")).split("_")[0]
    if device not in DEVICE_TYPES:
        raise PerhopError(
            f"{where}: device: the virtual device plays no {device or '(none)'}",
            f"take an image core of {' or '.join(DEVICE_TYPES)}; `make hw-check` examines the others without a device",
        )
    endpoints = tuple(
        Endpoint(
            name, each["ctrl"], each["data"], each["buff_size"], each.get("num_data_i", 1), each.get("num_data_o", 1)
        )
        for name, each in core["stream_endpoints"].items()
    )
    blocks = tuple(_block(name, each, descriptions, where) for name, each in core["noc_blocks"].items())
    numbers = {each.name: at for at, each in enumerate((*endpoints, *blocks), 1)}
    ports = {each.name: {"srcport": each.outputs, "dstport": each.inputs} for each in blocks}

    def data_port(link: dict, block_key: str, port_key: str) -> tuple[int, int] | None:
        """Number in the core and number of the port there; None: no port of data."""
        name, port = link[block_key], link[port_key]
        if name not in numbers:
            raise PerhopError(
                f"{where}: connections: {name}.{port} is of no endpoint and no block",
                "name those of stream_endpoints and noc_blocks, or _device_",
            )
        if name in ports:
            known = ports[name][port_key]
            return (numbers[name], known.index(port)) if port in known else None
        letters = "out" if port_key == "srcport" else "in"
        return (numbers[name], int(port.removeprefix(letters))) if port.startswith(letters) else None

    edges = []
    for link in core["connections"]:
        if "_device_" in (link["srcblk"], link["dstblk"]):
            continue
        source, destination = data_port(link, "srcblk", "srcport"), data_port(link, "dstblk", "dstport")
        if source and destination:
            edges.append(Edge(*source, *destination))
    return ImageCore(core.get("image_core_name", where), device, endpoints, blocks, tuple(edges))


def load(path: Path) -> ImageCore:
    """Reads an image core's file."""
    try:
        core = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise PerhopError(
            f"{path}: {error}", "give a file that `hw/images/image_cores.py NAME` printed, or an image core of your own"
        ) from error
    if not isinstance(core, dict) or not {"device", "stream_endpoints", "noc_blocks", "connections"} <= set(core):
        raise PerhopError(
            f"{path}: this is no image core: it wants device, stream_endpoints, noc_blocks and connections",
            "give a file that `hw/images/image_cores.py NAME` printed",
        )
    return parse(core, str(path))
