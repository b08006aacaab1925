// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT's router, sender and receiver and the delayed increase as state machines that the input drives: packets, reports
// and hellos that lie, completions of any kind, feedback that never comes. Time goes forward, in steps from nothing to years.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "host/core/policy/delayed_increase.hpp"
#include "host/core/policy/exact_receiver.hpp"
#include "host/core/policy/exact_router.hpp"
#include "host/core/policy/exact_sender.hpp"
#include "host/core/wire/exact_header.hpp"
#include "host/core/wire/hello.hpp"
#include "host/core/wire/path_header.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using fuzz::expect;

class clock {
public:
  std::uint64_t advance(fuzz::input& input) {
    constexpr std::array<std::uint64_t, 7> steps_us{0, 1, 1000, 10'000, 100'000, 3'000'000, 0};
    const std::uint32_t step = input.choice(7);
    now_us_ += step == 6 ? input.hostile<std::uint32_t>() : steps_us[step];
    return now_us_;
  }

private:
  std::uint64_t now_us_ = 0;
};

wire::path_header hostile_path(fuzz::input& input) {
  wire::path_header path;
  path.silent_router_seen = input.choice(8) == 0;
  path.wired_hop_seen = input.choice(8) == 0;
  path.hops = input.hostile<std::uint8_t>();
  path.max_delay_us = path.hops == 0 ? 0 : input.hostile<std::uint16_t>() * 16U;
  path.total_delay_us = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      std::uint64_t{path.max_delay_us} * (1 + input.choice(std::max<std::uint32_t>(path.hops, 1))), wire::max_delay_us));
  path.explicit_rate_bps = wire::quantise_rate_bps(input.hostile<std::uint64_t>());
  path.current_rate_bps = wire::quantise_rate_bps(input.hostile<std::uint64_t>());
  return path;
}

void drive_sender(fuzz::input& input) {
  policy::exact_sender_config config;
  config.packet_bytes = 1 + input.hostile<std::uint16_t>();
  config.max_rate_bps = input.hostile<std::uint32_t>();
  config.first_packets = 1 + input.choice(8);
  config.feedback_every_packets = input.choice(9);
  config.max_feedback_interval_us = input.hostile<std::uint32_t>();
  policy::exact_sender sender(config);
  const std::uint64_t floor_bps = std::uint64_t{8} * config.packet_bytes;
  const std::uint64_t ceiling_bps = std::max<std::uint64_t>(config.max_rate_bps, floor_bps);
  std::optional<std::uint64_t> told_bps;
  std::uint32_t sent = 0;
  clock time;
  while (!input.empty()) {
    const std::uint64_t now_us = time.advance(input);
    switch (input.choice(6)) {
      case 0:
      case 1:
        for (int burst = 0; burst != 8; ++burst) {
          const std::optional<std::uint64_t> next_us = sender.next_send(now_us);
          if (!next_us) break;
          expect(*next_us >= now_us, "no packet goes in the past");
          if (*next_us > now_us) break;
          const std::uint32_t window_packets = sender.window_packets();
          const policy::exact_outgoing outgoing = sender.on_send(now_us, input.choice(16) == 0);
          expect(outgoing.header.sequence == sent++, "packets are numbered one by one");
          expect(sender.unacknowledged_packets() <= window_packets, "the safety window holds, whatever feedback is missing");
          expect(outgoing.current_rate_bps <= ceiling_bps && outgoing.explicit_rate_bps <= ceiling_bps, "no rate above the link's");
        }
        break;
      case 2: {
        wire::exact_report report;
        report.silent_router_seen = input.choice(8) == 0;
        report.hops = input.hostile<std::uint8_t>();
        report.explicit_rate_bps = input.hostile<std::uint64_t>();
        report.current_rate_bps = input.hostile<std::uint64_t>();
        report.held_us = input.hostile<std::uint32_t>();
        report.highest_sequence = input.flag() ? sent - 1 - input.choice(4) : input.hostile<std::uint32_t>();
        report.received_packets = input.hostile<std::uint32_t>();
        report.arrived_bitmap = input.hostile<std::uint32_t>();
        if (sender.on_report(now_us, report)) told_bps = report.explicit_rate_bps;
        break;
      }
      case 3:
        sender.on_deadline(now_us);
        break;
      case 4:
        sender.set_application_rate(input.hostile<std::uint64_t>());
        break;
      default:
        sender.set_window_limit(input.flag() ? std::optional(input.hostile<std::uint32_t>()) : std::nullopt);
    }
    expect(sender.rate_bps() >= floor_bps && sender.rate_bps() <= ceiling_bps, "the rate is between floor and link");
    if (told_bps) expect(sender.rate_bps() <= std::max(*told_bps, floor_bps), "the rate is not above what the routers allow");
    (void)sender.deadline();
  }
}

void drive_receiver(fuzz::input& input) {
  policy::exact_receiver receiver({.every_packets = input.choice(9), .max_interval_us = input.hostile<std::uint32_t>(), .fall = 0.05});
  clock time;
  std::uint32_t near = 0;
  while (!input.empty()) {
    const std::uint64_t now_us = time.advance(input);
    if (input.choice(4) == 0) {
      const wire::exact_report report = receiver.take_report(now_us);
      const auto arrived = wire::decode_exact_report(wire::encode(report));
      expect(arrived.has_value(), "a report that the receiver makes can be read");
      expect(arrived->highest_sequence == report.highest_sequence && arrived->arrived_bitmap == report.arrived_bitmap,
             "and tells the same");
    } else {
      near = input.flag() ? near + 1 : input.hostile<std::uint32_t>();
      receiver.on_data(now_us, hostile_path(input), {.sequence = near, .last = input.choice(16) == 0}, input.hostile<std::uint8_t>());
    }
    (void)receiver.deadline();
  }
}

