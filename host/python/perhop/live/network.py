# SPDX-License-Identifier: GPL-2.0-or-later
"""A live network as a whole: up, what it is doing, down. Its state is a folder below /run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perhop import files, paths, privileges
from perhop.errors import PerhopError, choose_from
from perhop.live import babel, events, messages, namespaces, state_files
from perhop.live.plan import NAME, LivePlan, node_config, rates_socket
from perhop.live.plan import one_policy as plan_policy
from perhop.live.state_files import capture_file, names, state_folder
from perhop.node import ebpf

UP_TIMEOUT_S = 15
# Programs that were started so often and ended cannot run here; the pauses between grow, so that is after two seconds.
STARTS_IN_VAIN = 5
POLL_S = 0.02
# A daemon answers within milliseconds; one that was killed is back within this time.
TELL_TIMEOUT_S = 2
TELL_AGAIN_S = 3


def only_name(name: str | None) -> str:
    """`name`, or that of the one network there is. Raises PerhopError."""
    if name is not None:
        if not NAME.fullmatch(name):
            raise PerhopError(
                f"{name!r} is no name of a live network", f"there are: {', '.join(names()) or 'none, start one'}"
            )
        return name
    known = names()
    if not known:
        raise PerhopError("there is no live network", "start one: `perhop live up FILE`")
    if len(known) > 1:
        raise PerhopError(f"there are {len(known)} live networks: {', '.join(known)}", "say which: --name NAME")
    return known[0]


def read_state(name: str) -> dict[str, Any]:
    """What `up` recorded. Raises PerhopError."""
    try:
        state: dict[str, Any] = json.loads((state_folder() / name / "state.json").read_text())
    except (OSError, ValueError) as error:
        raise _unknown(name) from error
    return state


def _unknown(name: str) -> PerhopError:
    known = names()
    return PerhopError(
        f"there is no live network {name!r}",
        choose_from(name, known) if known else "none is up; start one: `perhop live up FILE`",
    )


def existing_name(name: str | None) -> str:
    """As only_name, of a network of which there is something left. Raises PerhopError."""
    chosen = only_name(name)
    folder = state_folder() / chosen
    if not (folder.exists() or namespaces.existing(chosen) or processes_naming(folder)):
        raise _unknown(chosen)
    return chosen


def up(
    plan: LivePlan, note: Callable[[str], None] = lambda text: None, start_events: bool = True, captures: bool = False
) -> dict[str, Any]:
    """Bring the network up: all daemons have their MAC. Raises PerhopError, and then leaves nothing behind.

    The file's events count from now on, or with `start_events` False from when `state_files.begin` is called. With
    `captures` each node records its packets (`capture_file`).
    """
    start_s = time.monotonic()
    namespaces.check_host()
    programs = {name: paths.program(name) for name in ("perhop-live-air", "perhop-node")}
    if plan.routing == "babel":
        babel.program()
    cgroup = None
    if plan.enforce == "ebpf":
        cgroup = ebpf.cgroup()
        ebpf.check(cgroup)
    folder = state_folder() / plan.name
    if _supervisor(folder) is not None:
        raise PerhopError(f"the live network {plan.name!r} is up already", f"`perhop live down {plan.name}` ends it")
    if folder.exists() or namespaces.existing(plan.name):
        note(f"cleaning up what is left of an earlier {plan.name}")
        down(plan.name)
    try:
        with state_files.recording(folder):
            _create(plan, folder, programs, cgroup, captures)
            _start_supervisor(folder)
        _wait_until_up(plan, folder)
        if start_events:
            with state_files.recording(folder):
                state_files.begin(folder)
    except BaseException:
        down(plan.name)
        raise
    return {
        "name": plan.name,
        "nodes": len(plan.nodes),
        "policy": plan.policy,
        "setup_s": round(time.monotonic() - start_s, 2),
    }


def _create(plan: LivePlan, folder: Path, programs: dict[str, Path], cgroup: str | None, captures: bool) -> None:
    folder.mkdir(parents=True, mode=0o755)
    socket = state_files.medium_socket(folder)
    _make_folder_of_medium(socket.parent)
    medium = [str(programs["perhop-live-air"]), str(folder / "run.json"), str(socket), privileges.NOBODY]
    commands = {"air": medium}
    for node in plan.nodes:
        config = folder / f"node-{node.index}.json"
        capture = capture_file(folder, node.index) if captures else None
        # The policy may change: it stands in one file for all, not in each one's configuration.
        wanted = node_config(plan, node, folder, cgroup, capture=capture)
        del wanted["policy"]
        files.write_json(config, {**wanted, "policy_file": str(folder / state_files.POLICY)})
        lines = namespaces.restore_lines(plan, node)
        files.write_text(state_files.interface_file(folder, f"node-{node.index}"), "\n".join(lines) + "\n")
        # `ip netns exec` would hide the cgroups, which are below /sys.
        enter = ["nsenter", f"--net={namespaces.NAMESPACES / node.namespace}"]
        commands[f"node-{node.index}"] = [*enter, str(programs["perhop-node"]), str(config)]
    if plan.routing == "babel":
        commands |= {f"babel-{node.index}": babel.command(node, folder) for node in plan.nodes}
    files.write_json(folder / "run.json", plan.run)
    state_files.record_policy(folder, plan.policy, plan.policy_json)
    # Before there is anything to clean up: `down` needs no more than the folder's name.
    files.write_json(
        folder / "state.json",
        {
            "name": plan.name,
            "nodes": [asdict(node) for node in plan.nodes],
            "path": plan.path_nodes,
            "commands": commands,
            "events": plan.events,
            "route_metrics": plan.route_metrics,
        },
    )
    namespaces.create(plan)


def _make_folder_of_medium(folder: Path) -> None:
    """The medium's own, in which it makes a removed socket again; whoever brings networks up connects to it."""
    folder.mkdir()
    os.chown(folder, privileges.account(privileges.NOBODY).uid, os.getgid())
    # A socket in it is of its group.
    folder.chmod(0o2750)


