# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the best fixed window limits with Table 1 of paper 000, and the delay-based limit with the best of them.

Beyond its best limit a chain with static routes hardly loses throughput: a route never breaks, and fast retransmit
mends a loss. (With a routing protocol that takes a lost packet for a broken link it falls steeply, as in the paper.) On
that plateau the highest of a few means is a matter of chance. Where the highest mean is more than 1 from Table 1 the
check does not hold; the output says whether the seeds can tell it from a limit that is not.
"""

from __future__ import annotations

import io
import statistics
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from perhop import files
from perhop.figures import COLOURS, MARKERS, RC
from perhop.results import Results, Row
from perhop.rows import Mean, mean
from perhop.studies import Check

# Table 1: up to this many round-trip hops, this limit (packets).
TABLE_1 = ((4, 2), (8, 1), (12, 2), (20, 3), (26, 4), (30, 5))

BEST_CWL_SLACK = 1
DELAY_SHARE_LEAST = 0.95
LARGE_CWL = 8


def table_cwl_packets(hops: int) -> int:
    """Table 1's limit for a chain of `hops` hops, so 2 * `hops` round-trip hops."""
    return next(limit for most, limit in TABLE_1 if 2 * hops <= most)


def check(results: Results, folder: Path) -> Check:
    """Best fixed limit within 1 of Table 1 at every h; delay-based 0.95 of it or more, with less RTT than CWL 8."""
    cells: dict[tuple[int, str], list[Row]] = {}
    for row in results.flows:
        cells.setdefault((row["hops"], row["policy"]), []).append(row)
    rates = {key: mean(row["packets_per_s"] for row in rows) for key, rows in cells.items()}
    rtts_ms = {key: mean(row["rtt_ms"] for row in rows) for key, rows in cells.items()}
    all_hops = sorted({hops for hops, _ in cells})
    limits = sorted({int(policy.removeprefix("cwl ")) for _, policy in cells if policy.startswith("cwl ")})

    lines = ["packets/s by congestion window limit; the best fixed one in brackets"]
    lines.append(
        f"{'h':>2} {'table':>5} " + "".join(f"{limit:>8}" for limit in limits) + f"{'hop':>8}{'delay':>8}{'of best':>8}"
    )
    shares, bests = {}, {}
    passed = True
    for hops in all_hops:
        fixed = {limit: rates[hops, f"cwl {limit}"].value for limit in limits}
        best = max(fixed, key=lambda limit: fixed[limit])
        bests[hops] = best
        shares[hops] = rates[hops, "delay"].value / fixed[best]
        cell = "".join(f"{f'[{value:.1f}]' if limit == best else f'{value:.1f} ':>8}" for limit, value in fixed.items())
        computed = "".join(f"{rates[hops, policy].value:>8.1f}" for policy in ("hop", "delay"))
        line = f"{hops:>2} {table_cwl_packets(hops):>5} {cell}{computed}{shares[hops]:>8.3f}"
        top = rates[hops, f"cwl {best}"]
        equal = [
            limit for limit in limits if (rate := rates[hops, f"cwl {limit}"]).value + rate.half >= top.value - top.half
        ]
        if abs(best - table_cwl_packets(hops)) > BEST_CWL_SLACK:
            near = [limit for limit in equal if abs(limit - table_cwl_packets(hops)) <= BEST_CWL_SLACK]
            passed = False
            nearest = max(near, key=lambda limit: fixed[limit], default=best)
            loss = 1 - fixed[nearest] / fixed[best]
            line += (
                f"  FINDING: best {best}, not told apart from {nearest} by the seeds ({loss:.1%} between them)"
                if near
                else f"  best {best} is more than {BEST_CWL_SLACK} from the table"
            )
        lines.append(line)

    share = statistics.fmean(shares.values())
    enough = share >= DELAY_SHARE_LEAST
    claim = f"delay-based: {share:.3f} of the best fixed limit, mean over h (at least {DELAY_SHARE_LEAST})"
    lines.append(f"{claim}: {_word(enough)}")
    large = f"cwl {LARGE_CWL}"
    slower = [hops for hops in all_hops if rtts_ms[hops, "delay"].value >= rtts_ms[hops, large].value]
    rtt_text = ", ".join(f"{rtts_ms[h, 'delay'].value:.0f} / {rtts_ms[h, large].value:.0f}" for h in all_hops)
    lines.append(f"RTT of delay-based / CWL {LARGE_CWL} in ms at each h: {rtt_text}: {_word(not slower)}")

    figure = folder / "cwl_table.svg"
    _draw(figure, all_hops, limits, rates)
    numbers = {
        "best_cwl_packets": bests,
        "table_cwl_packets": {hops: table_cwl_packets(hops) for hops in all_hops},
        "delay_share_of_best": round(share, 4),
        "delay_rtt_ms": {hops: round(rtts_ms[hops, "delay"].value, 1) for hops in all_hops},
        "cwl8_rtt_ms": {hops: round(rtts_ms[hops, large].value, 1) for hops in all_hops},
    }
    return Check(passed and enough and not slower, lines, numbers, [figure])


def _word(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _draw(file: Path, all_hops: list[int], limits: list[int], rates: dict[tuple[int, str], Mean]) -> None:
    with mpl.rc_context(RC):
        figure = Figure(figsize=(11.2, 4.4), layout="constrained")
        axis = figure.subplots()
        for index, hops in enumerate(all_hops):
            cells = [rates[hops, f"cwl {limit}"] for limit in limits]
            colour = COLOURS[index % len(COLOURS)]
            axis.errorbar(
                limits,
                [cell.value for cell in cells],
                yerr=[cell.half for cell in cells],
                color=colour,
                marker=MARKERS[index % len(MARKERS)],
                label=f"{hops} hops",
                linewidth=1.8,
                capsize=3,
            )
            table = table_cwl_packets(hops)
            axis.plot(table, rates[hops, f"cwl {table}"].value, "o", ms=15, mfc="none", mec=colour, mew=1.4)
            axis.plot(limits[-1] + 1, rates[hops, "delay"].value, MARKERS[index % len(MARKERS)], color=colour)
        axis.axvline(limits[-1] + 0.5, color="#C9D1D9", linewidth=1)
        axis.set_xticks([*limits, limits[-1] + 1], [*(str(limit) for limit in limits), "delay-\nbased"])
        axis.set_title("Throughput by window limit; rings: Table 1's choice", loc="left")
        axis.set_xlabel("congestion window limit, packets")
        axis.set_ylabel("packets/s")
        axis.set_ylim(bottom=0)
        figure.legend(loc="outside lower center", ncols=len(all_hops))
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    files.write_text(file, buffer.getvalue())
