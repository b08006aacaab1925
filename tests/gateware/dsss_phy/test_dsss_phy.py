# SPDX-License-Identifier: GPL-2.0-or-later
"""dsss_phy: what mac_top gets of frames on the air, when the medium is busy, and what it sends."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from perhop.phy import constants as phy
from perhop.phy import plcp, transmitter
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from perhop.phy.receiver import Receiver
from perhop.phy.transmitter import transmitted
from testbench.build import cocotb_tests, simulate

SEED = 1
BASE_DBM = -120
THRESHOLD_DBM = -55
# Of a signal and its noise 6 dB above and below the threshold.
LEVEL = {"es_n0_db": 26, "level": 130}
INPUTS = ("rx_sample_valid", "rx_i", "rx_q", "tx_sample_take", "phy_tx_start", "phy_tx_rate", "phy_tx_bytes")
INPUTS += ("phy_tx_data", "phy_tx_valid", "phy_tx_last", "cfg_short_preamble")


class Bench:
    """Samples at uneven times; what the PHY tells the MAC, with the number of the sample at which it did."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.random = random.Random(SEED)
        self.at = 0
        self.clock = 0
        self.events: list[tuple[str, int, int]] = []
        self.octets = bytearray()
        for name in INPUTS:
            getattr(dut, name).value = 0
        dut.rst.value = 1
        dut.cfg_tx_gain.value = 256
        dut.cfg_ramp_log2_samples.value, dut.cfg_lead_samples.value, dut.cfg_hold_samples.value = 4, 0, 0
        dut.cfg_gain_range_steps.value, dut.cfg_gain_settle_looks.value = 0, 1
        dut.cfg_limit_threshold.value = dut.cfg_transmit_power_dbm.value = 0
        dut.cfg_rssi_base_dbm.value = BASE_DBM
        dut.cfg_energy_threshold_dbm.value = THRESHOLD_DBM
        dut.cfg_energy_detect.value = dut.cfg_carrier_sense.value = 1

    async def reset(self) -> None:
        cocotb.start_soon(Clock(self.dut.clk, 2, "step").start())
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        names = ("phy_rx_start", "stat_header_error", "stat_no_sfd", "stat_rx_unsupported")
        for name in names:
            cocotb.start_soon(self._strobe(name))
        cocotb.start_soon(self._ends())
        cocotb.start_soon(self._octets())
        cocotb.start_soon(self._carrier())

    async def clocks(self, number: int) -> None:
        for _ in range(number):
            await RisingEdge(self.dut.clk)
            self.clock += 1

    async def feed(self, samples: np.ndarray) -> None:
        dut = self.dut
        for i, q in samples.tolist():
            dut.rx_i.value, dut.rx_q.value, dut.rx_sample_valid.value = i, q, 1
            await self.clocks(1)
            dut.rx_sample_valid.value = 0
            await self.clocks(self.random.choice((1, 1, 2)))
            self.at += 1

    async def _strobe(self, name: str) -> None:
        while True:
            await RisingEdge(getattr(self.dut, name))
            self.events.append((name, self.at, self.clock))

    async def _ends(self) -> None:
        while True:
            await RisingEdge(self.dut.phy_rx_end)
            name = "phy_rx_error" if int(self.dut.phy_rx_error.value) else "phy_rx_end"
            self.events.append((name, self.at, self.clock))

    async def _octets(self) -> None:
        while True:
            await RisingEdge(self.dut.phy_rx_valid)
            self.octets.append(int(self.dut.phy_rx_data.value))
            self.last_octet_clock = self.clock

    async def _carrier(self) -> None:
        while True:
            await self.dut.phy_cca_busy.value_change
            self.events.append((("idle", "busy")[int(self.dut.phy_cca_busy.value)], self.at, self.clock))

    def names(self) -> list[str]:
        return [name for name, _, _ in self.events]

    def when(self, name: str) -> int:
        """Sample at which the only such event came."""
        (at,) = [at for event, at, _ in self.events if event == name]
        return at


def waves(quadrants: np.ndarray) -> np.ndarray:
    return transmitter.shaped(quadrants, 4) @ np.array([1, 1j])


