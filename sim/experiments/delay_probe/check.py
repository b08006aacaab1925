# SPDX-License-Identifier: GPL-2.0-or-later
"""Row B-12: the delay probe of paper 000, over chains of the core's shims whose delays are known.

Each router's MAC has averages of its own, drawn at random and different forward and back. A data packet and its TCP ACK
cross the chain as bytes; then the sender must know the routers' own sums and maximum. The truth is added up here, from
the averages and the PHY's airtime, without the core.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from perhop import core
from perhop.registers import spec_generated as spec
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

PROFILE = "dsss_long"
RATE_2_MBPS = 1
OVERHEAD_US = 990
SEED = 1
CHAINS = 200
# A delay is told in units of 16 us, rounded, by each hop: what a hop adds is wrong by half a unit at most.
STEP_US = 16

FLOW = core.FlowKey(source="10.0.0.1", destination="10.0.0.9", source_port=40000, destination_port=5001)
POLICY = core.FlowPolicy(cwl=core.CwlConfig(kind=core.CwlKind.delay))


@dataclass
class Node:
    """A router or an end: its shim, and what its MAC measured towards the next node of a direction."""

    shim: core.Shim
    contention_us: int
    speaks: bool = True  # False: a router that knows no path header

    def hop_us(self, ip_bytes: int) -> float:
        return (
            self.contention_us
            + OVERHEAD_US
            + spec.airtime_us(spec.PROFILES[PROFILE], RATE_2_MBPS, _mpdu_bytes(ip_bytes))
        )


def _mpdu_bytes(ip_bytes: int) -> int:
    return spec.MAC_HEADER_BYTES + spec.LLC_SNAP_BYTES + spec.PATH_HEADER_BYTES + ip_bytes + spec.FCS_BYTES


def _node(contention_us: int) -> Node:
    node = Node(core.Shim(profile=PROFILE, policy=POLICY), contention_us)
    node.shim.on_completion(
        0,
        core.NeighbourAverages(
            peer=0,
            avg_contention_us16=contention_us * 16,
            avg_overhead_us16=OVERHEAD_US * 16,
            avg_data_attempts_256=256,
        ),
    )
    return node


def _view(flow: core.FlowKey, payload_bytes: int, tcp_ack: int) -> core.IpPacketView:
    tcp = core.TcpView(
        has_tcp_ack=True, tcp_ack=tcp_ack, payload_bytes=payload_bytes, window_bytes=65535, segment_bytes=1460
    )
    return core.IpPacketView(flow=flow, ip_bytes=40 + payload_bytes, ttl=64, tcp=tcp)


def _cross(now_us: int, nodes: list[Node], end: core.Shim, view: core.IpPacketView) -> None:
    """From nodes[0] over the routers to `end`, as bytes on every hop."""
    hop = core.NextHop(peer=0, rate_index=RATE_2_MBPS, mpdu_bytes=_mpdu_bytes(view.ip_bytes))
    header = nodes[0].shim.on_originate(now_us, view, hop, packets_in_flight=1)
    for node in nodes[1:]:
        view = view.replace(ttl=view.ttl - 1)
        if not node.speaks:
            header = None
            continue
        arrived = None if header is None else node.shim.parse(core.encode(header))
        header = node.shim.on_forward(now_us, arrived, view, hop)
    arrived = None if header is None else end.parse(core.encode(header))
    end.on_receive(now_us, arrived, view.replace(ttl=view.ttl - 1))


@dataclass
class Ends:
    """The two ends of a connection, over whatever routers lie between them."""

    sender: Node
    receiver: Node
    now_us: int = 1

    def round_trip(self, forward: list[Node], back: list[Node]) -> core.PathMeasurement | None:
        """A data packet over `forward` routers and its TCP ACK over `back` ones; what the sender then knows."""
        self.now_us += 100_000
        _cross(self.now_us, [self.sender, *forward], self.receiver.shim, _view(FLOW, 1460, 0))
        _cross(self.now_us + 1, [self.receiver, *back], self.sender.shim, _view(FLOW.reversed(), 0, 1460))
        return self.sender.shim.last_path(FLOW)

    @property
    def cwl_packets(self) -> int | None:
        return self.sender.shim.cwl_packets(FLOW)


def check(results: Results | None, folder: Path) -> Check:
    """The sender knows the truth after one round trip, after a re-route again, and survives routers without a probe."""
    del results, folder
    draw = random.Random(SEED)
    wrong: list[str] = []
    worst_us, limits = 0.0, []
    for number in range(CHAINS):
        routers, other = draw.randint(0, 14), draw.randint(0, 14)
        ends = Ends(_node(draw.randrange(20_000)), _node(draw.randrange(20_000)))
        for count in (routers, other):  # the second time over a path that it has never taken
            forward = [_node(draw.randrange(20_000)) for _ in range(count)]
            back = [_node(draw.randrange(20_000)) for _ in range(count)]
            error_us = _error_us(ends, forward, back)
            worst_us = max(worst_us, error_us)
            if error_us > STEP_US / 2 + 1:
                wrong.append(f"chain {number}, {count} routers: wrong by {error_us:.0f} us a hop")
            limits.append(ends.cwl_packets or 0)  # none at all is below 1, too
    floor = Ends(_node(0), _node(0))
    floor.round_trip([], [])
    if min(limits) < 1:
        wrong.append(f"CWL {min(limits)}, below the floor of 1")
    if floor.cwl_packets != 1:
        wrong.append(f"one hop: CWL {floor.cwl_packets}, not the floor of 1")
    wrong += _silent(draw)
    measured = (
        f"{CHAINS} chains of 1 to 15 hops, each re-routed once: after one round trip the sums and the maximum are the "
        f"routers' within {worst_us:.1f} us a hop ({STEP_US} us a step); CWL {min(limits)} or more, 1 on one hop; with "
        "a silent router the hop table"
    )
    row = RowVerdict("fail", "; ".join(wrong[:5])) if wrong else RowVerdict("pass", measured)
    return Check(not wrong, [f"B-12: {row.measured}: {row.verdict}"], rows={"B-12": row})


def _error_us(ends: Ends, forward: list[Node], back: list[Node]) -> float:
    """How far the sender is from the truth after one round trip, us a hop."""
    known = ends.round_trip(forward, back)
    if known is None:
        return float("inf")
    data_us = [node.hop_us(1500) for node in (ends.sender, *forward)]
    tcp_ack_us = [node.hop_us(40) for node in (ends.receiver, *back)]
    if (known.forward_hops, known.return_hops) != (len(data_us), len(tcp_ack_us)):
        return float("inf")
    return max(
        abs(known.forward_total_us - sum(data_us)) / len(data_us),
        abs(known.forward_max_us - max(data_us)),
        abs(known.return_total_us - sum(tcp_ack_us)) / len(tcp_ack_us),
    )


def _silent(draw: random.Random) -> list[str]:
    """A router without a path header: the delays are not fully known, and the limit is the hop table's or none."""
    ends = Ends(_node(1000), _node(1000))
    forward = [_node(draw.randrange(5000)) for _ in range(7)]
    back = [_node(draw.randrange(5000)) for _ in range(7)]
    ends.round_trip(forward, back)
    before = ends.cwl_packets
    forward[3].speaks = False
    ends.round_trip(forward, back)
    after = ends.cwl_packets
    table = core.hop_table_limit_packets(16)
    if before is None or after != table:
        return [f"a silent router on 8 hops: CWL {before} becomes {after}; the table's is {table}"]
    return []
