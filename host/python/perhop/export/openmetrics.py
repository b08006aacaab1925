# SPDX-License-Identifier: GPL-2.0-or-later
"""An endpoint for Prometheus: what nodes have measured, as OpenMetrics, asked for anew by each scrape.

Sums come from the daemons, which count from their start; Prometheus sees a daemon that was started anew as a counter
that was reset. The latency is that of `perhop probe`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from perhop import privileges
from perhop.errors import PerhopError
from perhop.export import probe as library
from perhop.export import scrapes
from perhop.export.asker import Asker
from perhop.export.nodes import NodeSocket

PORT = 9464
HOP = ("node", "neighbour", "address")


class NodesCollector(Collector):
    """Asks the daemons when it is asked. One that does not answer is down, and keeps no other from being told."""

    def __init__(self, labels: Sequence[str], ask: Callable[[], list[dict[str, Any] | PerhopError]]) -> None:
        self._labels = labels
        self._ask = ask

    def describe(self) -> Iterable[Metric]:
        """Nothing is asked before the first scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        told = [None if isinstance(each, PerhopError) else each for each in self._ask()]
        yield from metrics_of(zip(self._labels, told, strict=True))


def metrics_of(told: Iterable[tuple[str, dict[str, Any] | None]]) -> list[Metric]:
    """Metric families of what nodes have told; None: no answer."""
    up = GaugeMetricFamily("perhop_up", "1: the node's daemon answers", labels=["node"])
    mac_up = GaugeMetricFamily("perhop_mac_up", "1: the daemon has its MAC", labels=["node"])
    info = InfoMetricFamily("perhop_mac", "The node's MAC", labels=["node"])
    queue = GaugeMetricFamily("perhop_queue_packets", "Packets that wait in the daemon", labels=["node"])
    limit = GaugeMetricFamily("perhop_queue_limit_packets", "As many may wait there", labels=["node"])
    packets = CounterMetricFamily("perhop_packets", "Packets by what the daemon did", labels=["node", "event"])
    events = CounterMetricFamily("perhop_mac_events", "The MAC's own counters", labels=["node", "event"])
    hops = _HopFamilies()
    for label, node in told:
        up.add_metric([label], 0 if node is None else 1)
        if node is None:
            continue
        mac_up.add_metric([label], int(node["mac_up"]))
        if node["mac"] is not None:
            info.add_metric([label], {"address": node["mac"]["address"], "profile": node["mac"]["profile"]})
        queue.add_metric([label], node["queued_packets"])
        limit.add_metric([label], node["queue_limit_packets"])
        for event, count in node["packets"].items():
            packets.add_metric([label, event], count)
        for event, count in node["statistics"].items():
            if count is not None:
                events.add_metric([label, event], count)
        for neighbour in node["neighbours"]:
            hops.add(label, neighbour)
    return [up, mac_up, info, queue, limit, packets, events, *hops.families()]


