# SPDX-License-Identifier: GPL-2.0-or-later
"""shell_top: control port, packet streams and converter, on three clocks that know nothing of each other."""

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.perhop import mpdu
from cocotbext.perhop.mac_host import ADDRESS
from cocotbext.perhop.mpdu import control_frame, data_frame
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS
from perhop.registers.spec_generated import (
    PROFILES,
    RADIO_REGISTERS,
    REGISTERS,
    SHELL_ID,
    SHELL_REGISTERS,
    SHELL_SPACE_BYTES,
    FrameKind,
    HostSend,
    TxResult,
    airtime_us,
)
from testbench.build import cocotb_tests, simulate
from testbench.radio_station import SAMPLES_PER_US, SIFS_US, OnAir
from testbench.shell_station import ShellStation

PEER = 0x0200_0000_00AA
BROADCAST = 0xFFFF_FFFF_FFFF
PROFILE = PROFILES["dsss_long"]
# Beside the sample that a frame's begin and end are rounded to: the clock of the MAC into which a sample comes.
SIFS_TOLERANCE_US = 0.1
LONG_FRAME_US = 9000


def sifs_after(heard: OnAir, response: OnAir) -> float:
    return (response.begin - heard.end) / SAMPLES_PER_US


def data_for_us(msdu: bytes, sequence: int = 7) -> bytes:
    mac_ack_us = airtime_us(PROFILE, RATE_1MBPS, 14)
    return data_frame(SIFS_US + mac_ack_us, (ADDRESS["a"], PEER, ADDRESS["a"]), sequence, msdu)


@cocotb.test()
async def every_register_reads_as_its_map_says(dut):
    """Reset values where there are any; what is in no space is refused, and a request before its turn too."""
    station = await ShellStation.start(dut, profile=None)
    for registers in (REGISTERS, RADIO_REGISTERS, SHELL_REGISTERS):
        for register in registers.values():
            for word in range(register.words):
                value = await station.port.read(register.address + 4 * word)
                for name, field in register.fields.items():
                    if (
                        field.reset is not None
                        and field.low_bit // 32 == word
                        and field.low_bit + field.width_bits <= 32 * (word + 1)
                    ):
                        assert value >> field.low_bit % 32 & (1 << field.width_bits) - 1 == field.reset, (
                            register.name,
                            name,
                        )
    assert await station.port.read(SHELL_REGISTERS["id"].address) == SHELL_ID
    for address in (SHELL_SPACE_BYTES - 0x400, SHELL_SPACE_BYTES, 0xFFFFC):
        assert (await station.port.request(address))[0] == 1
        assert (await station.port.request(address, 1))[0] == 1
    # Two requests at once: both are answered, the second with an error, and the port works as before.
    dut.s_ctrlport_req_addr.value = SHELL_REGISTERS["id"].address
    dut.s_ctrlport_req_rd.value = 1
    await ClockCycles(dut.host_clk, 2)
    dut.s_ctrlport_req_rd.value = 0
    statuses = []
    while len(statuses) < 2:
        await RisingEdge(dut.host_clk)
        if dut.s_ctrlport_resp_ack.value == 1:
            statuses.append(int(dut.s_ctrlport_resp_status.value))
    assert sorted(statuses) == [0, 1]
    station.port.uncalled = 0
    assert await station.port.read(SHELL_REGISTERS["id"].address) == SHELL_ID
    await ClockCycles(dut.host_clk, 100)
    assert not station.port.uncalled


