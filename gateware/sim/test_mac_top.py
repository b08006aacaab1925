# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_top on the air with a peer, as `fusesoc run --target sim perhop:mac:mac_top` simulates it.

It shows that the MAC works with the user's simulator; what proves it is below tests/gateware.
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.perhop.air import Air
from cocotbext.perhop.mac_host import MacHost
from cocotbext.perhop.mpdu import data_frame
from cocotbext.perhop.peer import Peer
from cocotbext.perhop.phy import PhyAgent
from cocotbext.perhop.spec import FrameKind, TxResult

CLOCKS_PER_US, CLOCK_NS = 64, 16
TX_DELAY_CLOCKS, RX_DELAY_CLOCKS = DELAYS_CLOCKS = 90, 310
MAC, PEER, NET = 0x0200_0000_0001, 0x0200_0000_0002, 0x0211_2233_4455


@cocotb.test()
async def packets_go_both_ways_and_responses_come_after_sifs(dut):
    dut.rst.value = 1
    Clock(dut.clk, CLOCK_NS, "ns").start()
    air = Air(dut.clk, CLOCK_NS, "ns", CLOCKS_PER_US, "ofdm_20mhz")
    PhyAgent(dut, air, "mac", tx_delay_clocks=TX_DELAY_CLOCKS, rx_delay_clocks=RX_DELAY_CLOCKS)
    peer = Peer(air, "peer", PEER)
    host = MacHost(dut, address=MAC)
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await host.set_up("ofdm_20mhz", 1, DELAYS_CLOCKS)

    await host.give(b"to the peer", PEER, rate=3, tag=1, force_rts=True)
    assert (await host.completion())["result"] == TxResult.DELIVERED
    assert [received.msdu for received in peer.received] == [b"to the peer"]

    sent = peer.send(data_frame(60, (MAC, PEER, NET), 1, b"to the MAC"), 3, air.now + 1000)
    assert await host.reception() == b"to the MAC"
    await air.until(sent.end + air.clocks(200))
    kinds = [frame.reading.kind for frame in air.log]
    exchange = [FrameKind.DATA, FrameKind.MAC_ACK]
    assert kinds == [FrameKind.RTS, FrameKind.CTS, *exchange, *exchange]
    sifs = air.clocks(air.timing.sifs_us)
    for before, after in ((0, 1), (1, 2), (2, 3), (4, 5)):
        assert air.log[after].begin - air.log[before].end == sifs, f"{kinds[after].name} is not SIFS behind"
