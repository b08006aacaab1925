# SPDX-License-Identifier: GPL-2.0-or-later
"""One station under DCF as the standard describes it (IEEE 802.11-2012, 9.3), event by event in absolute time; or
under the access modes of M. Gerla et al., 1999, csma and fama.

A reference for the gateware, written from the standard's text and the PHY's contract, not from the gateware: it knows
neither clocks nor down-counters. Where the standard leaves a tie open, the rule is stated where it is used:

* What reaches the station at a microsecond is not known to a decision that falls due at it, with two exceptions: a
  response that begins as its timeout is due is in time, and so is (ns-2) one that ends then.
* A NAV reset that is due comes before the frame that begins then.
* csma and fama look at the medium as it is from this microsecond on: what ends now is over, what begins now is heard.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from perhop.spec_generated import AccessMode, FrameKind, TxResult

from .exchange import PARTS, Completion, Delivery, Output, Packet, ReceivedFrame, TickInputs, Transmission
from .settings import CTS_BYTES, RTS_BYTES, MacSettings
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
class Average:
    """A neighbour's running averages, exact."""

    contention_us: float
    overhead_us: float
    data_attempts: float


class DcfStation:
    """Consumes inputs in order of time; `outputs` and `seen` (what happened, for coverage) grow."""

    def __init__(self, settings: MacSettings) -> None:
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
        # ns-2: the idle medium needs no inter-frame space until it has been busy again.
        self._ifs_waived_since_us: int | None = None
        # Back-off: None, or the slots left and when the next of them begins if the medium stays idle.
        self._slots: int | None = None
        self._drawn_at_us = 0
        self._draws = 0
        self._cw = settings.cw_min
        # Packets
        self._queue: deque[tuple[Packet, int]] = deque()
        self._service: Service | None = None
        self._sequence = 0
        # The exchange: what is awaited, since when our frame is over, until when.
        self._phase = "contend"
        self._vacation_until_us = 0
        self._sent_until_us = 0
        self._deadline_us: int | None = None
        self._response_began = False
        # The answer that is due after SIFS.
        self._answer: tuple[int, Transmission] | None = None
        self._duplicates: dict[int, int] = {}

    # ---- The medium ----

    def _dcf(self) -> bool:
        return self.settings.access_mode == AccessMode.DCF

    def _ifs_us(self) -> int:
        if not self._dcf():
            return 0
        return self.settings.eifs_us if self._after_bad_frame else self.settings.difs_us

    def _reserved_until_us(self) -> int:
        return max(self._own_until_us, self._nav.end_us())

    def _medium_busy(self) -> bool:
        return self._cca_busy or self._reserved_until_us() > self.now_us

    def _ifs_end_us(self) -> int | None:
        """When the inter-frame space is over if nothing changes; None while the carrier is heard."""
        if self._cca_busy:
            return None
        free_us = max(self._cca_idle_since_us, self._reserved_until_us())
        if self._ifs_waived_since_us is not None and free_us <= self._ifs_waived_since_us:
            return self._ifs_waived_since_us
        return free_us + self._ifs_us()

    def _slots_begin_us(self) -> int | None:
        end_us = self._ifs_end_us()
        return None if end_us is None else max(end_us, self._drawn_at_us)

    def _backoff_end_us(self) -> int | None:
        """When the back-off is over if nothing changes; None if never, or if there is none."""
        begin_us = self._slots_begin_us()
        if self._slots is None or begin_us is None:
            return None
        return begin_us + self._slots * self.settings.slot_us

    def _access_us(self) -> int | None:
        """When the packet at the head may be sent if nothing changes."""
        if self._service is None or self._phase != "contend" or not self._dcf():
            return None
        if self._slots is not None:
            return self._backoff_end_us()
        return self._ifs_end_us()

    # ---- Time ----

    def run(self, inputs: Iterable[TickInputs], until_us: int) -> None:
        """Processes inputs and everything that falls due up to until_us, that microsecond included."""
        for tick in inputs:
            self._run_to(tick.at_us - 1)
            self._at(tick.at_us, tick)
        self._run_to(until_us)

    def _next_us(self) -> int | None:
        due = [
            self._access_us(),
            self._deadline_us,
            self._answer[0] if self._answer else None,
        ]
        # A frame that began in time has stopped the timeout.
        if self._phase in ("wait_cts", "wait_mac_ack") and self._response_began:
            due[1] = None
        times = [at_us for at_us in due if at_us is not None]
        return max(min(times), self.now_us) if times else None

    def _run_to(self, until_us: int) -> None:
        while (next_us := self._next_us()) is not None and next_us <= until_us:
            self._at(next_us, TickInputs(next_us))
        self._pass_to(until_us)

    def _pass_to(self, to_us: int) -> None:
        """Nothing happens before to_us: time is accounted for, whole slots are counted."""
        if to_us <= self.now_us:
            return
        begin_us = self._slots_begin_us()
        ifs_end_us = self._ifs_end_us()
        if self._service and self._phase in ("contend", "defer"):
            self._account(self.now_us, to_us, ifs_end_us)
        if self._slots is not None and begin_us is not None and to_us >= begin_us:
            counted = min((to_us - begin_us) // self.settings.slot_us, self._slots)
            self._slots -= counted
            # The slots that are left begin after those counted, unless the medium becomes busy.
            self._drawn_at_us = begin_us + counted * self.settings.slot_us
            if self._slots == 0 and self._service is None:
                self._slots = None
        self.now_us = to_us
        if self._nav.pass_to(to_us):
            self.seen["nav reset"] += 1

    def _account(self, from_us: int, to_us: int, ifs_end_us: int | None) -> None:
        """What a contending packet's time was: own answer, NAV, carrier, inter-frame space, slots, in that order."""
        parts = self._service.parts

        def take(part: str, until_us: int) -> None:
            nonlocal from_us
            until_us = min(until_us, to_us)
            if until_us > from_us:
                parts[part] += until_us - from_us
                from_us = until_us

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
        granted = self._access_us() == at_us
        draws = self._draws
        idle_for_ifs = not self._medium_busy() and self._ifs_end_us() <= at_us
        if self._answer and self._answer[0] == at_us:
            self._emit(self._answer[1])
            self._answer = None
            self._after_bad_frame = False
        self._exchange(tick)
        for packet in tick.packets:
            self._queue.append((packet, at_us))
        if tick.cca_busy is not None:
            if self._cca_busy and not tick.cca_busy:
                self._cca_idle_since_us = at_us
            self._cca_busy = tick.cca_busy
        came_to_head = self._service is None and bool(self._queue)
        if came_to_head:
            self._take_head()
        if not self._dcf():
            self._look(tick)
            return
        # A back-off of no slots that was drawn just now, or none at all, is over on a medium that has been idle.
        nothing_left = self._slots == 0 or (came_to_head and self._slots is None)
        if granted or (self._service and self._phase == "contend" and nothing_left and idle_for_ifs):
            self._access()
        elif self._service and self._phase == "contend" and self._slots is None and self._medium_busy():
            self.seen["found busy"] += 1
            self._draw()
        if self.settings.quirk_backoff_at_once and self._draws != draws and not self._medium_busy():
            self._ifs_waived_since_us = at_us

    def _look(self, tick: TickInputs) -> None:
        """csma, fama: at once if the medium is idle, else after a random time; a rest after a packet first."""
        if self._phase == "defer" and self._deadline_us == self.now_us:
            self._phase = "contend"
        if self._service is None or self._phase != "contend":
            return
        if self._vacation_until_us > self.now_us:
            self._phase, self._deadline_us = "defer", self._vacation_until_us
            self.seen["vacation"] += 1
        elif self._medium_busy():
            self.seen["deferred"] += 1
            self._defer()
            if self._service.slots_drawn and self._cw == self.settings.cw_max:
                self.seen["deferred until the window was largest"] += 1
        else:
            self._access()

    def _defer(self) -> None:
        """A random number of slots, at least one, that nothing stops; the next one is drawn from twice as many."""
        settings = self.settings
        slots = self._random.slots(self._cw, below_cw=settings.quirk_draw_below_cw)
        self._service.slots_drawn += slots
        self._cw = min(2 * self._cw + 1, settings.cw_max)
        self._phase = "defer"
        self._deadline_us = self.now_us + min((slots + 1) * settings.slot_us, MAX_DEFER_US)

    def _exchange(self, tick: TickInputs) -> None:
        """A frame's end, a frame's start, and what has been awaited until now."""
        frame = tick.rx_end
        waiting = self._phase in ("wait_cts", "wait_mac_ack")
        fixed = self.settings.quirk_fixed_timeout
        listening = not waiting or self._response_began
        due = self._deadline_us == self.now_us and not (waiting and self._response_began)
        answered = False
        if frame:
            self._heard(frame, may_answer=listening and self._phase != "gap" and self._own_until_us <= self.now_us)
            if waiting:
                wanted = FrameKind.CTS if self._phase == "wait_cts" else FrameKind.MAC_ACK
                answered = frame.ok and frame.kind == wanted and frame.ra == self.settings.address
                if answered:
                    self._answered()
                elif self._response_began:
                    self.seen[f"{self._phase}: {'another' if frame.ok else 'a bad'} frame"] += 1
                    self._failed()
        if tick.rx_start:
            self._nav.reset_at_us = None
        if answered:
            return
        if self._phase == "gap" and due:
            self._send_data()
        elif self._phase == "group" and due:
            self._finish(TxResult.GROUP_SENT)
        elif waiting and self._deadline_us is not None and not self._response_began:
            if tick.rx_start and not fixed:
                self._response_began = True
                if due:
                    self.seen[f"{self._phase}: began as the timeout was due"] += 1
            elif due:
                self.seen[f"{self._phase}: timeout"] += 1
                self._failed()

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
            duplicate = frame.retry and self._duplicates.get(frame.ta) == frame.sequence
            self._duplicates[frame.ta] = frame.sequence
            self._emit(Delivery(self.now_us, duplicate))
            if not settings.no_mac_ack:
                self._answer_with(FrameKind.MAC_ACK, frame)

    def _answer_with(self, kind: FrameKind, frame: ReceivedFrame) -> None:
        settings = self.settings
        length_us = settings.response_airtime_us[frame.rate]
        at_us = self.now_us + settings.sifs_us
        self.seen[f"sends {kind.name.lower()}{' while a packet contends' if self._service else ''}"] += 1
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

    def _take_head(self) -> None:
        packet, t_enqueue_us = self._queue.popleft()
        if self.settings.access_mode != AccessMode.DCF:
            packet = replace(packet, use_rts=self.settings.access_mode == AccessMode.FAMA)
        self._sequence = self._sequence + 1 & 0xFFF
        self._service = Service(packet, t_enqueue_us, self.now_us, self._sequence, self._slots or 0)
        self._phase = "contend"

    def _draw(self) -> None:
        self._slots = self._random.slots(self._cw, below_cw=self.settings.quirk_draw_below_cw)
        self._drawn_at_us = self.now_us
        self._draws += 1
        if self._service:
            self._service.slots_drawn += self._slots

    def _access(self) -> None:
        service = self._service
        if service.t_first_tx_us is None:
            service.t_first_tx_us = self.now_us
            self.seen["at once" if self._slots is None else "after backoff"] += 1
        self._slots = None
        if service.packet.ra & GROUP_BIT or not service.packet.use_rts:
            self._send_data()
        else:
            self._send_rts()

    def _unanswered(self) -> bool:
        return bool(self._service.packet.ra & GROUP_BIT) or self.settings.no_mac_ack

    def _on_air(self, transmission: Transmission, response_us: int) -> None:
        self._emit(transmission)
        self._after_bad_frame = False
        self._sent_until_us = self._own_until_us = self.now_us + transmission.airtime_us
        patience_us = self.settings.response_timeout_us + (response_us if self.settings.quirk_fixed_timeout else 0)
        self._deadline_us = self._sent_until_us + (0 if self._phase == "group" else patience_us)
        self._response_began = False

    def _send_rts(self) -> None:
        settings, service = self.settings, self._service
        cts_us = settings.response_airtime_us[settings.rts_rate]
        mac_ack_us = settings.response_airtime_us[service.packet.rate]
        service.rts_attempts += 1
        service.parts["control_us"] += settings.rts_airtime_us
        self._phase = "wait_cts"
        after_data_us = 0 if self._unanswered() else settings.sifs_us + mac_ack_us
        self._on_air(
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
            ),
            cts_us,
        )

    def _send_data(self) -> None:
        settings, service = self.settings, self._service
        packet = service.packet
        unanswered = self._unanswered()
        mac_ack_us = settings.response_airtime_us[packet.rate]
        service.data_attempts += 1
        service.parts["data_us"] += packet.airtime_us
        self._phase = "group" if unanswered else "wait_mac_ack"
        self._on_air(
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
            ),
            mac_ack_us,
        )

    def _answered(self) -> None:
        service = self._service
        service.parts["response_us"] += self.now_us - self._sent_until_us
        if self._phase == "wait_cts":
            service.ssrc = 0
            service.parts["response_us"] += self.settings.sifs_us
            self._phase = "gap"
            self._deadline_us = self.now_us + self.settings.sifs_us
        else:
            self._finish(TxResult.DELIVERED)

    def _failed(self) -> None:
        """9.3.3: the count of the failed frame goes up, the window doubles, or the packet is given up."""
        service, settings = self._service, self.settings
        service.parts["timeout_us"] += self.now_us - self._sent_until_us
        self._deadline_us = None
        was_data, rate = self._phase == "wait_mac_ack", service.packet.rate
        if self._phase == "wait_mac_ack" and service.packet.use_rts:
            service.slrc += 1
            given_up = service.slrc >= settings.long_retry_limit
            result = TxResult.LONG_RETRY_LIMIT
        else:
            service.ssrc += 1
            given_up = service.ssrc >= settings.short_retry_limit
            result = TxResult.SHORT_RETRY_LIMIT
        if given_up:
            self._finish(result)
            return
        if was_data:
            service.next_rate()
            self.seen["next rate"] += service.packet.rate != rate
            self.seen["past the last rate"] += service.past_the_last()
        if not self._dcf():
            self._defer()
        else:
            self._phase = "contend"
            self._cw = min(2 * self._cw + 1, settings.cw_max)
            self._draw()

    def _finish(self, result: TxResult) -> None:
        service = self._service
        packet = service.packet
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
                cw=self._cw,
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
        self._cw = self.settings.cw_min
        self._service = None
        self._deadline_us = None
        self._phase = "contend"
        if self._dcf():
            self._draw()
        else:
            self._vacation_until_us = self.now_us + self.settings.vacation_us
        if self._queue:
            self._take_head()

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
