# SPDX-License-Identifier: GPL-2.0-or-later
"""The MAC's registers over AXI4-Lite: what every field may hold, what is refused, counters, log, snapshots, interrupt.

Fields, values and rules come from the register map, so a new field is tested as soon as it is there.

It is one file: all tests drive one module by the same bench.
"""

import os
import random
from collections.abc import Iterator

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, with_timeout
from cocotbext.perhop.registers_driver import FILL_CLOCKS, NEIGHBOUR, RegistersDriver
from perhop.errors import PerhopError
from perhop.registers import (
    ORDERED,
    Rules,
    entry_address,
    profile_values,
    reset_value,
    split,
)
from perhop.registers.spec_generated import (
    EVENT_KINDS,
    EVENT_LOG_ENTRIES,
    PROFILES,
    REGISTER_SPACE_BYTES,
    REGISTERS,
    EventKind,
    FrameKind,
    Register,
    TxResult,
)
from testbench.build import cocotb_tests, simulate

WORD = 0xFFFF_FFFF
SEED = int(os.environ.get("PERHOP_SEED", "8021104"))
# Registers that are in the memory: software wrote what they hold.
HELD = [r for r in REGISTERS.values() if r.writable and all(f.access == "rw" for f in r.fields.values())]
STATISTICS = [name for name in REGISTERS if name.startswith("stat_")]
# These have nothing to say while the log is empty.
LOG_ENTRY = ("event_log_time", "event_log_slots", "event_log_events")
# What the registers that bound each other may be set to so that there is room above, and below.
ROOM_ABOVE = {"sifs": 1, "difs": 32767, "eifs": 65535, "response_timeout": 65535, "nav_reset": 65535}
ROOM_FOR_DELAYS = {"sifs": 8191, "difs": 32767, "eifs": 65535, "response_timeout": 65535, "nav_reset": 65535}
ROOM_BELOW = {"sifs": 1, "difs": 1, "eifs": 65535, "response_timeout": 65535, "nav_reset": 65535}


def draw(name: str) -> random.Random:
    """The random numbers of a test."""
    print(f"{name}: PERHOP_SEED={SEED}")
    return random.Random(f"{SEED} {name}")


def writable_words() -> Iterator[tuple[Register, int, int]]:
    """Every word that can be written: register, index, number of the word."""
    for register in REGISTERS.values():
        for index in range(register.count if register.writable else 0):
            for word in range(register.words):
                yield register, index, word


def mask_of(register: Register, word: int) -> int:
    """Bits of a word that a field has and that can be written."""
    return sum(f.mask for f in register.fields.values() if f.access != "r") >> 32 * word & WORD


class Model:
    """What the registers of the memory hold, by (register, index), in fields."""

    def __init__(self) -> None:
        self.held = {(r.name, index): split(r, reset_value(r)) for r in HELD for index in range(r.count)}
        self.enabled = False

    def value(self, register: Register, index: int) -> int:
        return sum(
            content << register.fields[name].low_bit for name, content in self.held[register.name, index].items()
        )

    def judge(self, register: Register, index: int, word: int, written: int, strobes: int) -> str | None:
        """Why a write is refused; None if it is not. A legal one is kept."""
        if not register.writable or mask_of(register, word) == 0:
            return "not_writable"
        if strobes != 0xF:
            return "partial_write"
        if not register.live and self.enabled:
            return "not_idle"
        if written & ~mask_of(register, word):
            return "illegal_value"
        if register not in HELD:
            return None
        value = self.value(register, index) & ~(WORD << 32 * word) | written << 32 * word
        fields = split(register, value)
        if Rules(self.held).broken_by(register, index, fields) is not None:
            return "illegal_value"
        self.held[register.name, index] = fields
        self.enabled = bool(self.held["control", 0]["enable"])
        return None


async def set_ordered(driver: RegistersDriver, model: Model, values: dict[str, int]) -> None:
    """Brings the registers that bound each other to `values`, by way of the widest room."""
    await driver.write_register("phy_delay", tx_clocks=0, rx_clocks=0)
    model.held["phy_delay", 0] = {"tx_clocks": 0, "rx_clocks": 0}
    for step in ({**ROOM_ABOVE}, values):
        for name in ("sifs", "eifs", "response_timeout", "nav_reset", "difs"):
            await driver.write_register(name, value_us=step[name])
            model.held[name, 0] = {"value_us": step[name]}
    assert (await driver.refusal())[0] == set()


async def check_port(driver: RegistersDriver, register: Register, index: int, fields: dict[str, int]) -> int:
    """The ports say what the fields hold; returns how many were looked at."""
    looked = 0
    await FallingEdge(driver.dut.clk)
    for name, content in fields.items():
        port = register.fields[name].port
        said = driver.port(port, index, register.is_array) if port else None
        if said is not None:
            assert said == content, (register.name, index, name, port)
            looked += 1
    return looked


