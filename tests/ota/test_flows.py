# SPDX-License-Identifier: GPL-2.0-or-later
"""UDP at a constant rate and at EXACT's rate between hosts whose clocks are up to half an hour apart."""

from typing import Any

import pyarrow.parquet as pq
import pytest

FLOWS = [
    "{kind: exact, src: first, dst: last, payload_bytes: 1472}",
    "{kind: cbr, src: last, dst: first, rate_bps: 20e3, payload_bytes: 250}",
]

MEASURED_S = 5
# mac.queue_packets, where the experiment does not say; and what EXACT's window lets go without a report.
QUEUE_PACKETS, MOST_UNDER_WAY = 50, 10
# Over each hop RTS, CTS, MPDU (314 bytes, 2 Mb/s) and two SIFS at least.
LEAST_DELAY_MS = 3 * (352 + 10 + 304 + 10 + 192 + 8 * 314 / 2) / 1e3


@pytest.fixture(scope="module")
def flows(hosts, tmp_path_factory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("flows") / "out"
    settings = [f"flows=[{', '.join(FLOWS)}]", "exact.mode=m2", "policies=[none]", "seeds=[1]"]
    more = [word for setting in settings for word in ("--set", setting)]
    done = hosts.perhop(*hosts.run_words(out, hosts.inventory()), *more)
    assert done.returncode == 0, done.stderr
    return pq.read_table(out / "flows.parquet").to_pylist()


def test_delays_are_those_of_the_radio_not_of_the_clocks(flows):
    """From node 3, whose clock is half an hour ahead, to node 0."""
    cbr = flows[1]
    assert cbr["kind"] == "cbr" and cbr["backend"] == "radio"
    # As the measuring begins and ends one may be on its way, and one just sent.
    assert abs(cbr["sent_packets"] - MEASURED_S * 10) <= 1
    # Its MAC meets those of the other flow, which it does not hear, and gives up after seven RTS: one or two of fifty.
    assert 0.9 * cbr["sent_packets"] <= cbr["delivered_packets"] <= cbr["sent_packets"] + 2
    assert LEAST_DELAY_MS < cbr["delay_ms"] < cbr["delay_p95_ms"] < 500


def test_exact_has_the_rate_that_its_routers_allow(flows):
    exact = flows[0]
    assert exact["kind"] == "exact" and exact["backend"] == "radio"
    # Three hops that are all in one another's way: 7.4 ms a packet and hop, and room for others.
    assert 0.3e6 < exact["rate_signal_bps"] < 0.5e6
    assert 0.8 < exact["goodput_bps"] / exact["rate_signal_bps"] < 1.05
    # Nothing is lost, nor refused by a full queue: that at its node is between half full and full.
    assert abs(exact["sent_packets"] - exact["delivered_packets"]) <= QUEUE_PACKETS / 2 + MOST_UNDER_WAY
