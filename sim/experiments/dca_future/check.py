# SPDX-License-Identifier: GPL-2.0-or-later
"""What paper 001 leaves to future work: its knobs, and window limit and delay window together (row D-31)."""

from __future__ import annotations

import re
from pathlib import Path

from perhop.report.figures import COLOURS, MARKERS, drawing, means_line
from perhop.reproduce.checks import STANDARD, mean_of, percent, window_of, window_word
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, by_seed, gain

WHOLE, WHOLE_PACED = "dca cwnd no resend", "dca cwnd no resend + paced"
LABEL = re.compile(r"(?:cwl (\d+) \+ )?(dca (?:\d+|cwnd) no resend)( \+ paced)?")
# Timers and disorder send TCP ACKs more; one that tells of a gap that fills stands for several.
TCP_ACKS_MORE_MOST, TCP_ACKS_LESS_MOST = 0.25, 0.05
LONG_HOPS_LEAST = 4  # beyond 3 hops bursts collide with themselves
TABLE_I = {3: "dca cwnd no resend", 6: "dca 5 no resend", 10: "dca 3 no resend"}


def check(results: Results | None, folder: Path) -> Check:
    """Each knob moves what it is for; the joint sweep is whole. Nothing is claimed of the best pair."""
    assert results is not None
    rates = by_seed(results)
    all_hops = sorted({hops for hops, _ in rates})
    seeds = {row["seed"] for row in results.flows}
    missing = [key for key, cell in rates.items() if set(cell) != seeds or min(cell.values()) <= 0]
    wrong = [f"{len(missing)} cells lack a seed or deliver nothing"] if missing else []
    wrong += _delay_window(results) + _window_limit(results) + _pacing(results, all_hops)

    lines = [f"{'hops':>4}  best pair of window limit and delay window; Table I's delay window alone; kb/s"]
    told, spread = [], []
    for hops in all_hops:
        pairs = {p: mean_of(cell) for (h, p), cell in rates.items() if h == hops and p.startswith("cwl ")}
        top = max(pairs, key=lambda policy: pairs[policy].value)
        alone = mean_of(rates[hops, TABLE_I[hops]])
        lead = gain(rates[hops, top], rates[hops, TABLE_I[hops]])
        lines.append(
            f"{hops:>4}  {top.removesuffix(' no resend')}: {_kbps(pairs[top])}; "
            f"w = {window_word(TABLE_I[hops])}: {_kbps(alone)}; lead {percent(lead)}"
        )
        told.append(f"{hops} hops: {top.removesuffix(' no resend')}, {percent(lead)} over Table I alone")
        paced = gain(rates[hops, WHOLE_PACED], rates[hops, WHOLE])
        lines.append(f"{'':>4}  w = cwnd, bursts spread over the round trip: {percent(paced)}")
        spread.append(f"{percent(paced)} at {hops} hops")
    measured = (
        f"delay window, window limit and pacing each do what they are for; {len(rates)} cells of {len(seeds)} seeds; "
        f"best pair at {'; '.join(told)}; at w = cwnd bursts spread over the round trip gain {', '.join(spread)}"
    )
    holds = not wrong
    row = RowVerdict("pass" if holds else "fail", measured if holds else "; ".join(wrong))
    lines.append(f"D-31: {row.measured}: {row.verdict}")
    figure = folder / "D-31_joint_sweep.svg"
    _draw(figure, all_hops, {key: mean_of(cell) for key, cell in rates.items()})
    return Check(holds, lines, {}, [figure], {"D-31": row})


def _kbps(value: Mean) -> str:
    return f"{value.value / 1e3:.0f} ± {value.half / 1e3:.0f}"


def _delay_window(results: Results) -> list[str]:
    """A TCP ACK for min(w, limit) packets, on the shortest path, which loses least."""
    shortest = min(row["hops"] for row in results.flows)
    wrong = []
    for (hops, policy), cell in by_seed(results, "tcp_acks_per_packet").items():
        found = LABEL.fullmatch(policy)
        if hops != shortest or not found or (window := window_of(found[2])) is None:
            continue
        expected = 1 / min(window, int(found[1] or window))
        value = mean_of(cell).value
        if not expected * (1 - TCP_ACKS_LESS_MOST) <= value <= expected * (1 + TCP_ACKS_MORE_MOST):
            wrong.append(f"{hops} hops, {policy}: {value:.3f} TCP ACKs a packet, not {expected:.3f}")
    return wrong


def _window_limit(results: Results) -> list[str]:
    """No more packets in flight than the limit."""
    return [
        f"{row['hops']} hops, {row['policy']}: {row['max_packets_in_flight']:.0f} packets in flight"
        for row in results.flows
        if (found := LABEL.fullmatch(row["policy"])) and found[1] and row["max_packets_in_flight"] > int(found[1])
    ]


def _pacing(results: Results, all_hops: list[int]) -> list[str]:
    """Where bursts collide with themselves, the MAC gives up fewer packets when they are spread."""
    drops = by_seed(results, "mac_drops_data_packets")
    delivered = by_seed(results, "delivered_packets")

    def lost(hops: int, policy: str) -> float:
        return sum(drops[hops, policy].values()) / sum(delivered[hops, policy].values())

    return [
        f"{hops} hops: the MAC gives up {lost(hops, WHOLE_PACED):.4f} of the packets when bursts are spread, "
        f"{lost(hops, WHOLE):.4f} otherwise"
        for hops in all_hops
        if hops >= LONG_HOPS_LEAST and lost(hops, WHOLE_PACED) >= lost(hops, WHOLE)
    ]


def _draw(file: Path, all_hops: list[int], rates: dict[tuple[int, str], Mean]) -> None:
    """Goodput over the delay window, a curve a window limit; dashed: no limit, bursts spread."""
    with drawing(file, columns=len(all_hops), height=4.2) as (figure, axes):
        for axis, hops in zip(axes, all_hops, strict=True):
            curves: dict[tuple[str, bool], dict[str, Mean]] = {}
            for (h, policy), value in rates.items():
                if h == hops and (found := LABEL.fullmatch(policy)):
                    name = f"limit {found[1]}" if found[1] else "no limit"
                    curves.setdefault((name, found[3] is not None), {})[window_word(found[2])] = value
            places = ["1", "2", "3", "4", "5", "cwnd"]
            for index, ((name, paced), curve) in enumerate(curves.items()):
                points = [(places.index(window), value) for window, value in curve.items()]
                if paced:
                    axis.plot(
                        [place for place, _ in points],
                        [value.value / 1e3 for _, value in points],
                        MARKERS[index] + "--",
                        color=COLOURS[index],
                        label=f"{name}, paced",
                    )
                else:
                    means_line(axis, points, index, name, 1e-3)
            axis.axhline(rates[hops, STANDARD].value / 1e3, color="#9AA5B1", linewidth=1)
            axis.set_xticks(range(len(places)), places)
            axis.set_title(f"{hops} hops", loc="left")
            axis.set_xlabel("w, packets a TCP ACK stands for")
        axes[0].set_ylabel("kb/s; grey: a TCP ACK a packet, no limit")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
