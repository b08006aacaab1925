# SPDX-License-Identifier: GPL-2.0-or-later
"""CBR and EXACT flows in experiment files, and the checks of rows X-13 to X-16 on made-up records."""

import pytest
from perhop import paths
from perhop.errors import ExperimentError
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.experiment.words import swept_word
from perhop.study import exact_logs
from perhop.study.check import load_check
from perhop.study.exact_logs import Signal
from perhop.study.summaries import Mean

TWO_FLOWS = """\
name: two
topology: {kind: chain, hops: 3}
flows:
  - {kind: exact, application: audio, payload_bytes: 300}
  - {kind: cbr, rate_bps: 64000, src: last, dst: first}
duration_s: 10
warmup_s: 2
"""


@pytest.fixture
def runs(tmp_path):
    """Resolve TWO_FLOWS with --set overrides."""
    file = tmp_path / "two.yaml"
    file.write_text(TWO_FLOWS)
    return lambda *overrides: resolve(load(file, overrides, False))


def check_module(name):
    """What an experiment's check.py defines."""
    return load_check(paths.repository() / "sim" / "experiments" / name / "check.py").__globals__


def test_flows_over_udp_run_in_ns3_and_need_no_policy(runs):
    run = runs()[0]
    assert run.program == "perhop-sim"
    assert run.label == "h=3 seed=1"
    exact, cbr = run.config["flows"]
    assert (exact["kind"], exact["application"], exact["diid_s"], exact["src"], exact["dst"]) == (
        "exact",
        "audio",
        5,
        0,
        3,
    )
    assert (cbr["kind"], cbr["rate_bps"], cbr["payload_bytes"], cbr["src"], cbr["dst"]) == ("cbr", 64000, 1000, 3, 0)
    assert "policy" not in exact and "policy" not in cbr


def test_the_section_exact_is_for_runs_with_exact_flows(runs):
    assert runs("exact.mode=m1")[0].config["exact"] == {
        "mode": "m1",
        "fairness": "rate",
        "eta": 0.9,
        "interval_ms": 100,
        "hello_interval_ms": 500,
        "packets": False,
        "silent_routers": [],
    }
    assert "exact" not in runs("flows=[{kind: cbr, rate_bps: 1000}]")[0].config


def test_a_silent_router_is_a_node_of_the_topology(runs):
    assert runs("exact.silent_routers=[1, 2]")[0].config["exact"]["silent_routers"] == [1, 2]
    with pytest.raises(ExperimentError, match="silent_routers"):
        runs("exact.silent_routers=[4]")


def test_swept_flows_and_events_are_told_by_their_kinds():
    assert swept_word([{"kind": "tcp"}, {"kind": "exact"}, {"kind": "tcp"}]) == "exact and tcp"
    assert swept_word([]) == "none"
    assert swept_word({"kind": "ring", "nodes": 5}) == "ring"
    assert swept_word([1, 2]) == [1, 2]
    assert swept_word(2.5) == 2.5


def write_packets(run, *rows):
    run.mkdir()
    lines = ["t_us,node,flow,sequence,arrived_bps,allocation_bps,sent_bps", *rows]
    (run / "exact_packets.csv").write_text("\n".join(lines) + "\n")


def test_x13_takes_the_least_allocation_rounded_down_and_nothing_else(tmp_path):
    conformance = check_module("exact_chain")["conformance"]
    passed = ("1,0,0,7,2000000,900000,899000", "2,1,0,7,899000,700000,699904")
    write_packets(tmp_path / "good", *passed, "3,2,0,7,699904,,699904")
    assert conformance(tmp_path / "good") == (1, 0)
    write_packets(tmp_path / "not the least", *passed, "3,2,0,7,899000,,899000")
    assert conformance(tmp_path / "not the least") == (1, 1)
    write_packets(tmp_path / "too little", *passed, "3,2,0,7,650000,,650000")
    assert conformance(tmp_path / "too little") == (1, 1)
    write_packets(tmp_path / "raised", "1,0,0,7,500000,900000,899500", "2,1,0,7,899500,,899500")
    assert conformance(tmp_path / "raised") == (1, 1)
    write_packets(tmp_path / "lost", *passed)
    assert conformance(tmp_path / "lost") == (0, 0)


def test_x13s_rate_of_the_channel_time_falls_with_the_hops_up_to_four():
    share_bps = check_module("exact_chain")["share_bps"]
    assert share_bps(1) == pytest.approx(1.306e6, rel=0.01)
    assert share_bps(2) == pytest.approx(share_bps(1) / 2)
    assert share_bps(10) == share_bps(4) == pytest.approx(share_bps(1) / 4)


