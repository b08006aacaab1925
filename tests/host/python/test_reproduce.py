# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop reproduce: every row on one page, one pool of runs, resumed after an interruption, failures shown."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from perhop.reproduce import reproduction as reproduce
from perhop.reproduce.check_versions import stale_rows
from perhop.study.check import RowVerdict
from waiting import wait_until

ROWS = """\
papers:
  "000": "A paper"
  "001": "Another paper"
rows:
  B-01: {paper: "000", title: Window, claim: Grows, check: grows, experiment: chains, numeric: true}
  B-02: {paper: "000", title: Delay, claim: Falls, check: falls, experiment: chains, numeric: false}
  B-03: {paper: "000", title: Sum, claim: Is two, check: one and one, experiment: sums, numeric: true}
  D-01: {paper: "001", title: Later, claim: Comes, check: none, experiment: null, numeric: true}
"""

CHAINS_CHECK = """\
from perhop.study.check import Check, RowVerdict


def check(results, folder):
    assert all((folder / "runs" / row["run"] / "result.json").is_file() for row in results.flows)
    figure = folder / "B-02_delay.svg"
    figure.write_text('<svg xmlns="http://www.w3.org/2000/svg"><path d="M 1.23456 2"/></svg>')
    rows = {
        "B-01": RowVerdict("pass", f"{len(results.flows)} flows", "± 2"),
        "B-02": RowVerdict("finding", "rises", evidence="Tried <twice>; another simulator says the same."),
    }
    return Check(True, ["a line"], {}, [figure], rows)
"""

SUMS_CHECK = """\
from perhop.study.check import Check, RowVerdict


def check(results, folder):
    assert results is None
    return Check(True, [], {}, [], {"B-03": RowVerdict("pass", "2")})
"""


@pytest.fixture
def rows(tmp_path, monkeypatch, experiment) -> Path:
    """Three rows with a verdict from two folders, and one without; what `perhop reproduce` then works on."""
    folder = tmp_path / "experiments"
    for name, check in (("chains", CHAINS_CHECK), ("sums", SUMS_CHECK)):
        (folder / name).mkdir(parents=True)
        (folder / name / "check.py").write_text(check)
    (folder / "chains" / "experiment.yaml").write_text(experiment.read_text() + "quick:\n  seeds: [1]\n")
    (folder / "rows.yaml").write_text(ROWS)
    monkeypatch.setattr(reproduce, "experiments", lambda: folder)
    monkeypatch.chdir(tmp_path)
    return folder


def result_line(outcome) -> dict:
    last = outcome.stdout.splitlines()[-1]
    assert last.startswith("RESULT ")
    return json.loads(last.removeprefix("RESULT "))


def test_every_row_gets_a_verdict_and_a_place_on_both_pages(rows, fake_build, perhop, tmp_path):
    outcome = perhop("reproduce", "all", "--out", tmp_path / "out")
    assert outcome.code == 0
    said = result_line(outcome)
    assert {name: row["verdict"] for name, row in said["rows"].items()} == {
        "B-01": "pass",
        "B-02": "finding",
        "B-03": "pass",
        "D-01": "not built",
    }
    assert said["numeric_pass_share"] == 1.0
    assert said["numeric_pass_share_all"] == pytest.approx(2 / 3, abs=1e-4)  # of the rows not built, too
    assert said["not_built"] == 1
    assert set(said["version"]) == {"perhop", "git"}
    assert {name: (row["grade"], row["seeds"]) for name, row in said["rows"].items()} == {
        "B-01": ("quick", 1),
        "B-02": ("quick", 1),
        "B-03": ("quick", 0),
        "D-01": (None, 0),
    }
    assert said["rows"]["B-01"]["measured"] == "4 flows"  # the quick section's single seed
    page = (tmp_path / "out" / "reproduction.html").read_text()
    markdown = (tmp_path / "out" / "reproduction" / "README.md").read_text()
    for row in said["rows"]:
        assert f'id="{row}"' in page
        assert row in markdown
    assert "100% of the 2 with an experiment, 67% of all 3" in page
    assert "numeric rows that pass: 100% of the 2 with an experiment, 67% of all 3" in markdown
    assert "**pass** (quick, 1 seed): 4 flows" in markdown and "**pass** (no runs): 2" in markdown
    assert "<small>quick, 1 seed</small>" in page
    assert "Tried &lt;twice&gt;" in page
    assert "perhop reproduce B-01 --quick" in page
    assert (tmp_path / "out" / "reproduction" / "B-02-delay.svg").read_text().count('d="M1.23 2"') == 1
    assert "](B-02-delay.svg)" in markdown
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is loaded from elsewhere


