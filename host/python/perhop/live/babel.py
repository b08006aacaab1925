# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes by babeld, one in each node, over the nodes' TUN interfaces."""

from __future__ import annotations

import shutil
from pathlib import Path

from perhop.errors import PerhopError
from perhop.live.plan import INTERFACE, Node

HELLO_INTERVAL_S = 1
UPDATE_INTERVAL_S = 4


def program() -> str:
    """Where babeld is. Raises PerhopError."""
    # Debian keeps it from the PATH of ordinary users.
    found = shutil.which("babeld") or shutil.which("babeld", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise PerhopError("there is no babeld", "install the package babeld, or leave out --routing babel")
    return found


def configuration(node: Node, folder: Path) -> str:
    """What babeld reads. A TUN interface has no MAC address to take a router-id from, and does not look wireless."""
    # Longer intervals cost less air, and notice later that a node is gone.
    return f"""\
router-id {node.mac}
skip-kernel-setup true
smoothing-half-life 0
state-file {folder / f"babel-{node.index}.state"}
pid-file {folder / f"babel-{node.index}.pid"}
interface {INTERFACE} type wireless hello-interval {HELLO_INTERVAL_S} update-interval {UPDATE_INTERVAL_S}
redistribute local if {INTERFACE} ip {node.ipv4}/32 allow
redistribute local if {INTERFACE} ip {node.ipv6}/128 allow
redistribute local deny
install ip 0.0.0.0/0 pref-src {node.ipv4}
install ip ::/0 pref-src {node.ipv6}
"""


def command(node: Node, folder: Path) -> list[str]:
    """Writes the configuration. @return the argument list that starts babeld in the node's namespace"""
    file = folder / f"babel-{node.index}.conf"
    file.write_text(configuration(node, folder))
    # One that was killed leaves its pid file, and another one refuses to start beside it.
    start = f"rm -f {folder / f'babel-{node.index}.pid'}; exec {program()} -c {file}"
    return ["ip", "netns", "exec", node.namespace, "sh", "-c", start]
