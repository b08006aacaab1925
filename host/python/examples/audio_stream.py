# SPDX-License-Identifier: GPL-2.0-or-later
"""Audio over UDP that follows its EXACT rate: the microphone's sampling rate is the fastest that the path allows.

    perhop live exec last  -- python host/python/examples/audio_stream.py receive
    perhop live exec first -- python host/python/examples/audio_stream.py send 10.0.0.4 --seconds 60

Speech or music comes from a WAV file (16 bits, any rate) or is a chirp. A frame holds 50 ms, one byte a sample (mu-law,
ITU-T G.711), one channel. Its sampling rate falls with the signal at once and rises when that held for five seconds:
Delayed Increase Immediate Decrease (perhop.core.DelayedIncrease), as in K. Chen, K. Nahrstedt, "Limitations of
equation-based congestion control in mobile ad hoc networks", section VI.C. Ours: the sampling rates, and that a frame
which finds no room is left out, as its time is over when there is some. Frames shorter than 50 ms would cost the path
more air for their preambles, RTS, CTS and MAC ACKs than for their samples.

The receiver plays each frame 200 ms after the fastest one would have come, and reports every second what it heard:
sampling rate, frames that never came or came too late, gaps, and how far the sound is from what was sent (chirp only).
"""

from __future__ import annotations

import argparse
import errno
import json
import socket
import struct
import sys
import time
import wave
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from perhop import rates
from perhop.core import DelayedIncrease
from perhop.errors import PerhopError

# Each gives a whole number of samples a frame.
SAMPLING_HZ = (2000, 4000, 8000, 12000, 16000, 20000, 24000)
FRAMES_PER_S = 20
FRAME_US = 1_000_000 // FRAMES_PER_S
# Two letters, samples, number, time of its first sample, sampling rate.
HEAD = struct.Struct("!2sHIQI")
MAGIC = b"PA"
IP_AND_UDP_BYTES = {socket.AF_INET: 28, socket.AF_INET6: 48}
DIID_US = 5_000_000
PLAYOUT_US = 200_000
# What waits for longer than the playout time comes too late.
QUEUE_FRAMES = 3
# While the microphone is off a packet now and then asks for the path's rate.
OFF_ASKS_US = 1_000_000
DEFAULT_PORT = 5004


def chirp(at_us: int, count: int, sampling_hz: int) -> np.ndarray:
    """A test sound, -1 to 1, that both ends know: sweeps from 100 to 900 Hz and back every two seconds."""
    seconds = (at_us % 2_000_000) / 1e6 + np.arange(count) / sampling_hz
    return 0.7 * np.sin(2 * np.pi * (500 * seconds - 400 / np.pi * np.sin(np.pi * seconds)))


class WavFile:
    """A recording, over and over, at any sampling rate."""

    def __init__(self, path: Path) -> None:
        with wave.open(str(path)) as file:
            if file.getsampwidth() != 2:
                raise PerhopError(f"{path} has {8 * file.getsampwidth()} bits a sample", "give one with 16")
            samples = np.frombuffer(file.readframes(file.getnframes()), np.int16).reshape(-1, file.getnchannels())
            self._hz = file.getframerate()
        self._sound = samples.mean(axis=1) / 32768

    def __call__(self, at_us: int, count: int, sampling_hz: int) -> np.ndarray:
        at = (at_us / 1e6 + np.arange(count) / sampling_hz) * self._hz % len(self._sound)
        return np.interp(at, np.arange(len(self._sound)), self._sound, period=len(self._sound))


def mu_law(sound: np.ndarray) -> bytes:
    """One byte a sample (ITU-T G.711, mu = 255, its continuous form)."""
    squeezed = np.sign(sound) * np.log1p(255 * np.abs(np.clip(sound, -1, 1))) / np.log(256)
    return np.round(127.5 + 127.5 * squeezed).astype(np.uint8).tobytes()


def from_mu_law(samples: bytes) -> np.ndarray:
    squeezed = np.frombuffer(samples, np.uint8) / 127.5 - 1
    return np.sign(squeezed) * np.expm1(np.abs(squeezed) * np.log(256)) / 255


def stream_bps(sampling_hz: int, family: socket.AddressFamily) -> int:
    """What the stream takes of the path, as EXACT counts: IP packets."""
    frame_bytes = sampling_hz // FRAMES_PER_S + HEAD.size + IP_AND_UDP_BYTES[family]
    return 8 * FRAMES_PER_S * frame_bytes


