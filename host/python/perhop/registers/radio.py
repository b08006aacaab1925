# SPDX-License-Identifier: GPL-2.0-or-later
"""The registers of a radio: settings of its modem, its counters, its last frame.

radio = RadioRegisters(bus)              # the bus of a radio_top
mac = MacRegisters(bus)
mac.disable()
radio.load_profile(mac, "dsss_short", samples_per_us=22)
mac.enable()
radio.last_frame().snr_db
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from perhop.registers.lookup import RegisterError
from perhop.registers.mac import MacRegisters
from perhop.registers.mapped import Bus, MappedRegisters
from perhop.registers.spec_generated import RADIO_ID, RADIO_REGISTERS, RADIO_VERSION_MAJOR

LONG_PREAMBLE, SHORT_PREAMBLE = "dsss_long", "dsss_short"
"""The timing profiles that the modem can keep."""

DELAYS = {2: ((8.0, 1.5), (3.5, 20.0)), 4: ((13.0, 1.5), (17.5, 26.0))}
"""By samples a chip, of transmission and reception: samples and clocks that dsss_phy takes; its tests measure them."""

RESAMPLED_DELAYS = {(25, 22): ((10.0, 0.6), (4.4, 22.8)), (256, 275): ((8.0, 3.0), (4.0, 22.0))}
"""The same behind resamplers, by rate_in and rate_22; samples are the converter's."""


@dataclass(frozen=True)
class LastFrame:
    """What the modem made of a frame."""

    number: int
    """Modulo 16: another one says that it is another frame."""
    rate: int
    rssi_dbm: int
    snr_db: int
    """Of a symbol, Es/N0."""
    carrier_hz: float
    """Offset of the carrier; of symbols of 1 us."""
    carrier_lost: bool


def modem_delays_clocks(clocks_per_sample: float, modem: Mapping[str, int], lead_samples: int = 0) -> tuple[int, int]:
    """Clocks from phy_tx_start to a frame's first chip on the air, and from the end of its last chip to phy_rx_end.

    `modem` are the fields of the register of that name, `lead_samples` that of front_end. Their sum is within half a
    clock of the mean (two clocks behind resamplers); a sample is what a frame's begin and end on the air are rounded
    to. RegisterError for a modem whose delays nobody has measured.
    """
    if modem["rate_in"]:
        delays = RESAMPLED_DELAYS.get((modem["rate_in"], modem["rate_22"]))
        known = " or ".join(f"RATE_IN={rate_in} with RATE_22={rate_22}" for rate_in, rate_22 in RESAMPLED_DELAYS)
    else:
        delays, known = DELAYS.get(modem["samples_per_chip"]), "2 or 4 samples a chip"
    if delays is None:
        raise RegisterError(f"no delays are known of a modem with {dict(modem)}", f"build it with {known}")
    (tx_samples, tx_clocks), (rx_samples, rx_clocks) = delays
    # A lead is in the transmitter's samples; behind a resampler these are others than the converter's.
    lead = lead_samples * modem["rate_in"] / (2 * modem["rate_22"]) if modem["rate_in"] else lead_samples
    tx = (tx_samples + lead) * clocks_per_sample + tx_clocks
    both = tx + rx_samples * clocks_per_sample + rx_clocks
    return round(tx), round(both) - round(tx)


class RadioRegisters(MappedRegisters):
    """The registers of one radio, which stand behind its MAC's."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, RADIO_REGISTERS, "radio", RADIO_ID, RADIO_VERSION_MAJOR)

    def load_profile(
        self, mac: MacRegisters, name: str, samples_per_us: float, more_clocks: tuple[int, int] = (0, 0)
    ) -> None:
        """Loads a timing profile into the MAC, with the modem's preamble and delays; the MAC must not run.

        `more_clocks` is what stands between modem and antenna: of transmission and of reception.
        """
        if name not in (LONG_PREAMBLE, SHORT_PREAMBLE):
            raise RegisterError(
                f"the modem cannot keep the timing profile {name!r}", f"use {LONG_PREAMBLE} or {SHORT_PREAMBLE}"
            )
        clocks_per_sample = mac.read("clock")["per_us"] / samples_per_us
        modem_clocks = modem_delays_clocks(
            clocks_per_sample, self.read("modem"), self.read("front_end")["lead_samples"]
        )
        delays_clocks = [modem + more for modem, more in zip(modem_clocks, more_clocks, strict=True)]
        self.write("preamble", short_preamble=int(name == SHORT_PREAMBLE))
        mac.load_profile(name, *delays_clocks)

    def last_frame(self) -> LastFrame:
        """Of the last frame that the MAC got, good or bad."""
        told = self.read("last_frame")
        return LastFrame(
            number=told["frame"],
            rate=told["rate"],
            rssi_dbm=told["rssi_dbm"],
            snr_db=told["snr_db"],
            carrier_hz=math.atan(told["tangent_128"] / 128) / (2e-6 * math.pi),
            carrier_lost=bool(told["carrier_lost"]),
        )
