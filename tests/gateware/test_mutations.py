# SPDX-License-Identifier: GPL-2.0-or-later
"""The mutations of tests/mutations.py can be planted; whether tests catch them, `make mutate` says."""

import pytest
from mutate import CannotJudge, edited, mutated_files
from mutations import DEFECTS, MUTATIONS, Edit
from testbench.build import ROOT


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_each_mutation_can_still_be_planted(mutation):
    for name, text in mutated_files(mutation).items():
        assert text != (ROOT / name).read_text()
    for argument in mutation.tests:
        assert not argument.startswith("tests/") or (ROOT / argument).exists()


def test_each_defect_has_a_mutation_and_each_mutation_a_name_of_its_own():
    assert {mutation.defect for mutation in MUTATIONS} == set(DEFECTS)
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize("text", ["", "one and one"])
def test_a_text_that_is_not_there_once_is_an_error(text):
    with pytest.raises(CannotJudge, match="not once"):
        edited(Edit("a file", "one", "two"), text)
