# SPDX-License-Identifier: GPL-2.0-or-later
"""Random surroundings that aim: what can interrupt a step of the exchange comes while that step lasts, or as it ends.

A MAC is rarely in the ten microseconds between CTS and DATA, and chance alone rarely meets them. These surroundings ask
the reference model where the station is and what it will do next, and put a carrier, a frame, or a packet there.

They keep the PHY's contract: a PHY that sends receives nothing but noise; it receives one frame at a time, each longer
than SIFS, of which it says at most once that it has begun; and it hears a carrier while it receives.
"""

import json
import random
from dataclasses import replace
from pathlib import Path

from perhop.registers.spec_generated import AccessMode, FrameKind

from .exchange import ReceivedFrame, TickInputs
from .exchange_bins import NAV_RESET, VACATION, ObservedStation
from .random_air import (
    GROUP,
    OTHERS,
    AirFrame,
    RandomAir,
    random_mode_settings,
    random_settings,
    random_two_queue_settings,
)
from .scenario import frame_airtime_us
from .settings import MacSettings

# Of the packets that are given, none finds the MAC's queue full: what is refused the model does not know.
QUEUE_ROOM = 3
# How long a run of find_exchange_seeds.py, and its repetition on the gateware, lasts.
RUN_US = 30_000
# Each disturbance is a new reason to disturb: beyond these, no more are planned.
MOST_TO_COME = 6


# Frames that a goal may ask for: their kind, and whether the station has taken them before.
GOALS = {
    "RTS for us": (FrameKind.RTS, False),
    "DATA for us": (FrameKind.DATA, False),
    "DATA again for us": (FrameKind.DATA, True),
    NAV_RESET: (FrameKind.RTS, False),
}


