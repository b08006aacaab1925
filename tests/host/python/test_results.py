# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables, the terminal table, the report, and the check of an experiment folder."""

import dataclasses
import io
import json
import math
import re
import shutil
from html.parser import HTMLParser

import pyarrow.parquet as pq
import pytest
from perhop.report import study_page, table
from perhop.study import studies
from perhop.study import summaries as rows
from perhop.study.plan import make_plan
from perhop.study.results import PARTS
from rich.console import Console


def made(experiment, tmp_path):
    """The study of an experiment file, with its page."""
    return study_page.write(studies.run(make_plan(experiment, out=tmp_path / "out")), [])


@pytest.fixture
def finished(experiment, fake_build, tmp_path):
    """The small experiment's study, from the library without the command."""
    return made(experiment, tmp_path)


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
    # Two values: standard deviation (high - low) / sqrt 2, over sqrt 2, times the quantile for one degree of freedom,
    # which is Cauchy's.
    assert summary.goodput_bps.half == pytest.approx(math.tan(math.pi * 0.475) * (high - low) / 2)


@pytest.mark.parametrize(("freedom", "quantile"), [(4, 2.776), (9, 2.262), (30, 2.042), (60, 2.000), (10**6, 1.960)])
def test_the_quantiles_are_those_of_the_tables(freedom, quantile):
    assert rows.student_t(freedom) == pytest.approx(quantile, abs=5e-4)


def test_a_run_that_was_cut_short_counts_only_where_none_has_finished(finished):
    def first_row(cut: set[int]) -> rows.Summary:
        runs = [{**run, "interrupted": run["seed"] in cut} for run in finished.results.runs]
        return rows.summarise(dataclasses.replace(finished.results, runs=runs))[0]

    of_seed = {row["seed"]: row["goodput_bps"] for row in finished.results.flows[:2]}
    half = first_row({2})
    assert (half.short_of_seeds, half.interrupted) == ("1 of 2", False)
    assert half.goodput_bps == rows.Mean(of_seed[1], 0.0, 1)
    none = first_row({1, 2})
    assert (none.short_of_seeds, none.interrupted) == ("", True)
    assert none.goodput_bps.value == pytest.approx(sum(of_seed.values()) / 2)


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
        if tag in ("link", "iframe"):
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


def test_of_many_links_the_report_shows_the_slowest(finished, monkeypatch):
    links = rows.summarise(finished.results)[-1].forward
    assert study_page._shown_links("all", links) == ("all", links)
    monkeypatch.setattr(study_page, "LINKS_MAX", 2)
    title, shown = study_page._shown_links("all", links)
    assert title == "all, the 2 slowest of 3 links" and len(shown) == 2
    left_out = next(link for link in links if link not in shown)
    assert all(link.service_time_us >= left_out.service_time_us for link in shown)
    assert [link.link for link in shown] == [link.link for link in links if link is not left_out], "in path order"
    assert "the 2 slowest of 3 links" in study_page.write(finished, []).written["report"].read_text()


def test_names_from_the_file_are_escaped(experiment, fake_build, tmp_path):
    experiment.write_text(experiment.read_text() + 'description: "<script>alert(1)</script>"\n')
    done = made(experiment, tmp_path)
    text = done.written["report"].read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text


def test_provenance_is_enough_to_run_again(finished, experiment):
    told = json.loads(finished.written["provenance"].read_text())
    assert told["seeds"] == [1, 2] and told["reception"] == "ns2"
    assert told["version"]["perhop"] and len(told["runs"]) == 8
    assert told["experiment"]["mac"]["profile"] == "dsss_long"
    assert told["packets_of"] == "h=3 policy=cwl 8 seed=1"


CHECK = """
from helper import WORD
from perhop.study.check import Check

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


CROSSING = """\
name: crossing
topology: {kind: cross, hops: 4, spacing_m: 200}
flows:
  - {kind: tcp, src: 0, dst: 4}
  - {kind: tcp, src: 5, dst: 8}
