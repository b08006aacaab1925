# SPDX-License-Identifier: GPL-2.0-or-later
"""What pace gateware keeps on this machine, and that a device says when it does not keep the one that was stated."""

import subprocess
import sys

import pytest
from perhop.errors import PerhopError
from perhop.radio.inventory import Inventory
from waiting import wait_until

from .devices import ROOT, VirtualDevices, own_address, pace

IMAGE = "e320_perhop_22"
# A second of the air's time each 300, as a program with gateware says it; the first one has the reset, too.
STEADY = """
say("n 5")
for number in range(4):
    say("t", 22000000 * number, number, 20 + 300 * number)
"""
BEGINS = "#!/usr/bin/python3\nimport sys\ndef say(*words): print(*words, flush=True)\n"


@pytest.fixture
def program(tmp_path):
    """Makes one that says what a test wants, and ends with its input."""

    def made(text: str):
        path = tmp_path / "shell"
        path.write_text(f"{BEGINS}{text}\nsys.stdin.read()\n")
        path.chmod(0o755)
        return path

    return made


def test_what_is_stated_leaves_room_for_hosts_and_others():
    """On two cores 2 devices that ran 1/150 alone had 1/195 with their hosts, and 4 had 1/623 in place of 1/346."""
    assert pace.to_state(150, 2) == 250
    assert pace.to_state(300, 4) == 600


@pytest.mark.parametrize("devices", [1, 2, 4, 8])
def test_it_is_more_with_each_host_and_no_more_than_a_step_too_much(devices):
    for kept in range(1, 225):
        needed = pace.MARGIN * (1 + devices * pace.CORE_OF_HOST) * kept
        assert needed <= pace.to_state(kept, devices) < needed + pace.STEP


def test_no_slow_down_is_proposed_that_an_inventory_does_not_take():
    (most,) = (each.le for each in Inventory.model_fields["slow_down"].metadata if hasattr(each, "le"))
    assert most == pace.MOST == pace.to_state(307, 4)
    with pytest.raises(PerhopError, match="at most 600 can be stated"):
        pace.to_state(308, 4)


def test_the_pace_that_is_kept_is_that_behind_the_reset(program):
    assert pace.kept(program(STEADY), 4) == pytest.approx(300)


def test_a_program_that_is_none_is_an_error_that_says_so(program, tmp_path):
    with pytest.raises(PerhopError, match="make virtual-usrp"):
        pace.kept(tmp_path / "nothing", 1)
    with pytest.raises(PerhopError, match="ends at once"):
        pace.kept(program("sys.exit(1)"), 1)


def test_the_command_says_what_to_state(program, tmp_path):
    image = tmp_path / "e320.yml"
    made = subprocess.run(
        [sys.executable, ROOT / "hw/images/image_cores.py", IMAGE], capture_output=True, text=True, check=True
    )
    image.write_text(made.stdout)
    command = [sys.executable, ROOT / "hw/virtual_usrp", image, image, "--pace"]
    done = subprocess.run([*command, "--shell", program(STEADY)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2 devices: 1/300 of real time beside this machine's other work; state --slow-down 500\n"
    done = subprocess.run([*command, "--shell", tmp_path / "nothing"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "make virtual-usrp" in done.stderr
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "give --shell" in done.stderr


def test_what_is_behind_for_a_while_is_made_up_for_and_what_stays_behind_is_told_once():
    watch = pace.PaceWatch(200)
    assert watch.word(1.0, 200.0) is None
    assert watch.word(2.0, 400 + 200 * 0.9 * pace.BEHIND_TOLD_S) is None
    warning = watch.word(3.0, 600 + 200 * 2 * pace.BEHIND_TOLD_S)
    assert warning and "100 ms of their own time behind the stated pace of 1/200" in warning and "--pace" in warning
    assert watch.word(4.0, 900.0) is None


def test_without_a_stated_pace_nothing_is_behind():
    assert pace.PaceWatch(0).word(0.001, 1e6) is None


def test_a_device_whose_gateware_is_behind_says_so_and_goes_on(program, tmp_path):
    late = program('say("t", 2200000, 0.1, 20.0)\nsay("t", 4400000, 0.2, 100.0)')
    with VirtualDevices(tmp_path, [IMAGE], [own_address()], "--shell", late, "--slow-down", 200) as devices:
        wait_until(lambda: "behind the stated pace" in devices.said(), 20, "the warning")
        assert "300 ms" in devices.said()
        (device,) = devices.devices
        wait_until(lambda: len(device.events("pace")) == 2, 20, "both words are in the log")
        assert [each["air_s"] for each in device.events("pace")] == [0.1, 0.2]
