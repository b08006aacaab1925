# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows S-03 and S-04: who gets the multihop network when files cross it and a wire at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.transfers import Contest, contests
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, mean

FIRST_START_S = 0.1  # the default of a flow
STARTS_LEAST = 20
SERVER = 7
MIXED, OUT, IN, IN_SHORT = "IN and OUT, 8 MB", "OUT, 1 MB", "IN, 8 MB", "IN, 1 MB"

OUT_SHARE_MOST = 0.2  # S-03
JAIN_OUT_MOST = 0.8  # S-04
JAIN_IN_LEAST = 0.9

# What OUT_EVIDENCE speaks of: a mean that its interval does not tell from the bound, with the others below it.
OUT_EVIDENCE = (
    "Two files that leave are unequal at each delay, but at the shortest, 10 ms, not by as much as the row asks: the "
    "index lies on its bound. Tried: five seeds in place of one (100 start times, with RTS/CTS): 0.799 ± 0.026 at 10 "
    "ms, 0.742 ± 0.025 at 30 ms and 0.754 ± 0.027 at 100 ms, so that 10 ms cannot be told from 0.8 and the other two "
    "are below it. There the file that begins second gets 23 to 31 % of what both get. The paper tells neither its "
    "wired delay nor a figure, and the peer of the other rows, ns-2.35, was not tried here."
)

Key = tuple[str, bool, float]  # which files, with RTS/CTS, one-way delay of the wire in ms


def case_of(contest: Contest) -> str:
    inward = [src == SERVER for src, _ in contest.ends]
    if any(inward) != all(inward):
        return MIXED
    if not inward[0]:
        return OUT
    return IN if "8000000" in str(contest.swept("flows")) else IN_SHORT


def key_of(contest: Contest) -> Key:
    return case_of(contest), contest.swept("mac.rts_threshold_bytes") == 0, contest.swept("wires.0.delay_ms")


def check(results: Results | None, folder: Path) -> Check:
    """The file that leaves starves beside one that enters; two that leave are unequal, two that enter equal.

    S-04 is a finding where the shortest wire alone has an index that its interval does not tell from the bound.
    """
    assert results is not None
    cells: dict[Key, list[Contest]] = {}
    for contest in contests(results, FIRST_START_S):
        cells.setdefault(key_of(contest), []).append(contest)
    shares = {key: _mean(contest.share(1) for contest in cell) for key, cell in cells.items()}
    jains = {key: _mean(contest.jain for contest in cell) for key, cell in cells.items()}

    delays = sorted({delay for _, rts, delay in cells if rts})
    judged = [cells[case, True, delay] for case in (MIXED, OUT, IN) for delay in delays]
    enough = all(len({contest.swept("flows.1.start_s") for contest in cell}) >= STARTS_LEAST for cell in judged)
    captured = enough and all(shares[MIXED, True, delay].value < OUT_SHARE_MOST for delay in delays)
    shortest, *longer = (jains[OUT, True, delay] for delay in delays)
    others_unequal = enough and all(index.value < JAIN_OUT_MOST for index in longer)
    unequal = others_unequal and shortest.value < JAIN_OUT_MOST
    known = others_unequal and bool(longer) and shortest.value - shortest.half < JAIN_OUT_MOST
    equal = enough and all(jains[IN, True, delay].value > JAIN_IN_LEAST for delay in delays)

    one_direction: Literal["pass", "finding", "fail"] = "fail"
    if equal and (unequal or known):
        one_direction = "pass" if unequal else "finding"

    rows = {
        "S-03": RowVerdict(
            "pass" if captured else "fail",
            f"OUT's share with RTS/CTS: {_by_delay(shares, MIXED, True, '{:.0%}')}{_without(shares, MIXED, '{:.0%}')}",
            interval=f"95 % over {STARTS_LEAST} start times",
        ),
        "S-04": RowVerdict(
            one_direction,
            f"Jain's index with RTS/CTS: two OUT {_by_delay(jains, OUT, True)}; two IN {_by_delay(jains, IN, True)}, "
            f"of 1 MB {_by_delay(jains, IN_SHORT, True)}{_without(jains, OUT)}",
            interval=f"95 % over {STARTS_LEAST} start times",
            evidence=OUT_EVIDENCE if one_direction == "finding" else "",
        ),
    }
    lines = [_line(key, cells[key], shares[key], jains[key]) for key in sorted(cells)]
    lines.append("Shares and indices are of the time in which both files were under way.")
    figure = folder / "S-03_shares.svg"
    _draw(figure, cells, delays)
    numbers = {
        "second_flow_share": {_name(key): round(share.value, 4) for key, share in sorted(shares.items())},
        "jain": {_name(key): round(index.value, 4) for key, index in sorted(jains.items())},
    }
    return Check(captured and one_direction != "fail", lines, numbers, [figure], rows)


def _name(key: Key) -> str:
    case, rts, delay = key
    return f"{case}, {'with' if rts else 'without'} RTS/CTS, {delay:g} ms"


def _line(key: Key, cell: list[Contest], share: Mean, index: Mean) -> str:
    rate = _mean(contest.sum_bps for contest in cell)
    return (
        f"{_name(key)}: the second file's share {_pm(share, '{:.1%}')}, Jain's index {_pm(index)}, "
        f"{rate.value / 1e3:.0f} kb/s in all, {len(cell)} start times"
    )


def _mean(values: Iterable[float | None]) -> Mean:
    found = mean(values)
    return found if found is not None else Mean(float("nan"), 0.0, 0)


def _pm(value: Mean, form: str = "{:.3f}") -> str:
    return f"{form.format(value.value)} ± {form.format(value.half)}"


def _by_delay(of: dict[Key, Mean], case: str, rts: bool, form: str = "{:.2f}") -> str:
    there = [(delay, found) for (name, with_rts, delay), found in sorted(of.items()) if (name, with_rts) == (case, rts)]
    return ", ".join(f"{_pm(found, form)} at {delay:g} ms" for delay, found in there) or "not run"


def _without(of: dict[Key, Mean], case: str, form: str = "{:.2f}") -> str:
    return f"; without RTS/CTS {_by_delay(of, case, False, form)}" if any(not rts for _, rts, _ in of) else ""


def _draw(file: Path, cells: dict[Key, list[Contest]], delays: list[float]) -> None:
    """The second flow's share by its start, with RTS/CTS."""
    delay = delays[len(delays) // 2]
    with drawing(file, height=4.0) as (figure, (axis,)):
        for index, case in enumerate((MIXED, OUT, IN)):
            points = [(each.swept("flows.1.start_s"), each.share(1)) for each in cells[case, True, delay]]
            axis.plot(*zip(*points, strict=True), "o-", color=COLOURS[index], label=case)
        axis.axhline(OUT_SHARE_MOST, color="0.6", linewidth=0.8)
        axis.set(xlabel="start of the second file, s", ylabel="its share of what both get", ylim=(0, 1))
        axis.set_title(f"Two files over a multihop network and a wire of {delay:g} ms", loc="left")
        figure.legend(loc="outside lower center", ncols=3)
