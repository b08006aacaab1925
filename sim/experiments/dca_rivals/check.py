# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 14 of paper 001: DCA beside TCP-DAA, beside itself with a small window, and standard TCP (row D-24)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.checks import STANDARD, mean_of, percent
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import by_seed, gain

DCA, CAPPED, DAA = "dca", "cwl 4 + dca", "daa"
OVER_DAA = (0.08, 0.20)
OVER_STANDARD = (0.20, 0.35)
SHARE_ABOVE_DAA = 0.8

# What EVIDENCE speaks of: DAA leads, by little, only where two or more flows share five hops or more.
KNOWN_LEAD_MOST = 0.06
EVIDENCE = """Both largest gains are as stated. But with two flows or more over 5 and 7 hops DAA is level with DCA or ahead by a few per cent, and so is DCA with a window of at most 4; the paper has such exceptions for two flows. There a small window at the sender, which DAA has, does as much as fewer TCP ACKs.
Tried (2 seeds of 100 s, 5 and 7 hops, 1 to 5 flows; DCA over DAA in each cell): standard MAC instead of ns-2's: above in 7 of 8 (+11, +2, 0, -1 % at 5 hops, +13, +4, +2, +1 % at 7); reception by SINR instead of ns-2's: above in all 8 (+24, +5, +5, +2 %; +43, +9, +6, 0 %); 250 m instead of 200 m: above or level in 4 of 8 (+5, 0, -1, -3 %; +7, 0, -3, -3 %). So the order of the two hangs on the reception rule.
TCP-DAA is built from this paper's description of it (no peer simulator has it)."""  # noqa: E501
NAMES = {STANDARD: "standard", DCA: "DCA", CAPPED: "DCA, window at most 4", DAA: "TCP-DAA"}


def check(results: Results | None, folder: Path) -> Check:
    """Largest gains of DCA within bounds; above DAA in most cells, no worse than with a small window."""
    assert results is not None
    cells = by_seed(results)
    counts = {swept: swept.count("'kind'") for _, _, swept in cells}
    cases = sorted({(hops, counts[swept], swept) for hops, _, swept in cells})
    table = {(hops, count): {name: cells[hops, name, swept] for name in NAMES} for hops, count, swept in cases}
    over = {name: {case: gain(of[DCA], of[name]) for case, of in table.items()} for name in (STANDARD, DAA, CAPPED)}
    lines = [
        f"{'hops':>4} {'flows':>5} " + "".join(f"{name:>24}" for name in NAMES.values()) + "   DCA over DAA, standard"
    ]
    for (hops, count), of in table.items():
        rates = "".join(
            f"{mean_of(of[name]).value / 1e3:>17.0f} ± {mean_of(of[name]).half / 1e3:>4.0f}" for name in NAMES
        )
        case = (hops, count)
        lines.append(f"{hops:>4} {count:>5} {rates}   {percent(over[DAA][case])}, {percent(over[STANDARD][case])}")

    most_daa = max(over[DAA], key=lambda case: over[DAA][case].value)
    most_standard = max(over[STANDARD], key=lambda case: over[STANDARD][case].value)
    above = sum(value.value > 0 for value in over[DAA].values()) / len(over[DAA])
    # Told apart by the seeds; the paper's "does not perform worse".
    worse = [case for case, value in over[CAPPED].items() if value.value + value.half < 0]
    holds = (
        OVER_DAA[0] <= over[DAA][most_daa].value <= OVER_DAA[1]
        and OVER_STANDARD[0] <= over[STANDARD][most_standard].value <= OVER_STANDARD[1]
        and above >= SHARE_ABOVE_DAA
        and not worse
    )
    measured = (
        f"largest gain over DAA {percent(over[DAA][most_daa])} at {_case(most_daa)}, "
        f"over standard {percent(over[STANDARD][most_standard])} at {_case(most_standard)}; "
        f"above DAA in {above:.0%} of {len(table)} cells; "
        f"worse than with a window of at most 4 in {len(worse)}"
        + (f" ({', '.join(map(_case, worse))})" if worse else "")
    )
    behind = {case: value.value for case, value in over[DAA].items() if value.value <= 0}
    known = (
        OVER_DAA[0] <= over[DAA][most_daa].value <= OVER_DAA[1]
        and OVER_STANDARD[0] <= over[STANDARD][most_standard].value <= OVER_STANDARD[1]
        and all(hops >= 5 and count >= 2 and value > -KNOWN_LEAD_MOST for (hops, count), value in behind.items())
    )
    verdict: Literal["pass", "finding", "fail"] = "pass" if holds else "finding" if known else "fail"
    row = RowVerdict(verdict, measured, evidence=EVIDENCE if verdict == "finding" else "")
    figure = folder / "D-24_fig14.svg"
    _draw(figure, table)
    return Check(holds, lines, {}, [figure], {"D-24": row})


def _case(case: tuple[int, int]) -> str:
    hops, count = case
    return f"h = {hops} with {count} flow{'s' * (count > 1)}"


def _draw(file: Path, table: dict[tuple[int, int], dict[str, dict[int, float]]]) -> None:
    all_hops = sorted({hops for hops, _ in table})
    with drawing(file, columns=len(all_hops), height=3.9) as (figure, axes):
        for axis, hops in zip(axes, all_hops, strict=True):
            counts = sorted(count for of, count in table if of == hops)
            for index, (name, label) in enumerate(NAMES.items()):
                means = [mean_of(table[hops, count][name]) for count in counts]
                places = [place + 0.2 * (index - 1.5) for place in range(len(counts))]
                axis.bar(
                    places,
                    [value.value / 1e3 for value in means],
                    yerr=[value.half / 1e3 for value in means] if means[0].half else None,
                    width=0.19,
                    color=COLOURS[index],
                    label=label,
                    capsize=2,
                    ecolor="#5B6673",
                )
            axis.set_xticks(range(len(counts)), [str(count) for count in counts])
            axis.set_title(f"{hops} hops", loc="left")
            axis.set_xlabel("flows")
            axis.grid(axis="x", visible=False)
        axes[0].set_ylabel("kb/s, all flows")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
