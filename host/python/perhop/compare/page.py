# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a comparison: what came out in a sentence and a table, then the pairs, time, and what was compared."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from perhop import files, paths
from perhop.compare.comparison import Compared, Finished, OverTime, as_json, row_json, what
from perhop.compare.paired import ALPHA, NO_TEST, Estimate
from perhop.compare.sides import Side
from perhop.report import figures, page, pair_figures
from perhop.report.page import Cell, Row, Table

# What a sentence at the head is about, in this order: what is sought first.
HEADLINES = ("goodput_bps", "rtt_ms", "delay_ms")
# Places beyond this many have their pairs and their time in the parquet files only.
PLACES_SHOWN_MAX = 8
PAIRS_SHOWN_MAX = 12
DIGITS_OF_HASH = 12
# A reason is a sentence, which wraps.
STYLE = ".reasons td { white-space:normal; min-width:15em; vertical-align:top; }\n"


def write(done: Finished, command: list[str]) -> Finished:
    """Write the page and the tables beside it; they are told in `written`."""
    folder = done.planned.folder
    done.written = {
        "report": folder / "compare.html",
        "json": folder / "compare.json",
        "differences": folder / "differences.parquet",
        "pairs": folder / "pairs.parquet",
        "over_time": folder / "over_time.parquet",
    }
    _parquet(done.written["differences"], [row_json(row) for row in done.rows])
    _parquet(done.written["pairs"], _pair_rows(done))
    if moments := _moment_rows(done):
        _parquet(done.written["over_time"], moments)
    else:
        done.written.pop("over_time").unlink(missing_ok=True)
    files.write_json(done.written["json"], as_json(done, command))
    files.write_text(done.written["report"], render(done, command))
    return done


def _parquet(path: Path, rows: list[dict[str, object]]) -> None:
    files.write_whole(path, lambda temporary: pq.write_table(pa.Table.from_pylist(rows), temporary))


def _pair_rows(done: Finished) -> list[dict[str, object]]:
    return [
        {
            "point": row.point,
            "policy": row.policy,
            "quantity": row.quantity.name,
            "flow": row.quantity.flow,
            "seed": pair.seed,
            "a": pair.a,
            "b": pair.b,
            "difference": pair.difference,
        }
        for row in done.rows
        for pair in row.difference.pairs
    ]


def _moment_rows(done: Finished) -> list[dict[str, object]]:
    return [
        {
            "point": line.point,
            "policy": line.policy,
            "t_start_s": moment.t_start_s,
            "t_end_s": moment.t_end_s,
            **{
                f"{name}_goodput_bps{end}": value
                for name, mean in (("a", moment.a), ("b", moment.b), ("difference", moment.difference))
                for end, value in (("", mean.value), ("_95", mean.half if mean.count > 1 else None))
            },
        }
        for line in done.over_time
        for moment in line.moments
    ]


# --- the page -------------------------------------------------------------------------------------------------------


def render(done: Finished, command: list[str]) -> str:
    planned = done.planned
    a, b = planned.sides
    heading = f"{done.title(b)} against {done.title(a)}"
    pairs, pairs_left_out = _pairs(done)
    shown = done.over_time[:PLACES_SHOWN_MAX]
    return page.render(
        "compare.html.jinja",
        f"{heading} · perhop compare",
        figures.dark_style() + STYLE,
        heading=heading,
        about=f"{a.name}: {a.description}" if a.description else a.name,
        facts=_facts(done),
        notes=[*done.notes, *(f"A run without results, whose pair is left out: {text}" for text in done.failed)],
        sentences=sentences(done),
        reaches=_reaches(done),
        a=done.title(a),
        b=done.title(b),
        differences=_differences(done),
        pairs=pairs,
        pairs_left_out=pairs_left_out,
        over_time=[_over_time(done, line) for line in shown],
        over_time_left_out=len(done.over_time) - len(shown),
        interval_s=a.interval_s,
        tests=sum(row.difference.p is not None for row in done.rows),
        alpha=ALPHA,
        reasons=_reasons(done),
        compared=what(planned.comparison.compared),
        command=shlex.join(command),
        seeds=planned.comparison.seeds,
        made=done.made,
        reused=done.reused,
        sides=[_side(done, side) for side in planned.sides],
    )