@cocotb.test()
async def every_register_reads_its_reset_value(dut):
    driver = await RegistersDriver.start(dut)
    known = set()
    for register in REGISTERS.values():
        for index in range(register.count):
            known |= {entry_address(register, index) + 4 * word for word in range(register.words)}
            if register.name in LOG_ENTRY:
                continue
            expected = reset_value(register)
            if register.name == "clock":
                expected = 48 << 16 | 64
            assert await driver.read_register(register.name, index) == expected, (register.name, index)
    for address in sorted(set(range(0, REGISTER_SPACE_BYTES, 4)) - known):
        assert await driver.read(address) == 0, hex(address)


@cocotb.test()
async def every_field_writes_reads_back_and_reaches_its_port(dut):
    """Legal values of each field, until each of its bits was seen as 0 and as 1 where the rules let it."""
    driver = await RegistersDriver.start(dut)
    model = Model()
    rng = draw("fields")
    looked, missing = 0, []
    for register in HELD:
        rooms = [ROOM_ABOVE, ROOM_BELOW] if register.name in ORDERED else [None]
        if register.name == "phy_delay":
            rooms = [ROOM_FOR_DELAYS]
        for index in range(register.count):
            seen = {name: [0, 0] for name in register.fields}
            for room in rooms:
                if room is not None:
                    await set_ordered(driver, model, room)
                candidates = []
                for name, field in register.fields.items():
                    content = [field.min, field.max, *(1 << bit for bit in range(field.width_bits))]
                    content += [(1 << bit) - 1 for bit in range(1, field.width_bits + 1)]
                    content += [rng.getrandbits(field.width_bits) for _ in range(2)]
                    candidates += [(name, value) for value in content]
                if index > 1:
                    candidates = rng.sample(candidates, min(len(candidates), 6))
                for name, value in candidates:
                    fields = dict(model.held[register.name, index]) | {name: value}
                    for other, needed in ((f, f.needs.partition(".")[2]) for f in register.fields.values()):
                        if needed and fields[other.name] and not fields[needed]:
                            fields[needed] = 1
                    if name == "cw_min":
                        fields["cw_max"] = max(fields["cw_max"], value)
                    if name == "cw_max":
                        fields["cw_min"] = min(fields["cw_min"], value)
                    if Rules(model.held).broken_by(register, index, fields) is not None:
                        continue
                    await driver.write_register(register.name, index, **fields)
                    model.held[register.name, index] = fields
                    looked += await check_port(driver, register, index, fields)
                    assert split(register, await driver.read_register(register.name, index)) == fields, register.name
                    for other, content in fields.items():
                        seen[other][0] |= ~content
                        seen[other][1] |= content
            if register.name == "control":
                await driver.write_register("control", enable=0)
                model.held["control", 0] = {"enable": 0}
            if index <= 1:
                missing += [
                    (register.name, name, bit)
                    for name, (zeros, ones) in seen.items()
                    for bit in range(register.fields[name].width_bits)
                    if not (zeros >> bit & 1 and ones >> bit & 1)
                ]
    assert (await driver.refusal())[0] == set()
    # CWmin's lowest bit is always 1, as is CWmax's; mode 3 does not exist, but its bits do.
    allowed = {("contention_window", "cw_min", 0), ("contention_window", "cw_max", 0)}
    assert set(missing) <= allowed, missing
    assert looked > 1000
    print(f"{looked} ports looked at")


