// SPDX-License-Identifier: GPL-2.0-or-later
//
// The shim as a state machine that the input drives: hosts behind it, routers and neighbours that lie. Every operation is
// followed by checks of what a caller relies on. Time goes forward, in steps from nothing to years.

#include "host/core/shim/shim.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using fuzz::expect;

constexpr shim::time_us hard_limit_us = policy::delayed_tcp_ack::hard_limit_us;
constexpr std::size_t max_stranger_flows = 3;

using flow_name = std::tuple<std::uint64_t, std::uint64_t, std::uint16_t, std::uint16_t, std::uint8_t>;

flow_name name_of(const shim::flow_key& flow) {
  return {flow.source.low, flow.destination.low, flow.source_port, flow.destination_port, flow.protocol};
}

auto numbers_of(const policy::path_measurement& path) {
  return std::tuple{path.forward_hops,   path.return_hops,     path.forward_total_us,
                    path.forward_max_us, path.return_total_us, path.wired_round_trip_us};
}

class driver {
public:
  explicit driver(fuzz::input& input)
      : input_(input),
        profile_(&detail::all_profiles[input.choice(detail::all_profiles.size())]),
        max_flows_(1 + input.choice(8)),
        default_policy_(policy()),
        shim_({.profile = profile_,
               .rts_threshold_bytes = input.hostile<std::uint32_t>(),
               .policy = default_policy_,
               .max_flows = max_flows_,
               .max_stranger_flows = max_stranger_flows,
               .flow_idle_us = input.hostile<std::uint32_t>()}) {}

  void step() {
    advance();
    switch (input_.choice(12)) {
      case 0:
      case 1:
        originate();
        break;
      case 2:
        forward();
        break;
      case 3:
        parse();
        break;
      case 4:
      case 5:
        receive();
        break;
      case 6:
        complete();
        break;
      case 7:
        set_policy();
        break;
      case 8:
      case 9:
        tcp_ack();
        break;
      case 10:
        release();
        break;
      default:
        shim_.on_round_trip(now_, flow(), input_.hostile<std::uint32_t>());
    }
    expire();
    expect(shim_.flows() <= max_flows_ && shim_.stranger_flows() <= max_stranger_flows, "no more connections than allowed");
    expect(shim_.counters().malformed() == malformed_, "every malformed header is counted");
    expect(shim_.counters().received == received_ && shim_.counters().originated == originated_ && shim_.counters().forwarded == forwarded_,
           "every packet is counted once");
  }

private:
  policy::cwl_config cwl() {
    return {.kind = static_cast<policy::cwl_kind>(input_.choice(policy::cwl_words.size())),
            .fixed_packets = input_.hostile<std::uint32_t>(),
            .rounding = static_cast<policy::cwl_rounding>(input_.choice(policy::cwl_rounding_words.size())),
            .ceiling_packets = input_.hostile<std::uint32_t>()};
  }

  shim::flow_policy policy() {
    shim::flow_policy made{.cwl = cwl()};
    made.tcp_ack.kind = static_cast<policy::tcp_ack_kind>(input_.choice(policy::tcp_ack_words.size()));
    made.tcp_ack.rule = static_cast<policy::dca_window_rule>(input_.choice(policy::dca_window_rule_words.size()));
    made.tcp_ack.fixed_window_packets = input_.hostile<std::uint32_t>();
    made.tcp_ack.whole_window = input_.flag();
    made.tcp_ack.tcp_ack_retransmission = input_.flag();
    made.tcp_ack.profile = static_cast<policy::daa_profile>(input_.choice(policy::daa_profile_words.size()));
    made.pacing.kind = static_cast<policy::pacing_kind>(input_.choice(policy::pacing_words.size()));
    made.pacing.interval_percent = input_.hostile<std::uint16_t>();
    made.pacing.adaptive = {
        .link_rate_bps = input_.hostile<std::uint64_t>(),
        .data_bytes = input_.hostile<std::uint16_t>(),
        .tcp_ack_bytes = input_.hostile<std::uint16_t>(),
        .variation = static_cast<policy::round_trip_variation>(input_.choice(policy::round_trip_variation_words.size()))};
    return made;
  }

