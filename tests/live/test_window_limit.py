# SPDX-License-Identifier: GPL-2.0-or-later
"""The congestion window limit on the kernel's TCP, seen in a capture of the sender's interface."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from perhop.errors import PerhopError
from perhop.live import network
from perhop.live.plan import one_policy
from perhop.node import ebpf
from waiting import wait_until

from .conftest import namespaces_of

# Linux puts timestamps into every segment.
SEGMENT_BYTES = 1448
LIMITS = (8, 2, 1, 4)
# An ACK that was delivered before the limit moved may still lead to packets.
MARGIN_S = 0.1
# Sent under each limit; so many are looked at, or it says little.
SEGMENTS, LEAST_SEGMENTS = 100, 60
UNLIMITED = 0
BURST_SENDER = Path(__file__).parent / "burst_sender.py"
BURST_RECEIVER = Path(__file__).parent / "burst_receiver.py"
BURST_PORT = 5202
BURST_BYTES = 20 * SEGMENT_BYTES


def packets_of(capture):
    """Rows of (time, from the sender, raw sequence number, raw TCP ACK, payload bytes, ports, bytes in SACK blocks)."""
    fields = ["frame.time_epoch", "ip.src", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.dstport", "tcp.srcport"]
    fields += ["tcp.options.sack_le", "tcp.options.sack_re"]
    command = ["tshark", "-r", capture, "-Y", "tcp", "-T", "fields"]
    command += [word for field in fields for word in ("-e", field)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        at, source, sequence, tcp_ack, payload, to, by, left, right = line.split("\t")
        blocks = [
            (int(end) - int(begin)) % 2**32
            for begin, end in zip(left.split(","), right.split(","), strict=True)
            if begin
        ]
        ports = tuple(sorted((to, by)))
        yield float(at), source == "10.0.0.1", int(sequence), int(tcp_ack or 0), int(payload), ports, sum(blocks)


def in_flight(capture, without_sacked=False):
    """(time, packets in flight with it, time of the last progress) of each new packet of the longest connection."""
    flows = {}
    for at, sent, sequence, tcp_ack, payload, ports, sacked in packets_of(capture):
        flow = flows.setdefault(ports, {"first": None, "next": 0, "confirmed": 0, "at": 0.0, "sacked": 0, "rows": []})
        if sent and payload:
            flow["first"] = sequence if flow["first"] is None else flow["first"]
            end = (sequence - flow["first"] + payload) % 2**32
            if end > flow["next"]:
                flow["next"] = end
                held = flow["confirmed"] + (flow["sacked"] if without_sacked else 0)
                flow["rows"].append((at, (end - held + SEGMENT_BYTES - 1) // SEGMENT_BYTES, flow["at"]))
        elif not sent and flow["first"] is not None:
            if (tcp_ack - flow["first"]) % 2**32 > flow["confirmed"]:
                flow["confirmed"], flow["at"] = (tcp_ack - flow["first"]) % 2**32, at
            flow["sacked"] = sacked
    return max((flow["rows"] for flow in flows.values()), key=len)


def set_limit(live, limit):
    network.set_policy(live.name, f"fixed {limit}")


def flow_under(live, tmp_path, limits, change=set_limit, without_sacked=False):
    """A greedy flow whose limit moves; the first one is there already. Gives (limit, packets in flight with each new
    packet) for each, from a margin after it was set and a TCP ACK behind that which confirms more: Linux takes no
    smaller window from one that does not (tcp_may_update_window), such as those while a lost packet is mended."""
    capture = tmp_path / "sender.pcapng"
    with live.captured("tcp port 5201", capture, namespaces_of(live.name, 0), "radio0", "10.0.0.2"):
        listening = live.start(3, "iperf3", "-s", "-1")
        wait_until(lambda: "5201" in live.run(3, "ss", "-Hltn").stdout, 5)
        sending = live.start(0, "iperf3", "-c", "10.0.0.4", "-C", "reno", "-t", "600")

        def use_limit():
            def segments():
                return live.daemon(0)["packets"]["data_segments"]

            before = segments()
            wait_until(lambda: segments() - before >= SEGMENTS, 60)

        held = [(time.time(), limits[0])]
        ends = []
        use_limit()
        for limit in limits[1:]:
            ends.append(time.time())
            change(live, limit)
            held.append((time.time(), limit))
            use_limit()
        sending.send_signal(signal.SIGINT)
        sending.wait(20)
        listening.wait(20)

    rows = in_flight(capture, without_sacked)
    assert len(rows) > 100
    for (start, limit), end in zip(held, [*ends, float("inf")], strict=True):
        counts = [packets for at, packets, told_at in rows if start + MARGIN_S < at < end and told_at > start]
        assert len(counts) >= LEAST_SEGMENTS, f"{len(counts)} segments at limit {limit} say little"
        yield limit, counts


@pytest.mark.parametrize("loss", ["without loss", "with 3 % of the packets lost"])
def test_packets_in_flight_never_exceed_a_limit_that_moves(start_network, tmp_path, loss):
    words = ["--policy", f"fixed {LIMITS[0]}"]
    if loss != "without loss":
        # One attempt a hop, three hops.
        words += ["--set", "medium.frame_error_rate=0.01", "--set", "mac.long_retry_limit=1"]
    live = start_network(*words)
    for limit, counts in flow_under(live, tmp_path, LIMITS):
        assert max(counts) <= limit, f"limit {limit}: {max(counts)} packets in flight"
        if loss == "without loss":
            assert max(counts) == limit, f"limit {limit} was never used"
    if loss != "without loss":
        assert live.daemon(0)["packets"]["mac_drops"] + live.daemon(1)["packets"]["mac_drops"] > 0


@pytest.fixture
def cgroup():
    """Skips, loudly, where no BPF program can clamp a socket."""
    try:
        folder = ebpf.cgroup()
        ebpf.check(folder)
    except PerhopError as error:
        pytest.skip(f"no window limit by eBPF here: {error.problem}")
    return folder


def test_a_congestion_window_clamped_by_ebpf_never_exceeds_a_limit_that_moves(start_network, tmp_path, cgroup):
    live = start_network("--policy", f"fixed {LIMITS[0]}", "--enforce", "ebpf")
    for limit, counts in flow_under(live, tmp_path, LIMITS):
        assert max(counts) == limit, f"limit {limit}: {max(counts)} packets in flight"
    sender = live.daemon(0)
    assert sender["shim"]["windows_rewritten"] == 0
    assert sender["cwl"] == {"enforce": "ebpf", "failed": 0, "changes": 2 * len(LIMITS), "scans": len(LIMITS) - 1}


def test_a_congestion_window_that_is_not_used_up_is_clamped_by_ebpf_too(start_network, tmp_path, cgroup):
    """TCP leaves the window as it is while the application has nothing to send; the next burst would take all of it."""
    limit = 2
    live = start_network("--policy", "none", "--enforce", "ebpf")
    capture = tmp_path / "sender.pcapng"
    with live.captured(f"tcp port {BURST_PORT}", capture, namespaces_of(live.name, 0), "radio0", "10.0.0.2"):
        receiver = live.start_python(3, BURST_RECEIVER, str(BURST_PORT), str(BURST_BYTES))
        assert receiver.stdout.readline() == "listening\n"
        words = ("10.0.0.4", str(BURST_PORT), str(BURST_BYTES))
        sender = live.start_python(0, BURST_SENDER, *words, stdin=subprocess.PIPE)

        def burst():
            sender.stdin.write("\n")
            sender.stdin.flush()
            assert sender.stdout.readline() == "sent\n"

        burst()
        burst()
        limited_s = time.time()
        set_limit(live, limit)
        burst()
        sender.stdin.close()
        sender.wait(20)
        receiver.wait(20)
    rows = in_flight(capture)
    assert max(packets for at, packets, _ in rows if at < limited_s) > 3 * limit
    counts = [packets for at, packets, _ in rows if at > limited_s]
    assert len(counts) >= BURST_BYTES // SEGMENT_BYTES and max(counts) == limit


def test_a_connection_older_than_the_daemon_is_clamped_too(start_network, tmp_path, cgroup):
    """Its socket tells nobody that it opened: the iterator finds it."""
    # A queue that drops: the congestion window, not the receiver's, is what holds the sender back (host/bpf/README.md).
    live = start_network("--policy", "none", "--set", "mac.queue_packets=15")

    def clamp_from_now_on(live, limit):
        def clamp(config):
            del config["policy_file"]
            config.update(cwl={"enforce": "ebpf", "cgroup": cgroup}, policy=one_policy(f"fixed {limit}").run_json())

        live.reconfigure(0, clamp)
        # What the old daemon had queued is lost: TCP finds out after a second, and then mends it.
        sent_bytes = live.acknowledged_bytes() + 2 * 15 * SEGMENT_BYTES
        wait_until(lambda: live.acknowledged_bytes() > sent_bytes, 30, "the connection has mended what was lost")

    limits = flow_under(live, tmp_path, (UNLIMITED, 5), change=clamp_from_now_on, without_sacked=True)
    (_, before), (_, after) = limits
    assert max(before) > 8 and max(after) == 5
    assert live.daemon(0)["cwl"]["scans"] >= 1
