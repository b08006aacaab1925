# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of paper 001's grid, delay rule, joint sweep and routings tell right from wrong, on made-up results."""

from pathlib import Path

import pytest
from perhop import core
from perhop.study.check import RowVerdict, load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def verdict_of(row: str, folder: str, results: Results, tmp_path: Path) -> RowVerdict:
    return load_check(EXPERIMENTS / folder / "check.py")(results, tmp_path).rows[row]


# --- D-25: the grid -------------------------------------------------------------------------------------------------

GRID_KBPS = {"no limit": 300, "cwl 4": 310, "cwl 4 + dca": 320, "daa": 315, "daa as in 001": 312, "dca": 360}


def grid(**changed: float) -> Results:
    """Three and six flows, three seeds; a rate in kb/s of the six by policy."""
    flows = []
    for count in (3, 6):
        rates = GRID_KBPS | (changed if count == 6 else {})
        for policy, kbps in rates.items():
            for seed in (1, 2, 3):
                row = {"hops": 4, "policy": policy, "seed": seed, "sweep.flows": [{"kind": "tcp"}] * count}
                flows += [{**row, "flow": flow, "goodput_bps": 1e3 * kbps / count + seed} for flow in range(count)]
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "pass"),
        ({"dca": 319}, "fail"),  # below itself with a small window
        ({"daa as in 001": 361}, "fail"),
        ({"cwl 4 + dca": 340}, "fail"),  # 13 % above standard: no longer alike
        ({"daa": 265}, "fail"),
    ],
)
def test_d25_small_windows_are_alike_and_dca_is_above_each(changed, verdict, tmp_path):
    assert verdict_of("D-25", "dca_grid", grid(**changed), tmp_path).verdict == verdict


# --- D-26: the delay rule -------------------------------------------------------------------------------------------

BY_HOP, BY_DELAY, BY_BOTH = "dca no resend", "dca by delay no resend", "dca by hop and delay no resend"


def delay_rule(ms_a_hop: float = 7.7, **changed: dict[int, float]) -> Results:
    """Chains whose empty round trip grows with the hops; packets a TCP ACK stands for by policy's word and hops."""
    flows, intervals = [], []
    for hops in (1, 3, 5, 8, 10, 12, 15):
        rtt_ms = ms_a_hop * hops
        table = 20.0 if hops <= 3 else 4.4 if hops < 10 else 2.9
        packets = {"cwl 1": 1.0, "dca 5 no resend": 4.4, "dca cwnd no resend": 20.0, BY_HOP: table}
        packets[BY_DELAY] = changed.get("delay", {}).get(hops, 20.0 if rtt_ms <= 80 else 4.4)
        packets[BY_BOTH] = changed.get("both", {}).get(hops, table)
        for policy, count in packets.items():
            row = {"hops": hops, "policy": policy, "seed": 1, "run": f"{hops}{policy}"}
            flows.append({**row, "tcp_acks_per_packet": 1 / count})
            intervals.append({**row, "t_start_s": 0.1, "rtt_ms": rtt_ms / 2})  # the SYN's
            intervals += [{**row, "t_start_s": 5.0 + i, "rtt_ms": rtt_ms * (1 + 0.1 * i)} for i in range(3)]
    return Results(flows, [], intervals)


@pytest.mark.parametrize(
    ("results", "verdict", "said"),
    [
        (delay_rule(), "pass", "77.0 ms"),
        (delay_rule(ms_a_hop=11.5), "fail", "least round trip 115.0 ms"),
        (delay_rule(delay={8: 4.4}), "fail", "8 hops, below the switch: dca by delay"),
        (delay_rule(delay={12: 20.0}), "fail", "12 hops, above the switch: dca by delay"),
        (delay_rule(delay={12: 2.9}), "fail", "12 hops, above the switch: dca by delay"),
        (delay_rule(both={15: 4.4}), "fail", "15 hops, above the switch: dca by hop and delay"),
        (delay_rule(both={3: 4.4}), "fail", "3 hops, below the switch: dca by hop and delay"),
    ],
)
def test_d26_the_window_switches_where_the_round_trip_does(results, verdict, said, tmp_path):
    found = verdict_of("D-26", "dca_delay_rule", results, tmp_path)
    assert found.verdict == verdict and said in found.measured


@pytest.mark.parametrize("at_us", [80_000, 80_001])
def test_d26_a_rule_that_switches_elsewhere_fails(at_us, tmp_path, monkeypatch):
    right = core.dca_window_limit_packets

    def other(rule, hops, rtt_us):
        return 7 if rtt_us == at_us and rule == core.DcaWindowRule.delay else right(rule, hops, rtt_us)

    monkeypatch.setattr(core, "dca_window_limit_packets", other)
    assert verdict_of("D-26", "dca_delay_rule", delay_rule(), tmp_path).verdict == "fail"


# --- D-31: the joint sweep ------------------------------------------------------------------------------------------


