# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' claims beside what this project measures: what `perhop reproduce` does, without a terminal.

sim/experiments/rows.yaml lists the claims, one a row. The folder that a row names judges it: its check.py gets the
results of its experiment.yaml, or None if it has none, and returns a verdict for each row. The runs of all folders go
into one pool, long ones first, and lie in one output folder, so that Ctrl-C loses nothing that is finished. A result of
another build of a simulator is never used: such runs are made again (see `runner`).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

from perhop import paths
from perhop.errors import PerhopError
from perhop.reproduce.rows import GRADES, Catalogue, Grade, Row, catalogue, experiments, select
from perhop.study import runner
from perhop.study.backend import Sim
from perhop.study.check import Check, Judge, RowVerdict, load_check
from perhop.study.outcomes import Owner, Study
from perhop.study.plan import Plan, make_plan
from perhop.study.results import collect, write

Verdict = Literal["pass", "finding", "fail", "not finished", "not built"]
VERDICTS: tuple[Verdict, ...] = ("pass", "finding", "fail", "not finished", "not built")


@dataclass
class Part:
    """An experiment folder among those asked for, and what came of it. `planned` is None for arithmetic alone."""

    name: str
    rows: list[Row]
    grade: Grade = "quick"
    planned: Plan | None = None
    judge: Judge | None = None
    study: Study | None = None
    check: Check | None = None
    problem: str = ""
    check_s: float = 0.0

    @property
    def complete(self) -> bool:
        return self.study is None or self.study.complete

    @property
    def seeds(self) -> int:
        """How many seeds its runs have; 0 without runs."""
        return len({run.seed for run in self.planned.runs}) if self.planned else 0


@dataclass(frozen=True)
class RowResult:
    """A row and its verdict; `part` is None for a row without a folder."""

    row: Row
    verdict: Verdict
    measured: str = ""
    interval: str = ""
    evidence: str = ""
    part: Part | None = None
    figures: list[Path] = field(default_factory=list)

    @property
    def grade(self) -> Grade | None:
        return self.part.grade if self.part else None

    @property
    def seeds(self) -> int:
        return self.part.seeds if self.part else 0

    @property
    def conditions(self) -> str:
        """Grade and seeds in words; empty for a row without a folder."""
        if self.part is None:
            return ""
        return f"{self.grade}, {counted(self.seeds, 'seed')}" if self.seeds else "no runs"


@dataclass(frozen=True)
class Reproduction:
    """Everything that `run` gave. The folders of the rows in `full_of` ran at full grade even where `quick`."""

    catalogue: Catalogue
    asked: str
    quick: bool
    full_of: list[str]
    folder: Path
    parts: list[Part]
    results: list[RowResult]
    study: Study
    command: list[str]
    wall_s: float

    @property
    def grade(self) -> Grade:
        return _grade(self.quick)

    @property
    def interrupted(self) -> bool:
        return self.study.interrupted

    def count(self, verdict: Verdict, rows: Iterable[RowResult] | None = None) -> int:
        return sum(result.verdict == verdict for result in (self.results if rows is None else rows))

    @property
    def numeric(self) -> list[RowResult]:
        """The rows that state a number."""
        return [result for result in self.results if result.row.numeric]

    @property
    def numeric_pass_share(self) -> float | None:
        """Of the rows that state a number and have an experiment, those that pass; None without such rows."""
        return _pass_share([result for result in self.numeric if result.part is not None])

    @property
    def numeric_pass_share_all(self) -> float | None:
        """Of all rows that state a number, those without an experiment among them; None without such rows."""
        return _pass_share(self.numeric)

    @property
    def cpu_s(self) -> float:
        """CPU time of the simulators, of this call and of the earlier ones whose runs were used again."""
        return sum(cpu_s(part.study) for part in self.parts)

    def as_json(self) -> dict[str, Any]:
        """The object of the RESULT line."""
        return {
            "mode": self.grade,
            "asked": self.asked,
            "full_of": self.full_of,
            "rows": {
                result.row.id: {
                    "verdict": result.verdict,
                    "claim": result.row.claim,
                    "measured": result.measured,
                    "interval": result.interval,
                    "numeric": result.row.numeric,
                    "grade": result.grade,
                    "seeds": result.seeds,
                }
                for result in self.results
            },
            "counts": {verdict: self.count(verdict) for verdict in VERDICTS},
            "not_built": self.count("not built"),
            "numeric_pass_share": _rounded(self.numeric_pass_share),
            "numeric_pass_share_all": _rounded(self.numeric_pass_share_all),
            "runs": len(self.study.outcomes),
            "runs_reused": self.study.reused,
            "cpu_s": round(self.cpu_s, 1),
            "wall_s": round(self.wall_s, 1),
            "programs_sha256": self.study.program_hashes,
            "version": paths.version(),
        }


