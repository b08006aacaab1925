# SPDX-License-Identifier: GPL-2.0-or-later
"""DCA's delay timer: its length, packet by packet, and how many TCP ACKs it sends on the air (row D-04 of paper 001).

The timer is a fall-back: below 1 % of the TCP ACKs of a steady flow without losses may come from it.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from perhop import core
from perhop.report.figures import COLOURS, MARKERS, drawing
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row

SEGMENT_BYTES = 1000
GAP_US = 10_000
ALPHA = 1.5
HARD_LIMIT_MS = 500.0
SHARE_BELOW = 0.01
# Of data. TCP ACKs that the timer sends in the midst of data may collide, and be given up by the MAC.
NO_LOSS = ("retransmissions", "mac_drops_data_packets", "queue_drops_data_packets")


@dataclass(frozen=True)
class Cell:
    """One length and window; means over the seeds."""

    hops: int
    window_packets: int
    share: float  # of the TCP ACKs that the timer sent
    fill_ms: float  # in which a window of packets arrives
    goodput_bps: float
    lossless: bool

    @property
    def name(self) -> str:
        return f"{self.share:.1%} at h = {self.hops} with {self.window_packets} packets"


def check(results: Results | None, folder: Path) -> Check:
    """Vectors of the timer to the microsecond; below 1 % of the TCP ACKs of every steady flow without losses by it."""
    assert results is not None
    wait_us, pause_wait_us = _lone_packet_us(pause_us=0), _lone_packet_us(pause_us=1_000_000)
    length_holds = abs(wait_us - ALPHA * 5 * GAP_US) <= 1 and pause_wait_us == 1000 * HARD_LIMIT_MS
    cells = _cells(results)
    judged = [cell for cell in cells if cell.lossless]
    often = [cell for cell in judged if cell.share >= SHARE_BELOW]
    measured = (
        f"w = 5, I = 10 ms: {wait_us / 1e3:.1f} ms; after a pause {pause_wait_us / 1e3:.0f} ms; of the TCP ACKs of "
        f"{len(judged)} steady flows without losses the timer sends "
        + (", ".join(cell.name for cell in often) + ", elsewhere " if often else "")
        + f"at most {max((cell.share for cell in judged if cell not in often), default=0.0):.2%}"
    )
    others = [cell for cell in cells if not cell.lossless and cell.share >= SHARE_BELOW]
    if others:
        measured += f"; not judged, as packets are lost: {', '.join(cell.name for cell in others)}"
    # What the evidence speaks of: the limit of 500 ms lies before the window is full.
    known = often and all(cell.fill_ms > HARD_LIMIT_MS for cell in often)
    verdict = "fail" if not length_holds or not judged else "pass" if not often else "finding" if known else "fail"
    lines = [
        f"h = {cell.hops}, {cell.window_packets:>3} packets: {cell.share:6.1%} by the timer, a window fills in "
        f"{cell.fill_ms:.0f} ms, {cell.goodput_bps / 1e3:.0f} kb/s{'' if cell.lossless else ', with losses'}"
        for cell in cells
    ]
    evidence = _evidence(often, judged) if verdict == "finding" else ""
    figure = folder / "D-04_timer.svg"
    _draw(figure, cells)
    row = RowVerdict(verdict, measured, evidence=evidence)
    return Check(verdict != "fail", lines, {}, [figure], {"D-04": row})


def _evidence(often: list[Cell], judged: list[Cell]) -> str:
    """The row asks for two things that exclude each other where a window takes longer than 500 ms to arrive."""
    filled = ", ".join(f"{c.fill_ms:.0f} ms at h = {c.hops} with {c.window_packets}" for c in often)
    within = [cell for cell in judged if cell.fill_ms <= HARD_LIMIT_MS]
    costs = []
    for cell in often:
        best = max((other for other in within if other.hops == cell.hops), key=lambda other: other.goodput_bps)
        costs.append(
            f"{cell.goodput_bps / 1e3:.0f} kb/s at h = {cell.hops} with {cell.window_packets} packets, "
            f"{best.goodput_bps / 1e3:.0f} with {best.window_packets}"
        )
    return (
        f"All of them are of windows that take longer to arrive than the 500 ms that RFC 2581 allows ({filled}), which "
        f"equation 2 keeps: not 1.5 w I but this limit sends them. In the {len(within)} flows whose window arrives in "
        f"time the timer sends {max(cell.share for cell in within):.2%} at most. So w = cwnd, Table I's choice up to "
        "3 hops, and a limit of 500 ms exclude each other for large windows, of which the paper says nothing. What it "
        f"comes to: {'; '.join(costs)}."
    )


def _cells(results: Results) -> list[Cell]:
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in results.flows:
        groups.setdefault((row["hops"], int(row["sweep.flows.0.max_window_packets"])), []).append(row)
    cells = []
    for (hops, window), rows in sorted(groups.items()):
        sent = sum(row["tcp_acks_sent"] for row in rows)
        by_timer = sum(row["tcp_acks_sent"] * row["tcp_acks_timer_share"] for row in rows)
        fill_ms = statistics.fmean(
            min(window, row["cwnd_packets"]) * SEGMENT_BYTES * 8e3 / row["goodput_bps"] for row in rows
        )
        goodput_bps = statistics.fmean(row["goodput_bps"] for row in rows)
        lossless = not any(row[name] for row in rows for name in NO_LOSS)
        cells.append(Cell(hops, window, by_timer / sent, fill_ms, goodput_bps, lossless))
    return cells


def _lone_packet_us(pause_us: int) -> int:
    """How long the sixth packet, 10 ms or a pause after five, waits for a window of five that never comes."""
    config = core.TcpAckConfig(kind=core.TcpAckKind.dca, fixed_window_packets=5, tcp_ack_retransmission=False)
    receiver = core.DelayedTcpAck(config)
    now_us = 0
    # The first goes at once, as no time between packets is known; five more are a window.
    for packet in range(7):
        now_us += GAP_US if packet < 6 or not pause_us else pause_us
        sequence = packet * SEGMENT_BYTES
        receiver.on_data(
            now_us,
            core.DataArrival(sequence=sequence, payload_bytes=SEGMENT_BYTES, packets_in_flight=8, forward_hops=1),
        )
        receiver.on_tcp_ack(now_us, core.TcpAckDeparture(tcp_ack=sequence + SEGMENT_BYTES, window_bytes=65535))
    assert receiver.deadline_us is not None
    return receiver.deadline_us - now_us


def _draw(file: Path, cells: list[Cell]) -> None:
    with drawing(file, height=3.8) as (figure, (axis,)):
        for index, hops in enumerate(sorted({cell.hops for cell in cells})):
            own = [cell for cell in cells if cell.hops == hops]
            axis.plot(
                [cell.fill_ms for cell in own],
                [100 * cell.share for cell in own],
                MARKERS[index] + "-",
                color=COLOURS[index],
                label=f"{hops} hops" if hops > 1 else "1 hop",
            )
        axis.axvline(HARD_LIMIT_MS, color="#000000", ls="--", label="500 ms")
        axis.set(xlabel="time in which a window arrives, ms", ylabel="% of TCP ACKs")
        axis.set_ylim(bottom=0)
        axis.set_title("TCP ACKs that the timer sends", loc="left")
        figure.legend(loc="outside lower center", ncols=4)
