# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the frames of a capture as tshark dissects them: FCS, Duration, sequence numbers, retry bits, response times.

What is right is computed here from the timing profiles of gateware/spec/protocol.yaml and the standard
(IEEE 802.11-2012, 8.2.4 and 9.3.2), and from the packets that were given to the MACs; nothing comes from the gateware.
"""

import bisect
import csv
import struct
import subprocess
import zlib
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PROTOCOL = ROOT / "gateware/spec/protocol.yaml"
DISSECTOR = ROOT / "host/python/perhop/wireshark/perhop.lua"

NODE_ADDRESS_BASE = 0x0200_0000_0000
MAX_DURATION_US = 32767
RTS_BYTES, CTS_BYTES, MAC_ACK_BYTES = 20, 14, 14
PROPAGATION_US = 1  # between nodes in range of each other: at least a tick, and less than two
OFDM_EXTRA_BITS = 16 + 6  # SERVICE and tail
EXPERT_ERROR = 0x80_0000  # severity of Wireshark's expert information

# Of those for a node so many are kept: more than can be on the air at once.
HEARD_FRAMES = 32

# Of the trace: sim/air/trace.cpp.
TRACE_KINDS = ("rts", "cts", "data", "mac_ack")
# wlan.fc.type_subtype
KINDS = {0x1B: "rts", 0x1C: "cts", 0x1D: "mac_ack", 0x20: "data"}

FIELDS = (
    *("frame.len", "radiotap.length", "frame.time_epoch", "wlan.fc.type_subtype", "wlan.fc.retry", "wlan.fc.ds"),
    *("wlan.duration", "wlan.ra", "wlan.ta", "wlan.seq", "wlan.fcs.status", "frame.protocols"),
    *("_ws.malformed", "_ws.expert.severity"),
)

# What can be wrong with a frame; the counters of judge().
WRONG = (
    "bad_fcs",
    "dissect_errors",
    "duration_errors",
    "sequence_errors",
    "retry_errors",
    "length_errors",
    "airtime_errors",
    "response_errors",
    "trace_errors",
)


@dataclass(frozen=True)
class Frame:
    """A frame as tshark sees it."""

    start_us: int
    bytes: int
    kind: str
    retry: bool
    to_from_ds: int
    duration_us: int
    ra: int
    ta: int | None
    sequence: int | None
    fcs_good: bool
    dissected: bool


@dataclass(frozen=True)
class Sent:
    """A line T of the trace."""

    start_us: int
    end_us: int
    node: int
    kind: str
    rate: int
    bytes: int
    duration_us: int
    ra: int
    sequence: int
    retry: bool


@dataclass(frozen=True)
class Packet:
    """What a MAC was given, and when it had to do with it."""

    first_us: int
    done_us: int
    bytes: int
    rate: int


class Timing:
    """Airtimes of a profile, from its entry in protocol.yaml."""

    def __init__(self, profile: str) -> None:
        entry = _protocol()["profiles"][profile]
        self.sifs_us: int = entry["sifs_us"]
        self.control_rate: int = entry["control_rate_index"]
        self._entry = entry

    def airtime_us(self, rate: int, size_bytes: int) -> int:
        """PLCP preamble and header, then the PSDU (17.2.3.5 and 18.4.3): what is begun is sent."""
        entry = self._entry["rates"][rate]
        preamble_us = entry.get("preamble_us", self._entry["preamble_us"]) + self._entry.get("signal_extension_us", 0)
        if self._entry["modulation"] == "dsss":
            return preamble_us + -(-8 * size_bytes * 1_000_000 // entry["bps"])
        symbol_us = self._entry["symbol_us"]
        symbol_bits = entry["bps"] * symbol_us // 1_000_000
        return preamble_us + symbol_us * -(-(8 * size_bytes + OFDM_EXTRA_BITS) // symbol_bits)

    def response_us(self, rate: int) -> int:
        """A CTS or MAC ACK that answers a frame of this rate."""
        return self.airtime_us(self._entry["rates"][rate]["control_rate_index"], CTS_BYTES)


@cache
def _protocol() -> dict[str, Any]:
    return yaml.safe_load(PROTOCOL.read_text())


def address(node: int) -> int:
    return NODE_ADDRESS_BASE + node + 1


def dissect(capture: Path) -> list[Frame]:
    """All frames of a capture, through tshark and the dissector of the path header."""
    command = [
        "tshark",
        "-n",
        "-r",
        str(capture),
        "-X",
        f"lua_script:{DISSECTOR}",
        "-T",
        "fields",
        "-E",
        "separator=/t",
    ]
    for preference in ("wlan.check_checksum", "ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"):
        command += ["-o", f"{preference}:TRUE"]
    # An MPDU does not stand in this file for one of many: nothing is put together from several.
    command += ["-o", "tcp.desegment_tcp_streams:FALSE"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tshark cannot read {capture}: {done.stderr.strip()[-400:]}")
    return [_frame(dict(zip(FIELDS, line.split("\t"), strict=True))) for line in done.stdout.splitlines()]


def _frame(fields: dict[str, str]) -> Frame:
    size, head = int(fields["frame.len"]), int(fields["radiotap.length"])
    kind = KINDS.get(int(fields["wlan.fc.type_subtype"] or "0", 0), "other")
    severities = [int(text) for text in fields["_ws.expert.severity"].split(",") if text]
    # Behind the header of DATA, and perhaps a path header, stands IP or a hello of EXACT.
    whole = kind != "data" or not {"ip", "perhop_hello"}.isdisjoint(fields["frame.protocols"].split(":"))
    return Frame(
        start_us=int(Decimal(fields["frame.time_epoch"]) * 1_000_000),
        bytes=size - head,
        kind=kind,
        retry=fields["wlan.fc.retry"] in ("1", "True"),
        to_from_ds=int(fields["wlan.fc.ds"] or "0", 0),
        duration_us=int(fields["wlan.duration"] or "-1"),
        ra=_address(fields["wlan.ra"]) or 0,
        ta=_address(fields["wlan.ta"]),
        sequence=int(fields["wlan.seq"]) if fields["wlan.seq"] else None,
        fcs_good=fields["wlan.fcs.status"] in ("1", "Good"),
        dissected=kind != "other"
        and whole
        and not fields["_ws.malformed"]
        and max(severities, default=0) < EXPERT_ERROR,
    )


def _address(text: str) -> int | None:
    return int(text.replace(":", ""), 16) if text else None


def read_trace(trace: Path) -> list[Sent]:
    sent = []
    for line in trace.read_text().splitlines():
        if line.startswith("T "):
            word = line.split()
            start, end, node, kind, rate, size, duration = (int(text) for text in word[1:8])
            ra, sequence, retry = int(word[8], 16), int(word[10]), word[11] == "1"
            sent.append(Sent(start, end, node, TRACE_KINDS[kind], rate, size, duration, ra, sequence, retry))
    return sent


def read_packets(completions: Path) -> dict[int, list[Packet]]:
    """By node, in the order in which its MAC served them."""
    packets: dict[int, list[Packet]] = defaultdict(list)
    with completions.open(newline="") as file:
        for row in csv.DictReader(file):
            packets[int(row["node"])].append(
                Packet(int(row["t_first_tx_us"]), int(row["t_done_us"]), int(row["mpdu_bytes"]), int(row["rate_index"]))
            )
    return packets


@dataclass(frozen=True)
class Heard:
    """A frame for a node, whether or not it could receive it."""

    frame: Frame
    rate: int
    end_us: int


class _Node:
    """What came before at a node."""

    def __init__(self, packets: list[Packet]) -> None:
        self.packets = packets
        self.done_us = [packet.done_us for packet in packets]
        self.sequence_of_first: int | None = None
        self.sent_data: set[int] = set()  # packets that have been on the air as DATA
        self.asked_for: int | None = None  # the packet that its last own frame, an RTS, was for
        self.heard: deque[Heard] = deque(maxlen=HEARD_FRAMES)

    def heard_before(self, start_us: int, sifs_us: int, kind: str, ta: int | None) -> "Heard | None":
        """The frame of that kind for this node whose last bit came a SIFS before."""
        for heard in self.heard:
            if heard.end_us + sifs_us == start_us and heard.frame.kind == kind and heard.frame.ta == ta:
                return heard
        return None


def judge(frames: list[Frame], sent: list[Sent], packets: dict[int, list[Packet]], timing: Timing) -> Counter[str]:
    """Counts what is wrong, by the names in WRONG; `unchecked` are RTS for packets that the end of the run cut off."""
    found: Counter[str] = Counter(dict.fromkeys((*WRONG, "unchecked"), 0))
    nodes = {line.node: _Node(packets.get(line.node, [])) for line in sent}
    by_address = {address(number): node for number, node in nodes.items()}
    unfinished = _unfinished(sent, nodes)
    found["trace_errors"] += abs(len(frames) - len(sent))
    for frame, line in zip(frames, sent, strict=False):
        node = nodes[line.node]
        found["bad_fcs"] += not frame.fcs_good
        found["dissect_errors"] += not frame.dissected
        found["trace_errors"] += not _agree(frame, line)
        airtime_us = timing.airtime_us(line.rate, frame.bytes)
        found["airtime_errors"] += line.end_us - line.start_us != airtime_us
        if frame.kind in ("rts", "data"):
            _judge_own(found, frame, line, node, unfinished.get(line.node), timing)
        elif frame.kind in ("cts", "mac_ack"):
            _judge_response(found, frame, line, node, timing)
        if frame.ra in by_address:
            by_address[frame.ra].heard.append(Heard(frame, line.rate, line.start_us + airtime_us + PROPAGATION_US))
    return found


def _unfinished(sent: list[Sent], nodes: dict[int, _Node]) -> dict[int, Packet]:
    """By node, the packet that the end of the run cut off, if it was seen as DATA."""
    last = {}
    for line in sent:
        if line.kind == "data" and _index(nodes[line.node], line.start_us) == len(nodes[line.node].packets):
            last[line.node] = Packet(line.start_us, line.end_us, line.bytes, line.rate)
    return last


def _index(node: _Node, start_us: int) -> int:
    """The packet that a frame is for: one may begin in the very microsecond in which the one before is done."""
    return bisect.bisect_right(node.done_us, start_us)


def _agree(frame: Frame, line: Sent) -> bool:
    same = (frame.start_us, frame.kind, frame.bytes, frame.duration_us, frame.ra, frame.retry) == (
        *(line.start_us, line.kind, line.bytes, line.duration_us, line.ra, line.retry),
    )
    transmitter = address(line.node) if frame.kind in ("rts", "data") else None
    return same and frame.ta == transmitter and (frame.kind != "data" or frame.sequence == line.sequence)


def _judge_own(
    found: Counter[str], frame: Frame, line: Sent, node: _Node, unfinished: Packet | None, timing: Timing
) -> None:
    """A frame that a node sends for a packet of its own."""
    index = _index(node, line.start_us)
    packet = node.packets[index] if index < len(node.packets) else unfinished
    if frame.kind == "rts":
        node.asked_for = index
        found["retry_errors"] += frame.retry
        found["length_errors"] += frame.bytes != RTS_BYTES
        if packet is None:
            found["unchecked"] += 1
            return
        # SIFS CTS SIFS DATA SIFS MAC ACK (8.3.1.2).
        right_us = 3 * timing.sifs_us + timing.response_us(timing.control_rate)
        right_us += timing.airtime_us(packet.rate, packet.bytes) + timing.response_us(packet.rate)
        found["duration_errors"] += frame.duration_us != min(right_us, MAX_DURATION_US)
        return

    to_group = bool(frame.ra >> 40 & 1)
    right_us = 0 if to_group else timing.sifs_us + timing.response_us(line.rate)
    found["duration_errors"] += frame.duration_us != right_us
    found["length_errors"] += packet is None or frame.bytes != packet.bytes
    found["retry_errors"] += frame.retry != (index in node.sent_data)
    node.sent_data.add(index)
    if frame.sequence is None:
        found["sequence_errors"] += 1
    else:
        # Every packet has a number, and a packet's number is one above that of the packet before.
        if node.sequence_of_first is None:
            node.sequence_of_first = (frame.sequence - index) % 4096
        found["sequence_errors"] += frame.sequence != (node.sequence_of_first + index) % 4096
    # DATA that was asked for comes a SIFS after the CTS.
    if node.asked_for == index:
        found["response_errors"] += node.heard_before(line.start_us, timing.sifs_us, "cts", None) is None
    node.asked_for = None


def _judge_response(found: Counter[str], frame: Frame, line: Sent, node: _Node, timing: Timing) -> None:
    """A CTS or a MAC ACK: a SIFS after the frame that it answers."""
    asked = node.heard_before(line.start_us, timing.sifs_us, "rts" if frame.kind == "cts" else "data", frame.ra)
    if asked is None:
        found["response_errors"] += 1
        return
    # What is left of the reservation (8.3.1.3, 8.3.1.4).
    left_us = asked.frame.duration_us - timing.sifs_us - timing.response_us(asked.rate)
    found["duration_errors"] += frame.duration_us != max(left_us, 0)
    found["retry_errors"] += frame.retry
    found["length_errors"] += frame.bytes != (CTS_BYTES if frame.kind == "cts" else MAC_ACK_BYTES)


# ---- Captures with a fault, to see that it is found

_BLOCK = struct.Struct("<II")
_ENHANCED_PACKET = 6
_PACKET_HEAD_BYTES = 28  # of an enhanced packet block
_RADIOTAP_LENGTH_AT = 2


def with_fault(capture: Path, faulty: Path, change: str) -> None:
    """Copies a capture with one frame changed: the first that the change can be made to.

    `byte` leaves the FCS as it is; all others make it anew, so that only the field is wrong.
    """
    data = bytearray(capture.read_bytes())
    for begin, end in _psdus(data):
        psdu = data[begin:end]
        if _change(psdu, change):
            if change != "byte":
                psdu[-4:] = zlib.crc32(psdu[:-4]).to_bytes(4, "little")
            data[begin:end] = psdu
            faulty.write_bytes(data)
            return
    raise RuntimeError(f"{capture}: holds no frame for the fault {change!r}")


def _psdus(data: bytearray) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(data):
        kind, size = _BLOCK.unpack_from(data, at)
        if kind == _ENHANCED_PACKET:
            (captured,) = struct.unpack_from("<I", data, at + 20)
            packet = at + _PACKET_HEAD_BYTES
            (radiotap,) = struct.unpack_from("<H", data, packet + _RADIOTAP_LENGTH_AT)
            yield packet + radiotap, packet + captured
        at += size


def _change(psdu: bytearray, change: str) -> bool:
    """Changes a frame if it is of the kind that the fault is for. Returns whether it did."""
    kind = {0xB4: "rts", 0xC4: "cts", 0xD4: "mac_ack", 0x08: "data"}[psdu[0]]
    if change == "byte":
        psdu[-5] ^= 0x40
        return True
    if change == f"{kind} duration":
        psdu[2] ^= 0x01
        return True
    if kind != "data":
        return False
    if change == "retry":
        psdu[1] ^= 0x08
    elif change == "sequence":
        psdu[22] ^= 0x20
    elif change == "ip":
        header = psdu.find(b"\x45\x00")
        psdu[header] = 0x41  # an IP header of four bytes
    else:
        return False
    return True


# The faults, and the counter that has to find each.
FAULTS = {
    "byte": "bad_fcs",
    "rts duration": "duration_errors",
    "cts duration": "duration_errors",
    "data duration": "duration_errors",
    "mac_ack duration": "duration_errors",
    "retry": "retry_errors",
    "sequence": "sequence_errors",
    "ip": "dissect_errors",
}
