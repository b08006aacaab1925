# SPDX-License-Identifier: GPL-2.0-or-later
"""Reusable parts of the gateware tests: build, drivers, scenarios, reference model, coverage."""
