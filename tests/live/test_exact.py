# SPDX-License-Identifier: GPL-2.0-or-later
"""EXACT in the daemons: UDP flows go at the rate that the routers of their path allow."""

import json
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from perhop import rates, wireshark
from perhop.errors import PerhopError
from waiting import wait_until

from .conftest import kill_hard

HERE = Path(__file__).parent
LAST = "10.0.0.4"
PAYLOAD_BYTES = 1400
IP_BYTES = PAYLOAD_BYTES + 28


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--exact", "m2")


def transfer(live, seconds=5.0, address=LAST, port=5004, before_end=None):
    """One greedy flow from the first to the last node: what the sender was told, and what arrived."""
    sink = live.start_python(len(live.status()["nodes"]) - 1, HERE / "udp_sink.py", address, str(port))
    assert sink.stdout.readline() == "listening\n"
    sender = live.start_python(0, HERE / "greedy_sender.py", address, str(port), str(seconds), str(PAYLOAD_BYTES))
    if before_end:
        before_end()
    told, _ = sender.communicate(timeout=seconds + 30)
    arrived, _ = sink.communicate(timeout=60)
    assert sender.returncode == 0, told
    return [json.loads(line) for line in told.splitlines()], json.loads(arrived)


def test_a_flow_over_three_hops_gets_what_m2_allots_and_the_queues_stay_empty(live):
    told, arrived = transfer(live)
    last = told[-1]
    assert last["hops"] == 3 and last["reported"]
    # perhop run of the same chain: 427 kb/s of payload in packets of 1500 bytes.
    assert 400_000 < last["rate_bps"] < 460_000
    assert arrived["payload_bps"] == pytest.approx(last["rate_bps"] * PAYLOAD_BYTES / IP_BYTES, rel=0.05)
    # Full queues are 0.9 s long (test_three_hops); one packet crosses three hops in 27 ms.
    assert last["round_trip_us"] < 60_000
    assert last["refused_packets"] == 0, "back-pressure"
    for node in live.status()["nodes"]:
        assert node["daemon"]["packets"]["queue_drops"] == 0


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_path_headers_riders_and_hellos_of_a_live_router(live, tmp_path):
    """What node 1 sends and receives, as its driver saw it, through the dissector that perhop ships."""
    capture = tmp_path / "driver.pcapng"
    live.reconfigure(
        1, lambda config: config["driver"].update(capture={"file": str(capture), "most_bytes": 50_000_000})
    )
    try:
        told, _ = transfer(live, port=5011)
    finally:
        live.reconfigure(1, lambda config: config["driver"].pop("capture"))
    fields = [
        *("perhop.hops", "perhop.total_delay_us", "perhop.explicit_rate_bps", "perhop_exact.kind"),
        *("perhop_exact.sequence", "perhop_exact.hops", "perhop_hello.node_count", "ip.dst", "udp.dstport"),
        *("_ws.malformed", "perhop.unknown", "perhop.too_short", "perhop_hello.too_short", "_ws.lua.error"),
    ]
    script = f"lua_script:{wireshark.dissector()}"
    command = ["tshark", "-n", "-X", script, "-r", str(capture), "-T", "fields"]
    read = subprocess.run(
        [*command, *(word for field in fields for word in ("-e", field))], capture_output=True, text=True, check=True
    )
    rows = [dict(zip(fields, line.split("\t"), strict=True)) for line in read.stdout.splitlines()]
    assert len(rows) > 200
    for row in rows:
        assert not any(row[name] for name in fields[-5:]), row
    data = [row for row in rows if row["udp.dstport"] == "5011" and row["perhop_exact.kind"] == "1"]
    # Once from node 0, and once on to node 2: one hop more, a longer way behind it, no higher rate.
    assert {row["perhop.hops"] for row in data} == {"1", "2"}
    arrived, sent = (
        {int(row["perhop_exact.sequence"]): row for row in data if row["perhop.hops"] == hops} for hops in "12"
    )
    both = arrived.keys() & sent.keys()
    assert len(both) > 50
    for sequence in both:
        assert int(sent[sequence]["perhop.total_delay_us"]) > int(arrived[sequence]["perhop.total_delay_us"])
        assert float(sent[sequence]["perhop.explicit_rate_bps"]) <= float(arrived[sequence]["perhop.explicit_rate_bps"])
    assert told[-1]["rate_bps"] == pytest.approx(
        max(float(row["perhop.explicit_rate_bps"]) for row in list(sent.values())[-20:]), rel=0.25
    )
    feedback = [row for row in rows if row["perhop_exact.kind"] == "2"]
    assert feedback and {row["perhop_exact.hops"] for row in feedback} == {"3"}
    assert any(row["perhop_hello.node_count"] for row in rows), "hellos of M2 routers"


