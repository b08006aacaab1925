# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversations with hosts over OpenSSH, and what its messages mean for a user."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from perhop.errors import PerhopError
from perhop.realtime.session import Session

CONNECT_TIMEOUT_S = 5
# A host that is silent for three of these is gone.
ALIVE_INTERVAL_S = 2


def command(address: str, access: dict[str, Any]) -> list[str]:
    """The ssh that runs a command on a host: by key only, and only on a host whose key is known."""
    found = ["ssh", "-T", "-p", str(access["port"])]
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "ConnectTimeout": CONNECT_TIMEOUT_S,
        "ServerAliveInterval": ALIVE_INTERVAL_S,
        "ServerAliveCountMax": 3,
        "LogLevel": "ERROR",
    }
    if access["known_hosts"] is not None:
        options["UserKnownHostsFile"] = str(Path(access["known_hosts"]).expanduser().resolve())
    if access["identity"] is not None:
        options |= {"IdentitiesOnly": "yes", "IdentityFile": str(Path(access["identity"]).expanduser().resolve())}
    for name, value in options.items():
        found += ["-o", f"{name}={value}"]
    return [*found, f"{access['user']}@{address}"]


def become(access: dict[str, Any]) -> list[str]:
    """What makes a command root's there."""
    by_sudo = access["become"] == "sudo" or (access["become"] == "auto" and access["user"] != "root")
    return ["sudo", "-n"] if by_sudo else []


def open_session(name: str, address: str, access: dict[str, Any]) -> Session:
    """Begin a conversation; whether it works shows the first question. Raises PerhopError."""
    if shutil.which("ssh") is None:
        raise PerhopError("there is no `ssh` here", "install the package openssh-client")
    return Session(
        name,
        command(address, access),
        access["python"],
        remote=True,
        become=become(access),
        explain=lambda said: explain(said, address, access),
    )


def explain(said: str, address: str, access: dict[str, Any]) -> tuple[str, str]:
    """Problem and remedy of a conversation that ended, by what was said on standard error."""
    where = f"{access['user']}@{address}, port {access['port']}"
    words = said.lower()
    known: list[tuple[tuple[str, ...], str, str]] = [
        (
            ("identification has changed", "offending"),
            "another host key than the known one",
            "compare the fingerprint at the host; if it is new for a good reason: "
            f"ssh-keygen -R '[{address}]:{access['port']}', then take the new one",
        ),
        (
            ("host key verification failed", "host key is known"),
            "its host key is not known here",
            f"compare the fingerprint at the host, then: ssh-keyscan -p {access['port']} {address} >> "
            f"{access['known_hosts'] or '~/.ssh/known_hosts'}",
        ),
        (("permission denied",), "does not let this key in", f"ssh-copy-id for {where}; `identity` names another key"),
        (
            ("could not resolve",),
            "its name is not known",
            "mend `address`, or write its IP address",
        ),
        (
            ("connection refused",),
            "no SSH server answers there",
            f"start one on it (package openssh-server), or mend `port` ({access['port']})",
        ),
        (
            ("timed out", "no route to host", "network is unreachable", "banner exchange"),
            "cannot be reached",
            f"is it on, is the cable in, is the way free? ping {address}",
        ),
        (
            ("sudo: a password is required", "sudo: a terminal is required", "not in the sudoers", "may not run sudo"),
            f"{access['user']} does not become root without a password",
            f"as root there: echo '{access['user']} ALL=(root) NOPASSWD: ALL' > /etc/sudoers.d/perhop; "
            "or log in as root",
        ),
        (
            ("sudo: not found", "sudo: command not found", "sudo: no such file"),
            "there is no sudo",
            "install it there, or log in as root (`user: root`)",
        ),
        (
            (
                f"{access['python']}: not found",
                f"{access['python']}: command not found",
                f"{access['python']}: no such",
            ),
            f"there is no {access['python']}",
            "install the package python3 there, or give the path in `python`",
        ),
    ]
    for marks, problem, remedy in known:
        if any(mark in words for mark in marks):
            return f"{problem} ({_short(said)})", remedy
    if not said:
        return "the connection has ended", "is the host up? Look at it, then run the same command again"
    return f"the connection has ended: {_short(said)}", "mend what it says, then run the same command again"


def _short(said: str) -> str:
    return said if len(said) <= 200 else said[-200:]
