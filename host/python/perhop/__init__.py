# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop: experiments with a MAC that measures what every packet costs on every hop.

    import perhop

    experiment = perhop.Experiment(
        name="mine", topology=perhop.Chain(hops=4), flows=[perhop.TcpFlow()], policies=["none", "delay"], duration_s=30
    )
    results = perhop.run(experiment, seeds=5)
    results.flows            # a table: pandas, polars or Arrow

docs/how-to/python_api.md shows more; perhop.api.names lists all that is here. It is loaded when it is first used.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_NAMES = "perhop.api.names"


def __getattr__(name: str) -> Any:
    # Classes begin with a capital; any other name may be of a module of the package that is being imported.
    if name == "run" or name[:1].isupper():
        names = importlib.import_module(_NAMES)
        if name in names.__all__:
            return getattr(names, name)
    raise AttributeError(f"module 'perhop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *importlib.import_module(_NAMES).__all__})
