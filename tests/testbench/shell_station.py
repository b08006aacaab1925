# SPDX-License-Identifier: GPL-2.0-or-later
"""A shell_top with its host, its converter and its three clocks: models of the control port, the packet streams and
the radio."""

from dataclasses import dataclass

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.queue import Queue
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, RisingEdge, Timer, with_timeout
from cocotbext.perhop.mac_host import ADDRESS
from numpy.typing import NDArray
from perhop.registers import MacRegisters
from perhop.registers.radio import RadioRegisters
from perhop.registers.shell import ShellRegisters
from perhop.registers.spec_generated import HostFrame, HostRecord, HostSend, decode_completion_record

from testbench.radio_station import LONGEST_WAIT_US, SAMPLES_PER_US, SEED, OnAir, Station

PORT_TIMEOUT_US = 50
STREAM_PACKET_WORDS = 364
"""Of a packet of UHD's stream by Ethernet's 1500 bytes: less IP, UDP, CHDR and the time."""
FULL_SCALE = 16
"""Steps of the converter's 16 bits in one of the modem's 12."""


class ControlPort:
    """The master of a control port: a request of a clock, then its answer; counts answers that nobody asked for."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.uncalled = 0
        self._waits = False
        for name in ("wr", "rd", "addr", "data"):
            getattr(dut, f"s_ctrlport_req_{name}").value = 0
        cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        while True:
            await RisingEdge(self.dut.host_clk)
            if self.dut.s_ctrlport_resp_ack.value == 1 and not self._waits:
                self.uncalled += 1

    async def request(self, address: int, word: int | None = None) -> tuple[int, int]:
        """Reads, or writes a word; returns status and what was read."""
        dut = self.dut
        dut.s_ctrlport_req_addr.value = address
        dut.s_ctrlport_req_data.value = word or 0
        strobe = dut.s_ctrlport_req_rd if word is None else dut.s_ctrlport_req_wr
        strobe.value = 1
        self._waits = True
        await RisingEdge(dut.host_clk)
        strobe.value = 0
        while True:
            await RisingEdge(dut.host_clk)
            if dut.s_ctrlport_resp_ack.value == 1:
                break
        self._waits = False
        return int(dut.s_ctrlport_resp_status.value), int(dut.s_ctrlport_resp_data.value)

    async def read(self, address: int) -> int:
        status, word = await with_timeout(self.request(address), PORT_TIMEOUT_US, "us")
        assert status == 0, f"the read of {address:#x} was refused"
        return word

    async def write(self, address: int, word: int) -> None:
        status, _ = await with_timeout(self.request(address, word), PORT_TIMEOUT_US, "us")
        assert status == 0, f"the write of {address:#x} was refused"


class _BlockingBus:
    """perhop.registers.Bus for a program in a thread of its own."""

    def __init__(self, port: ControlPort) -> None:
        self.read32 = resume(port.read)
        self.write32 = resume(port.write)


@dataclass(frozen=True)
class ToHost:
    """A packet of the stream to the host, read."""

    head: HostRecord | HostFrame
    record: dict[str, int] | None = None
    msdu: bytes = b""
    ticks: int | None = None
    """The device's time that came beside it."""


