# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 6 of paper 002: how the bandwidth of a link varies from 10 s to 10 s (row X-10).

A packet takes from the head of the queue to its MAC ACK, as in the paper's references 12 and 13: contention is part of
it. The bandwidth of a span is the bits of its packets over the time that they took. The mean of what single packets had
is told beside it: it leaves most of the variation out, because slow packets, which take the time, count like others.
"""

from __future__ import annotations

import csv
import itertools
import statistics
from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.tfrc_runs import variation
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import mean

LINK = (1, 2)
SPAN_S = 10.0
LEAST_DATA_BYTES = 1000  # smaller ones are TCP ACKs and routing
VARIATION_LEAST = 0.1


def check(results: Results | None, folder: Path) -> Check:
    """The coefficient of variation over the spans is above 0.1 in every run."""
    assert results is not None
    files = {row["run"]: folder / "runs" / row["run"] / "completions.csv" for row in results.runs}
    of_runs = {run: bandwidths_bps(file) for run, file in files.items()}
    singles = [variation(means_of_packets_bps(file)) for file in files.values()]
    variations = [value for spans in of_runs.values() if (value := variation(spans)) is not None]
    found = mean(variations)
    wrong = len(variations) < len(of_runs) or not all(value > VARIATION_LEAST for value in variations)
    every = list(itertools.chain.from_iterable(of_runs.values()))
    measured = (
        f"coefficient of variation over spans of 10 s {', '.join(f'{one:.3f}' for one in variations) or 'unknown'}; "
        f"{min(every, default=0) / 1e3:.0f} to {max(every, default=0) / 1e3:.0f} kb/s, "
        f"{statistics.fmean(every or [0]) / 1e3:.0f} in the mean; "
        f"of the mean of single packets {', '.join(f'{one:.3f}' for one in singles if one is not None)}"
    )
    interval = f"{found.count} runs, ± {found.half:.3f}" if found and found.count > 1 else ""
    row = RowVerdict("fail" if wrong else "pass", measured, interval)
    figure = folder / "X-10_fig6.svg"
    with drawing(figure, height=3.4) as (_, (axis,)):
        for index, spans in enumerate(of_runs.values()):
            times_s = [SPAN_S * (place + 0.5) for place in range(len(spans))]
            axis.plot(times_s, [bps / 1e3 for bps in spans], color=COLOURS[index], linewidth=1.4)
        axis.set(xlabel="s", ylabel="kb/s")
        axis.set_ylim(bottom=0)
        axis.set_title("Bandwidth of the link from node 1 to 2 over 10 s, a line a seed", loc="left")
    return Check(not wrong, [f"X-10: {measured}"], {}, [figure], {"X-10": row})


def bandwidths_bps(completions: Path) -> list[float]:
    """Bits over time of the data packets of each whole span, in order of time; spans without one are left out."""
    return [8e6 * sum(size for size, _ in of) / sum(taken_us for _, taken_us in of) for of in _spans(completions)]


def means_of_packets_bps(completions: Path) -> list[float]:
    """The mean over the packets of each span."""
    return [statistics.fmean(8e6 * size / taken_us for size, taken_us in of) for of in _spans(completions)]


def _spans(completions: Path) -> list[list[tuple[int, int]]]:
    """Bytes and microseconds of each data packet that the link delivered, by spans."""
    spans: dict[int, list[tuple[int, int]]] = {}
    last_us = 0
    with completions.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            last_us = int(row["t_done_us"])
            if (int(row["node"]), int(row["next_hop"])) != LINK or row["result"] != "delivered":
                continue
            if (size := int(row["mpdu_bytes"])) >= LEAST_DATA_BYTES:
                span = int(last_us / (SPAN_S * 1e6))
                spans.setdefault(span, []).append((size, last_us - int(row["t_head_us"])))
    whole = int(last_us / (SPAN_S * 1e6))
    return [of for span, of in sorted(spans.items()) if span < whole]
