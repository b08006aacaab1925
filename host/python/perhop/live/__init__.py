# SPDX-License-Identifier: GPL-2.0-or-later
"""An experiment in real time: the Linux kernel's TCP in network namespaces, over the Verilated MACs (`perhop live`)."""
