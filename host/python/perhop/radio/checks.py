# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks whether hosts can be the nodes of an experiment: one finding a check, with what to do where it fails."""

from __future__ import annotations

import getpass
import json
import secrets
import socket
import statistics
import subprocess
from dataclasses import dataclass
from typing import Any

from perhop import paths
from perhop.doctor import Finding
from perhop.errors import PerhopError
from perhop.experiment import profiles
from perhop.experiment.schema import Mac
from perhop.live.plan import Node
from perhop.node import drivers
from perhop.radio import ssh
from perhop.radio.inventory import Inventory
from perhop.realtime.measure import each_session
from perhop.realtime.session import Clock, NodeError, Session

PYTHON = (3, 10)
NEEDED_FOR = "--backend radio"
# Its driver is given thirty seconds to come up (host/node).
RADIO_TIMEOUT_S = 40.0
# Of times by pulses: others are a whole second away.
SAME_SECOND_S = 0.4


@dataclass
class Looked:
    """What was found on one host; `session` is None where it cannot be talked to."""

    findings: list[Finding]
    session: Session | None = None
    sha256: str = ""
    clock: Clock | None = None
    radio_time: dict[str, Any] | None = None
    """Of a radio that has a time: how it was set (host/drivers/radio_time.hpp)."""

    @property
    def failed(self) -> list[Finding]:
        return [finding for finding in self.findings if not finding.ok]


@dataclass(frozen=True)
class Wanted:
    """What hosts are compared with: the daemon's version, the nodes' addresses, the MAC that an experiment wants."""

    version: str | None
    nodes: list[Node]
    mac: Mac | None = None


def our_version() -> str | None:
    """What this checkout's daemon says of itself; None where it is not built."""
    try:
        program = paths.program("perhop-node")
    except PerhopError:
        return None
    done = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def new_token() -> str:
    return secrets.token_hex(8)


def owner(what: str) -> str:
    """Who has the hosts, for those who want them, too."""
    return f"{getpass.getuser()}@{socket.gethostname()} ({what})"


def look(inventory: Inventory, wanted: Wanted, token: str, what: str) -> list[Looked]:
    """All hosts at a time. Each is locked with `token` while its session is open; the caller closes the sessions."""
    sessions = [
        ssh.open_session(inventory.name(node), host.address, inventory.access(node).model_dump())
        for node, host in enumerate(inventory.nodes)
    ]
    found: list[Looked] = each_session(
        sessions, lambda node, session: _look_at(inventory, wanted, node, session, token, what)
    )
    _compare_versions(inventory, wanted, found)
    compare_times([inventory.name(node) for node in range(len(found))], found)
    return found


def _look_at(inventory: Inventory, wanted: Wanted, node: int, session: Session, token: str, what: str) -> Looked:
    name = inventory.name(node)
    looked = Looked([])

    def add(check: str, ok: bool, detail: str, remedy: str = "") -> bool:
        looked.findings.append(Finding(f"{name}: {check}", ok, detail, NEEDED_FOR, "" if ok else remedy))
        return ok

    try:
        hello = session.ask("hello", timeout_s=ssh.CONNECT_TIMEOUT_S + 10)
    except NodeError as error:
        add("ssh", False, error.what, error.remedy)
        session.close(1)
        return looked
    looked.session = session
    add("ssh", True, f"{hello['host']}, {hello['machine']}, Linux {hello['kernel']}")
    try:
        _look_inside(inventory, wanted, node, session, hello, looked, add, token, what)
    except NodeError as error:
        add("answers", False, error.what, error.remedy)
    return looked


