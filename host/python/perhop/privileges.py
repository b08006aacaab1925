# SPDX-License-Identifier: GPL-2.0-or-later
"""Privileges of a process: what it needs, and how it lets go of them, as the daemon does (host/node/privileges.hpp)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from perhop.errors import PerhopError

# Who owns nothing; for those that root starts and that need no file.
NOBODY = "nobody"
# linux/prctl.h, linux/capability.h
PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 23, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x2008_0522
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
TUN = Path("/dev/net/tun")


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int


def account(name: str) -> Account:
    """Of a user by name. Raises PerhopError."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise PerhopError(f"there is no user {name!r}", "name one of this host with --user") from None
    return Account(entry.pw_uid, entry.pw_gid)


def owner(path: Path) -> Account:
    """Of a file, or of the folder where it will be. Raises PerhopError."""
    for place in (path, path.parent):
        with contextlib.suppress(FileNotFoundError, PermissionError):
            found = place.stat()
            return Account(found.st_uid, found.st_gid)
    raise PerhopError(f"there is no folder {path.parent}", "see `perhop live status`")


def drop(become: Account) -> None:
    """Gives up every capability, for good, and the user root where this process is root: then it goes on as `become`.

    Capabilities belong to threads: call it before there are any. Raises PerhopError.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # The bounds need CAP_SETPCAP, which a service has no use for: its manager has set them already.
    capability = 0
    while libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        capability += 1
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    try:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(become.gid, become.gid, become.gid)
            os.setresuid(become.uid, become.uid, become.uid)
        if libc.capset(header, nothing) < 0 or libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    except OSError as error:
        raise PerhopError(
            f"privileges cannot be dropped: {error.strerror}", "start the command as a user that has none, or as root"
        ) from error


def check_capabilities(what: str, *names: str) -> None:
    """Raises PerhopError for the first capability that `what` needs and this process has not."""
    effective = effective_capabilities()
    for name in names:
        if not effective >> CAPABILITIES[name] & 1:
            raise PerhopError(
                f"{what} need {name}, which this process has not",
                "run the command as root (sudo), or in a container that is given this capability",
            )


def check_tun() -> None:
    """Raises PerhopError where /dev/net/tun cannot be used."""
    if not TUN.exists():
        raise PerhopError(f"there is no {TUN}", "load the module tun (modprobe tun), or give the container this device")
    if not os.access(TUN, os.R_OK | os.W_OK):
        raise PerhopError(f"{TUN} may not be opened", "run the command as root, or give yourself access to the device")


def effective_capabilities() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0
