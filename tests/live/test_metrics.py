# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop metrics` and `perhop top` on a live network: what they tell is what probe tells and what was sent."""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from waiting import wait_until

from .conftest import kill_hard

PROGRAM = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"


@pytest.fixture(scope="module")
def live(start_network):
    live = start_network("--policy", "delay", hops=2)
    assert live.ping(0, "10.0.0.3", 10).returncode == 0
    return live


@contextlib.contextmanager
def endpoint(live, *words):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "metrics", "--name", live.name, *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PERHOP_LIVE_STATE": str(live.state)},
    )
    live.started.append(process)
    url = process.stdout.readline().split()[-1]
    yield url
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 0


def scrape(url):
    asked = urllib.request.Request(url, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text = answer.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_a_scrape_agrees_with_probe(live):
    probed = {
        (told["node"], neighbour["mac"]): neighbour
        for told in json.loads(live.perhop("probe", "--name", live.name, "--json").stdout)
        for neighbour in told["neighbours"]
    }
    with endpoint(live, "--listen", "127.0.0.1:19464") as url:
        families = scrape(url)
        for sample in families["perhop_hop_latency_seconds"].samples:
            neighbour = probed[sample.labels["node"], sample.labels["neighbour"]]
            assert sample.value == neighbour["latency_us"] / 1e6
        for sample in families["perhop_hop_packets"].samples:
            assert sample.value == probed[sample.labels["node"], sample.labels["neighbour"]]["packets"]
        assert {sample.labels["node"] for sample in families["perhop_up"].samples} == {"0", "1", "2"}
        before = scrape(url)["perhop_hop_packets"].samples
        assert live.ping(0, "10.0.0.3", 5).returncode == 0
        after = scrape(url)["perhop_hop_packets"].samples
        assert sum(sample.value for sample in after) - sum(sample.value for sample in before) >= 20


def test_the_endpoint_is_of_one_node_where_one_is_named(live):
    with endpoint(live, "1", "--listen", "19465") as url:
        families = scrape(url)
        assert [sample.labels["node"] for sample in families["perhop_up"].samples] == ["1"]
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=2)


def test_a_port_that_is_taken_is_one_clear_message(live):
    with endpoint(live, "--listen", "19466"):
        done = live.perhop("metrics", "--name", live.name, "--listen", "19466")
        assert done.returncode == 2 and "cannot be opened" in done.stderr and "Traceback" not in done.stderr


def top(live, *words):
    done = live.perhop("top", "--name", live.name, "--once", "--interval", "2", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_top_shows_a_transfer_hop_by_hop(live):
    listening = live.start(2, "iperf3", "-s", "-1")
    wait_until(lambda: "5201" in live.run(2, "ss", "-Hltn").stdout, 5)
    sending = live.start(0, "iperf3", "-c", "10.0.0.3", "-C", "reno", "-t", "8", "-J")
    wait_until(lambda: live.daemon(0)["packets"]["data_segments"] > 30, 10)
    shown = json.loads(top(live, "--json"))
    text = top(live)
    said = json.loads(sending.communicate(timeout=30)[0])
    listening.wait(10)

    hops = {(hop["node"], hop["neighbour"]): hop for hop in shown["hops"]}
    there = hops["0", "1"]
    # A full packet: 6.2 ms of DATA on the air alone; the parts are all of its delay.
    assert there["service_us"] > 7000
    assert sum(there["parts_us"].values()) == pytest.approx(there["delay_us"])
    assert there["parts_us"]["data"] > 5500
    goodput_bps = said["end"]["sum_received"]["bits_per_second"]
    flow = next(flow for flow in shown["flows"] if flow["destination_port"] == 5201 and flow["protocol"] == "TCP")
    assert (flow["from_node"], flow["to_node"], flow["forwarders"]) == ("0", "2", ["1"])
    # IP and TCP headers on top of the payload; two seconds of eight.
    assert flow["received_bps"] == pytest.approx(goodput_bps * 1500 / 1448, rel=0.25)
    assert flow["cwl_packets"] >= 1
    assert flow["path"]["forward_hops"] == 2
    for word in ("0 → 1", "1 → 2", "DATA", "TCP", "10.0.0.3:5201", "frames/s"):
        assert word in text


def test_top_runs_in_a_terminal_until_it_is_told_to_end(live, tmp_path):
    terminal, inner = pty.openpty()
    process = subprocess.Popen(
        # Where the tests run in the background, SIGINT is ignored, and that is inherited.
        ["env", "--default-signal=INT", sys.executable, "-c", PROGRAM, "top", "--name", live.name, "--interval", "0.3"],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env={
            **os.environ,
            "PERHOP_LIVE_STATE": str(live.state),
            "TERM": "xterm-256color",
            "COLUMNS": "140",
            "LINES": "40",
        },
    )
    live.started.append(process)
    os.close(inner)
    shown = b""
    pinging = live.start(0, "ping", "-n", "-i", "0.1", "10.0.0.3")
    deadline_s = time.monotonic() + 30
    while shown.count(b"where service time goes") < 3:
        assert time.monotonic() < deadline_s, shown.decode(errors="replace")
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536)
    process.send_signal(signal.SIGINT)
    pinging.kill()
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 65536):
            shown += chunk
    assert process.wait(5) == 0
    assert "0 → 1" in shown.decode() and "ICMP" in shown.decode()
    assert shown.rstrip().endswith(b"\x1b[?25h") or b"\x1b[?1049l" in shown, "the terminal is as it was"
    os.close(terminal)


def test_a_picture_can_be_written_to_a_file(live, tmp_path):
    picture = tmp_path / "top.svg"
    top(live, "--svg", str(picture))
    text = picture.read_text()
    assert text.startswith("<svg") and "perhop&#160;top" in text.replace(" ", "&#160;")
    assert "http" not in text.replace("http://www.w3.org", "").replace("https://www.textualize.io", "")


def test_top_says_which_node_does_not_answer(live):
    kill_hard(live.status()["supervisor"])
    kill_hard(live.pid("node-2"))
    wait_until(lambda: json.loads(top(live, "--json"))["silent_nodes"] == ["2"], 10)
    assert "node 2 does not answer" in top(live)
    with endpoint(live, "--listen", "19467") as url:
        up = {sample.labels["node"]: sample.value for sample in scrape(url)["perhop_up"].samples}
    assert up == {"0": 1, "1": 1, "2": 0}
