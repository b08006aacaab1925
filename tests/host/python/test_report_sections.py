# SPDX-License-Identifier: GPL-2.0-or-later
"""What the sections of the report say: sentences, marks, queues, drops, heat."""

import csv
import dataclasses
import math

import matplotlib as mpl
import pytest
from built import needs
from matplotlib.backends.backend_agg import FigureCanvasAgg
from perhop.experiment.load import load
from perhop.report import answer, drops, events, figures, focus, heat, over_time, sweep_figures
from perhop.report.events import Mark
from perhop.study import studies
from perhop.study.plan import make_plan
from perhop.study.summaries import Mean, summarise

EVENTFUL = """\
name: eventful
topology: {kind: chain, hops: 3, spacing_m: 200}
flows:
  - {kind: tcp, src: 0, dst: 3}
  - {kind: tcp, src: 3, dst: 0, start_s: 4, stop_s: 9}
policies: [none, fixed 2]
events:
  - {at_s: 7, kind: node_down, node: 2}
  - {at_s: 8, kind: node_up, node: 2}
  - {at_s: 5, kind: link_down, a: 0, b: 1}
  - {at_s: 6, kind: loss, frame_error_rate: 0.1}
  - {at_s: 3, kind: move, node: 2, x_m: 390, y_m: 10, speed_mps: 5}
seeds: [1, 2, 3]
duration_s: 10
warmup_s: 1
"""


@pytest.fixture
def eventful(tmp_path, fake_build):
    file = tmp_path / "eventful.yaml"
    file.write_text(EVENTFUL)
    return studies.run(make_plan(file, out=tmp_path / "out"))


@pytest.fixture
def at(eventful):
    return focus.find(eventful.plan, eventful.study, eventful.summaries)


def test_events_are_told_in_order_with_flows_that_come_and_go(tmp_path, eventful):
    (point,) = load(tmp_path / "eventful.yaml")
    told = [(mark.at_s, mark.words) for mark in events.marks(point.experiment)]
    assert told == [
        (3, "node 2 moves to (390, 10) m at 5 m/s"),
        (4, "flow 1 begins"),
        (5, "link 0-1 breaks"),
        (6, "10 % of DATA frames are lost at random"),
        (7, "node 2 fails"),
        (8, "node 2 is back"),
        (9, "flow 1 ends"),
    ]


def test_marks_that_are_close_share_a_sign_and_none_lie_on_each_other():
    with mpl.rc_context(figures.RC):
        figure, axis = figures.panel_figure(figures.PANEL_SIZE)
        axis.plot([0, 100], [0, 1])
        axis.set_xlim(0, 100)
        events.draw(axis, [Mark(at_s, "it happens") for at_s in (10, 11, 12, 50, 57, 99, 140)])
        signs = [text.get_text() for text in axis.texts]
        assert signs == ["1-3", "4", "5", "6"], "what is later than the axis has no mark"
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.draw(renderer)
        boxes = [text.get_window_extent(renderer) for text in axis.texts]
    assert not any(one.overlaps(other) for index, one in enumerate(boxes) for other in boxes[:index])


def test_the_answer_names_who_delivers_the_most_and_who_is_the_soonest(eventful, at):
    fast = dataclasses.replace(at.summaries[1], rtt_ms=Mean(10.0, 0.0, 3), goodput_bps=Mean(2e5, 1e3, 3))
    much = dataclasses.replace(at.summaries[0], rtt_ms=Mean(90.0, 0.0, 3), goodput_bps=Mean(3e5, 1e3, 3))
    there = dataclasses.replace(at, summaries=[much, fast])
    said = answer.sentences(there, eventful.summaries, None, [], "simulated")
    assert said[0] == (
        "No limit delivers the most, 300 kb/s at a round-trip time of 90 ms; "
        "cwl 2 has the shortest round trip, 10 ms at 200 kb/s."
    )
    assert said[-1].endswith("95 % intervals are in the table.")


def test_the_answer_does_not_hide_that_an_order_may_be_chance(eventful, at):
    one = dataclasses.replace(at.summaries[0], goodput_bps=Mean(3.0e5, 2e4, 3))
    other = dataclasses.replace(at.summaries[1], goodput_bps=Mean(2.9e5, 2e4, 3))
    there = dataclasses.replace(at, summaries=[one, other])
    assert "may be chance" in answer.sentences(there, eventful.summaries, None, [], "simulated")[-1]
    single = [dataclasses.replace(summary, seeds=1) for summary in (one, other)]
    there = dataclasses.replace(at, summaries=single)
    assert "one seed does not tell" in answer.sentences(there, eventful.summaries, None, [], "simulated")[-1]


def test_the_answer_of_one_policy_tells_the_shares_of_its_flows(eventful, at):
    there = dataclasses.replace(at, summaries=at.summaries[:1])
    said = answer.sentences(there, eventful.summaries, None, [Mark(5, "node 2 fails")], "simulated")
    assert said[0].startswith("The 2 flows get ") and "Jain's index" in said[0] and "the least" in said[0]
    assert "at 5 s node 2 fails" in said[1]


