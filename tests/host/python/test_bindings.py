# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop.core: the tutorial runs, stubs tell what there is, and a wrong value ends in an exception that names it."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from perhop import core

ROOT = Path(__file__).resolve().parents[3]
STUB = Path(core.__file__).with_name("core.pyi")


def test_the_tutorial_runs(capsys):
    text = (ROOT / "host/bindings/README.md").read_text()
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), {})
    said = capsys.readouterr().out
    assert "data: 3 hops, 25936 us in all, slowest 10416 us" in said
    assert "limit: 1 packets, window 1460 of 65535 bytes" in said
    assert "Corollary 2: 4.65, limit 5" in said
    assert "CwlConfig.ceiling_packets = 0: give a whole number from 1" in said


def test_the_stub_has_every_name_with_a_type():
    declared = {
        node.name for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    public = {name for name, value in vars(core).items() if not name.startswith("_") and not isinstance(value, int)}
    assert public and public <= declared
    for node in ast.walk(ast.parse(STUB.read_text())):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            assert node.returns is not None, node.name


def test_every_class_says_what_it_is():
    classes = [value for value in vars(core).values() if inspect.isclass(value)]
    assert len(classes) > 40
    assert not [cls.__name__ for cls in classes if not (cls.__doc__ or "").strip()]


@pytest.mark.parametrize(
    "call, error, said",
    [
        (lambda: core.PathHeader(hops=256), ValueError, "PathHeader.hops = 256: give a whole number from 0 to 255"),
        (lambda: core.PathHeader(hops=-1), ValueError, "PathHeader.hops = -1"),
        (lambda: core.PathHeader(hops=1.0), TypeError, "PathHeader.hops = 1.0: give a whole number"),
        (lambda: core.PathHeader(hops=True), TypeError, "PathHeader.hops = True"),
        (lambda: core.PathHeader(hop=1), TypeError, "PathHeader has no field 'hop'; it has: wired_hop_seen"),
        (lambda: core.PathHeader(explicit_rate_bps=2**64), ValueError, "PathHeader.explicit_rate_bps"),
        (lambda: core.PathHeader(echo=7), TypeError, "PathHeader.echo = 7: give a PathEcho"),
        (lambda: core.PathHeader().replace(hops="3"), TypeError, "PathHeader.hops = '3'"),
        (lambda: core.CwlConfig(kind="hop"), TypeError, "give one of CwlKind.none CwlKind.fixed CwlKind.hop"),
        (lambda: core.CwlConfig(ceiling_packets=0), ValueError, "CwlConfig.ceiling_packets = 0"),
        (lambda: core.FlowKey(source="10.0.0"), ValueError, "FlowKey.source = '10.0.0': give an IP address"),
        (lambda: core.Shim(profile="wimax"), ValueError, "profile = 'wimax': give one of dsss_long"),
        (lambda: core.Shim(max_flows=0), ValueError, "max_flows = 0: give a whole number from 1"),
        (lambda: core.DelayEstimator().delay_us(0, 1500, 4), ValueError, "profile dsss_long has rates 0 to 3"),
        (lambda: core.Shim().hop_delay_us(core.NextHop(rate_index=200)), ValueError, "NextHop.rate_index = 200"),
        (lambda: core.airtime_us("dsss_long", 9, 100), ValueError, "rate_index = 9"),
        (lambda: core.hop_table_limit_packets(0), ValueError, "round_trip_hops = 0"),
        (lambda: core.WaterFillingFlow(gain=0), ValueError, "WaterFillingFlow.gain = 0"),
        (lambda: core.water_fill([], [(1, {0: 1.0})]), ValueError, "flow = 0: there are 0 flows"),
        (lambda: core.water_fill([core.WaterFillingFlow()], [(-1, {0: 1.0})]), ValueError, "budget = -1"),
        (lambda: core.TfrcEquationInput(loss_event_rate=float("nan")), ValueError, "TfrcEquationInput.loss_event_rate"),
        (lambda: core.TfrcLossIntervals().weight(8), ValueError, "age = 8: there are 8 intervals, from 0"),
        (lambda: core.DelayedIncrease(max_signals=0), ValueError, "max_signals = 0"),
        (lambda: core.ExactPacket(weight=0), ValueError, "ExactPacket.weight = 0"),
    ],
)
def test_a_wrong_value_is_refused_by_name(call, error, said):
    with pytest.raises(error, match=re.escape(said)):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda now: core.Shim().on_originate(now, core.IpPacketView(), core.NextHop(), 0),
        lambda now: core.Pacer().release_time(now, 100),
    ],
)
@pytest.mark.parametrize("now", ["now", None, -1, 2**64, 1.5])
def test_a_time_is_a_whole_number(call, now):
    with pytest.raises((TypeError, ValueError), match="now_us"):
        call(now)


def test_time_never_goes_back():
    shim = core.Shim()
    shim.expire(100)
    with pytest.raises(ValueError, match="now_us = 99: time never goes back, and the last call was at 100 us"):
        shim.expire(99)


def test_an_exact_sender_does_not_send_before_it_may():
    sender = core.ExactSender()
    sender.on_send(0)
    sender.on_send(0)
    with pytest.raises(ValueError, match="no packet before a report"):
        sender.on_send(0)


