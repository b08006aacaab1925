# SPDX-License-Identifier: GPL-2.0-or-later
"""radio_top against the model of the modem: frames on the air, sample by sample."""

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles, RisingEdge
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from perhop.phy.transmitter import transmitted
from perhop.registers import RegisterError
from perhop.spec_generated import PROFILES, FrameKind, TxResult, airtime_us
from testbench import mpdu
from testbench.build import cocotb_tests, simulate
from testbench.mac_host import ADDRESS
from testbench.mpdu import control_frame, data_frame
from testbench.radio_station import SAMPLES_PER_US, SIFS_US, OnAir, Station

PEER = 0x0200_0000_00AA


def sifs_after(heard: OnAir, response: OnAir) -> float:
    """Microseconds from the one's end to the other's begin."""
    return (response.begin - heard.end) / SAMPLES_PER_US


@cocotb.test()
@cocotb.parametrize((("rate", "name"), [(0, "dsss_long"), (1, "dsss_long"), (1, "dsss_short")]))
async def what_comes_behind_an_rts_is_answered_and_reaches_the_host(dut, rate: int, name: str):
    """RTS, CTS, DATA, MAC ACK: the model sends, the radio answers, SIFS after each frame's last chip."""
    station = await Station.start(dut, name)
    profile, short = PROFILES[name], name == "dsss_short"
    msdu = station.random.bytes(40)
    mac_ack_us = airtime_us(profile, profile.rates[rate].control_rate_index, 14)
    data = data_frame(SIFS_US + mac_ack_us, (ADDRESS["a"], PEER, ADDRESS["a"]), 7, msdu)
    data_us = airtime_us(profile, rate, len(data))
    cts_us = airtime_us(profile, profile.rates[rate].control_rate_index, 14)
    rts_duration_us = 3 * SIFS_US + cts_us + data_us + mac_ack_us
    rts = station.hear(control_frame(FrameKind.RTS, rts_duration_us, ADDRESS["a"], PEER), rate, short)
    cts = await station.next_sent()
    assert cts.psdu == control_frame(FrameKind.CTS, rts_duration_us - SIFS_US - cts_us, PEER)
    heard = station.answer(cts, data, rate, short)
    mac_ack = await station.next_sent()
    assert mac_ack.psdu == control_frame(FrameKind.MAC_ACK, 0, PEER)
    assert await station.mac.reception() == msdu
    assert {cts.short, mac_ack.short} == {short}
    for response, to in ((cts, rts), (mac_ack, heard)):
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


@cocotb.test()
async def the_registers_of_the_radio_reach_the_modem(dut):
    """Gain and counters, level and last frame; what is illegal is refused in both halves of the address space."""
    station = await Station.start(dut, tx_gain={"value_256": 100}, rssi={"base_dbm": -110})
    rts = control_frame(FrameKind.RTS, 5000, ADDRESS["a"], PEER)
    station.hear(rts, RATE_2MBPS, es_n0_db=20, carrier_hz=-61e3, level=2000)
    assert (await station.next_sent(gain=100)).psdu[:2] == b"\xc4\x00"
    frame = await station.radio(lambda radio: radio.last_frame())
    rssi_dbm = 20 * np.log10(22 * 2000 * 4 / np.pi) - 110  # the mean of |I| + |Q| of a circle
    assert (frame.number, frame.rate, frame.carrier_lost) == (1, RATE_2MBPS, False)
    assert frame.snr_db == pytest.approx(20, abs=3)
    assert frame.carrier_hz == pytest.approx(-61e3, abs=4e3)
    assert frame.rssi_dbm == pytest.approx(rssi_dbm, abs=2)
    status = await station.radio(lambda radio: radio.read("status"))
    assert not status["sending"] and not status["busy"]
    assert status["rssi_dbm"] < frame.rssi_dbm - 30
    counted = await station.radio(lambda radio: radio.read_statistics())
    assert counted == dict.fromkeys(counted, 0) | {"rx_frames": 1}

    registers = station.mac.registers
    for address, word in ((0x420, 257), (0x030, 0)):
        before = await registers.read(address)
        await registers.write(address, word)
        assert await registers.read(address) == before
    with pytest.raises(RegisterError, match=r"tx_gain \(0x420\) was refused: the value is against a rule"):
        await station.radio(lambda radio: radio.raise_if_refused())
    with pytest.raises(RegisterError, match=r"slot \(0x030\) was refused: it is a setting, and the MAC runs"):
        await station.mac.host(lambda mac: mac.raise_if_refused())
    with pytest.raises(RegisterError, match="changes only while the MAC does not run"):
        await station.radio(lambda radio: radio.write("preamble", short_preamble=1))


