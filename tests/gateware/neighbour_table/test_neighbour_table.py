# SPDX-License-Identifier: GPL-2.0-or-later
"""neighbour_table: running averages, totals, losses and a histogram for each neighbour."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

PEERS = 16
TIME_STEPS_PER_US = 16
ATTEMPT_STEPS = 256


async def started(dut, shift: int = 4) -> Clocked:
    table = Clocked(
        dut, "update", "dropped", "peer", "data_attempts", "contention_us", "overhead_us", "service_us", "nbr_take",
        "nbr_index", "nbr_bin", cfg_average_shift=shift,
    )  # fmt: skip
    await table.reset()
    return table


async def snapshot(table: Clocked, peer: int, histogram_bin: int = 0) -> dict[str, int]:
    await table.clock(nbr_take=1, nbr_index=peer, nbr_bin=histogram_bin)
    names = ("avg_contention_us16", "avg_overhead_us16", "avg_data_attempts_256", "packets", "drops", "service_us")
    return {name: getattr(table, f"nbr_{name}") for name in (*names, "histogram")}


@cocotb.test()
async def the_first_packet_sets_the_averages(dut):
    table = await started(dut)
    await table.clock(update=1, peer=3, data_attempts=2, contention_us=1234, overhead_us=990, service_us=9000)
    await table.set(peer=3)
    assert table.avg_contention_us16 == 1234 * TIME_STEPS_PER_US
    assert table.avg_overhead_us16 == 990 * TIME_STEPS_PER_US
    assert table.avg_data_attempts_256 == 2 * ATTEMPT_STEPS


@cocotb.test()
@cocotb.parametrize(shift=[0, 1, 4, 7])
async def averages_follow_exact_arithmetic(dut, shift):
    """Rounding to the nearest errs by half a step, and an update forgets 2**-shift of the past: 2**shift / 2 in all."""
    table = await started(dut, shift)
    source = random.Random(shift)
    exact: dict[int, list[float]] = {}
    for _ in range(600):
        peer = source.randrange(PEERS)
        sample = [
            TIME_STEPS_PER_US * source.choice((source.randrange(3000), source.randrange(200000))),
            TIME_STEPS_PER_US * source.choice((638, 990, source.randrange(5000))),
            ATTEMPT_STEPS * source.randrange(8),
        ]
        contention_us, overhead_us = sample[0] // TIME_STEPS_PER_US, sample[1] // TIME_STEPS_PER_US
        await table.clock(
            update=1, peer=peer, data_attempts=sample[2] // ATTEMPT_STEPS, contention_us=contention_us,
            overhead_us=overhead_us, service_us=contention_us + overhead_us,
        )  # fmt: skip
        before = exact.get(peer, [float(value) for value in sample])
        exact[peer] = [average + (value - average) / 2**shift for average, value in zip(before, sample, strict=True)]
        await table.set(peer=peer)
        found = (table.avg_contention_us16, table.avg_overhead_us16, table.avg_data_attempts_256)
        for value, wanted in zip(found, exact[peer], strict=True):
            assert abs(value - wanted) <= 2**shift / 2, f"{found} and not {exact[peer]}"
    for peer, averages in exact.items():
        shown = await snapshot(table, peer)
        for name, wanted in zip(("avg_contention_us16", "avg_overhead_us16", "avg_data_attempts_256"), averages,
                                strict=True):  # fmt: skip
            assert abs(shown[name] - wanted) <= 2**shift / 2


@cocotb.test()
async def a_constant_stays_itself(dut):
    table = await started(dut)
    for _ in range(50):
        await table.clock(update=1, peer=1, data_attempts=1, contention_us=335, overhead_us=990, service_us=7700)
    await table.set(peer=1)
    assert (table.avg_contention_us16, table.avg_data_attempts_256) == (335 * TIME_STEPS_PER_US, ATTEMPT_STEPS)


@cocotb.test()
async def packets_losses_and_times_are_counted_for_each_neighbour(dut):
    table = await started(dut)
    source = random.Random(2)
    packets, drops, service = [0] * PEERS, [0] * PEERS, [0] * PEERS
    for _ in range(400):
        peer, dropped, service_us = source.randrange(PEERS - 1), source.random() < 0.2, source.getrandbits(30)
        await table.clock(update=1, peer=peer, dropped=int(dropped), service_us=service_us, data_attempts=1)
        packets[peer] += 1
        drops[peer] += dropped
        service[peer] += service_us
    for peer in range(PEERS):
        shown = await snapshot(table, peer)
        assert (shown["packets"], shown["drops"], shown["service_us"]) == (packets[peer], drops[peer], service[peer])


@cocotb.test()
async def the_histogram_has_powers_of_two(dut):
    """Bin 0 below 128 us, bin k from 2**(k+6) us, the last one open."""
    table = await started(dut)
    counts = [0] * 16
    edges = [0, 1, 127]
    for power in range(7, 32):
        edges += [(1 << power) - 1, 1 << power, (1 << power) + 1]
    for service_us in edges:
        await table.clock(update=1, peer=5, service_us=service_us, data_attempts=1)
        counts[min(max(service_us.bit_length() - 7, 0), 15)] += 1
    found = [(await snapshot(table, 5, number))["histogram"] for number in range(16)]
    assert found == counts
    assert [(await snapshot(table, 6, number))["histogram"] for number in range(16)] == [0] * 16


@cocotb.test()
async def a_snapshot_stands_while_the_entries_go_on(dut):
    table = await started(dut)
    await table.clock(update=1, peer=2, data_attempts=1, contention_us=100, service_us=500)
    shown = await snapshot(table, 2)
    await table.clock(update=1, peer=2, data_attempts=3, contention_us=90000, service_us=70000)
    assert table.nbr_packets == shown["packets"] == 1
    assert table.nbr_service_us == shown["service_us"] == 500
    assert table.nbr_avg_contention_us16 == shown["avg_contention_us16"] == 1600
    assert (await snapshot(table, 2))["packets"] == 2


@cocotb.test()
async def a_reset_forgets_everything(dut):
    table = await started(dut)
    for peer in range(PEERS):
        await table.clock(update=1, peer=peer, dropped=1, data_attempts=5, contention_us=77777, service_us=77777)
    await table.reset()
    for peer in range(PEERS):
        assert not any((await snapshot(table, peer, 10)).values())
    await table.clock(update=1, peer=4, data_attempts=1, contention_us=16, service_us=20)
    shown = await snapshot(table, 4)
    assert (shown["avg_contention_us16"], shown["packets"], shown["drops"]) == (256, 1, 0)


@cocotb.test()
async def times_beyond_the_width_saturate(dut):
    table = await started(dut)
    await table.clock(update=1, peer=0, data_attempts=31, contention_us=0xFFFFFFFF, overhead_us=0x1000000, service_us=1)
    await table.set(peer=0)
    assert (table.avg_contention_us16, table.avg_overhead_us16) == ((1 << 28) - 1, (1 << 28) - 1)


@cocotb.test()
@cocotb.parametrize(shift=[1, 3, 7])
async def an_average_of_nothing_moves_to_a_time_beyond_the_width(dut, shift):
    """What rounds the greatest difference carries into one bit more than the difference has."""
    table = await started(dut, shift)
    await table.clock(update=1, peer=0, data_attempts=1)
    await table.clock(update=1, peer=0, data_attempts=1, contention_us=0xFFFFFFFF, overhead_us=0xFFFFFFFF)
    await table.set(peer=0)
    moved = ((1 << 28) - 1 + (1 << shift >> 1)) >> shift
    assert (table.avg_contention_us16, table.avg_overhead_us16) == (moved, moved)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_neighbour_table(name):
    simulate("neighbour_table", __file__, name, cocotb_tests(globals()))
