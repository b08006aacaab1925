# SPDX-License-Identifier: GPL-2.0-or-later
"""What bench-phy asks of the modem, a question a file: measurement, bound, and part of docs/phy."""
