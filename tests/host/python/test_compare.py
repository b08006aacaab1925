# SPDX-License-Identifier: GPL-2.0-or-later
"""Two sides are compared pair by pair, and refused where more differs than what is compared."""

import html
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from perhop import paths
from perhop.compare import page
from waiting import wait_until

NONE_AGAINST_CWL_8 = ("--set-a", "policies=[none]", "--set-b", "policies=[fixed 8]")


@pytest.fixture
def other(experiment, tmp_path):
    """Writes a copy of the experiment in which one text stands for another."""

    def write(*changes: tuple[str, str]) -> Path:
        text = experiment.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        file = tmp_path / "other.yaml"
        file.write_text(text)
        return file

    return write


def result(done) -> dict:
    """The object of the RESULT line, which is the last one."""
    word, _, value = done.stdout.rstrip().splitlines()[-1].partition(" ")
    assert word == "RESULT"
    return json.loads(value)


def rows(told: dict, quantity: str) -> dict[str, dict]:
    return {row["point"]: row for row in told["rows"] if row["quantity"] == quantity and not row["flow"]}


def written(home: Path) -> list[Path]:
    return sorted(home.rglob("*"))


# --- what is compared -----------------------------------------------------------------------------------------------


def test_two_policies_are_compared_at_each_point_and_written(experiment, home, perhop):
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8)
    assert done.code == 0, done.stderr
    told = result(done)
    assert told["compared"] == [{"field": "policies", "a": "no limit", "b": "cwl 8"}]
    goodput = rows(told, "goodput_bps")
    assert list(goodput) == ["hops 1", "hops 3"]
    folder = home / "out/compare/small/cwl-8-against-no-limit"
    pairs = pq.read_table(folder / "pairs.parquet").to_pylist()
    assert len(pairs) == len(told["rows"]) * 2
    for point, row in goodput.items():
        apart = {
            pair["seed"]: pair["difference"]
            for pair in pairs
            if (pair["point"], pair["quantity"], pair["flow"]) == (point, "goodput_bps", "")
        }
        assert set(apart) == {1, 2} and row["difference"] == pytest.approx(sum(apart.values()) / 2)
    assert json.loads((folder / "result.json").read_text()) == told
    assert len(pq.read_table(folder / "differences.parquet")) == len(told["rows"])
    assert "cwl 8 against no limit" in (folder / "compare.html").read_text()


def test_goodput_is_told_over_time(experiment, home, perhop):
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8)
    moments = pq.read_table(home / result(done)["over_time"]).to_pylist()
    assert [moment["t_start_s"] for moment in moments if moment["point"] == "hops 3"] == list(range(10))
    # The fake simulator's goodput does not change: at each moment it is that of the whole run.
    whole = rows(result(done), "goodput_bps")["hops 3"]
    for moment in moments:
        if moment["point"] == "hops 3":
            assert moment["difference_goodput_bps"] == pytest.approx(whole["difference"])
            assert moment["difference_goodput_bps_95"] == pytest.approx((whole["high_95"] - whole["low_95"]) / 2)


def test_what_perhop_run_has_made_is_not_made_again_nor_what_compare_has(experiment, home, perhop, made):
    assert perhop("run", experiment, "--set", "policies=[none]").code == 0
    assert len(made()) == 4
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8)
    assert sorted(made()) == [f"h={hops} policy=cwl 8 seed={seed}" for hops in (1, 3) for seed in (1, 2)]
    assert (result(done)["runs_made"], result(done)["runs_reused"]) == (4, 4)
    assert perhop("compare", experiment, *NONE_AGAINST_CWL_8).code == 0
    assert made() == []
    assert perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--fresh").code == 0
    assert len(made()) == 8


def test_the_runs_of_perhop_run_stay_as_they_are(experiment, home, perhop):
    assert perhop("run", experiment).code == 0
    before = {path: path.read_bytes() for path in (home / "out/runs").rglob("*") if path.is_file()}
    assert perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--fresh").code == 0
    assert {path: path.read_bytes() for path in (home / "out/runs").rglob("*") if path.is_file()} == before


def test_two_files_that_differ_in_one_setting_are_compared_by_it(experiment, other, home, perhop):
    file = other(("data_rate_mbps: 2", "data_rate_mbps: 2\n  rts_threshold_bytes: 1000"))
    done = perhop("compare", experiment, file)
    assert done.code == 0, done.stderr
    assert [each["field"] for each in result(done)["compared"]] == ["mac.rts_threshold_bytes"]
    assert {row["policy"] for row in result(done)["rows"]} == {"no limit", "cwl 8"}


