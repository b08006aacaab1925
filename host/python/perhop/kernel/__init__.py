# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend `kernel` of `perhop run`: Linux kernels in virtual time over the emulated medium (sim/kernel)."""
