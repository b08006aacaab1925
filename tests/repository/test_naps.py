# SPDX-License-Identifier: GPL-2.0-or-later
"""A test waits for a condition (tests/waiting.py), never for a time by which it will have come."""

import re

NAP = re.compile(r"\btime\.sleep\(|\bsleep_for\(|\basyncio\.sleep\((?!0\))")
# A nap that is no waiting: what the test sends is spaced by it, a fault lasts so long, or a share of time is measured.
PACED = {
    "tests/waiting.py": 1,
    "tests/attack/dlep_flood.py": 1,
    "tests/attack/dlep_peer.py": 1,
    "tests/attack/forged_neighbours.py": 1,
    "tests/attack/forged_syns.py": 1,
    "tests/attack/idle_clients.py": 2,
    "tests/host/python/fake_simulator.py": 1,
    "tests/host/python/test_dlep_session.py": 1,
    "tests/host/python/test_scrapes.py": 1,
    "tests/live/conftest.py": 1,
    "tests/live/forged_syns.py": 1,
    "tests/live/greedy_sender.py": 1,
    "tests/live/test_faults.py": 6,
    "tests/live/test_hostile_machine.py": 1,
}
# Naps that a condition should replace, still to be done.
OWED = {
    "tests/flowgraphs/test_blocks.py": 1,
    "tests/flowgraphs/test_usrp.py": 2,
    "tests/host/python/test_live_supervisor.py": 2,
    "tests/host/python/test_runner.py": 1,
    "tests/host/python/test_with_simulators.py": 1,
    "tests/live/test_audio.py": 1,
    "tests/live/test_dlep.py": 1,
    "tests/live/test_events.py": 3,
    "tests/live/test_exact.py": 4,
    "tests/live/test_reroute.py": 4,
    "tests/live/test_runs.py": 1,
    "tests/live/test_window_limit.py": 4,
    "tests/ota/test_runs.py": 1,
    "tests/sim/ns3/scenario_test.cc": 1,
}


def naps(text):
    return len(NAP.findall(text))


def test_no_test_naps_but_those_that_are_listed(find, root):
    files = [file for file in find("tests/**/*.py", "tests/**/*.cc") if "repository" not in file.parts]
    found = {str(file): count for file in files if (count := naps((root / file).read_text()))}
    assert found == PACED | OWED, "wait by tests/waiting.py; a nap that is gone leaves the list"


def test_a_nap_is_seen():
    assert naps("time.sleep(3)\nawait asyncio.sleep(0.1)\nstd::this_thread::sleep_for(50ms);\n") == 3
    assert naps("await asyncio.sleep(0)\nwait_until(lambda: done, 5)\n") == 0