def _grade(quick: bool) -> Grade:
    return "quick" if quick else "full"


def _pass_share(results: list[RowResult]) -> float | None:
    return sum(result.verdict == "pass" for result in results) / len(results) if results else None


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def cpu_s(study: Study | None) -> float:
    """CPU seconds of a study's runs, as the simulators count them."""
    results = [outcome.result for outcome in study.outcomes if outcome.result] if study else []
    return sum(float(result.get("cpu_s", {}).get("total", 0.0)) for result in results)


def run(
    asked: list[str],
    quick: bool = True,
    jobs: int | None = None,
    fresh: bool = False,
    out: Path | None = None,
    command: list[str] | None = None,
    experiments_folder: Path | None = None,
    full_of: Iterable[str] = (),
    scheduler: str | None = None,
    note: Callable[[str], None] = lambda text: None,
    on_plan: Callable[[list[Part], int], None] = lambda parts, runs: None,
    on_change: Callable[[Study], None] = lambda study: None,
    on_check: Callable[[Part], None] = lambda part: None,
) -> Reproduction:
    """Make the runs that are missing, judge every row asked for.

    `full_of` names rows, papers or folders that run at full grade among quick ones; a folder has one grade. With
    `scheduler`, workers of that Dask scheduler make the runs, and `note` is told of them.
    Raises PerhopError before any run when something that the runs or the checks need has not been built.
    """
    start = time.monotonic()
    known = catalogue(experiments_folder or experiments())
    rows = select(known, asked)
    full_of = list(full_of)
    folder = (out or paths.output() / ("reproduce" if quick else "reproduce-full")).resolve()
    named = select(known, full_of)
    in_full = {name for row in (named if quick else rows) for name in row.folders}
    parts = _parts(known, rows, in_full, folder)
    runs = {run.id: run for part in parts if part.planned for run in part.planned.runs}
    for part in parts:
        _load_judge(part, known)
    on_plan(parts, len(runs))
    owner = Owner.of("reproduce", known.folder / "rows.yaml")
    study = runner.execute(
        list(runs.values()),
        folder,
        jobs,
        fresh,
        on_change,
        owner=owner,
        scheduler=Sim().scheduler(scheduler),
        note=note,
    )
    outcomes = {outcome.run.id: outcome for outcome in study.outcomes}
    for part in parts:
        if part.planned is not None:
            part.study = Study(
                folder / part.name,
                [outcomes[run.id] for run in part.planned.runs],
                program_hashes=study.program_hashes,
            )
        on_check(part)
        _judge(part, folder, known, command or [])
    results = [_result(row, parts) for row in rows]
    return Reproduction(
        known, " ".join(asked), quick, full_of, folder, parts, results, study, command or [], time.monotonic() - start
    )


def _parts(known: Catalogue, rows: list[Row], in_full: Collection[str], out: Path) -> list[Part]:
    by_folder: dict[str, list[Row]] = {}
    for row in rows:
        for name in row.folders:
            by_folder.setdefault(name, []).append(row)
    parts = []
    for name, of_folder in by_folder.items():
        quick = name not in in_full
        part = Part(name, of_folder, _grade(quick))
        source = known.folder / name
        if (source / paths.EXPERIMENT_FILE).is_file():
            try:
                # Nobody looks at the packets of hundreds of runs.
                part.planned = make_plan(source, ["outputs.pcapng='off'"], quick, out / name)
            except PerhopError as error:
                part.problem = str(error)
        parts.append(part)
    return parts


def _load_judge(part: Part, known: Catalogue) -> None:
    """The check of a part. What has not been built raises PerhopError; a check that is wrong fails its own rows."""
    check_file = known.folder / part.name / "check.py"
    try:
        part.judge = load_check(check_file)
    except PerhopError:
        raise
    except Exception as error:
        part.problem = part.problem or _no_verdict(check_file, error)


def _no_verdict(check_file: Path, error: Exception) -> str:
    return f"{paths.shown(check_file)} cannot judge: {type(error).__name__}: {error}"


