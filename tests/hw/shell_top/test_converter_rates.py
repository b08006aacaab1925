# SPDX-License-Identifier: GPL-2.0-or-later
"""shell_top with converters of 44, 25 and 20.48 million samples a second: 11 Mchip/s, and SIFS at the antenna.

converter  ...[RTS]        [CTS]        [DATA]        [MAC ACK]...       [packet of the host]
                   |- SIFS -|            -> host |- SIFS -|
"""

from dataclasses import dataclass

import cocotb
import numpy as np
import pytest
from cocotb.triggers import Timer
from cocotbext.perhop import mpdu
from cocotbext.perhop.mac_host import ADDRESS
from cocotbext.perhop.mpdu import control_frame, data_frame
from numpy.typing import NDArray
from perhop.phy.channel import resampled
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, SIGNALS, Frame
from perhop.phy.receiver import Receiver
from perhop.registers.spec_generated import PROFILES, FrameKind, TxResult, airtime_us
from testbench.build import cocotb_tests, simulate
from testbench.converter_air import find_begin_us, wave_of
from testbench.radio_station import LONGEST_WAIT_US, SIFS_US
from testbench.shell_station import FULL_SCALE, ShellStation

pytestmark = pytest.mark.long

PEER = 0x0200_0000_00AA
PROFILE = PROFILES["dsss_long"]
SIFS_TOLERANCE_US = 0.1
MODEM_MSPS = 22
LEVEL = 1000.0
ES_N0_DB = 24
EXCHANGES = 8
RATES = {
    "44": {"SAMPLES_PER_CHIP": 4, "CLOCKS_PER_US": 60},
    "25": {"RATE_IN": 25, "RATE_22": 22, "CLOCKS_PER_US": 60},
    "20.48": {"RATE_IN": 256, "RATE_22": 275, "CLOCKS_PER_US": 64},
}


@dataclass(frozen=True)
class Aired:
    """A frame on the air, and when: microseconds of the converter's samples."""

    frame: Frame
    begin_us: float
    error_db: float = -np.inf

    @property
    def end_us(self) -> float:
        return self.begin_us + self.frame.airtime_us()


