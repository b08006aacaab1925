# SPDX-License-Identifier: GPL-2.0-or-later
"""event_log: one entry for every clock in which something happened that is to be logged, in order, or lost and counted.

Timelines are in clocks.
"""

import os
import random

import cocotb
import pytest
from perhop.registers.spec_generated import EventKind, FrameKind, TxResult
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = int(os.environ.get("PERHOP_SEED", "19"))
ENTRIES = 8
ALL = (1 << len(EventKind)) - 1
OVERRUNS_MOST = (1 << 16) - 1
STROBES = {
    "evt_tx_start": EventKind.TX_START,
    "evt_rx_start": EventKind.RX_START,
    "evt_response": EventKind.RESPONSE,
    "evt_timeout": EventKind.TIMEOUT,
    "evt_done": EventKind.PACKET_DONE,
}


class LogBench(Clocked):
    """Clocked, with inputs of several queues as lists."""

    def __init__(self, dut) -> None:
        self.queues = len(dut.evt_backoff_running)
        none = [0] * self.queues
        super().__init__(
            dut, "cfg_kinds", "tsf_us", *STROBES, "evt_tx_kind", "evt_rx_end", "evt_rx_ok", "evt_rx_kind", "cca_busy",
            "nav_left_us", "evt_done_result", "evt_queue", "pop",
            evt_backoff_running=none, evt_backoff_slots=none, evt_packet_taken=none,
        )  # fmt: skip

    def of_first(self, value: int) -> list[int]:
        return [value] + [0] * (self.queues - 1)

    async def oldest(self) -> dict[str, int]:
        """The oldest entry, which leaves the log."""
        await self.clock()
        fields = ("tsf_us", "slots", "kinds", "tx_kind", "rx_kind", "result", "queue")
        entry = {name: getattr(self, f"entry_{name}") for name in fields}
        await self.clock(pop=1)
        return entry


async def started(dut, kinds: int = ALL) -> LogBench:
    log = LogBench(dut)
    log.hold(cfg_kinds=kinds)
    await log.reset()
    assert (log.entries, log.overruns) == (0, 0)
    return log


def bits(*kinds: EventKind) -> int:
    return sum(1 << kind for kind in kinds)


@cocotb.test()
async def a_frame_heard_and_its_answer_leave_an_entry_for_each_change(dut):
    """us       7      8      9      10     11     12     13
       carrier         xxxxxxxxxxxxxxxxxxxxx
       PHY                    start         end, RTS
       sent                                        CTS
       entry           cca    rx_start      good,  tx
                       busy                 idle
    """  # fmt: skip
    log = await started(dut)
    await log.clock(tsf_us=7)
    await log.clock(tsf_us=8, cca_busy=1)
    await log.clock(tsf_us=9, cca_busy=1, evt_rx_start=1)
    await log.clock(tsf_us=10, cca_busy=1)
    await log.clock(tsf_us=11, evt_rx_end=1, evt_rx_ok=1, evt_rx_kind=FrameKind.RTS)
    await log.clock(tsf_us=12, evt_tx_start=1, evt_tx_kind=FrameKind.CTS)
    await log.clock(tsf_us=13)
    assert log.entries == 4
    told = [await log.oldest() for _ in range(4)]
    assert [(entry["tsf_us"], entry["kinds"]) for entry in told] == [
        (8, bits(EventKind.CCA_BUSY)),
        (9, bits(EventKind.RX_START)),
        (11, bits(EventKind.RX_GOOD, EventKind.CCA_IDLE)),
        (12, bits(EventKind.TX_START)),
    ]
    assert (told[2]["rx_kind"], told[3]["tx_kind"]) == (FrameKind.RTS, FrameKind.CTS)
    assert log.entries == 0


