# SPDX-License-Identifier: GPL-2.0-or-later
"""The core's own registers at control port 0, from which UHD learns what is in the image."""

from __future__ import annotations

from .image_core import ImageCore
from .registers import RegisterFile
from .uhd_versions import USUAL, UhdVersion

BLOCK_STRIDE = 64
EDGES = 0x10000
CONTROL_FIFO_LOG2, ASYNC_MESSAGES = 5, 2
MTU_WORDS_LOG2 = 10
IS_FLUSHED = 2
# Of the control port and of a block's time: none was given.
NO_CLOCKS = 0x3F << 8 | 0x3F << 14


class ClientZero(RegisterFile):
    """Reads as the image is; writes flush and reset what needs neither here."""

    def __init__(self, image: ImageCore, version: UhdVersion = USUAL) -> None:
        super().__init__()
        has_crossbar, transports = 1, 1
        words = {
            0x00: version.rfnoc_protocol,
            0x04: has_crossbar << 31 | transports << 20 | len(image.blocks) << 10 | len(image.endpoints),
            0x08: len(image.edges),
            0x0C: image.device_type << 16,
            0x10: sum(each.has_control for each in image.endpoints),
            EDGES: len(image.edges),
        }
        for at, block in enumerate(image.blocks):
            base = BLOCK_STRIDE * (1 + len(image.endpoints) + at)
            words[base] = (
                1 | len(block.inputs) << 6 | len(block.outputs) << 12 | CONTROL_FIFO_LOG2 << 18 | ASYNC_MESSAGES << 24
            )
            words[base + 4] = block.noc_id
            words[base + 8] = MTU_WORDS_LOG2 << 2 | IS_FLUSHED | (NO_CLOCKS if version.tells_clocks else 0)
        for at, edge in enumerate(image.edges, 1):
            words[EDGES + 4 * at] = (
                edge.source << 22 | edge.source_port << 16 | edge.destination << 6 | edge.destination_port
            )
        self.memory = words

    def write(self, address: int, word: int) -> None:
        pass
