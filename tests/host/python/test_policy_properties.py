# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold of every policy, whatever it is told: Hypothesis drives the C++ objects through perhop.core.

`make test` takes few examples, `make test-long` (PERHOP_EXAMPLES) many; a failure prints the blob that repeats it.

It is one file: the properties share their strategies.
"""

import math
import os
from fractions import Fraction
from random import Random

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from perhop import core

PROFILE = settings(
    max_examples=int(os.environ.get("PERHOP_EXAMPLES", "60")),
    deadline=None,
    print_blob=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

U8, U16, U32, U64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
HOPS = st.integers(1, 60)
DELAY_US = st.integers(1, 1_000_000)


def paths():
    """Any path that headers can tell of, and some that they cannot."""
    return st.builds(
        core.PathMeasurement,
        forward_hops=U16,
        return_hops=U16,
        forward_total_us=U32,
        forward_max_us=U32,
        return_total_us=U32,
        wired_round_trip_us=U32,
    )


echoes = st.builds(core.PathEcho, total_delay_us=U32, max_delay_us=U32, hops=U8, rate_bps=U64)
headers = st.builds(
    core.PathHeader,
    wired_hop_seen=st.booleans(),
    silent_router_seen=st.booleans(),
    exact_follows=st.booleans(),
    hops=U8,
    total_delay_us=U32,
    max_delay_us=U32,
    explicit_rate_bps=U64,
    current_rate_bps=U64,
    packets_in_flight=U8,
    echo=st.none() | echoes,
)


# ---- Codec


@st.composite
def damaged_headers(draw):
    """A header with one byte changed: most of it is right."""
    data = bytearray(core.encode(draw(headers)))
    data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


@PROFILE
@given(st.binary(max_size=40) | damaged_headers())
@example(b"")
@example(core.encode(core.PathHeader(hops=2, total_delay_us=160, max_delay_us=320)))
@example(core.encode(core.PathHeader(hops=1, total_delay_us=320, max_delay_us=160)))
@example(core.encode(core.PathHeader(total_delay_us=16)))
def test_the_decoder_is_total_and_what_it_reads_comes_back(data):
    read = core.decode(data)
    if isinstance(read, core.DecodeError):
        return
    assert core.decode(core.encode(read)) == read
    assert read.max_delay_us <= read.total_delay_us <= read.hops * read.max_delay_us


@PROFILE
@given(st.lists(st.integers(0, core.MAX_DELAY_US), max_size=255), headers)
def test_a_header_that_hops_made_arrives_rounded(hops, header):
    rounded = [core.quantise_delay_us(delay) for delay in hops]
    made = header.replace(
        hops=len(hops),
        total_delay_us=min(sum(rounded), core.MAX_DELAY_US),
        max_delay_us=max(rounded, default=0),
        echo=None,
    )
    read = core.decode(core.encode(made))
    assert isinstance(read, core.PathHeader)
    assert (read.hops, read.total_delay_us, read.max_delay_us) == (made.hops, made.total_delay_us, made.max_delay_us)


@PROFILE
@given(U64, U64)
def test_rates_keep_their_order_and_eleven_bits(a, b):
    low, high = sorted((a, b))
    assert core.encode_rate(low) <= core.encode_rate(high)
    read = core.decode_rate(core.encode_rate(low))
    assert abs(read - low) <= low / 2048 or low > core.UNLIMITED_RATE_BPS


# ---- Congestion window limits


@PROFILE
@given(
    st.sampled_from(list(core.CwlKind)),
    st.sampled_from(list(core.CwlRounding)),
    st.integers(1, 2**32 - 1),
    st.lists(paths()),
)
def test_a_window_limit_is_from_1_to_the_ceiling(kind, rounding, ceiling, told):
    limit = core.CongestionWindowLimit(
        core.CwlConfig(kind=kind, rounding=rounding, ceiling_packets=ceiling, fixed_packets=ceiling)
    )
    for path in told:
        limit.on_path(path)
        if limit.limit_packets is not None:
            assert 1 <= limit.limit_packets <= ceiling


@PROFILE
@given(st.lists(DELAY_US, min_size=1, max_size=60), st.lists(DELAY_US, min_size=1, max_size=60))
def test_theorem_1_holds_for_corollary_2_before_reuse(forward, back):
    """B_min (sum S/b + sum S'/b') <= S N B_min/B'_min: no delay of the N hops is above d_max * (d'_max / d_max)."""
    bound = core.delay_bound_packets(
        core.PathMeasurement(forward_total_us=sum(forward), forward_max_us=max(forward), return_total_us=sum(back))
    )
    hops = len(forward) + len(back)
    assert 4 * bound <= hops * max(1, max(back) / max(forward)) * (1 + 1e-12)


@PROFILE
@given(
    st.lists(st.integers(1, 30_000), min_size=1, max_size=60),
    st.lists(st.integers(1, 30_000), min_size=1, max_size=60),
    st.integers(2, 60),
)
def test_corollary_2_does_not_depend_on_the_unit_of_time(forward, back, scale):
    def limit(factor):
        policy = core.CongestionWindowLimit(core.CwlConfig(kind=core.CwlKind.delay, ceiling_packets=10_000))
        policy.on_path(
            core.PathMeasurement(
                forward_total_us=factor * sum(forward),
                forward_max_us=factor * max(forward),
                return_total_us=factor * sum(back),
            )
        )
        return policy.limit_packets

    assert limit(1) == limit(scale)


@PROFILE
@given(st.integers(7, 10_000), st.integers(7, 10_000))
def test_the_hop_table_rises_from_its_dip_on(a, b):
    low, high = sorted((a, b))
    assert core.hop_table_limit_packets(low) <= core.hop_table_limit_packets(high)


# ---- Delay estimator


@PROFILE
@given(
    U16,
    U16,
    st.integers(256, 4096),
    st.lists(st.integers(1, 2000), min_size=3, max_size=3, unique=True),
    st.integers(0, 3),
)
def test_an_estimated_delay_is_linear_in_the_size(contention, overhead, attempts, sizes, rate):
    estimator = core.DelayEstimator()
    estimator.on_completion(
        core.NeighbourAverages(
            avg_contention_us16=contention, avg_overhead_us16=overhead, avg_data_attempts_256=attempts
        )
    )
    for size in sizes:
        exact = (contention + overhead) / 16 + attempts / 256 * core.airtime_us("dsss_long", rate, size)
        assert abs(estimator.delay_us(0, size, rate) - exact) <= 0.5


# ---- Delayed TCP ACKs


def deliver(policy, now, packet, arrived, in_flight, hops):
    """A data packet arrives and the local TCP answers it. Returns what becomes of the answer."""
    policy.on_data(
        now,
        core.DataArrival(sequence=1000 * packet, payload_bytes=1000, packets_in_flight=in_flight, forward_hops=hops),
    )
    arrived.add(packet)
    next_missing = 0
    while next_missing in arrived:
        next_missing += 1
    return policy.on_tcp_ack(now, core.TcpAckDeparture(tcp_ack=1000 * next_missing, window_bytes=65535)).action


@PROFILE
@given(st.integers(1, 12), st.integers(20, 120), st.integers(1, 20_000), st.integers(1, 15))
def test_dca_without_loss_sends_a_tcp_ack_for_w_packets(window, packets, gap_us, hops):
    """ceil(n / w) from where the time between packets is known on (D-01)."""
    policy = core.DelayedTcpAck(core.TcpAckConfig(kind=core.TcpAckKind.dca, fixed_window_packets=window))
    arrived, runs, waiting = set(), [], 0
    for packet in range(packets):
        waiting += 1
        if deliver(policy, packet * gap_us, packet, arrived, in_flight=window, hops=hops) == core.TcpAckAction.pass_:
            runs.append(waiting)
            waiting = 0
    steady = runs[2:]
    assert all(run == window for run in steady)
    assert waiting < window
    assert len(steady) == (packets - sum(runs[:2]) - waiting) // window


# Arguments of core.TcpAckConfig.
DCA = {"kind": core.TcpAckKind.dca}
DAA = {"kind": core.TcpAckKind.daa}
DAA_AS_IN_001 = {"kind": core.TcpAckKind.daa, "profile": core.DaaProfile.as_in_001}


@PROFILE
@given(
    st.sampled_from([DCA, DAA, DAA_AS_IN_001]),
    st.integers(1, 8),
    # Mostly the next packet; now and then one is left out, or an earlier one comes (again).
    st.lists(
        st.tuples(
            st.sampled_from([1] * 8 + [2, 3, 0, -1, -2]), st.integers(0, 400_000) | st.sampled_from([10_000, 200_000])
        ),
        max_size=60,
    ),
)
def test_no_tcp_ack_waits_for_longer_than_500_ms_or_at_a_gap(config, in_flight, arrivals):
    policy = core.DelayedTcpAck(core.TcpAckConfig(**config))
    arrived, now, held_since, highest = set(), 0, None, -1
    for step, wait_us in arrivals:
        packet = max(highest + step, 0) if arrived else 0
        now += wait_us
        while policy.deadline_us is not None and policy.deadline_us <= now:
            due = policy.deadline_us
            release = policy.on_deadline(max(due, 0) if held_since is None or due >= held_since else now).release
            if release == core.TcpAckRelease.send_held:
                assert held_since is not None and due <= held_since + 500_000
                held_since = None
        in_order = packet not in arrived and all(earlier in arrived for earlier in range(packet)) and packet > highest
        highest = max(highest, packet)
        action = deliver(policy, now, packet, arrived, in_flight, hops=5)
        if action == core.TcpAckAction.hold:
            assert in_order, "out of order, a gap filled or a duplicate goes at once"
            held_since = now if held_since is None else held_since
            assert policy.holds and policy.deadline_us <= held_since + 500_000
        else:
            held_since = None
        if config["kind"] == core.TcpAckKind.daa:
            assert (2 if config == DAA_AS_IN_001 else 1) <= policy.window_packets <= 4
            assert in_order or policy.window_packets == 2, "disorder takes the window back"
        else:
            assert policy.window_packets <= max(in_flight, 1), "never waits for more than is in flight"


@PROFILE
@given(st.sampled_from([(DAA, 2.5), (DAA_AS_IN_001, 1)]), st.integers(1_000, 100_000), st.integers(5, 40))
def test_daa_waits_for_its_inter_arrival_times_after_each_packet(profile, gap_us, packets):
    config, gaps = profile
    policy, arrived = core.DelayedTcpAck(core.TcpAckConfig(**config)), set()
    for packet in range(packets):
        now = packet * gap_us
        if deliver(policy, now, packet, arrived, in_flight=4, hops=5) == core.TcpAckAction.hold:
            assert abs(policy.deadline_us - (now + gaps * gap_us)) <= 1


@PROFILE
@given(st.lists(st.booleans(), max_size=80), st.integers(1_000, 100_000))
@example(late=[False] * 10 + [True], gap_us=1_000)  # full for a moment only, before the timer fires
def test_daa_window_is_that_of_its_growth_and_its_falls(late, gap_us):
    """By fractions: 1, then + 0.3 a packet until it has been 4 and + 1 from then on; 2 when the timer fires."""
    policy, arrived = core.DelayedTcpAck(core.TcpAckConfig(**DAA)), set()
    window, full, now = Fraction(1), False, 0
    for packet, pause in enumerate(late):
        now += gap_us if not pause else 600_000
        while policy.deadline_us is not None and policy.deadline_us <= now:
            assert policy.on_deadline(policy.deadline_us).release == core.TcpAckRelease.send_held
            window = Fraction(2)
        window = min(Fraction(4), window + (1 if full else Fraction(3, 10)))
        full = full or window == 4
        deliver(policy, now, packet, arrived, in_flight=4, hops=5)
        assert policy.window_packets == int(window)


# ---- Pacing


@PROFILE
@given(
    st.sampled_from([core.PacingKind.window, core.PacingKind.adaptive, core.PacingKind.path]),
    paths(),
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(0, 100_000), st.integers(1, 2_000_000)), min_size=1, max_size=40),
)
def test_full_packets_are_never_closer_than_the_interval(kind, path, window, steps):
    pacer = core.Pacer(core.PacingConfig(kind=kind))
    pacer.on_path(path)
    pacer.on_window(window)
    now, last, interval = 0, None, 0
    for wait_us, rtt_us in steps:
        now += wait_us
        release = pacer.release_time(now, 1460)
        assert release >= now
        if last is not None:
            assert release >= last + interval
        pacer.on_rtt(rtt_us)
        last, interval = release, 0
        assert pacer.interval_us <= 1_000_000
        # The interval in force when the packet took its time is the one that the next must keep.
        again = pacer.release_time(now, 1460)
        assert again >= release
        last, interval = again, 0 if pacer.interval_us == 0 else pacer.interval_us


# ---- EXACT

flow_lists = st.lists(
    st.builds(
        core.WaterFillingFlow,
        gain=st.floats(0.1, 10),
        floor_bps=st.just(0.0) | st.floats(0, 1e4),
        limit_bps=st.floats(1, 1e7),
    ),
    min_size=1,
    max_size=8,
)


@PROFILE
@given(flow_lists, st.data())
def test_water_filling_is_feasible_and_max_min(flows, data):
    costs = st.dictionaries(st.integers(0, len(flows) - 1), st.floats(1e-8, 1e-4), min_size=1)
    budgets = data.draw(st.lists(st.tuples(st.floats(0.05, 1), costs), min_size=1, max_size=5))
    shares = core.water_fill(flows, budgets)

    def used(budget):
        return sum(cost * shares[flow] for flow, cost in budget[1].items())

    for budget in budgets:
        assert used(budget) <= budget[0] * (1 + 1e-9)
    full = [budget for budget in budgets if used(budget) >= budget[0] * (1 - 1e-6)]
    floors_fit = all(
        sum(cost * min(flows[f].floor_bps, flows[f].limit_bps) for f, cost in b[1].items()) <= b[0] for b in budgets
    )
    assume(floors_fit)
    for place, flow in enumerate(flows):
        assert min(flow.floor_bps, flow.limit_bps) * (1 - 1e-9) <= shares[place] <= flow.limit_bps * (1 + 1e-9)
        if shares[place] >= flow.limit_bps * (1 - 1e-9):
            continue
        # Max-min: it pays into a full budget in which nobody who is above the floor has a higher level.
        level = shares[place] / flow.gain
        assert any(
            place in budget[1]
            and all(
                shares[other] / flows[other].gain <= level * (1 + 1e-6)
                or shares[other] <= flows[other].floor_bps * (1 + 1e-9)
                for other in budget[1]
            )
            for budget in full
        )


@PROFILE
@given(st.lists(st.tuples(st.integers(0, 300_000), st.booleans(), st.integers(0, 3_000_000)), max_size=80))
def test_the_safety_window_holds_whatever_feedback_is_lost(steps):
    sender, receiver = core.ExactSender(), core.ExactReceiver()
    now, allowed = 0, None
    for wait_us, lost, rate_bps in steps:
        now += wait_us
        while sender.deadline_us is not None and sender.deadline_us <= now:
            before = sender.deadline_us
            sender.on_deadline(now)
            if sender.deadline_us == before:
                break
        while (next_us := sender.next_send(now)) is not None and next_us <= now:
            window = sender.window_packets
            out = sender.on_send(now)
            assert sender.unacknowledged_packets <= window
            receiver.on_data(
                now, core.PathHeader(hops=3, total_delay_us=48, max_delay_us=16, explicit_rate_bps=rate_bps), out.header
            )
        report = receiver.take_report(now)
        if not lost and sender.on_report(now, report):
            allowed = report.explicit_rate_bps
        if allowed is not None:
            assert sender.rate_bps <= max(allowed, 8 * 1500)
        assert 8 * 1500 <= sender.rate_bps <= 2_000_000


@PROFILE
@given(U32, st.integers(50_000, 2_000_000), st.integers(5_000, 200_000))
def test_the_safety_window_holds_when_half_of_the_feedback_is_lost(seed, allowed_bps, round_trip_us):
    """Counted here, not by the sender: what was sent in the last second and no report that came has told of."""
    sender, receiver = core.ExactSender(), core.ExactReceiver()
    path = core.PathHeader(hops=3, total_delay_us=4800, max_delay_us=1600, explicit_rate_bps=allowed_bps)
    sent, reports, heard = {}, [], -1
    random = Random(seed)
    for now in range(0, 6_000_000, 5_000):
        while reports and reports[0][0] <= now:
            report = reports.pop(0)[1]
            if sender.on_report(now, report):
                heard = max(heard, report.highest_sequence)
        if sender.deadline_us is not None and sender.deadline_us <= now:
            sender.on_deadline(now)
        while (next_us := sender.next_send(now)) is not None and next_us <= now:
            window = sender.window_packets
            header = sender.on_send(now).header
            sent[header.sequence] = now
            under_way = sum(seq > heard and now - at < 1_000_000 for seq, at in sent.items())
            assert under_way <= window
            immediate = receiver.on_data(now, path, header)
            due = receiver.deadline_us is not None and receiver.deadline_us <= now
            if (immediate or due) and random.random() < 0.5:
                reports.append((now + round_trip_us, receiver.take_report(now)))
            elif immediate or due:
                receiver.take_report(now)
        if receiver.deadline_us is not None and receiver.deadline_us <= now:
            report = receiver.take_report(now)
            if random.random() < 0.5:
                reports.append((now + round_trip_us, report))
    assert len(sent) >= 6, "a packet a second in any case"


@PROFILE
@given(st.lists(st.tuples(st.integers(0, 4_000_000), st.integers(0, 10_000_000)), min_size=1, max_size=60))
def test_diid_falls_with_the_signal_and_rises_to_the_windows_minimum(signals):
    window_us = 5_000_000
    increase = core.DelayedIncrease(window_us=window_us)
    now, told, before = 0, [], None
    for wait_us, signal in signals:
        now += wait_us
        allowed = increase.on_signal(now, signal)
        assert allowed <= signal
        if told and now - told[0][0] >= window_us:
            # In force during the window: all that came in it, and the one before.
            inside = [rate for at, rate in told if at > now - window_us]
            earlier = [rate for at, rate in told if at <= now - window_us]
            before = max(before, min(inside + earlier[-1:]))
        assert allowed == (signal if before is None else min(signal, before))
        told.append((now, signal))
        before = allowed


@PROFILE
@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(10_000, 5_000_000), st.integers(0, 60_000)),
        min_size=1,
        max_size=80,
    ),
    st.sampled_from(list(core.ExactFairness)),
)
def test_a_router_gives_no_more_than_its_budget_and_only_lowers(packets, fairness):
    router = core.ExactRouter(config=core.ExactRouterConfig(mode=core.ExactMode.m1, fairness=fairness))
    now = 0
    for flow, peer, rate_bps, wait_us in packets:
        now += wait_us
        packet = core.ExactPacket(
            flow=flow,
            peer=peer,
            rate_index=1,
            ip_bytes=1500,
            mpdu_bytes=1554,
            explicit_rate_bps=rate_bps,
            current_rate_bps=rate_bps,
        )
        assert router.on_packet(now, packet) <= rate_bps
        if router.deadline_us is not None and router.deadline_us <= now:
            router.on_deadline(now)
        assert router.load <= 0.9 * (1 + 1e-9)


# ---- TFRC


@PROFILE
@given(
    st.sampled_from(list(core.TfrcProfile)),
    st.floats(1e-6, 1),
    st.floats(1e-6, 1),
    st.floats(1e-3, 10),
    st.floats(1e-3, 10),
)
def test_the_equation_falls_with_loss_and_round_trip(profile, p1, p2, r1, r2):
    def rate(p, r):
        return core.tfrc_rate(core.TfrcEquationInput(loss_event_rate=p, round_trip_s=r), profile)

    assert rate(max(p1, p2), r1) <= rate(min(p1, p2), r1)
    assert rate(p1, max(r1, r2)) <= rate(p1, min(r1, r2))


@PROFILE
@given(st.integers(1, 40), st.lists(st.integers(1, 10_000), min_size=1, max_size=60))
def test_the_mean_interval_lies_between_the_intervals(length, intervals):
    history = core.TfrcLossIntervals(length)
    assert math.isclose(sum(history.weight(age) for age in range(length)), 1)
    history.on_loss_event()
    for packets in intervals:
        history.on_packets(packets)
        history.on_loss_event()
    recent = intervals[-length:]
    if history.mean_packets > 0:
        assert min(recent) - 1 <= history.mean_packets <= max(recent) + 1


# ---- The shim


@PROFILE
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 700_000), headers, U32, st.integers(0, 3)), max_size=60),
    st.integers(1, 44),
)
def test_the_shim_never_raises_or_closes_a_window_and_its_headers_arrive(steps, ceiling):
    policy = core.FlowPolicy(
        cwl=core.CwlConfig(ceiling_packets=ceiling), tcp_ack=core.TcpAckConfig(kind=core.TcpAckKind.dca)
    )
    shim = core.Shim(policy=policy, max_flows=2)
    now = 0
    for operation, wait_us, lie, number, port in steps:
        now += wait_us
        flow = core.FlowKey(source="10.0.0.1", destination="10.0.0.2", source_port=port)
        tcp = core.TcpView(has_tcp_ack=True, window_bytes=number, tcp_ack=number, payload_bytes=1460 * (number % 2))
        hop = core.NextHop(peer=number % 20, rate_index=number % 4, mpdu_bytes=number % 2000)
        arrived = shim.parse(core.encode(lie))
        if operation == 0:
            made = shim.on_originate(now, core.IpPacketView(flow=flow, tcp=tcp), hop, number)
            assert core.decode(core.encode(made)) == made
        elif operation == 1 and arrived is not None:
            made = shim.on_forward(now, arrived, core.IpPacketView(flow=flow, tcp=tcp), hop)
            assert core.decode(core.encode(made)) == made and made.total_delay_us >= arrived.total_delay_us
        elif operation == 2:
            verdict = shim.on_receive(now, arrived, core.IpPacketView(flow=flow.reversed(), tcp=tcp, ttl=number % 256))
            assert verdict.window_bytes is None or 1 <= verdict.window_bytes < number
            assert (shim.cwl_packets(flow) or 1) in range(1, ceiling + 1)
        elif operation == 3:
            shim.on_completion(
                now, core.NeighbourAverages(peer=number % 20, avg_contention_us16=number, avg_data_attempts_256=number)
            )
        elif operation == 4:
            shim.on_tcp_ack(now, core.IpPacketView(flow=flow, tcp=tcp))
        else:
            assert shim.release_time(now, core.IpPacketView(flow=flow, tcp=tcp)) >= now
        shim.expire(now)
        assert shim.next_deadline is None or shim.next_deadline > now
        assert shim.flows <= 2


@pytest.mark.long
def test_all_of_this_for_many_examples():
    """The same properties, 50 times as long."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-m", "not long"]
    ran = subprocess.run(command, env={**os.environ, "PERHOP_EXAMPLES": "3000"}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-8000:]