def test_the_page_tells_which_rows_another_check_judged(rows, fake_build, perhop, tmp_path):
    perhop("reproduce", "all", "--out", tmp_path / "out")
    markdown = (tmp_path / "out" / "reproduction" / "README.md").read_text()
    assert stale_rows(markdown, reproduce.catalogue(rows)) == []

    def stale_after(file: str, old: str, new: str) -> list[str]:
        before = (rows / file).read_text()
        assert old in before
        (rows / file).write_text(before.replace(old, new, 1))
        found = stale_rows(markdown, reproduce.catalogue(rows))
        (rows / file).write_text(before)
        return found

    assert stale_after("chains/check.py", "rises", "falls") == ["B-01", "B-02"]
    assert stale_after("chains/experiment.yaml", "seeds: [1]", "seeds: [2]") == ["B-01", "B-02"]
    assert stale_after("rows.yaml", "check: one and one", "check: one and two") == ["B-03"]
    assert stale_after("rows.yaml", "experiment: null", "experiment: sums") == ["D-01"]
    assert stale_after("rows.yaml", "experiment: sums", "experiment: null") == ["B-03"]
    (rows / "sums" / "neighbour.py").write_text("")
    assert stale_rows(markdown, reproduce.catalogue(rows)) == ["B-03"]


def test_full_takes_the_files_own_seeds(rows, fake_build, perhop, tmp_path):
    said = result_line(perhop("reproduce", "B-01", "--full", "--out", tmp_path / "out"))
    assert said["rows"]["B-01"]["measured"] == "8 flows"
    assert list(said["rows"]) == ["B-01"]


def test_named_rows_run_in_full_among_quick_ones_and_each_tells_its_grade(rows, fake_build, perhop, tmp_path):
    shutil.copytree(rows / "chains", rows / "others")
    (rows / "others" / "check.py").write_text(
        CHAINS_CHECK.replace('"B-01"', '"B-03"').replace("B-02_delay", "B-03_delay")
    )
    (rows / "rows.yaml").write_text(ROWS.replace("experiment: sums", "experiment: others"))
    said = result_line(perhop("reproduce", "all", "--full-of", "B-01", "--out", tmp_path / "out"))
    assert {name: (row["grade"], row["seeds"], row["measured"]) for name, row in said["rows"].items()} == {
        "B-01": ("full", 2, "8 flows"),
        "B-02": ("full", 2, "rises"),  # of the same folder
        "B-03": ("quick", 1, "4 flows"),
        "D-01": (None, 0, ""),
    }
    assert (said["mode"], said["full_of"]) == ("quick", ["B-01"])
    markdown = (tmp_path / "out" / "reproduction" / "README.md").read_text()
    assert "Written by `perhop reproduce all --quick --full-of B-01`" in markdown
    assert "**pass** (full, 2 seeds): 8 flows" in markdown and "repeat: `perhop reproduce B-01 --full`" in markdown
    assert "**pass** (quick, 1 seed): 4 flows" in markdown and "repeat: `perhop reproduce B-03 --quick`" in markdown
    assert "full for B-01" in (tmp_path / "out" / "reproduction.html").read_text()


def test_a_row_that_is_to_run_in_full_must_exist(rows, perhop, tmp_path):
    outcome = perhop("reproduce", "all", "--full-of", "B-99", "--out", tmp_path / "out")
    assert outcome.code == 2 and "B-99" in outcome.said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("asks", "flags", "verdict", "said"),
    [
        ("seeds_least: 2", (), "not finished", "the row asks for 2 seeds. What ran (pass): 4 flows"),
        ("seeds_least: 2", ("--full",), "pass", "8 flows"),
        ("seeds_least: 1", (), "pass", "4 flows"),
        ("grade_least: full", (), "not finished", "the row asks for the full grade. What ran (pass): 4 flows"),
        ("grade_least: full", ("--full",), "pass", "8 flows"),
        ("missing: the mobile set", ("--full",), "not finished", "missing: the mobile set. What ran (pass): 8 flows"),
    ],
)
def test_a_row_that_asks_for_more_than_ran_is_not_finished(
    rows, fake_build, perhop, tmp_path, asks, flags, verdict, said
):
    (rows / "rows.yaml").write_text(
        ROWS.replace("experiment: chains, numeric: true", f"experiment: chains, numeric: true, {asks}")
    )
    outcome = perhop("reproduce", "all", *flags, "--out", tmp_path / "out")
    assert outcome.code == 0
    found = result_line(outcome)
    assert (found["rows"]["B-01"]["verdict"], found["rows"]["B-01"]["measured"]) == (verdict, said)
    assert found["rows"]["B-02"]["verdict"] == "finding", "another row of the same folder is judged"
    assert found["numeric_pass_share"] == (1.0 if verdict == "pass" else 0.5)


