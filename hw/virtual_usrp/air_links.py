# SPDX-License-Identifier: GPL-2.0-or-later
"""Which devices hear each other over the air between them, and by how much weaker than they send."""

from __future__ import annotations

from pathlib import Path

import yaml
from perhop.errors import PerhopError

LOSS_DB = 24.0
"""From a sender's steps to a receiver's, by cables and attenuators, at the gains of perhop_shell.py; not of dBm."""
EXAMPLE = "links: [{between: [0, 1], loss_db: 24}]"


class AirLinks:
    """Losses of pairs of devices, by their numbers from 0. Without a file all hear each other alike."""

    def __init__(self, losses_db: dict[frozenset[int], float] | None = None) -> None:
        self._losses_db = losses_db

    def loss_db(self, one: int, other: int) -> float | None:
        """None: nothing of one reaches the other. A device's own recorder hears it, whatever the file says."""
        if self._losses_db is None or one == other:
            return LOSS_DB
        return self._losses_db.get(frozenset((one, other)))


def load(path: Path, devices: int) -> AirLinks:
    """A file with the pairs that hear each other; no others do. Raises PerhopError."""

    def refuse(field: str, problem: str) -> PerhopError:
        return PerhopError(f"--air {path}: {field} {problem}", f"write {EXAMPLE}")

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PerhopError(f"--air {path}: {error}", f"give a file such as: {EXAMPLE}") from error
    if not isinstance(document, dict) or set(document) != {"links"} or not isinstance(document["links"], list):
        raise refuse("links", "must be a list, and the only field")
    losses_db: dict[frozenset[int], float] = {}
    for number, link in enumerate(document["links"]):
        where = f"links[{number}]"
        if not isinstance(link, dict) or not set(link) <= {"between", "loss_db"}:
            raise refuse(where, "has other fields than between and loss_db")
        pair, loss_db = link.get("between"), link.get("loss_db", LOSS_DB)
        known = isinstance(pair, list) and len(pair) == 2 and all(each in range(devices) for each in pair)
        if not known or pair[0] == pair[1]:
            raise refuse(f"{where}.between", f"is {pair!r}, and no two of the devices 0 to {devices - 1}")
        if isinstance(loss_db, bool) or not isinstance(loss_db, int | float) or not 0 <= loss_db <= 200:
            raise refuse(f"{where}.loss_db", f"is {loss_db!r}, and no number from 0 to 200")
        if frozenset(pair) in losses_db:
            raise refuse(f"{where}.between", f"is {pair!r} a second time")
        losses_db[frozenset(pair)] = float(loss_db)
    return AirLinks(losses_db)