@cocotb.test()
@cocotb.parametrize(mac_phase_ps=[0, 5000, 11000])
async def an_exchange_is_answered_after_sifs_and_reaches_the_host(dut, mac_phase_ps: int):
    """RTS, CTS, DATA, MAC ACK, whatever the clocks' phase: SIFS at the antenna, and the frame's head as sent."""
    station = await ShellStation.start(dut, mac_phase_ps=mac_phase_ps)
    msdu = station.random.bytes(41)
    data = data_for_us(msdu)
    cts_us = airtime_us(PROFILE, RATE_1MBPS, 14)
    rts_duration_us = 3 * SIFS_US + 2 * cts_us + airtime_us(PROFILE, RATE_2MBPS, len(data))
    rts = station.hear(control_frame(FrameKind.RTS, rts_duration_us, ADDRESS["a"], PEER), RATE_1MBPS)
    cts = await station.next_sent()
    assert cts.psdu == control_frame(FrameKind.CTS, rts_duration_us - SIFS_US - cts_us, PEER)
    heard = station.answer(cts, data, RATE_2MBPS)
    mac_ack = await station.next_sent()
    assert mac_ack.psdu == control_frame(FrameKind.MAC_ACK, 0, PEER)
    for response, to in ((cts, rts), (mac_ack, heard)):
        dut._log.info("SIFS %.3f us", sifs_after(to, response))
        assert sifs_after(to, response) == pytest.approx(SIFS_US, abs=SIFS_TOLERANCE_US)
    got = await station.streams.next()
    head = got.head
    assert got.msdu == msdu
    assert (head.rate, head.frame_kind, head.fcs_ok, head.retry) == (RATE_2MBPS, FrameKind.DATA, 1, 0)
    assert (head.mpdu_bytes, head.sequence) == (len(data), 7)
    assert (head.receiver_address, head.transmitter_address, head.a3, head.a4) == (ADDRESS["a"], PEER, ADDRESS["a"], 0)
    assert 0 < head.tsf_us < 1_000_000
    counters = await station.shell(lambda shell: shell.read_counters())
    assert counters["stat_frames"] == 1
    assert counters["stat_rx_samples_lost"] == counters["stat_tx_samples_late"] == 0
    assert counters["stat_samples"] == pytest.approx(station.antenna.at, abs=300)


@cocotb.test()
async def a_packet_of_the_host_crosses_and_its_record_comes_back(dut):
    """RTS, CTS, DATA, MAC ACK: the radio sends, the model answers; the stream pauses at will."""
    station = await ShellStation.start(dut)
    station.streams.pause = 0.4
    msdu = station.random.bytes(27)
    await station.give(msdu, PEER, RATE_2MBPS, tag=0xBEEF, force_rts=1, peer=3)
    rts = await station.next_sent()
    read_rts = mpdu.read(rts.psdu, len(rts.psdu))
    assert (read_rts.kind, read_rts.ra, read_rts.ta) == (FrameKind.RTS, PEER, ADDRESS["a"])
    cts_us = airtime_us(PROFILE, RATE_1MBPS, 14)
    cts = station.answer(
        rts, control_frame(FrameKind.CTS, read_rts.duration_us - SIFS_US - cts_us, ADDRESS["a"]), RATE_1MBPS
    )
    data = await station.next_sent()
    assert sifs_after(cts, data) == pytest.approx(SIFS_US, abs=SIFS_TOLERANCE_US)
    read_data = mpdu.read(data.psdu, len(data.psdu))
    assert (read_data.kind, read_data.msdu, data.rate) == (FrameKind.DATA, msdu, RATE_2MBPS)
    station.answer(data, control_frame(FrameKind.MAC_ACK, 0, ADDRESS["a"]), RATE_1MBPS)
    record = (await station.streams.next()).record
    assert record is not None
    assert (record["tag"], record["peer"], record["result"], record["data_attempts"]) == (
        0xBEEF,
        3,
        TxResult.DELIVERED,
        1,
    )
    assert (record["data_us"], record["control_us"]) == (data.airtime_us, rts.airtime_us)


@cocotb.test()
async def what_is_longer_than_a_packet_of_the_stream_goes_in_pieces_both_ways(dut):
    """A full IP packet behind its headers, of which Ethernet carries no whole one in a datagram of UHD's."""
    station = await ShellStation.start(dut)
    msdu = station.random.bytes(1536)
    await station.give(msdu, BROADCAST, RATE_2MBPS, tag=5)
    assert mpdu.read((data := await station.next_sent(within_us=LONG_FRAME_US)).psdu, len(data.psdu)).msdu == msdu
    assert (await station.streams.next()).record["tag"] == 5
    station.streams.piece_words.clear()
    heard = station.random.bytes(1536)
    station.hear(data_for_us(heard), RATE_2MBPS)
    await station.next_sent(within_us=LONG_FRAME_US)
    assert (await station.streams.next()).msdu == heard
    assert station.streams.piece_words == [364, 12 + 384 + 1 - 364]


