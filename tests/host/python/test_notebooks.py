# SPDX-License-Identifier: GPL-2.0-or-later
"""What the notebook of own policies says of its results is so. `make docs` runs every notebook, and asks less."""

import json
import subprocess
import sys
from pathlib import Path

from built import needs

ROOT = Path(__file__).resolve().parents[3]
RUN = ROOT / "tests/run_cells.py"
TOLD = """{
    "pairs": len(hashes),
    "equal": int((hashes.nunique(axis=1) == 1).sum()),
    "rtt_ms": table.rtt_ms.unstack("policy").loc[6].astype(float).to_dict(),
    "as delay": bool((table.loc["mine.py:Pipe"] == table.loc["delay"]).all(axis=None)),
    "before_ms": max(filter(None, rtts_ms[:50])),
    "after_ms": max(rtts_ms[60:]),
}"""


@needs("perhop-sim")
def test_the_notebook_of_own_policies_shows_what_it_says(tmp_path):
    book = ROOT / "docs/notebooks/own_policy.ipynb"
    done = subprocess.run([sys.executable, RUN, book, TOLD], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    *printed, last = done.stdout.splitlines()
    told = json.loads(last)
    assert told["equal"] == told["pairs"] == 8
    assert told["as delay"]
    rtt_ms = told["rtt_ms"]
    assert rtt_ms["mine.py:Pipe"] < rtt_ms["mine.py:Wide"] < rtt_ms["no limit"]
    assert told["after_ms"] < told["before_ms"] / 3
    assert "ZeroDivisionError" in printed[-1]