  const shim::flow_policy& policy_of(const shim::flow_key& flow) const {
    const auto own = own_policies_.find(name_of(flow));
    return own != own_policies_.end() ? own->second : default_policy_;
  }

  /// Few, so that they meet each other; more than the table holds, so that some are forgotten.
  shim::flow_key flow() {
    const std::uint8_t choice = input_.number<std::uint8_t>();
    shim::flow_key made{.source = shim::ip_address::from_ipv4(0x0a000001),
                        .destination = shim::ip_address::from_ipv4(0x0a000002 + (choice >> 6)),
                        .source_port = static_cast<std::uint16_t>(choice & 7),
                        .destination_port = 5001,
                        .protocol = (choice & 0x30) == 0x30 ? shim::ip_protocol_udp : shim::ip_protocol_tcp};
    return (choice & 8) != 0 ? made.reversed() : made;
  }

  shim::ip_packet_view packet() {
    shim::ip_packet_view made{.flow = flow(), .ip_bytes = input_.number<std::uint16_t>(), .ttl = input_.hostile<std::uint8_t>()};
    const std::uint8_t flags = input_.number<std::uint8_t>();
    made.tcp = {.syn = (flags & 0x81) == 0x81,
                .has_tcp_ack = (flags & 8) == 0,
                .fin = (flags & 0x82) == 0x82,
                .rst = (flags & 0x84) == 0x84,
                .sack_blocks = (flags & 0x90) == 0x90,
                .is_signed = (flags & 0xa0) == 0xa0,
                .sequence = input_.hostile<std::uint32_t>(),
                .tcp_ack = input_.hostile<std::uint32_t>(),
                .window_bytes = input_.hostile<std::uint32_t>(),
                .payload_bytes = (flags & 16) != 0 ? input_.number<std::uint16_t>() : 0U,
                .mss_option_bytes = input_.hostile<std::uint16_t>(),
                .timestamps = (flags & 32) != 0,
                .segment_bytes = (flags & 64) != 0 ? input_.hostile<std::uint16_t>() : std::uint16_t{0},
                .congestion_window_packets = input_.hostile<std::uint32_t>()};
    if (made.tcp.timestamps) {
      made.tcp.timestamp_value = input_.hostile<std::uint32_t>();
      made.tcp.timestamp_echo = input_.hostile<std::uint32_t>();
    }
    return made;
  }

  shim::next_hop hop() {
    return {.peer = input_.hostile<std::uint8_t>(),
            .rate_index = static_cast<std::uint8_t>(input_.choice(static_cast<std::uint32_t>(profile_->rates.size()))),
            .mpdu_bytes = input_.hostile<std::uint16_t>(),
            .medium = input_.choice(4) == 0 ? shim::hop_medium::wired : shim::hop_medium::wireless};
  }

