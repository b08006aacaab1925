# SPDX-License-Identifier: GPL-2.0-or-later
"""Row X-16: audio under DIID is never above the signal, changes seldom, and takes less than it could on average.
Row X-17: the test-bed's steps, as the second and the third flow come, and what DIID makes of the quality's changes.

Three patterns of the wireless LAN nearby, each judged alone: the verdict is a pass only when all of them hold.
Judged under M1, which measures its own bandwidth as the paper's routers do; M2, whose signal moves less, is beside it.
"""

from __future__ import annotations

import itertools
import json
import statistics
from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.study import exact_logs
from perhop.study.check import Check, RowVerdict
from perhop.study.exact_logs import Signal
from perhop.study.results import Results, Row
from perhop.study.summaries import mean

AUDIO = 2
WINDOW_US = 5_000_000
CHANGES_SHARE_MOST = 0.3
PATTERNS = 3  # of the LAN nearby
LONG_BURST_PACKETS = 25
STARTS_S = (0.1, 65.0, 130.0)
SETTLING_S = 10.0
# what the first flow keeps of what it had alone, "1, 1/2, 1/3"; the audio of the third sends smaller packets.
SHARES = ((2, 0.4, 0.6), (3, 0.25, 0.42))
GREEDY_WITHIN = 0.1
REDUCED_MOST = 0.5  # "greatly reduced": less than half of the raw signal's changes


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


def pattern_of(run: Path) -> str:
    """Which LAN a run had."""
    flows = json.loads((run / "run.json").read_text())["flows"]
    most = max((flow["burst_packets"] for flow in flows if flow["kind"] == "cbr"), default=0)
    return "no LAN" if most == 0 else "long bursts" if most >= LONG_BURST_PACKETS else "short bursts"


def steps(results: Results, mode: str, runs: set[str]) -> list[list[float]]:
    """Mean goodput of each flow, kb/s, while one, two and three flows are there."""
    ends = [*STARTS_S[1:], max(row["t_end_s"] for row in results.intervals)]
    spans = list(zip(STARTS_S, ends, strict=True))
    return [
        [
            statistics.fmean(
                row["goodput_bps"] / 1e3
                for row in results.intervals
                if row["sweep.exact.mode"] == mode
                and row["run"] in runs
                and row["flow"] == flow
                and row["t_start_s"] >= start + SETTLING_S
                and row["t_end_s"] <= end
            )
            for flow in range(3)
        ]
        for start, end in spans
    ]


def test_bed(stepped: dict[str, list[list[float]]], share: dict[str, float]) -> RowVerdict:
    """X-17 by pattern of the LAN: each flow's rate with one to three flows, and the share of quality changes left."""
    wrong, told = [], []
    for pattern, step in stepped.items():
        kept = {count: step[count - 1][0] / step[0][0] for count, _, _ in SHARES}
        wrong += [
            f"{pattern}: the first of {count} flows keeps {kept[count]:.2f} of its rate alone"
            for count, least, most in SHARES
            if not least <= kept[count] <= most
        ]
        wrong += [
            f"{pattern}: the greedy of {count} flows get {step[count - 1][0]:.0f} and {step[count - 1][1]:.0f} kb/s"
            for count, _, _ in SHARES
            if abs(step[count - 1][1] / step[count - 1][0] - 1) > GREEDY_WITHIN
        ]
        if share[pattern] >= REDUCED_MOST:
            wrong.append(f"{pattern}: {share[pattern]:.2f} of the quality changes are left")
        told.append(
            f"{pattern}: {step[0][0]:.0f} kb/s alone, then {kept[2]:.2f} and {kept[3]:.2f} of it; "
            f"{share[pattern]:.2f} of the audio's quality changes are left"
        )
    if len(stepped) != PATTERNS:
        wrong.append(f"{len(stepped)} patterns of {PATTERNS}")
    return RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, *told]))


