# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of the rules and timers of DCA and DAA (paper 001), on made-up results and on broken objects."""

from collections.abc import Callable
from pathlib import Path

import pytest
from perhop import core
from perhop.study.check import RowVerdict, load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def verdicts(folder: str, results: Results | None, tmp_path: Path) -> dict[str, RowVerdict]:
    return load_check(EXPERIMENTS / folder / "check.py")(results, tmp_path).rows


def label(window: int) -> str:
    return "no limit" if window == 1 else f"dca {window} no resend"


def test_the_rules_of_dca_hold(tmp_path):
    rows = verdicts("dca_rules", None, tmp_path)
    expected = dict.fromkeys(("D-01", "D-02", "D-03", "D-21"), "pass") | {"D-05": "finding"}
    assert {name: row.verdict for name, row in rows.items()} == expected


@pytest.mark.parametrize(("first", "row"), [(13, "D-02"), (2, "D-01")])
def test_a_receiver_that_holds_a_tcp_ack_too_many_fails(first, row, tmp_path, monkeypatch):
    """It never tells of the packet that fills the last gap (D-02), or of the first window (D-01)."""
    right = core.DelayedTcpAck

    class Lazy:
        def __init__(self, config):
            self.inner = right(config)
            self.on_data, self.on_deadline = self.inner.on_data, self.inner.on_deadline
            self.lazy = True

        @property
        def deadline_us(self):
            return self.inner.deadline_us

        def on_tcp_ack(self, now_us, departure):
            verdict = self.inner.on_tcp_ack(now_us, departure)
            if self.lazy and verdict.action == core.TcpAckAction.pass_ and departure.tcp_ack >= first * 1000:
                self.lazy = False
                return Hold
            return verdict

    class Hold:
        action, reason = core.TcpAckAction.hold, core.TcpAckReason.window

    monkeypatch.setattr(core, "DelayedTcpAck", Lazy)
    assert verdicts("dca_rules", None, tmp_path)[row].verdict == "fail"


def test_a_receiver_that_is_not_told_what_is_in_flight_fails(tmp_path, monkeypatch):
    right = core.Shim

    class Deaf:
        def __init__(self, **config):
            self.inner = right(**config)
            self.on_originate, self.on_tcp_ack = self.inner.on_originate, self.inner.on_tcp_ack

        def on_receive(self, now_us, header, view):
            return self.inner.on_receive(now_us, None, view)

    monkeypatch.setattr(core, "Shim", Deaf)
    found = verdicts("dca_rules", None, tmp_path)["D-05"]
    assert found.verdict == "fail" and "tells 2 and 4: 5 and 5 by the path header" in found.measured


def test_an_option_that_spoils_the_segment_or_a_window_field_taken_unasked_fails(tmp_path, monkeypatch):
    right_option, right_shim = core.with_window_option, core.Shim
    monkeypatch.setattr(core, "with_window_option", lambda *of: (got := right_option(*of)) and got[:-1] + b"x")
    assert verdicts("dca_rules", None, tmp_path)["D-05"].verdict == "fail"
    monkeypatch.setattr(core, "with_window_option", right_option)
    assert verdicts("dca_rules", None, tmp_path)["D-05"].verdict == "finding"
    monkeypatch.setattr(core, "Shim", lambda **config: right_shim(**{**config, "window_field_tells": True}))
    assert verdicts("dca_rules", None, tmp_path)["D-05"].verdict == "fail"


def test_a_receiver_that_does_not_thin_for_an_unmodified_peer_fails(tmp_path, monkeypatch):
    policy = core.FlowPolicy
    monkeypatch.setattr(core, "FlowPolicy", lambda tcp_ack: policy())
    assert verdicts("dca_rules", None, tmp_path)["D-05"].verdict == "fail"


