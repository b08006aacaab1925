# SPDX-License-Identifier: GPL-2.0-or-later
"""axil_slave: AXI4-Lite accesses (Arm IHI 0022, B1), one at a time, onto a bus that may take its time.

Timelines are in clocks; of each, what is offered, and what the slave says in that clock.
"""

import os
import random
from collections import deque

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

ADDRESS_W = 10
SEED = int(os.environ.get("PERHOP_SEED", "51"))


async def started(dut) -> Clocked:
    slave = Clocked(
        dut, "s_axil_awvalid", "s_axil_awaddr", "s_axil_wvalid", "s_axil_wdata", "s_axil_wstrb", "s_axil_bready",
        "s_axil_arvalid", "s_axil_araddr", "s_axil_rready", "bus_done", "bus_read_word",
    )  # fmt: skip
    await slave.reset()
    return slave


def address_of_write(address: int) -> dict[str, int]:
    return {"s_axil_awvalid": 1, "s_axil_awaddr": address}


def data_of_write(word: int, strobes: int = 0xF) -> dict[str, int]:
    return {"s_axil_wvalid": 1, "s_axil_wdata": word, "s_axil_wstrb": strobes}


def read_of(address: int) -> dict[str, int]:
    return {"s_axil_arvalid": 1, "s_axil_araddr": address}


@cocotb.test()
async def a_write_is_taken_stands_on_the_bus_until_done_and_is_answered(dut):
    """Address and data are taken together; the answer waits for the host.

    clock    0      1        2        3        4      5      6
    host     addr   addr                                     bready
                    data
    taken           x
    bus                      write    write
    done                              x
    bvalid                                     x      x      x
    """  # fmt: skip
    slave = await started(dut)
    write = {"bus_valid": 1, "bus_write": 1, "bus_address": 0x124, "bus_word": 0xCAFE_F00D, "bus_strobes": 0x5}
    await slave.play(
        (address_of_write(0x124), {"s_axil_awready": 0, "s_axil_wready": 0, "bus_valid": 0}),
        (
            address_of_write(0x124) | data_of_write(0xCAFE_F00D, 0x5),
            {"s_axil_awready": 1, "s_axil_wready": 1, "bus_valid": 0},
        ),
        ({}, write | {"s_axil_awready": 0}),
        ({"bus_done": 1}, write | {"s_axil_bvalid": 0}),
        ({}, write | {"bus_valid": 0, "s_axil_bvalid": 1, "s_axil_bresp": 0}),
        ({}, {"s_axil_bvalid": 1, "s_axil_rvalid": 0}),
        ({"s_axil_bready": 1}, {"s_axil_bvalid": 1}),
        ({}, {"s_axil_bvalid": 0, "bus_valid": 0}),
    )


@cocotb.test()
async def a_read_is_answered_with_what_the_bus_said_when_it_was_done(dut):
    """clock    0      1      2      3      4
       host     read                        rready
       bus             read   read
       done                   x
       word            1      2      3      4
       rvalid                        2      2
    """  # fmt: skip
    slave = await started(dut)
    await slave.play(
        (read_of(0x3FC), {"s_axil_arready": 1, "bus_valid": 0}),
        ({"bus_read_word": 1}, {"s_axil_arready": 0, "bus_valid": 1, "bus_write": 0, "bus_address": 0x3FC}),
        ({"bus_read_word": 2, "bus_done": 1}, {"bus_valid": 1, "s_axil_rvalid": 0}),
        ({"bus_read_word": 3}, {"s_axil_rvalid": 1, "s_axil_rdata": 2, "s_axil_rresp": 0, "s_axil_bvalid": 0}),
        ({"bus_read_word": 4, "s_axil_rready": 1}, {"s_axil_rvalid": 1, "s_axil_rdata": 2}),
        ({}, {"s_axil_rvalid": 0}),
    )


@cocotb.test()
async def reads_and_writes_that_both_wait_take_turns(dut):
    """After a reset the write is first: the last access counts as a read.

    clock    0      1      2      3      4      5      6
    host     both   both   both   both   both   both   both
    taken    write                read                 write
    bus             x                    x
    answer                 b                    r
    """  # fmt: skip
    slave = await started(dut)
    both = address_of_write(4) | data_of_write(1) | read_of(8) | {"s_axil_bready": 1, "s_axil_rready": 1}
    neither = {"s_axil_awready": 0, "s_axil_wready": 0, "s_axil_arready": 0}
    await slave.play(
        (both, {"s_axil_awready": 1, "s_axil_wready": 1, "s_axil_arready": 0}),
        (both | {"bus_done": 1}, neither | {"bus_write": 1, "bus_address": 4}),
        (both, neither | {"s_axil_bvalid": 1}),
        (both, {"s_axil_awready": 0, "s_axil_wready": 0, "s_axil_arready": 1}),
        (both | {"bus_done": 1}, neither | {"bus_write": 0, "bus_address": 8}),
        (both, neither | {"s_axil_rvalid": 1}),
        (both, {"s_axil_awready": 1, "s_axil_wready": 1, "s_axil_arready": 0}),
    )


