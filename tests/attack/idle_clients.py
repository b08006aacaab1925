# SPDX-License-Identifier: GPL-2.0-or-later
"""1,100 clients that connect to a daemon's control socket and say nothing: it sleeps, and answers the one that asks."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import time
from pathlib import Path

from bench import Bench, Outcome, wait_until
from perhop.errors import PerhopError

CLIENTS = 1100
USUAL_DESCRIPTORS = 1024
CONNECT_S = 10.0
WATCH_S = 5.0
MOST_SHARE = 0.02
ASKED = 10


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(bench: Bench, outcome: Outcome) -> None:
    _, most = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # What a service or a login usually gets, whatever this shell has.
    resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL_DESCRIPTORS, most))
    try:
        bench.up(hops=1)
        pid = bench.pid("node-0")
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
        with contextlib.ExitStack() as clients:
            connected = 0
            for _ in range(CLIENTS):
                client = clients.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                # A daemon that has enough clients turns them away; what may not be is that it does not even answer.
                client.settimeout(CONNECT_S)
                with contextlib.suppress(OSError):
                    client.connect(str(bench.folder / "node-0.sock"))
                    connected += 1
            # It takes clients in the order in which they come: an answer to one more is behind all of these.
            wait_until(lambda: bench.is_up(0), 5, "the daemon has seen all clients")
            before_s, begun_s = cpu_s(pid), time.monotonic()
            time.sleep(WATCH_S)
            share = (cpu_s(pid) - before_s) / (time.monotonic() - begun_s)
            answered = 0
            for _ in range(ASKED):
                with contextlib.suppress(PerhopError):
                    answered += bool(bench.daemon(0)["ok"])
        outcome.figures |= {"clients": connected, "cpu_share": round(share, 4), "answered": answered}
        outcome.check(connected == CLIENTS, f"only {connected} of {CLIENTS} clients could connect")
        outcome.check(share < MOST_SHARE, f"the daemon takes {share:.1%} of a core")
        outcome.check(answered == ASKED, f"{answered} of {ASKED} questions of a client are answered")
        outcome.check(bench.pid("node-0") == pid, "the daemon has ended and was started again")
        replies = bench.replies(0, bench.address(1))
        outcome.check(replies == 10, f"{replies} of 10 pings are answered afterwards")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
