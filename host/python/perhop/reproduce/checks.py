# SPDX-License-Identifier: GPL-2.0-or-later
"""What several experiments' checks share: delay windows read from policies' labels, and their plots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.study.summaries import Mean, mean

STANDARD = "no limit"
LEGEND_LETTERS = 120


def window_of(policy: str) -> int | None:
    """w of a label such as `dca 3 no resend`: 1 for a TCP ACK for each packet, None for the whole window."""
    if policy == STANDARD:
        return 1
    match = re.match(r"dca (\d+)", policy)
    return int(match[1]) if match else None


def window_word(policy: str) -> str:
    return str(window_of(policy) or "cwnd")


def mean_of(cell: Mapping[int, float]) -> Mean:
    """The mean over the seeds of a cell."""
    found = mean(cell.values())
    assert found is not None
    return found


def best(rates: Mapping[str, Mean]) -> str:
    """The policy with the highest mean."""
    return max(rates, key=lambda policy: rates[policy].value)


def percent(value: Mean) -> str:
    return f"{value.value:+.1%} ± {value.half:.1%}" if value.count > 1 else f"{value.value:+.1%}"


def draw_windows(file: Path, title: str, curves: Mapping[str, Mapping[str, Mean]], policies: Sequence[str]) -> None:
    """Throughput over the delay window, one curve a label."""
    places = list(range(len(policies)))
    with drawing(file, height=4.0) as (figure, (axis,)):
        for index, (label, rates) in enumerate(curves.items()):
            points = [(place, rates[policy]) for place, policy in zip(places, policies, strict=True)]
            means_line(axis, points, index, label, 1e-3)
        axis.set_xticks(places, [window_word(policy) for policy in policies])
        axis.set(xlabel="w, packets a TCP ACK stands for", ylabel="kb/s")
        axis.set_ylim(bottom=0)
        axis.set_title(title, loc="left")
        # As many columns as fit in the width, by their letters.
        columns = LEGEND_LETTERS // (max(len(label) for label in curves) + 7)
        figure.legend(loc="outside lower center", ncols=max(1, min(6, columns)))


def window_table(curves: Mapping[str, Mapping[str, Mean]], policies: Sequence[str]) -> list[str]:
    """kb/s by w, a line a label, the best in brackets."""
    width = max(len(label) for label in curves)
    lines = ["kb/s by packets a TCP ACK stands for (w); the best in brackets"]
    lines.append(" " * width + "".join(f"{window_word(policy):>9}" for policy in policies))
    for label, rates in curves.items():
        top = best(rates)
        cells = (
            f"[{rates[policy].value / 1e3:.0f}]" if policy == top else f"{rates[policy].value / 1e3:.0f} "
            for policy in policies
        )
        lines.append(f"{label:<{width}}" + "".join(f"{cell:>9}" for cell in cells))
    return lines
