# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a run on nodes that are up: common time, flows, progress, results. The same for live and radio.

Common time: each node's monotonic clock is compared with ours over the conversation with it, so the run starts
everywhere at one moment, within half of the shortest round trip to a node, whatever the hosts' times of day. The delay
of a hop needs none of this: it is measured by one MAC, from head of line to MAC ACK. Only the one-way delay of UDP
packets compares the clocks of two hosts, and is uncertain by the sum of both bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from perhop.live.plan import LivePlan
from perhop.realtime import flows
from perhop.realtime.flows import Counted
from perhop.realtime.session import Clock, NodeError, Session

# Until all nodes have been told.
LEAD_S = 0.8
POLL_S = 0.5
POLL_TIMEOUT_S = 5.0
# A node that has not counted by then does not count any more.
LATE_S = 5.0
NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Member:
    """A node of the run: the conversation with it, and the rates socket of its daemon."""

    session: Session
    rates_socket: str


@dataclass
class Measured:
    """What came of a run; `failure` is set where a node ended it."""

    counted: Counted
    clocks: list[Clock]
    begin_ns: int = 0  # of the run, by our monotonic clock
    failure: NodeError | None = None
    stopped: bool = False
    drift_us: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def each(members: list[Member], work: Callable[[int, Session], Any]) -> list[Any]:
    """All nodes at a time; the first error, in the order of the nodes, is raised when all are done."""
    return each_session([member.session for member in members], work)


def each_session(sessions: list[Session], work: Callable[[int, Session], Any]) -> list[Any]:
    with ThreadPoolExecutor(max(1, len(sessions))) as pool:
        futures = [pool.submit(work, index, session) for index, session in enumerate(sessions)]
    return [future.result() for future in futures]


def measure(
    plan: LivePlan,
    members: list[Member],
    on_progress: Callable[[float], None],
    stop: Callable[[], bool],
    on_start: Callable[[int], None] = lambda start_ns: None,
    on_tick: Callable[[float], None] = lambda at_s: None,
) -> Measured:
    """Raises NodeError where a node fails before the flows are there; later failures end the run early.

    `on_start` is told when the run begins by our monotonic clock; `on_tick` is called with the run's time, which passes
    `plan.slow_down` times slower than the clocks.
    """
    clocks: list[Clock] = each(members, lambda _, session: session.clock())
    rates_sockets = [member.rates_socket for member in members]

    def start(role: str, start_ns: list[int]) -> None:
        told = flows.ends(plan, start_ns, rates_sockets, role)
        each(members, lambda index, session: session.ask("ends", ends=told[index]) if index in told else None)

    relative = [clock.monotonic_ns for clock in clocks]
    start("receive", relative)
    begin_ns = time.monotonic_ns() + int(LEAD_S * NS_PER_S)
    start_ns = [begin_ns + clock.monotonic_ns for clock in clocks]
    times_s, from_s = flows.times_s(plan.run), float(plan.run["warmup_s"])
    each(
        members,
        lambda index, session: session.ask(
            "record", start_ns=start_ns[index], times_s=times_s, measure_from_s=from_s, slow_down=plan.slow_down
        ),
    )
    start("send", start_ns)
    on_start(begin_ns)
    measured = Measured(Counted([[] for _ in members], [{} for _ in members]), clocks, begin_ns)
    try:
        _follow(plan, members, measured, begin_ns, times_s[-1], on_progress, stop, on_tick)
    except NodeError as error:
        measured.failure = error
    _collect(members, measured)
    return measured


def _follow(
    plan: LivePlan,
    members: list[Member],
    measured: Measured,
    begin_ns: int,
    end_s: float,
    on_progress: Callable[[float], None],
    stop: Callable[[], bool],
    on_tick: Callable[[float], None],
) -> None:
    records = measured.counted.records
    problems: dict[int, str] = {}

    def hear(index: int, session: Session) -> None:
        said = session.ask("records", timeout_s=POLL_TIMEOUT_S, since=len(records[index]))
        records[index].extend(said["records"])
        problems.update({int(flow): f"flow {flow}: {problem}" for flow, problem in said["problems"].items()})

    while not stop():
        at_s = (time.monotonic_ns() - begin_ns) / NS_PER_S / plan.slow_down
        on_tick(at_s)
        each(members, hear)
        measured.problems = list(problems.values())
        if problems and at_s < end_s:
            flow, problem = next(iter(problems.items()))
            node = members[plan.run["flows"][flow]["src"]].session.node
            raise NodeError(node, f"flow {flow} has ended: {problem}", "see its addresses and routes, then run again")
        done = [bool(known) and known[-1]["at_s"] >= end_s for known in records]
        on_progress(max(0.0, min(at_s, end_s)))
        if all(done):
            return
        if at_s > end_s + LATE_S / plan.slow_down:
            late = members[done.index(False)].session.node
            raise NodeError(late, "counts no more", "is the machine overloaded? Run again")
        time.sleep(min(POLL_S, max(0.05, (end_s - at_s) * plan.slow_down)))
    measured.stopped = True


def _collect(members: list[Member], measured: Measured) -> None:
    """What the nodes that are still there say at the end."""

    def last_word(index: int, session: Session) -> None:
        if measured.failure is not None and measured.failure.node == session.node:
            return
        try:
            measured.counted.summaries[index] = session.ask("summary")["flows"]
            after = session.clock()
        except NodeError as error:
            measured.failure = measured.failure or error
            return
        drift_us.append((after.monotonic_ns - measured.clocks[index].monotonic_ns) / 1000)

    drift_us: list[float] = []
    each(members, last_word)
    measured.drift_us = drift_us
