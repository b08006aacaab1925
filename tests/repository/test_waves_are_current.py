# SPDX-License-Identifier: GPL-2.0-or-later
"""The timing diagrams of docs/mac and docs/hw are drawn from what stands beside them, and all of them are shown."""

import re
import subprocess
import sys

import pytest


def test_each_timing_diagram_is_the_drawing_of_its_source(root):
    done = subprocess.run(
        [sys.executable, root / "docs/mac/render_waves.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("folder", ["mac", "hw"])
def test_each_timing_diagram_is_shown_by_a_page(root, folder):
    pages = "".join(page.read_text() for page in (root / "docs" / folder).glob("*.md"))
    shown = set(re.findall(r"waves/(\w+)\.svg", pages))
    assert shown == {path.stem for path in (root / "docs" / folder / "waves").glob("*.json")}
