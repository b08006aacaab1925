# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts for tests of the over-the-air runner: namespaces, each with an OpenSSH server, a host name, files and users.

    controller --- bridge --- host 0 .. host 3        (namespaces; nothing outside of them is touched)
                                 |
                       perhop-node, driver `air` --- perhop-live-air (one medium for all, as the air is)

A host has its own host key, its own /run and its own disk (tmpfs of a few MB), and may have another monotonic clock.
Two users beside root: `operator` becomes root by sudo, `guest` does not. Needs root, sshd, ssh and sudo.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment import resolve
from perhop.experiment.load import load
from perhop.live import namespaces
from perhop.live.plan import plan_run
from waiting import wait_until

SSHD = "/usr/sbin/sshd"
PROGRAM = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"
DISK_MB = 64
USERS = {
    "root": (0, "/root"),
    "operator": (31000, "/"),
    "guest": (31001, "/"),
    "sshd": (31002, "/"),
    "nobody": (65534, "/"),
}


def missing() -> str:
    """Why there can be no hosts here; empty where there can."""
    with_sbin = os.environ["PATH"] + ":/usr/sbin:/sbin"
    for program, package in (
        ("sshd", "openssh-server"),
        ("ssh", "openssh-client"),
        ("ssh-keygen", "openssh-client"),
        ("sudo", "sudo"),
        ("unshare", "util-linux"),
    ):
        if shutil.which(program, path=with_sbin) is None:
            return f"there is no {program}: install the package {package} (tests/ota/apt-packages.txt; `make ota` does)"
    if os.geteuid() != 0:
        return "this is not root: network and mount namespaces need it"
    try:
        namespaces.check_host()
    except PerhopError as error:
        return error.problem
    return ""


