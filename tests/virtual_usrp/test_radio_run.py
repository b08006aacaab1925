# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop run --backend radio` over virtual USRPs: the kernel's TCP over hops of gateware and air, beside a simulation.

Everything is slowed down as much as is stated, and told in the radios' time. The simulator has no TCP at fidelity
samples; beside this stands its core, whose transmissions `make verify-bytes` and `make verify-samples` compare with
those of whole radios.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from ota.hosts import PROGRAM, missing
from perhop.registers.spec_generated import PROFILES, airtime_us
from waiting import wait_until

from .devices import ROOT, VirtualDevice
from .radio_hosts import RadioHosts

why = missing()
pytestmark = [pytest.mark.long, pytest.mark.uhd, pytest.mark.skipif(bool(why), reason=f"no hosts here: {why}")]

EXPERIMENT = ROOT / "sim/experiments/live_chain"
# The kernel's round trip is smoothed over eight, the first of which is the SYN's: short packets'.
SETTINGS = ("policies=[delay]", "seeds=[1]", "duration_s=1.25", "warmup_s=0.45", "outputs.interval_s=0.25")
HOPS = (1, 3)
SAMPLES_PER_US = 22
RTS_BYTES, CTS_BYTES = 20, 14
GOODPUT_SHARE = 0.1
MOST_BEHIND_S = 0.05
"""Of the measured 0.8 s: what is behind for a while is made up for."""


def response_gaps_us(device: VirtualDevice) -> list[float]:
    """From the last chip of each RTS to the first one of its CTS, by when front ends began to send.

    Both lead by the same time, and are known by how long they were on the air. Two RTS of one slot answer nobody.
    """
    rts_us, cts_us = (airtime_us(PROFILES["dsss_long"], 0, length) for length in (RTS_BYTES, CTS_BYTES))

    def lasts(each: dict, airtime: float) -> bool:
        return 0 < each["samples"] / SAMPLES_PER_US - airtime < 2

    sent = sorted(device.events("sent"), key=lambda each: each["first_sample"])
    gaps_us = []
    for one, other in itertools.pairwise(sent):
        gap_us = (other["first_sample"] - one["first_sample"]) / SAMPLES_PER_US - rts_us
        if lasts(one, rts_us) and lasts(other, cts_us) and other["node"] != one["node"] and gap_us < 20:
            gaps_us.append(gap_us)
    return gaps_us


def most_behind_s(device: VirtualDevice, slow_down: int) -> float:
    """By how much of their own time the radios were ever behind the pace that was stated."""
    return max(each["seconds"] / slow_down - each["air_s"] for each in device.events("pace"))


def test_gaps_are_of_responses_and_not_of_stations_that_began_in_one_slot():
    us = SAMPLES_PER_US
    sent = [
        {"node": 0, "first_sample": 0, "samples": 353 * us},
        {"node": 1, "first_sample": 362 * us, "samples": 305 * us},
        {"node": 0, "first_sample": 2000 * us, "samples": 353 * us},
        {"node": 2, "first_sample": 2000 * us + 9, "samples": 353 * us},
        {"node": 0, "first_sample": 3000 * us, "samples": 353 * us},
        {"node": 1, "first_sample": 3355 * us, "samples": 305 * us},
    ]

    class Told:
        def events(self, _: str) -> list[dict]:
            return sent

    assert response_gaps_us(Told()) == [10, 3], "a response that comes too early is one"


@pytest.fixture(params=HOPS, ids=lambda hops: f"{hops} hops")
def hosts(request) -> Iterator[RadioHosts]:
    with RadioHosts(EXPERIMENT, *SETTINGS, f"topology.hops={request.param}") as made:
        yield made


def simulated(out: Path, settings: list[str]) -> dict:
    """The same experiment in the simulator: its one flow."""
    words = ["run", EXPERIMENT, "--out", out, *(word for each in settings for word in ("--set", each))]
    subprocess.run([sys.executable, "-c", PROGRAM, *map(str, words)], check=True, capture_output=True)
    return flow_of(out)


def flow_of(out: Path) -> dict:
    (row,) = pq.read_table(out / "flows.parquet").to_pylist()
    return row


def test_tcp_over_virtual_radios_is_as_in_the_simulation(hosts, tmp_path, record_property):
    inventory = hosts.inventory()
    looked = hosts.perhop("doctor", "--inventory", inventory, "--experiment", EXPERIMENT)
    assert looked.returncode == 0, looked.stdout + looked.stderr
    assert looked.stdout.count("rfnoc: 02:00:00:00:00:0") == hosts.count, looked.stdout

    out = tmp_path / "radio"
    done = hosts.perhop(*hosts.run_words(out, inventory), timeout_s=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{hosts.slow_down} times slower than real ones" in done.stdout
    there = flow_of(out)
    behind_s = most_behind_s(hosts.device(0), hosts.slow_down)
    assert behind_s < MOST_BEHIND_S, "this machine is too slow for that pace"
    assert not any(hosts.device(index).events("too_long") for index in range(hosts.count))
    here = simulated(tmp_path / "sim", hosts.settings)
    assert there["goodput_bps"] == pytest.approx(here["goodput_bps"], rel=GOODPUT_SHARE)
    assert there["rtt_ms"] == pytest.approx(here["rtt_ms"], rel=GOODPUT_SHARE)
    columns = pq.read_table(out / "flows.parquet").column_names
    assert columns == pq.read_table(tmp_path / "sim" / "flows.parquet").column_names
    hops = {(each["from"], each["to"]): each for each in pq.read_table(out / "hops.parquet").to_pylist()}
    for each in pq.read_table(tmp_path / "sim" / "hops.parquet").to_pylist():
        measured = hops[each["from"], each["to"]]
        assert measured["service_time_us"] == pytest.approx(each["service_time_us"], rel=GOODPUT_SHARE), each
    (result,) = [json.loads(path.read_text()) for path in out.glob("runs/*/result.json")]
    assert (result["slow_down"], result["sum_mismatches"]) == (hosts.slow_down, 0)
    assert result["captured_packets"] > 2 * there["delivered_packets"]
    assert (out / "report.html").exists()
    gaps_us = response_gaps_us(hosts.device(0))
    assert len(gaps_us) > 20 and statistics.fmean(gaps_us) == pytest.approx(10, abs=0.1)
    chain = {
        "hops": hosts.count - 1,
        "goodput_bps": round(there["goodput_bps"]),
        "sim_goodput_bps": round(here["goodput_bps"]),
        "rtt_ms": round(there["rtt_ms"], 2),
        "sim_rtt_ms": round(here["rtt_ms"], 2),
        "sifs_us": round(statistics.fmean(gaps_us), 3),
        "sifs_us_least": round(min(gaps_us), 3),
        "sifs_us_most": round(max(gaps_us), 3),
        "slowdown": hosts.slow_down,
        "behind_s": round(behind_s, 4),
        "delivered_packets": there["delivered_packets"],
    }
    record_property("chain", json.dumps(chain))
    wait_until(lambda: not any(hosts.leftovers(index) for index in range(hosts.count)), 10, "hosts are as before")
