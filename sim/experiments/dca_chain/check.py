# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 2 of paper 001: throughput over the delay window w on chains of 1 to 15 hops (rows D-07 to D-11, D-29)."""

from __future__ import annotations

import itertools
from pathlib import Path

from perhop import spec_generated as spec
from perhop.checks import STANDARD, best, draw_windows, mean_of, percent, window_of, window_table, window_word
from perhop.figures import drawing, means_line
from perhop.results import Results
from perhop.rows import Mean, by_seed, gain
from perhop.studies import Check, RowVerdict

WHOLE = "dca cwnd no resend"
SEGMENT_BYTES = 1000
FALL_AT_MOST = 0.02
SHORT_HOPS_MOST = 3
GAIN_LEAST, GAIN_MOST = 0.15, 0.32


def airtime_gain(w: int | None) -> float:
    """What a TCP ACK for w packets gains over one for each, with every exchange alone on the air; None: endless w."""
    profile = spec.PROFILES["dsss_long"]

    def exchange_us(ip_bytes: int) -> float:
        control = profile.control_rate_index
        mpdu = spec.MAC_HEADER_BYTES + spec.LLC_SNAP_BYTES + spec.PATH_HEADER_BYTES + ip_bytes + spec.FCS_BYTES
        return (
            profile.difs_us
            + profile.cw_min / 2 * profile.slot_us
            + spec.airtime_us(profile, control, spec.RTS_BYTES)
            + spec.airtime_us(profile, control, spec.CTS_BYTES)
            + spec.airtime_us(profile, 1, mpdu)
            + spec.airtime_us(profile, control, spec.MAC_ACK_BYTES)
            + 3 * profile.sifs_us
        )

    # IP and TCP headers, the latter with timestamps.
    data_us, tcp_ack_us = exchange_us(SEGMENT_BYTES + 52), exchange_us(52)
    return (data_us + tcp_ack_us) / (data_us + (tcp_ack_us / w if w else 0.0)) - 1


def check(results: Results | None, folder: Path) -> Check:
    """The four shapes that the paper states; see the rows."""
    assert results is not None
    cells = by_seed(results)
    all_hops = sorted({hops for hops, _ in cells})
    policies = list(dict.fromkeys(policy for _, policy in cells))
    rates: dict[int, dict[str, Mean]] = {
        hops: {policy: mean_of(cells[hops, policy]) for policy in policies} for hops in all_hops
    }
    gains = {
        hops: {policy: gain(cells[hops, policy], cells[hops, STANDARD]) for policy in policies} for hops in all_hops
    }
    drops: dict[tuple[int, str], float] = {}
    for row in results.flows:
        key = (row["hops"], row["policy"])
        drops[key] = drops.get(key, 0.0) + row["mac_drops_data_packets"]

    curves = {f"{hops} hops" if hops > 1 else "1 hop": rates[hops] for hops in all_hops}
    lines = window_table(curves, policies)

    rows = {
        "D-07": _harness(results, cells, policies),
        "D-08": _short(rates, drops, policies),
        "D-09": _gain(gains),
        "D-10": _middle(rates, gains),
        "D-11": _long(rates, gains),
        "D-29": _not_always(rates, gains),
    }
    figures = [
        folder / "D-08_fig2a.svg",
        folder / "D-10_fig2b.svg",
        folder / "D-11_fig2c.svg",
        folder / "D-09_gain.svg",
    ]
    for figure, title, least, most in (
        (figures[0], "Fig. 2a: 1 to 3 hops", 1, 3),
        (figures[1], "Fig. 2b: 4 to 9 hops", 4, 9),
        (figures[2], "Fig. 2c: 10 hops and more", 10, 99),
    ):
        shown = {label: of for (label, of), hops in zip(curves.items(), all_hops, strict=True) if least <= hops <= most}
        draw_windows(figure, title, shown, policies)
    _draw_gain(figures[3], [h for h in all_hops if h <= SHORT_HOPS_MOST], gains, policies)
    passed = all(row.verdict != "fail" for row in rows.values())
    return Check(passed, lines, {}, figures, rows)


def _harness(results: Results, cells: dict[tuple[int, str], dict[int, float]], policies: list[str]) -> RowVerdict:
    """Every cell has every seed, every flow delivers, and where DCA thins, TCP ACKs are as few as its window says."""
    seeds = {row["seed"] for row in results.flows}
    whole = all(set(cell) == seeds and min(cell.values()) > 0 for cell in cells.values())
    ratio = {
        policy: max(row["tcp_acks_per_packet"] for row in results.flows if row["policy"] == policy and row["hops"] == 1)
        for policy in policies
    }
    thinned = all(
        abs(ratio[policy] * window - 1) < 0.05 for policy in policies if (window := window_of(policy)) is not None
    )
    measured = f"{len(cells)} cells, {len(seeds)} seeds each; TCP ACKs a packet over one hop: "
    measured += ", ".join(f"{ratio[policy]:.3f} at w = {window_word(policy)}" for policy in policies)
    return RowVerdict("pass" if whole and thinned else "fail", measured)


