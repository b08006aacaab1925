# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces with a TUN interface each, by iproute2. Nothing outside of them is touched."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from perhop.errors import PerhopError
from perhop.live.plan import INTERFACE, MTU_BYTES, LivePlan, Node
from perhop.privileges import check_capabilities, check_tun

NAMESPACES = Path("/run/netns")
SLOW_SYN_RETRIES = 8
"""Linux' own are 6, and 5 of a SYN's answer."""


def check_host() -> None:
    """Raises PerhopError for the first thing that makes a live network impossible here."""
    if shutil.which("ip") is None:
        raise PerhopError("there is no `ip` (iproute2)", "install the package iproute2, or run `make setup`")
    check_capabilities("network namespaces and TUN interfaces", "CAP_NET_ADMIN", "CAP_SYS_ADMIN")
    check_tun()


def existing(name: str) -> list[str]:
    """The namespaces of the live network `name`, whatever is left of it."""
    pattern = re.compile(rf"perhop-{re.escape(name)}-\d+")
    if not NAMESPACES.is_dir():
        return []
    return sorted(entry.name for entry in NAMESPACES.iterdir() if pattern.fullmatch(entry.name))


def create(plan: LivePlan) -> None:
    """Namespaces, interfaces, addresses and routes of all nodes. Raises PerhopError; what was made by then stays."""
    _ip("".join(f"netns add {node.namespace}\n" for node in plan.nodes))
    for node in plan.nodes:
        wanted = settings(plan)
        script = "; ".join(f"echo {value} > /proc/sys/{key}" for key, value in wanted.items())
        _run(["ip", "netns", "exec", node.namespace, "sh", "-c", script])
        run_in(node.namespace, ["link set lo up", *restore_lines(plan, node)])


def settings(plan: LivePlan) -> dict[str, int]:
    """What a node has below /proc/sys, in a namespace as on a host."""
    found = {
        "net/ipv4/ip_forward": 1,
        "net/ipv6/conf/all/forwarding": 1,
        "net/ipv4/conf/all/rp_filter": 0,
        "net/ipv4/conf/default/rp_filter": 0,
        # The address below holds the MAC address, so that neighbours find it.
        "net/ipv6/conf/default/addr_gen_mode": 1,
        "net/ipv6/conf/default/accept_dad": 0,
        "net/ipv6/conf/default/router_solicitations": 0,
        # One connection shall not know what another one has measured.
        "net/ipv4/tcp_no_metrics_save": 1,
    }
    if plan.enforce == "ebpf":
        # A loss probe goes beyond every congestion window (RFC 8985, 7.3), not beyond a window that was lowered.
        found["net/ipv4/tcp_early_retrans"] = 0
    if plan.policy_json.get("ecn", "none") != "none":
        found["net/ipv4/tcp_ecn"] = 1
    if plan.slow_down > 1:
        # A SYN that is lost goes out again when the daemon lets a copy pass, after 200 ms of the radio's time
        # (host/node/syn_pace.hpp): two minutes and more of the kernel's, which gives up before by default.
        found["net/ipv4/tcp_syn_retries"] = found["net/ipv4/tcp_synack_retries"] = SLOW_SYN_RETRIES
    if plan.sack is not None:
        found["net/ipv4/tcp_sack"] = int(plan.sack)
    return found


def restore_lines(plan: LivePlan, node: Node) -> list[str]:
    """Lines of `ip -batch` that give a node its interface with all that belongs to it."""
    return [*interface_lines(node), *route_lines(plan, node)]


def interface_lines(node: Node) -> list[str]:
    """Lines of `ip -batch` that make the node's interface and give it its addresses."""
    return [
        f"tuntap add dev {INTERFACE} mode tun",
        f"link set {INTERFACE} mtu {MTU_BYTES} txqueuelen 1000 up",
        f"addr add {node.ipv4}/32 dev {INTERFACE}",
        f"addr add {node.link_local}/64 dev {INTERFACE} nodad",
        f"addr add {node.ipv6}/128 dev {INTERFACE} nodad",
    ]


def route_lines(plan: LivePlan, node: Node) -> list[str]:
    """Lines of `ip -batch` that set all routes of a node."""
    return [
        route_line(
            plan.nodes,
            here=node.index,
            destination=route.destination,
            next_hop=route.next_hop,
            family=family,
            metrics=plan.route_metrics,
        )
        for route in plan.routes
        if route.node == node.index
        for family in (4, 6)
    ]


def route_line(
    nodes: list[Node], *, here: int, destination: int, next_hop: int, family: int, metrics: list[str]
) -> str:
    """An argument list of `ip` that sets the route, whether or not there is one."""
    there, via = nodes[destination], nodes[next_hop]
    target = f"{there.ipv4}/32" if family == 4 else f"{there.ipv6}/128"
    gateway = onlink = ""
    if destination != next_hop:
        onlink = "onlink "
        gateway = f"via {via.ipv4} " if family == 4 else f"via {via.link_local} "
    # Sent from the address that everybody has a route to.
    source = nodes[here].ipv4 if family == 4 else nodes[here].ipv6
    return " ".join([f"route replace {target} {gateway}dev {INTERFACE} {onlink}src {source}", *metrics])


def run_in(namespace: str, lines: list[str]) -> None:
    """Let `ip` do some lines in a namespace. Raises PerhopError."""
    _ip("\n".join(lines) + "\n", namespace)


def processes(namespace: str) -> list[int]:
    done = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def delete(name: str, patience_s: float = 2) -> int:
    """End every process in the namespaces of `name` and delete them. @return how many namespaces there were"""
    found = existing(name)
    end_processes([pid for namespace in found for pid in processes(namespace)], patience_s)
    for namespace in found:
        end_processes(processes(namespace), 0)
        _run(["ip", "netns", "delete", namespace])
    return len(found)


def end_processes(pids: list[int], patience_s: float) -> None:
    """SIGTERM, and SIGKILL for those that are still there after `patience_s`."""
    left = [pid for pid in set(pids) if pid != os.getpid()]
    for how, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 2.0)):
        if how == signal.SIGTERM and patience_s == 0:
            continue
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
        deadline = time.monotonic() + wait_s
        while left and time.monotonic() < deadline:
            left = [pid for pid in left if is_running(pid)]
            if left:
                time.sleep(0.01)


def is_running(pid: int) -> bool:
    """A zombie is not: it waits for its parent only."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def _ip(batch: str, namespace: str | None = None) -> None:
    command = ["ip", *(["-n", namespace] if namespace else []), "-batch", "-"]
    _run(command, batch)


def _run(command: list[str], text: str | None = None) -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        raise PerhopError(f"`{' '.join(command)}` fails: {said}", "run `perhop live down`, then try again")
