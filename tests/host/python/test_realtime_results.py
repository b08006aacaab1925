# SPDX-License-Identifier: GPL-2.0-or-later
"""What nodes in real time have counted becomes result.json as the simulators write it."""

import csv

import pytest
from perhop.live.plan import make_plan
from perhop.realtime import flows

OPPOSITE = """\
name: opposite
topology: {kind: chain, hops: 1, spacing_m: 200}
flows:
  - {kind: tcp, src: first, dst: last}
  - {kind: tcp, src: last, dst: first}
duration_s: 4
warmup_s: 2
"""
PARTS_US = {f"{name}_us": 100_000 for name in flows.PARTS}


@pytest.fixture
def plan(tmp_path):
    file = tmp_path / "opposite.yaml"
    file.write_text(OPPOSITE)
    return make_plan(file)


def counted(plan, limit: dict[str, int]) -> flows.Counted:
    """Two nodes; the second flow's SYN was never answered, so it has no look at a round trip."""
    records = []
    for node, other in ((0, 1), (1, 0)):
        records.append(
            [
                {
                    "at_s": float(at_s),
                    "flows": {"0": {"received_bytes": at_s * 14600}}
                    if node
                    else {"0": {"looks": at_s * 10, "rtt_us": at_s * 10 * 20_000, "window_packets": at_s * 40}},
                    "node": {
                        "flows": [{"source_port": flows.FIRST_SOURCE_PORT, **limit}] if node == 0 else [],
                        "packets": {"queue_drops": 0, "bare_tcp_acks": 0, "tcp_acks_held": 0},
                        "neighbours": [
                            {
                                "mac": plan.nodes[other].mac,
                                "packets": 10 * at_s,
                                "service_us": 10_000 * at_s,
                                **dict.fromkeys(("rts_attempts", "data_attempts", "retries", "drops"), 0),
                                "parts_us": {name: value * at_s for name, value in PARTS_US.items()},
                            }
                        ],
                    },
                }
                for at_s in range(5)
            ]
        )
    return flows.Counted(records, [{}, {}])


def test_a_flow_without_a_look_at_its_round_trip_and_without_a_limit_has_none(plan, tmp_path):
    told = flows.result(plan, counted(plan, {}), False, "live")
    alive, dead = told["flows"]
    assert alive["rtt_ms"] == pytest.approx(20) and alive["cwl_packets"] is None
    assert (dead["goodput_bps"], dead["rtt_ms"], dead["cwl_packets"], dead["cwnd_packets"]) == (0, None, None, None)
    flows.write_intervals(tmp_path / "intervals.csv", plan, counted(plan, {}))
    rows = list(csv.DictReader((tmp_path / "intervals.csv").open()))
    assert {row["cwl_packets"] for row in rows} == {""}
    assert {row["rtt_ms"] for row in rows if row["flow"] == "1"} == {""}
    limited = flows.result(plan, counted(plan, {"cwl_packets": 3}), False, "live")
    assert [flow["cwl_packets"] for flow in limited["flows"]] == [3, None]


def test_a_link_of_data_and_tcp_acks_says_that_it_has_both(plan):
    told = flows.result(plan, counted(plan, {}), False, "live")
    assert [(hop["from"], hop["to"], hop["direction"]) for hop in told["hops"]] == [(0, 1, "both"), (1, 0, "both")]
