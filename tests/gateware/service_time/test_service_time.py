# SPDX-License-Identifier: GPL-2.0-or-later
"""service_time: every microsecond of a packet's life goes to one of ten parts."""

import random
from collections import Counter

import cocotb
import pytest
from cocotbext.perhop.exchange import PARTS
from testbench.build import cocotb_tests, simulate, stops_the_simulation
from testbench.clocked import Clocked


class Life:
    """Feeds service_time a packet's life and keeps the books beside it."""

    def __init__(self, dut) -> None:
        self.time = Clocked(
            dut, "tick_n", "tsf_us", "head_taken", "head_t_enqueue_us", "in_contention", "in_rts", "in_data", "in_gap",
            "responded", "timed_out", "report", "cca_busy", "held", "own_left_us", "reserved_us", "ifs_left_us",
            "slots_left", "draw", "draw_slots",
        )  # fmt: skip
        self.now_us = 0
        self.begin_us = 0
        self.parts: Counter[str] = Counter()

    async def begin(self, t_enqueue_us: int, t_head_us: int, **more: int) -> None:
        await self.time.reset()
        self.now_us, self.begin_us = t_head_us, t_enqueue_us
        self.parts = Counter(queue_us=t_head_us - t_enqueue_us)
        self.time.hold(tsf_us=t_head_us & 0xFFFFFFFF)
        await self.time.clock(head_taken=1, head_t_enqueue_us=t_enqueue_us & 0xFFFFFFFF, **more)

    async def passes(self, ticks: int, **state: int) -> None:
        await self.time.clock(tick_n=ticks, **state)
        self.now_us += ticks
        self.time.hold(tsf_us=self.now_us & 0xFFFFFFFF)

    async def contends(self, ticks: int, *, own: int = 0, nav: int = 0, busy: bool = False, ifs: int = 0) -> None:
        """The medium: first own answer, then NAV beyond it, then the carrier or inter-frame space and slots."""
        await self.passes(
            ticks, in_contention=1, own_left_us=own, reserved_us=max(own, nav), cca_busy=int(busy), ifs_left_us=ifs
        )
        left = ticks
        for part, length in (("responder_us", own), ("frozen_nav_us", max(nav - own, 0))):
            self.parts[part] += min(left, length)
            left -= min(left, length)
        if busy:
            self.parts["frozen_cca_us"] += left
        else:
            self.parts["ifs_us"] += min(left, ifs)
            self.parts["backoff_us"] += max(left - ifs, 0)

    async def sends(self, what: str, airtime_us: int, waits_us: int, answered: bool) -> None:
        """RTS or DATA on the air in two jumps, then its answer, or none."""
        first = airtime_us // 2
        state = {f"in_{what}": 1}
        if first:
            await self.passes(first, own_left_us=airtime_us, reserved_us=airtime_us, **state)
        await self.passes(
            airtime_us - first + waits_us,
            own_left_us=airtime_us - first, reserved_us=airtime_us - first, **state,
        )  # fmt: skip
        await self.time.clock(**({"responded": 1} if answered else {"timed_out": 1}), **state)
        self.parts["control_us" if what == "rts" else "data_us"] += airtime_us
        self.parts["response_us" if answered else "timeout_us"] += waits_us

    async def ends(self) -> None:
        await self.time.clock(report=1)
        found = {part: getattr(self.time, part) for part in PARTS}
        assert found == {part: self.parts[part] for part in PARTS}
        assert sum(found.values()) == self.now_us - self.begin_us
        assert self.time.service_us == self.now_us - self.begin_us - found["queue_us"]
        assert (self.time.t_enqueue_us, self.time.t_done_us) == (self.begin_us & 0xFFFFFFFF, self.now_us & 0xFFFFFFFF)


@cocotb.test()
async def a_whole_exchange_is_divided_into_its_parts(dut):
    life = Life(dut)
    await life.begin(100, 400)
    await life.contends(500, busy=True)
    await life.contends(110, ifs=50)
    await life.sends("rts", 352, 222, answered=False)
    await life.contends(80)
    await life.sends("rts", 352, 314, answered=True)
    await life.passes(10, in_gap=1)
    life.parts["response_us"] += 10
    await life.sends("data", 1192, 314, answered=True)
    await life.ends()