@pytest.mark.parametrize(
    ("row", "seeds", "grade", "verdict"),
    [
        ("D-05", 1, "quick", "pass"),
        *((row, 5, "quick", "pass") for row in ("D-08", "D-09", "D-10", "D-11", "D-13", "D-14", "D-29")),
        *((row, 4, "full", "not finished") for row in ("D-07", "D-08", "D-09", "D-10", "D-11", "D-13", "D-14", "D-29")),
        ("D-07", 5, "quick", "not finished"),
        ("D-07", 5, "full", "pass"),
        ("B-08", 2, "full", "not finished"),
        ("B-08", 3, "quick", "pass"),
        *((row, 5, "quick", "not finished") for row in ("B-19", "B-20", "B-21", "X-09", "X-11")),
    ],
)
def test_a_row_of_the_papers_is_finished_by_the_seeds_the_grade_and_the_parts_that_it_asks_for(
    row, seeds, grade, verdict
):
    """Paper 001's chains are of 5 seeds, paper 000's table of 3."""
    asked = reproduce.catalogue(reproduce.experiments()).rows[row]
    assert reproduce._finished(asked, RowVerdict("pass", "so much"), seeds, grade)[0] == verdict


def test_a_check_that_fails_fails_a_row_of_which_a_part_is_missing(rows, fake_build, perhop, tmp_path):
    (rows / "rows.yaml").write_text(
        ROWS.replace("experiment: chains, numeric: true", "experiment: chains, numeric: true, missing: more")
    )
    check = rows / "chains" / "check.py"
    check.write_text(check.read_text().replace('RowVerdict("pass"', 'RowVerdict("fail"'))
    outcome = perhop("reproduce", "B-01", "--out", tmp_path / "out")
    assert outcome.code == 1
    assert result_line(outcome)["rows"]["B-01"]["verdict"] == "fail"


@pytest.mark.parametrize("asks", ["grade_least: best", "seeds_least: many", "seeds_least: -1", "seeds: 3"])
def test_what_a_row_cannot_ask_for_is_an_error(rows, perhop, asks):
    (rows / "rows.yaml").write_text(
        ROWS.replace("experiment: chains, numeric: true", f"experiment: chains, numeric: true, {asks}")
    )
    outcome = perhop("reproduce", "all")
    assert outcome.code == 2
    assert "row B-01" in outcome.said


def test_a_row_a_paper_and_a_folder_choose_their_rows(rows):
    known = reproduce.catalogue(rows)

    def chosen(*words: str) -> list[str]:
        return [row.id for row in reproduce.select(known, words)]

    assert chosen("b-02") == ["B-02"]
    assert chosen("000") == ["B-01", "B-02", "B-03"]
    assert chosen("sums", "D-01") == ["B-03", "D-01"]
    assert chosen("all") == list(known.rows)