def illegal_words(register: Register, index: int, word: int, model: Model) -> Iterator[tuple[str, int]]:
    """Words that break one rule each, beside what the register holds: rule, word."""
    held = dict(model.held[register.name, index])
    for name, field in register.fields.items():
        if field.low_bit // 32 != word:
            continue
        contents = {
            "min": [field.min - 1, 0] if field.min > 0 else [],
            "max": [field.max + 1, (1 << field.width_bits) - 1] if field.max + 1 < 1 << field.width_bits else [],
            "all_ones": [v for v in range(1 << field.width_bits) if v & (v + 1)][::7] if field.all_ones else [],
        }
        for kind in ("at_least", "above"):
            reference = getattr(field, kind)
            if not reference:
                continue
            owner, _, bound = reference.partition(".")
            if owner == register.name:
                # Both are in this word: the upper one at the smallest that its own rules leave below the lower one.
                contents[kind] = [v for v in range(field.min, held[bound]) if not (field.all_ones and v & (v + 1))]
            else:
                limit = model.held[owner, 0][bound] + (kind == "above")
                contents[kind] = [limit - 1, limit // 2]
        for kind, values in contents.items():
            for content in values:
                fields = held | {name: content}
                if content >= 0:
                    yield f"{name}: {kind}", merge(register, fields) >> 32 * word & WORD
        if field.needs:
            fields = held | {field.needs.partition(".")[2]: 0, name: 1}
            yield f"{name}: needs", merge(register, fields) >> 32 * word & WORD
        # The other end of an order.
        for owner in REGISTERS.values():
            for other in owner.fields.values():
                for kind in ("at_least", "above"):
                    if getattr(other, kind) == f"{register.name}.{name}" and owner is not register:
                        bound = model.held[owner.name, 0][other.name] + (kind == "at_least")
                        if bound < 1 << field.width_bits:
                            yield f"{name}: {kind} of {owner.name}", merge(register, held | {name: bound})
    for bit in range(32):
        if not mask_of(register, word) >> bit & 1:
            yield f"bit {bit}", merge(register, held) >> 32 * word & WORD | 1 << bit


def merge(register: Register, fields: dict[str, int]) -> int:
    return sum(content << register.fields[name].low_bit for name, content in fields.items())


@cocotb.test()
async def every_illegal_value_is_refused_and_leaves_the_old_one(dut):
    """Every rule of every field, and every bit of no field, of every register that software writes."""
    driver = await RegistersDriver.start(dut)
    model = Model()
    tried, rules = 0, set()
    for register, index, word in writable_words():
        if index > 1:
            continue  # all entries of an array are of one class; the random test writes to all of them
        if register not in HELD:
            # What is not in the memory has no rules but its bits.
            before = await driver.read_register(register.name)
            for bit in range(32):
                if not mask_of(register, word) >> bit & 1:
                    await driver.write(entry_address(register, index) + 4 * word, 1 << bit)
                    assert (await driver.refusal())[0] == {"illegal_value"}, (register.name, bit)
                    now = await driver.read_register(register.name)
                    assert now & mask_of(register, word) == before & mask_of(register, word)
            continue
        address = entry_address(register, index) + 4 * word
        old = model.value(register, index) >> 32 * word & WORD
        for rule, illegal in illegal_words(register, index, word, model):
            assert Model.judge(model, register, index, word, illegal, 0xF) == "illegal_value", (register.name, rule)
            await driver.write(address, illegal)
            assert await driver.refusal() == ({"illegal_value"}, address), (register.name, rule, hex(illegal))
            assert await driver.read(address) == old, (register.name, rule)
            await check_port(driver, register, index, model.held[register.name, index])
            tried += 1
            rules.add((register.name, rule))
    # Every rule of the map was broken at least once.
    for register in HELD:
        for name, field in register.fields.items():
            kinds = [
                kind
                for kind, there in (
                    ("min", field.min > 0),
                    ("max", field.max + 1 < 1 << field.width_bits),
                    ("all_ones", field.all_ones),
                    ("at_least", field.at_least),
                    ("above", field.above),
                    ("needs", field.needs),
                )
                if there
            ]
            assert all((register.name, f"{name}: {kind}") in rules for kind in kinds), (register.name, name, kinds)
    print(f"{tried} illegal words, {len(rules)} rules")
    # What the registers hold is still what reset gave them.
    for register in HELD:
        for index in range(register.count):
            assert await driver.read_register(register.name, index) == reset_value(register)


@cocotb.test()
async def each_order_of_two_registers_holds_from_both_ends(dut):
    """With all others far away: the last legal value is taken, the first illegal one is not."""
    driver = await RegistersDriver.start(dut)
    model = Model()
    orders = [
        (upper.name, getattr(field, kind).partition(".")[0], int(kind == "above"))
        for upper in REGISTERS.values()
        for field in upper.fields.values()
        for kind in ("at_least", "above")
        if getattr(field, kind) and not getattr(field, kind).startswith(f"{upper.name}.")
    ]
    assert len(orders) == 4
    for upper, lower, gap in orders:
        await set_ordered(driver, model, ROOM_ABOVE)
        await driver.write_register(lower, value_us=1)
        await driver.write_register(upper, value_us=100)
        for register, value, refused in (
            (lower, 101 - gap, True),
            (lower, 100 - gap, False),
            (upper, 99, True),
            (upper, 100, False),
        ):
            await driver.write_register(register, value_us=value)
            expected = ({"illegal_value"}, REGISTERS[register].address) if refused else (set(), 0)
            reasons, where = await driver.refusal()
            assert (reasons, where if reasons else 0) == expected, (upper, lower, register, value)


@cocotb.test()
async def delays_of_the_phy_that_do_not_fit_are_refused_whichever_register_comes_last(dut):
    """Room for 476 clocks in 10 us of SIFS; 5 us from SIFS to the time-out are less than 320 and one."""
    driver = await RegistersDriver.start(dut)
    profile = PROFILES["dsss_long"]
    await driver.host(lambda mac: mac.load_profile("dsss_long", 176, 300))
    late_us = -(-476 // 64)
    expected = {"tx_clocks": 176, "rx_clocks": 300}
    assert split(REGISTERS["phy_delay"], await driver.read_register("phy_delay")) == expected
    assert await driver.read_register("response_timeout") == profile.response_timeout_us + late_us

    async def judged(name: str, refused: bool, **fields: int) -> None:
        before = await driver.read_register(name)
        await driver.write_register(name, **fields)
        reasons, where = await driver.refusal()
        assert reasons == ({"illegal_value"} if refused else set()), (name, fields)
        assert not refused or where == REGISTERS[name].address
        held = split(REGISTERS[name], await driver.read_register(name))
        assert held == (split(REGISTERS[name], before) if refused else fields), (name, fields)

    await judged("phy_delay", True, tx_clocks=177, rx_clocks=300)
    await judged("phy_delay", True, tx_clocks=176, rx_clocks=301)
    await judged("sifs", True, value_us=9)
    await judged("response_timeout", True, value_us=17)
    await judged("response_timeout", False, value_us=18)
    await judged("sifs", True, value_us=11)
    await judged("phy_delay", False, tx_clocks=176, rx_clocks=144)
    await judged("sifs", False, value_us=12)
    await judged("response_timeout", True, value_us=17)
    await judged("sifs", False, value_us=7)
    await judged("sifs", True, value_us=6)


@cocotb.test()
async def settings_are_refused_while_the_mac_runs_and_live_registers_are_not(dut):
    driver = await RegistersDriver.start(dut)
    await driver.write_register("control", enable=1)
    assert int(dut.mac_enable.value) == 1
    for register, index, word in writable_words():
        if register not in HELD or register.name == "control":
            continue
        address = entry_address(register, index) + 4 * word
        old = await driver.read(address)
        await driver.write(address, old)
        expected = (set(), 0) if register.live else ({"not_idle"}, address)
        reasons, where = await driver.refusal()
        assert (reasons, where if reasons else 0) == expected, register.name
    await driver.write_register("control", enable=0)
    await driver.write_register("slot", value_us=9)
    assert (await driver.refusal())[0] == set()
    assert int(dut.cfg_slot_us.value) == 9


@cocotb.test()
async def only_whole_words_are_written(dut):
    driver = await RegistersDriver.start(dut)
    address = REGISTERS["slot"].address
    for first in range(4):
        for count in range(1, 5 - first):
            if count == 4:
                continue
            await driver.axi.write(address + first, bytes(count))
            assert await driver.refusal() == ({"partial_write"}, address)
    assert await driver.read(address) == REGISTERS["slot"].fields["value_us"].reset


@cocotb.test()
async def what_cannot_be_written_says_so(dut):
    driver = await RegistersDriver.start(dut)
    writable = {entry_address(r, index) + 4 * word for r, index, word in writable_words()}
    for address in range(0, REGISTER_SPACE_BYTES, 4):
        if address not in writable:
            before = await driver.read(address)
            await driver.write(address, WORD)
            assert await driver.refusal() == ({"not_writable"}, address), hex(address)
            assert await driver.read(address) == before


@cocotb.test()
async def the_first_refusal_keeps_its_address(dut):
    driver = await RegistersDriver.start(dut)
    await driver.write_register("slot", value_us=0)
    await driver.write(REGISTERS["id"].address, 1)
    reasons, address = await driver.refusal()
    assert reasons == {"illegal_value", "not_writable"}
    assert address == REGISTERS["slot"].address
    await driver.write(REGISTERS["id"].address, 1)
    assert await driver.refusal() == ({"not_writable"}, REGISTERS["id"].address)


@cocotb.test()
async def random_accesses_never_hang_the_bus_and_do_what_the_model_does(dut):
    """Addresses, words, strobes and pauses at random; the settings obey the rules at every moment."""
    driver = await RegistersDriver.start(dut)
    model = Model()
    rng = draw("random accesses")
    words = {entry_address(r, index) + 4 * word: (r, index, word) for r, index, word in writable_words()}
    everywhere = {
        entry_address(r, index) + 4 * word: (r, index, word)
        for r in REGISTERS.values()
        for index in range(r.count)
        for word in range(r.words)
    }

    def pauses(share: float) -> Iterator[bool]:
        while True:
            yield rng.random() < share

    for interface in (driver.axi.write_if, driver.axi.read_if):
        for channel in ("aw_channel", "w_channel", "b_channel", "ar_channel", "r_channel"):
            if hasattr(interface, channel):
                getattr(interface, channel).set_pause_generator(pauses(0.3))
    outcomes: dict[str | None, int] = {}
    for step in range(1000):
        if step % 40 == 0:
            # It runs for a quarter of the time, unless a random write says otherwise.
            await driver.write_register("control", enable=int(step % 160 == 0))
            model.judge(REGISTERS["control"], 0, 0, int(step % 160 == 0), 0xF)
        address = rng.choice(list(words)) if rng.random() < 0.7 else 4 * rng.randrange(REGISTER_SPACE_BYTES // 4)
        register, index, word = everywhere.get(address, (None, 0, 0))
        if rng.random() < 0.3:
            value = await with_timeout(driver.read(address), 10, "us")
            if register in HELD:
                assert value == model.value(register, index) >> 32 * word & WORD, (register.name, index)
            continue
        first, count = (0, 4) if rng.random() < 0.9 else rng.choice([(0, 1), (1, 2), (2, 2), (3, 1), (0, 3)])
        mask = mask_of(register, word) if register else 0
        written = rng.getrandbits(32) if rng.random() < 0.2 else rng.getrandbits(32) & mask
        if register in HELD and rng.random() < 0.5:
            written = model.value(register, index) >> 32 * word & WORD ^ (1 << rng.randrange(32) & mask)
        data = written.to_bytes(4, "little")[first : first + count]
        await with_timeout(driver.axi.write(address + first, data), 10, "us")
        strobes = ((1 << count) - 1) << first
        expected = model.judge(register, index, word, written, strobes) if register else "not_writable"
        outcomes[expected] = outcomes.get(expected, 0) + 1
        if register is not None and register.name == "error":
            await driver.refusal()  # it may have cleared itself, or not
            continue
        reasons, where = await driver.refusal()
        assert reasons == ({expected} if expected else set()), (hex(address), hex(written))
        if expected:
            assert where == address
    print(outcomes)
    assert min(outcomes.values()) > 5 and len(outcomes) == 5
    for register in HELD:
        for index in range(register.count):
            assert await driver.read_register(register.name, index) == model.value(register, index)
            await check_port(driver, register, index, model.held[register.name, index])


@cocotb.test()
async def every_timing_profile_can_be_loaded_over_any_other(dut):
    driver = await RegistersDriver.start(dut)
    order = list(PROFILES) + list(PROFILES)[::-1] + ["host_phy", "dsss_long", "glomosim", "ofdm_20mhz", "host_phy"]
    for name in order:
        await driver.host(lambda mac, name=name: mac.load_profile(name))
        for (register, index), fields in profile_values(PROFILES[name]).items():
            assert split(REGISTERS[register], await driver.read_register(register, index)) == fields, (name, register)
            await check_port(driver, REGISTERS[register], index, fields)
    assert int(dut.cfg_difs_us.value) == PROFILES[order[-1]].difs_us


@cocotb.test()
async def a_program_reads_why_a_write_is_refused(dut):
    driver = await RegistersDriver.start(dut)

    def program(mac) -> list[str]:
        said = []

        def refused(action) -> None:
            with pytest.raises(PerhopError) as caught:
                action()
            said.append(str(caught.value))

        refused(lambda: mac.write("slot", value_us=0))
        refused(lambda: mac.write("difs", value_us=9))
        refused(lambda: mac.write("sifs", value_us=51))
        refused(lambda: mac.write("contention_window", 1, cw_min=20))
        mac.enable()
        refused(lambda: mac.load_profile("ofdm_20mhz"))
        mac.disable()
        # Behind its back, so that the hardware is what refuses.
        mac._bus.write32(REGISTERS["slot"].address, 0)
        refused(mac.raise_if_refused)
        return said

    said = await driver.host(program)
    assert "slot.value_us: 0 us is too small" in said[0]
    assert "difs.value_us: 9 us is too small: it must be at least sifs.value_us, which is 10 us" in said[1]
    assert "sifs.value_us: 51 us is too large: difs.value_us must be at least it and is 50 us" in said[2]
    assert "use a power of two less one, such as 15 or 31" in said[3]
    assert "changes only while the MAC does not run" in said[4]
    assert "slot (0x030) was refused: the value is against a rule" in said[5]


@cocotb.test()
async def a_64_bit_tsf_is_never_torn(dut):
    """It counts a clock at a time through a carry into its high word while it is read."""
    driver = await RegistersDriver.start(dut)
    rng = draw("tsf")
    now = 0

    async def count():
        nonlocal now
        while True:
            await RisingEdge(dut.clk)
            now += 1
            dut.tsf_us.value = now

    counter = cocotb.start_soon(count())
    crossed = 0
    for _ in range(60):
        now = (rng.randrange(1, 1 << 31) << 32) - rng.randrange(1, 24)
        before = now
        value = await driver.read_register("tsf")
        assert before <= value <= now, (hex(before), hex(value), hex(now))
        crossed += before >> 32 != now >> 32
    counter.cancel()
    assert crossed > 20


@cocotb.test()
async def a_seed_is_loaded_in_the_first_clock_in_which_the_mac_runs(dut):
    driver = await RegistersDriver.start(dut)
    loads, running = [], []

    async def watch():
        while True:
            await RisingEdge(dut.clk)
            await ReadOnly()
            running.append(int(dut.mac_enable.value))
            if dut.cfg_seed_load.value == 1:
                loads.append((len(running), int(dut.cfg_seed.value)))

    watcher = cocotb.start_soon(watch())
    await driver.host(lambda mac: mac.set_station(0x0200_0000_0001, 5))
    assert not loads
    await driver.write_register("control", enable=1)
    await driver.clocks(20)
    watcher.cancel()
    assert len(loads) == 1
    assert loads[0][0] == running.index(1) + 1
    assert loads[0][1] == await driver.read_register("seed") != 0
    assert int(dut.cfg_address.value) == 0x0200_0000_0001


@cocotb.test()
async def a_reset_brings_every_reset_value_back(dut):
    """Also where a write just came; accesses during the copying wait and are then answered."""
    driver = await RegistersDriver.start(dut)
    await driver.host(lambda mac: mac.load_profile("ofdm_10mhz"))
    await driver.host(lambda mac: mac.set_rate_series(15, (3, 1), (2, 2), (1, 3), (0, 4)))
    await driver.host(lambda mac: mac.set_address("group", 0x0100_5E00_0001, 2))
    await driver.pulse(stat_rx_kept=1)
    await driver.clocks(100)
    await driver.reset()
    began = cocotb.simtime.get_sim_time("ns")
    for register in REGISTERS.values():
        if register.name not in ("clock", *LOG_ENTRY):
            for index in range(register.count):
                assert await driver.read_register(register.name, index) == reset_value(register), register.name
        if register.name == "id":
            assert cocotb.simtime.get_sim_time("ns") - began >= 10 * FILL_CLOCKS - 50
    for register in HELD:
        for index in range(register.count):
            await check_port(driver, register, index, split(register, reset_value(register)))
    dut.series_peer.value = 15
    await driver.clocks(3)
    assert (int(dut.series_attempts.value), int(dut.series_rate.value)) == (0, 0)


@cocotb.test()
async def counters_count_every_event(dut):
    """Random strobes, as often as each may come, while a host reads without a pause."""
    driver = await RegistersDriver.start(dut)
    rng = draw("counters")
    counted = dict.fromkeys(STATISTICS, 0)
    await driver.clocks(FILL_CLOCKS)
    reading = True

    async def read_on():
        while reading:
            await driver.read(rng.choice([REGISTERS[name].address for name in STATISTICS]))

    reader = cocotb.start_soon(read_on())
    gap = 6 * len(STATISTICS)
    for clock in range(12000):
        values: dict[str, int] = {"stat_tx_refused": int(rng.random() < (0.9 if clock > 6000 else 0.02))}
        counted["stat_tx_refused"] += values["stat_tx_refused"]
        if clock % gap == 0:
            kind, result = rng.choice(list(FrameKind)), rng.choice(list(TxResult))
            values |= {
                "evt_tx_start": rng.randrange(2), "evt_tx_kind": kind, "evt_tx_retry": rng.randrange(2),
                "evt_rx_end": rng.randrange(2), "evt_rx_ok": rng.randrange(2), "evt_timeout": rng.randrange(2),
                "evt_done": rng.randrange(2), "evt_done_result": result, "stat_rx_kept": rng.randrange(2),
                "stat_rx_overflow": rng.randrange(2), "stat_rx_duplicate": rng.randrange(2),
                "stat_done_overflow": rng.randrange(2),
            }  # fmt: skip
            for name in ("rx_overflow", "rx_duplicate", "done_overflow"):
                counted[f"stat_{name}"] += values[f"stat_{name}"]
            counted["stat_rx_delivered"] += values["stat_rx_kept"]
            counted["stat_timeouts"] += values["evt_timeout"]
            if values["evt_rx_end"]:
                counted["stat_rx_ok" if values["evt_rx_ok"] else "stat_rx_bad_fcs"] += 1
            if values["evt_done"]:
                counted[f"stat_{result.name.lower()}"] += 1
            if values["evt_tx_start"] and kind != FrameKind.OTHER:
                counted[f"stat_{kind.name.lower()}_sent"] += 1
                counted["stat_data_retries_sent"] += kind == FrameKind.DATA and values["evt_tx_retry"]
        await driver.pulse(**values)
    reading = False
    await reader
    await driver.clocks(2 * gap)
    assert await driver.host(lambda mac: mac.read_statistics()) == {
        name.removeprefix("stat_"): count for name, count in counted.items()
    }
    assert min(counted.values()) > 2


@cocotb.test()
async def counters_wrap(dut):
    """The adder carries through all 32 bits: the memory is set by hand to just below."""
    driver = await RegistersDriver.start(dut)
    await driver.clocks(FILL_CLOCKS + 4)
    memory = dut.u_mac_registers.u_statistics.u_counts.memory_q
    index = STATISTICS.index("stat_rx_delivered")
    memory[index].value = WORD
    for _ in range(2):
        await driver.pulse(stat_rx_kept=1)
        await driver.clocks(120)
    assert await driver.read_register("stat_rx_delivered") == 1


@cocotb.test()
async def the_event_log_tells_every_event_in_order(dut):
    driver = await RegistersDriver.start(dut)
    await driver.host(lambda mac: mac.log_events(*EventKind))
    expected = []
    now = 0xFFFF_FF00

    async def step(*kinds, **values) -> None:
        nonlocal now
        now += 3
        dut.tsf_us.value = now
        held = {name: value for name, value in values.items() if name in ("cca_busy", "nav_left_us")}
        for name, value in held.items():
            getattr(dut, name).value = value
        expected.extend((now, *kind) for kind in kinds)
        await driver.pulse(**{name: value for name, value in values.items() if name not in held})

    def queue_signal(name: str, queue: int, value: int) -> None:
        getattr(dut, name)[queue].value = value

    queue_signal("evt_packet_taken", 1, 1)
    await step((EventKind.PACKET_TAKEN_1, None, 1))
    queue_signal("evt_packet_taken", 1, 0)
    queue_signal("evt_packet_taken", 0, 1)
    await step((EventKind.PACKET_TAKEN_0, None, 0))
    queue_signal("evt_packet_taken", 0, 0)
    queue_signal("evt_backoff_running", 1, 1)
    queue_signal("evt_backoff_slots", 1, 7)
    await step((EventKind.BACKOFF_START_1, 7, 1))
    queue_signal("evt_backoff_running", 0, 1)
    queue_signal("evt_backoff_slots", 0, 1023)
    await step((EventKind.BACKOFF_START_0, 1023, 0))
    queue_signal("evt_backoff_slots", 0, 1020)
    await step((EventKind.CCA_BUSY, None, None), (EventKind.BACKOFF_FREEZE, 1020, None), cca_busy=1)
    await step((EventKind.RX_START, None, None), evt_rx_start=1)
    await step((EventKind.RX_GOOD, FrameKind.RTS, None), evt_rx_end=1, evt_rx_ok=1, evt_rx_kind=FrameKind.RTS)
    await step((EventKind.CCA_IDLE, None, None), (EventKind.NAV_SET, None, None), cca_busy=0, nav_left_us=300)
    await step(nav_left_us=1)
    await step((EventKind.NAV_SET, None, None), nav_left_us=2)
    await step((EventKind.BACKOFF_RESUME, 1020, None), (EventKind.NAV_END, None, None), nav_left_us=0)
    queue_signal("evt_backoff_running", 0, 0)
    await step(
        (EventKind.TX_START, FrameKind.DATA, 1),
        (EventKind.BACKOFF_END_0, None, 0),
        evt_tx_start=1,
        evt_tx_kind=FrameKind.DATA,
        evt_queue=1,
    )
    queue_signal("evt_backoff_running", 1, 0)
    await step((EventKind.BACKOFF_END_1, None, 1))
    await step((EventKind.RX_BAD, None, None), evt_rx_end=1)
    await step((EventKind.TIMEOUT, None, 0), evt_timeout=1)
    await step((EventKind.RESPONSE, None, 1), evt_response=1, evt_queue=1)
    await step((EventKind.PACKET_DONE, TxResult.LONG_RETRY_LIMIT, 0), evt_done=1, evt_done_result=2)
    await step()
    log = await driver.host(lambda mac: mac.read_events())
    assert [(e.tsf_us, e.kind, e.argument, e.queue) for e in log.events] == expected
    assert {e.kind for e in log.events} == set(EventKind)
    assert log.overruns == 0
    assert (await driver.host(lambda mac: mac.read_events())).events == ()


@cocotb.test()
async def the_event_log_takes_only_what_it_is_told_to(dut):
    driver = await RegistersDriver.start(dut)
    await driver.pulse(evt_tx_start=1)
    await driver.host(lambda mac: mac.log_events(EventKind.RX_START, EventKind.TIMEOUT))
    await driver.pulse(evt_tx_start=1)
    await driver.pulse(evt_tx_start=1, evt_timeout=1)
    await driver.pulse(evt_rx_start=1)
    log = await driver.host(lambda mac: mac.read_events())
    assert [e.kind for e in log.events] == [EventKind.TIMEOUT, EventKind.RX_START]


@cocotb.test()
async def a_full_event_log_keeps_the_oldest_and_counts_the_lost(dut):
    driver = await RegistersDriver.start(dut)
    await driver.host(lambda mac: mac.log_events(EventKind.RX_START))
    dut.evt_rx_start.value = 1
    for now in range(1000, 1000 + EVENT_LOG_ENTRIES + 5):
        dut.tsf_us.value = now
        await RisingEdge(dut.clk)
    dut.evt_rx_start.value = 0
    assert await driver.read_field("event_log_status", "entries") == EVENT_LOG_ENTRIES
    log = await driver.host(lambda mac: mac.read_events(3))
    assert ([e.tsf_us for e in log.events], log.overruns) == ([1000, 1001, 1002], 5)
    # There is room again, at the end.
    dut.tsf_us.value = 5000
    await driver.pulse(evt_rx_start=1)
    log = await driver.host(lambda mac: mac.read_events())
    assert [e.tsf_us for e in log.events] == [*range(1003, 1000 + EVENT_LOG_ENTRIES), 5000]
    assert log.overruns == 5


@cocotb.test()
async def interrupts_follow_status_and_enable(dut):
    driver = await RegistersDriver.start(dut)
    await driver.host(lambda mac: mac.log_events(EventKind.RX_START, fill=3))
    causes = {
        "completion": lambda: driver.pulse(done_waits=1),
        "reception": lambda: driver.pulse(rx_waits=1),
        "write_refused": lambda: driver.write(REGISTERS["id"].address, 0),
    }
    for name, cause in causes.items():
        await cause()
        await driver.clocks(2)
        status = await driver.read_register("interrupt_status")
        assert split(REGISTERS["interrupt_status"], status) == {
            other: int(other == name) for other in REGISTERS["interrupt_status"].fields
        }
        assert int(dut.irq.value) == 0
        await driver.write_register("interrupt_enable", **{name: 1})
        assert int(dut.irq.value) == 1
        await driver.write_register("interrupt_status")
        assert int(dut.irq.value) == 1
        await driver.write_register("interrupt_status", **{name: 1})
        await driver.clocks(2)
        assert int(dut.irq.value) == 0
        await driver.write_register("interrupt_enable")
    # A level that still stands comes back.
    dut.rx_waits.value = 1
    await driver.write_register("interrupt_enable", reception=1, event_log=1)
    await driver.write_register("interrupt_status", reception=1)
    await driver.clocks(2)
    assert int(dut.irq.value) == 1
    dut.rx_waits.value = 0
    await driver.write_register("interrupt_status", reception=1)
    await driver.clocks(2)
    # The log's comes with its third entry.
    for count in range(1, 4):
        assert int(dut.irq.value) == 0
        await driver.pulse(evt_rx_start=1)
        await driver.clocks(3)
        assert await driver.read_field("event_log_status", "entries") == count
    assert int(dut.irq.value) == 1


@cocotb.test()
async def status_is_what_the_mac_says(dut):
    driver = await RegistersDriver.start(dut)
    for name in ("nav_left_us", "cca_busy", "contending", "desc_ready"):
        value = 0xA5C3 if name == "nav_left_us" else 1
        getattr(dut, name).value = value
        status = split(REGISTERS["status"], await driver.read_register("status"))
        field = "descriptor_ready" if name == "desc_ready" else name
        assert status == {other: value if other == field else 0 for other in status}
        getattr(dut, name).value = 0


@cocotb.test()
async def a_neighbour_snapshot_is_taken_once_and_comes_through_whole(dut):
    driver = await RegistersDriver.start(dut)
    rng = draw("neighbour")
    taken = []
    truth = {name: rng.getrandbits(len(getattr(dut, name))) for name in NEIGHBOUR}

    async def table():
        """As neighbour_table_serial: the values of a take stand when it is no longer busy, until the next."""
        while True:
            await RisingEdge(dut.clk)
            if dut.nbr_take.value == 1:
                taken.append((int(dut.nbr_index.value), int(dut.nbr_bin.value)))
                dut.nbr_busy.value = 1
                for name in NEIGHBOUR:
                    getattr(dut, name).value = 0
                await driver.clocks(rng.randrange(60))
                dut.nbr_busy.value = 0
                for name, value in truth.items():
                    getattr(dut, name).value = value
                dut.nbr_histogram.value = 100 + taken[-1][1]

    cocotb.start_soon(table())
    snapshot = await driver.host(lambda mac: mac.snapshot_neighbour(11))
    assert taken == [(11, histogram_bin) for histogram_bin in range(16)]
    assert snapshot.histogram == tuple(range(100, 116))
    assert snapshot.contention_us == truth["nbr_avg_contention_us16"] / 16
    assert snapshot.overhead_us == truth["nbr_avg_overhead_us16"] / 16
    assert snapshot.data_attempts == truth["nbr_avg_data_attempts_256"] / 256
    assert (snapshot.packets, snapshot.drops) == (truth["nbr_packets"], truth["nbr_drops"])
    assert snapshot.service_us == truth["nbr_service_us"]
    assert await driver.read_field("neighbour_select", "take") == 0


@cocotb.test()
async def the_mac_gets_the_rate_series_of_each_peer(dut):
    driver = await RegistersDriver.start(dut)
    rng = draw("series")
    given = {}
    for peer in rng.sample(range(16), 16):
        count = rng.randrange(1, 5)
        given[peer] = [(rng.randrange(8), rng.randrange(1, 32)) for _ in range(count)]
        await driver.host(lambda mac, peer=peer: mac.set_rate_series(peer, *given[peer]))
    for peer, entries in given.items():
        dut.series_peer.value = peer
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        await ReadOnly()
        later = [rate for rate, _ in entries[1:]]
        assert int(dut.series_first_rate.value) == entries[0][0]
        assert int(dut.series_rate.value) == sum(rate << 3 * place for place, rate in enumerate(later))
        assert int(dut.series_attempts.value) == sum(tries << 5 * place for place, (_, tries) in enumerate(entries))
        await FallingEdge(dut.clk)


def test_every_kind_of_event_has_a_bit():
    assert [kind.value for kind in EventKind] == list(range(EVENT_KINDS))


TESTS = cocotb_tests(globals())


@pytest.mark.parametrize("name", TESTS)
def test_mac_registers(name):
    simulate("mac_registers", __file__, name, together=TESTS)
