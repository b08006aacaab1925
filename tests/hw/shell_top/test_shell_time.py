# SPDX-License-Identifier: GPL-2.0-or-later
"""shell_top and the device's timekeeper: received frames carry its time, and the TSF is read against it."""

import cocotb
import pytest
from cocotb.triggers import Timer
from cocotbext.perhop.mac_host import ADDRESS
from cocotbext.perhop.mpdu import data_frame
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS
from perhop.registers.radio import modem_delays_clocks
from perhop.registers.spec_generated import PROFILES, SHELL_REGISTERS, airtime_us
from testbench.build import cocotb_tests, simulate
from testbench.radio_station import SAMPLES_PER_US, SIFS_US
from testbench.shell_station import ShellStation

PEER, OTHER = 0x0200_0000_00AA, 0x0200_0000_00BB
BROADCAST = 0xFFFF_FFFF_FFFF
LONG_AGO = 5_000_000_000_123
# The MAC's ticks go with the medium's edges: at 60 clocks a microsecond by up to four microseconds (tick_generator).
TSF_WANDER_US = 4
CLOCKS_PER_US = 60
# A sample that crosses, and clocks by which the PHY's word of a frame's end may wait.
TOLERANCE_TICKS = 2


def data_for(ra: int, msdu: bytes, sequence: int) -> bytes:
    mac_ack_us = airtime_us(PROFILES["dsss_long"], RATE_1MBPS, 14)
    return data_frame(SIFS_US + mac_ack_us, (ra, PEER, ra), sequence, msdu)


def rx_delay_ticks() -> float:
    """From a frame's last sample to the modem's word that it has ended."""
    modem = {"samples_per_chip": 2, "rate_in": 0, "rate_22": 0}
    _, rx_clocks = modem_delays_clocks(CLOCKS_PER_US / SAMPLES_PER_US, modem)
    return rx_clocks * SAMPLES_PER_US / CLOCKS_PER_US


@cocotb.test()
async def frames_carry_the_time_of_their_end_however_long_they_wait(dut):
    """The host takes nothing while three frames for it come, and between them one for somebody else."""
    station = await ShellStation.start(dut)
    before = station.antenna.ticks - station.antenna.at
    station.streams.take = False
    ends = []
    for sequence, ra in enumerate((ADDRESS["a"], ADDRESS["a"], OTHER, ADDRESS["a"])):
        heard = station.hear(data_for(ra, station.random.bytes(20 + 9 * sequence), sequence), RATE_2MBPS)
        if ra == OTHER:
            await Timer(600, "us")
        else:
            await station.next_sent()
            ends.append(heard.end)
    station.streams.take = True
    for end in ends:
        packet = await station.streams.next()
        assert packet.ticks is not None
        dut._log.info("%.1f ticks behind its last sample", packet.ticks - before - end)
        assert packet.ticks - before - end == pytest.approx(rx_delay_ticks(), abs=TOLERANCE_TICKS)


@cocotb.test()
async def a_record_has_no_time_and_a_time_that_is_set_is_the_next_frames(dut):
    """Somebody sets the timekeeper while it runs, as a host does at a pulse: back, and far ahead."""
    station = await ShellStation.start(dut)
    for sequence, ticks in enumerate((LONG_AGO, 17)):
        station.antenna.ticks = ticks
        since = ticks - station.antenna.at
        await station.give(station.random.bytes(20), BROADCAST, RATE_2MBPS, tag=1)
        await station.next_sent()
        record = await station.streams.next()
        assert record.record is not None and record.ticks is None
        heard = station.hear(data_for(ADDRESS["a"], station.random.bytes(20), sequence), RATE_2MBPS)
        packet = await station.streams.next()
        assert packet.ticks is not None
        assert packet.ticks - since - heard.end == pytest.approx(rx_delay_ticks(), abs=TOLERANCE_TICKS)
        await station.next_sent()


@cocotb.test()
async def the_tsf_and_the_time_that_are_read_are_of_one_moment(dut):
    """Between two looks both have passed alike, but for the ticks that the medium moves."""
    station = await ShellStation.start(dut)
    station.antenna.ticks = (1 << 33) - 3000
    await Timer(1, "us")
    looks = []
    for sequence in range(6):
        at = station.antenna.ticks
        found = await station.shell(lambda shell: shell.read_device_time())
        assert found is not None and at - 4 <= found[0] <= station.antenna.ticks
        looks.append(found)
        if sequence % 2:
            station.hear(data_for(ADDRESS["a"], station.random.bytes(25), sequence), RATE_2MBPS)
            await station.streams.next()
            await station.next_sent()
        else:
            await Timer(150 + 37 * sequence, "us")
    first_ticks, first_tsf_us = looks[0]
    for ticks, tsf_us in looks[1:]:
        passed_us = (ticks - first_ticks) / SAMPLES_PER_US
        dut._log.info("%.2f us by the device, %d us by the TSF", passed_us, tsf_us - first_tsf_us)
        assert passed_us == pytest.approx(tsf_us - first_tsf_us, abs=TSF_WANDER_US + 1)
    # A carry of the low word comes in between: whoever reads words sees one moment.
    assert looks[0][0] < 1 << 33 <= looks[-1][0]


@cocotb.test()
async def the_words_of_both_stand_from_the_moment_of_the_first(dut):
    """The low word of the time is read; what is read behind it is of that clock, however late."""
    station = await ShellStation.start(dut)
    read, time, tsf = (
        station.port.read,
        SHELL_REGISTERS["device_time"].address,
        SHELL_REGISTERS["device_time_tsf"].address,
    )
    station.antenna.ticks = (1 << 32) - 60
    await Timer(1, "us")
    low = await read(time)
    assert (1 << 32) - 45 <= low < 1 << 32
    await Timer(50, "us")
    assert await read(time + 4) == 0, "the high word is of the low one's moment"
    word, again = await read(tsf), await read(tsf)
    assert word == again
    assert await read(time) < 2000 and await read(time + 4) == 1
    assert await read(tsf) == pytest.approx(word + 50, abs=TSF_WANDER_US + 5)


NAMES = cocotb_tests(globals())
QUICK = [name for name in NAMES if "words_of_both" in name or "a_record_has" in name]
TIMED = {"TIMED": 1}


@pytest.mark.parametrize("name", QUICK)
def test_shell_time(name):
    simulate("shell_top", __file__, name, QUICK, TIMED)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if name not in QUICK])
def test_shell_time_at_length(name):
    simulate("shell_top", __file__, name, parameters=TIMED)
