# SPDX-License-Identifier: GPL-2.0-or-later
"""The most goodput that a network can carry, whatever its policy, from what frames take on the air."""
