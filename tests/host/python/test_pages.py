# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML pages can be read on a telephone, in the dark, and by somebody who hears them."""

import base64
import json
import re
import shutil
import sys
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from perhop.cli import app
from perhop.report import figures, page, parts_figures
from perhop.reproduce import page as reproduce_page
from perhop.reproduce import reproduction as reproduce
from perhop.study.results import PARTS
from perhop.study.summaries import Hop, Mean
from typer.testing import CliRunner

SEVERAL = """\
name: several
topology: {kind: chain, hops: 2, spacing_m: 250}
mac: {profile: dsss_long, data_rate_mbps: 2}
flows: [{kind: tcp, src: first, dst: last}]
policies: [none, fixed 8, delay + dca]
sweep:
  topology.hops: [2, 8]
  mac.rts_threshold_bytes: [0, 4095]
  mac.data_rate_mbps: [2, 11]
seeds: [1]
duration_s: 10
warmup_s: 2
"""
CROSSING = """\
name: crossing
topology: {kind: grid, rows: 5, columns: 5, spacing_m: 250}
mac: {profile: dsss_long, data_rate_mbps: 2}
flows: [{kind: tcp, src: 10, dst: 14}, {kind: tcp, src: 2, dst: 22}]
policies: [none, fixed 4, delay + dca]
sweep: {mac.rts_threshold_bytes: [0, 4095]}
seeds: [1, 2]
duration_s: 10
warmup_s: 2
"""
ROWS = """\
papers: {"000": "A paper"}
rows:
  B-01: {paper: "000", title: Sum, claim: Is two, check: one and one, experiment: sums, numeric: true}
  B-02: {paper: "000", title: Figure, claim: Rises, check: the eye, experiment: sums, numeric: false}
  B-03: {paper: "000", title: Later, claim: Comes, check: none, experiment: null, numeric: true}
"""
CHECK = """\
from perhop.report.figures import drawing
from perhop.study.check import Check, RowVerdict


def check(results, folder):
    with drawing(folder / "B-02_curve.svg") as (_, [axis]):
        axis.plot([1, 2], [1, 2])
    rows = {"B-01": RowVerdict("pass", "2"), "B-02": RowVerdict("finding", "falls", evidence="Tried.")}
    return Check(True, ["a line"], {}, [folder / "B-02_curve.svg"], rows)
"""
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Tree(HTMLParser):
    """The elements of a page: (tag, attributes, the tags around it, the text in it)."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self._open = []
        self.feed(text)
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        element = [tag, dict(attrs), [each[0] for each in self._open], ""]
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), [each[0] for each in self._open], ""])

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for element in self._open:
            element[3] += data

    def all(self, tag):
        return [element for element in self.elements if element[0] == tag]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The report of an experiment with three swept parameters, that of flows that cross in two places, with a run
    that failed and a flow that got nothing, the figures of both, the page of a reproduction, and a comparison of two
    policies with its figures."""
    folder = tmp_path_factory.mktemp("pages")
    program = folder / "build/sim/ns3/perhop-sim"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("fake_simulator.py")}" "$@"\n')
    program.chmod(0o755)
    (folder / "several.yaml").write_text(SEVERAL)
    (folder / "crossing.yaml").write_text(CROSSING)
    (folder / "rows" / "sums").mkdir(parents=True)
    (folder / "rows" / "sums" / "check.py").write_text(CHECK)
    (folder / "rows" / "rows.yaml").write_text(ROWS)
    drawn = []
    draw = figures._svg
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERHOP_BUILD", str(folder / "build"))
        patch.setattr(reproduce, "experiments", lambda: folder / "rows")
        patch.setattr(figures, "_svg", lambda figure: drawn.append(figure) or draw(figure))
        done = CliRunner().invoke(app, ["run", str(folder / "several.yaml"), "--out", str(folder / "out")])
        assert done.exit_code == 0, done.output
        of_several = list(drawn)
        patch.setenv("FAKE_DEAD_FLOW", "1")
        patch.setenv("FAKE_KILL", "policy=cwl 4 seed=2")
        crossing = ["run", str(folder / "crossing.yaml"), "--out", str(folder / "crossing")]
        assert CliRunner().invoke(app, crossing).exit_code == 1
        as_if_live(folder / "crossing", folder / "live")
        drawn.clear()
        done = CliRunner().invoke(app, [*crossing, "--beside", str(folder / "live")])
        assert done.exit_code == 1 and isinstance(done.exception, SystemExit), done.exception
        of_crossing = list(drawn)
        drawn.clear()
        patch.delenv("FAKE_DEAD_FLOW")
        sides = ["--set-a", "policies=[none]", "--set-b", "policies=[delay + dca]", "--out", str(folder / "two")]
        done = CliRunner().invoke(app, ["compare", str(folder / "crossing.yaml"), *sides])
        assert done.exit_code == 0, done.output
        of_two = list(drawn)
        done = CliRunner().invoke(app, ["reproduce", "all", "--out", str(folder / "all")])
        assert done.exit_code == 0, done.output
    pages = {
        "report": (folder / "out/report.html").read_text(),
        "crossing": (folder / "crossing/report.html").read_text(),
        "reproduction": (folder / "all/reproduction.html").read_text(),
        "comparison": (folder / "two/compare.html").read_text(),
    }
    return pages, {"report": of_several, "crossing": of_crossing}, of_two


