# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_bytes: real frames at the times of mac_core, whether bytes move between the ticks or beside them."""

import random
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotbext.perhop.exchange import PARTS
from cocotbext.perhop.mpdu import any_frame, control_frame, data_frame
from cocotbext.perhop.settings import RATES, apply_settings, profile_settings
from perhop.registers.spec_generated import (
    PROFILES,
    RX_STATUS_FIELDS,
    FrameKind,
    TxResult,
    airtime_coefficients,
    airtime_us,
    decode_completion_record,
)
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
US, PEER, NET, BROADCAST = 0x0200_0000_0001, 0x0200_0000_0002, 0x0211_2233_4455, 0xFFFF_FFFF_FFFF
PARAMETERS = {"PACKETS": 4, "TX_RING_BYTES": 4096, "RX_RING_BYTES": 4096, "RX_FRAMES": 4}
TIMING = PROFILES["dsss_long"]
RTS_US, CTS_US, SIFS_US, RATE = 352, 304, 10, 1
INPUTS = (
    *("tick_n", "cfg_seed_load", "nbr_take", "nbr_index", "nbr_bin"),
    *("phy_cca_busy", "phy_rx_start", "phy_rx_rate", "phy_rx_bytes", "phy_rx_data", "phy_rx_valid", "phy_rx_end"),
    *("phy_rx_error", "phy_rx_rssi_dbm", "s_desc_valid", "s_desc_ra", "s_desc_four_address", "s_desc_a3", "s_desc_a4"),
    *("s_desc_queue", "s_desc_peer", "s_desc_bytes", "s_desc_rate", "s_desc_series_attempts", "s_desc_series_rate"),
    *("s_desc_force_rts", "s_desc_tag", "s_axis_tx_tdata"),
    *("s_axis_tx_tkeep", "s_axis_tx_tvalid", "s_axis_tx_tlast"),
)


@dataclass
class Sent:
    """A frame on its way to the PHY, and when it began."""

    at_us: int
    airtime_us: int
    bytes: int
    frame: bytearray = field(default_factory=bytearray)
    whole: bool = False


