# SPDX-License-Identifier: GPL-2.0-or-later
"""What bench-phy says of measurements: a bound that does not hold is told; page and RESULT line have all of them."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("perhop.modem", reason="no perhop.modem here: run make bindings")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import bench_phy  # noqa: E402
from perhop.errors import PerhopError  # noqa: E402
from phy_bench import document, gain_control  # noqa: E402
from phy_bench.adjacent import Beside  # noqa: E402
from phy_bench.carrier_sense import Detection, Noise, Release  # noqa: E402
from phy_bench.frame_errors import Point, theory_per, theory_point_db  # noqa: E402
from phy_bench.points import Bench, identity  # noqa: E402
from phy_bench.sections import gateware  # noqa: E402

FRAMES = 30


class Stand(Bench):
    """A bench that measures nothing: a good modem, less what a test spoils."""

    def __init__(self, spoilt=None):
        super().__init__(Path("nothing"), 1, print)
        self._spoilt = spoilt or (lambda work: None)

    def _found(self, work):
        bad = self._spoilt(work)
        if bad is not None:
            return bad
        if isinstance(work, Point):
            return {"per": theory_per(work.rate, work.es_n0_db - 0.5), "ber": 1e-6}
        if isinstance(work, Beside):
            return {"per": 0.0}
        if isinstance(work, Detection):
            return [5.0] * work.preambles
        if isinstance(work, Release):
            return [6.0] * work.signals
        return 0

    def all(self, works):
        return [self._found(work) for work in works]

    def heard(self, points):
        good = {"frames": 20, "delivered": 20, "most_below_db": 0}
        return [self._spoilt(point) or good for point in points]


@pytest.fixture
def antenna(tmp_path, monkeypatch):
    """As bench-antenna leaves it."""
    found = {"runs": {"44 MHz long": {"mean_us": 10.0, "min_us": 9.98, "max_us": 10.02, "n": 100}}}
    kept = tmp_path / "result.json"
    kept.write_text(json.dumps(found))
    monkeypatch.setattr(gateware, "ANTENNA", kept)
    monkeypatch.setattr(gateware, "ROOT", tmp_path)
    monkeypatch.setattr(gateware, "TESTS", "nothing.py")
    return kept


def asked(spoilt=None, rtl=True):
    """All sections after their measurements; the last one, which compares with the gateware, took none."""
    sections = bench_phy.sections(FRAMES, 0.2, rtl)
    for section in sections:
        if isinstance(section, gateware.Gateware):
            section.agreed = section.compared = 6
        else:
            section.measure(Stand(spoilt))
    return sections


def wrong(sections):
    return [line for section in sections for line in section.wrong()]


def test_a_good_modem_is_told_nothing_of(antenna):
    assert wrong(asked()) == []


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        (lambda w: {"per": 0.5, "ber": 0.1} if isinstance(w, Point) and w.offsets else None, "worst offsets"),
        (lambda w: [15.1] + [5.0] * 29 if w == Detection(10.0, FRAMES) else None, "10 dB are not found"),
        (lambda w: [None] + [5.0] * 29 if w == Detection(20.0, FRAMES) else None, "20 dB are not found"),
        (lambda w: 1 if w == Noise(1) else None, "locks in 0.2 s of noise"),
        (lambda w: [15.1] if w == Release(50.0, "header", FRAMES) else None, "in header the medium is free 15.1"),
        (lambda w: [None] if w == Release(10.0, "preamble", FRAMES) else None, "in preamble the medium is free never"),
        (lambda w: {"per": 0.2, "ber": 0.1} if getattr(w, "dc_db", None) == 20.0 else None, "DC of 20 dB"),
        (
            lambda w: {"per": 0.1} if isinstance(w, Beside) and w.front_end.msps == 22 else None,
            "22 Msps, 20 MHz: 10.0% lost beside a channel 35 dB stronger",
        ),
        (
            lambda w: {"frames": 20, "delivered": 18, "most_below_db": 60}
            if isinstance(w, gain_control.Heard) and w.range_steps and w.es_n0_db > 100
            else None,
            "10% lost 100 dB above the bound, with gain control",
        ),
    ],
)  # fmt: skip
def test_what_exceeds_its_bound_is_told(antenna, spoilt, told):
    assert any(told in line for line in wrong(asked(spoilt))), wrong(asked(spoilt))


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda w: [15.1] + [5.0] * 29 if w == Detection(8.0, FRAMES) else None,
        lambda w: {"per": 0.9} if isinstance(w, Beside) and w.front_end.bandwidth_mhz is None else None,
        lambda w: {"per": 0.9} if isinstance(w, Beside) and w.neighbour_db == 45 else None,
        lambda w: {"frames": 20, "delivered": 0, "most_below_db": 0} if getattr(w, "range_steps", 1) == 0 else None,
    ],
    ids=["a weak signal", "a bare converter", "a stronger neighbour", "a gain that stands"],
)
def test_what_has_no_bound_is_shown_and_no_failure(antenna, spoilt):
    assert wrong(asked(spoilt)) == []


def test_the_gateware_has_to_agree_in_each_frame(antenna):
    sections = asked()
    sections[-1].agreed = 5
    assert wrong(sections) == ["the RTL does what the model does in 5 of 6 frames only"]


def test_a_comparison_that_did_not_run_is_a_failure(antenna):
    sections = asked()
    sections[-1].measure(Stand())
    assert wrong(sections) == ["the RTL does what the model does in 0 of 0 frames only"]


def test_without_bench_antenna_it_says_what_to_run(antenna):
    antenna.unlink()
    with pytest.raises(PerhopError, match="make bench-antenna"):
        bench_phy.sections(FRAMES, 0.2, True)
    assert wrong(asked(rtl=False)) == []


def test_the_page_has_a_section_a_question(antenna, tmp_path):
    document.write(asked(), tmp_path / "phy")
    text = (tmp_path / "phy/README.md").read_text()
    titles = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert titles == [section.title for section in asked()]
    for figure in ("frame_errors.svg", "carrier_sense.svg", "spectrum.svg"):
        assert f"({figure})" in text
        assert (tmp_path / "phy" / figure).exists()
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= document.LINE_CHARACTERS
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    for rows in (block.strip().splitlines() for block in tables):
        assert len({row.count("|") for row in rows}) == 1, rows


def test_the_result_line_has_a_key_a_measurement(antenna):
    keys = [key for section in asked() for key in section.result()]
    assert len(keys) == len(set(keys))
    assert {"per", "cs_15us_at_10db", "false_alarms_per_s", "sifs_us", "gain_control", "adjacent_per"} <= set(keys)
    result = {key: value for section in asked() for key, value in section.result().items()}
    # The modem of these tests is half a decibel worse than theory.
    for rate, name in enumerate(("1", "2")):
        limit_db = pytest.approx(theory_point_db(rate) + 0.5, abs=0.05)
        assert result["per"][name] == {"worst_db": limit_db, "clean_db": limit_db}
    json.dumps(result, allow_nan=False)


def test_a_measurement_is_made_once(tmp_path):
    said = []
    bench = Bench(tmp_path, 1, said.append)
    first = bench.all([Noise(3, 0.001)])
    assert bench.all([Noise(3, 0.001)]) == first
    assert said[-1].endswith("1 of them from an earlier run")
    assert (tmp_path / f"{identity(Noise(3, 0.001))}.json").exists()
    assert identity(Noise(3, 0.001)) != identity(Noise(4, 0.001))
