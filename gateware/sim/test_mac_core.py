# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_core beside the reference model, as `fusesoc run --target sim perhop:mac:mac_core` simulates it.

It shows that the core works with the user's simulator; what proves it is below tests/gateware.
"""

import random

import cocotb
from cocotbext.perhop.dcf_model import DcfStation
from cocotbext.perhop.exchange import comparable
from cocotbext.perhop.mac_core_driver import MacCoreDriver
from cocotbext.perhop.random_air import RandomAir, random_settings

RUN_US = 50_000
SEEDS = range(1, 6)


@cocotb.test()
async def in_random_surroundings_the_core_does_what_the_model_does(dut):
    for seed in SEEDS:
        source = random.Random(seed)
        settings = random_settings(source)
        driver = MacCoreDriver(dut)
        await driver.reset(settings)
        await driver.run(RandomAir(settings, source, RUN_US), RUN_US)
        model = DcfStation(settings)
        model.run(driver.given, RUN_US)
        assert driver.outputs and comparable(driver.outputs) == comparable(model.outputs), f"seed {seed}"
