# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop.core: the tutorial runs, stubs tell what there is, and a wrong value ends in an exception that names it."""

import ast
import inspect
import re
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
