# SPDX-License-Identifier: GPL-2.0-or-later
"""Two virtual devices with gateware behind them and air between: SIFS as the bench guide has it, and two daemons."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from waiting import wait_until

from .bench_steps import DELAYS, ON_AIR, RX_DELAY_CLOCKS, SHORT, TX_DELAY_CLOCKS, done_step, step_command
from .conftest import StartAll
from .devices import ROOT, VirtualDevice, args, plain_environment

pytestmark = [pytest.mark.long, pytest.mark.uhd]


def test_two_radios_measure_sifs_and_turnaround_as_the_guide_prints_it(start_gateware, tmp_path):
    """Radio two is an E310, whose chain was the wrong one."""
    one, two = start_gateware(["e320_perhop_22", "e310_perhop_22"])
    hears = ["--rx-gain", "40"]
    command = step_command("station", "--args", args(two), *ON_AIR, *hears, "--address", "02:00:00:00:00:02", *DELAYS)
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as station,
        ExitStack() as undo,
    ):
        undo.callback(station.kill)  # else whatever goes wrong below waits for it for ever
        assert station.stdout and "answers" in station.stdout.readline()
        iq = tmp_path / "recording.iq"
        done = done_step("calibrate", "--args", args(one), *ON_AIR, *hears, *DELAYS, *SHORT, "--save-iq", iq)
        station.send_signal(signal.SIGINT)
        heard, _ = station.communicate(timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert station.returncode == 0 and "ok   frames heard" in heard, heard
    done = done_step("turnaround", "--iq", iq)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def hosts(*names: str) -> Iterator[dict[str, str]]:
    """Network namespaces, each with a cable to this one; the address at this end."""
    with ExitStack() as undo:
        addresses = {}
        for number, name in enumerate(names, 1):
            net = f"10.{98 + os.getpid() % 100}.{number}"
            addresses[name] = f"{net}.1"

            def ip(*words: str) -> None:
                subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

            ip("netns", "add", name)
            undo.callback(ip, "netns", "del", name)
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("addr", "add", f"{net}.1/24", "dev", name)
            ip("link", "set", name, "up")
            ip("-n", name, "addr", "add", f"{net}.2/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                ip("-n", name, "link", "set", device, "up")
        yield addresses


def node_file(folder: Path, number: int, radio: VirtualDevice) -> Path:
    """A daemon's configuration, as the guide has it."""
    other, path = 3 - number, folder / f"node-{number}.yaml"
    path.write_text(
        json.dumps(
            {
                "name": f"node-{number}",
                "interface": "radio0",
                "addresses": [f"10.70.0.{number}/24"],
                "driver": {
                    "kind": "rfnoc", "args": args(radio), "mac": f"02:00:00:00:00:0{number}", "frequency_hz": 2.412e9,
                    "tx_gain_db": 40, "rx_gain_db": 40, "tx_delay_clocks": TX_DELAY_CLOCKS,
                    "rx_delay_clocks": RX_DELAY_CLOCKS, "energy_threshold_dbm": -80,
                },
                "neighbours": {f"10.70.0.{other}": f"02:00:00:00:00:0{other}"},
            }
        )
    )  # fmt: skip
    return path


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="daemons need root and /dev/net/tun"
)


@contextmanager
def daemons_on_radios(
    start_gateware: StartAll, folder: Path
) -> Iterator[tuple[list[str], list[VirtualDevice], list[subprocess.Popen]]]:
    """Two daemons that are up, on an E320 and an E310: their network namespaces, radios and processes."""
    names = [f"vu{os.getpid()}-{number}" for number in (1, 2)]
    with hosts(*names) as addresses, ExitStack() as undo:
        radios = start_gateware(["e320_perhop_22", "e310_perhop_22"], list(addresses.values()))
        daemons, logs = [], []
        for number, (name, radio) in enumerate(zip(names, radios, strict=True), 1):
            logs.append(folder / f"node-{number}.log")
            runtime = folder / name
            runtime.mkdir()
            daemons.append(
                subprocess.Popen(
                    ["ip", "netns", "exec", name, Path(sys.executable).with_name("perhop"), "node",
                     node_file(folder, number, radio)],
                    stdout=logs[-1].open("w"), stderr=subprocess.STDOUT, cwd=ROOT,
                    env=plain_environment() | {"RUNTIME_DIRECTORY": str(runtime)},
                )
            )  # fmt: skip
            undo.callback(daemons[-1].wait, 20)
            undo.callback(daemons[-1].terminate)
        for log in logs:
            wait_until(lambda log=log: "mac_up" in log.read_text(), 60, "the MAC is up")
        yield names, radios, daemons
        assert not [log.read_text() for log in logs if "mac_problem" in log.read_text()]


@needs_root
def test_the_kernels_packets_go_over_two_daemons_and_two_radios(start_gateware, tmp_path):
    with daemons_on_radios(start_gateware, tmp_path) as (names, _, _):
        done = subprocess.run(
            ["ip", "netns", "exec", names[0], "ping", "-c", "5", "-i", "2", "-W", "20", "10.70.0.2"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert re.search(r"5 packets transmitted, 5 received", done.stdout), done.stdout
