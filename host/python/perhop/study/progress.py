# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows on a terminal how far the runs are; off a terminal, a line for each run that ends."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from perhop.study.outcomes import Outcome, Study

TIME_LEFT_PERIOD_S = 1.0


class ProgressView:
    """Give `update` to `runner.execute` as its `on_change`; use as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal or console.is_jupyter
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[note]}", style="dim"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._tasks: dict[str, int] = {}
        self._all: int | None = None
        self._note: int | None = None
        self._told: set[str] = set()
        self._left = TimeLeft()

    def __enter__(self) -> ProgressView:
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, error, trace)

    def note(self, text: str) -> None:
        """Say what is being done besides the runs."""
        if self._live:
            self._note = self._note if self._note is not None else self._progress.add_task("", total=None, note="")
            self._progress.update(self._note, description=text)

    def update(self, study: Study) -> None:
        # Called ten times a second, with thousands of runs: everything here is linear in them, and little a run.
        done = [outcome for outcome in study.outcomes if outcome.status in ("finished", "interrupted", "failed")]
        if self._all is None:
            self._all = self._progress.add_task("[bold]all runs", total=_total(study.outcomes), note="")
            self._told = {outcome.run.id for outcome in done}
        seconds = sum(outcome.simulated_s for outcome in study.outcomes)
        left = self._left.words(study, time.monotonic())
        note = ", ".join(filter(None, [f"{len(done)} of {len(study.outcomes)} runs", left]))
        self._progress.update(self._all, completed=seconds, note=note)
        for outcome in study.outcomes:
            if outcome.status == "running" or outcome.run.id in self._tasks:
                self._show(outcome)
        for outcome in done:
            if outcome.run.id not in self._told:
                self._told.add(outcome.run.id)
                if not self._live:
                    self._tell(outcome, len(done), len(study.outcomes), left)

    def _show(self, outcome: Outcome) -> None:
        run = outcome.run
        if outcome.status == "running":
            duration_s = float(run.config["duration_s"])
            if run.id not in self._tasks:
                self._tasks[run.id] = self._progress.add_task(f"  {run.label}", total=duration_s, note="")
            note = f"{outcome.simulated_s:.0f} of {duration_s:g} s simulated"
            self._progress.update(self._tasks[run.id], completed=outcome.simulated_s, note=note)
        elif run.id in self._tasks:
            self._progress.remove_task(self._tasks.pop(run.id))

    def _tell(self, outcome: Outcome, done: int, total: int, left: str) -> None:
        note = {"finished": f"{outcome.wall_s:.1f} s"}.get(outcome.status, outcome.status)
        note += f" ({left})" if left else ""
        self._console.print(f"[{done}/{total}] {outcome.run.label}: {note}", highlight=False, markup=False)


class TimeLeft:
    """How long the runs that are left will take, from how long those of this call took.

    Work, not simulated time, is what counts: a long path costs more a second. Results of before took this call no time.
    """

    def __init__(self) -> None:
        self._begun_s: float | None = None
        self._before = 0.0
        self._told_s = 0.0
        self._words = ""

    def words(self, study: Study, now_s: float) -> str:
        """Such as `3 min left`, anew each second; empty while nothing can be told."""
        if self._begun_s is None:
            self._begun_s, self._before = now_s, _work_done(study)
        elif now_s - self._told_s >= TIME_LEFT_PERIOD_S:
            self._told_s = now_s
            done = _work_done(study)
            left = sum(outcome.run.work for outcome in study.outcomes) - done
            told = done > self._before and left > 0
            left_s = (now_s - self._begun_s) * left / (done - self._before) if told else 0.0
            self._words = f"{_duration(max(left_s, 1.0))} left" if told else ""
        return self._words


def _work_done(study: Study) -> float:
    return sum(outcome.work_done for outcome in study.outcomes)


def _duration(seconds: float) -> str:
    for least_s, unit_s, unit in ((2 * 86400, 86400, "days"), (2 * 3600, 3600, "h"), (120, 60, "min")):
        if seconds >= least_s:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def _total(outcomes: list[Outcome]) -> float:
    return sum(float(outcome.run.config["duration_s"]) for outcome in outcomes)
