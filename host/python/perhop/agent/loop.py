# SPDX-License-Identifier: GPL-2.0-or-later
"""The program on a node: a JSON object a line in on standard input, its answer out. Ends when nobody is there any more.

Whatever ends it (end of input, silence, a signal) it stops the flows and the daemon, and takes back what it changed.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import platform
import select
import shutil
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from perhop.agent import host, traffic

# The other side asks at least every second: after so long it is gone, even if the connection has not noticed.
SILENCE_S = 15.0
SECOND_NS = 1_000_000_000
READ_BYTES = 1 << 18


class Recorder(threading.Thread):
    """Sums of all flow ends here, and of the daemon, at moments that are the same on all nodes."""

    def __init__(
        self,
        ends: dict[int, traffic.End],
        socket_path: str,
        start_ns: int,
        times_s: list[float],
        measure_from_s: float,
        slow_down: int,
    ) -> None:
        """`times_s` are of the run, whose time passes `slow_down` times slower than the clock."""
        super().__init__(daemon=True)
        self.ends = ends
        self.socket_path = socket_path
        self.start_ns = start_ns
        self.times_s = times_s
        self.measure_from_s = measure_from_s
        self.slow_down = slow_down
        self.stopping = threading.Event()
        self.records: list[dict[str, Any]] = []

    def run(self) -> None:
        for at_s in self.times_s:
            at_ns = self.start_ns + int(at_s * SECOND_NS * self.slow_down)
            while at_ns - time.monotonic_ns() > traffic.LOOK_S * SECOND_NS and not self.stopping.is_set():
                self.stopping.wait(traffic.LOOK_S)
                for end in self.ends.values():
                    if isinstance(end, traffic.TcpSender):
                        end.look()
            if not traffic.sleep_until(at_ns, self.stopping):
                return
            late_us = (time.monotonic_ns() - at_ns) // 1000
            flows = {str(index): end.counters() for index, end in self.ends.items()}
            if at_s == self.measure_from_s:
                for end in self.ends.values():
                    end.begin_measuring()
            self.records.append({"at_s": at_s, "late_us": late_us, "flows": flows, "node": self._node()})

    def _node(self) -> dict[str, Any] | None:
        try:
            status = host.ask(self.socket_path, {"command": "status"})
        except host.HostError:
            return None
        for neighbour in status["neighbours"]:
            neighbour.pop("histogram", None)
        kept = ("mac_up", "packets", "flows", "neighbours", "cpu_s", "sum_mismatches")
        return {name: status[name] for name in kept if name in status}


class Agent:
    """One method a command, `do_...`; what it returns is the answer. Raises host.HostError."""

    def __init__(self) -> None:
        self.lock = host.Lock()
        self.changes = host.Changes()
        self.ends: dict[int, traffic.End] = {}
        self.recorder: Recorder | None = None
        self.control_socket = ""

    def do_hello(self) -> dict[str, Any]:
        return {
            "host": socket.gethostname(),
            "python": platform.python_version(),
            "user_id": os.geteuid(),
            "machine": platform.machine(),
            "kernel": platform.release(),
        }

    def do_clock(self) -> dict[str, Any]:
        return {"monotonic_ns": time.monotonic_ns(), "time_of_day_ns": time.time_ns()}

    def do_lock(self, token: str, owner: str) -> dict[str, Any]:
        self.lock.take(token, owner)
        return {}

    def do_clean(self) -> dict[str, Any]:
        return {"found": self.changes.clean_up_earlier()}

    def do_folder(self, folder: str) -> dict[str, Any]:
        self.changes.make_folder(folder)
        return {}

    def do_write(self, file: str, text: str) -> dict[str, Any]:
        try:
            Path(file).write_text(text)
        except OSError as error:
            raise host.HostError(f"{file} cannot be written: {error.strerror}", "make room there") from error
        return {}

    def do_read(self, file: str, offset: int) -> dict[str, Any]:
        """A piece of a file; an empty one is its end, or that there is none."""
        try:
            with Path(file).open("rb") as source:
                source.seek(offset)
                data = source.read(READ_BYTES)
        except OSError:
            data = b""
        return {"data": base64.b64encode(data).decode()}

    def do_set(self, settings: dict[str, Any]) -> dict[str, Any]:
        self.changes.set(settings)
        return {}

    def do_interface(self, name: str, lines: list[str]) -> dict[str, Any]:
        self.changes.make_interface(name, lines)
        return {}

    def do_ip(self, lines: list[str]) -> dict[str, Any]:
        self.changes.ip(lines)
        return {}

    def do_daemon(self, command: list[str], log: str, control_socket: str) -> dict[str, Any]:
        self.changes.start_daemon(command, log)
        self.control_socket = control_socket
        return {}

    def do_watch(self, control_socket: str) -> dict[str, Any]:
        """The daemon is somebody else's; only its socket is used."""
        self.control_socket = control_socket
        return {}

    def do_status(self) -> dict[str, Any]:
        """The daemon's word, or none yet; an ended daemon is an error."""
        self._check_daemon()
        with contextlib.suppress(host.HostError):
            return {"status": host.ask(self.control_socket, {"command": "status"})}
        return {"status": None, "log": self.changes.last_log_line()}

    def do_ask(self, message: dict[str, Any]) -> dict[str, Any]:
        return host.ask(self.control_socket, message)

    def do_run(self, command: list[str], text: str | None = None, most_s: float = 20) -> dict[str, Any]:
        done = host.run(command, text, most_s)
        return {"status": done.returncode, "out": done.stdout[-4000:], "err": done.stderr[-4000:]}

    def do_facts(self, perhop_node: str, folder: str, addresses: list[str]) -> dict[str, Any]:
        """What `perhop doctor` asks of a host."""
        return facts(perhop_node, folder, addresses)

    def do_ends(self, ends: list[dict[str, Any]]) -> dict[str, Any]:
        """Ends of flows; receivers listen when this returns."""
        for told in ends:
            end = traffic.ENDS[told["kind"], told["role"]](told)
            self.ends[told["flow"]] = end
            end.start()
            if not end.ready.wait(5) or end.problem:
                raise host.HostError(f"flow {told['flow']} cannot begin: {end.problem or 'no socket'}")
        return {}

    def do_record(self, start_ns: int, times_s: list[float], measure_from_s: float, slow_down: int) -> dict[str, Any]:
        self.recorder = Recorder(self.ends, self.control_socket, start_ns, times_s, measure_from_s, slow_down)
        self.recorder.start()
        return {}

    def do_records(self, since: int) -> dict[str, Any]:
        self._check_daemon()
        assert self.recorder is not None
        problems = {str(index): end.problem for index, end in self.ends.items() if end.problem}
        return {"records": self.recorder.records[since:], "problems": problems}

    def do_summary(self) -> dict[str, Any]:
        return {"flows": {str(index): end.summary() for index, end in self.ends.items()}}

    def do_stop_traffic(self) -> dict[str, Any]:
        self._stop_traffic()
        return {}

    def do_end_daemon(self) -> dict[str, Any]:
        """So that its files are whole."""
        self.changes.end_daemon()
        return {}

    def do_take_back_changes(self) -> dict[str, Any]:
        """All but the lock."""
        self.changes.take_back()
        return {}

    def _check_daemon(self) -> None:
        if how := self.changes.daemon_end():
            raise host.HostError(how, "see what it says, mend it, and run the same command again")

    def _stop_traffic(self) -> None:
        if self.recorder is not None:
            self.recorder.stopping.set()
            self.recorder.join(5)
        for end in self.ends.values():
            end.stop()
        for end in self.ends.values():
            end.join(2)
        self.ends = {}

    def finish(self) -> None:
        self._stop_traffic()
        self.changes.take_back()
        self.lock.release()

    def answer(self, line: bytes) -> dict[str, Any]:
        message = json.loads(line)
        number = message.pop("id")
        try:
            return {"id": number, "ok": True, **getattr(self, "do_" + message.pop("do"))(**message)}
        except host.HostError as error:
            return {"id": number, "ok": False, "problem": error.problem, "remedy": error.remedy}
        except Exception as error:  # the other side must hear of it, whatever it is
            return {"id": number, "ok": False, "problem": f"{type(error).__name__}: {error}", "remedy": ""}


