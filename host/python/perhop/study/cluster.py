# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes runs on the workers of a Dask scheduler; which worker makes which run is Dask's affair.

A worker is looked at when it comes: it must have the same programs, to the byte, or it gets no run. A run goes out with
its run.json and comes back as the files that it wrote, so that nothing but the programs need be on a worker's machine.
What a lost worker was making, Dask gives to another. When the scheduler is lost, what was out goes out again once it is
back.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import signal
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Any

from perhop.errors import PerhopError
from perhop.experiment.program import Programs
from perhop.experiment.resolve import Run
from perhop.own import files as own_files
from perhop.study import run_folder, worker
from perhop.study.outcomes import Outcome, Study
from perhop.study.parts import Part, parts_of
from perhop.study.simulator import Ended
from perhop.study.state import Keeper

try:
    import distributed
    from distributed import Client
except ImportError as error:
    raise PerhopError(
        f"--scheduler needs Dask, which cannot be loaded: {error}",
        "run `make setup`, or `pip install 'perhop[cluster]'`",
    ) from error

CONNECT_PATIENCE_S = 10.0
CLOSE_PATIENCE_S = 2.0
# How long a scheduler that went away is waited for.
SCHEDULER_PATIENCE_S = 300.0
RETRY_PERIOD_S = 0.5
POLL_PERIOD_S = 0.1
LOOK_PERIOD_S = 1.0
# After this long without an answer to SIGINT the simulators are killed; after twice as long nobody waits for them.
STOP_PATIENCE_S = 20.0
# Runs that are out for each that a worker makes at a time: the next one is there when one ends.
AHEAD = 2

HASH_DIGITS = 12


def examine(scheduler: str, programs: Programs) -> None:
    """Raises PerhopError where no scheduler answers, and where there are workers and none is fit."""
    address = address_of(scheduler)

    async def look() -> None:
        client = await _connect(address)
        try:
            await Fitness(programs).look(client, lambda text: None)
        finally:
            await _close(client)

    asyncio.run(look())


def address_of(scheduler: str) -> str:
    """An address as it is, or that of a scheduler file (`dask scheduler --scheduler-file`). Raises PerhopError."""
    if not scheduler.endswith(".json"):
        return scheduler
    try:
        return str(json.loads(Path(scheduler).read_text(encoding="utf-8"))["address"])
    except OSError as error:
        raise PerhopError(
            f"--scheduler {scheduler}: {(error.strerror or str(error)).lower()}",
            "name the file that `dask scheduler --scheduler-file` writes, or give an address such as tcp://HOST:8786",
        ) from None
    except (ValueError, KeyError, TypeError):
        raise PerhopError(
            f"--scheduler {scheduler} is no scheduler file: it has no field address",
            "name the file that `dask scheduler --scheduler-file` writes",
        ) from None


async def _connect(address: str) -> Client:
    """A client of a scheduler. Raises PerhopError where none answers."""
    # What is worth telling is told by whoever uses the connection.
    for name in ("distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(
            address, asynchronous=True, timeout=CONNECT_PATIENCE_S, set_as_default=False, name="perhop"
        )
    except (ValueError, TypeError) as error:
        raise _no_scheduler(address, error) from None
    try:
        # Dask's own patience does not cover what accepts a connection and then says nothing.
        return await asyncio.wait_for(client, CONNECT_PATIENCE_S + CLOSE_PATIENCE_S)
    except (OSError, ValueError, TypeError, ImportError) as error:
        await _close(client)
        raise _no_scheduler(address, error) from None


def _no_scheduler(address: str, error: Exception) -> PerhopError:
    why = _first_line(error) if str(error) else f"nothing came within {CONNECT_PATIENCE_S + CLOSE_PATIENCE_S:.0f} s"
    return PerhopError(
        f"no Dask scheduler answers at {address or 'an empty address'}: {why}",
        "start one there (`dask scheduler`), or mend --scheduler: tcp://HOST:PORT or a scheduler file",
    )


async def _close(client: Client) -> None:
    """Leave a scheduler, whether it is there or not."""
    with suppress(Exception):
        await asyncio.wait_for(client.close(), CLOSE_PATIENCE_S)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class _Lost(Exception):
    """The scheduler does not answer any more."""


