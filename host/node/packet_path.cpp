// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/packet_path.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace perhop::node {

namespace {

constexpr std::size_t most_flows = 2048;
// As the shim: nobody says that a connection has ended.
constexpr time_us flow_idle_us = shim::shim_config{}.flow_idle_us;
constexpr time_us idle_looked_for_every_us = 10'000'000;
// Data after which a policy should have had its effect: two round trips of the first window of Linux (10) and more.
constexpr std::uint64_t settled_segments = 40;
// TCP's window bounds what waits for its time; this does, too.
constexpr std::size_t most_paced_packets = 1024;

/// By which the hellos of EXACT name a node.
std::uint32_t node_identity(std::uint64_t mac) { return static_cast<std::uint32_t>(mac); }

bool is_bare_tcp_ack(const shim::tcp_view& tcp) { return tcp.has_tcp_ack && tcp.payload_bytes == 0 && !tcp.syn && !tcp.fin && !tcp.rst; }

}  // namespace

packet_path::packet_path(const packet_path_config& config, kernel& kernel, drivers::driver& driver)
    : config_(config), kernel_(kernel), driver_(driver) {
  if (config.exact) exact_.emplace(config.exact_flows);
}

// ---- The driver

void packet_path::on_up(const drivers::mac_properties& mac) {
  on_down();  // what an earlier MAC was given never completes
  up_ = true;
  history_.restart(mac.average_shift);
  // A medium that was started anew has the same MACs. Connections go on with what the shim knows.
  if (!shim_ || mac_ != mac) {
    mac_ = mac;
    shim::shim_config config;
    config.profile = mac.profile;
    config.rts_threshold_bytes = mac.rts_threshold_bytes;
    config.policy = config_.policy;
    config.rewrite_windows = config_.limiter == nullptr;
    config.mtu_bytes = config_.mtu_bytes;
    if (config_.exact) {
      config.exact = config_.exact;
      config.exact->profile = mac.profile;
      config.exact->rts_threshold_bytes = mac.rts_threshold_bytes;
      config.exact->neighbourhood.node = node_identity(mac.address);
      exact_->set_link_rate(mac.profile->rates[mac.data_rate_index].bps);
    }
    shim_.emplace(config);
    while (!flows_.empty()) forget(flows_.begin());
    told_ = {};
  }
  pump();
  serve_exact(now_);
}

void packet_path::on_down() {
  up_ = false;
  counters_.mac_lost += given_.size();
  given_.clear();
  watch_given();
}

/// Nothing: it was not given to this MAC, or it was done with it before.
std::optional<packet_path::given_packet> packet_path::take_given(std::uint32_t cookie) {
  const auto found = std::find_if(given_.begin(), given_.end(), [cookie](const given_packet& packet) { return packet.cookie == cookie; });
  if (found == given_.end()) return std::nullopt;
  const given_packet packet = *found;
  given_.erase(found);
  return packet;
}

void packet_path::watch_given() { watch_.on_first(now_, given_.empty() ? std::nullopt : std::optional(given_.front().cookie)); }

void packet_path::on_completion(std::uint32_t cookie, const completion_record& record) {
  const std::optional<given_packet> given = take_given(cookie);
  if (!given) {
    ++counters_.unknown_completions;
    return;
  }
  watch_.on_completion();
  watch_given();
  ++counters_.completions;
  const bool delivered = record.result == tx_result::delivered || record.result == tx_result::group_sent;
  if (!delivered) ++counters_.mac_drops;
  if (record.result != tx_result::group_sent) neighbours_.on_sent(now_, given->to.address, given->to.receiver_address, delivered);
  if (record.peer < neighbour_slots && neighbours_.slots()[record.peer] == given->to.receiver_address) {
    const completion_record known = history_.without_history(given->to.receiver_address, record);
    neighbour_sums_.note_done(now_, known);
    if (shim_ && shim_->on_completion(now_, policy::averages_of(known), delivered)) ++counters_.peers_lost;
  } else {
    ++counters_.former_peers;
  }
  pump();
  serve_exact(now_);
}

