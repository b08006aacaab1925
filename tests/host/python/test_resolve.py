# SPDX-License-Identifier: GPL-2.0-or-later
"""From an experiment file to runs."""

import json
import re

import pytest
from perhop.errors import ExperimentError
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve


@pytest.fixture
def runs(experiment):
    """Resolve the small experiment, with --set overrides and text appended to its file."""

    def make(*overrides, append="", quick=False):
        experiment.write_text(experiment.read_text() + append)
        return resolve(load(experiment, overrides, quick))

    return make


def test_a_sweep_is_unrolled_over_points_policies_and_seeds(runs):
    labels = [run.label for run in runs()]
    assert labels == [
        f"h={hops} policy={policy} seed={seed}"
        for hops in (1, 3)
        for policy in ("no limit", "cwl 8")
        for seed in (1, 2)
    ]


def test_two_swept_fields_give_their_product(runs):
    found = runs("sweep.mac.data_rate_mbps=[2, 11]", "seeds=[1]", "policies=[none]")
    assert [(run.hops, run.config["mac"]["data_rate_index"]) for run in found] == [(1, 1), (1, 3), (3, 1), (3, 3)]


def test_a_field_swept_inside_a_section_that_is_swept_leaves_the_section_as_it_is(experiment):
    axes = ("sweep.topology=[{kind: ring, nodes: 9, spacing_m: 99}]", "sweep.topology.nodes=[7, 8]")
    drop = "sweep.topology.hops=[3]"
    points = load(experiment, (drop, *axes), False)
    assert [point.swept["topology"]["nodes"] for point in points] == [9, 9]
    assert [point.experiment.topology.nodes for point in points] == [7, 8]


def test_a_fidelity_is_told_to_the_simulators_only_where_it_is_not_the_default(runs):
    swept = runs("sweep.mac.fidelity=[core, bytes]", "mac.four_address=true", "policies=[none]", "seeds=[1]")
    told = [run.config["mac"].get("fidelity", "core") for run in swept]
    assert sorted(told) == ["bytes"] * (len(told) // 2) + ["core"] * (len(told) // 2)
    assert all(run.config["mac"]["four_address"] for run in swept)
    assert not {"fidelity", "four_address"} & set(runs("seeds=[1]")[0].config["mac"])


def test_swan_is_told_to_the_simulator_only_where_it_is_asked_for(runs):
    assert all("swan" not in run.config for run in runs())
    assert runs("swan={}")[0].config["swan"]["threshold_ms"] == 20
    swept = runs("sweep.swan=[null, {threshold_ms: 30}]", "policies=[none]", "seeds=[1]")
    assert [run.config.get("swan", {}).get("threshold_ms") for run in swept] == [None, 30] * (len(swept) // 2)


def test_samples_know_of_radios_that_are_off(runs):
    one_hop = ("sweep.topology.hops=[1]", "flows=[{kind: mac_saturated, src: 0, dst: 1, ip_bytes: 60}]")
    samples = "medium.samples={carrier_offset_hz: [1000, -1000], taps: [{delay_ns: 50, gain_db: -6}]}"
    (run,) = runs(*one_hop, "mac.fidelity=samples", samples, "policies=[none]", "seeds=[1]")
    assert run.config["mac"]["fidelity"] == "samples"
    told = run.config["medium"]["samples"]
    assert told["carrier_offset_hz"] == [1000, -1000]
    assert told["taps"] == [{"delay_ns": 50, "gain_db": -6}]
    (core,) = runs(*one_hop, "policies=[none]", "seeds=[1]")
    assert "samples" not in core.config["medium"]


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ("mac.profile=ofdm_20mhz", "mac.profile"),
        ("mac.data_rate_mbps=11", "mac.data_rate_mbps"),
        ("medium.frame_error_rate=0.1", "medium.frame_error_rate"),
        ("duration_s=10", "mac.fidelity"),  # TCP, as the file has it
    ],
)
def test_what_the_modem_cannot_do_is_refused_at_fidelity_samples(runs, setting, field):
    more = ["mac.data_rate_mbps=24"] if "ofdm" in setting else []
    with pytest.raises(ExperimentError) as refused:
        runs("mac.fidelity=samples", setting, *more)
    assert field in str(refused.value)


