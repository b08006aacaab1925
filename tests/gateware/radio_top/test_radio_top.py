# SPDX-License-Identifier: GPL-2.0-or-later
"""radio_top against the model of the modem: frames on the air, sample by sample."""

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.perhop import mpdu
from cocotbext.perhop.mac_host import ADDRESS
from cocotbext.perhop.mpdu import control_frame, data_frame
from perhop.phy import constants as phy
from perhop.phy import plcp, transmitter
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from perhop.phy.transmitter import transmitted
from perhop.registers import RegisterError
from perhop.registers.spec_generated import PROFILES, FrameKind, TxResult, airtime_us
from testbench.build import cocotb_tests, simulate
from testbench.radio_station import HALF_CHIP, HALF_PULSE_4, SAMPLES_PER_US, SIFS_US, OnAir, Station

PEER = 0x0200_0000_00AA
GROUP = 0xFFFF_FFFF_FFFF


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


LENGTH_US = 300
NO_OCTET_US = 3
UNREADABLE = {
    "rate_11": plcp.header_of(phy.PLCP_SIGNAL_11MBPS, 0x84, LENGTH_US),
    "rate_5_5": plcp.header_of(phy.PLCP_SIGNAL_5_5MBPS, 0x04, LENGTH_US),
    "no_octet": plcp.header_of(phy.PLCP_SIGNAL_2MBPS, 0, NO_OCTET_US),
    "bad_crc": plcp.header_of(phy.PLCP_SIGNAL_2MBPS, 0, LENGTH_US)[::-1],
}


def heard_by(station: Station, header: list[int], payload_us: int) -> float:
    """Puts a long preamble and a header on the air, then chips as CCK has them, one of four each; when it is over."""
    bits = plcp.scrambled(Frame(bytes(1)).preamble_bits() + header, phy.SCRAMBLER_SEED_LONG)
    payload = station.random.integers(4, size=11 * payload_us)
    quadrants = np.concatenate([transmitter.spread([(bit,) for bit in bits]), payload])
    wave = transmitter.shaped(quadrants, 4) @ np.array([1, 1j])
    channel = {"es_n0_db": 24, "before": 220, "after": 20, "level": 1000}
    first, _ = station.antenna.put(received(wave, 4, random=station.random, **channel))
    return first + 220 + HALF_PULSE_4 - HALF_CHIP + 2 * len(quadrants)


@cocotb.test()
@cocotb.parametrize(what=list(UNREADABLE))
async def eifs_follows_a_frame_that_the_modem_cannot_read(dut, what: str):
    """Of a neighbour at 11 Mb/s, for instance: the station waits for its LENGTH, then EIFS, then its slots.

    |         250         300       |         364         |      20 each      |
    | preamble and header | payload | EIFS                | slots of back-off | DATA
                             packet
    """
    station = await Station.start(dut)
    profile = PROFILES["dsss_long"]
    payload_us = NO_OCTET_US if what == "no_octet" else LENGTH_US
    end = heard_by(station, UNREADABLE[what], payload_us)
    while station.antenna.at < end - SAMPLES_PER_US * (payload_us // 2 + 20):
        await ClockCycles(dut.clk, 44)
    await station.mac.give(station.random.bytes(30), GROUP, RATE_2MBPS, tag=3)
    data = await station.next_sent()
    record = await station.mac.completion()
    assert record["result"] == TxResult.GROUP_SENT
    waited_us = (data.begin - end) / SAMPLES_PER_US - 20 * record["slots_drawn"]
    dut._log.info("DATA %.3f us after %s, without its %d slots", waited_us, what, record["slots_drawn"])
    if what == "bad_crc":
        # Behind a bad header the signal is looked for again, and the medium held for 10 us where it was not found.
        assert profile.eifs_us - 1 < waited_us < profile.eifs_us + 16
    else:
        assert waited_us == pytest.approx(profile.eifs_us, abs=0.1)
    # The last frame and the counts are of frames that the MAC got: this is none.
    counted = await station.radio(lambda radio: radio.read_statistics())
    told = "rx_header_errors" if what == "bad_crc" else "rx_unsupported"
    counted = {name: count for name, count in counted.items() if name != "rx_no_sfd"}
    assert counted == dict.fromkeys(counted, 0) | {told: 1}
    assert (await station.radio(lambda radio: radio.last_frame())).number == 0
    log = await station.mac.host(lambda mac: mac.read_statistics())
    assert (log["rx_ok"], log["rx_bad_fcs"]) == (0, 1)


@cocotb.test()
async def an_rts_within_the_length_of_a_frame_that_never_came_is_answered(dut):
    """And behind the answer the medium is busy again, until the LENGTH is over: only then the host's packet goes."""
    station = await Station.start(dut)
    profile = PROFILES["dsss_long"]
    length_us = 2500
    header = plcp.header_of(phy.PLCP_SIGNAL_2MBPS, 0, length_us)
    over = heard_by(station, header, 0) + SAMPLES_PER_US * length_us
    station.antenna.put(np.round(station.random.standard_normal((22 * 200, 2)) * 4).astype(np.int64))
    rts = control_frame(FrameKind.RTS, 400, ADDRESS["a"], PEER)
    heard = station.hear(rts, RATE_2MBPS)
    await station.mac.give(station.random.bytes(30), GROUP, RATE_2MBPS, tag=3)
    cts = await station.next_sent()
    assert cts.psdu[:2] == b"\xc4\x00" and sifs_after(heard, cts) == pytest.approx(SIFS_US, abs=0.1)
    assert over - cts.end > SAMPLES_PER_US * 1000
    data = await station.next_sent()
    record = await station.mac.completion()
    # The RTS was good, and calls off the EIFS of the lost frame.
    waited_us = (data.begin - over) / SAMPLES_PER_US - 20 * record["slots_drawn"]
    assert waited_us == pytest.approx(profile.difs_us, abs=0.3)


NAMES = cocotb_tests(globals())
QUICK = [name for name in NAMES if "short" in name or "host_crosses" in name or "registers" in name or "eifs" in name]


@pytest.mark.parametrize("name", QUICK)
def test_radio_top(name):
    simulate("radio_top", __file__, name, QUICK)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if name not in QUICK])
def test_radio_top_at_length(name):
    simulate("radio_top", __file__, name)
