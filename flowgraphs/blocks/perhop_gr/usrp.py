# SPDX-License-Identifier: GPL-2.0-or-later
"""USRP: bursts in, what its antenna hears out, over gr-uhd's `usrp_sink` and `usrp_source`; in the medium's place."""

from __future__ import annotations

import math
from typing import Any

from gnuradio import gr

from perhop_gr.faults import Faults, RadioError
from perhop_gr.radio_time import RadioTime
from perhop_gr.usrp_bursts import usrp_bursts
from perhop_gr.usrp_guard import usrp_guard

RATE_TOLERANCE = 1e-6
FREQUENCY_TOLERANCE_HZ = 100.0
LENGTH_TAG = "packet_len"


class usrp(gr.hier_block2):
    """A USRP through gr-uhd, with its settings checked against what the device makes of them.

    Port `burst` takes bursts (PDUs of samples). One with `at_us` is sent `latency_us` behind that time of the MAC,
    which counts received samples; one without is sent at once. While the radio sends, the stream gives zeros.

    A device that is missing or cannot do what is asked ends the flowgraph before it starts: RadioError. Samples that
    were lost (overflow), and bursts that came too late or with gaps (underflow), end it while it runs: `faults` has
    what happened and what to do; with `stop_on_fault` False they are only counted there.
    """

    def __init__(
        self,
        device: str = "",
        samp_rate: float = 22e6,
        centre_hz: float = 2.412e9,
        rx_gain_db: float = 30.0,
        tx_gain_db: float = 50.0,
        rx_antenna: str = "RX2",
        tx_antenna: str = "TX/RX",
        bandwidth_hz: float = 0.0,
        clock_source: str = "",
        latency_us: int = 8000,
        samples_per_us: float = 22.0,
        transmit: bool = True,
        stop_on_fault: bool = True,
    ) -> None:
        """device: UHD's address, such as serial=30F1234 or addr=192.168.10.2; empty: the first that is found.

        bandwidth_hz: of the analogue filters; 0: the device's default. clock_source: internal, external, gpsdo; empty:
        the device's default. latency_us: of the MAC's microseconds, from when the MAC sends to when the burst is on the
        air: more than samples, host and bus need. samples_per_us: samples in a microsecond of the MAC; 22: its chips
        are two samples long at any rate, and with it all its times.
        """
        signature = gr.io_signature(1, 1, gr.sizeof_gr_complex)
        gr.hier_block2.__init__(self, "USRP", gr.io_signature(0, 0, 0), signature)
        if samp_rate <= 0 or samples_per_us <= 0 or latency_us < 0:
            raise ValueError("USRP: samp_rate and samples_per_us must be above 0, latency_us at least 0")
        self.message_port_register_hier_in("burst")
        self.faults = Faults(stop_on_fault)
        self.time = RadioTime(samp_rate, samples_per_us, latency_us)
        from gnuradio import uhd

        self.source = self._opened(uhd, device, "receive", None)
        self._set(uhd, self.source, "receive", samp_rate, centre_hz, rx_gain_db, rx_antenna, bandwidth_hz, clock_source)
        self.source.set_time_now(uhd.time_spec(0.0))
        self._guard = usrp_guard(self.time, self.faults)
        self.connect(self.source, self._guard, self)
        self.sink = None
        self._bursts = usrp_bursts(self.time, self.faults, LENGTH_TAG)
        self.msg_connect(self, "burst", self._bursts, "burst")
        if transmit:
            self.sink = self._opened(uhd, device, "transmit", LENGTH_TAG)
            self._set(uhd, self.sink, "transmit", samp_rate, centre_hz, tx_gain_db, tx_antenna, bandwidth_hz, "")
            self.connect(self._bursts, self.sink)
            self.msg_connect(self.sink, "async_msgs", self._bursts, "async_msgs")
        else:
            from gnuradio import blocks

            self._nowhere = blocks.null_sink(gr.sizeof_gr_complex)
            self.connect(self._bursts, self._nowhere)

    @property
    def sent(self) -> int:
        """Bursts given to the device."""
        return self._bursts.sent

    @staticmethod
    def _opened(uhd: Any, device: str, direction: str, length_tag: str | None) -> Any:
        arguments = uhd.stream_args(cpu_format="fc32", args="", channels=[0])
        try:
            if length_tag is None:
                return uhd.usrp_source(device, arguments)
            return uhd.usrp_sink(device, arguments, length_tag)
        except RuntimeError as error:
            said = " ".join(str(error).split())
            name = f"USRP {device!r}" if device else "USRP"
            if "No devices found" in said:
                raise RadioError(
                    "device",
                    f"no {name} is found",
                    "connect it and look at uhd_find_devices; give its address, such as serial=30F1234 or "
                    "addr=192.168.10.2",
                ) from error
            raise RadioError(
                "device", f"{name} cannot be opened to {direction}: {said}", "see UHD's message"
            ) from error

    @staticmethod
    def _set(
        uhd: Any,
        half: Any,
        direction: str,
        samp_rate: float,
        centre_hz: float,
        gain_db: float,
        antenna: str,
        bandwidth_hz: float,
        clock_source: str,
    ) -> None:
        """Sets one direction, and compares: a device makes something else of what it cannot do, without a word."""
        prefix = "rx" if direction == "receive" else "tx"
        if clock_source:
            known = list(half.get_clock_sources(0))
            if clock_source not in known:
                raise none_such("clock_source", clock_source, known)
            half.set_clock_source(clock_source, 0)
        half.set_samp_rate(samp_rate)
        got = half.get_samp_rate()
        if abs(got - samp_rate) > RATE_TOLERANCE * samp_rate:
            raise RadioError(
                "sample_rate_hz",
                f"the device cannot {direction} at {samp_rate:.10g} samples a second: it makes it {got:.10g}",
                rate_remedy(half.get_clock_rate(0), samp_rate),
            )
        half.set_center_freq(uhd.tune_request(centre_hz), 0)
        got = half.get_center_freq(0)
        if abs(got - centre_hz) > FREQUENCY_TOLERANCE_HZ:
            raise RadioError(
                "frequency_hz",
                f"the device cannot {direction} at {centre_hz / 1e6:.6g} MHz: it makes it {got / 1e6:.6g} MHz",
                "choose a frequency of its daughterboard (uhd_usrp_probe)",
            )
        known = list(half.get_antennas(0))
        if antenna not in known:
            raise none_such(f"{prefix}_antenna", antenna, known)
        half.set_antenna(antenna, 0)
        gains = half.get_gain_range(0)
        if not gains.start() <= gain_db <= gains.stop():
            raise RadioError(
                f"{prefix}_gain_db",
                f"is {gain_db:g} dB, which the device does not have",
                f"give {gains.start():g} to {gains.stop():g} dB",
            )
        half.set_gain(gain_db, 0)
        if bandwidth_hz:
            half.set_bandwidth(bandwidth_hz, 0)


def none_such(field: str, name: str, known: list[str]) -> RadioError:
    """For what a device has by name."""
    return RadioError(field, f"the device has none called {name!r}", f"use one of: {', '.join(known)}")


def rate_remedy(clock_hz: float, samp_rate: float) -> str:
    """Rates beside the one that was asked, for a device that divides its clock."""
    every = "all nodes of a link the same"
    if clock_hz <= 0:
        return f"choose a rate of the device (uhd_usrp_probe), {every}"
    below, above = math.ceil(clock_hz / samp_rate), max(math.floor(clock_hz / samp_rate), 1)
    near = sorted({clock_hz / each for each in (below, above)})
    rates = " or ".join(f"{rate:.10g}" for rate in near)
    return (
        f"its clock of {clock_hz / 1e6:.10g} MHz is divided by whole numbers: use {rates}, {every}; "
        f"or another clock, where it has one (device: ..., master_clock_rate={2 * samp_rate:.10g})"
    )
