# SPDX-License-Identifier: GPL-2.0-or-later
"""The PHY of a mac_top in a simulation: between the MAC's pins and the air, in bytes, with the delays of a real one."""

import cocotb
from cocotb.triggers import RisingEdge

from .air import Air, Reception

TO_MAC = ("cca_busy", "rx_start", "rx_rate", "rx_bytes", "rx_data", "rx_valid", "rx_end", "rx_error", "rx_rssi_dbm")
FROM_MAC = ("tx_start", "tx_rate", "tx_bytes", "tx_airtime_us", "tx_data", "tx_valid", "tx_last")


class PhyAgent:
    """Joins the pins PREFIX_cca_busy, PREFIX_rx_start, ... and PREFIX_tx_start, ... of a design to the air.

    The pins are the members of phy_indications_s and phy_requests_s of perhop_pkg, and tx_ready. The MAC is told of the
    end of a spoilt frame with an error, and of its begin only if it was spoilt behind its PLCP header.

    Args:
        tx_delay_clocks: from tx_start to the frame's first bit on the air.
        rx_delay_clocks: from anything on the air to what the PHY says of it. `MacRegisters.load_profile` tells the MAC
            of both.

    The frames that the MAC sends are checked: an airtime that is wrong, a byte that comes after it was due on the air,
    and a frame with more or fewer bytes than it was said to have raise AssertionError, which fails the test.
    """

    def __init__(
        self,
        dut,
        air: Air,
        name: str,
        *,
        tx_delay_clocks: int,
        rx_delay_clocks: int,
        prefix: str = "phy",
        rssi_dbm: int = -60,
    ) -> None:
        self.name = name
        self.air = air
        self._to_mac = {pin: getattr(dut, f"{prefix}_{pin}") for pin in TO_MAC}
        self._from_mac = {pin: getattr(dut, f"{prefix}_{pin}") for pin in FROM_MAC}
        self._tx_delay, self._rx_delay = tx_delay_clocks, rx_delay_clocks
        self._rssi_dbm = rssi_dbm
        self._carriers = 0
        for pin in self._to_mac.values():
            pin.value = 0
        getattr(dut, f"{prefix}_tx_ready").value = 1
        air.join(self)
        cocotb.start_soon(self._transmit())

    def _says(self, pin: str) -> int:
        return int(self._from_mac[pin].value)

    # ---- From the MAC to the air

    async def _transmit(self) -> None:
        await self.air.until(0)
        while True:
            await RisingEdge(self._from_mac["tx_start"])
            await self.air.clock()
            await self._send_one()

    async def _send_one(self) -> None:
        """One frame; it begins with the clock that sees tx_start, from which on bytes may come."""
        air, size_bytes = self.air, self._says("tx_bytes")
        frame = air.send(self.name, air.now + self._tx_delay, self._says("tx_rate"), size_bytes)
        told = self._says("tx_airtime_us")
        assert frame.end - frame.begin == air.clocks(told), (
            f"{self.name} says that {size_bytes} bytes take {told} us; they take {air.us(frame.end - frame.begin):g} us"
        )
        while True:
            if self._says("tx_valid"):
                number = len(frame.data)
                assert number < size_bytes, f"{self.name}: more than {size_bytes} bytes"
                assert air.now + self._tx_delay < air.due(frame, number), (
                    f"{self.name}: byte {number} of a frame of {size_bytes} came after it was due on the air"
                )
                frame.data.append(self._says("tx_data"))
                if self._says("tx_last"):
                    break
            assert air.now < frame.end, f"{self.name}: of {size_bytes} bytes only {len(frame.data)} came"
            await air.clock()
        assert len(frame.data) == size_bytes, f"{self.name}: {len(frame.data)} bytes in a frame of {size_bytes}"

    # ---- From the air to the MAC

    async def hear(self, reception: Reception) -> None:
        """Carrier, PLCP header, bytes and end of a frame that begins now."""
        air, frame, late = self.air, reception.frame, self._rx_delay
        await air.until(frame.begin + late)
        self._carriers += 1
        self._to_mac["cca_busy"].value = 1
        if not reception.carrier_only:
            await self._receive(reception)
        await air.until(frame.end + late)
        self._carriers -= 1
        self._to_mac["cca_busy"].value = int(self._carriers > 0)
        if not reception.carrier_only:
            spoilt = reception.spoilt_at is not None
            await self._strobe("rx_end", rx_error=int(spoilt), rx_rssi_dbm=self._rssi_dbm & 0xFF)

    async def _receive(self, reception: Reception) -> None:
        air, frame, late = self.air, reception.frame, self._rx_delay
        await air.until(air.head(frame) + late)
        if _unreadable(reception, air.head(frame)):
            return
        await self._strobe("rx_start", rx_rate=frame.rate, rx_bytes=frame.size_bytes)
        for index in range(frame.size_bytes):
            at = air.due(frame, index)
            await air.until(at + late)
            if index < len(frame.data):
                noise = 0xFF if _unreadable(reception, at) else 0
                await self._strobe("rx_valid", rx_data=air.byte_at(frame, self, index) ^ noise)

    async def _strobe(self, name: str, **values: int) -> None:
        """One clock of a pin, with what stands beside it."""
        for pin, value in values.items():
            self._to_mac[pin].value = value
        self._to_mac[name].value = 1
        await self.air.clock()
        self._to_mac[name].value = 0


def _unreadable(reception: Reception, at: int) -> bool:
    return reception.spoilt_at is not None and reception.spoilt_at <= at
