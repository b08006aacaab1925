# SPDX-License-Identifier: GPL-2.0-or-later
"""A device: an image core's endpoints, blocks and registers behind one UDP port. It never waits and never simulates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol

from . import chdr
from .ad9361 import Ad9361
from .chdr import Control, Kind, Management, Packet, PacketError
from .client_zero import ClientZero
from .image_core import RADIO_NOC_ID, Block, ImageCore
from .management import Core
from .perhop_stand_in import PerhopStandIn
from .radio_block import RadioBlock
from .registers import COMMAND_ERROR, ControlPort
from .sample_source import Converter, Deliver, SendOut, Taken, silence
from .stream_endpoint import StreamEndpoint
from .timekeeper import ClockTimekeeper, Pulses, Timekeeper, utc_s
from .uhd_versions import USUAL, UhdVersion

Host = tuple[str, int]


class BlockModel(ControlPort, Protocol):
    """What is behind a block: registers, and the packets of its inputs."""

    def packet(self, port: int, payload: bytes, end_of_burst: bool, taken: Taken) -> None: ...


class PerhopModel(BlockModel, Converter, Protocol):
    """What is behind perhop's block: the converter, too."""

    def front_end_changed(self) -> None: ...

    @property
    def timekeeper(self) -> Timekeeper | None:
        """Of the device, where its samples are simulated; None: its time is that of the clock."""


PerhopMaker = Callable[[Block, SendOut, Ad9361, Callable[[], int]], PerhopModel]
"""The last one tells the device's time."""


