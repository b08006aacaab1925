# SPDX-License-Identifier: GPL-2.0-or-later
"""The command with the real simulators, as built by `make build`."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from built import needs
from waiting import wait_until

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"


@needs("perhop-air")
def test_one_hop_service_time_is_the_sum_of_the_exchange(perhop, tmp_path):
    done = perhop("run", EXPERIMENTS / "one_hop_service_time", "--set", "duration_s=20", "--out", tmp_path, "--json")
    told = json.loads(done.stdout)
    assert done.code == 0 and told["check_passed"], told
    assert told["completions_checked"] > 1000 and told["sum_mismatches"] == 0


@needs("perhop-air")
def test_five_saturated_stations_get_what_the_model_says(perhop, tmp_path):
    settings = ("--set", "topology.stations=5", "--set", "duration_s=60")
    done = perhop("run", EXPERIMENTS / "bianchi", *settings, "--out", tmp_path, "--json")
    told = json.loads(done.stdout)
    assert done.code == 0 and [abs(case["error"]) < 0.03 for case in told["cases"]] == [True, True]


FIELDS = ("frame.interface_name", "wlan.fc.type_subtype", "wlan.ta", "wlan.ra", "wlan.seq", "wlan.fc.retry")
KINDS = {"0x001b": "rts", "0x001c": "cts", "0x001d": "mac_ack", "0x0020": "data"}


@needs("perhop-sim")
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reckons_sifs_and_sees_resent_frames_of_the_chain_with_its_own_settings(perhop, tmp_path):
    settings = ("--set", "topology.hops=8", "--set", "policies=[none]")
    done = perhop("run", EXPERIMENTS / "chain", "--quick", *settings, "--out", tmp_path)
    assert done.code == 0, done.stderr
    # In a home of its own: settings of whoever tests could be others.
    command = ["tshark", "-n", "-r", tmp_path / "packets.pcapng", "-T", "fields"]
    command += [word for field in (*FIELDS, "wlan_radio.ifs") for word in ("-e", field)]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    frames = [line.split("\t") for line in told.splitlines()]
    answers = {("rts", "cts"): [], ("cts", "data"): [], ("data", "mac_ack"): []}
    resent, sent = 0, set()
    before = ("", "", "")
    for _, subtype, sender, receiver, sequence, retry, space_us in frames:
        kind, before_kind = KINDS[subtype], before[0]
        # A CTS and a MAC ACK go to whom they answer; DATA comes from whom the CTS was for.
        fits = sender == before[2] if kind == "data" else receiver == before[1]
        if (before_kind, kind) in answers and fits:
            answers[before_kind, kind].append(int(space_us))
        if kind == "data":
            assert (retry == "1") == ((sender, sequence) in sent), (sender, sequence)
            resent += retry == "1"
            sent.add((sender, sequence))
        before = (kind, sender, receiver)
    assert resent > 10
    for kinds, spaces_us in answers.items():
        assert len(spaces_us) > 500 and set(spaces_us) == {11}, kinds
    assert {name for name, *_ in frames} == {f"n{node}" for node in range(9)}


@needs("perhop-sim")
def test_a_large_network_leaves_records_by_nodes_and_a_capture_of_chosen_ones(perhop, tmp_path):
    file = tmp_path / "large.yaml"
    file.write_text(
        "name: large\ntopology: {kind: grid, rows: 20, columns: 30}\nduration_s: 2\nwarmup_s: 0\n"
        "flows: [{kind: tcp, src: 0, dst: 3}, {kind: tcp, src: 599, dst: 596}]\n"
        "outputs: {completions: true, capture_nodes: [598]}\n"
    )
    out = tmp_path / "out"
    done = perhop("run", file, "--out", out)
    assert done.code == 0, done.stderr
    parts = ds.dataset(out / "records", partitioning="hive")
    assert {fragment.path.split("nodes=")[1].split("/")[0] for fragment in parts.get_fragments()} == {"0", "576"}
    csv = next((out / "runs").glob("*/completions.csv")).read_text().splitlines()
    assert parts.count_rows() == len(csv) - 1 > 100
    senders = subprocess.run(
        ["tshark", "-r", out / "packets.pcapng", "-T", "fields", "-e", "frame.interface_name"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert set(senders) == {"n597", "n598", "n599"}
    assert perhop("run", file, "--out", out, "--set", "outputs.capture_nodes=[]").code == 0
    assert next((out / "runs").glob("*/run.json")).read_text().count("pcapng_nodes") == 0, "made again"


@needs("perhop-sim")
def test_tcp_crosses_a_chain_under_every_policy(perhop, tmp_path):
    settings = ("--set", "topology.hops=[1, 3]", "--set", "duration_s=10", "--set", "seeds=[1]")
    done = perhop("run", EXPERIMENTS / "chain", *settings, "--out", tmp_path, "--json")
    told = json.loads(done.stdout)
    assert done.code == 0, done.stderr
    rows = {(row["hops"], row["policy"]): row for row in told["rows"]}
    assert len(rows) == 8
    for (hops, policy), row in rows.items():
        assert len(row["service_time_us"]) == hops
        # A 1500-byte packet takes 7.4 ms of air on a hop, and nothing waits longer than the window of 44 allows.
        assert all(7400 < service_us < 44 * 12000 for service_us in row["service_time_us"])
        assert 7.4 * hops < row["rtt_ms"] < 44 * 12 * hops
        assert row["cwl_packets"] == {"cwl 8": 8, "hop": 2 if hops == 1 else 1}.get(policy, row["cwl_packets"])
    assert rows[1, "no limit"]["goodput_bps"] > 1.1e6
    assert rows[3, "delay"]["rtt_ms"] < rows[3, "cwl 8"]["rtt_ms"]
    assert Path(told["pcapng"]).stat().st_size > 100_000


@needs("perhop-sim")
def test_policies_of_tcp_acks_and_pacing_reach_the_simulator_and_the_tables(perhop, tmp_path):
    policies = "policies=[none, dca 2..3, daa, fixed 4 + dca 2 + paced path, combined]"
    settings = ("--set", "topology.hops=1", "--set", "duration_s=10", "--set", "seeds=[1]", "--set", policies)
    done = perhop("run", EXPERIMENTS / "chain", *settings, "--out", tmp_path, "--json")
    assert done.code == 0, done.stderr
    rows = {row["policy"]: row for row in pq.read_table(tmp_path / "flows.parquet").to_pylist()}
    assert list(rows) == ["no limit", "dca 2", "dca 3", "daa", "cwl 4 + dca 2 + paced path", "combined"]
    tcp_acks = {policy: row["tcp_acks_per_packet"] for policy, row in rows.items()}
    assert tcp_acks["no limit"] == 1
    assert tcp_acks["dca 2"] == pytest.approx(1 / 2, abs=0.01) == tcp_acks["cwl 4 + dca 2 + paced path"]
    assert tcp_acks["dca 3"] == pytest.approx(1 / 3, abs=0.01)
    assert rows["daa"]["cwnd_packets"] <= 4
    assert rows["cwl 4 + dca 2 + paced path"]["cwl_packets"] == 4
    assert all(row["rtt_p95_ms"] >= row["rtt_ms"] for row in rows.values())
    assert all(row["mac_drops_data_packets"] == 0 for row in rows.values())


@needs("perhop-sim")
def test_the_same_seed_gives_the_same_results_on_any_number_of_jobs(perhop, tmp_path):
    settings = ("--set", "topology.hops=[2, 4]", "--set", "duration_s=10", "--set", "seeds=[1, 2]")
    told = []
    for jobs in (1, 3):
        done = perhop("run", EXPERIMENTS / "chain", *settings, "--jobs", jobs, "--out", tmp_path / str(jobs), "--json")
        told.append(json.loads(done.stdout)["rows"])
    assert told[0] == told[1]


def recorded_bytes(folder):
    return sum(file.stat().st_size for file in folder.glob("out/runs/*.running/packets.pcapng"))


@needs("perhop-sim")
def test_an_interrupted_simulator_leaves_results_so_far(tmp_path):
    call = [
        sys.executable,
        "-c",
        "from perhop import cli; cli.main()",
        "run",
        EXPERIMENTS / "chain",
        "--out",
        tmp_path / "out",
    ]
    call += ["--set", "duration_s=100000", "--set", "topology.hops=2", "--set", "seeds=[1]", "--set", "policies=[none]"]
    process = subprocess.Popen(
        [str(word) for word in call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    wait_until(lambda: recorded_bytes(tmp_path) > 2_000_000, what="a simulator has sent some thousand frames")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    (folder,) = tmp_path.glob("out/runs/*.partial")
    result = json.loads((folder / "result.json").read_text())
    assert result["interrupted"] and result["flows"][0]["delivered_packets"] > 0
    assert len((folder / "intervals.csv").read_text().splitlines()) > 2
    assert (tmp_path / "out/report.html").exists()


@needs("perhop-sim")
def test_a_comparison_of_two_policies_is_what_plain_arithmetic_gives(perhop, tmp_path):
    """The chain at 8 hops, delay against none, five seeds: the differences of the runs' own result.json."""
    settings = ("--set", "topology.hops=8", "--set-a", "policies=[none]", "--set-b", "policies=[delay]")
    done = perhop("compare", EXPERIMENTS / "chain", *settings, "--out", tmp_path / "out")
    assert done.code == 0, done.stderr
    told = json.loads(done.stdout.rstrip().splitlines()[-1].removeprefix("RESULT "))
    assert told["seeds"] == [1, 2, 3, 4, 5]
    goodput = {}
    for file in tmp_path.glob("out/sim/runs/*/result.json"):
        run = json.loads(file.read_text())
        goodput[run["label"].removeprefix("h=8 policy=")] = run["flows"][0]["goodput_bps"]
    assert len(goodput) == 10
    pairs = [(goodput[f"no limit seed={seed}"], goodput[f"delay seed={seed}"]) for seed in told["seeds"]]
    (row,) = [row for row in told["rows"] if row["quantity"] == "goodput_bps"]
    # The quantile of Student's t for 4 degrees of freedom, from a printed table.
    for value, low, high, values in (
        (row["difference"], row["low_95"], row["high_95"], [after - before for before, after in pairs]),
        (row["share"], row["share_low_95"], row["share_high_95"], [after / before - 1 for before, after in pairs]),
    ):
        mean = sum(values) / 5
        half = 2.776445 * math.sqrt(sum((each - mean) ** 2 for each in values) / 4 / 5)
        assert value == pytest.approx(mean)
        assert (high - low) / 2 == pytest.approx(half, rel=1e-6)
        assert (high + low) / 2 == pytest.approx(mean)
    assert row["test"] == "paired t" and row["pairs"] == 5
    assert row["share"] < 0, "a limit costs goodput"


@needs("perhop-sim")
def test_two_runs_of_the_same_differ_in_nothing(perhop, tmp_path):
    settings = ("--set", "topology.hops=2", "--set", "duration_s=6", "--set", "warmup_s=1", "--set", "policies=[delay]")
    assert perhop("run", EXPERIMENTS / "chain", *settings, "--out", tmp_path / "made").code == 0
    done = perhop("compare", tmp_path / "made", EXPERIMENTS / "chain", *settings, "--out", tmp_path / "out", "--fresh")
    assert done.code == 0, done.stderr
    told = json.loads(done.stdout.rstrip().splitlines()[-1].removeprefix("RESULT "))
    assert told["runs_made"] == 5
    assert {row["difference"] for row in told["rows"]} == {0.0}