def test_x14s_percentile_is_the_value_that_so_many_do_not_exceed():
    percentile = check_module("exact_reroute")["percentile"]
    values = [float(value) for value in range(1, 101)]
    assert percentile(values, 95) == 95
    assert percentile(values, 50) == 50
    assert percentile([3.0], 95) == 3


def test_x14_finds_when_the_sender_first_uses_a_rate_of_the_new_path(tmp_path):
    check = check_module("exact_reroute")
    run = tmp_path / "run"
    # The first change, at 4 s, to four hops: a packet leaves at 4.1 s, arrives with 100, and is reported at 4.15 s.
    write_packets(
        run,
        *(f"{4100000 + node * 10},{node},0,1,200,100,100" for node in (0, 4, 5, 6)),
        "4140000,3,0,1,100,,100",
    )
    (run / "signals.csv").write_text(
        "t_us,flow,signal_bps,allowed_bps,app_bps,hops\n4000000,0,200,200,200,3\n4120000,0,190,190,190,3\n"
        "4150000,0,100,100,100,4\n"
    )
    first = check["reroutes"](run, 60.0)[0]
    assert first.learnt_ms == pytest.approx(50)
    assert first.settled_ms == pytest.approx(150)
    assert check["reroutes"](run, 60.0)[1].learnt_ms is None, "nothing left after the second change"


