// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/packet_path.hpp"

#include <algorithm>
#include <utility>

namespace perhop::node {

namespace {

constexpr std::size_t most_flows = 2048;
// As the shim: nobody says that a connection has ended.
constexpr time_us flow_idle_us = shim::shim_config{}.flow_idle_us;
constexpr time_us idle_looked_for_every_us = 10'000'000;
// Data after which a policy should have had its effect: two round trips of the first window of Linux (10) and more.
constexpr std::uint64_t settled_segments = 40;

}  // namespace

packet_path::packet_path(const packet_path_config& config, kernel& kernel, drivers::driver& driver)
    : config_(config), kernel_(kernel), driver_(driver), path_(*this, config.queue_packets), syns_(config.slow_down > 1) {
  if (config.exact) exact_.emplace(config.exact_flows);
  if (config.swan) path_.slow_best_effort(*config.swan);
}

// ---- The driver

void packet_path::on_up(const drivers::mac_properties& mac) {
  on_down();  // what an earlier MAC was given never completes
  up_ = true;
  path_.restart_averages(mac.average_shift);
  // A medium that was started anew has the same MACs. Connections go on with what the shim knows.
  if (!path_.started() || mac_ != mac) {
    mac_ = mac;
    shim::shim_config config;
    config.profile = mac.profile;
    config.rts_threshold_bytes = mac.rts_threshold_bytes;
    config.policy = config_.policy;
    config.rewrite_windows = config_.limiter == nullptr;
    config.mtu_bytes = config_.mtu_bytes;
    config.window_field_tells = config_.tell_window == shim::window_telling::window_field;
    if (config_.exact) {
      config.exact = config_.exact;
      config.exact->profile = mac.profile;
      config.exact->rts_threshold_bytes = mac.rts_threshold_bytes;
      config.exact->neighbourhood.node = node_of(mac.address);
      std::uint64_t fastest_bps = mac.profile->rates[mac.data_rate_index].bps;
      for (const auto& [address, rate] : data_rates_) {
        fastest_bps = std::max<std::uint64_t>(fastest_bps, mac.profile->rates[data_rate_to(address)].bps);
      }
      exact_->set_link_rate(fastest_bps);
    }
    path_.start(config);
    while (!flows_.empty()) forget(flows_.begin());
  }
  path_.pump(now_);
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

void packet_path::watch_given() {
  watch_.on_first(now_, given_.empty() ? std::nullopt : std::optional(given_.front().cookie), driver_.mac_clock_us());
}

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
  if (record.result != tx_result::group_sent) neighbours_.on_sent(now_, given->next_hop, given->receiver_address, delivered);
  const auto outcome = path_.on_completion(now_, {.receiver_address = given->receiver_address,
                                                  .averages = policy::averages_of(record),
                                                  .sample = hop::sample_of(record),
                                                  .service_us = record.t_done_us - record.t_head_us,
                                                  .delivered = delivered,
                                                  .record = path_.shim().wants_records() ? std::optional(record) : std::nullopt});
  if (outcome) {
    completion_record known = record;
    known.avg_contention_us16 = outcome->averages.avg_contention_us16;
    known.avg_overhead_us16 = outcome->averages.avg_overhead_us16;
    known.avg_data_attempts_256 = static_cast<std::uint16_t>(std::min<std::uint32_t>(outcome->averages.avg_data_attempts_256, UINT16_MAX));
    neighbour_sums_.note_done(now_, known);
    if (outcome->peer_lost) ++counters_.peers_lost;
  } else {
    ++counters_.former_peers;
  }
  path_.pump(now_);
  serve_exact(now_);
}

void packet_path::on_reception(const drivers::reception& frame) {
  if (now_ - idle_looked_for_ >= idle_looked_for_every_us) forget_idle();
  const auto llc = wire::llc_snap::decode(frame.msdu);
  // A longer one is no MSDU, and could not be passed on.
  if (!llc || !path_.started() || frame.msdu.size() > most_msdu_bytes) {
    ++counters_.malformed;
    return;
  }
  const std::span<const std::uint8_t> content = frame.msdu.subspan(wire::llc_snap::size_bytes);
  if (llc->ethertype == ipv4_ethertype || llc->ethertype == ipv6_ethertype) {
    receive(content, std::nullopt, {}, frame.transmitter_address);
  } else if (llc->ethertype == wire::llc_snap{}.ethertype) {
    if (const auto header = path_.shim().parse(content)) {
      const auto rest = content.subspan(path_header_bytes);
      if (const auto rider = header->exact_follows ? hop::read_rider(rest) : hop::exact_rider{}) {
        receive(rest.subspan(hop::rider_size(*rider)), header, *rider, frame.transmitter_address);
      } else {
        ++counters_.malformed;
      }
    }
  } else if (llc->ethertype == exact_hello_ethertype && path_.shim().exact() != nullptr) {
    ++(path_.on_hello(now_, content) ? counters_.hellos : counters_.malformed);
  } else {
    ++counters_.foreign;
  }
  serve_exact(now_);
}

// ---- Up

void packet_path::receive(std::span<const std::uint8_t> bytes, const std::optional<wire::path_header>& header,
                          const hop::exact_rider& rider, std::uint64_t transmitter) {
  auto packet = shim::read_ip(bytes);
  if (!packet) {
    ++counters_.malformed;
    return;
  }
  if (header && header->hops == 1 && !header->silent_router_seen) neighbours_.learn(now_, packet->view.flow.source, transmitter);
  bytes = bytes.first(packet->view.ip_bytes);
  const route found = packet->group ? route{.kind = route_kind::group} : kernel_.find_route(packet->view.flow.destination, false);
  if (found.kind == route_kind::radio && packet->view.ttl > 1) {
    auto going_on = packet_of(bytes, *packet, false);
    going_on.content.to = found;
    pass_on(std::move(going_on), header, rider);
    return;
  }
  std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  if (found.kind == route_kind::local || found.kind == route_kind::group) {
    flow_sums_.note(now_, packet->view.flow, flow_role::received, packet->view.ip_bytes);
    if (config_.tell_window == shim::window_telling::option) leave_room_for_option(copy, *packet);
    const shim::receive_verdict verdict = path_.receive(now_, header, packet->view);
    if (config_.limiter != nullptr && packet->view.flow.protocol == shim::ip_protocol_tcp) limit_sender_of(*packet);
    if (packet->transport_at != 0 && packet->view.flow.protocol == shim::ip_protocol_tcp) {
      if (verdict.window_bytes) shim::write_window(copy, *packet, *verdict.window_bytes);
      if (verdict.strip_window_scaling) shim::strip_window_scaling(copy, *packet);
    }
    const shim::flow_key flow = packet->view.flow;
    if (const auto* data = std::get_if<wire::exact_header>(&rider); data != nullptr && exact_) {
      exact_->on_data(now_, packet->view, *header, *data, next_hop_to(flow.source));
    } else if (const auto* report = std::get_if<wire::exact_report>(&rider)) {
      const shim::flow_key reported = exact_ ? exact_->reported_flow(flow.reversed()) : flow.reversed();
      if (exact_) exact_->on_report(now_, reported, *report, path_.shim().cwl_packets(reported));
      return;
    }
  }
  ++counters_.to_ip;
  kernel_.deliver(copy);
}

/// What the other end's SYN says of its MSS is the longest segment that this host will send: less the window option.
void packet_path::leave_room_for_option(std::span<std::uint8_t> bytes, shim::ip_packet& packet) const {
  const std::uint32_t mss_bytes = packet.view.tcp.mss_option_bytes;
  constexpr std::uint32_t tcp_bytes = 20;
  const std::uint32_t fits_bytes = config_.mtu_bytes - static_cast<std::uint32_t>(packet.payload_at) - tcp_bytes;
  const std::uint32_t longest_bytes = std::min(mss_bytes, fits_bytes);
  if (longest_bytes > shim::window_option_bytes) shim::lower_mss(bytes, packet, longest_bytes - shim::window_option_bytes);
}

// ---- Down

void packet_path::on_ip(time_us now, std::span<const std::uint8_t> bytes) {
  now_ = now;
  if (now_ - idle_looked_for_ >= idle_looked_for_every_us) forget_idle();
  ++counters_.from_ip;
  const auto packet = shim::read_ip(bytes);
  if (!packet || !path_.started()) {
    ++counters_.no_route;
    return;
  }
  bytes = bytes.first(packet->view.ip_bytes);
  const bool own = kernel_.find_route(packet->view.flow.source, false).kind == route_kind::local;
  if (own && syns_.is_early(now_, packet->view)) {
    ++counters_.early_syns;
    return;
  }
  const bool waits_for_rate = own && exact_ && exact_->paces(*packet);
  const bool tells_rate = own && exact_ && config_.policy.paces_by_exact() && packet->view.tcp.payload_bytes != 0;
  const std::size_t most_bytes = most_ip_bytes - (waits_for_rate || tells_rate ? wire::exact_data::size_bytes : 0);
  if (bytes.size() > most_bytes) {
    cut_or_answer(bytes, *packet, most_bytes);
    return;
  }
  if (waits_for_rate) {
    exact_->on_packet(now_, packet->view.flow, bytes);
    serve_exact(now_);
    return;
  }
  if (own && packet->view.flow.protocol == shim::ip_protocol_tcp) flow_of(packet->view.flow);  // in use from now on
  packet_path::packet sent = packet_of(bytes, *packet, own);
  if (own && config_.tell_window == shim::window_telling::option && sent.view.tcp.payload_bytes != 0) {
    if (shim::add_window_option(sent.content.bytes, sent.content.read, config_.mtu_bytes)) {
      sent.view.ip_bytes = sent.content.read.view.ip_bytes;
    } else {
      ++counters_.window_untold;
    }
  }
  if (tells_rate) {
    if (const auto told = exact_->on_segment(now_, sent.view)) {
      sent.rider = told->header;
      sent.view.exact = hop::view_of(*told);
    }
  }
  path_.send(now_, std::move(sent));
}

/// A packet of IP that no frame takes.
void packet_path::cut_or_answer(std::span<const std::uint8_t> bytes, const shim::ip_packet& packet, std::size_t most_bytes) {
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
  path_.room().forget(flow->first);
  flows_.erase(flow);
}

void packet_path::forget_idle() {
  idle_looked_for_ = now_;
  for (auto flow = flows_.begin(); flow != flows_.end();) {
    const auto next = std::next(flow);
    if (now_ - flow->second.last_used > flow_idle_us && !path_.room().paces(flow->first)) forget(flow);
    flow = next;
  }
  if (exact_) exact_->forget_idle(now_, flow_idle_us);
}

/// A packet for the sender of the other direction may have moved its limit, which holds before TCP sees the packet. What opened
/// before this daemon was started is found by its first packet.
void packet_path::limit_sender_of(const shim::ip_packet& packet) {
  // A SYN says nothing before this host's TCP has answered it, and anybody can send one.
  if (packet.view.tcp.syn && !packet.view.tcp.has_tcp_ack) return;
  const shim::flow_key key = packet.view.flow.reversed();
  flow& sent = flow_of(key);
  tell_limit(key, sent);
  if (limits_due_ && *limits_due_ <= now_) apply_limits();
}

void packet_path::tell_limit(const shim::flow_key& key, flow& flow) {
  if (config_.limiter == nullptr) return;
  const std::optional<std::uint32_t> limit_packets = path_.shim().cwl_packets(key);
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

/// A packet of this host's IP that does not wait.
void packet_path::originate(std::vector<std::uint8_t> bytes, const hop::exact_rider& rider, const shim::exact_view& exact) {
  const auto read = shim::read_ip(bytes);
  packet what{
      .view = read->view,
      .from = kernel_.find_route(read->view.flow.source, false).kind == route_kind::local ? hop::origin::here : hop::origin::elsewhere,
      .rider = rider,
      .content = {.bytes = std::move(bytes), .read = *read}};
  what.view.exact = exact;
  path_.pass(now_, std::move(what));
}

void packet_path::pass_on(packet&& what, const std::optional<wire::path_header>& header, const hop::exact_rider& rider) {
  shim::lower_ttl(what.content.bytes, what.content.read);
  --what.view.ttl;
  what.from = hop::origin::radio;
  what.header = header;
  what.rider = rider;
  if (header || what.content.bytes.size() <= most_ip_bytes) {
    path_.pass(now_, std::move(what));
    return;
  }
  const auto receiver = receiver_of(what);
  if (!receiver) return;
  const bool queued = path_.pass_plain(now_, what.view, *receiver, [&](std::uint64_t address, std::uint8_t peer) -> queue_entry {
    std::vector<std::uint8_t> msdu(wire::llc_snap::size_bytes);
    wire::llc_snap{.ethertype = static_cast<std::uint16_t>(what.content.read.ipv6 ? ipv6_ethertype : ipv4_ethertype)}.encode(
        std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
    msdu.insert(msdu.end(), what.content.bytes.begin(), what.content.bytes.end());
    neighbour_sums_.open(peer, address);
    return {.receiver_address = address,
            .mpdu_bytes = static_cast<std::uint32_t>(mac_header_bytes + msdu.size() + fcs_bytes),
            .what = {.msdu = std::move(msdu), .peer = peer, .next_hop = what.content.to->next_hop, .since = now_}};
  });
  if (!queued) return;
  ++counters_.forwarded;
  ++counters_.plain;
  flow_sums_.note(now_, what.view.flow, flow_role::forwarded, what.view.ip_bytes);
}

// ---- EXACT

void packet_path::serve_exact(time_us now) {
  now_ = now;
  if (!exact_ || !path_.started()) return;
  exact_->serve(now, *this);
}

void packet_path::send_report(exact_flows::due_report&& due) {
  originate(shim::empty_udp(due.flow.reversed()), due.report, {.follows = true});
}

void packet_path::send_data(exact_flows::sent&& data) { originate(std::move(data.what), data.exact.header, hop::view_of(data.exact)); }

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
  if (!path_.started()) return std::nullopt;
  std::optional<time_us> earliest = path_.next_deadline();
  if (const auto exact = exact_ ? exact_->next_deadline(has_room()) : std::nullopt) {
    earliest = std::min(earliest.value_or(*exact), *exact);
  }
  if (limits_due_) earliest = std::min(earliest.value_or(*limits_due_), *limits_due_);
  if (const auto look = watch_.next_look()) earliest = std::min(earliest.value_or(*look), *look);
  return earliest;
}

void packet_path::on_deadline(time_us now) {
  now_ = now;
  if (!path_.started()) return;
  path_.expire(now);
  if (limits_due_ && *limits_due_ <= now) apply_limits();
  if (watch_.look(now, driver_.mac_clock_us())) {
    ++counters_.mac_stalls;
    stall_ = "the MAC is not done with a packet after " + std::to_string(credit_watch::patience_looks) + " s (" +
             std::to_string(given_.size()) + " of " + std::to_string(mac_->send_credits) +
             " credits are out): the daemon connects to it anew";
    driver_.restart(stall_);
  }
  serve_exact(now);
}

void packet_path::set_policy(time_us now, const shim::flow_policy& policy) {
  now_ = now;
  config_.policy = policy;
  if (!path_.started()) return;
  path_.set_policy(now, policy);
  for (auto& [key, flow] : flows_) {
    flow.most_in_flight = 0;
    flow.data_segments = 0;
    tell_limit(key, flow);
  }
  if (config_.limiter != nullptr) apply_limits();
}

std::vector<packet_path::flow_report> packet_path::flows() const {
  std::vector<flow_report> reports;
  if (!path_.started()) return reports;
  const shim::shim& known = path_.shim();
  for (const auto& [key, flow] : flows_) {
    flow_report report{.key = key,
                       .packets_in_flight = known.packets_in_flight(key),
                       .most_in_flight = flow.most_in_flight,
                       .cwl_packets = known.cwl_packets(key),
                       .path = known.last_path(key),
                       .pacing_interval_us = known.pacing_interval_us(key),
                       .last_used = flow.last_used};
    if (flow.data_segments >= settled_segments) {
      report.limit_without_effect = known.limit_without_effect(key);
      report.pacing_without_effect = known.pacing_without_effect(key);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::size_t packet_path::queued_packets(std::uint8_t peer) const {
  std::size_t found = 0;
  path_.queue().for_each([&found, peer](const queue_entry& entry) { found += entry.what.peer == peer ? 1 : 0; });
  return found;
}

}  // namespace perhop::node
