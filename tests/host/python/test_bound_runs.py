# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs beside their bounds: what is read of a run, runs of many kinds none of which exceeds its own, and wrong bounds
that such runs give away.
"""

import copy
import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest
from perhop import paths
from perhop.bound import chain, runs
from perhop.bound.exchange import Link
from perhop.study import studies
from perhop.study.plan import make_plan

BUILT = (paths.repository() / "out/build/sim/ns3/perhop-sim").is_file()

CONFIG = {
    "label": "a chain",
    "mac": {
        "profile": "dsss_long",
        "compat": "standard",
        "rts_threshold_bytes": 0,
        "queue_packets": 50,
        "data_rate_index": 1,
    },
    "medium": {"reception": "ns2", "loss": "range", "tx_range_m": 250.0, "cs_range_m": 550.0, "capture_ratio_db": 10},
    "nodes": [{"x_m": 250.0 * node, "y_m": 0.0} for node in range(5)],
    "routes": [[node, 4, node + 1] for node in range(4)] + [[node, 0, node - 1] for node in range(1, 5)],
    "flows": [{"kind": "tcp", "src": 0, "dst": 4, "segment_bytes": 1460, "max_window_packets": 44}],
}


def config(**changes):
    changed = copy.deepcopy(CONFIG)
    for name, value in changes.items():
        section, _, field = name.partition("__")
        if field:
            changed[section][field] = value
        else:
            changed[section] = value
    return changed


def result(goodput_bps, measured_s=100.0, **more):
    packets = goodput_bps * measured_s / 8 / 1460
    return {
        "measured_s": measured_s,
        "flows": [{"goodput_bps": goodput_bps, "delivered_packets": packets, **more}],
    }


def only_path(changed):
    (flow,) = runs.flows_of(changed)
    return flow.paths


def test_the_bound_of_a_run_is_that_of_its_chain():
    assert runs.bound_bps(CONFIG) == chain.bound_bps(Link(), 4)
    assert runs.bound_bps(config(medium__reception="sinr")) == chain.bound_bps(Link(), 4, reception="sinr")
    # A short run may have drawn short back-offs.
    assert runs.bound_bps(CONFIG, [1000]) > runs.bound_bps(CONFIG, [100000]) > runs.bound_bps(CONFIG)


def test_a_run_exceeds_its_bound_when_whole_packets_do_not_explain_it():
    bound_bps = runs.bound_bps(CONFIG, [4600])
    slack_bps = 6 * 1460 * 8 / 100
    below = runs.judge(CONFIG, result(bound_bps + slack_bps - 1, max_packets_in_flight=5))
    above = runs.judge(CONFIG, result(bound_bps + slack_bps + 1, max_packets_in_flight=5))
    assert below.slack_bps == pytest.approx(slack_bps)
    assert not below.exceeds
    assert above.exceeds
    pairs = [(CONFIG, result(bound_bps / 2)), (CONFIG, result(1.2 * bound_bps, max_packets_in_flight=5))]
    assert [str(run)[:13] for run in runs.offenders(pairs)] == ["a chain (ns2)"]


def test_over_one_hop_a_single_packet_is_all_that_may_be_on_the_way():
    one_hop = config(nodes=CONFIG["nodes"][:2], routes=[[0, 1, 1], [1, 0, 0]])
    one_hop["flows"][0]["dst"] = 1
    assert runs.judge(one_hop, result(1e6, max_packets_in_flight=44)).slack_bps == pytest.approx(1460 * 8 / 100)


def test_runs_without_a_reception_rule_are_left_out():
    assert runs.judge(config(mac__fidelity="samples"), result(1e9)) is None
    assert runs.judge(config(realtime={"backend": "radio"}), result(1e9)) is None
    move = {"kind": "move", "at_s": 3, "node": 1, "x_m": 0, "y_m": 9}
    assert runs.judge(config(events=[move]), result(1e9)) is None
    assert runs.judge(config(realtime={"backend": "live"}), result(1e9)).exceeds


def test_a_hop_is_what_the_section_mac_says():
    link = runs.link_of(CONFIG["mac"])
    assert link == Link()
    assert runs.link_of({**CONFIG["mac"], "path_header": False}).header_bytes == Link().header_bytes - 18
    assert runs.link_of({**CONFIG["mac"], "four_address": True}).header_bytes == Link().header_bytes + 6
    ns2 = runs.link_of({**CONFIG["mac"], "compat": "ns2"})
    assert (ns2.idle_before_us, ns2.mean_backoff_us) == (0, 15 * 20)
    csma, fama = (runs.link_of({**CONFIG["mac"], "access_mode": mode}) for mode in ("csma", "fama"))
    assert [frame.kind for frame in csma.frames(1500)] == ["data"]
    assert [frame.kind for frame in fama.frames(1500)] == ["rts", "cts", "data"]
    assert csma.mean_backoff_us == fama.idle_before_us == 0
    assert [frame.kind for frame in runs.link_of({**CONFIG["mac"], "rts_threshold_bytes": 1554}).frames(1500)] == [
        "data",
        "mac_ack",
    ]


def test_frames_of_fama_last_as_long_as_its_section_says():
    mac = {**CONFIG["mac"], "access_mode": "fama", "fama": {"sifs_us": 25, "rts_us": 150, "cts_us": 700}}
    frames = runs.link_of(mac).frames(1500)
    assert [frame.airtime_us for frame in frames[:2]] == [150, 700]
    assert runs.link_of(mac).exchange_us(1500) == 150 + 700 + frames[2].airtime_us + 2 * 25


def test_a_link_with_a_rate_of_its_own_is_counted_with_it():
    slow = config(links=[{"from": 1, "to": 2, "data_rate_index": 0}, {"from": 2, "to": 1, "data_rate_index": 0}])
    (flow,) = runs.flows_of(slow)
    assert {hop: link.data_rate_index for hop, link in flow.links} == {(1, 2): 0, (2, 1): 0}
    assert runs.bound_bps(slow) < 0.9 * runs.bound_bps(CONFIG)
    # Where nobody knows which link is taken, it may be the fastest.
    (flow,) = runs.flows_of(config(routes=[], links=[{"from": 1, "to": 2, "data_rate_index": 3}]))
    assert flow.link.data_rate_index == 3


def test_flows_are_counted_with_their_headers():
    kinds = [
        {"kind": "tcp", "segment_bytes": 1000},
        {"kind": "cbr", "payload_bytes": 1000},
        {"kind": "exact", "payload_bytes": 1000},
        {"kind": "mac_saturated", "ip_bytes": 1000, "path_header": False},
    ]
    flows = runs.flows_of(config(flows=[{"src": 0, "dst": 4, **kind} for kind in kinds]))
    assert [(flow.payload_bytes, flow.ip_bytes) for flow in flows] == [
        (1000, 1040),
        (1000, 1028),
        (1000, 1028),
        (1000, 1000),
    ]
    assert flows[3].link.header_bytes == Link().header_bytes - 18


def test_paths_follow_the_routes_and_what_events_make_of_them():
    assert only_path(CONFIG) == ((0, 1, 2, 3, 4),)
    assert only_path(config(routes=[])) == ()
    detour = {"kind": "route", "at_s": 3, "path": [1, 3, 4], "both_ways": True}
    assert only_path(config(events=[detour])) == ((0, 1, 2, 3, 4), (0, 1, 3, 4))
    assert only_path(config(events=[{"kind": "move", "at_s": 3, "node": 1, "x_m": 0, "y_m": 9}])) == ()
    assert only_path(config(events=[{"kind": "loss", "at_s": 3, "frame_error_rate": 0.1}])) == ((0, 1, 2, 3, 4),)


def hybrid(**changes):
    """The chain with a server behind its third node: 4 to 2 is on the air, 2 to 5 is not."""
    wire = {"a": 2, "b": 5, "rate_bps": 10e6, "delay_us": 30000, "queue_packets": 100}
    routes = [[4, 5, 3], [3, 5, 2], [2, 5, 5], [0, 5, 1], [1, 5, 2]]
    flow = {**CONFIG["flows"][0], "src": 4, "dst": 5}
    return config(**{"wires": [wire], "routes": routes, "flows": [flow], **changes})


def test_of_a_path_over_a_wire_the_part_on_the_air_counts():
    (flow,) = runs.flows_of(hybrid())
    assert (flow.paths, flow.src, flow.dst) == (((4, 3, 2),), 4, 2)
    on_two_hops = runs.bound_bps(
        config(flows=[{**CONFIG["flows"][0], "src": 4, "dst": 2}], routes=[[4, 2, 3], [3, 2, 2]])
    )
    assert runs.bound_bps(hybrid()) == on_two_hops
    assert runs.judge(hybrid(), result(on_two_hops * 0.99, 1e4)).exceeds is False
    assert runs.judge(hybrid(), result(on_two_hops * 1.2, 1e4)).exceeds is True


def test_a_wire_may_hold_packets_when_the_measurement_begins():
    of_wire = 100 + 10e6 * 0.03 / 8 / 1500
    flow = {"kind": "cbr", "src": 4, "dst": 5, "payload_bytes": 1472}
    slack_bps = runs.judge(hybrid(flows=[flow]), result(1e5, 100.0)).slack_bps
    assert slack_bps == pytest.approx((1 + 2 * 50 + of_wire) * 1472 * 8 / 100)


@pytest.mark.parametrize(
    "change",
    [
        {"routing": "aodv", "routes": []},
        {"routes": [[2, 5, 5]], "flows": [{**CONFIG["flows"][0], "src": 2, "dst": 5}]},  # all of it a wire
    ],
)
def test_a_run_whose_part_on_the_air_is_not_known_is_left_out(change):
    assert runs.judge(hybrid(**change), result(1e5)) is None


def test_under_aodv_a_path_is_known_where_there_is_one_only():
    assert only_path(config(routing="aodv", routes=[])) == ((0, 1, 2, 3, 4),)
    detour = [*CONFIG["nodes"], {"x_m": 375.0, "y_m": 100.0}]
    assert only_path(config(routing="aodv", routes=[], nodes=detour)) == ()


def test_finished_runs_are_found_however_deep(tmp_path):
    for name in ("a/runs/1", "runs/2", "runs/3.partial", "runs/4"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text(json.dumps(CONFIG))
        if name != "runs/4":
            (tmp_path / name / "result.json").write_text(json.dumps(result(1e5)))
    assert [place.name for place, _, _ in runs.runs_below(tmp_path)] == ["1", "2"]


def verify_bounds(folder, monkeypatch, capsys):
    file = paths.repository() / "sim/verify_bounds.py"
    spec = importlib.util.spec_from_file_location("verify_bounds", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr("sys.argv", ["verify_bounds.py", str(folder)])
    status = module.main()
    return status, capsys.readouterr().out


def test_a_bound_that_is_far_above_what_is_asked_is_not_sought_to_its_end():
    question = runs.measure(CONFIG, result(1e5)).question
    whole_bps = runs.answer(question)
    part_bps = runs.answer(question, enough_bps=whole_bps / 4)
    assert whole_bps / 4 <= part_bps < 0.9 * whole_bps
    assert runs.answer(question, enough_bps=whole_bps * 1.01) == whole_bps


def test_verify_bounds_names_offenders_and_wants_to_have_seen_a_run(tmp_path, monkeypatch, capsys):
    status, text = verify_bounds(tmp_path, monkeypatch, capsys)
    assert (status, "no finished run" in text) == (1, True)
    place = tmp_path / "runs/1"
    place.mkdir(parents=True)
    (place / "run.json").write_text(json.dumps(CONFIG))
    (place / "result.json").write_text(json.dumps(result(3e5)))
    assert verify_bounds(tmp_path, monkeypatch, capsys)[0] == 0
    (place / "result.json").write_text(json.dumps(result(9e5)))
    status, text = verify_bounds(tmp_path, monkeypatch, capsys)
    assert (status, "above its bound: a chain (ns2): 900.0 kb/s" in text) == (1, True)


def test_verify_bounds_names_a_run_whose_bound_it_cannot_find_and_goes_on(tmp_path, monkeypatch, capsys):
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(config(medium__capture_ratio_db=10 + int(name))))
        (tmp_path / name / "result.json").write_text(json.dumps(result(3e5)))
    answer = runs.answer

    def only_the_second(question, enough_bps):
        if json.loads(question)["medium"]["capture_ratio_db"] == 11:
            raise ArithmeticError("no solution")
        return answer(question, enough_bps)

    # The processes that solve are forked, and take the stand-in along.
    monkeypatch.setattr(runs, "answer", only_the_second)
    status, text = verify_bounds(tmp_path, monkeypatch, capsys)
    assert status == 1 and f"without a bound: {tmp_path / '1'}: no solution" in text
    assert '"runs": 1' in text and '"runs_unsolved": 1' in text


HEAD = """
name: small
medium: {reception: ns2, tx_range_m: 250, cs_range_m: 550}
mac: {profile: dsss_long, data_rate_mbps: 2, rts_threshold_bytes: 0}
seeds: [31]
duration_s: 25
warmup_s: 5
outputs: {pcapng: "off"}
"""
TCP = "kind: tcp, max_window_packets: 44, min_rto_ms: 1000"
SMALL = {
    "chains": f"""
