# SPDX-License-Identifier: GPL-2.0-or-later
"""dsss_receiver: symbol by symbol what the model makes of the same samples; another implementation's waveforms."""

import random
import zlib
from dataclasses import dataclass, field

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
from testbench import dsss_vectors
from testbench.build import cocotb_tests, simulate

KINDS = {"1 Mb/s": (RATE_1MBPS, False), "2 Mb/s": (RATE_2MBPS, False), "2 Mb/s, short": (RATE_2MBPS, True)}
SEED = 1
SILENCE = np.zeros((60, 2), dtype=np.int64)


@dataclass
class Heard:
    """A frame that the receiver told of."""

    signal: int
    service: int
    length_us: int
    short_preamble: int
    octets: bytearray = field(default_factory=bytearray)
    ended: bool = False
    lost: bool = False


class Bench:
    """Gives samples at uneven times and notes what comes out."""

    def __init__(self, dut, gaps: tuple[int, ...]) -> None:
        self.dut = dut
        self.gaps = gaps
        self.random = random.Random(SEED)
        self.symbols: list[tuple[int, int, int, int]] = []
        self.heard: list[Heard] = []
        self.header_errors = self.given_up = 0
        dut.rst.value = 1
        dut.gain_settling.value = dut.gain_rose.value = 0
        dut.sample_valid.value = 0

    async def reset(self) -> None:
        cocotb.start_soon(Clock(self.dut.clk, 2, "step").start())
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        for watch in (self._symbols, self._starts, self._octets, self._ends, self._header_errors, self._given_up):
            cocotb.start_soon(watch())

    async def feed(self, samples: np.ndarray) -> None:
        dut = self.dut
        for i, q in samples.tolist():
            dut.in_i.value, dut.in_q.value = i, q
            dut.sample_valid.value = 1
            await RisingEdge(dut.clk)
            dut.sample_valid.value = 0
            for _ in range(self.random.choice(self.gaps) - 1):
                await RisingEdge(dut.clk)

    async def _symbols(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.symbol_done)
            parts = (dut.turn_i, dut.turn_q, dut.rotation_i, dut.rotation_q)
            self.symbols.append(tuple(part.value.to_signed() for part in parts))

    async def _starts(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.frame_start)
            parts = (dut.signal, dut.service, dut.length_us, dut.short_preamble)
            self.heard.append(Heard(*(int(part.value) for part in parts)))

    async def _octets(self) -> None:
        while True:
            await RisingEdge(self.dut.octet_valid)
            assert self.heard and not self.heard[-1].ended, "an octet outside of a frame"
            self.heard[-1].octets.append(int(self.dut.octet.value))

    async def _ends(self) -> None:
        while True:
            await RisingEdge(self.dut.frame_end)
            assert not self.heard[-1].ended and not int(self.dut.octet_valid.value)
            self.heard[-1].ended, self.heard[-1].lost = True, bool(self.dut.frame_lost.value)

    async def _header_errors(self) -> None:
        while True:
            await RisingEdge(self.dut.evt_header_error)
            self.header_errors += 1

    async def _given_up(self) -> None:
        while True:
            await RisingEdge(self.dut.evt_given_up)
            self.given_up += 1


async def as_the_model(dut, samples: np.ndarray, gaps: tuple[int, ...] = (2, 2, 3)) -> tuple[Bench, Receiver]:
    """Both get the same samples and must make the same of them, symbol by symbol."""
    model = Receiver(keep_trace=True)
    model.run(samples)
    bench = Bench(dut, gaps)
    await bench.reset()
    await bench.feed(samples)
    # The first symbol has nothing before it.
    traced = [(*symbol.product, *symbol.rotation) if symbol.bits else None for symbol in model.trace]
    assert len(bench.symbols) >= len(traced) >= len(bench.symbols) - 2, (len(bench.symbols), len(traced))
    for number, (symbol, expected) in enumerate(zip(bench.symbols, traced, strict=False)):
        assert expected is None or symbol == expected, f"symbol {number} at {model.trace[number].at}"
    assert len(bench.heard) == len(model.receptions)
    for ours, theirs in zip(bench.heard, model.receptions, strict=True):
        assert (ours.signal, ours.service, ours.length_us) == (theirs.signal, theirs.service, theirs.length_us)
        assert ours.short_preamble == theirs.short_preamble
        assert ours.ended == (theirs.ended_at is not None) and ours.lost == theirs.carrier_lost
        if theirs.psdu:
            assert bytes(ours.octets) == theirs.psdu
    assert bench.header_errors == model.header_errors
    assert bench.given_up == model.sfd_timeouts + model.carriers_lost
    return bench, model


def waves(frame: Frame) -> np.ndarray:
    return transmitter.transmitted(frame, 4) @ np.array([1, 1j])


@cocotb.test()
async def frames_of_every_kind_and_level_with_noise_and_offsets(dut):
    """The gain and the search begin anew for each; clocks 200 ppm apart make symbols slip either way."""
    noise = np.random.default_rng(SEED)
    parts, psdus = [], []
    for number, level in enumerate((9000, 40, 2000)):
        rate, short = list(KINDS.values())[(number + 2) % 3]
        psdus.append(noise.bytes(12 if short else 4))
        sign = (-1) ** number
        parts.append(
            received(
                waves(Frame(psdus[-1], rate, short)),
                4,
                es_n0_db=19,
                random=noise,
                carrier_hz=110e3 * sign,
                clock_ppm=-200 * sign,
                delay_samples=0.3 * number,
                before=230 + 7 * number,
                after=0,
                level=level,
            )
        )
    bench, model = await as_the_model(dut, np.vstack([*parts, SILENCE]))
    assert [bytes(heard.octets) for heard in bench.heard] == psdus
    slips = {symbol.slip for symbol in model.trace}
    assert slips == {-1, 0, 1}