def _look_inside(
    inventory: Inventory,
    wanted: Wanted,
    node: int,
    session: Session,
    hello: dict[str, Any],
    looked: Looked,
    add: Any,
    token: str,
    what: str,
) -> None:
    access, limits = inventory.access(node), inventory.limits
    python = tuple(int(part) for part in hello["python"].split(".")[:2])
    add("Python", python >= PYTHON, hello["python"], "install Python 3.10 or newer, or name it in `python`")
    is_root = hello["user_id"] == 0
    add(
        "root",
        is_root,
        f"user {access.user}" + ("" if is_root else " is not root, and does not become it"),
        "leave `become` out or say sudo, or log in as root (`user: root`)",
    )
    facts = session.ask(
        "facts",
        perhop_node=access.perhop_node,
        folder=access.folder,
        addresses=[known.ipv4 for known in wanted.nodes],
        timeout_s=30,
    )
    looked.sha256 = facts["sha256"] or ""
    if facts["program"] is None:
        add(
            "perhop-node",
            False,
            f"there is no {access.perhop_node}",
            "build it for this host (make build), install it there, and name its place in `perhop_node`",
        )
    elif facts["version"] is None:
        add("perhop-node", False, f"{facts['program']} does not say its version", "install this version of it")
    else:
        add("perhop-node", True, facts["version"])
    add("ip", facts["ip"] is not None, facts["ip"] or "not found", "install the package iproute2")
    add(
        "TUN",
        facts["tun"],
        "/dev/net/tun" if facts["tun"] else "there is no /dev/net/tun",
        "modprobe tun, and put tun into /etc/modules",
    )
    add(
        "addresses",
        not facts["taken"],
        f"{', '.join(facts['taken'])}: the experiment's own" if facts["taken"] else f"{inventory.network} is free",
        "give another `network`, such as 10.77.0.0/16",
    )
    free_mb = facts["free_bytes"] / 1e6
    enough = free_mb >= limits.free_mb and facts["writable"]
    add(
        "disk",
        enough,
        f"{free_mb:,.0f} MB free for {access.folder}" + ("" if facts["writable"] else ", which may not be written"),
        f"make room (limits.free_mb is {limits.free_mb}), or give another `folder`",
    )
    looked.clock = session.clock()
    _check_clock(looked.clock, inventory, facts, add)
    if not is_root:
        return
    try:
        session.ask("lock", token=token, owner=owner(what))
    except NodeError as error:
        add("not in use", False, error.what, error.remedy)
        return
    add("not in use", True, "nobody else's run")
    if session.ask("clean", timeout_s=30)["found"]:
        add("cleaned up", True, "what an interrupted run had left is taken back")
    if looked.findings and all(finding.ok for finding in looked.findings if "perhop-node" in finding.name):
        looked.radio_time = _check_radio(inventory, wanted, node, session, facts["program"], add)


def _check_clock(clock: Clock, inventory: Inventory, facts: dict[str, Any], add: Any) -> None:
    limits = inventory.limits
    offset_ms, bound_ms = clock.time_of_day_ns / 1e6, clock.bound_ns / 1e6
    chrony = facts["chrony"]
    by = f"; chrony: {chrony.get('System time', '?')}" if chrony else "; no chrony"
    add(
        "time of day",
        abs(offset_ms) - bound_ms <= limits.clock_offset_ms,
        f"{offset_ms:+.3f} ms from ours, known to {bound_ms:.3f} ms{by}",
        f"install chrony there and here (limits.clock_offset_ms is {limits.clock_offset_ms:g})",
    )
    add(
        "common time",
        bound_ms <= limits.clock_bound_ms,
        f"begins within {bound_ms:.3f} ms of the common moment",
        f"use a faster way to it (limits.clock_bound_ms is {limits.clock_bound_ms:g}: half of the shortest round trip)",
    )


