# SPDX-License-Identifier: GPL-2.0-or-later
"""dsss_phy: switch and ramp of a transmission to the sample, and the energy threshold by the transmit power."""

import cocotb
import numpy as np
import pytest
from perhop.phy.plcp import RATE_2MBPS, Frame
from perhop.phy.transmitter import transmitted
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
FRAME = Frame(b"perhop", RATE_2MBPS, short_preamble=True)
BLOCK_SAMPLES = 22
BASE_DBM = -140
INPUTS = ("rst", "rx_sample_valid", "rx_i", "rx_q", "tx_sample_take", "phy_tx_start", "phy_tx_rate", "phy_tx_bytes")
INPUTS += ("phy_tx_valid", "phy_tx_data", "phy_tx_last")
SETTINGS = {
    "cfg_short_preamble": 1, "cfg_tx_gain": 256, "cfg_rssi_base_dbm": BASE_DBM & 0x1FF, "cfg_energy_detect": 1,
    "cfg_energy_threshold_dbm": -60 & 0xFF, "cfg_limit_threshold": 1, "cfg_ramp_log2_samples": 4,
}  # fmt: skip


async def started(dut, **settings: int) -> Clocked:
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    unit.hold(**SETTINGS | settings)
    return unit


async def sent(unit: Clocked, clocks_per_sample: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples from the start of a frame until the switch has been back for a while; and whether it was turned."""
    samples, active, octets = [], [], list(FRAME.psdu)
    unit.hold(phy_tx_rate=RATE_2MBPS, phy_tx_bytes=len(FRAME.psdu))
    clock, back = 0, 0
    while back < 20:
        take = clock % clocks_per_sample == 0
        await unit.set(
            phy_tx_start=int(clock == 0), tx_sample_take=int(take), phy_tx_valid=int(bool(octets)),
            phy_tx_data=octets[0] if octets else 0, phy_tx_last=int(len(octets) == 1),
        )  # fmt: skip
        if take:
            samples.append((unit.dut.tx_i.value.to_signed(), unit.dut.tx_q.value.to_signed()))
            active.append(unit.tx_active)
            back = back + 1 if clock and not active[-1] else 0
        ready = octets and unit.phy_tx_ready
        await unit.clock()
        if ready:
            octets.pop(0)
        clock += 1
    return np.array(samples), np.array(active)


TIMES = {2: (1, 4, 1), 4: (1, 5, 1)}
"""By samples a chip, without lead and hold: when the switch turns, when the frame begins, how long after it the switch
turns back."""


@cocotb.test()
async def a_frame_begins_and_ends_at_the_sample_that_the_registers_say(dut):
    """A timeline in samples, the one with the start is 0; each of the frame's is the model's.

    1                  lead + 4                                  tx_active falls
    | tx_active, lead  | rise .. frame .. fall | hold ............|
    """
    samples_per_chip = int(dut.SAMPLES_PER_CHIP.value)
    for ramp_log2, lead, hold in ((4, 0, 0), (1, 1, 2), (5, 60, 127), (2, 127, 0)):
        unit = await started(dut, cfg_ramp_log2_samples=ramp_log2, cfg_lead_samples=lead, cfg_hold_samples=hold)
        samples, active = await sent(unit, 4 // samples_per_chip)
        model = transmitted(FRAME, samples_per_chip, ramp_samples=1 << ramp_log2)
        (first,) = [at for at in range(lead + 8) if np.array_equal(samples[at : at + len(model)], model)]
        assert not samples[:first].any() and not samples[first + len(model) :].any()
        (turned,) = np.flatnonzero(np.diff(active) == 1) + 1
        (back,) = np.flatnonzero(np.diff(active) == -1) + 1
        times = turned, first - lead, back - first - len(model) - hold
        dut._log.info("ramp %d, lead %d, hold %d: %s", 1 << ramp_log2, lead, hold, times)
        assert times == TIMES[samples_per_chip]


async def noise(unit: Clocked, level_dbm: int, blocks: int, random: np.random.Generator) -> int:
    """Whether the medium is busy after blocks of noise of that level."""
    size = round(10 ** ((level_dbm - BASE_DBM) / 20) / BLOCK_SAMPLES / 2)
    for _ in range(blocks * BLOCK_SAMPLES):
        i, q = (size * random.choice((-1, 1), 2)).tolist()
        await unit.clock(rx_sample_valid=1, rx_i=i & 0xFFFF, rx_q=q & 0xFFFF)
        await unit.clock()
    return unit.phy_cca_busy


@cocotb.test()
async def who_sends_louder_hears_further(dut):
    """The threshold is set to -60 dBm: 3 dB below the clause's limit is free, 3 dB above it busy, unless it is off."""
    random = np.random.default_rng(SEED)
    for power_dbm, limit_dbm in ((0, -70), (17, -70), (18, -76), (20, -76), (21, -80), (30, -80)):
        for limited in (1, 0):
            unit = await started(dut, cfg_transmit_power_dbm=power_dbm & 0xFF, cfg_limit_threshold=limited)
            assert not await noise(unit, limit_dbm - 3, 12, random)
            assert await noise(unit, limit_dbm + 3, 6, random) == limited
            assert not await noise(unit, limit_dbm - 3, 12, random)
            assert dut.energy_limit_dbm.value.to_signed() == (limit_dbm if limited else 127)


# Levels are told of two samples a chip.
CASES = [(2, name) for name in cocotb_tests(globals())]
CASES += [pytest.param(4, name, marks=pytest.mark.long) for _, name in CASES if name.startswith("a_frame")]


@pytest.mark.parametrize(("samples_per_chip", "name"), CASES)
def test_front_end(samples_per_chip, name):
    simulate("dsss_phy", __file__, name, parameters={"SAMPLES_PER_CHIP": samples_per_chip})
