# SPDX-License-Identifier: GPL-2.0-or-later
"""The words for policies: what they mean, their labels, and what is said about wrong ones."""

import pytest
from perhop.experiment.policies import parse_policy
from perhop.experiment.policy_table import WHOLE
from pydantic_core import PydanticCustomError


def labels(text):
    return [policy.label for policy in parse_policy(text)]


def refusal(text):
    with pytest.raises(PydanticCustomError) as error:
        parse_policy(text)
    return str(error.value), error.value.context["remedy"]


OLD = {
    "none": ("no limit", {"cwl": "none", "cwl_packets": 0, "round": "half_up"}),
    "hop": ("hop", {"cwl": "hop", "cwl_packets": 0, "round": "half_up"}),
    "delay": ("delay", {"cwl": "delay", "cwl_packets": 0, "round": "half_up"}),
    "delay floor": ("delay floor", {"cwl": "delay", "cwl_packets": 0, "round": "floor"}),
    "fixed 8": ("cwl 8", {"cwl": "fixed", "cwl_packets": 8, "round": "half_up"}),
}


@pytest.mark.parametrize("text", OLD)
def test_a_window_limit_alone_is_what_it_always_was(text):
    (policy,) = parse_policy(text)
    assert (policy.label, policy.run_json()) == OLD[text]


NEW = {
    "dca": ("dca", {"tcp_ack": "dca"}),
    "dca 3": ("dca 3", {"tcp_ack": "dca", "tcp_ack_window": 3}),
    "dca cwnd": ("dca cwnd", {"tcp_ack": "dca", "tcp_ack_whole_window": True}),
    "dca by delay": ("dca by delay", {"tcp_ack": "dca", "tcp_ack_rule": "delay"}),
    "dca by airtime": ("dca by airtime", {"tcp_ack": "dca", "tcp_ack_rule": "airtime"}),
    "pipeline": ("pipeline", {"cwl": "pipeline"}),
    "dca by hop and delay": ("dca by hop and delay", {"tcp_ack": "dca", "tcp_ack_rule": "hop_and_delay"}),
    "dca 2 no resend": ("dca 2 no resend", {"tcp_ack": "dca", "tcp_ack_window": 2, "tcp_ack_retransmission": False}),
    "daa": ("daa", {"tcp_ack": "daa"}),
    "daa as in 001": ("daa as in 001", {"tcp_ack": "daa", "tcp_ack_profile": "as_in_001"}),
    "abc 20": ("abc 20", {"cwl": "abc", "abc_target_ms": 20}),
    "dca 3 + abc 50": ("abc 50 + dca 3", {"cwl": "abc", "abc_target_ms": 50, "tcp_ack": "dca", "tcp_ack_window": 3}),
    "none + dca": ("dca", {"tcp_ack": "dca"}),
    "paced": ("paced", {"pacing": "window"}),
    "paced path": ("paced path", {"pacing": "path"}),
    "tcp-ap": ("tcp-ap", {"pacing": "adaptive"}),
    "delay + tcp-ap by mean deviation": (
        "delay + tcp-ap by mean deviation",
        {"cwl": "delay", "pacing": "adaptive", "pacing_variation": "mean_deviation"},
    ),
    "delay+dca": ("delay + dca", {"cwl": "delay", "tcp_ack": "dca"}),
    "paced  +  dca 3 + fixed 4": (
        "cwl 4 + dca 3 + paced",
        {"cwl": "fixed", "cwl_packets": 4, "tcp_ack": "dca", "tcp_ack_window": 3, "pacing": "window"},
    ),
}


@pytest.mark.parametrize("text", NEW)
def test_parts_set_their_own_fields_and_no_other(text):
    (policy,) = parse_policy(text)
    label, values = NEW[text]
    assert policy.label == label
    assert policy.run_json() == {"cwl": "none", "cwl_packets": 0, "round": "half_up"} | values


def test_ranges_multiply_out():
    assert labels("dca 1..3") == ["dca 1", "dca 2", "dca 3"]
    assert labels("fixed 2..3 + dca 1..2") == ["cwl 2 + dca 1", "cwl 2 + dca 2", "cwl 3 + dca 1", "cwl 3 + dca 2"]


def test_the_combined_policy_is_its_parts_under_its_name():
    (combined,) = parse_policy("combined")
    (parts,) = parse_policy(WHOLE["combined"])
    assert combined.label == "combined"
    assert combined.run_json() == parts.run_json()
    assert combined.pacing != "none" and combined.tcp_ack != "every" and combined.cwl != "none"


REFUSED = {
    "": ("no policy", "both sides of each `+`"),
    "delay +": ("no policy", "both sides of each `+`"),
    "dka": ("no policy", "did you mean 'dca'"),
    "dca three": ("no policy", "`dca 3`"),
    "dca 0": ("no range", "count up from 1 to at most 255: `dca 1..5`"),
    "dca 300": ("no range", "at most 255"),
    "dca 5..2": ("no range", "`dca 1..5`"),
    "dca 3 by delay": ("`3` and `by delay` exclude each other", "keep one"),
    "fixed": ("no policy", "write `fixed 8`"),
    "delay ceiling": ("no policy", "`delay floor`"),
    "daa as in 000": ("no policy", "`daa as in 001`"),
    "paced hop": ("no policy", "`paced path`"),
    "hop + delay": ("window limit twice", "keep one"),
    "dca + daa": ("TCP ACK policy twice", "keep one"),
    "paced + tcp-ap": ("pacing twice", "keep one"),
    "combined + dca": ("whole policy", "write `combined` alone"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_wrong_text_is_refused_with_a_remedy(text):
    problem, remedy = REFUSED[text]
    said, how = refusal(text)
    assert problem in said and remedy in how
