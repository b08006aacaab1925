# SPDX-License-Identifier: GPL-2.0-or-later
"""The experiments that come with the project: they load, and their models and checks can tell right from wrong."""

import importlib.util
import itertools
import random
import re
import sys
from pathlib import Path

import pytest
from perhop import core
from perhop.registers import spec_generated as spec
from perhop.study.plan import make_plan
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"


def module(file: Path):
    """A module of an experiment folder, under a name of its own."""
    name = f"{file.parent.name}_{file.stem}"
    found = importlib.util.spec_from_file_location(name, file)
    loaded = importlib.util.module_from_spec(found)
    sys.modules[name] = loaded
    found.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in EXPERIMENTS.glob("*/experiment.yaml")))
@pytest.mark.parametrize("quick", [False, True])
def test_every_experiment_of_the_project_resolves(folder, quick):
    assert make_plan(EXPERIMENTS / folder, quick=quick).runs


def test_the_example_in_the_readme_resolves(tmp_path):
    text = (EXPERIMENTS / "README.md").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1])
    assert len(make_plan(file).runs) == 3 * 2 * 8 * 3


def test_the_readme_lists_every_experiment():
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", (EXPERIMENTS / "README.md").read_text(), re.MULTILINE)
    listed = {name for cell in cells for name in re.findall(r"\w+", cell)}
    folders = {path.parent.name for name in ("experiment.yaml", "check.py") for path in EXPERIMENTS.glob(f"*/{name}")}
    assert listed == folders


# --- one hop --------------------------------------------------------------------------------------------------------


def test_one_hop_formula_is_the_sum_of_the_exchange():
    one_hop = module(EXPERIMENTS / "one_hop_service_time/check.py")
    # 802.11b at 2 Mb/s: DIFS 50, mean backoff 310, RTS 352, CTS 304, MAC ACK 304, 3 SIFS 30, and DATA of 54 bytes of
    # headers and FCS: 192 + 4 (54 + 1500) = 6408, or 192 + 4 (54 + 40) = 568.
    assert one_hop.expected_us("dsss_long", 1500) == 50 + 310 + 352 + 304 + 6408 + 304 + 30
    assert one_hop.expected_us("dsss_long", 40) == 50 + 310 + 352 + 304 + 568 + 304 + 30


@pytest.mark.parametrize(
    ("column", "factor", "passed"),
    [
        (None, 1.0, True),
        ("service_time_us", 1.011, False),
        ("table_mean_service_us", 0.989, False),
        ("path_header_delay_us", 1.011, False),
        ("path_header_delay_us", 0.0, False),
    ],
)
def test_one_hop_check_sees_each_measurement(column, factor, passed, tmp_path):
    one_hop = module(EXPERIMENTS / "one_hop_service_time/check.py")
    hops = []
    for ip_bytes in (1500, 40):
        row = {"sweep.flows.0.ip_bytes": ip_bytes, "direction": "forward", "profile": "dsss_long"}
        row |= dict.fromkeys(one_hop.MEASUREMENTS.values(), one_hop.expected_us("dsss_long", ip_bytes) * 1.004)
        if column and ip_bytes == 40:
            row[column] = one_hop.expected_us("dsss_long", ip_bytes) * factor
        hops.append(row)
    assert one_hop.check(Results([], hops, []), tmp_path).passed == passed


# --- window limits --------------------------------------------------------------------------------------------------


def cwl_rows(best, delay_share, delay_rtt_ms):
    """Flows of chains of 1 to 8 hops whose best fixed limit at h hops is best(h) with AODV; else they are flat."""
    rows = []
    for routing in ("dsr", "static"):
        for hops in range(1, 9):
            cells = {f"cwl {limit}": 20.0 - abs(limit - best(hops)) for limit in (1, 2, 3, 4, 5, 6, 8)}
            if routing == "static" or hops <= 2:
                cells = dict.fromkeys(cells, 20.0)
            rtts_ms = {f"cwl {limit}": 40.0 * limit for limit in (1, 2, 3, 4, 5, 6, 8)}
            cells |= {"hop": 20.0, "delay": 20 * delay_share}
            rtts_ms |= {"hop": 100.0, "delay": delay_rtt_ms}
            for policy, pps in cells.items():
                row = {"hops": hops, "policy": policy, "packets_per_s": pps, "rtt_ms": rtts_ms[policy]}
                rows += [{**row, "seed": s, "sweep.routing": routing, "sweep.topology.hops": hops} for s in (1, 2, 3)]
    return rows


TABLE_1 = {1: 2, 2: 2, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 8: 3}


