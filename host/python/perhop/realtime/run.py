# SPDX-License-Identifier: GPL-2.0-or-later
"""One run in real time as a process, as the runner starts a simulator: `python -m NODES RUN.JSON`, where NODES is
perhop.realtime.live_nodes or perhop.radio.nodes.

Says PROGRESS on standard output, and ends with the exit status of a simulator: 0, 130 after SIGINT or SIGTERM with what
was measured by then, 1 after an error. EXIT_NODE: a node failed, and so would further runs; what was collected is kept.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from perhop import files
from perhop.errors import PerhopError
from perhop.live.plan import LivePlan
from perhop.realtime import captures, flows
from perhop.realtime.measure import Measured, Member, measure
from perhop.realtime.session import NodeError, NodeGone, Session

EXIT_NODE = 75
PR_SET_PDEATHSIG = 1
STATUS_TIMEOUT_S = 5.0


class Network(Protocol):
    """Nodes that are up with their daemons; what differs between live and radio."""

    backend: str
    plan: LivePlan
    members: list[Member]

    def on_start(self, begin_ns: int) -> None:
        """The run's time begins then, by our monotonic clock."""

    def on_tick(self, at_s: float) -> None:
        """Called some times a second during the run."""

    def capture_files(self) -> list[str]:
        """Where each node has recorded its packets; whole when this returns. Empty: they have not."""

    def log_files(self) -> list[str]:
        """Where each node's daemon has said what happened to it."""


# The nodes of a run and its folder: up in the context, down again behind it.
Nodes = Callable[[dict[str, Any], Path], AbstractContextManager[Network]]


class Signals:
    """SIGINT and SIGTERM: an exception while nodes come up, afterwards a wish."""

    def __init__(self) -> None:
        self.wanted = False
        self.raising = True
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._take)

    def _take(self, *_: Any) -> None:
        if self.raising and not self.wanted:
            self.wanted = True
            raise KeyboardInterrupt
        self.wanted = True


def make(nodes: Nodes, run: dict[str, Any], folder: Path, signals: Signals) -> tuple[Measured, dict[str, Any]]:
    """The run, with its files written."""
    with nodes(run, folder) as network:
        signals.raising = False
        measured = measure(
            network.plan,
            network.members,
            lambda at_s: print(f"PROGRESS {at_s:.3f}", flush=True),
            lambda: signals.wanted,
            lambda begin_ns: _begin(network, folder, begin_ns),
            network.on_tick,
        )
        packets = _fetch_captures(network, measured, folder) if run["outputs"]["pcapng"] else None
        _fetch_logs(network, measured, folder)
    cut_short = measured.stopped or measured.failure is not None
    plan = network.plan
    result = flows.result(plan, measured.counted, cut_short, network.backend)
    result["common_time"] = {
        "bound_us": [clock.bound_ns / 1000 for clock in measured.clocks],
        "time_of_day_offset_ms": [clock.time_of_day_ns / 1e6 for clock in measured.clocks],
        "drift_us": measured.drift_us,
    }
    result["late_us"] = max((record["late_us"] for known in measured.counted.records for record in known), default=None)
    result["problems"] = measured.problems
    if packets is not None:
        result["captured_packets"] = packets
    if measured.failure is not None:
        result["failure"] = {"node": measured.failure.node, **measured.failure.as_dict()}
    flows.write_intervals(folder / "intervals.csv", plan, measured.counted)
    files.write_json(folder / "records.json", measured.counted.records)
    files.write_json(folder / "result.json", result)
    return measured, result


def _begin(network: Network, folder: Path, begin_ns: int) -> None:
    """The flows begin in a moment: a file says so."""
    (folder / "started").touch()
    network.on_start(begin_ns)


def _fetch_captures(network: Network, measured: Measured, folder: Path) -> int:
    """@return packets in packets.pcapng; those of nodes that do not answer are missing"""
    found = []
    failed = measured.failure.node if measured.failure else None
    times = [None if each.session.node == failed else _radio_time(each.session) for each in network.members]
    ahead_us = captures.ahead_of_ours_us(measured.clocks, times)
    for index, file in enumerate(network.capture_files()):
        session = network.members[index].session
        if session.node == failed:
            continue
        to = folder / f"capture-{index}.pcapng"
        with contextlib.suppress(NodeError):
            if session.fetch(file, to):
                found.append(captures.Capture(session.node, to, ahead_us[index]))
    begin_us = (time.time_ns() - time.monotonic_ns() + measured.begin_ns) // 1000
    packets = captures.join(found, folder / "packets.pcapng", network.plan.slow_down, begin_us)
    for capture in found:
        capture.file.unlink()
    return packets


def _radio_time(session: Session) -> dict[str, Any] | None:
    """How the time of a node's radio was set; None: it has none, or does not answer."""
    try:
        status = session.ask("status", timeout_s=STATUS_TIMEOUT_S)["status"]
    except NodeError:
        return None
    return status and status.get("radio_time")


def _fetch_logs(network: Network, measured: Measured, folder: Path) -> None:
    """node-N.log for a person to read; nothing depends on them."""
    for index, file in enumerate(network.log_files()):
        session = network.members[index].session
        if isinstance(measured.failure, NodeGone) and measured.failure.node == session.node:
            continue
        with contextlib.suppress(NodeError):
            session.fetch(file, folder / f"node-{index}.log")


def _run(nodes: Nodes) -> int:
    # perhop ends a run by SIGINT; killed itself, it must not leave one on the hosts.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    signals = Signals()
    run = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(run["outputs"]["directory"])
    try:
        measured, result = make(nodes, run, folder, signals)
    except KeyboardInterrupt:
        return 130
    except NodeError as error:
        print(error, file=sys.stderr)
        return EXIT_NODE
    except PerhopError as error:
        print(error, file=sys.stderr)
        return 1
    if measured.failure is not None:
        kept = f"what was measured until {result['measured_s'] + run['warmup_s']:g} s is kept"
        print(f"{measured.failure}\n{kept if result['flows'] else 'nothing was measured yet'}", file=sys.stderr)
        return EXIT_NODE
    return 130 if measured.stopped else 0


def main(nodes: Nodes) -> None:
    """Makes the run that the command line names; ends the process."""
    code = _run(nodes)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads may still wait for a host that is gone
