# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's interface is deleted under it, at an end and in the middle: traffic is back within 3 s."""

from __future__ import annotations

import subprocess
import time

from bench import Bench, NotSo, Outcome, wait_until
from perhop.live.plan import INTERFACE

MOST_S = 3.0
PATIENCE_S = 15.0


def run(bench: Bench, outcome: Outcome) -> None:
    bench.up(hops=2)
    there = bench.address(2)
    wait_until(lambda: bench.answers(0, there), 10, "the first ping is answered")
    for node, place in ((1, "router"), (0, "end")):
        deleted_s = time.monotonic()
        subprocess.run(["ip", "-n", bench.namespace(node), "link", "del", INTERFACE], check=True, capture_output=True)
        try:
            wait_until(
                lambda: bench.answers(0, there), PATIENCE_S, f"traffic after the interface of the {place} was deleted"
            )
        except NotSo as error:
            outcome.wrong.append(str(error))
            outcome.figures[f"{place} back_s"] = PATIENCE_S
            return
        back_s = time.monotonic() - deleted_s
        outcome.figures[f"{place} back_s"] = round(back_s, 2)
        outcome.check(back_s <= MOST_S, f"{place}: traffic is back after {back_s:.1f} s")
        ipv6 = bench.replies(0, bench.address(2, 6), 3)
        outcome.check(ipv6 == 3, f"{place}: {ipv6} of 3 IPv6 pings are answered afterwards")
