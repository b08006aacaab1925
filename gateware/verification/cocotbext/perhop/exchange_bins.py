# SPDX-License-Identifier: GPL-2.0-or-later
"""Functional coverage of the frame exchange: each step, with everything that can interrupt it and every way it can end.

A step is what a station does at a time: it waits for a slot, awaits a CTS, lets SIFS pass. A bin of `steps` is a step,
something that happened while it lasted, and how it ended. A bin of `races` is a time that fell due, and what arrived in
that very microsecond. Of the bins that one can write down so, many cannot be: each of those has its reason here. The
`outcomes` are what the reference model says that it has met.

The bins are counted on the reference model (dcf_model.py), in runs whose every output the gateware has matched to the
microsecond: what the model met, the gateware has met.

It is one file: one table, with the reason of each bin that cannot be.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from perhop.registers.spec_generated import FrameKind, TxResult

from .coverage import MODE_OUTCOMES, OUTCOMES, QUEUE_OUTCOMES, SERIES_OUTCOMES
from .dcf_model import GROUP_BIT, DcfStation
from .exchange import Completion, TickInputs, Transmission
from .settings import MacSettings

# ---- What can happen ----

RISES, FALLS, BEGINS, PACKET, NAV_RESET = "carrier rises", "carrier falls", "a frame begins", "a packet", "NAV reset"
BAD, GROWS, STAYS = "a bad frame", "others' frame, NAV grows", "others' frame, NAV stays"
FOR_US = tuple(f"{kind} for us" for kind in ("RTS", "CTS", "MAC ACK", "OTHER", "DATA", "DATA again"))
FOR_ALL = ("DATA for all", "OTHER for all")
FRAMES = (BAD, *FOR_US, *FOR_ALL, GROWS, STAYS)
NOTHING = "nothing"
INTERRUPTIONS = (NOTHING, RISES, FALLS, BEGINS, PACKET, NAV_RESET, *FRAMES)

# ---- The steps, and how each can end ----

AGAIN, DELIVERED, SENT = "sent again", "delivered", "sent"
SHORT, LONG = "short retry limit", "long retry limit"
RTS, DATA, UNANSWERED = "RTS on the air", "DATA on the air", "unanswered DATA on the air"
CTS, MAC_ACK = "CTS on the air", "MAC ACK on the air"
TO_CTS, TO_MAC_ACK, TO_DATA = "SIFS before CTS", "SIFS before MAC ACK", "SIFS before DATA"
IFS, SLOTS, CARRIER, NAV = "inter-frame space", "slots", "frozen by carrier", "frozen by NAV"
IDLE, POST, POST_FROZEN = "no packet", "post-back-off", "post-back-off, frozen"
AWAIT_CTS, CTS_COMES, AWAIT_MAC_ACK, MAC_ACK_COMES = "CTS awaited", "CTS coming", "MAC ACK awaited", "MAC ACK coming"
DEFER, VACATION, DEFER_AGAIN = "random wait", "vacation", "another random wait"
SENDS = (RTS, DATA, UNANSWERED)
ANSWERS = (TO_CTS, TO_MAC_ACK)
LIMITS = {AWAIT_CTS: (SHORT,), CTS_COMES: (SHORT,), AWAIT_MAC_ACK: (SHORT, LONG), MAC_ACK_COMES: (SHORT, LONG)}


def and_answers(outcome: str, answer: str) -> str:
    """A failure, or a look at a busy medium, by a frame that is answered."""
    return f"{outcome}, then {answer}"


def failures(step: str, *, answered: bool) -> tuple[str, ...]:
    ends = (AGAIN, *LIMITS[step])
    return (*ends, *(and_answers(end, answer) for end in ends for answer in ANSWERS if answered))


STEPS: dict[str, tuple[str, ...]] = {
    IDLE: (*SENDS, IFS, CARRIER, NAV, DEFER, VACATION, *ANSWERS),
    POST: (IDLE, POST_FROZEN, SLOTS, IFS, CARRIER),
    POST_FROZEN: (POST, CARRIER, NAV, IFS, *ANSWERS),
    IFS: (SLOTS, CARRIER),
    SLOTS: (CARRIER, *SENDS),
    CARRIER: (IFS, NAV, *ANSWERS),
    NAV: (IFS, CARRIER, TO_MAC_ACK),
    DEFER: (*SENDS, DEFER_AGAIN, *ANSWERS),
    VACATION: (*SENDS, DEFER_AGAIN, *ANSWERS),
    RTS: (AWAIT_CTS,),
    AWAIT_CTS: (CTS_COMES, TO_DATA, *failures(AWAIT_CTS, answered=False)),
    CTS_COMES: (TO_DATA, *failures(CTS_COMES, answered=True)),
    TO_DATA: (DATA, UNANSWERED),
    DATA: (AWAIT_MAC_ACK,),
    AWAIT_MAC_ACK: (MAC_ACK_COMES, DELIVERED, *failures(AWAIT_MAC_ACK, answered=False)),
    MAC_ACK_COMES: (DELIVERED, *failures(MAC_ACK_COMES, answered=True)),
    UNANSWERED: (SENT,),
    TO_CTS: (CTS,),
    TO_MAC_ACK: (MAC_ACK,),
    # ns-2 takes noise for an EIFS of NAV.
    CTS: (IDLE, POST, POST_FROZEN, IFS, CARRIER, NAV, DEFER, VACATION),
    MAC_ACK: (IDLE, POST, POST_FROZEN, IFS, CARRIER, NAV, DEFER, VACATION),
}
RESULTS = {
    TxResult.DELIVERED: DELIVERED,
    TxResult.GROUP_SENT: SENT,
    TxResult.SHORT_RETRY_LIMIT: SHORT,
    TxResult.LONG_RETRY_LIMIT: LONG,
}
ANSWER_OF = {FrameKind.CTS: (TO_CTS, CTS), FrameKind.MAC_ACK: (TO_MAC_ACK, MAC_ACK)}
IN_EXCHANGE = (RTS, AWAIT_CTS, CTS_COMES, TO_DATA, DATA, AWAIT_MAC_ACK, MAC_ACK_COMES, UNANSWERED)

# ---- What cannot be, and why ----

NO_CARRIER = "the PHY hears a carrier while it receives, and in this step there is none"
IS_IDLE = "the carrier is idle throughout this step"
IS_BUSY = "the carrier is busy throughout this step: its end is the step's"
HALF_DUPLEX = "a PHY that sends receives nothing but noise"
IN_SIFS = "each frame, and its PLCP header, lasts longer than SIFS, and one has just ended"
NO_NAV = "in this step there is no NAV that could be reset"
CALLED_OFF = "the frame that is coming, or has just come, called the reset off when it began"
TOO_SOON = "an RTS heard after the own frame ended calls for a reset only when this wait is over"
NEEDS_EVENT = "only an event ends this step so"
ENDS_IT = "this event ends the step, and otherwise"
IS_PACKET = "with a packet this step goes on as one that has one"
ONE_AT_A_TIME = "the PHY receives one frame at a time, and that one's end ends the step"
TOO_SHORT = "under ns-2's rules the wait is as long as one response and 4 us more: no second frame fits"
IS_ANSWERED = "in this step nothing keeps the station from answering it"
NOT_WAITED_FOR = "without MAC ACKs, where DATA is not answered, none is waited for"
BEGINS_FIRST = (
    "outside of ns-2's rules the frame began first, which ended this step; under them this is no way to end it"
)


def frames_of(answer: str) -> tuple[str, ...]:
    return ("RTS for us",) if answer == TO_CTS else ("DATA for us", "DATA again for us")


def _answer_in(outcome: str) -> str | None:
    return next((answer for answer in ANSWERS if outcome == answer or outcome.endswith(f", then {answer}")), None)


def needed(step: str, outcome: str) -> tuple[str, ...]:
    """One of these ends the step so; empty: time does."""
    answer = _answer_in(outcome)
    if answer:
        return frames_of(answer)
    if step == IDLE:
        return (PACKET,)
    if step == CARRIER:
        return (FALLS,) if outcome == IFS else (GROWS, BAD)
    if step in (IFS, SLOTS) and outcome == CARRIER:
        return (RISES,)
    if step == POST and outcome != IDLE:
        return (RISES,) if outcome == POST_FROZEN else (PACKET,)
    if step == POST_FROZEN and outcome != POST:
        return (PACKET,)
    if (step, outcome) == (CTS, NAV):
        return (BAD,)
    if (step, outcome) in ((AWAIT_CTS, CTS_COMES), (AWAIT_MAC_ACK, MAC_ACK_COMES)):
        return (BEGINS,)
    if outcome == TO_DATA:
        return ("CTS for us",)
    if outcome == DELIVERED:
        return ("MAC ACK for us",)
    if step in (CTS_COMES, MAC_ACK_COMES):
        own = "CTS for us" if step == CTS_COMES else "MAC ACK for us"
        return tuple(frame for frame in FRAMES if frame != own)
    return ()


def why_not(step: str, interruption: str, outcome: str) -> str | None:
    """Why a bin of STEPS cannot be reached; None: it can."""
    coming = step in (CTS_COMES, MAC_ACK_COMES)
    wanted = {
        AWAIT_CTS: "CTS for us",
        CTS_COMES: "CTS for us",
        AWAIT_MAC_ACK: "MAC ACK for us",
        MAC_ACK_COMES: "MAC ACK for us",
    }
    receives = interruption in FRAMES or interruption == BEGINS
    if interruption == NOTHING:
        return NEEDS_EVENT if needed(step, outcome) else None
    if step in (IFS, SLOTS, POST):
        if receives:
            return NO_CARRIER
        if interruption == FALLS:
            return IS_IDLE
        if interruption == RISES and not (step == SLOTS or outcome in (CARRIER, POST_FROZEN)):
            return ENDS_IT
    if interruption == RISES and step in (CARRIER, CTS_COMES, MAC_ACK_COMES):
        return IS_BUSY
    if step == CARRIER:
        if interruption == "RTS for us" and outcome != TO_CTS:
            return IS_ANSWERED
        if interruption == GROWS and outcome != NAV:
            return ENDS_IT
    if step in (RTS, DATA, UNANSWERED, CTS, MAC_ACK) and receives and interruption != BAD:
        return HALF_DUPLEX
    if step in (TO_DATA, TO_CTS, TO_MAC_ACK) and receives:
        return IN_SIFS
    if step in (IDLE, DEFER, VACATION) and interruption in frames_of(TO_MAC_ACK) and outcome == DATA:
        return NOT_WAITED_FOR
    if interruption == NAV_RESET:
        if (step, outcome) == (NAV, TO_MAC_ACK):
            return CALLED_OFF
        if step in (CTS_COMES, MAC_ACK_COMES, TO_DATA, TO_MAC_ACK, MAC_ACK):
            return CALLED_OFF
        if step in (AWAIT_CTS, AWAIT_MAC_ACK):
            return TOO_SOON
        if step not in (IDLE, NAV, POST_FROZEN, DEFER, VACATION):
            return NO_NAV
    if coming:
        if interruption == BEGINS:
            return ONE_AT_A_TIME
        if interruption in FRAMES and interruption not in needed(step, outcome):
            return ENDS_IT
        if interruption in frames_of(TO_MAC_ACK) and _answer_in(outcome) is None and step == MAC_ACK_COMES:
            return NOT_WAITED_FOR
    if step in (AWAIT_CTS, AWAIT_MAC_ACK):
        if interruption in FRAMES and interruption != wanted[step] and outcome in (TO_DATA, DELIVERED):
            return TOO_SHORT
        if interruption in FRAMES and outcome in (CTS_COMES, MAC_ACK_COMES):
            return BEGINS_FIRST
        if interruption == wanted[step] and outcome not in (TO_DATA, DELIVERED):
            return ENDS_IT
    if interruption == PACKET and outcome in (IDLE, POST, POST_FROZEN) and step in (POST, POST_FROZEN, CTS, MAC_ACK):
        return IS_PACKET
    if interruption == PACKET and step == POST and outcome == IDLE:
        return IS_PACKET
    return None


# ---- Groups ----


@dataclass(frozen=True)
class Group:
    """Bins of one kind: of each its name, and why it cannot be reached, or None."""

    name: str
    about: str
    bins: dict[str, str | None]

    def reachable(self) -> list[str]:
        return [name for name, reason in self.bins.items() if reason is None]

    def unreachable(self) -> dict[str, str]:
        return {name: reason for name, reason in self.bins.items() if reason is not None}


def step_bin(step: str, interruption: str, outcome: str) -> str:
    return f"{step} / {interruption} / {outcome}"


def _step_bins() -> dict[str, str | None]:
    return {
        step_bin(step, interruption, outcome): why_not(step, interruption, outcome)
        for step, outcomes in STEPS.items()
        for outcome in outcomes
        for interruption in INTERRUPTIONS
    }


# ---- What falls due in the very microsecond in which something arrives ----

ACCESS, IFS_OVER, POST_OVER = "access", "end of the inter-frame space", "end of a post-back-off"
CTS_TIMEOUT, MAC_ACK_TIMEOUT = "CTS time-out", "MAC ACK time-out"
DATA_DUE, ANSWER_DUE = "DATA after its CTS", "answer"
UNANSWERED_OVER, OWN_OVER = "end of an unanswered DATA", "end of an own frame"
DEFER_OVER, VACATION_OVER = "end of a random wait", "end of a vacation"
NAV_OVER, NAV_RESET_DUE = "end of the NAV", "NAV reset"
DUES = (
    *(ACCESS, IFS_OVER, POST_OVER, CTS_TIMEOUT, MAC_ACK_TIMEOUT, DATA_DUE, ANSWER_DUE, UNANSWERED_OVER, OWN_OVER),
    *(DEFER_OVER, VACATION_OVER, NAV_OVER, NAV_RESET_DUE),
)
ARRIVALS = tuple(each for each in INTERRUPTIONS if each not in (NOTHING, NAV_RESET))


def race_bin(due: str, arrival: str) -> str:
    return f"{due} & {arrival}"


def why_no_race(due: str, arrival: str) -> str | None:
    """Why a bin of RACES cannot be reached; None: it can."""
    receives = arrival in FRAMES or arrival == BEGINS
    if due in (ACCESS, IFS_OVER, POST_OVER):
        return NO_CARRIER if receives else IS_IDLE if arrival == FALLS else None
    if due in (DATA_DUE, ANSWER_DUE) and receives:
        return IN_SIFS
    if due in (UNANSWERED_OVER, OWN_OVER) and receives:
        return HALF_DUPLEX
    if due == NAV_RESET_DUE and arrival in FRAMES:
        return CALLED_OFF
    return None


def _race_bins() -> dict[str, str | None]:
    return {race_bin(due, arrival): why_no_race(due, arrival) for due in DUES for arrival in ARRIVALS}


def _outcome_bins(*tables: dict[str, tuple[str, ...]]) -> dict[str, str | None]:
    return {name: None for table in tables for names in table.values() for name in names}


# ---- Two queues ----

HELD = "behind the other queue"
OTHER_BEGINS, OTHER_PACKET = "begins an exchange", "is given a packet"
OTHER_FAILS, OTHER_WINS = "fails and will send again", "wins an internal collision"
OTHER_LIMIT = "wins an internal collision that is the last failure allowed"
ENDED = {DELIVERED: "is delivered", SENT: "has sent", SHORT: "is given up, short", LONG: "is given up, long"}
OTHER_EVENTS = (OTHER_BEGINS, OTHER_PACKET, OTHER_FAILS, *ENDED.values(), OTHER_WINS, OTHER_LIMIT)
ONE_EXCHANGE = "one exchange at a time: the other's keeps this queue in other steps"
NO_ACCESS = "nobody may send in this step"
LOWER_LOSES = "of two queues the higher wins"
WHILE_HELD = "the medium is busy to this queue while the other is in an exchange"


def queue_bin(number: int, step: str, event: str) -> str:
    return f"{('low', 'high')[number]} queue, {step} & the other {event}"


def why_not_queues(number: int, step: str, event: str) -> str | None:
    """Why a bin of two queues cannot be reached; None: it can."""
    if event == OTHER_PACKET:
        return None
    if step in IN_EXCHANGE:
        # What ends may be followed in the same microsecond.
        ends = step in (UNANSWERED, AWAIT_CTS, CTS_COMES, AWAIT_MAC_ACK, MAC_ACK_COMES)
        return None if event == OTHER_BEGINS and ends else ONE_EXCHANGE
    if event in (OTHER_WINS, OTHER_LIMIT):
        if number == 1:
            return LOWER_LOSES
        return None if step in (IDLE, SLOTS, DEFER, VACATION) else NO_ACCESS
    if event == OTHER_BEGINS:
        return None if step in (IDLE, POST, IFS, SLOTS, DEFER, VACATION) else NO_ACCESS
    return None if step in (IDLE, POST_FROZEN, HELD, DEFER, VACATION) else WHILE_HELD


def _queue_bins() -> dict[str, str | None]:
    return {
        queue_bin(number, step, event): why_not_queues(number, step, event)
        for number in range(2)
        for step in (*STEPS, HELD)
        for event in OTHER_EVENTS
    }


# How each reason is known. Proofs are claims of gateware/formal about the RTL, for every input; the PHY's contract is
# what steered_air.py says, and what those proofs take for granted too.
CONTRACT = "the contract of the PHY"
NAMED_SO = "what the step, or the event, is"
SHOWN_BY: dict[str, tuple[str, ...]] = {
    NO_CARRIER: (CONTRACT,),
    IS_IDLE: (NAMED_SO,),
    IS_BUSY: (NAMED_SO,),
    HALF_DUPLEX: (CONTRACT,),
    IN_SIFS: (CONTRACT,),
    NO_NAV: (NAMED_SO, "bin_rules.a_no_reset_over_own_frames"),
    CALLED_OFF: (
        "bin_rules.a_no_reset_in_a_wait",
        "bin_rules.a_no_reset_before_data",
        "bin_rules.a_no_reset_over_own_frames",
        "bin_rules.i_announced_is_called_off",
    ),
    TOO_SOON: (
        "bin_rules.a_no_reset_in_a_wait",
        "with ns-2's fixed time-out an RTS leaves less of the wait than the 2 SIFS, CTS and two slots until the reset",
    ),
    NEEDS_EVENT: (
        NAMED_SO,
        "bin_rules.a_only_its_end_ends_a_frame",
        "bin_rules.a_cts_alone_lets_data_go",
        "bin_rules.a_mac_ack_alone_delivers",
        "bin_rules.a_packet_alone_begins",
        "transmission_rules.a_answer_to_whom",
    ),
    ENDS_IT: (NAMED_SO, "bin_rules.a_its_end_ends_the_wait"),
    IS_PACKET: (NAMED_SO,),
    ONE_AT_A_TIME: (CONTRACT,),
    TOO_SHORT: (
        "of SIFS, a response and 4 us, a frame that is longer than SIFS and another SIFS leave less than a response",
    ),
    IS_ANSWERED: ("bin_rules.a_rts_is_answered",),
    NOT_WAITED_FOR: ("bin_rules.a_nobody_awaits_what_nobody_sends",),
    BEGINS_FIRST: (CONTRACT, "bin_rules.a_ns2_awaits_the_end"),
    ONE_EXCHANGE: ("one_queue_rules.a_one_in_exchange",),
    NO_ACCESS: (NAMED_SO, "transmission_rules.a_nav_was_zero", "transmission_rules.a_carrier_was_idle"),
    LOWER_LOSES: ("one_queue_rules.a_lower_collides", "one_queue_rules.a_higher_has_won"),
    WHILE_HELD: ("one_queue_rules.a_held",),
}


GROUPS = (
    Group("steps", "A step of the exchange / what happened while it lasted / how it ended.", _step_bins()),
    Group("races", "What fell due & what arrived in the same microsecond.", _race_bins()),
    Group("queues", "What one of two queues does & what happens to the other.", _queue_bins()),
    Group(
        "outcomes",
        "What became of packets and frames.",
        _outcome_bins(OUTCOMES, MODE_OUTCOMES, SERIES_OUTCOMES, QUEUE_OUTCOMES),
    ),
)
EVERY_BIN = {name: reason for group in GROUPS for name, reason in group.bins.items()}


# ---- Counting ----


class ObservedStation(DcfStation):
    """The reference model, which says where it is; `bins` counts what it went through.

    With one queue it counts steps and races, with two what the queues do to each other.
    """

    def __init__(self, settings: MacSettings, queues: int = 1) -> None:
        super().__init__(settings, queues)
        self.bins: Counter[str] = Counter()
        self._visit: tuple[str, set[str]] = (IDLE, set())
        self._own_kind = FrameKind.CTS

    # What rehearse() needs.

    def next_us(self) -> int | None:
        """When the station acts next by itself."""
        return self._next_us()

    def ends_us(self) -> list[int]:
        """When what it does now may end by itself."""
        ends = [self._next_us(), self._nav.end_us(), self._own_until_us]
        ends += [self._ifs_end_us(queue) for queue in self._queues]
        return [at_us for at_us in ends if at_us is not None]

    def at(self, at_us: int, tick: TickInputs) -> None:
        self._at(at_us, tick)

    def pass_to(self, at_us: int) -> None:
        self._pass_to(at_us)

    def queued(self, number: int = 0) -> int:
        return len(self._queues[number].waiting)

    def taken(self) -> dict[int, int]:
        """Of each sender the sequence number that would be known again."""
        return {ta: sequence for (ta, _), sequence in self._duplicates.items()}

    def step(self, number: int = 0) -> str:
        """What a queue does now, or the station for it."""
        queue = self._queues[number]
        own = self._own_until_us > self.now_us
        if self._answer:
            return ANSWER_OF[self._answer[1].kind][0]
        if queue.phase == "wait_cts":
            return RTS if own else CTS_COMES if queue.response_began else AWAIT_CTS
        if queue.phase == "wait_mac_ack":
            return DATA if own else MAC_ACK_COMES if queue.response_began else AWAIT_MAC_ACK
        if queue.phase in ("gap", "group"):
            return TO_DATA if queue.phase == "gap" else UNANSWERED
        held = self._held(queue)
        if own and not held:
            return ANSWER_OF[self._own_kind][1]
        if queue.service and queue.phase == "defer":
            return VACATION if queue.deadline_us == queue.vacation_until_us else DEFER
        nav = self._nav.end_us() > self.now_us
        if queue.service and held:
            return HELD
        if queue.service and self._dcf():
            if nav or self._cca_busy:
                return NAV if nav else CARRIER
            return IFS if self._ifs_end_us(queue) > self.now_us else SLOTS
        if queue.slots is not None:
            return POST_FROZEN if nav or self._cca_busy or held else POST
        return IDLE

    def _sample(self, outcome: str | None = None) -> None:
        """If the step is over, each thing that happened in it is a bin."""
        if len(self._queues) > 1:
            return
        step = self.step()
        was, seen = self._visit
        if step != was or outcome:
            for each in seen or {NOTHING}:
                self.bins[step_bin(was, each, outcome or step)] += 1
            self._visit = (step, set())

    def _pass_to(self, to_us: int) -> None:
        """Stops where a step ends without anything happening."""
        while self.now_us < to_us:
            ends = [self._own_until_us, self._nav.end_us(), to_us]
            ends += [self._ifs_end_us(queue) or 0 for queue in self._queues]
            resets = self.seen["nav reset"]
            super()._pass_to(min(at_us for at_us in ends if at_us > self.now_us))
            if self.seen["nav reset"] != resets:
                self._visit[1].add(NAV_RESET)
            self._sample()

    def _events(self, tick: TickInputs) -> Iterable[str]:
        if tick.cca_busy is not None:
            yield RISES if tick.cca_busy else FALLS
        if tick.rx_start:
            yield BEGINS
        if tick.packets:
            yield PACKET
        frame = tick.rx_end
        if frame is None:
            return
        kind = FrameKind(frame.kind)
        if not frame.ok:
            yield BAD
        elif frame.ra == self.settings.address:
            again = kind == FrameKind.DATA and frame.retry and self.taken().get(frame.ta) == frame.sequence
            yield f"{kind.name.replace('_', ' ')}{' again' if again else ''} for us"
        elif frame.ra & GROUP_BIT:
            yield f"{'DATA' if kind == FrameKind.DATA else 'OTHER'} for all"
        else:
            yield GROWS if frame.duration_us > max(self._nav.until_us - self.now_us, 0) else STAYS

    def _due(self, at_us: int) -> Iterable[str]:
        """What falls due then."""
        queue = self._queues[0]
        if queue.service and self._access_us(queue) == at_us:
            yield ACCESS
        if (queue.service or queue.slots is not None) and self._ifs_end_us(queue) == at_us:
            yield IFS_OVER
        if not queue.service and queue.slots is not None and self._backoff_end_us(queue) == at_us:
            yield POST_OVER
        began = queue.response_began and queue.phase in ("wait_cts", "wait_mac_ack")
        if queue.service and queue.deadline_us == at_us and not began:
            yield {
                "wait_cts": CTS_TIMEOUT,
                "wait_mac_ack": MAC_ACK_TIMEOUT,
                "gap": DATA_DUE,
                "group": UNANSWERED_OVER,
                "defer": VACATION_OVER if queue.vacation_until_us == at_us else DEFER_OVER,
            }[queue.phase]
        if self._answer and self._answer[0] == at_us:
            yield ANSWER_DUE
        if self._own_until_us == at_us:
            yield OWN_OVER
        if self._nav.reset_at_us == at_us and self._nav.until_us > at_us:
            yield NAV_RESET_DUE
        elif self._nav.until_us == at_us:
            yield NAV_OVER

    def _at(self, at_us: int, tick: TickInputs) -> None:
        if len(self._queues) > 1:
            self._at_with_two(at_us, tick)
            return
        due: list[str] = []
        if at_us > self.now_us:
            self._pass_to(at_us - 1)
            due = list(self._due(at_us))
        self._pass_to(at_us)
        arrivals = list(self._events(tick))
        self.bins.update(race_bin(each, arrival) for each in due for arrival in arrivals)
        step, queue = self._visit[0], self._queues[0]
        self._visit[1].update(arrivals)
        had, answer, deadline_us = len(self.outputs), self._answer, queue.deadline_us
        super()._at(at_us, tick)
        outcome = None
        for output in self.outputs[had:]:
            if isinstance(output, Completion):
                outcome = outcome or RESULTS[output.result]
            elif isinstance(output, Transmission):
                self._own_kind = output.kind
        after = self.step()
        if outcome is None and step in LIMITS and queue.phase not in ("gap", "group"):
            # Not delivered, not given up, and not where it was: it failed.
            if queue.phase in ("contend", "defer") or (after in SENDS and step != after):
                outcome = AGAIN
        elif step in (DEFER, VACATION) and after == DEFER and queue.deadline_us != deadline_us:
            outcome = DEFER_AGAIN
        if outcome and self._answer is not answer:
            outcome = and_answers(outcome, after)
        self._sample(outcome)

    def _at_with_two(self, at_us: int, tick: TickInputs) -> None:
        """Where each queue was when something happened to the other."""
        self._pass_to(at_us)
        steps = [self.step(number) for number in range(2)]
        were = [queue.in_exchange() for queue in self._queues]
        had, collisions = len(self.outputs), self.seen["internal collision"]
        given_up = self.seen["given up at an internal collision"]
        super()._at(at_us, tick)
        events: list[list[str]] = [[], []]
        ended = [False, False]
        for output in self.outputs[had:]:
            if isinstance(output, Completion):
                if were[output.queue]:
                    events[output.queue].append(ENDED[RESULTS[output.result]])
                    ended[output.queue] = True
            elif isinstance(output, Transmission):
                self._own_kind = output.kind
                if output.kind in (FrameKind.RTS, FrameKind.DATA) and not were[output.queue]:
                    events[output.queue].append(OTHER_BEGINS)
        for number, queue in enumerate(self._queues):
            if were[number] and not queue.in_exchange() and not ended[number]:
                events[number].append(OTHER_FAILS)
            if any(packet.queue == number for packet in tick.packets):
                events[number].append(OTHER_PACKET)
        if self.seen["internal collision"] != collisions:
            lost = OTHER_LIMIT if self.seen["given up at an internal collision"] != given_up else OTHER_WINS
            events[1].append(lost)
        for number in range(2):
            self.bins.update(queue_bin(number, steps[number], event) for event in events[1 - number])


def missed(hits: Counter[str], groups: Iterable[str]) -> list[str]:
    """Reachable bins of some groups without a hit."""
    return [name for group in GROUPS if group.name in groups for name in group.reachable() if not hits[name]]
