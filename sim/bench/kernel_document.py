# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/kernel_transports.md and its figure, from what bench-kernel has measured.

What explains a difference is written by hand in kernel_findings.yaml: a list of findings, each with its name.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernel_cells
import kernel_conditions
import kernel_conditions_document
import kernel_costs
import yaml
from kernel_cells import Cells, Gain, Key
from kernel_words import LINE_CHARACTERS, kbps, marked, milliseconds, parts, ratio
from perhop import files, paths
from perhop.report.figures import drawing, means_line
from perhop.study.summaries import Mean

FINDINGS = Path(__file__).with_name("kernel_findings.yaml")
FIGURE = "kernel_transports.svg"
PLACES_HEAD, ABC_HEAD = "Three places", "ABC beside ECN by service time"
FINDINGS_HEAD = "Findings"
POLICIES_HEAD = "What each policy gives each TCP"
PLACE_NAMES = {"kernel": "Linux kernels in virtual time", "ns3": "ns-3", "live": "live, in real time"}


@dataclass(frozen=True)
class Measured:
    """All that the page is about."""

    places: Mapping[str, Cells]
    gains: Mapping[str, Mapping[Key, Gain]]  # by place
    exact: Mapping[int, Mean]  # goodput by hops
    conditions: kernel_conditions.Found | None
    cost: Mapping[str, Any]
    identical: Mapping[str, bool]
    why_no_live: str
    load: float
    tcps: tuple[str, ...]
    policies: tuple[str, ...]
    ecn: str
    abc: str
    seeds: tuple[int, ...]
    measured_s: float
    live_s: float
    live_repeats: int

    @property
    def hops(self) -> list[int]:
        return sorted({key[0] for key in self.places["kernel"]})

    def samples(self, place: str, hops: int, tcp: str, policy: str) -> Mapping[int, kernel_cells.Sample]:
        return self.places.get(place, {}).get((hops, tcp, policy), {})


Earlier = Mapping[tuple[int, str], Sequence[str]]  # cells of a page by hops and TCP


def places_table(measured: Measured, earlier: Earlier | None = None) -> list[str]:
    """Goodput and round trip of each TCP without a policy, by place; what was not run now is as the page had it."""
    none = kernel_cells.label(kernel_cells.NONE)
    earlier = earlier or {}
    rows = []
    for hops in sorted({*measured.hops, *(key[0] for key in earlier)}):
        for tcp in measured.tcps:
            cells = []
            for number, place in enumerate(PLACE_NAMES):
                samples = measured.samples(place, hops, tcp, none)
                before = earlier[hops, tcp][number].rstrip("*") if (hops, tcp) in earlier else "-"
                goodput = kernel_cells.goodput(samples) if samples else None
                rtt = kernel_cells.round_trip(samples) if samples else None
                cells.append(
                    f"{kbps(goodput)}, {milliseconds(rtt)}" if samples else f"{before}*" if before != "-" else "-"
                )
            rows.append(f"| {hops} | {tcp} | {' | '.join(cells)} |")
    return rows


