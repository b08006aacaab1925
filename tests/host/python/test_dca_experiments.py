# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of paper 001's experiments tell what the paper says from what it does not, on made-up results."""

from collections.abc import Callable
from pathlib import Path

import pytest
from perhop.study.check import RowVerdict, load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"
WINDOWS = (1, 2, 3, 4, 5, 6, 8, 12, None)
# kb/s at w = 1 that a chain of 802.11b carries; more than every fourth hop is never in use.
STANDARD_KBPS = {1: 1060, 2: 530, 3: 348, 4: 247, 5: 216, 7: 187, 9: 177, 10: 174, 12: 168, 15: 164}


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def verdicts(folder: str, results: Results, tmp_path: Path) -> dict[str, RowVerdict]:
    return load_check(EXPERIMENTS / folder / "check.py")(results, tmp_path).rows


def label(window: int | None) -> str:
    return "no limit" if window == 1 else f"dca {window or 'cwnd'} no resend"


def chain(gain: Callable[[int, int | None], float], drops: int = 0, ratio: float = 1.0) -> Results:
    """Five seeds, 0.2 % apart, of every chain and window."""
    flows = [
        {
            "hops": hops,
            "policy": label(window),
            "seed": seed,
            "goodput_bps": kbps * 1e3 * (1 + gain(hops, window)) * (1 + 0.002 * (seed - 3)),
            "mac_drops_data_packets": drops,
            "tcp_acks_per_packet": ratio / (window or 40),
        }
        for hops, kbps in STANDARD_KBPS.items()
        for window in WINDOWS
        for seed in range(1, 6)
    ]
    return Results(flows, [], [])


def as_the_paper(hops: int, window: int | None) -> float:
    """Up to w = cwnd on short chains, best at 5 on middle ones, at 3 on long ones, where much is worse than none."""
    place = WINDOWS.index(window)
    if hops <= 5:
        return 0.25 * (1 - 0.5**place)
    top = WINDOWS.index(5) if hops < 10 else WINDOWS.index(3)
    return 0.15 - 0.06 * abs(place - top) if place else 0.0


def test_the_shapes_of_fig_2_pass(tmp_path):
    rows = verdicts("dca_chain", chain(as_the_paper), tmp_path)
    assert {row: verdict.verdict for row, verdict in rows.items()} == dict.fromkeys(
        ("D-07", "D-08", "D-09", "D-10", "D-11", "D-29"), "pass"
    )


@pytest.mark.parametrize(
    ("row", "gain", "verdict"),
    [
        ("D-08", lambda h, w: -0.05 if (h, w) == (2, 8) else as_the_paper(h, w), "fail"),
        ("D-09", lambda h, w: 0.05 if h == 1 and w is None else as_the_paper(h, w), "fail"),
        ("D-09", lambda h, w: 0.34 if h == 3 and w is None else as_the_paper(h, w), "fail"),
        ("D-10", lambda h, w: -0.01 if h == 5 and w is None else as_the_paper(h, w), "fail"),
        ("D-10", lambda h, w: 0.2 if h == 7 and w is None else as_the_paper(h, w), "fail"),
        ("D-11", lambda h, w: 0.5 / h if h >= 10 and w is None else as_the_paper(h, w), "finding"),
        ("D-11", lambda h, w: 0.14 if h >= 10 and w is None else as_the_paper(h, w), "fail"),
        ("D-11", lambda h, w: 0.3 if h >= 10 and w == 8 else as_the_paper(h, w), "fail"),
        ("D-29", lambda h, w: 0.3 if w is None else as_the_paper(h, w), "fail"),
    ],
)
def test_another_shape_than_fig_2_does_not_pass(row, gain, verdict, tmp_path):
    found = verdicts("dca_chain", chain(gain), tmp_path)[row]
    assert found.verdict == verdict
    assert bool(found.evidence) == (verdict == "finding")


def test_a_packet_lost_by_the_mac_on_a_short_chain_fails(tmp_path):
    assert verdicts("dca_chain", chain(as_the_paper, drops=1), tmp_path)["D-08"].verdict == "fail"


def test_a_receiver_that_does_not_thin_fails_the_harness(tmp_path):
    assert verdicts("dca_chain", chain(as_the_paper, ratio=1.5), tmp_path)["D-07"].verdict == "fail"


