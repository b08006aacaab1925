# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives mac_registers or radio_registers as a host does, over AXI4-Lite, and as the MAC does."""

import re
from collections.abc import Callable, Mapping

from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from perhop.registers import Bus, MacRegisters, entry_address
from perhop.registers.spec_generated import REGISTERS, Register

QUEUES = 2
LEVELS = (
    "tsf_us", "nav_left_us", "contending", "desc_ready", "cca_busy", "done_waits", "rx_waits", "series_peer",
    "nbr_busy",
)  # fmt: skip
EVENTS = (
    "evt_tx_start", "evt_tx_kind", "evt_tx_retry", "evt_rx_start", "evt_rx_end", "evt_rx_ok", "evt_rx_kind",
    "evt_response", "evt_timeout", "evt_done", "evt_done_result", "evt_queue", "stat_tx_refused", "stat_rx_kept",
    "stat_rx_overflow", "stat_rx_duplicate", "stat_done_overflow",
)  # fmt: skip
QUEUE_EVENTS = ("evt_packet_taken", "evt_backoff_running", "evt_backoff_slots")
NEIGHBOUR = (
    "nbr_avg_contention_us16", "nbr_avg_overhead_us16", "nbr_avg_data_attempts_256", "nbr_packets", "nbr_drops",
    "nbr_service_us", "nbr_histogram",
)  # fmt: skip
FILL_CLOCKS = 256


class RegistersDriver:
    """A host and a MAC around mac_registers, or around what has the registers of another map from `base` on."""

    def __init__(
        self, dut, prefix: str = "s_axil", registers: Mapping[str, Register] = REGISTERS, base: int = 0
    ) -> None:
        self.dut = dut
        self.registers = registers
        self._base = base
        self.axi = AxiLiteMaster(AxiLiteBus.from_prefix(dut, prefix), dut.clk, dut.rst)
        self.axi.write_if.log.setLevel("WARNING")
        self.axi.read_if.log.setLevel("WARNING")

    @classmethod
    async def start(cls, dut) -> "RegistersDriver":
        for name in (*LEVELS, *EVENTS, *NEIGHBOUR, "s_axil_awprot", "s_axil_arprot"):
            getattr(dut, name).value = 0
        for name in QUEUE_EVENTS:
            for queue in range(QUEUES):
                getattr(dut, name)[queue].value = 0
        dut.rst.value = 1
        driver = cls(dut)
        Clock(dut.clk, 10, "ns").start()
        await driver.reset()
        return driver

    async def reset(self) -> None:
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        await RisingEdge(self.dut.clk)

    async def clocks(self, count: int) -> None:
        await ClockCycles(self.dut.clk, count)

    async def pulse(self, **values: int) -> None:
        """Inputs for one clock, then 0."""
        for name, value in values.items():
            getattr(self.dut, name).value = value
        await RisingEdge(self.dut.clk)
        for name in values:
            getattr(self.dut, name).value = 0

    async def read(self, address: int) -> int:
        answer = await self.axi.read(address - self._base, 4)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def write(self, address: int, word: int) -> None:
        answer = await self.axi.write(address - self._base, word.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY
        await FallingEdge(self.dut.clk)  # it takes effect with its answer

    async def read_register(self, name: str, index: int = 0) -> int:
        register = self.registers[name]
        address = entry_address(register, index)
        value = 0
        for word in range(register.words):
            value |= await self.read(address + 4 * word) << 32 * word
        return value

    async def read_field(self, name: str, field: str, index: int = 0) -> int:
        return self.registers[name].fields[field].get(await self.read_register(name, index))

    async def write_register(self, name: str, index: int = 0, /, **fields: int) -> None:
        """Writes the word or words, with 0 in what is not named, whatever the rules say."""
        register = self.registers[name]
        value = 0
        for field, content in fields.items():
            value = register.fields[field].put(value, content)
        for word in range(register.words):
            await self.write(entry_address(register, index) + 4 * word, value >> 32 * word & 0xFFFF_FFFF)

    async def refusal(self) -> tuple[set[str], int]:
        """Reasons and address of a refused write; none is left standing."""
        register = self.registers["error"]
        value = await self.read(register.address)
        reasons = {name for name, field in register.fields.items() if field.access == "w1c" and field.get(value)}
        await self.write(register.address, sum(register.fields[name].mask for name in reasons))
        return reasons, self._base + register.fields["at_address"].get(value)

    def port(self, port: str, index: int, is_array: bool) -> int | None:
        """What a setting's port says; None if it is no port of mac_registers."""
        name, high, low = re.fullmatch(r"(\w+)(?:\[(\d+):(\d+)\])?", port).groups()
        if not hasattr(self.dut, name) or not name.startswith(("cfg_", "mac_")):
            return None
        handle = getattr(self.dut, name)
        value = int((handle[index] if is_array else handle).value)
        return value if high is None else value >> int(low) & (1 << (int(high) - int(low) + 1)) - 1

    async def host(self, program, of: Callable[[Bus], object] = MacRegisters):
        """Runs a function of what `of` makes of a bus, which blocks, as a task of the simulation."""
        bus = _BlockingBus(self)
        return await bridge(lambda: program(of(bus)))()


class _BlockingBus:
    """perhop.registers.Bus for a program in a thread of its own."""

    def __init__(self, driver: RegistersDriver) -> None:
        self.read32 = resume(driver.read)
        self.write32 = resume(driver.write)
