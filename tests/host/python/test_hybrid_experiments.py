# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of paper 004's experiments (sim/experiments/hybrid_*): made-up results with one thing wrong must fail."""

from pathlib import Path

import pytest
from perhop.reproduce.transfers import contests
from perhop.study.check import load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def run_rows(run, ends, rates, starts=(0.1, 4.0), completions=(None, None), until_s=60.0, **swept):
    """Rows of a run whose flows have the same rate all the time: (flows, intervals)."""
    about = {"run": run, "label": run, "seed": 1, "policy": swept.pop("policy", "no limit")}
    about |= {f"sweep.{name}": value for name, value in swept.items()} | {"sweep.flows.1.start_s": starts[-1]}
    flows, intervals = [], []
    for index, ((src, dst), rate) in enumerate(zip(ends, rates, strict=True)):
        own = {"flow": index, "kind": "tcp", "src": src, "dst": dst}
        flows.append({**about, **own, "goodput_bps": rate, "completion_s": completions[index]})
        intervals += [
            {**about, **own, "t_start_s": float(t), "t_end_s": t + 1.0, "goodput_bps": rate}
            for t in range(int(until_s))
        ]
    return flows, intervals


def results_of(runs):
    flows, intervals = [], []
    for more_flows, more_intervals in runs:
        flows += more_flows
        intervals += more_intervals
    return Results(flows, [], intervals, [])


def test_a_contest_lasts_from_the_last_start_to_the_first_end():
    flows, intervals = run_rows("a", [(5, 0), (4, 5)], [300e3, 100e3], starts=(0.1, 4.5), completions=(20.0, None))
    for row in intervals:  # the second gets more when the first is through, which does not count
        if row["flow"] == 1 and row["t_start_s"] > 21:
            row["goodput_bps"] = 900e3
    (found,) = contests(Results(flows, [], intervals, []), 0.1)
    assert found.seconds == pytest.approx(20.1 - 4.5)
    assert found.rates_bps == pytest.approx((300e3, 100e3))
    assert found.share(1) == pytest.approx(0.25)


def test_a_first_file_that_was_through_before_the_second_began_is_no_contest():
    runs = [run_rows("a", [(5, 0), (4, 5)], [300e3, 100e3], completions=(3.0, None))]
    assert not list(contests(results_of(runs), 0.1))


CASES = {
    "mixed": ([(7, 0), (6, 7)], 8000000),
    "out": ([(0, 7), (6, 7)], 1000000),
    "in": ([(7, 0), (7, 6)], 8000000),
    "in_short": ([(7, 0), (7, 6)], 1000000),
}


@pytest.mark.parametrize(
    ("change", "s03", "s04"),
    [
        ({}, "pass", "pass"),
        ({"mixed": 0.25}, "fail", "pass"),
        ({"out": 0.35}, "pass", "fail"),
        ({"in": 0.2}, "pass", "fail"),
        ({"in_short": 0.2}, "pass", "pass"),
        ({"starts": 19}, "fail", "fail"),
    ],
)
def test_capture_check_sees_each_share(change, s03, s04, tmp_path):
    shares = {"mixed": 0.1, "out": 0.05, "in": 0.45, "in_short": 0.4} | change
    runs = []
    for start in range(change.get("starts", 20)):
        for case, (ends, size) in CASES.items():
            swept = {"flows": [{"transfer_bytes": size}], "wires.0.delay_ms": 30, "mac.rts_threshold_bytes": 0}
            rates = [600e3 * (1 - shares[case]), 600e3 * shares[case]]
            runs.append(run_rows(f"{case}{start}", ends, rates, starts=(0.1, 2 + 0.4 * start), **swept))
    found = load_check(EXPERIMENTS / "hybrid_capture" / "check.py")(results_of(runs), tmp_path)
    assert (found.rows["S-03"].verdict, found.rows["S-04"].verdict) == (s03, s04)
    assert found.passed == (s03 == s04 == "pass")


