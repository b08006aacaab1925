# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of paper 000's experiments tell what the paper says from what it does not, on made-up results."""

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from perhop import core
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


def verdicts(folder: str, results: Results | None, tmp_path: Path) -> dict[str, RowVerdict]:
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
    seeds: tuple[int, ...] = (1, 2, 3),
) -> Results:
    """Every chain, limit and seed; what is lost in each."""
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
        for hops, limit, seed in itertools.product(HOPS, LIMITS, seeds)
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
        (sweep(changed(12, 20, 2.72), noise=0.03), "fail"),
        (sweep(seeds=(1,)), "fail"),
    ],
    ids=[
        "best at 20",
        "flat",
        "not flat at 2 hops",
        "a limit of 1 may cost at 2 hops",
        "a fall within the noise",
        "one seed tells nothing",
    ],
)
def test_throughput_must_rise_and_fall_beyond_2_hops_and_be_flat_below(results, verdict, tmp_path):
    assert verdicts("cwl_sweep", results, tmp_path)["B-07"].verdict == verdict


def test_limits_that_the_seeds_cannot_tell_from_the_best_are_named(tmp_path):
    row = verdicts("cwl_sweep", sweep(changed(15, 4, 1 / 0.96)), tmp_path)["B-07"]
    assert "best at 15 hops: 4 (paper: 5), from which the seeds cannot tell: 5" in row.measured


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (sweep(mac=91.0, queue=9.0), "pass"),
        (sweep(mac=60.0, purged=40.0), "finding"),
        (sweep(mac=60.0, queue=10.0, purged=30.0), "fail"),
        (sweep(mac=80.0, queue=20.0), "fail"),
        (sweep(mac=0.0), "fail"),
        (sweep(window=lambda h, c: float(c)), "fail"),
        (sweep(window=lambda h, c: window_of_fig_7(h, c) + (3.9 if (h, c) == (12, 20) else 0)), "pass"),
        (sweep(window=lambda h, c: window_of_fig_7(h, c) + (4 if (h, c) == (12, 20) else 0)), "fail"),
        (sweep(window=lambda h, c: window_of_fig_7(h, c) + (2.2 if (h, c) >= (12, 12) and h == 12 else 0)), "finding"),
        (sweep(window=lambda h, c: window_of_fig_7(h, c) + (2.5 if (h, c) >= (12, 12) and h == 12 else 0)), "fail"),
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
        "the bend at twice the optimum",
        "too steep there",
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


@pytest.mark.parametrize(
    ("paced", "verdict"),
    [(1.09, "pass"), (0.91, "pass"), (1.10, "finding"), (1.19, "finding"), (1.21, "fail"), (0.89, "fail")],
)
def test_pacing_may_change_a_window_of_8_by_less_than_a_tenth(paced, verdict, tmp_path):
    flows = [
        {"hops": 15, "policy": policy, "seed": seed, "packets_per_s": 10.0 * factor}
        for limit in (1, 8)
        for policy, factor in ((f"cwl {limit}", 1.0), (f"cwl {limit} + paced", paced if limit == 8 else 1.0))
        for seed in (1, 2, 3)
    ]
    found = verdicts("cwl_pacing", Results(flows, [], []), tmp_path)["B-21"]
    assert found.verdict == verdict and bool(found.evidence) == (verdict == "finding")


def trace_of_a_link(folder: Path, second_at_us: int = 8000, mac_ack: bool = True) -> Results:
    """Two packets from node 0 to node 1: each 6000 us of DATA, its MAC ACK, done; the second may begin early."""
    first, second = 0x020000000001, 0x020000000002
    lines = []
    for sequence, at_us in ((1, 0), (2, second_at_us)):
        lines.append((at_us, f"T {at_us} {at_us + 6000} 0 2 1 1500 314 {second:012x} {first:012x} {sequence} 0"))
        if mac_ack or sequence == 1:
            lines.append((at_us + 6010, f"T {at_us + 6010} {at_us + 6314} 1 3 0 14 0 {first:012x} {first:012x} 0 0"))
        lines.append((at_us + 6314, f"C {at_us + 6314} 0 0 0 {sequence} 1500 1 0 " + "0 " * 22 + "0"))
    place = folder / "runs" / "one"
    place.mkdir(parents=True)
    (place / "trace.txt").write_text("".join(f"{line}\n" for _, line in sorted(lines)))
    swept = {"sweep.medium.cs_range_m": 550, "sweep.medium.capture_ratio_db": 10}
    return Results([{"run": "one", "label": "one", "hops": 1, **swept}], [], [])