class Mac(Clocked):
    """One mac_bytes, its PHY and its host.

    beside_ticks: every microsecond is a tick, and bytes move while time passes, as in hardware. Otherwise time jumps,
    and bytes move in between.
    """

    def __init__(self, dut, *, beside_ticks: bool, **settings: int) -> None:
        super().__init__(dut, *INPUTS, desc_window=1, phy_tx_ready=1, m_axis_rx_tready=1, m_done_tready=1)
        self.beside_ticks = beside_ticks
        self.now_us = 0
        self.sent: list[Sent] = []
        self.received: list[tuple[dict[str, int], bytes]] = []
        self.records: list[dict[str, int]] = []
        self.counted = dict.fromkeys(("tx_refused", "rx_kept", "rx_overflow", "rx_duplicate", "done_overflow"), 0)
        self._counters = {name: getattr(dut, f"stat_{name}") for name in self.counted}
        self._bytes = bytearray()
        self._words: list[int] = []
        self._configure(dut, **settings)

    def _configure(self, dut, **changes: int) -> None:
        apply_settings(dut, profile_settings("dsss_long", address=US))
        for rate in range(RATES):
            coefficients = airtime_coefficients(TIMING, min(rate, len(TIMING.rates) - 1))
            for name in ("base_us", "half_bits_per_unit", "unit_shift", "overhead_half_bits"):
                getattr(dut, f"cfg_airtime_{name}")[rate].value = getattr(coefficients, name)
        for group in range(4):
            dut.cfg_group_address[group].value = 0
        more = {"bssid": NET, "rts_threshold_bytes": 0, "phy_rx_start_delay_us": TIMING.phy_rx_start_delay_us}
        more |= {"group_joined": 0, "all_groups": 0, "monitor": 0}
        self.hold(**{f"cfg_{name}": value for name, value in (more | changes).items()})

    async def start(self) -> "Mac":
        await self.reset()
        await self.step(cfg_seed_load=1)
        await self.settled()
        return self

    async def step(self, **values: int) -> None:
        """One clock; collects what comes out of every side."""
        await self.settle()
        byte = (self.phy_tx_data, self.phy_tx_last) if self.phy_tx_valid else None
        beat = None
        if self.m_axis_rx_tvalid:
            beat = (self.m_axis_rx_tdata, self.m_axis_rx_tkeep, self.m_axis_rx_tlast, self.m_rx_status)
        word = (self.m_done_tdata, self.m_done_tlast) if self.m_done_tvalid else None
        self.now_us += values.get("tick_n", 0)
        await self.clock(**values)
        if byte:
            self.sent[-1].frame.append(byte[0])
            self.sent[-1].whole = bool(byte[1])
        if self.phy_tx_start:
            self.sent.append(Sent(self.now_us, self.phy_tx_airtime_us, self.phy_tx_bytes))
        if beat:
            self._bytes += bytes([beat[0]] * beat[1])
            if beat[2]:
                self.received.append((unpacked(beat[3]), bytes(self._bytes)))
                self._bytes.clear()
        if word:
            self._words.append(word[0])
            if word[1]:
                self.records.append(decode_completion_record(self._words))
                self._words = []
        for name, port in self._counters.items():
            if port.value:
                self.counted[name] += int(port.value)

    async def settled(self) -> None:
        for _ in range(200):
            if self.quiescent:
                return
            await self.step()
        raise AssertionError("the MAC does not come to rest")

    async def drained(self) -> None:
        """The PHY takes the rest of a frame in no time, the host what is there."""
        while self.phy_tx_valid or self.m_axis_rx_tvalid or self.m_done_tvalid:
            await self.step()

    async def until(self, at_us: int) -> None:
        """Time passes."""
        await self.settled()
        while self.now_us < at_us:
            if not self.beside_ticks:
                await self.drained()
            ticks = 1 if self.beside_ticks else min(at_us - self.now_us, self.next_timer, 0xFF_FFFF)
            await self.step(tick_n=ticks)
            await self.settled()

    async def give(self, msdu: bytes, ra: int = PEER, *, tag: int = 7, **fields: int) -> None:
        """The host gives a packet."""
        descriptor = {"ra": ra, "bytes": len(msdu), "rate": RATE, "tag": tag} | fields
        await self.set(s_desc_valid=1, **{f"s_desc_{name}": value for name, value in descriptor.items()})
        assert self.s_desc_ready
        await self.step()
        self.hold(s_desc_valid=0)
        for index, byte in enumerate(msdu):
            await self.step(
                s_axis_tx_tvalid=1, s_axis_tx_tkeep=1, s_axis_tx_tdata=byte, s_axis_tx_tlast=int(index == len(msdu) - 1)
            )
        self.hold(s_desc_four_address=0, s_desc_force_rts=0)
        await self.settled()

    async def hear(self, frame: bytes, begin_us: int, air_us: int, *, told_bytes: int | None = None) -> None:
        """A frame is on the air from begin_us on: its bytes come evenly after the preamble, or all at its end."""
        await self.until(begin_us)
        self.hold(phy_cca_busy=1)
        await self.step()
        head_us = begin_us + TIMING.phy_rx_start_delay_us
        await self.until(head_us)
        await self.step(phy_rx_start=1, phy_rx_rate=0, phy_rx_bytes=len(frame) if told_bytes is None else told_bytes)
        end_us = begin_us + air_us
        for index, byte in enumerate(frame):
            if self.beside_ticks:
                await self.until(head_us + (end_us - head_us) * index // max(len(frame), 1))
            await self.step(phy_rx_valid=1, phy_rx_data=byte)
        await self.until(end_us)
        self.hold(phy_cca_busy=0)
        await self.step(phy_rx_end=1, phy_rx_rssi_dbm=(-70) & 0xFF)
        await self.settled()


def unpacked(value: int) -> dict[str, int]:
    """The status record from the port of SystemVerilog: the first member in the highest bits."""
    record = {}
    for each in reversed(RX_STATUS_FIELDS):
        record[each.name] = value & (1 << each.width_bits) - 1
        value >>= each.width_bits
    return record


@cocotb.test()
@cocotb.parametrize(beside_ticks=[False, True])
async def a_packet_goes_out_as_rts_cts_data_and_its_mac_ack_ends_it(dut, beside_ticks):
    """The MSDU's bytes arrive where the standard puts them, and each frame when mac_core sends it.

    1000  1352 1362 1666 1676            end  +10  +304
    | RTS |    | CTS |   | DATA (300 B)  |    | MAC ACK |
    """
    mac = await Mac(dut, beside_ticks=beside_ticks).start()
    msdu = random.Random(SEED).randbytes(300)
    data_us = airtime_us(TIMING, RATE, 328)
    await mac.until(1000)
    await mac.give(msdu)
    await mac.hear(control_frame(FrameKind.CTS, 2000, US), 1362, CTS_US)
    await mac.hear(control_frame(FrameKind.MAC_ACK, 0, US), 1676 + data_us + SIFS_US, CTS_US)
    await mac.until(mac.now_us + 100)
    await mac.drained()

    rts, data = mac.sent
    assert (rts.at_us, rts.airtime_us, data.at_us, data.airtime_us) == (1000, RTS_US, 1676, data_us)
    rts_duration_us = 3 * SIFS_US + CTS_US + data_us + CTS_US
    assert bytes(rts.frame) == control_frame(FrameKind.RTS, rts_duration_us, PEER, US)
    assert bytes(data.frame) == data_frame(SIFS_US + CTS_US, (PEER, US, NET), 1, msdu)
    assert rts.whole and data.whole
    (record,) = mac.records
    assert (record["result"], record["tag"], record["bytes"]) == (TxResult.DELIVERED, 7, 328)
    assert (record["t_enqueue_us"], record["t_done_us"]) == (1000, 1676 + data_us + SIFS_US + CTS_US)
    assert mac.received == []


@cocotb.test()
@cocotb.parametrize(beside_ticks=[False, True])
async def a_retry_sends_the_same_bytes_again_with_the_retry_bit(dut, beside_ticks):
    mac = await Mac(dut, beside_ticks=beside_ticks, rts_threshold_bytes=4000).start()
    msdu = random.Random(SEED).randbytes(60)
    addresses = (PEER, US, 0x33, 0x44)
    await mac.give(msdu, four_address=1, a3=0x33, a4=0x44)
    for _ in range(100):
        if len(mac.sent) == 2:
            break
        await mac.until(mac.now_us + 100)
    await mac.until(mac.sent[1].at_us + mac.sent[1].airtime_us)
    first, second = mac.sent
    assert bytes(first.frame) == data_frame(SIFS_US + CTS_US, addresses, 1, msdu)
    assert bytes(second.frame) == data_frame(SIFS_US + CTS_US, addresses, 1, msdu, retry=True)


@cocotb.test()
@cocotb.parametrize(beside_ticks=[False, True])
async def a_data_frame_is_answered_after_sifs_and_its_msdu_goes_to_the_host_once(dut, beside_ticks):
    mac = await Mac(dut, beside_ticks=beside_ticks).start()
    msdu = bytes(range(50))
    air_us = airtime_us(TIMING, 0, 78)
    for begin_us, retry in ((2000, False), (6000, True)):
        frame = data_frame(SIFS_US + CTS_US, (US, PEER, NET), 9, msdu, retry=retry)
        await mac.hear(frame, begin_us, air_us)
        await mac.until(begin_us + air_us + 1000)
    await mac.drained()
    assert [sent.at_us for sent in mac.sent] == [2000 + air_us + SIFS_US, 6000 + air_us + SIFS_US]
    assert {bytes(sent.frame) for sent in mac.sent} == {control_frame(FrameKind.MAC_ACK, 0, PEER)}
    ((status, received),) = mac.received
    assert received == msdu
    right = {"tsf_us": 2000, "bytes": 78, "rate": 0, "rssi_dbm": 186, "fcs_ok": 1, "kind": FrameKind.DATA, "ra": US}
    assert status == right | {"ta": PEER, "a3": NET, "a4": 0, "sequence": 9, "retry": 0}
    assert mac.counted["rx_duplicate"] == 1


@cocotb.test()
async def what_is_not_for_the_host_does_not_reach_it(dut):
    """Bad FCS, others' frames, groups not joined, control frames; in monitor mode all of them do, whole."""
    good = data_frame(0, (US, PEER, NET), 9, b"for us")
    wrong = bytearray(good)
    wrong[30] ^= 4
    heard = [
        bytes(wrong),
        data_frame(0, (PEER, US, NET), 9, b"for somebody else"),
        data_frame(0, (0x0100_5E00_0001, PEER, NET), 9, b"for a group"),
        control_frame(FrameKind.CTS, 0, PEER),
        data_frame(0, (BROADCAST, PEER, NET), 9, b"for all"),
        good,
    ]
    for monitor in (0, 1):
        mac = await Mac(dut, beside_ticks=False, monitor=monitor).start()
        for index, frame in enumerate(heard):
            await mac.hear(frame, 2000 * (index + 1), 1000)
        await mac.until(20000)
        await mac.drained()
        if monitor:
            assert [received for _, received in mac.received] == heard
            assert [status["fcs_ok"] for status, _ in mac.received] == [0, 1, 1, 1, 1, 1]
        else:
            assert [received for _, received in mac.received] == [b"for all", b"for us"]


@cocotb.test()
async def after_any_flood_of_bad_frames_a_normal_exchange_succeeds(dut):
    """Cut off, wrong length, wrong FCS, own address as sender, longest Duration, no pause between frames."""
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    mac = await Mac(dut, beside_ticks=False).start()
    for _ in range(120):
        frame = any_frame(source)
        what = source.randrange(5)
        if what == 0:
            frame = frame[: source.randrange(len(frame))]
        elif what == 1:
            frame = data_frame(32767, (US, US, NET), source.getrandbits(12), source.randbytes(20), retry=True)
        told = len(frame) if what != 2 else source.getrandbits(12)
        await mac.step(phy_rx_start=1, phy_rx_bytes=told, phy_rx_rate=source.randrange(8))
        for byte in frame:
            await mac.step(phy_rx_valid=1, phy_rx_data=byte)
        if what != 3:
            await mac.step(phy_rx_end=1, phy_rx_error=int(what == 4))
        if source.random() < 0.5:
            await mac.settled()
            await mac.until(mac.now_us + source.randrange(1, 400))
    await mac.until(mac.now_us + 40000)
    await mac.drained()
    sent, done = len(mac.sent), len(mac.records)
    await mac.give(b"still there?", tag=99)
    assert len(mac.sent) == sent + 1, "no RTS on an idle medium"
    begin_us = mac.now_us + RTS_US + SIFS_US
    await mac.hear(control_frame(FrameKind.CTS, 1000, US), begin_us, CTS_US)
    begin_us += CTS_US + SIFS_US + airtime_us(TIMING, RATE, 40) + SIFS_US
    await mac.hear(control_frame(FrameKind.MAC_ACK, 0, US), begin_us, CTS_US)
    await mac.drained()
    assert mac.sent[-1].whole and mac.sent[-1].bytes == 40
    assert [record["tag"] for record in mac.records[done:]] == [99]
    assert mac.records[-1]["result"] == TxResult.DELIVERED


@cocotb.test()
async def of_two_queues_the_higher_overtakes_and_each_sends_its_own_bytes(dut):
    """Four packets of low priority wait; one of high priority, given later, is the next on the air.

    Sequence numbers and records tell the queues apart, and the parts of every record sum to the whole.
    """
    mac = await Mac(dut, beside_ticks=False, rts_threshold_bytes=4000).start()
    dut.cfg_aifs_extra_slots[0].value = 7
    source = random.Random(SEED)
    low = [source.randbytes(200 + 10 * number) for number in range(4)]
    high = [source.randbytes(50), source.randbytes(60)]
    await mac.until(1000)
    for number, msdu in enumerate(low):
        await mac.give(msdu, tag=number)
    await mac.until(1100)
    for number, msdu in enumerate(high):
        await mac.give(msdu, tag=100 + number, queue=1)
    acknowledged = 0
    while len(mac.records) < 6:
        while len(mac.sent) == acknowledged:
            await mac.until(mac.now_us + 10)
        sent = mac.sent[acknowledged]
        await mac.hear(control_frame(FrameKind.MAC_ACK, 0, US), sent.at_us + sent.airtime_us + SIFS_US, CTS_US)
        acknowledged += 1
        await mac.drained()
    order = [(low, 0), (high, 0), (high, 1), (low, 1), (low, 2), (low, 3)]
    for sent, (packets, number) in zip(mac.sent, order, strict=True):
        sequence = number + 1 + (0x800 if packets is high else 0)
        assert bytes(sent.frame) == data_frame(SIFS_US + CTS_US, (PEER, US, NET), sequence, packets[number])
    assert [record["tag"] for record in mac.records] == [0, 100, 101, 1, 2, 3]
    for record in mac.records:
        assert record["queue"] == (record["tag"] >= 100)
        assert sum(record[part] for part in PARTS) == record["t_done_us"] - record["t_enqueue_us"]
    waited = mac.records[3]
    assert waited["responder_us"] >= sum(sent.airtime_us + SIFS_US + CTS_US for sent in mac.sent[1:3])


@cocotb.test()
@cocotb.parametrize(queue=[0, 1])
async def with_two_queues_retries_step_through_the_rates_of_the_series(dut, queue):
    """Two attempts at 11 Mb/s, one at 5.5, then 1 Mb/s for all the rest; each frame has the airtime of its rate."""
    mac = await Mac(dut, beside_ticks=False, rts_threshold_bytes=4000).start()
    msdu = random.Random(SEED).randbytes(400)
    await mac.give(msdu, rate=3, series_attempts=2 | 1 << 5 | 1 << 10, series_rate=2 | 0 << 3 | 3 << 6, queue=queue)
    while not mac.records:
        await mac.until(mac.now_us + 100)  # shorter than a frame, whose bytes then have time to go
        await mac.drained()
    rates = [3, 3, 2, 0, 0, 0, 0]
    assert [sent.airtime_us for sent in mac.sent] == [airtime_us(TIMING, rate, 428) for rate in rates]
    assert {bytes(sent.frame)[24:-4] for sent in mac.sent} == {msdu}
    (record,) = mac.records
    assert (record["queue"], record["rate"], record["data_attempts"]) == (queue, 0, 7)
    assert record["result"] == TxResult.SHORT_RETRY_LIMIT


@cocotb.test()
async def of_two_queues_a_full_one_leaves_the_other_its_room(dut):
    mac = await Mac(dut, beside_ticks=False).start()
    await mac.set(phy_cca_busy=1)
    for queue in (0, 1):
        for number in range(4):
            await mac.give(bytes([queue, number]), tag=number, queue=queue)
        await mac.set(s_desc_valid=1, s_desc_queue=queue, s_desc_bytes=2)
        assert not mac.s_desc_ready
        await mac.set(s_desc_queue=1 - queue)
        assert mac.s_desc_ready == (queue == 0)
        await mac.set(s_desc_valid=0)


TWO = [name for name in cocotb_tests(globals()) if "two_queues" in name]
ONE = [name for name in cocotb_tests(globals()) if name not in TWO]


@pytest.mark.parametrize("name", ONE)
def test_mac_bytes(name):
    simulate("mac_bytes", __file__, name, ONE, PARAMETERS)


@pytest.mark.parametrize("name", TWO)
def test_mac_bytes_of_two_queues(name):
    simulate("mac_bytes", __file__, name, TWO, PARAMETERS | {"QUEUES": 2, "RATE_SERIES": 4})
