# SPDX-License-Identifier: GPL-2.0-or-later
"""MessagePack-RPC over TCP: UHD has several connections at a time, one that keeps its claim and one for calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgpack

from .mpm import CallError

PORT = 49601
REQUEST, RESPONSE = 0, 1


class RpcServer:
    """Answers requests by a function of method and parameters; an error of a call is the caller's."""

    def __init__(self, call: Callable[[str, list], object], tell: Callable[..., None]) -> None:
        self._call, self._tell = call, tell

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it ends."""
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
        try:
            while received := await reader.read(1 << 16):
                unpacker.feed(received)
                for message in unpacker:
                    if answer := self.answer(message):
                        writer.write(answer)
        except ConnectionError:
            pass  # whoever called is gone
        except (ValueError, msgpack.UnpackException) as error:
            self._tell("lost", what="connection", why=str(error))
        finally:
            writer.close()

    def answer(self, message: object) -> bytes | None:
        """The bytes that answer a message; None for one that is no request."""
        if not isinstance(message, list) or len(message) != 4 or message[0] != REQUEST:
            self._tell("lost", what="message", message=repr(message)[:200])
            return None
        _, number, method, params = message
        result = error = None
        try:
            result = self._call(method, params)
        except CallError as problem:
            error = str(problem)
        self._tell("call", method=method, params=params, result=result, error=error)
        return msgpack.packb([RESPONSE, number, error, result])
