# SPDX-License-Identifier: GPL-2.0-or-later
"""Another station on the air, in Python: it answers what is for it as IEEE 802.11-2012, 9.3.2, says, and sends what a
test tells it to. It does not contend."""

from dataclasses import dataclass

from . import mpdu
from .air import Air, AirFrame, Reception
from .spec import FrameKind, airtime_us

CONTROL_BYTES = {FrameKind.RTS: 20, FrameKind.CTS: 14, FrameKind.MAC_ACK: 14}


@dataclass(frozen=True)
class Received:
    """An MSDU that came, from whom, and at which clock its frame ended."""

    msdu: bytes
    ta: int
    sequence: int
    retry: bool
    end: int


class Peer:
    """A station with an address. `received` has the MSDUs that it answered, or that were for all, repetitions too.

    `deaf_to` frames of a kind are not answered: as many as it says. So a test makes a MAC retry.
    """

    def __init__(self, air: Air, name: str, address: int) -> None:
        self.air = air
        self.name = name
        self.address = address
        self.received: list[Received] = []
        self.heard: list[mpdu.Reading] = []  # every frame that could be read
        self.deaf_to: dict[FrameKind, int] = {}
        air.join(self)

    def send(self, data: bytes, rate: int, begin: int) -> AirFrame:
        """Puts a frame, whose FCS is in `data`, on the air at a clock that is now or to come."""
        return self.air.send(self.name, begin, rate, len(data), data)

    async def hear(self, reception: Reception) -> None:
        """Takes a frame when it is over, and answers it after SIFS."""
        air, frame = self.air, reception.frame
        await air.until(frame.end)
        if reception.carrier_only or reception.spoilt_at is not None:
            return
        data = bytes(air.byte_at(frame, self, index) for index in range(len(frame.data)))
        reading = mpdu.read(data, frame.size_bytes)
        if not reading.ok:
            return
        self.heard.append(reading)
        group = bool(reading.ra is not None and reading.ra >> 40 & 1)
        mine = reading.ra == self.address
        if mine and self.deaf_to.get(reading.kind, 0) > 0:
            self.deaf_to[reading.kind] -= 1
            return
        if reading.kind == FrameKind.DATA and (mine or group):
            self.received.append(Received(reading.msdu, reading.ta, reading.sequence, reading.retry, frame.end))
        answer = {FrameKind.RTS: FrameKind.CTS, FrameKind.DATA: FrameKind.MAC_ACK}.get(reading.kind)
        if mine and answer is not None:
            rate = air.timing.rates[frame.rate].control_rate_index
            taken_us = air.timing.sifs_us + airtime_us(air.timing, rate, CONTROL_BYTES[answer])
            response = mpdu.control_frame(answer, max(reading.duration_us - taken_us, 0), reading.ta)
            self.send(response, rate, frame.end + air.clocks(air.timing.sifs_us))