def check(results: Results | None, folder: Path) -> Check:
    """The rules of DIID at every signal of every run; changes and means under M1, the paper's kind of router."""
    assert results is not None
    audio: dict[tuple[str, str], list[Row]] = {}
    rules = {"above": 0, "early": 0, "increases": 0, "decreases": 0}
    series: dict[tuple[str, str], dict[int, list[Signal]]] = {}
    changed: dict[tuple[str, str], list[int]] = {}
    raw_changed: dict[tuple[str, str], list[int]] = {}
    for row in results.flows:
        if row["flow"] != AUDIO:
            continue
        run = exact_logs.run_folder(folder, row)
        key = (pattern_of(run), row["sweep.exact.mode"])
        audio.setdefault(key, []).append(row)
        signals = exact_logs.signals(run)
        series.setdefault(key, signals)
        for name, count in broken(signals[AUDIO]).items():
            rules[name] += count
        pairs = list(itertools.pairwise(signals[AUDIO]))
        changed.setdefault(key, []).append(sum(a.allowed_bps != b.allowed_bps for a, b in pairs))
        raw_changed.setdefault(key, []).append(sum(a.signal_bps != b.signal_bps for a, b in pairs))

    lines = [
        f"DIID: {rules['increases']} increases and {rules['decreases']} decreases of the allowed rate; "
        f"{rules['above']} times above the signal, {rules['early']} times above the least signal of the last 5 s"
    ]
    share: dict[tuple[str, str], float] = {}
    ratio: dict[tuple[str, str], float] = {}
    moves: dict[tuple[str, str], float] = {}
    stepped: dict[tuple[str, str], list[list[float]]] = {}
    for (pattern, mode), rows in audio.items():
        key = (pattern, mode)
        changes = mean(row["rate_changes"] for row in rows)
        raw = mean(row["signal_changes"] for row in rows)
        allowed = mean(row["allowed_rate_bps"] for row in rows)
        signal = mean(row["rate_signal_bps"] for row in rows)
        assert changes is not None and raw is not None and allowed is not None and signal is not None
        # A signal that never asks for another quality leaves nothing to smooth.
        share[key] = changes.value / raw.value if raw.value else 0.0
        ratio[key] = allowed.value / signal.value
        moves[key] = sum(changed[key]) / max(1, sum(raw_changed[key]))
        lines.append(
            f"{pattern}, {mode.upper()}: quality changes {changes.value:.1f} (+-{changes.half:.1f}) instead of "
            f"{raw.value:.1f} (+-{raw.half:.1f}): {share[key]:.3f}; changes of the rate {moves[key]:.3f}; "
            f"allowed {allowed.value / 1e3:.1f} kb/s of a signal of {signal.value / 1e3:.1f} kb/s: {ratio[key]:.3f}"
        )
        stepped[key] = steps(results, mode, {row["run"] for row in rows})
        shape = [
            f"{sum(step):.0f} = {' + '.join(f'{rate:.0f}' for rate in step[: index + 1])}"
            for index, step in enumerate(stepped[key])
        ]
        lines.append(
            f"{pattern}, {mode.upper()}: kb/s with one, two and three flows: {'; '.join(shape)} "
            "(the test-bed's steps, X-17)"
        )
    lines.append(
        "What audio sends dips below its quality where no report came for two round trips: its sender halves the rate."
    )
    figure = folder / "X-16_exact_audio.svg"
    with drawing(figure, columns=2) as (_, (left, right)):
        for flow in range(3):
            signals = series["long bursts", "m1"][flow]
            left.step(
                [s.t_us / 1e6 for s in signals],
                [s.signal_bps / 1e3 for s in signals],
                where="post",
                color=COLOURS[flow],
                linewidth=0.8,
                label=("greedy from 0 s", "greedy from 65 s", "audio from 130 s")[flow],
            )
        left.set_title("Rate signals under M1, long bursts (as Fig. 11)", loc="left")
        left.set_ylim(0, 800)
        left.legend()
        signals = [s for s in series["long bursts", "m1"][AUDIO] if s.t_us > STARTS_S[-1] * 1e6 + 1e6]
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
    verdict = judged(rules, share, ratio, " ".join(lines))

    def by_name(values: dict[tuple[str, str], float]) -> dict[str, float]:
        return {" ".join(key): value for key, value in values.items()}

    numbers = {
        "changes_share": by_name(share),
        "mean_share": by_name(ratio),
        "rate_changes_share": by_name(moves),
        "rules": rules,
    }
    under_m1 = [key for key in share if key[1] == "m1"]
    bed = test_bed(
        {pattern: stepped[pattern, mode] for pattern, mode in under_m1},
        {pattern: share[pattern, mode] for pattern, mode in under_m1},
    )
    lines.append(f"X-17: {bed.measured}: {bed.verdict}")
    passed = verdict.verdict == "pass" and bed.verdict == "pass"
    return Check(passed, lines, numbers, [figure], {"X-16": verdict, "X-17": bed})


def judged(
    rules: dict[str, int],
    share: dict[tuple[str, str], float],
    ratio: dict[tuple[str, str], float],
    evidence: str,
) -> RowVerdict:
    """No rule of DIID is broken; in each pattern M1 has fewer changes than allowed and a mean below the signal's."""
    patterns = [pattern for pattern, mode in share if mode == "m1"]
    passed = rules["above"] == 0 and rules["early"] == 0 and len(patterns) == PATTERNS
    passed = passed and all(share[key, "m1"] < CHANGES_SHARE_MOST and ratio[key, "m1"] < 1 for key in patterns)
    words = [
        f"{pattern}: M1 {share[pattern, 'm1']:.2f} (mean {ratio[pattern, 'm1']:.2f} of the signal's), "
        f"M2 {share[pattern, 'm2']:.2f} ({ratio[pattern, 'm2']:.2f})"
        for pattern in patterns
    ]
    return RowVerdict(
        "pass" if passed else "finding",
        f"{rules['above']} times above the signal, {rules['early']} early of {rules['increases']} increases; quality "
        f"changes over those of the raw signal (M1 is to be below {CHANGES_SHARE_MOST} in each): {'; '.join(words)}",
        evidence=evidence,
    )
