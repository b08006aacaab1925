# SPDX-License-Identifier: GPL-2.0-or-later
"""What probe and top make of what daemons say, with daemons that are made up."""

import io

import pytest
from perhop.errors import PerhopError
from perhop.export import nodes, probe, top, top_text
from perhop.export.probe_text import print_probe
from perhop.export.words import PARTS, legend, rate_text, stacked_bar, time_text
from perhop.live.messages import NoAnswer
from perhop.registers import spec_generated as spec
from rich.console import Console

MAC = "02:00:00:00:00:02"


def neighbour(**changed):
    told = {
        "slot": 3,
        "mac": MAC,
        "addresses": ["fe80::2", "10.0.0.2"],
        "packets": 10,
        "drops": 1,
        "bytes": 9000,
        "rts_attempts": 14,
        "data_attempts": 12,
        "given": 11,
        "host_queue_us": 5500,
        "data_rate": 1,
        "queued_packets": 2,
        "service_us": 80_000,
        "longest_service_us": 20_000,
        "histogram": [0] * 6 + [8, 2] + [0] * 8,
        "parts_us": {name: 10_000 if name != "backoff_us" else 0 for name in spec.SERVICE_TIME_PARTS},
        "average": {"contention_us": 500.0, "overhead_us": 994.0, "data_attempts": 1.25},
        "last": {"bytes": 1554, "rate": 1, "cw": 31, "service_us": 8000},
        "idle_us": 100,
    }
    return {**told, **changed}


def status(*neighbours, **changed):
    told = {
        "ok": True,
        "name": "test",
        "interface": "radio0",
        "mtu_bytes": 1500,
        "mac_up": True,
        "mac_problem": "",
        "without_effect": ["the pacing has no effect: no round trip has been measured"],
        "mac": {
            "address": "02:00:00:00:00:01",
            "profile": "dsss_long",
            "data_rate": 1,
            "data_rate_bps": 2_000_000,
            "rts_threshold_bytes": 0,
        },
        "cpu_s": 1.0,
        "queued_packets": 2,
        "queue_limit_packets": 50,
        "packets": {"completions": 10, "queue_drops": 0},
        "driver": {},
        "flows": [],
        "traffic": [],
        "neighbours": list(neighbours),
    }
    return {**told, **changed}


class Node:
    """A daemon whose driver has no registers, or has what `words` gives."""

    label, network = "0", None

    def __init__(self, told, words=None):
        self.told, self.words = told, words

    def status(self, timeout_s=2):
        return self.told

    def access(self, accesses):
        if self.words is None:
            raise PerhopError("the MAC is down, or its driver has no registers", "")
        return [self.words.get(access[0]) for access in accesses]


AIRTIME_US = spec.airtime_us(spec.PROFILES["dsss_long"], 1, 24 + 8 + 18 + 1500 + 4)


def test_a_driver_without_registers_still_has_neighbours_and_latencies():
    told = probe.probe(Node(status(neighbour())))
    assert told["registers"] == {} and told["statistics"] == {}
    (found,) = told["neighbours"]
    assert found["table"] is None
    assert found["latency_us"] == round(500 + 994 + 1.25 * AIRTIME_US)
    assert found["addresses"] == ["10.0.0.2", "fe80::2"]
    assert found["mean_host_queue_us"] == 500
    console = Console(width=120, record=True, file=io.StringIO())
    print_probe(console, told)
    assert "latency 9.50 ms" in console.export_text()


def test_what_another_neighbour_left_in_the_slot_is_not_told():
    fresh = neighbour(packets=0, drops=0, given=0, histogram=[0] * 16, average=None)
    told = probe.probe(
        Node(status(fresh), words={0x2B4: 16 * 7777, 0x2B8: 0, 0x2BC: 256, 0x2C0: 9, 0x2C4: 0, 0x2C8: 1, 0x2CC: 0})
    )
    assert told["neighbours"][0]["latency_us"] is None


def test_a_daemon_that_does_not_answer_is_an_error_and_no_empty_probe():
    class Gone(Node):
        def access(self, accesses):
            raise NoAnswer("gone", "wait")

    with pytest.raises(NoAnswer):
        probe.probe(Gone(status(neighbour())))


def test_too_many_accesses_at_once_are_refused_before_they_are_sent(tmp_path):
    with pytest.raises(PerhopError, match="at once"):
        nodes.NodeSocket("0", tmp_path / "none.sock").access([[0]] * (spec.AIR_MOST_REGISTER_ACCESSES + 1))
    slots = range(spec.NEIGHBOUR_SLOTS)
    names = [(name, 0) for name in (*probe.SETTINGS, *probe.STATISTICS)]
    whole = len(nodes.register_accesses(names)) + len(nodes.snapshot_accesses(slots))
    assert whole <= spec.AIR_MOST_REGISTER_ACCESSES, "a full table fits into one question"


