# SPDX-License-Identifier: GPL-2.0-or-later
"""The bring-up tools: recordings made by the model of the modem, and registers that a model holds."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cocotbext.perhop.mpdu import control_frame, data_frame
from perhop.phy.channel import received, resampled
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from perhop.phy.transmitter import transmitted
from perhop.registers.radio import RadioRegisters
from perhop.registers.spec_generated import RADIO_REGISTERS, REGISTERS, SHELL_REGISTERS, FrameKind

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "hw" / "bringup"))

import recording  # noqa: E402
import steps  # noqa: E402

A, B = 0x0200_0000_0001, 0x0200_0000_0002
SAMPLES_PER_US = 22


class Air:
    """Frames put on a recording at given times."""

    def __init__(self, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.samples = np.zeros((0, 2))
        self.end = 60.0 * SAMPLES_PER_US

    def add(self, psdu: bytes, rate: int, gap_us: float, level: float = 3000) -> None:
        """A frame that begins so long behind the end of the last one."""
        frame = Frame(psdu, rate, False)
        begin = self.end + gap_us * SAMPLES_PER_US
        wave = transmitted(frame, 4) @ np.array([1, 1j])
        # From a frame's first sample to the begin of its first chip: half a pulse less half a chip.
        first = begin - 23 / 4 + 1
        whole = int(np.floor(first))
        heard = received(
            wave, 4, es_n0_db=None, random=self.random, before=0, after=40, level=level, delay_samples=first - whole
        )
        last = whole + len(heard)
        if last > len(self.samples):
            self.samples = np.vstack([self.samples, np.zeros((last - len(self.samples), 2))])
        self.samples[whole:last] += heard
        self.end = begin + frame.airtime_us() * SAMPLES_PER_US

    def recorded(self, noise: float = 20.0) -> np.ndarray:
        out = np.vstack([self.samples, np.zeros((2000, 2))])
        return np.round(out + self.random.standard_normal(out.shape) * noise).astype(np.int16)


def exchanges(count: int, sifs_us: float) -> Air:
    air = Air()
    for number in range(count):
        air.add(data_frame(300, (B, A, A), number, bytes(20 + number % 7)), RATE_2MBPS, 150, 3000)
        air.add(control_frame(FrameKind.MAC_ACK, 0, A), RATE_1MBPS, sifs_us, 2000)
    return air


@pytest.mark.parametrize("sifs_us", [9.6, 10.0, 12.35])
def test_a_recording_tells_its_sifs_to_a_tenth_of_a_microsecond(sifs_us):
    heard = recording.frames(exchanges(4, sifs_us).recorded())
    assert [each.kind for each in heard] == ["DATA", "MAC ACK"] * 4
    gaps = recording.response_gaps(heard)
    assert len(gaps) == 4
    assert np.mean([gap.us for gap in gaps]) == pytest.approx(sifs_us, abs=0.1)


@pytest.mark.parametrize("msps", [25.0, 44.0, 61.44])
def test_a_recording_of_another_rate_tells_the_same_sifs(msps, monkeypatch):
    monkeypatch.setattr(recording, "CHUNK", 10_000)  # so that frames lie across the pieces' ends
    at_22 = exchanges(3, 10.3).recorded()
    places = np.arange(0, len(at_22) - 1, 22 / msps)
    wave = resampled(at_22 @ np.array([1, 1j]), 22 / msps, 0, len(places))
    recorded = np.round(np.stack([wave.real, wave.imag], axis=1)).astype(np.int16)
    gaps = recording.response_gaps(recording.frames(recording.at_22(recorded, msps)))
    assert [(gap.of, gap.response) for gap in gaps] == [
        (gap.of, gap.response) for gap in recording.response_gaps(recording.frames(at_22))
    ]
    assert np.mean([gap.us for gap in gaps]) == pytest.approx(10.3, abs=0.05)


def test_calibration_says_which_delays_make_it_ten(tmp_path):
    """A front end of 2.4 us that no register knows of: the delays grow by as much, and the tool says so."""
    file = tmp_path / "air.iq"
    exchanges(3, 12.4).recorded().astype("<i2").tofile(file)
    told = tmp_path / "told.json"
    command = [
        sys.executable,
        ROOT / "hw/bringup/bringup.py",
        "calibrate",
        "--iq",
        file,
        "--tx-delay-clocks",
        "67",
        "--rx-delay-clocks",
        "30",
    ]
    done = subprocess.run([*command, "--json", told], capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    values = json.loads(told.read_text())["values"]
    assert values["tx_delay_clocks"] + values["rx_delay_clocks"] == pytest.approx(67 + 30 + 2.4 * 60, abs=6)
    assert "DIFF SIFS" in done.stdout and "write the delays below" in done.stdout
    assert "DIFF responses of the recording: 3" in done.stdout


def test_a_recording_of_noise_and_a_file_that_is_none_are_named(tmp_path):
    file = tmp_path / "noise.iq"
    np.round(np.random.default_rng(1).standard_normal((50_000, 2)) * 20).astype("<i2").tofile(file)
    command = [sys.executable, ROOT / "hw/bringup/bringup.py", "turnaround", "--iq"]
    done = subprocess.run([*command, file], capture_output=True, text=True)
    assert (done.returncode, "nothing but noise" in done.stderr) == (2, True)
    done = subprocess.run([*command, tmp_path / "absent.iq"], capture_output=True, text=True)
    assert (done.returncode, "absent.iq" in done.stderr) == (2, True)


def test_turnaround_sees_the_response_rise():
    samples = exchanges(20, 10.0).recorded()
    step = steps.turnaround(samples)
    assert step.good, "\n".join(map(str, step.findings))
    late = steps.turnaround(exchanges(20, 13.0).recorded())
    assert not late.good


def test_loopback_finds_what_was_sent_and_misses_what_was_not():
    air = Air()
    sent = [bytes([number] * 30) for number in range(3)]
    for msdu in sent:
        air.add(data_frame(0, (0xFFFF_FFFF_FFFF, A, A), 1, msdu), RATE_2MBPS, 100)
    samples = air.recorded(noise=5)
    assert steps.loopback(sent, samples).good
    assert not steps.loopback([*sent, b"never sent"], samples).good
    assert not steps.loopback(sent, np.clip(samples * 30.0, -32768, 32767).astype(np.int16)).good


class Model:
    """A bus with the registers of a radio, and time that passes when somebody sleeps."""

    def __init__(self, msps: float = 22.0, tsf_rate: float = 1.0, tick_rate: float = 1.0) -> None:
        self.words = {}
        for registers in (REGISTERS, RADIO_REGISTERS, SHELL_REGISTERS):
            for register in registers.values():
                for field in register.fields.values():
                    address = register.address + field.low_bit // 32 * 4
                    if field.reset is not None and field.width_bits <= 32:
                        self.words[address] = self.words.get(address, 0) | field.reset << field.low_bit % 32
        self.words[REGISTERS["clock"].address] = 60 | 44 << 16
        self.words[RADIO_REGISTERS["modem"].address] = 2
        self.words[SHELL_REGISTERS["build"].address] = 16 | 1 << 8 | 1 << 21
        self.msps, self.tsf_rate, self.tick_rate, self.time_s = msps, tsf_rate, tick_rate, 100.0
        self.rssi_dbm = -95
        self.lost = 0
        self.guarded = True

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds
        self.lost *= 2

    def now_s(self) -> float:
        return self.time_s

    def read32(self, address: int) -> int:
        tsf_us = int((self.time_s - 100) * 1e6 * self.tsf_rate)
        ticks = (1 << 40) + int((self.time_s - 100) * 1e6 * self.msps * self.tick_rate)
        live = {
            SHELL_REGISTERS["device_time"].address: ticks & 0xFFFF_FFFF,
            SHELL_REGISTERS["device_time"].address + 4: ticks >> 32,
            REGISTERS["tsf"].address: tsf_us & 0xFFFF_FFFF,
            REGISTERS["tsf"].address + 4: tsf_us >> 32,
            SHELL_REGISTERS["stat_samples"].address: int((self.time_s - 100) * 1e6 * self.msps) & 0xFFFF_FFFF,
            SHELL_REGISTERS["stat_rx_samples_lost"].address: self.lost,
            RADIO_REGISTERS["status"].address: self.rssi_dbm & 0xFF,
        }
        return live.get(address, self.words.get(address, 0))

    def write32(self, address: int, word: int) -> None:
        error = RADIO_REGISTERS["error"].address
        if address == error:
            self.words[error] &= ~word
        elif address == RADIO_REGISTERS["tx_gain"].address and word > 256 and self.guarded:
            self.words[error] = 1 | (address & 0x3FF) << 16
        else:
            self.words[address] = word


def test_selftest_of_a_good_radio_is_good_and_of_others_says_why():
    def tested(**faults) -> steps.Step:
        model = Model(**{name: value for name, value in faults.items() if name in ("msps", "tsf_rate", "tick_rate")})
        for name in ("lost", "guarded"):
            setattr(model, name, faults.get(name, getattr(model, name)))
        return steps.selftest(model, 22.0, model.now_s, model.sleep)

    assert tested().good, "\n".join(map(str, tested().findings))
    faults = (
        ({"msps": 30.72}, "samples a microsecond"),
        ({"tsf_rate": 0.9375}, "TSF timer"),
        ({"tick_rate": 0.5}, "ticks of the radio's time"),
        ({"tick_rate": 0.0}, "ticks of the radio's time"),
        ({"lost": 3}, "stat_rx_samples_lost"),
        ({"guarded": False}, "illegal value"),
    )
    for fault, word in faults:
        bad = [finding.what for finding in tested(**fault).findings if not finding.good]
        assert len(bad) == 1 and word in bad[0], (fault, bad)


def test_selftest_names_an_image_without_a_time_and_wants_none_of_one_over_streams():
    for streamed in (False, True):
        model = Model()
        model.words[SHELL_REGISTERS["build"].address] = 16 | 1 << 8 | streamed << 20
        step = steps.selftest(model, 22.0, model.now_s, model.sleep)
        bad = [finding.what for finding in step.findings if not finding.good]
        assert bad == ([] if streamed else ["ticks of the radio's time a sample"])


def test_selftest_knows_that_some_images_have_64_clocks_a_microsecond():
    model = Model()
    model.words[REGISTERS["clock"].address] = 64 | 44 << 16

    def bad(**expected) -> list[str]:
        step = steps.selftest(model, 22.0, model.now_s, model.sleep, **expected)
        return [finding.what for finding in step.findings if not finding.good]

    assert bad(expected_clocks_per_us=64) == []
    assert bad() == ["clocks a microsecond"]


def test_levels_name_base_and_threshold():
    model = Model()
    RadioRegisters(model).write("rssi", base_dbm=-120)
    step = steps.levels(model, known_dbm=-90, sleep=model.sleep)
    assert not step.good and step.values == {"rssi_base_dbm": -115}
    step = steps.levels(model, known_dbm=None, sleep=model.sleep)
    assert step.values["energy_threshold_dbm"] == -85
    RadioRegisters(model).write("clear_channel", energy_threshold_dbm=-85)
    assert steps.levels(model, known_dbm=None, sleep=model.sleep).good


def test_first_delays_hold_modem_and_shell():
    tx, rx = steps.first_delays_clocks(Model(), 22.0)
    assert tx == pytest.approx(8 * 60 / 22 + 1.5 + 16 * 60 / 22, abs=1)
    assert rx == pytest.approx(3.5 * 60 / 22 + 20, abs=1)