def as_if_live(results, folder):
    """The same results as if they had been made live."""
    shutil.copytree(results, folder)
    told = json.loads((folder / "provenance.json").read_text())
    (folder / "provenance.json").write_text(json.dumps({**told, "backend": "live"}))


@pytest.fixture
def several(made):
    return made[0]["report"], made[1]["report"]


@pytest.fixture
def pages(made):
    return made[0]


@pytest.mark.parametrize("name", ["report", "crossing"])
def test_nothing_written_in_a_figure_overlaps_or_leaves_it(made, name):
    text, drawn = made[0][name], made[1][name]
    assert len(drawn) == text.count("<svg ") > 15
    for figure in drawn:
        assert_readable(figure)


def test_nothing_written_in_a_figure_of_two_sides_overlaps_or_leaves_it(made):
    _, _, drawn = made
    # At each of two places: goodput and RTT of all pairs, two panels over time; and once both differences by place.
    assert len(drawn) == 2 + 2 * 2 + 2 * 2
    for figure in drawn:
        assert_readable(figure)


@pytest.mark.parametrize("count", [1, 16, 17, 60])
def test_links_with_long_names_do_not_overlap(monkeypatch, count):
    drawn = []
    draw = figures._svg
    monkeypatch.setattr(figures, "_svg", lambda figure: drawn.append(figure) or draw(figure))
    hops = [Hop(100 + at, 101 + at, "forward", 9, 9, 5, 4, dict.fromkeys(PARTS, 1000.0), 0, 0) for at in range(count)]
    parts_figures.parts_figure([parts_figures.path_bars("no limit", hops)])
    assert_readable(drawn[0])
    labels = [label.get_text() for label in drawn[0].axes[0].get_xticklabels()]
    assert labels[0] == "100→101" and len(labels) == {1: 1, 16: 16, 17: 9, 60: 15}[count]
    assert set(labels) <= {hop.name for hop in hops}


def test_points_with_long_names_side_by_side_do_not_overlap(monkeypatch):
    drawn = []
    draw = figures._svg
    monkeypatch.setattr(figures, "_svg", lambda figure: drawn.append(figure) or draw(figure))
    labels = [f"{hops} hops, delay + dca, rts_threshold_bytes 4095, data_rate_mbps 5.5" for hops in range(1, 31)]
    values = [[Mean(hops, 0.5, 2) for hops in range(1, 31)] for _ in range(3)]
    figures.grouped_figure([("Goodput", "kb/s", values, 1.0)], labels, ["simulated", "live", "radio"])
    assert_readable(drawn[0])
    top, bottom = sorted(drawn[0].axes[0].get_ylim())
    assert (top, bottom) == pytest.approx((-0.6, 29.6)), "bars fill the panel"


def assert_readable(figure):
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    (axis,) = figure.axes
    assert axis.get_title() == axis.get_title(loc="left") == "", "titles are HTML, which wraps"
    texts = [axis.xaxis.label, axis.yaxis.label]
    for each in (axis.xaxis, axis.yaxis):
        low, high = sorted(each.get_view_interval())
        texts += [tick.label1 for tick in each.get_major_ticks() if low <= tick.get_loc() <= high]
    texts += axis.texts
    boxes = [text.get_window_extent(renderer) for text in texts if text.get_text() and text.get_visible()]
    assert len(boxes) >= 3
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1 + 1


