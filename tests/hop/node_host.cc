// SPDX-License-Identifier: GPL-2.0-or-later
//
// The daemon's host: bytes from IP, a driver below, the kernel's routes.
#include <array>

#include "host/node/packet_path.hpp"
#include "host_under_test.hpp"

namespace perhop::hop_test {
namespace {

class routes final : public node::kernel {
public:
  node::route find_route(const shim::ip_address& destination, bool) override {
    const bool here = destination == shim::ip_address::from_ipv4(ipv4_of(0));
    return {here ? node::route_kind::local : node::route_kind::radio, destination};
  }
  void deliver(std::span<const std::uint8_t> packet) override { delivered.assign(packet.begin(), packet.end()); }
  bytes delivered;
};

/// Takes one packet at a time.
class one_place final : public drivers::driver {
public:
  int descriptor() const override { return -1; }
  void poll(drivers::driver_listener&) override {}
  bool can_send() const override { return !taken; }
  bool send(const drivers::send_request& request) override {
    const auto header = *wire::decode(request.msdu.subspan(llc_snap_bytes));
    const auto rest = request.msdu.subspan(llc_snap_bytes + path_header_bytes);
    const auto mpdu_bytes = static_cast<std::uint32_t>(mac_header_bytes + request.msdu.size() + fcs_bytes);
    frames += text_of(request.receiver_address, request.peer, mpdu_bytes, header,
                      header.exact_follows ? *hop::read_rider(rest) : hop::exact_rider{});
    taken = request;
    return true;
  }
  void restart(const std::string&) override {}  // completions come late here
  const drivers::driver_counters& counters() const override { return counters_; }

  std::optional<drivers::send_request> taken;
  std::string frames;

private:
  drivers::driver_counters counters_;
};

class node_host final : public host_under_test {
public:
  explicit node_host(const setting& with)
      : path_({.queue_packets = queue_packets, .policy = with.policy, .mtu_bytes = mtu_bytes, .exact = exact_of(with)}, kernel_, driver_) {
    for (std::uint32_t node = 1; node <= neighbours; ++node) {
      path_.known_neighbours().add(shim::ip_address::from_ipv4(ipv4_of(node)), mac_of(node));
    }
    path_.on_up({.address = mac_of(0), .profile = find_profile("dsss_long"), .data_rate_index = data_rate_index, .send_credits = 1});
  }

  void pass(time_us now) override {
    for (auto due = path_.next_deadline(); due && *due <= now; due = path_.next_deadline()) {
      now_ = std::max(now_, *due);
      path_.on_deadline(now_);
      fill();
    }
    now_ = now;
  }
  void send(time_us now, const bytes& ip) override { path_.on_ip(now, ip); }
  std::optional<std::uint16_t> receive(time_us now, const wire::path_header& header, const hop::exact_rider& rider,
                                       const bytes& ip) override {
    arrive(now, header, rider, ip);
    fill();
    if (hop::rider_size(rider) != 0) return std::nullopt;
    constexpr std::size_t window_at = 20 + 14;
    const bool rewritten = kernel_.delivered[window_at] != ip[window_at] || kernel_.delivered[window_at + 1] != ip[window_at + 1];
    if (!rewritten) return std::nullopt;
    return static_cast<std::uint16_t>(kernel_.delivered[window_at] << 8 | kernel_.delivered[window_at + 1]);
  }
  void forward(time_us now, const wire::path_header& header, const hop::exact_rider& rider, const bytes& ip) override {
    arrive(now, header, rider, ip);
  }
  void begin(time_us now, std::size_t flow) override {
    now_ = now;
    begun_[flow] = true;
    path_.exact()->follow(now, exact_flow_from_here(flow), std::nullopt);
    fill();
  }
  void complete(time_us now, const completion& done) override {
    const drivers::send_request was = *driver_.taken;
    driver_.taken.reset();
    path_.at(now);
    const auto t_done_us = static_cast<std::uint32_t>(now);
    path_.on_completion(was.cookie, {.peer = was.peer,
                                     .result = done.delivered ? tx_result::delivered : tx_result::long_retry_limit,
                                     .data_attempts = done.data_attempts,
                                     .t_head_us = t_done_us - done.contention_us - done.overhead_us - done.data_us,
                                     .t_done_us = t_done_us,
                                     .control_us = done.overhead_us,
                                     .data_us = done.data_us,
                                     .avg_contention_us16 = done.avg_contention_us16,
                                     .avg_overhead_us16 = done.avg_overhead_us16,
                                     .avg_data_attempts_256 = done.avg_data_attempts_256});
    fill();
  }
  bool has_frame() const override { return driver_.taken.has_value(); }
  std::string state() override {
    return std::exchange(driver_.frames, {}) + text_of(path_.path()) +
           (path_.exact() != nullptr ? text_of_ends(*path_.exact(), !path_.path().queue().full()) : "");
  }

private:
  /// An application that sends as much as it may has packets waiting at all times.
  void fill() {
    for (std::size_t flow = 0; flow < exact_flows; ++flow) {
      const shim::flow_key key = exact_flow_from_here(flow);
      while (begun_[flow] && path_.exact()->state(key)->room_packets != 0) path_.on_ip(now_, udp_of(key, exact_ip_bytes));
    }
  }

  void arrive(time_us now, const wire::path_header& header, const hop::exact_rider& rider, const bytes& ip) {
    bytes msdu(wire::llc_snap::size_bytes);
    wire::llc_snap{}.encode(std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
    const auto encoded = wire::encode(header);
    msdu.insert(msdu.end(), encoded.begin(), encoded.end());
    hop::append_rider(msdu, rider);
    msdu.insert(msdu.end(), ip.begin(), ip.end());
    path_.at(now);
    path_.on_reception({.receiver_address = mac_of(0), .transmitter_address = mac_of(1), .msdu = msdu});
  }

  routes kernel_;
  one_place driver_;
  node::packet_path path_;
  time_us now_ = 0;
  std::array<bool, exact_flows> begun_{};
};

}  // namespace

std::unique_ptr<host_under_test> make_node_host(const setting& with) { return std::make_unique<node_host>(with); }

}  // namespace perhop::hop_test
