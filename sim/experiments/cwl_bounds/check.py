# SPDX-License-Identifier: GPL-2.0-or-later
"""What paper 000 states in formulas: rows B-02, B-04, B-09, B-11, B-16 and B-24. The limits are those of host/core."""

from __future__ import annotations

import math
import random
from pathlib import Path

from perhop import core
from perhop.report.figures import COLOURS, drawing
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from pipeline import run

# Table 1: up to this many round-trip hops, this limit (packets).
TABLE_1 = ((4, 2), (8, 1), (12, 2), (20, 3), (26, 4), (30, 5))
K = 1 / 5
# Round-trip hops at which the table lies above N/5: two packets where theory says 0.4 and 0.8, and 3 where it says 2.8.
ABOVE_K = (2, 4, 14)

RANDOM_PATHS = 200
SEED = 1
PIPELINE_TOLERANCE = 0.01
MORE_PACKETS = 5
# 1500 bytes of data and a TCP ACK of 40 bytes over one hop at 2 Mb/s with RTS/CTS.
IDLE_DELAYS_US = (7678, 1838)
ORDER_EVIDENCE = (
    "The order of Remark 5 is no theorem. With equal hops Corollary 2 is n (1 + r) / 4 = N (1 + r) / 8, r being "
    "the delay of a TCP ACK over that of data, so it lies below k N only where r < 8 k - 1, which is 0.6 at the "
    "paper's k = 1/5. Chains of one data rate keep to it, and there the two limits are as the paper draws them "
    "(rows B-13 to B-15). A path whose TCP ACKs wait as long as its data, or that comes back over slower links, "
    "does not; Theorem 1 itself assumes that the slowest links forward and back are alike."
)


def check(results: Results | None, folder: Path) -> Check:
    """Each formula against values worked out by hand, or against a second way to them."""
    del results
    rows = {
        "B-02": _wire(),
        "B-04": _loose_bound(),
        "B-09": _fifth(),
        "B-11": _delay_bound(),
        "B-16": _hop_count(),
        "B-24": _order(),
    }
    figure = folder / "B-09_table_and_bounds.svg"
    _draw(figure)
    lines = [f"{row}: {verdict.measured}: {verdict.verdict}" for row, verdict in rows.items()]
    return Check(all(row.verdict != "fail" for row in rows.values()), lines, {}, [figure], rows)


def _verdict(wrong: list[str], measured: str) -> RowVerdict:
    return RowVerdict("fail", "; ".join(wrong)) if wrong else RowVerdict("pass", measured)


def _wire() -> RowVerdict:
    """The wire of the paper, also by the core: propagation over the slowest delay is packets in flight (A-12)."""
    bits = 1_544_000 * 0.1
    wrong = [] if bits == 154_400 and bits / 8 == 19_300 else [f"{bits} bits"]
    # As many packets of 1000 bytes as such a wire holds: each takes 8000 / 1,544,000 s = 5181 us of it.
    path = core.PathMeasurement(forward_max_us=5181, wired_round_trip_us=100_000)
    packets = core.delay_bound_packets(path)
    if packets is None or abs(packets - 19.3) > 0.01:
        wrong.append(f"the core counts {packets} packets of 1000 bytes on the wire")
    return _verdict(
        wrong, "1,544,000 b/s x 0.1 s = 154,400 bits = 19,300 bytes; the core counts 19.3 packets of 1000 bytes"
    )


def _loose_bound() -> RowVerdict:
    """Theorem 1, over random bandwidths, and in a discrete pipeline without interference."""
    draw = random.Random(SEED)
    wrong, worst_gain, worst_backlog = [], 0.0, 0.0
    for number in range(RANDOM_PATHS):
        forward, back = draw.randint(1, 15), draw.randint(1, 15)
        packet_bits, tcp_ack_bits = 12_000, draw.randint(320, 12_000)
        # The theorem takes the slowest link to be about as fast in both directions: the bound holds as their ratio.
        slowest_bps = draw.uniform(1e5, 1e6)
        slowest_back_bps = slowest_bps * draw.uniform(0.5, 1)
        forward_bps = [slowest_bps, *(slowest_bps * draw.uniform(1, 10) for _ in range(forward - 1))]
        back_bps = [slowest_back_bps, *(slowest_back_bps * draw.uniform(1, 10) for _ in range(back - 1))]
        delays_s = [packet_bits / bps for bps in forward_bps] + [tcp_ack_bits / bps for bps in back_bps]
        hops = forward + back
        in_flight_bits = slowest_bps * sum(delays_s)
        bound_bits = packet_bits * hops * slowest_bps / slowest_back_bps
        if in_flight_bits > bound_bits * (1 + 1e-9):
            wrong.append(f"path {number}: {in_flight_bits:.0f} bits in flight at most, bound {bound_bits:.0f}")
        if number % 10 == 0:  # the pipeline costs more than the sum
            at_bound, above = (run(delays_s, window, 4000) for window in (hops, hops + MORE_PACKETS))
            worst_gain = max(worst_gain, abs(above.packets_per_s / at_bound.packets_per_s - 1))
            backlog = above.waiting_packets - at_bound.waiting_packets
            worst_backlog = max(worst_backlog, abs(backlog - MORE_PACKETS))
    if worst_gain > PIPELINE_TOLERANCE:
        wrong.append(f"pipeline: {MORE_PACKETS} packets above N change throughput by {worst_gain:.1%}")
    if worst_backlog > 0.05 * MORE_PACKETS:
        wrong.append(f"pipeline: backlog grows by {MORE_PACKETS} packets only within {worst_backlog:.2f}")
    return _verdict(
        wrong,
        f"{RANDOM_PATHS} random paths within N S times the ratio of the slowest links forward and back; pipelines: "
        f"{MORE_PACKETS} packets above N change throughput by at most {worst_gain:.2%}, and the backlog by "
        f"{MORE_PACKETS} within {worst_backlog:.2f}",
    )


