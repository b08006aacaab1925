# SPDX-License-Identifier: GPL-2.0-or-later
"""service_time_serial keeps the parts that service_time keeps, in every order of events, a tick a clock at most."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

PARTS = 9
STATES = ("in_contention", "in_rts", "in_data", "in_gap")


@cocotb.test()
@cocotb.parametrize(seed=list(range(6)))
async def the_parts_are_the_same(dut, seed):
    bench = Clocked(
        dut, "tick", "tsf_us", "head_taken", "head_t_enqueue_us", *STATES, "responded", "timed_out", "cca_busy", "held",
        "own_left_us", "reserved_us", "ifs_left_us", "slots_left", "draw", "draw_slots", "part_index",
    )  # fmt: skip
    await bench.reset()
    source = random.Random(seed)
    seen = [0] * PARTS
    await bench.clock(head_taken=1, head_t_enqueue_us=source.getrandbits(32))
    for _ in range(1500):
        own = source.choice((0, 0, 1, 300))
        levels = dict.fromkeys(STATES, 0) | ({source.choice(STATES): 1} if source.random() < 0.9 else {})
        levels |= {
            "cca_busy": source.randrange(2), "held": int(source.random() < 0.1), "own_left_us": own,
            "reserved_us": max(own, source.choice((0, 0, 1, 5000))), "ifs_left_us": source.choice((0, 0, 1, 50)),
            "slots_left": source.randrange(1024), "draw_slots": source.randrange(1024),
            "tsf_us": source.getrandbits(32),
        }  # fmt: skip
        bench.hold(**levels)
        for _ in range(source.choice((0, 1, 1, 2, 40))):
            await bench.clock(tick=1)
        event = source.choice(("responded", "timed_out", "draw", "none", "none", "none"))
        if source.random() < 0.03:
            taken = {"head_taken": 1, "head_t_enqueue_us": source.getrandbits(32)}
            levels |= dict.fromkeys(STATES, 0)
            bench.hold(**levels)
            await bench.clock(**taken, draw=int(event == "draw"))
        elif event != "none":
            await bench.clock(**{event: 1})
        await bench.clock()  # what was decided is added a clock later
        for part in range(PARTS):
            await bench.set(part_index=part)
            assert bench.part_us == bench.wanted_us, f"part {part}"
            seen[part] = max(seen[part], bench.part_us)
        assert bench.t_enqueue_us == bench.wanted_t_enqueue_us
        assert bench.slots_drawn == bench.wanted_slots
    assert all(seen), "every part was needed once"


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_service_time_serial(name):
    simulate("service_times_bench", __file__, name, cocotb_tests(globals()))
