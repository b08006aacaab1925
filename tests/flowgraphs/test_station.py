# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop.station, the Verilated MAC for flowgraphs: exchanges frame by frame, and strangers' frames."""

import os
import random
import struct
import zlib

import pytest

station = pytest.importorskip("perhop.station", reason="perhop.station is not built: `make flowgraphs` builds it")

SEED = int(os.environ.get("PERHOP_SEED", random.randrange(2**32)))


def with_fcs(mpdu: bytes) -> bytes:
    return mpdu + zlib.crc32(mpdu).to_bytes(4, "little")


def pass_time(node, until_us: int) -> None:
    while not node.advance(until_us):
        pass


def run(stations: list, until_us: int, latency_us: int = 1000, lose=lambda frame: False) -> list[tuple[int, dict]]:
    """Everybody hears everybody, a frame `latency_us` after its end. Gives (node, event) in order."""
    log, air = [], []
    for now_us in range(stations[0].now_us, until_us, 100):
        for at_us, sender, psdu in [frame for frame in air if frame[0] <= now_us]:
            air.remove((at_us, sender, psdu))
            for node, each in enumerate(stations):
                if node != sender:
                    each.receive(psdu, 0, -50.0)
        for node, each in enumerate(stations):
            pass_time(each, now_us)
            for event in each.take_events():
                log.append((node, event))
                if event["event"] == "sent" and not lose(event):
                    air.append((event["at_us"] + event["airtime_us"] + latency_us, node, event["psdu"]))
    return log


def test_a_packet_takes_rts_cts_data_and_mac_ack():
    nodes = [station.Station(node=node, seed=7) for node in range(2)]
    msdu = bytes(range(200))
    assert nodes[0].submit(nodes[1].address, msdu, 5)
    log = run(nodes, 400_000)
    sent = [(node, event["kind"]) for node, event in log if event["event"] == "sent"]
    assert sent == [(0, "rts"), (1, "cts"), (0, "data"), (1, "mac_ack")]
    ((_, delivered),) = [each for each in log if each[1]["event"] == "delivered"]
    assert delivered["msdu"] == msdu and delivered["source"] == nodes[0].address
    ((_, done),) = [each for each in log if each[1]["event"] == "done"]
    assert done["result"] == "delivered" and done["tag"] == 5 and done["ra"] == nodes[1].address
    assert sum(done["parts_us"].values()) == done["t_done_us"] - done["t_enqueue_us"]
    for _, event in log:
        if event["event"] == "sent":
            assert station.fcs_good(event["psdu"])


def test_a_lost_response_is_tried_again_and_given_up():
    nodes = [station.Station(node=node) for node in range(2)]
    nodes[0].submit(nodes[1].address, b"x" * 50, 1)
    log = run(nodes, 6_000_000, lose=lambda event: event["kind"] == "cts")
    (done,) = [event for _, event in log if event["event"] == "done"]
    assert done["result"] != "delivered" and done["rts_attempts"] == 7


def test_the_same_seed_gives_the_same_times():
    def times() -> list[int]:
        nodes = [station.Station(node=node, seed=3) for node in range(3)]
        for tag in range(3):
            nodes[0].submit(nodes[1].address, b"a" * 100, tag)
            nodes[2].submit(nodes[1].address, b"b" * 100, tag)
        return [event["at_us"] for _, event in run(nodes, 2_000_000)]

    assert times() == times() != []


def test_frames_of_strangers_and_noise_are_no_trouble():
    """Anything with a good FCS, right or nearly right; then an exchange as ever."""
    print(f"PERHOP_SEED={SEED}")
    draw = random.Random(SEED)
    nodes = [station.Station(node=node) for node in range(2)]
    own, other = (struct.pack(">Q", node.address)[2:] for node in nodes)
    for _ in range(3000):
        control = draw.choice(
            (draw.randbytes(2), b"\x08\x00", b"\x08\x03", b"\x08\x01", b"\x88\x00", b"\xd4\x00", b"\xb4\x00")
        )
        addresses = [draw.choice((own, other, b"\xff" * 6, draw.randbytes(6))) for _ in range(4)]
        frame = (
            control
            + draw.randbytes(2)
            + b"".join(addresses[:3])
            + draw.randbytes(2)
            + draw.randbytes(draw.randrange(60))
        )
        psdu = with_fcs(frame[: draw.choice((len(frame), draw.randrange(len(frame))))])
        if draw.random() < 0.1:
            psdu = draw.randbytes(draw.randrange(80))
        nodes[0].receive(psdu, draw.randrange(4), draw.uniform(-300, 300))
        nodes[0].set_carrier(draw.random() < 0.3)
        pass_time(nodes[0], nodes[0].now_us + draw.choice((0, 10, 50_000)))
    nodes[0].set_carrier(False)
    pass_time(nodes[0], nodes[0].now_us + 1_000_000)
    pass_time(nodes[1], nodes[0].now_us)
    nodes[0].take_events()
    assert nodes[0].submit(nodes[1].address, b"still alive", 9)
    log = run(nodes, nodes[0].now_us + 3_000_000)
    assert [event["result"] for _, event in log if event["event"] == "done"] == ["delivered"]


def test_bad_settings_say_what_is_wrong():
    with pytest.raises(ValueError, match="profile 'hst_phy'"):
        station.Station(profile="hst_phy")
    with pytest.raises(ValueError, match="data_rate 9"):
        station.Station(data_rate=9)
    with pytest.raises(ValueError, match="node"):
        station.Station(node=5000)
