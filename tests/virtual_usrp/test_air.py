# SPDX-License-Identifier: GPL-2.0-or-later
"""The air between virtual devices: the AD9361's state decides who is heard, and how loud."""

from pathlib import Path

import pytest
from perhop.errors import PerhopError

from .devices import E3XX, Ad9361, air_links, perhop_shell, sample_source
from .devices import image_core as reader

ENDLESS = sample_source.ENDLESS


class Air(perhop_shell.ShellAir):
    """An E320 and an E310, both as the daemon's driver leaves them, and the lines that the process would get."""

    def __init__(self) -> None:
        super().__init__(Path("none"), 0, lambda kind, **what: None, air_links.AirLinks())
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
    level = 10 ** (-air_links.LOSS_DB / 20)
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
    (what, node, _, own, other), wanted = air.lines[-2:]
    assert (what, node, wanted) == ("l", 0, ("s", 0, 100)) and own > 0 and other > 0
    air._nodes[0].come("i", ["00" * 400])
    assert b"".join(came) == bytes(400)
    came.clear()
    air.codecs[0].set_active_chains(True, False, True, False)
    air._nodes[0].record(1, 5000, came.append)
    assert b"".join(came) == bytes(20_000)


def test_a_file_says_who_hears_whom_and_how_loud(air, tmp_path):
    path = tmp_path / "air.yml"
    path.write_text("links: [{between: [1, 0], loss_db: 44}]")
    air._links = air_links.load(path, 3)
    assert air.heard(0)[1] == [0.0, pytest.approx(10 ** (-44 / 20))]
    path.write_text("links: [{between: [1, 2]}]")
    air._links = air_links.load(path, 3)
    assert air.heard(0)[1] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("links: [{between: [0, 3]}]", r"links\[0\]\.between is \[0, 3\], and no two of the devices 0 to 1"),
        ("links: [{between: [1, 1]}]", r"links\[0\]\.between"),
        ("links: [{between: [0, 1], loss_db: loud}]", r"links\[0\]\.loss_db is 'loud'"),
        ("links: [{between: [0, 1]}, {between: [1, 0]}]", r"links\[1\]\.between is \[1, 0\] a second time"),
        ("links: [{from: 1}]", r"links\[0\] has other fields"),
        ("[1]", "links must be a list"),
        ("links: [", "air.yml"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path, text, said):
    path = tmp_path / "air.yml"
    path.write_text(text)
    with pytest.raises(PerhopError, match=said):
        air_links.load(path, 2)


def test_what_uhd_sends_is_taken_when_it_has_gone_out(air):
    taken: list[int] = []
    for number, count in enumerate((3, 5)):
        air._nodes[0].transmit(0, bytes(4 * count), number == 1, lambda number=number: taken.append(number))
    assert [line[:3] for line in air.lines] == [("u", 0, 0), ("u", 0, 1)]
    air._nodes[0].come("c", ["2"])
    assert not taken
    air._nodes[0].come("c", ["4"])
    assert taken == [0]
    air._nodes[0].come("c", ["2"])
    assert taken == [0, 1]
    air.lines.clear()
    air._nodes[0].transmit(1, bytes(40), True, lambda: taken.append(9))
    assert taken[-1] == 9 and not air.lines, "nobody hears the other channel"


def test_what_the_host_does_not_take_waits_in_the_fpga(air):
    taken: list = []
    times: list = []
    node = air._nodes[0]
    node._send = lambda port, payload, ends, time, then: taken.append(then)
    for _ in range(2):
        node.come("f", ["-", "1", "00112233"])
    assert air.lines == [("m", 0, 0)] and len(taken) == 2
    taken[0]()
    assert air.lines == [("m", 0, 0)]
    taken[1]()
    assert air.lines == [("m", 0, 0), ("m", 0, 1)]
    node._send = lambda port, payload, ends, time, then: (times.append((ends, time)), then())
    node.come("f", ["-", "0", "00112233"])
    node.come("f", ["4711", "1", "00112233"])
    assert times == [(False, None), (True, 4711)]
    assert len(air.lines) == 2, "a host that takes it at once holds nothing up"


def test_an_endless_recording_follows_the_front_end_until_it_is_stopped(air):
    air._nodes[0].record(0, ENDLESS, lambda samples: None)
    assert [line[0] for line in air.lines] == ["l", "s"]
    air.lines.clear()
    air.codecs[1].gain_db["TX2"] += 20
    air.front_ends_changed()
    louder = [line for line in air.lines if line[0] == "l"]
    assert louder and louder[0][-1] == pytest.approx(10 ** ((20 - air_links.LOSS_DB) / 20))
    air._nodes[0].stop_recording(0)
    assert air.lines[-1] == ("s", 0, 0)