def read_packet(packet: bytes, ticks: int | None = None) -> ToHost:
    """What the FPGA told the host; AssertionError if its layout is none of ours."""
    assert len(packet) % 4 == 0
    if packet[0] == HostRecord().kind:
        words = [int.from_bytes(packet[at : at + 4], "little") for at in range(4, len(packet), 4)]
        return ToHost(HostRecord.decode(packet), decode_completion_record(words), ticks=ticks)
    head = HostFrame.decode(packet)
    msdu_bytes = int.from_bytes(packet[-4:], "little")
    body = packet[HostFrame.SIZE_BYTES : -4]
    assert len(body) == -(-msdu_bytes // 4) * 4, (len(body), msdu_bytes)
    assert not any(body[msdu_bytes:])
    return ToHost(head, msdu=body[:msdu_bytes], ticks=ticks)


class PacketStreams:
    """Packets of 32-bit words, both ways, with pauses where a test wants them."""

    def __init__(self, dut, random: np.random.Generator) -> None:
        self.dut = dut
        self.random = random
        self.taken: Queue[tuple[bytes, int | None]] = Queue()
        """Each with its time."""
        self.take = True
        self.pause = 0.0
        """Share of clocks in which either side waits."""
        self.most_words = STREAM_PACKET_WORDS
        """Of a packet of the stream, which may be a piece of the MAC's."""
        self.piece_words: list[int] = []
        """Of the pieces that came."""
        dut.s_packet_tvalid.value = dut.s_packet_tlast.value = dut.s_packet_tdata.value = 0
        dut.s_packet_tlength.value = dut.s_packet_tends.value = 0
        dut.m_packet_tready.value = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        dut, words, piece_words = self.dut, [], 0
        while True:
            dut.m_packet_tready.value = int(self.take and self.random.random() >= self.pause)
            await RisingEdge(dut.host_clk)
            if dut.host_rst.value == 1:
                words, piece_words = [], 0
            elif dut.m_packet_tvalid.value == 1 and dut.m_packet_tready.value == 1:
                words.append(int(dut.m_packet_tdata.value))
                piece_words += 1
                assert piece_words <= STREAM_PACKET_WORDS, "longer than the transport carries"
                if dut.m_packet_tlast.value == 1:
                    self.piece_words.append(piece_words)
                    piece_words = 0
                if dut.m_packet_tlast.value == 1 and dut.m_packet_tends.value == 1:
                    ticks = int(dut.m_packet_ttimestamp.value) if dut.m_packet_thas_time.value == 1 else None
                    self.taken.put_nowait((b"".join(word.to_bytes(4, "little") for word in words), ticks))
                    words = []

    async def send(self, packet: bytes, told_bytes: int | None = None) -> None:
        """A packet of the MAC, in pieces; its length is told beside it, the right one unless another is given."""
        step = 4 * self.most_words
        pieces = [packet[at : at + step] for at in range(0, len(packet), step)]
        for number, piece in enumerate(pieces):
            last = number == len(pieces) - 1
            wrong = 0 if told_bytes is None or not last else told_bytes - len(packet)
            await self.send_piece(piece, ends=last, told_bytes=len(piece) + wrong)

    async def send_piece(self, piece: bytes, ends: bool, told_bytes: int | None = None) -> None:
        """A packet of the stream; `ends`: the MAC's packet ends with it."""
        dut = self.dut
        length = len(piece) if told_bytes is None else told_bytes
        padded = piece + b"\xa5" * (-len(piece) % 4)
        for at in range(0, len(padded), 4):
            while self.random.random() < self.pause:
                await RisingEdge(dut.host_clk)
            dut.s_packet_tdata.value = int.from_bytes(padded[at : at + 4], "little")
            dut.s_packet_tlast.value = int(at + 4 == len(padded))
            dut.s_packet_tends.value = int(ends)
            dut.s_packet_tlength.value = length
            dut.s_packet_tvalid.value = 1
            while True:
                await RisingEdge(dut.host_clk)
                if dut.s_packet_tready.value == 1:
                    break
            dut.s_packet_tvalid.value = 0

    async def next(self, timeout_ms: float = 20) -> ToHost:
        return read_packet(*await with_timeout(self.taken.get(), timeout_ms, "ms"))


class Converter:
    """The radio's side: a sample in and one out with every strobe, as testbench.antenna.Antenna has them."""

    def __init__(self, dut, random: np.random.Generator, clocks_per_sample: int = 1, noise: float = 4.0) -> None:
        self.dut = dut
        self.at = 0
        self.ticks = 0
        """The timekeeper's word of the next sample; a test may set it."""
        self.sent: list[tuple[int, NDArray[np.int64]]] = []
        self.clocks_per_sample = clocks_per_sample
        self.stands = False
        self._random = random
        self._noise = noise
        self._air: list[list[int]] = []
        dut.radio_rx_stb.value = dut.radio_tx_stb.value = dut.radio_rx_data.value = dut.radio_time.value = 0

    @property
    def waiting(self) -> int:
        return len(self._air)

    def put(self, samples: NDArray[np.int64]) -> tuple[int, int]:
        first = self.at + len(self._air)
        self._air.extend(samples.tolist())
        return first, first + len(samples)

    async def run(self) -> None:
        dut, frame, first = self.dut, [], 0
        while True:
            if len(self._air) < 2:
                noise = self._random.standard_normal((64, 2)) * self._noise
                self._air.extend(np.round(noise).astype(np.int64).tolist())
            if self.stands:
                dut.radio_rx_stb.value = dut.radio_tx_stb.value = 0
                await RisingEdge(dut.radio_clk)
                continue
            i, q = self._air.pop(0)
            dut.radio_rx_data.value = (i & 0xFFFF) << 16 | (q & 0xFFFF)
            dut.radio_rx_stb.value = dut.radio_tx_stb.value = 1
            dut.radio_time.value = self.ticks
            self.ticks += 1
            await RisingEdge(dut.radio_clk)
            # What stands at the strobe's edge is what the converter takes with it.
            if dut.radio_tx_running.value == 1:
                assert dut.radio_rx_running.value == 0 or dut.owned.value == 0
                if not frame:
                    first = self.at
                word = int(dut.radio_tx_data.value)
                frame.append([half - 0x10000 if half & 0x8000 else half for half in (word >> 16, word & 0xFFFF)])
            elif frame:
                self.sent.append((first, np.array(frame)))
                frame = []
            self.at += 1
            if self.clocks_per_sample > 1:
                dut.radio_rx_stb.value = dut.radio_tx_stb.value = 0
                for _ in range(self.clocks_per_sample - 1):
                    await RisingEdge(dut.radio_clk)


class ShellStation(Station):
    """A shell_top with its surroundings; frames on the air as a Station has them."""

    def __init__(self, dut, clocks_per_sample: int) -> None:
        dut._log.info("seed %d", SEED)
        self.dut = dut
        self.clocks_per_sample = clocks_per_sample
        self.random = np.random.default_rng(SEED)
        self.port = ControlPort(dut)
        self.streams = PacketStreams(dut, self.random)
        self.antenna = Converter(dut, self.random, clocks_per_sample)
        self.samples_per_us = SAMPLES_PER_US

    @classmethod
    async def start(
        cls,
        dut,
        profile: str | None = "dsss_long",
        radio_ps: int = 45454,
        mac_ps: int = 16666,
        host_ps: int = 10000,
        mac_phase_ps: int = 0,
        clocks_per_sample: int = 1,
        **more,
    ) -> "ShellStation":
        """Clocks run, registers are written. Without a profile they are not."""
        Clock(dut.radio_clk, radio_ps, "ps", period_high=radio_ps // 2).start()
        Clock(dut.host_clk, host_ps, "ps", period_high=host_ps // 2).start()
        dut.mac_clk_stands.value = 1
        dut.host_rst.value = 1
        dut.other_rx_running.value = dut.other_tx_running.value = dut.other_tx_data.value = 0
        if mac_phase_ps:
            await Timer(mac_phase_ps, "ps")
        Clock(dut.mac_clk, mac_ps, "ps", period_high=mac_ps // 2).start()
        station = cls(dut, clocks_per_sample)
        station.samples_per_us = round(1e6 / radio_ps / clocks_per_sample, 2)
        cocotb.start_soon(station.antenna.run())
        await station.reset()
        # Before the first reset anything may stand in the registers, and go out.
        station.antenna.sent.clear()
        if profile:
            await station.set_up(profile, **more)
        return station

    async def reset(self) -> None:
        self.dut.host_rst.value = 1
        self.dut.mac_clk_stands.value = 0
        await ClockCycles(self.dut.host_clk, 16)
        self.dut.host_rst.value = 0
        await ClockCycles(self.dut.mac_clk, 300)

    async def host(self, program, of):
        bus = _BlockingBus(self.port)
        return await bridge(lambda: program(of(bus)))()

    async def radio(self, program):
        return await self.host(program, RadioRegisters)

    async def shell(self, program):
        return await self.host(program, ShellRegisters)

    async def mac(self, program):
        return await self.host(program, MacRegisters)

    async def set_up(self, profile: str, **more) -> None:
        def program(registers: tuple[MacRegisters, RadioRegisters, ShellRegisters]) -> None:
            mac, radio, shell = registers
            mac.disable()
            shell.load_profile(mac, radio, profile, self.samples_per_us)
            mac.set_station(ADDRESS["a"], SEED)
            mac.write("rts_threshold", value_bytes=4095)
            for name, fields in more.items():
                radio.write(name, **fields)
            shell.write("route", own_converter=1)
            mac.enable()

        await self.host(program, lambda bus: (MacRegisters(bus), RadioRegisters(bus), ShellRegisters(bus)))

    async def give(self, msdu: bytes, ra: int, rate: int, tag: int, **flags: int) -> None:
        """A packet for the MAC."""
        head = HostSend(msdu_bytes=len(msdu), tag=tag, receiver_address=ra, rate=rate, **flags)
        await self.streams.send(head.encode() + msdu)

    async def next_sent(self, gain: int = 256, within_us: int = LONGEST_WAIT_US) -> OnAir:
        for _ in range(within_us):
            if self.antenna.sent:
                break
            await Timer(1, "us")
        assert self.antenna.sent, "the radio sent nothing"
        first, samples = self.antenna.sent.pop(0)
        assert not np.any(samples % FULL_SCALE)
        return self.read_sent(first, samples // FULL_SCALE, gain)
