# SPDX-License-Identifier: GPL-2.0-or-later
"""Functional coverage: which outcomes of the frame exchange random tests have met."""

from collections import Counter

# Names of what dcf_model has seen, grouped by what they are about.
OUTCOMES = {
    "access": ("at once", "after backoff", "found busy", "eifs cancelled"),
    "nav": ("nav set", "nav extended", "nav not shortened", "nav reset"),
    "wait for CTS": (
        "wait_cts: timeout",
        "wait_cts: another frame",
        "wait_cts: a bad frame",
        "wait_cts: began as the timeout was due",
    ),
    "wait for MAC ACK": (
        "wait_mac_ack: timeout",
        "wait_mac_ack: another frame",
        "wait_mac_ack: a bad frame",
        "wait_mac_ack: began as the timeout was due",
    ),
    "answers": (
        "sends cts",
        "sends cts while a packet contends",
        "sends mac_ack",
        "sends mac_ack while a packet contends",
        "cts withheld under nav",
        "mac ack under nav",
    ),
    "results": (
        "delivered",
        "delivered behind rts",
        "group_sent",
        "short_retry_limit",
        "short_retry_limit behind rts",
        "long_retry_limit behind rts",
    ),
    "attempts": ("0 data attempts", "1 data attempts", "2 data attempts", "3 data attempts", "4 data attempts"),
}


# What other access modes than dcf, and DATA without MAC ACK, add to some of them.
MODE_OUTCOMES = {
    "access": ("deferred", "vacation", "deferred until the window was largest"),
    "wait for CTS": OUTCOMES["wait for CTS"],
    "wait for MAC ACK": ("wait_mac_ack: timeout",),
    "answers": ("sends cts", "sends cts while a packet contends", "sends mac_ack", "cts withheld under nav"),
    "results": ("delivered", "group_sent", "group_sent behind rts", "short_retry_limit behind rts"),
}


# What rate series add.
SERIES_OUTCOMES = {
    "rates": ("next rate", "given up at a later rate", "delivered at a later rate", "past the last rate")
}


# What a second queue adds.
QUEUE_OUTCOMES = {
    "queues": ("the other queue waits", "internal collision", "given up at an internal collision"),
    "access": (*OUTCOMES["access"], "deferred"),
    "results": OUTCOMES["results"],
}


class ExchangeCoverage:
    """Adds up what was seen and prints it; missing() names what was not."""

    def __init__(self, outcomes: dict[str, tuple[str, ...]] = OUTCOMES) -> None:
        self.outcomes = outcomes
        self.seen: Counter[str] = Counter()

    def add(self, seen: Counter[str]) -> None:
        self.seen += seen

    def missing(self) -> list[str]:
        return [outcome for outcomes in self.outcomes.values() for outcome in outcomes if not self.seen[outcome]]

    def report(self) -> str:
        """One line an outcome."""
        lines = [
            f"  {topic:16} {outcome:44} {self.seen[outcome]:7}"
            for topic, outcomes in self.outcomes.items()
            for outcome in outcomes
        ]
        total = sum(len(outcomes) for outcomes in self.outcomes.values())
        return "\n".join([f"exchange outcomes met: {total - len(self.missing())} of {total}", *lines])
