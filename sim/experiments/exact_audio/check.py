# SPDX-License-Identifier: GPL-2.0-or-later
"""Row X-16: audio under DIID is never above the signal, changes seldom, and takes less than it could on average.

Judged under M1, which measures its own bandwidth as the paper's routers do; M2, whose signal moves less, is beside it.
"""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path

from perhop import exact_logs
from perhop.exact_logs import Signal
from perhop.figures import COLOURS, drawing
from perhop.results import Results, Row
from perhop.rows import mean
from perhop.studies import Check, RowVerdict

AUDIO = 2
WINDOW_US = 5_000_000
CHANGES_SHARE_MOST = 0.3
STARTS_S = (0.1, 65.0, 130.0)
SETTLING_S = 10.0


def broken(series: list[Signal]) -> dict[str, int]:
    """How often each rule of DIID was broken; and how many increases there were."""
    found = {"above": 0, "early": 0, "increases": 0, "decreases": 0}
    # Signals of a window, oldest first; the one in force when it began belongs to it.
    window: list[tuple[int, int]] = []
    before = None
    for signal in series:
        window.append((signal.t_us, signal.signal_bps))
        while len(window) > 1 and window[1][0] <= signal.t_us - WINDOW_US:
            window.pop(0)
        found["above"] += signal.allowed_bps > signal.signal_bps or signal.app_bps > signal.signal_bps
        if before is not None and signal.allowed_bps > before:
            found["increases"] += 1
            found["early"] += (
                signal.allowed_bps > min(rate for _, rate in window) or window[0][0] > signal.t_us - WINDOW_US
            )
        if before is not None and signal.allowed_bps < before:
            found["decreases"] += 1
        before = signal.allowed_bps
    return found


def steps(results: Results, mode: str) -> list[list[float]]:
    """Mean goodput of each flow, kb/s, while one, two and three flows are there."""
    ends = [*STARTS_S[1:], max(row["t_end_s"] for row in results.intervals)]
    spans = list(zip(STARTS_S, ends, strict=True))
    return [
        [
            statistics.fmean(
                row["goodput_bps"] / 1e3
                for row in results.intervals
                if row["sweep.exact.mode"] == mode
                and row["flow"] == flow
                and row["t_start_s"] >= start + SETTLING_S
                and row["t_end_s"] <= end
            )
            for flow in range(3)
        ]
        for start, end in spans
    ]


def check(results: Results | None, folder: Path) -> Check:
    """The rules of DIID at every signal of every run; changes and means under M1, the paper's kind of router."""
    assert results is not None
    audio: dict[str, list[Row]] = {}
    rules = {"above": 0, "early": 0, "increases": 0, "decreases": 0}
    series: dict[str, dict[int, list[Signal]]] = {}
    changed: dict[str, list[int]] = {}
    raw_changed: dict[str, list[int]] = {}
    for row in results.flows:
        if row["flow"] != AUDIO:
            continue
        mode = row["sweep.exact.mode"]
        audio.setdefault(mode, []).append(row)
        signals = exact_logs.signals(exact_logs.run_folder(folder, row))
        series.setdefault(mode, signals)
        for name, count in broken(signals[AUDIO]).items():
            rules[name] += count
        pairs = list(itertools.pairwise(signals[AUDIO]))
        changed.setdefault(mode, []).append(sum(a.allowed_bps != b.allowed_bps for a, b in pairs))
        raw_changed.setdefault(mode, []).append(sum(a.signal_bps != b.signal_bps for a, b in pairs))

    lines = [
        f"DIID: {rules['increases']} increases and {rules['decreases']} decreases of the allowed rate; "
        f"{rules['above']} times above the signal, {rules['early']} times above the least signal of the last 5 s"
    ]
    share: dict[str, float] = {}
    ratio: dict[str, float] = {}
    moves: dict[str, float] = {}
    for mode, rows in audio.items():
        changes = mean(row["rate_changes"] for row in rows)
        raw = mean(row["signal_changes"] for row in rows)
        allowed = mean(row["allowed_rate_bps"] for row in rows)
        signal = mean(row["rate_signal_bps"] for row in rows)
        assert changes is not None and raw is not None and allowed is not None and signal is not None
        share[mode] = changes.value / raw.value if raw.value else 1.0
        ratio[mode] = allowed.value / signal.value
        moves[mode] = sum(changed[mode]) / max(1, sum(raw_changed[mode]))
        lines.append(
            f"{mode.upper()}: quality changes {changes.value:.1f} (+-{changes.half:.1f}) instead of {raw.value:.1f} "
            f"(+-{raw.half:.1f}): {share[mode]:.3f}; changes of the rate {moves[mode]:.3f}; "
            f"allowed {allowed.value / 1e3:.1f} kb/s of a signal of {signal.value / 1e3:.1f} kb/s: {ratio[mode]:.3f}"
        )
        shape = [
            f"{sum(step):.0f} = {' + '.join(f'{rate:.0f}' for rate in step[: index + 1])}"
            for index, step in enumerate(steps(results, mode))
        ]
        lines.append(
            f"{mode.upper()}: kb/s with one, two and three flows: {'; '.join(shape)} (the test-bed's steps, X-17)"
        )
    lines.append(
        "What audio sends dips below its quality where no report came for two round trips: its sender halves the rate."
    )
    figure = folder / "X-16_exact_audio.svg"
    with drawing(figure, columns=2) as (_, (left, right)):
        for flow in range(3):
            signals = series["m1"][flow]
            left.step(
                [s.t_us / 1e6 for s in signals],
                [s.signal_bps / 1e3 for s in signals],
                where="post",
                color=COLOURS[flow],
                linewidth=0.8,
                label=("greedy from 0 s", "greedy from 65 s", "audio from 130 s")[flow],
            )
        left.set_title("Rate signals under M1 (as Fig. 11)", loc="left")
        left.set_ylim(0, 800)
        left.legend()
        signals = [s for s in series["m1"][AUDIO] if s.t_us > STARTS_S[-1] * 1e6 + 1e6]
        times = [s.t_us / 1e6 for s in signals]
        right.step(
            times, [s.signal_bps / 1e3 for s in signals], where="post", color="#C9D1D9", linewidth=0.8, label="signal"
        )
        right.step(
            times, [s.allowed_bps / 1e3 for s in signals], where="post", color=COLOURS[0], label="allowed by DIID"
        )
        right.step(times, [s.app_bps / 1e3 for s in signals], where="post", color=COLOURS[1], label="audio sends")
        right.set_title("Audio under M1, T = 5 s (as Fig. 12)", loc="left")
        right.set_ylim(bottom=0)
        right.legend()
        for axis in (left, right):
            axis.set_xlabel("s")
            axis.set_ylabel("kb/s")
    passed = rules["above"] == 0 and rules["early"] == 0 and share["m1"] < CHANGES_SHARE_MOST and ratio["m1"] < 1
    verdict = RowVerdict(
        "pass" if passed else "finding",
        f"never above the signal ({rules['increases']} increases, all to what 5 s sustained); quality "
        f"changes {share['m1']:.2f} of the raw signal's (below {CHANGES_SHARE_MOST}), changes of the rate "
        f"{moves['m1']:.2f} of the signal's; mean {ratio['m1']:.2f} of the signal's (M1). M2: {share['m2']:.2f}, "
        f"{moves['m2']:.2f}, {ratio['m2']:.2f}",
        evidence=" ".join(lines),
    )
    numbers = {"changes_share": share, "mean_share": ratio, "rate_changes_share": moves, "rules": rules}
    return Check(passed, lines, numbers, [figure], {"X-16": verdict})