def test_an_access_mode_is_told_to_the_simulators(runs):
    swept = runs("sweep.mac.access_mode=[csma, fama]", "mac.path_header=false", "policies=[none]", "seeds=[1]")
    assert [run.config["mac"]["access_mode"] for run in swept] == ["csma", "fama"] * 2
    assert [run.config["mac"]["path_header"] for run in swept] == [False] * 4
    acknowledged = runs("mac.access_mode=csma", "mac.mac_ack=true", "mac.vacation_us=5000")[0].config["mac"]
    assert (acknowledged["mac_ack"], acknowledged["vacation_us"]) == (True, 5000)


def test_fama_alone_is_told_its_settings(runs):
    swept = runs("sweep.mac.access_mode=[csma, fama]", "mac.fama={cts_us: 597, hold: true}", "seeds=[1]")
    told = {run.config["mac"]["access_mode"]: run.config["mac"].get("fama") for run in swept}
    assert told == {"csma": None, "fama": {"cts_us": 597, "hold": True}}
    with pytest.raises(ExperimentError, match=r"mac\.fama: is of access mode fama, and this is dcf"):
        runs("mac.fama.hold=true")
    with pytest.raises(ExperimentError, match=r"mac\.fama: works with compat standard, and this is ns2"):
        runs("mac.access_mode=fama", "mac.fama.hold=true", "mac.compat=ns2")
    with pytest.raises(ExperimentError, match=r"mac\.fama: works at fidelity core, and this is bytes"):
        runs("mac.access_mode=fama", "mac.fama.hold=true", "mac.fidelity=bytes")


def test_events_are_told_in_order_of_time(runs):
    last, first = "{at_s: 5, kind: loss, frame_error_rate: 0.5}", "{at_s: 2, kind: node_down, node: 0}"
    told = runs(f"events=[{last}, {first}]")[0].config["events"]
    assert [(event["at_s"], event["kind"]) for event in told] == [(2, "node_down"), (5, "loss")]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ("[{at_s: 1, kind: node_down, node: 1}, {at_s: 2, kind: route, path: [0, 1]}]", "cannot hear each other"),
        ("[{at_s: 1, kind: node_down, node: 9}]", "events.0.node: names node 9"),
        ("[{at_s: 1, kind: loss, frame_error_rate: 1.5}]", "events.0.frame_error_rate: is 1.5"),
        ("[{at_s: 1, kind: link_up, a: 0}]", "events.0.b: is missing\n  remedy: add `b: ..` (another)"),
        ("[{at_s: 1}]", "one of: route, link_down, link_up, node_down, node_up, loss, move"),
    ],
)
def test_events_that_cannot_be_are_refused(runs, events, said):
    with pytest.raises(ExperimentError, match=re.escape(said)):
        runs(f"events={events}")


def test_a_link_with_a_rate_of_its_own_is_told_to_the_simulators_one_direction_each(runs):
    links = "links=[{a: 1, b: 0, data_rate_mbps: 1}, {a: 1, b: 2, data_rate_mbps: 11, both_ways: false}]"
    (run,) = runs("topology.hops=3", "seeds=[1]", "policies=[none]", links)
    assert run.config["links"] == [
        {"from": 0, "to": 1, "data_rate_index": 0},
        {"from": 1, "to": 0, "data_rate_index": 0},
        {"from": 1, "to": 2, "data_rate_index": 3},
    ]
    (without,) = runs("topology.hops=3", "seeds=[1]", "policies=[none]")
    assert "links" not in without.config  # runs of before keep their names
    slow, fast = runs("topology.hops=3", "sweep.links.0.data_rate_mbps=[1, 11]", "seeds=[1]", "policies=[none]", links)
    assert [run.config["links"][0]["data_rate_index"] for run in (slow, fast)] == [0, 3]


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ("[{a: 0, b: 9, data_rate_mbps: 1}]", "links.0.b: is 9, but the topology has 4 nodes"),
        ("[{a: 1, b: 1, data_rate_mbps: 1}]", "links.0.b: names node a again"),
        ("[{a: 0, b: 2, data_rate_mbps: 1}]", "links.0.b: is node 2, which cannot hear node 0 (500 m apart"),
        ("[{a: 0, b: 1, data_rate_mbps: 6}]", "links.0.data_rate_mbps: is 6, which is no rate of dsss_long"),
        ("[{a: 0, b: 1}]", "links.0.data_rate_mbps: is missing"),
        (
            "[{a: 0, b: 1, data_rate_mbps: 1}, {a: 1, b: 0, data_rate_mbps: 11, both_ways: false}]",
            "links.1.a: gives the rate from node 1 to node 0 a second time\n  remedy: remove one of the two",
        ),
    ],
)
def test_links_that_cannot_be_are_refused(runs, links, said):
    with pytest.raises(ExperimentError, match=re.escape(said)) as refused:
        runs("topology.hops=3", f"links={links}")
    assert "remedy: " in str(refused.value)


