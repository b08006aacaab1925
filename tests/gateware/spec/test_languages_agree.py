# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated C++ and Python say the same, and frames are what other people's decoders read."""

import dataclasses
import random
import subprocess
from pathlib import Path

import pytest
from perhop.registers import spec_generated as spec

ROOT = Path(__file__).resolve().parents[3]
SEED = 802_11
SIZES_BYTES = [*range(0, 200), *range(200, 4096, 7)]

PROGRAM = """
#include <cstdio>
#include <type_traits>
#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/generated/registers.hpp"
using namespace perhop;

static void print_bytes(std::span<const std::uint8_t> bytes) {{
  for (const std::uint8_t byte : bytes) std::printf("%02x", byte);
  std::puts("");
}}

static unsigned long long number(auto value) {{ return static_cast<unsigned long long>(value); }}

int main() {{
  for (const timing_profile& p : timing_profiles()) {{
    if (find_profile(p.name) != &p) return 1;
    std::printf("profile %.*s", static_cast<int>(p.name.size()), p.name.data());
{profile_fields}
    std::puts("");
    for (unsigned rate = 0; rate < p.rates.size(); ++rate) {{
      const transmit_rate& r = p.rates[rate];
      std::printf("rate %u %u %u %u\\n", r.bps, r.control_rate_index, r.preamble_us, r.bits_per_symbol);
      for (const unsigned bytes : {{{sizes}}}) std::printf("%u\\n", airtime_us(p, rate, bytes));
    }}
  }}
  if (find_profile("dsss") != nullptr) return 1;
{constants}
{frames}
  for (const record_field& f : completion_record_fields) std::printf("done %s %u\\n", f.name.data(), f.width_bits);
  for (const record_field& f : descriptor_fields) std::printf("desc %s %u\\n", f.name.data(), f.width_bits);
  for (const registers::register_info& r : registers::all) {{
    std::printf("register %s %u %u %u %u\\n", r.name.data(), r.address, r.width_bits, r.count, r.stride_bytes);
    for (const registers::field& f : r.fields) {{
      std::printf("%s %llx %llx %llu\\n", f.name.data(), number(f.mask()), number(f.put(0, 1)), number(f.reset));
    }}
  }}
  return 0;
}}
"""

FRAME = """
  {{
    wire::{struct} frame;
    {assignments}
    std::array<std::uint8_t, wire::{struct}::size_bytes> bytes{{}};
    frame.encode(bytes);
    print_bytes(bytes);
    const auto decoded = wire::{struct}::decode(bytes);
    if (!decoded || !(*decoded == frame)) return 1;
    if (wire::{struct}::decode(std::span<const std::uint8_t>(bytes).first(bytes.size() - 1))) return 1;
  }}"""

CONSTANTS = [name for name in vars(spec) if name.isupper() and isinstance(getattr(spec, name), int)]
PROFILE_FIELDS = [
    field.name for field in dataclasses.fields(spec.TimingProfile) if field.name not in ("name", "meaning", "rates")
]


def random_frames() -> list:
    """Frames with random values in every field that may vary."""
    draw = random.Random(SEED)
    frames = []
    for kind in spec.FRAMES.values():
        for _ in range(20):
            values = {
                name: draw.getrandbits(bits)
                for word in kind.WORDS
                for name, bits, _ in word.slices
                if name not in kind.MUST_BE
            }
            frames.append(kind(**values))
    return frames


def expected_lines(frames) -> list[str]:
    lines = []
    for name, profile in spec.PROFILES.items():
        lines.append(" ".join(["profile", name, *(str(getattr(profile, field)) for field in PROFILE_FIELDS)]))
        for index, rate in enumerate(profile.rates):
            lines.append(f"rate {rate.bps} {rate.control_rate_index} {rate.preamble_us} {rate.bits_per_symbol}")
            lines += [str(spec.airtime_us(profile, index, size)) for size in SIZES_BYTES]
    lines += [f"{name} {getattr(spec, name)}" for name in CONSTANTS]
    lines += [frame.encode().hex() for frame in frames]
    lines += [f"done {field.name} {field.width_bits}" for field in spec.COMPLETION_FIELDS]
    lines += [f"desc {field.name} {field.width_bits}" for field in spec.DESCRIPTOR_FIELDS]
    for r in spec.REGISTERS.values():
        lines.append(f"register {r.name} {r.address} {r.width_bits} {r.count} {r.stride_bytes}")
        lines += [f"{f.name} {f.mask:x} {f.put(0, 1):x} {f.reset or 0}" for f in r.fields.values()]
    return lines


def cpp_frame(frame) -> str:
    struct = next(name for name, kind in spec.FRAMES.items() if kind is type(frame))
    values = dataclasses.asdict(frame)
    assignments = " ".join(f"frame.{name} = {value}u{'ll' * (value >> 32 > 0)};" for name, value in values.items())
    return FRAME.format(struct=struct, assignments=assignments)