policies: [none, fixed 2]
seeds: [1, 2]
duration_s: 10
warmup_s: 2
"""


@pytest.fixture
def crossing(experiment):
    experiment.write_text(CROSSING)
    return experiment


def test_several_flows_have_a_row_each_jains_index_and_a_sum_that_says_so(crossing, fake_build, perhop, tmp_path):
    out = tmp_path / "out"
    done = perhop("run", crossing, "--out", out)
    assert done.code == 0, done.stderr
    for words in ("0→4", "5→8", "sum of 2", "Jain", "sum kb/s", "are sums over all flows"):
        assert words in done.stdout, words
    report = (out / "report.html").read_text()
    for words in (
        "a line for each flow",
        "0→4",
        "5→8",
        "sum of 2",
        "share",
        "Jain",
        "goodput, sum",
        "goodput of all flows",
    ):
        assert words in report, words
    told = json.loads(perhop("run", crossing, "--out", out, "--json").stdout)
    runs = pq.read_table(out / "runs.parquet").to_pylist()
    flows = pq.read_table(out / "flows.parquet").to_pylist()
    assert len(runs) == 4 and len(flows) == 8
    for run in runs:
        rates = [row["goodput_bps"] for row in flows if row["run"] == run["run"]]
        assert run["goodput_sum_bps"] == pytest.approx(sum(rates))
        assert run["jain_index"] == pytest.approx(sum(rates) ** 2 / (2 * sum(rate**2 for rate in rates)))
    for row in told["rows"]:
        assert row["goodput_is"] == "sum of 2 flows"
        assert [(flow["src"], flow["dst"]) for flow in row["flows"]] == [(0, 4), (5, 8)]
        assert row["goodput_bps"] == pytest.approx(sum(flow["goodput_bps"] for flow in row["flows"]), abs=2)
        of_row = [run["jain_index"] for run in runs if run["policy"] == row["policy"]]
        assert row["jain_index"] == pytest.approx(sum(of_row) / 2, abs=1e-4)


def test_of_many_flows_the_table_shows_the_least_and_the_most(experiment, fake_build, perhop, tmp_path):
    ends = "\n".join(f"  - {{kind: tcp, src: {node}, dst: {(node + 1) % 12}}}" for node in range(12))
    ring = "{kind: ring, nodes: 12, spacing_m: 200}"
    text = CROSSING.replace("{kind: cross, hops: 4, spacing_m: 200}", ring)
    begin, end = text.index("  - {kind"), text.index("policies")
    experiment.write_text(text[:begin] + ends + "\n" + text[end:])
    done = perhop("run", experiment, "--out", tmp_path / "out", "--set", "policies=[none]")
    assert "sum of 12, 4 not shown" in done.stdout, done.stdout
    goodputs = {}
    for row in pq.read_table(tmp_path / "out/flows.parquet").to_pylist():
        goodputs.setdefault(f"{row['src']}→{row['dst']}", []).append(row["goodput_bps"])
    ordered = sorted(goodputs, key=lambda name: sum(goodputs[name]))
    table_of_flows = done.stdout[: done.stdout.index("sum of 12")]
    shown = {name for name in goodputs if re.search(rf"(^|\s){name}\s", table_of_flows)}
    assert shown == set(ordered[:4] + ordered[-4:])


def test_a_flow_without_samples_is_left_out_of_means_and_shown_as_nothing(
    crossing, fake_build, perhop, tmp_path, monkeypatch
):
    monkeypatch.setenv("FAKE_DEAD_FLOW", "1")
    out = tmp_path / "out"
    told = json.loads(perhop("run", crossing, "--out", out, "--json").stdout)
    unlimited = told["rows"][0]
    alive, dead = unlimited["flows"]
    assert (dead["goodput_bps"], dead["rtt_ms"], dead["cwl_packets"]) == (0, None, None)
    assert unlimited["rtt_ms"] == alive["rtt_ms"] > 0, "not the half of it"
    assert unlimited["cwl_packets"] is None and told["rows"][1]["cwl_packets"] == 2
    assert unlimited["jain_index"] == pytest.approx(0.5)
    rows_of = pq.read_table(out / "flows.parquet").to_pylist()
    assert {row["rtt_ms"] for row in rows_of if row["flow"] == 1} == {None}
    intervals = pq.read_table(out / "results.parquet").to_pylist()
    assert {row["cwl_packets"] for row in intervals if row["policy"] == "no limit"} == {None}
    line = next(line for line in perhop("run", crossing, "--out", out).stdout.splitlines() if "5→8" in line)
    assert line.split() == ["5→8", "0", "-", "-", "0"], line


def test_one_flow_needs_no_sum(finished):
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(table.results_table(finished.summaries, 110))
    text = console.export_text()
    assert table.flows_table(finished.summaries) is None
    assert "sum" not in text and "Jain" not in text
    assert "sum of" not in finished.written["report"].read_text()


LINKS_BY_POLICY = """\
name: detour
topology: {kind: grid, rows: 2, columns: 3, spacing_m: 200}
medium: {tx_range_m: 210}
flows:
  - {kind: tcp, src: 0, dst: 2}