def _start_supervisor(folder: Path) -> None:
    with (folder / "supervisor.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "perhop.live.supervisor", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    (folder / "supervisor.pid").write_text(f"{process.pid}\n")


def _supervisor(folder: Path) -> int | None:
    """The process id of the network's supervisor if it runs."""
    try:
        pid = int((folder / "supervisor.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if pid in processes_naming(folder) else None


def processes_naming(folder: Path) -> list[int]:
    """Processes with a path below `folder`, or itself, among their arguments: the network's own, and nobody else's."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        ours = any(Path(argument).name in ("perhop-live-air", "perhop-node", "babeld") for argument in arguments)
        ours = ours or bool({"perhop.live.supervisor", "perhop.live.events"} & set(arguments))
        if ours and any(argument == str(folder) or argument.startswith(f"{folder}/") for argument in arguments):
            found.append(int(entry.name))
    return [pid for pid in found if namespaces.is_running(pid)]


def _wait_until_up(plan: LivePlan, folder: Path) -> None:
    deadline_s = time.monotonic() + UP_TIMEOUT_S
    missing = [node.index for node in plan.nodes]
    while missing:
        missing = [index for index in missing if not _node_is_up(folder, index)]
        in_vain = [] if not missing else _ended_again_and_again(folder)
        if missing and (in_vain or time.monotonic() > deadline_s):
            logs = {
                name: _last_line(folder / f"{name}.log") for name in ("air", *(f"node-{index}" for index in missing))
            }
            said = "; ".join(f"{name}: {line}" for name, line in logs.items() if line)
            why = f"{' and '.join(in_vain)} cannot run" if in_vain else f"nothing after {UP_TIMEOUT_S} s"
            raise PerhopError(f"nodes {missing} have no MAC: {why} ({said})", "mend what the logs say")
        if missing:
            time.sleep(POLL_S)


def _ended_again_and_again(folder: Path) -> list[str]:
    try:
        started = json.loads((folder / "processes.json").read_text())
    except (OSError, ValueError):
        return []
    return [name for name, process in started.items() if len(process["ends"]) >= STARTS_IN_VAIN]


def _node_is_up(folder: Path, index: int) -> bool:
    try:
        return bool(messages.ask_node(_control(folder, index), {"command": "status"})["mac_up"])
    except PerhopError:
        return False


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def down(name: str) -> bool:
    """End and remove whatever there is of the network `name`. @return whether there was anything"""
    folder = state_folder() / name
    found = folder.exists()
    # The supervisor first, or it would start the others again.
    supervisor = _supervisor(folder)
    if supervisor is not None:
        namespaces.end_processes([supervisor], 5)
    namespaces.end_processes(processes_naming(folder), 2)
    found = namespaces.delete(name) > 0 or found
    shutil.rmtree(folder, ignore_errors=True)
    return found or supervisor is not None


def status(name: str) -> dict[str, Any]:
    """What the processes say of themselves; None for those that do not answer. Raises PerhopError."""
    state = read_state(name)
    folder = state_folder() / name
    try:
        started = json.loads((folder / "processes.json").read_text())
    except (OSError, ValueError):
        started = {}
    nodes = []
    for node in state["nodes"]:
        nodes.append({**node, "daemon": _answer(messages.ask_node, _control(folder, node["index"]))})
    recorded = state_files.read_policy(folder)
    found = {
        "name": name,
        "policy": recorded["label"],
        "supervisor": _supervisor(folder),
        "processes": started,
        "medium": _answer(messages.ask_medium, state_files.medium_socket(folder)),
        "events": {"of": len(state["events"]), **(state_files.progress(folder) or {})},
        "nodes": nodes,
    }
    found["problems"] = problems(found, recorded["policy"])
    return {**found, "ok": not found["problems"]}


def problems(found: dict[str, Any], policy: dict[str, Any]) -> list[str]:
    """What is not well with a network of this status, whose record says `policy`; one sentence each."""
    said = []
    if not found["supervisor"]:
        said.append("the supervisor is gone: nothing is started again")
    if found["medium"] is None:
        said.append("the medium does not answer")
    for node in found["nodes"]:
        daemon, name = node["daemon"], f"node {node['index']}"
        if not (namespaces.NAMESPACES / node["namespace"]).exists():
            said.append(f"{name}: its namespace {node['namespace']} is gone; only `perhop live down` and up mend that")
        if daemon is None:
            said.append(f"{name}: no daemon answers")
            continue
        if not daemon["mac_up"] or daemon["mac_problem"]:
            said.append(f"{name}: its MAC: {daemon['mac_problem'] or 'is down'}")
        if daemon["policy"] != policy:
            said.append(
                f"{name}: has the policy {json.dumps(daemon['policy'])}, not the network's {json.dumps(policy)}"
            )
    return said


def set_policy(name: str, text: str) -> str:
    """Give all TCP flows another policy, those that are open included. @return its label. Raises PerhopError

    All nodes or none: recorded first, so that a daemon that starts meanwhile has it, then told. If a node does not take
    it, the record and the others go back.
    """
    chosen = plan_policy(text).found(Path.cwd())
    folder = state_folder() / name
    nodes = [node["index"] for node in read_state(name)["nodes"]]
    with state_files.locked(folder):
        old = state_files.read_policy(folder)
        away = [node for node in nodes if _answer(messages.ask_node, _control(folder, node)) is None]
        if away:
            raise PerhopError(
                f"{_these(away)} not there, so all nodes keep the policy {old['label']!r}",
                "try again when `perhop live status` finds all; a node that an event took down has to be up first",
            )
        try:
            with state_files.trying_policy(folder, chosen.label, chosen.run_json()):
                new = state_files.read_policy(folder)
                for node in nodes:
                    _tell_policy(folder, node, new["policy"])
        except BaseException as error:
            untold = _tell_again(folder, nodes, old["policy"])
            if not isinstance(error, PerhopError):
                raise
            more = f"; {_these(untold)} not there to be told so, and may differ until started anew" if untold else ""
            raise PerhopError(
                f"{error.problem}; all nodes keep the policy {old['label']!r}{more}", error.remedy
            ) from None
    return chosen.label


def _control(folder: Path, node: int) -> Path:
    return folder / f"node-{node}.sock"


def _these(nodes: list[int]) -> str:
    listed = ", ".join(str(node) for node in nodes)
    return f"node {listed} is" if len(nodes) == 1 else f"nodes {listed} are"


def _tell_policy(folder: Path, node: int, policy: dict[str, Any]) -> None:
    try:
        messages.ask_node(_control(folder, node), {"command": "policy", "policy": policy}, TELL_TIMEOUT_S)
    except PerhopError as error:
        raise PerhopError(f"node {node} does not take the policy: {error.problem}", error.remedy) from None


def _tell_again(folder: Path, nodes: list[int], policy: dict[str, Any]) -> list[int]:
    """Give every node its old policy back. @return those that could not be told in time"""
    deadline_s = time.monotonic() + TELL_AGAIN_S
    while True:
        untold = []
        for node in nodes:
            try:
                _tell_policy(folder, node, policy)
            except PerhopError:
                untold.append(node)
        if not untold or time.monotonic() > deadline_s:
            return untold
        nodes = untold
        time.sleep(POLL_S)


def let_happen(name: str, kind: str, words: list[str]) -> None:
    """Let an event happen now; `words` are FIELD=VALUE, as the experiment file would say them. Raises PerhopError"""
    state = read_state(name)
    event = events.parse(kind, words, len(state["nodes"]))
    events.play(state_folder() / name, event)


def _answer(ask: Callable[..., dict[str, Any]], path: Path) -> dict[str, Any] | None:
    try:
        return ask(path, {"command": "status"}, timeout_s=2)
    except PerhopError:
        return None


def node_of(state: dict[str, Any], word: str) -> dict[str, Any]:
    """A node by its index, `first` or `last`. Raises PerhopError."""
    nodes: list[dict[str, Any]] = state["nodes"]
    if word in ("first", "last"):
        return nodes[0 if word == "first" else -1]
    if word.isdigit() and int(word) < len(nodes):
        return nodes[int(word)]
    raise PerhopError(f"there is no node {word!r}", f"use first, last, or an index from 0 to {len(nodes) - 1}")


def command_in(name: str, word: str, command: list[str]) -> list[str]:
    """The argument list that runs `command` on a node. Raises PerhopError."""
    node = node_of(read_state(name), word)
    # Where perhop.rates looks.
    rates = f"PERHOP_RATES={state_folder() / name / rates_socket(node['index'])}"
    return ["ip", "netns", "exec", node["namespace"], "env", rates, *command]