@cocotb.test()
@cocotb.parametrize(short=[False, True])
async def a_frame_comes_as_the_mac_wants_it(dut, short: bool):
    """Busy within 15 us; free with the end, which comes less than a microsecond after the last chip."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    rate = RATE_2MBPS if short else RATE_1MBPS
    psdu = noise.bytes(14 if short else 4)
    before = 250
    quadrants = transmitter.chip_quadrants(Frame(psdu, rate, short))
    samples = received(waves(quadrants), 4, random=noise, carrier_hz=61e3, before=before, after=400, **LEVEL)
    await bench.feed(samples)
    assert bytes(bench.octets) == psdu
    assert bench.names() == ["busy", "phy_rx_start", "phy_rx_end", "idle"]
    begin, end = before + 6, before + 6 + 2 * len(quadrants)  # half of the pulse
    assert begin < bench.when("busy") < begin + 22 * 15
    assert 0 < bench.when("phy_rx_end") - end < 22
    clocks = {name: clock for name, _, clock in bench.events}
    assert clocks["idle"] - clocks["phy_rx_end"] in (0, 1, 2), clocks
    assert clocks["phy_rx_end"] - bench.last_octet_clock >= 1
    assert (int(dut.phy_rx_rate.value), int(dut.phy_rx_bytes.value)) == (rate, len(psdu))
    assert not int(dut.phy_rx_error.value)
    rssi_dbm = 20 * np.log10(22 * np.abs(samples[begin:end]).sum(axis=1).mean()) + BASE_DBM
    dut._log.info("delay %d samples, RSSI %d", bench.when("phy_rx_end") - end, dut.phy_rx_rssi_dbm.value.to_signed())
    assert dut.phy_rx_rssi_dbm.value.to_signed() == pytest.approx(rssi_dbm, abs=1.5)
    assert dut.rx_snr_db.value.to_signed() == pytest.approx(26, abs=3)
    carrier_khz = np.arctan(dut.rx_tangent_128.value.to_signed() / 128) / (2e-3 * np.pi)
    assert carrier_khz == pytest.approx(61, abs=3)
    model = Receiver()
    (reception,) = model.run(samples)
    assert dut.rx_snr_db.value.to_signed() == reception.snr_db
    assert carrier_khz == pytest.approx(reception.carrier_hz / 1e3)


@cocotb.test()
async def energy_alone_makes_the_medium_busy_and_weak_noise_does_not(dut):
    """22 samples a block: 20 blocks of noise below the threshold, 20 above, 20 below."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    # A mean of |I| + |Q| in 22 samples that is 6 dB off the threshold.
    mean = 10 ** ((THRESHOLD_DBM - BASE_DBM) / 20) / 22
    quiet = np.round(noise.standard_normal((22 * 20, 2)) * mean / 4 / np.sqrt(2 / np.pi)).astype(np.int64)
    for samples in (quiet, 4 * quiet, quiet):
        await bench.feed(samples)
    assert bench.names() == ["busy", "idle"]
    assert 440 < bench.when("busy") < 440 + 22 * 5
    assert 880 < bench.when("idle") < 880 + 22 * 3
    dut.cfg_energy_detect.value = 0
    await bench.feed(4 * quiet)
    assert len(bench.events) == 2


def on_air(header: list[int], body: list[tuple[int, ...]] = ()) -> np.ndarray:
    """Chips of a short preamble, a header and the symbols behind it."""
    bits = plcp.scrambled(Frame(bytes(2), RATE_2MBPS, True).preamble_bits() + header, phy.SCRAMBLER_SEED_SHORT)
    pairs = list(zip(bits[72::2], bits[73::2], strict=True))
    return transmitter.spread([(bit,) for bit in bits[:72]] + pairs + list(body))


@cocotb.test()
@cocotb.parametrize(signal=[phy.PLCP_SIGNAL_5_5MBPS, phy.PLCP_SIGNAL_11MBPS], barker=[False, True])
async def a_frame_at_another_rate_ends_with_an_error_after_its_length(dut, signal: int, barker: bool):
    """UnsupportedRate: the MAC uses EIFS from there on. Whether its symbols look like ours or like noise of 11 Mb/s."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    symbols = 120
    quadrants = on_air(plcp.header_of(signal, 0, symbols), [(noise.integers(2),) for _ in range(symbols)])
    if not barker:
        quadrants[-11 * symbols :] = noise.integers(4, size=11 * symbols)
    await bench.feed(received(waves(quadrants), 4, random=noise, **LEVEL, before=220, after=22 * 40))
    names = bench.names()
    assert names[:2] == ["busy", "stat_rx_unsupported"] and names[-2:] == ["phy_rx_error", "idle"], names
    assert "phy_rx_start" not in names and names.count("phy_rx_error") == 1 and names.count("busy") == 1
    end = 220 + 6 + 2 * len(quadrants)
    assert 0 < bench.when("phy_rx_error") - end < 22
    assert 0 < bench.when("idle") - end < 22
    clocks = {name: clock for name, _, clock in bench.events}
    assert clocks["idle"] - clocks["phy_rx_error"] in (0, 1), "EIFS begins with the idle medium"
    assert not bench.octets


@cocotb.test()
@cocotb.parametrize(energy_detect=[0, 1])
async def a_bad_header_ends_with_an_error_when_its_carrier_is_gone(dut, energy_detect: int):
    """FormatViolation. The signal is looked for again meanwhile, and the medium is busy without a gap."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    dut.cfg_energy_detect.value = energy_detect
    header = plcp.header_of(phy.PLCP_SIGNAL_2MBPS, 0, 40)[::-1]
    quadrants = on_air(header, [(noise.integers(2),) for _ in range(40)])
    await bench.feed(received(waves(quadrants), 4, random=noise, **LEVEL, before=220, after=22 * 60))
    names = bench.names()
    assert names[:2] == ["busy", "stat_header_error"] and sorted(names[-2:]) == ["idle", "phy_rx_error"], names
    assert names.count("busy") == 1 and names.count("phy_rx_error") == 1 and "phy_rx_start" not in names
    end = 220 + 6 + 2 * len(quadrants)
    assert 0 < bench.when("idle") - end <= 22 * 15
    clocks = {name: clock for name, _, clock in bench.events}
    assert clocks["idle"] - clocks["phy_rx_error"] in (0, 1)
    assert not bench.octets


