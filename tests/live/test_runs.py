# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop run --backend live`: an experiment's runs in real time, with what a simulation writes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from perhop.live import namespaces
from waiting import acknowledged_bytes, wait_until

from .conftest import ROOT, run_perhop

EXPERIMENT = ROOT / "sim/experiments/live_chain"
SHORT = ["policies=[delay]", "seeds=[1]", "duration_s=6", "warmup_s=1", "outputs.interval_s=0.5"]


def words(out: Path, *settings: str) -> list[str]:
    more = [word for setting in (*SHORT, *settings) for word in ("--set", setting)]
    return ["run", str(EXPERIMENT), "--backend", "live", "--out", str(out), *more]


def runs_namespaces(out: Path) -> list[str]:
    """Of the runs whose results go there; other live networks of this machine are none of ours."""
    ours = {folder.name.partition(".")[0][:12] for folder in out.glob("runs/*")}
    assert ours
    folder = namespaces.NAMESPACES
    found = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return [name for name in found if any(f"run-{run}-" in name for run in ours)]


@pytest.fixture(scope="module")
def finished(state, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("live") / "out"
    done = run_perhop(*words(out), state=state, timeout_s=120)
    assert done.returncode == 0, done.stderr
    assert not runs_namespaces(out)
    return out


def test_goodput_round_trip_and_hops_are_those_of_the_chain(finished):
    (flow,) = pq.read_table(finished / "flows.parquet").to_pylist()
    assert flow["backend"] == "live" and not flow["interrupted"]
    # make live: 399 kb/s and 29.1 ms.
    assert 0.36e6 < flow["goodput_bps"] < 0.43e6
    assert 26 < flow["rtt_ms"] < 36
    hops = pq.read_table(finished / "hops.parquet").to_pylist()
    assert [hop["direction"] for hop in hops] == 3 * ["forward"] + 3 * ["return"]
    for hop in hops:
        parts_us = sum(hop[f"{name}_us"] for name in ("ifs", "backoff", "frozen_cca", "frozen_nav", "control", "data"))
        parts_us += sum(hop[f"{name}_us"] for name in ("response", "timeout", "responder"))
        assert parts_us == pytest.approx(hop["service_time_us"])
    result = json.loads(next(finished.glob("runs/*/result.json")).read_text())
    assert result["completions_checked"] > 500 and result["sum_mismatches"] == 0


def test_packets_of_every_node_are_kept_in_order(finished):
    said = subprocess.run(
        [
            "tshark",
            "-r",
            finished / "packets.pcapng",
            "-T",
            "fields",
            "-e",
            "frame.interface_name",
            "-e",
            "frame.time_epoch",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert {line.split("\t")[0] for line in said} == {f"node {index}" for index in range(4)}
    times = [float(line.split("\t")[1]) for line in said]
    assert times == sorted(times)


def test_events_happen_at_the_runs_time(state, tmp_path):
    """Node 1 dies three seconds after the flows' time began."""
    event = "events=[{kind: node_down, node: 1, at_s: 3}]"
    done = run_perhop(*words(tmp_path / "out", event), state=state, timeout_s=120)
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "out/results.parquet").to_pylist()
    goodput_bps = {row["t_start_s"]: row["goodput_bps"] for row in rows}
    assert all(goodput_bps[at_s] > 0.25e6 for at_s in (1.0, 1.5, 2.0))
    assert all(goodput_bps[at_s] == 0 for at_s in (3.5, 4.0, 4.5, 5.0, 5.5))


def test_an_interrupt_leaves_no_namespace_and_keeps_what_was_measured(state, tmp_path):
    program = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words(tmp_path / "out")], stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: list((tmp_path / "out").glob("runs/*.running/started")), 60)
    sender = next(name for name in runs_namespaces(tmp_path / "out") if name.endswith("-0"))
    # 4 s at what the chain carries; the first one is its warm-up.
    wait_until(lambda: acknowledged_bytes("10.0.0.4", "ip", "netns", "exec", sender) > 200_000, 30)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert not runs_namespaces(tmp_path / "out")
    (flow,) = pq.read_table(tmp_path / "out/flows.parquet").to_pylist()
    assert flow["interrupted"] and flow["goodput_bps"] > 0.25e6
