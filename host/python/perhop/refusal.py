# SPDX-License-Identifier: GPL-2.0-or-later
"""Our own rules in pydantic's models."""

from pydantic_core import PydanticCustomError


def refused(problem: str, remedy: str) -> PydanticCustomError:
    """A rule of ours about one value, for pydantic to locate; `experiment.load` reads the remedy from the context."""
    return PydanticCustomError("refused", "{problem}", {"problem": problem, "remedy": remedy})
