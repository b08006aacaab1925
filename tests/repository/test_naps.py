# SPDX-License-Identifier: GPL-2.0-or-later
"""A test waits for a condition (tests/waiting.py), never for a time by which it will have come."""

import re

NAP = re.compile(r"\btime\.sleep\(|\bsleep_for\(|\basyncio\.sleep\((?!0\))")
# A nap that is no waiting for something else: how many a file has, and what for.
PACED = {
    "tests/waiting.py": (1, "the look of a wait for a condition"),
    "tests/attack/dlep_flood.py": (1, "spaces sessions, so that they meet the flood at other times"),
    "tests/attack/dlep_peer.py": (1, "spaces heartbeats"),
    "tests/attack/forged_syns.py": (1, "spaces forged SYNs and looks at the limit"),
    "tests/attack/idle_clients.py": (1, "the time of which the share of a processor is measured"),
    "tests/flowgraphs/test_usrp.py": (1, "the time in which no sample may come"),
    "tests/host/python/fake_simulator.py": (1, "a run takes as long as it is told to"),
    "tests/host/python/test_scrapes.py": (1, "spaces the bytes of a slow client"),
    "tests/live/changing_flows.py": (1, "spaces packets"),
    "tests/live/forged_syns.py": (1, "spaces forged SYNs"),
    "tests/live/test_faults.py": (
        5,
        "spaces a flood; three faults last so long; the least of what is seen in half a second",
    ),
    "tests/live/test_hostile_machine.py": (1, "the time of which the share of a processor is measured"),
    "tests/sim/ns3/scenario_test.cc": (1, "the look of a wait for a condition"),
}


def naps(text):
    return len(NAP.findall(text))


def test_no_test_naps_but_those_that_are_listed(find, root):
    files = [file for file in find("tests/**/*.py", "tests/**/*.cc") if "repository" not in file.parts]
    found = {str(file): count for file in files if (count := naps((root / file).read_text()))}
    listed = {file: count for file, (count, _) in PACED.items()}
    assert found == listed, "wait by tests/waiting.py; a nap that is gone leaves the list"


def test_a_nap_is_seen():
    assert naps("time.sleep(3)\nawait asyncio.sleep(0.1)\nstd::this_thread::sleep_for(50ms);\n") == 3
    assert naps("await asyncio.sleep(0)\nwait_until(lambda: done, 5)\n") == 0
