// SPDX-License-Identifier: GPL-2.0-or-later
//
// The host of EXACT's studies, whose packets are numbers.
#include "host/core/shim/ip_packet.hpp"
#include "host_under_test.hpp"
#include "sim/exact/study_node.hpp"

namespace perhop::hop_test {
namespace {

class study_host final : public host_under_test, private exact_study::study_network {
public:
  explicit study_host(const setting& with) : node_(*this, 0, queue_packets, ends_config()) {
    node_.path.start(shim_of(with));
    node_.path.restart_averages(default_average_shift);
  }

  void pass(time_us now) override {
    for (auto due = node_.next_deadline(); due && *due <= now; due = node_.next_deadline()) {
      now_ = std::max(now_, *due);
      node_.expire(now_);
    }
    now_ = now;
  }
  void begin(time_us now, std::size_t flow) override {
    node_.ends.use(now, exact_flow_from_here(flow), flow, exact_ip_bytes);
    node_.ends.serve(now, node_);
  }
  void send(time_us now, const bytes& ip) override { node_.path.send(now, packet_of(ip)); }
  std::optional<std::uint16_t> receive(time_us now, const wire::path_header& header, const hop::exact_rider& rider,
                                       const bytes& ip) override {
    const shim::ip_packet_view view = shim::read_ip(ip)->view;
    const auto window_bytes = node_.path.receive(now, header, view).window_bytes;
    const shim::flow_key back = view.flow.reversed();
    if (const auto* data = std::get_if<wire::exact_header>(&rider)) node_.ends.on_data(now, view, header, *data, 0);
    if (const auto* report = std::get_if<wire::exact_report>(&rider)) {
      node_.ends.on_report(now, back, *report, node_.path.shim().cwl_packets(back));
    }
    node_.ends.serve(now, node_);
    return window_bytes ? std::optional(static_cast<std::uint16_t>(*window_bytes)) : std::nullopt;
  }
  void forward(time_us now, const wire::path_header& header, const hop::exact_rider& rider, const bytes& ip) override {
    auto going = packet_of(ip);
    --going.view.ttl;
    going.from = hop::origin::radio;
    going.header = header;
    going.rider = rider;
    node_.path.pass(now, std::move(going));
  }
  void complete(time_us now, const completion& done) override {
    const exact_study::study_node::frame was = std::move(*node_.in_mac);
    node_.in_mac.reset();
    node_.path.on_completion(
        now, {.receiver_address = exact_study::study_node::address_of(was.to),
              .averages = {.peer = was.peer,
                           .avg_contention_us16 = done.avg_contention_us16,
                           .avg_overhead_us16 = done.avg_overhead_us16,
                           .avg_data_attempts_256 = done.avg_data_attempts_256},
              .sample = {.contention_us = done.contention_us, .overhead_us = done.overhead_us, .data_attempts = done.data_attempts},
              .delivered = done.delivered,
              .unanswered = !done.delivered});
    node_.path.pump(now);
    node_.ends.serve(now, node_);
  }
  bool has_frame() const override { return node_.in_mac.has_value(); }
  std::string state() override {
    const bool with_exact = node_.path.shim().exact() != nullptr;
    return std::exchange(frames_, {}) + text_of(node_.path) + (with_exact ? text_of_ends(node_.ends, node_.has_room()) : "");
  }

private:
  static exact_study::study_node::outgoing packet_of(const bytes& ip) {
    const shim::ip_packet_view view = shim::read_ip(ip)->view;
    const auto to = static_cast<std::uint32_t>(view.flow.destination.low) - ipv4_of(0);
    return {.view = view, .content = {.path = {0, to}, .ip_bytes = view.ip_bytes}};
  }

  std::uint8_t rate_of(std::uint32_t, std::uint32_t) const override { return data_rate_index; }
  void send_data(std::uint32_t, exact_study::study_ends::sent&& data) override {
    pass(udp_of(data.flow, exact_ip_bytes), data.exact.header, hop::view_of(data.exact));
  }
  void send_report(std::uint32_t, exact_study::study_ends::due_report&& due) override {
    pass(shim::empty_udp(due.flow.reversed()), due.report, {.follows = true});
  }
  void pass(const bytes& ip, const hop::exact_rider& rider, const shim::exact_view& exact) {
    auto going = packet_of(ip);
    going.rider = rider;
    going.view.exact = exact;
    node_.path.pass(now_, std::move(going));
  }
  void on_submitted(std::uint32_t) override {
    const exact_study::study_node::frame& frame = *node_.in_mac;
    frames_ += text_of(exact_study::study_node::address_of(frame.to), frame.peer, frame.mpdu_bytes, *frame.what.header, frame.what.rider);
  }

  exact_study::study_node node_;
  std::string frames_;
  time_us now_ = 0;
};

}  // namespace

std::unique_ptr<host_under_test> make_study_host(const setting& with) { return std::make_unique<study_host>(with); }

}  // namespace perhop::hop_test
