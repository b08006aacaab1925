# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles registers.rdl, lists its registers, and has PeakRDL-regblock write the register block."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from model import SpecError
from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.messages import FileSourceRef, MessagePrinter, Severity, SourceRefBase
from systemrdl.node import AddrmapNode, FieldNode, RegNode, RootNode
from systemrdl.rdltypes import OnWriteType


@dataclass(frozen=True)
class RegisterField:
    name: str
    low_bit: int
    bits: int
    access: str  # r, rw, w1c: write 1 to clear, w1p: write 1 for a pulse, reads 0
    reset: int | None  # None: follows the hardware
    unit: str
    port: str  # of mac_core; "" if none
    meaning: str


@dataclass(frozen=True)
class Register:
    name: str
    title: str
    meaning: str
    address: int  # bytes; of entry 0 of an array
    bits: int
    count: int  # entries; 1 unless `is_array`
    is_array: bool
    stride: int  # bytes from entry to entry
    fields: tuple[RegisterField, ...]


class _Collector(MessagePrinter):
    """Keeps what the compiler complains about, as one line each."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def print_message(self, severity: Severity, text: str, src_ref: SourceRefBase | None) -> None:
        where = "registers.rdl"
        if isinstance(src_ref, FileSourceRef):
            where = f"{Path(src_ref.path).name}:{src_ref.line}"
        self.lines.append(f"{where}: {text}")


def compile_registers(path: Path) -> RootNode:
    """The elaborated register map of the file at `path`; SpecError with file and line if it is wrong."""
    messages = _Collector()
    compiler = RDLCompiler(message_printer=messages)
    for udp in ALL_UDPS:
        compiler.register_udp(udp)
    try:
        compiler.compile_file(str(path))
        return compiler.elaborate()
    except RDLCompileError as error:
        raise SpecError("\n".join(messages.lines) or f"{path.name}: {error}") from error


def _top(root: RootNode) -> AddrmapNode:
    return root.top


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _field(node: FieldNode) -> RegisterField:
    if node.get_property("singlepulse"):
        access = "w1p"
    elif node.get_property("onwrite") == OnWriteType.woclr:
        access = "w1c"
    else:
        access = "rw" if node.is_sw_writable else "r"
    reset = node.get_property("reset")
    title = node.get_property("name", default=node.inst_name)
    meaning = _one_line(node.get_property("desc", default=title))
    return RegisterField(
        name=node.inst_name,
        low_bit=node.low,
        bits=node.width,
        access=access,
        reset=reset if isinstance(reset, int) else None,
        unit=node.get_property("unit", default=""),
        port=node.get_property("port", default=""),
        meaning=meaning,
    )


def _register(node: RegNode) -> Register:
    return Register(
        name=node.inst_name,
        title=_one_line(node.get_property("name")),
        meaning=_one_line(node.get_property("desc", default="")),
        address=node.raw_address_offset,
        bits=node.get_property("regwidth"),
        count=node.n_elements if node.is_array else 1,
        is_array=node.is_array,
        stride=node.array_stride if node.is_array else node.size,
        fields=tuple(_field(field) for field in sorted(node.fields(), key=lambda field: field.low)),
    )


def list_registers(root: RootNode) -> list[Register]:
    """Every register in the order of addresses; an array is one entry."""
    return [_register(node) for node in _top(root).registers(unroll=False)]


def register_block(root: RootNode, header: str) -> dict[str, str]:
    """PeakRDL-regblock's SystemVerilog: file name to text, each with `header` on top.

    The interface is AXI4-Lite with plain ports; reset is arst_n, asynchronous and active low, as AXI's.
    """
    with tempfile.TemporaryDirectory() as directory:
        RegblockExporter().export(
            root,
            directory,
            cpuif_cls=AXI4Lite_Cpuif_flattened,
            default_reset_activelow=True,
            default_reset_async=True,
        )
        return {path.name: header + path.read_text(encoding="utf-8") for path in sorted(Path(directory).iterdir())}