def test_several_fields_that_one_side_sets_are_one_thing(experiment, home, perhop):
    settings = ("--set-b", "mac.rts_threshold_bytes=1000", "--set-b", "mac.long_retry_limit=7")
    done = perhop("compare", experiment, *settings)
    assert done.code == 0, done.stderr
    assert [each["b"] for each in result(done)["compared"]] == ["1000", "7"]


def test_output_folders_are_compared_and_set_chooses_among_their_points(experiment, home, perhop, made):
    assert perhop("run", experiment, "--out", "made").code == 0
    made()
    done = perhop("compare", "made", "--set", "topology.hops=3", *NONE_AGAINST_CWL_8)
    assert done.code == 0, done.stderr
    assert made() == []
    of_folder = rows(result(done), "goodput_bps")
    assert list(of_folder) == [""]
    of_file = rows(result(perhop("compare", experiment, *NONE_AGAINST_CWL_8)), "goodput_bps")
    assert of_folder[""]["difference"] == of_file["hops 3"]["difference"]
    refused = perhop("compare", "made", "--set", "topology.hops=12", *NONE_AGAINST_CWL_8)
    assert refused.code == 2 and "topology.hops = 12; it has 1, 3" in refused.said
    refused = perhop("compare", "made", "--set-b", "mac.rts_threshold_bytes=7")
    assert refused.code == 2 and "mac.rts_threshold_bytes = 7; it has" in refused.said


def test_single_runs_are_one_pair(experiment, home, perhop):
    assert perhop("run", experiment, "--out", "made").code == 0
    by_label = {json.loads(file.read_text())["label"]: file.parent for file in home.glob("made/runs/*/run.json")}
    a, b = by_label["h=3 policy=no limit seed=1"], by_label["h=3 policy=cwl 8 seed=1"]
    done = perhop("compare", a, b)
    assert done.code == 0, done.stderr
    told = result(done)
    assert told["compared"] == [{"field": "policies", "a": "no limit", "b": "cwl 8"}] and told["seeds"] == [1]
    refused = perhop("compare", a, by_label["h=1 policy=no limit seed=1"])
    assert refused.code == 2 and "the topology differs: topology.nodes 4 nodes at (0 0) (250 0)" in refused.said
    refused = perhop("compare", a, by_label["h=3 policy=no limit seed=2"])
    assert refused.code == 2 and "no seed is on both sides: A has 1, B has 2" in refused.said
    refused = perhop("compare", a, experiment)
    assert refused.code == 2 and "is a single run" in refused.said


def test_each_of_several_flows_has_its_rows(other, home, perhop):
    flows = "flows:\n  - {kind: tcp, src: last, dst: first}\n"
    file = other(("flows:\n", flows), ("topology.hops: [1, 3]", "topology.hops: [3]"))
    done = perhop("compare", file, *NONE_AGAINST_CWL_8)
    assert done.code == 0, done.stderr
    told = result(done)
    by_flow = {row["flow"]: row["difference"] for row in told["rows"] if row["quantity"] == "goodput_bps"}
    assert set(by_flow) == {"", "3→0", "0→3"}
    assert by_flow[""] == pytest.approx(by_flow["3→0"] + by_flow["0→3"])


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["files", "options"])
def test_another_topology_is_refused_by_its_field_and_nothing_is_written(by, experiment, other, home, perhop):
    if by == "files":
        done = perhop("compare", experiment, other(("topology.hops: [1, 3]", "topology.hops: [2]")))
        assert "the topology differs: topology.hops 1, 3 against 2" in done.said
    else:
        done = perhop("compare", experiment, "--set-a", "topology.hops=8", "--set-b", "topology.hops=4")
        assert "the topology differs: topology.hops 8 against 4" in done.said
    assert done.code == 2
    assert "--about topology.hops" in done.said.split("remedy:")[1]
    assert written(home) == []


