# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of over-the-air links: what they may say, and what a wrong one is told."""

import json
import re
from pathlib import Path

import pytest
from perhop import cli
from perhop.errors import ExperimentError, PerhopError
from perhop.flowgraph import link as links
from perhop.flowgraph import program
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[3]
BENCH = (ROOT / links.EXAMPLE).read_text()


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "link.yml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("file", sorted((ROOT / "flowgraphs/links").glob("*.yml")), ids=lambda file: file.stem)
def test_every_shipped_link_gives_every_node_settings_that_its_flowgraph_has(file):
    link = links.load_link(file)
    grc = (ROOT / f"flowgraphs/examples/{links.flowgraph_of(link)}.grc").read_text()
    parameters = set(re.findall(r"- name: (\w+)\n  id: parameter\n", grc))
    for node in range(len(link.nodes)):
        assert set(links.settings_of(link, node, Path("a.pcapng"))) <= parameters


def test_a_node_has_the_links_settings_unless_it_says_otherwise():
    link = links.load_link(ROOT / links.EXAMPLE)
    nodes = [links.settings_of(link, node, Path("a")) for node in range(3)]
    assert [node["rx_gain_db"] for node in nodes] == [30, 30, 35]
    assert [(node["next_hop"], node["forward_to"]) for node in nodes[:2]] == [(1, -1), (2, 2)]
    assert [node["packets"] for node in nodes] == [20, 0, 0]
    assert nodes[2]["forward_to"] == -1 and nodes[0]["data_rate"] == 1
    with pytest.raises(PerhopError, match="no node 3"):
        links.settings_of(link, 3, Path("a"))


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "problem"),
    [
        ("phy: dsss ", "phy: dss ", 11, "phy", "is 'dss'"),
        ("frequency_hz: 2.412e9", "frequency_hz: 24.12e9", 12, "frequency_hz", "at most"),
        ("frequency_hz: 2.412e9", "frequency_hz: high", 12, "frequency_hz", "must be a number"),
        ("sample_rate_hz: 22e6", "sample_rate: 22e6", 13, "sample_rate", "unknown field"),
        ("latency_us: 8000", "latency_us: 10001", 14, "latency_us", "at most 10000"),
        ("tx_gain_db: 50", "tx_gain_db: -3", 19, "radio.tx_gain_db", "at least 0"),
        ("serial=30F1230 ", "30F1230 ", 24, "nodes.0.device", "no address of UHD"),
        ("serial=30F1231", "serial=30F1230", 25, "nodes.1.device", "as node 0's"),
        ("rx_gain_db: 35", "rx_gain: 35", 27, "nodes.2.rx_gain", "unknown field"),
        ("phy: dsss ", "phy: ofdm ", 13, "sample_rate_hz", "but ofdm has"),
        ("latency_us: 8000 ", "time_stretch: 2 ", 14, "time_stretch", "with dsss the sample rate stretches time"),
    ],
)
def test_a_wrong_link_is_told_the_line_the_field_and_a_remedy(tmp_path, old, new, line, field, problem):
    assert BENCH.count(old) == 1
    with pytest.raises(ExperimentError, match=problem) as error:
        links.load_link(written(tmp_path, BENCH.replace(old, new)))
    assert (error.value.line, error.value.field) == (line, field)
    assert error.value.remedy and str(error.value).startswith(f"{tmp_path / 'link.yml'}:{line}: {field}: ")


def test_a_link_without_nodes_or_file_says_so(tmp_path):
    with pytest.raises(ExperimentError, match="is missing") as error:
        links.load_link(written(tmp_path, "frequency_hz: 2.412e9\n"))
    assert error.value.field == "nodes"
    with pytest.raises(ExperimentError, match="cannot be read"):
        links.load_link(tmp_path / "nothing.yml")


def test_the_longest_latency_is_half_of_what_the_response_timeout_leaves():
    assert links.MOST_LATENCY_US == (25304 - 5000 - 304) // 2


def test_the_command_checks_prints_and_refuses(tmp_path):
    run = CliRunner().invoke
    shown = run(cli.app, ["flowgraph", str(ROOT / links.EXAMPLE), "--node", "1", "--check"])
    assert shown.exit_code == 0 and json.loads(shown.stdout)["settings"]["device"] == "serial=30F1231"
    assert "properties" in json.loads(run(cli.app, ["flowgraph", "--schema"]).stdout)
    for words, what in (
        ([], "there is no link"),
        ([str(ROOT / links.EXAMPLE)], "add --node with one of 0 to 2"),
        ([str(ROOT / links.EXAMPLE), "--node", "7"], "no node 7"),
        ([str(written(tmp_path, "nodes: 3\n")), "--node", "0"], "link.yml:1: "),
    ):
        refused = run(cli.app, ["flowgraph", *words])
        assert refused.exit_code == 2 and what in refused.output and "remedy:" in refused.output


def test_without_gnu_radio_the_command_says_what_sets_it_up(tmp_path, monkeypatch):
    monkeypatch.setattr(program.paths, "repository", lambda: tmp_path)
    with pytest.raises(PerhopError, match="GNU Radio is not set up") as error:
        program.command("host_phy_transceiver", {}, 1.0)
    assert error.value.remedy == "run `make flowgraphs`"
    python = tmp_path / ".venv-gnuradio/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    with pytest.raises(PerhopError, match=r"perhop\.modem is not built"):
        program.command("host_phy_transceiver", {}, 1.0)
