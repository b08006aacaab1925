# SPDX-License-Identifier: GPL-2.0-or-later
"""plcp_parser: frames of both preambles and rates from their bits, bad headers, foreign rates, searches that end."""

import random

import cocotb
import pytest
from perhop.phy import constants as phy
from perhop.phy import plcp
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


INPUTS = ("rst", "tracking", "bit_valid", "bit_data", "symbol_done", "carrier_lost")
KINDS = [(RATE_1MBPS, False), (RATE_2MBPS, False), (RATE_2MBPS, True)]


class Parser(Clocked):
    """Gives symbols at the times of symbol_demodulator and notes what is said."""

    def __init__(self, dut) -> None:
        super().__init__(dut, *INPUTS)
        self.octets = bytearray()
        self.events: list[str] = []

    def note(self) -> None:
        if self.octet_valid:
            self.octets.append(self.octet)
        for name in ("frame_start", "frame_end", "evt_header_error", "evt_given_up"):
            if getattr(self, name):
                self.events.append(name)
        if self.frame_end:
            self.ended = (self.frame_lost, self.frame_left_us if self.frame_lost else 0)

    async def symbol(self, bits: tuple[int, ...], lost: int = 0) -> None:
        for inputs in (*({"bit_valid": 1, "bit_data": bit} for bit in bits), {}, {"symbol_done": 1}, {}):
            await self.set(bit_valid=0, symbol_done=0, carrier_lost=lost)
            await self.set(**inputs)
            self.note()
            await self.clock()
        await self.set(symbol_done=0, carrier_lost=0)

    async def track(self) -> None:
        await self.set(tracking=0)
        await self.clock()
        await self.clock()
        assert self.in_sync and not self.two_bits and not self.finish
        await self.set(tracking=1)
        self.octets.clear()
        self.events.clear()


@cocotb.test()
async def frames_of_every_kind_come_out(dut):
    source = random.Random(SEED)
    parser = Parser(dut)
    await parser.reset()
    for rate, short in KINDS:
        await parser.track()
        frame = Frame(source.randbytes(source.randrange(1, 12)), rate, short)
        symbols = frame.symbols()
        # The lock comes somewhere in SYNC.
        for number, symbol in enumerate(symbols[source.randrange(5, 30) :]):
            assert not parser.finish, number
            assert (2 if parser.two_bits else 1) == len(symbol)
            await parser.symbol(symbol)
        assert parser.events == ["frame_start", "frame_end"]
        assert bytes(parser.octets) == frame.psdu
        assert parser.signal == plcp.SIGNALS[rate] and parser.short_preamble == short
        assert parser.finish and not parser.frame_running
        # Until tracking ends nothing more is taken.
        await parser.symbol((1,))
        assert parser.finish and len(parser.events) == 2


@cocotb.test()
async def a_bad_header_a_foreign_rate_and_no_sfd(dut):
    parser = Parser(dut)
    await parser.reset()
    preamble, wrong = Frame(bytes(1)).preamble_bits(), plcp.header_of(0x0A, 0, 64)
    wrong[-1] ^= 1
    for header, length, events in (
        (wrong, 0, ["evt_header_error"]),
        (plcp.header_of(0x6E, 0, 5), 5, ["frame_start", "frame_end"]),
        (plcp.header_of(0x14, 0, 0), 0, ["frame_start", "frame_end"]),
        ([], 60, ["evt_given_up"]),
    ):
        await parser.track()
        if not header:
            preamble = [1] * 180
        for bit in plcp.scrambled(preamble + header, phy.SCRAMBLER_SEED_LONG):
            await parser.symbol((bit,))
        for _ in range(length):
            assert parser.finish or parser.frame_running
            await parser.symbol((1,) * (2 if parser.two_bits else 1))
        assert parser.events == events and parser.finish


@cocotb.test()
async def a_frame_ends_with_the_symbol_in_which_its_carrier_is_lost(dut):
    """Of eight; it tells how many are still to come. Neither the header's last one nor the last of all counts."""
    parser = Parser(dut)
    await parser.reset()
    symbols = Frame(bytes(1)).symbols()
    for lost_in in (None, -1, 0, 3, 6, 7):
        await parser.track()
        for number, symbol in enumerate(symbols, 8 - len(symbols)):
            if parser.finish:
                break
            await parser.symbol(symbol, lost=int(number == lost_in))
        assert parser.events == ["frame_start", "frame_end"] and parser.finish and not parser.frame_running
        early = lost_in is not None and 0 <= lost_in < 7
        assert number - 1 == lost_in if early else number == 7
        assert parser.ended == ((1, 7 - lost_in) if early else (0, 0))
        await a_good_frame_comes_out(parser, random.Random(SEED))


