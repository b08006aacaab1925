# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulation that is stepped: time passes when it is asked to; in between it can be looked at and changed."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from perhop import files
from perhop.api.experiment import Experiment
from perhop.api.running import overrides_of, source_of
from perhop.errors import PerhopError
from perhop.experiment import load, schema
from perhop.experiment.policies import Policy, parse_policy
from perhop.experiment.resolve import Run
from perhop.own import files as own_files
from perhop.registers import MacRegisters
from perhop.registers.spec_generated import REGISTERS
from perhop.study import plan, run_folder, runner

PROGRAM = "perhop-sim"
STOP_PATIENCE_S = 20.0
# A simulated MAC sleeps through frames for others (sim/run/mac_registers.hpp), so it cannot count what it received.
NOT_COUNTED = ("stat_rx_ok", "stat_rx_bad_fcs", "stat_rx_duplicate")


@dataclass(frozen=True)
class NodeState:
    """A node now: where it is (a server is nowhere), and how many packets wait in its interface queue."""

    queue_packets: int
    x_m: float | None = None
    y_m: float | None = None


@dataclass(frozen=True)
class FlowState:
    """A flow now. `delivered_bytes` counts from the start; None is what is not known yet, or not of this kind of flow.

    `measured` has what result.json would say if the run ended now, without the warm-up.
    """

    delivered_bytes: int | None
    rtt_ms: float | None
    in_flight_packets: int | None
    cwnd_packets: float | None
    cwl_packets: int | None
    measured: dict[str, Any]


class Simulation:
    """One run of an experiment, step by step.

        with perhop.Simulation(experiment, policy="none", seed=1) as simulation:
            while simulation.now_s < 30:
                simulation.run_until(simulation.now_s + 0.1)
                if simulation.nodes[1].queue_packets > 20:
                    simulation.set_policy("fixed 2")
            result = simulation.finish()

    A run that is only stepped has the transmissions of one that is not. `policy` and `seed` choose among those of the
    experiment, `settings` lays other values over it (`{"topology.hops": 3}`); one run must be left. Its traffic must be
    IP's. Files that the run writes go into `out`, by default a folder that is removed in the end.

    Raises PerhopError.
    """

    def __init__(
        self,
        experiment: Experiment | str | Path,
        *,
        policy: str | Policy | None = None,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
    ) -> None:
        chosen = dict(settings or {})
        if policy is not None:
            chosen["policies"] = [policy.words if isinstance(policy, Policy) else policy]
        if seed is not None:
            chosen["seeds"] = [seed]
        planned = plan.make_plan(source_of(experiment), overrides_of(chosen))
        self._run = _only(planned)
        self.experiment: schema.Experiment = planned.points[0].experiment
        self._temporary = tempfile.TemporaryDirectory(prefix="perhop-steps-") if out is None else None
        self.folder = Path(self._temporary.name if self._temporary else out or "")
        self.now_s = 0.0
        self._result: dict[str, Any] | None = None
        program = runner.simulators([self._run])[PROGRAM]
        self.folder.mkdir(parents=True, exist_ok=True)
        run_file = self.folder / run_folder.RUN_FILE
        files.write_json(run_file, run_folder.with_directory(self._run.config, self.folder.resolve()))
        self._process = subprocess.Popen(
            [*program.command, "--steps", str(run_file)],
            env=own_files.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    # --- time

    @property
    def end_s(self) -> float:
        """Where the run ends."""
        return float(self._run.config["duration_s"])

    def run_until(self, time_s: float) -> float:
        """Let time pass up to `time_s`, or to the end of the run. Gives the time it is then."""
        if time_s < self.now_s:
            raise PerhopError(
                f"it is {self.now_s:g} s, and {time_s:g} s is past", "give a later time; time goes one way"
            )
        self._ask("run_until", us=round(time_s * 1e6))
        return self.now_s

    def step(self, duration_s: float) -> float:
        """Let `duration_s` pass."""
        return self.run_until(self.now_s + duration_s)

    def finish(self) -> dict[str, Any]:
        """Run to the end, and give what result.json says: with trace_hash, the hash of all transmissions."""
        self.run_until(self.end_s)
        self._end()
        assert self._result is not None
        return self._result

    # --- looking

    @property
    def nodes(self) -> list[NodeState]:
        """Every node as it is now."""
        return [NodeState(**node) for node in self._ask("look")["nodes"]]

    @property
    def flows(self) -> list[FlowState]:
        """Every flow as it is now."""
        return [FlowState(**flow["now"], measured=flow["measured"]) for flow in self._ask("look")["flows"]]

    def registers(self, node: int) -> MacRegisters:
        """The registers of a node's MAC by name and unit: settings, counters, what packets to a neighbour cost.

        `read("retry_limits")`, `read_statistics()`, `snapshot_neighbour(slot)`: see perhop.registers. The MAC runs, so
        that settings stand. What it received and did not give to the host is not counted.
        """
        counted = {name: register for name, register in REGISTERS.items() if name not in NOT_COUNTED}
        return MacRegisters(_Bus(self, node), counted)

    # --- changing

    def set_policy(self, policy: str | Policy, flow: int | None = None) -> None:
        """Give a TCP flow another policy, or all of them: window limit, TCP ACKs, pacing."""
        chosen = (policy if isinstance(policy, Policy) else _policy_of(policy)).found(Path.cwd())
        if not self.experiment.mac.path_header:
            raise PerhopError("without path header no policy works", "leave mac.path_header out")
        told = own_files.placed(chosen.run_json(), self.folder.resolve())
        of = range(len(self._run.config["flows"])) if flow is None else [flow]
        for index in of:
            if flow is not None or self._run.config["flows"][index]["kind"] == "tcp":
                self._ask("policy", flow=index, policy=told)

    def move(self, node: int, x_m: float, y_m: float, speed_mps: float | None = None) -> None:
        """Let a node go to a place in a straight line; without a speed it is there at once."""
        self._happen(kind="move", node=node, x_m=x_m, y_m=y_m, speed_mps=speed_mps)

    def cut_link(self, a: int, b: int) -> None:
        """From now on nothing passes between two nodes, neither frames nor energy."""
        self._happen(kind="link_down", a=a, b=b)

    def restore_link(self, a: int, b: int) -> None:
        """Between two nodes frames pass again."""
        self._happen(kind="link_up", a=a, b=b)

    def stop_node(self, node: int) -> None:
        """A node is dead: no frame of it passes, nor one to it."""
        self._happen(kind="node_down", node=node)

    def start_node(self, node: int) -> None:
        """A node is back."""
        self._happen(kind="node_up", node=node)

    def lose(self, frame_error_rate: float) -> None:
        """From now on DATA frames are lost at random at this rate, at every receiver."""
        self._happen(kind="loss", frame_error_rate=frame_error_rate)

    def set_route(self, path: Sequence[int], both_ways: bool = True) -> None:
        """From now on packets for the last node of a path follow it."""
        self._happen(kind="route", path=list(path), both_ways=both_ways)

    def _happen(self, **event: Any) -> None:
        try:
            checked = _EVENT.validate_python({**event, "at_s": self.now_s})
        except ValidationError as error:
            document = load.Document(event["kind"], event, {(): load.Place(event["kind"], None)})
            raise load.explained(document, error, _EVENTS[event["kind"]]) from None
        self._ask("event", event=checked.model_dump(exclude={"at_s"}, exclude_none=True))

    # --- the process

    def _ask(self, command: str, **more: Any) -> dict[str, Any]:
        if self._process.poll() is not None:
            self._end()
            raise PerhopError("this simulation has ended", "begin another one")
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"command": command, **more}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._end()
            raise PerhopError("the simulation ended by itself", "see its message above, and `perhop doctor`")
        answer = json.loads(line)
        self.now_s = answer["now_us"] / 1e6
        if "error" in answer:
            field, _, problem = answer["error"].partition(": ")
            raise PerhopError(f"{command}: {answer['error']}", f"mend {field.removeprefix('command: ')}: {problem}")
        return answer

    def _end(self) -> None:
        """Let the simulator write its results and go."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            try:
                _, said = self._process.communicate(timeout=STOP_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                _, said = self._process.communicate()
            if self._process.returncode not in (0, 130):
                raise PerhopError(f"{PROGRAM} ended with {self._process.returncode}: {said.strip()}", "see its message")
            self._result = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation where it is, and remove what it has written, unless `out` says where that is."""
        try:
            self._end()
        finally:
            if self._temporary is not None:
                self._temporary.cleanup()