def test_top_shows_the_rate_that_a_flow_may_have(live):
    flow = {}

    def is_shown():
        flow.clear()
        done = live.perhop("top", "--name", live.name, "--once", "--json")
        flow.update(*(flow for flow in json.loads(done.stdout)["flows"] if flow["destination_port"] == 5010))
        # It counts what was sent since it began to look, which may be before the flow has its rate.
        return flow.get("sent_bps", 0) == pytest.approx(flow.get("exact_bps"), rel=0.15)

    told, _ = transfer(live, 10, port=5010, before_end=lambda: wait_until(is_shown, 8))
    assert flow["protocol"] == "UDP" and (flow["from_node"], flow["to_node"]) == ("0", "3")
    assert flow["exact_bps"] == pytest.approx(told[-1]["rate_bps"], rel=0.1)


def test_ipv6_flows_have_rates_too(live):
    told, arrived = transfer(live, 3, live.status()["nodes"][3]["ipv6"])
    assert told[-1]["hops"] == 3
    assert arrived["payload_bps"] == pytest.approx(told[-1]["rate_bps"] * 1400 / 1448, rel=0.1)


def test_two_flows_share_alike_and_the_one_left_gets_all(live):
    sinks = [live.start_python(3, HERE / "udp_sink.py", LAST, str(port)) for port in (6001, 6002)]
    for sink in sinks:
        assert sink.stdout.readline() == "listening\n"
    long = live.start_python(0, HERE / "greedy_sender.py", LAST, "6001", "10")
    short = live.start_python(0, HERE / "greedy_sender.py", LAST, "6002", "4")
    told = {}
    for name, sender in (("short", short), ("long", long)):
        text, _ = sender.communicate(timeout=60)
        told[name] = [json.loads(line) for line in text.splitlines()]
    shared = [line["rate_bps"] for line in told["long"] if line["at_s"] < told["short"][-1]["at_s"]][-1]
    assert shared == pytest.approx(told["short"][-1]["rate_bps"], rel=0.05)
    alone = told["long"][-1]["rate_bps"]
    assert alone == pytest.approx(2 * shared, rel=0.1)
    for sink in sinks:
        assert json.loads(sink.communicate(timeout=60)[0])["packets"] > 20