def _table(hops: int) -> int:
    return next(limit for most, limit in TABLE_1 if hops <= most)


def _fifth() -> RowVerdict:
    wrong = [
        f"the core's table says {core.hop_table_limit_packets(n)} at N = {n}, the paper's {_table(n)}"
        for n in range(1, 31)
        if core.hop_table_limit_packets(n) != _table(n)
    ]
    above = tuple(n for n in range(2, 31, 2) if core.hop_table_limit_packets(n) > K * n + 1e-9)
    if above != ABOVE_K:
        wrong.append(f"above N/5 at N = {above}, not {ABOVE_K}")
    return _verdict(wrong, f"table(N) <= N/5 at every even N up to 30 but {', '.join(map(str, above))}")


def _delay_bound() -> RowVerdict:
    """Vectors: equal hops, TCP ACKs that take a share r, one slow hop forward, one slow hop back."""
    wrong = []

    def expect(name: str, path: core.PathMeasurement, packets: float) -> None:
        found = core.delay_bound_packets(path)
        if found is None or abs(found - packets) > 1e-6:
            wrong.append(f"{name}: {found}, not {packets:.3f}")

    for n in range(1, 16):
        equal = core.PathMeasurement(forward_total_us=n * 8000, forward_max_us=8000, return_total_us=n * 8000)
        expect(f"d' = d, {n} hops", equal, 2 * n / 4)
        quarter = core.PathMeasurement(forward_total_us=n * 8000, forward_max_us=8000, return_total_us=n * 2000)
        expect(f"d' = d / 4, {n} hops", quarter, n * 1.25 / 4)
    base = core.PathMeasurement(forward_total_us=80_000, forward_max_us=8000, return_total_us=20_000)
    slow = core.PathMeasurement(forward_total_us=96_000, forward_max_us=24_000, return_total_us=20_000)
    back = core.PathMeasurement(forward_total_us=80_000, forward_max_us=8000, return_total_us=36_000)
    expect("one forward hop three times as slow", slow, 116 / 96)
    expect("a slow hop back", back, 116 / 32)
    values = [core.delay_bound_packets(path) for path in (slow, base, back)]
    if not values[0] < values[1] < values[2]:
        wrong.append(f"slow forward, base, slow back: {values}")
    return _verdict(
        wrong,
        "d' = d: N/4; d' = r d: n (1 + r)/4; ten hops, one three times as slow: "
        f"{values[1]:.2f} becomes {values[0]:.2f} forward and {values[2]:.2f} back",
    )


def _hop_count() -> RowVerdict:
    """N is the sum of two counters, each raised by the hops of its own direction; the limit uses N, odd or even."""
    wrong = []
    for forward in range(1, 16):
        for back in range(1, 16):
            path = core.PathMeasurement(forward_hops=forward, return_hops=back)
            limit = core.CongestionWindowLimit(core.CwlConfig(kind=core.CwlKind.hop))
            limit.on_path(path)
            if limit.limit_packets != _table(forward + back):
                wrong.append(f"{forward} + {back} hops: {limit.limit_packets}")
            if (counted := _count_over_shims(forward, back)) != (forward, back):
                wrong.append(f"{forward} + {back} hops: counted {counted}")
    return _verdict(
        wrong, "15 x 15 pairs of forward and return paths: N counted by the routers, odd N included; limit by N"
    )