  /// A header that a liar on the way may have made, through its bytes; nothing when the shim refuses it.
  std::optional<wire::path_header> header() {
    if (input_.choice(4) == 0) return check_parse(input_.take(path_header_bytes + input_.choice(3)));
    wire::path_header made;
    made.wired_hop_seen = input_.choice(4) == 0;
    made.silent_router_seen = input_.choice(4) == 0;
    made.hops = input_.hostile<std::uint8_t>();
    made.max_delay_us = made.hops == 0 ? 0 : input_.hostile<std::uint16_t>() * 16U;
    made.total_delay_us = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        std::max<std::uint64_t>(made.max_delay_us, input_.hostile<std::uint32_t>()), std::uint64_t{made.hops} * made.max_delay_us));
    made.explicit_rate_bps = input_.hostile<std::uint64_t>();
    made.current_rate_bps = input_.hostile<std::uint64_t>();
    made.packets_in_flight = input_.hostile<std::uint8_t>();
    if (input_.flag()) {
      wire::path_echo echo{.hops = input_.hostile<std::uint8_t>(), .rate_bps = input_.hostile<std::uint64_t>()};
      echo.max_delay_us = echo.hops == 0 ? 0 : input_.hostile<std::uint16_t>() * 16U;
      echo.total_delay_us =
          static_cast<std::uint32_t>(std::uint64_t{echo.max_delay_us} * (1 + input_.choice(std::max<std::uint32_t>(echo.hops, 1))));
      made.echo = echo;
    }
    return check_parse(wire::encode(made));
  }

  std::optional<wire::path_header> check_parse(std::span<const std::uint8_t> bytes) {
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    const auto parsed = shim_.parse(exact);
    if (!parsed) ++malformed_;
    return parsed;
  }

  /// What a router or receiver further on relies on.
  void check_made(const wire::path_header& made, const shim::next_hop& to) {
    const auto arrived = wire::decode(wire::encode(made));
    expect(arrived && *arrived == made, "a header that the shim makes arrives as it is");
    if (to.medium == shim::hop_medium::wireless) expect(made.hops != 0, "a wireless hop is counted");
    expect(made.total_delay_us >= std::min(shim_.hop_delay_us(to), wire::max_delay_us), "the hop's delay is in the sum");
  }

  void advance() {
    constexpr std::array<shim::time_us, 8> steps_us{0, 1, 100, 8'000, 100'000, 600'000, 20'000'000, 0};
    const std::uint32_t step = input_.choice(8);
    now_ += step == 7 ? input_.hostile<std::uint32_t>() : steps_us[step];
  }

  void originate() {
    const auto sent = packet();
    const auto to = hop();
    const wire::path_header made = shim_.on_originate(now_, sent, to, input_.hostile<std::uint32_t>());
    ++originated_;
    check_made(made, to);
    if (sent.tcp.is_signed) expect(!shim_.strip_window_scaling(sent), "what a digest covers is left alone");
  }

  void forward() {
    const auto to = hop();
    const auto passed = packet();
    if (input_.choice(4) == 0) {
      const auto made = shim_.on_forward_plain(now_, passed, to);
      expect(made.silent_router_seen, "a packet without a header tells so");
      check_made(made, to);
      ++forwarded_;
    } else if (const auto before = header()) {
      wire::path_header after = *before;
      shim_.on_forward(now_, after, passed, to);
      ++forwarded_;
      check_made(after, to);
      expect(after.total_delay_us >= before->total_delay_us && after.max_delay_us >= before->max_delay_us && after.hops >= before->hops,
             "a router only adds");
      expect(after.explicit_rate_bps <= before->explicit_rate_bps, "a router only lowers the explicit rate");
      expect(after.echo == before->echo, "the echo passes through");
    }
  }

  void parse() { check_parse(input_.take(input_.choice(40))); }

  void receive() {
    std::optional<wire::path_header> with;
    if (input_.choice(4) != 0) {
      with = header();
      if (!with) return;
    }
    const auto arrived = packet();
    const auto originated = arrived.flow.reversed();
    const auto limit_before = shim_.cwl_packets(originated);
    const auto path_before = shim_.last_path(originated);
    const shim::receive_verdict verdict = shim_.on_receive(now_, with, arrived);
    ++received_;
    const policy::cwl_config& limit = policy_of(originated).cwl;
    const auto limit_packets = shim_.cwl_packets(originated);
    if (limit_packets) {
      expect(*limit_packets >= 1, "a limit is never 0");
      if (limit.kind != policy::cwl_kind::fixed) {
        expect(*limit_packets <= std::max(limit.ceiling_packets, 1U), "a limit is not above the ceiling");
      }
    }
    if (arrived.tcp.is_signed) {
      expect(!verdict.window_bytes && !verdict.strip_window_scaling, "what a digest covers is left alone");
    }
    if (arrived.flow.protocol == shim::ip_protocol_tcp && arrived.tcp.syn && !arrived.tcp.has_tcp_ack) {
      const auto path = shim_.last_path(originated);  // nothing: unknown, or forgotten for being idle
      expect(!path || (path_before && numbers_of(*path) == numbers_of(*path_before) && limit_packets == limit_before),
             "a SYN that came changes nothing by itself");
    }
    if (verdict.window_bytes) {
      expect(limit_packets.has_value(), "a window is rewritten for a limit only");
      expect(*verdict.window_bytes >= 1, "a window is never closed by the shim");
      expect(*verdict.window_bytes < arrived.tcp.window_bytes, "a window is never raised");
    }
  }

  void complete() {
    if (input_.choice(8) == 0) {
      shim_.on_neighbour_replaced(input_.hostile<std::uint8_t>());
      return;
    }
    const policy::neighbour_averages averages{.peer = input_.hostile<std::uint8_t>(),
                                              .avg_contention_us16 = input_.hostile<std::uint32_t>(),
                                              .avg_overhead_us16 = input_.hostile<std::uint32_t>(),
                                              .avg_data_attempts_256 = input_.hostile<std::uint32_t>()};
    shim_.on_completion(now_, averages);
  }

  void set_policy() {
    // A caller sets the policies of the flows it configures; their number is its business.
    const auto of = flow();
    own_policies_[name_of(of)] = policy();
    shim_.set_flow_policy(of, own_policies_[name_of(of)]);
    const auto limit_packets = shim_.cwl_packets(of);
    if (limit_packets) expect(*limit_packets >= 1, "a limit is never 0");
  }

  void tcp_ack() {
    const auto leaving = packet();
    const auto action = shim_.on_tcp_ack(now_, leaving);
    if (action == policy::tcp_ack_action::pass) {
      held_.erase(name_of(leaving.flow));
      return;
    }
    expect(leaving.flow.protocol == shim::ip_protocol_tcp && leaving.tcp.has_tcp_ack && leaving.tcp.payload_bytes == 0 &&
               !leaving.tcp.syn && !leaving.tcp.fin && !leaving.tcp.rst && !leaving.tcp.sack_blocks,
           "only a bare TCP ACK that tells nothing new is held");
    expect(policy_of(leaving.flow.reversed()).tcp_ack.kind != policy::tcp_ack_kind::every, "nothing is held without a policy that does");
    held_.try_emplace(name_of(leaving.flow), now_);
    const auto deadline = shim_.next_deadline();
    expect(deadline && *deadline <= now_ + hard_limit_us, "a TCP ACK that is held has a deadline within 500 ms");
  }

  void release() {
    const auto leaving = packet();
    const shim::time_us released = shim_.release_time(now_, leaving);
    ++releases_;
    expect(released >= now_, "nothing is released before now");
    expect(released - now_ <= releases_ * policy::pacer::max_interval_us, "a packet adds a second of waiting at most");
  }

  void expire() {
    std::array<shim::tcp_ack_due, 3> due;
    std::size_t count = 0;
    std::size_t rounds = 0;
    do {
      count = shim_.expire(now_, due);
      expect(count <= due.size(), "no more entries are written than there is room for");
      for (const shim::tcp_ack_due& one : std::span(due).first(count)) {
        expect(one.release != policy::tcp_ack_release::nothing, "what is told is to be done");
        if (one.release == policy::tcp_ack_release::send_held) {
          expect(held_.erase(name_of(one.flow)) == 1, "what is to be sent is held by the caller");
        }
      }
      expect(++rounds <= 1000, "expire ends");
    } while (count == due.size());
    const auto next = shim_.next_deadline();
    expect(!next || *next > now_, "what was due has been told");
    for (const auto& [name, since] : held_) expect(now_ - since < hard_limit_us, "no TCP ACK is held for longer than 500 ms");
  }

  fuzz::input& input_;
  const timing_profile* profile_;
  std::uint32_t max_flows_;
  shim::flow_policy default_policy_;
  shim::shim shim_;
  shim::time_us now_ = 0;

  std::map<flow_name, shim::flow_policy> own_policies_;
  std::map<flow_name, shim::time_us> held_;  // since when the caller keeps a TCP ACK of this flow
  std::uint64_t malformed_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t originated_ = 0;
  std::uint64_t forwarded_ = 0;
  std::uint64_t releases_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input input({data, size});
  driver machine(input);
  while (!input.empty()) machine.step();
  return 0;
}
