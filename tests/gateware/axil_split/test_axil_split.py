# SPDX-License-Identifier: GPL-2.0-or-later
"""axil_split: each access reaches the slave of its half, and its answer comes back (Arm IHI 0022, B1)."""

import os
import random
from collections import deque

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = int(os.environ.get("PERHOP_SEED", "11"))
HALF = 1 << 10


async def started(dut) -> Clocked:
    split = Clocked(
        dut, "s_axil_awvalid", "s_axil_awaddr", "s_axil_wvalid", "s_axil_bready", "s_axil_arvalid", "s_axil_araddr",
        "s_axil_rready", "m_axil_awready", "m_axil_bvalid", "m_axil_arready", "m_axil_rvalid",
    )  # fmt: skip
    for slave in range(2):
        dut.m_axil_bresp[slave].value = slave
        dut.m_axil_rresp[slave].value = 3 - slave
        dut.m_axil_rdata[slave].value = 0xA0 + slave
    await split.reset()
    return split


@cocotb.test()
@cocotb.parametrize(slave=[0, 1])
async def a_write_goes_to_one_slave_and_the_next_waits_for_its_answer(dut, slave: int):
    """clock    0      1            2        3              4
    host     addr   addr, data   other    other, bready  other
    taken           x                                    x
    slave           valid                 bvalid
    """  # fmt: skip
    split = await started(dut)
    this, other = 1 << slave, 2 >> slave
    here, there = slave * HALF + 0x24, (1 - slave) * HALF + 0x24
    nothing = {"m_axil_awvalid": 0, "m_axil_wvalid": 0, "s_axil_awready": 0, "s_axil_wready": 0, "s_axil_bvalid": 0}
    both = {"s_axil_awvalid": 1, "s_axil_wvalid": 1, "m_axil_awready": 3}
    taken = {"s_axil_awready": 1, "s_axil_wready": 1}
    await split.play(
        ({"s_axil_awvalid": 1, "s_axil_awaddr": here, "m_axil_awready": 3}, nothing),
        (both | {"s_axil_awaddr": here}, nothing | taken | {"m_axil_awvalid": this, "m_axil_wvalid": this}),
        (both | {"s_axil_awaddr": there}, nothing),
        (
            both | {"s_axil_awaddr": there, "m_axil_bvalid": this, "s_axil_bready": 1},
            nothing | {"s_axil_bvalid": 1, "s_axil_bresp": slave, "m_axil_bready": this},
        ),
        (both | {"s_axil_awaddr": there}, nothing | taken | {"m_axil_awvalid": other, "m_axil_wvalid": other}),
        ({"m_axil_bvalid": this, "s_axil_bready": 1}, nothing | {"m_axil_bready": other}),
    )


@cocotb.test()
@cocotb.parametrize(slave=[0, 1])
async def a_read_goes_to_one_slave_and_the_next_waits_for_its_answer(dut, slave: int):
    split = await started(dut)
    this, other = 1 << slave, 2 >> slave
    here, there = slave * HALF + 0x3FC, (1 - slave) * HALF
    nothing = {"m_axil_arvalid": 0, "s_axil_arready": 0, "s_axil_rvalid": 0, "m_axil_rready": 0}
    read = {"s_axil_arvalid": 1, "m_axil_arready": this}
    await split.play(
        (read | {"s_axil_araddr": here, "m_axil_arready": other}, nothing | {"m_axil_arvalid": this}),
        (read | {"s_axil_araddr": here}, nothing | {"m_axil_arvalid": this, "s_axil_arready": 1}),
        (read | {"s_axil_araddr": there, "m_axil_arready": 3}, nothing),
        ({"m_axil_rvalid": 3}, nothing | {"s_axil_rvalid": 1, "s_axil_rdata": 0xA0 + slave, "s_axil_rresp": 3 - slave}),
        ({"m_axil_rvalid": 3, "s_axil_rready": 1}, nothing | {"s_axil_rvalid": 1, "m_axil_rready": this}),
        ({"m_axil_rvalid": 3, "s_axil_rready": 1}, nothing),
    )


@cocotb.test()
async def random_accesses_are_answered_once_each_in_their_order(dut):
    """Two slaves that take their time, a host that offers reads and writes at once."""
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(SEED)
    split = await started(dut)
    names = {"aw": ("aw", "b"), "ar": ("ar", "r")}
    # By channel: what waits for its answer, at which slave, after how many clocks.
    open_access: dict[str, tuple[int, int] | None] = dict.fromkeys(names)
    offered: dict[str, deque[int]] = {way: deque() for way in names}
    asked, answered = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for _ in range(3000):
        inputs: dict[str, int] = {}
        for way, (ask, answer) in names.items():
            if not offered[way] and source.random() < 0.5:
                offered[way].append(source.randrange(2 * HALF))
            inputs[f"s_axil_{ask}valid"] = int(bool(offered[way]))
            inputs[f"s_axil_{ask}addr"] = offered[way][0] if offered[way] else 0
            inputs[f"m_axil_{ask}ready"] = source.getrandbits(2)
            waiting = open_access[way]
            inputs[f"m_axil_{answer}valid"] = 1 << waiting[0] if waiting and waiting[1] == 0 else 0
            inputs[f"s_axil_{answer}ready"] = source.getrandbits(1)
        inputs["s_axil_wvalid"] = inputs["s_axil_awvalid"] and source.getrandbits(1)
        for name, value in inputs.items():
            getattr(dut, name).value = value
        await split.settle()
        for way, (ask, answer) in names.items():
            waiting = open_access[way]
            there = bool(inputs[f"s_axil_{ask}valid"]) and (way == "ar" or bool(inputs["s_axil_wvalid"]))
            slave = inputs[f"s_axil_{ask}addr"] // HALF
            assert getattr(split, f"m_axil_{ask}valid") == (1 << slave if there and waiting is None else 0)
            ready = there and waiting is None and inputs[f"m_axil_{ask}ready"] >> slave & 1
            assert getattr(split, f"s_axil_{ask}ready") == int(ready)
            assert getattr(split, f"s_axil_{answer}valid") == int(waiting is not None and waiting[1] == 0)
            if waiting is not None:
                assert getattr(split, f"m_axil_{answer}ready") == inputs[f"s_axil_{answer}ready"] << waiting[0]
                if waiting[1] > 0:
                    open_access[way] = (waiting[0], waiting[1] - 1)
                elif inputs[f"s_axil_{answer}ready"]:
                    open_access[way] = None
                    answered[way] += 1
            if ready:
                offered[way].popleft()
                open_access[way] = (slave, source.randrange(4))
                asked[way] += 1
        await split.clock(**inputs)
    assert min(answered.values()) > 200
    assert all(0 <= asked[way] - answered[way] <= 1 for way in names)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_axil_split(name):
    simulate("axil_split", __file__, name, cocotb_tests(globals()))