def fastest_hz(rate_bps: float, family: socket.AddressFamily) -> int:
    """The fastest sampling that fits; 0: none, the microphone is off."""
    return max((hz for hz in SAMPLING_HZ if stream_bps(hz, family) <= rate_bps), default=0)


@dataclass
class Sent:
    """What a sender has done, at the end."""

    frames: int = 0
    left_out: int = 0  # found no room, or no route
    off_frames: int = 0  # the microphone was off
    sampling_changes: int = 0
    signal_changes: int = 0  # so many it would have been without the delay
    mean_sampling_hz: float = 0


def now_us() -> int:
    return time.monotonic_ns() // 1000


def connected(address: str, port: int) -> socket.socket:
    family, _, _, _, target = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0]
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.connect(target)
    return sock


def send(address: str, port: int, seconds: float, sound: object = chirp, note: object = print) -> Sent:
    """Stream for some time. Raises PerhopError without a daemon that has EXACT."""
    done = Sent()
    diid = DelayedIncrease(window_us=DIID_US)
    with (
        connected(address, port) as sock,
        rates.follow(sock, stream_bps(SAMPLING_HZ[-1], sock.family), queue_packets=QUEUE_FRAMES) as flow,
    ):
        start_us = due_us = now_us()
        # The first frames ask for what the stream would like, in packets as long as it would like.
        sampling_hz = signal_hz = SAMPLING_HZ[-1]
        asked_us = start_us
        sequence = hz_sum = 0
        signal_bps = None
        while due_us < start_us + seconds * 1e6:
            # What the daemon says meanwhile is a signal of that moment.
            while (left_us := due_us - now_us()) > 0:
                flow.wait(left_us / 1e6)
                rate = flow.rate
                # The path's rate: that of the sender falls for a moment whenever a report is late.
                if rate.reported and rate.path_bps != signal_bps:
                    signal_bps = rate.path_bps
                    diid.on_signal(now_us(), signal_bps)
                    raw_hz = fastest_hz(signal_bps, sock.family)
                    done.signal_changes += raw_hz != signal_hz
                    signal_hz = raw_hz
            if signal_bps is not None:
                allowed_bps = diid.allowed_bps(now_us())
                chosen_hz = fastest_hz(allowed_bps, sock.family)
                if chosen_hz != sampling_hz:
                    done.sampling_changes += 1
                    note(
                        json.dumps(
                            {
                                "at_s": time.monotonic(),
                                "sampling_hz": chosen_hz,
                                "allowed_bps": allowed_bps,
                                "signal_bps": signal_bps,
                                "hops": flow.rate.hops,
                            }
                        )
                    )
                sampling_hz = chosen_hz
            samples = sampling_hz // FRAMES_PER_S
            if samples == 0:
                done.off_frames += 1
            if samples != 0 or due_us - asked_us >= OFF_ASKS_US:
                if flow.rate.full:
                    done.left_out += 1
                else:
                    asked_us = due_us
                    head = HEAD.pack(MAGIC, samples, sequence, due_us, sampling_hz)
                    try:
                        sock.send(head + mu_law(sound(due_us, samples, sampling_hz)))
                        done.frames += 1
                    except OSError as error:
                        # Between two routes there may be none; what is heard then cannot wait.
                        if error.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH):
                            raise
                        done.left_out += 1
            sequence += 1
            hz_sum += sampling_hz
            due_us += FRAME_US
        done.mean_sampling_hz = hz_sum / max(sequence, 1)
    return done


@dataclass
class Heard:
    """What a receiver has heard, of a second or of all."""

    frames: int = 0
    missing: int = 0  # never came, the sender's left out ones included
    late: int = 0  # came after their time
    gaps: int = 0  # missing or late frames in a row count once
    silence_ms: float = 0
    mean_sampling_hz: float = 0  # of the time that was heard
    snr_db: float | None = None  # chirp only; mu-law alone gives about 37 dB
    p95_delay_ms: float = 0  # above the fastest frame


