// SPDX-License-Identifier: GPL-2.0-or-later
//
// A node's packet path as a state machine that the input drives: any packet from IP, any MSDU from any address, completions that are
// due, come twice or belong to nobody, and a MAC that refuses, never completes, goes down and comes up as another one. The loop around
// it is the daemon's. After each step the accounts of the MAC and of the path agree.
//
// It is one file: one state machine.

#include "host/node/packet_path.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "host/core/shim/ip_bytes.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using fuzz::expect;
using node::packet_path;
using node::time_us;
using byte_vector = std::vector<std::uint8_t>;

// As host/node/packet_path.cpp bounds them.
constexpr std::size_t most_flows = 2048;
constexpr std::size_t most_exact_sources = 256, most_exact_sinks = 1024;
// A node's own addresses are 10.0.0.1 and fd00::1; its neighbours and hosts behind them follow.
constexpr std::uint32_t ipv4_net = 0x0a000000;
constexpr std::uint64_t ipv6_net = 0xfd00'0000'0000'0000;
constexpr std::uint32_t known_hosts = 8;
constexpr std::uint64_t macs_from = 0x0200'0000'0000;

/// A MAC: what it accepted is outstanding until it is completed, or the MAC goes down.
class stubborn_driver final : public drivers::driver {
public:
  int descriptor() const override { return -1; }
  void poll(drivers::driver_listener&) override {}
  bool can_send() const override { return up && !ending && outstanding.size() < mac.send_credits; }
  bool send(const drivers::send_request& request) override {
    expect(can_send(), "a packet is given for a credit only");
    expect(request.msdu.size() <= most_msdu_bytes, "nothing longer than the largest MSDU reaches the driver");
    expect(!request.msdu.empty(), "no empty MSDU reaches the driver");
    expect(request.peer < neighbour_slots, "a peer is a slot of the neighbour table");
    expect(request.rate_index < mac.profile->rates.size(), "a rate is one of the profile's");
    expect(!request.use_rts || (request.receiver_address >> group_address_bit & 1) == 0, "no RTS goes to a group");
    expect(std::ranges::find(outstanding, request.cookie) == outstanding.end(), "a cookie is in use once");
    if (refuse_next != 0 || !drivers::is_sendable(mac, request)) {
      refuse_next -= refuse_next != 0 ? 1 : 0;
      ++refused;
      return false;
    }
    outstanding.push_back(request.cookie);
    return true;
  }
  void restart(const std::string& why) override {
    expect(up && !why.empty(), "a MAC that is up is restarted, for a reason");
    ending = true;
    ++restarts;
  }
  const drivers::driver_counters& counters() const override { return counters_; }

  bool up = false;
  bool ending = false;
  drivers::mac_properties mac;
  std::deque<std::uint32_t> outstanding;
  std::uint32_t refuse_next = 0;
  std::uint64_t refused = 0;
  std::uint64_t restarts = 0;

private:
  drivers::driver_counters counters_;
};

/// Routes by the last byte of an address; what is delivered must be IP.
class small_kernel final : public node::kernel {
public:
  node::route find_route(const shim::ip_address& destination, bool) override {
    const std::size_t host = destination.low % table.size();
    shim::ip_address next_hop = destination;
    next_hop.low = (next_hop.low & ~std::uint64_t{0xff}) | gateways[host];
    return {.kind = table[host], .next_hop = next_hop};
  }
  void deliver(std::span<const std::uint8_t> packet) override {
    expect(shim::read_ip(packet).has_value(), "what IP gets is an IP packet");
    expect(packet.size() <= most_msdu_bytes, "what IP gets fits a frame");
    ++delivered;
  }

  using kind = node::route_kind;
  std::array<kind, 16> table{kind::none,      kind::local,     kind::radio, kind::radio, kind::radio, kind::radio,
                             kind::radio,     kind::radio,     kind::radio, kind::local, kind::radio, kind::radio,
                             kind::elsewhere, kind::elsewhere, kind::none,  kind::group};
  std::array<std::uint8_t, 16> gateways{0, 1, 2, 3, 4, 5, 6, 7, 2, 9, 3, 4, 12, 13, 14, 15};
  std::uint64_t delivered = 0;
};

