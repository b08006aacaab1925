# SPDX-License-Identifier: GPL-2.0-or-later
"""Which parts of which exchanges can go on at the same instant, if all of these exchanges succeed.

An exchange of a packet from a to b is cut into activities: the back-off and the inter-frame space of a, the frames, and
the gaps between them. Whatever is said here not to go together cannot, under any policy:

- A station takes part in one exchange at a time. (The idle medium that a back-off or an inter-frame space needs is
  longer than any gap within an exchange.)
- A frame needs its receiver: no sender near it may be too strong (`_spoils`).
- A station that counts idle time hears nobody.
- The frames of an exchange have fixed distances. Two exchanges have one offset, and where no offset lets both succeed
  while these two parts overlap, the parts never do (`_offsets_without_loss`).

What is left out can only lower what succeeds: NAV, EIFS, failed attempts, the order in which frames start, errors.

Times of an exchange are those at b, whose first frame arrives at 0. Others hear a frame up to `most_delay_us` earlier
or later than that says, so this much is cut off both ends of each frame wherever it can matter: what then overlaps on
paper overlaps at every receiver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perhop.bound.exchange import Link
from perhop.bound.hearing import TOLERANCE, Hearing

Interval = tuple[float, float]


@dataclass(frozen=True)
class Exchange:
    """Packets of `ip_bytes` from one node to a neighbour. `receiver` None: to, or from, whoever it may be."""

    sender: int
    receiver: int | None
    ip_bytes: int
    link: Link


@dataclass(frozen=True)
class Activity:
    """A part of an exchange. Without `span_us` it has no fixed place in it."""

    exchange: int
    kind: str
    stations: frozenset[int]  # they take part in nothing else
    duration_us: float
    span_us: Interval | None = None
    senders: tuple[int, ...] = ()  # each of them may send meanwhile
    receptions: tuple[tuple[int, int, int], ...] = ()  # (receiver, transmitter, rate index) that must succeed
    listener: int | None = None  # must sense an idle medium

    def cut(self, margin_us: float) -> Activity:
        """The same less `margin_us` at both ends of a frame."""
        if not self.senders or self.span_us is None:
            return self
        first, last = self.span_us[0] + margin_us, self.span_us[1] - margin_us
        return Activity(
            self.exchange,
            self.kind,
            self.stations,
            max(0.0, last - first),
            (first, max(first, last)),
            self.senders,
            self.receptions,
            self.listener,
        )


@dataclass(frozen=True)
class Budget:
    """While `activity` goes on, the powers of all others together stay within `most_w` (the rule sinr)."""

    activity: int
    power_w: npt.NDArray[np.float64]
    most_w: float


@dataclass(frozen=True)
class Overlaps:
    """All activities, which pairs exclude each other, and budgets that more than two may break."""

    activities: list[Activity]
    excludes: npt.NDArray[np.bool_]
    budgets: list[Budget]


def whole_exchanges(exchanges: Sequence[Exchange], hearing: Hearing) -> Overlaps:
    """Each exchange as one activity during which either end may send, and both must receive."""
    activities = []
    for index, exchange in enumerate(exchanges):
        duration_us = exchange.link.exchange_us(exchange.ip_bytes)
        a, b = exchange.sender, exchange.receiver
        if b is None:
            activities.append(Activity(index, "whole", frozenset({a}), duration_us))
            continue
        rate = exchange.link.data_rate_index
        activities.append(
            Activity(index, "whole", frozenset({a, b}), duration_us, None, (a, b), ((b, a, rate), (a, b, rate)))
        )
    return Overlaps(activities, _excluding(activities, hearing), _budgets(activities, hearing))


def frames(exchanges: Sequence[Exchange], hearing: Hearing, backoff_us: Sequence[float]) -> Overlaps:
    """Exchanges as their frames. `backoff_us` is what each waits for in slots, in the mean."""
    whole = [list(_parts(index, exchange, hearing)) for index, exchange in enumerate(exchanges)]
    stations = [frozenset.union(*(part.stations for part in parts)) for parts in whole]
    alone = all(one & other for one in stations for other in stations)
    margin_us = 0.0 if alone else hearing.most_delay_us
    activities = [part.cut(margin_us) for parts in whole for part in parts]
    for index, exchange in enumerate(exchanges):
        if backoff_us[index] > 0:
            a = exchange.sender
            activities.append(Activity(index, "backoff", frozenset({a}), backoff_us[index], listener=a))
    excludes = _excluding(activities, hearing)
    for one, parts in enumerate(whole):
        for other in range(one + 1, len(whole)):
            if stations[one] & stations[other]:
                continue
            free = _offsets_without_loss(parts, whole[other], hearing)
            _exclude_what_never_meets(activities, one, other, free, excludes)
    return Overlaps(activities, excludes, _budgets(activities, hearing))


def _parts(index: int, exchange: Exchange, hearing: Hearing) -> Iterator[Activity]:
    link, a, b = exchange.link, exchange.sender, exchange.receiver
    if b is None:
        yield Activity(index, "whole", frozenset({a}), link.exchange_us(exchange.ip_bytes))
        return
    delay_us = float(hearing.delay_us[a, b])
    both = frozenset({a, b})
    if link.idle_before_us > 0:
        span = (-delay_us - link.idle_before_us, -delay_us)
        yield Activity(index, "ifs", frozenset({a}), link.idle_before_us, span, listener=a)
    now_us = 0.0
    sent = link.frames(exchange.ip_bytes)
    for place, frame in enumerate(sent):
        if place > 0:
            # The answer to a frame leaves b one SIFS after it arrived; what follows comes from a, on the way twice.
            gap_us = link.between_us + (2 * delay_us if frame.forward else 0)
            yield Activity(index, "gap", both, gap_us, (now_us, now_us + gap_us))
            now_us += gap_us
        ends = (a, b) if frame.forward else (b, a)
        span = (now_us, now_us + frame.airtime_us)
        reception = (ends[1], ends[0], frame.rate_index)
        yield Activity(index, frame.kind, both, frame.airtime_us, span, (ends[0],), (reception,))
        now_us += frame.airtime_us


def _hidden_from(hearing: Hearing, sender: int, at: int) -> bool:
    """Whether a receiver may not sense this sender under ns-2's rule, having been busy with a much stronger one."""
    stronger = hearing.power_w[:, at] >= hearing.capture_ratio * hearing.power_w[sender, at]
    stronger[[sender, at]] = False
    return bool(stronger.any())