class Player:
    """Takes frames as they come, and says what a listener would have heard. Time is an argument."""

    def __init__(self, knows_sound: bool) -> None:
        self._knows_sound = knows_sound
        self._fastest_us: int | None = None
        self._first: int | None = None
        self._frames: dict[int, tuple[int, int]] = {}  # number: sampling rate, delay above the fastest at arrival
        self._signal = self._noise = 0.0
        self._told: int | None = None  # numbers below have been told of
        self.malformed = 0

    def on_packet(self, at_us: int, packet: bytes) -> None:
        if len(packet) < HEAD.size:
            self.malformed += 1
            return
        magic, samples, sequence, media_us, sampling_hz = HEAD.unpack_from(packet)
        if magic != MAGIC or len(packet) != HEAD.size + samples or samples * FRAMES_PER_S != sampling_hz:
            self.malformed += 1
            return
        delay_us = at_us - media_us
        self._fastest_us = delay_us if self._fastest_us is None else min(self._fastest_us, delay_us)
        if self._first is None:
            self._first = self._told = sequence
        if samples == 0 or sequence in self._frames:
            return
        self._frames[sequence] = (sampling_hz, delay_us - self._fastest_us)
        if self._knows_sound:
            sent = chirp(media_us, samples, sampling_hz)
            self._signal += float(np.sum(sent**2))
            self._noise += float(np.sum((from_mu_law(packet[HEAD.size :]) - sent) ** 2))

    def heard(self, below: int | None = None, since: int | None = None) -> Heard:
        """Of the frames from number `since` on, below `below`; by default of all."""
        done = Heard()
        if self._first is None or not self._frames:
            return done
        first = self._first if since is None else since
        end = max(self._frames) + 1 if below is None else below
        hz_sum, gap, delays_us = 0, False, []
        for number in range(first, end):
            sampling_hz, delay_us = self._frames.get(number, (0, 0))
            good = sampling_hz != 0 and delay_us <= PLAYOUT_US
            done.frames += sampling_hz != 0
            done.missing += sampling_hz == 0
            done.late += sampling_hz != 0 and not good
            done.gaps += not good and not gap
            gap = not good
            if good:
                hz_sum += sampling_hz
            else:
                done.silence_ms += FRAME_US / 1000
            if sampling_hz != 0:
                delays_us.append(delay_us)
        played = done.frames - done.late
        done.mean_sampling_hz = hz_sum / played if played else 0
        done.p95_delay_ms = float(np.percentile(delays_us, 95)) / 1000 if delays_us else 0
        if self._noise > 0:
            done.snr_db = round(10 * float(np.log10(self._signal / self._noise)), 1)
        return done

    def take_second(self) -> Heard | None:
        """Of what is over: all frames but the newest playout time's."""
        if self._told is None or not self._frames:
            return None
        below = max(self._frames) + 1 - PLAYOUT_US // FRAME_US
        if below <= self._told:
            return None
        heard = self.heard(below, self._told)
        self._told = below
        return heard


def receive(address: str, port: int, idle_s: float, knows_sound: bool = True, note: object = print) -> Heard:
    """Listen until nothing has come for `idle_s`, once something has."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    player = Player(knows_sound)
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.bind((address, port))
        note(json.dumps({"listening": [address, port]}))
        sock.settimeout(None)
        second_us = None
        while True:
            try:
                packet = sock.recv(65536)
            except TimeoutError:
                break
            at_us = now_us()
            player.on_packet(at_us, packet)
            sock.settimeout(idle_s)
            second_us = at_us if second_us is None else second_us
            if at_us - second_us >= 1_000_000:
                second_us = at_us
                if heard := player.take_second():
                    note(json.dumps({"at_s": time.monotonic(), **asdict(heard)}))
    return player.heard()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    sending = commands.add_parser("send", help="stream to ADDRESS")
    sending.add_argument("address")
    sending.add_argument("--port", type=int, default=DEFAULT_PORT)
    sending.add_argument("--seconds", type=float, default=60)
    sending.add_argument("--wav", type=Path, help="a recording; default: a chirp, which the receiver knows")
    receiving = commands.add_parser("receive", help="listen, and report what was heard")
    receiving.add_argument("--address", default="0.0.0.0", help=":: for IPv6")
    receiving.add_argument("--port", type=int, default=DEFAULT_PORT)
    receiving.add_argument("--idle-s", type=float, default=3, help="end after so long a silence")
    receiving.add_argument("--recording", action="store_true", help="the sender plays a recording: no SNR")
    arguments = parser.parse_args()

    def note(text: str) -> None:
        print(text, flush=True)

    try:
        if arguments.command == "send":
            sound = WavFile(arguments.wav) if arguments.wav else chirp
            done = send(arguments.address, arguments.port, arguments.seconds, sound, note)
        else:
            done = receive(arguments.address, arguments.port, arguments.idle_s, not arguments.recording, note)
    except PerhopError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    note(json.dumps({"end": asdict(done)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
