# SPDX-License-Identifier: GPL-2.0-or-later
"""A remedy that paper 003 proposes: MAC ACKs (row G-14)."""

from __future__ import annotations

from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.checks import mean_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import by_seed

COLLAPSED_KBPS = 5.0
# Of what one packet in flight gets over as many hops (Table 1).
ONE_PACKET_KBPS = {3: 614.8, 5: 369.2, 7: 263.4}
RECOVERED_SHARE = 0.5


def check(results: Results | None, folder: Path) -> Check:
    """CSMA collapses without MAC ACKs, and with them has half of Table 1's throughput and more."""
    assert results is not None
    rate = {
        (mode, mac_ack in (True, "True"), hops): mean_of(seeds).value / 1e3
        for (hops, _, mode, mac_ack), seeds in by_seed(results).items()
    }
    all_hops = sorted({hops for *_, hops in rate})
    without, with_ = ([rate["csma", mac_ack, hops] for hops in all_hops] for mac_ack in (False, True))
    collapses = max(without) < COLLAPSED_KBPS
    recovers = all(now >= RECOVERED_SHARE * ONE_PACKET_KBPS[hops] for hops, now in zip(all_hops, with_, strict=True))

    def listing(values: list[float]) -> str:
        return ", ".join(f"{value:.1f}" for value in values)

    measured = (
        f"CSMA, 32 KB in flight, h = {', '.join(map(str, all_hops))}: {listing(without)} kb/s without MAC ACKs, "
        f"{listing(with_)} with"
    )
    fama = [[rate["fama", mac_ack, hops] for hops in all_hops] for mac_ack in (False, True)]
    lines = [measured, f"FAMA: {listing(fama[0])} kb/s without, {listing(fama[1])} with"]
    figure = folder / "G-14_mac_acks.svg"
    with drawing(figure, height=3.6) as (picture, (axis,)):
        bars = [(mode, mac_ack) for mode in ("csma", "fama") for mac_ack in (False, True)]
        for index, (mode, mac_ack) in enumerate(bars):
            axis.bar(
                [place + 0.2 * index - 0.3 for place in range(len(all_hops))],
                [rate[mode, mac_ack, hops] for hops in all_hops],
                width=0.18,
                color=COLOURS[index],
                label=f"{mode.upper()}, {'with' if mac_ack else 'without'} MAC ACKs",
            )
        axis.set_xticks(range(len(all_hops)), [str(hops) for hops in all_hops])
        axis.set(xlabel="hops", ylabel="kb/s")
        axis.set_title("32 KB in flight, without and with MAC ACKs", loc="left")
        picture.legend(loc="outside lower center", ncols=4)
    holds = collapses and recovers
    row = RowVerdict("pass" if holds else "fail", measured)
    return Check(holds, lines, {}, [figure], {"G-14": row})
