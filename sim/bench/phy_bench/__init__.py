# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make bench-phy` measures of the DSSS modem's model, one kind of measurement a file."""
