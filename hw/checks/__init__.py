# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of `make hw-check` (hw/check.py) that read a tree, and the faults that are planted in copies of it."""
