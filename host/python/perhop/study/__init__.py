# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of an experiment made, kept and resumed, and their results as tables and summaries."""