@cocotb.test()
async def a_reset_takes_nothing_and_forgets_the_access(dut):
    """clock    0      1      2      3      4      5
       host     read   both   both   read   read
       rst             x      x      x
       taken    x                           x
       bus             x                           x
    """  # fmt: skip
    slave = await started(dut)
    both = address_of_write(4) | data_of_write(1) | read_of(8)
    neither = {"s_axil_awready": 0, "s_axil_wready": 0, "s_axil_arready": 0}
    await slave.play(
        (read_of(4), {"s_axil_arready": 1}),
        (both | {"rst": 1}, neither | {"bus_valid": 1}),
        (both | {"rst": 1}, neither | {"bus_valid": 0}),
        (read_of(8) | {"rst": 1}, neither | {"bus_valid": 0}),
        (read_of(8), {"s_axil_arready": 1, "bus_valid": 0}),
        ({}, {"bus_valid": 1, "bus_address": 8}),
    )


@cocotb.test()
@cocotb.parametrize(part=list(range(4)))
async def every_access_reaches_the_bus_once_and_gets_its_own_answer(dut, part):
    """Random hosts and buses; the model is a list of what was offered: answers come in its order."""
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(f"{SEED} {part}")
    slave = await started(dut)
    eager_host, eager_bus = source.choice((0.1, 0.5, 1.0)), source.choice((0.1, 0.5, 1.0))
    offered: dict[str, int] = {}  # what the host offers and must keep offering
    writes: deque = deque()  # answers the host is owed
    reads: deque = deque()
    on_bus: tuple | None = None
    bus_accesses = 0
    answers = 0
    last_write = None
    for _ in range(3000):
        if "s_axil_awvalid" not in offered and source.random() < eager_host:
            offered |= address_of_write(source.getrandbits(ADDRESS_W))
        if "s_axil_wvalid" not in offered and source.random() < eager_host:
            offered |= data_of_write(source.getrandbits(32), source.getrandbits(4))
        if "s_axil_arvalid" not in offered and source.random() < eager_host:
            offered |= read_of(source.getrandbits(ADDRESS_W))
        word = source.getrandbits(32)
        await slave.set(
            **dict.fromkeys(("s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid", "bus_done"), 0),
            **{name: int(source.random() < eager_host) for name in ("s_axil_bready", "s_axil_rready")},
            bus_read_word=word,
        )
        await slave.set(**offered)
        if slave.bus_valid:
            said = (slave.bus_write, slave.bus_address) + (
                (slave.bus_word, slave.bus_strobes) if slave.bus_write else ()
            )
            assert said == on_bus
            if source.random() < eager_bus:
                await slave.set(bus_done=1)
                bus_accesses += 1
                (writes if slave.bus_write else reads).append(word)
        taken_write, taken_read = slave.s_axil_awready, slave.s_axil_arready
        assert taken_write == slave.s_axil_wready
        if taken_write or taken_read:
            # One at a time, what is offered only, and in turns where both wait.
            assert on_bus is None and not (taken_write and taken_read)
            both = all(name in offered for name in ("s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid"))
            assert not both or last_write is None or last_write != taken_write
            last_write = taken_write
        if taken_write:
            on_bus = (1, offered["s_axil_awaddr"], offered["s_axil_wdata"], offered["s_axil_wstrb"])
            offered = {name: value for name, value in offered.items() if name.startswith("s_axil_ar")}
        if taken_read:
            on_bus = (0, offered["s_axil_araddr"])
            offered = {name: value for name, value in offered.items() if not name.startswith("s_axil_ar")}
        if slave.s_axil_bvalid and slave.s_axil_rvalid:
            raise AssertionError("two answers at a time")
        if slave.s_axil_bvalid and int(dut.s_axil_bready.value):
            writes.popleft()
            on_bus = None
            answers += 1
        if slave.s_axil_rvalid:
            assert slave.s_axil_rdata == reads[0]
            if int(dut.s_axil_rready.value):
                reads.popleft()
                on_bus = None
                answers += 1
        await slave.clock()
    assert bus_accesses - answers == len(writes) + len(reads) <= 1
    assert answers > 50


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_axil_slave(name):
    simulate("axil_slave", __file__, name, cocotb_tests(globals()))
