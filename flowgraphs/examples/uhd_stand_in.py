# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-in for `gnuradio.uhd`: several USRPs with an air between them, for flowgraphs on machines without any.

It has what the USRP block uses of gr-uhd, and behaves as UHD and gr-uhd document and do it:
  - rates are coerced to what divides the master clock, frequencies and gains to the device's ranges, without an error
  - the first sample has the tags rx_time, rx_rate and rx_freq; after an overflow the next one has rx_time again, later
    than the samples before it tell
  - bursts are told by a length tag and sent at their tag tx_time; one that comes too late is dropped, and port
    async_msgs tells of it (time_error), of gaps (underflow), and of each burst that is out (burst_ack)
  - a device that is not there is a RuntimeError with UHD's words

Time goes by as fast as the flowgraphs take samples, but at most at `speed` of the computer's clock, and where it shall,
no faster than their MACs: what a real device needs of the host in real time is the one thing that it cannot show.
"""

from __future__ import annotations

import sys
import threading
import time
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pmt
from gnuradio import gr

REST_S = 0.0005
AHEAD_SAMPLES = 65536
"""A device that listens is at most so far ahead of another one."""
RECEIVE_TIMEOUT_S = 1.0


@dataclass
class Device:
    """One USRP. `near`: how far it hears in the row of devices; `overflows`: (sample, samples lost); `underflow_at`:
    number of the burst that has a gap."""

    address: str
    clock_hz: float = 44e6
    least_hz: float = 70e6
    most_hz: float = 6e9
    most_gain_db: float = 76.0
    antennas: tuple[str, ...] = ("TX/RX", "RX2")
    offset_hz: float = 0.0
    near: int = 1
    overflows: list[tuple[int, int]] = field(default_factory=list)
    underflow_at: int = -1


class Air:
    """What the devices send and hear. Bursts and positions are samples since the air began."""

    def __init__(
        self, devices: list[Device], gain_db: float, noise_dbfs: float, speed: float, samp_rate: float
    ) -> None:
        """gain_db: between devices that hear each other: those side by side in `devices`, or as `near` as they say."""
        self.devices = {each.address: each for each in devices}
        self.gain, self.sigma = 10 ** (gain_db / 20), 10 ** (noise_dbfs / 20) / np.sqrt(2)
        self.speed, self.samp_rate = speed, samp_rate
        self.lock = threading.Lock()
        self.bursts: list[tuple[int, str, np.ndarray]] = []
        self.made: dict[str, int] = {}
        self.sent = self.late = self.furthest = 0
        self.radios: list[Any] = []
        self._begin_s: float | None = None
        self._order = [each.address for each in devices]

    def now(self) -> int:
        """How far the air may be: the computer's clock says, and the slowest device that listens."""
        if self._begin_s is None:
            self._begin_s = time.monotonic()
        by_clock = int((time.monotonic() - self._begin_s) * self.speed * self.samp_rate)
        marks = [
            radio.source.begin + radio.time.sample_of(radio.time.marked_us)
            for radio in self.radios
            if radio.source.begin is not None
        ]
        return min([by_clock, *marks, *(made + AHEAD_SAMPLES for made in self.made.values())])

    def waits_for(self, radio: Any) -> None:
        """The air goes no further than a burst that this USRP block's MAC may still send.

        So nothing is late, however busy the machine is; without, it is as a device is.
        """
        self.radios.append(radio)

    def heard(self, address: str, first: int, count: int, noise: np.random.Generator) -> np.ndarray:
        """`count` samples at the antenna of a device from `first` on."""
        parts = noise.standard_normal(2 * count, dtype=np.float32) * np.float32(self.sigma)
        out = parts.view(np.complex64)
        here = self._order.index(address)
        for start, sender, wave in self.bursts:
            begin, end = max(start, first), min(start + len(wave), first + count)
            distance = abs(self._order.index(sender) - here)
            if begin >= end or distance > self.devices[address].near:
                continue
            # Its own burst is strong in a device's other antenna.
            piece = wave[begin - start : end - start] * (self.gain if distance else 1.0)
            turn_hz = self.devices[sender].offset_hz - self.devices[address].offset_hz
            turn = np.exp(2j * np.pi * turn_hz * np.arange(begin, end) / self.samp_rate)
            out[begin - first : end - first] += (piece * turn).astype(np.complex64)
        return out