@pytest.mark.parametrize("values", [[0.0001, 0.0002, 0.0003], list(range(1000, 1016)), [1, 2, 4000000]])
def test_labels_below_an_axis_do_not_overlap(values):
    for size in (figures.PANEL_SIZE, figures.SMALL_PANEL_SIZE):
        with figures.mpl.rc_context(figures.RC):
            figure, axis = figures.panel_figure(size)
            axis.plot(values, values)
            figures.label_below(axis, values, [f"{value:g}" for value in values], size)
            renderer = FigureCanvasAgg(figure).get_renderer()
            figure.draw(renderer)
        boxes = [label.get_window_extent(renderer) for label in axis.get_xticklabels()]
        close = [(one, other) for one, other in combinations(boxes, 2) if one.overlaps(other)]
        # Places that are a millionth of the axis apart no label can keep apart.
        assert len(close) <= (1 if 4000000 in values else 0)


def test_every_combination_is_named_beside_the_figures(several):
    text, _ = several
    tree = Tree(text)
    captions = [element[3] for element in tree.all("figcaption")]
    assert any("delay + dca, rts threshold bytes 0, data rate mbps 11" in caption for caption in captions)
    legend = [element[3] for element in tree.all("li") if "ul" in element[2]]
    # Of goodput, round trip, and what is shown over time and as a distribution.
    assert legend.count("▲delay + dca") == 4


