# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs on hosts over SSH: what comes out, and what is left when a host, a daemon, the cable or the user ends one."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from perhop.live import namespaces
from waiting import acknowledged_bytes, wait_until

from .hosts import Hosts

# With one segment of 1448 bytes in flight the receiver's goodput times the sender's round trip is that segment, however
# busy this machine is: two clocks half an hour apart tell one story. The share is what the edges of a run cut off.
SEGMENT_BITS = 8 * 1448
# Three hops without contention; how slow hosts may be is judged by `make ota`, where nothing else runs.
MOST_GOODPUT_BPS = 0.43e6
LEAST_RTT_MS = 26
SHARE = 0.03
PARTIAL_SHARE = 0.06
# RTS, CTS, MPDU, mac_ack and SIFS between them at 1, 1, 2 and 1 Mb/s, and 1 us on the way for each: a segment (IP
# packet of 1500 bytes) and its tcp_ack (52).
AIRTIME_US = {"forward": 7402, "return": 1610}
# Of a service time, as the completion records have them (results.parquet's columns).
PARTS = {"queue_us", "ifs_us", "backoff_us", "frozen_cca_us", "frozen_nav_us", "control_us", "data_us", "response_us"}
PARTS |= {"timeout_us", "responder_us"}
DIFS_US, MEAN_DRAW_US, LONGEST_DRAW_US, RESPONSE_US = 50, 310, 620, 314
# A program on a host that hears nothing for 15 s takes everything back.
LEFT_ALONE_S = 25


def states(out: Path) -> dict[int, str]:
    """Seed -> status."""
    runs = json.loads((out / "state.json").read_text())["runs"].values()
    return {int(run["label"].rpartition("=")[2]): run["status"] for run in runs}


def rows(out: Path) -> dict[int, dict[str, Any]]:
    return {row["seed"]: row for row in pq.read_table(out / "flows.parquet").to_pylist()}


def nothing_left(hosts: Hosts, timeout_s: float = 3) -> None:
    wait_until(lambda: not any(hosts.leftovers(index) for index in range(4)), timeout_s, "hosts are as before")


def wait_for_run(hosts: Hosts, out: Path, seed: int, segments: int) -> None:
    """Until the run with this seed has moved so many segments; without contention there are 30 a second."""

    def is_there() -> bool:
        for file in out.glob("runs/*.running/run.json"):
            if json.loads(file.read_text())["seed"] == seed and (file.parent / "started").exists():
                return True
        return False

    wait_until(is_there, 60, f"the run with seed {seed}")
    enter = ("ip", "netns", "exec", hosts.namespace(0))
    wait_until(lambda: acknowledged_bytes("10.0.0.4", *enter) >= 1448 * segments, 30, f"{segments} segments")


def pid_on(hosts: Hosts, index: int, words: str) -> int:
    """The process on a host that has these words in its command line."""
    for pid in hosts.processes(index):
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        if words in line and "sshd" not in line and not line.startswith(("sudo", "/usr/bin/sudo")):
            return pid
    raise AssertionError(f"nothing on host {index} has {words!r} in its command")


@pytest.fixture(scope="module")
def finished(hosts, tmp_path_factory) -> Path:
    """The output folder of all three runs, undisturbed."""
    out = tmp_path_factory.mktemp("finished") / "out"
    done = hosts.perhop(*hosts.run_words(out, hosts.inventory()))
    assert done.returncode == 0, done.stderr
    assert "4 hosts, 52 checks, all well" in done.stdout
    nothing_left(hosts)
    return out


def one_segment_in_flight(row: dict[str, Any], share: float) -> None:
    in_flight = row["goodput_bps"] * row["rtt_ms"] / 1e3 / SEGMENT_BITS
    assert abs(in_flight - 1) < share, f"{in_flight:.3f} segments in flight, by the clocks of two hosts"
    assert row["goodput_bps"] < MOST_GOODPUT_BPS and row["rtt_ms"] > LEAST_RTT_MS


def test_results_are_those_of_the_network_whatever_the_hosts_clocks_say(finished):
    found = rows(finished)
    assert set(found) == {1, 2, 3}
    hops = pq.read_table(finished / "hops.parquet").to_pylist()
    for seed, row in found.items():
        assert row["backend"] == "radio" and not row["interrupted"]
        assert row["cwl_packets"] == 1
        one_segment_in_flight(row, SHARE)
        of_run = [hop for hop in hops if hop["seed"] == seed]
        assert [(hop["from"], hop["to"]) for hop in of_run] == [(0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 0)]
        # What the MACs took up to the end of each MPDU is within the round trip; the rest of it is the hosts'.
        assert sum(hop["service_time_us"] - RESPONSE_US for hop in of_run) / 1e3 < row["rtt_ms"]