class Fitness:
    """Which workers have the programs that are to make the runs, and which are refused."""

    def __init__(self, programs: Programs) -> None:
        self.parts = {name: parts_of(Path(program.command[0])) for name, program in programs.items()}
        self.fit: dict[str, str] = {}  # address: host
        self.refused: dict[str, PerhopError] = {}
        self.threads = 0  # of those that are fit
        self.looked = False
        self.known = 0  # workers, fit or not, when last looked at
        self.lost = 0

    async def look(self, client: Client, note: Callable[[str], None]) -> None:
        """Look at the workers that came since the last call. Raises PerhopError where all are refused.

        Not where others were lost: these may come back.
        """
        threads = await client.nthreads()
        for address in [address for address in self.fit if address not in threads]:
            self.lost += 1
            note(f"worker {address} on {self.fit.pop(address)} is gone; others make what it was making")
        self.refused = {address: error for address, error in self.refused.items() if address in threads}
        new = [address for address in threads if address not in self.fit and address not in self.refused]
        for address, answer in zip(new, await asyncio.gather(*(self._ask(client, one) for one in new)), strict=True):
            if isinstance(answer, PerhopError):
                self._refuse(address, answer, note)
            elif answer is not None:
                self.fit[address] = answer
        self.looked, self.known = True, len(threads)
        self.threads = sum(count for address, count in threads.items() if address in self.fit)
        if self.refused and not self.fit and not self.lost:
            raise next(iter(self.refused.values()))

    def doubt(self, address: str, why: str, note: Callable[[str], None]) -> None:
        """A worker could not make a run: it is looked at again, or, if its programs are not the reason, refused."""
        host = self.fit.pop(address, None)
        if host is not None and why != worker.OTHER_PROGRAM:
            remedy = f"mend it on {host}, or start the worker there with another --local-directory"
            self._refuse(address, PerhopError(f"worker {address} on {host} cannot make a run: {why}", remedy), note)

    def _refuse(self, address: str, error: PerhopError, note: Callable[[str], None]) -> None:
        self.refused[address] = error
        note(f"refused: {error}")

    async def _ask(self, client: Client, address: str) -> str | PerhopError | None:
        """The host of a worker that is fit, why one is not, or None of one that has gone."""
        try:
            answers = await client.run(worker.look, list(self.parts), workers=[address], on_error="raise")
            told = answers[address]
        except (OSError, KeyError):
            return None
        except Exception as error:
            return PerhopError(
                f"worker {address} cannot load perhop.study.worker: {_first_line(error)}",
                "start it by the .venv/bin/dask of the same commit as here",
            )
        return self.judge(address, told)

    def judge(self, address: str, told: dict[str, Any]) -> str | PerhopError:
        host = str(told.get("host"))
        who = f"worker {address} on {host}"
        theirs_perhop = str(told.get("perhop"))
        if theirs_perhop != worker.own_hash():
            return PerhopError(
                f"{who} has another perhop: its perhop/study/worker.py has SHA-256 {theirs_perhop[:HASH_DIGITS]}, "
                f"the one here {worker.own_hash()[:HASH_DIGITS]}",
                "start it by the .venv/bin/dask of the same commit as here",
            )
        for name, ours in self.parts.items():
            answer = told["programs"][name]
            if "problem" in answer:
                return PerhopError(f"{who}: {answer['problem']}", f"on {host}: {answer['remedy']}")
            theirs = {part: Part(**found) for part, found in answer["parts"].items()}
            if problem := difference(name, ours, theirs):
                return PerhopError(
                    f"{who} {problem}",
                    f"give {host} the build and the .venv of this machine, at the same place (copied or shared), "
                    "or stop that worker",
                )
        return host


def difference(program: str, ours: dict[str, Part], theirs: dict[str, Part]) -> str:
    """What the first part that differs says against a worker; empty where all are equal."""
    for name, here in ours.items():
        there = theirs.get(name)
        if there is None or not there.sha256:
            return f"lacks {name}, which {program} needs (here {here.file})"
        if there.sha256 != here.sha256:
            what = name if name == program else f"{name} for {program}"
            return (
                f"has another {what}: {there.file} has SHA-256 {there.sha256[:HASH_DIGITS]}, "
                f"{here.file} here {here.sha256[:HASH_DIGITS]}"
            )
    more = [name for name in theirs if name not in ours]
    return f"has a {program} that needs {more[0]}, and the one here does not" if more else ""


