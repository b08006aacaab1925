# SPDX-License-Identifier: GPL-2.0-or-later
"""radio_top hears another implementation's waveforms (../shared/vectors/dsss), with two and four samples a chip."""

import cocotb
import numpy as np
import pytest
from cocotb.triggers import with_timeout
from cocotbext.perhop import mpdu
from perhop.phy.channel import received
from testbench import dsss_vectors
from testbench.build import cocotb_tests, simulate
from testbench.radio_station import Station

pytestmark = pytest.mark.long

AMPLITUDE = 40
ES_N0_DB = 18
CARRIER_HZ = 120e3
CLOCK_PPM = 50


def heard_by(station: Station, wave: dsss_vectors.Waveform, samples_per_chip: int, phase: int) -> list[np.ndarray]:
    """What the converter gives of a waveform: clean, then with each pair of offsets, in noise.

    Of its four samples a chip it takes every second one from the first or from the second on, or all.
    """
    columns = wave.samples[phase :: 4 // samples_per_chip]
    ratio = samples_per_chip / 2
    samples = [columns * AMPLITUDE]
    for sign, other in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        samples.append(
            received(
                columns @ np.array([1, 1j]),
                # received() gives two samples a chip. Where they are four its signal has half the rate, its symbol half
                # the samples, and so half the energy beside the same noise.
                2,
                es_n0_db=ES_N0_DB - 10 * np.log10(ratio),
                random=station.random,
                carrier_hz=sign * CARRIER_HZ / ratio,
                clock_ppm=other * CLOCK_PPM,
                before=0,
                after=0,
            )
        )
    return samples


@cocotb.test()
@cocotb.parametrize(name=list(dsss_vectors.NAMES), phase=[0, 1])
async def the_host_gets_the_frame_of_a_foreign_waveform(dut, name: str, phase: int):
    """In monitor mode, whole, with a good FCS: clean, and in noise with each pair of offsets of carrier and clock."""
    samples_per_chip = int(dut.SAMPLES_PER_CHIP.value)
    station = await Station.start(dut, clocks_per_sample=4 // samples_per_chip)
    await station.mac.host(lambda mac: mac.write("receive_filter", monitor=1))
    wave = dsss_vectors.waveform(name)
    heard = heard_by(station, wave, samples_per_chip, phase)
    for samples in heard:
        station.antenna.put(np.round(station.random.standard_normal((600, 2)) * 4).astype(np.int64))
        station.antenna.put(samples)
        frame = bytes((await with_timeout(station.mac.received.recv(), 5, "ms")).tdata)
        assert frame == wave.psdu
        assert mpdu.read(frame, len(frame)).ok
        last = await station.radio(lambda radio: radio.last_frame())
        dut._log.info("%s from sample %d on: %s", name, phase, last)
        assert (last.rate, last.carrier_lost) == (wave.rate, False)
    assert last.number == len(heard)


@pytest.mark.parametrize("samples_per_chip", [2, 4])
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_waveforms(name, samples_per_chip):
    dsss_vectors.folder()
    simulate("radio_top", __file__, name, cocotb_tests(globals()), {"SAMPLES_PER_CHIP": samples_per_chip})