@pytest.mark.parametrize(
    ("best", "delay_share", "delay_rtt_ms", "passed"),
    [
        (lambda hops: TABLE_1[hops], 0.96, 100.0, True),
        (lambda hops: TABLE_1[hops] + (1 if hops == 6 else 0), 0.96, 100.0, True),
        (lambda hops: TABLE_1[hops] + (2 if hops == 6 else 0), 0.96, 100.0, False),
        (
            lambda hops: TABLE_1[hops] + 1,
            0.96,
            100.0,
            False,
        ),  # the table's limit gives 0.95 of the best, less in the mean
        (lambda hops: TABLE_1[hops], 0.94, 100.0, False),
        (lambda hops: TABLE_1[hops], 0.96, 320.0, False),
    ],
)
def test_window_limit_check_holds_the_claims(best, delay_share, delay_rtt_ms, passed, tmp_path):
    cwl = module(EXPERIMENTS / "cwl_table/check.py")
    rows = cwl_rows(best, delay_share, delay_rtt_ms)
    if best(3) != TABLE_1[3]:
        for row in rows:
            if row["hops"] > 2 and row["sweep.routing"] == "dsr" and row["policy"] == f"cwl {TABLE_1[row['hops']]}":
                row["packets_per_s"] = 18.9
    found = cwl.check(Results(rows, [], []), tmp_path)
    assert found.passed == passed
    assert (tmp_path / "B-08_table1.svg").read_text().count("<svg") == 1


def test_a_best_limit_off_the_table_fails_whatever_static_routes_say(tmp_path):
    cwl = module(EXPERIMENTS / "cwl_table/check.py")
    rows = cwl_rows(lambda hops: TABLE_1[hops], 0.96, 100.0)
    for row in rows:
        if (row["hops"], row["policy"], row["sweep.routing"]) == (5, "cwl 4", "dsr"):
            row["packets_per_s"] = 20.1
    found = cwl.check(Results(rows, [], []), tmp_path)
    assert found.rows["B-08"].verdict == "fail" and not found.passed
    assert any("best 4 is more than 1 from the table" in line for line in found.lines)


@pytest.mark.parametrize(("hops", "cwl", "passed"), [(1, 8, False), (2, 3, False), (2, 1, True)])
def test_chains_of_1_and_2_hops_must_be_flat_from_a_limit_of_2_on(hops, cwl, passed, tmp_path):
    rows = cwl_rows(lambda hops: TABLE_1[hops], 0.96, 100.0)
    for row in rows:
        if (row["hops"], row["policy"], row["sweep.routing"]) == (hops, f"cwl {cwl}", "dsr"):
            row["packets_per_s"] = 19.0
    found = module(EXPERIMENTS / "cwl_table/check.py").check(Results(rows, [], []), tmp_path)
    assert (found.rows["B-08"].verdict == "pass") == passed


@pytest.mark.parametrize(("hops", "wrong"), [(7, 3), (31, 6), (99, 16)])
def test_another_limit_by_hops_than_the_table_or_beyond_it_fails(hops, wrong, tmp_path, monkeypatch):
    right = core.hop_table_limit_packets
    monkeypatch.setattr(core, "hop_table_limit_packets", lambda n: wrong if n == hops else right(n))
    rows = cwl_rows(lambda hops: TABLE_1[hops], 0.96, 100.0)
    found = module(EXPERIMENTS / "cwl_table/check.py").check(Results(rows, [], []), tmp_path)
    assert found.rows["B-08"].verdict == "fail" and "WRONG" in found.rows["B-08"].measured


def test_most_links_at_once_are_those_of_the_best_schedule_found_by_trying_all():
    reuse = module(EXPERIMENTS / "spatial_reuse/check.py")
    for hops, interference_m in itertools.product(range(1, 11), (240, 260, 490, 550, 800)):
        best = 0
        for links in itertools.chain.from_iterable(itertools.combinations(range(hops), n) for n in range(1, hops + 1)):
            free = all(abs(one - (other + 1)) * 250 > interference_m for one, other in itertools.permutations(links, 2))
            best = max(best, len(links) if free else 0)
        assert reuse.most_at_once(hops, interference_m) == best


def test_pipeline_is_limited_by_its_window_below_the_bound_and_by_its_slowest_link_above():
    pipeline = module(EXPERIMENTS / "cwl_bounds/pipeline.py")
    delays_s = [0.1, 0.2, 0.1]
    assert pipeline.run(delays_s, 1, 1000).packets_per_s == pytest.approx(1 / 0.4)
    assert pipeline.run(delays_s, 3, 1000).packets_per_s == pytest.approx(1 / 0.2)
    assert pipeline.run(delays_s, 7, 1000).waiting_packets == pytest.approx(5, abs=0.1)


