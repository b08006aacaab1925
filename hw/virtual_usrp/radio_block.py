# SPDX-License-Identifier: GPL-2.0-or-later
"""Registers of UHD's radio block, and the samples that it receives and sends."""

from __future__ import annotations

from collections.abc import Callable

from .ad9361 import Ad9361
from .registers import RegisterFile
from .sample_source import ENDLESS, SAMPLE_BYTES, Converter, Taken
from .uhd_versions import USUAL, UhdVersion

TIME_LOW, TIME_HIGH = 0x04, 0x08
SAMPLE_BITS, SAMPLES_A_CLOCK = 32, 1
CHANNELS_AT, CHANNELS = 0x1000, 2
STOP, FINITE, CONTINUOUS = 0, 1, 2
DEFAULT_PACKET_WORDS = 64


class RadioBlock(RegisterFile):
    """A radio of two channels. It gives a count of samples, or samples until it is stopped, as fast as they come and as
    the stream takes them; what it sends goes out at once, whatever its time.
    """

    def __init__(
        self,
        codec: Ad9361,
        ticks: Callable[[], int],
        send: Callable[[int, bytes, bool, int], None],
        converter: Converter,
        version: UhdVersion = USUAL,
    ) -> None:
        """`send` is told port, samples, whether the burst ends, and the first one's time."""
        super().__init__()
        self._codec, self._ticks, self._send, self._converter = codec, ticks, send, converter
        self._map = version.radio
        self._bursts: dict[int, _Burst] = {}
        self.memory[0x00] = version.radio_compat[0] << 16 | version.radio_compat[1]
        self.memory[CHANNELS_AT + 4] = SAMPLE_BITS << 16 | SAMPLES_A_CLOCK

    def read(self, address: int) -> int:
        if address in (TIME_LOW, TIME_HIGH):
            return self._ticks() >> (32 if address == TIME_HIGH else 0) & 0xFFFF_FFFF
        channel, register = divmod(address - CHANNELS_AT, self._map.stride)
        if self._codec.loopback and register == self._map.rx_data and 0 <= channel < CHANNELS:
            return super().read(address - self._map.rx_data + self._map.tx_idle)
        return super().read(address)

    def write(self, address: int, word: int) -> None:
        super().write(address, word)
        channel, register = divmod(address - CHANNELS_AT, self._map.stride)
        if register == self._map.rx_command and 0 <= channel < CHANNELS:
            self._on_command(channel, word & 3)

    def _on_command(self, channel: int, command: int) -> None:
        if burst := self._bursts.pop(channel, None):
            self._converter.stop_recording(channel)
            burst.stop()
        if command == STOP:
            return
        base = CHANNELS_AT + self._map.stride * channel
        wanted = self.read(base + self._map.rx_words_low) | self.read(base + self._map.rx_words_high) << 32
        packet_words = self.read(base + self._map.rx_packet_words) or DEFAULT_PACKET_WORDS
        wanted = ENDLESS if command == CONTINUOUS else wanted
        burst = _Burst(channel, wanted, packet_words, self._ticks(), self._send)
        if command == CONTINUOUS:
            self._bursts[channel] = burst
        self._converter.record(channel, wanted, burst)

    def packet(self, port: int, payload: bytes, end_of_burst: bool, taken: Taken) -> None:
        """Samples to send."""
        self._converter.transmit(port, payload, end_of_burst, taken)


class _Burst:
    """Samples of one command on their way into packets."""

    def __init__(
        self,
        channel: int,
        wanted: int,
        packet_words: int,
        began_ticks: int,
        send: Callable[[int, bytes, bool, int], None],
    ) -> None:
        self._channel, self._wanted, self._packet_bytes = channel, wanted, SAMPLE_BYTES * packet_words
        self._began_ticks, self._send, self._sent, self._waiting = began_ticks, send, 0, bytearray()

    def __call__(self, samples: bytes) -> None:
        self._waiting += samples
        missing_bytes = SAMPLE_BYTES * (self._wanted - self._sent)
        while self._waiting and len(self._waiting) >= min(self._packet_bytes, missing_bytes):
            packet = bytes(self._waiting[: self._packet_bytes])
            del self._waiting[: self._packet_bytes]
            missing_bytes -= len(packet)
            self._send(self._channel, packet, missing_bytes == 0, self._began_ticks + self._sent)
            self._sent += len(packet) // SAMPLE_BYTES

    def stop(self) -> None:
        """What has come of an endless burst is its end."""
        if self._waiting:
            self._send(self._channel, bytes(self._waiting), True, self._began_ticks + self._sent)
