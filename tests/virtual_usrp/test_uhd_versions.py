# SPDX-License-Identifier: GPL-2.0-or-later
"""What a device says and has for each version of UHD: by the numbers of UHD's source, written down here once more.

4.3 opens devices in the tests beside, and 4.8 in those of test_later_uhd.py; no other has opened one.
"""

import pytest

from .devices import E3XX, Ad9361, client_zero, discovery, mpm, radio_block, uhd_versions
from .devices import image_core as reader
from .test_mpm import Keeper

# Compatibility of MPM, RFNoC's protocol, compatibility of the radio block, and what discovery says of the calls.
SAID = {
    "4.3": ([4, 2], 0x0100, 0x0000_0001, ""),
    "4.8": ([5, 3], 0x0100, 0x0000_0001, ""),
    "4.9": ([5, 3], 0x0100, 0x0000_0001, ""),
    "4.10": ([6, 1], 0x0100, 0x0001_0000, "rpc_version=1;"),
    "4.11": ([7, 0], 0x0200, 0x0001_0000, "rpc_version=2;"),
}
# Of channel 1: the words that make it give 300 samples in packets of 128, and where its idle value is and comes back.
BURST = {
    "0.1": ({0x10A8: 128, 0x1098: 300, 0x109C: 0, 0x1094: 1}, 0x10C0, 0x10BC),
    "1.0": ({0x1518: 128, 0x1508: 300, 0x150C: 0, 0x1504: 1}, 0x1600, 0x152C),
}


def made(name: str) -> mpm.Mpm:
    identity = mpm.Identity("e320", "e320", "S1", "one", "127.0.0.2", 49153)
    return mpm.Mpm(identity, Ad9361(22e6), lambda number: None, Keeper(), version=uhd_versions.VERSIONS[name])


@pytest.mark.parametrize("name", SAID)
def test_host_and_device_know_each_other_by_the_numbers_of_their_version(name):
    compat, protocol, radio_compat, calls = SAID[name]
    version, device = uhd_versions.VERSIONS[name], made(name)
    assert device.call("get_mpm_compat_num", []) == compat
    assert device.call("get_proto_ver", []) == protocol
    image = reader.parse(E3XX["e320_perhop_22"], "e320")
    core = client_zero.ClientZero(image, version)
    assert core.read(0) == protocol
    block = radio_block.RadioBlock(Ad9361(22e6), lambda: 0, lambda *what: None, Converter(), version)
    assert block.read(0) == radio_compat
    told = discovery.answer(b"MPM-DISC", device.info)
    assert told == f"USRP-MPM;type=e3xx;product=e320;serial=S1;name=one;fpga=1G;{calls}claimed=False".encode()


@pytest.mark.parametrize("name", SAID)
def test_blocks_say_that_nobody_has_told_their_clocks_where_they_are_asked(name):
    image = reader.parse(E3XX["e320_perhop_22"], "e320")
    core = client_zero.ClientZero(image, uhd_versions.VERSIONS[name])
    word = core.read(64 * (1 + len(image.endpoints)) + 8)
    assert (word >> 2 & 0x3F, word >> 1 & 1) == (10, 1), "what every version reads"
    clocks = (word >> 8 & 0x3F, word >> 14 & 0x3F)
    assert clocks == ((0, 0) if name == "4.3" else (0x3F, 0x3F))


class Converter:
    """Gives as many samples as are wanted, at once."""

    def record(self, channel, count, deliver):
        self.channel = channel
        deliver(bytes(4 * count))


@pytest.mark.parametrize(
    ("name", "layout"), [("4.3", "0.1"), ("4.8", "0.1"), ("4.9", "0.1"), ("4.10", "1.0"), ("4.11", "1.0")]
)
def test_the_radio_blocks_registers_are_where_that_version_writes_them(name, layout):
    words, idle, back = BURST[layout]
    sent, converter, codec = [], Converter(), Ad9361(22e6)
    block = radio_block.RadioBlock(
        codec, lambda: 1000, lambda *what: sent.append(what), converter, uhd_versions.VERSIONS[name]
    )
    for address, word in words.items():
        block.write(address, word)
    assert converter.channel == 1
    assert [(channel, len(samples) // 4, ends) for channel, samples, ends, _ in sent] == [
        (1, 128, False), (1, 128, False), (1, 44, True)
    ]  # fmt: skip
    codec.loopback = True
    block.write(idle, 0xABCD)
    assert block.read(back) == 0xABCD


def test_calls_of_later_versions_are_answered():
    device = made("4.10")
    token = device.call("claim", ["UHD"])
    assert device.call("get_chdr_xport_adapters", [token]) == {}
    assert device.call("synchronize", [token, {}, False]) == {}
    assert device.call("aggregate_sync_data", [token, [{"a": "1"}, {"a": "2"}]]) == {"a": "1"}
    assert device.call("aggregate_sync_data", [token, []]) == {}
