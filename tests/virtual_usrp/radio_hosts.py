# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts of an experiment with virtual USRPs: those of tests/ota, each with the driver of radios and its device.

controller --- bridge --- host 0 .. host 3        (namespaces; nothing outside of them is touched)
                 |
     virtual USRPs, an address each, Verilated gateware behind them, air between them
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ota.hosts import Hosts
from perhop.live import namespaces
from perhop.live.plan import make_node

from .bench_steps import RX_DELAY_CLOCKS, TX_DELAY_CLOCKS
from .devices import VirtualDevice, VirtualDevices, pace, shell

IMAGE = "e320_perhop_22"
LOSS_AT_FIRST_HOP_DB = 24.0
# Of two hops, by the two-ray ground model of the simulator's chains: four times the logarithm of the distance.
LOSS_OF_TWO_HOPS_DB = LOSS_AT_FIRST_HOP_DB + 40 * math.log10(2)


class RadioHosts(Hosts):
    """Use as a context manager. `slow_down`, what this machine keeps, is stated to devices and hosts alike."""

    def __init__(self, experiment: Path, *settings: str) -> None:
        super().__init__(experiment, *settings)
        self.slow_down = pace.to_state(pace.kept(shell(IMAGE), self.count), self.count)
        self.usrps: VirtualDevices | None = None

    def device_address(self, index: int) -> str:
        return f"192.168.77.{101 + index}"

    def device(self, index: int) -> VirtualDevice:
        assert self.usrps
        return self.usrps.devices[index]

    def start_medium(self) -> None:
        """The devices are up, and what is between them: neighbours of the chain hear each other, next ones weaker."""
        links = [
            {"between": [one, other], "loss_db": LOSS_AT_FIRST_HOP_DB if other == one + 1 else LOSS_OF_TWO_HOPS_DB}
            for one in range(self.count)
            for other in range(one + 1, min(one + 3, self.count))
        ]
        air = self.folder / "air.yml"
        air.write_text(json.dumps({"links": links}))
        for index in range(self.count):
            self.plug_device(index)
        controller = ("nsenter", f"--net=/run/netns/{self.name}-c")
        addresses = [self.device_address(index) for index in range(self.count)]
        options = ("--shell", shell(IMAGE), "--slow-down", self.slow_down, "--air", air)
        self.usrps = VirtualDevices(self.folder, [IMAGE] * self.count, addresses, *options, within=controller)
        self.usrps.__enter__()

    def stop_medium(self) -> None:
        if self.usrps:
            self.usrps.__exit__(None, None, None)
            self.usrps = None

    def plug_device(self, index: int, plugged: bool = True) -> None:
        """The device's cable to its host."""
        word = "add" if plugged else "del"
        self._ip([f"addr {word} {self.device_address(index)}/24 dev br0"], self.name + "-c")

    def radio(self, index: int) -> dict[str, Any]:
        """Of the inventory."""
        return {
            "kind": "rfnoc", "args": f"addr={self.device_address(index)},master_clock_rate=22e6",
            "mac": make_node("radio", index).mac, "frequency_hz": 2.412e9, "tx_gain_db": 40, "rx_gain_db": 40,
            "rts_threshold_bytes": 0, "tx_delay_clocks": TX_DELAY_CLOCKS, "rx_delay_clocks": RX_DELAY_CLOCKS,
            "energy_threshold_dbm": -80,
        }  # fmt: skip

    def inventory(self, file: str = "hosts.yml", **changes: Any) -> Path:
        own = changes.pop("nodes", {})
        nodes = {index: {"radio": self.radio(index), **own.get(index, {})} for index in range(self.count)}
        path = super().inventory(file, nodes=nodes, **changes)
        path.write_text(json.dumps({**json.loads(path.read_text()), "slow_down": self.slow_down}, indent=1))
        return path

    def daemon(self, index: int) -> int:
        """The process of the daemon on a host."""
        for pid in namespaces.processes(self.namespace(index)):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "perhop-node":
                return pid
        raise AssertionError(f"no daemon on host {index}")
