# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon of a node from a file that a person writes (`perhop node`); the daemon itself is host/node."""
