# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of radios by the real UHD: set at a pulse, carried by frames, missed when it ceases."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from waiting import wait_until

from .devices import BENCH_PYTHON, MODULE, ROOT, VirtualDevices, args, opened_link, own_address, plain_environment
from .test_faults import error_of

pytestmark = [pytest.mark.long, pytest.mark.uhd]

IMAGE = "e320_perhop_22"
TICKS_PER_S = 22_000_000
NODE = ROOT / "out" / "build" / "host" / "node" / "perhop-node"
TIMES = Path(__file__).with_name("device_times.py")
# Of a TSF against its radio's time: the medium's edges move it by up to four microseconds, and it tells whole ones. A
# frame is on the air a microsecond behind the MAC's word, by what modem and shell take.
TSF_WITHIN_US, ON_THE_AIR_US = 5, 1.2
# In which a call of UHD's is answered on a machine that does other work.
CALL_S = 0.1


def test_two_links_set_their_radios_to_one_second_and_what_comes_back_carries_it(tmp_path):
    addresses = [own_address(1), own_address(2)]
    with VirtualDevices(tmp_path, [IMAGE, "e310_perhop_22"], addresses) as usrps, ExitStack() as undo:
        links = [undo.enter_context(opened_link(args(device), 20, time_source="external")) for device in usrps.devices]
        told = [link.told() for link in links]
        for each in told:
            assert "error" not in each, each
            assert (each["right"], each["ticks_per_s"]) == (20, TICKS_PER_S)
            assert each["time"]["by_pulses"] and each["time"]["pulse_offset_us"] == 0
            # The second is that of the day, whatever the host's clock makes of its parts.
            assert abs(each["time"]["host_ahead_s"]) < CALL_S
            assert abs(each["ticks"] / TICKS_PER_S - time.time()) < 30
            # By UHD's header and by the shell's register it is the same clock.
            assert 0 < each["ticks"] - each["packet_ticks"] < TICKS_PER_S
        set_to = [
            [call["params"][1:] for call in device.events("call") if call["method"] == "set_timekeeper_time"][-1]
            for device in usrps.devices
        ]
        for keeper, ticks, at_pulse in set_to:
            assert keeper == 0 and at_pulse and ticks % TICKS_PER_S == 0
        for link in links:
            link.go_on()
            assert link.told()["trouble"] == ""


def test_without_a_pulse_a_link_refuses_and_says_what_to_do(start):
    error = error_of(args(start(IMAGE, 1, "--fault", "pulse")), 20, "external")
    assert "the radio's time source 'external' has given no pulse for 1.200 s: is it connected?" in error


def test_a_pulse_that_ceases_is_told_of_and_the_time_is_set_again_when_it_is_back(tmp_path):
    with VirtualDevices(tmp_path, [IMAGE], [own_address(1)]) as usrps:
        (device,) = usrps.devices
        with opened_link(args(device), time_source="gpsdo") as link:
            assert link.told()["time"]["by_pulses"]
            usrps.trouble("spoil", 0, "pulse")

            def trouble() -> str:
                link.go_on()
                return link.told()["trouble"]

            wait_until(lambda: bool(trouble()), 20, "the link says that pulses are missing", poll_s=0.3)
            assert "'gpsdo' has given no pulse for" in trouble() and "unplugged" in trouble()
        usrps.trouble("mend", 0, "pulse")
        with opened_link(args(device), time_source="gpsdo") as link:
            assert abs(link.told()["time"]["host_ahead_s"]) < CALL_S


def checked(device, folder, source="internal"):
    """What the daemon's driver says of a radio, as `perhop doctor --inventory` asks on each host."""
    driver = {
        "kind": "rfnoc", "args": args(device), "mac": "02:00:00:00:00:01", "frequency_hz": 2.412e9,
        "tx_delay_clocks": 67, "rx_delay_clocks": 30, "time_source": source,
    }  # fmt: skip
    config = folder / "node.json"
    config.write_text(json.dumps({"driver": driver}))
    return subprocess.run([NODE, "--check-driver", config], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("source", ["internal", "external"])
def test_the_doctors_question_for_a_radio_is_answered_with_its_time(start, tmp_path, source):
    done = checked(start(IMAGE), tmp_path, source)
    assert done.returncode == 0, done.stderr
    mac, radio_time = done.stdout.splitlines()[-2:]
    assert mac.startswith("02:00:00:00:00:01 dsss_long 2000000 b/s RTS")
    told = json.loads(radio_time)
    assert told["by_pulses"] == (source == "external") and abs(told["host_ahead_s"]) < CALL_S


def test_a_radio_whose_user_was_killed_a_moment_ago_answers_the_doctors_question(start, tmp_path):
    """Its claim lapses by itself: nobody has to wait, and to ask again."""
    device = start(IMAGE)
    with opened_link(args(device)) as link:
        link.told()
        link.kill()
        done = checked(device, tmp_path)
    assert done.returncode == 0, done.stderr
    refused = [each for each in device.events("call") if each["method"] == "claim" and each["error"]]
    assert refused, "it was claimed when it was asked first"


def test_with_the_internal_source_a_radio_has_its_hosts_time(start):
    with opened_link(args(start(IMAGE))) as link:
        told = link.told()
        assert not told["time"]["by_pulses"]
        assert abs(told["ticks"] / TICKS_PER_S - time.time()) < 30


def test_a_frames_end_is_the_same_by_the_senders_tsf_and_by_the_receivers_header(start_gateware):
    """Two shells with their modems, times set at one pulse: each two milliseconds of the air, since it is slow."""
    one, two = start_gateware([IMAGE, "e310_perhop_22"], None, "--pulse-s", "0.002")
    done = subprocess.run(
        [BENCH_PYTHON, TIMES, args(one), args(two), "10"],
        capture_output=True, text=True, timeout=300, env=plain_environment() | {"UHD_MODULE_PATH": str(MODULE)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    later_us = json.loads(done.stdout.splitlines()[-1])["later_us"]
    print("later by", [f"{each:.2f}" for each in later_us], "us")
    assert len(later_us) == 10
    for each in later_us:
        assert -TSF_WITHIN_US <= each <= TSF_WITHIN_US + ON_THE_AIR_US, later_us
