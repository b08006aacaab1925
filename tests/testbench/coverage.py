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


class ExchangeCoverage:
    """Adds up what was seen and prints it; missing() names what was not."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def add(self, seen: Counter[str]) -> None:
        self.seen += seen

    def missing(self) -> list[str]:
        return [outcome for outcomes in OUTCOMES.values() for outcome in outcomes if not self.seen[outcome]]

    def report(self) -> str:
        """One line an outcome."""
        lines = [
            f"  {topic:16} {outcome:44} {self.seen[outcome]:7}"
            for topic, outcomes in OUTCOMES.items()
            for outcome in outcomes
        ]
        total = sum(len(outcomes) for outcomes in OUTCOMES.values())
        return "\n".join([f"exchange outcomes met: {total - len(self.missing())} of {total}", *lines])
