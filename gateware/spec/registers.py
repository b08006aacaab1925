# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a register map, lists its registers and their rules, and has PeakRDL-regblock write the register block."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from model import SpecError
from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.passthrough import PassthroughCpuif
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.messages import FileSourceRef, MessagePrinter, Severity, SourceRefBase
from systemrdl.node import AddrmapNode, FieldNode, RegNode, RootNode
from systemrdl.rdltypes import OnWriteType

# The address space, in bytes. Below MEMORY_BYTES a memory answers reads, above it the counters and the register block.
MEMORY_BYTES = 0x200
STATISTICS_BYTES = 0x80
SPACE_BYTES = 0x400


@dataclass(frozen=True)
class RegisterField:
    name: str
    low_bit: int
    bits: int
    access: str  # r, rw, w1c: write 1 to clear, w1p: write 1 for a pulse, reads 0
    reset: int | None  # None: follows the hardware
    unit: str
    port: str  # of mac_bytes or what is beside it; "" if none
    meaning: str
    # What it may be; see register_properties.rdlh.
    min: int
    max: int
    all_ones: bool
    at_least: str  # "register.field" or ""
    above: str  # "register.field" or ""
    needs: str  # "register.field" or ""
    signed: bool  # two's complement; `reset` is the bits as they stand
    enum: str  # "" if none
    members: tuple[tuple[str, int, str], ...]  # of the enumeration: name, value, meaning

    @property
    def mask(self) -> int:
        return ((1 << self.bits) - 1) << self.low_bit

    @property
    def rules(self) -> str:
        """What it may be, as a reader wants to know it; "" where every value will do."""
        told = []
        if self.min > 0 and not self.signed:
            told.append(f"at least {self.min}")
        if self.max < (1 << self.bits) - 1 and not self.members and not self.signed:
            told.append(f"at most {self.max}")
        if self.all_ones:
            told.append("a power of two less one")
        if self.members:
            told.append(", ".join(f"{value} {name}" for name, value, _ in self.members))
        if self.at_least:
            told.append(f"not below `{self.at_least}`")
        if self.above:
            told.append(f"above `{self.above}`")
        if self.needs:
            told.append(f"0 where `{self.needs}` is 0")
        return "; ".join(told)


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
    live: bool  # it may change while the MAC runs
    fields: tuple[RegisterField, ...]

    @property
    def writable(self) -> bool:
        return any(field.access != "r" for field in self.fields)

    @property
    def words(self) -> int:
        return self.bits // 32

    @property
    def reset(self) -> int:
        return sum((field.reset or 0) << field.low_bit for field in self.fields)

    def mask(self, word: int) -> int:
        """Bits of one of its words that software may write as 1."""
        return sum(field.mask for field in self.fields if field.access != "r") >> 32 * word & 0xFFFF_FFFF


