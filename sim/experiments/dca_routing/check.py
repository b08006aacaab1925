# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 13 of paper 001: the delay window over GPSR and over AODV, beside static routes (row D-20)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from perhop.report.figures import drawing, means_line
from perhop.reproduce.checks import best, mean_of, percent, window_table, window_word
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, by_seed, gain

STATIC, GPSR, AODV = "static", "gpsr", "aodv"
MORE = 2  # than Table I's window
# "Similar to that on static routing", which the paper does not put into a number: at Table I's window.
ALIKE = 0.10

# What EVIDENCE speaks of: AODV loses up to a tenth at the larger window, more than at Table I's on no long chain.
KNOWN_LOSS_MOST = 0.10
LONG_HOPS = 9
EVIDENCE = (
    "At Table I's window and two more AODV is a few per cent below static routes at every length, not above. On long "
    "chains a larger window does suit AODV better, as the paper has it; over 4 to 7 hops both windows lose alike. The "
    "cause is false link failures: over 300 s (3 seeds) AODV loses its route 67 times over 4 hops and 50 times over 9, "
    "each time to a neighbour that is in range; static routes give up as many packets (77, 50) and lose no route. The "
    "loss at these lengths, 3.4 and 6.1 %, is 0.15 and 0.37 s for each search. The paper takes the gain from ns-2's "
    "local repair. Tried (3 seeds of 60 s, at Table I's window and two more over 5, 9 and 10 hops): this AODV repairs "
    "as ns-2.35's, -0.7, -2.9, -5.3 %; as RFC 3561 says, -0.7, -4.3, -6.6 %; not at all, -0.7, -3.0, -5.0 %. So repair "
    "makes no difference there: on a chain there is no other way, and the route that is found is the one that seemed "
    "to fail. make peers compares this AODV with ns-2.35's."
)


def table_i(hops: int) -> int:
    """Table I beyond 3 hops."""
    return 5 if hops < 10 else 3


def check(results: Results | None, folder: Path) -> Check:
    """AODV no worse than static routes at Table I's window and two more, GPSR as they at Table I's, at each length."""
    assert results is not None
    cells = by_seed(results)
    policies = list(dict.fromkeys(policy for _, policy, _ in cells))
    all_hops = sorted({hops for hops, *_ in cells})
    rates: dict[str, dict[int, dict[str, Mean]]] = {
        routing: {hops: {policy: mean_of(cells[hops, policy, routing]) for policy in policies} for hops in all_hops}
        for routing in (STATIC, GPSR, AODV)
    }
    lines: list[str] = []
    for routing, of in rates.items():
        lines.append(f"{routing}:")
        lines += window_table({f"{hops} hops": curve for hops, curve in of.items()}, policies)

    def over_static(routing: str, more: int) -> dict[int, Mean]:
        wanted = {hops: f"dca {table_i(hops) + more} no resend" for hops in all_hops}
        return {hops: gain(cells[hops, of, routing], cells[hops, of, STATIC]) for hops, of in wanted.items()}

    ratios, alike = over_static(AODV, MORE), over_static(GPSR, 0)
    wrong = []
    if less := [hops for hops, ratio in ratios.items() if ratio.value < 0]:
        wrong.append(f"AODV below static routes at h = {', '.join(map(str, less))}")
    if unlike := [hops for hops, ratio in alike.items() if abs(ratio.value) > ALIKE]:
        wrong.append(f"GPSR not within {ALIKE:.0%} of static routes at h = {', '.join(map(str, unlike))}")
    told = f"AODV over static routes at w = Table I + {MORE}: " + "; ".join(
        f"h = {hops} {percent(ratio)} (best w {window_word(best(rates[AODV][hops]))} over AODV, "
        f"{window_word(best(rates[STATIC][hops]))} static)"
        for hops, ratio in ratios.items()
    )
    told += "; GPSR over static routes at Table I's w: " + "; ".join(
        f"h = {hops} {percent(ratio)} (best w {window_word(best(rates[GPSR][hops]))})" for hops, ratio in alike.items()
    )
    smaller = over_static(AODV, 0)
    known = not unlike and all(
        ratios[hops].value > -KNOWN_LOSS_MOST and (hops < LONG_HOPS or ratios[hops].value > smaller[hops].value)
        for hops in less
    )
    verdict: Literal["pass", "finding", "fail"] = "pass" if not wrong else "finding" if known else "fail"
    row = RowVerdict(verdict, "; ".join([*wrong, told]), evidence=EVIDENCE if verdict == "finding" else "")
    lines.append(f"D-20: {row.measured}: {row.verdict}")
    figure = folder / "D-20_fig13.svg"
    _draw(figure, rates, policies)
    return Check(row.verdict != "fail", lines, {}, [figure], {"D-20": row})


def _draw(file: Path, rates: dict[str, dict[int, dict[str, Mean]]], policies: list[str]) -> None:
    with drawing(file, columns=len(rates), height=4.2) as (figure, axes):
        for axis, (routing, of) in zip(axes, rates.items(), strict=True):
            for index, (hops, curve) in enumerate(of.items()):
                means_line(axis, list(enumerate(curve[policy] for policy in policies)), index, f"{hops} hops", 1e-3)
            axis.set_xticks(range(len(policies)), [window_word(policy) for policy in policies])
            axis.set_title(f"{routing} routes", loc="left")
            axis.set_xlabel("w, packets a TCP ACK stands for")
            axis.set_ylim(bottom=0)
        axes[0].set_ylabel("kb/s")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
