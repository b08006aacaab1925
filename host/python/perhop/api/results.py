# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs measured, as tables for programs: pandas, polars or Arrow."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from perhop import paths
from perhop.errors import PerhopError, choose_from
from perhop.study import records, state

Library = Literal["pandas", "polars", "arrow"]


class Results:
    """The tables of an output folder. Each is read when it is first asked for.

    They are of the library that `frames` names: pandas (columns are Arrow's), polars, or arrow itself; by default of
    the first of these that is installed.
    """

    def __init__(self, folder: str | Path, frames: Library | None = None) -> None:
        self.folder = Path(folder)
        self.frames: Library = _library(frames)

    @functools.cached_property
    def runs(self) -> Any:
        """A row a run: what became of it, the sum over its flows, Jain's index, the hash of its transmissions."""
        return self._table("runs.parquet")

    @functools.cached_property
    def flows(self) -> Any:
        """A row a run and flow: goodput, round-trip time, windows, losses, as means over the measured time."""
        return self._table("flows.parquet")

    @functools.cached_property
    def links(self) -> Any:
        """A row a run, link and direction: where the time of a packet went, in the gateware's ten parts."""
        return self._table("hops.parquet")

    @functools.cached_property
    def intervals(self) -> Any:
        """A row a run, flow and interval of `outputs.interval_s`."""
        return self._table("results.parquet")

    @functools.cached_property
    def completions(self) -> Any:
        """A row a packet that a MAC was done with. Large: `outputs.completions` must ask for it."""
        folder = self.folder / state.RECORDS
        if not folder.is_dir():
            raise PerhopError(
                f"{paths.shown(self.folder)} has no completion records",
                "ask for them: outputs=perhop.Outputs(completions=True)",
            )
        return _frame(ds.dataset(folder, partitioning=records.PARTITIONS).to_table(), self.frames)

    def using(self, frames: Library) -> Results:
        """The same results as tables of another library. Raises PerhopError."""
        return Results(self.folder, frames)

    def _table(self, name: str) -> Any:
        try:
            table = pq.read_table(self.folder / name)
        except OSError as error:
            raise PerhopError(
                f"{paths.shown(self.folder)} holds no results: {name} cannot be read ({error.strerror or error})",
                "give an output folder of `perhop run` or perhop.run",
            ) from None
        return _frame(table, self.frames)

    def __repr__(self) -> str:
        return f"Results({paths.shown(self.folder)!r}, frames={self.frames!r})"


def _library(asked: str | None) -> Library:
    known = get_args(Library)
    if asked is None:
        return next(name for name in known if name == "arrow" or importlib.util.find_spec(name) is not None)
    if asked not in known:
        raise PerhopError(f"there is no library {asked!r} of tables", choose_from(asked, known))
    if asked != "arrow" and importlib.util.find_spec(asked) is None:
        raise PerhopError(f"{asked} is not installed", f"pip install {asked}, or frames='arrow'")
    return asked


def _frame(table: pa.Table, library: Library) -> Any:
    # Either takes longer to load than a small study.
    if library == "pandas":
        import pandas

        return table.to_pandas(types_mapper=pandas.ArrowDtype)
    if library == "polars":
        import polars

        return polars.from_arrow(table)
    return table