@cocotb.test()
async def an_own_answer_comes_before_nav_and_nav_before_the_carrier(dut):
    life = Life(dut)
    await life.begin(0, 0)
    await life.contends(1000, own=314, nav=800, busy=True)
    await life.contends(1000, own=314, nav=100, ifs=50)
    await life.ends()


@cocotb.test()
async def time_without_a_packet_is_nobodys(dut):
    life = Life(dut)
    await life.begin(0, 0)
    await life.contends(10)
    await life.passes(500, cca_busy=1)
    life.begin_us += 500
    found = {part: getattr(life.time, part) for part in PARTS}
    assert found == {part: life.parts[part] for part in PARTS}


@cocotb.test()
async def slots_are_those_left_before_and_those_drawn_for_the_packet(dut):
    life = Life(dut)
    await life.begin(0, 0, slots_left=7)
    assert life.time.slots_drawn == 7
    await life.time.clock(draw=1, draw_slots=20, in_contention=1)
    await life.time.clock(draw=1, draw_slots=1000, in_contention=1)
    assert life.time.slots_drawn == 1027
    await life.time.clock(draw=1, draw_slots=5)
    assert life.time.slots_drawn == 1027


@cocotb.test()
async def a_backoff_drawn_as_the_packet_comes_is_the_packets(dut):
    life = Life(dut)
    await life.begin(0, 0, draw=1, draw_slots=9, slots_left=3)
    assert life.time.slots_drawn == 9


@cocotb.test()
async def random_lives_add_up(dut):
    """Also over the wrap of the 32-bit time."""
    source = random.Random(5)
    life = Life(dut)
    for _ in range(80):
        t_enqueue_us = source.choice((source.getrandbits(32), (1 << 32) - source.randrange(1, 3000)))
        await life.begin(t_enqueue_us, t_enqueue_us + source.choice((0, source.randrange(100000))))
        for _ in range(source.randrange(1, 5)):
            for _ in range(source.randrange(4)):
                await life.contends(
                    source.randint(1, 3000), own=source.choice((0, source.randrange(700))),
                    nav=source.choice((0, source.randrange(4000))), busy=source.random() < 0.5,
                    ifs=source.choice((0, 50, 364)),
                )  # fmt: skip
            what = source.choice(("rts", "data"))
            await life.sends(what, source.randint(1, 6000), source.randrange(1, 500), source.random() < 0.5)
        await life.ends()


@cocotb.test()
async def time_of_the_other_queue_is_the_stations_other_work(dut):
    """Whatever the medium is meanwhile: own frame, NAV, carrier, or idle while its answer is awaited."""
    life = Life(dut)
    await life.begin(100, 300)
    await life.contends(70, ifs=50)
    for medium in ({"own_left_us": 90, "reserved_us": 90}, {"reserved_us": 500}, {"cca_busy": 1}, {"ifs_left_us": 50}):
        await life.passes(80, in_contention=1, held=1, **medium)
        life.parts["responder_us"] += 80
    await life.contends(45, ifs=50)
    await life.sends("data", 1192, 314, answered=True)
    await life.ends()


@cocotb.test()
async def what_is_told_late_is_added_to_what_was_known(dut):
    life = Life(dut)
    await life.begin(0, 0)
    await life.contends(100, own=30, nav=50)
    # 40 us of which it knows, 10 of them an inter-frame space; then what it is told.
    told = {"summary_us": 1000, "summary_nav_us": 400, "summary_cca_us": 300, "summary_ifs_us": 100}
    await life.passes(40 + 1000, in_contention=1, ifs_left_us=10, **told)
    life.parts += {"ifs_us": 110, "backoff_us": 30 + 200, "frozen_nav_us": 400, "frozen_cca_us": 300}
    await life.sends("data", 500, 60, answered=True)
    await life.ends()


@cocotb.test()
async def breaks_the_sum_by_time_that_no_state_claims(dut):
    life = Life(dut)
    await life.begin(0, 0)
    await life.passes(5)
    await life.time.clock(report=1)
    await life.time.clock()


NAMES = [name for name in cocotb_tests(globals()) if not name.startswith("breaks")]


@pytest.mark.parametrize("name", NAMES)
def test_service_time(name):
    simulate("service_time", __file__, name, NAMES)


def test_parts_that_do_not_add_up_stop_the_simulation():
    log = stops_the_simulation("service_time", __file__, "breaks_the_sum_by_time_that_no_state_claims")
    assert "a_parts_sum_to_whole" in log