@pytest.mark.parametrize(("word", "remedy"), [("B-99", "B-0"), ("papers", "use all, a paper (000, 001), or a row")])
def test_an_unknown_row_is_an_error_with_a_remedy_and_nothing_is_written(
    rows, fake_build, perhop, tmp_path, word, remedy
):
    outcome = perhop("reproduce", word, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert f"no row or paper '{word}'" in outcome.said
    assert remedy in outcome.said
    assert not (tmp_path / "out").exists()


def test_a_row_that_names_no_experiment_of_the_tree_is_an_error(rows, perhop):
    (rows / "rows.yaml").write_text(ROWS.replace("experiment: sums", "experiment: summs"))
    outcome = perhop("reproduce", "all")
    assert outcome.code == 2
    assert "row B-03 names the experiment 'summs'" in outcome.said


def test_finished_runs_are_used_again_and_another_build_makes_them_again(
    rows, fake_build, perhop, tmp_path, monkeypatch
):
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_LOG", str(log))
    call = ("reproduce", "all", "--out", tmp_path / "out")
    assert result_line(perhop(*call))["runs_reused"] == 0
    assert result_line(perhop(*call))["runs_reused"] == 4
    assert len(log.read_text().splitlines()) == 4

    program = fake_build / "sim/ns3/perhop-sim"
    program.write_text(program.read_text() + "# another build\n")
    outcome = perhop(*call)
    assert result_line(outcome)["runs_reused"] == 0
    assert "4 runs of another build were made again" in outcome.stdout
    assert len(log.read_text().splitlines()) == 8

    assert result_line(perhop(*call, "--fresh"))["runs_reused"] == 0
    assert len(log.read_text().splitlines()) == 12


def test_a_failing_run_fails_the_rows_of_its_experiment_alone_with_the_reason(
    rows, fake_build, perhop, tmp_path, monkeypatch
):
    monkeypatch.setenv("FAKE_CRASH", "h=3 policy=cwl 8")
    outcome = perhop("reproduce", "all", "--out", tmp_path / "out")
    assert outcome.code == 1
    said = result_line(outcome)["rows"]
    assert {name: row["verdict"] for name, row in said.items()} == {
        "B-01": "fail",
        "B-02": "fail",
        "B-03": "pass",
        "D-01": "not built",
    }
    assert "1 of 4 runs failed. h=3 policy=cwl 8 seed=1: perhop-sim failed (exit 134)" in said["B-01"]["measured"]
    assert "assertion failed" in said["B-01"]["measured"]
    # What does not depend on it is kept.
    monkeypatch.delenv("FAKE_CRASH")
    assert result_line(perhop("reproduce", "all", "--out", tmp_path / "out"))["runs_reused"] == 3


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (CHAINS_CHECK.replace('"B-02": RowVerdict', '"B-09": RowVerdict'), "gives no verdict on B-02"),
        (CHAINS_CHECK.replace("Tried <twice>; another simulator says the same.", " "), "a finding without evidence"),
        (CHAINS_CHECK.replace("    figure = ", "    figure = 1 / 0\n    figure = "), "ZeroDivisionError"),
    ],
)
def test_a_check_that_does_not_judge_a_row_fails_it(rows, fake_build, perhop, tmp_path, check, reason):
    (rows / "chains" / "check.py").write_text(check)
    outcome = perhop("reproduce", "all", "--out", tmp_path / "out")
    assert outcome.code == 1
    row = result_line(outcome)["rows"]["B-02"]
    assert row["verdict"] == "fail"
    assert reason in row["measured"]


def test_a_broken_experiment_file_fails_its_rows_and_the_others_are_judged(rows, fake_build, perhop, tmp_path):
    file = rows / "chains" / "experiment.yaml"
    file.write_text(file.read_text().replace("topology.hops: [1, 3]", "topology.hops: [1, -3]"))
    said = result_line(perhop("reproduce", "all", "--out", tmp_path / "out"))["rows"]
    assert (said["B-01"]["verdict"], said["B-03"]["verdict"]) == ("fail", "pass")
    assert "topology.hops" in said["B-01"]["measured"]


def test_perhop_run_of_a_folder_of_arithmetic_says_what_judges_it(rows, perhop):
    outcome = perhop("run", rows / "sums")
    assert outcome.code == 2
    assert "`perhop reproduce sums`" in outcome.said


def test_two_checks_may_have_neighbours_of_the_same_name(rows, fake_build, perhop, tmp_path):
    for name, value in (("chains", 1), ("sums", 2)):
        (rows / name / "model.py").write_text(f"VALUE = {value}\n")
        check = rows / name / "check.py"
        check.write_text(f"from model import VALUE\n\nassert VALUE == {value}\n" + check.read_text())
    assert perhop("reproduce", "all", "--out", tmp_path / "out").code == 0


def test_after_ctrl_c_the_page_says_what_is_not_finished_and_the_same_command_continues(
    rows, fake_build, tmp_path, monkeypatch
):
    script = tmp_path / "reproduce.py"
    script.write_text(
        "import pathlib, sys\nfrom perhop import cli\nfrom perhop.reproduce import reproduction\n"
        f"reproduction.experiments = lambda: pathlib.Path({str(rows)!r})\n"
        "cli.main()\n"
    )
    command = [sys.executable, str(script), "reproduce", "all", "--jobs", "1", "--out", str(tmp_path / "out")]
    log = tmp_path / "log"
    slow = {**os.environ, "FAKE_WALL_S": "0.5", "FAKE_LOG": str(log)}
    process = subprocess.Popen(command, env=slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: log.exists() and len(log.read_text().splitlines()) >= 2)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The same command continues" in stderr
    assert "RESULT" not in stdout
    page = (tmp_path / "out" / "reproduction.html").read_text()
    assert '<section class="row is-unfinished" id="B-01">' in page
    assert '<section class="row is-pass" id="B-03">' in page

    done = subprocess.run(
        command, env={**slow, "FAKE_WALL_S": "0"}, capture_output=True, text=True, check=True, timeout=60
    )
    said = json.loads(done.stdout.splitlines()[-1].removeprefix("RESULT "))
    assert said["runs_reused"] >= 1
    assert said["rows"]["B-01"]["verdict"] == "pass"


