# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of TCP-DCA and TCP-DAA on the objects of host/core themselves (rows D-01 to D-06, D-21, D-23).

Packets are handed to a receiver's thinner one by one; the local TCP acknowledges each. The expected values are written
from the paper, not from the code.
"""

from __future__ import annotations

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
        "D-04": _timer(),
        "D-05": _told(),
        "D-21": _table(),
        "D-23": _daa(),
    }
    lines = [f"{row}: {verdict.measured}" for row, verdict in rows.items()]
    return Check(all(row.verdict == "pass" for row in rows.values()), lines, {}, [], rows)


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
        holds &= abs(len(receiver.sent) - 240 / effective) <= 1
        holds &= set(receiver.reasons()) == {core.TcpAckReason.window}
        counts.append(f"{len(receiver.sent)} at w = {window} with {in_flight} in flight")
    return _verdict(holds, "TCP ACKs for 240 packets: " + ", ".join(counts))


def _at_once() -> RowVerdict:
    """Packets 10..12 arrive before 9: a duplicate for each; 9 then fills the gap and is told of at once."""
    receiver = Receiver(dca(5))
    steady(receiver, range(9), 8)
    receiver.sent.clear()
    steady(receiver, (10, 11, 12), 8)
    duplicates = [number for _, number, _ in receiver.sent]
    receiver.arrive(9, 8, 1)
    filled = receiver.sent[-1]
    holds = (
        duplicates == [9 * SEGMENT_BYTES] * 3
        and len(receiver.sent) == 4
        and filled[1] == 13 * SEGMENT_BYTES
        and set(receiver.reasons()) == {core.TcpAckReason.disorder}
    )
    return _verdict(holds, f"{len(duplicates)} packets out of order: {len(duplicates)} duplicates; gap filled: at once")


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


def _timer() -> RowVerdict:
    """w = 5, I = 10 ms: a packet that stays alone is told of 75 ms after it came; 500 ms whatever the average is."""
    lone = Receiver(dca(5))
    steady(lone, range(6), 8)  # 0 at once, as no time between packets is known; 1..5 together
    lone.sent.clear()
    # The pause counts as a gap between arrivals, on purpose, and makes the average 208 ms.
    start_us = lone.now_us + 1_000_000
    lone.arrive(6, 8, 1, at_us=start_us)
    lone.wait_until(start_us + 2_000_000)
    hard_us = lone.sent[0][0] - start_us
    hard_reason = lone.sent[0][2]

    quick = Receiver(dca(5))
    steady(quick, range(6), 8)
    quick.sent.clear()
    quick.arrive(6, 8, 1)
    at_us = quick.now_us
    quick.wait_until(at_us + 2_000_000)
    wait_us = quick.sent[0][0] - at_us
    holds = (
        abs(wait_us - 75_000) <= 1
        and quick.sent[0][2] == core.TcpAckReason.delay_timer
        and hard_us == 500_000
        and hard_reason == core.TcpAckReason.hard_limit
    )

    busy = Receiver(dca(5))
    steady(busy, range(2000), 8)
    timer = sum(reason in (core.TcpAckReason.delay_timer, core.TcpAckReason.hard_limit) for reason in busy.reasons())
    holds &= timer / len(busy.sent) < 0.01
    return _verdict(
        holds,
        f"w = 5, I = 10 ms: {wait_us / 1e3:.1f} ms; after a pause {hard_us / 1e3:.0f} ms; "
        f"{timer} of {len(busy.sent)} TCP ACKs of a steady flow come from the timer",
    )


def _told() -> RowVerdict:
    """The path header tells what is in flight; from a sender that tells nothing 5 are assumed. No TCP field is used."""
    counts = {}
    for in_flight in (2, 4, 0):
        receiver = Receiver(dca(whole=True))
        steady(receiver, range(2), in_flight)
        receiver.sent.clear()
        steady(receiver, range(2, 202), in_flight)
        counts[in_flight] = 200 / len(receiver.sent)
    holds = counts == {2: 2.0, 4: 4.0, 0: 5.0}
    told = (
        f"{counts[2]:g} and {counts[4]:g} when the sender tells 2 and 4 in flight, {counts[0]:g} when it tells nothing"
    )
    return _verdict(
        holds, f"packets a TCP ACK: {told}. The path header tells it, not a TCP option; no field of TCP is used for it"
    )


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


def _daa() -> RowVerdict:
    """The window grows from 2 to 4, falls to 2 on disorder; the timer is one average time between packets."""
    receiver = Receiver(core.TcpAckConfig(kind=core.TcpAckKind.daa))
    windows = [receiver.thinner.window_packets]
    for packet in range(40):
        receiver.arrive(packet, 4, 5)
        windows.append(receiver.thinner.window_packets)
    grown = windows[0] == 2 and windows[-1] == 4 and windows == sorted(windows)
    receiver.arrive(41, 4, 5)
    fallen = receiver.thinner.window_packets
    receiver.arrive(40, 4, 5)

    lone = Receiver(core.TcpAckConfig(kind=core.TcpAckKind.daa))
    # 2 packets at once, then groups until the window is 4 and a group has just been told of.
    packet = 0
    while lone.thinner.window_packets < 4 or lone.thinner.holds:
        lone.arrive(packet, 4, 5)
        packet += 1
    lone.sent.clear()
    lone.arrive(packet, 4, 5)
    at_us = lone.now_us
    lone.wait_until(at_us + 1_000_000)
    wait_us = lone.sent[0][0] - at_us
    holds = grown and fallen == 2 and abs(wait_us - GAP_US) <= 1
    return _verdict(
        holds, f"window {windows[0]} to {windows[-1]}, {fallen} on disorder; timer {wait_us / 1e3:.1f} ms at I = 10 ms"
    )
