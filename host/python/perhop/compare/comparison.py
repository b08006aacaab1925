# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole comparison: what differs is judged, the runs that are missing are made, and the pairs are compared."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.compare import differing
from perhop.compare.differing import Comparison, Differing, Matched
from perhop.compare.fields import is_at
from perhop.compare.making import make
from perhop.compare.paired import Difference, Pair, adjust, compare
from perhop.compare.quantities import Measured, Quantity, measured_runs, quantities
from perhop.compare.sides import Asked, Side, look
from perhop.errors import PerhopError
from perhop.study.outcomes import Study
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean, mean

# Of a folder that is named after what is compared.
NAME_CHARACTERS = 100


@dataclass(frozen=True)
class Planned:
    """Two sides that may be compared. Nothing has been run or written."""

    a: Side
    b: Side
    comparison: Comparison
    folder: Path  # of the page
    runs_folder: Path  # of the runs that are made, whatever page they are for

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.a, self.b


@dataclass(frozen=True)
class Compared:
    """One row of the outcome: a quantity at a point under a policy, of one flow or of all."""

    point: str
    policy: str
    quantity: Quantity
    difference: Difference

    @property
    def place(self) -> str:
        """Where, in words; empty where there is one place only."""
        return ", ".join(part for part in (self.point, self.policy) if part)


@dataclass(frozen=True)
class Moment:
    """Goodput of an interval of time, over the seeds: of each side, and side B's less side A's."""

    t_start_s: float
    t_end_s: float
    a: Mean
    b: Mean
    difference: Mean


@dataclass(frozen=True)
class OverTime:
    """The goodput of a point under a policy over time."""

    point: str
    policy: str
    moments: list[Moment]

    @property
    def place(self) -> str:
        return ", ".join(part for part in (self.point, self.policy) if part)


@dataclass
class Finished:
    """Everything that a comparison gave."""

    planned: Planned
    rows: list[Compared]
    over_time: list[OverTime]
    notes: list[str]
    failed: list[str]
    program_hashes: dict[str, dict[str, str]]  # by the side's letter
    made: int = 0
    reused: int = 0
    interrupted: bool = False
    written: dict[str, Path] = field(default_factory=dict)

    def title(self, side: Side) -> str:
        """What a side is called: what of it differs from the other."""
        return title(self.planned.comparison, side)


def plan(
    a: Asked, b: Asked, set_on_a_side: list[str], about: list[str] | None = None, out: Path | None = None
) -> Planned:
    """Look at both sides. Raises PerhopError where more differs than what is compared; writes nothing.

    `set_on_a_side` are the overrides that one of the sides has and the other has not.
    """
    sides = look(a), look(b)
    if a.inventory is not None and all(side.backend != "radio" for side in sides):
        raise PerhopError("--inventory is for the backend radio", "leave it out, or add --backend-b radio")
    of_runs = [side.asked.source for side in sides if side.plan is None and not side.points[0].swept and _is_run(side)]
    if len(of_runs) == 1:
        raise PerhopError(
            f"{paths.shown(of_runs[0])} is a single run, and the other side is not",
            "give a run on both sides, or the output folder of that run",
        )
    fields = [text.partition("=")[0].strip().removeprefix("sweep.") for text in set_on_a_side]
    comparison = differing.demand(*sides, fields, about or [])
    if not comparison.compared and _same_runs(*sides):
        raise PerhopError(
            "both sides are the same runs: there is nothing to compare",
            "say what differs: another file, or --set-a and --set-b, --backend-b or --git-a",
        )
    of_name = paths.output() / "compare" / _file_name(sides[0].name)
    folder = out or of_name / _file_name(" against ".join(title(comparison, side) for side in reversed(sides)))
    return Planned(*sides, comparison, folder.resolve(), (out or of_name).resolve())


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text)[:NAME_CHARACTERS].strip("-")


def _is_run(side: Side) -> bool:
    return (side.asked.source / "run.json").is_file()


def _same_runs(a: Side, b: Side) -> bool:
    if a.plan is not None and b.plan is not None:
        return True
    return a.plan is None and b.plan is None and a.asked.source.resolve() == b.asked.source.resolve()


