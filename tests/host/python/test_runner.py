# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs are made in parallel, kept when others crash or the user stops them, and not made twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from perhop.experiment.resolve import Run
from perhop.study import results, state
from perhop.study import summaries as rows
from perhop.study.outcomes import Outcome, Study
from perhop.study.progress import TimeLeft
from waiting import wait_until


def states(out):
    """Label -> status, from state.json."""
    return {run["label"]: run["status"] for run in json.loads((out / "state.json").read_text())["runs"].values()}


def test_all_runs_are_made_and_their_results_written(experiment, fake_build, perhop, tmp_path, made):
    out = tmp_path / "out"
    done = perhop("run", experiment, "--out", out)
    assert done.code == 0, done.stderr
    assert len(made()) == 8
    assert set(states(out).values()) == {"finished"}
    for name in (
        "results.parquet",
        "flows.parquet",
        "hops.parquet",
        "packets.pcapng",
        "report.html",
        "provenance.json",
    ):
        assert (out / name).stat().st_size > 0
    assert (out / "experiment.yaml").read_text() == experiment.read_text()
    assert not [path for path in out.rglob("*.tmp")]
    assert "h=3 policy=cwl 8 seed=1" in done.stdout, "it says whose packets they are"


def test_finished_runs_are_reused_and_fresh_makes_them_again(experiment, fake_build, perhop, tmp_path, made):
    perhop("run", experiment, "--out", tmp_path / "out")
    made()
    done = perhop("run", experiment, "--out", tmp_path / "out", "--resume")
    assert (done.code, made()) == (0, [])
    assert "8 runs reused" in done.stdout
    assert perhop("run", experiment, "--out", tmp_path / "out", "--fresh").code == 0
    assert len(made()) == 8


def test_a_change_makes_only_the_runs_that_it_touches(experiment, fake_build, perhop, tmp_path, made):
    perhop("run", experiment, "--out", tmp_path / "out")
    made()
    perhop("run", experiment, "--out", tmp_path / "out", "--set", "topology.hops=[1, 3, 4]")
    # The packets are now recorded in the longer chain; that h=3's run recorded its own makes it no other run.
    assert sorted(made()) == sorted(
        [f"h=4 policy={policy} seed={seed}" for policy in ("no limit", "cwl 8") for seed in (1, 2)]
    )
    perhop("run", experiment, "--out", tmp_path / "out")
    assert made() == [], "the first call's runs are still known"


def test_a_finished_run_is_made_again_for_an_output_that_it_lacks_and_only_then(
    experiment, fake_build, perhop, tmp_path, made
):
    out = ("--out", tmp_path / "out")
    perhop("run", experiment, *out)
    made()
    done = perhop("run", experiment, *out, "--set", "outputs.pcapng='off'")
    assert (done.code, made()) == (0, []), "what it has and nobody asks for is no reason"
    perhop("run", experiment, *out, "--set", "outputs.pcapng=all")
    assert len(made()) == 7, "one had recorded its packets"
    perhop("run", experiment, *out)
    assert made() == []
    perhop("run", experiment, *out, "--set", "outputs.interval_s=0.5")
    assert len(made()) == 8, "other intervals are other results"


def test_a_simulator_that_is_killed_by_somebody_else_has_failed(experiment, fake_build, tmp_path, perhop, monkeypatch):
    out = tmp_path / "out"
    monkeypatch.setenv("FAKE_KILL", "h=3 policy=cwl 8 seed=1")
    done = perhop("run", experiment, "--out", out)
    assert done.code == 1
    assert "h=3 policy=cwl 8 seed=1: perhop-sim died of signal 9 (SIGKILL), which perhop did not send" in done.said
    assert "--jobs" in done.said
    assert "Interrupted" not in done.said and "interrupted" not in done.stdout
    assert states(out)["h=3 policy=cwl 8 seed=1"] == "failed"
    # What is left of its capture is not shown as a run's; the row says how many seeds it is of.
    assert not (out / "packets.pcapng").exists()
    assert json.loads((out / "provenance.json").read_text())["packets_of"] is None
    assert "1 of 2" in done.stdout and "of those asked for" in done.stdout
    report = (out / "report.html").read_text()
    # The table of points and that of links.
    assert "died of signal 9" in report and report.count("<b>1 of 2</b>") == 2
    told = json.loads(perhop("run", experiment, "--out", out, "--json").stdout)
    counts = {(row["hops"], row["policy"]): (row["seeds"], row["seeds_asked"]) for row in told["rows"]}
    assert counts.pop((3, "cwl 8")) == (1, 2)
    assert set(counts.values()) == {(2, 2)}
    runs = {row["label"]: row for row in pq.read_table(out / "runs.parquet").to_pylist()}
    assert len(runs) == 8
    dead = runs["h=3 policy=cwl 8 seed=1"]
    assert dead["status"] == "failed" and "signal 9" in dead["message"] and dead["goodput_sum_bps"] is None

    monkeypatch.delenv("FAKE_KILL")
    assert "of 2" not in perhop("run", experiment, "--out", out).stdout


