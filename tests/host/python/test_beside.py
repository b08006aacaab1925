# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of the same experiment from another place stand beside one's own in the report; those of another do not."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def simulated(experiment, fake_build, perhop, tmp_path):
    """The output folder of a simulation."""
    out = tmp_path / "sim"
    assert perhop("run", experiment, "--out", out).code == 0
    return out


@pytest.fixture
def live(simulated, tmp_path):
    """The same results as if they had been made live, with 123 kb/s in each run."""
    out = tmp_path / "live"
    shutil.copytree(simulated, out)
    told = json.loads((out / "provenance.json").read_text())
    (out / "provenance.json").write_text(json.dumps({**told, "backend": "live"}))
    rows = [{**row, "goodput_bps": 123_000.0} for row in pq.read_table(out / "flows.parquet").to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows), out / "flows.parquet")
    return out


def test_the_report_shows_both(experiment, perhop, simulated, live):
    assert "Side by side" not in (simulated / "report.html").read_text()
    assert perhop("run", experiment, "--out", simulated, "--beside", live).code == 0
    report = (simulated / "report.html").read_text()
    assert "Side by side" in report
    # Two policies over one and three hops.
    assert report.count('<td class="left">live</td><td>123<br>') == 4
    assert report.count('<td class="left">sim</td>') == 4


def test_a_place_that_counts_data_and_tcp_acks_together_says_so(experiment, perhop, simulated, live):
    words = "live, namespaces: data and TCP ACKs cross the same links"
    assert perhop("run", experiment, "--out", simulated, "--beside", live).code == 0
    assert words not in (simulated / "report.html").read_text()
    rows = [{**row, "direction": "both"} for row in pq.read_table(live / "hops.parquet").to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows), live / "hops.parquet")
    assert perhop("run", experiment, "--out", simulated, "--beside", live).code == 0
    assert words in (simulated / "report.html").read_text()


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [("mac", "rts_threshold_bytes", 1000), ("topology", "spacing_m", 200.0), (None, "policies", ["fixed 3"])],
)
def test_results_of_another_experiment_are_refused_before_any_run(
    section, field, value, experiment, perhop, simulated, live, tmp_path
):
    told = json.loads((live / "provenance.json").read_text())
    (told["experiment"][section] if section else told["experiment"])[field] = value
    (live / "provenance.json").write_text(json.dumps(told))
    done = perhop("run", experiment, "--out", tmp_path / "new", "--beside", live)
    assert done.code == 2
    assert str(live) in done.said and "another experiment" in done.said and (section or field) in done.said
    assert not (tmp_path / "new").exists()


def test_results_of_other_points_are_refused(experiment, perhop, simulated, live, tmp_path):
    done = perhop("run", experiment, "--set", "topology.hops=2", "--out", tmp_path / "new", "--beside", live)
    assert done.code == 2 and "another" in done.said


def test_results_of_the_same_place_are_refused(experiment, perhop, simulated, live, tmp_path):
    done = perhop("run", experiment, "--out", tmp_path / "new", "--beside", simulated)
    assert done.code == 2 and "backend sim" in done.said
    done = perhop("run", experiment, "--out", tmp_path / "new", "--beside", live, "--beside", live)
    assert done.code == 2 and "are both of backend live" in done.said


def test_what_other_backends_left_by_default_is_shown_only_if_it_is_of_this_experiment(
    experiment, perhop, simulated, live, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(live, tmp_path / "out/runs/small-live")
    assert perhop("run", experiment).code == 0
    assert "Side by side" in (tmp_path / "out/runs/small/report.html").read_text()
    assert perhop("run", experiment, "--set", "mac.rts_threshold_bytes=1000").code == 0
    assert "Side by side" not in (tmp_path / "out/runs/small/report.html").read_text()


def test_a_folder_without_results_is_refused(experiment, perhop, simulated, tmp_path):
    done = perhop("run", experiment, "--out", simulated, "--beside", tmp_path)
    assert done.code == 2
    assert "holds no results" in done.said and "provenance.json" in done.said.split("remedy:")[1]
