# SPDX-License-Identifier: GPL-2.0-or-later
"""radio_registers over AXI4-Lite: every field reaches its port, what is illegal is refused, counters and last frame.

Fields, values and rules come from the register map. The guard, the counters and the bus have tests of their own.
"""

import os
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from cocotbext.perhop.registers_driver import RegistersDriver
from perhop.registers import RegisterError, entry_address, reset_value, split
from perhop.registers.radio import RadioRegisters
from perhop.registers.spec_generated import RADIO_REGISTERS, RADIO_REGISTERS_BASE, REGISTER_SPACE_BYTES, REGISTERS
from testbench.build import cocotb_tests, simulate

SEED = int(os.environ.get("PERHOP_SEED", "1400"))
WORD = 0xFFFF_FFFF
HELD = [r for r in RADIO_REGISTERS.values() if r.writable and all(f.access == "rw" for f in r.fields.values())]
COUNTED = {
    "rx_frames": "phy_rx_start", "rx_header_errors": "stat_header_error", "rx_no_sfd": "stat_no_sfd",
    "rx_unsupported": "stat_rx_unsupported", "tx_unsupported": "stat_tx_unsupported",
    "tx_underruns": "stat_tx_underrun",
}  # fmt: skip
INPUTS = (
    "enabled", "level_dbm", "energy_limit_dbm", "rx_gain_below_db", "phy_cca_busy", "tx_active", "phy_rx_rate",
    "phy_rx_end", "phy_rx_error", "phy_rx_rssi_dbm", "rx_snr_db", "rx_tangent_128", *COUNTED.values(),
)  # fmt: skip


async def start(dut) -> RegistersDriver:
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.rst.value = 1
    driver = RegistersDriver(dut, registers=RADIO_REGISTERS, base=RADIO_REGISTERS_BASE)
    Clock(dut.clk, 10, "ns").start()
    await driver.reset()
    return driver


def port(dut, name: str, signed: bool) -> int:
    value = getattr(dut, name).value
    return value.to_signed() if signed else int(value)


@cocotb.test()
async def every_register_reads_its_reset_value_and_reaches_its_port(dut):
    driver = await start(dut)
    known = {}
    for register in RADIO_REGISTERS.values():
        expected = 2 if register.name == "modem" else reset_value(register)
        assert await driver.read_register(register.name) == expected, register.name
        known[register.address] = expected
    for address in range(RADIO_REGISTERS_BASE, RADIO_REGISTERS_BASE + REGISTER_SPACE_BYTES, 4):
        assert await driver.read(address) == known.get(address, 0), hex(address)
    for register in HELD:
        for field in register.fields.values():
            assert port(dut, field.port, field.signed) == field.get(reset_value(register)), field.port


@cocotb.test()
async def every_legal_value_is_held_and_reaches_its_port(dut):
    """The ends of each field's range, each of its bits, and random values of all of a register's fields at once."""
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(SEED)
    driver = await start(dut)
    for register in HELD:
        values = [{name: source.choice((f.min, f.max)) for name, f in register.fields.items()} for _ in range(4)]
        values += [{n: source.randint(f.min, f.max) for n, f in register.fields.items()} for _ in range(12)]
        for name, field in register.fields.items():
            for bit in range(field.width_bits):
                value = field.get(1 << field.low_bit + bit)
                if field.min <= value <= field.max:
                    values.append({n: f.min if f.min > 0 else 0 for n, f in register.fields.items()} | {name: value})
        for fields in values:
            await driver.write_register(register.name, **fields)
            assert split(register, await driver.read_register(register.name)) == fields, register.name
            for name, field in register.fields.items():
                assert port(dut, field.port, field.signed) == fields[name], (register.name, fields)
    assert (await driver.refusal())[0] == set()


@cocotb.test()
async def what_is_illegal_is_refused_and_the_old_value_stays(dut):
    driver = await start(dut)
    refused = 0
    for register in HELD:
        address = entry_address(register)
        illegal = [1 << bit for bit in range(32) if not sum(f.mask for f in register.fields.values()) >> bit & 1]
        for field in register.fields.values():
            if not field.signed and field.max < (1 << field.width_bits) - 1:
                illegal += [field.put(0, field.max + 1), field.mask]
        for word in illegal:
            await driver.write(address, word)
            assert await driver.refusal() == ({"illegal_value"}, address), (register.name, hex(word))
            assert await driver.read(address) == reset_value(register)
            refused += 1
        for field in register.fields.values():
            assert port(dut, field.port, field.signed) == field.get(reset_value(register))
    assert refused > 60
    await driver.axi.write(entry_address(RADIO_REGISTERS["rssi"]) - RADIO_REGISTERS_BASE, bytes(2))
    assert (await driver.refusal())[0] == {"partial_write"}
    for name in ("id", "status", "last_frame", "modem", "stat_rx_frames"):
        await driver.write(entry_address(RADIO_REGISTERS[name]), 0)
        assert await driver.refusal() == ({"not_writable"}, entry_address(RADIO_REGISTERS[name]))


