# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-kernel: each of its judgements can fail; and verify-kernel's, of packets that are unaccounted for."""

import argparse
import copy
import dataclasses
import sys

import pytest
from perhop import paths
from perhop.study.plan import make_plan

ROOT = paths.repository()
for folder in ("sim/bench", "sim"):
    sys.path.insert(0, str(ROOT / folder))
try:
    import bench_kernel
    import kernel_cells
    import kernel_conditions
    import kernel_conditions_document
    import kernel_costs
    import kernel_document
    import verify_kernel
finally:
    for folder in ("sim/bench", "sim"):
        sys.path.remove(str(ROOT / folder))


def sample(goodput_bps, rtt_ms=100.0):
    return kernel_cells.Sample(goodput_bps, rtt_ms, 4.0, 0, 0)


BASE = {1: sample(100e3, 400.0), 2: sample(200e3, 800.0)}


def test_a_gain_is_the_mean_of_each_seeds_own_ratio():
    found = kernel_cells.gain({1: sample(110e3, 100.0), 2: sample(180e3, 400.0)}, BASE)
    assert found.goodput.value == pytest.approx((1.1 + 0.9) / 2)
    assert found.rtt.value == pytest.approx((0.25 + 0.5) / 2)
    assert not found.helps and not found.costs, "two seeds that differ so much show nothing"


def test_more_goodput_helps_and_so_does_a_shorter_round_trip_at_no_loss():
    more = kernel_cells.gain({1: sample(110e3, 400.0), 2: sample(220e3, 800.0)}, BASE)
    shorter = kernel_cells.gain({1: sample(100e3, 100.0), 2: sample(200e3, 200.0)}, BASE)
    dearer = kernel_cells.gain({1: sample(90e3, 100.0), 2: sample(180e3, 200.0)}, BASE)
    assert more.helps and shorter.helps and not dearer.helps
    assert dearer.costs and not more.costs and not shorter.costs


def test_other_seeds_cannot_be_compared_and_nothing_is_no_base():
    with pytest.raises(ValueError, match="other seeds"):
        kernel_cells.gain({1: BASE[1]}, BASE)
    with pytest.raises(ValueError, match="delivered nothing"):
        kernel_cells.gain(BASE, {1: sample(0.0), 2: BASE[2]})


def test_what_ecn_is_asked_for():
    def judged(goodput, rtt):
        return kernel_cells.ecn_holds(
            kernel_cells.gain(
                {seed: sample(of.goodput_bps * goodput, of.rtt_ms * rtt) for seed, of in BASE.items()}, BASE
            )
        )

    assert judged(0.971, 0.499)
    assert not judged(0.969, 0.499) and not judged(0.971, 0.501)


def test_a_kernel_is_within_the_spread_of_live_runs_by_its_median():
    none = kernel_cells.label("none")
    kernel = {(2, "cubic", none): {seed: sample(bps) for seed, bps in enumerate((90e3, 100e3, 900e3))}}

    def judged(*live_bps):
        live = {(2, "cubic", none): {seed: sample(bps) for seed, bps in enumerate(live_bps)}, (4, "bbr", none): BASE}
        return kernel_cells.within_live({"kernel": kernel, "live": live})

    assert judged(99e3, 101e3) == {"2": {"cubic": True}}, "no kernel ran bbr over 4 hops"
    assert judged(101e3, 300e3) == {"2": {"cubic": False}} and judged(10e3, 99e3) == {"2": {"cubic": False}}


def test_one_hop_is_held_against_a_bound_that_knows_tcp_acks_and_time_stamps():
    with_stamps, without = kernel_cells.airtime_bound_bps("kernel"), kernel_cells.airtime_bound_bps("ns3")
    # 1448 bytes in two exchanges of 7448 and 1656 us, DIFS included, and what no two stations can count together.
    assert 1448 * 8e6 / (7448 + 1656 + 310) < with_stamps < 1448 * 8e6 / (7448 + 1656)
    assert without == pytest.approx(with_stamps * 9104 / 9008, rel=2e-3), "24 bytes of 4 us in both packets together"
    cells = {(1, "bbr", kernel_cells.label("none")): {1: sample(0.98 * with_stamps)}, (2, "bbr", "no limit"): BASE}
    assert kernel_cells.of_airtime_bound({"kernel": cells}) == {"kernel": {"bbr": 0.98}}


