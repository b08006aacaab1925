# SPDX-License-Identifier: GPL-2.0-or-later
"""Row X-15, nodes at rest: Jain's index and the share delivered of what was sent, EXACT beside TCP-SACK."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.study.check import Check, RowVerdict
from perhop.study.delivered import delivered_share
from perhop.study.results import Results, Row, jain
from perhop.study.summaries import Mean, mean

KINDS = ("exact", "tcp")
NAMES = {"exact": "EXACT", "tcp": "TCP-SACK"}
AT_REST, REROUTED = "paths at rest", "paths that change"


def _over_those_there(values: Iterable[float | None]) -> float | None:
    found = mean(values)
    return found.value if found else None


def check(results: Results | None, folder: Path) -> Check:
    """Both measures above TCP-SACK's, on paths at rest and on paths that change."""
    assert results is not None
    runs: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in results.flows:
        scene = REROUTED if "route" in row["label"] else AT_REST
        runs.setdefault((scene, row["kind"]), {}).setdefault(row["run"], []).append(row)
    spans: dict[str, dict[float, list[float]]] = {}
    for row in results.intervals:
        spans.setdefault(row["run"], {}).setdefault(row["t_start_s"], []).append(row["goodput_bps"])

    measured: dict[str, dict[tuple[str, str], Mean]] = {}
    for key, cells in runs.items():
        values = {
            "jain": [jain([row["goodput_bps"] for row in rows]) for rows in cells.values()],
            "jain_5s": [_over_those_there(jain(rates) for rates in spans[run].values()) for run in cells],
            "delivered": [delivered_share(rows) for rows in cells.values()],
            "goodput_bps": [sum(row["goodput_bps"] for row in rows) for rows in cells.values()],
            "rtt_ms": [_over_those_there(row["rtt_ms"] for row in rows) for rows in cells.values()],
        }
        for name, numbers in values.items():
            found = mean(numbers)
            assert found is not None
            measured.setdefault(name, {})[key] = found

    lines = []
    for scene in (AT_REST, REROUTED):
        for kind in KINDS:
            cell = {name: measured[name][scene, kind] for name in measured}
            lines.append(
                f"{scene}, {NAMES[kind]}: Jain's index {_pm(cell['jain'], 3)} (of 5 s {_pm(cell['jain_5s'], 3)}), "
                f"delivered {_pm(cell['delivered'], 4)} of what was sent, "
                f"{_pm(cell['goodput_bps'], 0, 1e-3)} kb/s in all, RTT {_pm(cell['rtt_ms'], 0)} ms"
            )
    total = measured["goodput_bps"]
    price = ", ".join(
        f"{total[scene, 'exact'].value / total[scene, 'tcp'].value:.2f} ({scene})" for scene in (AT_REST, REROUTED)
    )
    lines.append(f"The price: EXACT's goodput of all flows is {price} of TCP-SACK's.")

    figure = folder / "X-15_exact_against_tcp.svg"
    with drawing(figure, columns=3, height=3.8) as (figure_, axes):
        panels = (
            ("jain_5s", "Jain's index of 5 s", 1.0),
            ("delivered", "Delivered / sent", 1.0),
            ("goodput_bps", "Goodput of all flows, kb/s", 1e-3),
        )
        for axis, (name, title, factor) in zip(axes, panels, strict=True):
            for index, kind in enumerate(KINDS):
                cells = [measured[name][scene, kind] for scene in (AT_REST, REROUTED)]
                axis.bar(
                    [place + 0.4 * index - 0.2 for place in range(2)],
                    [cell.value * factor for cell in cells],
                    yerr=[cell.half * factor for cell in cells],
                    width=0.36,
                    color=COLOURS[index],
                    label=NAMES[kind],
                    capsize=3,
                )
            axis.set_xticks([0, 1], [AT_REST, REROUTED])
            axis.set_title(title, loc="left")
            axis.set_ylim(bottom=0)
        figure_.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    verdict = judged(measured, price, " ".join(lines))
    numbers = {
        name: {f"{NAMES[kind]}, {scene}": round(cell.value, 4) for (scene, kind), cell in cells.items()}
        for name, cells in measured.items()
    }
    return Check(verdict.verdict == "pass", lines, numbers, [figure], {"X-15": verdict})


def judged(measured: dict[str, dict[tuple[str, str], Mean]], price: str, evidence: str) -> RowVerdict:
    """Both measures of EXACT are above TCP-SACK's in both scenes."""
    higher, words = [], []
    for scene in (AT_REST, REROUTED):
        for name, title, digits in (("jain", "Jain's index", 3), ("delivered", "delivered / sent", 4)):
            exact, tcp = measured[name][scene, "exact"], measured[name][scene, "tcp"]
            higher.append(exact.value > tcp.value)
            words.append(f"{scene}: {title} {_pm(exact, digits)} against {_pm(tcp, digits)}")
    return RowVerdict(
        "pass" if all(higher) else "finding",
        f"nodes at rest, EXACT against TCP-SACK, {'; '.join(words)}. EXACT's goodput in all is {price} of TCP's",
        interval="95 % over seeds, after +-",
        evidence=evidence,
    )


def _pm(value: Mean, digits: int, factor: float = 1.0) -> str:
    return f"{value.value * factor:.{digits}f} +-{value.half * factor:.{digits}f}"
