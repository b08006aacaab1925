# SPDX-License-Identifier: GPL-2.0-or-later
"""One station under DCF as the standard describes it (IEEE 802.11-2012, 9.3), event by event in absolute time; or
under the access modes of M. Gerla et al., 1999, csma and fama. With one queue, or with two as in EDCA (9.19.2).

A reference for the gateware, written from the standard's text and the PHY's contract, not from the gateware: it knows
neither clocks nor down-counters. Where the standard leaves a tie open, the rule is stated where it is used:

* What reaches the station at a microsecond is not known to a decision that falls due at it, with two exceptions: a
  response that begins as its timeout is due is in time, and so is (ns-2) one that ends then.
* A NAV reset that is due comes before the frame that begins then.
* csma and fama look at the medium as it is from this microsecond on: what ends now is over, what begins now is heard.
* What happens at one microsecond happens in rounds: what falls due, and what the carrier does to a packet that waits,
  in the first; what follows from it in the next, and so on. Packets come one a round; a packet comes to the head in one
  round (one of a queue, the higher first) and contends in the next. Two queues that could go in one round collide
  within the station. A random number is given out a round, to the higher of two queues; one that will not do (ns-2) is
  drawn again in the next.

It is one file: one state machine, as the standard describes it.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from perhop.registers.spec_generated import AccessMode, FrameKind, TxResult

from .exchange import PARTS, Completion, Delivery, Output, Packet, ReceivedFrame, TickInputs, Transmission
from .settings import CTS_BYTES, QUEUE_SETTINGS, RTS_BYTES, MacSettings
from .xoroshiro import Xoroshiro64Plus

GROUP_BIT = 1 << 40
MAX_DURATION_US = 0x7FFF
MAX_DEFER_US = 0x1FFFF


@dataclass
class Nav:
    """9.3.2.4: when the reservation of the medium by others ends, and when it is given back unless a frame begins."""

    until_us: int = 0
    reset_at_us: int | None = None

    def pass_to(self, now_us: int) -> bool:
        """Time goes on; True if a reset fell due."""
        if self.reset_at_us is not None and self.reset_at_us <= now_us:
            given_back = self.until_us > self.reset_at_us
            self.until_us = min(self.until_us, self.reset_at_us)
            self.reset_at_us = None
            return given_back
        return False

    def end_us(self) -> int:
        """When the medium is free of it if nothing more is heard."""
        return self.until_us if self.reset_at_us is None else min(self.until_us, self.reset_at_us)


@dataclass
class Service:
    """The packet at the head of the queue."""

    packet: Packet
    t_enqueue_us: int
    t_head_us: int
    sequence: int
    slots_drawn: int
    t_first_tx_us: int | None = None
    ssrc: int = 0
    slrc: int = 0
    rts_attempts: int = 0
    data_attempts: int = 0
    parts: Counter = field(default_factory=Counter)

    def past_the_last(self) -> bool:
        """All attempts of the series are used, and still the packet is sent again."""
        attempts = [entry[0] for entry in self.packet.series]
        return bool(attempts) and 0 not in attempts and self.data_attempts >= sum(attempts)

    def next_rate(self) -> None:
        """A DATA frame failed and will be sent again: at which rate, its packet's series says."""
        series = self.packet.series
        if not series:
            return
        number, allowed = 0, series[0][0]
        while series[number][0] and self.data_attempts >= allowed and number + 1 < len(series):
            number += 1
            allowed += series[number][0]
        self.packet = replace(self.packet, rate=series[number][1], airtime_us=series[number][2])


@dataclass
class Queue:
    """What each queue has of its own."""

    number: int
    cw: int
    cw_min: int
    cw_max: int
    aifs_us: int  # beyond DIFS or EIFS
    waiting: deque[tuple[Packet, int, int]] = field(default_factory=deque)  # with its microsecond and round
    service: Service | None = None
    free_from_round: int = 0  # of the microsecond in which the last packet was done
    sequence: int = 0
    # Back-off: None, or the slots left and when the next of them begins if the medium stays idle.
    slots: int | None = None
    drawn_at_us: int = 0
    draw_due: bool = False
    # ns-2: the idle medium needs no inter-frame space until it has been busy again.
    ifs_waived_since_us: int | None = None
    released_us: int = 0  # when the other queue's last exchange was over
    # The exchange: what is awaited, since when our frame is over, until when.
    phase: str = "contend"
    contends_from_round: int = 0
    vacation_until_us: int = 0
    sent_until_us: int = 0
    deadline_us: int | None = None
    response_began: bool = False

    def in_exchange(self) -> bool:
        return self.phase in ("wait_cts", "gap", "wait_mac_ack", "group")

    def contends(self) -> bool:
        return self.service is not None and self.phase == "contend"