def test_each_line_says_what_it_is_of_to_who_hears_it_and_once_to_who_sees_it(pages):
    rows = [row.split("</tr>")[0] for row in pages["crossing"].split("<h2>What came out")[1].split("<tr")[2:]]
    of_flows = [row for row in rows if "→" in row or "sum of" in row][:18]
    assert sum("10→14" in row for row in of_flows) == sum("2→22" in row for row in of_flows) == 6
    for index, row in enumerate(of_flows):
        headings = re.findall(r'<th scope="row"[^>]*>(.*?)</th>', row)
        assert headings == [["10→14", "2→22", "<b>sum of 2</b>"][index % 3]]
        policy = ["no limit", "cwl 4", "delay + dca"][index // 3 % 3]
        cell = f"<b>{policy}</b>"
        assert (f'<span class="unseen">{cell}</span>' if index % 3 else f'<td class="left">{cell}') in row


def test_text_in_a_figure_is_readable_on_a_page_400_pixels_wide():
    """A panel shrinks with the page, and what is written in it with the panel."""
    css = page.STYLE_FILE.read_text()
    narrow = css[css.index("@media (max-width: 640px)") :]
    of_main, of_section = re.search(r"main { padding:\d+px (\d+)px.*?padding:\d+px (\d+)px; }", narrow).groups()
    margin_px = int(of_main) + int(of_section)
    panel_px = 400 - 2 * margin_px - 2
    for size in (figures.PANEL_SIZE, figures.SMALL_PANEL_SIZE):
        written_px = figures.RC["font.size"] / 72 * panel_px / size[0]
        assert written_px >= 10
    for wide in re.findall(r"\.wide > .*min-width:(\d+)px", css):
        assert figures.RC["font.size"] / 72 * int(wide) / 11.2 >= 8.5
    assert "minmax(min(100%" in css, "panels are never wider than the page"


def test_what_is_wider_than_the_page_scrolls_by_itself_and_by_keyboard(pages):
    for text in pages.values():
        tree = Tree(text)
        assert tree.all("table")
        for tag, _, around, _ in tree.elements:
            if tag == "table":
                assert around[-1] == "div"
        for _, attributes, _, _ in tree.elements:
            if attributes.get("class") in ("scroll", "wide"):
                assert attributes["tabindex"] == "0" and attributes["role"] == "region" and attributes["aria-label"]
    assert re.search(r"\.scroll { overflow-x:auto", page.STYLE_FILE.read_text())


def test_who_hears_the_page_is_told_what_it_shows(pages):
    for text in pages.values():
        tree = Tree(text)
        assert tree.all("html")[0][1]["lang"] == "en"
        assert tree.all("title")[0][3]
        levels = [int(tag[1]) for tag, *_ in tree.elements if re.fullmatch(r"h\d", tag)]
        assert levels[0] == 1 and all(after <= before + 1 for before, after in pairwise(levels))
        for _, attributes, _, _ in tree.all("svg"):
            assert attributes["role"] == "img" and len(attributes["aria-label"]) > 20
        for _, attributes, _, _ in tree.all("img"):
            assert attributes["alt"]
        assert len(tree.all("caption")) == len(tree.all("table")) > 0
        for _, attributes, around, said in tree.all("th"):
            assert attributes["scope"] == ("col" if "thead" in around else "row")
            assert said.strip()
        for _, attributes, _, _ in tree.elements:
            if attributes.get("class") in ("bar", "key"):
                assert attributes["aria-hidden"] == "true"
        names = [
            attributes["id"]
            for _, attributes, around, _ in tree.elements
            if "id" in attributes and "defs" not in around
        ]
        assert len(names) == len(set(names))


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_in_the_dark_figures_are_drawn_in_colours_that_are_seen(several):
    paper = figures.DARK["#ffffff"]
    for light in figures.COLOURS:
        assert contrast(figures.DARK[light.lower()], paper) >= 4.5, light
    for label, light in parts_figures.PART_STYLES.values():
        assert contrast(figures.DARK[light.lower()], paper) >= 3, label
    for name in ("xtick.color", "ytick.color", "axes.labelcolor", "axes.titlecolor"):
        assert contrast(figures.DARK[figures.RC[name].lower()], paper) >= 4.5, name
    dark = [figures.DARK[light.lower()] for light in figures.COLOURS]
    assert len(set(dark)) == len(dark)
    text, _ = several
    svgs = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert svgs
    for svg in svgs:
        plain = re.sub(r"var\(--c-[0-9a-f]{6}, #[0-9a-fA-F]{6}\)", "", svg)
        assert not re.search(r"#[0-9a-fA-F]{6}", plain.replace("url(#", "")), "every colour has one for the dark"


def test_in_the_dark_the_page_is_dark_and_its_text_is_seen(pages):
    css = page.STYLE_FILE.read_text()
    light, dark = (
        dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{3,6})", block))
        for block in (
            css[: css.index("@media")],
            css[css.index("@media (prefers-color-scheme: dark)") :].split("} }")[0],
        )
    )
    assert set(light) == set(dark)
    for theme in (light, dark):
        theme = {
            name: value if len(value) == 7 else "#" + "".join(2 * each for each in value[1:])
            for name, value in theme.items()
        }
        for ink, paper in (
            *((ink, paper) for ink in ("ink", "soft", "blue", "good", "bad") for paper in ("paper", "wash")),
            *((f"{name}-ink", name) for name in ("pass", "finding", "fail", "unfinished", "absent")),
            ("ink", "note"),
        ):
            assert contrast(theme[ink], theme[paper]) >= 4.5 or (
                ink == "faint" and contrast(theme[ink], theme[paper]) >= 3
            ), ink
        assert contrast(theme["air"], theme["paper"]) >= 3
    assert luminance(dark["paper"]) < 0.02
    outside = css.replace(css[: css.index("* {")], "")
    strips = {"#00a077", "#e69f00", "#d2491a", "#7f7f7f"}  # beside a row, with its verdict in words
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", outside.split("@media print")[0])) <= strips
    for text in pages.values():
        assert "prefers-color-scheme: dark" in text and 'name="color-scheme"' in text


def test_an_image_apart_brings_its_own_dark_colours(tmp_path):
    with figures.drawing(tmp_path / "D-01_x.svg") as (_, [axis]):
        axis.plot([1, 2], [1, 2], label="line")

    shown = base64.b64decode(
        re.search(r"base64,([^\"]+)", reproduce_page._picture(tmp_path / "D-01_x.svg")[0])[1]
    ).decode()
    assert "prefers-color-scheme: dark" in shown and "--c-0072b2" in shown
    assert "svg { fill:" in shown, "text that says no colour is not left black"
    plain = (tmp_path / "D-01_x.svg").read_text()
    assert "var(" not in plain, "the file itself is for any program"
