# SPDX-License-Identifier: GPL-2.0-or-later
"""16 hostile DLEP sessions and 700 connections a second: an allowed router has its session within 1 s, 10 of 10."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench import NAME, PROGRAM, Bench, NotSo, Outcome, wait_until

SESSIONS = 10
MOST_S = 1.0
MODEM, ROUTER = "192.0.2.1", "192.0.2.2"
NAMESPACE = "perhop-attack-router"
FLOOD_PER_S = 700
# A flood that is much thinner than it should be proves nothing.
LEAST_FLOOD_PER_S = 690
PEER = Path(__file__).with_name("dlep_peer.py")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def run(bench: Bench, outcome: Outcome) -> None:
    bench.up(hops=1)
    subprocess.run(["ip", "netns", "del", NAMESPACE], capture_output=True, check=False)
    ip("netns", "add", NAMESPACE)
    bench.at_end(subprocess.run, ["ip", "netns", "del", NAMESPACE])
    ip("link", "add", "pa0", "netns", bench.namespace(0), "type", "veth", "peer", "name", "pa1", "netns", NAMESPACE)
    ip("-n", bench.namespace(0), "addr", "add", f"{MODEM}/24", "dev", "pa0")
    ip("-n", bench.namespace(0), "link", "set", "pa0", "up")
    for last in (2, *range(101, 121)):
        ip("-n", NAMESPACE, "addr", "add", f"192.0.2.{last}/24", "dev", "pa1")
    ip("-n", NAMESPACE, "link", "set", "pa1", "up")

    command = [sys.executable, "-c", PROGRAM, "dlep", "0", "--name", NAME, "--listen", MODEM, "--router", ROUTER]
    modem = bench.start(command, stderr=subprocess.PIPE)
    assert modem.stderr is not None
    greeting = modem.stderr.readline()
    if "DLEP modem" not in greeting:
        raise NotSo(f"the modem does not start: {greeting.strip()}")
    log = bench.start(["cat"], stdin=modem.stderr, stdout=subprocess.DEVNULL)

    peer = ["ip", "netns", "exec", NAMESPACE, sys.executable, str(PEER)]
    hostile = bench.start([*peer, "hold", MODEM, "101", "116"], stdout=subprocess.PIPE)
    flood = bench.start([*peer, "flood", MODEM, "117", "120", str(FLOOD_PER_S)], stdout=subprocess.PIPE)
    for process in (hostile, flood):
        assert process.stdout is not None
        if not process.stdout.readline():
            raise NotSo("the attack does not start")
    begun_s = time.monotonic()
    times_s = []
    for _ in range(SESSIONS):
        done = subprocess.run([*peer, "session", MODEM, ROUTER], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            times_s.append(float(done.stdout))
        time.sleep(0.3)
    passed_s = time.monotonic() - begun_s
    flood.terminate()
    assert flood.stdout is not None
    made = int(flood.stdout.read().split()[-1])
    in_time = sum(took_s <= MOST_S for took_s in times_s)
    outcome.figures |= {
        "sessions in time": in_time,
        "slowest_s": round(max(times_s, default=99.0), 3),
        "connections_per_s": round(made / passed_s),
    }
    outcome.check(in_time == SESSIONS, f"{in_time} of {SESSIONS} sessions stand within {MOST_S:g} s")
    outcome.check(
        made / passed_s >= LEAST_FLOOD_PER_S, f"the flood was only {made / passed_s:.0f} connections a second"
    )
    modem.terminate()
    wait_until(lambda: modem.poll() is not None, 5, "the modem ends")
    outcome.check(modem.returncode == 0, f"the modem ended with {modem.returncode}")
    log.wait(5)
