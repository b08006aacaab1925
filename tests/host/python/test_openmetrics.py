# SPDX-License-Identifier: GPL-2.0-or-later
"""The metrics of made-up nodes, through the OpenMetrics parser."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perhop.errors import PerhopError
from perhop.export import openmetrics
from perhop.export.probe import PARTS, STATISTICS
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

COUNTS = st.integers(0, 2**53)


@st.composite
def neighbours(draw):
    histogram = draw(st.lists(st.integers(0, 2**40), min_size=16, max_size=16))
    known = draw(st.booleans())
    return {
        "mac": draw(st.sampled_from(["02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff"])),
        "addresses": draw(st.sampled_from([[], ["10.0.0.1", 'odd"\\\n']])),
        "packets": sum(histogram),
        "drops": draw(COUNTS),
        "bytes": draw(COUNTS),
        "queued_packets": draw(st.integers(0, 50)),
        "rts_attempts": draw(COUNTS),
        "data_attempts": draw(COUNTS),
        "parts_us": {part: draw(COUNTS) for part in ("host_queue", *PARTS)},
        "histogram": histogram,
        "service_us": draw(COUNTS),
        "latency_us": draw(st.integers(1, 10**7)) if known else None,
        "average": {"contention_us": 1.0625, "overhead_us": 994.0, "data_attempts": 1.25} if known else None,
    }


@st.composite
def nodes(draw):
    if draw(st.integers(0, 4)) == 0:
        return None
    up = draw(st.booleans())
    return {
        "mac_up": up,
        "mac": {"address": "02:00:00:00:00:02", "profile": "dsss_long"} if up else None,
        "queued_packets": 3,
        "queue_limit_packets": 50,
        "packets": {"from_ip": draw(COUNTS), "mac_drops": 0},
        "statistics": {name.removeprefix("stat_"): draw(st.none() | COUNTS) for name in STATISTICS} if up else {},
        "neighbours": draw(st.lists(neighbours(), max_size=2, unique_by=lambda neighbour: neighbour["mac"])),
    }


def exposed(told) -> list:
    class Fixed(Collector):
        def collect(self):
            return openmetrics.metrics_of(told)

    registry = CollectorRegistry()
    registry.register(Fixed())
    return list(text_string_to_metric_families(generate_latest(registry).decode()))


@settings(max_examples=60, deadline=None)
@given(st.lists(nodes(), min_size=1, max_size=3))
def test_whatever_nodes_tell_the_parser_takes_and_nothing_is_lost(told):
    families = {family.name: family for family in exposed([(str(place), node) for place, node in enumerate(told)])}
    assert [sample.value for sample in families["perhop_up"].samples] == [float(node is not None) for node in told]
    wanted = [neighbour for node in told if node is not None for neighbour in node["neighbours"]]
    assert [sample.value for sample in families["perhop_hop_packets"].samples] == [n["packets"] for n in wanted]
    latencies = [n["latency_us"] / 1e6 for n in wanted if n["latency_us"] is not None]
    assert [sample.value for sample in families["perhop_hop_latency_seconds"].samples] == latencies
    buckets = [sample for sample in families["perhop_hop_service_seconds"].samples if sample.name.endswith("_bucket")]
    ends = [sample.value for sample in buckets if sample.labels["le"] == "+Inf"]
    assert ends == [sum(n["histogram"]) for n in wanted]
    assert [float(sample.labels["le"]) for sample in buckets[:3]] in ([], [127e-6, 255e-6, 511e-6])
    parts = [sample for sample in families["perhop_hop_time_seconds"].samples]
    assert math.isclose(sum(sample.value for sample in parts), sum(sum(n["parts_us"].values()) for n in wanted) / 1e6)


def test_counters_that_a_mac_does_not_have_are_not_there():
    node = {
        "mac_up": True,
        "mac": None,
        "queued_packets": 0,
        "queue_limit_packets": 50,
        "packets": {},
        "statistics": {"rts_sent": 5, "rx_bad_fcs": None},
        "neighbours": [],
    }
    (family,) = [family for family in exposed([("0", node)]) if family.name == "perhop_mac_events"]
    assert [sample.labels["event"] for sample in family.samples] == ["rts_sent"]


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [("9464", ("127.0.0.1", 9464)), ("0.0.0.0:80", ("0.0.0.0", 80)), ("[::1]:9464", ("::1", 9464))],
)
def test_an_endpoint_is_an_address_and_a_port(text, endpoint):
    assert openmetrics.parse_endpoint(text) == endpoint


@pytest.mark.parametrize("text", ["", "0", "host:", "65536", "::1:x"])
def test_what_is_no_endpoint_is_refused(text):
    with pytest.raises(PerhopError, match="no address and port"):
        openmetrics.parse_endpoint(text)