def test_with_out_everything_goes_there(rows, fake_build, perhop, tmp_path, monkeypatch):
    before = set(tmp_path.rglob("*"))
    assert perhop("reproduce", "all", "--out", tmp_path / "here").code == 0
    written = set(tmp_path.rglob("*")) - before
    outside = [
        path for path in written if "__pycache__" not in path.parts and not path.is_relative_to(tmp_path / "here")
    ]
    assert outside == []
    assert json.loads((tmp_path / "here" / "result.json").read_text())["rows"]["B-01"]["verdict"] == "pass"
    assert perhop("reproduce", "B-02", "--out", tmp_path / "here").code == 0, "it works again"


def test_results_of_an_experiment_are_not_replaced_by_a_reproduction(rows, experiment, fake_build, perhop, tmp_path):
    assert perhop("run", experiment, "--out", tmp_path / "out").code == 0
    for row in ("B-01", "B-03"):
        done = perhop("reproduce", row, "--out", tmp_path / "out")
        assert done.code == 2 and "another experiment: small" in done.said
    assert perhop("reproduce", "all", "--out", tmp_path / "all").code == 0
    for place in (tmp_path / "all", tmp_path / "all" / "chains"):
        assert perhop("run", experiment, "--out", place).code == 2


@pytest.mark.parametrize(
    ("line", "missing", "remedy"),
    [
        ("from perhop import station", "perhop.station", "make flowgraphs"),
        ("import perhop.station", "perhop.station", "make flowgraphs"),
        ("from perhop.station import Mac", "perhop.station", "make flowgraphs"),
        ("import perhop_is_not_there", "perhop_is_not_there", "install it"),
        ('PROGRAMS = ("perhop-exact",)', "perhop-exact is not built", "make build"),
    ],
)
@pytest.mark.parametrize("command", ["reproduce", "run"])
def test_what_is_not_built_is_told_before_any_run_and_is_no_verdict(
    command, line, missing, remedy, rows, fake_build, perhop, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "perhop.station", None)
    monkeypatch.delattr("perhop.station", raising=False)
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_LOG", str(log))
    check = rows / "chains" / "check.py"
    check.write_text(line + "\n" + check.read_text())
    what = "B-01" if command == "reproduce" else rows / "chains"
    done = perhop(command, what, "--out", tmp_path / "out")
    assert done.code == 2
    assert missing in done.said and remedy in done.said.split("remedy:")[1]
    assert "fail" not in done.stdout and "RESULT" not in done.stdout
    assert not log.exists() and not (tmp_path / "out").exists()


def test_rows_without_what_is_not_built_can_be_had_meanwhile(rows, fake_build, perhop, tmp_path):
    check = rows / "chains" / "check.py"
    check.write_text('PROGRAMS = ("perhop-exact",)\n' + check.read_text())
    assert perhop("reproduce", "B-03", "--out", tmp_path / "out").code == 0


def test_every_check_that_runs_a_program_names_it():
    """Else the program's absence would be found only after the runs."""
    for check in reproduce.experiments().glob("*/check.py"):
        text = check.read_text()
        assert ("exact_studies.run(" in text) == ("PROGRAMS = (exact_studies.PROGRAM,)" in text), check
        assert "paths.program(" not in text and "subprocess" not in text, check


def test_rows_yaml_names_every_row_once_and_only_experiments_that_exist():
    known = reproduce.catalogue(reproduce.experiments())
    counts = {"B": 26, "D": 31, "X": 22, "G": 14, "S": 9, "E": 10}
    assert list(known.rows) == [
        f"{letter}-{number:02}" for letter, most in counts.items() for number in range(1, most + 1)
    ]
    assert {row.paper for row in known.rows.values()} == set(known.papers)
    assert all(row.title and row.claim and row.check for row in known.rows.values())
