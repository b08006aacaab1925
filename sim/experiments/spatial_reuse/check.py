# SPDX-License-Identifier: GPL-2.0-or-later
"""Which links of a chain carry a packet at once, by ranges and in traces (row B-05); one packet a link (row B-03)."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from pathlib import Path

from perhop.registers import spec_generated as spec
from perhop.report.figures import COLOURS, drawing
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

DATA, MAC_ACK = 2, 3
MOST_HOPS = 20
SPACING_M, TX_RANGE_M = 250, 250
# Interference range, and the share of the links that the paper says can be used at once.
PAPER = ((550, 4), (490, 3))
NO_CAPTURE_DB = 200
LARGEST_MAC_ACK_GAP_US = 20
LEAST_DATA_BYTES = 1000  # of a TCP data packet's MPDU; TCP ACKs go the other way


@dataclass(frozen=True)
class Frame:
    """A DATA frame of the trace."""

    start_us: int
    end_us: int
    node: int
    to: int
    psdu_bytes: int
    sequence: int
    mac_acked: bool


def check(results: Results | None, folder: Path) -> Check:
    """Both rows from the traces, B-05 from the ranges as well."""
    assert results is not None
    wrong_reuse, wrong_pairs, seen, frames_checked = [], [], {}, 0
    for hops, (range_m, every) in itertools.product(range(1, MOST_HOPS + 1), PAPER):
        if (most := most_at_once(hops, range_m)) != -(-hops // every):
            wrong_reuse.append(f"{hops} hops, {range_m} m: {most} by the ranges, not {-(-hops // every)}")
    shown = None
    for row in results.flows:
        trace = folder / "runs" / row["run"] / "trace.txt"
        frames, second, unacked = _read(trace)
        frames_checked += len(frames)
        if second:
            wrong_pairs.append(f"{row['label']}: {second} frames before the one ahead of them was done")
        if unacked:
            wrong_pairs.append(f"{row['label']}: {unacked} packets done without their MAC ACK on the air")
        forward = [f for f in frames if f.mac_acked and f.psdu_bytes >= LEAST_DATA_BYTES]
        at_once, when_us = _most_at_once(forward)
        key = (row["sweep.medium.cs_range_m"], row["sweep.medium.capture_ratio_db"])
        seen[key] = at_once
        every = dict(PAPER)[key[0]]
        bound = -(-row["hops"] // every)
        if key[1] == NO_CAPTURE_DB and at_once != bound:
            wrong_reuse.append(f"trace, {key[0]} m: {at_once} links at once, not {bound}")
        if key == (PAPER[0][0], NO_CAPTURE_DB):
            shown = (forward, when_us, row["hops"])
    trace_text = "; ".join(
        f"{range_m} m, capture {'off' if capture_db == NO_CAPTURE_DB else f'{capture_db} dB'}: {count}"
        for (range_m, capture_db), count in seen.items()
    )
    measured = (
        f"by the ranges ceil(h/4) at 550 m and ceil(h/3) at 490 m for every h up to {MOST_HOPS}; most links at once in "
        f"the traces of 15 hops: {trace_text}"
    )
    reuse = RowVerdict("fail", "; ".join([*wrong_reuse, measured])) if wrong_reuse else RowVerdict("pass", measured)
    text = (
        f"{frames_checked:,} DATA frames: none starts before the one ahead of it on its link is MAC-ACKed or given up; "
        "each delivery has its MAC ACK on the air"
    )
    pairs = RowVerdict("fail", "; ".join(wrong_pairs)) if wrong_pairs else RowVerdict("pass", text)
    rows = {"B-03": pairs, "B-05": reuse}
    lines = [f"{row}: {verdict.measured}: {verdict.verdict}" for row, verdict in rows.items()]
    figure = folder / "B-05_links_at_once.svg"
    if shown:
        _draw(figure, *shown)
    return Check(all(row.verdict == "pass" for row in rows.values()), lines, {}, [figure] if shown else [], rows)


def most_at_once(hops: int, interference_m: float) -> int:
    """The largest set of forward links of a chain in which no sender lies within reach of another link's receiver."""
    assert SPACING_M <= TX_RANGE_M

    def disturbs(sender: int, receiver: int) -> bool:
        return abs(sender - receiver) * SPACING_M <= interference_m

    best = [0] * (
        hops + 1
    )  # of the links from this one on; a set's members are then in order, and only neighbours matter
    for link in reversed(range(hops)):
        free = (
            other for other in range(link + 1, hops) if not disturbs(other, link + 1) and not disturbs(link, other + 1)
        )
        best[link] = max(best[link + 1], 1 + best[next(free, hops)])
    return best[0]


def _read(trace: Path) -> tuple[list[Frame], int, int]:
    """The DATA frames; how many started while another packet of their node was not done; deliveries without MAC ACK."""
    frames: list[Frame] = []
    waiting: dict[int, int] = {}  # node whose MAC ACK is due -> place in frames
    last: dict[int, int] = {}  # node -> place of the DATA frame that it sent last
    open_sequence: dict[int, int] = {}
    done_us: dict[int, int] = {}  # node -> when it was done with a packet
    second = unacked = 0
    with trace.open(encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if words[0] == "C":
                node, sequence, result = (int(words[place]) for place in (2, 5, 8))
                if result == spec.TxResult.DELIVERED:
                    frame = frames[last[node]] if node in last else None
                    unacked += frame is None or frame.sequence != sequence or not frame.mac_acked
                open_sequence.pop(node, None)
                done_us[node] = int(words[1])
                continue
            start, end, node, kind = (int(word) for word in words[1:5])
            if kind == DATA:
                sequence, to = int(words[10]), int(words[8], 16) - spec.NODE_ADDRESS_BASE - 1
                if open_sequence.setdefault(node, sequence) != sequence or start < done_us.get(node, 0):
                    second += 1
                waiting[to] = last[node] = len(frames)
                frames.append(Frame(start, end, node, to, int(words[6]), sequence, False))
            elif kind == MAC_ACK and node in waiting:
                place = waiting.pop(node)
                frame = frames[place]
                if 0 < start - frame.end_us <= LARGEST_MAC_ACK_GAP_US:
                    frames[place] = Frame(**{**frame.__dict__, "mac_acked": True})
    return frames, second, unacked


def _most_at_once(frames: list[Frame]) -> tuple[int, int]:
    """How many of the frames are on the air at once at most, and when."""
    ends: list[int] = []
    most, when_us = 0, 0
    for frame in sorted(frames, key=lambda frame: frame.start_us):
        while ends and ends[0] <= frame.start_us:
            heapq.heappop(ends)
        heapq.heappush(ends, frame.end_us)
        if len(ends) > most:
            most, when_us = len(ends), frame.start_us
    return most, when_us


def _draw(file: Path, frames: list[Frame], when_us: int, hops: int) -> None:
    around = [frame for frame in frames if abs(frame.start_us - when_us) < 60_000]
    with drawing(file) as (_, [axis]):
        for frame in around:
            axis.barh(
                frame.node,
                (frame.end_us - frame.start_us) / 1e3,
                left=(frame.start_us - when_us) / 1e3,
                height=0.8,
                color=COLOURS[frame.node % 4],
            )
        axis.axvline(0, color="#7F7F7F", linewidth=1)
        axis.set_ylim(-0.6, hops - 0.4)
        axis.set_title(
            "Data on the links of 15 hops, around the moment with most at once (550 m, no capture)", loc="left"
        )
        axis.set_xlabel("ms")
        axis.set_ylabel("link, by its sender")
