# SPDX-License-Identifier: GPL-2.0-or-later
"""Verification of designs that contain perhop's MAC, with cocotb.

spec              what gateware/spec generates: registers, profiles, frames, records
air               the medium, in frames and clocks; what was on it
phy               the PHY's side of a mac_top in a simulation
peer              another station on the air, in Python: it answers as the standard says
mac_host          the host of a mac_top: registers over AXI4-Lite, packets and records over AXI4-Stream
registers_driver  the host of its registers alone
mpdu              frames of IEEE 802.11 as bytes
exchange          what goes into a MAC and comes out of it, as data with times in microseconds
settings          what a MAC is told before it works
dcf_model         a reference model of a station under DCF, csma and fama, written from the standard
scenario          timelines as data
random_air, steered_air   surroundings of one station at random, and such that aim
mac_core_driver   the surroundings of a mac_core in a simulation
coverage, exchange_bins   which outcomes and which steps of the frame exchange were met
"""

__version__ = "0.1.0"