def test_about_says_that_a_topology_is_what_is_compared(experiment, home, perhop):
    settings = ("--set-a", "topology.hops=3", "--set-b", "topology.hops=1", "--about", "topology")
    done = perhop("compare", experiment, *settings)
    assert done.code == 0, done.stderr
    assert [each["field"] for each in result(done)["compared"]] == ["topology.hops"]
    done = perhop("compare", experiment, *settings, "--about", "topology.hop")
    assert done.code == 2 and "this does not differ" in done.said and "did you mean 'topology.hops'" in done.said


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            [("spacing_m: 250", "spacing_m: 200"), ("duration_s: 10", "duration_s: 20")],
            ["the topology differs: topology.spacing_m 250 against 200", "duration_s 10 against 20"],
        ),
        (
            [
                ("data_rate_mbps: 2", "data_rate_mbps: 2\n  rts_threshold_bytes: 7"),
                ("reception: ns2", "reception: sinr"),
            ],
            ["mac.rts_threshold_bytes 0 against 7", "medium.reception ns2 against sinr"],
        ),
        ([("dst: last", "dst: 1")], ["the traffic differs: flows.0.dst last against 1"]),
    ],
)
def test_files_that_differ_in_more_are_refused_by_every_field(changes, named, experiment, other, home, perhop):
    done = perhop("compare", experiment, other(*changes))
    assert done.code == 2
    for words in named:
        assert words in done.said
    assert written(home) == []


def test_a_trace_that_moves_nodes_otherwise_is_another_topology(experiment, other, home, perhop, tmp_path):
    text = experiment.read_text().replace("sweep:\n  topology.hops: [1, 3]\n", "")
    text = text.replace("  kind: chain\n  hops: 2\n  spacing_m: 250\n", "  kind: setdest\n  file: trace.txt\n")
    files = []
    for name, x_m in (("one", 90), ("other", 80), ("same", 90)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "moving.yaml").write_text(text)
        (folder / "trace.txt").write_text(
            "$node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n$node_(1) set X_ 100.0\n$node_(1) set Y_ 0.0\n"
            f'$ns_ at 1.0 "$node_(1) setdest {x_m}.0 0.0 5.0"\n'
        )
        files.append(folder / "moving.yaml")
    done = perhop("compare", files[0], files[1], *NONE_AGAINST_CWL_8)
    assert done.code == 2 and "the topology differs: topology.motion" in done.said
    assert perhop("compare", files[0], files[2], *NONE_AGAINST_CWL_8).code == 0


def test_a_setting_beside_what_one_side_sets_is_refused(experiment, other, home, perhop):
    file = other(("data_rate_mbps: 2", "data_rate_mbps: 2\n  rts_threshold_bytes: 7"))
    done = perhop("compare", experiment, file, *NONE_AGAINST_CWL_8)
    assert done.code == 2 and "mac.rts_threshold_bytes 0 against 7" in done.said
    assert written(home) == []


def test_results_of_another_program_are_refused_beside_another_policy(experiment, home, perhop):
    assert perhop("run", experiment, "--out", "made", "--set", "policies=[none]").code == 0
    told = json.loads((home / "made/provenance.json").read_text())
    told["programs_sha256"]["perhop-sim"] = "0123456789abcdef"
    (home / "made/provenance.json").write_text(json.dumps(told))
    before = written(home)
    done = perhop("compare", "made", experiment, "--set-b", "policies=[fixed 8]")
    assert done.code == 2 and "the program differs" in done.said and "perhop-sim 0123456789ab" in done.said
    assert written(home) == before
    assert perhop("compare", "made", experiment, "--set", "policies=[none]").code == 0
    assert perhop("compare", "made", experiment, "--set-b", "policies=[fixed 8]", "--about", "version").code == 0


def test_several_policies_against_another_one_are_refused(experiment, home, perhop):
    done = perhop("compare", experiment, "--set-b", "policies=[fixed 8]")
    assert done.code == 2 and "no limit, cwl 8 on side A against cwl 8 on side B" in done.said


def test_identical_sides_are_refused_but_results_may_be_repeated(experiment, home, perhop):
    done = perhop("compare", experiment)
    assert done.code == 2 and "the same runs" in done.said and written(home) == []
    assert perhop("run", experiment, "--out", "made").code == 0
    assert perhop("compare", "made").code == 2
    done = perhop("compare", "made", experiment)
    assert done.code == 0, done.stderr
    told = result(done)
    assert {row["difference"] for row in told["rows"]} == {0} == {row["high_95"] for row in told["rows"]}
    assert {row["p"] for row in told["rows"]} == {None} and "how well runs repeat" in told["notes"][0]


def test_what_is_no_side_is_refused(experiment, home, perhop):
    (home / "empty").mkdir()
    for words, said in (
        (["nowhere.yaml"], "nowhere.yaml"),
        (["empty"], "A: empty is no experiment, no output folder"),
        ([experiment, "--backend-b", "moon"], "there is no backend 'moon'"),
        ([experiment, "--inventory", "hosts.yml"], "--inventory is for the backend radio"),
        ([experiment, "--set-a", "policies"], "is no assignment"),
    ):
        done = perhop("compare", *words)
        assert done.code == 2 and said in done.said, words
    assert perhop("run", experiment, "--out", "made").code == 0
    done = perhop("compare", "made", "--backend-b", "live")
    assert done.code == 2 and "--backend-b live says how runs are made" in done.said
    done = perhop("compare", "nowhere.yaml", "--json")
    assert "cannot be read" in json.loads(done.stdout)["error"]["problem"]


