# SPDX-License-Identifier: GPL-2.0-or-later
"""What nodes measure, for people and programs: `perhop probe`, `perhop top`, OpenMetrics, DLEP."""
