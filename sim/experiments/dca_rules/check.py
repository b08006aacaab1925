# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of TCP-DCA on the objects of host/core themselves (rows D-01 to D-03, D-05, D-21).

Packets are handed to a receiver's thinner one by one; the local TCP acknowledges each. The expected values are written
from the paper, not from the code.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from perhop import core
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

SEGMENT_BYTES = 1000
GAP_US = 10_000


@dataclass
class Receiver:
    """A thinner and the local TCP before it; `sent` gets time, number and reason of each TCP ACK that goes out."""

    config: core.TcpAckConfig
    sent: list[tuple[int, int, core.TcpAckReason]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.thinner = core.DelayedTcpAck(self.config)
        self.now_us = 0
        self.next_packet = 0  # all before it have arrived
        self.beyond: set[int] = set()
        self.held = 0

    def arrive(self, packet: int, in_flight: int, hops: int, at_us: int | None = None) -> None:
        """Packet number `packet` arrives; deadlines that lie before it are kept."""
        self.wait_until(self.now_us + GAP_US if at_us is None else at_us)
        self.thinner.on_data(
            self.now_us,
            core.DataArrival(
                sequence=packet * SEGMENT_BYTES,
                payload_bytes=SEGMENT_BYTES,
                packets_in_flight=in_flight,
                forward_hops=hops,
            ),
        )
        self.beyond.add(packet)
        while self.next_packet in self.beyond:
            self.next_packet += 1
        number = self.next_packet * SEGMENT_BYTES
        verdict = self.thinner.on_tcp_ack(self.now_us, core.TcpAckDeparture(tcp_ack=number, window_bytes=65535))
        if verdict.action == core.TcpAckAction.pass_:
            self.sent.append((self.now_us, number, verdict.reason))
        else:
            self.held = number

    def wait_until(self, time_us: int) -> None:
        """Keep the deadlines before then. One that falls together with an arrival comes after it."""
        while (due := self.thinner.deadline_us) is not None and due < time_us:
            self.now_us = due
            release = self.thinner.on_deadline(due)
            if release.release == core.TcpAckRelease.send_held:
                self.sent.append((due, self.held, release.reason))
        self.now_us = time_us

    def reasons(self) -> list[core.TcpAckReason]:
        return [reason for _, _, reason in self.sent]


def dca(window: int = 0, whole: bool = False) -> core.TcpAckConfig:
    """DCA with a fixed window, the whole window, or Table I's."""
    return core.TcpAckConfig(
        kind=core.TcpAckKind.dca, fixed_window_packets=window, whole_window=whole, tcp_ack_retransmission=False
    )


def steady(receiver: Receiver, packets: Iterable[int], in_flight: int, hops: int = 1) -> None:
    for packet in packets:
        receiver.arrive(packet, in_flight, hops)


def check(results: Results | None, folder: Path) -> Check:
    """Each rule of the receiver, packet by packet."""
    assert results is None
    rows = {
        "D-01": _delay_window(),
        "D-02": _at_once(),
        "D-03": _filter(),
        "D-05": _told(),
        "D-21": _table(),
    }
    lines = [f"{row}: {verdict.measured}" for row, verdict in rows.items()]
    return Check(all(row.verdict == "pass" for row in rows.values()), lines, {}, [], rows)


NO_OPTION_BY_DEFAULT = (
    "The row asks for the option by default. Every packet of a shim has the path header, which tells the same in a "
    "byte that is there anyway, and an option would take 8 bytes of each segment besides; `tell_window: option` asks "
    "for it where no path header reaches the receiver."
)


def _verdict(holds: bool, measured: str) -> RowVerdict:
    return RowVerdict("pass" if holds else "fail", measured)


def _delay_window() -> RowVerdict:
    """Without loss one TCP ACK for w packets, w the least of limit and packets in flight; nobody waits for more."""
    counts, holds = [], True
    for window, in_flight in ((1, 8), (2, 8), (3, 8), (5, 8), (5, 3), (8, 2)):
        receiver = Receiver(dca(window))
        steady(receiver, range(2), in_flight)  # the time between packets gets known, so each TCP ACK goes at once
        receiver.sent.clear()
        steady(receiver, range(2, 242), in_flight)
        effective = min(window, in_flight)
        holds &= len(receiver.sent) == math.ceil(240 / effective)
        holds &= set(receiver.reasons()) == {core.TcpAckReason.window}
        counts.append(f"{len(receiver.sent)} at w = {window} with {in_flight} in flight")
    return _verdict(holds, "TCP ACKs for 240 packets: " + ", ".join(counts))


def _at_once() -> RowVerdict:
    """Packets 10 to 12 arrive before 9: a duplicate for each; 9 then fills the gap and is told of at once.

    With two gaps, before 10 and before 12, each packet that fills one is told of at once, too.
    """
    holds, told = True, []
    for early, late in (((10, 11, 12), (9,)), ((10, 12), (9, 11))):
        receiver = Receiver(dca(5))
        steady(receiver, range(9), 8)
        receiver.sent.clear()
        steady(receiver, early, 8)
        duplicates = [number for _, number, _ in receiver.sent]
        filled = []
        for packet in late:
            before = len(receiver.sent)
            receiver.arrive(packet, 8, 1)
            filled += [(number, at_us == receiver.now_us) for at_us, number, _ in receiver.sent[before:]]
        beyond = [*late[1:], 13]  # the first packet that is then missing
        holds &= duplicates == [9 * SEGMENT_BYTES] * len(early)
        holds &= filled == [(packet * SEGMENT_BYTES, True) for packet in beyond]
        holds &= set(receiver.reasons()) == {core.TcpAckReason.disorder}
        told.append(
            f"{len(early)} out of order: {len(duplicates)} duplicates; {len(filled)} of {len(late)} gaps told of"
        )
    return _verdict(holds, "; ".join(told) + ", at once")


def _filter() -> RowVerdict:
    """I_s = 10, 20, 5, 40 ms: I = 10; 0.8 10 + 0.2 20 = 12; 10.6; 16.48 ms."""
    average = core.InterArrivalFilter()
    times_us, expected_us = [0, 10_000, 30_000, 35_000, 75_000], [None, 10_000.0, 12_000.0, 10_600.0, 16_480.0]
    seen: list[float | None] = []
    for time_us in times_us:
        average.on_arrival(time_us)
        seen.append(average.average_us)
    holds = seen[0] is None and all(
        value is not None and abs(value - wanted) < 0.02
        for value, wanted in zip(seen[1:], expected_us[1:], strict=True)
    )
    shown = ", ".join(f"{value / 1e3:.2f}" for value in seen[1:] if value is not None)
    return _verdict(holds, f"gaps of 10, 20, 5, 40 ms: {shown} ms")


def _told() -> RowVerdict:
    """Shims of both ends: a sender's window is told by header, option or, where that is asked for, window field.

    The bytes of a segment with the option are read by the rules of RFC 9293 alone, as by a TCP that does not know it.
    """
    assumed = 5.0
    header = {in_flight: _packets_per_tcp_ack(in_flight, {}) for in_flight in (2, 4)}
    option = {n: _packets_per_tcp_ack(None, {"told_window_packets": n}) for n in (2, 4)}
    field_bytes = 4 * SEGMENT_BYTES
    asked = _packets_per_tcp_ack(None, {"window_bytes": field_bytes}, window_field_tells=True)
    unasked = _packets_per_tcp_ack(None, {"window_bytes": field_bytes})
    unmodified = _packets_per_tcp_ack(None, {})
    plain = _segment()
    holds = (
        header == option == {2: 2.0, 4: 4.0}
        and asked == 4.0
        and unasked == unmodified == assumed
        and (skipped := _read_by_another_tcp(core.with_window_option(plain, 4) or b"")) == _read_by_another_tcp(plain)
        and skipped is not None
        and core.read_ip(core.with_window_option(plain, 4) or plain).tcp.told_window_packets == 4
        and core.read_ip(plain).tcp.told_window_packets == 0
        and core.with_window_option(plain, 4, len(plain) + 7) is None
    )
    measured = (
        f"packets a TCP ACK where the sender tells 2 and 4: {header[2]:g} and {header[4]:g} by the path header, which "
        f"is there anyway and costs one byte, {option[2]:g} and {option[4]:g} by an option of TCP (RFC 6994, 8 bytes); "
        f"by the window field {asked:g} of 4 where that is asked for, else {unasked:g}, as from an unmodified sender; "
        "an unmodified receiver skips the option"
    )
    if not holds:
        return RowVerdict("fail", measured)
    return RowVerdict("finding", f"no option by default; {measured}", evidence=NO_OPTION_BY_DEFAULT)


def _segment() -> bytes:
    """100 bytes of data over IPv4 with timestamps; both checksums right."""
    options = bytes([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2])
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    tcp = bytearray(struct.pack("!HHIIBBHHH", 40000, 5001, 7, 9, (20 + len(options)) // 4 << 4, 0x18, 65535, 0, 0))
    tcp += options + bytes(range(100))
    tcp[16:18] = struct.pack("!H", _checksum(addresses + struct.pack("!HH", 6, len(tcp)) + tcp))
    ip = bytearray(struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0)) + addresses
    ip[10:12] = struct.pack("!H", _checksum(bytes(ip)))
    return bytes(ip + tcp)


def _read_by_another_tcp(packet: bytes) -> tuple[bytes, dict[int, bytes], int] | None:
    """Payload, the options that every TCP knows, and window of a segment; None where something is wrong with it."""
    if len(packet) < 40 or len(packet) != int.from_bytes(packet[2:4], "big") or _checksum(packet[:20]) != 0:
        return None
    tcp = packet[20:]
    if _checksum(packet[12:20] + struct.pack("!HH", 6, len(tcp)) + tcp) != 0:
        return None
    end, at, known = (tcp[12] >> 4) * 4, 20, {}
    while at < end and tcp[at] != 0:
        if tcp[at] == 1:
            at += 1
            continue
        if tcp[at + 1] < 2 or at + tcp[at + 1] > end:
            return None
        if tcp[at] in (2, 3, 5, 8):
            known[tcp[at]] = tcp[at + 2 : at + tcp[at + 1]]
        at += tcp[at + 1]
    return tcp[end:], known, int.from_bytes(tcp[14:16], "big")


def _checksum(data: bytes) -> int:
    """RFC 1071; 0 over what has a right one."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def _packets_per_tcp_ack(in_flight: int | None, of_tcp: dict[str, int], window_field_tells: bool = False) -> float:
    """Of 200 packets over one hop, all of the window in one TCP ACK; `in_flight` None: the sender has no shim."""
    flow = core.FlowKey(source="10.0.0.1", destination="10.0.0.2", source_port=40000, destination_port=5001)
    policy = core.FlowPolicy(tcp_ack=dca(whole=True))
    sender = core.Shim(profile="dsss_long", policy=policy)
    receiver = core.Shim(profile="dsss_long", policy=policy, window_field_tells=window_field_tells)
    sent = []
    for packet in range(202):
        now_us = (packet + 1) * GAP_US
        tcp = {"sequence": packet * SEGMENT_BYTES, "payload_bytes": SEGMENT_BYTES, "window_bytes": 65535} | of_tcp
        view = core.IpPacketView(
            flow=flow, ip_bytes=SEGMENT_BYTES + 40, ttl=64, tcp=core.TcpView(has_tcp_ack=True, **tcp)
        )
        header = None
        if in_flight is not None:
            hop = core.NextHop(peer=0, rate_index=1, mpdu_bytes=36 + core.PATH_HEADER_BYTES + view.ip_bytes)
            header = sender.on_originate(now_us, view, hop, packets_in_flight=in_flight)
        receiver.on_receive(now_us, header, view)
        tcp_ack = core.TcpView(has_tcp_ack=True, tcp_ack=(packet + 1) * SEGMENT_BYTES, window_bytes=65535)
        answer = core.IpPacketView(flow=flow.reversed(), ip_bytes=40, ttl=64, tcp=tcp_ack)
        # The first tells the time between packets, so that it goes at once.
        if receiver.on_tcp_ack(now_us, answer) == core.TcpAckAction.pass_ and packet >= 2:
            sent.append(packet)
    return 200 / len(sent) if sent else 0.0


def _table() -> RowVerdict:
    limits = {hops: core.dca_window_limit_packets(core.DcaWindowRule.hop, forward_hops=hops) for hops in range(1, 21)}
    expected = {hops: core.WHOLE_WINDOW_PACKETS if hops <= 3 else 5 if hops <= 9 else 3 for hops in limits}
    words = {hops: "cwnd" if limit == core.WHOLE_WINDOW_PACKETS else str(limit) for hops, limit in limits.items()}
    right = sum(limits[hops] == expected[hops] for hops in limits)
    return _verdict(
        limits == expected,
        f"{right} of {len(limits)} as in the table; "
        + ", ".join(f"{words[hops]} at h = {hops}" for hops in (3, 4, 9, 10)),
    )