# --- seeds and runs that are not there ------------------------------------------------------------------------------


def test_seeds_of_one_side_alone_are_left_out_and_named(experiment, home, perhop, made):
    settings = (*NONE_AGAINST_CWL_8, "--set-a", "seeds=[1,2,3]", "--set-b", "seeds=[2,3,4]")
    done = perhop("compare", experiment, *settings)
    assert done.code == 0, done.stderr
    told = result(done)
    assert (told["seeds"], told["seeds_of_a_alone"], told["seeds_of_b_alone"]) == ([2, 3], [1], [4])
    assert "Side B has no run with seed 1" in " ".join(told["notes"])
    assert {label.rsplit("=", 1)[1] for label in made()} == {"2", "3"}, "a run without its pair is not made"
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--set-a", "seeds=[1]", "--set-b", "seeds=[2]")
    assert done.code == 2 and "no seed is on both sides: A has 1, B has 2" in done.said


def test_one_seed_has_a_difference_without_interval_or_test(experiment, home, perhop):
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--set", "seeds=[1]")
    assert done.code == 0, done.stderr
    row = rows(result(done), "goodput_bps")["hops 3"]
    assert row["difference"] and (row["low_95"], row["p"], row["test"], row["pairs"]) == (None, None, "none", 1)
    assert "one pair, which does not tell how far chance goes" in " ".join(done.stdout.split())


def test_a_failed_run_takes_its_pair_away_and_fails_the_command(experiment, home, perhop, monkeypatch):
    monkeypatch.setenv("FAKE_CRASH", "h=3 policy=cwl 8 seed=2")
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--set", "seeds=[1,2,3]")
    assert done.code == 1
    assert "B: h=3 policy=cwl 8 seed=2: perhop-sim failed" in done.said
    told = result(done)
    pairs = {point: row["pairs"] for point, row in rows(told, "goodput_bps").items()}
    assert pairs == {"hops 1": 3, "hops 3": 2}
    report = (home / told["report"]).read_text()
    assert "<b>2 of 3</b>" in report and "h=3 policy=cwl 8 seed=2" in report


def test_without_any_pair_there_is_no_page(experiment, home, perhop, monkeypatch):
    monkeypatch.setenv("FAKE_CRASH", "policy=cwl 8")
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8)
    assert done.code == 2 and "no seed has a finished run" in done.said and "assertion failed" in done.said
    assert not list(home.rglob("compare.html"))


def test_an_interrupted_comparison_writes_no_page_and_the_same_command_continues(
    experiment, home, perhop, monkeypatch, tmp_path, made
):
    monkeypatch.setenv("FAKE_WALL_S", "1")

    def interrupt() -> None:
        wait_until(lambda: (tmp_path / "made.log").exists())
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=interrupt)
    presser.start()
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--jobs", "2")
    presser.join()
    assert done.code == 130 and "The same command continues" in done.said
    assert not list(home.rglob("compare.html"))
    monkeypatch.setenv("FAKE_WALL_S", "0")
    assert perhop("compare", experiment, *NONE_AGAINST_CWL_8).code == 0


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_but_itself_and_says_how_to_repeat_it(experiment, home, perhop, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["perhop", "compare", "small.yaml", "--set-a", "policies=[none]"])
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8)
    report = html.unescape((home / result(done)["report"]).read_text())
    assert "http" not in report.replace("http://www.w3.org", "") and "src=" not in report
    for words in (
        "perhop compare small.yaml --set-a 'policies=[none]'",
        "perhop run",
        "1, 2",
        "perhop-sim",
        str(paths.version()["git"]),
        "too few to see whether their differences are normal",
    ):
        assert words in report, words


def test_many_points_are_counted_in_words(experiment, home, perhop):
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--set", "topology.hops=[1,2,3,4]")
    said = " ".join(done.stdout.split())
    assert "of 4 places" in said and "more differences are on the page" in said


def test_the_report_says_less_of_more_places_than_it_can_show(experiment, home, perhop):
    hops = list(range(1, page.PAIRS_SHOWN_MAX + 2))
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--set", f"topology.hops={hops}")
    report = (home / result(done)["report"]).read_text()
    assert "are in pairs.parquet." in report and "places are in over_time.parquet." in report
