# SPDX-License-Identifier: GPL-2.0-or-later
"""A device without sockets: what a host sees that speaks as UHD does."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from virtual_usrp import call_log, server

from .devices import E3XX, chdr, radio_block
from .devices import device as device_module
from .devices import image_core as reader
from .devices import stream_endpoint as endpoints

HOST_EPID, CONTROL_EPID, PERHOP_EPID = 1, 0x100, 0x101
HOST = ("127.0.0.1", 5000)
Operation, Register = chdr.Operation, endpoints.Register


class Host:
    """Sends what UHD sends, and keeps what comes back."""

    def __init__(self, name: str = "e320_perhop_22") -> None:
        self.came: list[chdr.Packet] = []
        self.lost: list[dict] = []
        self.now_s = 0.0
        self.device = device_module.Device(
            reader.parse(E3XX[name], name), 22e6, lambda raw, host: self.came.append(chdr.decode(raw)),
            lambda kind, **what: self.lost.append(what) if kind == "lost" else None, now_s=lambda: self.now_s,
        )  # fmt: skip

    def manage(self, *hops: list[tuple[Operation, int]]) -> chdr.Management | None:
        """The answer to a management packet of those hops, with the one on which answers are."""
        request = chdr.Management(0x0100, 0, HOST_EPID, [*hops, [(Operation.NOP, 0)]])
        before = len(self.came)
        self.device.datagram(chdr.Packet(chdr.Kind.MANAGEMENT, 0, 7, request.encode()).encode(), HOST)
        return chdr.Management.decode(self.came[-1].payload) if len(self.came) > before else None

    def at_endpoint(self, number: int, *operations: tuple[Operation, int]) -> chdr.Management | None:
        to_crossbar = [(Operation.ADVERTISE, 0)]
        to_endpoint = [(Operation.SELECT_DESTINATION, 1 + number)]
        return self.manage(to_crossbar, to_endpoint, [*operations, (Operation.RETURN, 0)])

    def set_up(self, number: int, epid: int) -> None:
        """Gives an endpoint its EPID, and the crossbar the way to it."""
        self.at_endpoint(number, (Operation.CONFIG_WRITE, Register.EPID | epid << 16))
        self.manage(
            [(Operation.ADVERTISE, 0)], [(Operation.CONFIG_WRITE, epid | (1 + number) << 16), (Operation.RETURN, 0)]
        )

    def access(self, port: int, access: chdr.Access, address: int, *words: int) -> chdr.Control:
        asked = chdr.Control(port, 0, HOST_EPID, 3, address, access, words or (0,))
        self.device.datagram(chdr.Packet(chdr.Kind.CONTROL, CONTROL_EPID, 0, asked.encode()).encode(), HOST)
        return chdr.Control.decode(self.came[-1].payload)

    def stream(self, kind: chdr.Kind, payload: bytes, sequence: int = 0, ends: bool = True) -> None:
        self.device.datagram(chdr.Packet(kind, PERHOP_EPID, sequence, payload, ends).encode(), HOST)

    def start_output(self, capacity_bytes: int) -> None:
        """A stream from perhop to the host, which has so much room."""
        registers = {Register.OUT_DESTINATION: HOST_EPID, Register.OUT_EVERY_BYTES_LOW: 100, Register.OUT_CONTROL: 1}
        for register, word in registers.items():
            self.at_endpoint(1, (Operation.CONFIG_WRITE, register | word << 16))
        self.stream(chdr.Kind.STREAM_STATUS, chdr.StreamStatus(HOST_EPID, capacity_bytes, 0xFFFFFF, 0, 0).encode())

    def data(self) -> list[bytes]:
        return [packet.payload for packet in self.came if packet.kind in (chdr.Kind.DATA, chdr.Kind.TIMED_DATA)]


@pytest.fixture
def host() -> Host:
    made = Host()
    made.set_up(0, CONTROL_EPID)
    made.set_up(1, PERHOP_EPID)
    return made


def test_an_information_request_tells_what_node_it_met():
    host = Host()
    host.device.set_device_id(1)
    info = [(Operation.INFO_REQUEST, 0)]
    answer = host.manage([*info, (Operation.RETURN, 0)])
    assert answer.hops == [[(Operation.NOP, 0), (Operation.INFO_RESPONSE, 1 | 3 << 16 | 1 << 30)]]
    answer = host.at_endpoint(1, *info)
    ((_, told),) = [each for each in answer.hops[0] if each[0] == Operation.INFO_RESPONSE]
    assert (told & 0xFFFF, told >> 16 & 0xF, told >> 20 & 0x3FF) == (1, 2, 1)
    has_control, has_data = told >> 30 & 1, told >> 31 & 1
    assert (has_control, has_data) == (0, 1)


def test_a_packet_into_an_empty_port_of_the_crossbar_has_no_answer():
    host = Host()
    assert host.at_endpoint(7, (Operation.INFO_REQUEST, 0)) is None
    assert host.lost[-1]["what"] == "management packet"


def test_core_registers_tell_the_image(host):
    word = host.access(0, chdr.Access.READ, 0x04).words[0]
    assert (word & 0x3FF, word >> 10 & 0x3FF) == (3, 2)  # endpoints, blocks
    assert host.access(0, chdr.Access.READ, 0x0C).words == (0xE320 << 16,)
    edges = host.access(0, chdr.Access.READ, 0x10000).words[0]
    assert edges == 6
    # Blocks are behind all three endpoints: radio0 at 4, perhop0 at 5.
    assert host.access(0, chdr.Access.READ, 64 * 5 + 4).words == (0x88B50001,)


def test_control_ports_of_blocks_follow_the_endpoints_that_have_control(host):
    # One of three endpoints has control, so perhop0 is at 1 + 1 + 1.
    assert host.access(3, chdr.Access.READ, 0).words == (0x50657248,)
    assert host.access(2, chdr.Access.READ, 0x1004).words == (32 << 16 | 1,)
    assert host.access(9, chdr.Access.READ, 0).status == 1


def test_the_identity_of_the_block_cannot_be_written(host):
    host.access(3, chdr.Access.WRITE, 0, 5)
    host.access(3, chdr.Access.WRITE, 0x3F0, 5)
    assert host.access(3, chdr.Access.READ, 0).words == (0x50657248,)
    assert host.access(3, chdr.Access.READ, 0x3F0).words == (5,)


def test_the_radios_time_runs_at_the_codecs_rate(host):
    host.now_s = 1000.0
    low, high = (host.access(2, chdr.Access.READ, address).words[0] for address in (4, 8))
    assert low | high << 32 == 22_000_000_000


def test_what_comes_back_and_what_is_read_have_the_time_of_the_radio(host):
    """The stand-in's frames by CHDR's header, and a look at time and TSF, whose words are of one moment."""
    host.start_output(capacity_bytes=1000)
    host.now_s = 300.0
    host.stream(chdr.Kind.DATA, bytes(20))
    (echo,) = [packet for packet in host.came if packet.kind == chdr.Kind.TIMED_DATA]
    assert echo.time_ticks == 6_600_000_000
    time, tsf = 0x800 + 0x288, 0x800 + 0x290
    low = host.access(3, chdr.Access.READ, time).words[0]
    host.now_s = 500.0
    high, tsf_low = (host.access(3, chdr.Access.READ, address).words[0] for address in (time + 4, tsf))
    assert low | high << 32 == 6_600_000_000
    assert host.access(3, chdr.Access.READ, tsf).words[0] == tsf_low


def test_of_a_burst_in_pieces_the_last_one_alone_has_a_time_and_ends_it(host):
    host.start_output(capacity_bytes=1000)
    for number, ends in enumerate((False, True)):
        host.stream(chdr.Kind.DATA, bytes(20), number, ends)
    kinds = (chdr.Kind.DATA, chdr.Kind.TIMED_DATA)
    echoed = [packet for packet in host.came if packet.kind in kinds]
    assert [(each.kind, each.end_of_burst) for each in echoed] == list(zip(kinds, (False, True), strict=True))


def test_a_datagram_that_an_ethernet_does_not_carry_is_dropped_and_told(tmp_path):
    log, went = call_log.CallLog(tmp_path / "log"), []
    image = reader.parse(E3XX["e320_perhop_22"], "e320_perhop_22")
    usrp = server.VirtualUsrp(image, "127.0.0.1", "S", 22e6, log)
    usrp._chdr = SimpleNamespace(sendto=lambda raw, host: went.append(len(raw)))
    for size in (1472, 1473, 8):
        usrp._send(bytes(size), HOST)
    log.close()
    told = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert went == [1472, 8] and [(each["kind"], each["bytes"]) for each in told] == [("too_long", 1473)]


def test_the_codec_loops_the_idle_value_back_only_when_told(host):
    for channel in (0, 1):
        host.access(2, chdr.Access.WRITE, 0x1040 + 0x80 * channel, 0xABCD + channel)
        assert host.access(2, chdr.Access.READ, 0x103C + 0x80 * channel).words == (0,)
    host.device.codec.loopback = True
    assert [host.access(2, chdr.Access.READ, 0x103C + 0x80 * each).words for each in (0, 1)] == [(0xABCD,), (0xABCE,)]


def test_a_sender_never_exceeds_the_credit_of_its_receiver(host):
    host.start_output(capacity_bytes=125)
    host.stream(chdr.Kind.STREAM_COMMAND, chdr.StreamOrder(HOST_EPID, chdr.StreamCommand.INIT, 0, 0).encode())
    for number in range(5):
        host.stream(chdr.Kind.DATA, bytes([number] * 22), number)  # header, time and 24 bytes: 40 of the buffer
    assert host.data() == [bytes([number] * 22) for number in range(3)]
    host.stream(chdr.Kind.STREAM_STATUS, chdr.StreamStatus(HOST_EPID, 125, 0xFFFFFF, 40, 1).encode())
    assert len(host.data()) == 4
    host.stream(chdr.Kind.STREAM_STATUS, chdr.StreamStatus(HOST_EPID, 125, 0xFFFFFF, 160, 4).encode())
    assert host.data() == [bytes([number] * 22) for number in range(5)]


def test_a_receiver_tells_what_it_has_got_as_often_as_it_was_asked_to(host):
    host.stream(chdr.Kind.STREAM_COMMAND, chdr.StreamOrder(HOST_EPID, chdr.StreamCommand.INIT, 0, 64).encode())
    host.came.clear()
    for number in range(5):
        host.stream(chdr.Kind.DATA, bytes(22), number)
    told = [chdr.StreamStatus.decode(each.payload) for each in host.came if each.kind == chdr.Kind.STREAM_STATUS]
    assert [(each.got_packets, each.got_bytes) for each in told] == [(2, 64), (4, 128)]
    assert told[0].capacity_bytes == 32768


def test_a_packet_that_is_missing_is_counted(host):
    for sequence in (0, 1, 4):
        host.stream(chdr.Kind.DATA, bytes(8), sequence)
    assert host.device.streams()[1]["incoming"]["lost_packets"] == 2


def test_what_is_held_waits_and_is_taken_when_it_goes_or_is_dropped(host):
    host.start_output(capacity_bytes=1 << 20)
    endpoint, taken = host.device.endpoints[1], []
    host.device.hold_streams(True)
    for number in range(2):
        endpoint.send(bytes([number] * 8), taken=lambda number=number: taken.append(number))
    assert not host.data() and not taken
    host.device.hold_streams(False)
    assert host.data() == [bytes(8), bytes([1] * 8)] and taken == [0, 1]
    host.device.hold_streams(True)
    endpoint.send(bytes(8), taken=lambda: taken.append(2))
    endpoint.write(Register.RESET, 1)
    assert taken == [0, 1, 2], "a stream that begins anew leaves nothing behind that waits for it"


def test_a_finite_count_of_samples_comes_in_packets_with_their_times(host):
    registers = {Register.OUT_DESTINATION: HOST_EPID, Register.OUT_CONTROL: 1}
    for register, word in registers.items():
        host.at_endpoint(0, (Operation.CONFIG_WRITE, register | word << 16))
    status = chdr.StreamStatus(HOST_EPID, 1 << 20, 0xFFFFFF, 0, 0).encode()
    host.device.datagram(chdr.Packet(chdr.Kind.STREAM_STATUS, CONTROL_EPID, 0, status).encode(), HOST)
    for address, word in ((0x1028, 100), (0x1018, 250), (0x101C, 0), (0x1014, 1)):
        host.access(2, chdr.Access.WRITE, address, word)
    came = [packet for packet in host.came if packet.kind == chdr.Kind.TIMED_DATA]
    assert [len(packet.payload) // 4 for packet in came] == [100, 100, 50]
    assert [packet.time_ticks - came[0].time_ticks for packet in came] == [0, 100, 200]
    assert [packet.end_of_burst for packet in came] == [False, False, True]


def test_each_packet_of_a_burst_of_samples_is_full_but_the_last():
    """Whatever pieces they come in from a slower source."""
    sent: list[tuple[int, bytes, bool, int]] = []
    pieces = [bytes([number]) * 4 * count for number, count in enumerate((3, 250, 1, 46))]
    converter = Converter()
    block = radio_block.RadioBlock(
        radio_block.Ad9361(22e6), lambda: 1000, lambda *what: sent.append(what), converter
    )  # fmt: skip
    for address, word in ((0x10A8, 128), (0x1098, 300), (0x1094, radio_block.FINITE)):
        block.write(address, word)
    assert converter.wanted == (1, 300)
    for piece in pieces:
        converter.deliver(piece)
    assert [(channel, len(samples) // 4, ends, time) for channel, samples, ends, time in sent] == [
        (1, 128, False, 1000), (1, 128, False, 1128), (1, 44, True, 1256)
    ]  # fmt: skip
    assert b"".join(samples for _, samples, _, _ in sent) == b"".join(pieces)


class Converter:
    """Notes what the radio block wants of it."""

    def __init__(self) -> None:
        self.wanted: tuple[int, int] | None = None
        self.stopped: list[int] = []
        self.given: list[tuple] = []

    def record(self, channel, count, deliver):
        self.wanted, self.deliver = (channel, count), deliver

    def stop_recording(self, channel):
        self.stopped.append(channel)

    def transmit(self, channel, payload, end_of_burst, taken):
        self.given.append((channel, payload, end_of_burst, taken))


def test_samples_without_end_come_until_they_are_stopped():
    sent: list[tuple[int, bytes, bool, int]] = []
    converter = Converter()
    block = radio_block.RadioBlock(
        radio_block.Ad9361(22e6), lambda: 1000, lambda *what: sent.append(what), converter
    )  # fmt: skip
    block.write(0x1028, 100)
    block.write(0x1014, radio_block.CONTINUOUS)
    converter.deliver(bytes(4 * 250))
    assert [(len(samples) // 4, ends) for _, samples, ends, _ in sent] == [(100, False), (100, False)]
    block.write(0x1014, radio_block.STOP)
    assert converter.stopped == [0]
    assert [(len(samples) // 4, ends, time) for _, samples, ends, time in sent[2:]] == [(50, True, 1200)]
    block.write(0x1014, radio_block.STOP)
    assert converter.stopped == [0], "there was nothing to stop"


def test_samples_to_send_are_in_the_buffer_until_they_have_gone_out(host):
    """So that a host is held back at the radio's pace, not at the network's."""
    converter = Converter()
    host.device.blocks["radio0"]._converter = converter
    order = chdr.StreamOrder(HOST_EPID, chdr.StreamCommand.INIT, 0, 1)
    told = lambda: [  # noqa: E731
        chdr.StreamStatus.decode(each.payload) for each in host.came if each.kind == chdr.Kind.STREAM_STATUS
    ]
    host.device.datagram(chdr.Packet(chdr.Kind.STREAM_COMMAND, CONTROL_EPID, 0, order.encode()).encode(), HOST)
    before = len(told())
    for number, ends in enumerate((False, True)):
        packet = chdr.Packet(chdr.Kind.DATA, CONTROL_EPID, number, bytes([number] * 24), ends)
        host.device.datagram(packet.encode(), HOST)
    assert [each[:3] for each in converter.given] == [(0, bytes(24), False), (0, bytes([1] * 24), True)]
    assert len(told()) == before
    converter.given[0][3]()
    assert (told()[-1].got_packets, told()[-1].got_bytes) == (1, 32)
    converter.given[1][3]()
    assert (told()[-1].got_packets, told()[-1].got_bytes) == (2, 64)
