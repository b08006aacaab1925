# SPDX-License-Identifier: GPL-2.0-or-later
"""Each thing that can be wrong with a host is found before a run, named with its host, and comes with a remedy."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .hosts import Hosts


def doctor(hosts: Hosts, inventory: Path, *words: object) -> tuple[int, list[dict[str, Any]]]:
    done = hosts.perhop("doctor", "--inventory", inventory, "--json", *words)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["findings"]


def test_all_is_well_and_each_check_is_a_line(hosts):
    done = hosts.perhop("doctor", "--inventory", hosts.inventory(), "--experiment", hosts.experiment)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert len(lines) == 4 * 13 + 1 and lines[-1] == "All hosts are ready."
    assert all(line.startswith("ok  node ") for line in lines[:-1])
    assert not any(hosts.leftovers(index) for index in range(4))


def other_key(hosts: Hosts) -> dict[str, Any]:
    """Host 2 has been known by host 1's key."""
    lines = (hosts.folder / "known_hosts").read_text().splitlines()
    key_of_1 = next(line for line in lines if line.startswith(hosts.address(1))).split(" ", 1)[1]
    (hosts.folder / "wrong_hosts").write_text(f"{hosts.address(2)} {key_of_1}\n")
    return {"known_hosts": str(hosts.folder / "wrong_hosts")}


def unknown_key(hosts: Hosts) -> dict[str, Any]:
    (hosts.folder / "no_hosts").write_text("")
    return {"known_hosts": str(hosts.folder / "no_hosts")}


def stranger(hosts: Hosts) -> dict[str, Any]:
    """A key that no host lets in: host 0's own."""
    return {"identity": str(hosts.folder / "h0/host_key")}


def other_version(hosts: Hosts) -> dict[str, Any]:
    program = hosts.folder / "other-perhop-node"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo perhop-node 0.0.9 sources 0 && exit\nexec {hosts.node_program} "$@"\n'
    )
    program.chmod(0o755)
    return {"perhop_node": str(program)}


def wrong_time(hosts: Hosts) -> dict[str, Any]:
    """A Python whose time of day is 3000.5 ms ahead."""
    (hosts.folder / "ahead").mkdir(exist_ok=True)
    (hosts.folder / "ahead/sitecustomize.py").write_text(
        "import time\nreal = time.time_ns\ntime.time_ns = lambda: real() + 3_000_500_000\n"
    )
    program = hosts.folder / "python-ahead"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={hosts.folder}/ahead exec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return {"python": str(program)}


def no_device(hosts: Hosts) -> dict[str, Any]:
    """The MAC of a radio that UHD does not find."""
    radio = {"kind": "rfnoc", "args": "addr=127.0.0.1", "mac": "02:00:00:00:00:03", "frequency_hz": 2.412e9}
    return {"radio": {**radio, "tx_delay_clocks": 66, "rx_delay_clocks": 30}}


def other_node(hosts: Hosts) -> dict[str, Any]:
    return {"radio": {"kind": "air", "socket": str(hosts.folder / "air.sock"), "node": 9}}