def joint(
    tcp_acks: float = 1.0, in_flight: float = 1.0, paced_drops: float = 1.0, without: tuple[int, int] | None = None
) -> Results:
    """Two seeds; `without` leaves a seed of one number of hops out; the factors plant one defect each."""
    windows = ["1", "2", "3", "4", "5", "cwnd"]
    policies = ["no limit", *(f"dca {w} no resend" for w in windows), *(f"dca {w} no resend + paced" for w in windows)]
    policies += [f"cwl {limit} + dca {w} no resend" for limit in (2, 4, 6, 8, 12) for w in windows[:-1]]
    flows = []
    for hops in (3, 6, 10):
        for policy in policies:
            limit = int(policy.split()[1]) if policy.startswith("cwl") else None
            word = policy.split("dca ")[1].split()[0] if "dca" in policy else "1"
            window = min(int(word) if word != "cwnd" else 30, limit or 30)
            paced = policy.endswith("paced")
            for seed in (1, 2):
                if without == (hops, seed) and policy == "cwl 4 + dca 2 no resend":
                    continue
                flows.append(
                    {
                        "hops": hops,
                        "policy": policy,
                        "seed": seed,
                        "goodput_bps": 2e5 + window,
                        "tcp_acks_per_packet": (tcp_acks if policy == "cwl 8 + dca 3 no resend" else 1.0) / window,
                        "max_packets_in_flight": (limit or 60) + (in_flight - 1 if limit == 6 else 0),
                        "mac_drops_data_packets": 50.0 * (paced_drops * 0.5 if paced else 1.0) * (hops > 3),
                        "delivered_packets": 10_000.0,
                    }
                )
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("results", "verdict", "said"),
    [
        (joint(), "pass", "114 cells of 2 seeds"),
        (joint(tcp_acks=1.3), "fail", "cwl 8 + dca 3"),
        (joint(tcp_acks=0.9), "fail", "cwl 8 + dca 3"),
        (joint(in_flight=2.0), "fail", "7 packets in flight"),
        (joint(paced_drops=2.0), "fail", "when bursts are spread"),
        (joint(without=(6, 2)), "fail", "1 cells lack a seed"),
    ],
)
def test_d31_each_knob_must_move_what_it_is_for(results, verdict, said, tmp_path):
    found = verdict_of("D-31", "dca_future", results, tmp_path)
    assert found.verdict == verdict and said in found.measured


# --- D-27: a wire before the wireless hops --------------------------------------------------------------------------


def hybrid(**share: float) -> Results:
    """Of standard TCP's rate, by policy's word; `two_daa=0.7` changes two wireless hops alone."""
    of = {
        "no limit": 1.0,
        "dca by hop and delay": 1.2,
        "dca by delay": 1.2,
        "dca": 1.1,
        "daa": 0.4,
        "daa as in 001": 0.4,
    }
    flows = []
    for hops, kbps in ((1, 900), (2, 450)):
        for policy, ratio in of.items():
            word = policy.replace(" ", "_")
            now = share.get(f"two_{word}" if hops == 2 else "", share.get(word, ratio))
            rows = [{"sweep.topology.hops": hops, "policy": policy, "seed": seed} for seed in (1, 2, 3)]
            flows += [{**row, "goodput_bps": kbps * 1e3 * now * (1 + 0.001 * row["seed"])} for row in rows]
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        ({}, "pass"),
        ({"dca_by_hop_and_delay": 1.05}, "fail"),
        ({"two_dca_by_hop_and_delay": 1.3}, "fail"),
        ({"daa": 0.65}, "fail"),
        ({"two_daa_as_in_001": 0.61}, "fail"),
    ],
)
def test_d27_dca_gains_behind_a_wire_and_daa_does_not_fill_it(share, verdict, tmp_path):
    assert verdict_of("D-27", "dca_hybrid", hybrid(**share), tmp_path).verdict == verdict


# --- D-20: routing --------------------------------------------------------------------------------------------------


def routings(**ratio: float) -> Results:
    """Chains; `h9=0.9` is AODV over static routes at Table I's window and two more, `g9=0.9` GPSR at Table I's."""
    flows = []
    for routing in ("static", "gpsr", "aodv"):
        for hops in (4, 6, 9, 10):
            for word in ("no limit", *(f"dca {w} no resend" for w in (2, 3, 4, 5, 6, 7, 8, "cwnd"))):
                bps = 2e5
                if routing == "aodv" and word == f"dca {7 if hops < 10 else 5} no resend":
                    bps *= ratio.get(f"h{hops}", 1.05)
                elif routing == "aodv" and word == f"dca {5 if hops < 10 else 3} no resend":
                    bps *= ratio.get(f"smaller{hops}", 0.9)
                elif routing == "gpsr" and word == f"dca {5 if hops < 10 else 3} no resend":
                    bps *= ratio.get(f"g{hops}", 0.98)
                for seed in (1, 2, 3):
                    row = {"hops": hops, "policy": word, "sweep.routing": routing, "seed": seed}
                    flows.append({**row, "goodput_bps": bps * (1 + 0.001 * seed)})
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        ({}, "pass"),
        ({"h9": 0.99}, "finding"),
        ({"h10": 0.95}, "finding"),
        ({"h9": 0.89, "smaller9": 0.8}, "fail"),  # more than is known
        ({"h9": 0.95, "smaller9": 0.96}, "fail"),  # a larger window suits AODV no better
        ({"h4": 0.95, "smaller4": 0.96}, "finding"),  # as is known of short chains
        ({"h4": 0.89, "smaller4": 0.8}, "fail"),
        ({"h9": 0.99, "g9": 0.89}, "fail"),
        ({"g9": 0.89}, "fail"),
        ({"g10": 1.11}, "fail"),
        ({"g4": 0.91, "g10": 1.09}, "pass"),
    ],
)
def test_d20_aodv_is_no_worse_at_a_slightly_larger_window(ratio, verdict, tmp_path):
    found = verdict_of("D-20", "dca_routing", routings(**ratio), tmp_path)
    assert found.verdict == verdict and bool(found.evidence) == (verdict == "finding")