topology: {{kind: chain, hops: 1, spacing_m: 250}}
flows: [{{{TCP}}}]
policies: [dca, combined]
sweep: {{medium.reception: [ns2, sinr], topology.hops: [1, 2, 3, 4, 8]}}
""",
    "fast": f"""
topology: {{kind: chain, hops: 1, spacing_m: 200}}
flows: [{{{TCP}, segment_bytes: 500}}]
policies: [dca, combined]
sweep: {{mac.data_rate_mbps: [1, 11], medium.reception: [ns2, sinr], topology.hops: [2, 5]}}
""",
    "crossing": f"""
topology: {{kind: cross, hops: 4, spacing_m: 200}}
flows: [{{{TCP}, src: 0, dst: 4}}, {{{TCP}, src: 5, dst: 8}}, {{{TCP}, src: 4, dst: 0}}]
policies: [dca]
sweep: {{medium.reception: [ns2, sinr]}}
""",
    "ns2": f"""
topology: {{kind: chain, hops: 1, spacing_m: 200}}
routing: aodv
flows: [{{{TCP}, segment_bytes: 1000}}]
policies: [dca cwnd]
sweep: {{mac.compat: [ns2], topology.hops: [1, 4]}}
""",
    "stations": """
topology: {kind: star, stations: 3}
flows: [{kind: mac_saturated, src: each, dst: first}]
sweep: {mac.rts_threshold_bytes: [0, 4095]}
""",
    "three_apart": """