@cocotb.test()
async def a_burst_that_lacks_a_piece_is_refused_and_the_next_goes_out(dut):
    station = await ShellStation.start(dut)
    whole = HostSend(msdu_bytes=100, tag=1, receiver_address=BROADCAST, rate=RATE_2MBPS).encode() + bytes(100)
    await station.streams.send_piece(whole[:60], ends=False)
    await station.streams.send_piece(whole[100:], ends=True)
    msdu = station.random.bytes(100)
    await station.give(msdu, BROADCAST, RATE_2MBPS, tag=2)
    assert mpdu.read((data := await station.next_sent()).psdu, len(data.psdu)).msdu == msdu
    counters = await station.shell(lambda shell: shell.read_counters())
    assert (counters["stat_packets_refused"], counters["stat_packets"]) == (1, 1)


@cocotb.test()
async def a_host_that_does_not_take_loses_nothing_that_the_rings_hold(dut):
    """Records and frames wait behind back-pressure, then all come, in order, and whole."""
    station = await ShellStation.start(dut)
    station.streams.take = False
    sent = []
    for sequence in range(3):
        sent.append(station.random.bytes(30 + 7 * sequence))
        station.hear(data_for_us(sent[-1], sequence), RATE_2MBPS)
        await station.next_sent()
        await station.give(bytes(20), 0xFFFF_FFFF_FFFF, RATE_2MBPS, tag=sequence)
        await station.next_sent()
    station.streams.pause = 0.7
    station.streams.take = True
    got = [await station.streams.next() for _ in range(6)]
    assert [each.msdu for each in got if each.record is None] == sent
    assert [each.record["tag"] for each in got if each.record is not None] == [0, 1, 2]


@cocotb.test()
async def packets_that_are_none_are_dropped_and_the_next_goes_out(dut):
    """Another kind, a length that lies, a head cut off, nothing behind the head, a longest packet: none stops the
    stream."""
    station = await ShellStation.start(dut)
    group = 0xFFFF_FFFF_FFFF

    def head(msdu_bytes: int) -> bytes:
        return HostSend(msdu_bytes=msdu_bytes, tag=1, receiver_address=group, rate=RATE_2MBPS).encode()

    wrong = {
        "another kind": b"\x09" + head(8)[1:] + bytes(8),
        "longer than it says": head(8) + bytes(16),
        "shorter than it says": head(16) + bytes(8),
        "nothing behind the head": head(0),
        "a head cut off": head(8)[:12],
        "one word": b"\x01\x00\x00\x00",
        "an empty packet with a word": head(0) + bytes(4),
        "longer than a descriptor can say": head(5000) + bytes(5000),
    }
    for number, (name, packet) in enumerate(wrong.items(), 1):
        await station.streams.send(packet)
        await Timer(12, "us")
        counters = await station.shell(lambda shell: shell.read_counters())
        assert (counters["stat_packets_refused"], counters["stat_packets"]) == (number, 0), name
    msdu = station.random.bytes(33)
    await station.give(msdu, group, RATE_2MBPS, tag=77)
    assert mpdu.read((data := await station.next_sent()).psdu, len(data.psdu)).msdu == msdu
    record = (await station.streams.next()).record
    assert record is not None
    assert (record["tag"], record["result"]) == (77, TxResult.GROUP_SENT)
    counters = await station.shell(lambda shell: shell.read_counters())
    assert (counters["stat_packets"], counters["stat_records"]) == (1, 1)