def test_a_policy_of_which_no_run_has_a_result_has_a_row_that_says_so(
    experiment, fake_build, tmp_path, perhop, monkeypatch
):
    monkeypatch.setenv("FAKE_CRASH", "policy=cwl 8")
    done = perhop("run", experiment, "--out", tmp_path / "out", "--json")
    assert done.code == 1
    row = next(row for row in json.loads(done.stdout)["rows"] if row["policy"] == "cwl 8")
    assert (row["seeds"], row["seeds_asked"], row["goodput_bps"], row["retries"]) == (0, 2, None, None)
    assert "0 of 2" in perhop("run", experiment, "--out", tmp_path / "out").stdout


def test_another_program_makes_all_runs_again(experiment, fake_build, perhop, tmp_path, made):
    perhop("run", experiment, "--out", tmp_path / "out")
    made()
    program = fake_build / "sim/ns3/perhop-sim"
    program.write_text(program.read_text() + "# a new build\n")
    perhop("run", experiment, "--out", tmp_path / "out")
    assert len(made()) == 8


def test_a_crash_is_told_and_the_other_runs_go_on(experiment, fake_build, perhop, tmp_path, monkeypatch, made):
    out = tmp_path / "out"
    monkeypatch.setenv("FAKE_CRASH", "h=3 policy=cwl 8 seed=2")
    done = perhop("run", experiment, "--out", out)
    assert done.code == 1
    assert "h=3 policy=cwl 8 seed=2: perhop-sim failed (exit 134): mac_core: assertion failed" in done.said
    assert list(states(out).values()).count("finished") == 7
    assert states(out)["h=3 policy=cwl 8 seed=2"] == "failed"
    assert len(pq.read_table(out / "flows.parquet")) == 7
    assert "assertion failed" in (out / "report.html").read_text()

    monkeypatch.delenv("FAKE_CRASH")
    made()
    assert perhop("run", experiment, "--out", out).code == 0
    assert made() == ["h=3 policy=cwl 8 seed=2"]
    assert not list((out / "runs").glob("*.failed"))


def start(experiment, out, patience_s=20.0, **environment):
    """The command in a process of its own, two runs at a time, that gives simulators `patience_s` to stop."""
    set_up = f"from perhop.study import runner; runner.STOP_PATIENCE_S = {patience_s}"
    program = f"{set_up}; from perhop import cli; cli.main()"
    call = [sys.executable, "-c", program, "run", experiment, "--out", out, "--jobs", "2"]
    return subprocess.Popen(
        [str(word) for word in call],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def started(out):
    """How many simulators have begun: they take a signal from then on."""
    log = out.parent / "made.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_study_keeps_what_it_has_and_can_be_resumed(number, experiment, fake_build, tmp_path, made):
    out = tmp_path / "out"
    process = start(experiment, out, FAKE_WALL_S="1.0")
    # Two at a time: two have ended, and two take signals.
    wait_until(lambda: started(out) >= 4)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)

    assert process.returncode == 130
    assert "The same command continues" in errors
    finished = [label for label, status in states(out).items() if status == "finished"]
    cut = [label for label, status in states(out).items() if status == "interrupted"]
    assert 0 < len(finished) < 8 and 0 < len(cut) <= 2
    assert not list((out / "runs").glob("*.running"))
    table = pq.read_table(out / "flows.parquet").to_pylist()
    assert {row["label"]: row["interrupted"] for row in table} == {
        **dict.fromkeys(finished, False),
        **dict.fromkeys(cut, True),
    }
    assert "Interrupted" in (out / "report.html").read_text()
    # A run that was cut short is no seed like the others: where one has finished, the row is of that alone.
    summaries = rows.summarise(results.read(out))
    assert {summary.seeds_asked for summary in summaries} == {2}
    for summary in summaries:
        of_row = [label for label in finished if label.startswith(f"h={summary.hops} policy={summary.policy} ")]
        assert summary.interrupted == (not of_row and summary.seeds > 0)
        assert summary.seeds == len(of_row) or summary.interrupted

    made()
    again = start(experiment, out, FAKE_WALL_S="0")
    assert again.communicate(timeout=30) and again.returncode == 0
    assert len(made()) == 8 - len(finished)
    assert set(states(out).values()) == {"finished"}
    assert not list((out / "runs").glob("*.partial"))


