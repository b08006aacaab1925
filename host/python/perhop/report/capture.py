# SPDX-License-Identifier: GPL-2.0-or-later
"""The frames of a simulated run's packets.pcapng as columns: who sent what when, and what became of it."""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perhop.registers import spec_generated as spec

INTERFACE_BLOCK = 1
PACKET_BLOCK = 6
OPTION_COMMENT = 1
RADIOTAP_RATE_FLAG = 1 << 2
RADIOTAP_TSFT_FLAG = 1 << 0

# Kinds of frames, by the first octet of their frame control field (8.2.4.1).
KINDS = ("DATA", "RTS", "CTS", "MAC ACK")
KIND_OF_OCTET = {0x08: 0, 0x88: 0, 0xB4: 1, 0xC4: 2, 0xD4: 3}
DATA, RTS, CTS, MAC_ACK = range(4)

# What became of a frame where it was for, as the medium noted it.
FATES = ("arrived", "collided", "receiver was sending", "received in error")
CAUSE = re.compile(r"lost at n\d+: (collided|it was sending|received in error)")
FATE_OF_WORDS = {"collided": 1, "it was sending": 2, "received in error": 3}

NOBODY = 0xFFFF  # a receiver that is no single node

Column = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Frames:
    """A column a field, in order of starts; times in microseconds of the run."""

    start_us: Column
    air_us: Column
    node: Column
    receiver: Column  # NOBODY: a group
    kind: Column  # index of KINDS
    duration_us: Column  # the field Duration, which sets NAVs
    psdu_bytes: Column
    retry: Column
    fate: Column  # index of FATES; a group's frame is lost where one of its receivers lost it
    nodes: int  # interfaces of the capture
    left_out: int  # frames of the capture behind these

    @property
    def end_us(self) -> Column:
        return self.start_us + self.air_us


def read(file: Path, profile: spec.TimingProfile, most: int, from_us: int = 0) -> Frames | None:
    """At most `most` frames that start at `from_us` or later; None where the capture has none.

    Raises OSError, ValueError for what is no capture of the simulator.
    """
    with file.open("rb") as opened:
        if not file.stat().st_size:
            return None
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _columns(data, profile, most, from_us)


def _columns(data: mmap.mmap, profile: spec.TimingProfile, most: int, from_us: int) -> Frames | None:
    rate_index = {rate.bps // 500_000: index for index, rate in enumerate(profile.rates)}
    airtimes: dict[tuple[int, int], int] = {}
    rows: list[tuple[int, ...]] = []
    nodes = left_out = 0
    for kind, at, length in _blocks(data):
        if kind == INTERFACE_BLOCK:
            nodes += 1
        elif kind == PACKET_BLOCK:
            node, high, low, captured = struct.unpack_from("<IIII", data, at + 8)
            start_us = high << 32 | low
            if start_us < from_us:
                continue
            if len(rows) == most:
                left_out += 1
                continue
            frame = at + 28
            radiotap_bytes, present = struct.unpack_from("<HI", data, frame + 2)
            rate = data[frame + 8 + (9 if present & RADIOTAP_TSFT_FLAG else 1)] if present & RADIOTAP_RATE_FLAG else 0
            mac = frame + radiotap_bytes
            octet, flags, duration_us = struct.unpack_from("<BBH", data, mac)
            psdu_bytes = captured - radiotap_bytes
            if (rate, psdu_bytes) not in airtimes:
                airtimes[rate, psdu_bytes] = spec.airtime_us(profile, rate_index.get(rate, 0), psdu_bytes)
            fate = _fate(data, frame + (captured + 3) // 4 * 4, at + length - 4)
            rows.append(
                (
                    start_us,
                    airtimes[rate, psdu_bytes],
                    node,
                    _node_of(data[mac + 4 : mac + 10]),
                    KIND_OF_OCTET.get(octet, DATA),
                    duration_us & 0x7FFF,
                    psdu_bytes,
                    flags >> 3 & 1,
                    fate,
                )
            )
    if not rows:
        return None
    table = np.array(rows, dtype=np.int64)
    # Captures of live networks are in the order of their interfaces.
    return Frames(*table[np.argsort(table[:, 0], kind="stable")].T, nodes=nodes, left_out=left_out)


def _blocks(data: mmap.mmap) -> Iterator[tuple[int, int, int]]:
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or length % 4 or at + length > len(data):
            raise ValueError(f"a block at byte {at} is broken: the capture was cut short")
        yield kind, at, length
        at += length


def _fate(data: mmap.mmap, at: int, end: int) -> int:
    while at + 4 <= end:
        code, length = struct.unpack_from("<HH", data, at)
        if code == OPTION_COMMENT:
            found = CAUSE.search(data[at + 4 : at + 4 + length].decode("ascii", "replace"))
            return FATE_OF_WORDS[found[1]] if found else 0
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 0


def _node_of(address: bytes) -> int:
    node = int.from_bytes(address, "big") - spec.NODE_ADDRESS_BASE - 1
    return node if 0 <= node < NOBODY else NOBODY