def _facts(done: Finished) -> dict[str, str]:
    planned = done.planned
    tests = dict.fromkeys(row.difference.test for row in done.rows if row.difference.test != NO_TEST)
    places = len({row.place for row in done.rows})
    facts = {
        "compared": what(planned.comparison.compared),
        **({side.letter: done.title(side) for side in planned.sides} if planned.comparison.compared else {}),
        "pairs": f"{len(planned.comparison.seeds)}, one a seed" + (f", at {places} places each" if places > 1 else ""),
        "test": ", ".join(tests) or "none",
        "where": " and ".join(dict.fromkeys(side.backend for side in planned.sides)),
        "version": " and ".join(dict.fromkeys(side.version for side in planned.sides if side.version)),
    }
    return {name: value for name, value in facts.items() if value}


def sentences(done: Finished) -> list[str]:
    """What came out, for a person: the first quantities, at each place or counted over the places."""
    found = []
    for name in HEADLINES:
        rows = [row for row in done.rows if row.quantity.name == name and not row.quantity.flow]
        if 0 < len(rows) <= 2:
            found += [_sentence(done, row) for row in rows]
        elif rows:
            found.append(_count(done, rows))
    return found


def _sentence(done: Finished, row: Compared) -> str:
    difference, quantity = row.difference, row.quantity
    b = done.title(done.planned.b)
    where = f"{row.place}: " if row.place else ""
    if not difference.absolute.value:
        return f"{where}{quantity.title} is the same under {b}."
    more = "more" if difference.absolute.value > 0 else "less"
    share = f" ({_share(difference.relative)})" if difference.relative else ""
    interval = _interval_words(row)
    return (
        f"{where}{quantity.title} under {b} is {quantity.shown(abs(difference.absolute.value))} {quantity.unit} {more}"
        f"{share}, {quantity.shown(difference.mean_b)} against {quantity.shown(difference.mean_a)} {quantity.unit}: "
        f"{interval}."
    )


def _interval_words(row: Compared) -> str:
    absolute, pairs = row.difference.absolute, len(row.difference.pairs)
    if absolute.low is None or absolute.high is None:
        return "one pair, which does not tell how far chance goes"
    ends = f"{row.quantity.shown(absolute.low, True)} to {row.quantity.shown(absolute.high, True)} {row.quantity.unit}"
    verdict = "leaves zero out" if absolute.excludes_zero else "has zero in it, so this may be chance"
    if row.difference.test == NO_TEST:
        return f"the same in each of {pairs} pairs"
    return f"the 95 % interval over {pairs} pairs, {ends}, {verdict}"


def _count(done: Finished, rows: list[Compared]) -> str:
    b = done.title(done.planned.b)
    more, less = (
        sum(row.difference.absolute.excludes_zero and sign * row.difference.absolute.value > 0 for row in rows)
        for sign in (1, -1)
    )
    head = f"{rows[0].quantity.title} under {b} is "
    rest = len(rows) - more - less
    if rest == len(rows):
        return f"{head}neither more nor less for sure at any of {rest} places: each 95 % interval has zero in it."
    told = " and ".join(f"{word} at {count}" for word, count in (("more", more), ("less", less)) if count)
    return f"{head}{told} of {len(rows)} places" + (f"; at {rest} the 95 % interval has zero in it." if rest else ".")


def _differences(done: Finished) -> Table:
    several = len({row.place for row in done.rows}) > 1
    head = (["where"] if several else []) + ["quantity", "A", "B", "B less A", "95\u00a0%", "in\u00a0%", "95\u00a0%"]
    head += ["p", "p*", "pairs"]
    rows = []
    previous = None
    for row in done.rows:
        begin = [Cell(row.place or "all", unseen=row.place == previous)] if several else []
        name = Cell(row.quantity.title, unit=row.quantity.unit)
        rows.append(Row(several and row.place != previous, [*begin, name, *_cells(done, row)]))
        previous = row.place
    caption = "Differences: a line for each quantity"
    return Table(caption, head, rows, named_by="quantity", left=("where", "quantity"))


def _cells(done: Finished, row: Compared) -> list[Cell]:
    difference, quantity = row.difference, row.quantity
    seeds = len(done.planned.comparison.seeds)
    short = len(difference.pairs) < seeds
    relative = difference.relative
    return [
        Cell(quantity.shown(difference.mean_a)),
        Cell(quantity.shown(difference.mean_b)),
        Cell(quantity.shown(difference.absolute.value, True)),
        _interval(difference.absolute, lambda value: quantity.shown(value, True)),
        Cell(f"{relative.value:+.1%}".removesuffix("%") if relative else "-"),
        _interval(relative, lambda value: f"{value:+.1%}".removesuffix("%")) if relative else Cell("-"),
        Cell(p_words(difference.p)),
        Cell(p_words(difference.p_adjusted)),
        Cell(str(len(difference.pairs)) + (f" of {seeds}" if short else ""), strong=short),
    ]