@cocotb.test()
async def a_radio_that_is_disabled_is_silent_and_deaf_and_begins_anew(dut):
    """Disabled in the middle of an own frame and of one that comes; enabled again it answers the next frame."""
    station = await Station.start(dut)
    await station.mac.give(bytes(100), PEER, RATE_2MBPS, tag=1)
    while not int(dut.tx_active.value):
        await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, 44 * 300)
    assert int(dut.tx_active.value)
    await station.mac.host(lambda mac: mac.disable())
    assert not int(dut.tx_active.value) and not int(dut.tx_i.value) and not int(dut.tx_q.value)
    rts = control_frame(FrameKind.RTS, 5000, ADDRESS["a"], PEER)
    station.hear(rts, RATE_1MBPS)
    await ClockCycles(dut.clk, 44 * 200)
    assert not (await station.radio(lambda radio: radio.read("status")))["busy"]
    station.antenna.sent.clear()
    # In the middle of the frame's PSDU.
    await station.set_up("dsss_long")
    await ClockCycles(dut.clk, 44 * 400)
    assert not station.antenna.sent, "a frame that was half heard was answered"
    heard = station.hear(rts, RATE_1MBPS)
    cts = await station.next_sent()
    assert sifs_after(heard, cts) == pytest.approx(SIFS_US, abs=0.1)
    assert (await station.radio(lambda radio: radio.last_frame())).number == 1


@cocotb.test()
async def whatever_is_heard_the_next_good_frame_is_answered(dut):
    """Noise, tones, silence, a converter at its ends, frames that are cut off or come over each other: then an RTS."""
    station = await Station.start(dut)
    random = station.random
    rts = control_frame(FrameKind.RTS, 500, ADDRESS["a"], PEER)
    whole = received(
        transmitted(Frame(rts, RATE_2MBPS), 4) @ np.array([1, 1j]), 4, es_n0_db=20, random=random, before=0, after=0
    )
    times = np.arange(6000)

    def tone(hertz_per_sample: float, level: float) -> np.ndarray:
        wave = level * np.exp(2j * np.pi * hertz_per_sample * times)
        return np.stack([wave.real, wave.imag], axis=1)

    disturbances = {
        "noise": random.standard_normal((6000, 2)) * 3000,
        "a carrier": tone(0.0, 2000),
        "a tone": tone(0.031, 5000),
        "a fast tone": tone(0.49, 32767),
        "silence": np.zeros((2000, 2)),
        "the converter's end": np.full((2000, 2), -32768),
        "clipped noise": np.sign(random.standard_normal((4000, 2))) * 32767,
        "cut in SYNC": whole[: 22 * 90],
        "cut in the header": whole[: 22 * 170],
        "cut in the PSDU": whole[: 22 * 230],
        "without its begin": whole[22 * 150 :],
        "a frame over its second half": np.vstack([whole[: 22 * 150], whole[: 22 * 100]]),
    }
    for name, samples in disturbances.items():
        station.antenna.put(np.clip(np.round(samples), -32768, 32767).astype(np.int64))
        station.antenna.put(np.round(random.standard_normal((22 * 60, 2)) * 4).astype(np.int64))
        heard = station.hear(rts, RATE_2MBPS)
        while station.antenna.at < heard.end:
            await ClockCycles(dut.clk, 440)
        cts = await station.next_sent()
        assert cts.psdu[:2] == b"\xc4\x00", name
        assert sifs_after(heard, cts) == pytest.approx(SIFS_US, abs=0.15), name
        # The reservation of the RTS passes, so that the next one is answered.
        station.antenna.put(np.round(random.standard_normal((22 * 520, 2)) * 4).astype(np.int64))
        await ClockCycles(dut.clk, 440)


NAMES = cocotb_tests(globals())
QUICK = [name for name in NAMES if "short" in name or "host_crosses" in name or "registers" in name]


@pytest.mark.parametrize("name", QUICK)
def test_radio_top(name):
    simulate("radio_top", __file__, name, QUICK)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if name not in QUICK])
def test_radio_top_at_length(name):
    simulate("radio_top", __file__, name)