class stream_args:
    """As uhd.stream_args."""

    def __init__(self, cpu_format: str = "", args: str = "", channels: list[int] | None = None) -> None:
        self.cpu_format, self.args, self.channels = cpu_format, args, channels or [0]


def time_spec(seconds: float) -> float:
    """As uhd.time_spec."""
    return seconds


def tune_request(frequency_hz: float, lo_offset_hz: float = 0.0) -> float:
    """As uhd.tune_request."""
    return frequency_hz


class gain_range:
    """As uhd.gain_range."""

    def __init__(self, least: float, most: float) -> None:
        self._least, self._most = least, most

    def start(self) -> float:
        return self._least

    def stop(self) -> float:
        return self._most


class _half:
    """What both directions of a device have."""

    def _open(self, air: Air, address: str) -> None:
        if address not in air.devices:
            shown = address.replace("=", ": ")
            raise RuntimeError(f"LookupError: KeyError: No devices found for ----->\nDevice Address:\n    {shown}\n")
        self.air, self.device = air, air.devices[address]
        self._rate, self._frequency, self._gain, self._antenna = self.device.clock_hz, 1e9, 0.0, self.device.antennas[0]

    def set_samp_rate(self, rate: float) -> None:
        self._rate = self.device.clock_hz / max(round(self.device.clock_hz / rate), 1)

    def get_samp_rate(self) -> float:
        return self._rate

    def get_clock_rate(self, mboard: int = 0) -> float:
        return self.device.clock_hz

    def set_center_freq(self, frequency: float, channel: int = 0) -> None:
        self._frequency = min(max(frequency, self.device.least_hz), self.device.most_hz)

    def get_center_freq(self, channel: int = 0) -> float:
        return self._frequency

    def get_gain_range(self, channel: int = 0) -> gain_range:
        return gain_range(0.0, self.device.most_gain_db)

    def set_gain(self, gain: float, channel: int = 0) -> None:
        self._gain = min(max(gain, 0.0), self.device.most_gain_db)

    def get_antennas(self, channel: int = 0) -> tuple[str, ...]:
        return self.device.antennas

    def set_antenna(self, antenna: str, channel: int = 0) -> None:
        self._antenna = antenna

    def set_bandwidth(self, bandwidth: float, channel: int = 0) -> None:
        """The air has no filters."""

    def get_clock_sources(self, mboard: int = 0) -> tuple[str, ...]:
        return ("internal", "external")

    def set_clock_source(self, source: str, mboard: int = 0) -> None:
        """All clocks are right, but for the carriers' offsets."""

    def set_time_now(self, time_s: float, mboard: int = 0) -> None:
        """The device's time is then this plus that of the air."""
        self.epoch_s = time_s


class _usrp_source(gr.sync_block, _half):
    """As uhd.usrp_source."""

    def __init__(self, air: Air, address: str, arguments: stream_args) -> None:
        self._open(air, address)
        gr.sync_block.__init__(self, "stand-in for usrp_source", in_sig=None, out_sig=[np.complex64])
        self._noise = np.random.default_rng(sorted(air.devices).index(address))
        self._overflows = sorted(self.device.overflows)
        self.begin: int | None = None
        self._tag_now = True

    def start(self) -> bool:
        with self.air.lock:
            self.begin = self._at = max([self.air.now(), *self.air.made.values()])
            self.air.made[self.device.address] = self._at
        return super().start()

    def _allowed(self, most: int) -> int:
        with self.air.lock:
            return min(most, self.air.now() - self._at)

    def stop(self) -> bool:
        with self.air.lock:
            self.air.made.pop(self.device.address, None)
        return super().stop()

    def work(self, input_items, output_items) -> int:
        out = output_items[0]
        # GNU Radio calls a source that gave nothing again after 250 ms, so it waits here, as usrp_source does.
        end_s = time.monotonic() + RECEIVE_TIMEOUT_S
        while (count := self._allowed(len(out))) <= 0:
            if time.monotonic() > end_s:
                return 0
            time.sleep(REST_S)
        with self.air.lock:
            if self._overflows and self._at - self.begin >= self._overflows[0][0]:
                self._at += self._overflows.pop(0)[1]
                self._tag_now = True
            out[:count] = self.air.heard(self.device.address, self._at, count, self._noise)
        if self._tag_now:
            self._tag_now = False
            seconds = self._at / self._rate
            value = pmt.make_tuple(pmt.from_uint64(int(seconds)), pmt.from_double(seconds - int(seconds)))
            for key, tag in (
                ("rx_time", value),
                ("rx_rate", pmt.from_double(self._rate)),
                ("rx_freq", pmt.from_double(self._frequency)),
            ):
                self.add_item_tag(0, self.nitems_written(0), pmt.intern(key), tag)
        with self.air.lock:
            self._at += count
            self.air.made[self.device.address] = self._at
            self.air.furthest = max(self.air.furthest, self._at)
        return count