@pytest.mark.parametrize(
    ("changed", "verdict", "said"),
    [
        ({}, "pass", "2 DATA frames"),
        ({"second_at_us": 6100}, "fail", "1 frames before the one ahead of them was done"),
        ({"mac_ack": False}, "fail", "1 packets done without their MAC ACK on the air"),
    ],
    ids=["one after the other", "before the MAC ACK", "done without a MAC ACK"],
)
def test_a_link_has_one_packet_until_its_mac_ack(changed, verdict, said, tmp_path):
    found = verdicts("spatial_reuse", trace_of_a_link(tmp_path, **changed), tmp_path)["B-03"]
    assert found.verdict == verdict and said in found.measured


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        (lambda flow, window: {}, "pass"),
        (lambda flow, window: {"packets_per_s": flow.packets_per_s * (1 + 0.01 * window)}, "fail"),
        (lambda flow, window: {"waiting_packets": 0.0}, "fail"),
    ],
    ids=["as the theorem", "more packets carry more", "no backlog"],
)
def test_a_pipeline_must_do_what_theorem_1_says(changed, verdict, monkeypatch):
    parts = load_check(EXPERIMENTS / "cwl_bounds" / "check.py").__globals__
    monkeypatch.setitem(parts, "RANDOM_PATHS", 1)
    right = parts["run"]

    def run(delays_s, window, count):
        flow = right(delays_s, window, count)
        return dataclasses.replace(flow, **changed(flow, window))

    monkeypatch.setitem(parts, "run", run)
    assert parts["_loose_bound"]().verdict == verdict


@pytest.mark.parametrize(("limit", "verdict"), [(lambda right: right, "pass"), (lambda right: 0, "fail")])
def test_the_limit_by_delays_is_never_below_1(limit, verdict, tmp_path, monkeypatch):
    right = core.Shim

    class Other:
        def __init__(self, **config):
            self.inner = right(**config)

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def cwl_packets(self, flow):
            return limit(self.inner.cwl_packets(flow))

    monkeypatch.setattr(core, "Shim", Other)
    check = load_check(EXPERIMENTS / "delay_probe" / "check.py")
    monkeypatch.setitem(check.__globals__, "CHAINS", 10)
    assert check(None, tmp_path).rows["B-12"].verdict == verdict


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


# --- B-24: the order of the bounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        (lambda packets: packets, "finding"),
        (lambda packets: packets * 0.7, "fail"),  # then the order would be a theorem
        (lambda packets: packets * 1.7, "fail"),  # then it would not hold on a chain either
    ],
)
def test_b24_the_order_holds_on_an_idle_chain_and_fails_where_tcp_acks_are_slow(changed, verdict, monkeypatch):
    parts = load_check(EXPERIMENTS / "cwl_bounds" / "check.py").__globals__
    right = core.delay_bound_packets
    monkeypatch.setattr(core, "delay_bound_packets", lambda path: changed(right(path)))
    found = parts["_order"]()
    assert found.verdict == verdict and bool(found.evidence) == (verdict == "finding")


# --- B-25: random paths ---------------------------------------------------------------------------------------------


def random_paths(far: int = 0, near_best: float = 0.97, positions: int = 20, hops_of_last: int = 8) -> Results:
    """Five pairs in each set of positions; `far` paths of all are best at the table's limit and three more.

    One packet more than the best, and six more, have a share `near_best` of the best.
    """
    rows, number = [], 0
    for place in range(1, positions + 1):
        for pair, hops in enumerate((2, 3, 5, 6, hops_of_last)):
            table = core.hop_table_limit_packets(2 * hops)
            top = table + (3 if number < far else 1)
            number += 1
            for limit in (1, 2, 3, 4, 5, 6, 8):
                pps = 50.0 if limit == top else 50 * near_best if limit > top else 40.0
                row = {"hops": hops, "policy": f"cwl {limit}", "packets_per_s": pps, "sweep.topology.seed": place}
                rows += [{**row, "sweep.flows": [{"src": 2 * pair}], "seed": seed} for seed in (1, 2)]
    return Results(rows, [], [])


@pytest.mark.parametrize(
    ("results", "verdict", "said"),
    [
        (random_paths(), "pass", "100% of 100 paths in 20 sets"),
        (random_paths(far=10), "pass", "90% of 100"),
        (random_paths(far=11), "fail", "89% of 100"),
        (random_paths(positions=19), "fail", "19 sets"),
        (random_paths(hops_of_last=9), "fail", "100% of 100"),
    ],
)
def test_b25_nine_of_ten_random_paths_need_no_larger_limit(results, verdict, said, tmp_path):
    found = verdicts("cwl_random", results, tmp_path)["B-25"]
    assert found.verdict == verdict and said in found.measured


def test_b25_the_best_limit_is_the_smallest_within_2_percent_of_the_highest():
    path = load_check(EXPERIMENTS / "cwl_random" / "check.py").__globals__["RandomPath"]
    assert path(1, 5, {1: 40.0, 2: 49.0, 3: 49.9, 8: 50.0}).best == 2
    assert path(1, 5, {1: 40.0, 2: 48.9, 3: 49.9, 8: 50.0}).best == 3