async def a_good_frame_comes_out(parser: Parser, source: random.Random) -> None:
    frame = Frame(source.randbytes(2), RATE_2MBPS, short_preamble=True)
    await parser.track()
    for symbol in frame.symbols()[30:]:
        await parser.symbol(symbol)
    assert parser.events == ["frame_start", "frame_end"] and bytes(parser.octets) == frame.psdu


@cocotb.test()
@cocotb.parametrize(field=["signal", "service", "length"])
async def no_header_wedges_it(dut, field: str):
    """Every SIGNAL, every SERVICE, LENGTHs around each power of two; some with a bit flipped, some cut off.

    A frame that begins ends after LENGTH symbols, and the next good frame comes out.
    """
    source = random.Random(f"{SEED} {field}")
    parser = Parser(dut)
    await parser.reset()
    preamble = Frame(bytes(1), RATE_2MBPS, short_preamble=True).preamble_bits()
    lengths = sorted({max(0, (1 << bit) + off) for bit in range(12) for off in (-1, 0, 1)})
    cases = list(range(256)) if field != "length" else lengths
    ends = dict.fromkeys(("whole", "flipped", "cut"), 0)
    for number, value in enumerate(cases):
        told = {"signal": source.randrange(256), "service": source.randrange(256), "length": source.randrange(6)}
        told[field] = value
        header = plcp.header_of(told["signal"], told["service"], told["length"])
        what = source.choice(("whole", "whole", "flipped", "cut"))
        if what == "flipped":
            header[source.randrange(48)] ^= 1
        bits = plcp.scrambled(preamble + header, phy.SCRAMBLER_SEED_SHORT)
        singles, pairs = bits[40:72], bits[72:]
        symbols = [(bit,) for bit in singles] + list(zip(pairs[::2], pairs[1::2], strict=True))
        body = [() for _ in range(told["length"])]
        cut = source.randrange(len(symbols) + len(body)) if what == "cut" else None
        await parser.track()
        for symbol in (symbols + body)[:cut]:
            two = source.getrandbits(1), source.getrandbits(1)
            await parser.symbol(symbol or two[: 2 if parser.two_bits else 1])
        if what == "whole":
            assert parser.events == ["frame_start", "frame_end"], told
            assert (parser.signal, parser.service, parser.length_us) == tuple(told.values())
        elif what == "flipped":
            assert parser.events == ["evt_header_error"], told
        assert parser.finish or what == "cut"
        ends[what] += 1
        if what == "cut" or number % 8 == 0:
            await a_good_frame_comes_out(parser, source)
    assert min(ends.values()) > 0, ends


@cocotb.test()
@cocotb.parametrize(length_us=[4095, 32_768, 65_535])
async def a_long_length_is_waited_for_to_the_symbol(dut, length_us: int):
    """Of all others gateware/formal says so; that the parser is wired as the proofs have it is seen here."""
    parser = Parser(dut)
    await parser.reset()
    await parser.track()
    header = Frame(bytes(1), RATE_2MBPS, True).preamble_bits() + plcp.header_of(0x6E, 0x80, length_us)
    bits = plcp.scrambled(header, phy.SCRAMBLER_SEED_SHORT)
    for symbol in [(bit,) for bit in bits[40:72]] + list(zip(bits[72::2], bits[73::2], strict=True)):
        await parser.symbol(symbol)
    assert parser.events == ["frame_start"] and parser.length_us == length_us
    for _ in range(length_us - 1):
        await parser.clock(symbol_done=1)
    assert parser.frame_running and not parser.finish
    await parser.symbol((1,))
    assert parser.events == ["frame_start", "frame_end"] and parser.finish
    await a_good_frame_comes_out(parser, random.Random(SEED))


@cocotb.test()
@cocotb.parametrize(short=[False, True])
async def a_signal_may_end_with_any_symbol_of_the_plcp(dut, short: bool):
    """What comes behind it are bits without meaning, with or without a carrier; in time the search begins anew."""
    source = random.Random(f"{SEED} ends {short}")
    parser = Parser(dut)
    await parser.reset()
    symbols = Frame(bytes(1), RATE_2MBPS, short).symbols()[:-4]
    for end in range(len(symbols)):
        await parser.track()
        for symbol in symbols[:end]:
            await parser.symbol(symbol)
        lost = source.getrandbits(1)
        after = 0
        # By chance a header can be good, of any LENGTH: one of 65,536.
        while not parser.finish and parser.events != ["frame_start"]:
            bits = source.getrandbits(1), source.getrandbits(1)
            await parser.symbol(bits[: 2 if parser.two_bits else 1], lost)
            after += 1
            assert after <= 170 + 48, end
        assert not lost or after == 1
        if end % 8 == 0:
            await a_good_frame_comes_out(parser, source)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_plcp_parser(name):
    simulate("plcp_parser", __file__, name, cocotb_tests(globals()))
