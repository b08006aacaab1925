# SPDX-License-Identifier: GPL-2.0-or-later
"""The report in a headless Chromium: quiet, alone, without violations of accessibility, in all widths and both colours.

Chromium is one of docs/site/apt-packages.txt; axe-core is in the package axe-playwright-python.
"""

import base64
import csv
import importlib.util
import itertools
import json
import shutil
import sys
from pathlib import Path

import built
import pytest
from perhop.cli import app
from typer.testing import CliRunner
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "docs/site"))

import look  # noqa: E402

FAKE = Path(__file__).with_name("fake_simulator.py")
LARGEST_BYTES = 3_000_000

CROSSING = """\
name: crossing
description: Two TCP flows that cross; a node of the second path fails for a while
topology: {kind: cross, hops: 4, spacing_m: 200}
flows: [{kind: tcp, src: 0, dst: 4}, {kind: tcp, src: 5, dst: 8}]
policies: [none, delay]
events: [{at_s: 4, kind: node_down, node: 6}, {at_s: 7, kind: node_up, node: 6}]
seeds: [1]
duration_s: 10
warmup_s: 1
"""
THREE = """\
name: three
topology: {kind: chain, hops: 2, spacing_m: 250}
mac: {profile: dsss_long, data_rate_mbps: 2}
flows: [{kind: tcp, src: first, dst: last}]
policies: [none, delay + dca]
sweep: {topology.hops: [2, 4], mac.rts_threshold_bytes: [0, 4095], mac.data_rate_mbps: [2, 11]}
seeds: [1]
duration_s: 5
warmup_s: 1
"""

# Pairs of texts, of those that are seen, that lie on each other by more than a pixel.
OVERLAPS = """
(() => {
  const found = [];
  for (const section of document.querySelectorAll("header, section, ul.facts")) {
    const boxes = [];
    const walker = document.createTreeWalker(section, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const hidden = ".unseen, caption, script, details:not([open]), .scroll, .wide";
      if (!node.textContent.trim() || node.parentElement.closest(hidden)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) if (box.width > 0) boxes.push([box, node.textContent.trim()]);
    }
    for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i][0], boxes[j][0]];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) found.push([boxes[i][1], boxes[j][1]]);
    }
  }
  return found.slice(0, 5);
})()
"""
SMALL_TEXT = """
[...document.querySelectorAll("main *")].filter((element) =>
  [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
  && !element.closest("svg defs, title, script") && parseFloat(getComputedStyle(element).fontSize) < 10)
  .map((element) => element.outerHTML.slice(0, 80)).slice(0, 5)
"""
AXE = """
axe.run().then((result) => ({
  passes: result.passes.length,
  violations: result.violations.map((rule) =>
    [rule.id, rule.impact, rule.nodes.map((node) => node.html.slice(0, 120))]),
}))
"""
# Presses a button of the first figure that `selector` finds, and gives the file that it would save, in base64.
SAVE = """
(async () => {
  const saved = new Promise((done) => {
    HTMLAnchorElement.prototype.click = function () { done([this.download, this.href]); };
  });
  document.querySelector('SELECTOR button[data-as="KIND"]').click();
  const [name, address] = await saved;
  const bytes = new Uint8Array(await (await fetch(address)).arrayBuffer());
  return [name, btoa([...bytes].map((byte) => String.fromCharCode(byte)).join(""))];
})()
"""


