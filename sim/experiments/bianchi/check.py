# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the measured saturation throughput with the model's, and draws both."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from model import Setting, predict
from perhop.registers import spec_generated as spec
from perhop.report.figures import COLOURS, MARKERS, RC, write_figure
from perhop.study.check import Check
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean, mean

TOLERANCE = 0.03
IP_BYTES = 1500
DATA_RATE_INDEX = 1  # 2 Mb/s
NEVER_RTS = 4095


def check(results: Results, folder: Path) -> Check:
    """Throughput of every n, with basic access and RTS/CTS, within `TOLERANCE` of the model."""
    runs: dict[tuple[int, int], dict[str, list[Row]]] = {}
    for row in results.flows:
        key = (int(row["sweep.mac.rts_threshold_bytes"]), int(row["sweep.topology.stations"]))
        runs.setdefault(key, {}).setdefault(row["run"], []).append(row)

    header = f"{'access':<7} {'n':>3} {'measured kb/s':>18} {'model kb/s':>11} {'error':>7} {'model p':>8}"
    lines = [header]
    passed, cases, curves = True, [], {}
    for (threshold, stations), of_run in runs.items():
        access = "basic" if threshold == NEVER_RTS else "RTS/CTS"
        measured = mean(sum(row["goodput_bps"] for row in rows) for rows in of_run.values())
        assert measured is not None
        profile = next(iter(of_run.values()))[0]["profile"]
        model = predict(
            Setting(
                profile=profile,
                data_rate_index=DATA_RATE_INDEX,
                stations=stations,
                ip_bytes=IP_BYTES,
                rts=threshold != NEVER_RTS,
                # Both frames that can collide, RTS and DATA without RTS, count towards the short limit (9.3.3).
                attempts=spec.DEFAULT_SHORT_RETRY_LIMIT,
            )
        )
        error = measured.value / model.throughput_bps - 1
        within = abs(error) <= TOLERANCE
        passed &= within
        lines.append(
            f"{access:<7} {stations:>3} {f'{measured.value / 1e3:.1f} ± {measured.half / 1e3:.1f}':>18} "
            f"{model.throughput_bps / 1e3:>11.1f} {error:>+7.2%} {model.collision:>8.3f}"
            + ("" if within else f"  more than {TOLERANCE:.0%}")
        )
        cases.append(
            {
                "access": access,
                "stations": stations,
                "measured_bps": round(measured.value),
                "model_bps": round(model.throughput_bps),
                "error": round(error, 5),
            }
        )
        curves.setdefault(access, []).append((stations, measured, model.throughput_bps))
    figure = folder / "bianchi.svg"
    _draw(figure, curves)
    return Check(passed and bool(cases), lines, {"cases": cases}, [figure])


def _draw(file: Path, curves: dict[str, list[tuple[int, Mean, float]]]) -> None:
    with mpl.rc_context(RC):
        figure = Figure(figsize=(11.2, 4.2), layout="constrained")
        axis = figure.subplots()
        for index, (access, points) in enumerate(curves.items()):
            stations = [point[0] for point in points]
            axis.plot(stations, [point[2] / 1e3 for point in points], color=COLOURS[index], label=f"{access}, model")
            axis.errorbar(
                stations,
                [point[1].value / 1e3 for point in points],
                yerr=[point[1].half / 1e3 for point in points],
                color=COLOURS[index],
                marker=MARKERS[index],
                linestyle="none",
                capsize=4,
                label=f"{access}, measured",
            )
        axis.set_title("Saturation throughput, Bianchi's model (lines) and the gateware (points)", loc="left")
        axis.set_xlabel("stations")
        axis.set_ylabel("kb/s of IP packets")
        axis.set_xticks(sorted({point[0] for points in curves.values() for point in points}))
        axis.margins(y=0.15)
        figure.legend(loc="outside lower center", ncols=4)
        write_figure(figure, file)
