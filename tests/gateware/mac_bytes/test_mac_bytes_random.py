# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_bytes under random packets and frames, with a scoreboard in bytes that knows nothing of the gateware:

every packet given is reported once, with what its frames and their answers on the air say; every frame on the air is a
given packet's or answers a frame heard, and has its bytes, addresses, Duration and retry bit; every DATA frame that was
answered reaches the host once, byte by byte.

PERHOP_SEED=number repeats one run alone.
"""

import os
import random
from collections import Counter
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotbext.perhop.mpdu import Reading, control_frame, data_frame, read
from cocotbext.perhop.settings import station_address
from gateware.mac_bytes.test_mac_bytes import CTS_US, NET, PARAMETERS, RATE, SIFS_US, TIMING, US, Mac, Sent
from perhop.registers.spec_generated import FrameKind, TxResult, airtime_us
from testbench.build import cocotb_tests, simulate

PEERS = [station_address(letter) for letter in "BCD"]
ALL = station_address("all")
PACKETS = 40
# Control frames, and so responses to DATA at the rates used here, go at the first rate.
RTS_US = airtime_us(TIMING, 0, 20)


@dataclass
class Given:
    """A packet of the host, and what became of it."""

    ra: int
    msdu: bytes
    queue: int
    frames: list[tuple[int, Reading]] = field(default_factory=list)


@dataclass
class Heard:
    """A frame that reached the station, and when it was over."""

    end_us: int
    reading: Reading


class World:
    """The host and the other stations around one MAC, and the scoreboard."""

    def __init__(self, mac: Mac, source: random.Random, queues: int) -> None:
        self.mac, self.source, self.queues = mac, source, queues
        self.given: dict[int, Given] = {}
        self.heard: list[Heard] = []
        self.owed: list[bytes] = []  # what the host must get
        self.last_from: dict[tuple[int, int], int] = {}
        self.sequences = {peer: source.getrandbits(12) for peer in PEERS}

    async def give(self) -> None:
        """A packet of the host, if the MAC takes one."""
        source = self.source
        msdu = source.randbytes(source.choice((1, 2, source.randrange(1, 200), source.randrange(1, 700))))
        queue = source.randrange(self.queues)
        await self.mac.set(s_desc_queue=queue, s_desc_bytes=len(msdu), s_desc_valid=1)
        ready = self.mac.s_desc_ready
        await self.mac.set(s_desc_valid=0)
        if not ready or len(self.given) - len(self.mac.records) >= 4:
            return
        tag = len(self.given) + 1
        ra = source.choice((*PEERS, ALL)) if source.random() < 0.3 else PEERS[0]
        self.given[tag] = Given(ra, msdu, queue)
        await self.mac.give(msdu, ra, tag=tag, queue=queue, force_rts=int(source.random() < 0.5))

    async def hear(self, frame: bytes, begin_us: int, air_us: int) -> None:
        """A frame of another station; own frames that go out meanwhile destroy it."""
        mac = self.mac
        await mac.until(begin_us)
        if self.sends():
            return
        had = len(mac.sent)
        mac.hold(phy_cca_busy=1)
        await mac.step()
        await mac.settled()
        head_us = begin_us + TIMING.phy_rx_start_delay_us
        await mac.until(head_us)
        if len(mac.sent) > had:
            await mac.until(begin_us + air_us)
            mac.hold(phy_cca_busy=0)
            await mac.step()
            await mac.settled()
            return
        await mac.step(phy_rx_start=1, phy_rx_rate=0, phy_rx_bytes=len(frame))
        for byte in frame:
            await mac.step(phy_rx_valid=1, phy_rx_data=byte)
        await mac.until(begin_us + air_us)
        mac.hold(phy_cca_busy=0)
        self.heard.append(Heard(mac.now_us, read(frame, len(frame))))
        await mac.step(phy_rx_end=1, phy_rx_rssi_dbm=(-60) & 0xFF)
        await mac.settled()

    def sends(self) -> bool:
        """An own frame is on the air: nothing can be received."""
        return any(sent.at_us + sent.airtime_us > self.mac.now_us for sent in self.mac.sent[-2:])

    def frame_for_us(self) -> bytes:
        """DATA, sometimes repeated, or an RTS, or somebody else's frame; a few damaged."""
        source = self.source
        peer = source.choice(PEERS)
        what = source.randrange(8)
        if what == 0:
            frame = control_frame(FrameKind.RTS, 2000, US, peer)
        elif what == 1:
            frame = control_frame(FrameKind.RTS, source.randrange(3000), PEERS[1], peer)
        elif what == 2:
            frame = data_frame(0, (ALL, peer, NET), self.next_number(peer, again=False), source.randbytes(20))
        else:
            again = source.random() < 0.4
            addresses = (US, peer, NET) if source.random() < 0.7 else (US, peer, 0x33, 0x44)
            number = self.next_number(peer, again=again)
            msdu = random.Random(peer << 12 | number).randbytes(1 + number % 97)
            frame = data_frame(SIFS_US + CTS_US, addresses, number, msdu, retry=again)
        if source.random() < 0.1:
            at = source.randrange(len(frame))
            frame = frame[:at] + bytes([frame[at] ^ 1 << source.randrange(8)]) + frame[at + 1 :]
        return frame

    def next_number(self, peer: int, *, again: bool) -> int:
        self.sequences[peer] = self.sequences[peer] + (not again) & 0xFFF
        return self.sequences[peer]

    async def live(self) -> None:
        """Packets come, the air is used, own frames are answered, mostly; until all that was given is reported."""
        mac, source = self.mac, self.source
        seen = 0
        while len(self.given) < PACKETS or len(mac.records) < len(self.given):
            if len(self.given) < PACKETS and source.random() < 0.5:
                await self.give()
            if seen < len(mac.sent):
                sent = mac.sent[seen]
                seen += 1
                await mac.until(sent.at_us + sent.airtime_us)
                await mac.drained()
                own = read(bytes(sent.frame), sent.bytes)
                wants = {FrameKind.RTS: FrameKind.CTS, FrameKind.DATA: FrameKind.MAC_ACK}.get(own.kind)
                if wants and own.ra != ALL and source.random() < 0.75:
                    answer = control_frame(wants, max(own.duration_us - SIFS_US - CTS_US, 0), US)
                    if source.random() < 0.1:
                        answer = answer[:-1] + bytes([answer[-1] ^ 1])
                    await self.hear(answer, mac.now_us + SIFS_US, CTS_US)
                continue
            pause_us = source.choice((SIFS_US + 1, 60, 60, 400, 2000))
            await mac.until(mac.now_us + pause_us)
            if not self.sends() and seen == len(mac.sent) and source.random() < 0.4:
                frame = self.frame_for_us()
                await self.hear(frame, mac.now_us + 1, airtime_us(TIMING, 0, len(frame)))
        await mac.until(mac.now_us + 5000)
        await mac.drained()

    # ---- What must have been ----

    def check(self) -> Counter[str]:
        """Raises AssertionError where something is not explained; returns how often what was met."""
        met: Counter[str] = Counter()
        for sent in self.mac.sent:
            assert sent.whole and len(sent.frame) == sent.bytes
            frame = read(bytes(sent.frame), sent.bytes)
            assert frame.ok, "an own frame with a wrong FCS, or not as long as it was said to be"
            met[frame.kind.name] += 1
            if frame.kind in (FrameKind.CTS, FrameKind.MAC_ACK):
                self._check_answer(sent.at_us, frame)
            elif frame.kind == FrameKind.RTS:
                assert frame.ta == US
                assert any(given.ra == frame.ra for given in self.given.values())
                assert sent.airtime_us == RTS_US
            else:
                self._check_data(sent, frame)
        self._check_records(met)
        received = [msdu for _, msdu in self.mac.received]
        assert received == self.owed, f"{len(received)} frames for the host, and not {len(self.owed)}"
        met["received"] = len(received)
        for name in ("tx_refused", "rx_overflow", "done_overflow"):
            assert self.mac.counted[name] == 0
        return met

    def _check_answer(self, at_us: int, frame: Reading) -> None:
        asked = {FrameKind.CTS: FrameKind.RTS, FrameKind.MAC_ACK: FrameKind.DATA}[frame.kind]
        (cause,) = [heard.reading for heard in self.heard if heard.end_us == at_us - SIFS_US]
        assert cause.ok and cause.kind == asked and cause.ra == US and frame.ra == cause.ta
        assert frame.duration_us == max(cause.duration_us - SIFS_US - CTS_US, 0)

    def _check_data(self, sent: Sent, frame: Reading) -> None:
        # Packets of a queue are numbered from 1 in the order in which they were given, whether they were sent or not.
        queue, number = (frame.sequence >> 11, frame.sequence & 0x7FF) if self.queues > 1 else (0, frame.sequence)
        found = [given for given in self.given.values() if given.queue == queue][number - 1]
        assert frame.retry == bool(found.frames)
        found.frames.append((sent.at_us, frame))
        assert (frame.ra, frame.ta, frame.a3, frame.msdu) == (found.ra, US, NET, found.msdu)
        assert frame.duration_us == (0 if found.ra == ALL else SIFS_US + CTS_US)
        assert sent.airtime_us == airtime_us(TIMING, RATE, sent.bytes)

    def _check_records(self, met: Counter[str]) -> None:
        records = {record["tag"]: record for record in self.mac.records}
        assert len(records) == len(self.mac.records), "a packet was reported twice"
        assert set(records) == set(self.given), "a packet was not reported, or one that was never given"
        for tag, given in self.given.items():
            record = records[tag]
            met[TxResult(record["result"]).name] += 1
            assert record["data_attempts"] == len(given.frames)
            assert record["bytes"] == len(given.msdu) + 28
            done_us = record["t_done_us"]
            acknowledged = [
                heard
                for heard in self.heard
                if heard.end_us == done_us and heard.reading.ok and heard.reading.kind == FrameKind.MAC_ACK
            ]
            assert (record["result"] == TxResult.DELIVERED) == bool(acknowledged)
            assert (record["result"] == TxResult.GROUP_SENT) == (given.ra == ALL)
            if given.ra == ALL:
                assert len(given.frames) == 1

    def owe(self) -> None:
        """What the host must have got: answered DATA, repetitions left out, and what is for all."""
        answers = {sent.at_us: read(bytes(sent.frame), sent.bytes) for sent in self.mac.sent}
        for heard in self.heard:
            frame = heard.reading
            if not frame.ok or frame.kind != FrameKind.DATA:
                continue
            if frame.ra == ALL:
                self.owed.append(frame.msdu)
                continue
            answer = answers.get(heard.end_us + SIFS_US)
            if frame.ra != US or answer is None or answer.kind != FrameKind.MAC_ACK:
                continue
            sender = (frame.ta, frame.sequence >> 11 if self.queues > 1 else 0)
            if not (frame.retry and self.last_from.get(sender) == frame.sequence):
                self.owed.append(frame.msdu)
            self.last_from[sender] = frame.sequence


async def run(dut, seeds: list[int], queues: int) -> None:
    met: Counter[str] = Counter()
    for seed in [int(os.environ["PERHOP_SEED"])] if "PERHOP_SEED" in os.environ else seeds:
        cocotb.log.info("PERHOP_SEED=%d", seed)
        source = random.Random(seed)
        mac = await Mac(dut, beside_ticks=False, rts_threshold_bytes=4000, seed=source.getrandbits(64)).start()
        world = World(mac, source, queues)
        await world.live()
        world.owe()
        met += world.check()
    cocotb.log.info("%s", dict(met))
    for name in ("RTS", "CTS", "DATA", "MAC_ACK", "DELIVERED", "GROUP_SENT", "SHORT_RETRY_LIMIT", "received"):
        assert met[name], f"no {name} in any of the runs"


@cocotb.test()
async def every_byte_is_accounted_for(dut):
    await run(dut, [1, 2, 3], 1)


@cocotb.test()
async def every_byte_of_two_queues_is_accounted_for(dut):
    await run(dut, [11, 12, 13], 2)


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes(name):
    queues = 2 if "two_queues" in name else 1
    simulate("mac_bytes", __file__, name, parameters=PARAMETERS | {"QUEUES": queues})