def run(
    planned: Planned,
    jobs: int | None = None,
    fresh: bool = False,
    on_change: Callable[[Study], None] = lambda study: None,
    note: Callable[[str], None] = lambda text: None,
    scheduler: str | None = None,
) -> Finished:
    """Make the runs that are missing, and compare. With `scheduler`, workers of that Dask scheduler make them.

    Raises PerhopError when nothing could be run or paired.
    """
    done = Finished(planned, [], [], [], [], {side.letter: dict(side.programs or {}) for side in planned.sides})
    made = make(planned.sides, planned.comparison.seeds, planned.runs_folder, jobs, fresh, on_change, note, scheduler)
    done.made, done.reused, done.interrupted = made.made, made.reused, made.interrupted
    done.program_hashes |= made.program_hashes
    if done.interrupted:
        return done
    _tell_seeds(planned, done)
    _tell_programs(planned, done)
    cells = {side.letter: _by_cell(side, made.results[side.letter], done) for side in planned.sides}
    for matched in planned.comparison.points:
        for policy in _policies(planned):
            a, b = (
                _of(cells[side.letter], place, None if planned.comparison.pairs_policies else policy)
                for side, place in ((planned.a, matched.a), (planned.b, matched.b))
            )
            _compare_cell(planned, done, matched, policy, a, b)
    if not done.rows:
        raise PerhopError(
            "no seed has a finished run with results on both sides" + "".join(f"\n  {text}" for text in done.failed),
            "see why runs failed (above), or give more seeds",
        )
    adjusted = adjust([row.difference for row in done.rows])
    done.rows = [replace(row, difference=each) for row, each in zip(done.rows, adjusted, strict=True)]
    return done


# --- pairing --------------------------------------------------------------------------------------------------------

# Of a point and a policy: what each seed measured, and its intervals.
Cell = dict[int, tuple[Measured, list[Row]]]
Cells = dict[tuple[int, str], Cell]


def _by_cell(side: Side, results: Results, done: Finished) -> Cells:
    """The finished runs of a side, by the place of their point, their policy and their seed."""
    intervals: dict[str, list[Row]] = {}
    for row in results.intervals:
        intervals.setdefault(row["run"], []).append(row)
    cells: Cells = {}
    measured = measured_runs(results)
    for row in results.runs:
        if row["status"] != "finished":
            done.failed.append(f"{side.letter}: {row['label']}: {row['message'] or row['status']}")
            continue
        if row["run"] not in measured:
            continue
        for place, point in enumerate(side.points):
            if is_at(row, point.swept):
                cell = cells.setdefault((place, row["policy"]), {})
                cell[row["seed"]] = measured[row["run"]], intervals.get(row["run"], [])
    return cells


def _of(cells: Cells, place: int, policy: str | None) -> Cell:
    """Of one policy, or of the only one."""
    return next((cell for key, cell in cells.items() if key[0] == place and policy in (None, key[1])), {})


def _policies(planned: Planned) -> list[str]:
    return [""] if planned.comparison.pairs_policies else planned.a.policies


def _compare_cell(planned: Planned, done: Finished, matched: Matched, policy: str, a: Cell, b: Cell) -> None:
    point = ", ".join(f"{_last_word(name)} {value}" for name, value in matched.told_by.items())
    shown_policy = policy if len(_policies(planned)) > 1 else ""
    seeds = [seed for seed in planned.comparison.seeds if seed in a and seed in b]
    if not seeds:
        return
    for quantity in quantities([a[seed][0] for seed in seeds], [b[seed][0] for seed in seeds]):
        read = [(seed, quantity.read(a[seed][0]), quantity.read(b[seed][0])) for seed in seeds]
        pairs = [Pair(seed, one, other) for seed, one, other in read if one is not None and other is not None]
        if pairs:
            done.rows.append(Compared(point, shown_policy, quantity, compare(pairs)))
    moments = _moments([(a[seed][1], b[seed][1]) for seed in seeds], planned.a.interval_s)
    if moments:
        done.over_time.append(OverTime(point, shown_policy, moments))


def _moments(pairs: list[tuple[list[Row], list[Row]]], interval_s: float) -> list[Moment]:
    """The intervals that both sides have with every seed."""
    goodputs = [tuple(_goodput_by_interval(rows, interval_s) for rows in pair) for pair in pairs]
    common = set.intersection(*(set(one) & set(other) for one, other in goodputs)) if goodputs else set()
    found = []
    for number in sorted(common):
        values = [(one[number], other[number]) for one, other in goodputs]
        of_a, of_b, apart = (
            mean(read(*value) for value in values) for read in (lambda a, b: a, lambda a, b: b, lambda a, b: b - a)
        )
        assert of_a is not None and of_b is not None and apart is not None
        found.append(Moment(number * interval_s, (number + 1) * interval_s, of_a, of_b, apart))
    return found


