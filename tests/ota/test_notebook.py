# SPDX-License-Identifier: GPL-2.0-or-later
"""The notebook from simulation to live to air makes its experiment in all three places, hosts over SSH among them."""

import json
import os
import subprocess
import sys
from pathlib import Path

from .hosts import Hosts

ROOT = Path(__file__).resolve().parents[2]
TOLD = "{place: float(results.flows.goodput_bps.iloc[0]) for place, results in made.items()}"
# Live and hosts keep pace with the clock where nothing else runs, which `make ota` and `make live` judge.
SHARE = 0.10


def test_the_notebook_makes_its_experiment_in_three_places(hosts: Hosts, tmp_path: Path) -> None:
    book = ROOT / "docs/notebooks/to_the_air.ipynb"
    inside = ["nsenter", f"--net=/run/netns/{hosts.name}-c"]
    done = subprocess.run(
        [*inside, sys.executable, ROOT / "tests/run_cells.py", book, TOLD],
        cwd=tmp_path,
        env={**os.environ, "PERHOP_INVENTORY": str(hosts.inventory())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    goodput_bps = json.loads(done.stdout.splitlines()[-1])
    assert list(goodput_bps) == ["simulated", "live", "on hosts"], done.stdout
    least, most = min(goodput_bps.values()), max(goodput_bps.values())
    assert most < least * (1 + SHARE), goodput_bps
    assert "heard without an error: True" in done.stdout
