# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run changes on a host, and how all of it is taken back: settings, interface, daemon, files, the lock.

What would outlive this program stands in a record, so that the next one takes it back where this one was killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

STATE = Path("/run/perhop-radio")
PR_SET_PDEATHSIG = 1
MOST_ANSWER_BYTES = 1 << 20


class HostError(Exception):
    """Something cannot be done on this host; `remedy` may be empty."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


def die_with_parent() -> None:
    """In a child: killed when this program is, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(command: list[str], text: str | None = None, timeout_s: float = 20) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise HostError(f"{command[0]} does not run: {error.strerror}", f"install what brings {command[0]}") from error
    except subprocess.TimeoutExpired:
        raise HostError(f"`{' '.join(command)}` takes longer than {timeout_s:g} s", "look what it waits for") from None


def ask(path: str, message: dict[str, Any], timeout_s: float = 2) -> dict[str, Any]:
    """One question to a daemon's control socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(path)
            connection.send(json.dumps(message).encode())
            said = connection.recv(MOST_ANSWER_BYTES)
        except OSError as error:
            raise HostError(f"the daemon does not answer: {error.strerror or error}") from error
    if not said:
        raise HostError("the daemon has ended the connection")
    answer: dict[str, Any] = json.loads(said)
    return answer


def has_interface(name: str) -> bool:
    # Not by /sys/class/net: that may be the one of another network namespace.
    return run(["ip", "link", "show", "dev", name]).returncode == 0


class Lock:
    """Who uses this host's radio. Held by a file's lock, which goes with the process, whatever ends it."""

    def __init__(self) -> None:
        self._file: Any = None

    def take(self, token: str, owner: str) -> None:
        """Raises HostError where somebody with another token has it; one with the same token shares it."""
        STATE.mkdir(parents=True, exist_ok=True)
        file = (STATE / "lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            held = _object(file.read())
            file.close()
            if held.get("token") == token:
                return
            raise HostError(
                f"is in use by {held.get('owner', 'somebody')} since {held.get('since', 'a while')}",
                "wait until that run has ended, or end it there (Ctrl-C)",
            ) from None
        file.seek(0)
        file.truncate()
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        file.write(json.dumps({"token": token, "owner": owner, "since": since}))
        file.flush()
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class Changes:
    """What was changed here. `take_back` may be called at any time, and again."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.interface = ""
        self.folder = ""
        self.daemon: subprocess.Popen[bytes] | None = None
        self.daemon_log = ""
        self.recorded = False

    def _record(self) -> None:
        STATE.mkdir(parents=True, exist_ok=True)
        whole = {"settings": self.settings, "interface": self.interface, "folder": self.folder}
        temporary = STATE / "changes.json.new"
        temporary.write_text(json.dumps(whole))
        temporary.replace(STATE / "changes.json")
        self.recorded = True

    def clean_up_earlier(self) -> bool:
        """Take back what a program that was killed left. Returns whether there was anything."""
        try:
            left = _object((STATE / "changes.json").read_text())
        except OSError:
            return False
        self.settings, self.interface = left.get("settings", {}), left.get("interface", "")
        self.folder = left.get("folder", "")
        self.recorded = True
        self.take_back()
        return True

    def make_folder(self, folder: str) -> None:
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=False)
        except OSError as error:
            raise HostError(f"{folder} cannot be made: {error.strerror}", "give another `folder`") from error
        self.folder = folder
        self._record()

    def set(self, settings: dict[str, Any]) -> None:
        """Settings below /proc/sys. What is not there on this kernel is an error."""
        for key, value in settings.items():
            path = Path("/proc/sys") / key
            try:
                before = path.read_text().strip()
                if before == str(value):
                    continue
                self.settings.setdefault(key, before)
                self._record()
                path.write_text(f"{value}\n")
            except OSError as error:
                raise HostError(f"the setting {key} cannot be made: {error.strerror}", "be root there") from error

    def make_interface(self, name: str, lines: list[str]) -> None:
        """Lines of `ip -batch`, the first of which makes the interface."""
        if has_interface(name):
            raise HostError(f"there is an interface {name} already", "end the daemon that has it, or remove it")
        self.interface = name
        self._record()
        self.ip(lines)

    def ip(self, lines: list[str]) -> None:
        done = run(["ip", "-batch", "-"], "".join(f"{line}\n" for line in lines))
        if done.returncode != 0:
            raise HostError(f"ip says: {' '.join(done.stderr.split())}", "mend addresses and routes of this host")

    def start_daemon(self, command: list[str], log: str) -> None:
        self.daemon_log = log
        with Path(log).open("ab") as sink:
            try:
                self.daemon = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, preexec_fn=die_with_parent
                )
            except OSError as error:
                raise HostError(f"{command[0]} does not run: {error.strerror}", "install perhop-node there") from error

    def daemon_end(self) -> str:
        """How the daemon ended, in words, empty while it runs."""
        if self.daemon is None or self.daemon.poll() is None:
            return ""
        code = self.daemon.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"perhop-node {how}" + (f" ({last})" if (last := self.last_log_line()) else "")

    def last_log_line(self) -> str:
        try:
            lines = Path(self.daemon_log).read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""

    def end_daemon(self) -> None:
        if self.daemon is None:
            return
        self.daemon.terminate()
        try:
            self.daemon.wait(2)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.daemon = None

    def take_back(self) -> None:
        self.end_daemon()
        if self.interface and has_interface(self.interface):
            # A daemon that was killed a moment ago may still hold it.
            for _ in range(20):
                if run(["ip", "tuntap", "del", "dev", self.interface, "mode", "tun"]).returncode == 0:
                    break
                time.sleep(0.1)
        self.interface = ""
        for key, value in self.settings.items():
            with contextlib.suppress(OSError):
                (Path("/proc/sys") / key).write_text(f"{value}\n")
        self.settings = {}
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = ""
        # Another program's record, such as of a run that was killed under a study that goes on, is not ours to remove.
        if self.recorded:
            with contextlib.suppress(OSError):
                (STATE / "changes.json").unlink()
        self.recorded = False
