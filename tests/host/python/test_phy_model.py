# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of the DSSS modem, against another implementation's waveforms, the standard's examples, a channel."""

import json
import zlib

import numpy as np
import pytest
from perhop.phy import constants as phy
from perhop.phy import plcp, transmitter
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from perhop.phy.receiver import Receiver, _Parser
from testbench import dsss_vectors

KINDS = {"1 Mb/s": (RATE_1MBPS, False), "2 Mb/s": (RATE_2MBPS, False), "2 Mb/s, short": (RATE_2MBPS, True)}
SEED = 1


def with_fcs(mpdu: bytes) -> bytes:
    return mpdu + zlib.crc32(mpdu).to_bytes(4, "little")


def waves(frame: Frame, samples_per_chip: int = 4) -> np.ndarray:
    columns = transmitter.transmitted(frame, samples_per_chip)
    return columns[:, 0] + 1j * columns[:, 1]


# ---- What is sent ----------------------------------------------------------------------------------------------------


def test_the_first_32_scrambled_bits_are_those_of_both_preambles():
    long, short = Frame(bytes(4)), Frame(bytes(4), RATE_2MBPS, short_preamble=True)
    assert "".join(str(bit) for (bit,) in long.symbols()[:32]) == "01111110111011001110100010100100"
    assert "".join(str(bit) for (bit,) in short.symbols()[:32]) == "00011001101010011100111101101000"


def test_a_header_has_the_crc_of_the_standards_example():
    """Clause 15.2.3.6 of the 1999 edition: 24 octets at 1 Mb/s."""
    assert "".join(map(str, plcp.header_bits(RATE_1MBPS, 24)[32:])) == "0101101101010111"


def test_published_headers_have_their_crc():
    published = json.loads((dsss_vectors.folder() / "plcp_headers.json").read_text())
    with_crc = [entry for entry in published if "crc16" in entry]
    assert len(with_crc) >= 2
    for entry in with_crc:
        bits = [bit for octet in bytes.fromhex(entry["octets_lsb_first"]) for bit in plcp.low_bit_first(octet, 8)]
        assert plcp.crc16(bits) == int(entry["crc16"], 16)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_lasts_as_long_as_its_preamble_and_length_say(kind):
    rate, short = KINDS[kind]
    frame = Frame(bytes(100), rate, short)
    assert frame.airtime_us() == (96 if short else 192) + (800 >> rate)
    assert len(transmitter.chip_quadrants(frame)) == 11 * frame.airtime_us()


def test_1_mbps_has_no_short_preamble():
    with pytest.raises(ValueError, match="long preamble only"):
        Frame(bytes(4), RATE_1MBPS, short_preamble=True)


@pytest.mark.parametrize("name", dsss_vectors.NAMES)
def test_our_chips_are_those_of_the_other_implementation(name):
    wave = dsss_vectors.waveform(name)
    chips = transmitter.chip_points(transmitter.chip_quadrants(Frame(wave.psdu, wave.rate)))
    at = dsss_vectors.FIRST_CHIP + dsss_vectors.SAMPLES_PER_CHIP * np.arange(len(chips))
    theirs = wave.samples[at, 0] + 1j * wave.samples[at, 1]
    correlation = abs(np.vdot(chips, theirs)) / np.linalg.norm(chips) / np.linalg.norm(theirs)
    assert correlation > 0.9995
    # Each single one, and not just most of them.
    assert np.all((np.conj(chips) * theirs / np.vdot(chips[:1], theirs[:1])).real > 0.5)


