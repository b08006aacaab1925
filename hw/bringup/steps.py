# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of bring-up: each measures something, says what to expect, and what to do where it differs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import recording
from numpy.typing import NDArray
from perhop.registers import Bus, MacRegisters, RegisterError
from perhop.registers.radio import RadioRegisters, modem_delays_clocks
from perhop.registers.shell import ShellRegisters

SIFS_US = 10.0
RATE_TOLERANCE = 0.01
"""Of a rate that the host's clock measures."""


@dataclass
class Finding:
    """One thing that was measured."""

    what: str
    measured: str
    expected: str
    good: bool
    remedy: str = ""

    def __str__(self) -> str:
        verdict = "ok  " if self.good else "DIFF"
        line = f"  {verdict} {self.what}: {self.measured} (expected: {self.expected})"
        return line if self.good else f"{line}\n       -> {self.remedy}"


@dataclass
class Step:
    """What a step found."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return bool(self.findings) and all(finding.good for finding in self.findings)

    def add(self, what: str, measured: object, expected: str, good: bool, remedy: str) -> None:
        self.findings.append(Finding(what, str(measured), expected, bool(good), remedy))


class Recorder(Protocol):
    """What records the air."""

    def __call__(self, seconds: float) -> NDArray[np.int16]:
        """Samples of 22 million a second, I and Q in two columns."""


def selftest(
    bus: Bus,
    expected_msps: float = 22.0,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    seconds: float = 1.0,
    expected_clocks_per_us: int = 60,
) -> Step:
    """Registers, guards, clocks and samples, without sending anything; rates over so many seconds."""
    step = Step("selftest")
    mac, radio, shell = MacRegisters(bus), RadioRegisters(bus), ShellRegisters(bus)
    step.add("identification", "MAC, modem, shell", "all three", True, "")
    mac.disable()
    build = shell.read("build")
    clocks_per_us = mac.read("clock")["per_us"]
    step.add(
        "clocks a microsecond",
        clocks_per_us,
        str(expected_clocks_per_us),
        clocks_per_us == expected_clocks_per_us,
        "the image has another CLOCKS_PER_US: 64 at 20.48 million samples (--clocks-per-us 64), else rebuild",
    )
    refused = False
    try:
        bus.write32(0x420, 257)  # radio.tx_gain: at most 256
        radio.raise_if_refused()
    except RegisterError:
        refused = True
    step.add(
        "an illegal value is refused",
        refused,
        "True",
        refused,
        "the registers are not perhop's, or writes get lost: see uhd's log",
    )
    mac.enable()
    first, samples, started_s = mac.read_tsf_us(), shell.read("stat_samples")["count"], now_s()
    began = shell.read_device_time()
    before = shell.read_counters()
    sleep(seconds)
    passed_us = (now_s() - started_s) * 1e6
    tsf_us, heard = mac.read_tsf_us() - first, (shell.read("stat_samples")["count"] - samples) % (1 << 32)
    ended = shell.read_device_time()
    after = shell.read_counters()
    mac.disable()
    ratio = tsf_us / passed_us
    step.add(
        "TSF timer over the host's clock", f"{ratio:.4f}", "1 within 1 %", abs(ratio - 1) < RATE_TOLERANCE,
        f"mac_clk is not {clocks_per_us} MHz: CLOCK_PERIOD_NS of the image core is not that of rfnoc_chdr_clk",
    )  # fmt: skip
    msps = heard / passed_us
    good_rate = abs(msps / expected_msps - 1) < RATE_TOLERANCE
    remedy = (
        f"set the master clock rate to {expected_msps * build['decimation']:g}e6; "
        "0: the radio's clock stands, tune it once"
    )
    step.add("samples a microsecond", f"{msps:.3f}", f"{expected_msps} within 1 %", good_rate, remedy)
    if not build["streamed"]:
        ticks = (ended[0] - began[0]) / heard if began and ended and heard else 0.0
        step.add(
            "ticks of the radio's time a sample", f"{ticks:.3f}", f"{build['decimation']} within 1 %",
            abs(ticks / build["decimation"] - 1) < RATE_TOLERANCE,
            "the image is of before radios had a time, or does not connect it: build it anew; frames have none now",
        )  # fmt: skip
    for name in ("stat_rx_samples_lost", "stat_tx_samples_late"):
        grew = (after[name] - before[name]) % (1 << 32)
        step.add(
            name,
            grew,
            "0",
            grew == 0,
            "mac_clk is too slow for this sample rate, or LOOP_SAMPLES too small: rebuild with more",
        )
    step.values = {"msps": msps, "loop_samples": build["loop_samples"], "clocks_per_us": clocks_per_us}
    return step


def loopback(sent: list[bytes], samples: NDArray[np.int16]) -> Step:
    """Frames that perhop sent, recorded over a cable with 30 dB and more of attenuation."""
    step = Step("loopback")
    heard = recording.frames(samples)
    got = [each.psdu[24:-4] for each in heard if each.kind == "DATA"]
    missing = [msdu for msdu in sent if msdu not in got]
    step.add("frames of the recording that are those sent", len(sent) - len(missing), str(len(sent)), not missing,
             "none: cable, attenuator or antenna port; some: the level is at one of its ends, see levels")  # fmt: skip
    clipped = float(np.mean(np.abs(samples) >= 32700))
    step.add(
        "samples at the converter's end",
        f"{clipped:.2e}",
        "none",
        clipped == 0,
        "lower the recorder's gain by 10 dB, or add attenuation",
    )
    snr = [each.snr_db for each in heard if each.snr_db is not None]
    least = min(snr, default=-99)
    step.add(
        "least Es/N0",
        f"{least} dB",
        "20 dB and more",
        least >= 20,
        "raise the transmit gain in steps of 5 dB until it falls again, then take 5 dB off",
    )
    return step


def calibrate(samples: NDArray[np.int16], tx_clocks: int, rx_clocks: int, clocks_per_us: int) -> Step:
    """SIFS of a third radio's recording of two that exchange; which delays the registers must have."""
    step = Step("calibrate")
    gaps = recording.response_gaps(recording.frames(samples))
    step.add(
        "responses of the recording",
        len(gaps),
        "100 and more",
        len(gaps) >= 100,
        "record longer: --seconds",
    )
    if not gaps:
        return step
    values = [gap.us for gap in gaps]
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    print(recording.histogram(values))
    told = f"{mean:.3f} us, {min(values):.3f} to {max(values):.3f}"
    step.add("SIFS", told, "10.00 within 0.10", abs(mean - SIFS_US) <= 0.1,
             "write the delays below into both stations, and measure again")  # fmt: skip
    step.add("its standard deviation", f"{deviation * 1e3:.0f} ns", "below 40 ns", deviation < 0.04,
             "more than a sample: two rates of samples, or a recorder that lost some")  # fmt: skip
    more_clocks = round((mean - SIFS_US) * clocks_per_us)
    # Nothing tells the two ways apart at the antenna; half each is within a microsecond of any front end.
    tx_more = more_clocks // 2
    step.values = {
        "sifs_mean_us": mean, "sifs_min_us": min(values), "sifs_max_us": max(values), "n": len(values),
        "tx_delay_clocks": tx_clocks + tx_more, "rx_delay_clocks": rx_clocks + more_clocks - tx_more,
    }  # fmt: skip
    room_clocks = SIFS_US * (clocks_per_us - 16) - 4
    total = tx_clocks + rx_clocks + more_clocks
    step.add("delays fit into SIFS", f"{total} clocks", f"at most {room_clocks:.0f}", total <= room_clocks,
             "the front end is too slow: shorten its filters (fewer taps, higher rate), or LOOP_SAMPLES of the "
             "image")  # fmt: skip
    return step