class Hosts:
    """The hosts of an experiment and its medium. Use as a context manager."""

    def __init__(self, experiment: Path, *settings: str, clocks_s: dict[int, int] | None = None) -> None:
        self.name = f"perhop-ota-{os.getpid()}"
        self.experiment = experiment
        self.settings = list(settings)
        file = experiment / "experiment.yaml" if experiment.is_dir() else experiment
        run = resolve.resolve(load(file, settings))[0]
        self.medium_run = plan_run(run.config, name="ota", policy="none").run
        self.count = len(run.config["nodes"])
        self.clocks_s = clocks_s or {}
        # Short: paths of sockets have at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="po"))
        self.servers: dict[int, subprocess.Popen[bytes]] = {}
        self.medium: subprocess.Popen[bytes] | None = None
        self.node_program = str(paths.program("perhop-node"))

    # --- up and down ---------------------------------------------------------------------------------------------

    def __enter__(self) -> Hosts:
        try:
            self._make_files()
            self._make_network()
            self.start_medium()
            for index in range(self.count):
                self.start_host(index)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for index in list(self.servers):
            self.kill_host(index)
        self.stop_medium()
        for name in [self.name + "-c", *(self.namespace(index) for index in range(self.count))]:
            namespaces.end_processes(namespaces.processes(name), 0.5)
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def namespace(self, index: int) -> str:
        return f"{self.name}-{index}"

    def address(self, index: int) -> str:
        return f"192.168.77.{1 + index}"

    def _make_files(self) -> None:
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "id")],
            check=True,
            capture_output=True,
        )
        shutil.copy(self.folder / "id.pub", self.folder / "authorized_keys")
        etc = self.folder / "etc"
        etc.mkdir()
        (etc / "passwd").write_text("".join(f"{u}:x:{n}:{n}::{home}:/bin/sh\n" for u, (n, home) in USERS.items()))
        (etc / "shadow").write_text("".join(f"{user}:*:20000:0:99999:7:::\n" for user in USERS))
        (etc / "group").write_text("".join(f"{user}:x:{number}:\n" for user, (number, _) in USERS.items()))
        (etc / "sudoers").write_text("root ALL=(ALL) NOPASSWD: ALL\noperator ALL=(root) NOPASSWD: ALL\n")
        (etc / "sudoers").chmod(0o440)
        known = []
        for index in range(self.count):
            place = self.folder / f"h{index}"
            place.mkdir()
            key = place / "host_key"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
            known.append(f"{self.address(index)} {key.with_suffix('.pub').read_text()}")
            (place / "disk").mkdir()
            (place / "sshd_config").write_text(
                f"HostKey {key}\nAuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
                "PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\n"
            )
        (self.folder / "known_hosts").write_text("".join(known))
        self.folder.chmod(0o755)

    def _make_network(self) -> None:
        controller = self.name + "-c"
        lines = [f"netns add {controller}", *(f"netns add {self.namespace(index)}" for index in range(self.count))]
        self._ip(lines)
        self._ip(
            ["link set lo up", "link add br0 type bridge", "link set br0 up", "addr add 192.168.77.254/24 dev br0"],
            controller,
        )
        for index in range(self.count):
            there = self.namespace(index)
            self._ip([f"link add h{index} type veth peer name eth0 netns {there}"], controller)
            self._ip([f"link set h{index} master br0 up"], controller)
            self._ip(["link set lo up", f"addr add {self.address(index)}/24 dev eth0", "link set eth0 up"], there)

    @staticmethod
    def _ip(lines: list[str], namespace: str | None = None) -> None:
        inside = ["-n", namespace] if namespace else []
        subprocess.run(
            ["ip", *inside, "-batch", "-"], input="".join(f"{line}\n" for line in lines), text=True, check=True
        )

    def start_medium(self) -> None:
        (self.folder / "run.json").write_text(json.dumps(self.medium_run))
        command = [str(paths.program("perhop-live-air")), str(self.folder / "run.json"), str(self.folder / "air.sock")]
        with (self.folder / "air.log").open("ab") as log:
            self.medium = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: (self.folder / "air.sock").exists(), 10, "the medium's socket")

    def stop_medium(self) -> None:
        if self.medium is not None:
            self.medium.kill()
            self.medium.wait()
            self.medium = None
            (self.folder / "air.sock").unlink(missing_ok=True)

    def start_host(self, index: int, disk_mb: int = DISK_MB) -> None:
        place, etc = self.folder / f"h{index}", self.folder / "etc"
        script = "; ".join(
            [
                "mount --make-rprivate /",
                f"hostname h{index}",
                *(f"mount --bind {etc / name} /etc/{name}" for name in ("passwd", "shadow", "group", "sudoers")),
                "mount -t tmpfs tmpfs /run && mkdir -p /run/sshd /run/sudo",
                f"mount -t tmpfs -o size={disk_mb}m tmpfs {place / 'disk'}",
                f"exec {SSHD} -D -e -f {place / 'sshd_config'}",
            ]
        )
        clock = self.clocks_s.get(index)
        command = ["nsenter", f"--net=/run/netns/{self.namespace(index)}", "unshare", "--mount", "--uts"]
        command += ["--time", f"--monotonic={clock}"] if clock is not None else []
        command += ["--fork", "--kill-child", "sh", "-c", script]
        with (place / "sshd.log").open("ab") as log:
            self.servers[index] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: "listening on 0.0.0.0" in (place / "sshd.log").read_text(), 10, f"sshd of host {index}")

    def kill_host(self, index: int) -> None:
        """As if its plug were pulled: every process on it is gone at once."""
        for pid in self.processes(index):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        server = self.servers.pop(index, None)
        if server is not None:
            server.kill()
            server.wait()
        # A host that boots again has neither.
        inside = ["ip", "netns", "exec", self.namespace(index)]
        subprocess.run(
            [*inside, "ip", "tuntap", "del", "dev", "radio0", "mode", "tun"], capture_output=True, check=False
        )
        subprocess.run([*inside, "sysctl", "-qw", "net.ipv4.ip_forward=0"], capture_output=True, check=False)
        (self.folder / f"h{index}/sshd.log").write_text("")

    def set_cable(self, index: int, plugged: bool) -> None:
        """The way between controller and host; the radio goes on."""
        self._ip([f"link set h{index} {'up' if plugged else 'down'}"], self.name + "-c")

    # --- what is there -------------------------------------------------------------------------------------------

    def processes(self, index: int) -> list[int]:
        return namespaces.processes(self.namespace(index))

    def programs(self, index: int) -> list[str]:
        """Command lines of what runs on a host, without its SSH server."""
        found = []
        for pid in self.processes(index):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if "sshd" not in words:
                    found.append(words.strip()[:100])
        return found

    def leftovers(self, index: int) -> dict[str, Any]:
        """What a run may have left on a host: programs, its interface, settings, files. Empty: nothing."""
        found: dict[str, Any] = {"programs": self.programs(index)}
        inside = ["ip", "netns", "exec", self.namespace(index)]
        links = subprocess.run([*inside, "ip", "-br", "link"], capture_output=True, text=True, check=True).stdout
        found["links"] = [line.split()[0] for line in links.splitlines() if line.startswith("radio0")]
        forward = subprocess.run(
            [*inside, "cat", "/proc/sys/net/ipv4/ip_forward"], capture_output=True, text=True, check=True
        )
        found["forwards"] = forward.stdout.strip() == "1"
        if index in self.servers:
            found["files"] = sorted(entry.name for entry in self.disk(index).iterdir())
        return {name: value for name, value in found.items() if value}

    def disk(self, index: int) -> Path:
        """Where the runs' files are on a host that is up, as seen from here."""
        pid = next(pid for pid in self.processes(index) if Path(f"/proc/{pid}/comm").read_text().strip() == "sshd")
        return Path(f"/proc/{pid}/root{self.folder}/h{index}/disk")

    # --- the controller ------------------------------------------------------------------------------------------

    def inventory(self, file: str = "hosts.yml", **changes: Any) -> Path:
        """Writes an inventory. `changes`: `nodes={1: {...}}` for some hosts, other sections as they are.

        Host 1 is used by `operator`, who becomes root by sudo; the others by root.
        """
        own = changes.pop("nodes", {})
        document = {
            "defaults": {
                "identity": str(self.folder / "id"),
                "known_hosts": str(self.folder / "known_hosts"),
                "python": sys.executable,
                "perhop_node": self.node_program,
            },
            "limits": {"free_mb": 10},
            "nodes": [
                {
                    "address": self.address(index),
                    "name": f"h{index}",
                    "folder": str(self.folder / f"h{index}/disk"),
                    "radio": {"kind": "air", "socket": str(self.folder / "air.sock"), "node": index},
                    **({"user": "operator"} if index == 1 else {}),
                    **own.get(index, {}),
                }
                for index in range(self.count)
            ],
        }
        for name, value in changes.items():
            document[name] = {**document.get(name, {}), **value} if isinstance(value, dict) else value
        path = self.folder / file
        path.write_text(json.dumps(document, indent=1))  # JSON is YAML
        return path

    def command(self, *words: object) -> list[str]:
        """`perhop` on the controller."""
        inside = ["nsenter", f"--net=/run/netns/{self.name}-c"]
        return [*inside, sys.executable, "-c", PROGRAM, *(str(word) for word in words)]

    def perhop(self, *words: object, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=timeout_s, check=False)

    def start_perhop(self, *words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_words(self, out: Path, inventory: Path) -> list[object]:
        """Of `perhop run` of the experiment on the hosts."""
        settings = [word for setting in self.settings for word in ("--set", setting)]
        return ["run", self.experiment, "--backend", "radio", "--inventory", inventory, "--out", out, *settings]