class _Collector(MessagePrinter):
    """Keeps what the compiler complains about, as one line each."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def print_message(self, severity: Severity, text: str, src_ref: SourceRefBase | None) -> None:
        where = "register map"
        if isinstance(src_ref, FileSourceRef):
            where = f"{Path(src_ref.path).name}:{src_ref.line}"
        self.lines.append(f"{where}: {text}")


def compile_registers(path: Path, *, block: bool = False) -> RootNode:
    """The elaborated register map of the file at `path`; SpecError with file and line if it is wrong.

    With `block` it is the part that PeakRDL's block implements.
    """
    messages = _Collector()
    compiler = RDLCompiler(message_printer=messages)
    for udp in ALL_UDPS:
        compiler.register_udp(udp)
    try:
        compiler.compile_file(str(path), defines={"REGISTER_BLOCK": ""} if block else None)
        return compiler.elaborate()
    except RDLCompileError as error:
        raise SpecError("\n".join(messages.lines) or f"{path.name}: {error}") from error


def _top(root: RootNode) -> AddrmapNode:
    return root.top


def _file(node: FieldNode) -> str:
    """The file that a map stands in, which is named after it."""
    return f"{node.owning_addrmap.inst_name.removeprefix('perhop_')}.rdl"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _reference(node: FieldNode, name: str) -> str:
    """The field that a property of `node` names, as register.field; SpecError if there is none."""
    told = node.get_property(name, default="")
    if not told:
        return ""
    register, _, field = told.rpartition(".")
    register = register or node.parent.inst_name
    found = node.owning_addrmap.get_child_by_name(register)
    if not isinstance(found, RegNode) or found.get_child_by_name(field) is None:
        raise SpecError(f"{_file(node)}: {node.parent.inst_name}.{node.inst_name}: {name}: there is no field {told}")
    if name == "needs" and register != node.parent.inst_name:
        raise SpecError(f"{_file(node)}: {node.parent.inst_name}.{node.inst_name}: needs is for fields of one register")
    return f"{register}.{field}"


def _field(node: FieldNode) -> RegisterField:
    if node.get_property("singlepulse"):
        access = "w1p"
    elif node.get_property("onwrite") == OnWriteType.woclr and node.is_sw_writable:
        access = "w1c"
    else:
        access = "rw" if node.is_sw_writable else "r"
    reset = node.get_property("reset")
    title = node.get_property("name", default=node.inst_name)
    meaning = _one_line(node.get_property("desc", default=title))
    encode = node.get_property("encode")
    members = tuple((m.name, m.value, _one_line(m.rdl_desc)) for m in encode) if encode else ()
    if sorted(value for _, value, _ in members) != list(range(len(members))):
        raise SpecError(f"{_file(node)}: {node.inst_name}: the values of {encode.type_name} are not 0, 1, 2, ...")
    signed = bool(node.get_property("is_signed"))
    rules = ("min", "max", "all_ones", "above", "at_least")
    if signed and any(node.get_property(name, default=None) for name in rules):
        raise SpecError(f"{_file(node)}: {node.parent.inst_name}.{node.inst_name}: a signed field has no rules yet")
    largest = len(members) - 1 if members else (1 << node.width - signed) - 1
    return RegisterField(
        name=node.inst_name,
        low_bit=node.low,
        bits=node.width,
        access=access,
        reset=reset if isinstance(reset, int) else None,
        unit=node.get_property("unit", default=""),
        port=node.get_property("port", default=""),
        meaning=meaning,
        min=node.get_property("min", default=-(1 << node.width - 1) if signed else 0),
        max=node.get_property("max", default=largest),
        all_ones=bool(node.get_property("all_ones")),
        at_least=_reference(node, "at_least"),
        above=_reference(node, "above"),
        needs=_reference(node, "needs"),
        signed=signed,
        enum=encode.type_name.removesuffix("_e") if encode else "",
        members=members,
    )


def _register(node: RegNode, base: int) -> Register:
    return Register(
        name=node.inst_name,
        title=_one_line(node.get_property("name")),
        meaning=_one_line(node.get_property("desc", default="")),
        address=base + node.raw_address_offset,
        bits=node.get_property("regwidth"),
        count=node.n_elements if node.is_array else 1,
        is_array=node.is_array,
        stride=node.array_stride if node.is_array else node.size,
        live=bool(node.get_property("live")),
        fields=tuple(_field(field) for field in sorted(node.fields(), key=lambda field: field.low)),
    )


def list_registers(root: RootNode, base: int = 0) -> list[Register]:
    """Every register in the order of addresses, which count from `base`; an array is one entry."""
    registers = sorted((_register(node, base) for node in _top(root).registers(unroll=False)), key=lambda r: r.address)
    for register in registers:
        inside = register.address - base < MEMORY_BYTES
        if inside and any(field.reset is None for field in register.fields):
            where = f"{_top(root).inst_name}: {register.name}"
            raise SpecError(f"{where}: what follows the hardware belongs at {MEMORY_BYTES:#x} or above")
    return registers


@dataclass(frozen=True)
class Setting:
    """What the MAC reads of the registers under one name: the fields whose ports are called cfg_<name>."""

    name: str
    count: int  # entries; 1 unless `is_array`
    is_array: bool
    bits: int  # of an entry
    parts: tuple[tuple[Register, RegisterField, int], ...]  # the lowest bit of each in the setting; low bits first
    unit: str
    meaning: str

    @property
    def of_queues(self) -> bool:
        """Each queue has its own."""
        return any(register.name == "contention_window" for register, _, _ in self.parts)

    @property
    def dimension(self) -> str:
        """The number of entries, as gateware/spec/templates/perhop_pkg.sv.j2 writes it."""
        return "MOST_QUEUES" if self.of_queues else str(self.count)

    @property
    def reset(self) -> int:
        """Of an entry."""
        return sum((part.reset or 0) << low for _, part, low in self.parts)


def settings(registers: list[Register]) -> list[Setting]:
    """Every setting, in the order of the registers."""
    found: dict[str, list[tuple[Register, RegisterField, int]]] = {}
    for register in registers:
        for item in register.fields:
            place = re.fullmatch(r"cfg_(\w+?)(?:\[(\d+):(\d+)\])?", item.port)
            if place:
                found.setdefault(place[1], []).append((register, item, int(place[3] or 0)))
    return [
        Setting(
            name=name,
            count=parts[0][0].count,
            is_array=parts[0][0].is_array,
            bits=max(low + part.bits for _, part, low in parts),
            parts=tuple(parts),
            unit=parts[0][1].unit,
            meaning=parts[0][1].meaning if len(parts) == 1 else parts[0][0].title + ".",
        )
        for name, parts in found.items()
    ]


def statistics(registers: list[Register]) -> list[Register]:
    """The counters of a map whose addresses count from 0; SpecError unless they follow one another."""
    found = [r for r in registers if MEMORY_BYTES <= r.address < MEMORY_BYTES + STATISTICS_BYTES]
    if [r.address for r in found] != [MEMORY_BYTES + 4 * index for index in range(len(found))]:
        raise SpecError(f"the register map: the counters are not one after another from {MEMORY_BYTES:#x} on")
    return found


class Rules:
    """What the hardware holds every write against: a class a word, and a condition a class.

    Class 0 is what cannot be written. Classes of live registers come first.
    """

    def __init__(self, registers: list[Register]) -> None:
        self._registers = {register.name: register for register in registers}
        broken = {
            (register.name, word): (not register.live, self._broken(register, word))
            for register in registers
            if register.writable
            for word in range(register.words)
        }
        self.conditions: list[tuple[bool, tuple[str, ...]]] = sorted(set(broken.values()))
        self.first_idle_class = 1 + sum(1 for idle, _ in self.conditions if not idle)
        if len(self.conditions) > 15:
            raise SpecError(f"the register map: {len(self.conditions)} kinds of rules; the memory has room for 15")
        # By word of the address space: class and bits that may be 1. Reset values of the words of the memory.
        self.words: dict[int, tuple[int, int]] = {}
        self.resets: dict[int, int] = {}
        for register in registers:
            for entry in range(register.count):
                for word in range(register.words):
                    index = (register.address + entry * register.stride) // 4 + word
                    if register.writable:
                        kind = 1 + self.conditions.index(broken[register.name, word])
                        self.words[index] = (kind, register.mask(word))
                    if 4 * index < MEMORY_BYTES:
                        self.resets[index] = register.reset >> 32 * word & 0xFFFF_FFFF

    def _find(self, reference: str) -> tuple[Register, RegisterField]:
        register = self._registers[reference.partition(".")[0]]
        return register, next(field for field in register.fields if field.name == reference.partition(".")[2])

    @staticmethod
    def _written(field: RegisterField) -> str:
        low = field.low_bit % 32
        return f"word[{low + field.bits - 1}:{low}]"

    def _value(self, reference: str, register: Register) -> str:
        """A field's value after a write to `register`."""
        owner, field = self._find(reference)
        return self._written(field) if owner is register else f"settings.{owner.name}.{field.name}.value"

    def _broken(self, register: Register, word: int) -> tuple[str, ...]:
        """Each a condition on `word` that makes a write illegal."""
        found = []
        for field in register.fields:
            if field.access == "r" or field.low_bit // 32 != word:
                continue
            value = self._written(field)
            if field.min == 1:
                found.append(f"{value} == '0")
            elif field.min > 1:
                found.append(f"{value} < {field.bits}'d{field.min}")
            if field.max < (1 << field.bits) - 1 and not field.signed:
                found.append(f"{value} > {field.bits}'d{field.max}")
            if field.all_ones:
                found.append(f"({value} >> 1 & ~{value}) != '0")  # a bit above a 0
            if field.needs:
                found.append(f"{value} != '0 && {self._value(field.needs, register)} == '0")
        # Orders between two fields, seen from the one that is written.
        for owner in self._registers.values():
            for field in owner.fields:
                for reference, operator in ((field.at_least, "<"), (field.above, "<=")):
                    if not reference:
                        continue
                    other_register, other = self._find(reference)
                    ends = ((owner, field), (other_register, other))
                    if not any(end is register and item.low_bit // 32 == word for end, item in ends):
                        continue
                    bits = max(field.bits, other.bits)
                    left = self._value(f"{owner.name}.{field.name}", register)
                    right = self._value(reference, register)
                    found.append(f"{bits}'({left}) {operator} {bits}'({right})")
        return tuple(found)


def register_block(root: RootNode, header: str) -> dict[str, str]:
    """PeakRDL-regblock's SystemVerilog: file name to text, each with `header` on top.

    Its bus is the plain one inside mac_registers, which decides what reaches it; reset is synchronous and active high.
    """
    with tempfile.TemporaryDirectory() as directory:
        RegblockExporter().export(root, directory, cpuif_cls=PassthroughCpuif)
        return {path.name: header + path.read_text(encoding="utf-8") for path in sorted(Path(directory).iterdir())}