@cocotb.test()
@cocotb.parametrize(symbols=[1, 12, 16])
async def a_carrier_that_is_lost_within_the_header_ends_with_one_error_as_the_medium_becomes_idle(dut, symbols: int):
    """After so many of its 24 symbols. What comes behind it is received."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    promised = on_air(plcp.header_of(phy.PLCP_SIGNAL_2MBPS, 0, 700))[: -11 * (24 - symbols)]
    psdu = noise.bytes(14)
    frame = transmitter.chip_quadrants(Frame(psdu, RATE_2MBPS, True))
    await bench.feed(received(waves(promised), 4, random=noise, **LEVEL, before=220, after=22 * 30))
    names = bench.names()
    assert names[:2] == ["busy", "stat_header_error"] and sorted(names[2:]) == ["idle", "phy_rx_error"], bench.events
    end = 220 + 6 + 2 * len(promised)
    assert 0 < bench.when("idle") - end <= 22 * 15
    clocks = {name: clock for name, _, clock in bench.events}
    assert clocks["idle"] - clocks["phy_rx_error"] in (0, 1)
    bench.events.clear()
    await bench.feed(received(waves(frame), 4, random=noise, **LEVEL, before=0, after=22 * 40))
    assert bench.names() == ["busy", "phy_rx_start", "phy_rx_end", "idle"] and bytes(bench.octets) == psdu, bench.events


@cocotb.test()
async def a_header_that_promises_nothing_ends_with_an_error_at_once(dut):
    """LENGTH 0: a FormatViolation without a PSDU."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    quadrants = on_air(plcp.header_of(phy.PLCP_SIGNAL_2MBPS, 0, 0))
    await bench.feed(received(waves(quadrants), 4, random=noise, **LEVEL, before=220, after=22 * 60))
    names = bench.names()
    assert names[:4] == ["busy", "stat_rx_unsupported", "phy_rx_error", "idle"], names
    assert names.count("phy_rx_error") == 1


@cocotb.test()
async def a_good_frame_behind_a_bad_header_is_all_that_the_mac_is_told(dut):
    """The carrier of the bad one goes over into the good one, which would cancel the EIFS of an error."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    psdu = noise.bytes(14)
    bad = on_air(plcp.header_of(phy.PLCP_SIGNAL_2MBPS, 0, 40)[::-1])
    good = transmitter.chip_quadrants(Frame(psdu, RATE_2MBPS, True))
    await bench.feed(received(waves(bad), 4, random=noise, **LEVEL, before=220, after=0))
    await bench.feed(received(waves(good), 4, random=noise, **LEVEL, before=0, after=22 * 40))
    names = [name for name in bench.names() if name.startswith("phy_")]
    assert names == ["phy_rx_start", "phy_rx_end"] and bytes(bench.octets) == psdu, bench.events
    assert bench.names().count("busy") == 1


@cocotb.test()
@cocotb.parametrize((("signal", "ours"), [(phy.PLCP_SIGNAL_2MBPS, True), (phy.PLCP_SIGNAL_11MBPS, False)]))
async def a_frame_within_the_length_of_one_that_never_came_is_received(dut, signal: int, ours: bool):
    """The carrier ends with the header. The medium stays busy for as long as LENGTH says, and then is free."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    length_us = 700
    promised = on_air(plcp.header_of(signal, 0, length_us))
    psdu = noise.bytes(14)
    frame = transmitter.chip_quadrants(Frame(psdu, RATE_2MBPS, True))
    await bench.feed(received(waves(promised), 4, random=noise, **LEVEL, before=220, after=22 * 200))
    await bench.feed(received(waves(frame), 4, random=noise, **LEVEL, before=0, after=22 * 400))
    assert bytes(bench.octets[-len(psdu) :]) == psdu
    names = [name for name in bench.names() if name.startswith("phy_") or name in ("busy", "idle")]
    lost = ["phy_rx_start", "phy_rx_error"] if ours else []
    # That nobody could read the first frame is told by the second one, which was read.
    assert names == ["busy", *lost, "phy_rx_start", "phy_rx_end", "idle"], bench.events
    end = 220 + 6 + 2 * len(promised) + 22 * length_us
    assert 0 < bench.when("idle") - end < 22