class _HopFamilies:
    """What is told of each neighbour of each node."""

    def __init__(self) -> None:
        self.latency = GaugeMetricFamily(
            "perhop_hop_latency",
            "Expected service time of a packet that fills the interface, head of line to MAC ACK",
            labels=HOP,
            unit="seconds",
        )
        self.contention = GaugeMetricFamily(
            "perhop_hop_contention", "Running average: waiting for the medium", labels=HOP, unit="seconds"
        )
        self.overhead = GaugeMetricFamily(
            "perhop_hop_overhead", "Running average: RTS, CTS, MAC ACK, SIFS", labels=HOP, unit="seconds"
        )
        self.attempts = GaugeMetricFamily(
            "perhop_hop_data_attempts", "Running average: DATA attempts a packet", labels=HOP
        )
        self.queue = GaugeMetricFamily("perhop_hop_queue_packets", "Packets that wait in the daemon", labels=HOP)
        self.packets = CounterMetricFamily("perhop_hop_packets", "Packets that the MAC is done with", labels=HOP)
        self.drops = CounterMetricFamily("perhop_hop_drops", "Of them given up at a retry limit", labels=HOP)
        self.bytes = CounterMetricFamily("perhop_hop_mpdu", "MPDUs delivered", labels=HOP, unit="bytes")
        self.sent = CounterMetricFamily("perhop_hop_frames", "Frames sent for them", labels=(*HOP, "kind"))
        self.time = CounterMetricFamily(
            "perhop_hop_time", "Where the packets' time went", labels=(*HOP, "part"), unit="seconds"
        )
        self.service = HistogramMetricFamily(
            "perhop_hop_service", "Service time of packets, head of line to end", labels=HOP, unit="seconds"
        )

    def add(self, label: str, neighbour: dict[str, Any]) -> None:
        addresses = neighbour["addresses"]
        labels = [label, neighbour["mac"], addresses[0] if addresses else ""]
        count = neighbour["packets"]
        self.queue.add_metric(labels, neighbour["queued_packets"])
        self.packets.add_metric(labels, count)
        self.drops.add_metric(labels, neighbour["drops"])
        self.bytes.add_metric(labels, neighbour["bytes"])
        self.sent.add_metric([*labels, "rts"], neighbour["rts_attempts"])
        self.sent.add_metric([*labels, "data"], neighbour["data_attempts"])
        for part, sum_us in neighbour["parts_us"].items():
            self.time.add_metric([*labels, part], sum_us / 1e6)
        buckets = []
        below = 0
        for bound_us, packets in zip(
            library.histogram_bounds_us(len(neighbour["histogram"])), neighbour["histogram"], strict=True
        ):
            below += packets
            # Bins begin at a power of two: the upper end of a bucket is the last microsecond below the next.
            buckets.append(("+Inf" if bound_us is None else repr((bound_us - 1) / 1e6), below))
        self.service.add_metric(labels, buckets, neighbour["service_us"] / 1e6)
        average = neighbour["average"]
        if average is not None and neighbour["latency_us"] is not None:
            self.latency.add_metric(labels, neighbour["latency_us"] / 1e6)
            self.contention.add_metric(labels, average["contention_us"] / 1e6)
            self.overhead.add_metric(labels, average["overhead_us"] / 1e6)
            self.attempts.add_metric(labels, average["data_attempts"])

    def families(self) -> list[Metric]:
        return [
            self.latency,
            self.contention,
            self.overhead,
            self.attempts,
            self.queue,
            self.packets,
            self.drops,
            self.bytes,
            self.sent,
            self.time,
            self.service,
        ]


def serve(nodes: Sequence[NodeSocket], address: str, port: int, user: str = privileges.NOBODY) -> None:
    """Answers scrapes until SIGINT or SIGTERM, as `user` where root has started it. Raises PerhopError."""
    become = privileges.account(user)
    ask = Asker(nodes)
    registry = CollectorRegistry()
    registry.register(NodesCollector([node.label for node in nodes], ask))
    try:
        server = scrapes.Server(address, port, make_wsgi_app(registry))
    except OSError as error:
        raise PerhopError(
            f"port {port} of {address} cannot be opened: {error.strerror or error}", "choose another with --listen"
        ) from error
    privileges.drop(become)
    scrapes.serve(
        server, lambda: print(f"OpenMetrics of {len(nodes)} nodes: http://{address}:{port}/metrics", flush=True)
    )


def parse_endpoint(text: str) -> tuple[str, int]:
    """ADDRESS:PORT, [ADDRESS]:PORT or PORT alone, which is of 127.0.0.1. Raises PerhopError."""
    address, _, port = text.rpartition(":")
    if port.isdigit() and 0 < int(port) < 65536:
        return address.strip("[]") or "127.0.0.1", int(port)
    raise PerhopError(f"{text!r} is no address and port", f"write 127.0.0.1:{PORT}, [::1]:{PORT} or {PORT}")
