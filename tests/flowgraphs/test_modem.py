# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop.modem, the modem in C++: number by number what the NumPy model makes of the same frames and samples."""

import os
import random
import zlib

import numpy as np
import pytest
from perhop import modem
from perhop.phy import constants as phy
from perhop.phy.channel import received
from perhop.phy.plcp import Frame, header_of, low_bit_first, scrambled
from perhop.phy.receiver import BITS_BEFORE, Receiver
from perhop.phy.transmitter import shaped, spread, transmitted
from testbench import dsss_vectors

SEED = int(os.environ.get("PERHOP_SEED", random.randrange(2**32)))
KINDS = ((0, False), (1, False), (1, True))
SYMBOL = 22
# aCCATime of 802.11's DSSS PHYs; a symbol takes a microsecond.
CCA_TIME_US = 15


def seeded(name: str) -> tuple[random.Random, np.random.Generator]:
    """Generators of one test; the seed is printed, and PERHOP_SEED sets it."""
    print(f"PERHOP_SEED={SEED}")
    seed = SEED ^ zlib.crc32(name.encode())
    return random.Random(seed), np.random.default_rng(seed)


def random_frame(draw: random.Random, most_bytes: int = 120) -> Frame:
    rate, short = draw.choice(KINDS)
    return Frame(draw.randbytes(draw.randrange(most_bytes + 1)), rate, short)


def in_pieces(samples: np.ndarray, draw: random.Random, receiver: modem.Receiver) -> None:
    """Gives the samples in pieces of random lengths, some of one sample."""
    at = 0
    while at < len(samples):
        length = draw.choice((1, 7, 22, 23, 500, 4096, 60000))
        receiver.push(np.ascontiguousarray(samples[at : at + length], dtype=np.int16))
        at += length


def assert_same(samples: np.ndarray, draw: random.Random) -> Receiver:
    """Both receive the samples; every number agrees."""
    model = Receiver(keep_trace=True)
    model.run(samples)
    ours = modem.Receiver(keep_trace=True)
    in_pieces(samples, draw, ours)
    symbols = ours.take_trace()
    for symbol, expected in zip(symbols, model.trace, strict=True):
        assert symbol == (expected.at, expected.prompt, expected.product, expected.rotation, expected.slip)
    assert ours.take_locks() == model.locks
    counts = (ours.header_errors, ours.sfd_timeouts, ours.carriers_lost)
    assert counts == (model.header_errors, model.sfd_timeouts, model.carriers_lost)
    whole = [reception for reception in model.receptions if reception.ended_at is not None]
    receptions = ours.take_receptions()
    assert len(receptions) == len(whole)
    for got, expected in zip(receptions, whole, strict=True):
        for name in ("started_at", "ended_at", "signal", "service", "length_us", "short_preamble", "psdu", "snr_db"):
            assert getattr(got, name) == getattr(expected, name), name
        assert got.carrier_lost == expected.carrier_lost
        assert got.carrier_hz == pytest.approx(expected.carrier_hz, abs=1e-6)
    return model


@pytest.mark.parametrize("samples_per_chip", [2, 4])
def test_the_transmitter_is_the_model_sample_for_sample(samples_per_chip):
    draw, _ = seeded(f"transmitter {samples_per_chip}")
    for _ in range(12):
        frame, gain = random_frame(draw), draw.choice((256, draw.randrange(257)))
        samples = modem.transmitted(frame.psdu, frame.rate, frame.short_preamble, samples_per_chip, gain)
        assert samples.dtype == np.int16
        assert np.array_equal(samples, transmitted(frame, samples_per_chip, gain))
        assert modem.airtime_us(len(frame.psdu), frame.rate, frame.short_preamble) == frame.airtime_us()