def _goodput_by_interval(rows: list[Row], interval_s: float) -> dict[int, float]:
    """The sum over the flows; in real time an interval ends some microseconds beside its second."""
    found: dict[int, float] = {}
    for row in rows:
        if row["goodput_bps"] is not None and row["t_start_s"] is not None:
            number = round(row["t_start_s"] / interval_s)
            found[number] = found.get(number, 0.0) + row["goodput_bps"]
    return found


# --- words ----------------------------------------------------------------------------------------------------------


def _tell_seeds(planned: Planned, done: Finished) -> None:
    comparison = planned.comparison
    for seeds, side, other in (
        (comparison.seeds_of_a, planned.a, planned.b),
        (comparison.seeds_of_b, planned.b, planned.a),
    ):
        if seeds:
            done.notes.append(
                f"Side {other.letter} has no run with seed {', '.join(map(str, seeds))}; "
                f"what {side.letter} has of it is left out."
            )
    if not comparison.compared:
        done.notes.append("Nothing that perhop knows of differs between the sides: this shows how well runs repeat.")
    if len({side.backend for side in planned.sides}) > 1 or planned.a.backend != "sim":
        done.notes.append(
            "In real time a seed draws the medium's losses and nothing of what kernels and processors do: "
            "the runs of a pair have less in common than simulated ones."
        )


def _tell_programs(planned: Planned, done: Finished) -> None:
    """What could not be known before the runs, such as the programs of hosts."""
    a, b = (done.program_hashes[side.letter] for side in planned.sides)
    other = [name for name in a if name in b and a[name] != b[name]]
    if other and not any(each.field == differing.VERSION for each in planned.comparison.compared):
        done.notes.append(
            f"Another build of {', '.join(other)} made each side: this may be what the differences are of."
        )


def title(comparison: Comparison, side: Side) -> str:
    """What a side is called: what of it differs from the other."""
    of_a = side.letter == "A"
    words = []
    for each in comparison.compared:
        by_itself = each.field in (differing.POLICIES, differing.BACKEND, differing.VERSION)
        words.append(("" if by_itself else f"{_last_word(each.field)} ") + (each.a if of_a else each.b))
    return ", ".join(words) or side.letter


def what(compared: list[Differing]) -> str:
    """What is compared, in words."""
    return "; ".join(f"{each.section}: {each.values}" for each in compared) or "nothing, as far as perhop knows"


def _last_word(field_name: str) -> str:
    return field_name.rsplit(".", 1)[-1].replace("_", " ")


def as_json(done: Finished, command: list[str], reasons: bool = True) -> dict[str, Any]:
    """The comparison as plain values; with `reasons` each row says why its test was used."""
    planned = done.planned
    return {
        "name": planned.a.name,
        "compared": [{"field": each.field, "a": each.a, "b": each.b} for each in planned.comparison.compared],
        "sides": {
            side.letter: {
                "title": done.title(side),
                "source": paths.shown(side.asked.source),
                "backend": side.backend,
                "version": side.version,
                "programs_sha256": done.program_hashes[side.letter],
                "command": side.command,
            }
            for side in planned.sides
        },
        "seeds": planned.comparison.seeds,
        "seeds_of_a_alone": planned.comparison.seeds_of_a,
        "seeds_of_b_alone": planned.comparison.seeds_of_b,
        "rows": [{k: v for k, v in row_json(row).items() if reasons or k != "why"} for row in done.rows],
        "notes": done.notes,
        "failed": done.failed,
        "runs_made": done.made,
        "runs_reused": done.reused,
        "command": command,
    }


def row_json(row: Compared) -> dict[str, Any]:
    """One row; what there is not is null. `difference` is B less A, `share` of A, 0.1 for 10 % more."""
    difference = row.difference
    relative = difference.relative
    return {
        "point": row.point,
        "policy": row.policy,
        "quantity": row.quantity.name,
        "flow": row.quantity.flow,
        "unit": row.quantity.unit_of_value,
        "pairs": len(difference.pairs),
        "a": difference.mean_a,
        "b": difference.mean_b,
        "difference": difference.absolute.value,
        "low_95": difference.absolute.low,
        "high_95": difference.absolute.high,
        "share": relative.value if relative else None,
        "share_low_95": relative.low if relative else None,
        "share_high_95": relative.high if relative else None,
        "test": difference.test,
        "p": difference.p,
        "p_adjusted": difference.p_adjusted,
        "normality_p": difference.normality_p,
        "why": difference.why,
    }