def _interval(estimate: Estimate, shown: Callable[[float], str]) -> Cell:
    if estimate.low is None or estimate.high is None:
        return Cell("-")
    return Cell(f"[{shown(estimate.low)}, {shown(estimate.high)}]", strong=estimate.excludes_zero)


def p_words(value: float | None) -> str:
    return "-" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _share(relative: Estimate) -> str:
    half = f" ± {relative.half:.1%}" if relative.half else ""
    return f"{relative.value:+.1%}{half}".replace("%", " %")


def _reaches(done: Finished) -> figures.Panels | None:
    """Differences as shares of A: of the first quantities at each place, or of all quantities at the only one."""
    with_share = [(row, row.difference.relative) for row in done.rows if row.difference.relative is not None]
    places = {row.place for row, _ in with_share}
    if len(places) == 1:
        reaches = [pair_figures.Reach(row.quantity.title, *_percent(relative)) for row, relative in with_share]
        panels = [("Differences", "% of A", reaches)] if reaches else []
    else:
        panels = []
        for name in HEADLINES:
            of_name = [(row, share) for row, share in with_share if row.quantity.name == name and not row.quantity.flow]
            if of_name:
                reaches = [pair_figures.Reach(row.place or "all", *_percent(relative)) for row, relative in of_name]
                panels.append((f"{of_name[0][0].quantity.title}, B less A", "% of A", reaches))
    return pair_figures.reaches_figure(panels) if panels else None


def _percent(estimate: Estimate) -> tuple[float, float | None, float | None]:
    return (
        100 * estimate.value,
        None if estimate.low is None else 100 * estimate.low,
        None if estimate.high is None else 100 * estimate.high,
    )


def _pairs(done: Finished) -> tuple[figures.Panels | None, int]:
    """The pairs of the first quantities, and how many places that leaves out."""
    rows = [row for name in HEADLINES for row in done.rows if row.quantity.name == name and not row.quantity.flow]
    panels = [
        (
            ", ".join(part for part in (row.quantity.title, row.place) if part),
            row.quantity.unit,
            [(pair.a * row.quantity.factor, pair.b * row.quantity.factor) for pair in row.difference.pairs],
        )
        for row in rows[:PAIRS_SHOWN_MAX]
    ]
    if not panels:
        return None, 0
    a, b = (done.title(side) for side in done.planned.sides)
    return pair_figures.pairs_figure(panels, (a, b)), len(rows) - len(panels)


def _over_time(done: Finished, line: OverTime) -> figures.Panels:
    a, b = (done.title(side) for side in done.planned.sides)
    return pair_figures.over_time_figure(
        f", {line.place}" if line.place else "",
        [(moment.t_start_s, moment.t_end_s) for moment in line.moments],
        [(f"A: {a}", [moment.a for moment in line.moments]), (f"B: {b}", [moment.b for moment in line.moments])],
        [moment.difference for moment in line.moments],
        done.planned.a.warmup_s,
    )


def _reasons(done: Finished) -> Table:
    """Which test was used, and why, with what it was used for."""
    by_reason: dict[tuple[str, str], list[Compared]] = {}
    for row in done.rows:
        by_reason.setdefault((row.difference.test, row.difference.why), []).append(row)
    rows = [
        Row(False, [Cell(test), Cell(why), Cell("; ".join(_named(row) for row in rows))])
        for (test, why), rows in by_reason.items()
    ]
    head = ["test", "why", "for"]
    return Table("Tests: a line for each reason", head, rows, named_by="test", left=tuple(head), kind="reasons")


def _named(row: Compared) -> str:
    place = f" ({row.place})" if row.place else ""
    normality = f", p {p_words(row.difference.normality_p)}" if row.difference.normality_p is not None else ""
    return f"{row.quantity.title}{place}{normality}"


def _side(done: Finished, side: Side) -> dict[str, Any]:
    hashes = ", ".join(f"{name} {sha256[:DIGITS_OF_HASH]}" for name, sha256 in done.program_hashes[side.letter].items())
    made = "made for this page" if side.plan is not None else "results that were there"
    words = [
        f"{paths.shown(side.asked.source)}, {made}",
        f"backend {side.backend}",
        f"version {side.version}" if side.version else "",
        hashes,
    ]
    return {
        "letter": side.letter,
        "title": done.title(side),
        "words": [word for word in words if word],
        "command": shlex.join(side.command),
        "settings": json.dumps(side.settings, indent=1),
    }
