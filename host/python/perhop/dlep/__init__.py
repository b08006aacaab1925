# SPDX-License-Identifier: GPL-2.0-or-later
"""A DLEP modem (RFC 8175): tells a router each neighbour's latency and rate, as the MAC measured them."""