def _short(rates: dict[int, dict[str, Mean]], drops: dict[tuple[int, str], float], policies: list[str]) -> RowVerdict:
    short = [hops for hops in rates if hops <= SHORT_HOPS_MOST]
    falls = {
        hops: min(
            rates[hops][after].value / rates[hops][before].value - 1 for before, after in itertools.pairwise(policies)
        )
        for hops in short
    }
    lost = {hops: drops.get((hops, WHOLE), 0.0) for hops in short}
    holds = min(falls.values()) >= -FALL_AT_MOST and not any(lost.values())
    measured = (
        f"largest step down {min(falls.values()):+.1%}; data packets that the MAC gave up at w = cwnd: "
        + ", ".join(f"{lost[hops]:.0f} at h = {hops}" for hops in short)
    )
    return RowVerdict("pass" if holds else "fail", measured)


def _gain(gains: dict[int, dict[str, Mean]]) -> RowVerdict:
    short = [hops for hops in gains if hops <= SHORT_HOPS_MOST]
    within = all(GAIN_LEAST <= gains[hops][WHOLE].value <= GAIN_MOST for hops in short)
    above = [
        f"h = {hops}, w = {window_word(policy)}"
        for hops in short
        for policy, value in gains[hops].items()
        if policy != STANDARD and value.value - value.half > airtime_gain(window_of(policy))
    ]
    measured = ", ".join(f"{gains[hops][WHOLE].value:+.1%} at h = {hops}" for hops in short)
    measured += f"; airtime bound {airtime_gain(None):+.1%}" + (
        f"; above the bound at {', '.join(above)}" if above else ""
    )
    interval = ", ".join(f"± {gains[hops][WHOLE].half:.1%}" for hops in short)
    return RowVerdict("pass" if within and not above else "fail", measured, interval)


def _shape(hops: int, rates: dict[int, dict[str, Mean]], gains: dict[int, dict[str, Mean]]) -> str:
    top = best(rates[hops])
    return f"h = {hops}: best w {window_word(top)} ({percent(gains[hops][top])}), cwnd {percent(gains[hops][WHOLE])}"


def _middle(rates: dict[int, dict[str, Mean]], gains: dict[int, dict[str, Mean]]) -> RowVerdict:
    near = [hops for hops in rates if hops in (4, 5)]
    far = [hops for hops in rates if 6 <= hops <= 9]
    kept = all(gains[hops][WHOLE].value >= 0 for hops in near)
    interior = all((window_of(best(rates[hops])) or 99) in range(3, 7) for hops in far)
    measured = "; ".join(_shape(hops, rates, gains) for hops in [*near, *far])
    return RowVerdict("pass" if kept and interior else "fail", measured)


def _long(rates: dict[int, dict[str, Mean]], gains: dict[int, dict[str, Mean]]) -> RowVerdict:
    long = [hops for hops in rates if hops >= 10]
    small = all((window_of(best(rates[hops])) or 99) in (2, 3, 4) for hops in long)
    worse = all(gains[hops][WHOLE].value < 0 for hops in long)
    measured = "; ".join(_shape(hops, rates, gains) for hops in long)
    return RowVerdict("pass" if small and worse else "fail", measured)


def _not_always(rates: dict[int, dict[str, Mean]], gains: dict[int, dict[str, Mean]]) -> RowVerdict:
    """On some long path one TCP ACK a window is worse than the best w, and the seeds can tell."""
    behind = {}
    for hops in (hops for hops in rates if hops > SHORT_HOPS_MOST):
        top, whole = rates[hops][best(rates[hops])], rates[hops][WHOLE]
        if whole.value + whole.half < top.value - top.half:
            behind[hops] = whole.value / top.value - 1
    measured = ", ".join(f"{share:+.1%} at h = {hops}" for hops, share in behind.items())
    return RowVerdict("pass" if behind else "fail", f"w = cwnd against the best w: {measured or 'nowhere worse'}")


def _draw_gain(file: Path, all_hops: list[int], gains: dict[int, dict[str, Mean]], policies: list[str]) -> None:
    places = list(range(len(policies)))
    with drawing(file, height=4.0) as (figure, (axis,)):
        bound = [0.0, *(airtime_gain(window_of(policy)) for policy in policies[1:])]
        axis.plot(places, [100 * value for value in bound], color="#000000", ls="--", label="airtime bound")
        for index, hops in enumerate(all_hops):
            points = [(place, gains[hops][policy]) for place, policy in zip(places, policies, strict=True)]
            means_line(axis, points, index, f"{hops} hops" if hops > 1 else "1 hop", 100)
        axis.set_xticks(places, [window_word(policy) for policy in policies])
        axis.set(xlabel="w, packets a TCP ACK stands for", ylabel="gain over w = 1, %")
        axis.set_title("What fewer TCP ACKs gain, and what the air allows", loc="left")
        figure.legend(loc="outside lower center", ncols=6)
