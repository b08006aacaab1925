# SPDX-License-Identifier: GPL-2.0-or-later
"""neighbour_table_serial against the arithmetic of neighbour_table, to the bit; its time; coherent snapshots."""

import random
from dataclasses import dataclass, field

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

PEERS = 16
BINS = 16
MAX_UPDATE_CLOCKS = 34
COUNT_CLOCKS = 15
MAX_SNAPSHOT_CLOCKS = 10
ENTRIES = ("avg_contention_us16", "avg_overhead_us16", "avg_data_attempts_256", "packets", "drops", "service_us")
WORD = (1 << 32) - 1


@dataclass
class Entries:
    """One neighbour."""

    averages: list[int] | None = None
    packets: int = 0
    drops: int = 0
    service_us: int = 0
    histogram: list[int] = field(default_factory=lambda: [0] * BINS)

    def update(self, packet: dict[str, int], shift: int) -> None:
        contention_us = packet["service_us"] - packet["control_us"] - packet["data_us"] - packet["response_us"]
        overhead_us = packet["control_us"] + packet["response_us"]
        samples = [min((us & WORD) << 4, 0xFFF_FFFF) if (us & WORD) >> 24 == 0 else 0xFFF_FFFF
                   for us in (contention_us, overhead_us)]  # fmt: skip
        samples.append(packet["data_attempts"] << 8)
        if self.averages is None:
            self.averages = samples
        else:
            half = 1 << shift >> 1
            self.averages = [old + ((new - old + half) >> shift)
                             for old, new in zip(self.averages, samples, strict=True)]  # fmt: skip
        self.packets += 1
        self.drops += packet["dropped"]
        self.service_us = (self.service_us + packet["service_us"]) & ((1 << 48) - 1)
        number = min(max(packet["service_us"].bit_length() - 7, 0), BINS - 1)
        self.histogram[number] = min(self.histogram[number] + 1, 0xFFFF)

    def shown(self, number: int) -> tuple[int, ...]:
        return (*(self.averages or [0, 0, 0]), self.packets, self.drops, self.service_us, self.histogram[number])


async def started(dut, shift: int) -> Clocked:
    table = Clocked(
        dut, "update", "dropped", "peer", "data_attempts", "control_us", "data_us", "response_us", "t_head_us",
        "t_done_us", "nbr_take", "nbr_index", "nbr_bin", cfg_average_shift=shift,
    )  # fmt: skip
    await restarted(table)
    return table


async def restarted(table: Clocked) -> None:
    await table.reset()
    clocks = 0
    while table.busy:
        await table.clock()
        clocks += 1
    assert clocks <= 32 * PEERS


def random_packet(source: random.Random) -> dict[str, int]:
    parts = [source.choice((0, source.randrange(400), source.randrange(20000))) for _ in range(3)]
    rest = source.choice((source.randrange(3000), source.getrandbits(24), source.getrandbits(30)))
    return {
        "control_us": parts[0], "data_us": parts[1], "response_us": parts[2], "service_us": sum(parts) + rest,
        "data_attempts": source.randrange(32), "dropped": int(source.random() < 0.3),
    }  # fmt: skip


def hold(table: Clocked, peer: int, packet: dict[str, int]) -> None:
    """The packet's service begins at a random time, which may wrap."""
    t_head_us = random.Random(repr(packet)).getrandbits(32)
    times = {"t_head_us": t_head_us, "t_done_us": (t_head_us + packet["service_us"]) & WORD}
    table.hold(peer=peer, **times, **{name: value for name, value in packet.items() if name != "service_us"})


async def update(table: Clocked, peer: int, packet: dict[str, int]) -> int:
    """Gives a packet, which stands until the table is done; returns the clocks that took."""
    hold(table, peer, packet)
    await table.clock(update=1)
    clocks = 1
    while not table.updated:
        assert table.busy
        await table.clock()
        clocks += 1
    table.hold(peer=0, dropped=0, data_attempts=0, t_done_us=0)
    for _ in range(COUNT_CLOCKS):
        await table.clock()
    return clocks


async def snapshot(table: Clocked, peer: int, number: int = 0) -> tuple[int, ...]:
    table.hold(nbr_index=peer, nbr_bin=number)
    await table.clock(nbr_take=1)
    clocks = 1
    while table.nbr_busy:
        await table.clock()
        clocks += 1
    assert clocks <= MAX_SNAPSHOT_CLOCKS
    return shown(table)


def shown(table: Clocked) -> tuple[int, ...]:
    return tuple(getattr(table, f"nbr_{name}") for name in (*ENTRIES, "histogram"))


