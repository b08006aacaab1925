# SPDX-License-Identifier: GPL-2.0-or-later
"""Does each measurement once: side by side, and kept under the modem's sources that it was made with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perhop import files

from phy_bench import adjacent, carrier_sense, frame_errors, gain_control

ROOT = Path(__file__).resolve().parents[3]
MODELS = [ROOT / "host/python/perhop/phy", ROOT / "host/phy", ROOT / "host/bindings"]


def identity(work: object) -> str:
    """Of a piece of work and of the sources that do it: those of the models, and what measures with them."""
    beside = [path for path in Path(__file__).parent.glob("*.py") if path.name != "document.py"]
    every = [path for folder in MODELS for path in folder.rglob("*.*")] + beside
    sources = sorted(path for path in every if path.suffix in (".py", ".cpp", ".hpp"))
    parts = [repr(work).encode(), *(path.read_bytes() for path in sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


def do(work: Any) -> Any:
    """One piece of work, as plain values."""
    if isinstance(work, frame_errors.Point):
        return asdict(frame_errors.count(work))
    if isinstance(work, adjacent.Beside):
        return asdict(adjacent.count(work))
    if isinstance(work, carrier_sense.Detection):
        return carrier_sense.detect(work)
    if isinstance(work, carrier_sense.Release):
        return carrier_sense.free_again(work)
    return carrier_sense.false_alarms(work)


class Bench:
    """Does pieces of work, and each once: a run that is interrupted goes on where it was.

    Parameters
    ----------
    folder
        Where the results are kept, one file a piece of work.
    jobs
        How many are done side by side.
    show
        Is told of the progress, in lines.
    """

    def __init__(self, folder: Path, jobs: int, show: Callable[[str], None]) -> None:
        self._folder = folder
        self._jobs = jobs
        self._show = show

    def all(self, works: Sequence[Any]) -> list[Any]:
        """What `do` says of each, in their order."""
        kept = [self._file(work) for work in works]
        missing = [number for number, path in enumerate(kept) if not path.exists()]
        self._show(f"  {len(works)} measurements, {len(works) - len(missing)} of them from an earlier run")
        with ProcessPoolExecutor(self._jobs) as pool:
            pending = {number: pool.submit(do, works[number]) for number in missing}
            for count, (number, future) in enumerate(pending.items(), 1):
                files.write_text(kept[number], json.dumps(future.result()))
                if count % 10 == 0 or count == len(pending):
                    self._show(f"  {count} of {len(pending)}")
        return [json.loads(path.read_text()) for path in kept]

    def by_name(self, works: dict[Any, Any]) -> dict[Any, Any]:
        """The same by the keys of `works`."""
        return dict(zip(works, self.all(list(works.values())), strict=True))

    def per(self, works: dict[Any, Any]) -> dict[Any, float]:
        """The frame error rate of each, by the keys of `works`."""
        return {name: found["per"] for name, found in self.by_name(works).items()}

    def heard(self, points: Sequence[gain_control.Heard]) -> list[dict[str, int]]:
        """What the gateware hears of frames behind a gain; all of them are one piece of work."""
        program = hashlib.sha256((ROOT / gain_control.PROGRAM).read_bytes()).hexdigest()
        kept = self._file((points, program))
        if not kept.exists():
            files.write_text(kept, json.dumps(gain_control.count(points, ROOT)))
        return json.loads(kept.read_text())

    def _file(self, work: object) -> Path:
        return self._folder / f"{identity(work)}.json"