def bursts(lost_share: Callable[[int], float], count: int = 600) -> Results:
    rows = [
        {
            "sweep.mac.short_retry_limit": attempts,
            "sweep.flows": [{"kind": "cbr", "burst_packets": w}],
            "t_start_s": 10.0,
            "sent_packets": float(w),
            "delivered_packets": float(w - (burst < lost_share(w) * count)),
        }
        for attempts in (7, 8)
        for w in range(1, 13)
        for burst in range(count)
    ]
    return Results([], [], rows)


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (bursts(lambda w: 0.0), "pass"),
        (bursts(lambda w: 0.02 if w == 3 else 0.0), "fail"),
        (bursts(lambda w: 0.0, count=400), "fail"),
    ],
)
def test_bursts_must_be_many_and_not_below_the_bound(results, verdict, tmp_path):
    rows = verdicts("burst_loss", results, tmp_path)
    assert rows["D-19"].verdict == verdict
    assert {rows[row].verdict for row in ("D-15", "D-16", "D-17", "D-18")} == {"pass"}


def rivals(dca_over_daa: Callable[[int, int], float]) -> Results:
    """Standard 200 kb/s, DCA 25 % more, DCA with a small window the same."""
    flows = []
    for hops in (3, 5, 7):
        for count in (1, 2, 5):
            rates = {
                "no limit": 200e3,
                "dca": 250e3,
                "cwl 4 + dca": 250e3,
                "daa": 250e3 / (1 + dca_over_daa(hops, count)),
            }
            flows += [
                {
                    "hops": hops,
                    "policy": policy,
                    "seed": seed,
                    "sweep.flows": [{"kind": "tcp"}] * count,
                    "goodput_bps": rate / count,
                }
                for policy, rate in rates.items()
                for seed in (1, 2)
                for _ in range(count)
            ]
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("over_daa", "verdict"),
    [
        (lambda hops, count: 0.12, "pass"),
        (lambda hops, count: -0.03 if hops >= 5 and count > 1 else 0.12, "finding"),
        (lambda hops, count: -0.10 if hops >= 5 and count > 1 else 0.12, "fail"),
        (lambda hops, count: -0.03 if count > 1 else 0.12, "fail"),
        (lambda hops, count: 0.02, "fail"),
    ],
)
def test_dca_beside_daa_is_a_finding_only_for_the_deviation_that_has_evidence(over_daa, verdict, tmp_path):
    found = verdicts("dca_rivals", rivals(over_daa), tmp_path)["D-24"]
    assert found.verdict == verdict
    assert bool(found.evidence) == (verdict == "finding")


@pytest.mark.parametrize(("gain_without", "verdict"), [(0.16, "pass"), (0.30, "fail")])
def test_without_rts_for_tcp_acks_the_gain_must_be_smaller(gain_without, verdict, tmp_path):
    flows = [
        {
            "hops": hops,
            "policy": policy,
            "seed": seed,
            "sweep.mac.rts_threshold_bytes": threshold,
            "goodput_bps": base * (1 + (gained if policy != "no limit" else 0)),
        }
        for hops in (1, 5)
        for threshold, base, gained in ((0, 1000e3, 0.25), (256, 1100e3, gain_without))
        for policy in ("no limit", "dca cwnd no resend")
        for seed in (1, 2)
    ]
    assert verdicts("dca_rts_threshold", Results(flows, [], []), tmp_path)["D-12"].verdict == verdict


def growth(packets_a_tcp_ack: float) -> Results:
    """A window that grows evenly, 100 packets/s, in intervals of 0.1 s; in the first there is no connection yet."""
    flows, intervals = [], []
    for window in (1, 2, 4):
        run = {"run": f"w{window}", "policy": label(window)}
        flows.append({**run, "retransmissions": 0.0, "delivered_packets": 290.0})
        for index in range(30):
            grown = packets_a_tcp_ack * (index + 0.5) * 0.1 * 100 / window
            times = {"t_start_s": index * 0.1, "t_end_s": (index + 1) * 0.1}
            intervals.append({**run, **times, "cwnd_packets": grown if index else None})
    return Results(flows, [], intervals)


@pytest.mark.parametrize(("packets_a_tcp_ack", "verdict"), [(1.0, "pass"), (0.9, "fail")])
def test_growth_is_judged_from_the_first_window_on(packets_a_tcp_ack, verdict, tmp_path):
    assert verdicts("dca_growth", growth(packets_a_tcp_ack), tmp_path)["D-06"].verdict == verdict
