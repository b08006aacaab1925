# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies of one's own: how an experiment names one, what a run has of its file, and how C++ becomes one."""