@cocotb.test()
async def a_back_off_is_told_from_its_draw_to_its_end_with_what_holds_it_up(dut):
    """us       1       2       3       4       5       6       7       8
       counts           5       4       4       4       4       0
       carrier                  xxxxxxxxx
       NAV                                              9       9       0
       entry            start   busy,           idle,   NAV     end     NAV
                        5       freeze          resume  set,            end
                                                        freeze
    """  # fmt: skip
    log = await started(dut)
    one = {"evt_backoff_running": log.of_first(1)}
    await log.clock(tsf_us=1)
    await log.clock(tsf_us=2, evt_backoff_slots=log.of_first(5), **one)
    await log.clock(tsf_us=3, cca_busy=1, evt_backoff_slots=log.of_first(4), **one)
    await log.clock(tsf_us=4, cca_busy=1, evt_backoff_slots=log.of_first(4), **one)
    await log.clock(tsf_us=5, evt_backoff_slots=log.of_first(4), **one)
    await log.clock(tsf_us=6, nav_left_us=9, evt_backoff_slots=log.of_first(4), **one)
    await log.clock(tsf_us=7, nav_left_us=9)
    await log.clock(tsf_us=8)
    told = [await log.oldest() for _ in range(6)]
    assert [(entry["tsf_us"], entry["kinds"]) for entry in told] == [
        (2, bits(EventKind.BACKOFF_START_0)),
        (3, bits(EventKind.CCA_BUSY, EventKind.BACKOFF_FREEZE)),
        (5, bits(EventKind.CCA_IDLE, EventKind.BACKOFF_RESUME)),
        (6, bits(EventKind.NAV_SET, EventKind.BACKOFF_FREEZE)),
        (7, bits(EventKind.BACKOFF_END_0)),
        (8, bits(EventKind.NAV_END)),
    ]
    assert [entry["slots"] for entry in told[:4]] == [5, 4, 4, 4]
    assert log.entries == 0


@cocotb.test()
async def a_full_log_keeps_the_oldest_and_counts_the_lost_to_the_largest_number(dut):
    """ENTRIES + 2 events, then as many as the counter can say, and three more."""
    log = await started(dut, bits(EventKind.RX_START))
    for number in range(ENTRIES + 2):
        await log.clock(tsf_us=number, evt_rx_start=1)
    assert (log.entries, log.overruns) == (ENTRIES, 2)
    log.hold(evt_rx_start=1)
    for _ in range(OVERRUNS_MOST - 3):
        await log.clock()
    assert log.overruns == OVERRUNS_MOST - 1
    for _ in range(3):
        await log.clock()
        assert log.overruns == OVERRUNS_MOST
    log.hold(evt_rx_start=0)
    assert [(await log.oldest())["tsf_us"] for _ in range(ENTRIES)] == list(range(ENTRIES))
    await log.clock(pop=1)
    assert log.entries == 0, "nothing leaves an empty log"


class LogModel:
    """What the register map says: event by event of gateware/spec, with what was the case a clock before."""

    def __init__(self, queues: int) -> None:
        self.queues = queues
        self.entries: list[dict[str, int | None]] = []
        self.overruns = 0
        self._cca_busy = self._nav_us = 0
        self._running = [0] * queues

    def clock(self, inputs: dict, kinds: int) -> None:
        happened: set[EventKind] = {kind for name, kind in STROBES.items() if inputs[name]}
        if inputs["evt_rx_end"]:
            happened.add(EventKind.RX_GOOD if inputs["evt_rx_ok"] else EventKind.RX_BAD)
        busy, nav_us, running = inputs["cca_busy"], inputs["nav_left_us"], inputs["evt_backoff_running"]
        if busy != self._cca_busy:
            happened.add(EventKind.CCA_BUSY if busy else EventKind.CCA_IDLE)
        for queue in range(self.queues):
            if running[queue] != self._running[queue]:
                happened.add(EventKind[f"BACKOFF_{'START' if running[queue] else 'END'}_{queue}"])
            if inputs["evt_packet_taken"][queue]:
                happened.add(EventKind[f"PACKET_TAKEN_{queue}"])
        was_free, is_free = not (self._cca_busy or self._nav_us), not (busy or nav_us)
        if was_free != is_free and any(map(min, running, self._running)):
            happened.add(EventKind.BACKOFF_RESUME if is_free else EventKind.BACKOFF_FREEZE)
        if nav_us > self._nav_us:
            happened.add(EventKind.NAV_SET)
        if self._nav_us and not nav_us:
            happened.add(EventKind.NAV_END)
        self._cca_busy, self._nav_us, self._running = busy, nav_us, running
        told = sum(1 << kind for kind in happened) & kinds
        if told and len(self.entries) == ENTRIES:
            self.overruns += 1
        elif told:
            self.entries.append(self._entry(inputs, told))

    def _entry(self, inputs: dict, told: int) -> dict[str, int | None]:
        """None: that field means nothing in this entry."""
        started = [queue for queue in range(self.queues) if told >> EventKind[f"BACKOFF_START_{queue}"] & 1]
        counting = started or [queue for queue in range(self.queues) if inputs["evt_backoff_running"][queue]]
        sent, heard = told >> EventKind.TX_START & 1, told >> EventKind.RX_GOOD & 1
        done = told >> EventKind.PACKET_DONE & 1
        of_queue = told & bits(EventKind.TX_START, EventKind.RESPONSE, EventKind.TIMEOUT, EventKind.PACKET_DONE)
        return {
            "tsf_us": inputs["tsf_us"],
            # Of two queues that draw in one clock it says nothing: they cannot.
            "slots": inputs["evt_backoff_slots"][counting[0]] if counting and len(started) < 2 else None,
            "kinds": told,
            "tx_kind": inputs["evt_tx_kind"] if sent else None,
            "rx_kind": inputs["evt_rx_kind"] if heard else None,
            "result": inputs["evt_done_result"] if done else None,
            "queue": inputs["evt_queue"] if of_queue else None,
        }


