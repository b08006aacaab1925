# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual devices for tests, each a process on an address of the loopback; and programs of UHD that open them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "hw"), str(ROOT / "hw" / "images")]

from image_cores import image_cores  # noqa: E402
from virtual_usrp import (  # noqa: E402
    air_links,
    call_log,
    chdr,
    client_zero,
    device,
    discovery,
    image_core,
    mpm,
    pace,
    perhop_shell,
    radio_block,
    rpc,
    sample_source,
    stream_endpoint,
    timekeeper,
    troubles,
    uhd_versions,
)
from virtual_usrp.ad9361 import Ad9361  # noqa: E402
from waiting import wait_until  # noqa: E402

__all__ = ["air_links", "chdr", "client_zero", "device", "discovery", "image_core", "mpm"]
__all__ += [
    "pace",
    "perhop_shell",
    "radio_block",
    "rpc",
    "sample_source",
    "stream_endpoint",
    "timekeeper",
    "troubles",
    "uhd_versions",
]

BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
GNURADIO_PYTHON = ROOT / ".venv-gnuradio" / "bin" / "python"
MODULE = ROOT / "out" / "build" / "host" / "node" / "perhop_uhd_module.so"
OPEN_LINK = ROOT / "out" / "build" / "host" / "node" / "tests" / "uhd" / "perhop_uhd_open"
BRINGUP = ROOT / "hw" / "bringup" / "bringup.py"
CLIENT = Path(__file__).with_name("graph_client.py")
E3XX = {name: core for name, core in image_cores().items() if core["device"] in ("e310", "e320")}
BEFORE = {
    path.stem.removesuffix("_before"): path for path in sorted(Path(__file__).with_name("images").glob("*_before.yml"))
}


def shell(name: str) -> Path:
    """The program with the gateware of an image."""
    return ROOT / f"out/build/hw/virtual_usrp/shell/perhop-virtual-shell-{name.split('_')[2]}"


def own_address(number: int = 1) -> str:
    """Of the loopback, and of no other process that runs these tests."""
    return f"127.{64 + os.getpid() // 250 % 128}.{1 + os.getpid() % 250}.{number}"


def missing() -> str:
    """Why UHD cannot open a device here; empty where it can."""
    for path in (
        Path("/usr/bin/uhd_usrp_probe"),
        BENCH_PYTHON,
        MODULE,
        OPEN_LINK,
        shell("e320_perhop_22"),
        shell("e320_perhop_44"),
    ):
        if not path.exists():
            return f"there is no {path}: `make virtual-usrp` installs UHD and builds what opens devices by it"
    return ""


def clock_rate_hz(name: str) -> float:
    """The master clock rate that an image wants, from its name: e320_perhop_22 is 22e6."""
    return float(name.split("_")[2]) * 1e6


class VirtualDevice:
    """One device of a process that plays it, and what it was asked."""

    def __init__(self, process: VirtualDevices, address: str, log: Path) -> None:
        self.address, self._process, self._log = address, process, log

    def stop(self) -> None:
        self._process.stop()

    def said(self) -> str:
        return self._process.said()

    def events(self, kind: str) -> list[dict]:
        return [event for event in call_log.read(self._log) if event["kind"] == kind]

    def codec(self) -> Ad9361:
        """The AD9361 as UHD's last call left it."""
        last = self.events("codec")[-1]
        return Ad9361(**{name: last[name] for name in Ad9361.__dataclass_fields__})


class VirtualDevices:
    """A process with a device for each image core: its name, or its file. `within` is what comes before its command."""

    def __init__(
        self,
        folder: Path,
        images: list[str | Path],
        addresses: list[str],
        *options: object,
        within: tuple[str, ...] = (),
    ) -> None:
        log = folder / f"{addresses[0]}.jsonl"
        logs = [log, *(log.with_stem(f"{log.stem}-{number}") for number in range(2, len(images) + 1))]
        self.devices = [VirtualDevice(self, address, path) for address, path in zip(addresses, logs, strict=True)]
        paths = [image if isinstance(image, Path) else folder / f"{image}.yml" for image in images]
        for image, path in zip(images, paths, strict=True):
            if not isinstance(image, Path):
                path.write_text(json.dumps(image_cores()[image]))
        self._output = (folder / f"{addresses[0]}.txt").open("w+")
        places = [word for address in addresses for word in ("--address", address)]
        command = [
            *within,
            sys.executable,
            ROOT / "hw/virtual_usrp",
            *paths,
            *places,
            "--log",
            log,
            "--troubles",
            *options,
        ]
        self._process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=self._output, stderr=subprocess.STDOUT
        )

    def __enter__(self) -> VirtualDevices:
        wait_until(lambda: self.said().count("virtual e3") == len(self.devices) or self._process.poll() is not None, 20)
        assert self._process.poll() is None, self.said()
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self._output.close()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def said(self) -> str:
        return Path(self._output.name).read_text()

    def trouble(self, *words: object) -> None:
        """Makes something go wrong: `lose 0`, as hw/virtual_usrp/troubles.py has it."""
        assert self._process.stdin
        self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self._process.stdin.flush()


def args(device: VirtualDevice, name: str = "e320_perhop_22") -> str:
    """Which device, as UHD's programs take it."""
    return f"addr={device.address},master_clock_rate={clock_rate_hz(name):g}"


def plain_environment() -> dict[str, str]:
    """This one, in which UHD knows no module of ours."""
    return {name: value for name, value in os.environ.items() if name != "UHD_MODULE_PATH"}


class Held:
    """A program that opens a device, tells each step as a JSON object, and holds it until it is told to go on."""

    def __init__(self, command: list[str | Path], **environment: str) -> None:
        self._process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=plain_environment() | environment,
        )  # fmt: skip

    def __enter__(self) -> Held:
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate("\n\n", timeout=30)

    def told(self) -> dict:
        """What it says of the next step; where it fails, `error` alone."""
        assert self._process.stdout and self._process.stderr
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                return json.loads(line)
        return {"error": self._process.stderr.read()}

    def kill(self) -> None:
        """It has no time to give the device back."""
        self._process.kill()
        self._process.wait()

    def go_on(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()


def opened_graph(radio_args: str, rx: str = "", tx: str = "", module: bool = False) -> Held:
    """UHD's graph with streams at those ports of the radio block; with our block controller or without."""
    environment = {"UHD_MODULE_PATH": str(MODULE)} if module else {}
    return Held([BENCH_PYTHON, CLIENT, radio_args, f"rx={rx}", f"tx={tx}"], **environment)


def opened_link(
    radio_args: str, packets: int = 0, burst: int = 1, packet_bytes: int = 0, time_source: str = "internal"
) -> Held:
    """The daemon's link, after it has sent packets that come back; 0 bytes: of all lengths."""
    return Held([OPEN_LINK, radio_args, str(packets), str(burst), str(packet_bytes), time_source])
