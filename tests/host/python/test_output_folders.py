# SPDX-License-Identifier: GPL-2.0-or-later
"""An output folder holds one experiment's results: those of another are never replaced without being asked."""

import json
import shutil

import pytest
from perhop.study.state import RESULT_FILES


@pytest.fixture
def other(experiment, tmp_path):
    """Another experiment by the same name."""
    file = tmp_path / "other" / "small.yaml"
    file.parent.mkdir()
    file.write_text(experiment.read_text().replace("spacing_m: 250", "spacing_m: 200"))
    return file


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("option", [None, "--out", "--output"])
def test_results_go_where_the_command_was_called_or_where_it_is_told(
    option, experiment, fake_build, perhop, tmp_path, monkeypatch
):
    """Never into the checkout, which may be somebody else's."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    done = perhop("run", experiment, *([option, "told"] if option else []))
    assert done.code == 0
    folder = here / ("told" if option else "out/runs/small")
    assert (folder / "report.html").is_file() and (folder / "state.json").is_file()
    assert [path.name for path in here.iterdir()] == ["told" if option else "out"]
    assert f"into {folder.relative_to(here)}" in " ".join(done.stdout.split())


def test_the_result_line_is_written_where_the_command_was_called(experiment, fake_build, perhop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert perhop("run", experiment, "--result-target", "chosen").code == 0
    assert {"result.json", "report.html"} <= {path.name for path in (tmp_path / "out/chosen").iterdir()}


def test_results_of_another_experiment_by_the_same_name_are_kept(
    experiment, other, fake_build, perhop, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert perhop("run", experiment).code == 0
    folder = tmp_path / "out/runs/small"
    before = contents(folder)
    done = perhop("run", other)
    assert done.code == 2
    assert "another experiment: small" in done.said and str(experiment.name) in done.said
    assert "--out" in done.said.split("remedy:")[1] and "--fresh" in done.said.split("remedy:")[1]
    assert contents(folder) == before
    told = json.loads(perhop("run", other, "--json").stdout)
    assert "another experiment" in told["error"]["problem"]
    assert contents(folder) == before


def test_another_name_in_the_same_folder_is_another_experiment(experiment, fake_build, perhop, tmp_path):
    out = tmp_path / "out"
    assert perhop("run", experiment, "--out", out).code == 0
    before = contents(out)
    assert perhop("run", experiment, "--set", "name=second", "--out", out).code == 2
    assert contents(out) == before


def test_fresh_replaces_another_experiment_and_leaves_nothing_of_it(experiment, other, fake_build, perhop, tmp_path):
    out = tmp_path / "out"
    assert perhop("run", experiment, "--out", out).code == 0
    assert (out / "packets.pcapng").exists()
    other.write_text(other.read_text() + "outputs: {pcapng: 'off'}\n")
    assert perhop("run", other, "--out", out, "--fresh").code == 0
    assert not (out / "packets.pcapng").exists()
    assert len(list((out / "runs").iterdir())) == 8
    assert perhop("run", other, "--out", out).code == 0, "now it is the other's"
    assert perhop("run", experiment, "--out", out).code == 2


def test_every_file_that_a_run_leaves_is_known_as_its_own(experiment, fake_build, perhop, tmp_path):
    """Or it would stay when results are replaced, and be taken for nobody's."""
    out = tmp_path / "out"
    assert perhop("run", experiment, "--out", out).code == 0
    assert {path.name for path in out.iterdir()} == {*RESULT_FILES, "runs", "state.json", ".lock"}


def test_an_experiment_that_grows_keeps_its_folder(experiment, fake_build, perhop, tmp_path):
    out = tmp_path / "out"
    assert perhop("run", experiment, "--out", out).code == 0
    text = experiment.read_text().replace("seeds: [1, 2]", "seeds: [1, 2, 3]").replace("[1, 3]", "[1, 3, 4]")
    experiment.write_text(text)
    done = perhop("run", experiment, "--out", out)
    assert done.code == 0 and "8 runs reused" in done.stdout, done.stdout
    assert perhop("run", experiment, "--out", out, "--quick").code == 0
    assert perhop("run", experiment, "--out", out, "--set", "topology.hops=2").code == 0


def test_an_experiment_that_was_moved_is_the_same(experiment, fake_build, perhop, tmp_path):
    out = tmp_path / "out"
    assert perhop("run", experiment, "--out", out).code == 0
    moved = tmp_path / "moved.yaml"
    shutil.move(experiment, moved)
    done = perhop("run", moved, "--out", out)
    assert done.code == 0 and "8 runs reused" in done.stdout


def test_results_from_before_folders_said_whose_they_are_are_known_by_what_they_hold(
    experiment, other, fake_build, perhop, tmp_path
):
    out = tmp_path / "out"
    assert perhop("run", experiment, "--out", out).code == 0
    state = json.loads((out / "state.json").read_text())
    del state["owner"]
    (out / "state.json").write_text(json.dumps(state))
    assert perhop("run", other, "--out", out).code == 2
    assert perhop("run", experiment, "--out", out).code == 0


@pytest.mark.parametrize("fresh", [(), ("--fresh",)])
def test_files_that_no_run_made_are_not_touched(fresh, experiment, fake_build, perhop, tmp_path):
    out = tmp_path / "mine"
    (out / "runs").mkdir(parents=True)
    (out / "runs" / "diary.txt").write_text("monday\n")
    done = perhop("run", experiment, "--out", out, *fresh)
    assert done.code == 2 and "holds runs" in done.said
    assert (out / "runs" / "diary.txt").read_text() == "monday\n"
