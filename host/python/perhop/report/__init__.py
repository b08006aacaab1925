# SPDX-License-Identifier: GPL-2.0-or-later
"""What people and programs read of a study: the terminal's table, report.html with its figures, the RESULT line."""