def test_nodes_that_move_may_come_into_range_of_a_link(runs):
    links = "links=[{a: 0, b: 2, data_rate_mbps: 1}]"
    moves = "events=[{at_s: 5, kind: move, node: 2, x_m: 100, y_m: 0}]"
    assert runs("topology.hops=3", links, moves)[0].config["links"][0]["to"] == 2


def test_the_modem_has_no_faster_link_at_fidelity_samples(runs):
    one_hop = ("topology.hops=1", "flows=[{kind: mac_saturated, src: 0, dst: 1, ip_bytes: 60}]")
    with pytest.raises(ExperimentError, match=r"links\.0\.data_rate_mbps.*sends 1 and 2 Mb/s"):
        runs(*one_hop, "mac.fidelity=samples", "links=[{a: 0, b: 1, data_rate_mbps: 5.5}]", "policies=[none]")


def test_a_policy_needs_the_path_header(runs):
    with pytest.raises(ExperimentError, match=r"mac\.path_header.*policies and EXACT need"):
        runs("mac.path_header=false", "policies=[none, hop]")


def test_a_run_is_what_the_simulators_read(runs):
    run = runs("seeds=[7]", "policies=[fixed 3]", "topology.hops=3")[0]
    assert run.program == "perhop-sim"
    assert run.config == {
        "schema": 1,
        "label": "h=3 policy=cwl 3 seed=7",
        "seed": 7,
        "duration_s": 10.0,
        "warmup_s": 2.0,
        "mac": {
            "profile": "dsss_long",
            "compat": "standard",
            "data_rate_index": 1,
            "rts_threshold_bytes": 0,
            "short_retry_limit": 7,
            "long_retry_limit": 4,
            "queue_packets": 50,
            "average_shift": 4,
        },
        "medium": {
            "reception": "ns2",
            "loss": "range",
            "tx_range_m": 250,
            "cs_range_m": 550,
            "capture_ratio_db": 10,
            "propagation_us": "auto",
            "frame_error_rate": 0,
            "loss_exponent": 3,
            "tx_power_dbm": 24.5,
        },
        "warp": "on",
        "nodes": [{"x_m": 250 * i, "y_m": 0} for i in range(4)],
        "routes": [[0, 3, 1], [1, 0, 0], [1, 3, 2], [2, 0, 1], [2, 3, 3], [3, 0, 2]],
        "flows": [
            {
                "kind": "tcp",
                "src": 0,
                "dst": 3,
                "start_s": 0.1,
                "stop_s": None,
                "variant": "newreno",
                "sack": False,
                "segment_bytes": 1460,
                "tcp_ack_every": 1,
                "min_rto_ms": 200,
                "max_window_packets": 44,
                "policy": {"cwl": "fixed", "cwl_packets": 3, "round": "half_up"},
            }
        ],
        "outputs": {"pcapng": True, "trace": False, "completions": False, "interval_s": 1.0},
    }
    json.dumps(run.config, allow_nan=False)


def test_a_run_keeps_its_id_until_something_changes(runs):
    first, again = runs(), runs()
    assert [run.id for run in first] == [run.id for run in again]
    assert len({run.id for run in first}) == 8
    changed = runs("mac.queue_packets=49")
    assert not {run.id for run in first} & {run.id for run in changed}


def test_packets_are_recorded_of_the_longest_run_of_the_first_seed(runs):
    recorded = [run.label for run in runs() if run.config["outputs"]["pcapng"]]
    assert recorded == ["h=3 policy=cwl 8 seed=1"]


@pytest.mark.parametrize(("choice", "count"), [("all", 8), ('"off"', 0)])
def test_packets_can_be_recorded_of_all_runs_or_none(runs, choice, count):
    found = runs(f"outputs={{pcapng: {choice}}}")
    assert sum(run.config["outputs"]["pcapng"] for run in found) == count


def test_nodes_may_be_chosen_whose_packets_are_recorded(runs):
    plain, chosen = runs(), runs("outputs={capture_nodes: [1, 0, 1]}")
    assert all("pcapng_nodes" not in run.config["outputs"] for run in plain)
    assert all(run.config["outputs"]["pcapng_nodes"] == [0, 1] for run in chosen)
    assert [run.id for run in chosen] == [run.id for run in plain], "they are the same runs"
    with pytest.raises(ExperimentError, match=r"outputs.capture_nodes.0: is 2, but the topology has 2 nodes"):
        runs("outputs={capture_nodes: [2]}")