class Device:
    """`send` is told raw packets and the host to which they go."""

    def __init__(
        self,
        image: ImageCore,
        clock_rate_hz: float,
        send: Callable[[bytes, Host], None],
        tell: Callable[..., None],
        make_perhop: PerhopMaker = lambda block, send, _codec, ticks: PerhopStandIn(block, send, ticks),
        now_s: Callable[[], float] = utc_s,
        pulses: Pulses | None = None,
        version: UhdVersion = USUAL,
    ) -> None:
        """`now_s` is the same clock for all devices that share pulses."""
        self.image, self.codec = image, Ad9361(clock_rate_hz)
        self._send, self._tell = send, tell
        self.timekeeper: Timekeeper = ClockTimekeeper(now_s, lambda: self.codec.clock_rate_hz, pulses)
        self._hosts: dict[int, Host] = {}
        self._sequence = 0
        self.endpoints = [
            StreamEndpoint(
                each,
                self._to_host,
                lambda payload, ends, taken, at=at: self._into_core(at, 0, payload, ends, None, taken),
            )
            for at, each in enumerate(image.endpoints, 1)
        ]
        self.core = Core(self.endpoints, tell)
        self.blocks: dict[str, BlockModel] = {}
        self.perhop: list[PerhopModel] = []
        for at, block in enumerate(image.blocks, 1 + len(image.endpoints)):
            send_out = self._sender_of(at)
            if block.noc_id == RADIO_NOC_ID:
                self.blocks[block.name] = RadioBlock(self.codec, self.ticks, send_out, self, version)
            else:
                self.perhop.append(make_perhop(block, send_out, self.codec, self.ticks))
                self.timekeeper = self.perhop[-1].timekeeper or self.timekeeper
                self.blocks[block.name] = self.perhop[-1]
        first = 1 + sum(each.has_control for each in image.endpoints)
        self._control: dict[int, tuple[str, ControlPort]] = {0: ("core", ClientZero(image, version))}
        self._control |= {at: (name, model) for at, (name, model) in enumerate(self.blocks.items(), first)}

    def ticks(self) -> int:
        """The radio's time."""
        return self.timekeeper.ticks()

    def front_end_changed(self) -> None:
        for each in self.perhop:
            each.front_end_changed()

    def record(self, channel: int, count: int, deliver: Deliver) -> None:
        """Whoever has the converter is heard; without perhop nobody."""
        if self.perhop:
            self.perhop[0].record(channel, count, deliver)
        else:
            silence(count, deliver)

    def stop_recording(self, channel: int) -> None:
        for each in self.perhop:
            each.stop_recording(channel)

    def transmit(self, channel: int, payload: bytes, end_of_burst: bool, taken: Taken) -> None:
        if self.perhop:
            self.perhop[0].transmit(channel, payload, end_of_burst, taken)
        else:
            taken()

    def lose_packet(self) -> None:
        """The next packet of each stream to a host does not arrive: a fault."""
        for each in self.endpoints:
            each.to_lose += 1

    def hold_streams(self, held: bool) -> None:
        """What is for a host waits, until it does not any more: a network that stands still."""
        for each in self.endpoints:
            each.hold(held)

    def set_device_id(self, number: int) -> None:
        self.core.device_id = number

    def datagram(self, raw: bytes, host: Host) -> None:
        """A datagram of the transport, whatever is in it."""
        try:
            packet = chdr.decode(raw)
            if packet.kind == Kind.MANAGEMENT:
                self._on_management(packet, host)
                return
            endpoint = self.core.endpoint_of(packet.destination)
            if endpoint is None:
                self._tell("lost", what=packet.kind.name, why=f"no route to EPID {packet.destination}")
            elif packet.kind == Kind.CONTROL:
                self._on_control(endpoint, Control.decode(packet.payload))
            else:
                endpoint.receive(packet)
        except PacketError as error:
            self._tell("lost", what="datagram", why=str(error))

    def _on_management(self, packet: Packet, host: Host) -> None:
        request = Management.decode(packet.payload)
        answer = self.core.visit(request, lambda epid: self._hosts.update({epid: host}))
        if answer:
            told = Packet(Kind.MANAGEMENT, request.source, packet.sequence, answer.encode())
            self._send(told.encode(), host)

    def _on_control(self, endpoint: StreamEndpoint, access: Control) -> None:
        if access.is_answer:
            return
        name, port = self._control.get(access.destination_port, ("nobody", None))
        host_epid = access.source

        def answer(words: tuple[int, ...], status: int) -> None:
            what = {"block": name, "access": access.access.name, "address": access.address}
            self._tell("access", **what, words=list(words), status=status)
            told = access.answer(words, status, endpoint.epid)
            packet = Packet(Kind.CONTROL, host_epid, self._sequence, told.encode())
            self._sequence = (self._sequence + 1) & 0xFFFF
            self._to_host(host_epid, packet.encode())

        if port is None:
            answer(access.words, COMMAND_ERROR)
        else:
            port.request(access, answer)

    def _to_host(self, epid: int, raw: bytes) -> None:
        host = self._hosts.get(epid)
        if host:
            self._send(raw, host)
        else:
            self._tell("lost", what="packet to the host", why=f"nobody advertised EPID {epid}")

    def _sender_of(self, source: int) -> SendOut:
        def send(
            port: int,
            payload: bytes,
            end_of_burst: bool = True,
            time_ticks: int | None = None,
            taken: Taken = lambda: None,
        ) -> None:
            self._into_core(source, port, payload, end_of_burst, time_ticks, taken)

        return send

    def _into_core(
        self,
        source: int,
        port: int,
        payload: bytes,
        end_of_burst: bool = True,
        time_ticks: int | None = None,
        taken: Taken = lambda: None,
    ) -> None:
        """Payload that leaves an endpoint or a block goes where the image core connects that port."""
        for edge in self.image.edges:
            if (edge.source, edge.source_port) == (source, port):
                if edge.destination <= len(self.endpoints):
                    self.endpoints[edge.destination - 1].send(payload, end_of_burst, time_ticks, taken)
                else:
                    block = self.image.blocks[edge.destination - 1 - len(self.endpoints)]
                    self.blocks[block.name].packet(edge.destination_port, payload, end_of_burst, taken)

    def streams(self) -> list[dict]:
        """Both directions of every endpoint, for the log."""
        return [
            {"endpoint": each.of.name, "incoming": asdict(each.incoming), "outgoing": asdict(each.outgoing)}
            for each in self.endpoints
        ]