@pytest.mark.parametrize(
    ("out_at_10_ms", "out_at_30_ms", "verdict"),
    [
        ((0.05, 0.05), (0.05, 0.05), "pass"),
        ((0.20, 0.32), (0.05, 0.05), "finding"),  # Jain's index 0.81 ± 0.04
        ((0.27, 0.27), (0.05, 0.05), "fail"),  # 0.83 ± 0.00
        ((0.05, 0.05), (0.20, 0.32), "fail"),  # of the longer delay nothing is known
    ],
)
def test_s04_is_a_finding_where_the_shortest_delay_cannot_be_told_from_the_bound(
    out_at_10_ms, out_at_30_ms, verdict, tmp_path
):
    runs = []
    for delay_ms, out in ((10, out_at_10_ms), (30, out_at_30_ms)):
        for start in range(20):
            shares = {"mixed": 0.1, "out": out[start % 2], "in": 0.45, "in_short": 0.4}
            for case, (ends, size) in CASES.items():
                swept = {"flows": [{"transfer_bytes": size}], "wires.0.delay_ms": delay_ms}
                rates = [600e3 * (1 - shares[case]), 600e3 * shares[case]]
                about = {**swept, "mac.rts_threshold_bytes": 0}
                runs.append(run_rows(f"{case}{delay_ms}{start}", ends, rates, starts=(0.1, 2 + 0.4 * start), **about))
    found = load_check(EXPERIMENTS / "hybrid_capture" / "check.py")(results_of(runs), tmp_path).rows["S-04"]
    assert found.verdict == verdict and bool(found.evidence) == (verdict == "finding")


VIDEO_KBPS = (0, 80, 540, 800)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "pass"),
        ({80: (350e3, 0.9)}, "fail"),  # not harmless
        ({540: (405e3, 0.75)}, "fail"),  # does not hurt
        ({800: (150e3, 0.4)}, "fail"),  # hurts more than 540
        ({800: (240e3, 0.8)}, "fail"),  # does not block itself
    ],
)
def test_video_check_sees_each_relation(change, verdict, tmp_path):
    of = {0: (416e3, 1.0), 80: (400e3, 0.9), 540: (200e3, 0.75), 800: (240e3, 0.4)} | change
    flows, intervals = [], []
    for kbps, (tcp_bps, ratio) in of.items():
        about = {"run": f"v{kbps}", "label": "", "seed": 1, "sweep.wires.0.delay_ms": 30}
        flows.append({**about, "flow": 0, "kind": "tcp", "completion_s": 64e6 / tcp_bps, "goodput_bps": 1.0})
        if kbps:
            sent = 500 * kbps * 1e3 / 8 / 1460
            flows.append({**about, "flow": 1, "kind": "cbr", "completion_s": None, "sent_packets": sent})
            intervals.append(
                {**about, "flow": 1, "t_end_s": 100.0, "sent_packets": 100.0, "delivered_packets": 100 * ratio}
            )
            # When the file is through the video has the network for itself, which does not count.
            intervals.append({**about, "flow": 1, "t_end_s": 499.0, "sent_packets": 900.0, "delivered_packets": 900.0})
    runs = [{"run": f"v{kbps}", "measured_s": 500.0} for kbps in of]
    found = load_check(EXPERIMENTS / "hybrid_video" / "check.py")(Results(flows, [], intervals, runs), tmp_path)
    assert found.rows["S-05"].verdict == verdict
    assert found.passed == (verdict == "pass")


