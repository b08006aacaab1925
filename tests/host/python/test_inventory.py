# SPDX-License-Identifier: GPL-2.0-or-later
"""The inventory of hosts: the example is one, and what is wrong with a file is told with line, field and remedy."""

from pathlib import Path

import pytest
from perhop.errors import ExperimentError
from perhop.live.plan import make_node
from perhop.radio import inventory, ssh

ROOT = Path(__file__).resolve().parents[3]
FILE = """\
defaults:
  user: perhop
network: 10.77.0.0/16
nodes:
  - address: a.example
    radio: {kind: air, socket: /run/air.sock, node: 0}
  - address: b.example
    name: b
    user: root
    port: 2222
    radio: {kind: air, socket: /run/air.sock, node: 1}
"""


def test_the_example_is_an_inventory():
    found, _ = inventory.load(ROOT / "hw/inventory/hosts.yml")
    assert len(found.nodes) == 4
    assert found.name(0) == "node 0 (west)"
    # With the addresses that the nodes of an experiment have, or `perhop doctor` would refuse each of its radios.
    macs = [host.radio.mac for host in found.nodes]
    assert macs == [make_node("radio", index).mac for index in range(4)]


def test_a_host_has_the_defaults_unless_it_says_otherwise(tmp_path):
    (tmp_path / "hosts.yml").write_text(FILE)
    found, _ = inventory.load(tmp_path / "hosts.yml")
    assert (found.access(0).user, found.access(0).port) == ("perhop", 22)
    assert (found.access(1).user, found.access(1).port) == ("root", 2222)
    assert ssh.become(found.access(0).model_dump()) == ["sudo", "-n"]
    assert ssh.become(found.access(1).model_dump()) == []
    command = ssh.command("b.example", found.access(1).model_dump())
    assert command[-1] == "root@b.example" and "2222" in command
    assert "StrictHostKeyChecking=yes" in command and "BatchMode=yes" in command


# What is wrong: (text, what stands there instead, line, field, words of the problem, of the remedy)
WRONG = {
    "unknown field": ("    name: b", "    nmae: b", 8, "nodes.1.nmae", "unknown field", "did you mean 'name'"),
    "no address": ("  - address: b.example\n    name", "  - name", 7, "nodes.1.address", "is missing", "add `address"),
    "one host twice": (
        "    port: 2222",
        "    port: 22\n    folder: /tmp",
        7,
        "nodes.1.address",
        "as that of node 0",
        "one node",
    ),
    "an option for an address": (
        "a.example",
        "-oProxyCommand=sh",
        5,
        "nodes.0.address",
        "'-oProxyCommand=sh'",
        "host name",
    ),
    "an option for a user": ("user: perhop", "user: -x", 2, "defaults.user", "'-x'", "a user"),
    "a port that is none": ("2222", "70000", 10, "nodes.1.port", "at most 65535", "at most 65535"),
    "a network that is none": ("10.77.0.0/16", "10.77.0.1/16", 3, "network", "no IPv4 network", "10.0.0.0/16"),
    "a small network": ("10.77.0.0/16", "10.77.0.0/30", 3, "network", "too small", "/24 or larger"),
    "no such key": (
        "user: perhop",
        "identity: /nowhere/id",
        2,
        "defaults.identity",
        "no such file",
        "a file that is there",
    ),
    "a radio that is none": (
        "kind: air, socket: /run/air.sock, node: 1",
        "kind: wire",
        11,
        "nodes.1.radio.kind",
        "'wire'",
        "air",
    ),
    "a relative folder": ("user: root", "folder: tmp", 9, "nodes.1.folder", "'tmp'", "absolute path"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_with_its_place_and_a_remedy(what, tmp_path):
    text, instead, line, field, problem, remedy = WRONG[what]
    assert FILE.count(text) == 1
    changed = FILE.replace(text, instead)
    if what == "one host twice":
        changed = changed.replace("b.example", "a.example")
    (tmp_path / "hosts.yml").write_text(changed)
    with pytest.raises(ExperimentError) as caught:
        inventory.load(tmp_path / "hosts.yml")
    error = caught.value
    assert error.file.endswith("hosts.yml") and (error.line, error.field) == (line, field), str(error)
    assert problem in error.problem and remedy in error.remedy, str(error)


def test_a_file_that_is_not_there_names_an_example(tmp_path):
    with pytest.raises(ExperimentError) as caught:
        inventory.load(tmp_path / "none.yml")
    assert "cannot be read" in caught.value.problem and inventory.EXAMPLE in caught.value.remedy


# What ssh says, and what that means.
SAID = {
    "ssh: connect to host a port 22: Connection refused": "no SSH server answers there",
    "ssh: connect to host a port 22: Connection timed out": "cannot be reached",
    "ssh: connect to host a port 22: No route to host": "cannot be reached",
    "ssh: Could not resolve hostname a: Name or service not known": "its name is not known",
    "Permission denied (publickey).": "does not let this key in",
    "sudo: a password is required": "does not become root without a password",
    "sh: 1: exec: sudo: not found": "there is no sudo",
    "sh: 1: exec: python3: not found": "there is no python3",
    "Timeout, server a not responding.": "the connection has ended",
    "": "the connection has ended",
}


@pytest.mark.parametrize("said", SAID)
def test_what_ssh_says_is_explained(said, tmp_path):
    (tmp_path / "hosts.yml").write_text(FILE)
    found, _ = inventory.load(tmp_path / "hosts.yml")
    problem, remedy = ssh.explain(said, "a.example", found.access(0).model_dump())
    assert SAID[said] in problem and remedy
