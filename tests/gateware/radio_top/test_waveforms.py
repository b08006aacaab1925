# SPDX-License-Identifier: GPL-2.0-or-later
"""radio_top hears another implementation's waveforms (../shared/vectors/dsss), with two and four samples a chip."""

import cocotb
import numpy as np
import pytest
from cocotb.triggers import with_timeout
from perhop.phy.channel import received
from testbench import dsss_vectors, mpdu
from testbench.build import cocotb_tests, simulate
from testbench.radio_station import Station

pytestmark = pytest.mark.long

AMPLITUDE = 40


@cocotb.test()
@cocotb.parametrize(name=list(dsss_vectors.NAMES), phase=[0, 1])
async def the_host_gets_the_frame_of_a_foreign_waveform(dut, name: str, phase: int):
    """In monitor mode, whole and with a good FCS; from a resampled one with offsets of carrier and clock, too."""
    samples_per_chip = int(dut.SAMPLES_PER_CHIP.value)
    station = await Station.start(dut, clocks_per_sample=4 // samples_per_chip)
    await station.mac.host(lambda mac: mac.write("receive_filter", monitor=1))
    wave = dsss_vectors.waveform(name)
    clean = wave.samples[phase :: 4 // samples_per_chip] * AMPLITUDE
    heard = [clean]
    if samples_per_chip == 2:
        sign = 1 - 2 * phase
        offsets = {"carrier_hz": 120e3 * sign, "clock_ppm": -50 * sign, "delay_samples": phase / 2}
        points = wave.samples @ np.array([1, 1j])
        heard.append(received(points, 4, es_n0_db=18, random=station.random, before=0, after=0, **offsets))
    for samples in heard:
        station.antenna.put(np.round(station.random.standard_normal((600, 2)) * 4).astype(np.int64))
        station.antenna.put(samples)
        frame = bytes((await with_timeout(station.mac.received.recv(), 5, "ms")).tdata)
        assert frame == wave.psdu
        assert mpdu.read(frame, len(frame)).ok
    last = await station.radio(lambda radio: radio.last_frame())
    assert (last.number, last.rate, last.carrier_lost) == (len(heard), wave.rate, False)


@pytest.mark.parametrize("samples_per_chip", [2, 4])
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_waveforms(name, samples_per_chip):
    dsss_vectors.folder()
    simulate("radio_top", __file__, name, cocotb_tests(globals()), {"SAMPLES_PER_CHIP": samples_per_chip})