def first_delays_clocks(bus: Bus, samples_per_us: float) -> tuple[int, int]:
    """Delays to begin a calibration with: modem and shell, no front end."""
    mac, radio, shell = MacRegisters(bus), RadioRegisters(bus), ShellRegisters(bus)
    per_us = mac.read("clock")["per_us"]
    tx, rx = modem_delays_clocks(per_us / samples_per_us, radio.read("modem"))
    return tx + round(shell.read("build")["loop_samples"] / samples_per_us * per_us), rx


def levels(bus: Bus, known_dbm: float | None, samples: int = 200, sleep: Callable[[float], None] = time.sleep) -> Step:
    """RSSI base from a known power at the antenna port, or the energy threshold from silence."""
    step = Step("levels")
    radio = RadioRegisters(bus)
    told = []
    for _ in range(samples):
        told.append(radio.read("status")["rssi_dbm"])
        sleep(0.002)
    median, spread = statistics.median(told), max(told) - min(told)
    base = radio.read("rssi")["base_dbm"]
    if known_dbm is not None:
        wanted = round(base + known_dbm - median)
        step.add("RSSI of the known level", f"{median} dBm", f"{known_dbm} dBm within 1", abs(median - known_dbm) <= 1,
                 f"write rssi.base_dbm = {wanted} (rssi_base_dbm of the driver), and measure again")  # fmt: skip
        step.values = {"rssi_base_dbm": wanted}
    else:
        threshold = round(median + 10)
        now = radio.read("clear_channel")["energy_threshold_dbm"]
        most = radio.read("status")["energy_limit_dbm"]
        wanted = min(threshold, most)
        step.add("noise", f"{median} dBm", "-101 to -85 dBm with 22 MHz of bandwidth", -101 <= median <= -85,
                 "lower: rssi.base_dbm is wrong, or the gain too small to hear the noise; higher: somebody "
                 "sends, or the gain is too high")  # fmt: skip
        step.add("energy threshold", f"{now} dBm", f"{threshold} dBm: 10 dB above the noise, at most {most}",
                 now == wanted,
                 f"write clear_channel.energy_threshold_dbm = {wanted} (energy_threshold_dbm of "
                 f"the driver)")  # fmt: skip
        step.values = {"energy_threshold_dbm": wanted, "noise_dbm": median}
    step.add(
        "it stands",
        f"within {spread} dB",
        "within 6 dB",
        spread <= 6,
        "something switches: automatic gain must be off, and nobody else on the channel",
    )
    return step


def turnaround(samples: NDArray[np.int16]) -> Step:
    """From a frame's end to the begin of the response's power: the front end must have switched by then."""
    step = Step("turnaround")
    heard = recording.frames(samples)
    values = recording.turnarounds_us(samples, heard)
    step.add("responses of the recording", len(values), "20 and more", len(values) >= 20, "record longer, or send more")
    if not values:
        return step
    mean = statistics.fmean(values)
    step.add("begin of the power", f"{mean:.2f} us behind the frame, {min(values):.2f} to {max(values):.2f}",
             "8 to 10 us: SIFS less the ramp", 8 <= mean <= 10,
             "earlier: something leaks while the switch turns; later: the switch is slower than the ramp, so "
             "the preamble's begin is lost")  # fmt: skip
    snr = [each.snr_db for each in heard if each.kind in ("CTS", "MAC ACK") and each.snr_db is not None]
    least = min(snr, default=-99)
    step.add(
        "least Es/N0 of a response",
        f"{least} dB",
        "15 dB and more",
        least >= 15,
        "the power amplifier is not at full power yet: see the ATR registers of the device",
    )
    step.values = {"mean_us": mean, "min_us": min(values), "max_us": max(values)}
    return step
