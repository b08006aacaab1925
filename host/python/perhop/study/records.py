# SPDX-License-Identifier: GPL-2.0-or-later
"""The completion records of runs (`outputs.completions`) as Parquet: records/run=ID/nodes=FIRST/part-*.parquet.

A part has the records of one run and of NODES_PER_PART nodes, from FIRST on. Who wants one run, or some nodes of
a large one, reads those files and no others:

    pyarrow.dataset.dataset("records", partitioning="hive").to_table(filter=pc.field("nodes") == 128)

The files are made from completions.csv of each run, a block at a time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds

from perhop.study.outcomes import Outcome, Study
from perhop.study.state import RECORDS

CSV_FILE = "completions.csv"
NODES_PER_PART = 64

PARTITIONS = ds.partitioning(pa.schema([("run", pa.string()), ("nodes", pa.int64())]), flavor="hive")


def write(study: Study, folder: Path) -> Path | None:
    """Write the records of every run that has some into `folder`/records, in place of what was there.

    Returns that folder; None where no run has records.
    """
    target = folder / RECORDS
    recorded = [outcome for outcome in study.outcomes if _file(outcome) is not None]
    shutil.rmtree(target, ignore_errors=True)
    if not recorded:
        return None
    # Whole or absent, as every output.
    growing = folder / f".{RECORDS}.{os.getpid()}.tmp"
    try:
        for outcome in recorded:
            _write_run(outcome, growing)
        growing.rename(target)
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    return target


def _file(outcome: Outcome) -> Path | None:
    if outcome.folder is None or outcome.result is None:
        return None
    file = outcome.folder / CSV_FILE
    return file if file.is_file() else None


def _write_run(outcome: Outcome, target: Path) -> None:
    file = _file(outcome)
    assert file is not None
    with pyarrow.csv.open_csv(file) as reader:
        own = [pa.field("run", pa.string()), pa.field("nodes", pa.int64())]
        schema = pa.schema([*reader.schema, *own])
        ds.write_dataset(
            _with_partitions(reader, outcome.run.id, schema),
            target,
            schema=schema,
            format="parquet",
            partitioning=PARTITIONS,
            basename_template="part-{i}.parquet",
            existing_data_behavior="overwrite_or_ignore",
            max_partitions=65536,
            max_open_files=256,
        )


def _with_partitions(reader: pyarrow.csv.CSVStreamingReader, run: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        first = pc.multiply(pc.divide(batch.column("node"), NODES_PER_PART), NODES_PER_PART)
        yield pa.record_batch([*batch.columns, pa.array([run] * batch.num_rows), first], schema=schema)
