# SPDX-License-Identifier: GPL-2.0-or-later
"""What a DLEP modem tells people of its peers: bounded in number, and safe to show."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field


def say(text: str) -> None:
    """A line of the log. Whatever a peer put into it stays one line, and gives a terminal no orders."""
    shown = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    print(shown, file=sys.stderr, flush=True)


@dataclass
class Limiter:
    """Lets at most so many through a second (a token bucket that holds as many)."""

    most_per_s: float
    _left: float = field(init=False)
    _then_s: float | None = None

    def __post_init__(self) -> None:
        self._left = self.most_per_s

    def allows(self, now_s: float) -> bool:
        passed_s = 0.0 if self._then_s is None else now_s - self._then_s
        self._left = min(self.most_per_s, self._left + passed_s * self.most_per_s)
        self._then_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


class LimitedLog:
    """Lines about somebody who may make many. What is left out is counted, and told with the next line."""

    def __init__(self, most_lines_per_s: float) -> None:
        self._limiter = Limiter(most_lines_per_s)
        self._unsaid = 0

    def say(self, now_s: float, text: str) -> None:
        if not self._limiter.allows(now_s):
            self._unsaid += 1
            return
        say(f"{text} ({self._unsaid} lines before this one are left out)" if self._unsaid else text)
        self._unsaid = 0
