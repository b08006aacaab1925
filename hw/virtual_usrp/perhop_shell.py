# SPDX-License-Identifier: GPL-2.0-or-later
"""Perhop's block with its gateware, and the air between several: Verilated shell_tops in one process (shell/).

The device goes on answering UHD in real time; what is asked of perhop's registers waits for the simulation. The codec's
state is between shell and air: a channel whose chain does not run sends nothing and hears nothing, another frequency is
not heard, gains scale.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from perhop.errors import PerhopError

from .ad9361 import Ad9361
from .chdr import Access, Control
from .image_core import Block
from .registers import COMMAND_ERROR
from .sample_source import SAMPLE_BYTES, Deliver, silence

CHAIN_OF_CHANNEL = {"e320": (1, 2), "e310": (2, 1)}
PERHOPS_CHANNEL = 0
PATH_DB = -24.0
"""From a sender's steps to a receiver's, by cables and attenuators, at the gains of GAINS_DB. Not calibrated to dBm."""
GAINS_DB = {"TX": 40.0, "RX": 30.0}
NOISE_STEPS = 0.4
"""Of I and of Q at a receiver of that gain, before they are rounded."""
LONGEST_LINE = 1 << 16

Answer = Callable[[tuple[int, ...], int], None]


class ShellAir:
    """The process. Devices get their nodes from it before it runs."""

    def __init__(self, program: Path, slow_down: float, tell: Callable[..., None]) -> None:
        self._program, self._slow_down, self._tell = program, slow_down, tell
        self._nodes: list[PerhopShell] = []
        self._process: asyncio.subprocess.Process | None = None

    def add(
        self, block: Block, send: Callable[[int, bytes, bool, int | None], None], codec: Ad9361, device: str
    ) -> PerhopShell:
        """What is behind one more device's block."""
        self._nodes.append(PerhopShell(self, len(self._nodes), block, send, codec, CHAIN_OF_CHANNEL[device]))
        return self._nodes[-1]

    async def run(self) -> None:
        """Until it is cancelled. That the process ends by itself is an error."""
        command = [str(self._program), str(len(self._nodes)), f"{self._slow_down:g}"]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LONGEST_LINE
            )
        except OSError as error:
            raise PerhopError(f"--shell {self._program}: {error}", "`make virtual-usrp` builds it") from error
        assert self._process.stdout
        self.front_ends_changed()
        try:
            while line := await self._process.stdout.readline():
                kind, *rest = line.decode().split()
                if kind == "t":
                    self._tell("pace", samples=int(rest[0]), seconds=float(rest[1]))
                else:
                    self._nodes[int(rest[0])].come(kind, rest[1:])
            raise PerhopError(f"--shell {self._program} has ended", "see what it said above")
        finally:
            if self._process.returncode is None:
                self._process.kill()
            await self._process.wait()

    def say(self, *words: object) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")

    def front_ends_changed(self) -> None:
        """Tells the process what each receiver hears from now on."""
        for node in self._nodes:
            node.tell_front_end()

    def heard_by(self, codec: Ad9361, chain: int, without: PerhopShell | None) -> list[float]:
        """Noise, and the factor of what each node sends, at a receive chain."""
        if not codec.hears(chain):
            return [0.0] * (1 + len(self._nodes))
        gain_db = codec.gain_db.get(f"RX{chain}", 0.0) - GAINS_DB["RX"]
        noise = NOISE_STEPS * 10 ** (gain_db / 20)
        frequency_hz = codec.frequency_hz.get(f"RX{chain}")
        return [noise, *(0.0 if each is without else each.factor(frequency_hz, gain_db) for each in self._nodes)]


class PerhopShell:
    """One node: registers, packets and a recorder's samples."""

    def __init__(
        self, air: ShellAir, number: int, block: Block, send: Callable[[int, bytes, bool, int | None], None],
        codec: Ad9361, chains: tuple[int, int],
    ) -> None:  # fmt: skip
        self._air, self._number, self._send, self._codec, self._chains = air, number, send, codec, chains
        self._packets, self._frames = block.inputs.index("packets"), block.outputs.index("frames")
        self._answers: dict[int, Answer] = {}
        self._next_tag = 0
        self._recording: tuple[int, Deliver] | None = None
        self._heard: list[float] = []

    def request(self, access: Control, answer: Answer) -> None:
        if access.access not in (Access.READ, Access.WRITE):
            answer(access.words, COMMAND_ERROR)
            return
        self._answers[self._next_tag] = answer
        words = [self._next_tag, access.address]
        if access.access == Access.READ:
            self._air.say("r", self._number, *words)
        else:
            self._air.say("w", self._number, *words, access.words[0])
        self._next_tag += 1

    def packet(self, port: int, payload: bytes) -> None:
        if port == self._packets:
            self._air.say("p", self._number, payload.hex())

    def front_end_changed(self) -> None:
        # What this one sends is what the others hear.
        self._air.front_ends_changed()

    def tell_front_end(self) -> None:
        """Tells the process what this node's receiver hears, where that is something else than before."""
        heard = self._air.heard_by(self._codec, self._chains[PERHOPS_CHANNEL], without=self)
        if heard != self._heard:
            self._heard = heard
            self._air.say("h", self._number, *heard)

    def factor(self, frequency_hz: float | None, gain_db: float) -> float:
        """How much of what this node sends arrives at a receiver of that frequency and gain."""
        chain = self._chains[PERHOPS_CHANNEL]
        if not self._codec.sends(chain) or self._codec.frequency_hz.get(f"TX{chain}") != frequency_hz:
            return 0.0
        level_db = PATH_DB + self._codec.gain_db.get(f"TX{chain}", 0.0) - GAINS_DB["TX"] + gain_db
        return 10 ** (level_db / 20)

    def record(self, channel: int, count: int, deliver: Deliver) -> None:
        """What a channel of this device hears, itself included, as a cable has it."""
        chain = self._chains[channel]
        if not self._codec.hears(chain):
            silence(count, deliver)
            return
        self._recording = (count, deliver)
        self._air.say("s", self._number, count, *self._air.heard_by(self._codec, chain, without=None))

    def come(self, kind: str, words: list[str]) -> None:
        """A line of the process."""
        if kind == "a":
            tag, status, word = map(int, words)
            self._answers.pop(tag)((word,), status)
        elif kind == "f":
            self._send(self._frames, bytes.fromhex(words[0]), True, None)
        elif kind == "i" and self._recording:
            samples = bytes.fromhex(words[0])
            left, deliver = self._recording
            left -= len(samples) // SAMPLE_BYTES
            self._recording = (left, deliver) if left else None
            deliver(samples)
