# SPDX-License-Identifier: GPL-2.0-or-later
"""Planting faults: what counts as found, that all can still be planted, and the checks that need no tool of UHD's."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "hw"))

from checks import planted  # noqa: E402
from checks.chains import check_chains  # noqa: E402
from checks.documents import check_documents  # noqa: E402
from checks.faults import AREA, CHAINS, DOCUMENTS, FAULTS, HOST, RATES  # noqa: E402
from checks.host import check_host  # noqa: E402
from checks.rates import check_rates, master_clock_mhz, modem_msps, name_of_rate  # noqa: E402
from checks.tree import CheckError, Tree  # noqa: E402


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Tree:
    return planted.copy_of(Tree(ROOT), tmp_path_factory.mktemp("copy") / "tree")


def test_every_fault_can_be_planted_and_leaves_nothing_behind(copy):
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        before = copy.read(fault.file)
        with planted.planted(copy, fault):
            assert copy.read(fault.file) != before, fault.name
        assert copy.read(fault.file) == before, fault.name


def test_a_fault_that_no_longer_fits_its_file_is_told(copy):
    stale = replace(FAULTS[0], old="this stands in no image core")
    with pytest.raises(CheckError, match="can no longer be planted"), planted.planted(copy, stale):
        pass


def test_the_tree_and_its_copy_agree_with_themselves(copy):
    for tree in (Tree(ROOT), copy):
        check_rates(tree)
        check_host(tree)
        check_documents(tree)
        check_chains(tree)


@pytest.mark.parametrize("fault", [*CHAINS, *HOST, *DOCUMENTS, *AREA, RATES[0], RATES[12]], ids=lambda each: each.name)
def test_a_fault_is_found_by_what_it_says(copy, fault):
    field = planted.Field(copy)
    with planted.planted(copy, fault), pytest.raises(CheckError, match=re.escape(fault.says)):
        field.checks[fault.check](fault)


def test_a_fault_that_nobody_finds_fails_the_whole():
    assert planted.told({"one": "rates", "two": "host"}) == "2 of 2 planted faults found"
    with pytest.raises(CheckError, match="1 of 2 planted faults are not found: two"):
        planted.told({"one": "rates", "two": None})


def test_what_another_check_would_say_does_not_count(monkeypatch):
    """A fault is found by the message that names it, not by any failure."""
    monkeypatch.setattr(planted, "Field", NoField)
    monkeypatch.setattr(planted, "copy_of", lambda tree, at: tree)
    monkeypatch.setattr(planted, "planted", lambda tree, fault: planted.contextmanager(lambda: iter([None]))())
    fault = replace(HOST[0], check="host")
    told = [replace(fault, name="right", says="the NoC id"), replace(fault, name="other", says="the rate")]
    assert planted.plant_all(Tree(ROOT), told) == {"right": "host", "other": None}


class NoField:
    """Checks that pass while nothing is planted, and then speak of a NoC id."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.checks = {"host": self._host}

    def _host(self, fault) -> None:
        if fault:
            raise CheckError("the NoC id is wrong")


@pytest.mark.parametrize(
    ("parameters", "msps", "master", "name"),
    [
        ({"SAMPLES_PER_CHIP": 2}, 22, 22, "22"),
        ({"SAMPLES_PER_CHIP": 4}, 44, 44, "44"),
        ({"RATE_IN": 25, "RATE_22": 22, "DECIMATION": 8}, 25, 200, "25"),
        ({"RATE_IN": 256, "RATE_22": 275, "DECIMATION": 9}, 20.48, 184.32, "20p48"),
    ],
)
def test_rates_follow_from_an_image_s_parameters(parameters, msps, master, name):
    assert float(modem_msps(parameters)) == msps and float(master_clock_mhz(parameters)) == master
    assert name_of_rate(modem_msps(parameters)) == name
