# SPDX-License-Identifier: GPL-2.0-or-later
"""A flow end of live runs holds its TCP to the rate that the node's daemon tells."""

import json
import socket
import struct
import time

import pytest
from perhop.agent import rates, traffic
from waiting import wait_until

STATE = {"ok": True, "reported": False, "rate_bps": 12_000, "path_bps": 0}


@pytest.fixture
def daemon(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "rates.sock"))
        listener.listen(1)
        listener.settimeout(10)
        yield listener


def held(sock: socket.socket) -> int:
    return struct.unpack("Q", sock.getsockopt(socket.SOL_SOCKET, rates.SO_MAX_PACING_RATE, 8))[0]


def test_a_tcp_sender_keeps_to_the_rate_that_is_told_once_the_path_has(daemon, tmp_path):
    with socket.socket() as sink:
        sink.bind(("127.0.0.1", 0))
        sink.listen(1)
        sender = traffic.TcpSender(
            {
                "source": "127.0.0.1",
                "source_port": 0,
                "destination": "127.0.0.1",
                "destination_port": sink.getsockname()[1],
                "start_ns": time.monotonic_ns(),
                "stop_ns": time.monotonic_ns() + 60 * traffic.SECOND_NS,
                "congestion_control": "reno",
                "mss_bytes": 1460,
                "follows_rate": True,
                "rates_socket": str(tmp_path / "rates.sock"),
            }
        )
        sender.start()
        try:
            told, _ = daemon.accept()
            with told:
                asked = json.loads(told.recv(4096))["follow"]
                assert asked["protocol"] == "tcp" and asked["destination_port"] == sink.getsockname()[1]
                told.send(json.dumps(STATE).encode())
                told.send(json.dumps({**STATE, "reported": True, "rate_bps": 400_000, "path_bps": 410_000}).encode())
                wait_until(lambda: sender.rate is not None, 10, "the sender to hear of its rate")
                payload_bytes = traffic.tcp_info.read(sender.socket)["snd_mss_bytes"]
                wait_until(
                    lambda: held(sender.socket) == int(50_000 * payload_bytes / (payload_bytes + 52)),
                    10,
                    "TCP to be held to it, not to what is said before the path has told",
                )
                assert sender.counters()["allowed_rate_bps"] == 400_000
        finally:
            sender.stop()
            sender.join(10)
    assert not sender.is_alive() and sender.problem == ""