def _check_radio(
    inventory: Inventory, wanted: Wanted, node: int, session: Session, program: str, add: Any
) -> dict[str, Any] | None:
    """Whether the MAC comes up, and is the one that the experiment means. Its radio's time, where it has one."""
    driver = inventory.nodes[node].radio.model_dump(exclude_none=True)
    folder = f"{inventory.access(node).folder}/perhop-check"
    try:
        session.ask("folder", folder=folder)
        session.ask("write", file=f"{folder}/node.json", text=json.dumps({"driver": driver}))
        done = session.ask(
            "run",
            command=[program, "--check-driver", f"{folder}/node.json"],
            timeout_s=RADIO_TIMEOUT_S + 5,
            most_s=RADIO_TIMEOUT_S,
        )
    finally:
        session.ask("take_back_changes", timeout_s=30)
    kind = driver["kind"]
    if done["status"] != 0:
        # Of what libraries say beside, errors are in the last line as well.
        said = " ".join(done["err"].strip().splitlines()[-1:]) or f"status {done['status']}"
        entry = drivers.ENTRIES[kind]
        add("radio", False, f"{kind}: {said} ({entry.said(driver)})", entry.if_away)
        return None
    said, *more = done["out"].strip().splitlines()
    mac, profile, *_ = said.split()
    rate_bps, rts = int(said.split()[2]), int(said.split()[-1])
    add("radio", True, f"{kind}: {mac}, {profile}, {rate_bps / 1e6:g} Mb/s, RTS above {rts} bytes")
    problems = []
    if node < len(wanted.nodes) and mac != wanted.nodes[node].mac:
        problems.append(f"its MAC address is {mac}, node {node}'s would be {wanted.nodes[node].mac}")
    if wanted.mac is not None:
        if profile != wanted.mac.profile:
            problems.append(f"its profile is {profile}, the experiment's {wanted.mac.profile}")
        else:
            index = profiles.rate_index(profile, wanted.mac.data_rate_mbps)
            wanted_bps = profiles.find(profile).rates[index].bps
            if rate_bps != wanted_bps:
                problems.append(f"it sends at {rate_bps / 1e6:g} Mb/s, the experiment at {wanted_bps / 1e6:g}")
        if rts != wanted.mac.rts_threshold_bytes:
            problems.append(f"its RTS threshold is {rts} bytes, the experiment's {wanted.mac.rts_threshold_bytes}")
    if problems:
        add("radio settings", False, "; ".join(problems), "mend `radio` of this host, or mac: of the experiment")
    elif wanted.mac is not None:
        add("radio settings", True, "those of the experiment")
    return json.loads(more[0]) if more else None


def compare_times(names: list[str], found: list[Looked]) -> None:
    """Whether the times of all radios are one, and by how much each is off this machine's clock.

    Pulses begin the same second in all of them if each host named the same one. Without pulses a radio has the time of
    its host.
    """
    ahead_s = {
        node: looked.clock.time_of_day_ns / 1e9 - looked.radio_time["host_ahead_s"]
        for node, looked in enumerate(found)
        if looked.radio_time is not None and looked.clock is not None
    }
    by_pulses = [node for node in ahead_s if found[node].radio_time["by_pulses"]]
    usual_s = statistics.median_low([ahead_s[node] for node in by_pulses]) if by_pulses else 0.0
    for node, off_s in ahead_s.items():
        detail, remedy = f"{off_s * 1e3:+.1f} ms from ours", ""
        if node in by_pulses:
            detail = f"by pulses, {detail}"
            if abs(off_s - usual_s) > SAME_SECOND_S:
                detail = f"by pulses, but {off_s - usual_s:+.3f} s from that of the others"
                remedy = "set this host's clock (NTP): by it the second is named that a pulse begins"
        elif by_pulses:
            detail += ": that of its host, and others have one by pulses"
            remedy = "give every host the same `time_source` in `radio`: external or gpsdo, or internal"
        else:
            detail += ": that of its host"
        found[node].findings.append(Finding(f"{names[node]}: radio's time", not remedy, detail, NEEDED_FOR, remedy))


def _compare_versions(inventory: Inventory, wanted: Wanted, found: list[Looked]) -> None:
    """Daemons of different sources measure and decide differently."""
    versions = {}
    for node, looked in enumerate(found):
        for index, finding in enumerate(looked.findings):
            if finding.ok and finding.name.endswith(": perhop-node"):
                versions[node] = (index, finding.detail)
    meant = wanted.version or (versions[min(versions)][1] if versions else None)
    for node, (index, version) in versions.items():
        if version != meant:
            whose = "this checkout's" if wanted.version else f"that of {inventory.name(min(versions))}"
            found[node].findings[index] = Finding(
                f"{inventory.name(node)}: perhop-node",
                False,
                f"is {version}, {whose} is {meant}",
                NEEDED_FOR,
                "install the same version on all hosts, from this checkout: make build",
            )