@pytest.mark.parametrize("samples_per_chip", phy.PULSES)
def test_the_spectrum_is_in_the_mask(samples_per_chip):
    """-30 dBr from 11 to 22 MHz and -50 dBr beyond (16.4.7.5), in 100 kHz, as far as the samples reach."""
    wave = waves(Frame(np.random.default_rng(SEED).bytes(200), RATE_2MBPS), samples_per_chip)
    length = 110 * samples_per_chip
    window = np.hanning(length)
    parts = [wave[at : at + length] * window for at in range(0, len(wave) - length, length // 2)]
    power = np.mean([np.abs(np.fft.fft(part)) ** 2 for part in parts], axis=0)
    level_db = 10 * np.log10(power / power.max())
    offset_mhz = np.abs(np.fft.fftfreq(length, 1 / (11 * samples_per_chip)))
    assert level_db[offset_mhz >= 11].max() < -50
    # The ramps too: the whole burst with its ends.
    whole = np.abs(np.fft.fft(np.concatenate([np.zeros(length), wave, np.zeros(length)]))) ** 2
    far = np.abs(np.fft.fftfreq(len(whole), 1 / (11 * samples_per_chip))) >= 11
    assert whole[far].sum() / whole.sum() < 1e-4


def test_the_burst_rises_and_falls_within_two_microseconds():
    frame = Frame(bytes(20))
    for samples_per_chip in phy.PULSES:
        envelope = np.abs(waves(frame, samples_per_chip))
        per_us = 11 * samples_per_chip
        assert envelope[: per_us // 11].max() < 0.2 * envelope.max()
        assert envelope[per_us : 2 * per_us].max() > 0.9 * np.median(envelope)
        assert len(envelope) < (frame.airtime_us() + 2) * per_us
        assert envelope[-per_us // 22 :].max() < 0.2 * envelope.max()


def test_the_gain_scales_the_samples_and_12_bits_hold_them():
    frame = Frame(bytes(range(64)), RATE_2MBPS)
    full, half = (transmitter.transmitted(frame, gain=gain) for gain in (256, 128))
    assert np.abs(full).max() < 2048
    assert np.abs(full - 2 * half).max() <= 2


# ---- What is received ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [0, 1])
@pytest.mark.parametrize("name", dsss_vectors.NAMES)
def test_the_other_implementations_waveforms_decode_at_both_phases(name, phase):
    wave = dsss_vectors.waveform(name)
    silence = np.zeros((100, 2), dtype=np.int64)
    receiver = Receiver()
    receiver.run(np.vstack([8 * wave.samples[phase::2], silence]))
    (reception,) = receiver.receptions
    assert reception.psdu == wave.psdu and zlib.crc32(reception.psdu) == 0x2144DF1C
    assert reception.length_us == 8 * len(wave.psdu) >> wave.rate


@pytest.mark.parametrize("clock_ppm", [-50, 50])
@pytest.mark.parametrize("carrier_hz", [-120e3, 120e3])
@pytest.mark.parametrize("name", dsss_vectors.NAMES)
def test_the_other_implementations_waveforms_decode_with_offsets_at_18_db(name, carrier_hz, clock_ppm):
    wave = dsss_vectors.waveform(name)
    random = np.random.default_rng(SEED)
    samples = received(
        wave.samples[:, 0] + 1j * wave.samples[:, 1],
        dsss_vectors.SAMPLES_PER_CHIP,
        es_n0_db=18,
        random=random,
        carrier_hz=carrier_hz,
        clock_ppm=clock_ppm,
        delay_samples=random.uniform(),
    )
    assert [reception.psdu for reception in Receiver().run(samples)] == [wave.psdu]


def decodes_with_offsets(kind: str, octets: int) -> None:
    rate, short = KINDS[kind]
    random = np.random.default_rng(SEED)
    for clock_ppm, carrier_hz, delay in ((50, 122e3, 0.0), (-50, -122e3, 0.25), (50, -122e3, 0.5), (-50, 122e3, 0.75)):
        psdu = with_fcs(random.bytes(octets))
        samples = received(
            waves(Frame(psdu, rate, short)),
            4,
            es_n0_db=22,
            random=random,
            carrier_hz=carrier_hz,
            clock_ppm=clock_ppm,
            delay_samples=delay,
        )
        (reception,) = Receiver().run(samples)
        assert reception.psdu == psdu and reception.short_preamble == short


@pytest.mark.parametrize("kind", KINDS)
def test_our_frames_decode_with_offsets_at_every_delay(kind):
    decodes_with_offsets(kind, 150)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_our_frames_decode_while_the_clocks_part_by_several_chips(kind):
    """12 ms at 50 ppm: 6.6 chips at 1 Mb/s."""
    decodes_with_offsets(kind, 1500)


def test_frames_follow_each_other_at_any_level_within_a_short_space():
    """SIFS between them and 60 dB from one to the next: the gain and the search begin anew."""
    random = np.random.default_rng(SEED)
    parts, psdus = [np.zeros((300, 2), dtype=np.int64)], []
    for number, level in enumerate((20000, 20, 3000, 150, 12000)):
        rate, short = list(KINDS.values())[number % 3]
        psdus.append(with_fcs(random.bytes(30)))
        frame = Frame(psdus[-1], rate, short)
        parts.append(received(waves(frame), 4, es_n0_db=20, random=random, before=190, after=0, level=level))
    receiver = Receiver()
    receiver.run(np.vstack([*parts, np.zeros((100, 2), dtype=np.int64)]))
    assert [reception.psdu for reception in receiver.receptions] == psdus


@pytest.mark.parametrize("es_n0_db", [12, 20, 26])
def test_ratio_and_carrier_of_a_frame_are_told(es_n0_db):
    errors_db, errors_khz = [], []
    for seed in range(6):
        random = np.random.default_rng(seed)
        carrier_hz = random.uniform(-122e3, 122e3)
        wave = waves(Frame(random.bytes(30), seed % 2))
        (reception,) = Receiver().run(
            received(wave, 4, es_n0_db=es_n0_db, random=random, carrier_hz=carrier_hz, delay_samples=random.uniform())
        )
        errors_db.append(reception.snr_db - es_n0_db)
        errors_khz.append((reception.carrier_hz - carrier_hz) / 1e3)
    assert abs(np.mean(errors_db)) < 1.5 and np.abs(errors_db).max() <= 4
    # An average over some 63 turns, each with the noise of two symbols, told in steps of 1.24 kHz.
    sigma_khz = np.sqrt(10 ** (-es_n0_db / 10) / 63) / (2e-3 * np.pi)
    assert np.abs(errors_khz).max() < 3 * sigma_khz + 1.3


def test_noise_alone_locks_nothing():
    random = np.random.default_rng(SEED)
    receiver = Receiver()
    receiver.run(np.round(300 * random.standard_normal((22 * 1500, 2))).astype(np.int64))
    assert not receiver.locks


@pytest.mark.parametrize(("level", "noise"), [(30, 4), (300, 4), (3000, 4), (300, 30)])
@pytest.mark.parametrize("left_us", [0.3, 1.0, 1.7, 3.0])
def test_the_end_of_a_frame_is_no_signal(level, noise, left_us):
    """A receiver that comes out of reset, its station having sent, hears the last symbols of another's frame."""
    random = np.random.default_rng(SEED)
    wave = waves(Frame(random.bytes(20), RATE_2MBPS, True))[::2] / 1400
    for start in range(12):
        left = wave[len(wave) - round(22 * left_us) - start :] * np.exp(2j * np.pi * random.uniform()) * level
        samples = np.concatenate([left, np.zeros(22 * 30)])
        samples += noise * (random.standard_normal((len(samples), 2)) @ np.array([1, 1j]))
        receiver = Receiver()
        receiver.run(np.round(np.stack([samples.real, samples.imag], axis=1)).astype(np.int64))
        assert not receiver.locks


@pytest.mark.parametrize("kind", KINDS)
def test_no_sfd_is_found_in_a_preamble_wherever_in_it_the_timing_was_taken(kind):
    """The scrambler repeats after 127 bits; seven pass until the descrambler has its state."""
    rate, short = KINDS[kind]
    bits = [symbol[0] for symbol in Frame(bytes(4), rate, short).symbols()]
    sync = phy.PLCP_SYNC_BITS_SHORT if short else phy.PLCP_SYNC_BITS_LONG
    for first in range(sync - 7):
        parser = _Parser(Receiver())
        searched = []
        for place in range(first, sync + 16):
            searched.append(parser.in_sync)
            parser.symbol(place, (bits[place],), lost=False)
        assert all(searched) and not parser.in_sync


def test_a_header_with_a_wrong_bit_starts_no_frame():
    frame = Frame(with_fcs(bytes(40)))
    for bit in (0, 9, 20, 31, 33, 47):
        quadrants = transmitter.chip_quadrants(frame)
        # From one symbol on everything is turned: one wrong bit in the channel.
        quadrants[11 * (144 + bit) :] = (quadrants[11 * (144 + bit) :] + 2) % 4
        samples = transmitter.shaped(quadrants, 2)
        receiver = Receiver()
        receiver.run(np.vstack([samples, np.zeros((3000, 2), dtype=np.int64)]))
        assert not receiver.receptions and receiver.header_errors == 1


def test_a_carrier_that_ends_within_the_frame_ends_it_and_a_frame_within_its_length_is_received():
    random = np.random.default_rng(SEED)
    parts = [received(waves(Frame(with_fcs(bytes(400))))[: 44 * 500], 4, es_n0_db=20, random=random, after=22 * 100)]
    other = Frame(with_fcs(random.bytes(20)), RATE_2MBPS, True)
    parts.append(received(waves(other), 4, es_n0_db=20, random=random, before=0, after=22 * 100))
    lost, heard = Receiver().run(np.vstack(parts))
    assert lost.carrier_lost and lost.length_us == 3232
    assert 22 * 308 < lost.ended_at - lost.started_at < 22 * (308 + 40)
    assert not heard.carrier_lost and heard.psdu == other.psdu


def test_a_carrier_that_ends_with_the_header_or_with_the_last_symbol():
    """Neither is lost within its PSDU: the one has no symbol before it is known, the other none that is missing."""
    random = np.random.default_rng(SEED)
    frame = Frame(with_fcs(bytes(2)))
    (whole,) = Receiver().run(received(waves(frame), 4, es_n0_db=20, random=random, after=22 * 60))
    assert not whole.carrier_lost and whole.psdu == frame.psdu
    samples = received(waves(frame)[: 44 * 192], 4, es_n0_db=20, random=random, after=22 * 100)
    (cut,) = Receiver().run(samples)
    assert cut.ended_at is not None and cut.ended_at - cut.started_at <= 22 * 49
