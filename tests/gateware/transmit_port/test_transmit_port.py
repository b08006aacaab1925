# SPDX-License-Identifier: GPL-2.0-or-later
"""transmit_port: frames of the own exchange and answers leave through one register."""

import random

import cocotb
import pytest
from perhop.registers.spec_generated import FrameKind
from testbench.build import cocotb_tests, simulate, stops_the_simulation
from testbench.clocked import Clocked

SEND = {"kind": 3, "rate": 3, "bytes": 12, "airtime_us": 16, "until_data_us": 18, "after_data_us": 17, "ra": 48,
        "sequence": 12, "retry": 1, "tag": 16, "queue": 1}  # fmt: skip
ANSWER = ("kind", "rate", "airtime_us", "duration_us", "ra")


async def started(dut) -> Clocked:
    port = Clocked(dut, "send", "answer", *(f"send_{name}" for name in SEND), *(f"answer_{name}" for name in ANSWER))
    await port.reset()
    return port


@cocotb.test()
async def a_sent_frame_comes_out_one_clock_later_for_one_clock(dut):
    port = await started(dut)
    source = random.Random(1)
    for _ in range(50):
        frame = {name: source.getrandbits(width) for name, width in SEND.items()}
        # Now and then an exchange that fits the field.
        if source.random() < 0.5:
            frame |= {"until_data_us": source.randrange(0x6000), "after_data_us": source.randrange(0x2001)}
        # No exchange is longer than what settings and descriptors can say.
        frame["until_data_us"] %= 2 * 0x1FFF + 2 * 0xFFFF + 1
        frame["after_data_us"] %= 0x1FFF + 0xFFFF + 1
        await port.clock(send=1, **{f"send_{name}": value for name, value in frame.items()})
        assert port.phy_tx_start == 1
        duration_us = frame.pop("until_data_us") + frame.pop("after_data_us")
        assert port.phy_tx_duration_us == min(duration_us, 0x7FFF)
        assert {name: getattr(port, f"phy_tx_{name}") for name in frame} == frame
        await port.clock()
        assert port.phy_tx_start == 0


@cocotb.test()
async def an_answer_has_its_size_and_no_sequence_number(dut):
    port = await started(dut)
    await port.clock(send=1, send_sequence=99, send_retry=1, send_tag=7, send_queue=1, send_bytes=1500)
    answer = {"kind": int(FrameKind.CTS), "rate": 2, "airtime_us": 304, "duration_us": 2686, "ra": 0x0200_0000_0003}
    await port.clock(answer=1, **{f"answer_{name}": value for name, value in answer.items()})
    assert port.phy_tx_start == 1
    assert {name: getattr(port, f"phy_tx_{name}") for name in ANSWER} == answer
    assert (port.phy_tx_bytes, port.phy_tx_sequence, port.phy_tx_retry, port.phy_tx_tag) == (14, 0, 0, 0)
    assert port.phy_tx_queue == 0


@cocotb.test()
async def breaks_the_rule_of_one_frame_at_a_time(dut):
    port = await started(dut)
    await port.clock(send=1, answer=1)
    await port.clock()


NAMES = [name for name in cocotb_tests(globals()) if not name.startswith("breaks")]


@pytest.mark.parametrize("name", NAMES)
def test_transmit_port(name):
    simulate("transmit_port", __file__, name, NAMES)


def test_two_frames_at_once_stop_the_simulation():
    log = stops_the_simulation("transmit_port", __file__, "breaks_the_rule_of_one_frame_at_a_time")
    assert "a_one_frame_at_a_time" in log
