# SPDX-License-Identifier: GPL-2.0-or-later
"""phy_delay_rule: what the PHY delays must leave time to respond after SIFS, and for a response to come in time."""

import random

import cocotb
import pytest
from perhop.registers.spec_generated import REGISTERS
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 8021107
PER_US, DELAY_PER_US = 64, 48
SIFS, TIMEOUT, DELAY = (REGISTERS[name].address for name in ("sifs", "response_timeout", "phy_delay"))


class Rule(Clocked):
    """What the registers hold, and words that are offered."""

    def __init__(self, dut, sifs_us: int, timeout_us: int, tx_clocks: int = 0, rx_clocks: int = 0) -> None:
        self.held_now = (sifs_us, timeout_us, tx_clocks, rx_clocks)
        super().__init__(
            dut, "address", "word",
            sifs_us=sifs_us, response_timeout_us=timeout_us, tx_clocks=tx_clocks, rx_clocks=rx_clocks,
        )  # fmt: skip

    async def refuses(self, address: int, word: int) -> bool:
        await self.clock(address=address, word=word)
        return bool(self.broken)


@cocotb.test()
async def delays_fit_in_sifs_less_four_clocks(dut):
    """Of 10 us of SIFS 480 clocks, of which the MAC needs four: 476 for both directions together."""
    rule = Rule(dut, 10, 1000)
    for tx, rx, refused in ((476, 0, 0), (477, 0, 1), (0, 476, 0), (0, 477, 1), (238, 238, 0), (239, 238, 1)):
        assert await rule.refuses(DELAY, rx << 16 | tx) == refused, (tx, rx)
    assert await rule.refuses(DELAY, 0xFFFF_FFFF)


@cocotb.test()
async def sifs_does_not_get_too_short_for_the_delays(dut):
    rule = Rule(dut, 16, 1000, tx_clocks=300, rx_clocks=176)
    assert not await rule.refuses(SIFS, 10)
    assert await rule.refuses(SIFS, 9)


@cocotb.test()
async def a_response_timeout_is_longer_than_sifs_by_more_than_the_delays(dut):
    rule = Rule(dut, 100, 106, tx_clocks=200, rx_clocks=120)  # 5 us
    assert not await rule.refuses(TIMEOUT, 106)
    assert await rule.refuses(TIMEOUT, 105)
    assert not await rule.refuses(SIFS, 100)
    assert await rule.refuses(SIFS, 101)
    assert not await rule.refuses(DELAY, 183 << 16 | 200)
    assert await rule.refuses(DELAY, 184 << 16 | 200)


@cocotb.test()
async def other_registers_are_not_concerned(dut):
    rule = Rule(dut, 1, 2, tx_clocks=0xFFFF, rx_clocks=0xFFFF)
    for register in REGISTERS.values():
        if register.address not in (SIFS, TIMEOUT, DELAY):
            assert not await rule.refuses(register.address, 0), register.name
    assert await rule.refuses(SIFS, 1)


@cocotb.test()
async def at_random_it_is_the_two_inequalities(dut):
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    seen = set()
    for _ in range(2000):
        # Near the edges as often as not.
        sifs = rng.choice((rng.randrange(1, 40), rng.randrange(1, 8192)))
        total = max(0, rng.choice((sifs * DELAY_PER_US - 4 + rng.randrange(-2, 3), rng.randrange(1 << 17))))
        tx = rng.randrange(max(0, total - 0xFFFF), min(total, 0xFFFF) + 1) if total < 1 << 17 else 0xFFFF
        rx = min(total - tx, 0xFFFF)
        timeout = min(0xFFFF, sifs + 1 + rng.choice(((tx + rx) // PER_US + rng.randrange(-2, 2), rng.randrange(60000))))
        if timeout <= sifs:
            continue
        values = {SIFS: sifs, TIMEOUT: timeout, DELAY: rx << 16 | tx}
        # One of the three is written, and the others are held.
        written = rng.choice(list(values))
        held = {address: rng.randrange(1 << 13) if address == written else word for address, word in values.items()}
        rule = Rule(dut, held[SIFS], held[TIMEOUT], held[DELAY] & 0xFFFF, held[DELAY] >> 16)
        expected = tx + rx + 4 > sifs * DELAY_PER_US or tx + rx >= (timeout - sifs) * PER_US
        assert await rule.refuses(written, values[written]) == expected, (values, written)
        seen.add((written, expected))
    assert len(seen) == 6


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_phy_delay_rule(name):
    simulate("phy_delay_rule", __file__, name, cocotb_tests(globals()))