def test_a_flow_goes_on_after_its_senders_daemon_was_killed(live):
    """The new daemon's flow counts from zero; the application connects again."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    path = live.state / live.name / "rates-0.sock"
    kill_hard(live.pid("node-0"))
    wait_until(lambda: (live.daemon(0) or {}).get("mac_up"), 10)
    told, _ = transfer(live, 3, port=6003)
    assert told[-1]["reported"]
    sock.close()
    assert path.exists()


def test_an_application_that_goes_leaves_an_ordinary_flow(live):
    def flows_sent():
        return live.daemon(0)["exact"]["sent"]

    def taken():
        return live.daemon(0)["packets"]["from_ip"]

    def followers():
        """Connections that the daemon has not closed."""
        return live.run(0, "ss", "-Hxp", "state", "connected", "src", f"{live.state}/{live.name}/rates-0.sock").stdout

    sink = live.start_python(3, HERE / "udp_sink.py", LAST, "6004", "5")
    assert sink.stdout.readline() == "listening\n"
    sent_before, taken_before = flows_sent(), taken()
    leaver = live.start_python(0, HERE / "leaving_sender.py", LAST, "6004", stdin=subprocess.PIPE)
    assert leaver.stdout.readline() == "following\n"
    wait_until(lambda: flows_sent() == sent_before + 1, 10)
    assert followers()
    leaver.stdin.write("leave\n")
    leaver.stdin.flush()
    wait_until(lambda: not followers(), 10, "the daemon knows that the application has left")
    assert leaver.communicate("send\n", timeout=10)[0] == "" and leaver.returncode == 0
    wait_until(lambda: taken() >= taken_before + 6, 10)
    assert json.loads(sink.communicate(timeout=60)[0])["packets"] == 6
    assert flows_sent() == sent_before + 1


def test_the_socket_says_what_is_wrong(live):
    path = live.state / live.name / "rates-0.sock"
    for message, problem in (
        (b"nonsense", "no JSON object"),
        (b"[]", "no JSON object"),
        (b"{}", "follow"),
        (b'{"follow": {"source": "10.0.0.1"}}', "destination"),
        (b'{"follow": 3}', "follow"),
        (
            b'{"follow": {"source": "here", "source_port": 1, "destination": "10.0.0.4", "destination_port": 1}}',
            "address",
        ),
        (
            b'{"follow": {"source": "10.0.0.1", "source_port": 0, "destination": "10.0.0.4", "destination_port": 1}}',
            "port",
        ),
        (b'{"wanted_bps": -1}', "wanted_bps"),
        (b"\xff\xfe{", "no JSON object"),
    ):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(str(path))
            connection.settimeout(5)
            connection.send(message)
            said = json.loads(connection.recv(4096))
        assert not said["ok"] and problem in said["error"], (message, said)
    assert live.daemon(0)["mac_up"]


def test_without_a_daemon_the_client_says_so(tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        with pytest.raises(PerhopError, match="not connected"):
            rates.follow(sock, path=tmp_path / "none.sock")
        sock.connect(("127.0.0.1", 5004))
        with pytest.raises(rates.NoRates, match="does not answer"):
            rates.follow(sock, path=tmp_path / "none.sock")


def test_with_all_udp_paced_a_program_that_knows_nothing_of_exact_leaves_the_queues_empty(start_network):
    """iperf3 sends twice what the path carries. The daemon loses the rest at the source, not on the way."""
    paced = start_network("--exact", "m2", "--udp", "all")
    listening = paced.start(3, "iperf3", "-s", "-1")
    wait_until(lambda: "5201" in paced.run(3, "ss", "-Hltn").stdout, 10)
    sending = paced.start(0, "iperf3", "-u", "-c", LAST, "-b", "800K", "-l", "1400", "-t", "8", "-J")
    wait_until(lambda: paced.daemon(0)["exact"]["refused"] > 100, 6)
    answers = paced.ping(0, LAST, 10)
    said = json.loads(sending.communicate(timeout=60)[0])
    listening.wait(20)
    assert "error" not in said, said
    received = said["end"]["sum_received"]
    assert 350_000 < received["bits_per_second"] < 450_000
    for node in paced.status()["nodes"]:
        assert node["daemon"]["packets"]["queue_drops"] == 0
    # A ping crosses what full queues would hold for 0.9 s.
    assert answers.returncode == 0
    assert float(answers.stdout.rpartition("= ")[2].split("/")[1]) < 150


def test_m1_allots_from_the_measured_service_time(start_network):
    """M1 knows nothing of its neighbourhood: it begins too high, and comes down as the MAC's service time grows."""
    m1 = start_network("--exact", "m1")
    told, arrived = transfer(m1, 9)
    first = next(line["rate_bps"] for line in told if line["reported"])
    assert first > 1_000_000
    # perhop run of the same chain: 478 kb/s.
    assert 350_000 < arrived["payload_bps"] < 560_000
    assert told[-1]["rate_bps"] < 700_000
    assert m1.daemon(0)["exact"]["hellos_sent"] == 0
    # Soft state: routers forget a flow that is silent.
    wait_until(lambda: m1.daemon(1)["exact"]["allocations"] == [], 6)
