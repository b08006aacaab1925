# SPDX-License-Identifier: GPL-2.0-or-later
"""A conversation with the program on a node (`perhop.agent`), through whatever starts a Python there."""

from __future__ import annotations

import base64
import collections
import contextlib
import json
import queue
import shlex
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop.errors import PerhopError

AGENT = Path(__file__).resolve().parent.parent / "agent"
MODULES = ("tcp_info", "rates", "traffic", "host", "loop")
# Reads the modules and becomes the program. Reads the descriptor itself, so that nothing of what follows is lost.
BOOTSTRAP = """\
import json, os, sys, types
want, text = int(sys.argv[1]), b""
while len(text) < want:
    piece = os.read(0, want - len(text))
    if not piece:
        raise SystemExit("the program did not come")
    text += piece
for name, source in json.loads(text):
    module = types.ModuleType(name)
    module.__file__ = name
    module.__path__ = []
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    exec(compile(source, name, "exec"), module.__dict__)
sys.modules["perhop.agent.loop"].main()
"""
STDERR_LINES = 12
ANSWER_TIMEOUT_S = 10.0
CLOCK_EXCHANGES = 12
# The program there gives its host free when it has heard nothing for 15 s (agent/loop.py).
KEEP_S = 4.0


class NodeError(PerhopError):
    """Something is wrong on one node. `node` is what the user calls it."""

    def __init__(self, node: str, problem: str, remedy: str) -> None:
        super().__init__(f"{node}: {problem}", remedy)
        self.node = node
        self.what = problem


class NodeGone(NodeError):
    """A node does not answer any more, or never did."""


@dataclass(frozen=True)
class Clock:
    """A node's clocks less ours, in ns. The truth is within `bound_ns`: half of the shortest round trip seen."""

    monotonic_ns: int
    time_of_day_ns: int
    bound_ns: int


def modules_text() -> bytes:
    """The program on a node, as the bootstrap reads it."""
    found = [("perhop", ""), ("perhop.agent", (AGENT / "__init__.py").read_text())]
    found += [(f"perhop.agent.{name}", (AGENT / f"{name}.py").read_text()) for name in MODULES]
    return json.dumps(found).encode()


def python_command(python: str, size_bytes: int) -> list[str]:
    return [python, "-c", BOOTSTRAP, str(size_bytes)]


class Session:
    """The program on one node; use as a context manager. Raises NodeGone, NodeError.

    While nothing else is asked, the program there hears that somebody is here; it would give its host free otherwise.

    `prefix` is what comes before a command so that it runs there, `remote` that it is read by a shell of the other
    side. `explain` finds problem and remedy in what was said on standard error by one that could not be started.
    """

    def __init__(
        self,
        node: str,
        prefix: list[str],
        python: str = sys.executable,
        remote: bool = False,
        become: list[str] | None = None,
        explain: Any = None,
    ) -> None:
        self.node = node
        self.explain = explain or (lambda said: (said, f"look at {node}"))
        text = modules_text()
        command = [*(become or []), *python_command(python, len(text))]
        if remote:
            command = ["exec " + shlex.join(command)]
        self._errors: collections.deque[str] = collections.deque(maxlen=STDERR_LINES)
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._number = 0
        self._lock = threading.Lock()
        self._asked_s = time.monotonic()
        self._closing = threading.Event()
        # A session of its own: Ctrl-C reaches perhop alone, which ends the conversation in order.
        self._process = subprocess.Popen(
            [*prefix, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._threads = [
            threading.Thread(target=self._hear, daemon=True),
            threading.Thread(target=self._moan, daemon=True),
        ]
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        for thread in (*self._threads, self._keeper):
            thread.start()
        # One that ended at once says why when it is asked.
        with contextlib.suppress(NodeGone):
            self._put(text)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, patience_s: float = 10) -> None:
        """The program there hears the end of its input, and takes back what it changed."""
        process = self._process
        self._closing.set()
        try:
            if process.stdin is not None:
                process.stdin.close()
        except OSError:
            pass
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for thread in (*self._threads, self._keeper):
            thread.join(1)

    def ask(self, do: str, timeout_s: float = ANSWER_TIMEOUT_S, **more: Any) -> dict[str, Any]:
        """One command and its answer."""
        with self._lock:
            try:
                return self._ask(do, timeout_s, more)
            finally:
                self._asked_s = time.monotonic()

    def _ask(self, do: str, timeout_s: float, more: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._put(json.dumps({"id": self._number, "do": do, **more}).encode() + b"\n")
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                answer = self._answers.get(timeout=max(0.0, deadline_s - time.monotonic()))
            except queue.Empty:
                raise NodeGone(
                    self.node, f"has not answered for {timeout_s:g} s", "is it up? Look at it and at the way there"
                ) from None
            if answer is None:
                self._answers.put(None)  # for whoever asks next
                raise self._gone()
            if answer.get("id") != self._number:
                continue  # of an earlier question that was given up
            if answer.pop("ok"):
                return answer
            raise NodeError(self.node, answer["problem"], answer["remedy"] or "look at this node, then try again")

    def clock(self) -> Clock:
        """How this node's clocks differ from ours: of several exchanges that with the shortest round trip."""
        best: Clock | None = None
        for _ in range(CLOCK_EXCHANGES):
            day_ns, before_ns = time.time_ns(), time.monotonic_ns()
            said = self.ask("clock")
            trip_ns = time.monotonic_ns() - before_ns
            if best is None or trip_ns / 2 < best.bound_ns:
                best = Clock(
                    monotonic_ns=said["monotonic_ns"] - before_ns - trip_ns // 2,
                    time_of_day_ns=said["time_of_day_ns"] - day_ns - trip_ns // 2,
                    bound_ns=(trip_ns + 1) // 2,
                )
        assert best is not None
        return best

    def fetch(self, file: str, to: Path) -> int:
        """Copy a file from there. @return its bytes; 0 where there is none"""
        size = 0
        with to.open("wb") as sink:
            while data := base64.b64decode(self.ask("read", file=file, offset=size)["data"]):
                sink.write(data)
                size += len(data)
        return size

    def _put(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._gone() from None

    def _hear(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                try:
                    answer = json.loads(line)
                except ValueError:
                    self._errors.append(line.decode(errors="replace").strip())
                    continue
                self._answers.put(answer)
        self._answers.put(None)

    def _moan(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self._errors.append(line.decode(errors="replace").strip())

    def _keep(self) -> None:
        while not self._closing.wait(KEEP_S) and self._process.poll() is None:
            if time.monotonic() - self._asked_s >= KEEP_S:
                with contextlib.suppress(NodeError):
                    self.ask("hello", timeout_s=KEEP_S)

    def _gone(self) -> NodeGone:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        for thread in self._threads:
            thread.join(0.5)
        said = " / ".join(line for line in self._errors if line)
        problem, remedy = self.explain(said)
        return NodeGone(self.node, problem, remedy)
