# SPDX-License-Identifier: GPL-2.0-or-later
"""A row of the papers that two experiment folders judge, one static and one mobile."""

from pathlib import Path

import pytest
from perhop.errors import PerhopError
from perhop.reproduce import reproduction
from perhop.reproduce.rows import Catalogue, Row, catalogue, select
from perhop.study.check import Check, RowVerdict

PASS = RowVerdict("pass", "level", "± 1")
FINDING = RowVerdict("finding", "steep", evidence="Tried.")


def row(**asks):
    return Row("B-21", "000", "Pacing", "Little", "little", experiment="chain", numeric=True, also="moving", **asks)


def result(first: RowVerdict | None, second: RowVerdict | None, joint=None, grades=("quick", "quick"), **asks):
    """What becomes of the row when its folders say so; `joint` is what the second one says of the first one's check."""
    of = row(**asks)
    parts = [
        reproduction.Part(
            name,
            [of],
            grade,
            check=Check(
                True,
                [],
                {"name": name},
                [Path(f"{name}.svg")],
                {"B-21": said} if said else {},
                {"B-21": both} if both else {},
            ),
        )
        for name, said, both, grade in (("chain", first, None, grades[0]), ("moving", second, joint, grades[1]))
    ]
    return reproduction._result(of, parts)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (PASS, PASS, "pass"),
        (PASS, FINDING, "finding"),
        (FINDING, PASS, "finding"),
        (PASS, RowVerdict("finding", "steep"), "fail"),  # without evidence
        (PASS, RowVerdict("fail", "steep"), "fail"),
        (RowVerdict("fail", "steep"), FINDING, "fail"),
        (PASS, None, "fail"),
        (None, PASS, "fail"),
    ],
)
def test_a_row_of_two_folders_passes_where_both_say_so(first, second, verdict):
    assert result(first, second).verdict == verdict


def test_what_both_folders_say_is_told():
    found = result(PASS, FINDING)
    assert (found.measured, found.interval, found.evidence) == ("level; steep", "± 1", "Tried.")
    assert found.part.name == "chain"


def test_a_row_of_two_folders_is_unfinished_where_one_has_less_than_it_asks_for():
    found = result(PASS, PASS, grade_least="full")
    assert found.verdict == "not finished" and found.measured.count("level") == 2


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (RowVerdict("pass", "more"), "pass"),
        (RowVerdict("fail", "less"), "fail"),
        (RowVerdict("finding", "less", evidence="Tried."), "finding"),
        (RowVerdict("finding", "less"), "fail"),
    ],
)
def test_what_only_both_folders_can_tell_counts_as_much_as_what_each_says(said, verdict):
    def joint(other: Check) -> RowVerdict:
        assert other.numbers == {"name": "chain"}
        return said

    found = result(PASS, PASS, joint)
    assert found.verdict == verdict and said.measured in found.measured
    assert [file.name for file in found.figures] == ["chain.svg", "moving.svg"]


def test_a_joint_word_that_cannot_be_given_fails_the_row():
    found = result(PASS, PASS, lambda other: other.numbers["no such"])
    assert found.verdict == "fail" and "moving cannot judge beside chain: KeyError" in found.measured


def test_a_joint_word_waits_for_both_folders():
    of = row()
    judged = Check(True, [], {}, [], {"B-21": PASS}, {"B-21": lambda other: other.numbers["no such"]})
    parts = [reproduction.Part("chain", [of], problem="interrupted"), reproduction.Part("moving", [of], check=judged)]
    found = reproduction._result(of, parts)
    assert found.measured == "interrupted; level"


@pytest.mark.parametrize("grades", [("full", "quick"), ("quick", "full")])
def test_a_row_of_two_folders_tells_the_lower_of_their_grades(grades):
    assert result(PASS, PASS, grades=grades).grade == "quick"


def test_the_name_of_either_folder_chooses_the_row(tmp_path):
    known = Catalogue(tmp_path, {"000": "A paper"}, {"B-21": row()})
    assert [found.id for word in ("chain", "moving") for found in select(known, [word])] == ["B-21", "B-21"]


def test_a_second_folder_must_have_a_check_too(tmp_path):
    (tmp_path / "chain").mkdir()
    (tmp_path / "chain" / "check.py").write_text("")
    (tmp_path / "rows.yaml").write_text(
        'papers: {"000": A paper}\nrows:\n'
        '  B-21: {paper: "000", title: T, claim: C, check: K, experiment: chain, also: moving, numeric: true}\n'
    )
    with pytest.raises(PerhopError, match="B-21 names the experiment 'moving'"):
        catalogue(tmp_path)
