// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/mac_traffic.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "sim/air/link_table.hpp"
#include "sim/air/mix.hpp"
#include "sim/air/pattern.hpp"

namespace perhop::run {

using namespace air;

namespace {

constexpr std::uint64_t seed_stream_arrivals = 0x6172'7276;

tick ticks_of(double seconds) { return static_cast<tick>(std::llround(seconds * ticks_per_second)); }

std::uint64_t cookie(std::uint32_t flow, std::uint32_t number) { return std::uint64_t{flow} << 32 | number; }

/// Appends an IPv4 packet of that size without meaning: protocol 253 is for experiments (RFC 3692). What follows the header is
/// a pattern that differs from packet to packet.
void append_ipv4_packet(std::vector<std::uint8_t>& to, std::uint32_t bytes, node_id src, node_id dst, std::uint64_t packet) {
  constexpr std::uint32_t header_bytes = 20;
  if (bytes < header_bytes) {
    to.resize(to.size() + bytes);
    return;
  }
  std::array<std::uint8_t, header_bytes> ip{};
  const auto address = [&](std::size_t offset, node_id node) {
    const std::array<std::uint8_t, 4> octets = {10, 0, static_cast<std::uint8_t>(node / 250), static_cast<std::uint8_t>(node % 250 + 1)};
    std::copy(octets.begin(), octets.end(), ip.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  ip[0] = 0x45;
  ip[2] = static_cast<std::uint8_t>(bytes >> 8);
  ip[3] = static_cast<std::uint8_t>(bytes);
  ip[8] = 1;
  ip[9] = 253;
  address(12, src);
  address(16, dst);
  std::uint32_t sum = 0;
  for (std::size_t offset = 0; offset < header_bytes; offset += 2) sum += ip[offset] << 8 | ip[offset + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  ip[10] = static_cast<std::uint8_t>(~sum >> 8);
  ip[11] = static_cast<std::uint8_t>(~sum);
  to.insert(to.end(), ip.begin(), ip.end());
  append_pattern(to, bytes - header_bytes, packet);
}

}  // namespace

mac_traffic::mac_traffic(const run_config& config, run_report& report, pcapng_writer* capture)
    : config_(config), report_(report), capture_(capture), measure_from_(ticks_of(config.warmup_s)), senders_(config.air.nodes.size()) {
  link_table links(config.air);
  std::vector<std::vector<node_id>> peers_of(config.air.nodes.size());
  for (std::uint32_t index = 0; index < config.flows.size(); ++index) {
    const flow_config& next = config.flows[index];
    const std::string field = "run.json: field flows[" + std::to_string(index) + "]";
    if (next.kind == flow_kind::tcp) throw config_error(field + ".kind: tcp needs perhop-sim; perhop-air has MAC-level flows only");
    if (links.row(next.src, 0)->power_w(next.dst) < links.sensitivity_w()) {
      throw config_error(field + ".dst: node " + std::to_string(next.dst) + " is out of range of node " + std::to_string(next.src) +
                         "; MAC-level flows cross one hop: name a neighbour, or raise medium.tx_range_m");
    }
    auto& known = peers_of[next.src];
    const auto found = std::find(known.begin(), known.end(), next.dst);
    const auto peer = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) known.push_back(next.dst);
    if (known.size() > neighbour_slots) {
      throw config_error(field + ".dst: node " + std::to_string(next.src) + " would have more than " + std::to_string(neighbour_slots) +
                         " next hops, the size of the MAC's neighbour table");
    }
    flow& added = flows_.emplace_back();
    added.config = next;
    added.peer = static_cast<std::uint8_t>(peer);
    added.next_event = ticks_of(next.start_s);
    added.stop = next.stop_s ? ticks_of(*next.stop_s) : never;
    added.next_arrival_us = static_cast<double>(added.next_event);
  }
  for (sender& node : senders_) node.delay_us.resize(neighbour_slots);
}

tick mac_traffic::next_event() const {
  tick next = never;
  for (const flow& flow : flows_) next = std::min(next, flow.next_event);
  return next;
}

double mac_traffic::gap_us(std::uint32_t flow, std::uint32_t number) const {
  const std::uint64_t bits = random_bits(config_.seed ^ seed_stream_arrivals, flow, number);
  const double uniform = static_cast<double>((bits >> 11) + 1) * 0x1p-53;  // (0, 1]
  return -std::log(uniform) / flows_[flow].config.rate_packets_per_s * ticks_per_second;
}

void mac_traffic::act(tick now) {
  for (std::uint32_t index = 0; index < flows_.size(); ++index) {
    flow& flow = flows_[index];
    if (flow.next_event > now) continue;
    sender& node = senders_[flow.config.src];
    const bool poisson = flow.config.kind == flow_kind::mac_poisson;
    if (now >= flow.stop) {
      flow.active = false;
      flow.next_event = never;
      std::erase(node.saturated, index);
    } else if (!poisson) {
      flow.active = true;
      flow.next_event = flow.stop;
      node.saturated.push_back(index);
    } else {
      // The start itself brings no packet: the first gap begins there.
      if (flow.active) {
        if (node.queue.size() < config_.air.mac.queue_packets) {
          node.queue.push_back({index, flow.packets});
        } else {
          report_.on_queue_drop(flow.config.src);
        }
        ++flow.packets;
      }
      flow.active = true;
      flow.next_arrival_us += gap_us(index, flow.packets);
      flow.next_event = std::min(flow.stop, std::max(now + 1, static_cast<tick>(std::llround(flow.next_arrival_us))));
    }
    pump(flow.config.src);
  }
}

void mac_traffic::pump(node_id id) {
  sender& node = senders_[id];
  while (medium_->can_submit(id)) {
    if (!node.queue.empty()) {
      const packet next = node.queue.front();
      node.queue.pop_front();
      submit(id, next);
    } else if (!node.saturated.empty()) {
      const std::uint32_t index = node.saturated[node.next_saturated++ % node.saturated.size()];
      submit(id, {index, flows_[index].packets++});
    } else {
      break;
    }
  }
}

void mac_traffic::submit(node_id id, const packet& packet) {
  flow& flow = flows_[packet.flow];
  const bool four_address = config_.air.mac.four_address;
  std::uint32_t mpdu_bytes = mac_header_bytes + llc_snap_bytes + flow.config.ip_bytes + fcs_bytes;
  if (four_address) mpdu_bytes += fourth_address_bytes;
  if (flow.config.path_header) {
    mpdu_bytes += path_header_bytes;
    wire::path_header header;
    // Until the first completion there is no measured delay, and a hop that says nothing.
    const std::uint32_t delay_us = senders_[id].delay_us[flow.peer];
    if (delay_us != 0) {
      header.hops = 1;
      header.total_delay_us = delay_us;
      header.max_delay_us = delay_us;
    }
    flow.headers[packet.number % header_ring] = wire::encode(header);
  }
  medium_->submit(id, {.ra = mac_address(flow.config.dst),
                       .peer = flow.peer,
                       .mpdu_bytes = static_cast<std::uint16_t>(mpdu_bytes),
                       .rate_index = config_.air.mac.data_rate_to(id, mac_address(flow.config.dst)),
                       .use_rts = mpdu_bytes > config_.air.mac.rts_threshold_bytes,
                       .payload = cookie(packet.flow, packet.number),
                       .four_address = four_address,
                       .destination = mac_address(flow.config.dst),
                       .source = mac_address(flow.config.src)});
}

void mac_traffic::on_transmission(const transmission& frame) {
  report_.on_transmission(frame);
  if (capture_ == nullptr || config_.air.mac.fidelity != mac_fidelity::core) return;
  std::vector<std::uint8_t> msdu;
  if (frame.kind == frame_kind::data) append_msdu(flows_[frame.payload >> 32], static_cast<std::uint32_t>(frame.payload), msdu);
  capture_->write(frame, msdu);
}

void mac_traffic::on_lost(const lost_frame& lost) {
  if (capture_ != nullptr) capture_->note(lost);
}

void mac_traffic::on_frame_bytes(const transmission& frame, byte_span psdu) {
  if (capture_ != nullptr) capture_->write_psdu(frame, psdu);
}

void mac_traffic::write_msdu(node_id, const tx_request& request, std::vector<std::uint8_t>& msdu) {
  append_msdu(flows_[request.payload >> 32], static_cast<std::uint32_t>(request.payload), msdu);
}

void mac_traffic::append_msdu(const flow& flow, std::uint32_t number, std::vector<std::uint8_t>& msdu) const {
  const std::uint32_t ethertype = flow.config.path_header ? path_header_ethertype : ipv4_ethertype;
  msdu.insert(msdu.end(), {0xaa, 0xaa, 0x03, 0, 0, 0, static_cast<std::uint8_t>(ethertype >> 8), static_cast<std::uint8_t>(ethertype)});
  if (flow.config.path_header) {
    const wire::path_header_buffer& header = flow.headers[number % header_ring];
    msdu.insert(msdu.end(), header.begin(), header.end());
  }
  const auto index = static_cast<std::uint32_t>(&flow - flows_.data());
  append_ipv4_packet(msdu, flow.config.ip_bytes, flow.config.src, flow.config.dst, cookie(index, number));
}

void mac_traffic::on_delivery(tick now, node_id to, const transmission& frame) {
  flow& flow = flows_[frame.payload >> 32];
  ++flow.delivered;
  if (now >= measure_from_) ++flow.delivered_measured;
  if (!flow.config.path_header) return;
  const auto header = wire::decode(flow.headers[static_cast<std::uint32_t>(frame.payload) % header_ring]);
  if (header && header->hops == 1) report_.on_path_header_delay(now, frame.node, to, header->total_delay_us);
}

void mac_traffic::on_completion(tick, const completion& record) {
  report_.on_completion(record);
  senders_[record.node].delay_us[record.peer] =
      static_cast<std::uint32_t>(std::lround(predicted_service_us(*config_.air.mac.profile, record)));
  pump(record.node);
}

void mac_traffic::on_phy(const phy_event& event) { report_.on_phy(event); }

std::vector<std::uint64_t> mac_traffic::delivered_bytes() const {
  std::vector<std::uint64_t> bytes;
  for (const flow& flow : flows_) bytes.push_back(flow.delivered * flow.config.ip_bytes);
  return bytes;
}

std::vector<flow_result> mac_traffic::results(tick end) const {
  std::vector<flow_result> results;
  const double measured_s = end > measure_from_ ? static_cast<double>(end - measure_from_) / ticks_per_second : 0;
  for (const flow& flow : flows_) {
    flow_result result;
    result.delivered_packets = flow.delivered_measured;
    if (measured_s > 0) {
      result.packets_per_s = static_cast<double>(flow.delivered_measured) / measured_s;
      result.goodput_bps = result.packets_per_s * 8 * flow.config.ip_bytes;
    }
    results.push_back(result);
  }
  return results;
}

}  // namespace perhop::run
