# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs between versions of UHD, of what a device says and has: numbers by which host and device know each
other, and registers of UHD's radio block.

UHD 4.3 is what Debian 12 has, and what opens these devices in the tests; that of Debian 13, 4.8, opens them, too. The
others are as UHD's source has them; none of them has opened a virtual device. From 4.11 on MPM's calls go by gRPC,
which this device does not speak.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RadioMap:
    """Registers of UHD's radio block, a channel's from its base on."""

    stride: int
    rx_command: int
    rx_words_low: int
    rx_words_high: int
    rx_packet_words: int
    rx_data: int
    tx_idle: int


# Radio block 0.1, and 1.0 with its groups of 256 bytes.
SMALL = RadioMap(0x80, rx_command=0x14, rx_words_low=0x18, rx_words_high=0x1C, rx_packet_words=0x28, rx_data=0x3C,
                 tx_idle=0x40)  # fmt: skip
GROUPED = RadioMap(0x400, rx_command=0x104, rx_words_low=0x108, rx_words_high=0x10C, rx_packet_words=0x118,
                   rx_data=0x12C, tx_idle=0x200)  # fmt: skip

MPRPC, GRPC = 1, 2


@dataclass(frozen=True)
class UhdVersion:
    """One of them."""

    name: str
    mpm_compat: tuple[int, int]
    """The major number must be equal, the minor one no less."""
    rfnoc_protocol: int
    """Of which UHD compares the upper byte."""
    radio_compat: tuple[int, int]
    radio: RadioMap
    tells_clocks: bool
    """Blocks say which clocks they have; ours say that nobody has told them."""
    rpc: int = MPRPC
    tells_rpc: bool = False
    """Discovery says which calls the device speaks; without that word they are MessagePack's."""


VERSIONS = {
    each.name: each
    for each in (
        UhdVersion("4.3", (4, 2), 0x0100, (0, 1), SMALL, tells_clocks=False),
        UhdVersion("4.8", (5, 3), 0x0100, (0, 1), SMALL, tells_clocks=True),
        UhdVersion("4.9", (5, 3), 0x0100, (0, 1), SMALL, tells_clocks=True),
        UhdVersion("4.10", (6, 1), 0x0100, (1, 0), GROUPED, tells_clocks=True, tells_rpc=True),
        UhdVersion("4.11", (7, 0), 0x0200, (1, 0), GROUPED, tells_clocks=True, rpc=GRPC, tells_rpc=True),
    )
}
USUAL = VERSIONS["4.3"]
