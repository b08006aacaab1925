# SPDX-License-Identifier: GPL-2.0-or-later
"""The audio example over three hops: its sampling rate follows the EXACT rate, down at once, up after five seconds."""

import json
import math
import time
from pathlib import Path

from waiting import wait_until

HERE = Path(__file__).parent
AUDIO = HERE.parents[1] / "host/python/examples/audio_stream.py"
LAST = "10.0.0.4"
# The path carries 428 kb/s (test_exact), shared by four flows at last: half of it is enough for 24 kHz, then the signal
# falls twice, to a third (16 kHz) and to a quarter (8 kHz). Each fall finds at worst a full queue of the frames before,
# which leave at the new rate: they come late, and those of that time find no room.
PATH_BPS = 428_000
QUEUE_FRAMES, FRAMES_PER_S = 3, 20
FRAME_BITS = {hz: 8 * (hz // FRAMES_PER_S + 20 + 28) for hz in (24000, 16000)}  # with its head, in UDP and IP
FALLS = ((FRAME_BITS[24000], PATH_BPS / 3), (FRAME_BITS[16000], PATH_BPS / 4))
MOST_LOST = sum(QUEUE_FRAMES for _ in FALLS) + math.ceil(
    FRAMES_PER_S * sum(QUEUE_FRAMES * bits / rate_bps for bits, rate_bps in FALLS)
)


def lines_of(process, timeout_s):
    text, _ = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, text
    return [json.loads(line) for line in text.splitlines()]


def test_audio_makes_room_for_other_flows_at_once_and_takes_it_back_after_five_seconds(start_network):
    live = start_network("--exact", "m2")
    receiver = live.start_python(3, AUDIO, "receive", "--idle-s", "1")
    assert "listening" in receiver.stdout.readline()
    sender = live.start_python(0, AUDIO, "send", LAST, "--seconds", "18")
    wait_until(lambda: live.daemon(0)["exact"]["sent"] > 2 * FRAMES_PER_S, 20)
    sinks = [live.start_python(3, HERE / "udp_sink.py", LAST, str(port)) for port in (6001, 6002, 6003)]
    for sink in sinks:
        assert sink.stdout.readline() == "listening\n"
    joined_s = time.monotonic()
    others = [live.start_python(0, HERE / "greedy_sender.py", LAST, str(port), "5") for port in (6001, 6002, 6003)]
    for other in others:
        left_s = lines_of(other, 60)[-1]["at_s"]
    *changes, end = lines_of(sender, 60)

    before_hz = 24000
    assert not [change for change in changes if change["at_s"] < joined_s], (
        "alone it has all that it wants from the start"
    )
    falls = [change for change in changes if joined_s < change["at_s"] < left_s and change["sampling_hz"] < before_hz]
    assert falls and falls[0]["at_s"] < joined_s + 2, "programs start within a second"
    restored = [change for change in changes if change["at_s"] > joined_s and change["sampling_hz"] >= before_hz]
    assert restored and restored[0]["at_s"] > left_s + 4.9, changes
    # A sender that obeyed every signal would have changed more often.
    assert end["end"]["sampling_changes"] <= end["end"]["signal_changes"]

    *seconds, heard = lines_of(receiver, 60)
    heard = heard["end"]
    assert len(seconds) > 12
    assert heard["frames"] + heard["missing"] >= 350
    print(f"{heard['missing']} frames missing, {heard['late']} late; at most {MOST_LOST}")
    # A stream without limits would lose more than half of its frames for five seconds.
    assert heard["missing"] + heard["late"] <= MOST_LOST, heard
    assert heard["snr_db"] > 35, "the sound that was sent"
    assert live.daemon(0)["exact"]["refused"] == 0
