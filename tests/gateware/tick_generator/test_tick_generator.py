# SPDX-License-Identifier: GPL-2.0-or-later
"""tick_generator: microseconds in step with the medium, and with the clock in the long run."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
US, SETTLE = 64, 16
# Tests of responses alone: the ticks behind another edge come a clock earlier with CONTENTION_CLOCKS.
RESPONSES = ("what_responses_move_is_paid_back", "the_end_of_a_frame_during_sifs_moves_nothing")
INPUTS = ("rst", "phy_rx_end", "news", "sending", "tx_start", "nav_left_us")


class Generator(Clocked):
    """A tick_generator, a MAC that is always quiescent, and the clocks in which ticks came."""

    def __init__(self, dut, tx_delay: int = 0, rx_delay: int = 0) -> None:
        super().__init__(dut, *INPUTS, quiescent=1, phy_cca_busy=0, cca_busy=0)
        self.hold(cfg_phy_tx_delay_clocks=tx_delay, cfg_phy_rx_delay_clocks=rx_delay)
        self.delay = tx_delay + rx_delay
        self.now = 0
        self._carrier = 0
        self.ticks: list[int] = []

    async def start(self) -> "Generator":
        # The sums of the delays need three clocks.
        await self.reset()
        await self.reset()
        self.hold(rst=0)
        return self

    async def step(self, **values: int) -> None:
        """One clock: the carrier reaches the MAC a clock later."""
        if self._held["cca_busy"] != self._carrier:
            self.hold(cca_busy=self._carrier)
        if self.tick:
            self.ticks.append(self.now)
        await self.clock(**values)
        self._carrier = self._held["phy_cca_busy"]
        self.now += 1

    async def steps(self, count: int) -> None:
        for _ in range(count):
            await self.step()

    async def hear(self, clocks: int) -> int:
        """A carrier, and a frame that ends with it; returns the clock of its end."""
        self.hold(phy_cca_busy=1)
        await self.steps(clocks)
        self.hold(phy_cca_busy=0)
        end = self.now
        await self.step(phy_rx_end=1)
        return end

    def after(self, clock: int) -> list[int]:
        return [tick - clock for tick in self.ticks if tick > clock + 1]


@cocotb.test()
async def undisturbed_a_tick_comes_every_microsecond(dut):
    generator = await Generator(dut).start()
    await generator.steps(20 * US)
    assert {later - tick for tick, later in zip(generator.ticks, generator.ticks[1:], strict=False)} == {US}
    assert len(generator.ticks) == 20


@cocotb.test()
@cocotb.parametrize(delays=[(0, 0), (10, 20), (100, 233)])
async def after_a_frame_every_tick_is_where_a_response_starts(dut, delays):
    """Tick n comes two clocks before n microseconds less both delays are over: phy_tx_start follows in two clocks.

    A tick that would have been due earlier comes as soon as the MAC has settled.
    """
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    generator = await Generator(dut, *delays).start()
    for _ in range(30):
        end = await generator.hear(5 * US + source.randrange(US))
        generator.hold(sending=1)
        await generator.steps(12 * US)
        generator.hold(sending=0)
        found = generator.after(end)
        due = [US * (index + 1) - generator.delay - 2 for index in range(len(found))]
        late = [at for at, when in zip(found, due, strict=True) if at != when]
        assert found[-4:] == due[-4:]
        assert all(at >= when for at, when in zip(found, due, strict=True)), "a tick too early"
        assert late == sorted(late) and len(late) <= generator.delay // (US - SETTLE) + 2
        await generator.steps(source.randrange(200))


@cocotb.test()
@cocotb.parametrize(delays=[(0, 0), (10, 20), (100, 233)], stay=[1, 2, 20, 45, 61])
async def a_carrier_that_falls_soon_behind_a_frame_is_the_edge_to_count_from(dut, delays, stay):
    """Nobody answers the frame; whether somebody would was known with the first tick behind it only.

    ....frame|rx_end
    ____________________|<------ n microseconds ------>|
     carrier   |<-stay->|fall                          |tick n, two clocks before, earlier by both delays

    The first tick may come before the carrier has fallen: then it does not count.
    """
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    generator = await Generator(dut, *delays).start()
    for _ in range(20):
        generator.hold(phy_cca_busy=1)
        await generator.steps(generator.delay + 5 * US + source.randrange(US))
        await generator.step(phy_rx_end=1)
        await generator.steps(stay - 1)
        fall = generator.now
        generator.hold(phy_cca_busy=0)
        await generator.steps(12 * US)
        phases = {(at + generator.delay + 2) % US for at in generator.after(fall)[-4:]}
        assert phases == {0}, f"ticks {phases} clocks behind whole microseconds from the fall"
        await generator.steps(source.randrange(200))


@cocotb.test()
async def a_carrier_that_stays_into_sifs_moves_nothing(dut):
    """The frame is answered: its end is the edge, whatever the carrier does behind it."""
    generator = await Generator(dut, 10, 20).start()
    for stay in range(1, 2 * US):
        generator.hold(phy_cca_busy=1)
        await generator.steps(5 * US)
        await generator.step(phy_rx_end=1)
        end = generator.now - 1
        generator.hold(sending=1)
        await generator.steps(stay - 1)
        generator.hold(phy_cca_busy=0)
        await generator.steps(10 * US)
        generator.hold(sending=0)
        assert generator.after(end)[:9] == [US * n - generator.delay - 2 for n in range(1, 10)]


@cocotb.test()
async def what_edges_move_is_paid_back(dut):
    """Frames at random times for 4 ms: the ticks stay within three microseconds of the clock."""
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    generator = await Generator(dut, 20, 30).start()
    while generator.now < 4000 * US:
        await generator.hear(source.randrange(3 * US, 20 * US))
        await generator.steps(source.randrange(1, 10 * US))
        error = len(generator.ticks) * US - generator.now
        assert -3 * US < error < 3 * US
    gaps = [later - tick for tick, later in zip(generator.ticks, generator.ticks[1:], strict=False)]
    assert min(gaps) >= SETTLE


@cocotb.test()
async def what_responses_move_is_paid_back(dut):
    """250 frames are answered: booked a clock wrong for each response, the ticks would be off by 4 microseconds.

    A MAC that takes a clock more to start after contention has its ticks put off by that clock while SIFS runs.
    """
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    generator = await Generator(dut, 20, 30).start()
    for _ in range(250):
        end = await generator.hear(source.randrange(2 * US, 4 * US))
        generator.hold(sending=1)
        await generator.steps(6 * US - generator.delay)
        assert generator.after(end)[1:5] == [US * n - generator.delay - 2 for n in range(2, 6)]
        await generator.step(tx_start=1)
        await generator.steps(2 * US)
        generator.hold(sending=0)
        await generator.steps(source.randrange(1, 3 * US))
        error = len(generator.ticks) * US - generator.now
        assert -3 * US < error < 3 * US


@cocotb.test()
async def an_own_frame_that_starts_between_ticks_takes_them_along(dut):
    generator = await Generator(dut).start()
    await generator.steps(10 * US + 23)
    start = generator.now
    generator.hold(sending=1)
    await generator.step(tx_start=1)
    await generator.steps(5 * US)
    assert generator.after(start)[:4] == [US * n - 2 for n in range(1, 5)]


@cocotb.test()
async def a_tick_waits_for_the_mac(dut):
    generator = await Generator(dut).start()
    await generator.steps(3 * US + 10)
    count = len(generator.ticks)
    generator.hold(quiescent=0)
    await generator.steps(US + 20)
    assert len(generator.ticks) == count
    generator.hold(quiescent=1)
    await generator.steps(5 * US)
    gaps = [later - tick for tick, later in zip(generator.ticks, generator.ticks[1:], strict=False)]
    assert sum(gaps[-4:]) < 4 * US + 30, "the tick that had to wait was not followed by the next in time"


@cocotb.test()
async def the_end_of_a_frame_during_sifs_moves_nothing(dut):
    """And a PHY without a carrier cannot run the clock away: the edge that would pass the bound moves nothing."""
    generator = await Generator(dut).start()
    end = await generator.hear(5 * US)
    generator.hold(sending=1)
    await generator.steps(3 * US + 11)
    await generator.step(phy_rx_end=1)
    await generator.steps(4 * US)
    assert generator.after(end)[:6] == [US * n - 2 for n in range(1, 7)]
    generator.hold(sending=0)
    for _ in range(100):
        await generator.steps(40)
        await generator.step(phy_rx_end=1)
    await generator.steps(US)
    assert abs(len(generator.ticks) * US - generator.now) <= 6 * US


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_tick_generator(name):
    simulate("tick_generator", __file__, name, cocotb_tests(globals()))


@pytest.mark.parametrize("name", RESPONSES)
def test_tick_generator_of_a_mac_that_starts_later_after_contention(name):
    simulate("tick_generator", __file__, name, RESPONSES, {"CONTENTION_CLOCKS": 1})