def test_cpp_and_python_agree(tmp_path):
    """Every profile, 752 sizes at every rate, every constant, 20 random frames of a kind, records, registers."""
    frames = random_frames()
    program = PROGRAM.format(
        profile_fields="\n".join(f'    std::printf(" %llu", number(p.{name}));' for name in PROFILE_FIELDS),
        sizes=", ".join(map(str, SIZES_BYTES)),
        constants="\n".join(f'  std::printf("{name} %llu\\n", number({name.lower()}));' for name in CONSTANTS),
        frames="".join(map(cpp_frame, frames)),
    )
    source, binary = tmp_path / "agree.cpp", tmp_path / "agree"
    source.write_text(program)
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", f"-I{ROOT}"]
    built = subprocess.run(["g++", *flags, source, "-o", binary], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    said = subprocess.run([binary], capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = expected_lines(frames)
    assert len(said) == len(wanted)
    different = [pair for pair in zip(said, wanted, strict=True) if pair[0] != pair[1]]
    assert not different, different[:5]


@pytest.mark.parametrize("frame", random_frames(), ids=lambda frame: type(frame).__name__)
def test_python_decodes_what_it_encodes(frame):
    encoded = frame.encode()
    assert len(encoded) == frame.SIZE_BYTES
    assert type(frame).decode(encoded + b"more") == frame
    assert type(frame).decode(encoded[:-1]) is None


@pytest.mark.parametrize("kind", spec.FRAMES.values(), ids=lambda kind: kind.__name__)
def test_a_fixed_field_with_another_value_is_refused(kind):
    for name, fixed in kind.MUST_BE.items():
        assert kind.decode(dataclasses.replace(kind(), **{name: fixed ^ 1}).encode()) is None


def test_a_value_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"PathHeaderFields\.hops is 256; it has 8 bits"):
        spec.PathHeaderFields(hops=256).encode()
    with pytest.raises(ValueError, match="cw_min is 1024; it has 10 bits"):
        spec.REGISTERS["contention_window"].fields["cw_min"].put(0, 1024)


def test_path_header_has_the_agreed_bytes():
    """Written by hand from the layout: version and flags share the first byte, version above."""
    header = spec.PathHeaderFields(
        flags=spec.PathHeaderFields.FLAGS_ECHO_VALID | spec.PathHeaderFields.FLAGS_WIRED_HOP_SEEN,
        hops=3,
        total_delay_16us=0x0102,
        max_delay_16us=0x0304,
        explicit_rate=0x0506,
        current_rate=0x0708,
        packets_in_flight=9,
        echo_total_delay_16us=0x0A0B,
        echo_max_delay_16us=0x0C0D,
        echo_hops=0x0E,
        echo_rate=0x0F10,
    )
    assert header.encode().hex() == "15030102030405060708090a0b0c0d0e0f10"


def test_scapy_reads_the_frames():
    """Scapy's decoders are independent of ours."""
    layers = pytest.importorskip("scapy.layers.dot11")
    from scapy.layers.l2 import LLC, SNAP

    ra, ta = 0x020000000001, 0x020000000002
    ra_text, ta_text = "02:00:00:00:00:01", "02:00:00:00:00:02"

    rts = layers.Dot11(spec.RtsFrame(duration_us=1234, receiver_address=ra, transmitter_address=ta).encode())
    assert (rts.type, rts.subtype, rts.ID, rts.addr1, rts.addr2) == (1, 11, 1234, ra_text, ta_text)
    cts = layers.Dot11(spec.CtsFrame(duration_us=1, receiver_address=ra).encode())
    assert (cts.type, cts.subtype, cts.ID, cts.addr1) == (1, 12, 1, ra_text)
    mac_ack = layers.Dot11(spec.MacAckFrame(receiver_address=ra).encode())
    assert (mac_ack.type, mac_ack.subtype, mac_ack.ID, mac_ack.addr1) == (1, 13, 0, ra_text)

    mpdu = (
        spec.DataHeader(
            retry=1, duration_us=314, receiver_address=ra, transmitter_address=ta, bssid=0x030405060708, sequence=0xABC
        ).encode()
        + spec.LlcSnap().encode()
    )
    profile = spec.PROFILES["ofdm_10mhz"]
    capture = spec.RadiotapHeader(
        tsft_us=1 << 40,
        flags=spec.RadiotapHeader.FLAGS_FCS_PRESENT,
        rate_500kbps=profile.rates[1].bps // 500_000,
        channel_mhz=profile.channel_mhz,
        channel_flags=profile.radiotap_channel_flags,
    ).encode()
    packet = layers.RadioTap(capture + mpdu + b"\x00\x01\x02\x03")
    assert (packet.len, packet.mac_timestamp, packet.Rate, packet.ChannelFrequency) == (22, 1 << 40, 4.5, 5900)
    assert str(packet.Flags) == "FCS"
    assert "OFDM" in str(packet.ChannelFlags) and "5GHz" in str(packet.ChannelFlags)
    data = packet[layers.Dot11]
    assert (data.type, data.subtype, str(data.FCfield), data.ID) == (2, 0, "retry", 314)
    assert (data.addr1, data.addr2, data.addr3, data.SC) == (ra_text, ta_text, "03:04:05:06:07:08", 0xABC0)
    assert (packet[LLC].dsap, packet[LLC].ssap, packet[LLC].ctrl) == (0xAA, 0xAA, 3)
    assert (packet[SNAP].OUI, packet[SNAP].code) == (0, 0x88B5)


def test_service_time_has_ten_parts_of_timestamp_width():
    assert len(spec.SERVICE_TIME_PARTS) == 10
    widths = {field.name: field.width_bits for field in spec.COMPLETION_FIELDS}
    times = [*spec.SERVICE_TIME_PARTS, *(name for name in widths if name.startswith("t_"))]
    assert {widths[name] for name in times} == {32}
