# SPDX-License-Identifier: GPL-2.0-or-later
"""A radio on the bench, by UHD's Python: registers of perhop, packets, and a recorder on another channel.

Needs Debian's python3-uhd with Debian's NumPy, which .venv-bench has (`make hw-check` makes it); nothing else of perhop
imports UHD.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from perhop.errors import PerhopError

SAMPLE_RATE_HZ = 22e6
PERHOP_NOC_IDS = (0x88B5_0001, 0x88B5_0002)


@dataclass(frozen=True)
class Place:
    """Which radio, and where in it."""

    args: str
    block: str = "0/perhop#0"
    radio: str = "0/Radio#0"
    channel: int = 0
    recorder_channel: int | None = None
    """Whether a channel is recorded, and which one: perhop's own, which hears itself by port RX2, or the other."""


class UhdRadio:
    """Bus for perhop.registers, streams, recorder."""

    def __init__(self, place: Place) -> None:
        try:
            import uhd
        except ImportError as error:
            raise PerhopError(
                "this Python has no UHD", "run `make hw-check` once, then use .venv-bench/bin/python"
            ) from error
        self._uhd = uhd
        self.place = place
        try:
            self.graph = uhd.rfnoc.RfnocGraph(place.args)
            self._name = self._find_block()
            self.block = self.graph.get_block(self._name)
            self.radio = uhd.rfnoc.RadioControl(self.graph.get_block(place.radio))
        except RuntimeError as error:
            raise PerhopError(
                f"{place.args}: {error}", "check address, power and network; try uhd_usrp_probe"
            ) from error
        self._tx = self._rx = None
        self.packet_ticks: int | None = None
        """The radio's time that came beside the last packet; None: it had none, or UHD does not know our controller."""
        self._idle = {each: self._occupy(each) for each in sorted({place.channel, place.recorder_channel} - {None})}
        self.graph.commit()

    def _find_block(self) -> str:
        """Where perhop is. UHD names it Block#0 where it does not know the controller (UHD_MODULE_PATH)."""
        if self.graph.has_block(self.place.block):
            return self.place.block
        found = {str(each): self.graph.get_block(each).get_noc_id() for each in self.graph.find_blocks("")}
        ours = [name for name, noc_id in found.items() if noc_id in PERHOP_NOC_IDS]
        if self.place.block == Place.block and len(ours) == 1:
            return ours[0]
        raise PerhopError(
            f"the image of {self.place.args} has no block {self.place.block}; it has {', '.join(found)}",
            "load an image of hw/images, or name the block by --block",
        )

    def _occupy(self, channel: int) -> tuple:
        """Streams at the radio block's ports of a channel.

        On an E3xx UHD switches the codec's chains on by the ports that are connected, and knows nothing of perhop's use
        of the converter: receivers and transmitters must be connected in pairs, whoever needs only one of them.
        """
        samples = self._uhd.usrp.StreamArgs("sc16", "sc16")
        tx, rx = self.graph.create_tx_streamer(1, samples), self.graph.create_rx_streamer(1, samples)
        try:
            self.graph.connect(tx, 0, self.place.radio, channel)
            self.graph.connect(self.place.radio, channel, rx, 0)
        except RuntimeError as error:
            raise PerhopError(
                f"channel {channel} of {self.place.radio} has no stream in the image of {self.place.args}: {error}",
                "record on perhop's own channel: --recorder-channel 0, and a cable to its port RX2; images of more "
                "than 30.72 million samples a second have no other: the converter cannot run two channels then",
            ) from error
        return tx, rx

    def read32(self, address: int) -> int:
        return self.block.peek32(address)

    def write32(self, address: int, word: int) -> None:
        self.block.poke32(address, word)

    def tune(self, frequency_hz: float, tx_gain_db: float, rx_gain_db: float, channel: int | None = None) -> None:
        """Frequency, gains and antennas of one channel, perhop's unless another is named.

        It hears by the port by which it sends, but for a recorder of what it sends itself.
        """
        channel = self.place.channel if channel is None else channel
        self.radio.set_tx_antenna("TX/RX", channel)
        self.radio.set_rx_antenna("RX2" if channel == self.place.recorder_channel else "TX/RX", channel)
        self.radio.set_tx_frequency(frequency_hz, channel)
        self.radio.set_rx_frequency(frequency_hz, channel)
        self.radio.set_tx_gain(tx_gain_db, channel)
        self.radio.set_rx_gain(rx_gain_db, channel)

    def open_streams(self) -> None:
        """Packets to perhop, frames and records from it."""
        uhd = self._uhd
        words = uhd.usrp.StreamArgs("f32", "f32")  # the format that UHD copies as 32-bit words
        self._tx = self.graph.create_tx_streamer(1, words)
        self._rx = self.graph.create_rx_streamer(1, words)
        self.graph.connect(self._tx, 0, self._name, 0)
        self.graph.connect(self._name, 0, self._rx, 0)
        self.graph.commit()

    def send_packet(self, packet: bytes) -> None:
        padded = packet + bytes(-len(packet) % 4)
        metadata = self._uhd.types.TXMetadata()
        metadata.start_of_burst = metadata.end_of_burst = True
        sent = self._tx.send(np.frombuffer(padded, dtype=np.float32).reshape(1, -1), metadata)
        if sent != len(padded) // 4:
            raise PerhopError("the radio takes no packets", "see the counters of hw/bringup/bringup.py selftest")

    def receive_packet(self, timeout_s: float = 1.0) -> bytes:
        """The next packet; empty: none came."""
        words = np.zeros((1, 2048), dtype=np.float32)
        metadata = self._uhd.types.RXMetadata()
        count = self._rx.recv(words, metadata, timeout_s)
        self.packet_ticks = metadata.time_spec.to_ticks(self.radio.get_rate()) if metadata.has_time_spec else None
        return words[0, :count].tobytes()

    @property
    def timekeeper(self):
        """UHD's: its ticks are those of packet_ticks, and of the shell's register device_time."""
        return self.graph.get_mb_controller(0).get_timekeeper(0)

    def take_pulses_of(self, source: str) -> None:
        """From now on the timekeeper takes a time at the pulses of `external` or `gpsdo`."""
        self.graph.get_mb_controller(0).set_time_source(source)

    def record(self, frequency_hz: float, gain_db: float, seconds: float) -> NDArray[np.int16]:
        """What the recorder's channel hears, I and Q in two columns. Perhop's own channel keeps its gain."""
        uhd, channel = self._uhd, self.place.recorder_channel
        self.radio.set_rx_antenna("RX2", channel)
        if channel != self.place.channel:
            self.radio.set_rx_frequency(frequency_hz, channel)
            self.radio.set_rx_gain(gain_db, channel)
        _, stream = self._idle[channel]
        wanted = int(seconds * SAMPLE_RATE_HZ)
        out = np.zeros((wanted, 2), dtype=np.int16)
        buffer = np.zeros((1, 1 << 16), dtype=np.int32)
        metadata = uhd.types.RXMetadata()
        command = uhd.types.StreamCMD(uhd.types.StreamMode.num_done)
        command.num_samps = wanted
        command.stream_now = True
        stream.issue_stream_cmd(command)
        at = 0
        while at < wanted:
            count = stream.recv(buffer, metadata, 3.0)
            if metadata.error_code != uhd.types.RXMetadataErrorCode.none:
                raise PerhopError(
                    f"the recorder says {metadata.strerror()}", "record less, or over 10 Gigabit Ethernet"
                )
            if not count:
                raise PerhopError("the recorder gets no samples", "check the recorder's channel of the image core")
            count = min(count, wanted - at)
            out[at : at + count] = buffer[0, :count].view(np.int16).reshape(-1, 2)
            at += count
        return out
