# SPDX-License-Identifier: GPL-2.0-or-later
"""Random but plausible surroundings of one station: other stations' frames, bare carriers, answers, traffic."""

import random
from dataclasses import dataclass, replace

from perhop.registers.spec_generated import PROFILES, AccessMode, FrameKind

from .exchange import Output, Packet, ReceivedFrame, TickInputs, Transmission
from .scenario import frame_airtime_us
from .settings import QUIRKS, RATES, MacSettings, profile_settings, station_address

GROUP = station_address("all")
OTHERS = [station_address(letter) for letter in "BCDEFGH"]
WINDOWS = (0, 1, 3, 7, 15, 31, 63)


def random_settings(source: random.Random) -> MacSettings:
    """A profile, and now and then any of its values changed."""
    profile = source.choice(("dsss_long", "dsss_long", "ofdm_20mhz", "dsss_short", "erp_short_slot", "ofdm_10mhz"))
    changes: dict[str, int | bool] = {
        "seed": source.getrandbits(64),
        "average_shift": source.randrange(8),
        "short_retry_limit": source.choice((1, 2, 3, 7)),
        "long_retry_limit": source.choice((1, 2, 4)),
    }
    if source.random() < 0.5:
        changes["cw_min"] = source.choice(WINDOWS)
        changes["cw_max"] = source.choice([cw for cw in (*WINDOWS, 127, 1023) if cw >= changes["cw_min"]])
    ns2 = source.random() < 0.3
    if not ns2 and source.random() < 0.4:
        quirk = source.choice(QUIRKS)
        changes[quirk] = True
        if quirk == "quirk_fixed_timeout":
            changes["response_timeout_us"] = PROFILES[profile].sifs_us + 4
    if (ns2 or changes.get("quirk_draw_below_cw")) and changes.get("cw_min") == 0:
        # 0..CW-1 has no member.
        changes["cw_min"] = changes["cw_max"] = 1
    return profile_settings(profile, ns2=ns2, **changes)


def random_two_queue_settings(source: random.Random) -> MacSettings:
    """Windows and spaces of two queues, such that they often end in one microsecond; any access mode."""
    settings = random_mode_settings(source) if source.random() < 0.25 else random_settings(source)
    if source.random() < 0.3:
        return settings
    at_least = 1 if settings.quirk_draw_below_cw else 0
    low, high = (source.choice([cw for cw in WINDOWS if cw >= at_least]) for _ in range(2))
    return replace(
        settings,
        cw_min=low,
        cw_max=source.choice([cw for cw in (*WINDOWS, 1023) if cw >= low]),
        high_cw_min=high,
        high_cw_max=source.choice([cw for cw in (*WINDOWS, 127) if cw >= high]),
        aifs_extra_slots=source.choice(((0, 0), (1, 0), (5, 0), (0, 2), (15, 1))),
    )


def random_mode_settings(source: random.Random) -> MacSettings:
    """Any access mode, with link acknowledgements or without."""
    settings = random_settings(source)
    changes: dict[str, int | bool] = {
        "access_mode": source.choice((AccessMode.CSMA, AccessMode.FAMA, AccessMode.FAMA, AccessMode.DCF)),
        "no_mac_ack": source.random() < 0.7,
        "vacation_us": source.choice((0, 0, 20, 3000)),
    }
    if changes["access_mode"] != AccessMode.DCF:
        changes["slot_us"] = source.choice((1, 9, 20, 1000, 8191))
    return replace(settings, **changes)


@dataclass
class AirFrame:
    """A frame on its way to the station; rx_start_us is None once it has been indicated, or if it never will be."""

    start_us: int
    rx_start_us: int | None
    end_us: int
    frame: ReceivedFrame
    begun: bool = False  # PHY-RXSTART was given, so the end must be
    lost: bool = False  # carrier only


