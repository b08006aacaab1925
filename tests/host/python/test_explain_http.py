# SPDX-License-Identifier: GPL-2.0-or-later
"""The example that explains each packet of an HTTP server: what does not add up is seen."""

import csv
import json
import sys

import pytest
from perhop import paths
from perhop.study.results import PARTS

EXAMPLE = paths.repository() / "sim/kernel/example"
sys.path.insert(0, str(EXAMPLE))
try:
    import explain_http
finally:
    sys.path.remove(str(EXAMPLE))

ENDS = {"source": "10.0.0.3", "destination": "10.0.0.1", "source_port": 80, "destination_port": 40000}


def row(node, here_us, done_us, **more):
    """A packet on a hop that took nothing but DATA and what follows it."""
    parts = {f"{part}_us": 0 for part in PARTS} | {"data_us": done_us - here_us - 300, "response_us": 300}
    about = {"ip_id": 7, "sequence": 1001, "tcp_ack": 0, "flags": 16, "ip_bytes": 140, "payload_bytes": 100}
    times = {"here_us": here_us, "enqueue_us": here_us, "head_us": here_us, "done_us": done_us}
    last = {"node": node, "next": node - 1, "result": "delivered", "rts_attempts": 0, "data_attempts": 1}
    return {**ENDS, **about, **times, **last, **parts, **more}


def run(folder, rows):
    """Two hops, the server at node 2: it writes 100 bytes at 5 ms of the run, TCP sends them at 6 ms."""
    syn = row(2, 1000, 2000, ip_id=1, sequence=1000, flags=18, payload_bytes=0)
    with (folder / "journeys.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, syn.keys())
        writer.writeheader()
        writer.writerows([syn, *rows])
    call = {
        "program": 0,
        "call": "write",
        "process": 3,
        "at_ns": 1_005_000_000,
        "until_ns": 1_005_000_256,
        "bytes": 100,
    }
    call |= {"here": "10.0.0.3:80", "there": "10.0.0.1:40000"}
    (folder / "kernel-2.log").write_text("Linux says this\n" + json.dumps(call) + "\n")
    found = explain_http.packets(folder, 2, 80)
    return found, explain_http.wrong(found, 2)


# The next node has the packet 300 us before the one before is done with it.
HOPS = [row(2, 6000, 8000), row(1, 7700, 10_000)]


def test_a_packets_time_is_made_up_of_its_parts(tmp_path):
    (packet,), wrong = run(tmp_path, HOPS)
    assert wrong == []
    assert packet.offset == 0 and packet.written_us == 5000 and packet.in_tcp_us == 1000
    assert packet.total_us == 5000 and packet.overlap_us == 300
    assert packet.explained_us == 1000 + 2000 + 2300 - 300


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(2, 6000, 8000, backoff_us=1), HOPS[1]], "the ten parts of a hop do not sum"),
        (HOPS[1:], "crossed 1 of 2 hops"),
        ([row(2, 4000, 8000), HOPS[1]], "left before it was written"),
        ([HOPS[0], row(1, 7700, 10_000, data_us=1)], "us are explained of"),
    ],
)
def test_what_does_not_add_up_is_said(tmp_path, rows, said):
    _, wrong = run(tmp_path, rows)
    assert any(said in line for line in wrong), wrong