def test_a_flow_crosses_no_more_hops_than_a_header_counts(tmp_path):
    def resolved(dst):
        file = tmp_path / "long.yaml"
        file.write_text(
            "name: long\ntopology: {kind: grid, rows: 2, columns: 300}\n"
            f"flows: [{{kind: tcp, src: 0, dst: {dst}}}]\nduration_s: 10\n"
        )
        return resolve(load(file))

    assert resolved(255)[0].hops == 255 and len(resolved(255)[0].config["nodes"]) == 600
    with pytest.raises(ExperimentError, match=r"node 256 is 256 hops from node 0"):
        resolved(256)


def test_a_range_of_windows_is_that_many_policies(runs):
    policies = [run.policy for run in runs("policies=[fixed 1..3, delay floor]", "seeds=[1]", "topology.hops=1")]
    assert policies == ["cwl 1", "cwl 2", "cwl 3", "delay floor"]


def test_setting_a_swept_field_replaces_its_values(runs):
    assert {run.hops for run in runs("topology.hops=5")} == {5}
    assert {run.hops for run in runs("topology.hops=[2, 4]")} == {2, 4}


def test_quick_takes_the_first_seed_unless_the_file_says_more(runs):
    assert {run.seed for run in runs(quick=True)} == {1}
    found = runs(quick=True, append="quick:\n  duration_s: 3\n  topology.hops: [2]\n")
    assert {(run.hops, run.config["duration_s"]) for run in found} == {(2, 3.0)}


def test_each_means_every_other_node(experiment):
    experiment.write_text(
        "name: star\ntopology: {kind: star, stations: 3}\nduration_s: 9\n"
        "flows:\n  - {kind: mac_saturated, src: each, dst: first, ip_bytes: 40}\n"
    )
    (run,) = resolve(load(experiment))
    assert [(flow["src"], flow["dst"]) for flow in run.config["flows"]] == [(1, 0), (2, 0), (3, 0)]
    assert run.program == "perhop-air" and run.policy == "" and run.label == "seed=1"


def test_a_flow_can_have_a_policy_of_its_own(runs):
    found = runs("flows.0.policy=delay", "seeds=[1]", "topology.hops=1")
    assert [run.config["flows"][0]["policy"]["cwl"] for run in found] == ["delay"]


def test_a_largest_timeout_is_told_only_where_it_is_set(runs):
    assert runs("flows.0.max_rto_ms=2000")[0].config["flows"][0]["max_rto_ms"] == 2000
    assert "max_rto_ms" not in runs("flows.0.max_rto_ms=60000")[0].config["flows"][0]  # runs of before keep their names


def test_a_transfers_size_and_rate_are_told_only_where_they_are_set(runs):
    flow = runs("flows.0.transfer_bytes=1000000", "flows.0.rate_bps=20e3")[0].config["flows"][0]
    assert (flow["transfer_bytes"], flow["rate_bps"]) == (1_000_000, 20e3)
    assert not {"transfer_bytes", "rate_bps"} & runs()[0].config["flows"][0].keys()  # runs of before keep their names


def test_start_offsets_are_a_sweep_axis(runs):
    both = "flows=[{kind: tcp, transfer_bytes: 1000000}, {kind: tcp, src: last, dst: first, transfer_bytes: 1000000}]"
    found = runs("topology.hops=3", "seeds=[1]", "policies=[none]", both, "sweep.flows.1.start_s=[0.1, 0.6, 1.1]")
    assert [run.config["flows"][1]["start_s"] for run in found] == [0.1, 0.6, 1.1]
    assert {run.config["flows"][0]["start_s"] for run in found} == {0.1}


def test_routing_is_a_word_or_a_section(runs):
    run = runs("seeds=[1]", "policies=[none]", "topology.hops=3")[0]
    assert "routing" not in run.config and "link_failure" not in run.config
    aodv = runs("seeds=[1]", "policies=[none]", "topology.hops=3", "routing=aodv")[0]
    assert (aodv.config["routing"], aodv.config["link_failure"]) == ("aodv", "purge")
    told = runs(
        "seeds=[1]", "policies=[none]", "topology.hops=3", "routing.protocol=aodv", "routing.link_failure=ignore"
    )
    assert told[0].config["routing"] == "aodv" and "link_failure" not in told[0].config
    repair = ("routing.protocol=aodv", "routing.local_repair=rfc3561")
    by_rfc = runs("seeds=[1]", "policies=[none]", "topology.hops=3", *repair)[0]
    assert by_rfc.config["local_repair"] == "rfc3561" and "local_repair" not in aodv.config
    with pytest.raises(ExperimentError, match=r"routing\.local_repair.*is for aodv, not dsr"):
        runs("seeds=[1]", "policies=[none]", "topology.hops=3", "routing.protocol=dsr", repair[1])
    purge = runs("seeds=[1]", "policies=[none]", "topology.hops=3", "routing.link_failure=purge")[0]
    assert purge.config["link_failure"] == "purge" and "routing" not in purge.config
    dsr = runs("seeds=[1]", "policies=[none]", "topology.hops=3", "routing=dsr")[0]
    assert (dsr.config["routing"], dsr.config["link_failure"]) == ("dsr", "purge")
    gpsr = runs("seeds=[1]", "policies=[none]", "topology.hops=3", "routing=gpsr")[0]
    assert (gpsr.config["routing"], gpsr.config["link_failure"]) == ("gpsr", "purge")