def sample(at_s, **statuses):
    return top.Sample(at_s, statuses, None, None)


def test_a_picture_is_the_difference_of_two_samples():
    later = neighbour(
        packets=30,
        given=31,
        bytes=39_000,
        drops=3,
        service_us=280_000,
        host_queue_us=25_500,
        rts_attempts=44,
        data_attempts=37,
    )
    later["parts_us"] = {name: value + 20_000 for name, value in neighbour()["parts_us"].items()}
    before, now = status(neighbour()), status(later, cpu_s=1.5, packets={"completions": 30, "queue_drops": 4})
    shown = top.picture(sample(10.0, **{"0": before}), sample(12.0, **{"0": now}))
    (hop,) = shown["hops"]
    assert hop["packets_per_s"] == 10 and hop["drops"] == 2
    assert hop["rate_bps"] == 8 * 30_000 / 2
    assert hop["service_us"] == 10_000
    assert hop["parts_us"]["host_queue"] == 1000 and hop["parts_us"]["data"] == 1000
    assert hop["retries"] == (5 + 5) / 20
    assert shown["nodes"][0]["queue_drops"] == 4 and shown["nodes"][0]["cpu_share"] == 0.25


def test_a_daemon_that_was_started_anew_is_counted_from_its_start():
    now = status(neighbour(packets=4, given=4, drops=0), cpu_s=0.1, packets={"completions": 4, "queue_drops": 0})
    shown = top.picture(sample(0.0, **{"0": status(neighbour())}), sample(2.0, **{"0": now}))
    assert shown["hops"][0]["packets_per_s"] == 2
    shown = top.picture(sample(0.0, **{"0": None}), sample(2.0, **{"0": None}))
    assert shown["silent_nodes"] == ["0"] and shown["hops"] == []


def flow(role, count, protocol=17, idle_us=0):
    return {
        "source": "10.0.0.1",
        "source_port": 5,
        "destination": "10.0.0.3",
        "destination_port": 6,
        "protocol": protocol,
        "role": role,
        "packets": 1,
        "bytes": count,
        "idle_us": idle_us,
    }


def test_a_flow_is_put_together_from_what_all_nodes_say_of_it():
    roles = {"0": "originated", "1": "forwarded", "2": "received"}
    before = sample(0.0, **{label: status(traffic=[flow(role, 1000)]) for label, role in roles.items()})
    now = sample(1.0, **{label: status(traffic=[flow(role, 2000)]) for label, role in roles.items()})
    (found,) = top.picture(before, now)["flows"]
    assert (found["from_node"], found["forwarders"], found["to_node"]) == ("0", ["1"], "2")
    assert found["sent_bps"] == found["received_bps"] == 8000
    quiet = sample(2.0, **{"0": status(traffic=[flow("originated", 2000, idle_us=6_000_000)])})
    assert top.picture(now, quiet)["flows"] == []


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_picture_fits_its_terminal(width):
    later = neighbour(packets=30, given=31, service_us=280_000)
    later["parts_us"] = {name: value + 20_000 for name, value in neighbour()["parts_us"].items()}
    before = sample(0.0, **{"0": status(neighbour())})
    now = sample(1.0, **{"0": status(later, traffic=[flow("originated", 9000)]), "1": None})
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(top_text.render(top.picture(before, now), width), highlight=False)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= width
    assert "node 1 does not answer" in "\n".join(lines)


def test_bars_have_the_lengths_of_their_parts():
    bar = stacked_bar({"data": 50.0, "control": 25.0}, 100.0, 40)
    assert len(bar.plain) == 30
    assert [(span.end - span.start) for span in bar.spans] == [10, 20]
    assert stacked_bar({}, 0.0, 40).plain == ""
    assert all(len(line) <= 50 for line in legend({part.name for part in PARTS}, 50).plain.splitlines())


@pytest.mark.parametrize(
    ("us", "text"), [(None, "-"), (999, "999 us"), (1500, "1.50 ms"), (15_000, "15.0 ms"), (1_500_000, "1500 ms")]
)
def test_times_have_their_unit(us, text):
    assert time_text(us) == text


@pytest.mark.parametrize(("bps", "text"), [(None, "-"), (5, "5 b/s"), (1500, "1.50 kb/s"), (2e6, "2.00 Mb/s")])
def test_rates_have_their_unit(bps, text):
    assert rate_text(bps) == text
