# SPDX-License-Identifier: GPL-2.0-or-later
"""Hands the bins of the frame exchange that a simulation met to tests/run_gateware.py."""

import json
import uuid
from collections import Counter

from cocotbext.perhop.exchange_bins import EVERY_BIN

from .build import COVERAGE_FOLDER


def save_hits(*hits: Counter[str]) -> None:
    """Leaves what a simulation met for tests/run_gateware.py, if it asks for coverage."""
    if COVERAGE_FOLDER:
        total: Counter[str] = Counter()
        for each in hits:
            total.update({name: count for name, count in each.items() if name in EVERY_BIN})
        (COVERAGE_FOLDER / f"{uuid.uuid4().hex}.json").write_text(json.dumps(total))
