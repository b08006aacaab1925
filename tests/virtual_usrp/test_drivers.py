# SPDX-License-Identifier: GPL-2.0-or-later
"""What of ours opens a radio, unmodified, on virtual devices: the daemon's link and the bench's Python."""

import json
import subprocess

import pytest

from .devices import BENCH_PYTHON, E3XX, ROOT, args, clock_rate_hz, opened_link, plain_environment

pytestmark = [pytest.mark.long, pytest.mark.uhd]

RIGHT = {"e320": ("T F T F", "SISO_TX0", 1), "e310": ("F T F T", "SISO_TX1", 2)}
BENCH = """
import json, sys
sys.path[:0] = [sys.argv[1] + "/hw/bringup", sys.argv[1] + "/host/python"]
from perhop.errors import PerhopError
from uhd_radio import Place, UhdRadio
try:
    radio = UhdRadio(Place(sys.argv[2], recorder_channel=json.loads(sys.argv[3])))
    radio.tune(2.412e9, 40, 30)
    radio.open_streams()
    radio.send_packet(bytes(range(100)))
    told = {"id": radio.read32(0), "back": radio.receive_packet(1.0).hex(), "antenna": radio.radio.get_rx_antenna(0)}
    if radio.place.recorder_channel is not None:
        told["samples"] = len(radio.record(2.412e9, 20, 0.001))
except PerhopError as error:
    told = {"error": str(error)}
print(json.dumps(told))
"""


def on_the_bench(radio_args: str, recorder_channel: int | None) -> dict:
    done = subprocess.run(
        [BENCH_PYTHON, "-c", BENCH, ROOT, radio_args, json.dumps(recorder_channel)],
        capture_output=True, text=True, timeout=60, env=plain_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", E3XX)
def test_the_daemons_link_leaves_each_e3xx_on_the_chain_of_perhops_channel(start, name):
    device = start(name)
    with opened_link(args(device, name)) as link:
        assert link.told()["id"] == 0x50657248
        codec, (chains, mode, chain) = device.codec(), RIGHT[name.split("_")[0]]
        assert (codec.chains, codec.channel_mode) == (chains, mode)
        assert codec.sends(chain) and codec.hears(chain)
        assert (codec.gain_db[f"TX{chain}"], codec.gain_db[f"RX{chain}"]) == (40, 30)
        assert (codec.frequency_hz[f"TX{chain}"], codec.frequency_hz[f"RX{chain}"]) == (2.412e9, 2.412e9)
        assert codec.clock_rate_hz == clock_rate_hz(name)


def of_perhop(device) -> dict:
    """What the device counted of perhop's streams; it is ended for that."""
    device.stop()
    return device.events("end")[-1]["streams"][1]


def test_ten_thousand_packets_of_all_lengths_come_back_in_order(start):
    device = start("e320_perhop_22")
    with opened_link(args(device), 10_000, 50) as link:
        told = link.told()
    assert (told["sent"], told["right"], told["wrong"]) == (10_000, 10_000, 0)
    stream = of_perhop(device)
    assert (stream["incoming"]["data_packets"], stream["incoming"]["lost_packets"]) == (10_000, 0)
    assert stream["outgoing"]["sent_packets"] == 10_000


def test_a_device_waits_while_the_receivers_credit_is_gone(start):
    """Each burst is three times what the host said that it can hold, and the host looks only behind it."""
    device, burst, packet_bytes, room_bytes = start("e320_perhop_22"), 200, 1400, 100_000
    with opened_link(f"{args(device)},recv_buff_size={room_bytes}", 2000, burst, packet_bytes) as link:
        told = link.told()
    assert burst * packet_bytes > 2 * room_bytes
    assert (told["right"], told["wrong"]) == (2000, 0)
    stream = of_perhop(device)["outgoing"]
    assert (stream["capacity_bytes"], stream["waited"] >= 10) == (room_bytes, True)


@pytest.mark.parametrize("name", E3XX)
def test_the_bench_finds_the_block_without_its_controller_and_records_on_perhops_own_channel(start, name):
    device = start(name)
    told = on_the_bench(args(device, name), 0)
    assert told == {"id": 0x50657248, "back": bytes(range(100)).hex(), "antenna": "RX2", "samples": 22_000}
    assert "F F" not in {event["chains"][:3] for event in device.events("codec")}, "its transmitter was off"


@pytest.mark.parametrize("name", [name for name in E3XX if name.endswith("_22")])
def test_the_bench_records_on_channel_1_where_both_channels_can_run(start, name):
    device = start(name)
    told = on_the_bench(args(device, name), 1)
    assert told == {"id": 0x50657248, "back": bytes(range(100)).hex(), "antenna": "TX/RX", "samples": 22_000}
    last = [event for event in device.events("codec") if event["chains"] == "T T T T"][-1]
    assert last["channel_mode"] == "MIMO" and last["carries_its_rate"]


@pytest.mark.parametrize("name", [name for name in E3XX if name.endswith("_44")])
def test_the_bench_says_where_to_record_when_two_channels_cannot_run(start, name):
    told = on_the_bench(args(start(name), name), 1)
    assert "--recorder-channel 0" in told["error"] and "30.72" in told["error"]


def test_the_link_names_the_blocks_of_an_image_without_perhop(start, tmp_path):
    core = json.loads(json.dumps(E3XX["e320_perhop_22"]))
    core["noc_blocks"].pop("perhop0")
    core["connections"] = [link for link in core["connections"] if "perhop0" not in (link["srcblk"], link["dstblk"])]
    path = tmp_path / "without.yml"
    path.write_text(json.dumps(core))
    with opened_link(args(start(path))) as link:
        error = link.told()["error"]
    assert "has no block 0/perhop#0" in error and "0/Radio#0" in error