class RatedStation(ShellStation):
    """A shell_top whose converter has the rate that its parameters say."""

    @classmethod
    async def at_its_rate(cls, dut, profile: str = "dsss_long") -> "RatedStation":
        rate_in, per_us = int(dut.RATE_IN.value), int(dut.CLOCKS_PER_US.value)
        msps = MODEM_MSPS * rate_in / int(dut.RATE_22.value) if rate_in else 11 * int(dut.SAMPLES_PER_CHIP.value)
        station = await cls.start(dut, profile, radio_ps=round(1e6 / msps), mac_ps=round(1e6 / per_us))
        assert station.samples_per_us == pytest.approx(msps, rel=1e-3)
        return station

    def air(self, psdu: bytes, rate: int, at_us: float, short: bool = False) -> Aired:
        """Puts a frame on the air that begins then, or 10 us after what waits there."""
        msps, frame = self.samples_per_us, Frame(psdu, rate, short)
        first = self.antenna.at + self.antenna.waiting
        begin = max(at_us - first / msps, 10.0)
        samples = int((begin + frame.airtime_us() + 2) * msps)
        wave = wave_of(frame, msps, begin, samples)
        wave *= LEVEL / np.sqrt(np.mean(np.abs(wave[int((begin + 5) * msps) : int((begin + 100) * msps)]) ** 2))
        sigma = LEVEL * np.sqrt(msps / 10 ** (ES_N0_DB / 10) / 2)
        wave += sigma * (self.random.standard_normal((samples, 2)) @ np.array([1, 1j]))
        put, _ = self.antenna.put(np.round(np.stack([wave.real, wave.imag], axis=1)).astype(np.int64))
        return Aired(frame, put / msps + begin)

    async def sent(self) -> Aired:
        """The next frame that the radio sends, when it is over: read by the receiver's model, found by its pulse."""
        for _ in range(LONGEST_WAIT_US):
            if self.antenna.sent:
                break
            await Timer(1, "us")
        assert self.antenna.sent, "the radio sent nothing"
        msps, (first, samples) = self.samples_per_us, self.antenna.sent.pop(0)
        reception = self._read(samples)
        frame = Frame(reception.psdu, SIGNALS.index(reception.signal), reception.short_preamble)
        padded = np.vstack([np.zeros((100, 2), dtype=np.int64), samples // FULL_SCALE])
        begin, error_db = find_begin_us(frame, padded, msps)
        return Aired(frame, (first - 100) / msps + begin, error_db)

    def _read(self, samples: NDArray[np.int64]):
        wave = np.concatenate([np.zeros(400), samples @ np.array([1, 1j]), np.zeros(400)])
        wave = wave + 100 * (self.random.standard_normal((len(wave), 2)) @ np.array([1, 1j]))
        step = self.samples_per_us / MODEM_MSPS
        wave = resampled(wave, step, 0, int(len(wave) / step))
        (reception,) = Receiver().run(np.round(np.stack([wave.real, wave.imag], axis=1) / 4).astype(np.int64))
        return reception


@cocotb.test()
async def sifs_holds_and_frames_are_of_802_11(dut):
    """RTS, CTS, DATA, MAC ACK; then a packet of the host. No sample is lost, none late."""
    station = await RatedStation.at_its_rate(dut)
    msdu, mac_ack_us = station.random.bytes(31), airtime_us(PROFILE, RATE_1MBPS, 14)
    data = data_frame(SIFS_US + mac_ack_us, (ADDRESS["a"], PEER, ADDRESS["a"]), 7, msdu)
    rts_duration_us = 3 * SIFS_US + 2 * mac_ack_us + airtime_us(PROFILE, RATE_2MBPS, len(data))
    rts = station.air(control_frame(FrameKind.RTS, rts_duration_us, ADDRESS["a"], PEER), RATE_1MBPS, 0)
    cts = await station.sent()
    assert cts.frame.psdu == control_frame(FrameKind.CTS, rts_duration_us - SIFS_US - mac_ack_us, PEER)
    heard = station.air(data, RATE_2MBPS, cts.end_us + SIFS_US)
    mac_ack = await station.sent()
    assert mac_ack.frame.psdu == control_frame(FrameKind.MAC_ACK, 0, PEER)
    for response, to in ((cts, rts), (mac_ack, heard)):
        gap_us = response.begin_us - to.end_us
        dut._log.info("SIFS %.3f us, pulse %.1f dB", gap_us, response.error_db)
        assert gap_us == pytest.approx(SIFS_US, abs=SIFS_TOLERANCE_US)
        # Straight lines between samples: see tests/gateware/dsss_phy/test_converter_rates.py.
        assert response.error_db < -25
    assert (await station.streams.next()).msdu == msdu

    msdu = station.random.bytes(20)
    await station.give(msdu, 0xFFFF_FFFF_FFFF, RATE_2MBPS, tag=5)
    group = await station.sent()
    assert mpdu.read(group.frame.psdu, len(group.frame.psdu)).msdu == msdu
    record = (await station.streams.next()).record
    assert record is not None
    assert (record["tag"], record["result"]) == (5, TxResult.GROUP_SENT)
    counters = await station.shell(lambda shell: shell.read_counters())
    assert counters["stat_rx_samples_lost"] == counters["stat_tx_samples_late"] == 0
    assert counters["stat_samples"] == pytest.approx(station.antenna.at, abs=300)


@cocotb.test()
async def sifs_holds_wherever_between_two_samples_a_frame_ends(dut):
    """Short frames that begin at any time: no response is off by more than the tolerance, nor are all by half of it."""
    station = await RatedStation.at_its_rate(dut, "dsss_short")
    short = PROFILES["dsss_short"]
    duration_us = SIFS_US + airtime_us(short, RATE_2MBPS, 14)
    gaps_us = []
    for sequence in range(EXCHANGES):
        data = data_frame(duration_us, (ADDRESS["a"], PEER, ADDRESS["a"]), sequence, station.random.bytes(1 + sequence))
        now_us = (station.antenna.at + station.antenna.waiting) / station.samples_per_us
        heard = station.air(data, RATE_2MBPS, now_us + 20 + station.random.uniform(), short=True)
        mac_ack = await station.sent()
        assert mac_ack.frame.psdu == control_frame(FrameKind.MAC_ACK, 0, PEER)
        gaps_us.append(mac_ack.begin_us - heard.end_us)
    dut._log.info("SIFS %s us, mean %.3f", np.round(gaps_us, 3), np.mean(gaps_us))
    assert all(abs(gap_us - SIFS_US) <= SIFS_TOLERANCE_US for gap_us in gaps_us)
    assert np.mean(gaps_us) == pytest.approx(SIFS_US, abs=SIFS_TOLERANCE_US / 2)


@pytest.mark.parametrize("msps", RATES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_converter_rates(name, msps):
    simulate("shell_top", __file__, name, parameters=RATES[msps])
