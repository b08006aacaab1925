# SPDX-License-Identifier: GPL-2.0-or-later
"""The modem of one node, in the network namespace of that node."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import Any

from perhop import privileges
from perhop.dlep.modem import Modem, ModemConfig, say
from perhop.errors import PerhopError
from perhop.export.asker import Asker
from perhop.export.nodes import NodeSocket
from perhop.live import network


def run(node: NodeSocket, config: ModemConfig, user: str = privileges.NOBODY) -> None:
    """Until SIGINT or SIGTERM, as `user` where root has started it. Raises PerhopError."""
    become = privileges.account(user)
    ask = Asker([node])
    if node.network is not None:
        _enter(node)

    def probe() -> dict[str, Any]:
        (told,) = ask()
        if isinstance(told, PerhopError):
            raise told
        return told

    modem = Modem(config, probe)
    modem.open()
    privileges.drop(become)

    async def serve() -> None:
        task = asyncio.create_task(modem.run(lambda: say(_greeting(node, config))))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(serve())


def _greeting(node: NodeSocket, config: ModemConfig) -> str:
    where = ", ".join(config.addresses)
    found = f", discovery on {config.interface}" if config.interface else ""
    whom = f", routers {', '.join(config.routers)} only" if config.routers else ""
    return f"DLEP modem of node {node.label}: port {config.port} at {where}{found}{whom}"


def _enter(node: NodeSocket) -> None:
    """Moves this process into the network namespace of a node of a live network."""
    state = network.read_state(node.network or "")
    namespace = network.node_of(state, node.label)["namespace"]
    try:
        descriptor = os.open(f"/run/netns/{namespace}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _setns(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise PerhopError(
            f"the namespace of node {node.label} cannot be entered: {error.strerror}", "run the command as root"
        ) from error


def _setns(descriptor: int) -> None:
    """setns(2), which Python has from 3.12 on."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    clone_newnet = 0x4000_0000
    if libc.setns(descriptor, clone_newnet) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