@cocotb.test()
@cocotb.parametrize(shift=list(range(8)))
async def entries_are_those_of_the_arithmetic_to_the_bit(dut, shift):
    table = await started(dut, shift)
    source = random.Random(shift)
    model = [Entries() for _ in range(PEERS)]
    longest = 0
    for _ in range(150):
        peer, packet = source.randrange(PEERS - 1), random_packet(source)
        longest = max(longest, await update(table, peer, packet))
        model[peer].update(packet, shift)
        found = (table.avg_contention_us16, table.avg_overhead_us16, table.avg_data_attempts_256)
        assert list(found) == model[peer].averages
        await table.clock()
        if source.random() < 0.3:
            peer, number = source.randrange(PEERS), source.randrange(BINS)
            assert await snapshot(table, peer, number) == model[peer].shown(number)
    assert longest <= MAX_UPDATE_CLOCKS
    for peer in range(PEERS):
        for number in range(BINS):
            assert await snapshot(table, peer, number) == model[peer].shown(number)


@cocotb.test()
async def every_edge_of_the_histogram(dut):
    table = await started(dut, 4)
    model = Entries()
    for edge in (0, 1, 127, *(value for power in range(7, 32) for value in ((1 << power) - 1, 1 << power))):
        packet = dict.fromkeys(("control_us", "data_us", "response_us", "data_attempts", "dropped"), 0)
        packet["service_us"] = edge
        await update(table, 5, packet)
        model.update(packet, 4)
        await table.clock()
    assert [(await snapshot(table, 5, number))[-1] for number in range(BINS)] == model.histogram
    assert [(await snapshot(table, 6, number))[-1] for number in range(BINS)] == [0] * BINS


@cocotb.test()
async def a_bin_that_is_full_stays_full(dut):
    table = await started(dut, 4)
    packet = dict.fromkeys(("control_us", "data_us", "response_us", "data_attempts", "dropped", "service_us"), 0)
    await update(table, 2, packet)
    dut.u_entries.memory_q[2 * 32 + 16].value = 0xFFFE
    for wanted in (0xFFFF, 0xFFFF, 0xFFFF):
        await table.clock()
        await update(table, 2, packet)
        await table.clock()
        assert (await snapshot(table, 2, 0))[-1] == wanted


@cocotb.test()
async def a_snapshot_is_of_one_moment_whenever_it_is_taken(dut):
    """Taken in any clock before or during an update it is either of the entries before or of those after."""
    table = await started(dut, 3)
    source = random.Random(7)
    model = Entries()
    for delay in [*range(-MAX_SNAPSHOT_CLOCKS - 1, MAX_UPDATE_CLOCKS + COUNT_CLOCKS + 2)] * 2:
        packet = random_packet(source)
        number = min(max(packet["service_us"].bit_length() - 7, 0), BINS - 1)
        hold(table, 9, packet)
        table.hold(nbr_index=9, nbr_bin=number)
        before = model.shown(number)
        model.update(packet, 3)
        for clock in range(-MAX_SNAPSHOT_CLOCKS - 1, MAX_UPDATE_CLOCKS + COUNT_CLOCKS + 2):
            await table.clock(update=int(clock == 0), nbr_take=int(clock == delay))
        while table.nbr_busy or table.busy:
            await table.clock()
        assert shown(table) in (before, model.shown(number))
        if delay > 0:
            assert shown(table) == model.shown(number)


@cocotb.test()
async def a_snapshot_stands_while_the_entries_go_on(dut):
    table = await started(dut, 4)
    source = random.Random(3)
    model = Entries()
    for _ in range(2):
        packet = random_packet(source)
        await update(table, 2, packet)
        model.update(packet, 4)
        await table.clock()
    taken = await snapshot(table, 2, 3)
    assert taken == model.shown(3)
    await update(table, 2, random_packet(source))
    await table.clock()
    assert shown(table) == taken


@cocotb.test()
async def a_reset_forgets_everything(dut):
    table = await started(dut, 4)
    for peer in range(PEERS):
        await update(table, peer, random_packet(random.Random(peer)))
        await table.clock()
    await restarted(table)
    for peer in range(PEERS):
        assert not any(await snapshot(table, peer, 10))
    packet = random_packet(random.Random(1))
    await update(table, 4, packet)
    model = Entries()
    model.update(packet, 4)
    await table.clock()
    assert (await snapshot(table, 4))[:-1] == model.shown(0)[:-1]


@cocotb.test()
async def a_snapshot_asked_for_while_the_memory_is_cleared_is_of_zeros(dut):
    """mac_core gives no packet while the table is busy; a snapshot asked for then is of zeros."""
    table = await started(dut, 4)
    await table.reset()
    table.hold(nbr_index=1)
    await table.clock(nbr_take=1)
    assert table.busy and table.nbr_busy
    while table.nbr_busy:
        await table.clock()
    assert not table.busy
    assert not any(shown(table))


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_neighbour_table_serial(name):
    simulate("neighbour_table_serial", __file__, name, cocotb_tests(globals()))