def _order() -> RowVerdict:
    """Remark 5: N > N/5 > Corollary 2. The second is no theorem (A-03): where does it hold?"""
    data_us, tcp_ack_us = IDLE_DELAYS_US
    wrong, fails_at = [], {}
    for n in range(1, 16):
        above: dict[int, float] = {}
        for back_us in (tcp_ack_us, *(round(ratio * data_us) for ratio in (0.55, 0.65, 1.0))):
            path = core.PathMeasurement(
                forward_total_us=n * data_us, forward_max_us=data_us, return_total_us=n * back_us
            )
            above[back_us] = core.delay_bound_packets(path) or 0.0
        if not all(value < 2 * n for value in above.values()) or not K * 2 * n < 2 * n:
            wrong.append(f"{n} hops: Theorem 1 is not the largest")
        # K N > n (1 + r) / 4 with N = 2 n where r < 8 K - 1.
        for back_us, packets in above.items():
            if (packets < K * 2 * n) != (back_us / data_us < 8 * K - 1):
                wrong.append(
                    f"{n} hops, d'/d = {back_us / data_us:.2f}: Corollary 2 is {packets:.2f}, N/5 {K * 2 * n:.2f}"
                )
        fails_at[n] = above[data_us]
    slow_back = core.PathMeasurement(forward_total_us=data_us, forward_max_us=data_us, return_total_us=8 * data_us)
    if (beyond := core.delay_bound_packets(slow_back) or 0.0) <= 2:
        wrong.append(f"one hop, a return hop eight times as slow: Corollary 2 is {beyond:.2f}, not above Theorem 1's 2")
    if wrong:
        return RowVerdict("fail", "; ".join(wrong))
    return RowVerdict(
        "finding",
        f"with the delays of an idle chain at 2 Mb/s (d' / d = {tcp_ack_us / data_us:.2f}) N > N/5 > Corollary 2 at 1 "
        f"to 15 hops; with TCP ACKs as slow as data Corollary 2 is {fails_at[15]:.2f} at N = 30, above N/5 = "
        f"{K * 30:.0f}; with one return hop eight times as slow it is {beyond:.2f} at N = 2, above N",
        evidence=ORDER_EVIDENCE,
    )


def _count_over_shims(forward: int, back: int) -> tuple[int, int]:
    """The hops that the sender's shim knows after a round trip over routers of its own for each direction."""
    flow = core.FlowKey(source="10.0.0.1", destination="10.0.0.2", source_port=40000, destination_port=5001)
    policy = core.FlowPolicy(cwl=core.CwlConfig(kind=core.CwlKind.hop))
    sender, receiver = (core.Shim(profile="dsss_long", policy=policy) for _ in range(2))

    def cross(now_us: int, start: core.Shim, end: core.Shim, hops: int, view: core.IpPacketView) -> None:
        hop = core.NextHop(peer=0, rate_index=1, mpdu_bytes=36 + core.PATH_HEADER_BYTES + view.ip_bytes)
        header = start.on_originate(now_us, view, hop, packets_in_flight=1)
        for _ in range(hops - 1):
            header = core.Shim(profile="dsss_long").on_forward(now_us, header, view, hop)
        end.on_receive(now_us, header, view)

    data = core.TcpView(has_tcp_ack=True, payload_bytes=1460, window_bytes=65535, segment_bytes=1460)
    tcp_ack = core.TcpView(has_tcp_ack=True, tcp_ack=1460, window_bytes=65535, segment_bytes=1460)
    cross(1, sender, receiver, forward, core.IpPacketView(flow=flow, ip_bytes=1500, ttl=64, tcp=data))
    cross(2, receiver, sender, back, core.IpPacketView(flow=flow.reversed(), ip_bytes=40, ttl=64, tcp=tcp_ack))
    path = sender.last_path(flow)
    return (path.forward_hops, path.return_hops) if path else (0, 0)


def _draw(file: Path) -> None:
    hops = list(range(2, 31, 2))
    with drawing(file) as (_, [axis]):
        for index, (k, name) in enumerate(((1 / 4, "N/4"), (K, "N/5"), (1 / 8, "N/8"))):
            axis.plot(hops, [k * n for n in hops], "--", color=COLOURS[index], label=name)
        axis.step(hops, [core.hop_table_limit_packets(n) for n in hops], where="mid", color="#000000", label="Table 1")
        ratio = 1838 / 7678  # of the delays of TCP ACK and data at 2 Mb/s with RTS/CTS
        axis.plot(
            hops, [math.ceil(n / 2) * (1 + ratio) / 4 for n in hops], color=COLOURS[3], label="Corollary 2, idle chain"
        )
        axis.set_title("Fig. 6: Table 1 between its bounds", loc="left")
        axis.set_xlabel("round-trip hops N")
        axis.set_ylabel("packets")
        axis.legend()