def test_service_times_are_the_air_and_the_contention_of_those_that_came_in_time(finished):
    """A packet that its host gives back within SIFS, mac_ack and DIFS of the one before contends as in the simulator:

        received |SIFS|  mac_ack  |  DIFS  | 0 to 31 slots | RTS ...
                    ^ given to the MAC: the rest of the mac_ack (responder_us), ifs_us, backoff_us

    One that comes later finds the medium idle and has none of the three, but what others' frames left of the backoff
    behind its node's last one (IEEE 802.11-2012, 9.3.4.2). How many come in time is the hosts' speed: ifs_us of DIFS.
    """
    for hop in pq.read_table(finished / "hops.parquet").to_pylist():
        parts = (hop[name] for name in hop if name in PARTS)
        assert hop["service_time_us"] == pytest.approx(sum(parts), abs=0.5)
        if hop["direction"] == "forward":
            assert 7300 < hop["airtime_us"] < 7500 and hop["service_time_us"] < 9500
        if hop["retries"]:
            continue  # A machine that stood still for longer than TCP waits: two segments in flight, for once.
        assert hop["airtime_us"] == pytest.approx(AIRTIME_US[hop["direction"]], abs=0.5)
        in_time = hop["ifs_us"] / DIFS_US
        assert 0 <= in_time <= 1
        assert hop["responder_us"] <= in_time * RESPONSE_US + 0.5
        # At most one draw of 0 to 31 slots of 20 us a packet: their mean, four standard deviations wide.
        assert hop["backoff_us"] <= MEAN_DRAW_US + 4 * LONGEST_DRAW_US / (12 * hop["packets"]) ** 0.5


def log_of(out: Path, seed: int, node: int) -> str:
    for file in out.glob("runs/*/run.json"):
        if json.loads(file.read_text())["seed"] == seed:
            return (file.parent / f"node-{node}.log").read_text()
    raise AssertionError(f"there is no run with seed {seed}")


def test_what_the_daemons_said_is_kept_with_the_run(finished):
    for node in range(4):
        said = log_of(finished, 2, node)
        assert "started" in said and f"mac_up address=02:00:00:00:00:0{node + 1}" in said and "mac_down" not in said


def test_intervals_are_of_one_time_on_all_hosts(finished):
    """Clocks half an hour apart: an interval that the receiver counted elsewhere would be empty, or full twice."""
    intervals = [row for row in pq.read_table(finished / "results.parquet").to_pylist() if row["seed"] == 1]
    assert [row["t_start_s"] for row in intervals] == [0.5 * index for index in range(12)]
    assert all(row["goodput_bps"] > 0.25e6 for row in intervals[1:])
    mean_bps = rows(finished)[1]["goodput_bps"]
    assert all(row["goodput_bps"] < 1.4 * mean_bps for row in intervals[1:])


