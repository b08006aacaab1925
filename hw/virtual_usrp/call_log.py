# SPDX-License-Identifier: GPL-2.0-or-later
"""What UHD asked of the device and got, a JSON object a line: for tests, and to compare with a real device."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TextIO


class CallLog:
    """A file of events; without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._file: TextIO | None = path.open("w", buffering=1) if path else None
        self._began_s = time.monotonic()

    def tell(self, kind: str, **what: object) -> None:
        if self._file:
            event = {"at_s": round(time.monotonic() - self._began_s, 6), "kind": kind, **what}
            self._file.write(json.dumps(event) + "\n")

    def close(self) -> None:
        if self._file:
            self._file.close()


def read(path: Path) -> list[dict]:
    """Every event of a log; the last line may still be in the making."""
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
