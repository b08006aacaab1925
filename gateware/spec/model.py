# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads protocol.yaml, frames.yaml and phy.yaml, checks them, and computes what follows from them.

It is one file because it is the schema of the three: types that refer to each other, and checks across them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Text = Annotated[str, StringConstraints(pattern=r"^[^\n]+$")]


class SpecError(Exception):
    """A source of the specification is wrong. The message names file, line and field."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Constant(_Strict):
    value: int = Field(ge=0)
    unit: str
    meaning: Text
    hex_digits: int = Field(default=0, ge=0, le=16)  # 0: written in decimal
    bits: int = Field(default=0, ge=0, le=64)  # 0: an unsigned int

    @property
    def text(self) -> str:
        return f"0x{self.value:0{self.hex_digits}X}" if self.hex_digits else str(self.value)


class Width(_Strict):
    bits: int = Field(ge=1, le=64)
    meaning: Text


class EnumMember(_Strict):
    name: Name
    value: int = Field(ge=0)
    meaning: Text


class Enumeration(_Strict):
    bits: int = Field(ge=1, le=8)
    meaning: Text
    prefix: str
    members: list[EnumMember] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Enumeration:
        values = [member.value for member in self.members]
        if len(set(values)) != len(values):
            raise ValueError("two members have the same value")
        if max(values) >= 1 << self.bits:
            raise ValueError(f"member value {max(values)} does not fit {self.bits} bits")
        return self


class RxStart(_Strict):
    at: Literal["in_preamble", "at_frame_end"]
    delay_us: int = Field(ge=0)


class RateSource(_Strict):
    bps: int = Field(gt=0)
    control_rate_index: int = Field(ge=0, le=7)
    preamble_us: int | None = Field(default=None, gt=0)


class ProfileSource(_Strict):
    meaning: Text
    modulation: Literal["dsss", "ofdm"]
    slot_us: int = Field(gt=0)
    sifs_us: int = Field(gt=0)
    cw_min: int = Field(gt=0)
    cw_max: int = Field(gt=0)
    preamble_us: int = Field(gt=0)
    symbol_us: int = Field(default=0, ge=0)
    signal_extension_us: int = Field(default=0, ge=0)
    rx_start: RxStart
    control_rate_index: int = Field(ge=0, le=7)
    lowest_basic_rate_index: int = Field(ge=0, le=7)
    channel_mhz: int = Field(gt=0, lt=1 << 16)
    radiotap_channel_flags: int = Field(ge=0, lt=1 << 16)
    rates: list[RateSource] = Field(min_length=1, max_length=8)

    @model_validator(mode="after")
    def _check(self) -> ProfileSource:
        if (self.modulation == "ofdm") != (self.symbol_us > 0):
            raise ValueError("symbol_us belongs to ofdm, and to ofdm only")
        if self.cw_min > self.cw_max:
            raise ValueError(f"cw_min {self.cw_min} is above cw_max {self.cw_max}")
        for cw_name in ("cw_min", "cw_max"):
            cw = getattr(self, cw_name)
            if cw & (cw + 1):
                raise ValueError(f"{cw_name} {cw} is not a power of two minus one")
        indices = [self.control_rate_index, self.lowest_basic_rate_index, *(r.control_rate_index for r in self.rates)]
        if max(indices) >= len(self.rates):
            raise ValueError(f"rate index {max(indices)} is past the last rate, {len(self.rates) - 1}")
        for index, rate in enumerate(self.rates):
            if self.modulation == "ofdm" and rate.bps * self.symbol_us % 1_000_000:
                raise ValueError(f"rate {index}: {rate.bps} b/s is not a whole number of bits in {self.symbol_us} us")
        return self


class FlagBit(_Strict):
    name: Name
    bit: int = Field(ge=0)
    meaning: Text


class FrameField(_Strict):
    name: Name
    bits: int = Field(ge=1, le=64)
    unit: str = ""
    meaning: Text
    default: int | None = Field(default=None, ge=0)
    must_be: int | None = Field(default=None, ge=0)
    byte_order: Literal["big", "little"] | None = None
    shown_as: Literal["hexadecimal", "signed"] | None = None  # to people who read a capture
    flags: list[FlagBit] = []

    @model_validator(mode="after")
    def _check(self) -> FrameField:
        for what in ("default", "must_be"):
            value = getattr(self, what)
            if value is not None and value >= 1 << self.bits:
                raise ValueError(f"{what} {value} does not fit {self.bits} bits")
        for flag in self.flags:
            if flag.bit >= self.bits:
                raise ValueError(f"flag {flag.name}: bit {flag.bit} is outside of {self.bits} bits")
        if self.default is not None and self.must_be is not None:
            raise ValueError("has both default and must_be")
        return self

    @property
    def initial(self) -> int:
        return self.must_be if self.must_be is not None else (self.default or 0)

    @property
    def cpp_type(self) -> str:
        return cpp_type(self.bits)


class FrameSource(_Strict):
    meaning: Text
    byte_order: Literal["big", "little"]
    fields: list[FrameField] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> FrameSource:
        _refuse_repeated(self.fields)
        pack_words(self)
        return self


class RecordField(_Strict):
    name: Name
    bits: int = Field(ge=1, le=64)
    unit: str = ""
    meaning: Text
    part: bool = False
    enum: str | None = None

    @property
    def cpp_type(self) -> str:
        return self.enum if self.enum else "bool" if self.bits == 1 else cpp_type(self.bits)


class Record(_Strict):
    prefix: Name
    meaning: Text
    stream: bool = False  # it crosses a stream of 32-bit words
    inside: bool = False  # between modules of the gateware: software never sees it
    fields: list[RecordField] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Record:
        _refuse_repeated(self.fields)
        for field in self.fields:
            if self.stream and field.bits > 32:
                raise ValueError(f"field {field.name} has {field.bits} bits; a word of the stream has 32")
        return self

    @property
    def parts(self) -> list[RecordField]:
        return [field for field in self.fields if field.part]

    @property
    def stream_words(self) -> list[list[tuple[RecordField, int]]]:
        """The record as 32-bit words of a stream: (field, its lowest bit) in each. No field is split over two words."""
        words: list[list[tuple[RecordField, int]]] = []
        used = 32
        for field in self.fields:
            if used + field.bits > 32:
                words.append([])
                used = 0
            words[-1].append((field, used))
            used += field.bits
        return words


class ProtocolFile(_Strict):
    constants: dict[Name, Constant]
    widths: dict[Name, Width]
    enums: dict[Name, Enumeration]
    profiles: dict[Name, ProfileSource]


class FramesFile(_Strict):
    frames: dict[Name, FrameSource]
    records: dict[Name, Record]


class Pulse(_Strict):
    samples_per_chip: int = Field(ge=1, le=8)
    taps: list[int] = Field(min_length=1)


class PhyFile(_Strict):
    constants: dict[Name, Constant]
    pulses: dict[Name, Pulse]

    @model_validator(mode="after")
    def _check(self) -> PhyFile:
        if "pulse_chips" not in self.constants:
            raise ValueError("pulse_chips is missing; the pulses are that long")
        for name, pulse in self.pulses.items():
            wanted = self.constants["pulse_chips"].value * pulse.samples_per_chip
            if len(pulse.taps) != wanted:
                raise ValueError(f"{name} has {len(pulse.taps)} taps; pulse_chips and samples_per_chip say {wanted}")
        return self


def cpp_type(bits: int) -> str:
    """The smallest unsigned C++ type of at least `bits` bits."""
    return next(f"std::uint{size}_t" for size in (8, 16, 32, 64) if bits <= size)


def _refuse_repeated(fields: list[FrameField] | list[RecordField]) -> None:
    seen: set[str] = set()
    for field in fields:
        if field.name in seen:
            raise ValueError(f"field {field.name} is listed twice")
        seen.add(field.name)


@dataclass(frozen=True)
class Slice:
    """A field's place in a word: the word's bits `shift` and up."""

    field: FrameField
    shift: int

    @property
    def mask(self) -> int:
        return (1 << self.field.bits) - 1


@dataclass(frozen=True)
class Word:
    """Whole bytes that hold one or more fields."""

    offset: int  # bytes from the start of the frame
    size: int  # bytes
    byte_order: str
    slices: list[Slice]

    @property
    def byte_shifts(self) -> list[int]:
        """For each byte as sent, the word's bit that is the byte's bit 0."""
        shifts = [8 * index for index in range(self.size)]
        return shifts if self.byte_order == "little" else shifts[::-1]


def pack_words(frame: FrameSource) -> list[Word]:
    """Groups a frame's fields into words of whole bytes; ValueError where that cannot be done."""
    words: list[Word] = []
    group: list[FrameField] = []
    offset = 0
    for field in frame.fields:
        group.append(field)
        bits = sum(member.bits for member in group)
        if bits % 8:
            continue
        orders = {member.byte_order or frame.byte_order for member in group}
        if len(orders) > 1:
            raise ValueError(f"field {field.name} shares a byte with a field of another byte order")
        if bits > 64:
            raise ValueError(f"the fields {group[0].name} to {field.name} need a word of {bits} bits; 64 is the limit")
        order = orders.pop()
        slices, used = [], 0
        for member in group:
            shift = used if order == "little" else bits - used - member.bits
            slices.append(Slice(member, shift))
            used += member.bits
        words.append(Word(offset, bits // 8, order, slices))
        offset += bits // 8
        group = []
    if group:
        raise ValueError(f"the fields from {group[0].name} on do not fill whole bytes")
    return words


@dataclass(frozen=True)
class Rate:
    bps: int
    control_rate_index: int
    preamble_us: int
    bits_per_symbol: int  # 0: DSSS


@dataclass(frozen=True)
class Profile:
    """A timing profile with everything that follows from its source."""

    name: str
    meaning: str
    modulation: str
    slot_us: int
    sifs_us: int
    difs_us: int
    eifs_us: int
    cw_min: int
    cw_max: int
    phy_rx_start_delay_us: int
    preamble_us: int
    symbol_us: int
    signal_extension_us: int
    response_timeout_us: int
    nav_reset_us: int
    ns2_response_timeout_us: int
    control_rate_index: int
    lowest_basic_rate_index: int
    channel_mhz: int
    radiotap_channel_flags: int
    rates: tuple[Rate, ...]


def _airtime_us(source: ProfileSource, rate: Rate, psdu_bytes: int) -> int:
    if source.modulation == "dsss":
        return rate.preamble_us + -(-8 * psdu_bytes * 1_000_000 // rate.bps)
    symbols = -(-(16 + 6 + 8 * psdu_bytes) // rate.bits_per_symbol)
    return rate.preamble_us + symbols * source.symbol_us + source.signal_extension_us


def _compute_profile(name: str, source: ProfileSource, constants: dict[str, Constant]) -> Profile:
    rates = tuple(
        Rate(
            bps=rate.bps,
            control_rate_index=rate.control_rate_index,
            preamble_us=rate.preamble_us or source.preamble_us,
            bits_per_symbol=rate.bps * source.symbol_us // 1_000_000,
        )
        for rate in source.rates
    )
    cts_bytes, mac_ack_bytes = constants["cts_bytes"].value, constants["mac_ack_bytes"].value
    cts_rate = rates[rates[source.control_rate_index].control_rate_index]
    cts_us = _airtime_us(source, cts_rate, cts_bytes)
    slowest_mac_ack_us = _airtime_us(source, rates[source.lowest_basic_rate_index], mac_ack_bytes)
    # A modem that reports whole frames only says nothing before the response has ended.
    rx_start_us = source.rx_start.delay_us + (cts_us if source.rx_start.at == "at_frame_end" else 0)
    difs_us = source.sifs_us + 2 * source.slot_us  # 9.3.7
    return Profile(
        name=name,
        meaning=source.meaning,
        modulation=source.modulation,
        slot_us=source.slot_us,
        sifs_us=source.sifs_us,
        difs_us=difs_us,
        eifs_us=source.sifs_us + slowest_mac_ack_us + difs_us,  # 9.3.7
        cw_min=source.cw_min,
        cw_max=source.cw_max,
        phy_rx_start_delay_us=rx_start_us,
        preamble_us=source.preamble_us,
        symbol_us=source.symbol_us,
        signal_extension_us=source.signal_extension_us,
        response_timeout_us=source.sifs_us + source.slot_us + rx_start_us,  # 9.3.2.6, 9.3.2.8
        nav_reset_us=2 * source.sifs_us + cts_us + rx_start_us + 2 * source.slot_us,  # 9.3.2.4
        ns2_response_timeout_us=source.sifs_us + cts_us + 2 * constants["ns2_max_propagation_us"].value,
        control_rate_index=source.control_rate_index,
        lowest_basic_rate_index=source.lowest_basic_rate_index,
        channel_mhz=source.channel_mhz,
        radiotap_channel_flags=source.radiotap_channel_flags,
        rates=rates,
    )


@dataclass(frozen=True)
class Spec:
    constants: dict[str, Constant]
    widths: dict[str, Width]
    enums: dict[str, Enumeration]
    profiles: dict[str, Profile]
    frames: dict[str, FrameSource]
    words: dict[str, list[Word]]
    records: dict[str, Record]
    phy: PhyFile

    @property
    def host_records(self) -> dict[str, Record]:
        """The records that software sees."""
        return {name: record for name, record in self.records.items() if not record.inside}

    def airtime_us(self, profile: Profile, rate_index: int, psdu_bytes: int) -> int:
        """Airtime of a PSDU of `psdu_bytes` at the profile's rate `rate_index`, in microseconds."""
        return _airtime_us(profile, profile.rates[rate_index], psdu_bytes)

    def frame_bytes(self, name: str) -> int:
        return sum(word.size for word in self.words[name])


def _line_of(tree: object, path: tuple[str | int, ...]) -> int | None:
    """Line of the deepest node of a ruamel tree that `path` reaches, from 1."""
    line: int | None = None
    for key in path:
        marks = getattr(tree, "lc", None)
        if marks is None or marks.data is None or key not in marks.data:
            break
        line = marks.data[key][0] + 1
        tree = tree[key]
    return line


def _load(path: Path, schema: type[_Strict]) -> tuple[_Strict, object]:
    try:
        tree = YAML(typ="rt").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{path.name}: cannot be read: {error.strerror}") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise SpecError(f"{path.name}:{line}: not YAML: {error.problem}") from error
    try:
        return schema.model_validate(tree), tree
    except ValidationError as error:
        messages = []
        for problem in error.errors():
            loc = problem["loc"]
            line = _line_of(tree, loc)
            where = ".".join(str(part) for part in loc) or "the file"
            text = problem["msg"].removeprefix("Value error, ")
            messages.append(f"{path.name}:{line or 1}: {where}: {text}")
        raise SpecError("\n".join(messages)) from error


def load_spec(directory: Path) -> Spec:
    """Reads and checks protocol.yaml, frames.yaml and phy.yaml in `directory`; SpecError if one is wrong."""
    protocol_path, frames_path = directory / "protocol.yaml", directory / "frames.yaml"
    protocol, protocol_tree = _load(protocol_path, ProtocolFile)
    frames, frames_tree = _load(frames_path, FramesFile)
    phy, _ = _load(directory / "phy.yaml", PhyFile)
    assert isinstance(protocol, ProtocolFile) and isinstance(frames, FramesFile) and isinstance(phy, PhyFile)

    def refuse(path: Path, tree: object, loc: tuple[str | int, ...], text: str) -> None:
        raise SpecError(f"{path.name}:{_line_of(tree, loc) or 1}: {'.'.join(map(str, loc))}: {text}")

    for needed in ("cts_bytes", "mac_ack_bytes", "ns2_max_propagation_us"):
        if needed not in protocol.constants:
            refuse(protocol_path, protocol_tree, ("constants",), f"{needed} is missing; profiles are computed from it")
    profiles = {name: _compute_profile(name, source, protocol.constants) for name, source in protocol.profiles.items()}
    for name, profile in profiles.items():
        for width_name, width in protocol.widths.items():
            cw_fields = ("cw_min", "cw_max") if width_name == "cw" else (width_name,)
            for field in cw_fields:
                value = getattr(profile, field, 0)
                if value >= 1 << width.bits:
                    text = f"{field} is {value}, more than widths.{width_name} ({width.bits} bits) can hold"
                    refuse(protocol_path, protocol_tree, ("profiles", name), text)

    words = {name: pack_words(frame) for name, frame in frames.frames.items()}
    for name, constant_name in (("path_header", "path_header_bytes"), ("llc_snap", "llc_snap_bytes")):
        size, stated = sum(w.size for w in words.get(name, [])), protocol.constants[constant_name].value
        if size != stated:
            refuse(frames_path, frames_tree, ("frames", name), f"has {size} bytes; {constant_name} says {stated}")
    for name, record in frames.records.items():
        for index, field in enumerate(record.fields):
            if field.enum is not None and field.enum not in protocol.enums:
                loc = ("records", name, "fields", index, "enum")
                refuse(frames_path, frames_tree, loc, f"{field.enum} is no enum of protocol.yaml")

    return Spec(
        constants=protocol.constants,
        widths=protocol.widths,
        enums=protocol.enums,
        profiles=profiles,
        frames=frames.frames,
        words=words,
        records=frames.records,
        phy=phy,
    )
