# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of paper 003's experiments tell what the paper says from what it does not, on made-up results."""

import importlib.util
import sys
from pathlib import Path

import pytest
from perhop.study.check import load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"
SEEDS = (1, 2, 3)

TABLE_1 = {
    "csma": (1838.4, 921.3, 614.8, 461.4, 369.2, 307.7, 263.4),
    "fama": (1476.5, 718.7, 475.4, 355.3, 287.5, 239.1, 204.7),
}
# The last two are the paper's 72.8 and 66.9 no more: those are 30.4 and 32.7 % of Table 1, where the row allows 30.
TABLE_2 = {
    "csma": (1791.2, 439.5, 0.5, 0.5, 0.5, 0.5, 0.5),
    "fama": (1458.7, 716.2, 389.4, 71.4, 13.5, 70.0, 60.0),
}
TABLE_3 = {
    "csma": (275.0, 298.7, 180.5, 400.8, 426.5, 253.6, 307.1, 362.8),
    "fama": (34.9, 34.7, 28.4, 0.1, 1472.6, 1.2, 0.2, 1506.9),
}
TABLE_4 = {
    "csma": (358.7, 20.6, 811.3, 960.7, 21.8, 0.0, 1630.1, 0.0),
    "fama": (334.2, 437.5, 336.9, 147.0, 834.0, 248.9, 387.7, 0.1),
}


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def rows_of(folder: str, results: Results | None, tmp_path: Path):
    return load_check(EXPERIMENTS / folder / "check.py")(results, tmp_path).rows


def verdicts(folder: str, results: Results | None, tmp_path: Path) -> dict[str, str]:
    rows = rows_of(folder, results, tmp_path)
    assert all(row.evidence for row in rows.values() if row.verdict == "finding")
    return {name: row.verdict for name, row in rows.items()}


def over_hops(table: dict[str, tuple[float, ...]], **changed: float) -> Results:
    """A run a cell and seed; `csma_3=5.5` changes a cell, in kb/s."""
    flows = [
        {
            "hops": hops,
            "policy": "no limit",
            "sweep.mac.access_mode": mode,
            "seed": seed,
            "goodput_bps": 1e3 * changed.get(f"{mode}_{hops}", kbps),
        }
        for mode, row in table.items()
        for hops, kbps in enumerate(row, start=1)
        for seed in SEEDS
    ]
    return Results(flows, [], [])


def side_by_side(rates: dict[str, tuple[float, ...]], swept: dict[str, object], seconds: int = 3) -> Results:
    """A run a mode and seed with a flow for each rate in kb/s, and an interval a second."""
    flows, intervals = [], []
    for mode, row in rates.items():
        for seed in SEEDS:
            about = {"sweep.mac.access_mode": mode, "seed": seed, **swept}
            for flow, kbps in enumerate(row):
                flows.append({**about, "flow": flow, "goodput_bps": kbps * 1e3})
                for second in range(seconds):
                    times = {"t_start_s": second, "t_end_s": second + 1}
                    intervals.append({**about, **times, "flow": flow, "goodput_bps": kbps * 1e3 if kbps >= 100 else 0})
    return Results(flows, [], intervals)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "pass"),
        ({"csma_4": 461.4 * 1.031}, "fail"),
        ({"fama_7": 204.7 * 0.949}, "fail"),
        ({"csma_1": 1800}, "fail"),
    ],
)
def test_table_1(changed, verdict, tmp_path):
    # The paper's own 2-hop cells of FAMA are 2.6 % below half of its first: within the row's 0.95 to 1.01.
    assert verdicts("glomosim_one_packet", over_hops(TABLE_1, **changed), tmp_path) == {"G-01": verdict}


def test_the_cell_that_is_fitted_is_no_evidence(tmp_path):
    # 4 % off where FAMA is fitted, 2 % elsewhere; CSMA has no such cell.
    spoilt = {f"{mode}_1": TABLE_1[mode][0] * off for mode, off in (("csma", 1.005), ("fama", 0.96))}
    measured = rows_of("glomosim_one_packet", over_hops(TABLE_1, **spoilt, fama_5=287.5 * 0.98), tmp_path)
    assert measured["G-01"].measured.startswith("CSMA: nothing fitted, all within 0.5%")
    assert "FAMA: fitted to h = 1, the others within 2.0%" in measured["G-01"].measured


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "pass"),
        ({"csma_1": 1700}, "fail"),
        ({"csma_6": 5.0}, "fail"),
        ({"fama_1": 1400}, "fail"),
        ({"fama_2": 640}, "fail"),
        ({"fama_3": 100}, "fail"),
        ({"fama_3": 460}, "fail"),
        ({"fama_3": 100, "csma_3": 300}, "fail"),
        ({"fama_7": 62}, "fail"),
    ],
)
def test_table_2(changed, verdict, tmp_path):
    assert verdicts("glomosim_window", over_hops(TABLE_2, **changed), tmp_path) == {"G-02": verdict}


EVEN = (290.0,) * 8
SCARCE = (250.0,) * 8  # 65 % of the paper's sum


@pytest.mark.parametrize(
    ("rates", "table", "capture"),
    [
        (TABLE_3, "pass", "pass"),
        ({**TABLE_3, "fama": EVEN}, "finding", "finding"),
        ({**TABLE_3, "fama": SCARCE}, "fail", "fail"),
        ({**TABLE_3, "csma": TABLE_3["fama"]}, "fail", "fail"),
        ({**TABLE_3, "csma": (200.0,) * 8}, "fail", "pass"),
        ({"csma": (200.0,) * 8, "fama": EVEN}, "fail", "fail"),
        ({**TABLE_3, "fama": tuple(rate / 2 for rate in TABLE_3["fama"])}, "fail", "pass"),
        ({"csma": EVEN, "fama": (1000.0, 0, 0, 1000.0, 0, 1000.0, 0, 0)}, "fail", "pass"),
    ],
)
def test_table_3(rates, table, capture, tmp_path):
    results = side_by_side(rates, {"sweep.mac.vacation_us": 20})
    assert verdicts("glomosim_ring", results, tmp_path) == {"G-04": table, "G-13": capture}