def test_the_time_of_one_hop_is_split_by_what_its_source_recorded():
    bound = kernel_cells.bound_time("kernel")
    assert bound.data_us == 7398 and bound.rest_us == pytest.approx(1606) and bound.unanswered_us == 0
    assert bound.period_us == pytest.approx(8e6 * 1448 / kernel_cells.airtime_bound_bps("kernel"))
    parts = dict.fromkeys(kernel_cells.PARTS, 0.0) | {"ifs": 120.0, "backoff": 340.0, "data": 6408.0, "response": 642.0}
    run = dataclasses.replace(sample(8e6 * 1448 / 9500), parts_us=parts | {"control": 373.0, "timeout": 13.0})
    found = kernel_cells.hop_time({1: run, 2: sample(1e3)})
    assert (found.idle_us, found.data_us, found.unanswered_us) == (460, 7402, 34)
    assert found.rest_us == pytest.approx(9500 - 460 - 7402 - 34)
    assert kernel_cells.hop_time(BASE) is None


def test_a_policy_beside_the_same_tcp_without_it():
    none = kernel_cells.label("none")
    half = {seed: sample(of.goodput_bps * 0.9, of.rtt_ms / 2) for seed, of in BASE.items()}
    cells = {(8, "cubic", none): BASE, (8, "cubic", "abc 20"): half, (8, "bbr", none): BASE, (4, "cubic", none): BASE}
    found = kernel_cells.beside(cells, "cubic", "abc 20")
    assert found == {"8": {"bps": 135_000, "rtt_ms": 300.0, "goodput": 0.9, "rtt": 0.5}}


def test_each_cost_beyond_its_bound_is_said():
    assert kernel_costs.judge(2.9, 4.9, {3: 6.0, 50: 5.0}) == []
    assert "30 s of 4 hops took 3.00 s" in kernel_costs.judge(3.0, 4.9, {})[0]
    assert "50 idle kernels took 5.00 s" in kernel_costs.judge(2.9, 5.0, {})[0]
    assert kernel_costs.judge(2.9, 4.9, {3: 6.01, 50: 5.0}) == ["3 kernels take 6.01 MB each, at most 6 wanted"]


def test_idle_kernels_are_one_a_node_and_send_nothing():
    config = kernel_costs.idle(10, 60)
    ends = {flow[end] for flow in config["flows"] for end in ("src", "dst")}
    assert ends == set(range(10)) and len(config["nodes"]) == 10
    assert all(flow["start_s"] > config["duration_s"] for flow in config["flows"])
    assert [3, 4, 4] in config["routes"] and [4, 3, 3] in config["routes"]


def test_rows_have_each_place_and_nothing_where_it_was_not_run():
    cells = {(4, "cubic", "no limit"): BASE}
    rows = kernel_cells.table({"kernel": cells, "ns3": {}, "live": {}}, ("cubic",))
    assert rows["4"]["cubic"]["kernel_bps"] == 150_000 and rows["4"]["cubic"]["kernel_bps_95"] > 0
    assert rows["4"]["cubic"]["live_bps"] is None and rows["4"]["cubic"]["ns3_bps_95"] is None


def test_memory_is_that_of_the_image_of_the_kernels_own_and_the_rest():
    maps = """60000000-60400000 r-xp 00000000 fe:00 1  /a/linux
Rss:                3000 kB
Pss:                1000 kB
60800000-62000000 rwxs 00800000 00:19 61  /dev/shm/#61 (deleted)
Pss:                2500 kB
7ffff0000000-7ffff0001000 rw-p 00000000 00:00 0
Pss:                   8 kB
Pss_Dirty:             8 kB
"""
    assert kernel_costs.parts_kb(maps, "/a/linux") == {"image": 1000, "memory": 2500, "rest": 8}


