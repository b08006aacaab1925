# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives a module clock by clock: what tests of single modules need."""

from cocotb.triggers import Timer


class Clocked:
    """Inputs given to clock() hold for that clock only; those given to hold() until they are changed.

    Every input that a test does not name is 0. Outputs are read after the rising edge.
    """

    def __init__(self, dut, *inputs: str, **held: int) -> None:
        self.dut = dut
        self._held = dict.fromkeys(inputs, 0) | held
        self.hold(**self._held)

    def hold(self, **values: int) -> None:
        """Changes inputs from now on."""
        self._held |= values
        for name, value in values.items():
            getattr(self.dut, name).value = value

    async def clock(self, **values: int) -> None:
        """One clock with these inputs."""
        for name, value in values.items():
            getattr(self.dut, name).value = value
        self.dut.clk.value = 0
        await Timer(1, "ns")
        self.dut.clk.value = 1
        await Timer(1, "ns")
        for name in values:
            getattr(self.dut, name).value = self._held.get(name, 0)
        await self.settle()

    async def settle(self) -> None:
        """Lets combinational outputs follow the inputs."""
        await Timer(1, "ns")

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
                getattr(self.dut, name).value = inputs.get(name, self._held.get(name, 0))
            await self.settle()
            said = {name: getattr(self, name) for name in outputs}
            assert said == outputs, f"clock {number}: {said} and not {outputs}"
            await self.clock(**inputs)

    def __getattr__(self, name: str) -> int:
        """The value of an output, as a number."""
        return int(getattr(self.dut, name).value)
