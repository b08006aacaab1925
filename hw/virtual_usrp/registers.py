# SPDX-License-Identifier: GPL-2.0-or-later
"""Registers behind a control port, answered at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .chdr import Access, Control

OK, COMMAND_ERROR = 0, 1


class ControlPort(Protocol):
    """Whatever has registers. Most answer at once; what is simulated answers when it can."""

    def request(self, access: Control, answer: Callable[[tuple[int, ...], int], None]) -> None:
        """`answer` is told the words and the status, now or later."""


class RegisterFile:
    """Memory of 32-bit words; who derives from it says what a register does besides."""

    def __init__(self) -> None:
        self.memory: dict[int, int] = {}

    def read(self, address: int) -> int:
        return self.memory.get(address, 0)

    def write(self, address: int, word: int) -> None:
        self.memory[address] = word

    def request(self, access: Control, answer: Callable[[tuple[int, ...], int], None]) -> None:
        step = 4 if access.access in (Access.BLOCK_READ, Access.BLOCK_WRITE) else 0
        places = [access.address + step * at for at in range(max(len(access.words), 1))]
        if access.access in (Access.READ, Access.BLOCK_READ):
            answer(tuple(self.read(place) for place in places), OK)
        else:
            if access.access != Access.SLEEP:
                for place, word in zip(places, access.words, strict=False):
                    self.write(place, word)
            answer(access.words, OK)