def test_what_was_measured_is_kept_until_a_program_is_another_one(tmp_path, monkeypatch):
    for name in ("perhop-kernel", *bench_kernel.BESIDE, "linux"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(bench_kernel.paths, "program", lambda name: tmp_path / name)
    monkeypatch.setattr(bench_kernel.image, "check", lambda: tmp_path / "linux")
    options = argparse.Namespace(out=tmp_path / "out")
    assert bench_kernel.kept(options, "costs", lambda: {"cpu_s": 1.5}) == {"cpu_s": 1.5}
    assert bench_kernel.kept(options, "costs", lambda: {"cpu_s": 9.0}) == {"cpu_s": 1.5}, "not measured again"
    assert bench_kernel.kept(options, "identical", lambda: {"a folder": True}) == {"a folder": True}
    (tmp_path / "linux").write_text("another kernel")
    assert bench_kernel.kept(options, "costs", lambda: {"cpu_s": 9.0}) == {"cpu_s": 9.0}


def test_the_page_has_every_table_and_the_findings():
    policies = tuple(kernel_cells.label(policy) for policy in bench_kernel.POLICIES)
    cells = {
        (hops, tcp, policy): BASE
        for hops in bench_kernel.HOPS
        for tcp in (*bench_kernel.TCPS, "dctcp")
        for policy in (policies if hops in bench_kernel.POLICY_HOPS else policies[:1])
    }
    over = bench_kernel.gains(cells)
    shared = {seed: dataclasses.replace(of, jain=0.75) for seed, of in BASE.items()}
    crowds = {
        (name, tcp, kernel_cells.label(policy)): shared
        for name in ("same-4", "mesh-1")
        for tcp in kernel_conditions.TCPS
        for policy in bench_kernel.CONDITION_POLICIES
    }
    idle = {"cpu_s": 1.0, "wall_s": 2.0, "mb_per_kernel": 5.0, "parts_mb": {"image": 1.5, "memory": 3.25, "rest": 0.25}}
    measured = kernel_document.Measured(
        places={"kernel": cells, "ns3": cells, "live": {(2, "bbr", policies[0]): BASE}},
        gains={"kernel": over, "ns3": over},
        exact={4: kernel_cells.goodput(BASE)},
        conditions=kernel_conditions.Found(crowds, {"same-4": shared, "errors5-8": BASE}),
        cost={
            "cpu_s_30s_4hops": 1.0,
            "chain_wall_s": 2.0,
            "idle50_cpu_s": 1.0,
            "mb_per_kernel": 5.0,
            "mb_per_kernel_loaded": 5.0,
            "idle": {"50": idle},
            "fast": idle | {"goodput_bps": 3_600_000},
        },
        identical={"another folder": True},
        why_no_live="no root",
        load=0.5,
        tcps=bench_kernel.TCPS,
        policies=policies,
        ecn=kernel_cells.label(bench_kernel.ECN),
        abc=kernel_cells.label(bench_kernel.ABC),
        seeds=bench_kernel.SEEDS,
        measured_s=60,
        live_s=20,
        live_repeats=8,
    )
    told = [{"name": "A thing", "about": "It is so."}]
    known = kernel_conditions.conditions()
    same = known["same-4"]
    text = kernel_document.text_of(measured, told)
    assert "**A thing.** It is so." in text and "not whole: no root" in " ".join(text.split())
    assert "| bound | 7398 | 1606 | 364 | 0 | 9368 |" in text, "of one hop; these runs do not tell more"
    assert "| 10 s of 4 hops at 54 Mb/s, CUBIC, 3.6 Mb/s | 1.00 s | 2.0 s | 5.00 MB | - |" in text
    assert "| 50 idle kernels for 60 s | 1.00 s | 2.0 s | 5.00 MB | 1.50, 3.25, 0.25 |" in text
    assert "| 15 | bbr | 150" in text and "### cubic, ns-3" in text
    assert "| 2 | bbr | 150 | 150 | 100 to 200 | yes |" in text, "beside the one live cell"
    assert text.count("1.00 ± 0.00, 1.00 ± 0.00 | 1.00 ± 0.00, 1.00 ± 0.00 |\n") >= 6, "ABC beside ECN, in two places"
    policies_beside = len(bench_kernel.CONDITION_POLICIES) - 1
    crowd_row = f"| {same.title} | 150 ± 635, 600, 0.75 |{' 1.00 ± 0.00, 1.00 ± 0.00, 0.75 |' * policies_beside}"
    assert text.splitlines().count(crowd_row) == 2, "a row of CUBIC's, one of BBR's"
    assert f"{same.title} 150 ± 635, 0.75; {known['errors5-8'].title} 150 ± 635." in " ".join(text.split())
    assert kernel_conditions_document.as_json(measured.conditions)["mesh-1"]["bbr"]["paced"]["jain"] == 0.75
    assert "round trip over none hops, of 4, 8, 15" in " ".join(text.split()), "equal is not half"
    assert kernel_document.with_sections(text, measured, told) == text, "the sections that can be measured alone"
    before = text.replace("## ABC beside ECN by service time", "## Something else")
    both = kernel_document.with_sections(before, dataclasses.replace(measured, load=7.5, why_no_live=""), told)
    assert "load average of 7.5" in " ".join(both.split()) and "no root" not in both
    part = {place: {key: of for key, of in found.items() if key[0] < 8} for place, found in measured.places.items()}
    part["ns3"] = {}
    rows = kernel_document.with_sections(text, dataclasses.replace(measured, places=part), told).splitlines()
    assert "| 4 | bbr | 150 ± 635, 600 | 150 ± 635, 600* | - |" in rows, "ns-3 was not run now"
    assert "| 8 | bbr | 150 ± 635, 600* | 150 ± 635, 600* | - |" in rows, "nor was this anywhere"
    assert both.count("## ABC beside ECN") == 1 and both.count("## Something else") == 1 == both.count(
        "## Three places"
    )
    assert both.index("## Something else") < both.index("## Three places") < both.index("## What each policy")


def test_flows_of_a_run_are_added_and_their_shares_compared():
    def flow(seed, goodput_bps, rtt_ms, policy="no limit"):
        told = {"policy": policy, "seed": seed, "goodput_bps": goodput_bps, "rtt_ms": rtt_ms}
        return told | {"cwnd_packets": 4.0, "timeouts": 1.0}

    found = kernel_conditions.samples_of(
        [flow(1, 300e3, 100.0), flow(1, 100e3, 300.0), flow(2, 200e3, 100.0), flow(1, 50e3, None, "paced")]
    )
    assert set(found) == {"no limit", "paced"}
    both = found["no limit"][1]
    assert both.goodput_bps == 400e3 and both.rtt_ms == 200.0 and both.timeouts == 2.0
    assert both.jain == pytest.approx(16 / (2 * 10))
    assert found["no limit"][2].jain is None and found["paced"][1].rtt_ms is None
    assert kernel_conditions.fairness(found["no limit"]).value == both.jain


@pytest.mark.parametrize("name", kernel_conditions.conditions())
def test_each_condition_is_one_that_kernels_and_exact_can_run(name):
    condition = kernel_conditions.conditions()[name]
    for kind, more, backend in (("tcp", ("cubic",), "kernel"), ("exact", (), "sim")):
        flows = kernel_conditions._flows(kind, condition.ends, *more)
        (run,) = make_plan(kernel_conditions.HOME, [*condition.settings, flows], backend=backend).runs
        assert len(run.config["flows"]) == len(condition.ends)
        assert all(flow["start_s"] < bench_kernel.WARMUP_S for flow in run.config["flows"])


LEDGERS = [
    {
        "node": 0,
        "from_ip": [10, 1000],
        "to_ip": [2, 80],
        "queue_drops": [1, 100],
        "waiting": [1, 100],
        "neighbours": [{"node": 1, "from_air": [2, 80], "delivered": [7, 700], "mac_drops": [1, 100]}],
    },
    {
        "node": 1,
        "from_ip": [2, 80],
        "to_ip": [8, 800],
        "queue_drops": [0, 0],
        "waiting": [0, 0],
        "neighbours": [{"node": 0, "from_air": [8, 800], "delivered": [2, 80], "mac_drops": [0, 0]}],
    },
]


def test_a_ledger_that_balances_is_right():
    assert verify_kernel.is_conserved(LEDGERS)
    assert not verify_kernel.is_conserved(LEDGERS[:1]) and not verify_kernel.is_conserved([])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda ledgers: ledgers[0]["to_ip"].__setitem__(0, 3),  # a packet from nowhere
        lambda ledgers: ledgers[0]["waiting"].__setitem__(1, 99),  # a byte too little
        lambda ledgers: ledgers[0]["queue_drops"].__setitem__(0, 0),  # one that vanished
        lambda ledgers: (  # one more arrived than was sent, and went on to IP
            ledgers[1]["neighbours"][0]["from_air"].__setitem__(0, 10),
            ledgers[1]["to_ip"].__setitem__(0, 10),
        ),
        lambda ledgers: (  # one that was acknowledged did not arrive
            ledgers[1]["neighbours"][0]["from_air"].__setitem__(0, 6),
            ledgers[1]["to_ip"].__setitem__(0, 6),
        ),
    ],
)
def test_a_packet_or_a_byte_that_is_unaccounted_for_is_seen(wrong):
    ledgers = copy.deepcopy(LEDGERS)
    wrong(ledgers)
    assert not verify_kernel.is_conserved(ledgers)


def test_a_kernel_that_knows_files_of_the_host_is_seen():
    assert verify_kernel.without_files_of_the_host(b"\0virtio_uml\0")
    assert not verify_kernel.without_files_of_the_host(b"\0virtio_uml\0hostfs\0")
    assert not verify_kernel.without_files_of_the_host(b""), "no kernel of ours"
