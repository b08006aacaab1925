# SPDX-License-Identifier: GPL-2.0-or-later
"""The host of a mac_top or radio_top in a test: its registers and streams."""

from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from perhop.registers import MacRegisters
from perhop.registers.spec_generated import RX_STATUS_FIELDS, decode_completion_record

from .registers_driver import RegistersDriver

ADDRESS = {"a": 0x0200_0000_0001, "b": 0x0200_0000_0002}
IDLE = (
    *("s_axil_awprot", "s_axil_arprot", "s_desc_valid", "s_desc_queue", "s_desc_peer", "s_desc_four_address"),
    *("s_desc_a3", "s_desc_a4", "s_desc_series_attempts", "s_desc_series_rate"),
)


class MacHost:
    """One MAC, as its host sees it. Where a bench has several, `name` stands before the names of its ports.

    A design around a MAC may make descriptors itself and have no ports for them; then `give` is not there.

    Args:
        address: of the station, which set_up gives it; by itself that of ADDRESS for the name.
    """

    def __init__(self, dut, name: str = "", address: int | None = None) -> None:
        self.dut = dut
        self.name = name
        self.address = ADDRESS.get(name) if address is None else address
        self._prefix = f"{name}_" if name else ""
        self.gives = hasattr(dut, f"{self._prefix}s_desc_valid")
        for port in IDLE:
            if self.gives or not port.startswith("s_desc"):
                self._port(port).value = 0
        self.registers = RegistersDriver(dut, f"{self._prefix}s_axil")
        self.received = self._stream(AxiStreamSink, "m_axis_rx")
        self.done = self._stream(AxiStreamSink, "m_done")
        self._source = self._stream(AxiStreamSource, "s_axis_tx") if self.gives else None

    def _stream(self, kind: type, name: str):
        end = kind(AxiStreamBus.from_prefix(self.dut, f"{self._prefix}{name}"), self.dut.clk, self.dut.rst)
        end.log.setLevel("WARNING")
        return end

    def _port(self, name: str):
        return getattr(self.dut, f"{self._prefix}{name}")

    async def host(self, program, of=MacRegisters):
        """Runs a function of spec.MacRegisters, or of the registers that `of` makes of a bus."""
        return await self.registers.host(program, of)

    async def set_up(self, profile: str, seed: int, delays_clocks: tuple[int, int], **more) -> None:
        """Disables, loads a profile, enables."""

        def program(mac: MacRegisters) -> None:
            mac.disable()
            mac.load_profile(profile, *delays_clocks)
            mac.set_station(self.address, seed)
            mac.write("rts_threshold", value_bytes=4095)
            for name, fields in more.items():
                mac.write(name, **fields)
            mac.enable()

        await self.host(program)

    async def give(self, msdu: bytes, ra: int, rate: int, tag: int, **flags: int) -> None:
        """A descriptor, then the packet's bytes."""
        values = {"ra": ra, "bytes": len(msdu), "rate": rate, "tag": tag, "valid": 1}
        values |= {"queue": 0, "force_rts": 0, "peer_series": 0} | flags
        for field, value in values.items():
            self._port(f"s_desc_{field}").value = int(value)
        while True:
            await RisingEdge(self.dut.clk)
            if self._port("s_desc_ready").value:
                break
        self._port("s_desc_valid").value = 0
        await self._source.send(AxiStreamFrame(msdu))

    async def completion(self) -> dict[str, int]:
        """The next completion record."""
        frame = await with_timeout(self.done.recv(), 60, "ms")
        data = bytes(frame.tdata)
        words = [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]
        return decode_completion_record(words)

    async def reception(self) -> bytes:
        """The MSDU that comes next."""
        return bytes((await with_timeout(self.received.recv(), 60, "ms")).tdata)

    def status(self) -> dict[str, int]:
        """The status that stands now."""
        value = int(self._port("m_rx_status").value)
        record = {}
        for field in reversed(RX_STATUS_FIELDS):
            record[field.name] = value & (1 << field.width_bits) - 1
            value >>= field.width_bits
        return record

    @property
    def irq(self) -> int:
        return int(self._port("irq").value)
