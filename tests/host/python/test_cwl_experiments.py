# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of paper 000's experiments tell what the paper says from what it does not, on made-up results."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from perhop.study.check import RowVerdict, load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"
HOPS = (1, 2, 3, 5, 6, 8, 10, 12, 15)
LIMITS = (1, 2, 3, 4, 5, 6, 8, 12, 20)
BEST = {3: 1, 5: 2, 6: 2, 8: 3, 10: 3, 12: 4, 15: 5}
DROPS = (
    "mac_drops_data_packets",
    "mac_drops_tcp_ack_packets",
    "queue_drops_data_packets",
    "queue_drops_tcp_ack_packets",
)


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def verdicts(folder: str, results: Results, tmp_path: Path) -> dict[str, RowVerdict]:
    return load_check(EXPERIMENTS / folder / "check.py")(results, tmp_path).rows


def rate_of_fig_5(hops: int, limit: int) -> float:
    """Packets/s: flat up to 2 hops; then 4 % less for each step off the best."""
    return 100.0 / hops if hops <= 2 else 100.0 / hops * (1 - 0.04 * abs(limit - BEST[hops]))


def window_of_fig_7(hops: int, limit: int) -> float:
    """Grows with the limit up to twice the best, then stays."""
    return float(limit if hops <= 2 else min(limit, 2 * BEST[hops]))


def sweep(
    rate: Callable[[int, int], float] = rate_of_fig_5,
    window: Callable[[int, int], float] = window_of_fig_7,
    noise: float = 0.002,
    mac: float = 100.0,
    queue: float = 0.0,
    purged: float = 0.0,
) -> Results:
    """Three seeds of every chain and limit; what is lost in each."""
    flows = [
        {
            "hops": hops,
            "policy": f"cwl {limit}",
            "seed": seed,
            "packets_per_s": rate(hops, limit) * (1 + noise * ((seed * limit) % 3 - 1)),
            "cwnd_packets": window(hops, limit),
            **dict(zip(DROPS, (mac, 0.0, queue, 0.0), strict=True)),
            "link_failure_drops_packets": purged,
        }
        for hops, limit, seed in itertools.product(HOPS, LIMITS, (1, 2, 3))
    ]
    return Results(flows, [], [])


def changed(hops: int, limit: int, factor: float) -> Callable[[int, int], float]:
    return lambda h, c: rate_of_fig_5(h, c) * (factor if (h, c) == (hops, limit) else 1)


def test_the_shapes_of_fig_5_to_7_pass(tmp_path):
    rows = verdicts("cwl_sweep", sweep(), tmp_path)
    assert {name: row.verdict for name, row in rows.items()} == dict.fromkeys(("B-06", "B-07", "B-10", "B-23"), "pass")


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (sweep(changed(8, 20, 4.0)), "fail"),
        (sweep(lambda h, c: 100.0 / h), "fail"),
        (sweep(changed(2, 12, 0.95)), "fail"),
        (sweep(changed(2, 1, 0.80)), "pass"),
    ],
    ids=["best at 20", "flat", "not flat at 2 hops", "a limit of 1 may cost at 2 hops"],
)
def test_throughput_must_rise_and_fall_beyond_2_hops_and_be_flat_below(results, verdict, tmp_path):
    assert verdicts("cwl_sweep", results, tmp_path)["B-07"].verdict == verdict


def test_limits_that_the_seeds_cannot_tell_from_the_best_are_named(tmp_path):
    row = verdicts("cwl_sweep", sweep(changed(15, 4, 1 / 0.96)), tmp_path)["B-07"]
    assert "best at 15 hops: 4 (paper: 5), from which the seeds cannot tell: 5" in row.measured
    row = verdicts("cwl_sweep", sweep(changed(15, 4, 1 / 0.96), noise=0.5), tmp_path)["B-07"]
    assert "they cannot tell CWL 20 from the best at h = 3" in row.measured


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (sweep(mac=91.0, queue=9.0), "pass"),
        (sweep(mac=60.0, purged=40.0), "finding"),
        (sweep(mac=60.0, queue=10.0, purged=30.0), "fail"),
        (sweep(mac=80.0, queue=20.0), "fail"),
        (sweep(mac=0.0), "fail"),
        (sweep(window=lambda h, c: float(c)), "fail"),
        (sweep(window=lambda h, c: window_of_fig_7(h, c) + (5.9 if (h, c) == (12, 20) else 0)), "pass"),
        (sweep(window=lambda h, c: window_of_fig_7(h, c) + (6 if (h, c) == (12, 20) else 0)), "fail"),
        (sweep(window=lambda h, c: min(window_of_fig_7(h, c), BEST[h] if h > 2 else c)), "fail"),
    ],
    ids=[
        "MAC above 90 %",
        "purged behind the MAC's",
        "a tenth by full queues",
        "a fifth by full queues",
        "nothing lost",
        "never flat",
        "a slope just below",
        "a slope of one half",
        "never above the optimum",
    ],
)
def test_all_packets_lost_count_and_the_window_is_flat_above_the_optimum(results, verdict, tmp_path):
    found = verdicts("cwl_sweep", results, tmp_path)["B-10"]
    assert found.verdict == verdict
    assert bool(found.evidence) == (verdict == "finding")