def facts(perhop_node: str, folder: str, addresses: list[str]) -> dict[str, Any]:
    """Nothing is judged here, and nothing changed."""
    program = shutil.which(perhop_node, path=os.environ.get("PATH", "") + ":/usr/local/bin:/usr/local/sbin:/usr/sbin")
    found: dict[str, Any] = {"program": program, "version": None, "sha256": None}
    if program is not None:
        done = host.run([program, "--version"])
        found["version"] = done.stdout.strip() if done.returncode == 0 else None
        found["sha256"] = hashlib.sha256(Path(program).read_bytes()).hexdigest()
    place = Path(folder)
    while not place.exists():
        place = place.parent
    usage = shutil.disk_usage(place)
    tun = Path("/dev/net/tun")
    ip = shutil.which("ip", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    taken = []
    if ip is not None:
        for line in host.run([ip, "-o", "address"]).stdout.splitlines():
            words = line.split()
            if words[3].partition("/")[0] in addresses and words[1] != "radio0":
                taken.append(f"{words[3]} on {words[1]}")
    chrony = None
    if shutil.which("chronyc") is not None:
        done = host.run(["chronyc", "-n", "tracking"])
        if done.returncode == 0:
            chrony = dict(
                (name.strip(), value.strip())
                for name, colon, value in (line.partition(":") for line in done.stdout.splitlines())
                if colon
            )
    return {
        **found,
        "user_id": os.geteuid(),
        "ip": ip,
        "tun": tun.exists(),
        "free_bytes": usage.free,
        "writable": os.access(place, os.W_OK),
        "taken": taken,
        "connection": os.environ.get("SSH_CONNECTION", ""),
        "chrony": chrony,
    }


def _lines() -> Any:
    """Lines of standard input; ends at its end, and after a long silence."""
    left = b""
    while True:
        readable, _, _ = select.select([0], [], [], SILENCE_S)
        if not readable:
            return
        data = os.read(0, 1 << 20)
        if not data:
            return
        *whole, left = (left + data).split(b"\n")
        yield from whole


def main() -> None:
    def leave(*_: Any) -> None:
        raise SystemExit(1)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)
    agent = Agent()
    try:
        for line in _lines():
            sys.stdout.write(json.dumps(agent.answer(line)) + "\n")
            sys.stdout.flush()
    except OSError:
        pass  # nobody reads any more
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        agent.finish()
        # Threads may wait in the kernel.
        os._exit(0)
