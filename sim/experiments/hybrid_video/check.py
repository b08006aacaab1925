# SPDX-License-Identifier: GPL-2.0-or-later
"""Row S-05: what a file and a video stream do to each other on their way to a wired server."""

from __future__ import annotations

from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean, mean

FILE_BYTES = 8_000_000
HARMLESS_LEAST = 0.9  # of what TCP has without video
ALONE, TFRC = 0, -1  # in place of a rate in kb/s

Key = tuple[float, int]  # one-way delay of the wire in ms, rate of the video in kb/s


def video_kbps(rows: list[Row]) -> int:
    """The rate at which the video of a run is sent; what has feedback has none of its own."""
    if len(rows) == 1:
        return ALONE
    return TFRC if rows[1]["kind"] == "tfrc" else round(_sent_bps(rows[1]) / 1e4) * 10


def _sent_bps(row: Row) -> float:
    """From what was delivered and lost, and what left: payload of 1460 bytes."""
    return row["sent_packets"] * 8 * 1460 / row["measured_s"]


def check(results: Results | None, folder: Path) -> Check:
    """80 kb/s are harmless, 540 hurt, and 800 block themselves, so that TCP is better off than beside 540."""
    assert results is not None
    measured_s = {row["run"]: row["measured_s"] for row in results.runs}
    runs: dict[str, list[Row]] = {}
    for row in results.flows:
        runs.setdefault(row["run"], []).append({**row, "measured_s": measured_s[row["run"]]})
    done_s = {run: rows[0]["completion_s"] or measured_s[run] for run, rows in runs.items()}
    packets: dict[str, list[float]] = {run: [0.0, 0.0] for run in runs}
    for row in results.intervals:
        if row["flow"] == 1 and row["t_end_s"] <= done_s[row["run"]]:
            packets[row["run"]][0] += row["sent_packets"]
            packets[row["run"]][1] += row["delivered_packets"]

    tcp: dict[Key, list[float]] = {}
    delivered: dict[Key, list[float]] = {}
    for run, rows in runs.items():
        key = (rows[0]["sweep.wires.0.delay_ms"], video_kbps(rows))
        completion_s = rows[0]["completion_s"]
        rate_bps = FILE_BYTES * 8 / completion_s if completion_s else rows[0]["goodput_bps"]
        tcp.setdefault(key, []).append(rate_bps)
        if len(rows) > 1 and packets[run][0]:
            delivered.setdefault(key, []).append(packets[run][1] / packets[run][0])
    rates = {key: _mean(values) for key, values in tcp.items()}
    ratios = {key: _mean(values) for key, values in delivered.items()}

    delays = sorted({delay for delay, _ in rates})
    broken = [f"at {delay:g} ms {what}" for delay in delays for what in _broken(delay, rates, ratios)]
    words = [
        f"{delay:g} ms: TCP {' '.join(f'{rates[delay, kbps].value / 1e3:.0f}' for kbps in (ALONE, 80, 540, 800))} kb/s "
        f"beside 0, 80, 540, 800; video delivered {ratios[delay, 540].value:.0%} at 540, "
        f"{ratios[delay, 800].value:.0%} at 800"
        for delay in delays
    ]
    row = RowVerdict(
        "fail" if broken else "pass",
        "; ".join(words) + (f". Broken: {', '.join(broken)}" if broken else ""),
        interval=f"means of {rates[delays[0], ALONE].count} seeds",
    )
    lines = [
        f"{delay:3g} ms, video {'none' if kbps == ALONE else 'TFRC' if kbps == TFRC else f'{kbps} kb/s'}: "
        f"TCP {rate.value / 1e3:.0f} ± {rate.half / 1e3:.0f} kb/s"
        + (f", video delivered {ratios[delay, kbps].value:.1%}" if (delay, kbps) in ratios else "")
        for (delay, kbps), rate in sorted(rates.items())
    ]
    figure = folder / "S-05_video.svg"
    with drawing(figure, height=4.0) as (drawn, (axis,)):
        for index, delay in enumerate(delays):
            points = [(kbps, rate) for (at, kbps), rate in sorted(rates.items()) if at == delay and kbps != TFRC]
            means_line(axis, points, index, f"wire of {delay:g} ms", 1e-3)
        axis.set(xlabel="rate of the video, kb/s", ylabel="TCP, kb/s")
        axis.set_ylim(bottom=0)
        axis.set_title("A file beside video", loc="left")
        drawn.legend(loc="outside lower center", ncols=3)
    numbers = {f"{delay:g} ms, {kbps}": round(rate.value) for (delay, kbps), rate in sorted(rates.items())}
    return Check(not broken, lines, {"tcp_bps": numbers}, [figure], {"S-05": row})


def _broken(delay: float, tcp: dict[Key, Mean], delivered: dict[Key, Mean]) -> list[str]:
    """Which of the row's four relations do not hold."""

    def rate(kbps: int) -> float:
        return tcp[delay, kbps].value

    relations = {
        "80 kb/s are not harmless": rate(80) > HARMLESS_LEAST * rate(ALONE),
        "540 kb/s do not hurt": rate(540) < rate(80),
        "800 kb/s hurt more than 540": rate(800) > rate(540),
        "800 kb/s do not block themselves": delivered[delay, 800].value < delivered[delay, 540].value,
    }
    return [what for what, holds in relations.items() if not holds]


def _mean(values: list[float]) -> Mean:
    found = mean(values)
    assert found is not None
    return found
