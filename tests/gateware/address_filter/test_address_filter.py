# SPDX-License-Identifier: GPL-2.0-or-later
"""address_filter: the host gets its own frames, broadcasts, the groups it joined; in monitor mode everything."""

import random

import cocotb
import pytest
from perhop.registers.spec_generated import GROUP_SLOTS
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
US, BROADCAST = 0x0200_0000_0001, 0xFFFF_FFFF_FFFF
GROUPS = [0x0100_5E00_0001 + index for index in range(GROUP_SLOTS)]


async def started(dut, joined: int = 0, **settings: int) -> Clocked:
    address_filter = Clocked(
        dut, "cfg_all_groups", "cfg_monitor", "check", "ra", cfg_address=US, cfg_group_joined=joined, **settings
    )
    for index, group in enumerate(GROUPS):
        dut.cfg_group_address[index].value = group
    await address_filter.reset()
    return address_filter


async def verdict(address_filter: Clocked, ra: int) -> tuple[int, int, int]:
    await address_filter.clock(check=1, ra=ra)
    found = (address_filter.own, address_filter.group, address_filter.wanted)
    await address_filter.clock()
    assert found == (address_filter.own, address_filter.group, address_filter.wanted)
    return found


@cocotb.test()
async def own_frames_and_broadcasts_are_wanted_and_nobody_elses(dut):
    address_filter = await started(dut)
    assert await verdict(address_filter, US) == (1, 0, 1)
    assert await verdict(address_filter, BROADCAST) == (0, 1, 1)
    for bit in range(48):
        assert await verdict(address_filter, US ^ 1 << bit) == (0, 0, 0)
        assert await verdict(address_filter, BROADCAST ^ 1 << bit) == (0, 0, 0)


@cocotb.test()
async def a_group_is_wanted_when_joined(dut):
    for joined in range(1 << GROUP_SLOTS):
        address_filter = await started(dut, joined=joined)
        for index, group in enumerate(GROUPS):
            wanted = joined >> index & 1
            assert await verdict(address_filter, group) == (0, wanted, wanted)
    assert await verdict(address_filter, GROUPS[0] ^ 1 << 47) == (0, 0, 0)


@cocotb.test()
async def all_groups_and_monitor_mode_open_the_filter(dut):
    address_filter = await started(dut, cfg_all_groups=1)
    assert await verdict(address_filter, GROUPS[3]) == (0, 1, 1)
    assert await verdict(address_filter, 0x0200_0000_0099) == (0, 0, 0)
    address_filter = await started(dut, cfg_monitor=1)
    assert await verdict(address_filter, GROUPS[3]) == (0, 0, 1)
    assert await verdict(address_filter, 0x0200_0000_0099) == (0, 0, 1)


@cocotb.test()
async def an_own_address_with_the_group_bit_never_matches_as_own(dut):
    address_filter = await started(dut)
    address_filter.hold(cfg_address=BROADCAST)
    assert await verdict(address_filter, BROADCAST) == (0, 1, 1)


@cocotb.test()
async def random_addresses_follow_the_rules(dut):
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    for _ in range(30):
        joined = source.getrandbits(GROUP_SLOTS)
        address_filter = await started(dut, joined=joined)
        for _ in range(10):
            ra = source.choice((source.getrandbits(48), US, BROADCAST, source.choice(GROUPS)))
            is_group = ra >> 40 & 1
            member = ra == BROADCAST or (ra in GROUPS and joined >> GROUPS.index(ra) & 1)
            group = int(bool(is_group and member))
            assert await verdict(address_filter, ra) == (int(ra == US), group, int(ra == US or group))


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_address_filter(name):
    simulate("address_filter", __file__, name, cocotb_tests(globals()))