def test_a_node_without_a_row_had_an_empty_queue():
    intervals = [{"run": "r", "policy": "p", "t_start_s": float(start), "t_end_s": start + 1.0} for start in range(3)]
    queues = [{"run": "r", "policy": "p", "node": 4, "t_start_s": 1.0, "t_end_s": 2.0, "queue_packets": 2.5}]
    dense = over_time._dense(queues, intervals)
    assert [(row["node"], row["queue_packets"]) for row in dense] == [(4, 0.0), (4, 2.5), (4, 0.0)]


def test_a_line_ends_where_nothing_was_measured():
    one = Mean(1.0, 0.0, 1)
    xs, ys = over_time._with_gaps([(0, 1, one), (1, 2, one), (5, 6, one)])
    assert [x for x, y in zip(xs, ys, strict=True) if not math.isnan(y)] == [0.5, 1.5, 5.5]
    assert sum(math.isnan(y) for y in ys) == 1


def test_drops_are_told_by_cause_and_nothing_is_no_figure(at):
    run = at.runs[0].run
    causes = (
        "mac_drops_data_packets",
        "mac_drops_tcp_ack_packets",
        "queue_drops_data_packets",
        "queue_drops_tcp_ack_packets",
        "link_failure_drops_packets",
        "link_failure_drops_data_packets",
    )
    row = {"run": run.id, "policy": run.policy, "flow": 0, "src": 0, "dst": 3}
    none, counted = drops.figure(at, [{**row, **dict.fromkeys(causes, 0.0)}])
    assert none is None and counted
    assert drops.figure(at, [{**row, **dict.fromkeys(causes)}]) == (None, False)
    some = dict(zip(causes, (3.0, 0.0, 0.0, 2.0, 7.0, 5.0), strict=True))
    shown, counted = drops.figure(at, [{**row, **some}])
    head, line = list(csv.reader(shown.panels[0].csv.splitlines()))
    assert head[1:] == [
        "data, retry limit of the MAC",
        "TCP ACKs, queue full",
        "data, link failed",
        "others, link failed",
    ]
    assert [float(value) for value in line[1:]] == [3, 2, 5, 2]


def test_steps_of_heat_share_the_range_and_the_legend_names_them():
    steps = heat.steps_of([10.0, 70.0])
    assert steps == [20, 30, 40, 50, 60, 70]
    assert [heat.step_of(value, steps) for value in (10, 20, 21, 70, 99)] == [0, 0, 1, 5, 5]
    assert next(name for _, name in heat.legend([10.0, 70.0], "ms")) == "10 to 20 ms"
    assert [name for _, name in heat.legend([5.0, 5.0], "ms")] == ["5 ms"]
    assert [heat.short(value) for value in (1440, 0.1234, 64.64)] == ["1440", "0.123", "64.6"]


def test_two_swept_fields_have_a_heat_map_a_policy_and_quantity(experiment, fake_build, tmp_path):
    text = experiment.read_text().replace(
        "  topology.hops: [1, 3]", "  topology.hops: [1, 3]\n  mac.data_rate_mbps: [2, 11]"
    )
    experiment.write_text(text)
    done = studies.run(make_plan(experiment, out=tmp_path / "out"))
    summaries = summarise(done.results)
    axes = sweep_figures.axes(summaries)
    assert [axis.name for axis in axes] == ["topology.hops", "mac.data_rate_mbps"]
    groups = sweep_figures.heat_maps(summaries, *axes)
    assert [[panel.title for panel in group.panels] for group in groups] == [
        ["Goodput, no limit", "Goodput, cwl 8"],
        ["Round-trip time, no limit", "Round-trip time, cwl 8"],
    ]
    rows = list(csv.reader(groups[0].panels[0].csv.splitlines()))
    assert len(rows) == 1 + 4
    wanted = {
        (s.swept["topology.hops"], s.swept["mac.data_rate_mbps"]): s.goodput_bps.value / 1e3 for s in summaries[::2]
    }
    assert {(int(a), float(b)): float(value) for a, b, value in rows[1:]} == pytest.approx(wanted, rel=1e-5)


@needs("perhop-sim")
def test_queues_of_the_simulator_are_those_of_its_settings(tmp_path):
    file = tmp_path / "queues.yaml"
    file.write_text(
        "name: queues\ntopology: {kind: chain, hops: 1, spacing_m: 200}\nmac: {queue_packets: 20}\n"
        "flows: [{kind: cbr, src: 0, dst: 1, rate_bps: 3000000}]\nduration_s: 4\nwarmup_s: 1\n"
    )
    done = studies.run(make_plan(file, out=tmp_path / "out"))
    assert done.study.complete
    queues = done.results.queues
    assert {row["node"] for row in queues} == {0}, "more than the link carries waits at its sender alone"
    later = [row for row in queues if row["t_start_s"] >= 1]
    assert [row["t_start_s"] for row in later] == [1, 2, 3]
    assert all(19 <= row["queue_packets"] <= 20 and row["queue_most_packets"] == 20 for row in later)
