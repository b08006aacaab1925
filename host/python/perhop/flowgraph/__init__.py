# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of software radios: what a link's file says, and the flowgraph of a node that it starts."""