def test_an_interruption_at_once_leaves_a_state_to_resume(experiment, fake_build, tmp_path, made):
    out = tmp_path / "out"
    process = start(experiment, out, FAKE_WALL_S="5")
    wait_until(lambda: started(out) == 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert sorted(states(out).values()) == ["interrupted"] * 2 + ["pending"] * 6


def test_a_simulator_that_does_not_stop_is_killed(experiment, fake_build, tmp_path, made):
    out = tmp_path / "out"
    process = start(experiment, out, patience_s=0.5, FAKE_WALL_S="60", FAKE_DEAF="1")
    wait_until(lambda: started(out) == 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert sorted(states(out).values()) == ["interrupted"] * 2 + ["pending"] * 6


def test_two_commands_do_not_share_a_folder(experiment, fake_build, perhop, tmp_path):
    out = tmp_path / "out"
    process = start(experiment, out, FAKE_WALL_S="3")
    wait_until(lambda: list((out / "runs").glob("*.running")) if out.exists() else False)
    done = perhop("run", experiment, "--out", out)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert done.code == 2
    assert "another perhop is running" in done.said


def test_json_and_the_result_line_hold_the_same_rows(experiment, fake_build, perhop, tmp_path, monkeypatch):
    monkeypatch.setenv("PERHOP_SETUP_S", "12.5")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out" / "study"
    told = json.loads(perhop("run", experiment, "--out", out, "--json").stdout)
    last = perhop("run", experiment, "--out", out, "--result-target", "chain").stdout.splitlines()[-1]
    result = json.loads(last.removeprefix("RESULT "))
    assert last.startswith("RESULT ")
    assert result == json.loads((tmp_path / "out/chain/result.json").read_text())
    assert result["rows"] == told["rows"] and result["setup_s"] == 12.5 and result["run_s"] >= 0
    assert [(row["hops"], row["policy"]) for row in result["rows"]] == [
        (hops, policy) for hops in (1, 3) for policy in ("no limit", "cwl 8")
    ]
    for row in result["rows"]:
        assert len(row["service_time_us"]) == row["hops"]
        assert {"goodput_bps", "rtt_ms", "retries", "drops", "cwl_packets"} <= set(row)
    assert result["report"].endswith("report.html") and result["pcapng"].endswith("packets.pcapng")
    assert result["parquet"].endswith("results.parquet")


def test_the_time_left_follows_the_work_of_this_call():
    def run(seconds, hops):
        config = {"duration_s": float(seconds), "flows": [{}]}
        return Run("", "", "perhop-sim", hops, "", 1, {}, config)

    study = Study(Path(), [Outcome(run(100, 8)), Outcome(run(100, 1)), Outcome(run(100, 1), "finished")])
    left = TimeLeft()
    assert left.words(study, 1000.0) == "", "nothing was done yet; what an earlier call did says nothing"
    study.outcomes[0].status, study.outcomes[0].simulated_s = "running", 50.0
    # 400 of 900 in 100 s.
    assert left.words(study, 1100.0) == "2 min left"
    study.outcomes[0].status = "finished"
    assert left.words(study, 1100.5) == "2 min left", "told anew each second"
    assert left.words(study, 1200.0) == "25 s left"
    study.outcomes[1].status = "failed"
    assert left.words(study, 1210.0) == ""


def test_very_many_runs_write_their_state_less_often(tmp_path, monkeypatch):
    clock = [100.0]
    written = []

    def slow_write(study):
        written.append(clock[0])
        clock[0] += 2.0

    monkeypatch.setattr(state.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(state, "write_state", slow_write)
    keeper = state.Keeper(Study(tmp_path, []))
    for _ in range(100):
        keeper.keep()
        clock[0] += 1.0
    assert written == [100.0, 142.0, 184.0], "two seconds of forty"