def test_events_are_handed_on_in_order_of_time(runs):
    events = """
events:
  - {at_s: 7, kind: link_up, a: 1, b: 2}
  - {at_s: 5, kind: link_down, a: 1, b: 2}
  - {at_s: 8, kind: route, path: [0, 1, 2, 3], both_ways: false}
"""
    run = runs("seeds=[1]", "policies=[none]", "topology.hops=3", append=events)[0]
    assert run.config["events"] == [
        {"at_s": 5.0, "kind": "link_down", "a": 1, "b": 2},
        {"at_s": 7.0, "kind": "link_up", "a": 1, "b": 2},
        {"at_s": 8.0, "kind": "route", "path": [0, 1, 2, 3], "both_ways": False},
    ]


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ("{at_s: 5, kind: link_down, a: 1, b: 9}", "names node 9"),
        ("{at_s: 50, kind: link_down, a: 1, b: 2}", "the run ends"),
        ("{at_s: 5, kind: route, path: [0, 2, 3]}", "cannot hear each other"),
        ("{at_s: 5, kind: route, path: [0, 1, 0]}", "twice"),
        ("{at_s: 5, kind: moves, node: 1, x_m: 0, y_m: 0}", "moves"),
    ],
)
def test_an_event_that_cannot_be_is_refused(runs, event, problem):
    with pytest.raises(ExperimentError) as refused:
        runs("topology.hops=3", append=f"\nevents:\n  - {event}\n")
    assert problem in str(refused.value) and ".yaml:" in str(refused.value)


def test_a_route_may_lead_where_a_node_has_moved_before(runs):
    events = """
events:
  - {at_s: 4, kind: move, node: 3, x_m: 200, y_m: 200}
  - {at_s: 5, kind: route, path: [0, 1, 3]}
"""
    assert runs("seeds=[1]", "policies=[none]", "topology.hops=3", append=events)


def test_a_grid_has_a_flow_for_each_column_and_for_each_hop_along_its_rows(experiment):
    experiment.write_text(
        "name: grid\ntopology: {kind: grid, rows: 3, columns: 2}\nduration_s: 9\nflows:\n"
        "  - {kind: tcp, src: top, dst: bottom, stagger_s: 0.5}\n  - {kind: tcp, src: each, dst: right, start_s: 2}\n"
    )
    (run,) = resolve(load(experiment))
    flows = [(flow["src"], flow["dst"], flow["start_s"]) for flow in run.config["flows"]]
    assert flows == [(0, 4, 0.1), (1, 5, 0.6), (0, 1, 2), (2, 3, 2), (4, 5, 2)]
    assert all("stagger_s" not in flow for flow in run.config["flows"])  # runs of before keep their names


@pytest.mark.parametrize("ends", ["src: each, dst: bottom", "src: top, dst: last", "src: 0, dst: right"])
def test_words_of_a_grid_go_in_pairs_and_are_refused_elsewhere(experiment, ends):
    for topology in ("{kind: grid, rows: 3, columns: 2}", "{kind: chain, hops: 2}"):
        experiment.write_text(f"name: grid\ntopology: {topology}\nduration_s: 9\nflows:\n  - {{kind: tcp, {ends}}}\n")
        with pytest.raises(ExperimentError, match="names no flows of a"):
            resolve(load(experiment))


def test_rows_and_columns_are_words_of_grids_alone(experiment):
    experiment.write_text(
        "name: chain\ntopology: {kind: chain, hops: 2}\nduration_s: 9\nflows:\n  - {kind: tcp, src: top, dst: bottom}\n"
    )
    with pytest.raises(ExperimentError, match="names no flows of a chain"):
        resolve(load(experiment))
