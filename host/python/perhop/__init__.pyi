# SPDX-License-Identifier: GPL-2.0-or-later
# For editors and type checkers: `__init__.py` loads these when they are first used.
from perhop.api.names import *  # noqa: F403

__version__: str