@cocotb.test()
@cocotb.parametrize(when=["sending", "hearing", "giving", "taking"])
async def a_reset_in_the_middle_leaves_nothing_behind(dut, when: str):
    """In a frame that is sent or heard, in a packet of the host, in one to the host: silence, reset values, then all
    works."""
    station = await ShellStation.start(dut)
    if when == "sending":
        await station.give(bytes(60), PEER, RATE_1MBPS, tag=1)
        while dut.radio_tx_running.value != 1:
            await RisingEdge(dut.radio_clk)
        await Timer(230, "us")
        assert dut.radio_tx_running.value == 1
    elif when == "hearing":
        station.hear(data_for_us(bytes(60)), RATE_1MBPS)
        await Timer(300, "us")
    elif when == "giving":
        packet = HostSend(msdu_bytes=60, tag=1, receiver_address=PEER).encode() + bytes(60)
        giving = cocotb.start_soon(station.streams.send(packet))
        await ClockCycles(dut.host_clk, 14)
        giving.cancel()
        dut.s_packet_tvalid.value = 0
    else:
        station.streams.take = False
        station.hear(data_for_us(bytes(60)), RATE_2MBPS)
        await station.next_sent()
        assert dut.m_packet_tvalid.value == 1
        station.streams.take = True
        await ClockCycles(dut.host_clk, 8)
        station.streams.take = False
    dut.host_rst.value = 1
    await ClockCycles(dut.host_clk, 4)
    await ClockCycles(dut.radio_clk, 4)
    assert dut.radio_tx_running.value == 0 and int(dut.radio_tx_data.value) == 0
    # What was on the air goes on, and is not answered.
    await Timer(700, "us")
    station.antenna.sent.clear()
    await station.reset()
    station.streams.take = True
    while not station.streams.taken.empty():
        station.streams.taken.get_nowait()
    assert await station.port.read(REGISTERS["control"].address) == 0
    assert not (await station.shell(lambda shell: shell.read("route")))["own_converter"]
    await station.set_up("dsss_long")
    msdu = station.random.bytes(12)
    heard = station.hear(data_for_us(msdu, 9), RATE_2MBPS)
    mac_ack = await station.next_sent()
    assert sifs_after(heard, mac_ack) == pytest.approx(SIFS_US, abs=SIFS_TOLERANCE_US)
    assert (await station.streams.next()).msdu == msdu
    await ClockCycles(dut.host_clk, 100)
    assert station.streams.taken.empty()
    assert (await station.shell(lambda shell: shell.read_counters()))["stat_packets"] == 0


@cocotb.test()
async def a_converter_that_is_not_owned_is_the_other_users(dut):
    """The modem hears; samples and switches of the other user pass."""
    station = await ShellStation.start(dut)
    await station.shell(lambda shell: shell.write("route", own_converter=0))
    await Timer(1, "us")
    dut.other_tx_data.value = 0x1234_5678
    dut.other_rx_running.value = 1
    for running in (0, 1):
        dut.other_tx_running.value = running
        await ClockCycles(dut.radio_clk, 2)
        assert (int(dut.radio_tx_running.value), int(dut.radio_rx_running.value)) == (running, 1)
        assert int(dut.radio_tx_data.value) == 0x1234_5678
    dut.other_tx_running.value = 0
    await ClockCycles(dut.radio_clk, 4)
    station.antenna.sent.clear()
    msdu = station.random.bytes(12)
    station.hear(data_for_us(msdu), RATE_2MBPS)
    assert (await station.streams.next()).msdu == msdu
    await Timer(400, "us")
    assert not station.antenna.sent


def now_ps() -> int:
    return round(get_sim_time("ps"))


