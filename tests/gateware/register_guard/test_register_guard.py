# SPDX-License-Identifier: GPL-2.0-or-later
"""register_guard: legal writes pass and are kept; every other one is refused for one reason and changes nothing.

What is legal comes from the register map. Timelines are in clocks.
"""

import os
import random

import cocotb
import pytest
from perhop.registers import entry_address, reset_value
from perhop.registers.spec_generated import REGISTER_SPACE_BYTES, REGISTERS, Register
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = int(os.environ.get("PERHOP_SEED", "118"))
WORD = 0xFFFF_FFFF
FILL_CLOCKS = 256
MEMORY_BYTES = 0x200
REASONS = ("not_writable", "partial_write", "not_idle", "illegal_value")
REFUSALS = tuple(f"refused_{reason}" for reason in REASONS)
NO_REFUSAL = dict.fromkeys((*REFUSALS, "refused"), 0)


def mask_of(register: Register, word: int) -> int:
    """Bits of a word that a field has and that can be written."""
    return sum(field.mask for field in register.fields.values() if field.access != "r") >> 32 * word & WORD


# Of each word that can be written its register and the bits that may be 1, by address.
WRITABLE = {
    entry_address(register, index) + 4 * word: (register, mask_of(register, word))
    for register in REGISTERS.values()
    for index in range(register.count if register.writable else 0)
    for word in range(register.words)
    if mask_of(register, word)
}
# What the memory holds after reset: the settings, by address.
KEPT = {
    entry_address(register, index) + 4 * word: reset_value(register) >> 32 * word & WORD
    for register in REGISTERS.values()
    for index in range(register.count)
    for word in range(register.words)
    if register.writable and all(field.access == "rw" for field in register.fields.values())
}
SETTING = entry_address(REGISTERS["slot"], 0)
LIVE = entry_address(REGISTERS["control"], 0)


async def started(dut) -> Clocked:
    guard = Clocked(
        dut, "bus_valid", "bus_write", "bus_address", "bus_word", "bus_strobes", "hold", "broken", "enabled"
    )
    await guard.reset()
    for _ in range(FILL_CLOCKS):
        assert guard.filling
        await guard.clock()
    assert not guard.filling
    return guard


def write_of(address: int, word: int, strobes: int = 0xF) -> dict[str, int]:
    return {"bus_valid": 1, "bus_write": 1, "bus_address": address, "bus_word": word, "bus_strobes": strobes}


def read_of(address: int) -> dict[str, int]:
    return {"bus_valid": 1, "bus_write": 0, "bus_address": address}


async def read_word(guard: Clocked, address: int) -> int:
    """What the memory says of an address."""
    guard.hold(**read_of(address))
    while not guard.bus_done:
        await guard.clock()
    word = guard.memory_word
    assert not guard.refused
    guard.hold(bus_valid=0)
    await guard.clock()
    assert not guard.write
    return word