/// Instead of eBPF's.
class strict_limiter final : public bpf::window_limiter {
public:
  void set(const shim::flow_key& flow, std::optional<std::uint32_t> packets) override {
    expect(!packets || *packets > 0, "a limit is never 0");
    if (packets) {
      limited_.insert(name(flow));
    } else {
      limited_.erase(name(flow));
    }
    expect(limited_.size() <= most_flows + 1, "no more limits than flows");
  }
  void forget(const shim::flow_key& flow) override { expect(limited_.erase(name(flow)) == 1, "only a limit that was set is forgotten"); }
  void apply_now() override {}

private:
  using flow_name = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint16_t, std::uint16_t, std::uint8_t>;
  static flow_name name(const shim::flow_key& flow) {
    return {flow.source.high, flow.source.low,       flow.destination.high, flow.destination.low,
            flow.source_port, flow.destination_port, flow.protocol};
  }
  std::set<flow_name> limited_;
};

class machine {
public:
  explicit machine(fuzz::input& input) : input_(input), config_(config()), path_(config_, kernel_, driver_) {
    for (std::uint32_t host = 2; host < known_hosts; ++host) {
      path_.known_neighbours().add(shim::ip_address::from_ipv4(ipv4_net + host), macs_from + host);
    }
    path_.set_data_rate(macs_from + 2, 0);
    path_.set_data_rate(macs_from + 3, 255);
    come_up();
    check();
  }

  void step() {
    advance();
    switch (input_.choice(16)) {
      case 0:
      case 1:
      case 2:
        path_.on_ip(now_, packet(1));
        break;
      case 3:
        path_.on_ip(now_, input_.take(input_.choice(80)));
        break;
      case 4:
      case 5:
      case 6:
        receive(frame());
        break;
      case 7:
        receive(input_.take(input_.choice(100)));
        break;
      case 8:
      case 9:
        complete();
        break;
      case 10:
        complete_what_is_not_due();
        break;
      case 11:
        driver_.refuse_next = input_.choice(5);
        break;
      case 12:
        if (driver_.up) {
          go_down();
        } else {
          come_up();
        }
        break;
      case 13:
        if (input_.flag()) {
          kernel_.gateways[input_.choice(16)] = input_.number<std::uint8_t>() % 16;
        } else {
          kernel_.table[input_.choice(16)] = static_cast<node::route_kind>(input_.choice(5));
        }
        path_.on_route_change(now_);
        break;
      case 14:
        path_.set_policy(now_, policy());
        break;
      default:
        if (path_.exact() != nullptr) {
          follow();
        }
        // Which takes a hundred times as long as any other step.
        if (input_.choice(16) == 1) {
          burst();
        }
    }
    // A driver whose MAC was given up says so at its next poll.
    if (driver_.ending && input_.choice(4) != 0) go_down();
    serve_deadlines();
    check();
  }

private:
  shim::flow_policy policy() {
    shim::flow_policy made{.cwl = {.kind = static_cast<policy::cwl_kind>(input_.choice(policy::cwl_words.size())),
                                   .fixed_packets = 1 + input_.choice(64),
                                   .rounding = static_cast<policy::cwl_rounding>(input_.choice(policy::cwl_rounding_words.size()))}};
    made.tcp_ack.kind = static_cast<policy::tcp_ack_kind>(input_.choice(policy::tcp_ack_words.size()));
    made.tcp_ack.rule = static_cast<policy::dca_window_rule>(input_.choice(policy::dca_window_rule_words.size()));
    made.tcp_ack.fixed_window_packets = input_.choice(32);
    made.tcp_ack.whole_window = input_.flag();
    made.tcp_ack.tcp_ack_retransmission = input_.flag();
    made.tcp_ack.profile = static_cast<policy::daa_profile>(input_.choice(policy::daa_profile_words.size()));
    made.pacing.kind = static_cast<policy::pacing_kind>(input_.choice(policy::pacing_words.size()));
    made.pacing.adaptive.variation = static_cast<policy::round_trip_variation>(input_.choice(policy::round_trip_variation_words.size()));
    return made;
  }

  node::packet_path_config config() {
    node::packet_path_config made{
        .queue_packets = 1 + input_.choice(20), .policy = policy(), .mtu_bytes = 576 + input_.number<std::uint8_t>() * 6U};
    if (input_.flag()) {
      made.exact.emplace();
      made.exact->mode = static_cast<policy::exact_mode>(input_.choice(2));
      made.exact_flows = {.all_udp = input_.flag(), .queue_packets = std::size_t{2} + input_.choice(20)};
    }
    if (input_.flag()) made.limiter = &limiter_;
    return made;
  }

  // ---- Bytes