def test_a_chain_plot_without_a_baseline_of_the_literature_fails(tmp_path, monkeypatch):
    check = load_check(EXPERIMENTS / "cwl_sweep" / "check.py")
    right = check.__globals__["load"]

    def without_4(file, quick):
        points = right(file, quick=quick)
        for point in points:
            if point.experiment.name == "cwl_hop_delay" and not quick:
                point.experiment.policies[:] = ["hop", "delay", "fixed 1..3", "fixed 8"]
        return points

    monkeypatch.setitem(check.__globals__, "load", without_4)
    found = check(sweep(), tmp_path).rows["B-23"]
    assert found.verdict == "fail"
    assert "cwl_hop_delay: no h/4 at h = 15" in found.measured


@pytest.fixture
def drawn(monkeypatch) -> list:
    """The figures that a check draws."""
    figures = []
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: figures.append(figure) or "<svg/>")
    return figures


def test_the_baselines_are_in_the_plots_over_limits(drawn, tmp_path):
    verdicts("cwl_sweep", sweep(), tmp_path)
    over_limits = [axis for figure in drawn for axis in figure.axes if "limit" in axis.get_xlabel()]
    assert len(over_limits) == 4, "Fig. 5 and 7, two panels each"
    for axis in over_limits:
        upright = {line.get_xdata()[0] for line in axis.lines if len(set(line.get_xdata())) == 1}
        assert {1, 2, 8} <= upright
        assert any(line.get_marker() == "o" and line.get_markerfacecolor() == "none" for line in axis.lines), "h/4"
    (over_hops,) = (axis for figure in drawn for axis in figure.axes if "hops" in axis.get_xlabel())
    assert {"fixed 8", "fixed 1 to 2", "h/4"} <= set(over_hops.get_legend_handles_labels()[1])


def test_the_baselines_are_in_the_plots_over_hops(drawn, tmp_path):
    verdicts("cwl_hop_delay", hop_delay(), tmp_path)
    assert len(drawn) == 3
    for figure in drawn:
        assert {"fixed 1", "fixed 2", "h/4", "fixed 8"} <= set(figure.axes[0].get_legend_handles_labels()[1])


def hop_delay(
    fill: float = 0.97, in_flight_more: float = 0.0, delay_at_2: float = 1.0, delay_at_6: float = 2.0
) -> Results:
    """Limits by hops and by delay; how far the window fills them, and packets in flight beyond the limit by hops."""
    by_hops = {1: 2.0, 2: 2.0, 3: 1.0, 5: 2.0, 6: 2.0, 8: 3.0, 10: 3.0, 12: 4.0, 15: 5.0}
    by_delay = {**by_hops, 1: 1.0, 2: delay_at_2, 6: delay_at_6}
    flows = []
    for hops in HOPS:
        limits = {"hop": by_hops[hops], "delay": by_delay[hops], **{f"cwl {c}": float(c) for c in (1, 2, 3, 4, 8)}}
        flows += [
            {
                "hops": hops,
                "policy": policy,
                "seed": seed,
                "packets_per_s": 100.0 / hops,
                "cwl_packets": limit,
                "cwnd_packets": limit * fill,
                "rtt_ms": 10.0 * hops * limit,
                "max_packets_in_flight": limit + (in_flight_more if policy == "hop" else 1.0),
            }
            for policy, limit in limits.items()
            for seed in (1, 2)
        ]
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("results", "row", "verdict"),
    [
        (hop_delay(), "B-15", "pass"),
        (hop_delay(fill=0.849), "B-15", "fail"),
        (hop_delay(fill=1.001), "B-15", "fail"),
        (hop_delay(in_flight_more=1.0), "B-15", "fail"),
        (hop_delay(), "B-13", "pass"),
        (hop_delay(delay_at_2=1.004), "B-13", "fail"),
        (hop_delay(delay_at_6=2.004), "B-13", "fail"),
    ],
)
def test_limits_and_windows_of_fig_8(results, row, verdict, tmp_path):
    assert verdicts("cwl_hop_delay", results, tmp_path)[row].verdict == verdict


def limited(
    folder: Path, most: float = 8.0, at_44: str = "free", growth_below: float = 1.0, grows_from: int = 1
) -> Results:
    """Runs with limits of 5, 8 and 44 and without: windows that grow by one in 10 ms up to the limit."""
    flows, intervals = [], []
    for policy, limit in (("cwl 5", 5), ("cwl 8", 8), ("cwl 44", 44), ("no limit", 44)):
        run = {"run": policy.replace(" ", "-"), "label": policy, "policy": policy, "hops": 1, "seed": 1}
        place = folder / "runs" / run["run"]
        place.mkdir(parents=True)
        name = {"cwl 44": at_44, "no limit": "free"}.get(policy, policy)
        place.joinpath("result.json").write_text(f'{{"trace_hash": "{name}"}}')
        flows.append({**run, "max_packets_in_flight": most if policy == "cwl 8" else float(limit)})
        for index in range(60):
            window = min(limit, 1 + index * (growth_below if policy == "cwl 8" and index >= grows_from else 1.0))
            intervals.append({**run, "cwnd_packets": window, "goodput_bps": 1e6})
    return Results(flows, [], intervals)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "pass"),
        ({"most": 9.0}, "fail"),
        ({"at_44": "another"}, "fail"),
        ({"growth_below": 0.9}, "fail"),
        ({"growth_below": 0.9, "grows_from": 5}, "fail"),
        ({"growth_below": 0.9, "grows_from": 30}, "pass"),
    ],
    ids=["holds", "one more in flight", "44 is another run", "grows slower", "slower from 6 on", "slower at the limit"],
)
def test_a_limit_caps_the_window_and_leaves_it_alone_below(changed, verdict, tmp_path):
    assert verdicts("window_limit", limited(tmp_path, **changed), tmp_path)["B-01"].verdict == verdict