def growth(
    packets_a_tcp_ack: float = 1.0,
    by_bytes: Callable[[int], float] = float,
    lost: float = 0.0,
    bytes_start_at: float = 0.0,
) -> Results:
    """Windows that grow evenly, 100 packets/s, in intervals of 0.1 s; in the first there is no connection yet."""
    flows, intervals = [], []
    for variant in ("newreno", "linuxreno"):
        for window in (1, 2, 4):
            each = packets_a_tcp_ack if variant == "newreno" else by_bytes(window)
            run = {"run": f"{variant} w{window}", "policy": label(window), "sweep.flows.0.variant": variant}
            flows.append({**run, "retransmissions": lost, "delivered_packets": 290.0})
            for index in range(30):
                grown = each * (index + 0.5) * 0.1 * 100 / window + bytes_start_at * (variant == "linuxreno")
                times = {"t_start_s": index * 0.1, "t_end_s": (index + 1) * 0.1}
                intervals.append({**run, **times, "cwnd_packets": grown if index else None})
    return Results(flows, [], intervals)


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (growth(), "pass"),
        (growth(packets_a_tcp_ack=0.9), "fail"),
        (growth(packets_a_tcp_ack=1.1), "fail"),
        (growth(by_bytes=lambda window: 1.0), "fail"),
        (growth(by_bytes=lambda window: 0.9 * window), "fail"),
        (growth(bytes_start_at=-250.0), "fail"),
        (growth(lost=1.0), "fail"),
    ],
    ids=["as stated", "slower", "faster", "both alike", "not by bytes", "no smaller than by bytes", "with losses"],
)
def test_growth_is_judged_from_the_first_window_on_and_against_byte_counting(results, verdict, tmp_path):
    assert verdicts("dca_growth", results, tmp_path)["D-06"].verdict == verdict


def timer(
    share: Callable[[int, int], float], kbps: Callable[[int], float] = lambda h: 1360 / h, lost: int = 0
) -> Results:
    """Three seeds of every length and window; over h hops a packet takes 5.9 h ms."""
    flows = [
        {
            "hops": hops,
            "sweep.flows.0.max_window_packets": window,
            "seed": seed,
            "goodput_bps": 1e3 * kbps(hops),
            "cwnd_packets": float(window),
            "tcp_acks_sent": 1000.0,
            "tcp_acks_timer_share": share(hops, window),
            "mac_drops_data_packets": 0.0,
            "queue_drops_data_packets": float(lost),
            "retransmissions": float(lost),
        }
        for hops in (1, 2, 3)
        for window in (4, 8, 16, 32, 44)
        for seed in (1, 2, 3)
    ]
    return Results(flows, [], [])


def beyond_500_ms(hops: int, window: int) -> bool:
    return hops * window * 5.9 > 500


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (timer(lambda h, w: 0.009), "pass"),
        (timer(lambda h, w: 0.9 * beyond_500_ms(h, w)), "finding"),
        (timer(lambda h, w: 0.02 if (h, w) == (1, 4) else 0.0), "fail"),
        (timer(lambda h, w: 0.9 if beyond_500_ms(h, w) or (h, w) == (3, 16) else 0.0), "fail"),
        (timer(lambda h, w: 0.0, lost=1), "fail"),
    ],
    ids=["seldom", "behind 500 ms", "small window", "before 500 ms", "no flow without losses"],
)
def test_the_timer_may_send_tcp_acks_only_where_a_window_takes_longer_than_its_limit(results, verdict, tmp_path):
    found = verdicts("dca_timer", results, tmp_path)["D-04"]
    assert found.verdict == verdict
    assert bool(found.evidence) == (verdict == "finding")


@pytest.mark.parametrize(("length", "verdict"), [(1.0, "pass"), (1.3, "fail"), (0.99, "fail")])
def test_a_timer_of_another_length_fails(length, verdict, tmp_path, monkeypatch):
    right = core.DelayedTcpAck

    class Other:
        def __init__(self, config):
            self.inner = right(config)
            self.on_data, self.on_tcp_ack = self.inner.on_data, self.inner.on_tcp_ack

        @property
        def deadline_us(self):
            return round(self.inner.deadline_us * length)

    monkeypatch.setattr(core, "DelayedTcpAck", Other)
    assert verdicts("dca_timer", timer(lambda h, w: 0.0), tmp_path)["D-04"].verdict == verdict


