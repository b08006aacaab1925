# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows on a terminal how far the runs are; off a terminal, a line for each run that ends."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from perhop.study.outcomes import Outcome, Study


class ProgressView:
    """Give `update` to `runner.execute` as its `on_change`; use as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal
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
        self._start = time.monotonic()

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
        self._progress.update(self._all, completed=seconds, note=f"{len(done)} of {len(study.outcomes)} runs")
        for outcome in study.outcomes:
            if outcome.status == "running" or outcome.run.id in self._tasks:
                self._show(outcome)
        for outcome in done:
            if outcome.run.id not in self._told:
                self._told.add(outcome.run.id)
                if not self._live:
                    self._tell(outcome, len(done), len(study.outcomes))

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

    def _tell(self, outcome: Outcome, done: int, total: int) -> None:
        note = {"finished": f"{outcome.wall_s:.1f} s"}.get(outcome.status, outcome.status)
        self._console.print(f"[{done}/{total}] {outcome.run.label}: {note}", highlight=False, markup=False)


def _total(outcomes: list[Outcome]) -> float:
    return sum(float(outcome.run.config["duration_s"]) for outcome in outcomes)
