# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of an experiment folder: compares the results with what the experiment claims.

An experiment folder holds experiment.yaml and may hold check.py with
  check(results: perhop.study.results.Results, folder: pathlib.Path) -> perhop.study.check.Check
which may draw into `folder`. A folder of arithmetic alone has no experiment.yaml, and its check gets None for the
results (`perhop reproduce` calls it).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from perhop import paths
from perhop.errors import PerhopError
from perhop.study.results import Results


@dataclass(frozen=True)
class RowVerdict:
    """What was measured for one row of sim/experiments/rows.yaml.

    A `finding` contradicts the paper: `evidence` says what was tried and what other simulators give. `interval` is the
    confidence interval of `measured` in words, empty for what has none.
    """

    verdict: Literal["pass", "fail", "finding"]
    measured: str
    interval: str = ""
    evidence: str = ""


@dataclass(frozen=True)
class Check:
    """What an experiment's check found.

    `lines` are for a person, `numbers` for a program, `figures` are files for the report (SVG or PNG), `rows` the
    verdicts on rows of sim/experiments/rows.yaml by their id. `joint` has, for rows that a second folder judges, too,
    what only both together can tell: called with the other folder's Check.
    """

    passed: bool
    lines: list[str]
    numbers: dict[str, Any] = field(default_factory=dict)
    figures: list[Path] = field(default_factory=list)
    rows: dict[str, RowVerdict] = field(default_factory=dict)
    joint: dict[str, Callable[[Check], RowVerdict]] = field(default_factory=dict)


Judge = Callable[[Results | None, Path], Check]


def load_check(file: Path) -> Judge:
    """The function `check` of an experiment's check.py, which may import its neighbours.

    Raises PerhopError when something that it needs has not been built: what it imports, and the programs that it names
    in `PROGRAMS`.
    """
    spec = importlib.util.spec_from_file_location(f"perhop_check_{file.parent.name}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise _not_there(file, error) from error
    finally:
        sys.path.remove(str(file.parent))
        # Another folder's check may have a neighbour of the same name.
        for name, neighbour in list(sys.modules.items()):
            if (place := getattr(neighbour, "__file__", None)) and Path(place).parent == file.parent:
                del sys.modules[name]
    if not hasattr(module, "check"):
        raise PerhopError(f"{paths.shown(file)} has no function check", "define check(results, folder) in it")
    for name in getattr(module, "PROGRAMS", ()):
        paths.program(name)
    return module.check


def _not_there(file: Path, error: ImportError) -> PerhopError:
    needs = f"{paths.shown(file)} needs "
    for name, target in paths.BINDINGS.items():
        # `from perhop import core` says that perhop has no core; anything else names the module.
        if error.name == f"perhop.{name}" or (error.name == "perhop" and f"'{name}'" in str(error)):
            return PerhopError(
                f"{needs}perhop.{name}, which is not built or cannot be loaded: {error}", paths.again(target)
            )
    return PerhopError(f"{needs}what is not there: {error}", "install it, or mend the import; see `perhop doctor`")