def earlier_places(section: str) -> Earlier:
    """The cells of the table of three places, as a page has them."""
    found = re.findall(r"^\| (\d+) \| (\w+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    return {(int(hops), tcp): cells for hops, tcp, *cells in found}


def fewer_seeds(measured: Measured) -> str:
    """Which cells have not all of them."""
    short = [
        f"{PLACE_NAMES[place]}, {hops} hop{'s' if hops > 1 else ''}, {' under '.join((tcp, policy))}: {len(samples)}"
        for place, cells in measured.places.items()
        for (hops, tcp, policy), samples in sorted(cells.items())
        if len(samples) < len(measured.seeds)
    ]
    return f" Fewer seeds: {'; '.join(short)}." if short else ""


def gains_table(measured: Measured, place: str, tcp: str) -> list[str]:
    """Of each policy, by hops: goodput and round trip over those without it."""
    rows = []
    for policy in measured.policies[1:]:
        cells = []
        if not any(key[1:] == (tcp, policy) for key in measured.gains[place]):
            continue
        for hops in measured.hops:
            found = measured.gains[place].get((hops, tcp, policy))
            if found is None:
                cells.append("-")
                continue
            cells.append(f"{marked(found)}, {ratio(found.rtt)}")
        rows.append(f"| {policy} | {' | '.join(cells)} |")
    return rows


def live_table(measured: Measured) -> list[str]:
    """Kernels in virtual time beside live ones."""
    found = kernel_cells.spreads(measured.places)
    return [
        f"| {hops} | {tcp} | {each.kernel_bps / 1e3:.0f} | {each.live_bps / 1e3:.0f} | "
        f"{each.least_bps / 1e3:.0f} to {each.most_bps / 1e3:.0f} | {'yes' if each.within else 'no'} |"
        for hops in measured.hops
        for tcp in measured.tcps
        if (each := found.get((hops, tcp))) is not None
    ]


def bound_table(measured: Measured) -> list[str]:
    """What each TCP has of one hop's airtime bound."""
    shares = kernel_cells.of_airtime_bound(measured.places)
    return [
        f"| {PLACE_NAMES[place]} | {kernel_cells.airtime_bound_bps(place) / 1e3:.1f} | "
        + " | ".join(f"{100 * shares[place][tcp]:.2f} %" if tcp in shares[place] else "-" for tcp in measured.tcps)
        + " |"
        for place in PLACE_NAMES
        if place in shares
    ]


def hop_time_table(measured: Measured, place: str) -> list[str]:
    """Where the time of one hop goes, for each TCP without a policy, beside the bound."""
    none = kernel_cells.label(kernel_cells.NONE)
    times = {"bound": kernel_cells.bound_time(place)}
    for tcp in measured.tcps:
        if (of := kernel_cells.hop_time(measured.samples(place, 1, tcp, none))) is not None:
            times[tcp] = of
    return [
        f"| {name} | {of.data_us:.0f} | {of.rest_us:.0f} | {of.idle_us:.0f} | {of.unanswered_us:.0f} | "
        f"{of.period_us:.0f} |"
        for name, of in times.items()
    ]


def abc_table(measured: Measured, place: str) -> list[str]:
    """CUBIC alone, with ECN by service time, and with ABC: goodput, round trip; then both over CUBIC alone."""
    rows = []
    for hops in measured.hops:
        policies = (measured.policies[0], measured.ecn, measured.abc)
        found = [measured.samples(place, hops, "cubic", policy) for policy in policies]
        if not all(found):
            continue
        cells = [f"{kbps(kernel_cells.goodput(of))}, {milliseconds(kernel_cells.round_trip(of))}" for of in found]
        gained = [kernel_cells.gain(of, found[0]) for of in found[1:]]
        cells += [f"{ratio(each.goodput)}, {ratio(each.rtt)}" for each in gained]
        rows.append(f"| {hops} | {' | '.join(cells)} |")
    return rows


def lines(measured: Measured) -> str:
    """For a person who waits."""
    found = ["goodput in kb/s, round trip in ms: hops, TCP, kernel, ns-3, live", *places_table(measured)]
    for place in ("kernel", "ns3"):
        for tcp in measured.tcps:
            if not any(key[1] == tcp for key in measured.gains[place]):
                continue
            found += [f"{PLACE_NAMES[place]}, {tcp}: goodput and round trip over those without the policy"]
            found += gains_table(measured, place, tcp)
    for place in ("kernel", "ns3"):
        found += [f"{PLACE_NAMES[place]}: hops, CUBIC, {measured.ecn}, {measured.abc}, both over CUBIC"]
        found += abc_table(measured, place)
    found += ["kernels beside live runs: hops, TCP, medians, spread of live runs", *live_table(measured)]
    found += ["one hop, of its airtime bound", *bound_table(measured)]
    found += ["one hop, us a packet: DATA, TCP ACK, idle, unanswered RTS, sum", *hop_time_table(measured, "kernel")]
    if measured.conditions is not None:
        found += kernel_conditions_document.lines(measured.conditions)
    if cost := measured.cost:
        found.append(
            f"CPU: {cost['cpu_s_30s_4hops']} s for {kernel_costs.CHAIN_S} s of {kernel_costs.CHAIN_HOPS} hops, "
            f"{cost['idle50_cpu_s']} s for 50 idle kernels, {cost['mb_per_kernel']} MB a kernel at most"
        )
    return "\n".join(found)


def draw(measured: Measured, file: Path) -> None:
    """Goodput and round trip of CUBIC in the kernel, a line a policy."""
    with drawing(file, columns=2) as (_, (goodputs, trips)):
        for number, policy in enumerate(measured.policies):
            points = [(hops, measured.samples("kernel", hops, "cubic", policy)) for hops in measured.hops]
            name = policy if policy != measured.policies[0] else "CUBIC alone"
            means_line(goodputs, [(x, kernel_cells.goodput(of)) for x, of in points if of], number, name, 1e-3)
            timed = [(x, value) for x, of in points if of and (value := kernel_cells.round_trip(of)) is not None]
            means_line(trips, timed, number, name)
        for axis in (goodputs, trips):
            axis.set_yscale("log")
            axis.set_xticks(measured.hops)
            axis.set_xlabel("hops")
        goodputs.set_ylabel("goodput in kb/s")
        trips.set_ylabel("round trip in ms")
        goodputs.set_title("Linux' CUBIC under each policy", loc="left")
        goodputs.legend(fontsize=8)


def findings() -> list[Mapping[str, str]]:
    """What a person has to say, in order: `name`, `about`."""
    return yaml.safe_load(FINDINGS.read_text(encoding="utf-8")) or []


def write(measured: Measured, page: Path) -> None:
    """The page and, beside it, its figure."""
    text = text_of(measured, findings())  # which names the version: before anything is written
    draw(measured, page.with_name(FIGURE))
    files.write_text(page, text)


def conclusion(measured: Measured) -> str:
    """What was asked, answered from the numbers alone."""
    helps = {tcp: sum(map(len, helped(measured, tcp).values())) for tcp in measured.tcps}
    cells = {tcp: sum(key[1] == tcp for key in measured.gains["kernel"]) for tcp in measured.tcps}
    told = ", ".join(f"{tcp} in {helps[tcp]} of {cells[tcp]}" for tcp in measured.tcps)
    ecn = [
        (hops, measured.gains["kernel"][hops, "cubic", measured.ecn])
        for hops in measured.hops
        if hops in kernel_cells.ECN_HOPS and (hops, "cubic", measured.ecn) in measured.gains["kernel"]
    ]
    met = [str(hops) for hops, found in ecn if kernel_cells.ecn_holds(found)]
    least, most = kernel_cells.LEAST_ECN_GOODPUT, kernel_cells.MOST_ECN_ROUND_TRIP
    figures = "; ".join(
        f"{hops} hops {found.goodput.value:.2f} of the goodput, {found.rtt.value:.2f} of the round trip"
        for hops, found in ecn
        if found.rtt is not None
    )
    judged = ", ".join(str(hops) for hops, _ in ecn)
    return (
        f"Policies (each over a number of hops) help {told}: they give Linux' TCP more goodput, or a shorter round "
        "trip at no loss of goodput that five seeds would show. "
        f"ECN by service time (`{measured.ecn}`) has at least {least:.0%} of CUBIC's goodput at no more than "
        f"{most:.0%} of its round trip over {' and '.join(met) or 'none'} hops, of {judged} ({figures})."
    )


def helped(measured: Measured, tcp: str) -> dict[str, list[int]]:
    """The hops at which each policy helps."""
    return {
        policy: [
            hops
            for hops in measured.hops
            if (found := measured.gains["kernel"].get((hops, tcp, policy))) is not None and found.helps
        ]
        for policy in measured.policies[1:]
    }


def _measured_with(measured: Measured) -> str:
    seeds = f"seeds {measured.seeds[0]} to {measured.seeds[-1]}"
    return f"Version {paths.version()['git']}, {seeds}, {measured.measured_s:g} s.{fewer_seeds(measured)}"


def _findings_section(told: Sequence[Mapping[str, str]]) -> str:
    said = [f"**{each['name']}.** {' '.join(each['about'].split())}" for each in told]
    return f"## {FINDINGS_HEAD}\n\n" + "".join(textwrap.fill(each, LINE_CHARACTERS) + "\n\n" for each in said)[:-1]


def _places_section(measured: Measured, earlier: Earlier | None = None) -> str:
    """The TCPs without a policy: in three places, and over one hop beside what the air has room for."""
    live = (
        f"The live column is not whole: {measured.why_no_live}."
        if measured.why_no_live
        else f"The live column has {measured.live_repeats} runs of {measured.live_s:g} s a cell, at a load average of "
        f"{measured.load:.1f} before them."
    )
    rows = places_table(measured, earlier)
    starred = " Cells with a star are of the version above." if any("*" in row for row in rows) else ""
    about = f"Goodput in kb/s, round trip in ms, without a policy. {_measured_with(measured)} {live}{starred}"
    return f"""## {PLACES_HEAD}

{textwrap.fill(about, LINE_CHARACTERS)}

| hops | TCP | {" | ".join(PLACE_NAMES.values())} |
|---|---|---|---|---|
{chr(10).join(rows)}
{_live_text(measured)}
One hop has an [airtime bound](airtime_bound.md): no TCP with a TCP ACK for each packet has more goodput. In kb/s,
and what each TCP has of it:

| place | bound | {" | ".join(measured.tcps)} |
|---|---|{"---|" * len(measured.tcps)}
{chr(10).join(bound_table(measured))}

Where that time goes in Linux kernels, in microseconds a packet, by the source's completion records:

| | exchange of the DATA | of the TCP ACK | inter-frame spaces, back-off | RTS without an answer | sum |
|---|---|---|---|---|---|
{chr(10).join(hop_time_table(measured, "kernel"))}
"""


def _abc_section(measured: Measured) -> str:
    names = [f"`{policy}`" for policy in (measured.ecn, measured.abc)]
    head = " | ".join(["hops", "CUBIC", *names, *(f"{name} over CUBIC" for name in names)])
    tables = "\n".join(
        f"### CUBIC in {PLACE_NAMES[place]}\n\n| {head} |\n|---|---|---|---|---|---|\n{chr(10).join(rows)}\n"
        for place in ("kernel", "ns3")
        if (rows := abc_table(measured, place))
    )
    about = (
        "Goodput in kb/s and round trip in ms of CUBIC over chains; then over those of CUBIC without a policy. "
        f"{_measured_with(measured)}"
    )
    return f"""## {ABC_HEAD}

{textwrap.fill(about, LINE_CHARACTERS)}

{tables}"""


def rewrite(measured: Measured, page: Path) -> None:
    """Only the findings, and the sections of the TCPs without a policy and of ABC; others keep what they said."""
    files.write_text(page, with_sections(page.read_text(encoding="utf-8"), measured, findings()))


def with_sections(text: str, measured: Measured, told: Sequence[Mapping[str, str]]) -> str:
    """The page with those sections as they are now, in front of what each policy gives where it has not had them."""
    parts = text.split("\n## ")
    heads = [part.partition("\n")[0] for part in parts]
    kept = [
        _findings_section(told).removeprefix("## ") if head == FINDINGS_HEAD else part
        for part, head in zip(parts, heads, strict=True)
        if head not in (PLACES_HEAD, ABC_HEAD)
    ]
    at = next(number for number, part in enumerate(kept) if part.startswith(POLICIES_HEAD))
    earlier = next((earlier_places(part) for part, head in zip(parts, heads, strict=True) if head == PLACES_HEAD), {})
    made = [section.removeprefix("## ") for section in (_places_section(measured, earlier), _abc_section(measured))]
    return "\n## ".join([*kept[:at], *made, *kept[at:]])


def _live_text(measured: Measured) -> str:
    """Beside the live column, where there is one."""
    rows = live_table(measured)
    if not rows:
        return ""
    about = textwrap.fill(
        "Goodput in kb/s of kernels in virtual time beside live ones: medians, and the least and the most of the live "
        "runs.",
        LINE_CHARACTERS,
    )
    return f"""
{about}

| hops | TCP | kernels, median | live, median | live, spread | within it |
|---|---|---|---|---|---|
{chr(10).join(rows)}
"""


def text_of(measured: Measured, told: list[Mapping[str, str]]) -> str:
    """The page."""
    wide = LINE_CHARACTERS
    cost = measured.cost
    hops_head = " | ".join(f"{hops} hop{'s' if hops > 1 else ''}" for hops in measured.hops)
    rule = "|---" * (len(measured.hops) + 1) + "|"
    seeds = f"{measured.seeds[0]} to {measured.seeds[-1]}"
    sections = []
    for place in ("kernel", "ns3"):
        for tcp in measured.tcps:
            if not any(key[1] == tcp for key in measured.gains[place]):
                continue
            rows = "\n".join(gains_table(measured, place, tcp))
            sections.append(f"### {tcp}, {PLACE_NAMES[place]}\n\n| policy | {hops_head} |\n{rule}\n{rows}\n")
    exact = "; ".join(f"{hops} hops {kbps(value)}" for hops, value in measured.exact.items())
    loaded = (
        f"| {kernel_costs.CHAIN_S} s of {kernel_costs.CHAIN_HOPS} hops, CUBIC | {cost['cpu_s_30s_4hops']:.2f} s | "
        f"{cost['chain_wall_s']:.1f} s | {cost['mb_per_kernel_loaded']:.2f} MB | - |"
    )
    fast = cost["fast"]
    loaded += (
        f"\n| {kernel_costs.FAST_S} s of {kernel_costs.CHAIN_HOPS} hops at 54 Mb/s, CUBIC, "
        f"{fast['goodput_bps'] / 1e6:.1f} Mb/s | {fast['cpu_s']:.2f} s | {fast['wall_s']:.1f} s | "
        f"{fast['mb_per_kernel']:.2f} MB | - |"
    )
    idle = "\n".join(
        f"| {count} idle kernels for {kernel_costs.IDLE_S} s | {each['cpu_s']:.2f} s | {each['wall_s']:.1f} s | "
        f"{each['mb_per_kernel']:.2f} MB | {parts(each['parts_mb'])} |"
        for count, each in cost["idle"].items()
    )
    dctcp = "\n".join(
        f"| {hops} | {ratio(found.goodput)} | {ratio(found.rtt)} |"
        for hops in measured.hops
        if (found := measured.gains["kernel"].get((hops, "dctcp", measured.ecn))) is not None
    )
    equal = sum(measured.identical.values())
    assert measured.conditions is not None
    conditions = kernel_conditions_document.section(measured.conditions, _measured_with(measured))
    return f"""# Today's transports over multi-hop radio, in Linux' own TCP

{textwrap.fill(conclusion(measured), wide)}

![Goodput and round trip of Linux' CUBIC over 1 to 15 hops, a line a policy]({FIGURE})

Written by `sim/bench/bench_kernel.py --document`; `make bench-kernel` measures the same. Version
{paths.version()["git"]}. One flow with SACK over a chain (`sim/experiments/kernel_chain`): 250 m between nodes, 802.11b
at 2 Mb/s with RTS/CTS, ns-2's reception, segments of 1448 bytes, a window of 44, TCP ACKs at once, least timeout 200
ms. Seeds {seeds}, {measured.measured_s:g} s after 5 s; means with 95 % intervals by Student's t.

{_findings_section(told)}
{_places_section(measured)}
{_abc_section(measured)}
## {POLICIES_HEAD}

Goodput, then round trip, over those of the same TCP without a policy: means of each seed's own ratio. **Bold** where a
policy helps: more goodput, or a shorter round trip at no loss of goodput that the interval shows. _Slanted_ where it
costs goodput.

{chr(10).join(sections)}
EXACT's own flows are UDP at the rate that routers allow; `paced exact` gives that rate to TCP. Over the same chains
(ns-3's place, M2) a flow of UDP has, in kb/s: {exact}.

DCTCP under `{measured.ecn}`, over CUBIC without a policy, in Linux:

| hops | goodput | round trip |
|---|---|---|
{dctcp}

{conditions}
## What it costs

| run | CPU | wall time | memory a kernel | of it: image, its memory, the rest |
|---|---|---|---|---|
{loaded}
{idle}

CPU is that of all processes of a run; memory is what kernels have resident at the most while a run goes on, shared
pages divided among them (Pss). Kernels share the pages of their image that they have not written to. Of the
{len(measured.identical)} ways in which `make verify-kernel` makes a run again, {equal} came out as they must.
"""
