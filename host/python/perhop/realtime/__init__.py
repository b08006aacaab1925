# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of an experiment in real time: in namespaces over the emulated medium (live), on hosts over SSH (radio).

Both have the same flows, the same common time and the same results; only where a node's commands run differs.
"""
