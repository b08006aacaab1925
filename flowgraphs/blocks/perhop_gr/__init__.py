# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU Radio blocks of perhop: DSSS modem, medium, MAC, recorders. flowgraphs/README.md tells how they are wired.

Frames travel as PDUs: a dictionary and octets. A *psdu* has its FCS, an *mpdu* has not.
"""

from perhop_gr.burst_modulator import burst_modulator
from perhop_gr.burst_stream import burst_stream
from perhop_gr.dsss_demodulator import dsss_demodulator
from perhop_gr.dsss_modulator import dsss_modulator
from perhop_gr.frame_check import frame_check
from perhop_gr.frame_recorder import frame_recorder
from perhop_gr.frame_source import frame_source
from perhop_gr.mac import mac
from perhop_gr.medium import medium
from perhop_gr.ofdm_phy import ofdm_phy
from perhop_gr.packet_source import packet_source
from perhop_gr.path_delay_probe import path_delay_probe
from perhop_gr.sigmf_recorder import sigmf_recorder
from perhop_gr.stop_when import stop_when
from perhop_gr.usrp import usrp

__all__ = [
    "burst_modulator",
    "burst_stream",
    "dsss_demodulator",
    "dsss_modulator",
    "frame_check",
    "frame_recorder",
    "frame_source",
    "mac",
    "medium",
    "ofdm_phy",
    "packet_source",
    "path_delay_probe",
    "sigmf_recorder",
    "stop_when",
    "usrp",
]
