# SPDX-License-Identifier: GPL-2.0-or-later
"""The congestion window limit on the kernel's TCP, seen in a capture of the sender's interface."""

import subprocess
import time

import pytest
from perhop.live import network

from .conftest import wait_until

# Linux puts timestamps into every segment.
SEGMENT_BYTES = 1448
LIMITS = (8, 2, 1, 4)
LIMIT_S = 4.0
# An ACK that was delivered before the limit moved may still lead to packets.
MARGIN_S = 0.1


def seconds_and_sequence(capture):
    """Rows of (time, from the sender, raw sequence number, raw TCP ACK, payload bytes)."""
    fields = ["frame.time_epoch", "ip.src", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.dstport", "tcp.srcport"]
    command = ["tshark", "-r", capture, "-T", "fields", *(word for field in fields for word in ("-e", field))]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        at, source, sequence, tcp_ack, payload, *ports = line.split("\t")
        yield float(at), source == "10.0.0.1", int(sequence), int(tcp_ack or 0), int(payload), tuple(sorted(ports))


def in_flight(capture):
    """(time, packets in flight with it) of each new data packet of the longest connection."""
    flows = {}
    for at, sent, sequence, tcp_ack, payload, ports in seconds_and_sequence(capture):
        flow = flows.setdefault(ports, {"first": None, "next": 0, "confirmed": 0, "rows": []})
        if sent and payload:
            flow["first"] = sequence if flow["first"] is None else flow["first"]
            end = (sequence - flow["first"] + payload) % 2**32
            if end > flow["next"]:
                flow["next"] = end
                flow["rows"].append((at, (end - flow["confirmed"] + SEGMENT_BYTES - 1) // SEGMENT_BYTES))
        elif not sent and flow["first"] is not None:
            flow["confirmed"] = max(flow["confirmed"], (tcp_ack - flow["first"]) % 2**32)
    return max((flow["rows"] for flow in flows.values()), key=len)


@pytest.mark.parametrize("loss", ["without loss", "with 3 % of the packets lost"])
def test_packets_in_flight_never_exceed_a_limit_that_moves(start_network, tmp_path, loss):
    words = ["--policy", f"fixed {LIMITS[0]}"]
    if loss != "without loss":
        # One attempt a hop, three hops.
        words += ["--set", "medium.frame_error_rate=0.01", "--set", "mac.long_retry_limit=1"]
    live = start_network(*words)
    capture = tmp_path / "sender.pcapng"
    tshark = live.start(0, "tshark", "-q", "-i", "radio0", "-f", "tcp port 5201", "-w", str(capture))
    wait_until(capture.exists, 20)
    listening = live.start(3, "iperf3", "-s", "-1")
    wait_until(lambda: "5201" in live.run(3, "ss", "-Hltn").stdout, 5)
    seconds = len(LIMITS) * LIMIT_S
    sending = live.start(0, "iperf3", "-c", "10.0.0.4", "-C", "reno", "-t", str(int(seconds) + 1))
    changes = [(time.time(), LIMITS[0])]
    for limit in LIMITS[1:]:
        time.sleep(LIMIT_S)
        network.set_policy(live.name, f"fixed {limit}")
        changes.append((time.time(), limit))
    sending.wait(60)
    listening.wait(20)
    time.sleep(0.5)
    tshark.terminate()
    tshark.wait(20)

    rows = in_flight(capture)
    assert len(rows) > 100
    for (start, limit), (end, _) in zip(changes, [*changes[1:], (float("inf"), 0)], strict=True):
        counts = [packets for at, packets in rows if start + MARGIN_S < at < end]
        assert counts, f"nothing was sent at limit {limit}"
        assert max(counts) <= limit, f"limit {limit}: {max(counts)} packets in flight"
        if loss == "without loss":
            assert max(counts) == limit, f"limit {limit} was never used"
    if loss != "without loss":
        assert live.daemon(0)["packets"]["mac_drops"] + live.daemon(1)["packets"]["mac_drops"] > 0