def test_values_compare_and_do_not_change():
    header = core.PathHeader(hops=3, echo=core.PathEcho(hops=2))
    assert header == core.PathHeader(hops=3, echo=core.PathEcho(hops=2)) and hash(header) == hash(header.replace())
    assert header != header.replace(hops=4) and header != 3
    assert repr(header.echo) == "PathEcho(total_delay_us=0, max_delay_us=0, hops=2, rate_bps=4395899027456)"
    with pytest.raises(AttributeError):
        header.hops = 4


def test_addresses_are_texts_of_both_families():
    key = core.FlowKey(source="10.0.0.1", destination="fd00::2")
    assert key.reversed() == core.FlowKey(source="fd00::2", destination="10.0.0.1")


def offer(router, now_us, flow, current_rate_bps):
    """A packet of a flow to neighbour slot 0. Returns what the router allows."""
    packet = core.ExactPacket(
        flow=flow,
        peer=0,
        rate_index=1,
        ip_bytes=1500,
        mpdu_bytes=1554,
        explicit_rate_bps=5_000_000,
        current_rate_bps=current_rate_bps,
    )
    return router.on_packet(now_us, packet)


def test_two_m2_routers_share_one_medium_through_their_hellos():
    routers = {}
    used = {1: 100_000, 2: 100_000}  # each flow takes what it is allowed
    for node, other in ((1, 2), (2, 1)):
        config = core.ExactRouterConfig(neighbourhood=core.ExactNeighbourhoodConfig(node=node))
        routers[node] = core.ExactRouter(config=config)
        routers[node].set_peer_node(0, other)

    def drive(until_us, deliver):
        for now in range(drive.now, until_us, 10_000):
            for node, router in routers.items():
                used[node] = offer(router, now, node, used[node])
                if router.deadline_us <= now:
                    router.on_deadline(now)
                hello = router.take_hello(now)
                if hello is not None and deliver:
                    assert routers[3 - node].on_hello(now, hello)
        drive.now = until_us
        return [router.allocation_bps(node) for node, router in routers.items()]

    drive.now = 0
    alone = drive(2_000_000, deliver=False)
    assert [router.known_nodes for router in routers.values()] == [0, 0]
    together = drive(5_000_000, deliver=True)
    assert [router.known_nodes for router in routers.values()] == [1, 1]
    assert [router.links for router in routers.values()] == [2, 2]
    assert together == pytest.approx([rate / 2 for rate in alone], rel=0.02), "each knows of the other's flow"
    again = drive(5_000_000 + core.ExactNeighbourhoodConfig().forget_us + 1_000_000, deliver=False)
    assert again == pytest.approx(alone, rel=0.02), "silence is forgotten"
    assert not routers[1].on_hello(drive.now, b"\x10\x01 not a hello")


def test_an_exact_weight_told_to_the_shim_shifts_the_share():
    heavy, light = (
        core.FlowKey(source="10.0.0.1", destination="10.0.0.2", source_port=port, destination_port=9, protocol=17)
        for port in (1, 2)
    )
    node = core.Shim(exact=core.ExactRouterConfig(mode=core.ExactMode.m1))
    node.set_exact_weight(heavy, 3)
    allowed = {}
    for now in range(0, 3_000_000, 10_000):
        for flow in (heavy, light):
            packet = core.IpPacketView(
                flow=flow, ip_bytes=1500, exact=core.ExactView(wanted_rate_bps=5_000_000, current_rate_bps=5_000_000)
            )
            hop = core.NextHop(peer=0, rate_index=1, mpdu_bytes=1554)
            allowed[flow] = node.on_originate(now, packet, hop, 0).explicit_rate_bps
        node.expire(now)
    assert allowed[heavy] == pytest.approx(3 * allowed[light], rel=0.01)
    with pytest.raises(ValueError, match="weight = 0"):
        node.set_exact_weight(heavy, 0)


MEMORY_PROGRAM = """
from perhop import core

def resident_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

hop = core.NextHop(peer=0, rate_index=1, mpdu_bytes=1094)
tcp = core.TcpView(has_tcp_ack=True, window_bytes=65535, payload_bytes=1000)
exact = core.ExactView(wanted_rate_bps=10**6, current_rate_bps=10**6)
before = resident_kib()
node = core.Shim(max_flows=10_000, exact=core.ExactRouterConfig(max_flows=1000))
def visit(first, last):
    for i in range(first, last):
        flow = core.FlowKey(
            source=f"10.1.{i >> 16}.{i >> 8 & 255}", destination="10.0.0.2", source_port=i & 255, destination_port=9
        )
        packet = core.IpPacketView(flow=flow, ip_bytes=1040, tcp=tcp, exact=exact)
        node.on_originate(20 * i, packet, hop, 1)
        if i % 64 == 0:
            node.expire(20 * i)
visit(0, 20_000)
full = resident_kib()
visit(20_000, 100_000)
print(full - before, resident_kib() - full, node.flows, node.counters.flows_evicted)
"""


def test_the_memory_of_a_node_with_100000_flows_is_bounded():
    ran = subprocess.run([sys.executable, "-c", MEMORY_PROGRAM], capture_output=True, text=True, check=True)
    table_kib, growth_kib, flows, evicted = map(int, ran.stdout.split())
    assert (flows, evicted) == (10_000, 90_000)
    assert table_kib < 10_000, "1 KiB a connection at most"
    assert growth_kib < 512, "what is full does not grow"