topology: {kind: chain, hops: 4, spacing_m: 250}
flows: [{kind: mac_saturated, src: 0, dst: 1}, {kind: mac_saturated, src: 3, dst: 4}]
sweep: {medium.reception: [ns2, sinr]}
""",
    "fama": """
topology: {kind: ring, nodes: 7, spacing_m: 250}
flows: [{kind: mac_saturated, src: 0, dst: 1}, {kind: mac_saturated, src: 3, dst: 4}]
sweep: {mac.access_mode: [csma, fama]}
""",
}


@pytest.fixture(scope="module")
def small_runs(tmp_path_factory):
    """Pairs of run.json and result.json by experiment."""
    if not BUILT:
        pytest.skip("perhop-sim is not built: make programs")
    found = {}
    for name, text in SMALL.items():
        folder = tmp_path_factory.mktemp(name)
        (folder / "experiment.yaml").write_text(HEAD + text)
        done = studies.run(make_plan(folder, [], quick=False, out=folder / "out"), 2, False, check=False)
        assert done.study.complete
        found[name] = [(outcome.run.config, outcome.result) for outcome in done.study.outcomes]
    return found


def test_no_run_exceeds_the_bound_of_its_rule(small_runs):
    pairs = [pair for group in small_runs.values() for pair in group]
    assert len(pairs) == 20 + 16 + 2 + 2 + 2 + 2 + 2
    assert all(runs.judge(*pair) for pair in pairs)
    assert [str(run) for run in runs.offenders(pairs)] == []


def share(pairs, **where):
    found = [
        runs.judge(config, seen).share
        for config, seen in pairs
        if all(f"{name}={value}" in config["label"].split() for name, value in where.items())
    ]
    assert len(found) == 1
    return found[0]


def test_runs_come_close_where_nothing_is_lost(small_runs):
    assert share(small_runs["chains"], h=1, policy="dca", reception="ns2") > 0.985
    assert share(small_runs["three_apart"], reception="sinr") > 0.99
    assert share(small_runs["three_apart"], reception="ns2") > 0.96
    assert share(small_runs["stations"], rts_threshold_bytes=0) > 0.9


def names(pairs):
    return {(run.reception, run.label) for run in runs.offenders(pairs)}


def test_a_bound_that_assumes_a_reuse_of_a_quarter_is_given_away_under_sinr(small_runs, monkeypatch):
    def of_a_quarter(question):
        return chain.quarter_reuse_bps(Link(), len(json.loads(question)["nodes"]) - 1)

    monkeypatch.setattr(runs, "answer", of_a_quarter)
    over = names(small_runs["chains"])
    assert {rule for rule, _ in over} == {"sinr"}
    assert any("h=4 " in label and "policy=dca " in label for _, label in over)


def test_a_bound_whose_backoff_is_twice_as_long_is_given_away_at_one_hop(small_runs, monkeypatch):
    longer = property(lambda link: 31.0 * link.timing.slot_us)
    monkeypatch.setattr(Link, "mean_backoff_us", longer)
    runs.answer.cache_clear()
    over = names(small_runs["chains"])
    runs.answer.cache_clear()
    assert any("h=1 " in label for _, label in over)


def test_a_bound_that_keeps_links_three_apart_from_each_other_is_given_away(small_runs, monkeypatch):
    whole = runs.hearing

    def one_medium(*arguments, **more):
        heard = whole(*arguments, **more)
        return replace(heard, reception="ns2", capture_ratio=1e20)

    monkeypatch.setattr(runs, "hearing", one_medium)
    runs.answer.cache_clear()
    over = names(small_runs["three_apart"])
    runs.answer.cache_clear()
    assert {rule for rule, _ in over} == {"ns2", "sinr"}


def test_the_folder_of_a_study_is_what_verify_bounds_reads(small_runs, tmp_path, monkeypatch, capsys):
    for index, (config_, seen) in enumerate(small_runs["chains"][:3]):
        place = Path(tmp_path / f"runs/{index}")
        place.mkdir(parents=True)
        (place / "run.json").write_text(json.dumps(config_))
        (place / "result.json").write_text(json.dumps(seen))
    status, text = verify_bounds(tmp_path, monkeypatch, capsys)
    assert (status, '"runs": 3' in text) == (0, True), text
