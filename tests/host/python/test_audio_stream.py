# SPDX-License-Identifier: GPL-2.0-or-later
"""The audio example without a network: frames, sampling rates, and what its receiver says it heard."""

import importlib.util
import socket
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "host/python/examples/audio_stream.py"
SPEC = importlib.util.spec_from_file_location("audio_stream", SCRIPT)
audio = sys.modules["audio_stream"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audio)


def frame(number, sampling_hz=8000, at_us=1_000_000):
    media_us = at_us + number * audio.FRAME_US
    samples = sampling_hz // audio.FRAMES_PER_S
    head = audio.HEAD.pack(audio.MAGIC, samples, number, media_us, sampling_hz)
    return media_us, head + audio.mu_law(audio.chirp(media_us, samples, sampling_hz))


def test_the_sampling_rate_is_the_fastest_whose_packets_fit():
    for hz in audio.SAMPLING_HZ:
        needed = audio.stream_bps(hz, socket.AF_INET)
        assert audio.fastest_hz(needed, socket.AF_INET) == hz
        assert audio.fastest_hz(needed - 1, socket.AF_INET) < hz
        assert audio.fastest_hz(needed, socket.AF_INET6) < hz, "its header is longer"
    assert audio.fastest_hz(1000, socket.AF_INET) == 0
    # 20 packets a second of 400 samples, head, UDP and IP.
    assert audio.stream_bps(8000, socket.AF_INET) == 20 * 8 * (400 + audio.HEAD.size + 28)


def test_what_was_sent_is_what_is_heard_but_for_mu_law():
    player = audio.Player(knows_sound=True)
    for number in range(40):
        at_us, packet = frame(number, 16000)
        player.on_packet(at_us + 30_000, packet)
    heard = player.heard()
    assert (heard.frames, heard.missing, heard.late, heard.gaps) == (40, 0, 0, 0)
    assert heard.mean_sampling_hz == 16000
    assert 35 < heard.snr_db < 42


def test_missing_and_late_frames_are_gaps_and_frames_in_a_row_are_one():
    player = audio.Player(knows_sound=True)
    for number in range(40):
        at_us, packet = frame(number)
        if number in (10, 11, 12, 30):
            continue
        player.on_packet(at_us + (250_000 if number == 20 else 20_000), packet)
    heard = player.heard()
    assert (heard.frames, heard.missing, heard.late, heard.gaps) == (36, 4, 1, 3)
    assert heard.silence_ms == 5 * 50


def test_a_wrong_sound_is_heard_as_noise():
    player = audio.Player(knows_sound=True)
    for number in range(40):
        at_us, packet = frame(number)
        player.on_packet(at_us, packet[: audio.HEAD.size] + packet[audio.HEAD.size :][::-1])
    assert player.heard().snr_db < 10


def test_malformed_packets_are_counted():
    player = audio.Player(knows_sound=True)
    _, packet = frame(0)
    for wrong in (b"", packet[:10], packet[:-1], b"XX" + packet[2:]):
        player.on_packet(1_000_000, wrong)
    assert player.malformed == 4
    assert player.heard().frames == 0


def test_a_recording_is_resampled(tmp_path):
    path = tmp_path / "tone.wav"
    tone = (np.sin(2 * np.pi * 440 * np.arange(44100) / 44100) * 20000).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(44100)
        file.writeframes(np.repeat(tone, 2).tobytes())
    sound = audio.WavFile(path)
    at_us = 250_000
    expected = 20000 / 32768 * np.sin(2 * np.pi * 440 * (at_us / 1e6 + np.arange(200) / 8000))
    assert sound(at_us, 200, 8000) == pytest.approx(expected, abs=0.02)
