# SPDX-License-Identifier: GPL-2.0-or-later
"""The sockets of a virtual device, and the command that starts one."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from perhop.errors import PerhopError

from . import discovery, rpc
from .call_log import CallLog
from .device import Device
from .image_core import ImageCore, load
from .mpm import COMPAT, Identity, Mpm

CHDR_PORT = 49153
BUFFER_BYTES = 4 << 20


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
        compat: tuple[int, int] = COMPAT,
    ) -> None:  # fmt: skip
        self.address, self._log = address, log
        self._chdr: asyncio.DatagramTransport | None = None
        self._discovery: asyncio.DatagramTransport | None = None
        self.device = Device(image, clock_rate_hz, self._send, log.tell)
        identity = Identity(image.device, image.product, serial, f"virtual-{serial}", address, CHDR_PORT)
        self._mpm = Mpm(identity, self.device.codec, self.device.set_device_id, self.device.ticks, compat)

    def _send(self, raw: bytes, host: tuple[str, int]) -> None:
        if self._chdr:
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
    parser.add_argument("image", type=Path, help="an image core's file; `hw/images/image_cores.py NAME` prints one")
    parser.add_argument("--address", default="127.0.0.2", help="of this host, and of no other device (%(default)s)")
    parser.add_argument("--serial", default="VIRTUAL1")
    parser.add_argument("--master-clock-rate", type=float, default=22e6, help="until UHD sets one; hertz (%(default)g)")
    parser.add_argument("--mpm-compat", default=".".join(map(str, COMPAT)), help="that it says it has (%(default)s)")
    parser.add_argument("--log", type=Path, help="where to write what was asked and answered, a JSON object a line")
    found = parser.parse_args(arguments)
    try:
        major, minor = found.mpm_compat.split(".")
        found.mpm_compat = (int(major), int(minor))
    except ValueError:
        parser.error(f"--mpm-compat {found.mpm_compat}: give two numbers, such as 4.2")
    return found


async def run(options: argparse.Namespace, image: ImageCore, log: CallLog) -> None:
    usrp = VirtualUsrp(
        image, options.address, options.serial, options.master_clock_rate, log, options.mpm_compat
    )  # fmt: skip
    task = asyncio.ensure_future(
        usrp.serve(lambda: print(f"virtual {image.device} with {image.name} at {options.address}", flush=True))
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        image = load(options.image)
        log = CallLog(options.log)
        try:
            asyncio.run(run(options, image, log))
        finally:
            log.close()
    except PerhopError as error:
        print(f"virtual_usrp: {error}", file=sys.stderr)
        return 2
    return 0