@cocotb.test()
async def wrong_headers_missing_ends_and_rates_that_are_not_ours(dut):
    """A header with a wrong bit; a carrier that stops in the preamble; 11 Mb/s, which is waited for."""
    noise = np.random.default_rng(SEED)

    def on_air(quadrants: np.ndarray) -> np.ndarray:
        wave = transmitter.shaped(quadrants, 4) @ np.array([1, 1j])
        return received(wave, 4, es_n0_db=20, random=noise, before=250, after=300)

    short = transmitter.chip_quadrants(Frame(bytes(2), RATE_2MBPS, True))
    wrong = short.copy()
    wrong[11 * 80 :] = (wrong[11 * 80 :] + 2) % 4
    eleven = Frame(bytes(2), RATE_2MBPS, True).preamble_bits() + plcp.header_of(phy.PLCP_SIGNAL_11MBPS, 0x84, 30)
    bits = plcp.scrambled(eleven, phy.SCRAMBLER_SEED_SHORT)
    singles, pairs = [(bit,) for bit in bits[:72]], list(zip(bits[72::2], bits[73::2], strict=True))
    foreign = transmitter.spread(singles + pairs + [(0,)] * 30)
    waves_on_air = [on_air(quadrants) for quadrants in (wrong, short[: 11 * 40], foreign)]
    bench, _ = await as_the_model(dut, np.vstack([*waves_on_air, SILENCE]), gaps=(2, 5, 30))
    assert bench.header_errors == 1 and bench.given_up >= 1
    (heard,) = bench.heard
    assert (heard.signal, heard.service, heard.length_us) == (phy.PLCP_SIGNAL_11MBPS, 0x84, 30) and heard.ended


@cocotb.test()
async def a_carrier_that_stops_in_the_frame_is_lost_and_the_length_waited_for(dut):
    noise = np.random.default_rng(SEED)
    wave = waves(Frame(bytes(40), RATE_2MBPS, True))[: 44 * 130]
    samples = received(wave, 4, es_n0_db=20, random=noise, after=22 * 180)
    bench, _ = await as_the_model(dut, samples, gaps=(2,))
    assert bench.heard[0].lost and bench.heard[0].ended


async def decodes(dut, wave: dsss_vectors.Waveform, samples: np.ndarray) -> None:
    bench, _ = await as_the_model(dut, np.vstack([samples, SILENCE]))
    (heard,) = bench.heard
    assert bytes(heard.octets) == wave.psdu and zlib.crc32(heard.octets) == 0x2144DF1C


@cocotb.test()
@cocotb.parametrize(name=list(dsss_vectors.NAMES), phase=[0, 1])
async def other_implementation_clean(dut, name: str, phase: int):
    wave = dsss_vectors.waveform(name)
    await decodes(dut, wave, 8 * wave.samples[phase::2])


@cocotb.test()
@cocotb.parametrize(name=list(dsss_vectors.NAMES), phase=[0, 1], carrier_khz=[-120, 120], clock_ppm=[-50, 50])
async def other_implementation_with_offsets_at_18_db(dut, name: str, phase: int, carrier_khz: int, clock_ppm: int):
    """Every second sample, from the first or from the second on."""
    wave = dsss_vectors.waveform(name)
    noise = np.random.default_rng(SEED)
    samples = received(
        wave.samples[phase::2] @ np.array([1, 1j]),
        2,
        es_n0_db=18,
        random=noise,
        carrier_hz=1e3 * carrier_khz,
        clock_ppm=clock_ppm,
    )
    await decodes(dut, wave, samples)


@cocotb.test()
@cocotb.parametrize(rate=[RATE_1MBPS, RATE_2MBPS], seed=[1, 2, 3])
async def frames_at_the_limit(dut, rate: int, seed: int):
    """1024 octets where one frame in twelve is lost, at the worst offsets: what noise does, too, it does to both."""
    noise = np.random.default_rng([seed, rate])
    samples = received(
        waves(Frame(noise.bytes(1024), rate)),
        4,
        es_n0_db={RATE_1MBPS: 11.0, RATE_2MBPS: 16.2}[rate],
        random=noise,
        carrier_hz=122e3 * noise.choice((-1, 1)),
        clock_ppm=50 * noise.choice((-1, 1)),
        delay_samples=noise.uniform(),
    )
    await as_the_model(dut, np.vstack([samples, SILENCE]), gaps=(2,))


ALL = cocotb_tests(globals())
THEIRS = [name for name in ALL if name.startswith("other_implementation")]
AT_THE_LIMIT = [name for name in ALL if name.startswith("frames_at_the_limit")]
OURS = [name for name in ALL if name not in (*THEIRS, *AT_THE_LIMIT)]


@pytest.mark.parametrize("name", OURS)
def test_dsss_receiver(name):
    simulate("dsss_receiver", __file__, name, OURS)


@pytest.mark.long
@pytest.mark.parametrize("name", THEIRS)
def test_other_implementation(name):
    dsss_vectors.folder()
    simulate("dsss_receiver", __file__, name, THEIRS)


@pytest.mark.long
@pytest.mark.parametrize("name", AT_THE_LIMIT)
def test_frames_at_the_limit(name):
    simulate("dsss_receiver", __file__, name, AT_THE_LIMIT)