void packet_path::on_reception(const drivers::reception& frame) {
  if (now_ - idle_looked_for_ >= idle_looked_for_every_us) forget_idle();
  const auto llc = wire::llc_snap::decode(frame.msdu);
  // A longer one is no MSDU, and could not be passed on.
  if (!llc || !shim_ || frame.msdu.size() > most_msdu_bytes) {
    ++counters_.malformed;
    return;
  }
  const std::span<const std::uint8_t> content = frame.msdu.subspan(wire::llc_snap::size_bytes);
  if (llc->ethertype == ipv4_ethertype || llc->ethertype == ipv6_ethertype) {
    receive(content, std::nullopt, {}, frame.transmitter_address);
  } else if (llc->ethertype == wire::llc_snap{}.ethertype) {
    if (const auto header = shim_->parse(content)) {
      const auto rest = content.subspan(path_header_bytes);
      if (const auto rider = header->exact_follows ? read_rider(rest) : exact_rider{}) {
        receive(rest.subspan(rider_size(*rider)), header, *rider, frame.transmitter_address);
      } else {
        ++counters_.malformed;
      }
    }
  } else if (llc->ethertype == exact_hello_ethertype && shim_->exact() != nullptr) {
    if (const auto hello = wire::decode_hello(content)) {
      ++counters_.hellos;
      shim_->exact()->on_hello(now_, *hello);
    } else {
      ++counters_.malformed;
    }
  } else {
    ++counters_.foreign;
  }
  serve_exact(now_);
}

// ---- Up

void packet_path::receive(std::span<const std::uint8_t> bytes, const std::optional<wire::path_header>& header, const exact_rider& rider,
                          std::uint64_t transmitter) {
  const auto packet = read_ip(bytes);
  if (!packet) {
    ++counters_.malformed;
    return;
  }
  if (header && header->hops == 1 && !header->silent_router_seen) neighbours_.learn(now_, packet->view.flow.source, transmitter);
  bytes = bytes.first(packet->view.ip_bytes);
  const route found = packet->group ? route{.kind = route_kind::group} : kernel_.find_route(packet->view.flow.destination, false);
  if (found.kind == route_kind::radio && packet->view.ttl > 1) {
    if (const auto hop = hop_to(*packet, found.next_hop, false)) pass_on(bytes, *packet, header, rider, *hop);
    return;
  }
  std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  if (found.kind == route_kind::local || found.kind == route_kind::group) {
    flow_sums_.note(now_, packet->view.flow, flow_role::received, packet->view.ip_bytes);
    const shim::receive_verdict verdict = shim_->on_receive(now_, header, packet->view);
    if (config_.limiter != nullptr && packet->view.flow.protocol == shim::ip_protocol_tcp) limit_sender_of(*packet);
    if (packet->transport_at != 0 && packet->view.flow.protocol == shim::ip_protocol_tcp) {
      if (verdict.window_bytes) write_window(copy, *packet, *verdict.window_bytes);
      if (verdict.strip_window_scaling) strip_window_scaling(copy, *packet);
    }
    const shim::flow_key flow = packet->view.flow;
    if (const auto* data = std::get_if<wire::exact_header>(&rider); data != nullptr && exact_) {
      exact_->on_data(now_, packet->view, *header, *data, next_hop_to(flow.source));
    } else if (const auto* report = std::get_if<wire::exact_report>(&rider)) {
      if (exact_) exact_->on_report(now_, flow.reversed(), *report, shim_->cwl_packets(flow.reversed()));
      return;
    }
  }
  ++counters_.to_ip;
  kernel_.deliver(copy);
}

// ---- Down

