# SPDX-License-Identifier: GPL-2.0-or-later
"""Registers of UHD's radio block, and what it receives: zeros, or what it sends itself while the codec loops back."""

from __future__ import annotations

from collections.abc import Callable

from .ad9361 import Ad9361
from .registers import RegisterFile

COMPAT = 0 << 16 | 1
TIME_LOW, TIME_HIGH = 0x04, 0x08
SAMPLE_BITS, SAMPLES_A_CLOCK = 32, 1
CHANNELS_AT, CHANNEL_STRIDE = 0x1000, 0x80
RX_COMMAND, RX_WORDS_LOW, RX_WORDS_HIGH, RX_PACKET_WORDS, RX_DATA, TX_IDLE = 0x14, 0x18, 0x1C, 0x28, 0x3C, 0x40
STOP, FINITE, CONTINUOUS = range(3)
SAMPLE_BYTES = 4
DEFAULT_PACKET_WORDS = 64


class RadioBlock(RegisterFile):
    """A radio of two channels. It gives finite counts of samples, as fast as the stream takes them."""

    def __init__(self, codec: Ad9361, ticks: Callable[[], int], send: Callable[[int, bytes, bool, int], None]) -> None:
        """`send` is told port, samples, whether the burst ends, and the first one's time."""
        super().__init__()
        self._codec, self._ticks, self._send = codec, ticks, send
        self.memory[0x00] = COMPAT
        self.memory[CHANNELS_AT + 4] = SAMPLE_BITS << 16 | SAMPLES_A_CLOCK

    def read(self, address: int) -> int:
        if address in (TIME_LOW, TIME_HIGH):
            return self._ticks() >> (32 if address == TIME_HIGH else 0) & 0xFFFF_FFFF
        if self._codec.loopback and address in (CHANNELS_AT + RX_DATA, CHANNELS_AT + CHANNEL_STRIDE + RX_DATA):
            return super().read(address - RX_DATA + TX_IDLE)
        return super().read(address)

    def write(self, address: int, word: int) -> None:
        super().write(address, word)
        channel, register = divmod(address - CHANNELS_AT, CHANNEL_STRIDE)
        if register == RX_COMMAND and 0 <= channel < 2 and word & 3 == FINITE:
            self._receive(channel)

    def _receive(self, channel: int) -> None:
        base = CHANNELS_AT + CHANNEL_STRIDE * channel
        wanted = self.memory.get(base + RX_WORDS_LOW, 0) | self.memory.get(base + RX_WORDS_HIGH, 0) << 32
        packet_words = self.memory.get(base + RX_PACKET_WORDS, 0) or DEFAULT_PACKET_WORDS
        now = self._ticks()
        for first in range(0, wanted, packet_words):
            count = min(packet_words, wanted - first)
            self._send(channel, bytes(SAMPLE_BYTES * count), first + count == wanted, now + first)

    def packet(self, port: int, payload: bytes) -> None:
        """Samples to send: nobody hears them here."""