class RandomAir:
    """Surroundings for MacCoreDriver, decided by a seed and by what the station sends.

    The station is half-duplex: what is on the air while it sends is carrier to it, and what it was receiving is bad.
    Its PHY receives one frame at a time; a response takes the place of what would have come next.
    """

    def __init__(
        self,
        settings: MacSettings,
        source: random.Random,
        until_us: int,
        *,
        rate_series: bool = False,
        queues: int = 1,
    ) -> None:
        self.rate_series = rate_series
        self.queues = queues
        self.settings = settings
        self._random = source
        self._until_us = until_us
        self._rates = len(PROFILES[settings.profile].rates)
        self._now_us = 0
        self._cca_busy = False
        self._carriers: list[tuple[int, int]] = []
        self._frames: list[AirFrame] = []
        self._own_until_us = 0
        self._tag = 0
        self._sequences = {address: source.getrandbits(12) for address in OTHERS}
        self._load = source.choice((0.0, 0.3, 1.0, 3.0))  # of others, activities a data frame's length
        self._response_rate = source.choice((0.3, 0.7, 0.95))  # how often the peer answers
        self._packet_gap_us = source.choice((0, 2000, 10000, 40000))
        self._use_rts = source.choice((0.0, 0.5, 1.0))
        self._next_packet_us = source.randrange(3000)
        self._next_activity_us = source.randrange(4000) if self._load else None

    # ---- What the driver asks ----

    def next_us(self) -> int | None:
        times = [self._next_packet_us, self._next_activity_us]
        times += [frame.rx_start_us for frame in self._frames]
        times += [frame.end_us for frame in self._frames if not frame.lost]
        times.append(self._next_edge_us())
        pending = [at_us for at_us in times if at_us is not None]
        return min(pending) if pending else None

    def take(self) -> TickInputs:
        now_us = self._now_us = self.next_us()
        if now_us == self._next_activity_us:
            self._start_activity(now_us)
        tick = TickInputs(now_us)
        for frame in self._frames:
            if frame.rx_start_us == now_us:
                tick.rx_start, frame.begun, frame.rx_start_us = True, True, None
            if frame.end_us == now_us and not frame.lost:
                tick.rx_end = frame.frame
        self._frames = [frame for frame in self._frames if frame.end_us > now_us]
        busy = self._busy_at(now_us)
        if busy != self._cca_busy:
            tick.cca_busy = self._cca_busy = busy
        self._carriers = [(start_us, end_us) for start_us, end_us in self._carriers if end_us > now_us]
        if now_us == self._next_packet_us:
            tick.packets = [self._packet() for _ in range(self._random.choice((1, 1, 1, 2, 5)))]
            gap_us = self._random.expovariate(1 / self._packet_gap_us) if self._packet_gap_us else 500
            self._next_packet_us = now_us + 1 + int(gap_us) if now_us + gap_us < self._until_us else None
        return tick

    def on_output(self, output: Output) -> None:
        if not isinstance(output, Transmission):
            return
        now_us, end_us = output.at_us, output.at_us + output.airtime_us
        self._own_until_us = end_us
        for frame in self._frames:
            if frame.start_us < end_us and frame.end_us > now_us:
                if frame.begun:
                    frame.frame = replace(frame.frame, ok=False)
                else:
                    frame.lost, frame.rx_start_us = True, None
        if output.ra == GROUP:
            return
        if output.kind in (FrameKind.RTS, FrameKind.DATA):
            self._respond(output, end_us)
        elif output.kind == FrameKind.CTS and self._random.random() < 0.8:
            # The station that was given the medium uses it.
            rate = self._random.randrange(self._rates)
            self._frame_at(
                end_us + self.settings.sifs_us,
                ReceivedFrame(
                    ok=self._random.random() < 0.8,
                    kind=FrameKind.DATA,
                    rate=rate,
                    duration_us=self.settings.sifs_us + self.settings.response_airtime_us[rate],
                    ra=self.settings.address,
                    ta=output.ra,
                    sequence=self._sequence(output.ra),
                    retry=self._random.random() < 0.3,
                ),
                self.settings.data_airtime_us(rate, self._random.randrange(28, 1500)),
            )

    # ---- Carrier ----

    def _busy_at(self, at_us: int) -> bool:
        return any(start_us <= at_us < end_us for start_us, end_us in self._carriers)

    def _next_edge_us(self) -> int | None:
        """When the level next differs from what it is."""
        edges = sorted({edge for carrier in self._carriers for edge in carrier if edge > self._now_us})
        return next((edge for edge in edges if self._busy_at(edge) != self._cca_busy), None)

    # ---- Frames of others ----

    def _frame_at(self, start_us: int, frame: ReceivedFrame, length_us: int) -> None:
        """Puts a frame on the air and moves the others' next activity behind it, or, sometimes, over it as carrier."""
        self._carriers.append((start_us, start_us + length_us))
        delay_us = self.settings.phy_rx_start_delay_us
        taken = any(other.end_us > start_us and not other.lost for other in self._frames)
        lost = taken or start_us < self._own_until_us or delay_us >= length_us
        self._frames.append(
            AirFrame(start_us, None if lost else start_us + delay_us, start_us + length_us, frame, lost=lost)
        )
        if self._next_activity_us is not None and self._next_activity_us <= start_us + length_us:
            self._plan_activity(start_us + length_us)

    def _plan_activity(self, after_us: int) -> None:
        if not self._load or after_us > self._until_us:
            self._next_activity_us = None
            return
        settings = self.settings
        gap_us = self._random.choice(
            (
                settings.sifs_us,
                self._random.randrange(1, settings.difs_us + 2),
                self._random.randrange(settings.difs_us, settings.eifs_us + 2),
                settings.difs_us + settings.slot_us * self._random.randrange(8),
                int(self._random.expovariate(self._load / 3000)),
            )
        )
        self._next_activity_us = after_us + max(gap_us, 1)

    def _start_activity(self, now_us: int) -> None:
        """Another station's frame, or a carrier that is none."""
        self._next_activity_us = None
        if self._random.random() < 0.2:
            self._carriers.append((now_us, now_us + self._random.randrange(1, 800)))
            self._plan_activity(now_us + self._random.randrange(1, 800))
            return
        frame, length_us = self._random_frame()
        self._frame_at(now_us, frame, length_us)
        self._plan_activity(now_us + length_us)

    def _random_frame(self) -> tuple[ReceivedFrame, int]:
        settings, source = self.settings, self._random
        kind = source.choice((FrameKind.RTS, FrameKind.RTS, FrameKind.CTS, FrameKind.DATA, FrameKind.DATA,
                              FrameKind.MAC_ACK, FrameKind.OTHER))  # fmt: skip
        ra = source.choice((settings.address, settings.address, source.choice(OTHERS), source.choice(OTHERS), GROUP))
        if kind not in (FrameKind.DATA, FrameKind.OTHER) and ra == GROUP:
            ra = source.choice(OTHERS)
        ta = source.choice(OTHERS)
        rate = source.randrange(self._rates) if kind == FrameKind.DATA else settings.rts_rate
        size_bytes = source.randrange(28, 1500) if kind in (FrameKind.DATA, FrameKind.OTHER) else None
        if source.random() < 0.1:
            duration_us = 0
        else:
            duration_us = source.choice((source.randrange(400), source.randrange(4000), settings.nav_reset_us))
        if ra == GROUP:
            duration_us = 0
        frame = ReceivedFrame(
            ok=source.random() < 0.8,
            kind=kind,
            rate=rate,
            duration_us=duration_us,
            ra=ra,
            ta=ta,
            sequence=self._sequence(ta) if kind == FrameKind.DATA else 0,
            retry=kind == FrameKind.DATA and source.random() < 0.4,
        )
        return frame, frame_airtime_us(settings, kind, rate, size_bytes)

    def _sequence(self, address: int) -> int:
        if self._random.random() < 0.6:
            self._sequences[address] = self._sequences[address] + 1 & 0xFFF
        return self._sequences[address]

    # ---- Answers to the station ----

    def _respond(self, own: Transmission, end_us: int) -> None:
        settings, source = self.settings, self._random
        if source.random() > self._response_rate:
            return
        wanted = FrameKind.CTS if own.kind == FrameKind.RTS else FrameKind.MAC_ACK
        kind = wanted if source.random() < 0.9 else source.choice(list(FrameKind))
        rate = settings.response_rate[own.rate]
        size_bytes = source.randrange(28, 600) if kind in (FrameKind.DATA, FrameKind.OTHER) else None
        length_us = frame_airtime_us(settings, kind, rate, size_bytes)
        start_us = end_us + settings.sifs_us
        if source.random() < 0.15:
            # Begins, or with ns-2's rule ends, about when the timeout is due.
            late_us = settings.response_timeout_us
            late_us -= 0 if settings.quirk_fixed_timeout else settings.phy_rx_start_delay_us
            start_us = max(end_us + late_us + source.choice((-1, 0, 0, 1)), end_us + 1)
        self._frame_at(
            start_us,
            ReceivedFrame(
                ok=source.random() < 0.9,
                kind=kind,
                rate=rate,
                duration_us=max(own.duration_us - length_us - settings.sifs_us, 0),
                ra=settings.address if source.random() < 0.95 else source.choice(OTHERS),
                ta=own.ra,
                sequence=self._sequence(own.ra),
            ),
            length_us,
        )

    def _packet(self) -> Packet:
        source = self._random
        self._tag = self._tag + 1 & 0xFFFF
        peer = source.randrange(len(OTHERS))
        rate = source.randrange(min(self._rates, RATES))
        size_bytes = source.choice((28, 100, source.randrange(28, 1500)))
        group = source.random() < 0.1
        return Packet(
            ra=GROUP if group else OTHERS[peer],
            peer=15 if group else peer,
            bytes=size_bytes,
            rate=rate,
            airtime_us=self.settings.data_airtime_us(rate, size_bytes),
            use_rts=source.random() < self._use_rts,
            tag=self._tag,
            series=self._series(rate, size_bytes),
            queue=source.randrange(2) if self.queues > 1 else 0,
        )

    def _series(self, rate: int, size_bytes: int) -> tuple[tuple[int, int, int], ...]:
        """Some packets step through up to four rates, where rate_series is set."""
        if not self.rate_series or self._random.random() < 0.3:
            return ()
        rates = [rate, *(self._random.randrange(self._rates) for _ in range(self._random.randrange(4)))]
        return tuple(
            (self._random.choice((1, 1, 2, 0)), each, self.settings.data_airtime_us(each, size_bytes)) for each in rates
        )