@cocotb.test()
async def a_legal_write_takes_effect_in_the_fourth_clock(dut):
    """clock     0       1       2       3       4
       bus       write   write   write   (word)
       done                      x
       write                             x
       kept                              x
    """  # fmt: skip
    guard = await started(dut)
    write = write_of(SETTING, 9)
    nothing = {"bus_done": 0, "write": 0, "memory_write": 0} | NO_REFUSAL
    await guard.play(
        (write, nothing),
        (write, nothing),
        (write, nothing | {"bus_done": 1}),
        (
            write | {"bus_valid": 0},
            nothing | {"write": 1, "memory_write": 1, "memory_write_index": SETTING // 4, "memory_write_word": 9},
        ),
        ({}, nothing),
    )
    assert await read_word(guard, SETTING) == 9


@cocotb.test()
async def an_illegal_write_is_refused_as_it_is_done_and_changes_nothing(dut):
    """clock     0       1       2       3
       bus       write   write   write   (word)
       broken                    x
       done                      x
       refused                   x
    """  # fmt: skip
    guard = await started(dut)
    write = write_of(SETTING, 9)
    nothing = {"bus_done": 0, "write": 0, "memory_write": 0} | NO_REFUSAL
    await guard.play(
        (write, nothing),
        (write, nothing),
        (write | {"broken": 1}, nothing | {"bus_done": 1, "refused": 1, "refused_illegal_value": 1}),
        (write | {"bus_valid": 0}, nothing),
        ({}, nothing),
    )
    assert await read_word(guard, SETTING) == KEPT[SETTING]


@cocotb.test()
async def what_is_still_gathered_holds_a_read_up(dut):
    """clock     0       1       2       3       4
       bus       read    read    read    read    read
       hold      x       x
       done                                      x
    """  # fmt: skip
    guard = await started(dut)
    read = read_of(SETTING)
    await guard.play(
        (read | {"hold": 1}, {"bus_done": 0}),
        (read | {"hold": 1}, {"bus_done": 0}),
        (read, {"bus_done": 0}),
        (read, {"bus_done": 0}),
        (read, {"bus_done": 1, "memory_word": KEPT[SETTING]}),
        ({}, {"bus_done": 0}),
    )


@cocotb.test()
async def settings_stand_while_the_mac_runs_and_live_registers_do_not(dut):
    """clock     0       1       2       3
       bus       write   write   write   (word)
       enabled                   x
       done                      x
       of        a setting: refused      control: written
    """  # fmt: skip
    guard = await started(dut)
    for address, live in ((SETTING, 0), (LIVE, 1)):
        write = write_of(address, 1)
        await guard.play(
            (write, {}),
            (write, {}),
            (write | {"enabled": 1}, {"bus_done": 1, "refused": 1 - live, "refused_not_idle": 1 - live}),
            (write | {"bus_valid": 0}, {"write": live}),
            ({}, {}),
        )


@cocotb.test()
async def after_a_reset_the_memory_holds_the_reset_values_again(dut):
    guard = await started(dut)
    for address in KEPT:
        guard.hold(**write_of(address, KEPT[address] ^ (1 if KEPT[address] ^ 1 <= WRITABLE[address][1] else 0)))
        while not guard.bus_done:
            await guard.clock()
        guard.hold(bus_valid=0)
        await guard.clock()
        await guard.clock()
    assert any([await read_word(guard, address) != word for address, word in KEPT.items()])
    await guard.reset()
    # An access waits until all is copied.
    guard.hold(**read_of(SETTING))
    for _ in range(FILL_CLOCKS):
        assert guard.filling and not guard.bus_done
        await guard.clock()
    assert {address: await read_word(guard, address) for address in KEPT} == KEPT


@cocotb.test()
async def words_of_one_class_share_rules_and_all_others_have_none(dut):
    """A word that no field can be written in is class 0; what a running MAC's settings are in, the last classes."""
    guard = await started(dut)
    classes: dict[bool, set[int]] = {True: set(), False: set()}
    for address in range(0, REGISTER_SPACE_BYTES, 4):
        guard.hold(**write_of(address, 0, 0))
        while not guard.bus_done:
            await guard.clock()
        assert (guard.kind != 0) == (address in WRITABLE), hex(address)
        if address in WRITABLE:
            classes[WRITABLE[address][0].live].add(guard.kind)
        guard.hold(bus_valid=0)
        await guard.clock()
        assert not guard.write, "no byte of it was to be written"
    assert max(classes[True]) < min(classes[False])


@cocotb.test()
@cocotb.parametrize(part=list(range(3)))
async def every_access_has_the_end_that_the_register_map_gives_it(dut, part):
    """Random accesses; the rules of a class, and whether the MAC runs, are random too."""
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(f"{SEED} {part}")
    guard = await started(dut)
    kept = dict(KEPT)
    ends = dict.fromkeys((None, "write", *REASONS), 0)
    for _ in range(700):
        address = source.choice((source.choice(list(WRITABLE)), source.randrange(0, REGISTER_SPACE_BYTES, 4)))
        register, mask = WRITABLE.get(address, (None, 0))
        if source.random() < 0.3:
            word = await read_word(guard, address)
            assert address not in kept or word == kept[address], hex(address)
            continue
        word = source.getrandbits(32) & (mask if source.random() < 0.8 else WORD)
        strobes = 0xF if source.random() < 0.8 else source.getrandbits(4)
        broken, enabled = int(source.random() < 0.2), int(source.random() < 0.3)
        wanted = "write"
        if strobes == 0:
            wanted = None
        elif register is None:
            wanted = "not_writable"
        elif strobes != 0xF:
            wanted = "partial_write"
        elif enabled and not register.live:
            wanted = "not_idle"
        elif broken or word & ~mask:
            wanted = "illegal_value"
        guard.hold(**write_of(address, word, strobes), broken=broken, enabled=enabled)
        clocks = 0
        while not guard.bus_done:
            assert not guard.refused
            await guard.clock()
            clocks += 1
        assert clocks == 2
        reasons = {reason for reason, name in zip(REASONS, REFUSALS, strict=True) if getattr(guard, name)}
        assert reasons == {wanted} - {"write", None}, (hex(address), hex(word), strobes)
        assert guard.refused == bool(reasons)
        guard.hold(bus_valid=0)
        await guard.clock()
        assert guard.write == (wanted == "write")
        assert guard.memory_write == (wanted == "write" and address < MEMORY_BYTES)
        if guard.memory_write:
            kept[address] = word
        await guard.clock()
        ends[wanted] += 1
    assert min(ends.values()) > 0, ends


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_register_guard(name):
    simulate("register_guard", __file__, name, cocotb_tests(globals()))
