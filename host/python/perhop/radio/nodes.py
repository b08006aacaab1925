# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes of a run as hosts with radios: everything that a live network has in its namespaces is set up over SSH."""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from perhop.live import namespaces
from perhop.live.plan import INTERFACE, exact_of_run, node_config, plan_run, rates_socket
from perhop.radio import checks, ssh
from perhop.radio.backend import TOKEN
from perhop.realtime import run as in_real_time
from perhop.realtime.measure import Member, each
from perhop.realtime.session import NodeError, Session

UP_TIMEOUT_S = 40
LOG = "node.log"
POLL_S = 0.1
ROUTE_TIMEOUT_S = 3.0


class RadioNodes:
    """Up as a context manager; down again whatever happens, and by the hosts themselves where we are killed."""

    backend = "radio"

    def __init__(self, run: dict[str, Any], folder: Path) -> None:
        told = run["realtime"]
        self.hosts: list[dict[str, Any]] = told["nodes"]
        self.name = f"perhop-{folder.name.partition('.')[0][:12]}"
        self.plan = plan_run(
            run,
            name="radio",
            policy=told["policy"],
            exact=exact_of_run(run),
            network=ipaddress.IPv4Network(told["network"]),
            as_simulated=True,
            slow_down=told.get("slow_down", 1),
        )
        self.captures = bool(run["outputs"]["pcapng"])
        self.members: list[Member] = []
        self._events = sorted(self.plan.events, key=lambda event: event["at_s"])
        self._token = os.environ.get(TOKEN) or checks.new_token()

    def _folder(self, index: int) -> Path:
        return Path(self.hosts[index]["access"]["folder"]) / self.name

    def __enter__(self) -> RadioNodes:
        try:
            for index, host in enumerate(self.hosts):
                session = ssh.open_session(host["name"], host["address"], host["access"])
                self.members.append(Member(session, str(self._folder(index) / rates_socket(index))))
            each(self.members, self._set_up)
            each(self.members, self._wait_until_up)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _set_up(self, index: int, session: Session) -> None:
        node, folder = self.plan.nodes[index], self._folder(index)
        session.ask("hello", timeout_s=ssh.CONNECT_TIMEOUT_S + 10)
        session.ask("lock", token=self._token, owner=checks.owner("a run"))
        session.ask("clean", timeout_s=30)
        session.ask("folder", folder=str(folder))
        session.ask("set", settings=namespaces.settings(self.plan))
        lines = [*namespaces.interface_lines(node), *namespaces.route_lines(self.plan, node)]
        session.ask("interface", name=INTERFACE, lines=lines)
        capture = folder / "capture.pcapng" if self.captures else None
        config = node_config(self.plan, node, folder, driver=self.hosts[index]["radio"], capture=capture)
        session.ask("write", file=str(folder / "node.json"), text=json.dumps(config))
        program = self.hosts[index]["access"]["perhop_node"]
        session.ask(
            "daemon",
            command=[program, str(folder / "node.json")],
            log=str(folder / LOG),
            control_socket=config["control_socket"],
        )

    def _wait_until_up(self, index: int, session: Session) -> None:
        deadline_s = time.monotonic() + UP_TIMEOUT_S
        while True:
            said = session.ask("status")
            status = said["status"]
            if status is not None and status["mac_up"]:
                break
            if time.monotonic() > deadline_s:
                log = said.get("log", "")
                raise NodeError(
                    session.node,
                    f"its MAC is not up after {UP_TIMEOUT_S} s" + (f" ({log})" if log else ""),
                    "`perhop doctor --inventory ..` says more",
                )
            time.sleep(POLL_S)
        mac = status["mac"]["address"]
        if mac != self.plan.nodes[index].mac:
            raise NodeError(
                session.node,
                f"its MAC address is {mac}, but {self.plan.nodes[index].mac} is that of node {index}",
                "mend `radio` of this host in the inventory",
            )

    def __exit__(self, *_: object) -> None:
        """All hosts at a time: each takes back what was changed there, and says so by ending."""
        threads = [threading.Thread(target=member.session.close) for member in self.members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def on_start(self, begin_ns: int) -> None:
        """Events are played by `on_tick`."""

    def on_tick(self, at_s: float) -> None:
        """Scripted routes whose time has come, at most half a second late."""
        while self._events and self._events[0]["at_s"] <= at_s:
            event = self._events.pop(0)
            paths = [event["path"], *([event["path"][::-1]] if event.get("both_ways", True) else [])]
            for path in paths:
                for here, next_hop in itertools.pairwise(path):
                    lines = [
                        namespaces.route_line(
                            self.plan.nodes,
                            here=here,
                            destination=path[-1],
                            next_hop=next_hop,
                            family=family,
                            metrics=self.plan.route_metrics,
                        )
                        for family in (4, 6)
                    ]
                    self.members[here].session.ask("ip", timeout_s=ROUTE_TIMEOUT_S, lines=lines)

    def capture_files(self) -> list[str]:
        for member in self.members:
            with contextlib.suppress(NodeError):
                member.session.ask("end_daemon")
        return [str(self._folder(index) / "capture.pcapng") for index in range(len(self.members))]

    def log_files(self) -> list[str]:
        return [str(self._folder(index) / LOG) for index in range(len(self.members))]


if __name__ == "__main__":
    in_real_time.main(RadioNodes)
