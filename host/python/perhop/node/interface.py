# SPDX-License-Identifier: GPL-2.0-or-later
"""The TUN interface of a node that is nobody else's to set up."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from perhop.errors import PerhopError
from perhop.node.configuration import NodeFile
from perhop.privileges import check_capabilities, check_tun


def check(node: NodeFile) -> None:
    """Raises PerhopError for the first thing that makes the interface impossible here; nothing is made."""
    check_tun()
    if node.addresses or not exists(node.interface):
        check_capabilities(f"the TUN interface {node.interface} and its addresses", "CAP_NET_ADMIN")
    if node.addresses and shutil.which("ip") is None:
        raise PerhopError("there is no `ip` (iproute2)", "install the package iproute2, or leave `addresses` out")


def set_up(node: NodeFile) -> None:
    """Make the interface and give it its addresses, where the file says them. It outlives the daemon: connections do,
    too. Raises PerhopError, and then an interface that was not there before is gone."""
    if not node.addresses:
        return
    made = not exists(node.interface)
    lines = [f"tuntap add dev {node.interface} mode tun user {os.getuid()}"] if made else []
    lines += [f"link set {node.interface} mtu {node.mtu_bytes} up"]
    lines += [f"addr replace {address} dev {node.interface}" for address in node.addresses]
    done = _ip(lines)
    if done.returncode != 0:
        if made:
            _ip([f"tuntap del dev {node.interface} mode tun"])
        said = " ".join(done.stderr.split())
        raise PerhopError(f"interface {node.interface}: ip says: {said}", "mend `interface` and `addresses`")


def remove(name: str) -> None:
    """Raises PerhopError."""
    if exists(name):
        done = _ip([f"tuntap del dev {name} mode tun"])
        if done.returncode != 0:
            raise PerhopError(f"interface {name}: ip says: {' '.join(done.stderr.split())}", "end its daemon first")


def exists(name: str) -> bool:
    return Path("/sys/class/net", name).exists()


def _ip(lines: list[str]) -> subprocess.CompletedProcess[str]:
    text = "".join(f"{line}\n" for line in lines)
    return subprocess.run(["ip", "-batch", "-"], input=text, capture_output=True, text=True, check=False)
