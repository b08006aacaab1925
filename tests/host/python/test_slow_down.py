# SPDX-License-Identifier: GPL-2.0-or-later
"""A network that is slower than the hosts' clocks: what hosts are told, and what is told of it in its own time."""

import dataclasses
import json
import re
import struct
from pathlib import Path

import pytest
from perhop import pcapng
from perhop.agent import loop
from perhop.errors import ExperimentError
from perhop.experiment import resolve
from perhop.experiment.load import load
from perhop.live import namespaces
from perhop.live.plan import LEAST_RTO_MS, node_config, plan_run
from perhop.radio.backend import Radio
from perhop.realtime import captures, flows
from perhop.realtime.flows import Counted

ROOT = Path(__file__).resolve().parents[3]
EXPERIMENT = ROOT / "sim/experiments/live_chain/experiment.yaml"
CBR = "flows=[{kind: cbr, src: first, dst: last, payload_bytes: 100, rate_bps: 8000, start_s: 2, stop_s: 3}]"
EXACT = "flows=[{kind: exact, src: first, dst: last, payload_bytes: 100}]"


def plan(slow_down: int, *settings: str):
    run = resolve.resolve(load(EXPERIMENT, ["policies=[none]", "seeds=[1]", *settings]))[0]
    return plan_run(run.config, name="slow", policy="none", as_simulated=True, slow_down=slow_down)


def test_hosts_begin_end_and_send_as_much_later_and_slower():
    (told,) = flows.ends(plan(100, CBR), [7, 0, 0, 0], [""] * 4, "send")[0]
    assert (told["start_ns"], told["stop_ns"], told["rate_bps"]) == (7 + 200 * 10**9, 7 + 300 * 10**9, 80)
    (told,) = flows.ends(plan(1, CBR), [7, 0, 0, 0], [""] * 4, "send")[0]
    assert (told["start_ns"], told["stop_ns"], told["rate_bps"]) == (7 + 2 * 10**9, 7 + 3 * 10**9, 8000)


def test_daemons_and_routes_know_of_it_only_where_there_is_something_to_know():
    slow, usual = plan(300), plan(1)
    assert node_config(slow, slow.nodes[0], Path("/x"))["slow_down"] == 300
    assert "slow_down" not in node_config(usual, usual.nodes[0], Path("/x"))
    assert slow.route_metrics == [*usual.route_metrics, "rto_min", "60000ms"]
    more = namespaces.settings(slow).items() - namespaces.settings(usual).items()
    assert {name for name, _ in more} == {"net/ipv4/tcp_syn_retries", "net/ipv4/tcp_synack_retries"}


def test_a_daemon_holds_syns_as_long_as_a_route_holds_data():
    told = re.search(r"least_us = ([\d']+);", (ROOT / "host/node/syn_pace.hpp").read_text())
    assert told and int(told[1].replace("'", "")) == 1000 * LEAST_RTO_MS


def test_what_was_counted_is_told_in_the_networks_time():
    slow = plan(100)

    def node(at_s: float, received_bytes: int, looks: int) -> dict:
        flow = {"rtt_us": looks * 2_900_000, "window_packets": looks, "looks": looks, "received_bytes": received_bytes}
        counters = {"queue_drops": 0, "bare_tcp_acks": 0, "tcp_acks_held": 0}
        return {"at_s": at_s, "flows": {"0": flow}, "node": {"neighbours": [], "flows": [], "packets": counters}}

    records = [node(5.0, 1000, 10), node(6.0, 51_000, 30)]
    counted = Counted([records] * 4, [{"0": {"rtt_p95_ms": 3000.0}}] * 4)
    found = flows.result(slow, counted, False, "radio")
    assert (found["slow_down"], found["measured_s"]) == (100, 1.0)
    (flow,) = found["flows"]
    assert (flow["goodput_bps"], flow["rtt_ms"], flow["rtt_p95_ms"]) == (400_000, 29.0, 30.0)
    usual = flows.result(dataclasses.replace(slow, slow_down=1), counted, False, "radio")
    assert "slow_down" not in usual and usual["flows"][0]["rtt_ms"] == 2900


def test_a_recorder_counts_as_much_later(monkeypatch):
    counted_ns: list[int] = []
    monkeypatch.setattr(loop.traffic, "sleep_until", lambda at_ns, stop: counted_ns.append(at_ns) or False)
    recorder = loop.Recorder({}, "", 1000, [0.5], 0.0, 300)
    recorder.stopping.set()
    recorder.run()
    assert counted_ns == [1000 + 150 * 10**9]


def test_times_of_captures_are_the_networks(tmp_path):
    def block(kind: int, body: bytes) -> bytes:
        size = 12 + len(body)
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    def packet(at_us: int) -> bytes:
        return block(pcapng.PACKET, pcapng.PACKET_HEAD.pack(0, at_us >> 32, at_us & 0xFFFFFFFF, 4, 4) + bytes(4))

    begin_us = 1_700_000_000_000_000
    file = tmp_path / "one.pcapng"
    interface = block(pcapng.INTERFACE, struct.pack("<HHI", 105, 0, 0))
    file.write_bytes(interface + packet(begin_us + 10 + 2000) + packet(begin_us + 10 + 5000))
    joined = tmp_path / "all.pcapng"
    assert captures.join([captures.Capture("one", file, 10)], joined, 100, begin_us) == 2
    times = [
        high << 32 | low
        for kind, body in pcapng.read_blocks(joined)
        if kind == pcapng.PACKET
        for _, high, low, *_ in [pcapng.PACKET_HEAD.unpack_from(body)]
    ]
    assert times == [begin_us + 20, begin_us + 50]


def inventory(folder: Path, slow_down: object) -> Path:
    nodes = [{"address": f"h{n}", "radio": {"kind": "air", "socket": "/x", "node": n}} for n in range(4)]
    file = folder / "hosts.yml"
    file.write_text(json.dumps({"nodes": nodes, "slow_down": slow_down}, indent=1))
    return file


def adapted(folder: Path, slow_down: object, *settings: str) -> list[resolve.Run]:
    points = load(EXPERIMENT, ["policies=[none]", "seeds=[1]", *settings])
    return Radio(inventory(folder, slow_down)).adapt(points, resolve.resolve(points))


def test_a_run_knows_how_much_slower_it_is(tmp_path):
    assert [run.config["realtime"].get("slow_down") for run in adapted(tmp_path, 300)] == [300]
    assert [run.config["realtime"].get("slow_down") for run in adapted(tmp_path, 1)] == [None]


def test_exact_whose_rates_are_the_clocks_is_refused_and_a_number_that_tcp_cannot_bear_too(tmp_path):
    with pytest.raises(ExperimentError, match=r"flows.0.kind.*a slowed network has not"):
        adapted(tmp_path, 300, EXACT)
    assert adapted(tmp_path, 1, EXACT)
    with pytest.raises(ExperimentError, match="slow_down"):
        adapted(tmp_path, 601)
