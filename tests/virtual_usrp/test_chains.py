# SPDX-License-Identifier: GPL-2.0-or-later
"""Which chains of the AD9361 UHD switches on: it looks at the radio block's connected ports, and at nothing else."""

from dataclasses import dataclass

import pytest

from .devices import args, opened_graph

pytestmark = [pytest.mark.long, pytest.mark.uhd]

CHAIN_OF_CHANNEL_0 = {"e320": 1, "e310": 2}
PAIRED = {"e320": ("2R2T", "MIMO"), "e310": ("1R1T", "MIMO")}


@dataclass(frozen=True)
class Row:
    """Of the table of docs/hw: connected ports, and what follows for an E320."""

    rx: str
    tx: str
    chains: str
    mode: str
    channel_0: str  # of perhop: sends, hears, both, neither


TABLE = [
    Row("", "", "T F T F", "SISO_TX0", "both"),
    Row("0", "0", "T F T F", "SISO_TX0", "both"),
    Row("0", "", "F F T F", "SISO_TX0", "hears"),
    Row("", "0", "T F F F", "SISO_TX0", "sends"),
    Row("1", "", "F F F T", "SISO_TX0", "neither"),
    Row("01", "", "F F T T", "MIMO", "hears"),
    Row("1", "1", "F T F T", "SISO_TX1", "neither"),
    Row("0", "1", "F T T F", "SISO_TX1", "hears"),
    Row("01", "01", "T T T T", "MIMO", "both"),
]
SWAPPED = {"SISO_TX0": "SISO_TX1", "SISO_TX1": "SISO_TX0", "MIMO": "MIMO"}


def of_e310(row: Row) -> Row:
    """The same on an E310, where UHD exchanges the chains; but for what no transmitter and no port decides."""
    if not row.rx + row.tx:
        return Row("", "", row.chains, row.mode, "neither")
    tx1, tx2, rx1, rx2 = row.chains.split()
    mode = SWAPPED[row.mode] if "T" in (tx1, tx2) else row.mode
    return Row(row.rx, row.tx, f"{tx2} {tx1} {rx2} {rx1}", mode, row.channel_0)


@pytest.mark.parametrize("device", CHAIN_OF_CHANNEL_0)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"rx{row.rx}-tx{row.tx}")
def test_connected_ports_of_the_radio_block_decide_what_runs(start, device, row):
    wanted = row if device == "e320" else of_e310(row)
    radio = start(f"{device}_perhop_22")
    with opened_graph(args(radio), row.rx, row.tx) as client:
        assert (client.told()["step"], client.told()["step"]) == ("open", "committed")
        codec, chain = radio.codec(), CHAIN_OF_CHANNEL_0[device]
        does = {(True, True): "both", (True, False): "sends", (False, True): "hears", (False, False): "neither"}
        assert (codec.chains, codec.channel_mode) == (wanted.chains, wanted.mode)
        assert does[codec.sends(chain), codec.hears(chain)] == wanted.channel_0
        if codec.channel_mode == "MIMO":
            assert (codec.timing_mode, codec.channel_mode) == PAIRED[device]
        client.go_on()
        assert client.told()["step"] == "released"
        assert radio.codec().chains == "T F T F"


@pytest.mark.parametrize(("rx", "tx"), [("01", "0"), ("0", "01")])
def test_uhd_refuses_two_channels_one_way_and_one_the_other(start, rx, tx):
    with opened_graph(args(start("e320_perhop_22")), rx, tx) as client:
        assert client.told()["step"] == "open"
        assert "does not support 1 TX x 2 RX or 2 TX x 1 RX" in client.told()["error"]
