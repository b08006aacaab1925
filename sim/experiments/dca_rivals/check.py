# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 14 of paper 001: DCA beside TCP-DAA, beside itself with a small window, and standard TCP (row D-24).

The largest gain over standard TCP is the static half of row D-30, the abstract's claim; dca_mobile has the other.

TCP-DAA is judged twice: by paper 001's account of it, whose receiver waits for one inter-arrival time, and as its own
papers have it, whose receiver waits for several. The claim must hold against both.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.checks import STANDARD, mean_of, percent
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, by_seed, gain

DCA, CAPPED, DAA_AS_IN_001, DAA = "dca", "cwl 4 + dca", "daa as in 001", "daa"
OVER_DAA = (0.08, 0.20)
OVER_STANDARD = (0.20, 0.35)
SHARE_ABOVE_DAA = 0.8

# What EVIDENCE speaks of. DAA leads, by little and as the seeds tell, only over five hops and more; by paper 001's
# account only where two flows or more share them. So does DCA with a window of at most 4, with one flow, too. With the
# timer of its own papers DAA takes half of DCA's largest gain.
KNOWN_LEAD_MOST = 0.06
KNOWN_OVER_OWN = (0.03, 0.08)
KNOWN_HOPS_OF_LEAD = 5
EVIDENCE = """By paper 001's account of TCP-DAA both largest gains are as stated. But with two flows or more over 5 and 7 hops, and with the timer of its own papers with five flows over 3 hops, too, DAA is level with DCA or ahead by a few per cent, and so is DCA with a window of at most 4; the paper has such exceptions for two flows. There a small window at the sender, which DAA has, does as much as fewer TCP ACKs.
Most of the gain over three hops is that of a timer. By paper 001's account the receiver waits for one inter-arrival time, and the timer sends most of its TCP ACKs (one flow over 3 hops: 0.52 a packet, 378 kb/s). TCP-DAA's own papers wait for several: with 2.5 the window of 4 fills, as with DCA at that window (0.25 a packet, 423 kb/s, both), and DCA leads by at most 7 %. The same to 2 % with 2.2, 3, 4 and 6 inter-arrival times over 3 hops. DCA's own timer sends TCP ACKs there, too: a window of 65 packets of one flow takes longer than 500 ms to arrive (row D-04).
Tried (2 seeds of 100 s; 1, 2, 3, 5 flows; DCA over DAA by 001's account, then by its own papers): standard MAC instead of ns-2's: +15, +12, +8, +5 and +5, +7, +5, +4 % at 3 hops, +11, +2, 0, -1 and +5, +1, -1, -1 % at 5, +14, +4, +1, +1 and +10, +1, +2, -1 % at 7. Reception by SINR instead of ns-2's: +16, +10, +8, +5 and +7, +6, +6, +4 %; +24, +4, +4, +2 and +19, +5, +3, +1 %; +43, +9, +6, -1 and +41, +7, +7, +2 %. 250 m instead of 200 m: +18, +13, +11, +4 and +5, +7, +6, +1 %; +5, +1, -1, -2 and 0, 0, +1, -3 %; +7, +1, -3, -2 and +7, +3, +1, -4 %. So the order of the two beyond 3 hops hangs on the reception rule.
TCP-DAA is built from what paper 001 and others write of it; no peer simulator has it, and the text of its own papers was not at hand."""  # noqa: E501
NAMES = {
    STANDARD: "standard",
    DCA: "DCA",
    CAPPED: "DCA, window at most 4",
    DAA_AS_IN_001: "TCP-DAA as in 001",
    DAA: "TCP-DAA",
}
ACCOUNTS = {DAA_AS_IN_001: "DAA as paper 001 tells it", DAA: "DAA as its own papers do"}

# (hops, flows)
Case = tuple[int, int]


@dataclass(frozen=True)
class Lead:
    """DCA over one account of DAA: its largest gain, where, and the share of cells in which it is above."""

    gains: dict[Case, Mean]

    @property
    def most(self) -> Case:
        return max(self.gains, key=lambda case: self.gains[case].value)

    @property
    def above(self) -> float:
        return sum(value.value > 0 for value in self.gains.values()) / len(self.gains)

    @property
    def behind(self) -> dict[Case, float]:
        """Cells in which the seeds tell that DAA is ahead; in others the two are level."""
        return {case: value.value for case, value in self.gains.items() if value.value + value.half < 0}

    @property
    def holds(self) -> bool:
        return _within(self.gains[self.most], OVER_DAA) and self.above >= SHARE_ABOVE_DAA

    def told(self) -> str:
        most = percent(self.gains[self.most])
        return f"{most} at {_case(self.most)}, above in {self.above:.0%} of {len(self.gains)} cells"


