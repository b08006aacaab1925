# SPDX-License-Identifier: GPL-2.0-or-later
"""The DSSS modem of the gateware, number by number, in NumPy: transmitter, channel, receiver."""
