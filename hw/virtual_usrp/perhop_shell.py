# SPDX-License-Identifier: GPL-2.0-or-later
"""Perhop's block with its gateware, and the air between several: Verilated shell_tops in one process (shell/).

The device goes on answering UHD in real time; what is asked of perhop's registers waits for the simulation. The codec's
state is between shell and air: a channel whose chain does not run sends nothing and hears nothing, another frequency is
not heard, gains scale.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path

from perhop.errors import PerhopError

from .ad9361 import Ad9361
from .air_links import AirLinks
from .chdr import Access, Control
from .image_core import Block
from .pace import PaceWatch
from .registers import COMMAND_ERROR
from .sample_source import ENDLESS, SAMPLE_BYTES, Deliver, SendOut, Taken, silence
from .timekeeper import PULSE_S, SampleTimekeeper

CHAIN_OF_CHANNEL = {"e320": (1, 2), "e310": (2, 1)}
PERHOPS_CHANNEL = 0
GAINS_DB = {"TX": 40.0, "RX": 30.0}
"""Of the front ends for which air_links.py states losses."""
NOISE_STEPS = 0.4
"""Of I and of Q at a receiver of that gain, before they are rounded."""
LONGEST_LINE = 1 << 16

Answer = Callable[[tuple[int, ...], int], None]


class ShellAir:
    """The process. Devices get their nodes from it before it runs."""

    def __init__(
        self, program: Path, slow_down: float, tell: Callable[..., None], links: AirLinks, pulse_s: float = PULSE_S
    ) -> None:
        """`pulse_s`: of the air's time, between two pulses."""
        self._program, self._slow_down, self._tell, self._links = program, slow_down, tell, links
        self._pulse_s = pulse_s
        self.samples = 0
        """That have passed, by the process's last word."""
        self._nodes: list[PerhopShell] = []
        self._process: asyncio.subprocess.Process | None = None

    def add(self, block: Block, send: SendOut, codec: Ad9361, device: str) -> PerhopShell:
        """What is behind one more device's block."""
        self._nodes.append(PerhopShell(self, len(self._nodes), block, send, codec, CHAIN_OF_CHANNEL[device]))
        return self._nodes[-1]

    async def run(self) -> None:
        """Until it is cancelled. That the process ends by itself is an error."""
        command = [str(self._program), str(len(self._nodes)), f"{self._slow_down:g}", f"{self._pulse_s:g}"]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LONGEST_LINE
            )
        except OSError as error:
            raise PerhopError(f"--shell {self._program}: {error.strerror}", "`make virtual-usrp` builds it") from error
        assert self._process.stdout
        watch = PaceWatch(self._slow_down)
        self.front_ends_changed()
        try:
            while line := await self._process.stdout.readline():
                kind, *rest = line.decode().split()
                if kind == "n":
                    self.samples = int(rest[0])
                elif kind == "t":
                    samples, air_s, seconds = int(rest[0]), float(rest[1]), float(rest[2])
                    self._tell("pace", samples=samples, air_s=air_s, seconds=seconds)
                    if warning := watch.word(air_s, seconds):
                        print(f"virtual_usrp: {warning}", file=sys.stderr, flush=True)
                elif kind == "x":
                    self._tell("sent", node=int(rest[0]), first_sample=int(rest[1]), samples=int(rest[2]))
                else:
                    if kind in "kz":
                        what = {"k": "time_set", "z": "pulse"}[kind]
                        self._tell(what, node=int(rest[0]), ticks=int(rest[1]), sample=int(rest[2]))
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

    def heard_by(self, node: int, codec: Ad9361, chain: int, itself: bool) -> list[float]:
        """Noise, and the factor of what each node sends, at a receive chain of a node."""
        if not codec.hears(chain):
            return [0.0] * (1 + len(self._nodes))
        gain_db = codec.gain_db.get(f"RX{chain}", 0.0) - GAINS_DB["RX"]
        noise = NOISE_STEPS * 10 ** (gain_db / 20)
        frequency_hz = codec.frequency_hz.get(f"RX{chain}")

        def factor(number: int) -> float:
            loss_db = self._links.loss_db(number, node)
            if loss_db is None or (number == node and not itself):
                return 0.0
            return self._nodes[number].factor(frequency_hz, gain_db - loss_db)

        return [noise, *map(factor, range(len(self._nodes)))]


