# SPDX-License-Identifier: GPL-2.0-or-later
"""Live networks for tests: namespaces, the kernel's TCP, the Verilated MACs. Skipped, loudly, where that cannot be."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from perhop.errors import PerhopError
from perhop.live import namespaces, network
from waiting import acknowledged_bytes, wait_until

ROOT = Path(__file__).resolve().parents[2]
CHAIN = ROOT / "sim/experiments/chain"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without capabilities or /dev/net/tun only what says so (mark `anywhere`) runs."""
    try:
        namespaces.check_host()
    except PerhopError as error:
        for item in items:
            if Path(str(item.fspath)).parent == Path(__file__).parent and "anywhere" not in item.keywords:
                item.add_marker(pytest.mark.skip(reason=f"no live network here: {error.problem}"))


def run_perhop(*words: str, state: Path, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """The command `perhop`, as its own process."""
    program = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env={**os.environ, "PERHOP_LIVE_STATE": str(state)},
        check=False,
    )


# Three hops of SYNs cost 8 ms, of full segments 24 ms.
FULL_SEGMENTS_US = 18_000
# So much of a transfer has arrived when something is done to it.
UNDER_WAY_BYTES = 50_000


@dataclass
class Live:
    """A live network that is up."""

    name: str
    state: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def perhop(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run_perhop(*words, state=self.state)

    def inside(self, node: int, *command: str) -> list[str]:
        return ["ip", "netns", "exec", namespaces_of(self.name, node), *command]

    def run(self, node: int, *command: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a program on a node."""
        inside = self.inside(node, *command)
        return subprocess.run(inside, capture_output=True, text=True, timeout=timeout_s, check=False)

    def start(self, node: int, *command: str) -> subprocess.Popen[str]:
        inside = self.inside(node, *command)
        process = subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.started.append(process)
        return process

    def ping(self, node: int, address: str, count: int = 3, *more: str) -> subprocess.CompletedProcess[str]:
        return self.run(node, "ping", "-n", "-i", "0.2", "-W", "2", "-c", str(count), *more, address)

    def status(self) -> dict[str, Any]:
        return network.status(self.name)

    def daemon(self, node: int) -> dict[str, Any]:
        return self.status()["nodes"][node]["daemon"]

    def pid(self, process: str) -> int:
        return self.status()["processes"][process]["pid"]

    def reconfigure(self, node: int, change: Callable[[dict[str, Any]], Any]) -> None:
        """Give a node's daemon another configuration; it is killed and comes up with it."""
        path = self.state / self.name / f"node-{node}.json"
        config = json.loads(path.read_text())
        change(config)
        path.write_text(json.dumps(config))
        old = self.pid(f"node-{node}")
        kill_hard(old)
        wait_until(lambda: self.pid(f"node-{node}") != old and (self.daemon(node) or {}).get("mac_up"), 10)

    def transfer(self, kilobytes: int, disturb: Callable[[], Any] | None = None, destination: str = "10.0.0.4") -> None:
        """A TCP transfer from the first to the last node that has to end, with something done to it on its way."""
        last = len(self.status()["nodes"]) - 1
        listening = self.start(last, "iperf3", "-s", "-1")
        wait_until(lambda: "5201" in self.run(last, "ss", "-Hltn").stdout, 5)
        sending = self.start(0, "iperf3", "-c", destination, "-C", "reno", "-n", f"{kilobytes}K")
        if disturb is not None:
            wait_until(lambda: self.acknowledged_bytes(destination) > UNDER_WAY_BYTES, 30)
            assert sending.poll() is None, sending.stdout.read()
            disturb()
        said, _ = sending.communicate(timeout=120)
        assert sending.returncode == 0, said
        listening.wait(20)

    def iperf(
        self, seconds: int, *more: str, server: str | None = None, meanwhile: Callable[[], Any] | None = None
    ) -> dict[str, Any]:
        """One transfer from the first to the last node with the kernel's Reno. What iperf3 says of it."""
        nodes = self.status()["nodes"]
        last, server = len(nodes) - 1, server or nodes[-1]["ipv4"]
        listening = self.start(last, "iperf3", "-s", "-1")
        wait_until(lambda: "5201" in self.run(last, "ss", "-Hltn").stdout, 5)
        sending = self.start(0, "iperf3", "-c", server, "-C", "reno", "-t", str(seconds), "-J", *more)
        if meanwhile is not None:
            meanwhile()
        output, _ = sending.communicate(timeout=seconds + 60)
        listening.wait(10)
        said: dict[str, Any] = json.loads(output)
        assert "error" not in said, said
        return said

    def acknowledged_bytes(self, destination: str = "10.0.0.4") -> int:
        """Of the connection of node 0 that has sent most to there."""
        return acknowledged_bytes(destination, *self.inside(0))

    @contextlib.contextmanager
    def captured(self, packets: str, file: Path, namespace: str, interface: str, address: str) -> Iterator[None]:
        """What passes an interface meanwhile is in `file` afterwards: a last ping to `address` can be seen there."""
        enter = ["ip", "netns", "exec", namespace]
        words = ["tshark", "-q", "-i", interface, "-f", f"({packets}) or icmp", "-w", str(file)]
        tshark = subprocess.Popen([*enter, *words], stderr=subprocess.DEVNULL, text=True)
        self.started.append(tshark)
        wait_until(lambda: file.exists() and file.stat().st_size > 0, 20, "tshark captures")
        yield
        mark = os.urandom(16)
        subprocess.run([*enter, "ping", "-n", "-c", "1", "-p", mark.hex(), address], capture_output=True, check=False)
        wait_until(lambda: mark in file.read_bytes(), 20, "tshark has written what it captured")
        tshark.terminate()
        tshark.wait(20)

    def settle(self, source_port: int, policy: str) -> None:
        """Wait until the limit of node 0's flow comes from the delays of full segments; count what is in flight anew.

        SYNs and a first short segment take as long there as their answers take back: the limit of six such hops is 1.5
        packets, which rounds to one or two by chance, and two are rightly in flight then.
        """

        def settled() -> bool:
            flow = self.flow_from(source_port)
            return flow is not None and flow.get("path", {}).get("forward_total_us", 0) > FULL_SEGMENTS_US

        wait_until(settled, 10)
        network.set_policy(self.name, policy)

    def flow_from(self, source_port: int) -> dict[str, Any] | None:
        """Node 0's flow from a port that no other of its flows has."""
        flows = [flow for flow in self.daemon(0)["flows"] if flow["source_port"] == source_port]
        assert len(flows) < 2, flows
        return flows[0] if flows else None

    def start_python(self, node: int, script: Path, *words: str, stdin: int | None = None) -> subprocess.Popen[str]:
        """A Python program on a node, with the rates socket of its daemon."""
        command = network.command_in(self.name, str(node), [sys.executable, str(script), *words])
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.started.append(process)
        return process


def namespaces_of(name: str, node: int) -> str:
    return f"perhop-{name}-{node}"


@pytest.fixture(scope="session")
def state() -> Iterator[Path]:
    """The folder of the tests' networks: its path must be short enough for sockets, and no other run may share it."""
    folder = Path(tempfile.mkdtemp(prefix="ph"))
    os.environ["PERHOP_LIVE_STATE"] = str(folder)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def start_network(state: Path) -> Iterator[Callable[..., Live]]:
    """Gives start(*words) -> Live: a chain, or what `file` says; more words for `perhop live up`. Down in the end."""
    networks: list[Live] = []

    def start(*words: str, hops: int = 3, file: Path = CHAIN) -> Live:
        name = f"t{os.getpid()}-{len(networks)}"
        live = Live(name, state)
        networks.append(live)
        length = ["--set", f"topology.hops={hops}"] if file == CHAIN else []
        done = live.perhop("live", "up", str(file), *length, "--name", name, *words)
        assert done.returncode == 0, done.stderr
        return live

    yield start
    for live in networks:
        for process in live.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        live.perhop("live", "down", live.name)
        assert not [entry for entry in namespaces.existing(live.name)]


def kill_hard(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
