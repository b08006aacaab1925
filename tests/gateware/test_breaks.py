# SPDX-License-Identifier: GPL-2.0-or-later
"""The breaks of gateware/formal/breaks.py can be planted; whether the proofs find them, `make prove` says."""

import sys

import pytest
from testbench.build import ROOT

sys.path.insert(0, str(ROOT / "gateware/formal"))
from breaks import BREAKS
from proofs import JOBS


@pytest.mark.parametrize("name", BREAKS)
def test_each_break_can_still_be_planted(name):
    assert (ROOT / BREAKS[name].file).read_text().count(BREAKS[name].original) == 1


def test_each_proof_has_a_break():
    """Covers have none: they show what can happen. A claim that is shown with other parameters, too, needs but one."""
    claims = {job.name.removesuffix("_two_queues").removesuffix("_9us") for job in JOBS if job.mode != "cover"}
    assert claims <= set(BREAKS)
