# SPDX-License-Identifier: GPL-2.0-or-later
"""descriptor_rates: a packet's own rates pass as they are; one that asks gets its peer's, when they have been read."""

import os
import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = int(os.environ.get("PERHOP_SEED", "46"))
OWN = {"s_desc_rate": 3, "s_desc_series_attempts": 0x0_4321, "s_desc_series_rate": 0o765}
PEER = {"series_first_rate": 5, "series_attempts": 0xF_8765, "series_rate": 0o123}
SAID_OWN = {"desc_rate": 3, "desc_series_attempts": 0x0_4321, "desc_series_rate": 0o765}
SAID_PEER = {"desc_rate": 5, "desc_series_attempts": 0xF_8765, "desc_series_rate": 0o123}
INPUTS = ("s_desc_valid", "s_desc_peer_series", *OWN, *PEER, "desc_ready")


@cocotb.test()
@cocotb.parametrize(peer=[0, 1])
async def a_descriptor_passes_a_clock_after_it_came(dut, peer):
    """Its peer's series has been read then; the next one waits a clock as well.

    clock       0      1      2      3      4
    host        A      A      A      B      B
    MAC ready   x             x      x      x
    passes                    A             B
    """  # fmt: skip
    rates = Clocked(dut, *INPUTS)
    await rates.reset()
    rates.hold(**OWN, **PEER)
    asks = {"s_desc_valid": 1, "s_desc_peer_series": peer}
    said = SAID_PEER if peer else SAID_OWN
    waits = {"desc_valid": 0, "s_desc_ready": 0}
    await rates.play(
        (asks | {"desc_ready": 1}, waits),
        (asks, {"desc_valid": 1, "s_desc_ready": 0} | said),
        (asks | {"desc_ready": 1}, {"desc_valid": 1, "s_desc_ready": 1} | said),
        (asks | {"desc_ready": 1}, waits),
        (asks | {"desc_ready": 1}, {"desc_valid": 1, "s_desc_ready": 1} | said),
        ({"desc_ready": 1}, waits),
    )


@cocotb.test()
async def a_reset_forgets_that_the_series_was_read(dut):
    """clock       0      1      2      3
       host        A      A      A      A
       rst                x
       passes                           A
    """  # fmt: skip
    rates = Clocked(dut, *INPUTS)
    await rates.reset()
    asks = {"s_desc_valid": 1, "desc_ready": 1}
    await rates.play(
        ({"s_desc_valid": 1}, {"desc_valid": 0}),
        ({"s_desc_valid": 1, "rst": 1}, {}),
        (asks, {"desc_valid": 0, "s_desc_ready": 0}),
        (asks, {"desc_valid": 1, "s_desc_ready": 1}),
    )


@cocotb.test()
async def every_descriptor_passes_once_with_the_series_of_its_own_peer(dut):
    """Random descriptors, at a MAC that is ready now and then; the registers answer a clock after they are asked."""
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(SEED)
    rates = Clocked(dut, *INPUTS)
    await rates.reset()
    table = [(source.getrandbits(3), source.getrandbits(20), source.getrandbits(9)) for _ in range(16)]
    offered, read, passed = None, table[0], []
    sent = []
    for _ in range(4000):
        if offered is None and source.random() < 0.7:
            own = (source.getrandbits(3), source.getrandbits(20), source.getrandbits(9))
            offered = (source.randrange(2), source.randrange(16), own)
            sent.append(table[offered[1]] if offered[0] else own)
        peer_series, peer, own = offered or (source.randrange(2), source.randrange(16), (0, 0, 0))
        await rates.set(
            s_desc_valid=int(offered is not None), s_desc_peer_series=peer_series, **dict(zip(OWN, own, strict=True)),
            **dict(zip(PEER, read, strict=True)), desc_ready=int(source.random() < 0.5),
        )  # fmt: skip
        taken = rates.s_desc_ready and offered is not None
        assert taken == (rates.desc_valid and int(dut.desc_ready.value))
        if taken:
            passed.append((rates.desc_rate, rates.desc_series_attempts, rates.desc_series_rate))
            offered = None
        await rates.clock()
        read = table[peer]
    assert passed == sent[: len(passed)] and len(sent) - len(passed) <= 1
    assert len(passed) > 500


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_descriptor_rates(name):
    simulate("descriptor_rates", __file__, name, cocotb_tests(globals()))
