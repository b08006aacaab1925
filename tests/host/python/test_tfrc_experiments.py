# SPDX-License-Identifier: GPL-2.0-or-later
"""TFRC in experiment files, and what its runs record beside the tables."""

import math
import random
from pathlib import Path

import pytest
from perhop import core
from perhop.errors import ExperimentError
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.study import tfrc_logs
from perhop.study.check import load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"

FILE = """\
name: tfrc
topology: {kind: chain, hops: 2}
flows:
  - {kind: tfrc, loss_intervals: 16}
duration_s: 30
"""


@pytest.fixture
def runs(tmp_path):
    """Resolves FILE, with settings."""
    file = tmp_path / "tfrc.yaml"
    file.write_text(FILE)
    return lambda *settings: resolve(load(file, settings, False))


def test_a_flow_of_tfrc_is_told_its_profile_and_how_many_intervals_it_remembers(runs):
    (run,) = runs()
    assert run.program == "perhop-sim"
    assert run.config["flows"] == [
        {
            "kind": "tfrc",
            "src": 0,
            "dst": 2,
            "start_s": 0.1,
            "stop_s": None,
            "profile": "paper",
            "payload_bytes": 1000,
            "loss_intervals": 16,
            "avoid_oscillation": True,
        }
    ]


@pytest.mark.parametrize("setting", ["profile=rfc3448", "payload_bytes=24", "loss_intervals=0"])
def test_a_flow_of_tfrc_that_cannot_be_is_refused(runs, setting):
    with pytest.raises(ExperimentError, match=setting.split("=")[0]):
        runs(f"flows.0.{setting}")


def test_loss_intervals_are_read_flow_by_flow_with_the_error_of_each_prediction(tmp_path: Path):
    (tmp_path / "loss_intervals.csv").write_text(
        "t_us,flow,predicted_packets,true_packets\n1000,0,80,100\n1500,1,10,5\n2000,0,85.5,90\n"
    )
    found = tfrc_logs.loss_intervals(tmp_path)
    assert [interval.true_packets for interval in found[0]] == [100, 90]
    assert found[0][0].error == pytest.approx(0.2)
    assert found[1] == [tfrc_logs.LossInterval(1500, 10, 5)] and found[1][0].error == 1


# --- losses without memory ------------------------------------------------------------------------------

MEMORIES = (2, 8, 64)


@pytest.fixture
def independent_loss(monkeypatch):
    """The check of tfrc_independent_loss, which draws nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")
    check = load_check(EXPERIMENTS / "tfrc_independent_loss" / "check.py")
    monkeypatch.setitem(check.__globals__, "INTERVALS", 600)
    return check


def lossy(folder: Path, of_equation: float = 0.85, tcp: float = 1.4, memory: bool = False) -> Results:
    """Three seeds: TFRC gets a share of the equation's rate, TCP `tcp` times what TFRC gets with L = 8."""
    rates = load_check(EXPERIMENTS / "tfrc_independent_loss" / "check.py").__globals__
    flows = []
    for p_lost in (0.02, 0.05, 0.1):
        drawn = [1 + int(math.log(1 - random.Random(i).random()) / math.log(1 - p_lost)) for i in range(400)]
        equation = rates["rate_bytes_per_s"](sum(drawn) / len(drawn), 0.02)
        cases = [{"kind": "tfrc", "loss_intervals": length} for length in MEMORIES] + [{"kind": "tcp"}]
        for flow in cases:
            for seed in (1, 2, 3):
                name = f"{p_lost}-{flow.get('loss_intervals', 'tcp')}-{seed}"
                place = folder / "runs" / name
                place.mkdir(parents=True)
                predicted = drawn if memory else [sum(drawn) / len(drawn) * (1 + 0.3 * (i % 3 - 1)) for i in range(400)]
                lines = [f"{i},0,{a},{b}" for i, (a, b) in enumerate(zip(predicted, drawn, strict=True))]
                text = "t_us,flow,predicted_packets,true_packets\n" + "\n".join(lines) + "\n"
                (place / "loss_intervals.csv").write_text(text)
                share = of_equation * (tcp if flow["kind"] == "tcp" else 1)
                bps = 8 * equation * share * (1 - p_lost) * (1 + 0.001 * seed)
                row = {"run": name, "flow": 0, "seed": seed, "sweep.flows": [flow]}
                row["sweep.medium.frame_error_rate"] = p_lost
                flows.append({**row, "kind": flow["kind"], "goodput_bps": bps, "loss_share": p_lost, "rtt_ms": 20.0})
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("planted", "verdict"),
    [({}, "pass"), ({"of_equation": 1.02}, "fail"), ({"memory": True}, "fail")],
    ids=["as the paper", "not conservative", "predictable"],
)
def test_x22_independent_losses_make_tfrc_slower_than_its_equation(planted, verdict, independent_loss, tmp_path):
    assert independent_loss(lossy(tmp_path, **planted), tmp_path).rows["X-22"].verdict == verdict


def test_x22_an_estimator_that_varies_without_need_fails_at_equal_intervals(independent_loss, tmp_path, monkeypatch):
    right = core.TfrcLossIntervals

    class Nervous:
        def __init__(self, count):
            self.inner, self.calls = right(count), 0

        def __getattr__(self, name):
            return getattr(self.inner, name)

        @property
        def mean_packets(self):
            self.calls += 1
            return self.inner.mean_packets * (1.5 if self.calls % 2 else 0.6)

    monkeypatch.setattr(core, "TfrcLossIntervals", Nervous)
    found = independent_loss(lossy(tmp_path), tmp_path).rows["X-22"]
    assert found.verdict == "fail" and "equal intervals give" in found.measured


@pytest.mark.parametrize(("planted", "verdict"), [({}, "pass"), ({"tcp": 1.05}, "fail"), ({"tcp": 0.95}, "fail")])
def test_x20_tfrc_gets_another_rate_than_tcp_or_the_advice_is_wrong(planted, verdict, independent_loss, tmp_path):
    assert independent_loss(lossy(tmp_path, **planted), tmp_path).rows["X-20"].verdict == verdict


def test_x20_the_page_says_where_tfrc_is_of_use():
    text = (EXPERIMENTS / "README.md").read_text()
    assert "## Where TFRC is of use" in text and "strict fairness" in text