def _judge(part: Part, folder: Path, known: Catalogue, command: list[str]) -> None:
    """Apply the check of a part whose runs are all there."""
    if part.problem or not part.complete:
        return
    start = time.monotonic()
    place = folder / part.name
    place.mkdir(parents=True, exist_ok=True)
    results = None
    if part.planned is not None and part.study is not None:
        results = collect(part.study)
        _link_runs(place)
        write(part.study, results, part.planned.points, command, part.planned.source)
    assert part.judge is not None
    try:
        part.check = part.judge(results, place)
    except OSError as error:
        # A disk that is full is no verdict on a paper.
        if error.filename is not None and Path(error.filename).is_relative_to(folder):
            raise
        part.problem = _no_verdict(known.folder / part.name / "check.py", error)
    except Exception as error:
        part.problem = _no_verdict(known.folder / part.name / "check.py", error)
    part.check_s = time.monotonic() - start


def _link_runs(place: Path) -> None:
    """A check may look into folder/runs/<id>, as after `perhop run`; the runs of all folders lie beside `place`."""
    link = place / "runs"
    if not link.exists():
        with contextlib.suppress(FileExistsError):
            link.symlink_to(Path("..") / "runs", target_is_directory=True)


def _result(row: Row, parts: list[Part]) -> RowResult:
    by_name = {part.name: part for part in parts}
    of = [by_name[name] for name in row.folders]
    if not of:
        return RowResult(row, "not built")
    results = [_result_of(row, part) for part in of]
    results += [_joint(row, part, other) for part, other in permutations(of, 2) if _joins(row, part, other)]
    # A row passes where both folders say so, and what they tell only together.
    order: tuple[Verdict, ...] = ("fail", "not finished", "finding", "pass")
    joined = {
        name: separator.join(text for result in results if (text := getattr(result, name).strip()))
        for name, separator in (("measured", "; "), ("interval", "; "), ("evidence", "\n"))
    }
    return replace(
        results[0],
        part=min(of, key=lambda part: GRADES.index(part.grade)),
        verdict=min((result.verdict for result in results), key=order.index),
        figures=[figure for result in results for figure in result.figures],
        **joined,
    )


def _joins(row: Row, part: Part, other: Part) -> bool:
    """Whether `part` has a word on the row that takes the other's check, and both were judged."""
    return part.check is not None and other.check is not None and row.id in part.check.joint


def _joint(row: Row, part: Part, other: Part) -> RowResult:
    assert part.check is not None and other.check is not None
    try:
        given = part.check.joint[row.id](other.check)
    except Exception as error:
        return RowResult(row, "fail", f"{part.name} cannot judge beside {other.name}: {type(error).__name__}: {error}")
    return _result_given(row, given, part)


def _result_of(row: Row, part: Part) -> RowResult:
    def result(verdict: Verdict, measured: str) -> RowResult:
        return RowResult(row, verdict, measured, part=part)

    if part.problem:
        return result("fail", part.problem)
    if part.study is not None and part.study.failed:
        failed = part.study.failed
        first = f"{failed[0].run.label}: {failed[0].message}"
        return result("fail", f"{len(failed)} of {len(part.study.outcomes)} runs failed. {first}")
    if not part.complete:
        return result("not finished", "interrupted; the same command continues")
    assert part.check is not None
    given = part.check.rows.get(row.id)
    if given is None:
        return result("fail", f"the check of {part.name} gives no verdict on {row.id}")
    return replace(_result_given(row, given, part), figures=_figures(row, part.check.figures, part))


def _result_given(row: Row, given: RowVerdict, part: Part) -> RowResult:
    """What becomes of a check's verdict."""
    if given.verdict == "finding" and not given.evidence.strip():
        verdict, measured = "fail", f"{given.measured} (a finding without evidence)"
    else:
        verdict, measured = _finished(row, given, part.seeds, part.grade)
    return RowResult(row, verdict, measured, given.interval, given.evidence, part)


def _finished(row: Row, given: RowVerdict, seeds: int, grade: Grade) -> tuple[Verdict, str]:
    """The verdict of a check, or `not finished` where the row asks for more than ran."""
    lacks = []
    if seeds < row.seeds_least:
        lacks.append(f"the row asks for {counted(row.seeds_least, 'seed')}")
    if GRADES.index(grade) < GRADES.index(row.grade_least):
        lacks.append(f"the row asks for the {row.grade_least} grade")
    # What is missing can finish no check that fails without it.
    if row.missing and given.verdict != "fail":
        lacks.append(f"missing: {row.missing}")
    if not lacks:
        return given.verdict, given.measured
    return "not finished", f"{'; '.join(lacks)}. What ran ({given.verdict}): {given.measured}"


def _figures(row: Row, figures: list[Path], part: Part) -> list[Path]:
    """Those named after the row, such as D-09_gain.svg; those named after none belong to the folder's first row."""
    own = [file for file in figures if file.stem[:4] == row.id]
    if row.id == part.rows[0].id:
        own += [file for file in figures if not re.match(r"[A-Z]-\d\d", file.stem)]
    return own
