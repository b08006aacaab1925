# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment file says: read, checked with file, line and remedy, and made into runs. Starts nothing."""
