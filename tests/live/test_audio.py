# SPDX-License-Identifier: GPL-2.0-or-later
"""The audio example over three hops: its sampling rate follows the EXACT rate, down at once, up after five seconds."""

import json
import time
from pathlib import Path

HERE = Path(__file__).parent
AUDIO = HERE.parents[1] / "host/python/examples/audio_stream.py"
LAST = "10.0.0.4"


def lines_of(process, timeout_s):
    text, _ = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, text
    return [json.loads(line) for line in text.splitlines()]


def test_audio_makes_room_for_other_flows_at_once_and_takes_it_back_after_five_seconds(start_network):
    live = start_network("--exact", "m2")
    receiver = live.start_python(3, AUDIO, "receive")
    assert "listening" in receiver.stdout.readline()
    sender = live.start_python(0, AUDIO, "send", LAST, "--seconds", "24")
    time.sleep(5)
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
    assert len(seconds) > 15
    assert heard["frames"] + heard["missing"] >= 470
    # Three flows that begin at once take about a second to find their rates; late reports slow senders down.
    # A stream without limits would lose more than half of its frames for five.
    assert heard["missing"] + heard["late"] <= 20, heard
    assert heard["snr_db"] > 35, "the sound that was sent"
    assert live.daemon(0)["exact"]["refused"] == 0