class SteeredAir(RandomAir):
    """RandomAir that is told where the station is."""

    def __init__(
        self,
        settings: MacSettings,
        source: random.Random,
        until_us: int,
        *,
        queues: int = 1,
        goal: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(settings, source, until_us, queues=queues)
        self._goal = goal  # a step, and what shall interrupt it whenever the station is there
        if source.random() < 0.4:
            # Few packets: a station is seldom without one otherwise.
            self._packet_gap_us, self._next_packet_us = 40000, source.randrange(30000)
        self._eagerness = source.choice((0.2, 0.6, 0.9))
        self._packets_at_us: set[int] = set()
        self.taken: dict[int, int] = {}  # of each sender, the DATA that the station would know again

    # ---- What rehearse() asks ----

    def next_us(self) -> int | None:
        times = [super().next_us(), min(self._packets_at_us, default=None)]
        return min((at_us for at_us in times if at_us is not None), default=None)

    def take(self) -> TickInputs:
        now_us = self.next_us()
        tick = super().take() if super().next_us() == now_us else TickInputs(now_us)
        self._now_us = now_us
        if now_us in self._packets_at_us:
            self._packets_at_us.discard(now_us)
            tick.packets.append(self._packet())
        return tick

    def aim(self, now_us: int, ends_us: list[int], step: str) -> None:
        """The station is at something new, which may end at ends_us by itself: perhaps something shall disturb it."""
        source = self._random
        if source.random() > self._eagerness or now_us >= self._until_us or len(self._carriers) > MOST_TO_COME:
            return
        own_until_us = self._own_until_us
        if step.endswith("on the air") and own_until_us > now_us + 1 and source.random() < 0.3:
            # Noise over the own frame, which the PHY takes for a frame.
            noise = ReceivedFrame(False, FrameKind.OTHER, 0, 0, 0, 0)
            end_us = own_until_us - 1 if self._goal else source.randrange(now_us + 1, own_until_us)
            self._frames.append(AirFrame(now_us, None, end_us, noise, begun=True))
            return
        if self._goal and self._aim_at_goal(now_us, step):
            return
        ends_us = [*ends_us, *(frame.end_us for frame in self._frames), *(end_us for _, end_us in self._carriers)]
        ends_us = [at_us for at_us in ends_us if at_us > now_us]
        last_us = source.choice([*ends_us, now_us + source.choice((5, 50, 500, 5000))])
        at_us = source.choice((last_us, last_us, max(last_us - 1, now_us + 1), source.randint(now_us + 1, last_us)))
        what = source.randrange(8)
        if what <= 1 or (step.startswith(("post-back-off", "no packet")) and what <= 4):
            self._packets_at_us.add(at_us)
        elif what <= 3:
            length_us = source.choice((1, 2, self.settings.slot_us, 100, 1000))
            begin_us = source.choice((at_us, max(at_us - length_us, now_us + 1)))
            self._carriers.append((begin_us, begin_us + length_us))
        else:
            self._frame_to_come(now_us, at_us)

    def _aim_at_goal(self, now_us: int, step: str) -> bool:
        """The frame that is wanted takes the place of whatever was to come; true if it is on its way."""
        wanted_step, wanted = self._goal
        # What interrupts a frame's coming is that frame: it must begin while one is awaited.
        if step != wanted_step.replace("coming", "awaited") or wanted not in GOALS or self._random.random() < 0.3:
            return False
        kind, again = GOALS[wanted]
        if again and not self.taken:
            return False
        settings, source = self.settings, self._random
        self._frames = [other for other in self._frames if other.begun]
        begin_us = max(now_us + 1, self._own_until_us + source.choice((1, settings.sifs_us)))
        if wanted != NAV_RESET and source.random() < 0.3:
            # Under a NAV, which another frame sets first.
            begin_us = self._goal_frame(begin_us, FrameKind.CTS, OTHERS[1], 3000) + settings.sifs_us + 2
        ra, reserved_us = settings.address, source.choice((0, 0, 3000))
        if wanted == NAV_RESET:
            ra, reserved_us = OTHERS[1], settings.nav_reset_us + 500
        end_us = self._goal_frame(begin_us, kind, ra, reserved_us, again=again)
        if step.startswith(("post-back-off", "no packet")) and source.random() < 0.6:
            # A packet as a carrier ends that has lasted since.
            until_us = end_us + source.randrange(1, settings.nav_reset_us + 1000)
            self._carriers.append((end_us, until_us))
            if source.random() < 0.5:
                self._packets_at_us.add(source.choice((until_us, until_us, end_us + 1)))
            else:
                self._goal_frame(end_us + settings.sifs_us + 2, FrameKind.RTS, settings.address, 0)
        return True

    def _goal_frame(self, begin_us: int, kind: FrameKind, ra: int, reserved_us: int, *, again: bool = False) -> int:
        """Puts a frame on the air; returns when it is over."""
        ta, sequence = OTHERS[0], self._sequence(OTHERS[0])
        if again:
            ta, sequence = self._random.choice(list(self.taken.items()))
        rate = self.settings.rts_rate
        length_us = frame_airtime_us(self.settings, kind, rate, 28 if kind == FrameKind.DATA else None)
        self._frame_at(begin_us, ReceivedFrame(True, kind, rate, reserved_us, ra, ta, sequence, again), length_us)
        return begin_us + length_us

    def _frame_to_come(self, now_us: int, at_us: int) -> None:
        """A frame that ends, is indicated, or begins then, or begins at once; sometimes its carrier goes on."""
        frame, length_us = self._likely_frame()
        delay_us = self.settings.phy_rx_start_delay_us
        begin_us = self._random.choice((at_us - length_us, at_us - length_us, at_us - delay_us, at_us, now_us + 1))
        begin_us = max(begin_us, now_us + 1)
        self._frame_at(begin_us, frame, length_us)
        if self._random.random() < 0.2:
            self._carriers.append((begin_us, begin_us + length_us + self._random.randrange(1, 3000)))

    def _likely_frame(self) -> tuple[ReceivedFrame, int]:
        """As short as frames are, to us more often than not."""
        settings, source = self.settings, self._random
        if source.random() < 0.3:
            return self._random_frame()
        kind = source.choice((*FrameKind, FrameKind.DATA, FrameKind.DATA, FrameKind.RTS, FrameKind.OTHER))
        ra = source.choice((settings.address, settings.address, settings.address, source.choice(OTHERS), GROUP))
        if ra == GROUP:
            kind = source.choice((FrameKind.DATA, FrameKind.OTHER))
        ta = OTHERS[0]
        again = kind == FrameKind.DATA and bool(self.taken) and source.random() < 0.6
        if again:
            ta, sequence = source.choice(list(self.taken.items()))
        else:
            sequence = self._sequence(ta) if kind == FrameKind.DATA else 0
        reserved_us = (
            0,
            0,
            source.randrange(400),
            source.randrange(4000),
            settings.nav_reset_us + source.randrange(600),
        )
        frame = ReceivedFrame(
            ok=source.random() < 0.85,
            kind=kind,
            rate=source.randrange(self._rates) if kind in (FrameKind.DATA, FrameKind.OTHER) else settings.rts_rate,
            duration_us=0 if ra == GROUP else source.choice(reserved_us),
            ra=ra,
            ta=ta,
            sequence=sequence,
            retry=again,
        )
        size_bytes = 28 if kind in (FrameKind.DATA, FrameKind.OTHER) else None
        return frame, frame_airtime_us(settings, kind, frame.rate, size_bytes)

    def _frame_at(self, start_us: int, frame: ReceivedFrame, length_us: int) -> None:
        """As RandomAir's, but a frame that is over before another begins does not lose to it."""
        end_us = start_us + length_us
        if any(
            other.start_us <= end_us and other.end_us + self.settings.sifs_us >= start_us
            for other in self._frames
            if not other.lost
        ):
            self._carriers.append((start_us, end_us))
            return
        self._carriers.append((start_us, end_us))
        delay_us = self.settings.phy_rx_start_delay_us
        lost = start_us < self._own_until_us or delay_us >= length_us
        self._frames.append(AirFrame(start_us, None if lost else start_us + delay_us, end_us, frame, lost=lost))
        if self._next_activity_us is not None and self._next_activity_us <= end_us:
            self._plan_activity(end_us)


def steered_settings(source: random.Random) -> MacSettings:
    """Standard, ns-2's quirks, and the access modes; those that reach what others do not, more often than by chance."""
    theme = source.randrange(8)
    if theme == 0:
        return replace(random_settings(source), quirk_eifs_as_nav=True, quirk_fixed_timeout=False)
    if theme == 1:
        settings = random_settings(source)
        return replace(settings, quirk_fixed_timeout=True, response_timeout_us=settings.sifs_us + 4)
    if theme == 2:
        return replace(random_settings(source), no_mac_ack=True)
    if theme <= 4:
        settings = random_mode_settings(source)
        mode = source.choice((AccessMode.CSMA, AccessMode.FAMA))
        return replace(settings, access_mode=mode, vacation_us=source.choice((0, 20, 2000, 5000)))
    return random_settings(source)


def steered_queue_settings(source: random.Random) -> MacSettings:
    """Two queues whose windows and spaces often end in one microsecond, under any rules."""
    settings = random_two_queue_settings(source)
    if source.random() < 0.4:
        mode = source.choice((AccessMode.CSMA, AccessMode.FAMA))
        return replace(settings, access_mode=mode, vacation_us=source.choice((0, 20, 2000)), slot_us=20)
    return settings


def goal_settings(source: random.Random, step: str) -> MacSettings:
    """Settings under which a frame for the station interrupts a step in every way: also one that is not answered."""
    settings = replace(random_settings(source), no_mac_ack=source.random() < 0.5)
    if step == VACATION:
        mode = source.choice((AccessMode.CSMA, AccessMode.FAMA))
        return replace(settings, access_mode=mode, vacation_us=5000, quirk_backoff_at_once=False)
    if step.endswith("coming"):
        return replace(settings, quirk_eifs_as_nav=True, quirk_fixed_timeout=False, no_mac_ack=False)
    return settings


def station_queue(queues: int, now_us: int) -> int:
    """Which queue to aim at."""
    return now_us % queues


def rehearse(station: ObservedStation, air: SteeredAir, until_us: int) -> list[TickInputs]:
    """Plays the model in its surroundings, without gateware; returns what reached it, for the gateware to meet."""
    inputs: list[TickInputs] = []
    while True:
        times = [at_us for at_us in (air.next_us(), station.next_us()) if at_us is not None]
        if not times or min(times) > until_us:
            break
        now_us = min(times)
        tick = TickInputs(now_us)
        if air.next_us() == now_us:
            tick = air.take()
            tick.packets = [
                packet
                for number in range(air.queues)
                for packet in [each for each in tick.packets if each.queue == number][
                    : max(QUEUE_ROOM - station.queued(number), 0)
                ]
            ]
            inputs.append(replace(tick, packets=list(tick.packets)))
        had, step = len(station.outputs), [station.step(number) for number in range(air.queues)]
        station.at(now_us, tick)
        for output in station.outputs[had:]:
            air.on_output(output)
        if now_us % 4 == 0 or [station.step(number) for number in range(air.queues)] != step:
            air.taken = station.taken()
            air.aim(now_us, station.ends_us(), station.step(station_queue(air.queues, now_us)))
    station.pass_to(until_us)
    return inputs


# A seed, or a seed with a step and what shall interrupt it.
Run = int | tuple[int, str, str]


def read_runs(path: Path) -> dict[str, list[Run]]:
    """The runs of a file of tests/find_exchange_seeds.py, by the number of queues."""
    stored = json.loads(path.read_text())
    return {queues: [tuple(run) if isinstance(run, list) else run for run in runs] for queues, runs in stored.items()}


def rehearsal(queues: int, run: Run) -> tuple[ObservedStation, list[TickInputs]]:
    """One run of the model in its surroundings, and what reached it."""
    seed, *goal = run if isinstance(run, tuple) else (run,)
    source = random.Random(seed)
    if goal:
        settings = goal_settings(source, goal[0])
    else:
        settings = steered_settings(source) if queues == 1 else steered_queue_settings(source)
    station = ObservedStation(settings, queues)
    air = SteeredAir(settings, source, RUN_US, queues=queues, goal=tuple(goal) or None)
    return station, rehearse(station, air, RUN_US)
