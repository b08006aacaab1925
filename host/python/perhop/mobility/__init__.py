# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes in motion: traces, where they come from, and what they do to the network."""
