# SPDX-License-Identifier: GPL-2.0-or-later
"""TFRC in experiment files, and what its runs record beside the tables."""

from pathlib import Path

import pytest
from perhop.errors import ExperimentError
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.study import tfrc_logs

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
