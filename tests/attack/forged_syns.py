# SPDX-License-Identifier: GPL-2.0-or-later
"""100 forged SYNs at a running connection under the policy `delay`: it keeps 97 % of its goodput, and its limit.

The forger is beside the path: it knows addresses and ports and sees no sequence number. It forges for both ends, of the
family of the connection, with every MSS that a SYN can say, and windows and flags besides.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import time
from pathlib import Path

from bench import Bench, NotSo, Outcome, ip_packet, with_tcp_checksum
from perhop.errors import PerhopError

SYNS = 100
WARM_UP_S, PERIOD_S = 6.0, 20.0
LEAST_SHARE = 0.97
PORT = 5300
FLOW = Path(__file__).with_name("tcp_flow.py")


def run(bench: Bench, outcome: Outcome) -> None:
    for family in (4, 6):
        with Bench() as one:
            _attack(one, family, outcome)


def _attack(bench: Bench, family: int, outcome: Outcome) -> None:
    bench.up(hops=2, policy="delay")
    source, sink = bench.address(0, family), bench.address(2, family)
    sinking = bench.start(bench.inside(2, sys.executable, str(FLOW), "sink", sink, str(PORT)), stdout=subprocess.PIPE)
    assert sinking.stdout is not None
    if "listening" not in sinking.stdout.readline():
        raise NotSo("the sink does not listen")
    seconds = WARM_UP_S + 2 * PERIOD_S
    sending = bench.start(
        bench.inside(0, sys.executable, str(FLOW), "send", sink, str(PORT), str(seconds)), stdout=subprocess.PIPE
    )
    assert sending.stdout is not None
    local_port = json.loads(sending.stdout.readline())["port"]
    forged = _forgeries(source, sink, local_port, random.Random(family))
    raw = bench.raw_socket(1, family)
    begun_s = time.monotonic()
    limits: list[tuple[float, int]] = []
    sent = 0
    while (passed_s := time.monotonic() - begun_s) < seconds:
        due = min(SYNS, SYNS * (passed_s - WARM_UP_S - PERIOD_S) / (PERIOD_S - 1))
        while sent < due:
            packet, destination = forged[sent]
            raw.sendto(packet, (destination, 0))
            sent += 1
        # As the sender's daemon or its receiver's tells it.
        limit = _of_flow(bench, local_port, "cwl_packets", nodes=[0, 2])
        if limit is not None:
            limits.append((passed_s, limit))
        time.sleep(0.05)
    most_in_flight = _of_flow(bench, local_port, "most_in_flight", nodes=[0])
    told = [json.loads(line) for line in sending.communicate(timeout=60)[0].splitlines()]
    clean = _goodput_bps(told, WARM_UP_S, WARM_UP_S + PERIOD_S)
    under = _goodput_bps(told, WARM_UP_S + PERIOD_S, seconds)
    over = max(
        (each["unacked"] - _limit_at(limits, each["at_s"]) for each in told if each["at_s"] > WARM_UP_S), default=0
    )
    share = under / clean if clean else 0.0
    outcome.figures |= {
        f"ipv{family} syns": sent,
        f"ipv{family} clean_bps": round(clean),
        f"ipv{family} share": round(share, 4),
        f"ipv{family} packets above the limit": over,
    }
    outcome.check(sent == SYNS, f"IPv{family}: {sent} of {SYNS} SYNs could be sent in time")
    outcome.check(share >= LEAST_SHARE, f"IPv{family}: {share:.1%} of the goodput is left")
    outcome.check(over <= 0, f"IPv{family}: {over} packets more in flight than the limit")
    # Between two looks, too: the daemon counts at every segment.
    most_limit = max((limit for _, limit in limits), default=0)
    outcome.check(
        most_in_flight is not None and most_in_flight <= most_limit,
        f"IPv{family}: the daemon saw {most_in_flight} packets in flight, its limit was at most {most_limit}",
    )


def _forgeries(source: str, sink: str, port: int, chance: random.Random) -> list[tuple[bytes, str]]:
    """SYNs and their answers, to either end in the other one's name."""
    extremes = [0, 1, 47, 48, 88, 536, 1220, 1448, 1460, 8960, 32768, 65535]
    found = []
    for number in range(SYNS):
        mss = extremes[number // 4] if number // 4 < len(extremes) else chance.randrange(65536)
        to_sink = number % 2 == 0
        flags = 0x02 if number // 2 % 2 == 0 else 0x12  # SYN, and SYN with ACK
        options = struct.pack("!BBH", 2, 4, mss) + struct.pack("!BBBB", 1, 3, 3, chance.randrange(15))
        ports = (port, PORT) if to_sink else (PORT, port)
        head = struct.pack(
            "!HHIIBBHHH",
            *ports,
            chance.randrange(2**32),
            chance.randrange(2**32),
            7 << 4,
            flags,
            chance.randrange(65536),
            0,
            0,
        )
        names = (source, sink) if to_sink else (sink, source)
        segment = with_tcp_checksum(*names, head + options)
        found.append((ip_packet(*names, 6, segment), names[1]))
    return found


def _of_flow(bench: Bench, port: int, field: str, nodes: list[int]) -> int | None:
    """The largest value of a field that the daemons of these nodes tell of the connection."""
    told = []
    for node in nodes:
        try:
            flows = bench.daemon(node)["flows"]
        except PerhopError:
            continue
        told += [
            flow[field]
            for flow in flows
            if field in flow and {flow["source_port"], flow["destination_port"]} == {port, PORT}
        ]
    return max(told, default=None)


def _limit_at(limits: list[tuple[float, int]], at_s: float) -> int:
    """The largest that held around that time: what was allowed a moment ago may still be on its way."""
    return max((limit for when_s, limit in limits if at_s - 2 <= when_s <= at_s + 0.5), default=0)


def _goodput_bps(told: list[dict[str, float]], since_s: float, until_s: float) -> float:
    within = [each for each in told if since_s <= each["at_s"] <= until_s]
    if len(within) < 2:
        return 0.0
    first, last = within[0], within[-1]
    return 8 * (last["acknowledged_bytes"] - first["acknowledged_bytes"]) / (last["at_s"] - first["at_s"])