@cocotb.test()
async def a_host_that_is_gone_is_not_answered_for_until_one_is_back(dut):
    """The limit runs from the last write of the register; then nothing is sent, answers among it.

    0   beat          beat              gone       own_converter set
    |----|<- 0.8 ms ->|<---- 1 ms ----->|  silent  |
    """
    station = await ShellStation.start(dut)
    await station.shell(lambda shell: shell.write("heartbeat", limit_ms=1))
    gone = "stat_hosts_gone"

    async def is_answered(sequence: int) -> bool:
        station.antenna.sent.clear()
        station.hear(data_for_us(station.random.bytes(12), sequence), RATE_2MBPS)
        await station.streams.next()
        await Timer(450, "us")
        return bool(station.antenna.sent)

    for _ in range(2):
        await Timer(800, "us")
        await station.shell(lambda shell: shell.write("heartbeat", limit_ms=1))
    began_ps = now_ps()
    assert await is_answered(1), "beats keep it going"
    await Timer(began_ps + 990_000_000 - now_ps(), "ps")
    assert dut.owned.value == 1 and not (await station.shell(lambda shell: shell.read_counters()))[gone]
    await Timer(began_ps + 1_010_000_000 - now_ps(), "ps")
    assert dut.owned.value == 0 and (await station.shell(lambda shell: shell.read_counters()))[gone] == 1
    assert not (await station.shell(lambda shell: shell.read("route")))["own_converter"]
    # What nobody answers is over with its end.
    station.antenna.sent.clear()
    await station.give(station.random.bytes(40), BROADCAST, 1, 5)
    assert (await station.streams.next()).record and not station.antenna.sent
    assert not await is_answered(2)
    await station.shell(lambda shell: shell.write("heartbeat", limit_ms=1))
    assert not await is_answered(3), "a beat alone gives the converter to nobody"
    await station.shell(lambda shell: (shell.write("heartbeat", limit_ms=0), shell.write("route", own_converter=1)))
    await Timer(1500, "us")
    assert await is_answered(4), "without a limit a host is never gone"
    assert (await station.shell(lambda shell: shell.read_counters()))[gone] == 1


@cocotb.test()
async def a_frame_is_cut_where_the_host_is_gone(dut):
    """Nothing of it is on the air behind that, and the front end hears again."""
    station = await ShellStation.start(dut)
    await station.give(station.random.bytes(1500), BROADCAST, 0, 1)
    await RisingEdge(dut.radio_tx_running)
    await station.shell(lambda shell: shell.write("heartbeat", limit_ms=1))
    await Timer(980, "us")
    assert dut.radio_tx_running.value == 1
    await Timer(30, "us")
    assert dut.radio_tx_running.value == 0
    dut.other_rx_running.value = 1
    await ClockCycles(dut.radio_clk, 2)
    assert dut.radio_rx_running.value == 1


@cocotb.test()
@cocotb.parametrize(trouble=["converter too fast", "converter stands"])
async def samples_that_are_lost_are_counted_and_sifs_is_as_before(dut, trouble: str):
    """A converter that is faster than the modem for a while, or stands: then SIFS holds again to the sample."""
    station = await ShellStation.start(dut, clocks_per_sample=2, radio_ps=22727)
    before = await station.shell(lambda shell: shell.read_counters())
    if trouble == "converter too fast":
        station.antenna.clocks_per_sample = 1
        await Timer(20, "us")
        station.antenna.clocks_per_sample = 2
    else:
        station.antenna.stands = True
        await Timer(20, "us")
        station.antenna.stands = False
    await Timer(20, "us")
    after = await station.shell(lambda shell: shell.read_counters())
    lost = after["stat_rx_samples_lost"] - before["stat_rx_samples_lost"]
    assert (lost > 0) == (trouble == "converter too fast")
    for sequence in range(2):
        msdu = station.random.bytes(12)
        heard = station.hear(data_for_us(msdu, sequence), RATE_2MBPS)
        mac_ack = await station.next_sent()
        assert sifs_after(heard, mac_ack) == pytest.approx(SIFS_US, abs=SIFS_TOLERANCE_US)
        assert (await station.streams.next()).msdu == msdu
    last = await station.shell(lambda shell: shell.read_counters())
    for name in ("stat_rx_samples_lost", "stat_tx_samples_late"):
        assert last[name] == after[name], name


NAMES = cocotb_tests(globals())
# One of a kind; `make hw-check` runs them all.
QUICK = [
    name
    for name in NAMES
    if "register" in name or "phase_ps=5000" in name or "that_are_none" in name or "piece" in name
]


@pytest.mark.parametrize("name", QUICK)
def test_shell_top(name):
    simulate("shell_top", __file__, name, QUICK)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if name not in QUICK])
def test_shell_top_at_length(name):
    simulate("shell_top", __file__, name)
