# SPDX-License-Identifier: GPL-2.0-or-later
"""dsss_phy with a front end whose gain it controls: frames of all levels are heard, their levels are told right, and
the gain stands while one is received.
"""

from collections import deque

import cocotb
import numpy as np
import pytest
from perhop.phy import transmitter
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_2MBPS, Frame
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
BASE_DBM = -140
NOISE_STEPS = 32.0
"""Root mean square of I and of Q behind the most gain: two steps of a converter of 12 bits."""
STEP = 16
"""Of such a converter whose bits are the upper ones of 16."""
DELAY_SAMPLES = 6
"""From what is said to the front end to the first sample with that gain."""
SETTINGS = {
    "cfg_tx_gain": 256, "cfg_ramp_log2_samples": 4, "cfg_rssi_base_dbm": BASE_DBM & 0x1FF, "cfg_energy_detect": 1,
    "cfg_carrier_sense": 1, "cfg_energy_threshold_dbm": -40 & 0xFF, "cfg_gain_settle_looks": 1,
}  # fmt: skip


class FrontEnd:
    """An antenna, a gain and a converter in front of a dsss_phy at two samples a chip."""

    def __init__(self, dut, range_steps: int) -> None:
        self.unit = Clocked(dut, "rst", "rx_sample_valid", "rx_i", "rx_q", "tx_sample_take", "phy_tx_start")
        self.unit.hold(**SETTINGS, cfg_gain_range_steps=range_steps)
        self.random = np.random.default_rng(SEED)
        self.below_db: deque[int] = deque([0] * DELAY_SAMPLES)
        self.octets = bytearray()
        self.frames: list[tuple[bytes, int]] = []
        """Good frames and their RSSI."""
        self.gains: list[int] = []
        """By sample, what was said to the front end."""

    async def hear(self, wave: np.ndarray) -> None:
        unit, dut = self.unit, self.unit.dut
        noise = self.random.standard_normal((len(wave), 2)) @ (1, 1j)
        for sample in wave + NOISE_STEPS * noise:
            value = sample * 10 ** (-self.below_db.popleft() / 20) / STEP
            i, q = (int(STEP * np.clip(round(part), -2048, 2047)) & 0xFFFF for part in (value.real, value.imag))
            await unit.clock(rx_sample_valid=1, rx_i=i, rx_q=q)
            self._look()
            await unit.clock()
            self._look()
            self.gains.append(unit.rx_gain_below_db)
            self.below_db.append(self.gains[-1])
        assert not dut.tx_active.value

    def _look(self) -> None:
        unit = self.unit
        if unit.phy_rx_start:
            self.octets.clear()
        if unit.phy_rx_valid:
            self.octets.append(unit.phy_rx_data)
        if unit.phy_rx_end and not unit.phy_rx_error:
            self.frames.append((bytes(self.octets), unit.dut.phy_rx_rssi_dbm.value.to_signed()))


def frame(psdu: bytes, above_noise_db: float, random: np.random.Generator) -> np.ndarray:
    """A frame as it comes to the antenna, in steps of the converter behind the most gain."""
    waves = transmitter.shaped(transmitter.chip_quadrants(Frame(psdu, RATE_2MBPS, True)), 4) @ (1, 1j)
    samples = received(waves, 4, random=random, carrier_hz=61e3, before=0, after=0, es_n0_db=70, level=8000)
    level = NOISE_STEPS * np.sqrt(2) * 10 ** (above_noise_db / 20)
    return samples @ (1, 1j) / 8000 * level


def level_dbm(above_noise_db: float) -> float:
    """What a level makes of the mean of |I| + |Q|, which is 4 / pi of the root mean square at a constant envelope."""
    return 20 * np.log10(22 * 4 / np.pi * NOISE_STEPS * np.sqrt(2)) + above_noise_db + BASE_DBM


@cocotb.test()
@cocotb.parametrize(above_noise_db=[15, 45, 70, 95])
async def a_frame_of_any_level_is_heard_and_its_level_told(dut, above_noise_db: int):
    """A timeline: silence | preamble, the gain goes down | it stands to the frame's end | and comes back."""
    random = np.random.default_rng(SEED)
    front_end = FrontEnd(dut, range_steps=5)
    await front_end.unit.reset()
    psdu = random.bytes(10)
    silence = np.zeros(300)
    wave = frame(psdu, above_noise_db, random)
    await front_end.hear(np.concatenate([silence, wave, silence]))
    ((heard, rssi_dbm),) = front_end.frames
    assert heard == psdu
    assert rssi_dbm == pytest.approx(level_dbm(above_noise_db), abs=2.5)
    gains = front_end.gains
    assert set(gains[:300]) == {0}
    # Whoever is not at the converter's end keeps the most gain: 2048 steps, 60 dB above noise of two.
    expected = 0 if above_noise_db < 50 else 24 if above_noise_db < 80 else 48
    frozen = set(gains[300 + 22 * 20 : 300 + len(wave) - 40])
    assert frozen == {expected}, front_end.gains[300:400]
    assert gains[-1] == 0
    dut._log.info("%d dB above the noise: gain %d dB below, RSSI %d dBm", above_noise_db, expected, rssi_dbm)


@cocotb.test()
async def a_burst_within_a_frame_does_not_move_the_gain(dut):
    """40 samples at the converter's end: outside of a frame the gain goes down for them."""
    random = np.random.default_rng(SEED)
    front_end = FrontEnd(dut, range_steps=5)
    await front_end.unit.reset()
    wave = frame(random.bytes(10), 30, random)
    wave[len(wave) // 2 :][:40] = 40000
    await front_end.hear(np.concatenate([np.zeros(200), wave, np.zeros(200), np.full(40, 40000), np.zeros(100)]))
    assert set(front_end.gains[: 200 + len(wave)]) == {0}
    assert set(front_end.gains[200 + len(wave) + 200 :]) == {0, 12}


@cocotb.test()
async def a_weak_frame_is_heard_a_sifs_after_a_strong_one(dut):
    random = np.random.default_rng(SEED)
    front_end = FrontEnd(dut, range_steps=5)
    await front_end.unit.reset()
    strong, weak = random.bytes(6), random.bytes(6)
    await front_end.hear(np.concatenate([np.zeros(200), frame(strong, 90, random), np.zeros(220)]))
    await front_end.hear(np.concatenate([frame(weak, 18, random), np.zeros(100)]))
    assert [heard for heard, _ in front_end.frames] == [strong, weak]


@cocotb.test()
async def without_a_range_the_gain_stands_and_a_strong_frame_is_lost(dut):
    """35 dB beyond the converter only the quadrants are left of a carrier that turns through their borders."""
    random = np.random.default_rng(SEED)
    front_end = FrontEnd(dut, range_steps=0)
    await front_end.unit.reset()
    await front_end.hear(np.concatenate([np.zeros(100), frame(random.bytes(6), 95, random), np.zeros(300)]))
    assert set(front_end.gains) == {0}
    assert not front_end.frames


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_gain(name):
    simulate("dsss_phy", __file__, name, parameters={"SAMPLES_PER_CHIP": 2})