class PerhopShell:
    """One node: registers, packets and a recorder's samples."""

    def __init__(
        self, air: ShellAir, number: int, block: Block, send: SendOut,
        codec: Ad9361, chains: tuple[int, int],
    ) -> None:  # fmt: skip
        self._air, self._number, self._send, self._codec, self._chains = air, number, send, codec, chains
        self.timekeeper = SampleTimekeeper(lambda: air.samples, lambda what, *words: air.say(what, number, *words))
        self._packets, self._frames = block.inputs.index("packets"), block.outputs.index("frames")
        self._answers: dict[int, Answer] = {}
        self._next_tag = 0
        self._recording: tuple[int, int, Deliver] | None = None
        """Channel, samples to come, and who takes them."""
        self._sending: deque[tuple[int, Taken]] = deque()
        """Samples of UHD's that have not gone out, a packet each."""
        self._heard: list[float] = []
        self._untaken = 0
        """Packets of the MAC that the host's stream has not taken."""
        self._waits = False

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

    def packet(self, port: int, payload: bytes, end_of_burst: bool, taken: Taken) -> None:
        if port == self._packets:
            self._air.say("p", self._number, int(end_of_burst), payload.hex())
        taken()

    def transmit(self, channel: int, payload: bytes, end_of_burst: bool, taken: Taken) -> None:
        """What UHD sends by perhop's channel goes out unless the modem owns the converter; nobody hears the other."""
        if channel != PERHOPS_CHANNEL or not payload:
            taken()
            return
        self._sending.append((len(payload) // SAMPLE_BYTES, taken))
        self._air.say("u", self._number, int(end_of_burst), payload.hex())

    def front_end_changed(self) -> None:
        # What this one sends is what the others hear.
        self._air.front_ends_changed()

    def tell_front_end(self) -> None:
        """Tells the process what this node's receiver hears, where that is something else than before."""
        heard = self._air.heard_by(self._number, self._codec, self._chains[PERHOPS_CHANNEL], itself=False)
        if heard != self._heard:
            self._heard = heard
            self._air.say("h", self._number, *heard)
        if self._recording:
            self._air.say("l", self._number, *self._recorder_hears(self._recording[0]))

    def factor(self, frequency_hz: float | None, gain_db: float) -> float:
        """How much of what this node sends arrives at a receiver of that frequency, and gain less loss."""
        chain = self._chains[PERHOPS_CHANNEL]
        if not self._codec.sends(chain) or self._codec.frequency_hz.get(f"TX{chain}") != frequency_hz:
            return 0.0
        level_db = self._codec.gain_db.get(f"TX{chain}", 0.0) - GAINS_DB["TX"] + gain_db
        return 10 ** (level_db / 20)

    def record(self, channel: int, count: int, deliver: Deliver) -> None:
        """What a channel of this device hears, itself included, as a cable has it."""
        if not self._codec.hears(self._chains[channel]) and count < ENDLESS:
            silence(count, deliver)
            return
        self._recording = (channel, count, deliver)
        self._air.say("l", self._number, *self._recorder_hears(channel))
        self._air.say("s", self._number, count)

    def stop_recording(self, channel: int) -> None:
        if self._recording and self._recording[0] == channel:
            self._recording = None
            self._air.say("s", self._number, 0)

    def _recorder_hears(self, channel: int) -> list[float]:
        return self._air.heard_by(self._number, self._codec, self._chains[channel], itself=True)

    def _gone_out(self, samples: int) -> None:
        """So many of UHD's samples more have been sent, in the order in which they came."""
        while samples:
            waiting, taken = self._sending.popleft()
            if waiting > samples:
                self._sending.appendleft((waiting - samples, taken))
                return
            samples -= waiting
            taken()

    def _give(self, packet: bytes, end_of_burst: bool, ticks: int | None) -> None:
        """To the host. While it does not take one, the shell keeps what comes behind."""
        self._untaken += 1
        self._send(self._frames, packet, end_of_burst, ticks, self._on_taken)
        if self._untaken and not self._waits:
            self._waits = True
            self._air.say("m", self._number, 0)

    def _on_taken(self) -> None:
        self._untaken -= 1
        if self._untaken == 0 and self._waits:
            self._waits = False
            self._air.say("m", self._number, 1)

    def come(self, kind: str, words: list[str]) -> None:
        """A line of the process."""
        if kind == "a":
            tag, status, word = map(int, words)
            self._answers.pop(tag)((word,), status)
        elif kind == "f":
            self._give(bytes.fromhex(words[2]), words[1] == "1", None if words[0] == "-" else int(words[0]))
        elif kind == "i" and self._recording:
            samples = bytes.fromhex(words[0])
            channel, left, deliver = self._recording
            left -= len(samples) // SAMPLE_BYTES
            self._recording = (channel, left, deliver) if left else None
            deliver(samples)
        elif kind == "c":
            self._gone_out(int(words[0]))
        elif kind == "k":
            self.timekeeper.was_set(int(words[0]), int(words[1]))
        elif kind == "z":
            self.timekeeper.pulse(int(words[0]))