def test_packets_of_all_nodes_are_in_one_file_in_order(finished):
    said = subprocess.run(
        [
            "tshark",
            "-r",
            finished / "packets.pcapng",
            "-T",
            "fields",
            "-e",
            "frame.interface_name",
            "-e",
            "frame.time_epoch",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    names = {line.split("\t")[0] for line in said}
    assert names == {f"node {index} (h{index})" for index in range(4)}
    times = [float(line.split("\t")[1]) for line in said]
    assert times == sorted(times) and times[-1] - times[0] < 10
    assert len(said) > 1000


def test_what_is_finished_is_not_made_again(hosts, finished):
    done = hosts.perhop(*hosts.run_words(finished, hosts.inventory()), "--resume")
    assert done.returncode == 0, done.stderr
    assert "3 runs reused" in done.stdout


def kill_daemon(hosts: Hosts) -> None:
    os.kill(pid_on(hosts, 2, "perhop-node "), signal.SIGKILL)


def kill_agent(hosts: Hosts) -> None:
    """The program there has no chance to take anything back; the next one does it."""
    daemon = Path(f"/proc/{pid_on(hosts, 1, 'perhop-node ')}/status").read_text()
    parent = next(line for line in daemon.splitlines() if line.startswith("PPid:"))
    os.kill(int(parent.split()[1]), signal.SIGKILL)


def kill_host(hosts: Hosts) -> None:
    hosts.kill_host(3)


def pull_cable(hosts: Hosts) -> None:
    hosts.set_cable(0, False)


def mend_host(hosts: Hosts) -> None:
    hosts.start_host(3)


def plug_in(hosts: Hosts) -> None:
    hosts.set_cable(0, True)
    # The hosts' own programs notice that nobody is there, also where the connection does not.
    nothing_left(hosts, LEFT_ALONE_S)


def nothing(hosts: Hosts) -> None:
    pass


# (what happens in the second run, the node and words that are said, what is done before it is resumed)
ACCIDENTS = {
    "a daemon is killed": (kill_daemon, "node 2 (h2)", "perhop-node was ended by SIGKILL", nothing),
    "the program on a host is killed": (kill_agent, "node 1 (h1)", "the connection has ended", nothing),
    "a host dies": (kill_host, "node 3 (h3)", "the connection has ended", mend_host),
    "a cable is pulled": (pull_cable, "node 0 (h0)", "has not answered", plug_in),
}


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_an_accident_is_named_what_was_collected_is_kept_and_a_second_call_completes(hosts, tmp_path, accident):
    happen, node, words, mend = ACCIDENTS[accident]
    out = tmp_path / "out"
    command = hosts.run_words(out, hosts.inventory())
    process = hosts.start_perhop(*command)
    wait_for_run(hosts, out, 2, 120)
    happened_s = time.monotonic()
    happen(hosts)
    said, errors = process.communicate(timeout=90)
    took_s = time.monotonic() - happened_s
    try:
        assert process.returncode == 1, said + errors
        assert node in errors and words in errors and "remedy" in errors, errors
        assert took_s < 40
        assert states(out) == {1: "finished", 2: "failed", 3: "pending"}
        partial = rows(out)
        assert set(partial) == {1, 2} and partial[2]["interrupted"] and not partial[1]["interrupted"]
        one_segment_in_flight(partial[2], PARTIAL_SHARE)
        assert node in (out / "report.html").read_text()
        if happen is kill_daemon:
            assert "mac_up" in log_of(out, 2, 2)
    finally:
        mend(hosts)
    done = hosts.perhop(*command)
    assert done.returncode == 0, done.stderr
    assert "1 runs reused" in done.stdout
    assert set(rows(out)) == {1, 2, 3} and not any(row["interrupted"] for row in rows(out).values())
    nothing_left(hosts)


def test_after_two_accidents_a_third_call_completes(hosts, tmp_path):
    out = tmp_path / "out"
    command = hosts.run_words(out, hosts.inventory())
    for seed in (1, 3):
        process = hosts.start_perhop(*command)
        wait_for_run(hosts, out, seed, 30)
        kill_daemon(hosts)
        process.communicate(timeout=90)
        assert process.returncode == 1
    assert states(out) == {1: "finished", 2: "finished", 3: "failed"}
    done = hosts.perhop(*command)
    assert done.returncode == 0 and "2 runs reused" in done.stdout, done.stderr
    nothing_left(hosts)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_in_order_and_leaves_nothing_on_the_hosts(hosts, tmp_path, number):
    out = tmp_path / "out"
    process = hosts.start_perhop(*hosts.run_words(out, hosts.inventory()))
    wait_for_run(hosts, out, 1, 120)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Interrupted" in errors
    nothing_left(hosts)
    assert states(out)[1] == "interrupted"
    assert rows(out)[1]["interrupted"]


def test_an_interrupt_while_hosts_are_set_up_leaves_nothing(hosts, tmp_path):
    out = tmp_path / "out"
    process = hosts.start_perhop(*hosts.run_words(out, hosts.inventory()))
    wait_until(lambda: any(hosts.leftovers(1).get("links", [])), 60, "the interface of host 1")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    nothing_left(hosts)


def test_killed_itself_it_leaves_nothing_on_the_hosts(hosts, tmp_path):
    out = tmp_path / "out"
    process = hosts.start_perhop(*hosts.run_words(out, hosts.inventory()))
    wait_for_run(hosts, out, 1, 30)
    process.kill()
    process.communicate()
    nothing_left(hosts, LEFT_ALONE_S)
    controller = hosts.name + "-c"
    wait_until(lambda: not namespaces.processes(controller), 10, "nothing runs on the controller")


def test_two_studies_do_not_share_a_host(hosts, tmp_path):
    out = tmp_path / "one"
    process = hosts.start_perhop(*hosts.run_words(out, hosts.inventory()))
    wait_for_run(hosts, out, 1, 0)
    second = hosts.perhop(*hosts.run_words(tmp_path / "two", hosts.inventory()))
    looked = hosts.perhop("doctor", "--inventory", hosts.inventory(), "--json")
    said, errors = process.communicate(timeout=120)
    assert second.returncode == 2
    for node in range(4):
        assert f"node {node} (h{node}): not in use: is in use by" in second.stderr
    assert "perhop run, 3 runs" in second.stderr and "wait until that run has ended" in second.stderr
    assert not (tmp_path / "two").exists()
    found = [finding for finding in json.loads(looked.stdout)["findings"] if not finding["ok"]]
    assert [finding["name"] for finding in found] == [f"node {node} (h{node}): not in use" for node in range(4)]
    assert process.returncode == 0, said + errors
    for row in rows(out).values():
        one_segment_in_flight(row, SHARE)
