# SPDX-License-Identifier: GPL-2.0-or-later
"""Converters of 25 and 20.48 Msps: what the gateware's resamplers cost, sent and received, and the mask with them."""

import numpy as np
import pytest
from perhop import modem
from perhop.phy.channel import resampled as ideally_resampled
from perhop.phy.converter_rates import CONVERTER_RATES, resampled

OCTETS = 1024
ES_N0_DB = 16.9
"""0.7 dB above where a radio of 22 Msps loses 5 % of these frames, and 0.4 dB above its bound for 8 %."""
MOST_LOST = 0.08


def is_lost(msps: float, rates: tuple[int, int], seed: int) -> bool:
    """A frame at 2 Mb/s, at the worst offsets, through tx_resampler, the air at the converter's rate, rx_resampler."""
    random = np.random.default_rng([seed, 1, 1])
    psdu = random.bytes(OCTETS)
    sent = np.pad(modem.transmitted(psdu, 1, samples_per_chip=4).astype(np.int64), ((400, 400), (0, 0)))
    wave = resampled(sent, 2 * rates[1], rates[0]) @ np.array([1, 1j])
    step = 1 + 50e-6 * random.choice((-1, 1))
    wave = ideally_resampled(wave, step, random.uniform(), int(len(wave) / step) - 8)
    carrier_hz = 122e3 * random.choice((-1, 1))
    wave = wave * np.exp(2j * np.pi * carrier_hz / 1e6 * np.arange(len(wave)) / msps)
    wave *= 1000 / np.sqrt(np.mean(np.abs(wave[500:-500]) ** 2))
    sigma = 1000 * np.sqrt(msps / 10 ** (ES_N0_DB / 10) / 2)
    wave = wave + sigma * (random.standard_normal((len(wave), 2)) @ np.array([1, 1j]))
    heard = np.clip(np.round(np.stack([wave.real, wave.imag], axis=1)), -32768, 32767).astype(np.int64)
    receiver = modem.Receiver()
    receiver.push(np.ascontiguousarray(resampled(heard, *rates), dtype=np.int16))
    return psdu not in [reception.psdu for reception in receiver.take_receptions()]


@pytest.mark.parametrize("name", CONVERTER_RATES)
def test_both_resamplers_cost_less_than_half_a_decibel(name):
    lost = [is_lost(float(name), CONVERTER_RATES[name], seed) for seed in range(60)]
    assert np.mean(lost) <= MOST_LOST


def test_the_spectrum_is_in_the_mask_at_25_msps():
    """-30 dBr from 11 MHz on (16.4.7.5), in 100 kHz; 20.48 Msps reach 10.24 MHz only."""
    random = np.random.default_rng(1)
    sent = modem.transmitted(random.bytes(600), 1, samples_per_chip=4).astype(np.int64)
    wave = resampled(sent, 44, 25) @ np.array([1, 1j])
    length = 250
    window = np.hanning(length)
    parts = [wave[at : at + length] * window for at in range(0, len(wave) - length, length // 2)]
    power = np.mean([np.abs(np.fft.fft(part)) ** 2 for part in parts], axis=0)
    beyond = np.abs(np.fft.fftfreq(length, 1 / 25)) >= 11
    assert 10 * np.log10(power[beyond].max() / power.max()) < -33
