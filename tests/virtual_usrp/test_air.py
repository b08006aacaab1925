# SPDX-License-Identifier: GPL-2.0-or-later
"""The air between virtual devices: the AD9361's state decides who is heard, and how loud."""

from pathlib import Path

import pytest

from .devices import E3XX, Ad9361, perhop_shell
from .devices import image_core as reader


class Air(perhop_shell.ShellAir):
    """An E320 and an E310, both as the daemon's driver leaves them, and the lines that the process would get."""

    def __init__(self) -> None:
        super().__init__(Path("none"), 0, lambda kind, **what: None)
        self.lines: list[tuple] = []
        self.codecs = [Ad9361(22e6), Ad9361(22e6, channel_mode="SISO_TX1")]
        for codec, device, chain in zip(self.codecs, ("e320", "e310"), (1, 2), strict=True):
            codec.set_active_chains(*(each in (f"TX{chain}", f"RX{chain}") for each in ("TX1", "TX2", "RX1", "RX2")))
            for direction, gain_db in (("TX", 40.0), ("RX", 30.0)):
                codec.gain_db[f"{direction}{chain}"] = gain_db
                codec.frequency_hz[f"{direction}{chain}"] = 2.412e9
            block = reader.parse(E3XX[f"{device}_perhop_22"], device).blocks[1]
            self.add(block, lambda *what: None, codec, device)

    def say(self, *words: object) -> None:
        self.lines.append(words)

    def heard(self, node: int) -> tuple[float, list[float]]:
        """Noise at a node's receiver, and the factors of all nodes."""
        self._nodes[node]._heard = []
        self.lines.clear()
        self._nodes[node].tell_front_end()
        ((what, number, noise, *factors),) = self.lines
        assert (what, number) == ("h", node)
        return noise, factors


@pytest.fixture
def air() -> Air:
    return Air()


def test_both_hear_each_other_and_not_themselves(air):
    level = 10 ** (perhop_shell.PATH_DB / 20)
    assert air.heard(0) == (perhop_shell.NOISE_STEPS, [0.0, pytest.approx(level)])
    assert air.heard(1) == (perhop_shell.NOISE_STEPS, [pytest.approx(level), 0.0])


def test_a_transmitter_whose_chain_does_not_run_is_not_heard(air):
    air.codecs[1].set_active_chains(True, False, False, True)
    assert air.heard(0)[1] == [0.0, 0.0]


def test_a_receiver_whose_chain_does_not_run_hears_not_even_noise(air):
    air.codecs[1].set_active_chains(False, True, True, False)
    assert air.heard(1) == (0.0, [0.0, 0.0])


def test_another_frequency_is_not_heard(air):
    air.codecs[0].frequency_hz["TX1"] = 2.437e9
    assert air.heard(1)[1] == [0.0, 0.0]
    assert air.heard(0)[1][1] > 0


def test_gains_scale_what_is_heard_and_the_receivers_the_noise(air):
    noise, (_, before) = air.heard(0)
    air.codecs[1].gain_db["TX2"] += 20
    assert air.heard(0) == (noise, [0.0, pytest.approx(10 * before)])
    air.codecs[0].gain_db["RX1"] -= 20
    assert air.heard(0) == (pytest.approx(noise / 10), [0.0, pytest.approx(before)])


def test_a_front_end_that_did_not_change_is_told_once(air):
    air.front_ends_changed()
    assert [line[:2] for line in air.lines] == [("h", 0), ("h", 1)]
    air.front_ends_changed()
    assert len(air.lines) == 2


def test_a_recorder_hears_its_own_device_and_a_dead_chain_gives_zeros(air):
    air.codecs[0].set_active_chains(True, True, True, True)
    air.codecs[0].channel_mode = "MIMO"
    air.codecs[0].frequency_hz["RX2"] = 2.412e9
    came: list[bytes] = []
    air._nodes[0].record(1, 100, came.append)
    what, node, count, _, own, other = air.lines[-1]
    assert (what, node, count) == ("s", 0, 100) and own > 0 and other > 0
    air._nodes[0].come("i", ["00" * 400])
    assert b"".join(came) == bytes(400)
    came.clear()
    air.codecs[0].set_active_chains(True, False, True, False)
    air._nodes[0].record(1, 5000, came.append)
    assert b"".join(came) == bytes(20_000)
