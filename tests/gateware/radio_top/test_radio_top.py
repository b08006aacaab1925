# SPDX-License-Identifier: GPL-2.0-or-later
"""radio_top against the model of the modem: frames on the air, sample by sample."""

from dataclasses import dataclass

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, SIGNALS, Frame
from perhop.phy.receiver import Receiver
from perhop.phy.transmitter import transmitted
from perhop.spec_generated import PROFILES, FrameKind, TxResult, airtime_us
from testbench import mpdu
from testbench.antenna import Antenna
from testbench.build import cocotb_tests, simulate
from testbench.mac_host import ADDRESS, MacHost
from testbench.mpdu import control_frame, data_frame

SEED = 1
PEER = 0x0200_0000_00AA
# From phy_tx_start to the begin of the frame on the air, and from its end to phy_rx_end; measured here.
DELAYS_CLOCKS = (14, 29)
SIFS_US = 10
SAMPLES_PER_US = 22
HALF_CHIP = 1.0
# From a frame's first sample to the middle of its first chip's pulse, which has 12 or 24 taps.
HALF_PULSE_2, HALF_PULSE_4 = 11 / 2, 23 / 4


class Station:
    """A radio_top with its host and its antenna."""

    def __init__(self, dut) -> None:
        dut._log.info("seed %d", SEED)
        self.dut = dut
        self.random = np.random.default_rng(SEED)
        self.mac = MacHost(dut)
        self.mac.name = "a"
        self.antenna = Antenna(dut, self.random)

    @classmethod
    async def start(cls, dut, profile: str = "dsss_long", **more) -> "Station":
        Clock(dut.clk, 10, "ns").start()
        dut.rst.value = 1
        for name in ("four_address", "a3", "a4", "series_attempts", "series_rate"):
            getattr(dut, f"s_desc_{name}").value = 0
        station = cls(dut)
        await ClockCycles(dut.clk, 4)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        cocotb.start_soon(station.antenna.run())
        await station.mac.set_up(profile, 1, DELAYS_CLOCKS, **more)
        return station

    def hear(self, psdu: bytes, rate: int, short: bool = False, **channel) -> "OnAir":
        """Puts a frame on the air, behind what waits there."""
        frame = Frame(psdu, rate, short)
        wave = transmitted(frame, 4) @ np.array([1, 1j])
        settings = {"es_n0_db": 24, "before": 220, "after": 20, "level": 1000} | channel
        first, _ = self.antenna.put(received(wave, 4, random=self.random, **settings))
        return OnAir(psdu, rate, first + settings["before"] + HALF_PULSE_4 - HALF_CHIP, frame.airtime_us())

    def answer(self, heard: "OnAir", psdu: bytes, rate: int, **channel) -> "OnAir":
        """Puts a frame on the air SIFS after another, to the sample."""
        begin = heard.end + SIFS_US * SAMPLES_PER_US + HALF_CHIP - HALF_PULSE_4
        before = round(begin - self.antenna.at - self.antenna.waiting)
        assert before > 0, "too late to answer"
        return self.hear(psdu, rate, before=before, **channel)

    async def next_sent(self) -> "OnAir":
        """The next frame that the radio sends, when it is over. Every sample of it is the model's."""
        while not self.antenna.sent:
            await ClockCycles(self.dut.clk, 44)
        first, samples = self.antenna.sent.pop(0)
        noise = np.round(self.random.standard_normal((400, 2)) * 20).astype(np.int64)
        (reception,) = Receiver().run(np.vstack([noise, samples * 8, noise]))
        rate = SIGNALS.index(reception.signal)
        frame = Frame(reception.psdu, rate, reception.short_preamble)
        expected = transmitted(frame, 2)
        (at,) = [at for at in range(len(samples)) if np.array_equal(samples[at : at + len(expected)], expected)]
        return OnAir(reception.psdu, rate, first + at + HALF_PULSE_2 - HALF_CHIP, frame.airtime_us())