def silenced(results: Results, seconds: dict[str, int]) -> Results:
    """The links beside the first deliver nothing for so many seconds, by access mode; all others deliver always."""
    for row in results.intervals:
        beside = row["flow"] in (1, 7) and row["t_start_s"] < seconds[row["sweep.mac.access_mode"]]
        row["goodput_bps"] = 0 if beside else 3e5
    return results


@pytest.mark.parametrize(
    ("csma_s", "fama_s", "capture"), [(0, 2, "pass"), (2, 2, "finding"), (11, 6, "finding"), (0, 1, "finding")]
)
def test_capture_is_more_than_csma_has_and_more_than_a_second(csma_s, fama_s, capture, tmp_path):
    results = side_by_side({**TABLE_3, "fama": EVEN}, {"sweep.mac.vacation_us": 20}, seconds=12)
    rows = verdicts("glomosim_ring", silenced(results, {"csma": csma_s, "fama": fama_s}), tmp_path)
    assert rows == {"G-04": "finding", "G-13": capture}


@pytest.mark.parametrize(
    ("rates", "long", "verdict"),
    [
        (TABLE_4, 0.0, "pass"),
        (TABLE_4, 1.5, "fail"),
        ({**TABLE_4, "fama": TABLE_4["csma"]}, 0.0, "fail"),
        ({**TABLE_4, "csma": (*TABLE_4["csma"][:6], 800.0, 0.0)}, 0.0, "fail"),
        ({**TABLE_4, "fama": (*TABLE_4["fama"][:7], 1.0)}, 0.0, "fail"),
    ],
)
def test_table_4(rates, long, verdict, tmp_path):
    one = side_by_side(rates, {"sweep.flows.7.max_window_packets": 1})
    large = {mode: (*row[:7], long) for mode, row in TABLE_4.items()}
    other = side_by_side(large, {"sweep.flows.7.max_window_packets": 22})
    results = Results(one.flows + other.flows, [], [])
    assert verdicts("glomosim_string", results, tmp_path) == {"G-05": verdict}


@pytest.mark.parametrize(
    ("csma", "fama", "verdict"), [(111, 0, "pass"), (111, 40, "finding"), (111, 120, "fail"), (0.5, 0, "fail")]
)
def test_shortened_connection(csma, fama, verdict, tmp_path):
    rates = {mode: (*TABLE_4[mode][:7], short) for mode, short in (("csma", csma), ("fama", fama))}
    assert verdicts("glomosim_short_path", side_by_side(rates, {}), tmp_path) == {"G-06": verdict}


@pytest.mark.parametrize(("without", "with_", "verdict"), [(0.5, 300, "pass"), (5.5, 400, "fail"), (0.5, 150, "fail")])
def test_mac_acks(without, with_, verdict, tmp_path):
    flows = [
        {
            "hops": hops,
            "policy": "no limit",
            "sweep.mac.access_mode": mode,
            "sweep.mac.mac_ack": mac_ack,
            "seed": 1,
            "goodput_bps": 1e3 * (with_ * 3 / hops + 60 if mac_ack else without),
        }
        for mode in ("csma", "fama")
        for mac_ack in (False, True)
        for hops in (3, 5, 7)
    ]
    assert verdicts("glomosim_link_ack", Results(flows, [], []), tmp_path) == {"G-14": verdict}


def test_formulas_hold(tmp_path):
    assert verdicts("glomosim_model", None, tmp_path) == {"G-03": "pass", "G-12": "pass"}


def module(name: str):
    file = EXPERIMENTS / "glomosim_model" / f"{name}.py"
    found = importlib.util.spec_from_file_location(f"glomosim_model_{name}", file)
    loaded = importlib.util.module_from_spec(found)
    sys.modules[found.name] = loaded
    found.loader.exec_module(loaded)
    return loaded


def test_an_ideal_schedule_lets_every_third_link_send():
    schedule = module("schedule")
    path = schedule.steps(7, 25, 1)
    data = path[:7]
    assert [step.sender for step in data] == list(range(7))
    assert [(step.sender, step.receiver) for step in path[7:]] == [(hop + 1, hop) for hop in range(6, -1, -1)]
    for one in data:
        assert [other.sender for other in data if not one.excludes(other)] == [
            hop for hop in range(7) if abs(hop - one.sender) >= 3
        ]
    # Data over link 0 and a TCP ACK over link 2 can go on at once, over link 1 they cannot.
    tcp_acks = {step.receiver: step for step in path[7:]}
    assert not data[0].excludes(tcp_acks[2]) and data[0].excludes(tcp_acks[1]) and data[0].excludes(tcp_acks[0])
    # One packet takes the whole round trip; three hops have room for one packet.
    assert schedule.best(2, 4, 25, 1) == pytest.approx(1e6 / 52)
    assert schedule.best(3, 1, 25, 1) == pytest.approx(1e6 / 78)


def test_timeouts_without_a_bound_have_no_mean_where_more_than_half_is_lost():
    model = module("loss_model")
    assert model.mean_timeout_factor(0.05, 7) is None
    assert model.mean_timeout_factor(0.05, 6) > model.paper_timeout_factor(0.05, 6) > 1
    assert model.mean_timeout_factor(0.05, 6, largest=1e300) == pytest.approx(model.mean_timeout_factor(0.05, 6))
    assert model.mean_timeout_factor(0.3, 7, largest=64) < 64