def window_results(change):
    """Sum in kb/s and the share of the flow out, by end of the wireless path and policy."""
    of = {}
    for end, first_fair in ((3, 1), (7, 2), (8, 3), (9, 5)):
        for window in range(1, 9):
            of[end, f"cwl {window}"] = (480 * min(1, window / first_fair), 0.42 if window < 6 else 0.2)
        of[end, "no limit"] = (480, 0.1)
        of[end, "delay"] = (470, 0.4)
    flows = []
    for (end, policy), (kbps, share) in (of | change).items():
        for seed in (1, 2):
            about = {"run": f"{end} {policy} {seed}", "policy": policy, "seed": seed, "cwl_packets": 3.0}
            ends = ((end, 0, 1 - share), (6, end, share))
            flows += [
                {**about, "flow": flow, "src": src, "dst": dst, "goodput_bps": kbps * 1e3 * part}
                for flow, (src, dst, part) in enumerate(ends)
            ]
    return Results(flows, [], [], [])


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        ({}, ("pass", "pass", "pass")),
        ({(9, f"cwl {window}"): (480, 0.1) for window in range(1, 9)}, ("pass", "pass", "finding")),
        ({(end, f"cwl {w}"): (480, 0.1) for end in (8, 9) for w in range(1, 9)}, ("fail", "pass", "finding")),
        ({(3, "cwl 1"): (100, 0.42), (3, "cwl 2"): (100, 0.42)}, ("fail", "fail", "pass")),
        ({(3, "cwl 1"): (470, 0.1), (3, "cwl 2"): (480, 0.1)}, ("fail", "fail", "pass")),
        ({(3, "no limit"): (505, 0.1)}, ("pass", "fail", "pass")),
        ({(7, "delay"): (400, 0.4)}, ("pass", "pass", "finding")),
        ({(9, "delay"): (470, 0.2)}, ("pass", "pass", "finding")),
        ({(end, "delay"): (400, 0.4) for end in (7, 8, 9)}, ("pass", "pass", "fail")),
    ],
)
def test_window_check_sees_speed_and_fairness(change, verdicts, tmp_path):
    found = load_check(EXPERIMENTS / "hybrid_window" / "check.py")(window_results(change), tmp_path)
    assert tuple(found.rows[row].verdict for row in ("S-06", "S-07", "S-09")) == verdicts
    assert bool(found.rows["S-09"].evidence) == (verdicts[2] == "finding")


@pytest.mark.parametrize(
    ("change", "s01", "s02"),
    [
        ({}, "pass", "pass"),
        ({"mixed": 0.2}, "pass", "fail"),
        ({"one_hop_s": None}, "fail", "pass"),
        ({"one_hop_s": 5.0}, "fail", "pass"),  # faster than the air
        ({"three_hops_s": 8.0}, "fail", "pass"),  # as fast as one hop
    ],
)
def test_testbed_check_sees_transfers_and_shares(change, s01, s02, tmp_path):
    of = {"mixed": 0.5, "one_hop_s": 8.0, "three_hops_s": 20.0} | change
    swept = {"flows": [{"transfer_bytes": 1000000}], "wires.0.delay_ms": 30}
    runs = [
        run_rows("a", [(7, 9)], [1e6], starts=(0.1,), completions=(of["one_hop_s"],), **swept),
        run_rows("b", [(0, 9)], [4e5], starts=(0.1,), completions=(of["three_hops_s"],), **swept),
    ]
    for name, ends in (("in", [(9, 7), (9, 8)]), ("out", [(7, 9), (8, 9)]), ("mixed", [(9, 7), (8, 9)])):
        share = of.get(name, 0.5)
        runs.append(run_rows(name, ends, [1e6 * (1 - share), 1e6 * share], starts=(0.1, 0.1), **swept))
    found = load_check(EXPERIMENTS / "hybrid_testbed" / "check.py")(results_of(runs), tmp_path)
    assert (found.rows["S-01"].verdict, found.rows["S-02"].verdict) == (s01, s02)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [({}, "pass"), ({"csma": 0.05}, "finding"), (dict.fromkeys(("sensed", "csma", "short", "delay"), 0.05), "fail")],
)
def test_causes_check_tells_which_do_not_matter(change, verdict, tmp_path):
    share = {"base": 0.1, "sensed": 0.3, "csma": 0.3, "short": 0.3, "delay": 0.4} | change
    runs = []
    for name, part in share.items():
        about = {
            "medium.cs_range_m": 1300 if name == "sensed" else 550,
            "mac.access_mode": "csma" if name == "csma" else "dcf",
            "flows": [{"max_rto_ms": 400} if name == "short" else {}],
            "policy": "delay" if name == "delay" else "no limit",
        }
        runs.append(run_rows(name, [(7, 0), (6, 7)], [5e5 * (1 - part), 5e5 * part], **about))
    found = load_check(EXPERIMENTS / "hybrid_causes" / "check.py")(results_of(runs), tmp_path)
    assert found.rows["S-08"].verdict == verdict
    assert ("back-off" in found.rows["S-08"].evidence) == (verdict == "finding")