class Pool:
    """Everything happens in the caller's thread, in an event loop that lasts as long as the work."""

    def __init__(
        self,
        study: Study,
        programs: Programs,
        jobs: int | None,
        stop: threading.Event,
        on_change: Callable[[Study], None],
        scheduler: str,
        note: Callable[[str], None],
    ) -> None:
        self._study = study
        self._jobs = jobs
        self._stop = stop
        self._on_change = on_change
        self._scheduler = scheduler
        self._note = note
        self._fitness = Fitness(programs)
        self._token = uuid.uuid4().hex
        self._waiting = study.waiting
        self._out: dict[asyncio.Task[dict[str, Any] | None], Outcome] = {}
        self._by_id = {outcome.run.id: outcome for outcome in study.outcomes}
        self._sent = 0
        self._doubt = False  # whether a worker is to be looked at again before it gets a run
        self._idle = False
        self._keeper = Keeper(study)
        self._shown_at = 0.0
        self._stop_at: float | None = None
        self._killed = False
        self._telling: asyncio.Future[Any] | None = None

    def work(self) -> None:
        self._on_change(self._study)
        asyncio.run(self._work())
        self._on_change(self._study)

    async def _work(self) -> None:
        gone_at: float | None = None
        while self._waiting and not self._stop.is_set():
            try:
                # Another scheduler may have written the file since.
                client = await self._unless_stopped(_connect(address_of(self._scheduler)))
            except PerhopError as error:
                gone_at = gone_at or time.monotonic()
                if time.monotonic() - gone_at > SCHEDULER_PATIENCE_S:
                    raise PerhopError(
                        f"the scheduler has been away for {SCHEDULER_PATIENCE_S:.0f} s: {error.problem}",
                        "start it again; finished runs are kept, and the same command continues",
                    ) from None
                await asyncio.sleep(RETRY_PERIOD_S)
                continue
            if client is None:
                return
            if gone_at is not None:
                self._note("the scheduler is back")
            try:
                await self._use(client)
            except _Lost as error:
                gone_at = time.monotonic()
                self._note(f"the scheduler is gone ({error}); waiting for it")
            finally:
                self._recall()
                await _close(client)

    def _show(self, now: float) -> None:
        """Tell that something moved, however many runs end meanwhile."""
        if now - self._shown_at > POLL_PERIOD_S:
            self._shown_at = now
            self._on_change(self._study)

    async def _unless_stopped(self, waited: Coroutine[Any, Any, Client]) -> Client | None:
        """What is waited for, or None when the user does not wait any longer."""
        task = asyncio.create_task(waited)
        while not task.done():
            if self._stop.is_set():
                task.cancel()
                return None
            self._on_change(self._study)
            await asyncio.wait({task}, timeout=POLL_PERIOD_S)
        return task.result()

    async def _use(self, client: Client) -> None:
        """Have runs made until there are none left. Raises _Lost."""
        client.subscribe_topic(worker.topic(self._token), self._on_progress)
        look: asyncio.Task[None] | None = None
        looked_at = float("-inf")
        try:
            while self._waiting or self._out:
                now = time.monotonic()
                if client.status != "running":
                    raise _Lost("connection lost")
                if look is not None and look.done():
                    try:
                        look.result()
                    except OSError as error:
                        raise _Lost(_first_line(error)) from None
                    look, looked_at = None, now
                    self._study.workers_lost = self._fitness.lost
                elif look is None and (now - looked_at > LOOK_PERIOD_S or self._doubt):
                    self._doubt = False
                    look = asyncio.create_task(self._fitness.look(client, self._note))
                if self._stop.is_set():
                    if self._give_up(client, now):
                        return
                else:
                    self._launch(client)
                await self._collect()
                self._show(now)
        finally:
            if look is not None:
                look.cancel()

    def _launch(self, client: Client) -> None:
        fit = self._fitness.fit
        idle = not fit and self._fitness.looked
        if idle and not self._idle:
            self._note("no worker is there that can make runs; waiting for one")
        self._idle = idle
        room = self._jobs or AHEAD * self._fitness.threads
        # Where all are fit, a worker that has just come may get a run, too: it looks at its programs itself.
        only = list(fit) if len(fit) < self._fitness.known else None
        while fit and self._waiting and len(self._out) < room:
            outcome = self._waiting.popleft()
            self._out[asyncio.create_task(self._make(client, outcome, only))] = outcome

    async def _make(self, client: Client, outcome: Outcome, only: list[str] | None) -> dict[str, Any] | None:
        """What a worker answers; None when the run was lost with the scheduler."""
        self._sent += 1
        key = f"perhop-{outcome.run.id}-{self._token}-{self._sent}"
        future = client.submit(worker.make_run, self._task(outcome.run), key=key, pure=False, workers=only)
        try:
            return await future.result()
        except (CancelledError, OSError):
            return None
        except distributed.KilledWorker as error:
            return {"killed": f"each worker that made it was lost, {error.allowed_failures + 1} of them"}

    def _task(self, run: Run) -> dict[str, Any]:
        config = json.dumps(run.config)
        return {
            "study": self._token,
            "run": run.id,
            "program": run.program,
            "parts": {name: part.sha256 for name, part in self._fitness.parts[run.program].items()},
            "config": config,
            "config_sha256": hashlib.sha256(config.encode()).hexdigest(),
            "own": own_files.contents(run.config),
        }

    async def _collect(self) -> None:
        """Take note of runs that have ended; wait at most a moment for the next."""
        if not self._out:
            await asyncio.sleep(POLL_PERIOD_S)
            return
        done, _ = await asyncio.wait(self._out, timeout=POLL_PERIOD_S, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            outcome = self._out.pop(task)
            answer = task.result()
            if answer is not None and "files" in answer:
                self._keep(outcome, answer)
            elif answer is not None and "killed" in answer:
                outcome.status = "failed"
                outcome.message = f"{answer['killed']}; if they ran out of memory, start them with fewer threads"
            else:
                self._take_back(outcome, answer or {})
        if done:
            self._keeper.keep()

    def _keep(self, outcome: Outcome, answer: dict[str, Any]) -> None:
        work = run_folder.prepare(self._study.folder, outcome.run)
        for name, content in answer["files"].items():
            file = work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        ended = Ended(answer["code"], answer["tail"], answer["wall_s"])
        run_folder.settle(outcome, ended, work, stopped=self._stop.is_set())

    def _take_back(self, outcome: Outcome, answer: dict[str, Any]) -> None:
        """A run that nobody made waits again, unless the study is stopped."""
        outcome.status, outcome.simulated_s = "pending", 0.0
        if "unfit" in answer:
            self._fitness.doubt(answer["worker"], answer["unfit"], self._note)
            self._doubt = True
        if not self._stop.is_set():
            self._waiting.appendleft(outcome)

    def _recall(self) -> None:
        """What is out is not waited for any more."""
        for task, outcome in self._out.items():
            task.cancel()
            outcome.status, outcome.simulated_s = "pending", 0.0
        self._out.clear()
        self._waiting = self._study.waiting

    def _give_up(self, client: Client, now: float) -> bool:
        """Have the simulators stopped, later killed; whether all that is left to do is to leave."""
        self._waiting.clear()
        if self._stop_at is None:
            self._stop_at = now
            self._tell_stop(client, signal.SIGINT)
        elif not self._killed and now - self._stop_at > STOP_PATIENCE_S:
            self._killed = True
            self._tell_stop(client, signal.SIGKILL)
        return not self._fitness.fit or now - self._stop_at > 2 * STOP_PATIENCE_S

    def _tell_stop(self, client: Client, number: signal.Signals) -> None:
        told = client.run(worker.stop, self._token, int(number), workers=list(self._fitness.fit), on_error="ignore")
        self._telling = asyncio.ensure_future(told)

    def _on_progress(self, event: tuple[float, dict[str, Any]]) -> None:
        outcome = self._by_id[event[1]["run"]]
        if outcome.status in ("pending", "running"):
            outcome.status, outcome.simulated_s = "running", float(event[1]["simulated_s"])