# What is wrong with host 2: (what its entry says, or who makes that; the check; words of what is found; of the remedy)
Plant = dict[str, Any] | Callable[[Hosts], dict[str, Any]]
PLANTS: dict[str, tuple[Plant, str, str, str]] = {
    "no such host": ({"address": "192.168.77.99"}, "ssh", "cannot be reached", "ping 192.168.77.99"),
    "a name nobody knows": ({"address": "nobody.invalid"}, "ssh", "its name is not known", "IP address"),
    "no SSH server": ({"port": 2222}, "ssh", "no SSH server answers", "openssh-server"),
    "another host key": (other_key, "ssh", "another host key than the known one", "ssh-keygen -R"),
    "an unknown host key": (unknown_key, "ssh", "its host key is not known here", "ssh-keyscan"),
    "a key that is not let in": (stranger, "ssh", "does not let this key in", "ssh-copy-id"),
    "no sudo": ({"user": "guest"}, "ssh", "guest does not become root", "NOPASSWD"),
    "not root": ({"user": "operator", "become": "none"}, "root", "is not root", "`become`"),
    "no Python": ({"python": "/nowhere/python3"}, "ssh", "there is no /nowhere/python3", "package python3"),
    "no perhop-node": ({"perhop_node": "/nowhere/perhop-node"}, "perhop-node", "there is no", "make build"),
    "another version": (other_version, "perhop-node", "perhop-node 0.0.9", "install the same version"),
    "a wrong clock": (wrong_time, "time of day", "ms from ours", "chrony"),
    "no radio": (
        {"radio": {"kind": "air", "socket": "/nowhere", "node": 2}},
        "radio",
        "no MAC answers: /nowhere: No such file",
        "perhop-live-air",
    ),
    "a radio of no node": (other_node, "radio", "has no node 9", "`radio.socket`"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_wrong_is_named_with_its_host_and_a_remedy(hosts, plant):
    changes, check, problem, remedy = PLANTS[plant]
    inventory = hosts.inventory("wrong.yml", nodes={2: changes if isinstance(changes, dict) else changes(hosts)})
    code, findings = doctor(hosts, inventory)
    failed = [finding for finding in findings if not finding["ok"]]
    assert code == 1
    assert [finding["name"] for finding in failed] == [f"node 2 (h2): {check}"], failed
    assert problem in failed[0]["detail"] and remedy in failed[0]["remedy"]
    assert {finding["name"] for finding in findings if finding["ok"]} >= {
        f"node {node} (h{node}): radio" for node in (0, 1, 3)
    }
    assert not any(hosts.leftovers(index) for index in range(4))


def test_a_wrong_clock_is_told_as_exactly_as_it_is_known(hosts):
    _, findings = doctor(hosts, hosts.inventory("wrong.yml", nodes={2: wrong_time(hosts)}))
    (failed,) = (finding for finding in findings if not finding["ok"])
    offset_ms, bound_ms = map(
        float, re.match(r"([+-][\d.]+) ms from ours, known to ([\d.]+) ms", failed["detail"]).groups()
    )
    # 0.1 ms for the clocks themselves: time of day and monotonic time are read one after the other.
    assert abs(offset_ms - 3000.5) <= bound_ms + 0.1


def test_a_device_that_uhd_does_not_find_is_named(hosts):
    code, findings = doctor(hosts, hosts.inventory("wrong.yml", nodes={2: no_device(hosts)}))
    (failed,) = (finding for finding in findings if not finding["ok"])
    assert code == 1 and failed["name"] == "node 2 (h2): radio"
    if b"libuhd.so" in Path(hosts.node_program).read_bytes():
        assert "No devices found" in failed["detail"] and "addr=127.0.0.1" in failed["detail"]
        assert "uhd_find_devices" in failed["remedy"]
    else:
        assert "needs UHD" in failed["detail"]


LIMITS = {
    "a full disk": ({"limits": {"free_mb": 1000}}, "disk", "MB free", "make room"),
    "a slow way": ({"limits": {"clock_bound_ms": 0.0001}}, "common time", "within", "a faster way"),
    "addresses that hosts have": (
        {"network": "192.168.77.0/24"},
        "addresses",
        "192.168.77.1/24 on eth0",
        "another `network`",
    ),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_every_host_is_held_to_the_limits(hosts, limit):
    changes, check, problem, remedy = LIMITS[limit]
    code, findings = doctor(hosts, hosts.inventory("wrong.yml", **changes))
    failed = [finding for finding in findings if not finding["ok"]]
    assert code == 1
    assert [finding["name"] for finding in failed] == [f"node {node} (h{node}): {check}" for node in range(4)]
    assert problem in failed[0]["detail"] and remedy in failed[0]["remedy"]


def test_radios_in_each_others_place_are_told_apart(hosts):
    radios = {
        node: {"radio": {"kind": "air", "socket": str(hosts.folder / "air.sock"), "node": 3 - node}} for node in (1, 2)
    }
    _, findings = doctor(hosts, hosts.inventory("wrong.yml", nodes=radios))
    failed = {finding["name"]: finding["detail"] for finding in findings if not finding["ok"]}
    assert set(failed) == {"node 1 (h1): radio settings", "node 2 (h2): radio settings"}
    assert (
        "its MAC address is 02:00:00:00:00:03, node 1's would be 02:00:00:00:00:02"
        in failed["node 1 (h1): radio settings"]
    )


def test_a_run_refuses_hosts_that_are_not_ready_and_names_all_that_is_wrong(hosts, tmp_path):
    wrong = {1: {"perhop_node": "/nowhere/perhop-node"}, 3: unknown_key(hosts)}
    done = hosts.perhop(*hosts.run_words(tmp_path / "out", hosts.inventory("wrong.yml", nodes=wrong)))
    assert done.returncode == 2
    assert "node 1 (h1): perhop-node" in done.stderr and "node 3 (h3): ssh: its host key is not known" in done.stderr
    assert not (tmp_path / "out").exists()
    assert not any(hosts.leftovers(index) for index in range(4))


def test_settings_that_the_radios_have_not_are_refused(hosts, tmp_path):
    words = [*hosts.run_words(tmp_path / "out", hosts.inventory()), "--set", "mac.data_rate_mbps=1"]
    done = hosts.perhop(*words)
    assert done.returncode == 2
    assert "it sends at 2 Mb/s, the experiment at 1" in done.stderr


def test_as_many_hosts_as_nodes_are_wanted(hosts, tmp_path):
    words = [*hosts.run_words(tmp_path / "out", hosts.inventory()), "--set", "topology.hops=4"]
    done = hosts.perhop(*words)
    assert done.returncode == 2
    assert "hosts.yml" in done.stderr and "lists 4 hosts, but the experiment has 5 nodes" in done.stderr


def test_a_disk_that_is_full_during_the_set_up_is_named(hosts, tmp_path):
    """The check has been passed: somebody else filled it since."""
    inventory = hosts.inventory("full.yml", limits={"free_mb": 0})
    hosts.kill_host(2)
    hosts.start_host(2, disk_mb=1)
    try:
        disk = hosts.disk(2)
        with (disk / "ballast").open("wb") as ballast:
            ballast.write(bytes(shutil.disk_usage(disk).free))
        done = hosts.perhop(*hosts.run_words(tmp_path / "out", inventory))
        assert done.returncode == 2
        assert "node 2 (h2)" in done.stderr and "No space left on device" in done.stderr
    finally:
        hosts.kill_host(2)
        hosts.start_host(2)
    assert not any(hosts.leftovers(index) for index in range(4))