@cocotb.test()
async def the_preamble_stands_while_the_mac_runs_and_levels_do_not(dut):
    driver = await start(dut)
    dut.enabled.value = 1
    for register in HELD:
        await driver.write(entry_address(register), reset_value(register))
        reasons, _ = await driver.refusal()
        assert reasons == (set() if register.live else {"not_idle"}), register.name
    assert [register.name for register in HELD if not register.live] == ["preamble", "front_end", "gain_control"]
    assert not int(dut.cfg_short_preamble.value)


@cocotb.test()
async def each_counter_counts_its_own(dut):
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(SEED)
    driver = await start(dut)
    await driver.read_register("id")
    expected = dict.fromkeys(("rx_carrier_lost", *COUNTED), 0)
    for _ in range(60):
        name = source.choice(list(expected))
        ends = {"phy_rx_end": 1, "phy_rx_error": 1}
        await driver.pulse(**(ends if name == "rx_carrier_lost" else {COUNTED[name]: 1}))
        if source.random() < 0.3:
            await driver.pulse(phy_rx_end=1)  # a frame that was not lost
        expected[name] += 1
        await driver.clocks(60)
    for name, count in expected.items():
        assert await driver.read_field(f"stat_{name}", "count") == count, name


@cocotb.test()
async def the_last_frame_is_told_whole_and_numbered(dut):
    """All of one word are of one frame; a disabled MAC has none."""
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(SEED)
    driver = await start(dut)
    dut.enabled.value = 1
    for number in range(1, 20):
        frame = {"snr_db": source.randint(-64, 63), "tangent_128": source.randint(-127, 127)}
        frame |= {"rssi_dbm": source.randint(-128, 127), "rate": source.randrange(8), "carrier_lost": number % 2}
        await driver.pulse(
            phy_rx_end=1, phy_rx_rate=frame["rate"], phy_rx_error=frame["carrier_lost"],
            phy_rx_rssi_dbm=frame["rssi_dbm"] & 0xFF, rx_snr_db=frame["snr_db"], rx_tangent_128=frame["tangent_128"],
        )  # fmt: skip
        await driver.clocks(2)
        told = split(RADIO_REGISTERS["last_frame"], await driver.read_register("last_frame"))
        assert told == frame | {"frame": number % 16}
    dut.enabled.value = 0
    await ClockCycles(dut.clk, 2)
    assert await driver.read_register("last_frame") == 0


@cocotb.test()
async def status_is_what_the_modem_says(dut):
    driver = await start(dut)
    for level, busy, sending in ((-128, 1, 0), (-61, 0, 1), (127, 1, 1)):
        dut.level_dbm.value, dut.phy_cca_busy.value, dut.tx_active.value = level, busy, sending
        dut.energy_limit_dbm.value = -level - 1
        dut.rx_gain_below_db.value = level & 0x7F
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        told = split(RADIO_REGISTERS["status"], await driver.read_register("status"))
        assert told == {
            "rssi_dbm": level,
            "busy": busy,
            "sending": sending,
            "energy_limit_dbm": -level - 1,
            "gain_below_db": level & 0x7F,
        }


class Words:
    """A bus on which the registers hold what was written, refusing nothing; `running` is control.enable."""

    def __init__(self, running: int = 0) -> None:
        self.words = {entry_address(r): reset_value(r) for r in RADIO_REGISTERS.values()}
        self.words[entry_address(RADIO_REGISTERS["modem"])] = 2
        self.words |= {entry_address(r, i) + 4 * w: reset_value(r) >> 32 * w & WORD
                       for r in REGISTERS.values() for i in range(r.count) for w in range(r.words)}  # fmt: skip
        self.words[entry_address(REGISTERS["control"])] = running
        self.words[entry_address(REGISTERS["clock"])] = 28 << 16 | 44

    def read32(self, address: int) -> int:
        return self.words[address]

    def write32(self, address: int, word: int) -> None:
        self.words[address] = word


def test_software_refuses_what_the_hardware_would():
    radio = RadioRegisters(Words())
    with pytest.raises(RegisterError, match=r"tx_gain.value_256: 257 1/256 is too large"):
        radio.write("tx_gain", value_256=257)
    with pytest.raises(RegisterError, match=r"does not fit the field's 8 bits"):
        radio.write("clear_channel", energy_threshold_dbm=-129)
    radio.write("clear_channel", energy_threshold_dbm=-128)
    assert radio.read("clear_channel")["energy_threshold_dbm"] == -128
    with pytest.raises(RegisterError, match="while the MAC does not run"):
        RadioRegisters(Words(running=1)).write("preamble", short_preamble=1)
    with pytest.raises(RegisterError, match="there is no register 'tx_gains'"):
        radio.read("tx_gains")


def test_a_mac_without_a_radio_says_so():
    words = Words()
    words.words[RADIO_REGISTERS["id"].address] = 0
    with pytest.raises(RegisterError, match="a radio says 0x52616469"):
        RadioRegisters(words)


TESTS = cocotb_tests(globals())


@pytest.mark.parametrize("name", TESTS)
def test_radio_registers(name):
    simulate("radio_registers", __file__, name, together=TESTS)
