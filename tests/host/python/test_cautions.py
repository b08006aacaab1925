# SPDX-License-Identifier: GPL-2.0-or-later
"""What works but may surprise is said before the runs, once, and nothing is refused for it."""

from pathlib import Path

import pytest
from perhop.experiment.cautions import HELLOS_ON_A_MESH, cautions
from perhop.experiment.load import load
from perhop.live import plan

FILE = """
name: said
topology: {topology}
flows: [{{kind: {kind}, src: 0, dst: last}}]
exact: {exact}
duration_s: 10
"""


def experiment_file(tmp_path: Path, topology: str, exact: str = "{}", kind: str = "exact") -> Path:
    file = tmp_path / "experiment.yaml"
    file.write_text(FILE.format(topology=topology, exact=exact, kind=kind))
    return file


CHAIN = "{kind: chain, hops: 3, spacing_m: 200}"
GRID = "{kind: grid, rows: 3, columns: 3, spacing_m: 200}"


@pytest.mark.parametrize(
    ("topology", "exact", "kind", "said"),
    [
        (GRID, "{}", "exact", [HELLOS_ON_A_MESH]),
        (GRID, "{eta: 0.8}", "exact", [HELLOS_ON_A_MESH]),
        (GRID, "{mode: m2}", "exact", []),
        (GRID, "{mode: m1}", "exact", []),
        (GRID, "{}", "tcp", []),
        (CHAIN, "{}", "exact", []),
    ],
)
def test_the_default_mode_of_exact_warns_on_a_mesh_and_nowhere_else(tmp_path, topology, exact, kind, said):
    file = experiment_file(tmp_path, topology, exact, kind)
    assert cautions(load(file, [])[0].experiment) == said
    assert list(plan.make_plan(file).cautions) == said
    # On the command line of `live up` the mode is chosen, too.
    assert plan.make_plan(file, exact="m2").cautions == ()