def test_x15_jains_index_and_the_share_delivered():
    check = check_module("exact_against_tcp")
    assert check["jain"]([5.0, 5.0, 5.0]) == pytest.approx(1)
    assert check["jain"]([9.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    tcp = {"kind": "tcp", "delivered_packets": 90.0, "retransmissions": 10.0, "loss_share": None}
    exact = {"kind": "exact", "delivered_packets": 300.0, "loss_share": 0.25}
    assert check["delivered_share"]([tcp]) == pytest.approx(0.9)
    assert check["delivered_share"]([exact]) == pytest.approx(0.75)
    assert check["delivered_share"]([tcp, {**tcp, "delivered_packets": 1.0}]) == pytest.approx(91 / 111)


def seen(*rows):
    return [Signal(round(t_s * 1e6), signal, allowed, min(app, allowed), 3) for t_s, signal, allowed, app in rows]


def test_x16_every_broken_rule_of_diid_is_counted():
    broken = check_module("exact_audio")["broken"]
    good = seen((0, 80, 80, 70), (1, 120, 80, 70), (3, 100, 80, 70), (6, 150, 100, 90), (7, 60, 60, 50))
    assert broken(good) == {"above": 0, "early": 0, "increases": 1, "decreases": 1}
    assert broken(seen((0, 80, 90, 70)))["above"] == 1
    assert broken(seen((0, 80, 80, 70), (1, 120, 110, 70), (3, 120, 110, 70)))["early"] == 1, "before 5 s are over"
    late = seen((0, 80, 80, 70), (1, 120, 80, 70), (3, 100, 80, 70), (6.5, 150, 120, 90))
    assert broken(late)["early"] == 1, "above the least signal of the last 5 s"


@pytest.mark.parametrize(
    ("steps", "left", "verdict", "said"),
    [
        ([[400, 0, 0], [200, 200, 0], [125, 125, 80]], 0.3, "pass", "400 kb/s alone, then 0.50 and 0.31 of it"),
        ([[400, 0, 0], [250, 230, 0], [125, 125, 80]], 0.3, "fail", "the first of 2 flows keeps 0.62"),
        ([[400, 0, 0], [200, 200, 0], [80, 80, 80]], 0.3, "fail", "the first of 3 flows keeps 0.20"),
        ([[400, 0, 0], [200, 170, 0], [125, 125, 80]], 0.3, "fail", "200 and 170 kb/s"),
        ([[400, 0, 0], [200, 200, 0], [125, 125, 80]], 0.5, "fail", "0.50 of the quality changes are left"),
    ],
)
def test_x17_the_steps_of_the_test_bed_are_a_half_and_a_third(steps, left, verdict, said):
    judge = check_module("exact_audio")["test_bed"]
    patterns = ("no LAN", "long bursts", "short bursts")
    found = judge(dict.fromkeys(patterns, steps), dict.fromkeys(patterns, left))
    assert found.verdict == verdict and said in found.measured
    assert judge({"no LAN": steps}, {"no LAN": left}).verdict == "fail", "patterns are missing"


def test_what_held_at_a_moment_is_the_last_signal_before_it():
    series = seen((1, 80, 80, 70), (2, 90, 90, 70))
    assert exact_logs.at(series, 999_999) is None
    assert exact_logs.at(series, 1_999_999) == series[0]
    assert exact_logs.at(series, 2_000_000) == series[1]


def test_e04_a_leave_has_no_more_time_than_a_join():
    join_leave = check_module("exact_rules")["join_leave"]
    bound_s = 2 * 0.03 + 0.1

    def found(join_s, leave_s):
        cell = {"join_s": [0.02, join_s], "leave_s": [0.02, leave_s], "round_trip_s": 0.03, "interval_s": 0.1}
        return {"m1": cell, "m2": cell}

    assert join_leave(found(bound_s, bound_s)).verdict == "pass"
    assert join_leave(found(bound_s + 0.001, bound_s)).verdict == "fail"
    assert join_leave(found(bound_s, bound_s + 0.001)).verdict == "fail", "not a feedback interval more"


def test_e07_five_seconds_are_five_seconds():
    soft_state = check_module("exact_rules")["soft_state"]
    assert soft_state({"quick_flows_s": 5.0, "slow_flows_s": 5.0}).verdict == "pass"
    assert soft_state({"quick_flows_s": 5.01, "slow_flows_s": 5.0}).verdict == "fail"
    assert soft_state({"quick_flows_s": 5.0, "slow_flows_s": 5.01}).verdict == "fail"


def test_x14_judges_both_ways_to_allocate():
    judged = check_module("exact_reroute")["judged"]
    count, settled, bound = {"m2": 92, "m1": 92}, {"m2": 500.0, "m1": 900.0}, {"m2": 280.0, "m1": 290.0}
    assert judged({"m2": 280.0, "m1": 290.0}, bound, count, settled, "").verdict == "pass"
    assert judged({"m2": 281.0, "m1": 290.0}, bound, count, settled, "").verdict == "finding"
    assert judged({"m2": 280.0, "m1": 291.0}, bound, count, settled, "").verdict == "finding"
    assert judged({"m2": 280.0}, bound, count, settled, "").verdict == "finding", "M1 was not run"


def test_x15_judges_both_measures_in_both_scenes():
    check = check_module("exact_against_tcp")
    scenes = (check["AT_REST"], check["REROUTED"])

    def verdict(lowered=None):
        measured = {
            name: {(scene, kind): value(0.9 if kind == "exact" else 0.8) for scene in scenes for kind in check["KINDS"]}
            for name in ("jain", "delivered")
        }
        if lowered is not None:
            name, scene = lowered
            measured[name][scene, "exact"] = value(0.8)
        return check["judged"](measured, "", "").verdict

    def value(number):
        return Mean(number, 0.0, 5)

    assert verdict() == "pass"
    for name in ("jain", "delivered"):
        for scene in scenes:
            assert verdict((name, scene)) == "finding", f"{name} only equals TCP's: {scene}"


def test_x16_judges_each_pattern_under_m1_and_every_broken_rule():
    check = check_module("exact_audio")
    patterns = [f"pattern {number}" for number in range(check["PATTERNS"])]
    obeyed = {"above": 0, "early": 0, "increases": 9, "decreases": 9}

    def verdict(rules=obeyed, share=(), ratio=(), of=patterns):
        cells = [(pattern, mode) for pattern in of for mode in ("m1", "m2")]
        shares = {**dict.fromkeys(cells, 0.29), **dict(share)}
        ratios = {**dict.fromkeys(cells, 0.99), **dict(ratio)}
        return check["judged"](rules, shares, ratios, "").verdict

    assert verdict() == "pass"
    assert verdict({**obeyed, "above": 1}) == "finding"
    assert verdict({**obeyed, "early": 1}) == "finding"
    assert verdict(share=[((patterns[-1], "m1"), 0.3)]) == "finding", "below 0.3 is asked for, in each pattern"
    assert verdict(ratio=[((patterns[-1], "m1"), 1.0)]) == "finding", "a mean below the signal's is asked for"
    assert verdict(of=patterns[:-1]) == "finding", "a pattern was not run"


def test_e09_a_false_rate_gains_nothing_at_all():
    liar = check_module("exact_rules")["liar"]
    nothing = [{"gain": 0.0, "harm": 0.0}]
    assert liar({"m1": nothing, "m2": nothing}).verdict == "pass"
    assert liar({"m1": [{"gain": 0.001, "harm": 0.0}], "m2": nothing}).verdict == "finding"
    assert liar({"m1": nothing, "m2": [{"gain": 0.001, "harm": 0.0}]}).verdict == "finding"


def test_x19_tells_state_beside_cost():
    scaling = check_module("exact_cost")["scaling"]
    cell = {"cpu_share": 0.001, "state_bytes": 204800}
    found = scaling({mode: {flows: cell for flows in ("10", "100", "1000")} for mode in ("m1", "m2")})
    assert found.verdict == "pass"
    assert "M2 200, 200, 200" in found.measured
    dear = {**cell, "cpu_share": 0.05}
    assert scaling({"m1": {"10": cell, "1000": cell}, "m2": {"10": cell, "1000": dear}}).verdict == "fail"