sweep:
  flows.0.dst: [2, 5]
duration_s: 10
warmup_s: 2
"""


def test_links_are_named_and_joined_by_their_ends_not_by_their_place(
    experiment, fake_build, perhop, tmp_path, monkeypatch
):
    # A narrower table leaves the links out; workers of pytest-xdist are told 80.
    monkeypatch.setenv("COLUMNS", "110")
    experiment.write_text(LINKS_BY_POLICY)
    out = tmp_path / "out"
    done = perhop("run", experiment, "--out", out)
    told = json.loads(perhop("run", experiment, "--out", out, "--json").stdout)
    paths_of = [
        [(link["from"], link["to"]) for link in row["links"] if link["direction"] == "forward"] for row in told["rows"]
    ]
    assert paths_of[0] != paths_of[1][: len(paths_of[0])] or len(paths_of[0]) != len(paths_of[1])
    for row, path in zip(told["rows"], paths_of, strict=True):
        costs = {
            (link["from"], link["to"]): link["service_time_us"]
            for link in row["links"]
            if link["direction"] == "forward"
        }
        assert row["service_time_us"] == [costs[link] for link in path]
    every = list(dict.fromkeys(f"{a}→{b}" for path in sorted(paths_of, key=len, reverse=True) for a, b in path))
    lines = done.stdout.splitlines()
    head = next(line for line in lines if every[0] in line)
    assert [word for word in head.split() if "→" in word] == every
    report = (out / "report.html").read_text()
    assert "".join(f'<th scope="col">{name}</th>' for name in every) in report
    # A row has a cell only under the links that its packets crossed.
    for row, path in zip(told["rows"], paths_of, strict=True):
        line = next(line for line in lines if f" {row['flows.0.dst']} " in line and "service" in line)
        for name, cost in ((f"{a}→{b}", c) for (a, b), c in zip(path, row["service_time_us"], strict=True)):
            end = head.index(name) + len(name)
            assert line[:end].endswith(f"{cost / 1e3:.1f}"), (name, line)


def test_data_and_tcp_acks_on_one_link_are_not_averaged(experiment, fake_build, tmp_path):
    text = CROSSING.replace("{kind: cross, hops: 4, spacing_m: 200}", "{kind: chain, hops: 2, spacing_m: 200}")
    experiment.write_text(text.replace("src: 0, dst: 4", "src: 0, dst: 2").replace("src: 5, dst: 8", "src: 2, dst: 0"))
    done = made(experiment, tmp_path)
    for summary in done.summaries:
        assert [hop.link for hop in summary.forward] == [(0, 1), (1, 2), (2, 1), (1, 0)]
        assert all(hop.airtime_us > 6408 for hop in summary.forward), "data packets alone"
        assert sum(hop.direction == "return" for hop in summary.links) == 4