def test_the_receiver_is_the_model_number_by_number():
    """Frames, some cut, at random offsets and levels with gaps of noise, from clean to too noisy to decode."""
    draw, noise = seeded("receiver")
    frames = 0
    for _ in range(10):
        pieces = []
        es_n0_db = draw.choice((40.0, 15.0, 8.0, 4.0, None))
        for _ in range(4):
            wave = transmitted(random_frame(draw))
            if draw.random() < 0.3:
                wave = wave[: draw.randrange(700, len(wave))]
            wave = wave[:, 0] + 1j * wave[:, 1]
            level = 10 ** draw.uniform(1.0, 4.0)
            carrier_hz, clock_ppm = draw.uniform(-125e3, 125e3), draw.uniform(-60, 60)
            gap = {"before": draw.randrange(0, 3000), "after": draw.randrange(0, 100)}
            offsets = {"carrier_hz": carrier_hz, "clock_ppm": clock_ppm, "delay_samples": draw.random()}
            pieces.append(received(wave, 2, es_n0_db=es_n0_db, random=noise, level=level, **offsets, **gap))
        frames += len(assert_same(np.concatenate(pieces), draw).receptions)
    assert frames > 5


def test_the_gain_stands_still_and_moves_at_the_same_samples():
    """Many short signals whose level jumps all the time, at any place of a block of the gain."""
    draw, noise = seeded("gain")
    pieces = []
    for _ in range(400):
        symbols = [(bit,) for bit in scrambled([1] * draw.randrange(14, 40), 0x1B)]
        wave = shaped(spread(symbols), 2).astype(float)
        steps = np.exp2(np.clip(np.cumsum(noise.normal(0, 0.8, len(wave) // 11 + 1)), -3, 3))
        pieces += [wave * np.repeat(steps, 11)[: len(wave), None], np.zeros((draw.randrange(30, 400), 2))]
    samples = np.concatenate(pieces)
    samples += noise.normal(0, 20, samples.shape)
    model = assert_same(np.clip(np.round(samples), -32768, 32767).astype(np.int64), draw)
    assert len(model.locks) > 100


def end_of_a_frame(draw: random.Random, noise: np.random.Generator, before: int) -> tuple[int, np.ndarray]:
    """A frame's last samples at any level, within noise that began `before`: how many, and all samples."""
    wave = transmitted(random_frame(draw, 20))
    left = wave[len(wave) - draw.randrange(2, 66) :] * 10 ** draw.uniform(-1.5, 0.5)
    samples = np.concatenate([np.zeros((before, 2)), left, np.zeros((600, 2))])
    samples += noise.normal(0, 4, samples.shape)
    return len(left), np.clip(np.round(samples), -32768, 32767).astype(np.int16)


def test_the_end_of_a_frame_is_the_same():
    draw, noise = seeded("end of a frame")
    for _ in range(30):
        _, samples = end_of_a_frame(draw, noise, draw.choice((0, draw.randrange(1, 500))))
        assert_same(samples.astype(np.int64), draw)


def test_the_end_of_a_frame_is_no_signal():
    """Its last 0.1 to 3 us, 20 to 60 dB above the noise: after a reset, and within noise.

    Locks in 40,000 trials each: 0.06 % after a reset, 0.08 % within noise of less than two whole symbols; two and more
    are a carrier, if a short one, and are taken for one in 2.5 %. Each bound is six standard deviations above, or more.
    """
    draw, noise = seeded("locks on the end of a frame")
    trials = 2000
    found = {"after a reset": 0, "less than two symbols": 0, "two symbols": 0}
    for trial in range(2 * trials):
        before = 0 if trial < trials else draw.randrange(1, 500)
        length, samples = end_of_a_frame(draw, noise, before)
        receiver = modem.Receiver(keep_trace=True)
        receiver.push(samples)
        kind = "after a reset" if not before else "two symbols" if length >= 2 * SYMBOL else "less than two symbols"
        found[kind] += bool(receiver.take_locks())
    assert found["after a reset"] <= 8, found
    assert found["less than two symbols"] <= 8, found
    assert found["two symbols"] <= 42, found


def test_noise_alone_is_the_same_noise():
    draw, noise = seeded("noise")
    samples = np.clip(noise.normal(0, 3000, (60_000, 2)), -32768, 32767).astype(np.int64)
    assert_same(samples, draw)
    # Full scale, and nothing at all.
    assert_same(noise.choice((-32768, 32767, 0), (5_000, 2)).astype(np.int64), draw)
    assert_same(np.zeros((3_000, 2), dtype=np.int64), draw)


def chance_sfds(model: Receiver) -> int:
    """SFDs behind the one that was sent: in the random bits of a body, once the receiver has found the signal again."""
    wanted = [low_bit_first(sfd, 16) for sfd in (phy.PLCP_SFD_LONG, phy.PLCP_SFD_SHORT)]
    count = 0
    for number, lock in enumerate(model.locks[1:], 2):
        until = model.locks[number] if number < len(model.locks) else model.trace[-1].at + 1
        air = [bit for symbol in model.trace if lock < symbol.at < until for bit in symbol.bits]
        past = [0] * 7 + air
        plain = low_bit_first(BITS_BEFORE, 16) + [bit ^ past[at + 3] ^ past[at] for at, bit in enumerate(air)]
        # The search begins anew behind each: there is one at most.
        count += any(plain[at : at + 16] in wanted for at in range(len(plain) - 15))
    return count


def headers_and_bodies(draw: random.Random, noise: np.random.Generator, sfd_in_body: int | None = None) -> None:
    for signal, spoilt in ((0x6E, 0), (0x0A, 1), (0x14, 1)):
        header = header_of(signal, 0x04, 150)
        header[draw.randrange(48)] ^= spoilt
        body = [draw.randrange(2) for _ in range(300)]
        if sfd_in_body is not None:
            body[100:116] = low_bit_first(sfd_in_body, 16)
        bits = scrambled([1] * 128 + low_bit_first(0xF3A0, 16) + header + body, 0x1B)
        wave = shaped(spread([(bit,) for bit in bits]), 2)
        samples = received(wave[:, 0] + 1j * wave[:, 1], 2, es_n0_db=20, random=noise)
        model = assert_same(samples, draw)
        chance = chance_sfds(model)
        # An SFD within a signal that is no frame is that of a header, too, whose CRC does not fit.
        assert len(model.receptions) == 1 - spoilt and model.header_errors == spoilt + chance
        # Of a good header the LENGTH covers the first 150 bits.
        assert sfd_in_body is None or chance >= spoilt


def test_headers_that_are_bad_or_of_other_rates():
    """A CRC that fails, and a frame at 11 Mb/s whose LENGTH is waited for."""
    headers_and_bodies(*seeded("headers"))


@pytest.mark.parametrize("sfd", [phy.PLCP_SFD_LONG, phy.PLCP_SFD_SHORT])
def test_an_sfd_behind_a_bad_header_is_another_header(sfd):
    headers_and_bodies(*seeded(f"sfd in body {sfd}"), sfd)


@pytest.mark.parametrize("phase", [0, 1])
@pytest.mark.parametrize("name", dsss_vectors.NAMES)
def test_waveforms_of_another_implementation(name, phase):
    draw, _ = seeded(name)
    waveform = dsss_vectors.waveform(name)
    samples = np.vstack([8 * waveform.samples[phase::2], np.zeros((60, 2), dtype=np.int64)])
    (expected,) = assert_same(samples, draw).receptions
    assert expected.psdu == waveform.psdu and zlib.crc32(expected.psdu) == 0x2144DF1C


def test_complex_samples_are_rounded_as_a_converter_does():
    draw, noise = seeded("complex")
    samples = modem.transmitted(draw.randbytes(60), 1)
    values = (samples[:, 0] + 1j * samples[:, 1]) / 3000 + noise.normal(0, 0.02, len(samples))
    values = np.concatenate([values, np.zeros(60)]).astype(np.complex64)
    parts = np.stack([values.real, values.imag], axis=1)
    integers = np.clip(np.round(parts * np.float32(32768)), -32768, 32767).astype(np.int16)
    one, other = modem.Receiver(keep_trace=True), modem.Receiver(keep_trace=True)
    one.push(values)
    other.push(integers)
    assert one.take_trace() == other.take_trace() and other.samples == len(values)
    assert [each.psdu for each in one.take_receptions()] == [each.psdu for each in other.take_receptions()] != []


@pytest.mark.parametrize("dc_steps", [0, 30, 200])
def test_dc_costs_no_frame(dc_steps):
    """A converter of 12 bits, noise of 3 steps, a signal of 9 (Es/N0 20 dB), and 10 us in which DC is learnt."""
    draw, noise = seeded(f"dc {dc_steps}")
    lost = 0
    for _ in range(60):
        frame = Frame(draw.randbytes(30), 1, short_preamble=True)
        wave = transmitted(frame)
        samples = received(wave[:, 0] + 1j * wave[:, 1], 2, es_n0_db=20, random=noise, before=220, level=9.05 * 16)
        angle = draw.uniform(0, 2 * np.pi)
        samples = samples + np.round(16 * dc_steps * np.array([np.cos(angle), np.sin(angle)])).astype(np.int64)
        receiver = modem.Receiver()
        receiver.push((samples // 16 * 16).astype(np.int16))
        lost += [each.psdu for each in receiver.take_receptions()] != [frame.psdu]
    assert lost <= 1


def test_dc_is_removed_as_in_the_model():
    """Steps of it, up to both ends of the converter's scale, with a signal between."""
    draw, noise = seeded("dc steps")
    pieces = []
    for _ in range(12):
        wave = transmitted(random_frame(draw, 30))
        wave = wave[:, 0] + 1j * wave[:, 1]
        samples = received(wave, 2, es_n0_db=20, random=noise, before=draw.randrange(300), level=300)
        pieces.append(samples + np.array([draw.randrange(-33_000, 33_000) for _ in range(2)]))
    assert_same(np.clip(np.concatenate(pieces), -32768, 32767), draw)


def test_dc_is_no_energy():
    """From the first sample on never; from a step on for no longer than it takes to learn it."""
    _, noise = seeded("dc energy")
    samples = noise.normal(0, 10, (SYMBOL * 1000, 2)) + np.array([9000, -9000])
    samples[SYMBOL * 500 :] -= np.array([5000, 0])
    receiver = modem.Receiver(energy_threshold_db=65)
    receiver.push(samples.astype(np.int16))
    edges = receiver.take_carrier_edges()
    assert [busy for _, busy in edges] == [True, False]
    (start, _), (end, _) = edges
    assert SYMBOL * 500 < start <= SYMBOL * 503 and end < SYMBOL * 700


@pytest.mark.parametrize("level", [300, 1000, 5000])
@pytest.mark.parametrize("signal", [0x0A, 0x6E])
def test_what_a_signal_leaves_in_the_dc_is_no_energy_when_it_is_over(signal, level):
    """Of a strong one it would be above the threshold for tens of microseconds; the chips of 11 Mb/s leave the most.

    What they leave is random: of 16,000 frames at 11 Mb/s nine were idle later than two symbols after their end, the
    last of them after 4.8. No frame may need longer than aCCATime.
    """
    draw, noise = seeded(f"left {signal} {level}")
    length_us = 300
    after_end = []
    for _ in range(20):
        bits = [1] * 128 + low_bit_first(0xF3A0, 16) + header_of(signal, 0x04, length_us)
        body = [draw.randrange(2) for _ in range(length_us)]
        chips = spread([(bit,) for bit in scrambled(bits + body, 0x1B)])
        if signal == 0x6E:
            chips[-11 * length_us :] = noise.integers(4, size=11 * length_us)
        wave = shaped(chips, 2)
        samples = received(wave[:, 0] + 1j * wave[:, 1], 2, es_n0_db=24, level=level, random=noise, before=500, after=0)
        receiver = modem.Receiver(energy_threshold_db=50)
        receiver.push(samples.astype(np.int16))
        end = receiver.samples
        receiver.push(noise.normal(0, 4, (SYMBOL * 200, 2)).astype(np.int16))
        assert not receiver.busy
        *_, (idle, _) = receiver.take_carrier_edges()
        after_end.append((idle - end) / SYMBOL)
    assert max(after_end) <= CCA_TIME_US and sum(each > 2 for each in after_end) <= 2, after_end


@pytest.mark.parametrize("weak", [4, 5, 6])
def test_a_symbol_that_noise_takes_most_of_does_not_begin_the_search_anew(weak):
    """At 10 dB one of some hundred is as weak: with it, a signal was found after up to 15.8 us."""
    _, noise = seeded(f"weak {weak}")
    wave = transmitted(Frame(bytes(10), 0)).astype(float)
    wave[SYMBOL * weak : SYMBOL * (weak + 1)] *= 0.3
    samples = received(wave[:, 0] + 1j * wave[:, 1], 2, es_n0_db=25, random=noise, before=SYMBOL, after=0)
    receiver = modem.Receiver(keep_trace=True)
    receiver.push(samples.astype(np.int16))
    (lock, *_) = receiver.take_locks()
    assert lock <= 10 * SYMBOL, lock / SYMBOL


@pytest.mark.parametrize("es_n0_db", [10, 20, 30, 40, 50])
@pytest.mark.parametrize("symbols", [25, 60, 130, 150, 175])
def test_carrier_sense_is_free_15_us_after_a_signal_without_a_good_header(es_n0_db, symbols):
    """It ends within SYNC, SFD or header, however far it was above the noise.

    All of the header's CRC is noise: of one that lacks its last bits only, noise makes a good one now and then, and
    that one's LENGTH is busy.
    """
    draw, noise = seeded(f"free {es_n0_db} {symbols}")
    wave = transmitted(Frame(bytes(10), 0))
    for _ in range(10):
        length = SYMBOL * symbols + draw.randrange(SYMBOL)
        signal = wave[:length, 0] + 1j * wave[:length, 1]
        samples = received(signal, 2, es_n0_db=es_n0_db, random=noise, before=500, after=SYMBOL * 150)
        receiver = modem.Receiver()
        receiver.push(samples.astype(np.int16))
        edges = receiver.take_carrier_edges()
        assert edges and not receiver.busy
        assert edges[-1][0] - 500 - length <= 15 * SYMBOL, (es_n0_db, symbols)


def test_the_medium_is_busy_from_the_lock_to_the_end_of_the_frame():
    draw, noise = seeded("busy")
    frame = random_frame(draw)
    wave = transmitted(frame)
    samples = received(wave[:, 0] + 1j * wave[:, 1], 2, es_n0_db=20, random=noise, before=2000, after=2000)
    receiver = modem.Receiver(keep_trace=True)
    in_pieces(samples, draw, receiver)
    (lock,), (reception,) = receiver.take_locks(), receiver.take_receptions()
    (start, busy), (end, still_busy) = receiver.take_carrier_edges()
    assert busy and not still_busy and not receiver.busy
    assert start == lock + 1 and 2000 < start < 2000 + 15 * 22
    assert 0 < end - reception.ended_at <= 23


def promised(draw: random.Random, signal: int, length_us: int) -> np.ndarray:
    """Samples of a long preamble and a header behind which nothing comes."""
    bits = scrambled([1] * 128 + low_bit_first(0xF3A0, 16) + header_of(signal, 0, length_us), draw.randrange(1, 128))
    return shaped(spread([(bit,) for bit in bits]), 2)


def is_told_in_time(end: int, lost: modem.Reception) -> bool:
    """Whether the medium becomes free when a lost frame's LENGTH is over.

    That is told when all samples of a symbol have been looked at, in the search of one that may have begun anywhere;
    and until the carrier is known to be gone noise moves the timing.
    """
    return -5 <= end - lost.started_at - SYMBOL * lost.length_us <= 2 * SYMBOL + 5


@pytest.mark.parametrize("signal", [0x0A, 0x14, 0x37, 0x6E])
def test_a_header_of_the_longest_length_alone_makes_nobody_deaf(signal):
    """The medium is busy for 65,535 us; every frame that comes within them is received, and then it is free."""
    draw, noise = seeded(f"deaf {signal}")
    receiver = modem.Receiver()
    receiver.push(noise.normal(0, 8, (2000, 2)).astype(np.int16))
    header = promised(draw, signal, 65_535)
    receiver.push(header.astype(np.int16))
    over = receiver.samples + 65_535 * SYMBOL
    longest_pause, longest_frame = 60_000, (192 + 8 * 120 + 10) * SYMBOL
    sent = []
    while receiver.samples < over - longest_pause - longest_frame:
        receiver.push(noise.normal(0, 8, (draw.randrange(1500, longest_pause), 2)).astype(np.int16))
        frame = random_frame(draw)
        wave = transmitted(frame)
        samples = received(wave[:, 0] + 1j * wave[:, 1], 2, es_n0_db=20, random=noise, before=0, after=100)
        receiver.push(samples.astype(np.int16))
        sent.append(frame.psdu)
        assert receiver.busy
    receiver.push(noise.normal(0, 8, (over - receiver.samples + 60 * SYMBOL, 2)).astype(np.int16))
    lost, *heard = receiver.take_receptions()
    assert (lost.signal, lost.length_us, lost.carrier_lost) == (signal, 65_535, True)
    assert [each.psdu for each in heard] == sent and len(sent) > 20
    (start, busy), (end, still_busy) = receiver.take_carrier_edges()
    assert busy and not still_busy and start < over - 65_000 * SYMBOL
    assert is_told_in_time(end, lost)


def test_of_two_lost_frames_the_later_end_counts():
    """Whichever is promised first. Its own energy, which the threshold would hear, ends with its carrier."""
    draw, noise = seeded("two lost")
    for first, second in ((3000, 300), (300, 3000), (600, 600)):
        receiver = modem.Receiver(energy_threshold_db=80)
        receiver.push(noise.normal(0, 8, (2000, 2)).astype(np.int16))
        for length_us in (first, second):
            receiver.push(promised(draw, 0x14, length_us).astype(np.int16))
            receiver.push(noise.normal(0, 8, (60 * SYMBOL, 2)).astype(np.int16))
        receiver.push(noise.normal(0, 8, (4000 * SYMBOL, 2)).astype(np.int16))
        lost = receiver.take_receptions()
        assert [each.length_us for each in lost] == [first, second]
        (_, busy), (end, still_busy) = receiver.take_carrier_edges()
        assert busy and not still_busy
        assert is_told_in_time(end, max(lost, key=lambda each: each.started_at + SYMBOL * each.length_us))


def test_energy_makes_the_medium_busy():
    _, noise = seeded("energy")
    quiet, loud = noise.normal(0, 30, (4400, 2)), noise.normal(0, 3000, (4400, 2))
    samples = np.concatenate([quiet, loud, quiet]).astype(np.int16)
    receiver = modem.Receiver(energy_threshold_db=85)
    receiver.push(samples)
    start, end = receiver.take_carrier_edges()
    assert start[1] and 4400 < start[0] <= 4400 + 3 * 22
    assert not end[1] and 8800 < end[0] <= 8800 + 3 * 22


def test_bad_input_says_what_is_wrong():
    with pytest.raises(ValueError, match="rate_index 2"):
        modem.transmitted(b"", 2)
    with pytest.raises(ValueError, match="long preamble"):
        modem.transmitted(b"", 0, True)
    with pytest.raises(ValueError, match="LENGTH"):
        modem.transmitted(bytes(8192), 0)
    with pytest.raises(ValueError, match="samples_per_chip"):
        modem.transmitted(b"", 0, samples_per_chip=3)
    with pytest.raises(ValueError, match="gain"):
        modem.transmitted(b"", 0, gain=257)
    with pytest.raises(TypeError):
        modem.Receiver().push(np.zeros(4, dtype=np.float64))


def test_after_a_bad_header_the_medium_stays_busy_for_a_while():
    draw, noise = seeded("hold")
    header = header_of(0x0A, 0, 400)
    header[3] ^= 1
    bits = scrambled([1] * 128 + low_bit_first(0xF3A0, 16) + header, 0x1B)
    wave = shaped(spread([(bit,) for bit in bits]), 2)
    samples = received(wave[:, 0] + 1j * wave[:, 1], 2, es_n0_db=20, random=noise, before=2000, after=2000)
    receiver = modem.Receiver()
    in_pieces(samples, draw, receiver)
    assert receiver.header_errors == 1
    (_, end) = [at for at, _ in receiver.take_carrier_edges()]
    over = 2000 + len(wave)
    assert over + 8 * SYMBOL < end <= over + 15 * SYMBOL