def check(results: Results | None, folder: Path) -> Check:
    """Largest gains of DCA within bounds; above DAA in most cells, no worse than with a small window."""
    assert results is not None
    cells = by_seed(results)
    counts = {swept: swept.count("'kind'") for _, _, swept in cells}
    cases = sorted({(hops, counts[swept], swept) for hops, _, swept in cells})
    table = {(hops, count): {name: cells[hops, name, swept] for name in NAMES} for hops, count, swept in cases}
    timers = _timer_shares(results)
    over = {name: Lead({case: gain(of[DCA], of[name]) for case, of in table.items()}) for name in NAMES if name != DCA}
    lines = [
        f"{'hops':>4} {'flows':>5} "
        + "".join(f"{name:>24}" for name in NAMES.values())
        + "   DCA over DAA as in 001, DAA, standard; TCP ACKs by a timer: DCA, DAA as in 001, DAA"
    ]
    for case, of in table.items():
        rates = "".join(
            f"{mean_of(of[name]).value / 1e3:>17.0f} ± {mean_of(of[name]).half / 1e3:>4.0f}" for name in NAMES
        )
        leads = ", ".join(percent(over[name].gains[case]) for name in (DAA_AS_IN_001, DAA, STANDARD))
        shares = ", ".join(f"{timers[*case, name]:.0%}" for name in (DCA, DAA_AS_IN_001, DAA))
        lines.append(f"{case[0]:>4} {case[1]:>5} {rates}   {leads}; {shares}")

    standard = over[STANDARD]
    holds_over_standard = _within(standard.gains[standard.most], OVER_STANDARD)
    # Told apart by the seeds; the paper's "does not perform worse".
    worse = [case for case, value in over[CAPPED].gains.items() if value.value + value.half < 0]
    holds = over[DAA_AS_IN_001].holds and over[DAA].holds and holds_over_standard and not worse
    most = over[DAA_AS_IN_001].most
    measured = (
        "; ".join(f"largest gain over {account} {over[name].told()}" for name, account in ACCOUNTS.items())
        + f"; over standard {percent(standard.gains[standard.most])} at {_case(standard.most)}"
        + f"; worse than with a window of at most 4 in {len(worse)}"
        + (f" ({', '.join(map(_case, worse))})" if worse else "")
        + f"; at {_case(most)} a timer sends {timers[*most, DAA_AS_IN_001]:.0%} and {timers[*most, DAA]:.0%} of DAA's"
        + f" TCP ACKs, {timers[*most, DCA]:.0%} of DCA's"
    )
    known = (
        holds_over_standard
        and _within(over[DAA_AS_IN_001].gains[over[DAA_AS_IN_001].most], OVER_DAA)
        and (over[DAA].holds or _within(over[DAA].gains[over[DAA].most], KNOWN_OVER_OWN))
        and all(_is_known(case, lead, least_flows=2) for case, lead in over[DAA_AS_IN_001].behind.items())
        and all(_is_known(case, lead, least_flows=1) for case, lead in over[DAA].behind.items())
        and all(_is_known(case, over[CAPPED].gains[case].value, least_flows=1) for case in worse)
        # The two accounts differ by the timer: where nothing is lost, one flow, it must be seen to.
        and all(timers[*case, DAA_AS_IN_001] > timers[*case, DAA] for case in table if case[1] == 1)
    )
    verdict: Literal["pass", "finding", "fail"] = "pass" if holds else "finding" if known else "fail"
    row = RowVerdict(verdict, measured, evidence=EVIDENCE if verdict == "finding" else "")
    figure = folder / "D-24_fig14.svg"
    _draw(figure, table)
    numbers = {
        f"{case[0]} hops, {case[1]} flows": {
            "goodput_bps": {name: round(mean_of(of[name]).value) for name in NAMES},
            "dca_over": {name: round(lead.gains[case].value, 4) for name, lead in over.items()},
            "tcp_acks_timer_share": {name: round(timers[*case, name], 4) for name in (DCA, DAA_AS_IN_001, DAA)},
        }
        for case, of in table.items()
    }
    abstract = RowVerdict(
        "pass" if holds_over_standard else "fail",
        f"static: largest gain over standard {percent(standard.gains[standard.most])} at {_case(standard.most)}, to be "
        f"within {OVER_STANDARD[0]:.0%} to {OVER_STANDARD[1]:.0%}",
    )
    # What dca_mobile compares its gains with.
    largest = round(standard.gains[standard.most].value, 4)
    told = {"fig14": numbers, "largest_gain_over_standard": largest}
    return Check(verdict != "fail", lines, told, [figure], {"D-24": row, "D-30": abstract})


def _is_known(case: Case, lead: float, least_flows: int) -> bool:
    hops, count = case
    return hops >= KNOWN_HOPS_OF_LEAD and count >= least_flows and lead > -KNOWN_LEAD_MOST


def _within(value: Mean, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= value.value <= bounds[1]


def _timer_shares(results: Results) -> dict[tuple[int, int, str], float]:
    """Of the TCP ACKs of a cell's runs, the share that a timer sent."""
    sent: dict[tuple[int, int, str], float] = {}
    fired: dict[tuple[int, int, str], float] = {}
    for row in results.flows:
        key = (row["hops"], str(row["sweep.flows"]).count("'kind'"), row["policy"])
        sent[key] = sent.get(key, 0.0) + row["tcp_acks_sent"]
        fired[key] = fired.get(key, 0.0) + row["tcp_acks_sent"] * (row["tcp_acks_timer_share"] or 0.0)
    return {key: fired[key] / total if total else 0.0 for key, total in sent.items()}


def _case(case: Case) -> str:
    hops, count = case
    return f"h = {hops} with {count} flow{'s' * (count > 1)}"


def _draw(file: Path, table: dict[Case, dict[str, dict[int, float]]]) -> None:
    all_hops = sorted({hops for hops, _ in table})
    with drawing(file, columns=len(all_hops), height=3.9) as (figure, axes):
        for axis, hops in zip(axes, all_hops, strict=True):
            counts = sorted(count for of, count in table if of == hops)
            for index, (name, label) in enumerate(NAMES.items()):
                means = [mean_of(table[hops, count][name]) for count in counts]
                places = [place + 0.17 * (index - (len(NAMES) - 1) / 2) for place in range(len(counts))]
                axis.bar(
                    places,
                    [value.value / 1e3 for value in means],
                    yerr=[value.half / 1e3 for value in means] if means[0].half else None,
                    width=0.16,
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
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(NAMES))
