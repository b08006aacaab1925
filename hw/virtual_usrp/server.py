# SPDX-License-Identifier: GPL-2.0-or-later
"""The sockets of a virtual device, and the command that starts one."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from perhop.errors import PerhopError

from . import air_links, discovery, pace, rpc, troubles
from .ad9361 import Ad9361
from .call_log import CallLog
from .device import Device, PerhopModel
from .image_core import Block, ImageCore, load
from .mpm import FAULTS, Identity, Mpm
from .perhop_shell import ShellAir
from .perhop_stand_in import PerhopStandIn
from .sample_source import SendOut
from .timekeeper import PULSE_S, Pulses
from .uhd_versions import GRPC, USUAL, VERSIONS, UhdVersion

CHDR_PORT = 49153
BUFFER_BYTES = 4 << 20
NOT_OPENED = (
    "MPM's calls go by gRPC from that version on, which this device does not speak: UHD finds it, and cannot open it; "
    "take a version of up to 4.10"
)
# So that no two devices have internal pulses at once.
GOLDEN = 0.618


class Datagrams(asyncio.DatagramProtocol):
    """Gives each datagram to a function, with a way to answer."""

    def __init__(self, received: Callable[[bytes, tuple[str, int]], None]) -> None:
        self._received = received

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._received(data, addr)


class VirtualUsrp:
    """One device on one address of the loopback."""

    def __init__(
        self, image: ImageCore, address: str, serial: str, clock_rate_hz: float, log: CallLog,
        compat: tuple[int, int] | None = None, air: ShellAir | None = None, late_s: float = 0.0,
        faults: frozenset[str] = frozenset(), pulses: Pulses | None = None,
        version: UhdVersion = USUAL,
    ) -> None:  # fmt: skip
        """`air` has the gateware behind perhop's block; without it packets come back as they went."""
        self.address, self._log, self._late_s = address, log, late_s
        self._chdr: asyncio.DatagramTransport | None = None
        self._discovery: asyncio.DatagramTransport | None = None

        def make_perhop(block: Block, send: SendOut, codec: Ad9361, ticks: Callable[[], int]) -> PerhopModel:
            return air.add(block, send, codec, image.device) if air else PerhopStandIn(block, send, ticks)

        self.device = Device(image, clock_rate_hz, self._send, log.tell, make_perhop, pulses=pulses, version=version)
        identity = Identity(image.device, image.product, serial, f"virtual-{serial}", address, CHDR_PORT)
        self._mpm = Mpm(
            identity,
            self.device.codec,
            self.device.set_device_id,
            self.device.timekeeper,
            compat,
            faults=faults,
            version=version,
        )

    def lose_packet(self) -> None:
        self.device.lose_packet()

    def hold_streams(self, held: bool) -> None:
        self.device.hold_streams(held)

    def spoil(self, fault: str, spoilt: bool) -> None:
        self._mpm.spoil(fault, spoilt)

    def _send(self, raw: bytes, host: tuple[str, int]) -> None:
        if len(raw) > discovery.LONGEST_ECHO_BYTES:
            # The FPGA cuts no datagram into IP's fragments, and the host's Ethernet drops a longer frame.
            self._log.tell("too_long", bytes=len(raw))
        elif self._chdr and self._late_s:
            asyncio.get_running_loop().call_later(self._late_s, self._chdr.sendto, raw, host)
        elif self._chdr:
            self._chdr.sendto(raw, host)

    def _discovered(self, request: bytes, host: tuple[str, int]) -> None:
        if (answer := discovery.answer(request, self._mpm.info)) and self._discovery:
            self._discovery.sendto(answer, host)

    def _call(self, method: str, params: list) -> object:
        before = self.device.codec.as_dict()
        result = self._mpm.call(method, params)
        after = self.device.codec.as_dict()
        if before != after:
            self._log.tell("codec", **after)
            self.device.front_end_changed()
        return result

    async def serve(self, ready: Callable[[], None]) -> None:
        """Until it is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            self._discovery, _ = await loop.create_datagram_endpoint(
                lambda: Datagrams(self._discovered), (self.address, discovery.PORT)
            )
            self._chdr, _ = await loop.create_datagram_endpoint(
                lambda: Datagrams(self.device.datagram), (self.address, CHDR_PORT)
            )
            calls = rpc.RpcServer(self._call, self._log.tell)
            server = await asyncio.start_server(calls.serve, self.address, rpc.PORT)
        except OSError as error:
            raise PerhopError(
                f"--address {self.address}: {error}",
                "give each device an address of its own of this host: 127.0.0.2, 127.0.0.3",
            ) from error
        async with server:
            ready()
            try:
                await server.serve_forever()
            finally:
                self._log.tell("end", codec=self.device.codec.as_dict(), streams=self.device.streams())


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="virtual_usrp", description=__doc__)
    parser.add_argument(
        "images", type=Path, nargs="+", metavar="image",
        help="an image core's file, one for each device; `hw/images/image_cores.py NAME` prints one",
    )  # fmt: skip
    parser.add_argument(
        "--address", action="append", default=[], help="of this host, one for each device (127.0.0.2, 127.0.0.3, ...)"
    )
    parser.add_argument("--master-clock-rate", type=float, default=22e6, help="until UHD sets one; hertz (%(default)g)")
    parser.add_argument(
        "--uhd", choices=VERSIONS, default=USUAL.name, help="for which version of UHD it is a device (%(default)s)"
    )
    parser.add_argument("--mpm-compat", help="that it says it has: a fault, such as 9.0")
    parser.add_argument("--late-s", type=float, default=0.0, help="by which each packet of its own is late: a fault")
    parser.add_argument(
        "--fault", action="append", default=[], choices=FAULTS, help="what of the front end is not as it was told"
    )
    parser.add_argument(
        "--shell", type=Path, help="the gateware's program, out/build/hw/virtual_usrp/shell/perhop-virtual-shell-22"
    )
    parser.add_argument(
        "--slow-down", type=float, default=0.0, help="how many times slower than radios; 0: as fast as it can"
    )
    parser.add_argument(
        "--pace", action="store_true", help="measure which slow-down this machine keeps with these devices, and end"
    )
    parser.add_argument(
        "--pulse-s", type=float, default=PULSE_S,
        help="of the air's time, between pulses of the time sources external and gpsdo (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--air", type=Path, help=f"which devices hear each other, all without it; a file: {air_links.EXAMPLE}"
    )
    parser.add_argument(
        "--troubles", action="store_true", help=f"makes what its input asks for, a line each: {troubles.EXAMPLE}"
    )
    parser.add_argument("--log", type=Path, help="where to write what was asked and answered, a JSON object a line")
    found = parser.parse_args(arguments)
    if found.pulse_s <= 0:
        parser.error("--pulse-s: give more than 0")
    if found.pace and not found.shell:
        parser.error("--pace measures gateware: give --shell, too")
    found.address = found.address or [f"127.0.0.{number}" for number in range(2, 2 + len(found.images))]
    if len(found.address) != len(found.images):
        parser.error(f"--address: there are {len(found.images)} devices and {len(found.address)} addresses")
    try:
        if found.mpm_compat:
            major, minor = found.mpm_compat.split(".")
            found.mpm_compat = (int(major), int(minor))
    except ValueError:
        parser.error(f"--mpm-compat {found.mpm_compat}: give two numbers, such as 4.2")
    return found


async def run(options: argparse.Namespace, images: list[ImageCore], logs: list[CallLog]) -> None:
    """All devices, until the process is told to end or one cannot go on."""
    links = air_links.load(options.air, len(images)) if options.air else air_links.AirLinks()
    tell = logs[0].tell
    air = ShellAir(options.shell, options.slow_down, tell, links, options.pulse_s) if options.shell else None
    usrps = [
        VirtualUsrp(
            image, address, f"VIRTUAL{number}", options.master_clock_rate, log, options.mpm_compat, air, options.late_s,
            frozenset(options.fault), Pulses(options.pulse_s, own_phase=number * GOLDEN % 1),
            VERSIONS[options.uhd],
        )
        for number, (image, address, log) in enumerate(zip(images, options.address, logs, strict=True), 1)
    ]  # fmt: skip
    here = asyncio.current_task()
    assert here
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, here.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as parts:
            for usrp, image in zip(usrps, images, strict=True):
                parts.create_task(usrp.serve(functools.partial(tell_ready, usrp, image)))
            if air:
                parts.create_task(air.run())
            if options.troubles:
                parts.create_task(troubles.follow(usrps))


def tell_ready(usrp: VirtualUsrp, image: ImageCore) -> None:
    print(f"virtual {image.device} with {image.name} at {usrp.address}", flush=True)


def tell_pace(program: Path, devices: int) -> None:
    """What the machine keeps, and what to state."""
    kept = pace.kept(program, devices)
    many = "1 device" if devices == 1 else f"{devices} devices"
    told = f"1/{kept:.0f} of real time beside this machine's other work"
    print(f"{many}: {told}; state --slow-down {pace.to_state(kept, devices)}")


def log_paths(path: Path | None, count: int) -> list[Path | None]:
    """One log for each device: calls.jsonl, calls-2.jsonl, ..."""
    if path is None:
        return [None] * count
    return [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, count + 1))]


def main(arguments: list[str]) -> int:
    options, failed = parse(arguments), False
    if VERSIONS[options.uhd].rpc == GRPC:
        print(f"virtual_usrp: --uhd {options.uhd}: {NOT_OPENED}", file=sys.stderr)
    with contextlib.ExitStack() as logs:
        try:
            images = [load(path) for path in options.images]
            if options.pace:
                tell_pace(options.shell, len(images))
                return 0
            paths = log_paths(options.log, len(images))
            asyncio.run(run(options, images, [logs.enter_context(contextlib.closing(CallLog(path))) for path in paths]))
        except* PerhopError as problems:
            failed = True
            print(f"virtual_usrp: {problems.exceptions[0]}", file=sys.stderr)
    return 2 if failed else 0