void packet_path::on_ip(time_us now, std::span<const std::uint8_t> bytes) {
  now_ = now;
  if (now_ - idle_looked_for_ >= idle_looked_for_every_us) forget_idle();
  ++counters_.from_ip;
  const auto packet = read_ip(bytes);
  if (!packet || !shim_) {
    ++counters_.no_route;
    return;
  }
  bytes = bytes.first(packet->view.ip_bytes);
  const bool own = kernel_.find_route(packet->view.flow.source, false).kind == route_kind::local;
  const bool waits_for_rate = own && exact_ && exact_->paces(*packet);
  if (const std::size_t most_bytes = most_ip_bytes - (waits_for_rate ? wire::exact_data::size_bytes : 0); bytes.size() > most_bytes) {
    cut_or_answer(bytes, *packet, most_bytes);
    return;
  }
  if (own && packet->view.flow.protocol == shim::ip_protocol_tcp) {
    if (holds_back(flow_of(packet->view.flow), *packet, bytes)) return;
  }
  if (waits_for_rate) {
    exact_->on_packet(now_, packet->view.flow, bytes);
    serve_exact(now_);
    return;
  }
  originate(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

/// A packet of IP that no frame takes.
void packet_path::cut_or_answer(std::span<const std::uint8_t> bytes, const ip_packet& packet, std::size_t most_bytes) {
  std::vector<std::vector<std::uint8_t>> fragments = fragments_of(bytes, packet, most_bytes);
  if (!fragments.empty()) {
    ++counters_.fragmented;
    for (std::vector<std::uint8_t>& fragment : fragments) originate(std::move(fragment));
    return;
  }
  ++counters_.too_big;
  // To this host's IP, which gives it to the sender, here or behind another interface. It takes no packet from an interface whose
  // source is an address of its own, so the message is from the other end of the path.
  const std::vector<std::uint8_t> message = too_big_message(bytes, packet, most_bytes, packet.view.flow.destination);
  if (message.empty() || !answers_.take(now_)) return;
  ++counters_.to_ip;
  kernel_.deliver(message);
}

packet_path::flow& packet_path::flow_of(const shim::flow_key& key) {
  const auto [found, made] = flows_.try_emplace(key);
  found->second.last_used = now_;
  if (made) {
    if (flows_.size() > most_flows) {
      // Those that strangers opened first, or a flood of SYNs would push out what other connections keep here.
      const auto idle = std::min_element(flows_.begin(), flows_.end(), [](const auto& one, const auto& other) {
        return std::pair(one.second.opened, one.second.last_used) < std::pair(other.second.opened, other.second.last_used);
      });
      forget(idle);
    }
  }
  return flows_.at(key);
}

void packet_path::forget(flow_table::iterator flow) {
  if (flow->second.told_limit_packets) config_.limiter->forget(flow->first);
  flows_.erase(flow);
}

void packet_path::forget_idle() {
  idle_looked_for_ = now_;
  for (auto flow = flows_.begin(); flow != flows_.end();) {
    const auto next = std::next(flow);
    if (now_ - flow->second.last_used > flow_idle_us && flow->second.waiting.empty()) forget(flow);
    flow = next;
  }
  if (exact_) exact_->forget_idle(now_, flow_idle_us);
}

/// A packet for the sender of the other direction may have moved its limit, which holds before TCP sees the packet. What opened
/// before this daemon was started is found by its first packet.
void packet_path::limit_sender_of(const ip_packet& packet) {
  // A SYN says nothing before this host's TCP has answered it, and anybody can send one.
  if (packet.view.tcp.syn && !packet.view.tcp.has_tcp_ack) return;
  const shim::flow_key key = packet.view.flow.reversed();
  flow& sent = flow_of(key);
  tell_limit(key, sent);
  if (limits_due_ && *limits_due_ <= now_) apply_limits();
}

void packet_path::tell_limit(const shim::flow_key& key, flow& flow) {
  if (config_.limiter == nullptr) return;
  const std::optional<std::uint32_t> limit_packets = shim_->cwl_packets(key);
  if (limit_packets == flow.told_limit_packets) return;
  config_.limiter->set(key, limit_packets);
  flow.told_limit_packets = limit_packets;
  // Its socket was open before the limiter was there to see it open.
  if (!flow.handshake_seen) limits_due_ = std::max(now_, limits_applied_ + limits_interval_us);
}

void packet_path::apply_limits() {
  limits_due_.reset();
  limits_applied_ = now_;
  config_.limiter->apply_now();
}

bool packet_path::holds_back(flow& flow, const ip_packet& packet, std::span<const std::uint8_t> bytes) {
  const shim::flow_policy& policy = config_.policy;
  const shim::tcp_view& tcp = packet.view.tcp;
  if (tcp.syn) flow.waiting.clear();
  // Without thinning all pass, and the shim sees what TCP sends before it waits to be paced.
  if (shim_->on_tcp_ack(now_, packet.view) == policy::tcp_ack_action::hold) {
    flow.held_tcp_ack.assign(bytes.begin(), bytes.end());
    ++counters_.tcp_acks_held;
    return true;
  }
  flow.held_tcp_ack.clear();
  if (policy.tcp_ack.kind != policy::tcp_ack_kind::every && is_bare_tcp_ack(tcp)) flow.sent_tcp_ack.assign(bytes.begin(), bytes.end());
  if (policy.pacing.kind == policy::pacing_kind::none || (tcp.payload_bytes == 0 && flow.waiting.empty())) return false;
  if (!flow.waiting.empty()) {
    if (flow.waiting.size() < most_paced_packets) {
      ++counters_.paced;
      flow.waiting.emplace_back(bytes.begin(), bytes.end());
    } else {
      ++counters_.queue_drops;
    }
    return true;
  }
  flow.release = shim_->release_time(now_, packet.view);
  if (flow.release <= now_) return false;
  ++counters_.paced;
  flow.waiting.emplace_back(bytes.begin(), bytes.end());
  return true;
}

/// A connection whose SYN this daemon has not seen (it was started anew since): its full segment is taken to fill the interface.
void packet_path::tell_segment(flow& flow, ip_packet& packet) const {
  constexpr std::uint32_t timestamps_bytes = 12, tcp_bytes = 20, ipv4_bytes = 20, ipv6_bytes = 40;
  flow.handshake_seen |= packet.view.tcp.syn;
  if (flow.handshake_seen) return;
  packet.view.tcp.segment_bytes =
      static_cast<std::uint16_t>(config_.mtu_bytes - (packet.ipv6 ? ipv6_bytes : ipv4_bytes) - tcp_bytes - timestamps_bytes);
}

/// A packet of this host's IP, after all waiting. @return nothing when it was lost
std::optional<packet_path::departure> packet_path::originate(std::vector<std::uint8_t> bytes, const exact_rider& rider,
                                                             const shim::exact_view& exact) {
  auto packet = read_ip(bytes);
  packet->view.exact = exact;
  const bool own = kernel_.find_route(packet->view.flow.source, false).kind == route_kind::local;
  const route found = packet->group ? route{.kind = route_kind::group} : kernel_.find_route(packet->view.flow.destination, true);
  if (found.kind != route_kind::radio && found.kind != route_kind::group) {
    ++counters_.no_route;
    return std::nullopt;
  }
  const auto hop = hop_to(*packet, found.next_hop, found.kind == route_kind::group);
  if (!hop) return std::nullopt;
  if (!has_room()) {
    ++counters_.queue_drops;
    return std::nullopt;
  }
  flow_sums_.note(now_, packet->view.flow, own ? flow_role::originated : flow_role::forwarded, packet->view.ip_bytes);
  const shim::next_hop next = shim_hop(*hop, path_header_bytes + rider_size(rider) + bytes.size());
  if (!own) {
    // From another interface of this host: the path begins before the radio.
    wire::path_header header = shim_->on_forward_plain(now_, packet->view, next);
    header.wired_hop_seen = true;
    enqueue(*hop, header, {}, bytes);
    return departure{.receiver_address = hop->receiver_address, .explicit_rate_bps = header.explicit_rate_bps};
  }
  flow* sent = nullptr;
  if (packet->view.flow.protocol == shim::ip_protocol_tcp) {
    const shim::tcp_view& tcp = packet->view.tcp;
    sent = &flow_of(packet->view.flow);
    sent->opened |= !tcp.rst && !(tcp.syn && tcp.has_tcp_ack);
    tell_segment(*sent, *packet);
    if (tcp.payload_bytes != 0) {
      ++counters_.data_segments;
      ++sent->data_segments;
    }
    if (is_bare_tcp_ack(tcp)) ++counters_.bare_tcp_acks;
  }
  const wire::path_header header = shim_->on_originate(now_, packet->view, next);
  if (sent != nullptr) {
    sent->most_in_flight = std::max(sent->most_in_flight, shim_->packets_in_flight(packet->view.flow));
    tell_limit(packet->view.flow, *sent);
  }
  if (packet->transport_at != 0 && shim_->strip_window_scaling(packet->view)) strip_window_scaling(bytes, *packet);
  enqueue(*hop, header, rider, bytes);
  return departure{.receiver_address = hop->receiver_address, .explicit_rate_bps = header.explicit_rate_bps};
}

void packet_path::pass_on(std::span<const std::uint8_t> bytes, const ip_packet& packet, std::optional<wire::path_header> header,
                          const exact_rider& rider, const hop& hop) {
  if (!has_room()) {
    ++counters_.queue_drops;
    return;
  }
  ++counters_.forwarded;
  flow_sums_.note(now_, packet.view.flow, flow_role::forwarded, packet.view.ip_bytes);
  std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  lower_ttl(copy, packet);
  shim::ip_packet_view view = packet.view;
  --view.ttl;
  if (!header && copy.size() > most_ip_bytes) {
    ++counters_.plain;
    enqueue_plain(hop, packet, copy);
    return;
  }
  const shim::next_hop next = shim_hop(hop, path_header_bytes + rider_size(rider) + copy.size());
  if (header) {
    shim_->on_forward(now_, *header, view, next);
  } else {
    header = shim_->on_forward_plain(now_, view, next);
  }
  enqueue(hop, *header, rider, copy);
}

std::optional<packet_path::hop> packet_path::hop_to(const ip_packet&, const shim::ip_address& next_hop, bool group) {
  const std::optional<std::uint64_t> address = group ? std::optional(broadcast_address) : neighbours_.find(next_hop);
  if (!address) {
    ++counters_.no_neighbour;
    return std::nullopt;
  }
  const neighbours::slot slot = neighbours_.slot_of(*address);
  if (slot.replaced) shim_->on_neighbour_replaced(slot.index);
  if (shim_->exact() != nullptr && !group && told_[slot.index] != *address) {
    shim_->exact()->set_peer_node(slot.index, node_identity(*address));
    told_[slot.index] = *address;
  }
  neighbour_sums_.open(slot.index, *address);
  return hop{.receiver_address = *address, .peer = slot.index, .group = group, .address = next_hop};
}

/// @param bytes behind LLC/SNAP
shim::next_hop packet_path::shim_hop(const hop& hop, std::size_t bytes) const {
  return {.peer = hop.peer,
          .rate_index = hop.group ? mac_->profile->lowest_basic_rate_index : mac_->data_rate_index,
          .mpdu_bytes = static_cast<std::uint32_t>(mac_header_bytes + llc_snap_bytes + bytes + fcs_bytes)};
}

void packet_path::enqueue(const hop& hop, const wire::path_header& header, const exact_rider& rider, std::span<const std::uint8_t> packet) {
  std::vector<std::uint8_t> msdu(wire::llc_snap::size_bytes);
  msdu.reserve(llc_snap_bytes + path_header_bytes + rider_size(rider) + packet.size());
  wire::llc_snap{}.encode(std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
  const wire::path_header_buffer bytes = wire::encode(header);
  msdu.insert(msdu.end(), bytes.begin(), bytes.end());
  append_rider(msdu, rider);
  msdu.insert(msdu.end(), packet.begin(), packet.end());
  enqueue(hop, std::move(msdu));
}

void packet_path::enqueue_plain(const hop& hop, const ip_packet& packet, std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> msdu(wire::llc_snap::size_bytes);
  wire::llc_snap{.ethertype = static_cast<std::uint16_t>(packet.ipv6 ? ipv6_ethertype : ipv4_ethertype)}.encode(
      std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
  msdu.insert(msdu.end(), bytes.begin(), bytes.end());
  enqueue(hop, std::move(msdu));
}

void packet_path::enqueue(const hop& hop, std::vector<std::uint8_t> msdu) {
  queued_bytes_ += msdu.size();
  queue_.push_back({.to = hop, .since = now_, .msdu = std::move(msdu)});
  pump();
  tell_queue();
}

void packet_path::tell_queue() {
  if (shim_ && shim_->exact() != nullptr) shim_->exact()->on_queue(queued_bytes_);
}

void packet_path::pump() {
  while (!queue_.empty() && driver_.can_send()) {
    const queued_packet& first = queue_.front();
    const std::size_t mpdu_bytes = mac_header_bytes + first.msdu.size() + fcs_bytes;
    const bool group = (first.to.receiver_address >> group_address_bit & 1) != 0;
    if (driver_.send({.receiver_address = first.to.receiver_address,
                      .peer = first.to.peer,
                      .rate_index = group ? mac_->profile->lowest_basic_rate_index : mac_->data_rate_index,
                      .use_rts = !group && mpdu_bytes > mac_->rts_threshold_bytes,
                      .cookie = next_cookie_,
                      .msdu = first.msdu})) {
      given_.push_back({.cookie = next_cookie_++, .to = first.to});
      neighbour_sums_.note_given(first.to.peer, static_cast<std::uint64_t>(now_ - first.since));
    } else {
      ++counters_.mac_refused;
    }
    queued_bytes_ -= first.msdu.size();
    queue_.pop_front();
  }
  watch_given();
  tell_queue();
}

// ---- EXACT

void packet_path::send_hello() {
  auto hello = shim_->exact() != nullptr ? shim_->exact()->take_hello(now_) : std::nullopt;
  if (!hello || !up_ || !has_room()) return;
  std::vector<std::uint8_t> content = wire::encode(*hello);
  // The news of those heard of last can wait; the node's own come first.
  while (content.size() > most_msdu_bytes - llc_snap_bytes && hello->nodes.size() > 1) {
    hello->nodes.pop_back();
    content = wire::encode(*hello);
  }
  std::vector<std::uint8_t> msdu(wire::llc_snap::size_bytes);
  wire::llc_snap{.ethertype = exact_hello_ethertype}.encode(std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
  msdu.insert(msdu.end(), content.begin(), content.end());
  ++counters_.hellos_sent;
  enqueue(*hop_to(ip_packet{}, {}, true), std::move(msdu));
}

void packet_path::serve_exact(time_us now) {
  now_ = now;
  if (!exact_ || !shim_) return;
  exact_->on_deadline(now);
  while (const auto due = exact_->take_report(now)) originate(empty_udp(due->flow.reversed()), due->report, {.follows = true});
  while (up_ && has_room()) {
    auto packet = exact_->take_packet(now);
    if (!packet) break;
    const shim::exact_view view{
        .wanted_rate_bps = packet->exact.explicit_rate_bps, .current_rate_bps = packet->exact.current_rate_bps, .follows = true};
    if (const auto left = originate(std::move(packet->bytes), packet->exact.header, view)) {
      exact_->on_first_hop(now, packet->flow,
                           {.sequence = packet->exact.header.sequence,
                            .receiver_address = left->receiver_address,
                            .explicit_rate_bps = left->explicit_rate_bps});
    }
  }
}

void packet_path::on_route_change(time_us now) {
  now_ = now;
  if (!exact_) return;
  exact_->on_routes(now, [this](const shim::ip_address& destination) { return next_hop_to(destination); });
  serve_exact(now);
}

/// 0: there is none over the radio.
std::uint64_t packet_path::next_hop_to(const shim::ip_address& destination) {
  const route found = kernel_.find_route(destination, true);
  return found.kind == route_kind::radio ? neighbours_.find(found.next_hop).value_or(0) : 0;
}

// ---- Time

std::optional<time_us> packet_path::next_deadline() const {
  if (!shim_) return std::nullopt;
  std::optional<time_us> earliest = shim_->next_deadline();
  for (const auto& [key, flow] : flows_) {
    if (!flow.waiting.empty()) earliest = std::min(earliest.value_or(flow.release), flow.release);
  }
  if (const auto exact = exact_ ? exact_->next_deadline(up_ && has_room()) : std::nullopt) {
    earliest = std::min(earliest.value_or(*exact), *exact);
  }
  if (limits_due_) earliest = std::min(earliest.value_or(*limits_due_), *limits_due_);
  if (const auto look = watch_.next_look()) earliest = std::min(earliest.value_or(*look), *look);
  return earliest;
}

void packet_path::on_deadline(time_us now) {
  now_ = now;
  if (!shim_) return;
  std::array<shim::tcp_ack_due, 8> due;
  std::size_t count = 0;
  do {
    count = shim_->expire(now, due);
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = flows_.find(due[i].flow);
      if (found == flows_.end()) continue;
      flow& flow = found->second;
      if (due[i].release == policy::tcp_ack_release::send_held && !flow.held_tcp_ack.empty()) {
        flow.sent_tcp_ack = std::exchange(flow.held_tcp_ack, {});
        originate(flow.sent_tcp_ack);
      } else if (due[i].release == policy::tcp_ack_release::send_again && !flow.sent_tcp_ack.empty()) {
        originate(flow.sent_tcp_ack);
      }
    }
  } while (count == due.size());
  std::vector<shim::flow_key> paced;
  for (const auto& [key, flow] : flows_) {
    if (!flow.waiting.empty() && flow.release <= now) paced.push_back(key);
  }
  for (const shim::flow_key& key : paced) {
    flow& flow = flows_.at(key);
    while (!flow.waiting.empty() && flow.release <= now) {
      std::vector<std::uint8_t> bytes = std::move(flow.waiting.front());
      flow.waiting.pop_front();
      // The next one's time is asked for when it is the next one, so that it follows the path as it is now.
      if (!flow.waiting.empty()) flow.release = shim_->release_time(now, read_ip(flow.waiting.front())->view);
      originate(std::move(bytes));
    }
  }
  if (limits_due_ && *limits_due_ <= now) apply_limits();
  if (watch_.look(now)) {
    ++counters_.mac_stalls;
    stall_ = "the MAC is not done with a packet after " + std::to_string(credit_watch::patience_looks) + " s (" +
             std::to_string(given_.size()) + " of " + std::to_string(mac_->send_credits) +
             " credits are out): the daemon connects to it anew";
    driver_.restart(stall_);
  }
  send_hello();
  serve_exact(now);
}

void packet_path::set_policy(time_us now, const shim::flow_policy& policy) {
  now_ = now;
  config_.policy = policy;
  if (!shim_) return;
  shim_->set_policy(policy);
  for (auto& [key, flow] : flows_) {
    flow.most_in_flight = 0;
    flow.data_segments = 0;
    if (policy.pacing.kind == policy::pacing_kind::none) flow.release = now;
    tell_limit(key, flow);
  }
  if (config_.limiter != nullptr) apply_limits();
}

std::vector<packet_path::flow_report> packet_path::flows() const {
  std::vector<flow_report> reports;
  if (!shim_) return reports;
  for (const auto& [key, flow] : flows_) {
    flow_report report{.key = key,
                       .packets_in_flight = shim_->packets_in_flight(key),
                       .most_in_flight = flow.most_in_flight,
                       .cwl_packets = shim_->cwl_packets(key),
                       .path = shim_->last_path(key),
                       .pacing_interval_us = shim_->pacing_interval_us(key),
                       .last_used = flow.last_used};
    if (flow.data_segments >= settled_segments) {
      report.limit_without_effect = shim_->limit_without_effect(key);
      report.pacing_without_effect = shim_->pacing_without_effect(key);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::size_t packet_path::queued_packets(std::uint8_t peer) const {
  return static_cast<std::size_t>(
      std::count_if(queue_.begin(), queue_.end(), [peer](const queued_packet& packet) { return packet.to.peer == peer; }));
}

}  // namespace perhop::node
