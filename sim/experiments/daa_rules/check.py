# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP-DAA, the baseline of paper 001 (row D-23): the receiver packet by packet, the sender by what it does on the air.

Receiver: one TCP ACK for 2 packets, up to 4 while nothing is lost, 2 again on disorder; a timer of one average time
between packets by paper 001, of 2.5 by its own papers, which begin with 1 packet. Sender: a window of 4 packets, a
retransmission after 2 duplicate TCP ACKs, five times the timeout.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from perhop import core
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row

SEGMENT_BYTES = 1000
GAP_US = 10_000
WINDOW_MOST = 4
TIMEOUT_FACTOR, FACTOR_TOLERANCE = 5.0, 0.25
# Of lost packets: with two duplicate TCP ACKs each, DAA retransmits most at once, and a threshold of three hardly any.
AT_ONCE_LEAST, AT_ONCE_OTHERS_MOST = 0.6, 0.2
CUTS_S = (10.0, 40.0)
TCP, DAA = "cwl 4", "daa"
SHORT_TCP, SHORT_DAA = "cwl 3", "cwl 3 + daa"


def check(results: Results | None, folder: Path) -> Check:
    """Each rule of receiver and sender."""
    assert results is not None
    wrong, measured = _receiver()
    cut = [row for row in results.flows if "link_down" in str(row["sweep.events"])]
    lossy = [row for row in results.flows if row not in cut]

    windows = [row["max_packets_in_flight"] for row in cut if row["policy"] == DAA]
    if not windows or set(windows) != {WINDOW_MOST}:
        wrong.append(f"up to {max(windows, default=0):.0f} packets in flight")
    gaps_s = {policy: _gaps_s(results, cut, policy) for policy in (TCP, DAA)}
    mean_s = {policy: statistics.fmean(gaps) if gaps else 0.0 for policy, gaps in gaps_s.items()}
    factor = mean_s[DAA] / mean_s[TCP] if mean_s[TCP] else 0.0
    if abs(factor - TIMEOUT_FACTOR) > FACTOR_TOLERANCE or any(
        len(gaps) != len(windows) * 2 for gaps in gaps_s.values()
    ):
        wrong.append(f"{factor:.2f} times the timeout")
    at_once = {policy: _at_once(lossy, policy) for policy in (SHORT_TCP, SHORT_DAA)}
    if at_once[SHORT_DAA] < AT_ONCE_LEAST or at_once[SHORT_TCP] > AT_ONCE_OTHERS_MOST:
        wrong.append("not the threshold of two duplicates")
    measured += (
        f"; sender: at most {max(windows, default=0):.0f} packets in flight; after a cut it sends again "
        f"{mean_s[DAA]:.2f} s later, TCP {mean_s[TCP]:.2f} s ({factor:.2f} times); with two duplicate TCP ACKs it "
        f"mends {at_once[SHORT_DAA]:.0%} of the losses at once, TCP {at_once[SHORT_TCP]:.0%}"
    )
    row = RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]))
    return Check(not wrong, [f"D-23: {row.measured}"], rows={"D-23": row})


def _receiver() -> tuple[list[str], str]:
    """What is wrong with the receiver, by paper 001's account and by its own papers', and what was measured."""
    wrong, told = [], []
    for profile, first, gaps in ((core.DaaProfile.as_in_001, 2, 1.0), (core.DaaProfile.own_papers, 1, 2.5)):
        windows, fallen, wait_us = _grow_and_wait(core.TcpAckConfig(kind=core.TcpAckKind.daa, profile=profile))
        if (windows[0], windows[-1], fallen) != (first, WINDOW_MOST, 2) or windows != sorted(windows):
            wrong.append(f"windows {windows[0]} to {windows[-1]}, {fallen} on disorder")
        if abs(wait_us - gaps * GAP_US) > 1:
            wrong.append(f"a timer of {wait_us / 1e3:.1f} ms")
        told.append(f"window {windows[0]} to {windows[-1]}, {fallen} on disorder, timer {wait_us / 1e3:.1f} ms")
    return wrong, f"receiver by paper 001: {told[0]} at I = 10 ms; by its own papers: {told[1]}"


def _grow_and_wait(config: core.TcpAckConfig) -> tuple[list[int], int, int]:
    """The window as it grows, the window after disorder, and how long one packet waits for others that never come."""
    receiver = core.DelayedTcpAck(config)
    windows = [receiver.window_packets]
    for packet in range(40):
        _arrive(receiver, packet, packet)
        windows.append(receiver.window_packets)
    _arrive(receiver, 41, 40)
    fallen = receiver.window_packets

    lone = core.DelayedTcpAck(config)
    # Until the window is 4 and a group has just been told of: the packet after it stays alone.
    packet = 0
    while lone.window_packets < WINDOW_MOST or lone.holds:
        _arrive(lone, packet, packet)
        packet += 1
    now_us = _arrive(lone, packet, packet)
    return windows, fallen, lone.deadline_us - now_us if lone.deadline_us is not None else 0


def _arrive(receiver: core.DelayedTcpAck, packet: int, last_in_order: int) -> int:
    """Packet number `packet` arrives, 10 ms after the one before; the local TCP acknowledges up to `last_in_order`."""
    now_us = (packet + 1) * GAP_US
    arrival = core.DataArrival(
        sequence=packet * SEGMENT_BYTES, payload_bytes=SEGMENT_BYTES, packets_in_flight=WINDOW_MOST, forward_hops=5
    )
    receiver.on_data(now_us, arrival)
    tcp_ack = min(packet, last_in_order - 1 if packet > last_in_order else packet) + 1
    receiver.on_tcp_ack(now_us, core.TcpAckDeparture(tcp_ack=tcp_ack * SEGMENT_BYTES, window_bytes=65535))
    return now_us


def _gaps_s(results: Results, cut: list[Row], policy: str) -> list[float]:
    """From each cut to the first packet that arrives after the link is back."""
    gaps = []
    for flow in (row for row in cut if row["policy"] == policy):
        arrivals_s = [
            row["t_start_s"] for row in results.intervals if row["run"] == flow["run"] and (row["goodput_bps"] or 0) > 0
        ]
        for at_s in CUTS_S:
            after = [t for t in arrivals_s if t >= at_s + 0.5]
            gaps += [min(after) - at_s] if after else []
    return gaps


def _at_once(rows: list[Row], policy: str) -> float:
    """Of the packets that the MAC lost, the share that was sent again before a timeout."""
    own = [row for row in rows if row["policy"] == policy]
    lost = sum(row["mac_drops_data_packets"] for row in own)
    fast = sum(row["retransmissions"] - row["timeouts"] for row in own)
    return fast / lost if lost else 0.0
