// SPDX-License-Identifier: GPL-2.0-or-later
//
// The ends of EXACT flows in the three hosts: flows that begin, data and reports that arrive, lost and late ones among them, and a MAC
// that is done with frames now and then. The same data and reports leave at the same times, and the same account is kept of each flow.
#include <gtest/gtest.h>

#include "host/core/shim/ip_packet.hpp"
#include "random_sequence.hpp"
#include "tests/host/test_seed.hpp"
#include "three_hosts.hpp"

namespace perhop::hop_test {

bytes udp_of(const shim::flow_key& flow, std::size_t ip_bytes) {
  bytes packet = ipv4(flow.source.ipv4(), flow.destination.ipv4(), shim::ip_protocol_udp, ip_bytes);
  put16(packet, 20, flow.source_port);
  put16(packet, 22, flow.destination_port);
  put16(packet, 24, static_cast<std::uint32_t>(ip_bytes - 20));
  return packet;
}

namespace {

class random_flows {
public:
  explicit random_flows(std::uint64_t seed) : random_(static_cast<std::uint32_t>(seed)) {}

  event next() {
    // Now and then reports stay out for long.
    event made{.now = now_ += below(200) == 0 ? below(3'000'000) : below(9'000)};
    const std::size_t flow = below(exact_flows);
    if (begun_ < exact_flows && below(300) == 0) {
      made.kind = event::what::begin;
      made.flow = begun_++;
      return made;
    }
    switch (below(8)) {
      case 0:
      case 1:
        arrives(made, flow);
        break;
      case 2:
      case 3:
        reported(made, flow);
        break;
      default:
        made.kind = event::what::complete;
        made.done = {.delivered = below(30) != 0,
                     .contention_us = below(3000),
                     .overhead_us = below(2000),
                     .data_us = 500 + below(5000),
                     .avg_contention_us16 = below(50'000),
                     .avg_overhead_us16 = below(30'000),
                     .avg_data_attempts_256 = static_cast<std::uint16_t>(256 + below(300))};
    }
    return made;
  }

private:
  std::uint32_t below(std::uint32_t limit) { return random_() % limit; }

  wire::path_header path() {
    wire::path_header made;
    made.hops = static_cast<std::uint8_t>(3 + below(20) / 19);
    made.max_delay_us = wire::quantise_delay_us(8000);
    made.total_delay_us = 3 * made.max_delay_us;
    made.exact_follows = true;
    if (below(10) == 0) path_bps_ = 50'000 + below(1'500'000);
    made.explicit_rate_bps = path_bps_;
    made.current_rate_bps = path_bps_;
    return rounded(made);
  }

  void arrives(event& made, std::size_t flow) {
    made.kind = event::what::receive;
    made.header = path();
    std::uint32_t& sequence = heard_[flow];
    if (below(40) == 0) sequence += 1 + below(50);  // lost
    if (below(2000) == 0) sequence = 0;             // its daemon was started again
    const std::uint32_t late = below(30) == 0 ? below(std::min(sequence, 40U) + 1) : 0;
    made.rider = wire::exact_header{.sequence = sequence++ - late, .last = below(500) == 0};
    made.ip = udp_of(exact_flow_to_here(flow), exact_ip_bytes);
    made.ip[8] = static_cast<std::uint8_t>(62 - below(20) / 19);  // now and then a router on the way is silent
  }

  /// What was sent is not known here: a number may be one that was never sent, or an old one.
  void reported(event& made, std::size_t flow) {
    made.kind = event::what::receive;
    made.header = path();
    const auto guess = static_cast<std::uint32_t>(below(4));
    reported_[flow] += guess / 3;
    if (below(20) == 0) reported_[flow] = below(reported_[flow] + 3);
    const wire::exact_report report{.silent_router_seen = below(40) == 0,
                                    .hops = 3,
                                    .explicit_rate_bps = 50'000 + below(1'500'000),
                                    .total_delay_us = 24'000,
                                    .max_delay_us = 8'000,
                                    .held_us = below(5'000),
                                    .highest_sequence = reported_[flow],
                                    .received_packets = reported_[flow]};
    made.rider = *wire::decode_exact_report(wire::encode(report));  // rounded, as a frame carries it
    made.ip = shim::empty_udp(exact_flow_from_here(flow).reversed());
  }

  std::mt19937 random_;
  time_us now_ = 1000;
  std::size_t begun_ = 0;
  std::uint64_t path_bps_ = 500'000;
  std::array<std::uint32_t, exact_flows> heard_{}, reported_{};
};

TEST(exact_ends, send_report_and_account_the_same_in_three_hosts) {
  PERHOP_TELL_SEED();
  constexpr std::size_t events = 100'000;
  three_hosts hosts({.policy = shim::no_policy, .exact = true});
  random_flows flows(test_seed());
  while (hosts.events < events) ASSERT_NO_FATAL_FAILURE(hosts.play(flows.next()));
  std::printf("%s\n", hosts.last.c_str());
  EXPECT_GT(hosts.frames, events / 10);
  for (const char* none : {" sinks 0", " sent 0", " reported 0", " reports 0", " unknown 0", " restarts 0", " halvings 0"}) {
    EXPECT_EQ(hosts.last.find(std::string(none) + " "), std::string::npos) << none << ": the sequence never tried it";
  }
}

}  // namespace
}  // namespace perhop::hop_test