class _usrp_sink(gr.sync_block, _half):
    """As uhd.usrp_sink with a length tag."""

    def __init__(self, air: Air, address: str, arguments: stream_args, length_tag: str = "") -> None:
        self._open(air, address)
        gr.sync_block.__init__(self, "stand-in for usrp_sink", in_sig=[np.complex64], out_sig=None)
        self._length_tag = length_tag
        self._pieces: list[np.ndarray] = []
        self._left = 0
        self._at_s: float | None = None
        self._bursts = 0
        self.message_port_register_out(pmt.intern("async_msgs"))

    def work(self, input_items, output_items) -> int:
        samples = input_items[0]
        if not self._left:
            self._at_s = None
            for tag in self.get_tags_in_window(0, 0, 1):
                key = pmt.symbol_to_string(tag.key)
                if key == self._length_tag:
                    self._left = pmt.to_long(tag.value)
                elif key == "tx_time":
                    parts = pmt.tuple_ref(tag.value, 0), pmt.tuple_ref(tag.value, 1)
                    self._at_s = pmt.to_uint64(parts[0]) + pmt.to_double(parts[1])
            if not self._left:
                # gr-uhd drops what lies between bursts, and says so.
                gr.log.warn("stand-in for usrp_sink: tag gap")
                return 1
        count = min(len(samples), self._left)
        self._pieces.append(samples[:count].copy())
        self._left -= count
        if not self._left:
            self._send(np.concatenate(self._pieces))
            self._pieces = []
        return count

    def _send(self, wave: np.ndarray) -> None:
        air = self.air
        with air.lock:
            now = max(air.made.values(), default=0)
            start = round(self._at_s * self._rate) if self._at_s is not None else now
            late = start < now
            if late:
                air.late += 1
            else:
                air.sent += 1
                air.bursts = [each for each in air.bursts if each[0] + len(each[2]) > min(air.made.values(), default=0)]
                air.bursts.append((start, self.device.address, wave))
        if late:
            self._tell("time_error")
        elif self._bursts == self.device.underflow_at:
            self._tell("underflow")
        else:
            self._tell("burst_ack")
        self._bursts += 1

    def _tell(self, event: str) -> None:
        codes = pmt.list1(pmt.intern(event))
        told = pmt.dict_add(pmt.make_dict(), pmt.intern("event_code"), codes)
        told = pmt.dict_add(told, pmt.intern("channel"), pmt.from_long(0))
        self.message_port_pub(pmt.intern("async_msgs"), pmt.cons(pmt.intern("uhd_async_msg"), told))


def installed(
    devices: list[Device],
    gain_db: float = -20.0,
    noise_dbfs: float = -50.0,
    speed: float = 0.2,
    samp_rate: float = 22e6,
) -> Air:
    """Puts the stand-in into the place of gnuradio.uhd for this process, with these devices."""
    import gnuradio

    air = Air(devices, gain_db, noise_dbfs, speed, samp_rate)
    module: Any = types.ModuleType("gnuradio.uhd")
    module.stream_args, module.time_spec, module.tune_request = stream_args, time_spec, tune_request
    module.usrp_source = lambda address, arguments: _usrp_source(air, address, arguments)
    module.usrp_sink = lambda address, arguments, length_tag="": _usrp_sink(air, address, arguments, length_tag)
    sys.modules["gnuradio.uhd"] = module
    gnuradio.uhd = module
    return air
