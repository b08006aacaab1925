# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables, the terminal table, the report, and the check of an experiment folder."""

import io
import json
import re
import shutil
from html.parser import HTMLParser

import pyarrow.parquet as pq
import pytest
from perhop import rows, studies, table
from perhop.results import PARTS
from rich.console import Console


@pytest.fixture
def finished(experiment, fake_build, tmp_path):
    """The small experiment's study, from the library without the command."""
    return studies.run(studies.plan(experiment, out=tmp_path / "out"))


def test_results_have_a_row_for_each_flow_and_interval(finished):
    read = pq.read_table(finished.written["parquet"]).to_pylist()
    assert len(read) == 8 * 10
    assert {(row["hops"], row["policy"], row["seed"]) for row in read} == {
        (hops, policy, seed) for hops in (1, 3) for policy in ("no limit", "cwl 8") for seed in (1, 2)
    }
    first = read[0]
    assert (first["t_start_s"], first["t_end_s"]) == (0, 1)
    assert first["rtt_ms"] is None, "before there is an RTT there is none in the table"
    assert first["reception"] == "ns2" and first["goodput_bps"] > 0


def test_hops_have_every_part_and_the_parts_sum_to_the_service_time(finished):
    read = pq.read_table(finished.written["hops"]).to_pylist()
    assert len(read) == 4 * 2 + 4 * 6, "forward and return links"
    for row in read:
        parts_us = {name: row[f"{name}_us"] for name in PARTS}
        assert sum(parts_us.values()) - parts_us["queue"] == pytest.approx(row["service_time_us"])
        assert row["table_mean_service_us"] > 0


def test_a_summary_averages_over_seeds_with_students_t(finished):
    results = finished.results
    summary = rows.summarise(results)[0]
    goodputs = [row["goodput_bps"] for row in results.flows if (row["hops"], row["policy"]) == (1, "no limit")]
    low, high = sorted(goodputs)
    assert summary.goodput_bps.value == pytest.approx((low + high) / 2)
    # Two values: standard deviation (high - low) / sqrt 2, over sqrt 2, times the quantile for one degree of freedom.
    assert summary.goodput_bps.half == pytest.approx(12.706 * (high - low) / 2)


def test_one_value_has_no_interval():
    assert rows.mean([3.0, None]) == rows.Mean(3.0, 0.0, 1)
    assert rows.mean([None]) is None


@pytest.mark.parametrize("width", [80, 110])
def test_the_table_fits_the_terminal_and_shows_every_policy(finished, width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table.results_table(finished.summaries, width))
    text = console.export_text()
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text
    for words in ("no limit", "cwl 8", "service", "contend", "air time"):
        assert words in text


class Page(HTMLParser):
    """Collects what a page would fetch from elsewhere, and its headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]
        if tag in ("script", "link", "iframe"):
            self.fetched.append(tag)


def test_the_report_is_self_contained_and_says_what_was_run(finished):
    text = finished.written["report"].read_text()
    outside = [link for link in Page(text).fetched if not link.startswith(("#", "data:"))]
    assert outside == []
    assert not re.search(r"url\((?!#)", text), "style sheets and figures fetch nothing"
    for words in (
        "dsss_long",
        "ns2",
        "topology.hops = 1, 3",
        "no limit",
        "cwl 8",
        "1, 2",
        "completion records checked",
    ):
        assert words in text
    assert text.count("<svg") >= 2


def test_names_from_the_file_are_escaped(experiment, fake_build, tmp_path):
    experiment.write_text(experiment.read_text() + 'description: "<script>alert(1)</script>"\n')
    done = studies.run(studies.plan(experiment, out=tmp_path / "out"))
    assert "<script>" not in done.written["report"].read_text()


def test_provenance_is_enough_to_run_again(finished, experiment):
    told = json.loads(finished.written["provenance"].read_text())
    assert told["seeds"] == [1, 2] and told["reception"] == "ns2"
    assert told["version"]["perhop"] and len(told["runs"]) == 8
    assert told["experiment"]["mac"]["profile"] == "dsss_long"
    assert told["packets_of"] == "h=3 policy=cwl 8 seed=1"


CHECK = """
from helper import WORD
from perhop.studies import Check

def check(results, folder):
    return Check(len(results.flows) == {flows}, [WORD], {{"flows": len(results.flows)}})
"""


@pytest.mark.parametrize(("flows", "code"), [(8, 0), (9, 1)])
def test_a_folder_is_run_and_checked(flows, code, experiment, fake_build, perhop, tmp_path):
    folder = tmp_path / "figure"
    folder.mkdir()
    shutil.move(experiment, folder / "experiment.yaml")
    (folder / "check.py").write_text(CHECK.format(flows=flows))
    (folder / "helper.py").write_text('WORD = "compared with the claim"\n')
    done = perhop("run", folder, "--out", tmp_path / "out")
    assert done.code == code
    assert "compared with the claim" in done.stdout
    assert ("check: holds" in done.stdout) == (code == 0)
    assert "compared with the claim" in (tmp_path / "out/report.html").read_text()
    told = json.loads(perhop("run", folder, "--out", tmp_path / "out", "--json").stdout)
    assert told["check_passed"] == (code == 0) and told["flows"] == 8
    assert "check:" in perhop("run", folder / "experiment.yaml", "--out", tmp_path / "out").stdout
    assert perhop("run", folder, "--out", tmp_path / "out", "--quick").code == 0, "a quick run is not checked"


def test_a_check_that_breaks_does_not_hold(experiment, fake_build, perhop, tmp_path):
    folder = tmp_path / "figure"
    folder.mkdir()
    shutil.move(experiment, folder / "experiment.yaml")
    (folder / "check.py").write_text("def check(results, folder):\n    return {}['cwl 4']\n")
    done = perhop("run", folder, "--out", tmp_path / "out")
    assert done.code == 1
    assert "cannot judge these results: KeyError: 'cwl 4'" in done.stdout
    assert (tmp_path / "out/report.html").exists()


def test_records_whose_parts_do_not_sum_fail_the_command(experiment, fake_build, perhop, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_MISMATCHES", "1")
    done = perhop("run", experiment, "--out", tmp_path / "out")
    assert done.code == 1
    assert "4,000 completions, each of whose parts must sum to its whole: 8 do not" in done.stdout
