# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes of a run as network namespaces over the emulated medium: a live network of its own (`perhop.live`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perhop.live import namespaces, network, state_files
from perhop.live.plan import exact_of_run, plan_run, rates_socket
from perhop.realtime import run as in_real_time
from perhop.realtime.measure import Member, each
from perhop.realtime.session import Session


class LiveNodes:
    """Up as a context manager. Raises PerhopError."""

    backend = "live"

    def __init__(self, run: dict[str, Any], folder: Path) -> None:
        # Runs of several experiments may go on at a time; ids are hashes, and namespaces have short names.
        name = f"run-{folder.name.partition('.')[0][:12]}"
        self.plan = plan_run(
            run, name=name, policy=run["realtime"]["policy"], exact=exact_of_run(run), as_simulated=True
        )
        self.captures = bool(run["outputs"]["pcapng"])
        self.members: list[Member] = []
        self.state = network.state_folder() / name

    def __enter__(self) -> LiveNodes:
        network.up(self.plan, start_events=False, captures=self.captures)
        try:
            for node in self.plan.nodes:
                inside = ["nsenter", f"--net={namespaces.NAMESPACES / node.namespace}"]
                rates = str(self.state / rates_socket(node.index))
                self.members.append(Member(Session(f"node {node.index}", inside), rates))
            each(
                self.members,
                lambda index, session: session.ask("watch", control_socket=str(self.state / f"node-{index}.sock")),
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.session.close()
        network.down(self.plan.name)

    def on_start(self, begin_ns: int) -> None:
        if self.plan.events:
            state_files.begin(self.state, begin_ns / 1e9)

    def on_tick(self, at_s: float) -> None:
        pass

    def capture_files(self) -> list[str]:
        return [str(network.capture_file(self.state, node.index)) for node in self.plan.nodes]

    def log_files(self) -> list[str]:
        return [str(self.state / f"node-{node.index}.log") for node in self.plan.nodes]


if __name__ == "__main__":
    in_real_time.main(LiveNodes)