@dataclass
class Average:
    """A neighbour's running averages, exact."""

    contention_us: float
    overhead_us: float
    data_attempts: float


class DcfStation:
    """Consumes inputs in order of time; `outputs` and `seen` (what happened, for coverage) grow."""

    def __init__(self, settings: MacSettings, queues: int = 1) -> None:
        self.settings = settings
        self.now_us = 0
        self.outputs: list[Output] = []
        self.seen: Counter[str] = Counter()
        self.averages: dict[int, Average] = {}
        self.expected_averages: list[Average] = []  # one a completion
        self._random = Xoroshiro64Plus(settings.seed)
        # Medium
        self._cca_busy = False
        self._cca_idle_since_us = 0
        self._nav = Nav()
        self._own_until_us = 0
        self._after_bad_frame = False
        # Packets
        self._queues = [
            Queue(
                number,
                cw := QUEUE_SETTINGS["cw_min"](settings, number),
                cw,
                QUEUE_SETTINGS["cw_max"](settings, number),
                settings.aifs_extra_slots[number] * settings.slot_us if queues > 1 else 0,
            )
            for number in range(queues)
        ]
        self._round = 0
        # The answer that is due after SIFS.
        self._answer: tuple[int, Transmission] | None = None
        self._duplicates: dict[tuple[int, int], int] = {}

    # ---- The medium ----

    def _dcf(self) -> bool:
        return self.settings.access_mode == AccessMode.DCF

    def _ifs_us(self, queue: Queue) -> int:
        if not self._dcf():
            return 0
        return (self.settings.eifs_us if self._after_bad_frame else self.settings.difs_us) + queue.aifs_us

    def _reserved_until_us(self) -> int:
        return max(self._own_until_us, self._nav.end_us())

    def _held(self, queue: Queue) -> bool:
        """Another queue is in an exchange: 9.19.2.3 has its frames, and the wait for their answers, as busy medium."""
        return any(other.in_exchange() for other in self._queues if other is not queue)

    def _medium_busy(self, queue: Queue) -> bool:
        return self._cca_busy or self._reserved_until_us() > self.now_us or self._held(queue)

    def _ifs_end_us(self, queue: Queue) -> int | None:
        """When the inter-frame space is over if nothing changes; None while the medium is busy without known end."""
        if self._cca_busy or self._held(queue):
            return None
        free_us = max(self._cca_idle_since_us, self._reserved_until_us(), queue.released_us)
        if queue.ifs_waived_since_us is not None and free_us <= queue.ifs_waived_since_us:
            return queue.ifs_waived_since_us
        return free_us + self._ifs_us(queue)

    def _slots_begin_us(self, queue: Queue) -> int | None:
        end_us = self._ifs_end_us(queue)
        return None if end_us is None else max(end_us, queue.drawn_at_us)

    def _backoff_end_us(self, queue: Queue) -> int | None:
        """When the back-off is over if nothing changes; None if never, or if there is none."""
        begin_us = self._slots_begin_us(queue)
        if queue.slots is None or begin_us is None:
            return None
        return begin_us + queue.slots * self.settings.slot_us

    def _access_us(self, queue: Queue) -> int | None:
        """When the packet at the head may be sent if nothing changes."""
        if not queue.contends() or not self._dcf():
            return None
        if queue.slots is not None:
            return self._backoff_end_us(queue)
        return self._ifs_end_us(queue)

    # ---- Time ----

    def run(self, inputs: Iterable[TickInputs], until_us: int) -> None:
        """Processes inputs and everything that falls due up to until_us, that microsecond included."""
        for tick in inputs:
            self._run_to(tick.at_us - 1)
            self._at(tick.at_us, tick)
        self._run_to(until_us)

    def _next_us(self) -> int | None:
        times = [self._answer[0]] if self._answer else []
        for queue in self._queues:
            times.append(self._access_us(queue))
            # A frame that began in time has stopped the timeout.
            if not (queue.phase in ("wait_cts", "wait_mac_ack") and queue.response_began):
                times.append(queue.deadline_us)
        known = [at_us for at_us in times if at_us is not None]
        return max(min(known), self.now_us) if known else None

    def _run_to(self, until_us: int) -> None:
        while (next_us := self._next_us()) is not None and next_us <= until_us:
            self._at(next_us, TickInputs(next_us))
        self._pass_to(until_us)

    def _pass_to(self, to_us: int) -> None:
        """Nothing happens before to_us: time is accounted for, whole slots are counted."""
        if to_us <= self.now_us:
            return
        for queue in self._queues:
            begin_us = self._slots_begin_us(queue)
            ifs_end_us = self._ifs_end_us(queue)
            if queue.service and queue.phase in ("contend", "defer"):
                self._account(queue, self.now_us, to_us, ifs_end_us)
            if queue.slots is not None and begin_us is not None and to_us >= begin_us:
                counted = min((to_us - begin_us) // self.settings.slot_us, queue.slots)
                queue.slots -= counted
                # The slots that are left begin after those counted, unless the medium becomes busy.
                queue.drawn_at_us = begin_us + counted * self.settings.slot_us
                if queue.slots == 0 and queue.service is None:
                    queue.slots = None
        self.now_us = to_us
        if self._nav.pass_to(to_us):
            self.seen["nav reset"] += 1

    def _account(self, queue: Queue, from_us: int, to_us: int, ifs_end_us: int | None) -> None:
        """What a contending packet's time was: other work of the station (its other queue, an answer), NAV, carrier,
        inter-frame space, slots, in that order."""
        parts = queue.service.parts

        def take(part: str, until_us: int) -> None:
            nonlocal from_us
            until_us = min(until_us, to_us)
            if until_us > from_us:
                parts[part] += until_us - from_us
                from_us = until_us

        if self._held(queue):
            take("responder_us", to_us)
        take("responder_us", self._own_until_us)
        take("frozen_nav_us", self._nav.end_us())
        if ifs_end_us is None:
            take("frozen_cca_us", to_us)
        else:
            take("ifs_us", ifs_end_us)
            take("backoff_us", to_us)

    # ---- One microsecond ----

    def _at(self, at_us: int, tick: TickInputs) -> None:
        self._pass_to(at_us)
        self._round = 1
        for queue in self._queues:
            queue.free_from_round = queue.contends_from_round = 0
        wants = [queue for queue in self._queues if self._access_us(queue) == at_us]
        waits = [queue for queue in self._queues if queue.contends() and queue not in wants]
        idle_for_ifs = [
            queue for queue in self._queues if not self._medium_busy(queue) and self._ifs_end_us(queue) <= at_us
        ]
        if self._answer and self._answer[0] == at_us:
            self._emit(self._answer[1])
            self._answer = None
            self._after_bad_frame = False
        self._exchange(tick)
        for number, packet in enumerate(tick.packets):
            self._queues[packet.queue].waiting.append((packet, at_us, number + 1))
        if tick.cca_busy is not None:
            if self._cca_busy and not tick.cca_busy:
                self._cca_idle_since_us = at_us
            self._cca_busy = tick.cca_busy
        self._compete(wants)
        self._draw_one([queue for queue in waits if self._dcf() and queue.slots is None and self._cca_busy])
        for queue in self._queues:
            if queue.phase == "defer" and queue.deadline_us == at_us:
                queue.phase, queue.contends_from_round = "contend", 2
        taken = self._take_head()
        while taken or self._unsettled(idle_for_ifs):
            self._round += 1
            self._follow_up(idle_for_ifs)
            taken = self._take_head()

    def _unsettled(self, idle_for_ifs: list[Queue]) -> bool:
        """Something is left to do at this microsecond."""
        for queue in self._queues:
            if queue.draw_due or (queue.waiting and queue.service is None) or self._ready(queue, idle_for_ifs):
                return True
            if queue.contends() and (queue.contends_from_round > self._round or self._to_draw(queue)):
                return True
        return False

    def _to_draw(self, queue: Queue) -> bool:
        """A packet that waits without back-off finds the medium busy."""
        return queue.contends() and self._medium_busy(queue) and (queue.slots is None or not self._dcf())

    def _ready(self, queue: Queue, idle_for_ifs: list[Queue]) -> bool:
        """In the rounds that follow: a back-off of no slots that was drawn just now, or none at all, is over on a
        medium that has been idle; csma and fama go whenever it is idle."""
        if not queue.contends() or queue.draw_due or self._held(queue):
            return False
        if not self._dcf():
            return not self._medium_busy(queue)
        return queue.slots in (0, None) and queue in idle_for_ifs

    def _follow_up(self, idle_for_ifs: list[Queue]) -> None:
        """A later round of a microsecond."""
        contending = [queue for queue in self._queues if queue.contends_from_round <= self._round]
        ready = [queue for queue in contending if self._ready(queue, idle_for_ifs)]
        to_draw = [queue for queue in contending if queue.draw_due or (queue not in ready and self._to_draw(queue))]
        self._draw_one(to_draw)
        self._compete(ready)

    def _draw_one(self, queues: list[Queue]) -> None:
        """The highest of those that are to draw does, if the number will do; the others do in the next round."""
        for queue in queues:
            if not queue.draw_due:
                self.seen["found busy" if self._dcf() else "deferred"] += 1
            queue.draw_due = True
        for queue in queues[-1:]:
            slots = self._random.slots_if(queue.cw, below_cw=self.settings.quirk_draw_below_cw)
            if slots is not None:
                self._draw(queue, slots) if self._dcf() else self._defer(queue, slots)

    def _compete(self, wants: list[Queue]) -> None:
        """The highest queue goes; to the other it is as if its frame had been lost (9.19.2.5)."""
        for queue in wants[:-1]:
            service = queue.service
            self.seen["internal collision"] += 1
            if service.t_first_tx_us is None:
                service.t_first_tx_us = self.now_us
            self._failed(queue)
        for queue in wants[-1:]:
            if self._waits_elsewhere(queue):
                self.seen["the other queue waits"] += 1
            self._access(queue)

    def _waits_elsewhere(self, queue: Queue) -> bool:
        return any(other.service for other in self._queues if other is not queue)

    def _defer(self, queue: Queue, slots: int) -> None:
        """A random number of slots, at least one, that nothing stops; the next one is drawn from twice as many."""
        settings = self.settings
        queue.service.slots_drawn += slots
        queue.cw = min(2 * queue.cw + 1, queue.cw_max)
        queue.draw_due = False
        queue.phase = "defer"
        queue.deadline_us = self.now_us + min((slots + 1) * settings.slot_us, MAX_DEFER_US)
        if queue.service.slots_drawn and queue.cw == queue.cw_max:
            self.seen["deferred until the window was largest"] += 1

    def _exchange(self, tick: TickInputs) -> None:
        """A frame's end, a frame's start, and what has been awaited until now."""
        frame = tick.rx_end
        queue = next((each for each in self._queues if each.in_exchange()), None)
        phase = queue.phase if queue else None
        waiting = phase in ("wait_cts", "wait_mac_ack")
        fixed = self.settings.quirk_fixed_timeout
        listening = not waiting or queue.response_began
        due = queue is not None and queue.deadline_us == self.now_us and not (waiting and queue.response_began)
        answered = False
        if frame:
            self._heard(frame, may_answer=listening and phase != "gap" and self._own_until_us <= self.now_us)
            if waiting:
                wanted = FrameKind.CTS if phase == "wait_cts" else FrameKind.MAC_ACK
                answered = frame.ok and frame.kind == wanted and frame.ra == self.settings.address
                if answered:
                    self._answered(queue)
                elif queue.response_began:
                    self.seen[f"{phase}: {'another' if frame.ok else 'a bad'} frame"] += 1
                    self._failed(queue)
        if tick.rx_start:
            self._nav.reset_at_us = None
        if answered or queue is None:
            return
        if phase == "gap" and due:
            self._send_data(queue)
        elif phase == "group" and due:
            self._finish(queue, TxResult.GROUP_SENT)
        elif waiting and queue.deadline_us is not None and not queue.response_began:
            if tick.rx_start and not fixed:
                queue.response_began = True
                if due:
                    self.seen[f"{phase}: began as the timeout was due"] += 1
            elif due:
                self.seen[f"{phase}: timeout"] += 1
                self._failed(queue)

    def _heard(self, frame: ReceivedFrame, *, may_answer: bool) -> None:
        """9.3.2.4, 9.3.2.6, 9.3.2.8, 9.3.2.10: the NAV, EIFS, answers, duplicates."""
        settings = self.settings
        left_us = max(self._nav.until_us - self.now_us, 0)
        if not frame.ok:
            if settings.quirk_eifs_as_nav:
                if settings.eifs_us > left_us:
                    self._nav = Nav(self.now_us + settings.eifs_us)
            else:
                self._after_bad_frame = True
            return
        if self._after_bad_frame:
            self.seen["eifs cancelled"] += 1
        self._after_bad_frame = False
        if frame.ra != settings.address:
            if frame.duration_us > left_us:
                self.seen["nav extended" if left_us else "nav set"] += 1
                self._nav = Nav(self.now_us + frame.duration_us)
                if frame.kind == FrameKind.RTS and not settings.quirk_no_nav_reset:
                    self._nav.reset_at_us = self.now_us + settings.nav_reset_us
            elif left_us:
                self.seen["nav not shortened"] += 1
            if frame.kind == FrameKind.DATA and frame.ra & GROUP_BIT:
                self._emit(Delivery(self.now_us, duplicate=False))
            return
        if frame.kind == FrameKind.RTS:
            if left_us:
                self.seen["cts withheld under nav"] += 1
            elif may_answer:
                self._answer_with(FrameKind.CTS, frame)
        elif frame.kind == FrameKind.DATA and (may_answer or settings.no_mac_ack):
            if left_us and not settings.no_mac_ack:
                self.seen["mac ack under nav"] += 1
            # Two queues number their frames apart.
            numbered = (frame.ta, frame.sequence >> 11 if len(self._queues) > 1 else 0)
            duplicate = frame.retry and self._duplicates.get(numbered) == frame.sequence
            self._duplicates[numbered] = frame.sequence
            self._emit(Delivery(self.now_us, duplicate))
            if not settings.no_mac_ack:
                self._answer_with(FrameKind.MAC_ACK, frame)

    def _answer_with(self, kind: FrameKind, frame: ReceivedFrame) -> None:
        settings = self.settings
        length_us = settings.response_airtime_us[frame.rate]
        at_us = self.now_us + settings.sifs_us
        contends = " while a packet contends" if any(queue.service for queue in self._queues) else ""
        self.seen[f"sends {kind.name.lower()}{contends}"] += 1
        self._answer = (
            at_us,
            Transmission(
                at_us=at_us,
                kind=kind,
                rate=settings.response_rate[frame.rate],
                bytes=CTS_BYTES,
                airtime_us=length_us,
                duration_us=max(frame.duration_us - settings.sifs_us - length_us, 0),
                ra=frame.ta,
                sequence=None,
                retry=False,
                tag=0,
            ),
        )
        self._own_until_us = at_us + length_us

    # ---- The own exchange ----

    def _take_head(self) -> bool:
        """A packet comes to the head of its queue; true if one does."""
        for queue in reversed(self._queues):
            if queue.service is not None or not queue.waiting or queue.free_from_round > self._round:
                continue
            packet, t_enqueue_us, at_round = queue.waiting[0]
            if t_enqueue_us == self.now_us and at_round > self._round:
                continue
            queue.waiting.popleft()
            if not self._dcf():
                packet = replace(packet, use_rts=self.settings.access_mode == AccessMode.FAMA)
            queue.sequence = queue.sequence + 1 & 0xFFF
            sequence = queue.sequence if len(self._queues) == 1 else queue.number << 11 | queue.sequence & 0x7FF
            queue.service = Service(packet, t_enqueue_us, self.now_us, sequence, queue.slots or 0)
            queue.phase = "contend"
            queue.contends_from_round = self._round + 1
            if queue.vacation_until_us > self.now_us:
                queue.phase, queue.deadline_us = "defer", queue.vacation_until_us
                self.seen["vacation"] += 1
            return True
        return False

    def _draw(self, queue: Queue, slots: int) -> None:
        queue.slots = slots
        queue.drawn_at_us = self.now_us
        queue.draw_due = False
        if queue.service:
            queue.service.slots_drawn += queue.slots
        if self.settings.quirk_backoff_at_once and not self._medium_busy(queue):
            queue.ifs_waived_since_us = self.now_us

    def _access(self, queue: Queue) -> None:
        service = queue.service
        if service.t_first_tx_us is None:
            service.t_first_tx_us = self.now_us
            self.seen["at once" if queue.slots is None else "after backoff"] += 1
        queue.slots = None
        if service.packet.ra & GROUP_BIT or not service.packet.use_rts:
            self._send_data(queue)
        else:
            self._send_rts(queue)

    def _unanswered(self, queue: Queue) -> bool:
        return bool(queue.service.packet.ra & GROUP_BIT) or self.settings.no_mac_ack

    def _on_air(self, queue: Queue, transmission: Transmission, response_us: int) -> None:
        self._emit(transmission)
        self._after_bad_frame = False
        queue.sent_until_us = self._own_until_us = self.now_us + transmission.airtime_us
        response_deadline_us = self.settings.response_timeout_us + (
            response_us if self.settings.quirk_fixed_timeout else 0
        )
        queue.deadline_us = queue.sent_until_us + (0 if queue.phase == "group" else response_deadline_us)
        queue.response_began = False

    def _send_rts(self, queue: Queue) -> None:
        settings, service = self.settings, queue.service
        cts_us = settings.response_airtime_us[settings.rts_rate]
        mac_ack_us = settings.response_airtime_us[service.packet.rate]
        service.rts_attempts += 1
        service.parts["control_us"] += settings.rts_airtime_us
        queue.phase = "wait_cts"
        after_data_us = 0 if self._unanswered(queue) else settings.sifs_us + mac_ack_us
        self._on_air(
            queue,
            Transmission(
                at_us=self.now_us,
                kind=FrameKind.RTS,
                rate=settings.rts_rate,
                bytes=RTS_BYTES,
                airtime_us=settings.rts_airtime_us,
                duration_us=min(
                    2 * settings.sifs_us + cts_us + service.packet.airtime_us + after_data_us, MAX_DURATION_US
                ),
                ra=service.packet.ra,
                sequence=None,
                retry=False,
                tag=service.packet.tag,
                queue=queue.number,
            ),
            cts_us,
        )

    def _send_data(self, queue: Queue) -> None:
        settings, service = self.settings, queue.service
        packet = service.packet
        unanswered = self._unanswered(queue)
        mac_ack_us = settings.response_airtime_us[packet.rate]
        service.data_attempts += 1
        service.parts["data_us"] += packet.airtime_us
        queue.phase = "group" if unanswered else "wait_mac_ack"
        self._on_air(
            queue,
            Transmission(
                at_us=self.now_us,
                kind=FrameKind.DATA,
                rate=packet.rate,
                bytes=packet.bytes,
                airtime_us=packet.airtime_us,
                duration_us=0 if unanswered else settings.sifs_us + mac_ack_us,
                ra=packet.ra,
                sequence=service.sequence,
                retry=service.data_attempts > 1,
                tag=packet.tag,
                queue=queue.number,
            ),
            mac_ack_us,
        )

    def _answered(self, queue: Queue) -> None:
        service = queue.service
        service.parts["response_us"] += self.now_us - queue.sent_until_us
        if queue.phase == "wait_cts":
            service.ssrc = 0
            service.parts["response_us"] += self.settings.sifs_us
            queue.phase = "gap"
            queue.deadline_us = self.now_us + self.settings.sifs_us
        else:
            self._finish(queue, TxResult.DELIVERED)

    def _failed(self, queue: Queue) -> None:
        """9.3.3: the count of the failed frame goes up, the window doubles, or the packet is given up."""
        service, settings = queue.service, self.settings
        if queue.in_exchange():
            service.parts["timeout_us"] += self.now_us - queue.sent_until_us
            self._release(queue)
        queue.deadline_us = None
        was_data, rate = queue.phase == "wait_mac_ack", service.packet.rate
        if was_data and service.packet.use_rts:
            service.slrc += 1
            given_up = service.slrc >= settings.long_retry_limit
            result = TxResult.LONG_RETRY_LIMIT
        else:
            service.ssrc += 1
            given_up = service.ssrc >= settings.short_retry_limit
            result = TxResult.SHORT_RETRY_LIMIT
        if given_up:
            if not queue.in_exchange():
                self.seen["given up at an internal collision"] += 1
            self._finish(queue, result)
            return
        if was_data:
            service.next_rate()
            self.seen["next rate"] += service.packet.rate != rate
            self.seen["past the last rate"] += service.past_the_last()
        queue.phase = "contend"
        queue.contends_from_round = self._round + 1
        queue.draw_due = True
        if self._dcf():
            queue.cw = min(2 * queue.cw + 1, queue.cw_max)

    def _release(self, queue: Queue) -> None:
        """An exchange is over; to the other queues the medium has been busy until now."""
        for other in self._queues:
            if other is not queue:
                other.released_us = self.now_us

    def _finish(self, queue: Queue, result: TxResult) -> None:
        service = queue.service
        packet = service.packet
        if queue.in_exchange():
            self._release(queue)
        parts = {name: service.parts[name] for name in service.parts}
        parts["queue_us"] = service.t_head_us - service.t_enqueue_us
        overhead_us = parts.get("control_us", 0) + parts.get("response_us", 0)
        contention_us = self.now_us - service.t_head_us - overhead_us - parts.get("data_us", 0)
        self._average(packet.peer, contention_us, overhead_us, service.data_attempts)
        self.seen[f"{result.name.lower()}{' behind rts' if packet.use_rts else ''}"] += 1
        self.seen[f"{service.data_attempts} data attempts"] += 1
        if packet.series and packet.rate != packet.series[0][1]:
            word = "delivered" if result == TxResult.DELIVERED else "given up"
            self.seen[f"{word} at a later rate"] += 1
        self._emit(
            Completion(
                at_us=self.now_us,
                tag=packet.tag,
                peer=packet.peer,
                sequence=service.sequence,
                bytes=packet.bytes,
                rate=packet.rate,
                result=result,
                rts_attempts=service.rts_attempts,
                data_attempts=service.data_attempts,
                ssrc=service.ssrc,
                slrc=service.slrc,
                cw=queue.cw,
                slots_drawn=service.slots_drawn,
                queue=packet.queue,
                t_enqueue_us=service.t_enqueue_us,
                t_head_us=service.t_head_us,
                t_first_tx_us=service.t_first_tx_us,
                t_done_us=self.now_us,
                **{name: parts.get(name, 0) for name in PARTS},
                avg_contention_us16=0,
                avg_overhead_us16=0,
                avg_data_attempts_256=0,
            )
        )
        queue.cw = queue.cw_min
        queue.service = None
        queue.deadline_us = None
        queue.phase = "contend"
        queue.free_from_round = self._round + 2
        if self._dcf():
            queue.draw_due = True
        else:
            queue.vacation_until_us = self.now_us + self.settings.vacation_us

    def _average(self, peer: int, contention_us: int, overhead_us: int, data_attempts: int) -> None:
        weight = 2.0**-self.settings.average_shift
        average = self.averages.get(peer)
        if average is None:
            average = Average(contention_us, overhead_us, data_attempts)
        else:
            average = Average(
                average.contention_us + weight * (contention_us - average.contention_us),
                average.overhead_us + weight * (overhead_us - average.overhead_us),
                average.data_attempts + weight * (data_attempts - average.data_attempts),
            )
        self.averages[peer] = average
        self.expected_averages.append(average)

    def _emit(self, output: Output) -> None:
        self.outputs.append(output)
