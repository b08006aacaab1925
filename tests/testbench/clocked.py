# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives a module clock by clock: what tests of single modules need."""

from cocotb.handle import ArrayObject
from cocotb.triggers import Timer


class Clocked:
    """Inputs given to clock() hold for that clock only; those given to hold() until they are changed.

    Every input and setting that a test does not name is 0. Outputs are read after the rising edge. An array takes a
    list, or one number for all of its entries.
    """

    def __init__(self, dut, *inputs: str, **held: int) -> None:
        self.dut = dut
        self._outputs: dict[str, object] = {}  # handles that were asked for
        self._clk = getattr(dut, "clk", None)  # combinational modules have none
        # Made once: a test takes it at each edge.
        self._phase = Timer(1, "ns")
        # A module's settings come as one struct, of which it reads a few; so does what it is told of the medium.
        settings = [
            handle._name
            for handle in dut
            if handle._name.startswith(("cfg_", "summary_")) and not isinstance(handle, ArrayObject)
        ]
        self._held = dict.fromkeys((*settings, *inputs), 0) | held
        self.hold(**self._held)

    def hold(self, **values: int) -> None:
        """Changes inputs from now on."""
        self._held |= values
        for name, value in values.items():
            self._put(name, value)

    def _put(self, name: str, value: int | list[int]) -> None:
        port = getattr(self.dut, name)
        if isinstance(port, ArrayObject) and isinstance(value, int):
            value = [value] * len(port)
        port.value = value

    async def clock(self, **values: int) -> None:
        """One clock with these inputs."""
        for name, value in values.items():
            self._put(name, value)
        self._clk.value = 0
        await self._phase
        self._clk.value = 1
        await self._phase
        if values:
            for name in values:
                self._put(name, self._held.get(name, 0))
            await self.settle()

    async def settle(self) -> None:
        """Lets combinational outputs follow the inputs."""
        await self._phase

    async def set(self, **values: int) -> None:
        """hold(), and combinational outputs follow."""
        self.hold(**values)
        await self.settle()

    async def reset(self) -> None:
        """Two clocks of reset."""
        await self.clock(rst=1)
        await self.clock(rst=1)

    async def play(self, *timeline: tuple[dict[str, int], dict[str, int]]) -> None:
        """Of each clock its inputs, all others at what they hold, and what the outputs say before its rising edge."""
        for number, (inputs, outputs) in enumerate(timeline):
            for name in self._held.keys() | inputs.keys():
                self._put(name, inputs.get(name, self._held.get(name, 0)))
            await self.settle()
            said = {name: getattr(self, name) for name in outputs}
            assert said == outputs, f"clock {number}: {said} and not {outputs}"
            await self.clock(**inputs)

    def __getattr__(self, name: str) -> int:
        """The value of an output, as a number."""
        if name.startswith("_"):
            raise AttributeError(name)
        handle = self._outputs.get(name)
        if handle is None:
            handle = self._outputs[name] = getattr(self.dut, name)
        return int(handle.value)