@cocotb.test()
@cocotb.parametrize(part=list(range(4)))
async def every_clock_is_told_as_the_register_map_says(dut, part):
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(f"{SEED} {part}")
    log = await started(dut)
    model = LogModel(log.queues)
    often, kinds = source.choice((0.02, 0.1, 0.5)), ALL
    # The model follows the levels; what the MAC shows with reset is nothing.
    levels = {"cca_busy": 0, "nav_left_us": 0, "evt_backoff_running": [0] * log.queues}
    pops = told = 0
    settled = 0  # clocks since the oldest entry became the oldest
    for number in range(3000):
        if source.random() < 0.01:
            kinds = source.choice((ALL, 0, source.getrandbits(len(EventKind))))
            log.hold(cfg_kinds=kinds)
        if source.random() < often:
            levels["cca_busy"] ^= 1
        if source.random() < often:
            levels["nav_left_us"] = source.choice((0, 0, 1, source.getrandbits(16)))
        levels["evt_backoff_running"] = [
            running ^ int(source.random() < often) for running in levels["evt_backoff_running"]
        ]
        inputs = levels | {name: int(source.random() < often / 3) for name in (*STROBES, "evt_rx_end")}
        inputs |= {
            "tsf_us": source.getrandbits(32), "evt_rx_ok": source.randrange(2), "evt_tx_kind": source.randrange(5),
            "evt_rx_kind": source.randrange(5), "evt_done_result": source.choice(list(TxResult)),
            "evt_queue": source.randrange(2),
            "evt_backoff_slots": [source.getrandbits(10) for _ in range(log.queues)],
            "evt_packet_taken": [int(source.random() < often / 3) for _ in range(log.queues)],
        }  # fmt: skip
        pop = settled > 1 and source.random() < source.choice((0.02, 0.5))
        if pop:
            said = {name: getattr(log, f"entry_{name}") for name in model.entries[0]}
            wanted = {name: said[name] if value is None else value for name, value in model.entries[0].items()}
            assert said == wanted, f"clock {number}"
            pops += 1
        had = len(model.entries)
        model.clock(inputs, kinds)
        told += len(model.entries) > had
        settled = 0 if pop or not had else settled + 1
        if pop:
            model.entries.pop(0)
        await log.clock(pop=int(pop), **inputs)
        assert (log.entries, log.overruns) == (len(model.entries), model.overruns), f"clock {number}"
    assert pops > 30
    assert told > 30


@pytest.mark.parametrize("queues", [1, 2])
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_event_log(name, queues):
    simulate("event_log", __file__, name, cocotb_tests(globals()), {"QUEUES": queues, "ENTRIES": ENTRIES})
