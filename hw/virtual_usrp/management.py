# SPDX-License-Identifier: GPL-2.0-or-later
"""The way of a management packet through the core: transport, crossbar, stream endpoint.

UHD discovers a device by it, gives endpoints their addresses, sets routes and endpoints' registers. Each node does the
operations of the first hop; what it answers goes into the next one, which the host left nearly empty for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from .chdr import Management, Operation
from .stream_endpoint import StreamEndpoint


class NodeType(IntEnum):
    """Of a node that a management packet can visit."""

    CROSSBAR = 1
    ENDPOINT = 2
    TRANSPORT = 3


IPV4 = 1
HOST_PORT = 0
"""Of the crossbar: where packets of the transport come in."""


class Core:
    """Transport and crossbar, with the endpoints behind them."""

    def __init__(self, endpoints: Sequence[StreamEndpoint], tell: Callable[..., None]) -> None:
        """`tell` is told what a packet asked for, for the log."""
        self._endpoints, self._tell = endpoints, tell
        self.device_id = 0
        self.routes: dict[int, int] = {}

    def endpoint_of(self, epid: int) -> StreamEndpoint | None:
        """Where a packet to that EPID goes."""
        at = self.routes.get(epid, 0) - 1
        if 0 <= at < len(self._endpoints) and self._endpoints[at].epid == epid:
            return self._endpoints[at]
        return None

    def visit(self, request: Management, advertise: Callable[[int], None]) -> Management | None:
        """Sends a packet through the nodes. Returns the answer to the request's source; None: it was lost.

        `advertise` is told an EPID that is at the host from which the packet came.
        """
        node, endpoint, hops, said = NodeType.TRANSPORT, None, list(request.hops), []
        while hops:
            hop, hops = hops[0], hops[1:]
            port, returns, answers = None, False, []
            for operation, payload in hop:
                address, word = payload & 0xFFFF, payload >> 16
                if operation == Operation.RETURN:
                    returns = True
                elif operation == Operation.SELECT_DESTINATION:
                    port = payload & 0x3FF
                elif operation == Operation.ADVERTISE:
                    advertise(request.source)
                elif operation == Operation.INFO_REQUEST:
                    answers.append((Operation.INFO_RESPONSE, self._information(node, endpoint)))
                elif operation == Operation.CONFIG_WRITE:
                    self._write(node, endpoint, address, word)
                elif operation == Operation.CONFIG_READ:
                    read = self._read(node, endpoint, address)
                    answers.append((Operation.CONFIG_READ_RESPONSE, address | read << 16))
                if operation != Operation.NOP:
                    said.append(f"{node.name.lower()} {operation.name.lower()} {payload:#x}")
            if answers and hops:
                hops[0] = [*hops[0], *answers]
            if returns:
                self._tell("management", source=request.source, asked=said)
                source = endpoint.epid if endpoint else 0
                return Management(request.protocol_version, request.width_code, source, hops)
            if node == NodeType.TRANSPORT:
                node = NodeType.CROSSBAR
            elif node == NodeType.CROSSBAR and port is not None and 1 <= port <= len(self._endpoints):
                node, endpoint = NodeType.ENDPOINT, self._endpoints[port - 1]
            else:
                break
        self._tell("lost", what="management packet", source=request.source, asked=said)
        return None

    def _information(self, node: NodeType, endpoint: StreamEndpoint | None) -> int:
        instance, more = 0, IPV4
        if node == NodeType.CROSSBAR:
            instance, more = HOST_PORT, 1 << 8 | (1 + len(self._endpoints))
        elif endpoint:
            instance, more = self._endpoints.index(endpoint), endpoint.information
        return self.device_id | node << 16 | instance << 20 | more << 30

    def _write(self, node: NodeType, endpoint: StreamEndpoint | None, address: int, word: int) -> None:
        if node == NodeType.CROSSBAR:
            self.routes[address] = word
        elif endpoint:
            endpoint.write(address, word)

    def _read(self, node: NodeType, endpoint: StreamEndpoint | None, address: int) -> int:
        if node == NodeType.CROSSBAR:
            return self.routes.get(address, 0)
        return endpoint.read(address) if endpoint else 0
