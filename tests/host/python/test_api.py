# SPDX-License-Identifier: GPL-2.0-or-later
"""`import perhop`: experiments as objects, their runs with the command's cache and identity, results as tables."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas
import perhop as library
import polars
import pyarrow as pa
import pytest
from perhop import paths
from perhop.experiment import load, resolve, schema
from perhop.experiment.policies import parse_policy

FILES = sorted(paths.experiments().glob("*/experiment.yaml"))


def small(**fields):
    values = {
        "name": "small",
        "topology": library.Chain(hops=2),
        "flows": [library.TcpFlow()],
        "policies": ["none", library.Policy(cwl="fixed", cwl_packets=8)],
        "sweep": {"topology.hops": [1, 3]},
        "seeds": [1, 2],
        "duration_s": 10,
        "warmup_s": 2,
    }
    return library.Experiment(**(values | fields))


def test_importing_perhop_loads_none_of_it():
    """Flowgraphs and hosts with radios import the package, and have none of what experiments need."""
    told = "import sys, perhop; print(sorted({'pydantic', 'pyarrow', 'rich', 'perhop.api'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_that_is_listed_is_there_and_says_what_it_is():
    from perhop.api import names

    for name in names.__all__:
        assert getattr(library, name).__doc__, name
    assert set(names.__all__) <= set(dir(library))
    sections = {name for name, value in vars(schema).items() if name[:1].isupper() and hasattr(value, "model_fields")}
    assert sections - {"Section", "ExactSettings", "FlowBase", "EventBase", "TraceBase"} <= set(names.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Chian'"):
        _ = library.Chian


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_experiment_file_becomes_an_object_and_a_file_again(file):
    experiment = library.Experiment.from_file(file)
    again = library.Experiment.from_yaml(experiment.to_yaml())
    assert again == experiment
    assert library.Experiment.from_yaml(again.to_yaml()) == again


@pytest.mark.parametrize("name", ["chain", "dca_crossing", "exact_reroute", "burst_loss", "mobile"])
def test_the_text_of_an_object_gives_the_runs_of_its_file(name, tmp_path):
    """By their ids, which are hashes of all that decides a run."""
    file = paths.experiments() / name / "experiment.yaml"
    written = tmp_path / "written.yaml"
    written.write_text(library.Experiment.from_file(name).to_yaml())

    def ids(source: Path) -> list[str]:
        return [run.id for run in resolve.resolve(load.load(source, quick=True))]

    assert ids(written) == ids(file)


def test_files_that_an_experiment_names_are_found_from_elsewhere(tmp_path):
    (tmp_path / "files.cpio").write_bytes(b"")
    program = library.Program(command="ls", initramfs="files.cpio")
    (tmp_path / "mine.yaml").write_text(small(programs=[program], sweep={}).to_yaml())
    experiment = library.Experiment.from_file(tmp_path / "mine.yaml")
    assert [Path(program.initramfs) for program in experiment.programs] == [tmp_path / "files.cpio"]
    # What is written for it lies elsewhere.
    assert experiment.file is None
    assert library.Experiment.from_yaml(experiment.but(seeds=[1]).to_yaml()).programs == experiment.programs


def test_an_object_says_what_a_file_says(experiment):
    assert library.Experiment.from_file(experiment).but(medium=library.Medium(), mac=library.Mac()) == small()


def test_a_swept_field_need_not_have_a_value_of_its_own():
    text = small().to_yaml().replace(", hops: 2", "")
    assert "hops: 2" not in text
    assert library.Experiment.from_yaml(text).topology == library.Chain(hops=1)


@pytest.mark.parametrize(
    ("wrong", "field", "remedy"),
    [
        (lambda: library.Chain(hops=0), "hops", "at least 1"),
        (lambda: library.Chain(hops=2, hop=1), "hop", "did you mean 'hops'"),
        (lambda: small(policies=["fixd 8"]), "policies.0", "did you mean 'fixed'"),
        (lambda: small(flows=[]), "flows", "at least 1"),
        (lambda: small().but(seedz=[1]), "seedz", "did you mean 'seeds'"),
        (lambda: library.Experiment.from_yaml(small().to_yaml().replace("chain", "chian")), "topology.kind", "'chain'"),
    ],
)
def test_what_is_wrong_is_told_as_of_a_file(wrong, field, remedy):
    with pytest.raises(library.ExperimentError) as caught:
        wrong()
    assert caught.value.field == field and remedy in caught.value.remedy


@pytest.mark.parametrize(
    "text", ["none", "fixed 8", "delay floor + dca 3 no resend", "hop + daa as in 001 + paced", "combined"]
)
def test_a_policy_writes_the_words_that_give_it_back(text):
    (policy,) = parse_policy(text)
    assert parse_policy(policy.words) == [policy]
    assert small(policies=[policy]).policies == [policy.words]


def test_a_run_gives_what_the_command_gives(home, experiment, perhop, made):
    assert perhop("run", experiment, "--json").code == 0
    assert len(made()) == 8
    results = library.run(experiment, frames="arrow")
    assert made() == [], "the command's runs were made again"
    assert results.folder == home / "out/runs/small"
    told = json.loads(perhop("run", experiment, "--json").stdout)
    means = results.using("pandas").flows.groupby(["hops", "policy"], sort=False).goodput_bps.mean()
    assert [row["goodput_bps"] for row in told["rows"]] == [round(value) for value in means]


def test_two_equal_calls_run_once_and_an_object_of_a_file_is_that_file(home, experiment, made, perhop):
    library.run(small())
    assert len(made()) == 8
    library.run(small())
    assert made() == []
    library.run(small(seeds=[1, 2, 3]))
    assert len(made()) == 4
    of_file = library.Experiment.from_file(experiment)
    library.run(of_file, out="mine")
    assert len(made()) == 8
    assert perhop("run", experiment, "--out", "mine").code == 0
    assert made() == []
    assert of_file.but(seeds=[3]).file is None


def test_the_file_that_an_object_leaves_makes_the_same_by_the_command(home, perhop, made):
    library.run(small(), seeds=1)
    assert len(made()) == 4
    command = json.loads((home / "out/runs/small/provenance.json").read_text())["command"]
    assert command[:2] == ["perhop", "run"] and "seeds=[1]" in " ".join(command)
    assert perhop("run", "out/experiments/small.yaml", "--set", "seeds=[1]").code == 0
    assert made() == []


def test_settings_and_seeds_lay_over_the_experiment(home, made):
    results = library.run(small(), seeds=[7], settings={"topology.hops": 2, "policies": ["delay"]}, frames="arrow")
    assert len(made()) == 1
    assert results.runs.column("seed").to_pylist() == [7]
    assert results.runs.column("hops").to_pylist() == [2]


@pytest.mark.parametrize(
    ("frames", "kind"), [("pandas", pandas.DataFrame), ("polars", polars.DataFrame), ("arrow", pa.Table)]
)
def test_tables_are_of_the_library_that_is_asked_for(home, frames, kind):
    results = library.run(small(), frames=frames)
    tables = (results.runs, results.flows, results.links, results.intervals)
    assert all(isinstance(table, kind) for table in tables)
    assert [len(table) for table in tables] == [8, 8, 32, 80]
    assert {"goodput_bps", "rtt_ms", "policy", "seed"} <= set(
        getattr(results.flows, "column_names", results.flows.columns)
    )


def test_without_a_word_tables_are_of_pandas_and_without_pandas_of_polars(home, monkeypatch):
    from perhop.api import results as module

    assert isinstance(library.run(small()).flows, pandas.DataFrame)
    find = module.importlib.util.find_spec
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None if name == "pandas" else find(name))
    assert library.run(small()).frames == "polars"
    with pytest.raises(library.PerhopError, match="pandas is not installed"):
        library.run(small(), frames="pandas")


def test_runs_that_fail_are_told_and_the_others_kept(home, monkeypatch, made):
    monkeypatch.setenv("FAKE_CRASH", "seed=2")
    with pytest.raises(library.RunsFailed, match="4 runs failed") as caught:
        library.run(small(), frames="arrow")
    assert "parts do not sum" in str(caught.value)
    statuses = caught.value.results.runs.column("status").to_pylist()
    assert (statuses.count("finished"), statuses.count("failed")) == (4, 4)
    made()
    monkeypatch.delenv("FAKE_CRASH")
    library.run(small())
    assert len(made()) == 4


def test_completion_records_that_were_not_asked_for_are_no_empty_table(home):
    with pytest.raises(library.PerhopError, match=r"completions=True"):
        _ = library.run(small()).completions


def test_a_check_that_does_not_hold_is_an_error_where_it_is_asked_for(home, tmp_path):
    folder = tmp_path / "checked"
    folder.mkdir()
    (folder / "experiment.yaml").write_text(small(name="checked").to_yaml())
    verdict = "def check(results, folder):\n    return Check(False, ['never'])\n"
    (folder / "check.py").write_text(f'"""No."""\nfrom perhop.study.check import Check\n\n\n{verdict}')
    assert len(library.run(folder).flows) == 8
    with pytest.raises(library.CheckFailed, match="never"):
        library.run(folder, check=True)


def test_a_folder_without_results_is_told(tmp_path):
    with pytest.raises(library.PerhopError, match="holds no results"):
        _ = library.Results(tmp_path).flows


def test_what_an_experiment_is_warned_of_is_a_warning(home):
    area = library.RandomWaypoint(nodes=4, width_m=100, height_m=100, min_speed_mps=0, max_speed_mps=1)
    with pytest.warns(UserWarning, match="min_speed_mps is 0"):
        library.run(small(topology=area, routing={"protocol": "aodv"}, sweep={}, seeds=[1]))


def test_a_report_is_written_where_it_is_asked_for(home):
    assert not (library.run(small()).folder / "report.html").exists()
    assert (library.run(small(), report=True).folder / "report.html").is_file()


def test_the_page_of_the_api_does_what_it_says(home, made):
    page = (paths.repository() / "docs/how-to/python_api.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    # Steps need the real simulator: test_steps.py.
    blocks = [block for block in blocks if "Simulation" not in block]
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(compile(block, "python_api.md", "exec"), names)
    assert (home / "out/runs/four_hops/flows.parquet").is_file()
    assert "policy=cwl 4" in " ".join(made())