  void put(byte_vector& bytes, std::uint64_t value, std::size_t count) {
    while (count-- != 0) bytes.push_back(count < sizeof value ? static_cast<std::uint8_t>(value >> 8 * count) : 0);
  }

  /// An IP packet, whole or nearly so. @param source_host of the node itself, or of another one
  byte_vector packet(std::uint8_t source_host) {
    const std::uint8_t shape = input_.number<std::uint8_t>();
    const bool ipv6 = (shape & 1) != 0;
    const bool tcp = (shape & 6) != 0;
    const std::uint8_t source = (shape & 0x30) == 0x30 ? input_.number<std::uint8_t>() : source_host;
    const std::uint8_t destination = input_.number<std::uint8_t>() % 17;
    const std::uint8_t ports = input_.number<std::uint8_t>();
    byte_vector transport;
    put(transport, (ports & 8) != 0 ? 5001 : 1 + (ports & 7U), 2);
    put(transport, (ports & 8) != 0 ? 1 + (ports & 7U) : 5001, 2);
    if (tcp) {
      put(transport, input_.hostile<std::uint32_t>(), 4);
      put(transport, input_.hostile<std::uint32_t>(), 4);
      byte_vector options;
      while (options.size() < 32 && input_.choice(4) == 0) {
        switch (input_.choice(5)) {
          case 0:
            put(options, 0x0204'0000 | input_.hostile<std::uint16_t>(), 4);
            break;
          case 1:
            put(options, 0x030300U | input_.number<std::uint8_t>(), 3);
            break;
          case 2:
            put(options, 0x080a, 2);
            put(options, input_.hostile<std::uint32_t>(), 4);
            put(options, input_.hostile<std::uint32_t>(), 4);
            break;
          case 3:
            put(options, 0x050a'0000'0001, 10);
            break;
          default:
            put(options, input_.number<std::uint16_t>(), 2);
        }
      }
      options.resize((std::min<std::size_t>(options.size(), 40) + 3) / 4 * 4, 1);
      const std::uint8_t words =
          input_.choice(16) == 0 ? input_.number<std::uint8_t>() & 0xf : static_cast<std::uint8_t>(5 + options.size() / 4);
      put(transport, words << 4, 1);
      put(transport, input_.choice(3) == 0 ? input_.number<std::uint8_t>() : 0x10, 1);
      put(transport, input_.hostile<std::uint16_t>(), 2);
      put(transport, 0, 4);
      transport.insert(transport.end(), options.begin(), options.end());
    } else {
      put(transport, 0, 4);
    }
    // Bare, full, and longer than any frame.
    constexpr std::array<std::uint16_t, 8> payloads{0, 0, 1, 536, 1400, 1460, 2400, 9000};
    transport.resize(transport.size() + payloads[input_.choice(payloads.size())] + input_.choice(64));
    byte_vector bytes;
    const std::uint8_t protocol = (shape & 0xc0) == 0xc0 ? input_.number<std::uint8_t>()
                                  : tcp                  ? shim::ip_protocol_tcp
                                                         : shim::ip_protocol_udp;
    const std::uint8_t time_to_live = input_.choice(8) == 0 ? input_.number<std::uint8_t>() : 64;
    const std::uint8_t oddity = input_.choice(12) == 0 ? input_.number<std::uint8_t>() : 0;
    if (ipv6) {
      put(bytes, 0x6000'0000, 4);
      put(bytes, transport.size() + (oddity == 1 ? 1 : 0), 2);
      put(bytes, oddity == 2 ? 0 : oddity == 3 ? 44 : protocol, 1);
      put(bytes, time_to_live, 1);
      put(bytes, ipv6_net, 8);
      put(bytes, source, 8);
      put(bytes, oddity == 4 ? 0xff02'0000'0000'0000 : ipv6_net, 8);
      put(bytes, destination, 8);
    } else {
      const std::size_t options = oddity == 5 ? 40 : 0;
      put(bytes, 0x4500 + (options / 4 << 8), 2);
      put(bytes, 20 + options + transport.size() + (oddity == 1 ? 1 : 0), 2);
      put(bytes, 0, 2);
      put(bytes, oddity == 6 ? input_.number<std::uint16_t>() : 0, 2);
      put(bytes, time_to_live, 1);
      put(bytes, protocol, 1);
      put(bytes, 0, 2);
      put(bytes, ipv4_net + source, 4);
      put(bytes, oddity == 4 ? 0xe000'0001 : destination == 16 ? 0xffff'ffff : ipv4_net + destination, 4);
      for (std::size_t i = 0; i < options; ++i) bytes.push_back(input_.number<std::uint8_t>());
    }
    bytes.insert(bytes.end(), transport.begin(), transport.end());
    return bytes;
  }

  /// An MSDU as a neighbour may send it, up to twice as long as any.
  byte_vector frame() {
    byte_vector msdu(wire::llc_snap::size_bytes);
    wire::llc_snap head;
    const std::uint32_t form = input_.choice(6);
    if (form == 0) head.ethertype = input_.flag() ? ipv4_ethertype : ipv6_ethertype;
    if (form == 1) head.ethertype = exact_hello_ethertype;
    head.encode(std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
    if (form == 1) {
      const auto content = input_.take(input_.number<std::uint8_t>());
      msdu.insert(msdu.end(), content.begin(), content.end());
      return msdu;
    }
    if (form >= 2) {
      wire::path_header header{
          .wired_hop_seen = input_.flag(), .silent_router_seen = input_.choice(4) == 0, .hops = input_.hostile<std::uint8_t>()};
      header.max_delay_us = header.hops == 0 ? 0 : input_.hostile<std::uint32_t>() & 0xff'ffff;
      header.total_delay_us = header.max_delay_us;
      header.explicit_rate_bps = input_.hostile<std::uint64_t>();
      header.current_rate_bps = input_.hostile<std::uint64_t>();
      header.packets_in_flight = input_.hostile<std::uint8_t>();
      header.exact_follows = form == 5;
      if (input_.flag()) {
        header.echo = wire::path_echo{};
        header.echo->hops = input_.hostile<std::uint8_t>();
        header.echo->total_delay_us = input_.hostile<std::uint32_t>();
        header.echo->max_delay_us = input_.hostile<std::uint32_t>();
      }
      const auto encoded = wire::encode(header);
      msdu.insert(msdu.end(), encoded.begin(), encoded.end());
      if (header.exact_follows) {
        if (input_.flag()) {
          const auto data = wire::encode(wire::exact_header{.sequence = input_.hostile<std::uint32_t>()});
          msdu.insert(msdu.end(), data.begin(), data.end());
        } else {
          wire::exact_report report{};
          report.highest_sequence = input_.hostile<std::uint32_t>();
          report.explicit_rate_bps = input_.hostile<std::uint64_t>();
          const auto bytes = wire::encode(report);
          msdu.insert(msdu.end(), bytes.begin(), bytes.end());
        }
      }
    }
    const byte_vector inner = packet(static_cast<std::uint8_t>(2 + input_.choice(known_hosts)));
    msdu.insert(msdu.end(), inner.begin(), inner.end());
    return msdu;
  }

  // ---- Steps

  void advance() {
    constexpr std::array<time_us, 8> steps{0, 1, 100, 5'000, 200'000, 1'100'000, 11'000'000, 700'000'000};
    now_ += steps[input_.choice(steps.size())];
    path_.at(now_);
  }

  void receive(std::span<const std::uint8_t> msdu) {
    const std::uint64_t from = input_.choice(4) == 0 ? input_.hostile<std::uint64_t>() : macs_from + 2 + input_.choice(64);
    path_.on_reception({.receiver_address = driver_.mac.address, .transmitter_address = from, .msdu = msdu});
  }

  completion_record record() {
    std::array<std::uint32_t, completion_record_words> words;
    for (std::uint32_t& word : words) word = input_.hostile<std::uint32_t>();
    return decode_completion_record(words);
  }

  void complete() {
    if (driver_.outstanding.empty()) return;
    const std::size_t which = input_.choice(4) == 0 ? input_.number<std::uint8_t>() % driver_.outstanding.size() : 0;
    const std::uint32_t cookie = driver_.outstanding[which];
    driver_.outstanding.erase(driver_.outstanding.begin() + static_cast<std::ptrdiff_t>(which));
    last_completed_ = cookie;
    ++completions_;
    completion_record told = record();
    if (input_.choice(4) != 0) told.result = tx_result::delivered;
    path_.on_completion(cookie, told);
  }

  void complete_what_is_not_due() {
    const std::uint32_t cookie = input_.flag() ? last_completed_.value_or(0) : input_.hostile<std::uint32_t>();
    if (std::ranges::find(driver_.outstanding, cookie) != driver_.outstanding.end()) return;
    ++unknown_completions_;
    path_.on_completion(cookie, record());
  }

  void go_down() {
    lost_ += driver_.outstanding.size();
    driver_.outstanding.clear();
    driver_.up = driver_.ending = false;
    path_.on_down();
  }

  void come_up() {
    const timing_profile& profile = timing_profiles()[input_.choice(timing_profiles().size())];
    driver_.mac = {.address = macs_from + 1,
                   .profile = &profile,
                   .data_rate_index = static_cast<std::uint8_t>(input_.choice(profile.rates.size())),
                   .rts_threshold_bytes = input_.hostile<std::uint16_t>(),
                   .average_shift = input_.hostile<std::uint8_t>(),
                   .send_credits = input_.choice(6)};
    driver_.up = true;
    path_.on_up(driver_.mac);
  }

  void follow() {
    shim::flow_key flow{.source = shim::ip_address::from_ipv4(ipv4_net + 1),
                        .destination = shim::ip_address::from_ipv4(ipv4_net + input_.choice(17)),
                        .source_port = static_cast<std::uint16_t>(1 + input_.choice(8)),
                        .destination_port = 5001,
                        .protocol = shim::ip_protocol_udp};
    // As rate_server lets them through.
    const auto wanted = input_.flag() ? std::optional(1 + input_.hostile<std::uint64_t>() % 1'000'000'000'000) : std::nullopt;
    switch (input_.choice(3)) {
      case 0:
        path_.exact()->follow(now_, flow, wanted, input_.flag() ? std::optional<std::size_t>(1 + input_.choice(64)) : std::nullopt);
        break;
      case 1:
        path_.exact()->want(flow, wanted);
        break;
      default:
        path_.exact()->unfollow(flow);
    }
    path_.serve_exact(now_);
  }

  /// More connections than there is room for, once an input: from the node itself, or through it.
  void burst() {
    if (std::exchange(burst_done_, true)) return;
    const bool own = input_.flag();
    byte_vector one = packet(own ? 1 : 3);
    const auto read = shim::read_ip(one);
    if (!read || read->transport_at == 0) return;
    for (std::uint32_t port = 1; port <= most_flows + 100; port += 1) {
      shim::write16(&one[read->transport_at], static_cast<std::uint16_t>(port));
      now_ += 1;
      if (own) {
        path_.on_ip(now_, one);
      } else {
        byte_vector msdu(wire::llc_snap::size_bytes);
        wire::llc_snap{.ethertype = static_cast<std::uint16_t>(read->ipv6 ? ipv6_ethertype : ipv4_ethertype)}.encode(
            std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
        msdu.insert(msdu.end(), one.begin(), one.end());
        path_.at(now_);
        path_.on_reception({.receiver_address = driver_.mac.address, .transmitter_address = macs_from + 3, .msdu = msdu});
      }
    }
    expect(path_.flows().size() <= most_flows, "no more connections are remembered than there is room for");
    if (path_.exact() != nullptr) {
      expect(path_.exact()->sources().size() <= most_exact_sources && path_.exact()->sinks() <= most_exact_sinks,
             "EXACT remembers so many flows");
    }
  }

  // ---- What holds

  void serve_deadlines() {
    if (const auto due = path_.next_deadline(); due && *due <= now_) {
      path_.on_deadline(now_);
      const auto next = path_.next_deadline();
      expect(!next || *next > now_, "what was due has been done");
    }
  }

  void check() {
    const node::path_counters& counted = path_.counters();
    expect(counted.completions == completions_, "a packet is completed once");
    expect(counted.unknown_completions == unknown_completions_, "what was not given is not completed");
    expect(counted.mac_lost == lost_, "what a MAC had when it went down is lost, and nothing else");
    expect(counted.mac_refused == driver_.refused, "what a driver refuses costs nothing and is counted");
    expect(counted.mac_stalls == driver_.restarts, "a MAC is restarted for a stall");
    expect(counted.to_ip == kernel_.delivered, "every packet that IP gets is counted");
    expect(path_.queued_packets() <= config_.queue_packets, "the queue has its bound");
    expect(!driver_.can_send() || path_.queued_packets() == 0, "no packet waits while a credit is free");
  }

  fuzz::input& input_;
  strict_limiter limiter_;
  node::packet_path_config config_;
  small_kernel kernel_;
  stubborn_driver driver_;
  packet_path path_;
  time_us now_ = 1'000'000;

  std::optional<std::uint32_t> last_completed_;
  std::uint64_t completions_ = 0;
  std::uint64_t unknown_completions_ = 0;
  std::uint64_t lost_ = 0;
  bool burst_done_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input input({data, size});
  machine driven(input);
  while (!input.empty()) driven.step();
  return 0;
}
