# SPDX-License-Identifier: GPL-2.0-or-later
"""Two sides beside each other, paired by seed: what differs between them, and by how much what they got differs."""