def missing() -> str:
    """What these tests lack, and what to do about it."""
    if shutil.which("chromium") is None:
        return "no chromium, so NOBODY LOOKED AT THE REPORT: apt-get install chromium (docs/site/apt-packages.txt)"
    return built.missing("perhop-sim")


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A report by the real simulator, with flows, events and the air; one of three swept fields by the fake one."""
    folder = tmp_path_factory.mktemp("reports")
    program = folder / "build/sim/ns3/perhop-sim"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    program.chmod(0o755)
    for name, text in (("crossing", CROSSING), ("three", THREE)):
        (folder / f"{name}.yaml").write_text(text)
        with pytest.MonkeyPatch.context() as patch:
            if name == "three":
                patch.setenv("PERHOP_BUILD", str(folder / "build"))
            done = CliRunner().invoke(app, ["run", str(folder / f"{name}.yaml"), "--out", str(folder / name)])
        assert done.exit_code == 0, done.output
    return {name: folder / name / "report.html" for name in ("crossing", "three")}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = look.Browser(tmp_path_factory.mktemp("chromium"))
    yield found
    found.close()


class View:
    """A page in a window of its own."""

    def __init__(self, browser: look.Browser, page: Path, width: int = 1000, scheme: str = "light") -> None:
        self._browser = browser
        self._context = browser.ask("Target.createBrowserContext")["browserContextId"]
        target = browser.ask("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=width < 500
        )
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=page.as_uri())
        browser.wait("Page.loadEventFired", self.session)

    def ask(self, method: str, **parameters: object) -> dict:
        return self._browser.ask(method, self.session, **parameters)

    def evaluate(self, text: str):
        told = self.ask("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait_for(self, text: str):
        wait_until(lambda: self.evaluate(text), what=text, poll_s=0.1)
        return self.evaluate(text)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" and len(key) == 1 else ""
            )

    def close(self) -> None:
        self._browser.ask("Target.disposeBrowserContext", browserContextId=self._context)


def air_is_drawn(view: View) -> None:
    view.wait_for("document.querySelectorAll('.stage rect').length > 5")


@pytest.mark.parametrize(
    ("name", "width", "scheme"), list(itertools.product(("crossing", "three"), look.WIDTHS, look.SCHEMES))
)
def test_the_report_is_quiet_alone_accessible_and_fits(browser, reports, name, width, scheme):
    view = View(browser, reports[name], width, scheme)
    if name == "crossing":
        air_is_drawn(view)
    assert view.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert view.evaluate(SMALL_TEXT) == []
    assert view.evaluate(OVERLAPS) == []
    axe = importlib.util.find_spec("axe_playwright_python")
    assert axe is not None and axe.submodule_search_locations, "axe-playwright-python is in requirements.txt"
    view.evaluate((Path(axe.submodule_search_locations[0]) / "axe.min.js").read_text() + ";0")
    told = view.evaluate(AXE)
    assert told["passes"] > 25, "axe looked"
    assert told["violations"] == []
    assert look.problems_of(browser.events, view.session, name) == []
    view.close()


def test_axe_and_the_search_for_overlaps_find_what_is_wrong(browser, reports, tmp_path):
    bad = tmp_path / "bad.html"
    text = reports["three"].read_text()
    bad.write_text(
        text.replace('role="img"', 'role="image-of-mine"').replace(
            "</header>", '<p style="position:relative;top:-42px;color:#eee;font-size:8px">over it all</p></header>'
        )
    )
    view = View(browser, bad)
    axe = importlib.util.find_spec("axe_playwright_python")
    view.evaluate((Path(axe.submodule_search_locations[0]) / "axe.min.js").read_text() + ";0")
    assert {rule for rule, *_ in view.evaluate(AXE)["violations"]} >= {"aria-roles", "color-contrast"}
    assert view.evaluate(SMALL_TEXT) != []
    assert view.evaluate(OVERLAPS) != []
    view.close()


def test_the_report_is_small(reports):
    for name, page in reports.items():
        assert page.stat().st_size < LARGEST_BYTES, name


@pytest.mark.parametrize("selector", ["section figure", "section .air figure"])
def test_a_figure_is_saved_as_svg_png_and_csv(browser, reports, selector):
    view = View(browser, reports["crossing"])
    air_is_drawn(view)
    files = {}
    for kind in ("svg", "png", "csv"):
        name, content = view.evaluate(SAVE.replace("SELECTOR", selector).replace("KIND", kind))
        assert name.endswith(f".{kind}") and len(name) > 5
        files[kind] = base64.b64decode(content)
    assert files["svg"].startswith(b"<svg") and b"var(" not in files["svg"]
    assert files["png"].startswith(b"\x89PNG") and len(files["png"]) > 5000
    lines = list(csv.reader(files["csv"].decode().splitlines()))
    assert len(lines) > 5 and {len(line) for line in lines} == {len(lines[0])} and len(lines[0]) >= 4
    view.close()


def test_both_flows_are_shown_over_time_with_the_failure_marked(reports):
    text = reports["crossing"].read_text()
    section = text[text.index("<h2>Over time") : text.index("<h2>Where the time")]
    assert "4 s: node 6 fails" in section and "7 s: node 6 is back" in section
    for flow in ("0→4", "5→8"):
        assert f"no limit, {flow}" in section and f"delay, {flow}" in section
    for title in ("Goodput", "Round-trip time", "Congestion window", "Queue in front of the MAC"):
        assert f'data-name="{title}"' in section, title


def test_the_air_is_moved_by_keyboard_and_goes_to_losses_and_events(browser, reports):
    view = View(browser, reports["crossing"])
    air_is_drawn(view)
    said = "document.querySelector('.view').textContent"
    begin = view.evaluate(said)
    view.evaluate("document.querySelector('.stage').focus()")
    view.press("ArrowRight")
    later = view.evaluate(said)
    assert float(later.split()[0]) > float(begin.split()[0])
    view.press("-")
    assert span_s(view.evaluate(said)) == pytest.approx(2 * span_s(later), rel=0.01)
    view.press("n")
    assert int(view.evaluate(said).split(" lost")[0].split()[-1]) >= 1, "the next loss is in view"
    view.evaluate("document.querySelector('.air button[data-at=\"4.0\"]').click()")
    told = view.evaluate(said).split()
    assert float(told[0]) < 4 < float(told[3])
    assert "4 s: node 6 fails" in view.evaluate("document.querySelector('.stage svg').textContent")
    # All of it: shares of time in place of frames.
    view.evaluate("document.querySelector('.air button[data-do=all]').click()")
    assert "shares of time" in view.evaluate(said)
    view.evaluate("document.querySelector('.air details').open = true")
    rows = view.wait_for("document.querySelectorAll('.air details tbody tr').length")
    assert rows == 200
    view.close()


def span_s(said: str) -> float:
    words = said.split()
    return float(words[3]) - float(words[0])


def test_the_air_shows_the_frames_of_the_capture(browser, reports):
    view = View(browser, reports["crossing"])
    air_is_drawn(view)
    about = json.loads(view.evaluate("document.getElementById('air-about').textContent"))
    assert about["lanes"] == list(range(9)) and about["marks"][0] == [4.0, "node 6 fails"]
    titles = view.evaluate("[...document.querySelectorAll('.stage rect > title')].map((title) => title.textContent)")
    for words in ("RTS ", "CTS ", "DATA ", "MAC ACK ", "NAV of node", "inter-frame space", "back-off"):
        assert any(words in title for title in titles), words
    view.close()