def resend(gain: float = 0.1, repeated: float = 20.0, static: float = 0.0) -> Results:
    """What the timer adds where the way back is cut, how often it fires there, and what it adds elsewhere."""
    flows = [
        {
            "hops": hops,
            "policy": policy,
            "seed": seed,
            "sweep.events": events,
            "goodput_bps": 1e6 / hops * (1 + (gain if events else static) * (policy == "dca")),
            "tcp_acks_repeated": repeated if events and policy == "dca" else 0.0,
        }
        for hops in (1, 3, 10)
        for events in ([], [{"at_s": 20, "kind": "node_down", "node": 11}])
        for policy in ("dca", "dca no resend")
        for seed in (1, 2)
    ]
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (resend(), "pass"),
        (resend(repeated=0.0), "fail"),
        (resend(gain=-0.01), "fail"),
        (resend(static=0.021), "fail"),
        (resend(static=-0.021), "fail"),
    ],
)
def test_the_timer_that_repeats_tcp_acks_must_fire_where_they_are_lost_and_only_matter_there(
    results, verdict, tmp_path
):
    assert verdicts("dca_resend", results, tmp_path)["D-22"].verdict == verdict


def test_another_timeout_of_the_receiver_fails(tmp_path, monkeypatch):
    right = core.SmoothedRoundTrip
    monkeypatch.setattr(core, "SmoothedRoundTrip", lambda: right(core.DeviationOrder.rfc_6298))
    assert verdicts("dca_resend", resend(), tmp_path)["D-22"].verdict == "fail"


def daa(in_flight: float = 4.0, factor: float = 5.0, fast: float = 0.9, fast_of_tcp: float = 0.05) -> Results:
    """What a sender does after a cut at 10 and 40 s, and how many of 100 lost packets it sends again at once."""
    flows, intervals = [], []
    for policy in ("cwl 4", "daa", "cwl 3", "cwl 3 + daa"):
        by_daa = policy.endswith("daa")
        again = 100 * (fast if by_daa else fast_of_tcp)
        for scene in ([{"kind": "link_down"}], [{"kind": "loss"}]):
            run = {"run": f"{policy} {scene}", "policy": policy, "sweep.events": scene}
            most = in_flight if policy == "daa" else float(policy.split()[1])
            lost = {"mac_drops_data_packets": 100.0, "retransmissions": again + 20.0, "timeouts": 20.0}
            flows.append({**run, **lost, "max_packets_in_flight": most})
            back_s = factor if by_daa else 1.0
            arrivals_s = (5.0, 10.0, 10.0 + back_s, 30.0, 40.0 + back_s)
            intervals += [{**run, "t_start_s": at_s, "goodput_bps": 8000.0} for at_s in arrivals_s]
            intervals.append({**run, "t_start_s": 10.6, "goodput_bps": 0.0})
    return Results(flows, [], intervals)


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (daa(), "pass"),
        (daa(in_flight=5.0), "fail"),
        (daa(factor=1.0), "fail"),
        (daa(factor=4.0), "fail"),
        (daa(fast=0.05), "fail"),
        (daa(fast_of_tcp=0.9), "fail"),
    ],
    ids=["as Table II", "5 in flight", "timeout x 1", "timeout x 4", "3 duplicates", "a TCP that needs 2, too"],
)
def test_each_rule_of_the_daa_sender_is_seen(results, verdict, tmp_path):
    assert verdicts("daa_rules", results, tmp_path)["D-23"].verdict == verdict


def test_a_receiver_that_does_not_thin_as_daa_fails(tmp_path, monkeypatch):
    right = core.DelayedTcpAck
    dca = core.TcpAckConfig(kind=core.TcpAckKind.dca, fixed_window_packets=4)
    monkeypatch.setattr(core, "DelayedTcpAck", lambda config: right(dca))
    found = verdicts("daa_rules", daa(), tmp_path)["D-23"]
    assert found.verdict == "fail" and "windows" in found.measured