# --- Bianchi --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bianchi():
    return module(EXPERIMENTS / "bianchi/model.py")


def setting(bianchi, stations, rts):
    return bianchi.Setting(
        profile="dsss_long", data_rate_index=1, stations=stations, ip_bytes=1500, rts=rts, attempts=7, propagation_us=1
    )


def simulate_dcf(bianchi, wanted, packets, seed):
    """Throughput of n saturated stations, by an event simulation of 9.3.4 that shares nothing with the model.

    Every station has a time from which it may count and slots left; the earliest expiry sends. Times in microseconds.
    """
    draw = random.Random(seed)
    profile = spec.PROFILES[wanted.profile]
    success_us, _ = bianchi.busy_times_us(wanted)
    success_us -= profile.difs_us
    first_us = spec.airtime_us(profile, 0, 20) if wanted.rts else spec.airtime_us(profile, 1, 1500 + 36)
    stations = range(wanted.stations)
    tries = [0 for _ in stations]

    def slots(station):
        return draw.randrange(min((profile.cw_min + 1) << tries[station], profile.cw_max + 1))

    left = [slots(station) for station in stations]
    counting_from = [profile.difs_us for _ in stations]
    delivered, start_us = 0, 0
    while delivered < packets:
        expiry = [counting_from[i] + left[i] * profile.slot_us for i in stations]
        now = min(expiry)
        senders = [i for i in stations if expiry[i] == now]
        for i in stations:
            if i not in senders:
                left[i] -= max(0, (now - counting_from[i]) // profile.slot_us)
        if len(senders) == 1:
            delivered += 1
            tries[senders[0]] = 0
            end = now + success_us
            counting_from = [end + profile.difs_us for _ in stations]
        else:
            for i in senders:
                tries[i] = (tries[i] + 1) % wanted.attempts
            end = now + first_us
            counting_from = [
                end + (profile.response_timeout_us if i in senders else profile.eifs_us + 1) for i in stations
            ]
        for i in senders:
            left[i] = slots(i)
        start_us = now
    return delivered * wanted.ip_bytes * 8 / start_us * 1e6


@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize("stations", [2, 5, 20])
def test_the_model_agrees_with_a_simulation_of_its_own(bianchi, stations, rts):
    wanted = setting(bianchi, stations, rts)
    simulated_bps = simulate_dcf(bianchi, wanted, packets=20000, seed=stations)
    assert bianchi.predict(wanted).throughput_bps == pytest.approx(simulated_bps, rel=0.01)


@pytest.mark.parametrize("stations", [2, 5, 10, 20, 50])
def test_the_fixed_point_is_one(bianchi, stations):
    found = bianchi.predict(setting(bianchi, stations, rts=False))
    assert found.collision == pytest.approx(1 - (1 - found.tau) ** (stations - 1), abs=1e-9)


def test_one_station_gets_what_the_exchange_allows(bianchi):
    found = bianchi.predict(setting(bianchi, 1, rts=False))
    # DATA 6336, SIFS 10, MAC ACK 304, DIFS 50, 2 us of propagation and 310 us of mean backoff.
    assert found.throughput_bps == pytest.approx(12000 / 7012e-6, rel=1e-9)


# --- the largest retransmission timeout -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("back_s", "timeouts", "passed"),
    [(31.9, 11, True), (32.6, 11, False), (31.9, 7, False), (None, 11, False)],
)
def test_b22_holds_when_tcp_is_back_within_the_bound_after_many_timeouts(back_s, timeouts, passed, tmp_path):
    largest_rto = module(EXPERIMENTS / "largest_rto/check.py")
    flows, intervals = [], []
    for bound_ms, heard_s, expiries in ((2000, back_s, timeouts), (60000, 38.0, 7)):
        run = str(bound_ms)
        flows.append({"run": run, "label": run, "sweep.flows.0.max_rto_ms": bound_ms, "timeouts": expiries})
        for tenth in range(600):
            start_s = tenth / 10
            delivers = start_s < 10 or (heard_s is not None and start_s >= heard_s)
            row = {"run": run, "t_start_s": start_s, "t_end_s": start_s + 0.1, "goodput_bps": 1e5 if delivers else 0.0}
            intervals.append(row)
    found = largest_rto.check(Results(flows, [], intervals), tmp_path)
    assert found.passed == passed
    assert found.rows["B-22"].verdict == ("pass" if passed else "fail")


def test_b22_every_flow_of_the_mobile_set_has_a_largest_timeout_of_2_s():
    flows = re.findall(r"\{kind: tcp,[^}]*\}", (EXPERIMENTS / "cwl_mobile/experiment.yaml").read_text())
    assert len(flows) >= 25 and all("max_rto_ms: 2000" in flow for flow in flows)
