# SPDX-License-Identifier: GPL-2.0-or-later
"""The bins of cocotbext/perhop/exchange_bins.py that cannot be met say why, and how that is known."""

import re

from cocotbext.perhop.exchange_bins import EVERY_BIN, SHOWN_BY
from testbench.build import ROOT


def test_each_reason_says_how_it_is_known():
    assert {reason for reason in EVERY_BIN.values() if reason} == SHOWN_BY.keys()


def test_each_claim_that_a_reason_rests_on_is_there():
    claims = [how for hows in SHOWN_BY.values() for how in hows if re.fullmatch(r"\w+_rules\.\w+", how)]
    assert claims
    for claim in claims:
        file, label = claim.split(".")
        assert re.search(rf"\b{label} *: assert", (ROOT / "gateware" / "formal" / f"{file}.sv").read_text()), claim
