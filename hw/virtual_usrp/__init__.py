# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that UHD finds and opens as a USRP: MPM and RFNoC's core, without an FPGA."""