class _Bus:
    """The registers of one MAC of a simulation, for perhop.registers."""

    def __init__(self, simulation: Simulation, node: int) -> None:
        self._simulation = simulation
        self._node = node

    def read32(self, address: int) -> int:
        return self._simulation._ask("read", node=self._node, address=address)["value"]

    def write32(self, address: int, word: int) -> None:
        self._simulation._ask("write", node=self._node, address=address, value=word)


_EVENT: TypeAdapter[Any] = TypeAdapter(schema.Event)
_EVENTS = {
    "move": schema.MoveEvent,
    "link_down": schema.LinkEvent,
    "link_up": schema.LinkEvent,
    "node_down": schema.NodeEvent,
    "node_up": schema.NodeEvent,
    "loss": schema.LossEvent,
    "route": schema.RouteEvent,
}


def _policy_of(words: str) -> Policy:
    try:
        (policy,) = parse_policy(schema.one_policy(words))
    except PydanticCustomError as error:
        raise PerhopError(f"the policy {error.message()}", (error.context or {})["remedy"]) from None
    return policy


def _only(planned: plan.Plan) -> Run:
    """The run that is left. Raises PerhopError for several, and for one of another program."""
    if planned.backend.name != "sim":
        raise PerhopError(f"the backend is {planned.backend.name}, which passes time by itself", "use the backend sim")
    runs = planned.runs
    if len(runs) > 1:
        varied = {
            "policy": len({run.policy for run in runs}),
            "seed": len({run.seed for run in runs}),
            **{name: len({str(run.swept[name]) for run in runs}) for name in runs[0].swept},
        }
        several = [name for name, count in varied.items() if count > 1]
        raise PerhopError(
            f"{planned.name} has {len(runs)} runs, which differ in {', '.join(several)}",
            "choose one: policy=.., seed=.., settings={'FIELD': VALUE}",
        )
    if runs[0].program != PROGRAM:
        raise PerhopError(f"{planned.name} is made by {runs[0].program}, which has no steps", "give it a flow over IP")
    return runs[0]
