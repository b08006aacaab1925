# SPDX-License-Identifier: GPL-2.0-or-later
"""The telemetry node on the air with its sink, which is a Peer in Python; on any simulator."""

import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.perhop.air import Air
from cocotbext.perhop.dcf_model import DcfStation
from cocotbext.perhop.exchange import Packet, TickInputs, Transmission
from cocotbext.perhop.mac_host import MacHost
from cocotbext.perhop.mpdu import control_frame, data_frame
from cocotbext.perhop.peer import Peer
from cocotbext.perhop.phy import PhyAgent
from cocotbext.perhop.settings import profile_settings
from cocotbext.perhop.spec import FrameKind, TxResult, airtime_us, mixed_seed

PROFILE = "ofdm_20mhz"
CLOCKS_PER_US = 64
CLOCK_NS = 16
TX_DELAY_CLOCKS, RX_DELAY_CLOCKS = 90, 310
SAMPLES = 16
NODE, SINK, OTHER, NET = 0x0200_0000_0001, 0x0200_0000_0002, 0x0200_0000_0003, 0x0211_2233_4455
SEED = 7
RATE = 2


class Bench:
    """The node, its host, and the others on the air."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.air = Air(dut.clk, CLOCK_NS, "ns", CLOCKS_PER_US, PROFILE)
        self.phy = PhyAgent(dut, self.air, "node", tx_delay_clocks=TX_DELAY_CLOCKS, rx_delay_clocks=RX_DELAY_CLOCKS)
        self.sink = Peer(self.air, "sink", SINK)
        self.other = Peer(self.air, "other", OTHER)
        self.host = MacHost(dut, address=NODE)

    @classmethod
    async def start(cls, dut, **registers: dict[str, int]) -> "Bench":
        """After reset, with the MAC enabled; registers by name, as MacRegisters.write takes them."""
        dut.rst.value = 1
        dut.sample_valid.value = dut.sample.value = 0
        dut.cfg_sink.value, dut.cfg_rate.value = SINK, RATE
        Clock(dut.clk, CLOCK_NS, "ns").start()
        bench = cls(dut)
        await ClockCycles(dut.clk, 4)
        dut.rst.value = 0
        await bench.host.set_up(PROFILE, SEED, (TX_DELAY_CLOCKS, RX_DELAY_CLOCKS), **registers)
        return bench

    async def feed(self, samples: list[int]) -> bytes:
        """The sensor gives samples; returns the bytes that they are on the air."""
        for sample in samples:
            await self.air.clock()
            self.dut.sample.value, self.dut.sample_valid.value = sample, 1
        await self.air.clock()
        self.dut.sample_valid.value = 0
        return b"".join(sample.to_bytes(2, "little") for sample in samples)

    def gaps(self) -> list[int]:
        """Clocks between each frame's end on the air and the next one's begin."""
        return [after.begin - before.end for before, after in itertools.pairwise(self.air.log)]

    @property
    def kinds(self) -> list[FrameKind]:
        return [frame.reading.kind for frame in self.air.log]


def some_samples(source: random.Random) -> list[int]:
    return [source.getrandbits(16) for _ in range(SAMPLES)]


@cocotb.test()
async def samples_reach_the_sink_in_one_packet(dut):
    bench = await Bench.start(dut)
    wanted = [await bench.feed(some_samples(random.Random(SEED)))]
    assert (await bench.host.completion())["result"] == TxResult.DELIVERED
    wanted.append(await bench.feed(some_samples(random.Random(SEED + 1))))
    assert (await bench.host.completion())["tag"] == 1
    assert [received.msdu for received in bench.sink.received] == wanted
    assert int(dut.lost_samples.value) == 0


@cocotb.test()
async def behind_an_rts_all_frames_are_sifs_apart_to_the_clock(dut):
    """The sink's answers are a model's; CTS to DATA is the node's own time.

    | RTS | sifs | CTS | sifs | DATA | sifs | MAC ACK |
    """
    bench = await Bench.start(dut, rts_threshold={"value_bytes": 0})
    await bench.feed(some_samples(random.Random(SEED)))
    record = await bench.host.completion()
    assert bench.kinds == [FrameKind.RTS, FrameKind.CTS, FrameKind.DATA, FrameKind.MAC_ACK]
    assert bench.gaps() == [bench.air.clocks(bench.air.timing.sifs_us)] * 3
    assert (record["result"], record["rts_attempts"], record["data_attempts"]) == (TxResult.DELIVERED, 1, 1)


@cocotb.test()
async def a_packet_for_the_node_is_answered_after_sifs_and_reaches_its_host_once(dut):
    bench = await Bench.start(dut)
    msdu = b"a command for the node"
    sifs, begin = bench.air.clocks(bench.air.timing.sifs_us), bench.air.now + 1000
    for retry in (False, True):
        frame = bench.sink.send(data_frame(60, (NODE, SINK, NET), 5, msdu, retry=retry), RATE, begin)
        begin = frame.end + bench.air.clocks(200)
    await bench.air.until(begin)
    assert bench.kinds == [FrameKind.DATA, FrameKind.MAC_ACK] * 2
    assert bench.gaps()[0] == bench.gaps()[2] == sifs
    assert await bench.host.reception() == msdu
    assert bench.host.received.empty(), "a repetition reached the host"


@cocotb.test()
async def while_the_sink_is_deaf_retries_begin_when_the_reference_model_says(dut):
    """The same seed, so the same back-offs; DcfStation is written from the standard, not from the gateware."""
    limit = 3
    bench = await Bench.start(dut, retry_limits={"short_retry_limit": limit})
    bench.sink.deaf_to[FrameKind.DATA] = limit
    msdu = await bench.feed(some_samples(random.Random(SEED)))
    record = await bench.host.completion()
    assert (record["result"], record["data_attempts"]) == (TxResult.SHORT_RETRY_LIMIT, limit)

    # A response is heard later by what the PHY delays, and the node waits so much longer for it.
    late_us = -(-(TX_DELAY_CLOCKS + RX_DELAY_CLOCKS) // CLOCKS_PER_US)
    settings = profile_settings(
        PROFILE,
        address=NODE,
        seed=mixed_seed(SEED),
        short_retry_limit=limit,
        response_timeout_us=bench.air.timing.response_timeout_us + late_us,
    )
    size_bytes = len(msdu) + 28
    packet = Packet(SINK, 0, size_bytes, RATE, airtime_us(bench.air.timing, RATE, size_bytes), use_rts=False, tag=0)
    model = DcfStation(settings)
    model.run([TickInputs(1000, packets=[packet])], 100_000)
    wanted = [output.at_us for output in model.outputs if isinstance(output, Transmission)]
    found = [frame.begin for frame in bench.air.log]
    assert len(found) == len(wanted) == limit
    for number in range(1, limit):
        gap_us = bench.air.us(found[number] - found[number - 1])
        assert gap_us == wanted[number] - wanted[number - 1], f"retry {number} began {gap_us} us after the one before"


@cocotb.test()
async def while_others_have_reserved_the_medium_the_node_waits(dut):
    """Samples come while another station's RTS is on the air: NAV, then DIFS and whole slots.

    |  RTS to another  |  ... NAV ...  | DIFS | slots | DATA
    """
    bench = await Bench.start(dut)
    air, timing = bench.air, bench.air.timing
    begin, nav_us = air.now + 1000, 700
    # Another frame follows the RTS, so that the reservation stands (9.3.2.4).
    rts = bench.other.send(control_frame(FrameKind.RTS, nav_us, 0x0200_0000_0009, OTHER), 0, begin)
    follow = data_frame(0, (0x0200_0000_0009, OTHER, NET), 1, bytes(40))
    bench.other.send(follow, 0, rts.end + air.clocks(60))
    await air.until(begin + 500)
    await bench.feed(some_samples(random.Random(SEED)))
    assert (await bench.host.completion())["result"] == TxResult.DELIVERED
    data = next(frame for frame in air.log if frame.sender == "node")
    slots, rest = divmod(data.begin - rts.end - air.clocks(nav_us + timing.difs_us), air.clocks(timing.slot_us))
    assert rest == 0, f"{air.us(rest)} us off a slot's begin"
    assert 0 <= slots <= timing.cw_min


@cocotb.test()
async def samples_that_come_too_fast_are_counted_and_spoil_no_packet(dut):
    bench = await Bench.start(dut)
    source = random.Random(SEED)
    samples = [source.getrandbits(16) for _ in range(SAMPLES + 5)]
    sent = await bench.feed(samples)
    record = await with_timeout(bench.host.completion(), 5, "ms")
    assert record["result"] == TxResult.DELIVERED
    assert bench.sink.received[0].msdu == sent[: 2 * SAMPLES]
    assert int(dut.lost_samples.value) == 5
