# SPDX-License-Identifier: GPL-2.0-or-later
"""`python hw/virtual_usrp IMAGE_CORE [--address 127.0.0.2]`: a device that UHD finds, until it is told to end."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from virtual_usrp.server import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