def _spoils(hearing: Hearing, wanted: Activity, other: Activity) -> Iterator[tuple[int, int]]:
    """(node, sender): `sender`, during `other`, at `node` would make `wanted` fail, alone among all others."""
    for sender in other.senders:
        for receiver, transmitter, rate_index in wanted.receptions:
            signal_w, other_w = hearing.power_w[transmitter, receiver], hearing.power_w[sender, receiver]
            if hearing.reception == "sinr":
                ratio = hearing.threshold_ratio[rate_index]
                if signal_w < ratio * (hearing.noise_w + other_w) * (1 - TOLERANCE):
                    yield receiver, sender
            elif (
                other_w > 0
                and signal_w < hearing.capture_ratio * other_w * (1 - TOLERANCE)
                and not _hidden_from(hearing, sender, receiver)
            ):
                yield receiver, sender
        listener = wanted.listener
        if listener is not None and listener != sender:
            sensed = hearing.power_w[sender, listener] >= hearing.carrier_sense_w
            if sensed and (hearing.reception == "sinr" or not _hidden_from(hearing, sender, listener)):
                yield listener, sender


def _excluding(activities: Sequence[Activity], hearing: Hearing) -> npt.NDArray[np.bool_]:
    """Pairs that share a station, or one of which spoils the other."""
    count = len(activities)
    excludes = np.zeros((count, count), dtype=bool)
    for one in range(count):
        for other in range(one):
            left, right = activities[one], activities[other]
            if (
                left.stations & right.stations
                or any(_spoils(hearing, left, right))
                or any(_spoils(hearing, right, left))
            ):
                excludes[one, other] = excludes[other, one] = True
    return excludes


def _budgets(activities: Sequence[Activity], hearing: Hearing) -> list[Budget]:
    """What the sum of all other powers may be, where more than one other can make it too large."""
    budgets: list[Budget] = []
    if hearing.reception != "sinr":
        return budgets
    for index, activity in enumerate(activities):
        limits = [
            (receiver, hearing.power_w[transmitter, receiver] / hearing.threshold_ratio[rate_index] - hearing.noise_w)
            for receiver, transmitter, rate_index in activity.receptions
        ]
        if activity.listener is not None:
            limits.append((activity.listener, hearing.carrier_sense_w))
        for node, most_w in limits:
            power_w = np.array(
                [
                    0.0
                    if other.stations & activity.stations
                    else max((hearing.power_w[sender, node] for sender in other.senders), default=0.0)
                    for other in activities
                ]
            )
            if power_w.sum() > most_w:
                budgets.append(Budget(index, power_w, most_w * (1 + TOLERANCE)))
    return budgets


def _offsets_without_loss(one: list[Activity], other: list[Activity], hearing: Hearing) -> list[Interval]:
    """The open intervals of offsets (start of `other` less that of `one`) at which one of the two exchanges fails."""
    lossy: list[Interval] = []
    for left in one:
        for right in other:
            if left.span_us is None or right.span_us is None:
                continue
            for node, sender in _spoils(hearing, left, right):
                early, late = _at(left, None, node, hearing), _at(right, sender, node, hearing)
                lossy.append((early[0] - late[1], early[1] - late[0]))
            for node, sender in _spoils(hearing, right, left):
                early, late = _at(left, sender, node, hearing), _at(right, None, node, hearing)
                lossy.append((early[0] - late[1], early[1] - late[0]))
    return _joined(lossy)


def _at(activity: Activity, sender: int | None, node: int, hearing: Hearing) -> Interval:
    """When an activity is noticed at a node: its frame by a listener (`sender`), or by its own receiver (None)."""
    assert activity.span_us is not None
    shift_us = 0.0
    if activity.receptions:
        receiver, transmitter, _ = activity.receptions[0]
        forward_us = hearing.delay_us[transmitter, receiver]
        # The spans are b's: what a sends has arrived there, what b sends has only left.
        is_forward = activity.kind in ("rts", "data")
        sent_us = -forward_us if is_forward else 0.0
        shift_us = sent_us + (forward_us if sender is None else hearing.delay_us[sender, node])
    return activity.span_us[0] + shift_us, activity.span_us[1] + shift_us


def _joined(intervals: list[Interval]) -> list[Interval]:
    """Their union. Two that only touch leave the point between them."""
    joined: list[Interval] = []
    for first, last in sorted(intervals):
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _exclude_what_never_meets(
    activities: Sequence[Activity], one: int, other: int, lossy: list[Interval], excludes: npt.NDArray[np.bool_]
) -> None:
    """Mark the parts of two exchanges that overlap at lossy offsets only."""
    for left_index, left in enumerate(activities):
        if left.exchange != one or left.span_us is None:
            continue
        for right_index, right in enumerate(activities):
            if right.exchange != other or right.span_us is None:
                continue
            first, last = left.span_us[0] - right.span_us[1], left.span_us[1] - right.span_us[0]
            if any(begin <= first and last <= end for begin, end in lossy):
                excludes[left_index, right_index] = excludes[right_index, left_index] = True
