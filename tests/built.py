# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test needs that `make build` makes."""

import pytest
from perhop import paths
from perhop.errors import PerhopError


def missing(name: str) -> str:
    """Why the program cannot be used, and the remedy; empty where it can."""
    try:
        paths.program(name)
    except PerhopError as error:
        return " ".join(str(error).split())
    return ""


def needs(name: str) -> pytest.MarkDecorator:
    """Skip, and say so, where the program is not built."""
    reason = missing(name)
    return pytest.mark.skipif(bool(reason), reason=reason)