@cocotb.test()
async def a_frame_that_outlasts_the_length_of_a_lost_one_keeps_the_medium_busy(dut):
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    promised = on_air(plcp.header_of(phy.PLCP_SIGNAL_2MBPS, 0, 120))
    psdu = noise.bytes(14)
    frame = transmitter.chip_quadrants(Frame(psdu, RATE_2MBPS, True))
    await bench.feed(received(waves(promised), 4, random=noise, **LEVEL, before=220, after=22 * 60))
    begin = bench.at
    await bench.feed(received(waves(frame), 4, random=noise, **LEVEL, before=0, after=22 * 60))
    assert bytes(bench.octets[-len(psdu) :]) == psdu
    names = bench.names()
    assert names == ["busy", "phy_rx_start", "phy_rx_error", "phy_rx_start", "phy_rx_end", "idle"], bench.events
    assert 0 < bench.when("idle") - (begin + 6 + 2 * len(frame)) < 22


@cocotb.test()
@cocotb.parametrize(left_us=[0.5, 1.2, 2.5])
async def after_an_own_frame_the_end_of_anothers_is_no_carrier(dut, left_us: float):
    """Two stations sent at once, and the other's frame ended a little later. Without energy detection."""
    noise = np.random.default_rng(SEED)
    bench = Bench(dut)
    await bench.reset()
    dut.cfg_energy_detect.value = 0
    dut.cfg_short_preamble.value = 1
    wave = waves(transmitter.chip_quadrants(Frame(noise.bytes(3), RATE_2MBPS, True)))
    others = received(wave, 4, es_n0_db=35, random=noise, before=0, after=0, level=600)[: -round(22 * 3 / 11)]
    dut.phy_tx_start.value, dut.phy_tx_rate.value, dut.phy_tx_bytes.value = 1, RATE_2MBPS, 1
    dut.phy_tx_valid.value = dut.phy_tx_last.value = 1
    await bench.clocks(1)
    dut.phy_tx_start.value = 0
    clocks = 0
    while int(dut.tx_active.value) or clocks < 20:
        dut.tx_sample_take.value = clocks % 2
        await bench.clocks(1)
        clocks += 1
    assert clocks > 2 * 22 * 96 and not int(dut.stat_tx_underrun.value)
    await bench.feed(others[-round(22 * left_us) :])
    await bench.feed(np.round(noise.standard_normal((22 * 40, 2)) * 4).astype(np.int64))
    assert not bench.events, bench.events


@cocotb.test()
async def what_the_mac_sends_is_on_the_air_and_the_receiver_hears_none_of_it(dut):
    bench = Bench(dut)
    await bench.reset()
    psdu = bytes([0xB4, 0x00, 0x7F])
    for rate, short, clocks in ((4, False, 60), (RATE_2MBPS, True, 4900)):
        dut.cfg_short_preamble.value = short
        dut.phy_tx_start.value, dut.phy_tx_rate.value, dut.phy_tx_bytes.value = 1, rate, len(psdu)
        dut.phy_tx_valid.value = 1
        waiting, samples = list(psdu), []
        for sample in range(clocks):
            dut.phy_tx_data.value = waiting[0] if waiting else 0
            dut.phy_tx_valid.value, dut.phy_tx_last.value = bool(waiting), len(waiting) == 1
            dut.tx_sample_take.value = sample % 2
            # The air comes back into the receiver.
            dut.rx_sample_valid.value = sample % 2
            dut.rx_i.value, dut.rx_q.value = 8 * dut.tx_i.value.to_signed(), 8 * dut.tx_q.value.to_signed()
            if sample % 2:
                samples.append((dut.tx_i.value.to_signed(), dut.tx_q.value.to_signed()))
            ready = int(dut.phy_tx_ready.value)
            await bench.clocks(1)
            dut.phy_tx_start.value = 0
            if ready and waiting:
                waiting.pop(0)
        expected = transmitted(Frame(psdu, RATE_2MBPS, True), 2)
        assert not waiting
        if rate == RATE_2MBPS:
            found = [at for at in range(8) if np.array_equal(np.array(samples)[at : at + len(expected)], expected)]
            assert len(found) == 1
        else:
            assert not np.any(samples), "a rate that is none of ours is not sent"
    assert not bench.events and not int(dut.tx_active.value)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_dsss_phy(name):
    simulate("dsss_phy", __file__, name, cocotb_tests(globals()))
