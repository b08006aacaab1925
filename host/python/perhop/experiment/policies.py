# SPDX-License-Identifier: GPL-2.0-or-later
"""The words for policies in an experiment file: what limits the window, when TCP ACKs are sent, when data is released.

A policy is one to three parts joined by `+`, at most one of each kind, in any order:

    window limit   none | hop | delay | delay floor | pipeline | fixed N | fixed A..B
    TCP ACKs       dca | dca N | dca A..B | dca cwnd | daa
    pacing         paced | paced path | tcp-ap

`dca` may go on with `by delay`, `by hop and delay` or `by airtime` (what its window follows; by hop without) and with
`no resend` (its timer that repeats a TCP ACK is off). A range gives several policies, two ranges every pair.
`combined` stands alone.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from perhop.errors import choose_from, refused

FORMS = (
    "none, hop, delay, delay floor, pipeline, fixed 8 or fixed 1..6; dca, dca 3, dca 1..5, dca cwnd or daa; "
    "paced, paced path or tcp-ap; parts joined by ` + `; or combined"
)

# The project's own policy, spelt in the parts above. Its label is its name.
COMBINED = "pipeline + dca by airtime + paced path"

# A window that cannot be advertised without scaling is no limit; a path header counts up to 255 packets in flight.
MOST_CWL_PACKETS = 1024
MOST_TCP_ACK_WINDOW_PACKETS = 255

_WORDS = ("none", "hop", "delay", "pipeline", "fixed", "dca", "daa", "paced", "tcp-ap", "combined")


@dataclass(frozen=True)
class Policy:
    """What one flow runs with, named as in run.json.

    `cwl_packets` is for `fixed` only, `round` for `delay` only. `tcp_ack_window` 0 is the window by `tcp_ack_rule`;
    it, `tcp_ack_whole_window`, `tcp_ack_rule` and `tcp_ack_retransmission` are for `dca` only.
    """

    cwl: Literal["none", "fixed", "hop", "delay", "pipeline"] = "none"
    cwl_packets: int = 0
    round: Literal["half_up", "floor"] = "half_up"
    tcp_ack: Literal["every", "dca", "daa"] = "every"
    tcp_ack_window: int = 0
    tcp_ack_whole_window: bool = False
    tcp_ack_rule: Literal["hop", "delay", "hop_and_delay", "airtime"] = "hop"
    tcp_ack_retransmission: bool = True
    pacing: Literal["none", "window", "adaptive", "path"] = "none"
    name: str = ""  # of a policy that has one of its own; not a part of what it does

    @property
    def label(self) -> str:
        if self.name:
            return self.name
        parts = [self._tcp_ack_label, {"window": "paced", "adaptive": "tcp-ap", "path": "paced path"}.get(self.pacing)]
        words = [part for part in parts if part]
        if self.cwl != "none" or not words:
            words.insert(0, self._cwl_label)
        return " + ".join(words)

    @property
    def _cwl_label(self) -> str:
        match self.cwl:
            case "fixed":
                return f"cwl {self.cwl_packets}"
            case "none":
                return "no limit"
            case "delay" if self.round == "floor":
                return "delay floor"
        return self.cwl

    @property
    def _tcp_ack_label(self) -> str:
        if self.tcp_ack != "dca":
            return "" if self.tcp_ack == "every" else self.tcp_ack
        words = ["dca"]
        words += ["cwnd"] if self.tcp_ack_whole_window else []
        words += [str(self.tcp_ack_window)] if self.tcp_ack_window else []
        words += [f"by {self.tcp_ack_rule.replace('_', ' ')}"] if self.tcp_ack_rule != "hop" else []
        words += [] if self.tcp_ack_retransmission else ["no resend"]
        return " ".join(words)

    def run_json(self) -> dict[str, Any]:
        """The object `policy` of run.json. What is at its default beside the window limit is left out, as it was
        before there was anything else: a run keeps its identity."""
        always = ("cwl", "cwl_packets", "round")
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        del values["name"]
        return {name: value for name, (value, default) in values.items() if name in always or value != default}


def parse_policy(text: str) -> list[Policy]:
    """Read a policy; a range gives several. Raises PydanticCustomError with a remedy."""
    if text.strip() == "combined":
        return [replace(policy, name="combined") for policy in parse_policy(COMBINED)]
    choices: dict[str, list[dict[str, Any]]] = {}
    for part in text.split("+"):
        kind, values = _part(" ".join(part.split()), text)
        if kind in choices:
            raise refused(f"is {text!r}, which names the {kind} twice", "keep one of the two")
        choices[kind] = values
    return [
        Policy(**{name: value for part in parts for name, value in part.items()})
        for parts in itertools.product(*choices.values())
    ]


def _part(part: str, text: str) -> tuple[str, list[dict[str, Any]]]:
    """Its kind, and the fields it sets: one dict for each policy it stands for."""
    if part in ("none", "hop", "delay", "pipeline"):
        return "window limit", [{"cwl": part}]
    if part == "delay floor":
        return "window limit", [{"cwl": "delay", "round": "floor"}]
    if match := re.fullmatch(r"fixed (\d+)(?:\.\.(\d+))?", part):
        counts = _range(match[1], match[2], MOST_CWL_PACKETS, text, "fixed 1..6")
        return "window limit", [{"cwl": "fixed", "cwl_packets": packets} for packets in counts]
    if part == "daa":
        return "TCP ACK policy", [{"tcp_ack": "daa"}]
    if match := re.fullmatch(
        r"dca(?: (?:(\d+)(?:\.\.(\d+))?|(cwnd)))?(?: by (delay|hop and delay|hop|airtime))?( no resend)?", part
    ):
        return "TCP ACK policy", _dca(match, text)
    if part in (pacings := {"paced": "window", "tcp-ap": "adaptive", "paced path": "path"}):
        return "pacing", [{"pacing": pacings[part]}]
    if part == "combined":
        raise refused(f"is {text!r}, but `combined` is a whole policy", f"write `combined` alone; it is `{COMBINED}`")
    raise refused(f"is {text!r}, which is no policy", f"{_meant(part)} (forms: {FORMS})")


def _dca(match: re.Match[str], text: str) -> list[dict[str, Any]]:
    first, last, whole, rule, no_resend = match.groups()
    if rule and (first or whole):
        raise refused(f"is {text!r}, where the window follows no rule", f"drop the window, or `by {rule}`")
    base: dict[str, Any] = {"tcp_ack": "dca", "tcp_ack_retransmission": no_resend is None}
    if rule:
        base["tcp_ack_rule"] = rule.replace(" ", "_")
    if whole:
        return [{**base, "tcp_ack_whole_window": True}]
    if first:
        counts = _range(first, last, MOST_TCP_ACK_WINDOW_PACKETS, text, "dca 1..5")
        return [{**base, "tcp_ack_window": packets} for packets in counts]
    return [base]


def _range(first: str, last: str | None, most: int, text: str, example: str) -> range:
    low, high = int(first), int(last or first)
    if not 1 <= low <= high <= most:
        raise refused(f"is {text!r}, which is no range of packets", f"count up from 1 to at most {most}: `{example}`")
    return range(low, high + 1)


def _meant(part: str) -> str:
    if not part:
        return "put a part on both sides of each `+`"
    word = part.split()[0]
    if word == "fixed":
        return "write `fixed 8`"
    if word in ("dca", "paced", "delay"):
        forms = {
            "dca": "`dca`, `dca 3`, `dca 1..5`, `dca cwnd`, `dca by delay`, or one of them with `no resend`",
            "paced": "`paced` or `paced path`",
            "delay": "`delay` or `delay floor`",
        }
        return f"write {forms[word]}"
    return choose_from(word, _WORDS)