void drive_router(fuzz::input& input) {
  policy::exact_router_config config;
  config.profile = &detail::all_profiles[input.choice(detail::all_profiles.size())];
  config.rts_threshold_bytes = input.hostile<std::uint16_t>();
  config.mode = static_cast<policy::exact_mode>(input.choice(2));
  config.fairness = static_cast<policy::exact_fairness>(input.choice(2));
  config.interval_us = 1 + input.hostile<std::uint16_t>();
  config.max_flows = 1 + input.choice(12);
  config.neighbourhood.node = 1;
  config.neighbourhood.max_nodes = 1 + input.choice(12);
  config.neighbourhood.max_links = 1 + input.choice(12);
  config.neighbourhood.max_neighbourhoods = 1 + input.choice(12);
  policy::exact_router router(config);
  clock time;
  while (!input.empty()) {
    const std::uint64_t now_us = time.advance(input);
    const auto peer = static_cast<std::uint8_t>(input.choice(18));
    const auto rate_index = static_cast<std::uint8_t>(input.choice(static_cast<std::uint32_t>(config.profile->rates.size())));
    switch (input.choice(10)) {
      case 0:
      case 1:
      case 2: {
        const policy::exact_packet packet{.flow = input.choice(16),
                                          .peer = peer,
                                          .rate_index = rate_index,
                                          .ip_bytes = input.hostile<std::uint16_t>(),
                                          .mpdu_bytes = input.hostile<std::uint16_t>(),
                                          .explicit_rate_bps = input.hostile<std::uint64_t>(),
                                          .current_rate_bps = input.hostile<std::uint64_t>(),
                                          .weight = 0.25 * (1 + input.choice(16))};
        const std::uint64_t rate_bps = router.on_packet(now_us, packet);
        expect(rate_bps <= packet.explicit_rate_bps, "a router only lowers the explicit rate");
        if (const auto allocation_bps = router.allocation_bps(packet.flow)) {
          expect(std::isfinite(*allocation_bps) && *allocation_bps >= 0, "an allocation is a number");
          // A neighbour slot that does not exist is counted, and the packet left alone.
          expect(peer >= neighbour_slots || packet.current_rate_bps == 0 || static_cast<double>(rate_bps) <= *allocation_bps + 1,
                 "the explicit rate is not above the allocation");
        }
        break;
      }
      case 3:
        router.on_other_packet(now_us,
                               {.flow = input.choice(16),
                                .peer = peer,
                                .rate_index = rate_index,
                                .ip_bytes = input.number<std::uint16_t>(),
                                .mpdu_bytes = input.number<std::uint16_t>()},
                               input.flag());
        break;
      case 4:
        router.on_completion(now_us, {.averages = {.peer = peer,
                                                   .avg_contention_us16 = input.hostile<std::uint32_t>(),
                                                   .avg_overhead_us16 = input.hostile<std::uint32_t>(),
                                                   .avg_data_attempts_256 = input.hostile<std::uint32_t>()},
                                      .delivered = input.choice(3) != 0});
        break;
      case 5:
        if (input.flag()) {
          router.on_peer_lost(now_us, peer);
        } else {
          router.on_peer_replaced(peer);
        }
        break;
      case 6:
        router.on_queue(input.hostile<std::uint64_t>());
        break;
      case 7:
        router.set_peer_node(peer, input.choice(8));
        break;
      case 8: {
        const auto bytes = input.take(input.number<std::uint8_t>());
        if (const auto hello = wire::decode_hello({bytes.data(), bytes.size()})) router.on_hello(now_us, *hello);
        break;
      }
      default:
        (void)router.bandwidth_bps(now_us, peer, rate_index);
    }
    if (const auto due_us = router.deadline(); due_us && *due_us <= now_us) {
      router.on_deadline(now_us);
      if (const auto hello = router.take_hello(now_us))
        expect(wire::encode(*hello).size() <= wire::max_hello_bytes, "a hello fits a frame");
      const auto next_us = router.deadline();
      expect(!next_us || *next_us > now_us, "what was due has been done");
    }
    expect(router.flows() <= config.max_flows, "no more flows than allowed");
    expect(std::isfinite(router.load()) && router.load() >= 0, "the load is a number");
    if (config.mode == policy::exact_mode::m1) expect(router.load() <= config.eta * (1 + 1e-9), "allocations stay within the budget");
  }
}

void drive_delayed_increase(fuzz::input& input) {
  policy::delayed_increase increase({.window_us = input.hostile<std::uint32_t>(),
                                     .rule = static_cast<policy::delayed_increase_rule>(input.choice(2)),
                                     .max_signals = 1 + std::size_t{input.choice(16)}});
  clock time;
  std::uint64_t signal_bps = 0;
  while (!input.empty()) {
    const std::uint64_t now_us = time.advance(input);
    if (input.choice(3) != 0) {
      signal_bps = input.hostile<std::uint64_t>();
      expect(increase.on_signal(now_us, signal_bps) <= signal_bps, "the application is not above the signal");
    }
    expect(increase.allowed_bps(now_us) <= signal_bps, "nor later");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  fuzz::input input(bytes);
  switch (data[0] % 4) {
    case 0:
      drive_sender(input);
      break;
    case 1:
      drive_receiver(input);
      break;
    case 2:
      drive_router(input);
      break;
    default:
      drive_delayed_increase(input);
  }
  return 0;
}