@dataclass(frozen=True)
class OnAir:
    """A frame on the air. It begins half a chip before the middle of its first chip's pulse, and ends half a chip after
    that of its last one; times in samples."""

    psdu: bytes
    rate: int
    begin: float
    airtime_us: int

    @property
    def end(self) -> float:
        return self.begin + SAMPLES_PER_US * self.airtime_us


def sifs_after(heard: OnAir, response: OnAir) -> float:
    """Microseconds from the one's end to the other's begin."""
    return (response.begin - heard.end) / SAMPLES_PER_US


@cocotb.test()
@cocotb.parametrize(rate=[RATE_1MBPS, RATE_2MBPS])
async def what_comes_behind_an_rts_is_answered_and_reaches_the_host(dut, rate: int):
    """RTS, CTS, DATA, MAC ACK: the model sends, the radio answers, SIFS after each frame's last chip."""
    station = await Station.start(dut)
    profile = PROFILES["dsss_long"]
    msdu = station.random.bytes(40)
    ack_us = airtime_us(profile, profile.rates[rate].control_rate_index, 14)
    data = data_frame(SIFS_US + ack_us, (ADDRESS["a"], PEER, ADDRESS["a"]), 7, msdu)
    data_us = airtime_us(profile, rate, len(data))
    cts_us = airtime_us(profile, profile.rates[rate].control_rate_index, 14)
    rts_duration_us = 3 * SIFS_US + cts_us + data_us + ack_us
    rts = station.hear(control_frame(FrameKind.RTS, rts_duration_us, ADDRESS["a"], PEER), rate)
    cts = await station.next_sent()
    assert cts.psdu == control_frame(FrameKind.CTS, rts_duration_us - SIFS_US - cts_us, PEER)
    heard = station.answer(cts, data, rate)
    ack = await station.next_sent()
    assert ack.psdu == control_frame(FrameKind.MAC_ACK, 0, PEER)
    assert await station.mac.reception() == msdu
    for response, to in ((cts, rts), (ack, heard)):
        assert response.rate == profile.rates[rate].control_rate_index
        dut._log.info("SIFS %.3f us", sifs_after(to, response))
        assert sifs_after(to, response) == pytest.approx(SIFS_US, abs=0.1)


@cocotb.test()
async def a_packet_of_the_host_crosses_behind_an_rts(dut):
    """RTS, CTS, DATA, MAC ACK: the radio sends, the model answers; the completion record has the times of the air."""
    station = await Station.start(dut)
    profile = PROFILES["dsss_long"]
    msdu = station.random.bytes(25)
    await station.mac.give(msdu, PEER, RATE_2MBPS, tag=5, force_rts=True)
    rts = await station.next_sent()
    read_rts = mpdu.read(rts.psdu, len(rts.psdu))
    assert (read_rts.kind, read_rts.ra, read_rts.ta) == (FrameKind.RTS, PEER, ADDRESS["a"])
    cts_us = airtime_us(profile, RATE_1MBPS, 14)
    answer = control_frame(FrameKind.CTS, read_rts.duration_us - SIFS_US - cts_us, ADDRESS["a"])
    cts = station.answer(rts, answer, RATE_1MBPS)
    data = await station.next_sent()
    assert sifs_after(cts, data) == pytest.approx(SIFS_US, abs=0.1)
    read_data = mpdu.read(data.psdu, len(data.psdu))
    assert (read_data.kind, read_data.msdu, data.rate) == (FrameKind.DATA, msdu, RATE_2MBPS)
    station.answer(data, control_frame(FrameKind.MAC_ACK, 0, ADDRESS["a"]), RATE_1MBPS)
    record = await station.mac.completion()
    assert (record["tag"], record["result"], record["data_attempts"]) == (5, TxResult.DELIVERED, 1)
    assert record["data_us"] == data.airtime_us
    assert record["control_us"] == rts.airtime_us


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_radio_top(name):
    simulate("radio_top", __file__, name, cocotb_tests(globals()))
