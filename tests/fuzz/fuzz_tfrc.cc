// SPDX-License-Identifier: GPL-2.0-or-later
//
// TFRC: its two headers as any bytes, and its sender and receiver as state machines that the input drives: packets and reports that lie,
// feedback that never comes, time in steps from nothing to years. The first byte chooses one.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/core/policy/tfrc_receiver.hpp"
#include "host/core/policy/tfrc_sender.hpp"
#include "host/core/wire/tfrc_header.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using fuzz::expect;

policy::time_us step(fuzz::input& input) {
  constexpr std::array<policy::time_us, 7> steps_us{0, 1, 1000, 10'000, 100'000, 3'000'000, 0};
  const std::uint32_t chosen = input.choice(7);
  return chosen == 6 ? input.hostile<std::uint32_t>() : steps_us[chosen];
}

policy::tfrc_profile profile(fuzz::input& input) { return input.flag() ? policy::tfrc_profile::paper : policy::tfrc_profile::rfc5348; }

void check_codecs(const std::vector<std::uint8_t>& bytes) {
  if (const auto header = wire::decode_tfrc_header(bytes)) {
    expect(wire::decode_tfrc_header(wire::encode(*header)) == header, "a header comes back the same");
  }
  if (const auto report = wire::decode_tfrc_report(bytes)) {
    expect(report->loss_event_rate >= 0 && report->loss_event_rate <= 1, "a loss event rate is a share");
    expect(wire::decode_tfrc_report(wire::encode(*report)) == report, "a report comes back the same");
  }
}

void drive_sender(fuzz::input& input) {
  const std::uint32_t packet_bytes = 1 + input.hostile<std::uint16_t>();
  policy::tfrc_sender sender({.profile = profile(input), .packet_bytes = packet_bytes, .avoid_oscillation = input.flag()});
  const double least = packet_bytes / 64.0;
  policy::time_us now = 0;
  std::uint32_t sent = 0;
  std::uint32_t last_us = 0;
  while (!input.empty()) {
    now += step(input);
    switch (input.choice(4)) {
      case 0: {
        const policy::time_us next = sender.next_send(now);
        expect(next >= now, "no packet goes in the past");
        if (next > now) break;
        const wire::tfrc_header header = sender.on_send(now);
        expect(header.sequence == sent++, "packets are numbered one by one");
        last_us = header.sent_us;
        break;
      }
      case 1:
      case 2: {
        wire::tfrc_report report;
        report.sent_us = input.flag() ? last_us : input.hostile<std::uint32_t>();
        report.held_us = input.hostile<std::uint32_t>();
        report.receive_rate_bytes_per_s = input.hostile<std::uint32_t>();
        report.loss_event_rate = input.flag() ? 0 : 256.0 / (256.0 + input.hostile<std::uint32_t>());
        sender.on_report(now, report);
        break;
      }
      default:
        sender.on_deadline(now);
        if (sender.deadline()) expect(*sender.deadline() > now, "a timer that has expired is set anew");
    }
    for (const double rate : {sender.rate_bytes_per_s(), sender.pace_bytes_per_s()}) {
      expect(std::isfinite(rate) && rate >= least, "a rate is at least a packet in 64 s, and finite");
    }
  }
}

void drive_receiver(fuzz::input& input) {
  policy::tfrc_receiver receiver(
      {.profile = profile(input), .intervals = 1 + std::size_t{input.choice(32)}, .packet_bytes = 1U + input.hostile<std::uint16_t>()});
  policy::time_us now = 0;
  std::uint32_t next = 0;
  bool arrived = false;
  while (!input.empty()) {
    now += step(input);
    if (input.choice(4) == 0) {
      if (!receiver.on_deadline(now)) continue;
      expect(arrived, "nothing is reported before a packet came");
    } else {
      const std::uint32_t sequence = input.choice(4) == 0 ? input.hostile<std::uint32_t>() : next + input.choice(4);
      const auto before = receiver.counters();
      const bool due = receiver.on_data(
          now, {.sequence = sequence, .sent_us = input.hostile<std::uint32_t>(), .round_trip_us = input.hostile<std::uint32_t>()});
      const auto& after = receiver.counters();
      expect(after.packets + after.late + after.foreign == before.packets + before.late + before.foreign + 1, "a packet is counted once");
      expect(after.lost - before.lost <= policy::tfrc_receiver::most_gap_packets, "no more are lost than a gap may hold");
      expect(after.loss_events <= after.lost, "a loss event has a loss");
      for (const policy::tfrc_ended_interval& ended : receiver.ended()) {
        expect(ended.true_packets >= 1 && ended.predicted_packets >= 1, "an interval has a packet");
      }
      if (after.packets != before.packets) {
        arrived = true;
        next = sequence + 1;
      }
      if (!due) continue;
    }
    const wire::tfrc_report report = receiver.take_report(now);
    expect(report.loss_event_rate >= 0 && report.loss_event_rate <= 1, "what is reported is a share");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  fuzz::input input(bytes);
  switch (data[0] % 3) {
    case 0:
      check_codecs(bytes);
      break;
    case 1:
      drive_sender(input);
      break;
    default:
      drive_receiver(input);
  }
  return 0;
}
