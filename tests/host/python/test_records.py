# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion records by Parquet partition: what the runs wrote, in parts by run and by nodes."""

import random

import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pytest
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.study import records
from perhop.study.outcomes import Outcome, Study


@pytest.fixture
def study(experiment, tmp_path):
    """Four finished runs, of which three have records of 200 nodes."""
    draw = random.Random(4)
    outcomes = []
    for index, run in enumerate(resolve(load(experiment))[:4]):
        folder = tmp_path / "runs" / run.id
        folder.mkdir(parents=True)
        outcomes.append(Outcome(run, "finished", folder=folder, result={}))
        if index < 3:
            rows = [f"{at},{draw.randrange(200)},{draw.randrange(-1, 200)},delivered" for at in range(3000)]
            (folder / records.CSV_FILE).write_text("t_done_us,node,next_hop,result\n" + "\n".join(rows) + "\n")
    return Study(tmp_path, outcomes)


def test_records_are_those_of_the_runs_and_lie_in_the_part_of_their_nodes(study, tmp_path):
    folder = records.write(study, tmp_path)
    assert folder == tmp_path / "records"
    assert len(list(folder.iterdir())) == 3
    whole = ds.dataset(folder, partitioning=records.PARTITIONS)
    for outcome in study.outcomes[:3]:
        expected = pyarrow.csv.read_csv(outcome.folder / records.CSV_FILE)
        found = whole.to_table(filter=pc.field("run") == outcome.run.id)
        assert found.select(expected.column_names).sort_by("t_done_us").equals(expected)
        assert all(
            row["nodes"] == row["node"] // records.NODES_PER_PART * records.NODES_PER_PART for row in found.to_pylist()
        )
    chosen = (pc.field("nodes") == 128) & (pc.field("run") == study.outcomes[0].run.id)
    assert {row["node"] for row in whole.to_table(filter=chosen).to_pylist()} == set(range(128, 192))
    assert all("nodes=128" in fragment.path for fragment in whole.get_fragments(chosen)), "no other part is read"


def test_records_of_another_study_are_replaced(study, tmp_path):
    records.write(study, tmp_path)
    folder = records.write(Study(tmp_path, study.outcomes[2:]), tmp_path)
    assert [part.name for part in folder.iterdir()] == [f"run={study.outcomes[2].run.id}"]
    assert records.write(Study(tmp_path, study.outcomes[3:]), tmp_path) is None
    assert not folder.exists(), "a run without records leaves none"
