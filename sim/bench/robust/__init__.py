# SPDX-License-Identifier: GPL-2.0-or-later
"""The project's own policy away from home: conditions, rivals, judgement and page of `make bench-robust`."""
