// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "host/core/hop/exact_rider.hpp"
#include "host/core/shim/ip_packet.hpp"
#include "host/core/wire/path_header.hpp"
#include "sim/kernel/addresses.hpp"
#include "sim/run/completion_record.hpp"

namespace perhop::kernels {

namespace {

// The daemon's: so that a packet with path header still fits the largest MSDU.
constexpr std::uint32_t mtu_bytes = 1500;
// Its watch tells a MAC that keeps packets; a simulated one has as many as its queue.
constexpr std::uint32_t send_credits = 4;
// The receivers of a group frame hear it a propagation time after its sender is done with it; far above that of any radio here.
constexpr air::tick group_linger_us = 1000;

bool is_group(std::uint64_t address) { return (address >> group_address_bit & 1) != 0; }

/// The IP packet in an MSDU, and the path header before it where there is one.
struct content {
  std::optional<wire::path_header> header;
  std::optional<shim::ip_packet> packet;
};

content content_of(std::span<const std::uint8_t> msdu) {
  content found;
  const auto llc = wire::llc_snap::decode(msdu);
  if (!llc) return found;
  std::span<const std::uint8_t> rest = msdu.subspan(wire::llc_snap::size_bytes);
  if (llc->ethertype == path_header_ethertype) {
    const auto decoded = wire::decode(rest);
    if (!decoded) return found;
    found.header = *decoded;
    rest = rest.subspan(path_header_bytes);
    const auto rider = decoded->exact_follows ? hop::read_rider(rest) : hop::exact_rider{};
    if (!rider) return found;
    rest = rest.subspan(hop::rider_size(*rider));
  } else if (llc->ethertype != ipv4_ethertype) {
    return found;
  }
  found.packet = shim::read_ip(rest);
  return found;
}

/// What nodes say to each other of a flow of TCP: EXACT's reports, of which no IP knows.
bool is_report(const shim::ip_packet_view& packet) { return packet.flow.protocol == shim::ip_protocol_udp && flow_of(packet.flow); }

/// A packet of some IP's, which the ledgers count.
bool counts(const content& of) { return of.packet && !is_report(of.packet->view); }

}  // namespace

shim::flow_key key_of(const run::flow_config& flow, std::size_t index) {
  return {.source = shim::ip_address::from_ipv4(ipv4_of(flow.src)),
          .destination = shim::ip_address::from_ipv4(ipv4_of(flow.dst)),
          .source_port = static_cast<std::uint16_t>(first_source_port + index),
          .destination_port = static_cast<std::uint16_t>(first_sink_port + index)};
}

/// A MAC of the air as a driver of the daemon. What it has to tell it tells at once.
class network::mac final : public drivers::driver {
public:
  mac(network& owner, air::node_id node) : owner_(owner), node_(node) {}

  int descriptor() const override { return -1; }
  void poll(drivers::driver_listener&) override {}
  bool can_send() const override { return owner_.medium_.can_submit(node_); }
  bool send(const drivers::send_request& request) override {
    if (owner_.submit(node_, request)) return true;
    ++counters_.refused;
    return false;
  }
  /// A MAC of the air completes what it is given, however long that takes.
  void restart(const std::string&) override {}
  const drivers::driver_counters& counters() const override { return counters_; }

private:
  network& owner_;
  air::node_id node_;
  drivers::driver_counters counters_;
};

/// The routing table of a node, and its IP.
class network::routes final : public node::kernel {
public:
  routes(network& owner, air::node_id node) : owner_(owner), node_(node) {}

  node::route find_route(const shim::ip_address& destination, bool) override {
    const auto to = node_of(destination);
    if (!to) return {};
    if (*to == node_) return {.kind = node::route_kind::local};
    const auto next = owner_.next_hops_.find({node_, *to});
    if (next == owner_.next_hops_.end()) return {};
    return {.kind = node::route_kind::radio, .next_hop = shim::ip_address::from_ipv4(ipv4_of(next->second))};
  }
  void deliver(std::span<const std::uint8_t> packet) override {
    owner_.ledgers_[node_].to_ip.add(packet.size());
    if (ip_) {
      ip_(packet);
    } else {
      ++owner_.unclaimed_;
    }
  }
  void set_ip(ip_handler handler) { ip_ = std::move(handler); }

private:
  network& owner_;
  air::node_id node_;
  ip_handler ip_;
};

struct network::station {
  network::mac mac;
  network::routes routes;
  node::packet_path path;

  station(network& owner, air::node_id id, const node::packet_path_config& config)
      : mac(owner, id), routes(owner, id), path(config, routes, mac) {}
};

network::network(const run::run_config& config, run::run_report& report, air::pcapng_writer* capture, time_ns begin)
    : config_(config),
      report_(report),
      capture_(capture),
      begin_(begin),
      measure_from_(static_cast<air::tick>(std::llround(config.warmup_s * air::ticks_per_second))),
      end_(static_cast<air::tick>(std::llround(config.duration_s * air::ticks_per_second))),
      deadlines_(config.air.nodes.size()),
      flows_(config.flows.size()),
      ledgers_(config.air.nodes.size()),
      told_rates_bps_(config.flows.size()),
      medium_(config.air, *this) {
  for (const run::route_config& route : config.routes) next_hops_[{route.node, route.destination}] = route.next_hop;
  const air::mac_config& mac = config.air.mac;
  for (air::node_id id = 0; id < config.air.nodes.size(); ++id) {
    node::packet_path_config path;
    path.queue_packets = mac.queue_packets;
    path.mtu_bytes = mtu_bytes;
    path.swan = config.swan;
    if (!config.flows.empty()) path.policy = config.flows.front().policy;
    if (path.policy.paces_by_exact()) path.exact = config.exact.router;
    path.on_queue_drop = [this, id](const shim::ip_packet_view& view) {
      report_.on_queue_drop(id);
      if (!is_report(view)) ledgers_[id].queue_drops.add(view.ip_bytes);
      count(medium_.now(), view, &flow_packets::queue_drops_data, &flow_packets::queue_drops_tcp_acks);
    };
    stations_.push_back(std::make_unique<station>(*this, id, path));
  }
  for (const run::route_config& route : config.routes) {
    stations_[route.node]->path.known_neighbours().add(shim::ip_address::from_ipv4(ipv4_of(route.next_hop)),
                                                       air::mac_address(route.next_hop));
  }
  for (const air::link_rate& link : mac.link_rates) {
    stations_[link.from]->path.set_data_rate(air::mac_address(link.to), link.data_rate_index);
  }
  for (air::node_id id = 0; id < stations_.size(); ++id) {
    stations_[id]->path.on_up({.address = air::mac_address(id),
                               .profile = mac.profile,
                               .data_rate_index = mac.data_rate_index,
                               .rts_threshold_bytes = mac.rts_threshold_bytes,
                               .average_shift = mac.average_shift,
                               .send_credits = send_credits});
    touch(id);
  }
}

network::~network() = default;

void network::set_ip(air::node_id node, ip_handler handler) { stations_[node]->routes.set_ip(std::move(handler)); }

const node::packet_path& network::path(air::node_id node) const { return stations_[node]->path; }

std::uint64_t network::congestion_marks() const {
  return std::accumulate(stations_.begin(), stations_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& each) { return sum + each->path.shim()->counters().congestion_marks; });
}

// ---- Journeys

namespace {

constexpr std::size_t ttl_at = 8, ip_id_at = 4, tcp_at = 20, flags_at = tcp_at + 13;
constexpr std::uint8_t tcp_protocol = 6;

bool is_tcp(std::span<const std::uint8_t> packet) { return packet.size() > flags_at && packet[0] == 0x45 && packet[9] == tcp_protocol; }

std::uint32_t number_at(std::span<const std::uint8_t> packet, std::size_t at, std::size_t bytes) {
  std::uint32_t number = 0;
  for (std::size_t index = 0; index < bytes; ++index) number = number << 8 | packet[at + index];
  return number;
}

/// What routers do not change: identification, addresses, ports, sequence numbers and flags.
std::string identity_of(std::span<const std::uint8_t> packet) {
  std::string identity(packet.begin() + ip_id_at, packet.begin() + ip_id_at + 2);
  identity.append(packet.begin() + 12, packet.begin() + flags_at + 1);
  return identity;
}

}  // namespace

void network::tell_journeys(std::ostream& csv) {
  journeys_ = &csv;
  csv << "source,destination,source_port,destination_port,ip_id,sequence,tcp_ack,flags,ip_bytes,payload_bytes,node,next,here_us,enqueue_us,"
         "head_us,done_us,result,rts_attempts,data_attempts";
  for (const std::string_view part : air::service_parts::names) csv << ',' << part << "_us";
  csv << '\n';
}

void network::note_here(air::node_id node, std::span<const std::uint8_t> packet) {
  if (is_tcp(packet)) here_since_[{node, identity_of(packet)}] = medium_.now();
}

void network::tell_journey(const air::completion& record, std::span<const std::uint8_t> packet) {
  if (!is_tcp(packet)) return;
  const auto since = here_since_.find({record.node, identity_of(packet)});
  const std::size_t header_bytes = tcp_at + std::size_t{4} * (packet[tcp_at + 12] >> 4);
  std::ostream& csv = *journeys_;
  csv << text_of_ipv4(number_at(packet, 12, 4)) << ',' << text_of_ipv4(number_at(packet, 16, 4)) << ',' << number_at(packet, tcp_at, 2)
      << ',' << number_at(packet, tcp_at + 2, 2) << ',' << number_at(packet, ip_id_at, 2) << ',' << number_at(packet, tcp_at + 4, 4) << ','
      << number_at(packet, tcp_at + 8, 4) << ',' << unsigned{packet[flags_at]} << ',' << packet.size() << ','
      << packet.size() - std::min(header_bytes, packet.size()) << ',' << record.node << ','
      << static_cast<air::node_id>(record.ra - node_address_base - 1) << ',';
  if (since != here_since_.end()) csv << since->second;
  csv << ',' << record.t_enqueue_us << ',' << record.t_head_us << ',' << record.t_done_us << ',' << to_string(record.result) << ','
      << unsigned{record.rts_attempts} << ',' << unsigned{record.data_attempts};
  for (const std::uint32_t part : record.parts.values()) csv << ',' << part;
  csv << '\n';
  if (since != here_since_.end()) here_since_.erase(since);
}

node_ledger network::ledger_of(air::node_id node) const {
  node_ledger found = ledgers_[node];
  const auto note = [&found](std::span<const std::uint8_t> msdu) {
    if (const content waits = content_of(msdu); counts(waits)) found.waiting.add(waits.packet->view.ip_bytes);
  };
  const node::packet_path& path = stations_[node]->path;
  path.path().queue().for_each([&note](const auto& entry) { note(entry.what.msdu); });
  std::vector<bool> in_mac(slots_.size(), true);
  for (const std::uint64_t free : free_) in_mac[free] = false;
  for (const auto& [until, lingers] : lingering_) in_mac[lingers] = false;
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    if (in_mac[index] && slots_[index].node == node) note(slots_[index].msdu);
  }
  return found;
}

// ---- Time

void network::touch(air::node_id node) {
  deadlines_.set(node, stations_[node]->path.next_deadline().value_or(air::never));
  if (on_rate_) tell_rates(node);
}

void network::tell_rates(air::node_id node) {
  for (std::size_t flow = 0; flow < told_rates_bps_.size(); ++flow) {
    if (config_.flows[flow].src != node) continue;
    const auto allowed_bps = allowed_rate_bps(flow);
    if (!allowed_bps || *allowed_bps == told_rates_bps_[flow]) continue;
    told_rates_bps_[flow] = *allowed_bps;
    on_rate_(flow, *allowed_bps);
  }
}

std::optional<std::uint64_t> network::allowed_rate_bps(std::size_t flow) const {
  const node::exact_flows* const exact = stations_[config_.flows[flow].src]->path.exact();
  const auto* const source = exact == nullptr ? nullptr : exact->find(key_of(config_.flows[flow], flow));
  return source != nullptr && source->sender.started() ? std::optional(source->sender.rate_bps()) : std::nullopt;
}

void network::catch_up(air::tick now) {
  if (medium_.now() < now) medium_.advance(now);
}

time_ns network::next_event() const {
  air::tick earliest = std::min(medium_.next_event(), deadlines_.earliest());
  if (next_event_ < config_.events.size()) earliest = std::min(earliest, config_.events[next_event_].at());
  // A deadline that has passed is now.
  return earliest > end_ ? never_ns : time_of(std::max(earliest, medium_.now()));
}

void network::act(time_ns now) {
  const air::tick tick = tick_of(now);
  if (medium_.next_event() <= tick) {
    medium_.advance_one();
    return;
  }
  catch_up(tick);
  play(tick);
  deadlines_.for_each_due(tick, [this, tick](air::node_id id) {
    stations_[id]->path.on_deadline(tick);
    touch(id);
  });
}

/// The events of the run that are due.
void network::play(air::tick now) {
  for (; next_event_ < config_.events.size() && config_.events[next_event_].at() <= now; ++next_event_) {
    const run::event_config& event = config_.events[next_event_];
    run::apply(medium_, event);
    for (std::size_t hop = 1; hop < event.path.size(); ++hop) {
      next_hops_[{event.path[hop - 1], event.path.back()}] = event.path[hop];
      if (event.both_ways) next_hops_[{event.path[hop], event.path.front()}] = event.path[hop - 1];
      for (const auto& [here, there] : {std::pair(event.path[hop - 1], event.path[hop]), std::pair(event.path[hop], event.path[hop - 1])}) {
        stations_[here]->path.known_neighbours().add(shim::ip_address::from_ipv4(ipv4_of(there)), air::mac_address(there));
      }
    }
    for (const air::node_id id : event.path) {
      stations_[id]->path.on_route_change(now);
      touch(id);
    }
  }
}

// ---- Down

void network::send_ip(time_ns now, air::node_id node, std::span<const std::uint8_t> packet) {
  if (tick_of(now) > end_) return;
  catch_up(tick_of(now));
  ledgers_[node].from_ip.add(packet.size());
  if (journeys_ != nullptr) note_here(node, packet);
  stations_[node]->path.on_ip(medium_.now(), packet);
  touch(node);
}

bool network::submit(air::node_id from, const drivers::send_request& request) {
  if (request.msdu.empty() || request.msdu.size() > most_msdu_bytes) return false;
  while (!lingering_.empty() && lingering_.front().first <= medium_.now()) {
    release(lingering_.front().second);
    lingering_.pop_front();
  }
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::uint64_t index = free_.back();
  free_.pop_back();
  slots_[index] = {.node = from, .cookie = request.cookie, .msdu = {request.msdu.begin(), request.msdu.end()}};
  if (medium_.now() >= measure_from_) {
    const content sent = content_of(request.msdu);
    const auto flow = sent.packet ? flow_of(sent.packet->view.flow) : std::nullopt;
    if (flow && flow->answer && flow->index < flows_.size() && from == config_.flows[flow->index].dst &&
        sent.packet->view.tcp.is_bare_tcp_ack()) {
      ++flows_[flow->index].tcp_acks_sent;
    }
  }
  medium_.submit(from, {.ra = request.receiver_address,
                        .peer = request.peer,
                        .mpdu_bytes = static_cast<std::uint16_t>(mac_header_bytes + request.msdu.size() + fcs_bytes),
                        .rate_index = request.rate_index,
                        .use_rts = request.use_rts,
                        .payload = index});
  return true;
}

// ---- Up

run::hop_traffic network::traffic_of(std::span<const std::uint8_t> msdu) const {
  const content carried = content_of(msdu);
  const auto flow = carried.packet ? flow_of(carried.packet->view.flow) : std::nullopt;
  return !flow ? run::hop_traffic::control : flow->answer ? run::hop_traffic::answer : run::hop_traffic::data;
}

void network::count(air::tick now, const shim::ip_packet_view& view, std::uint64_t flow_packets::* data,
                    std::uint64_t flow_packets::* tcp_acks) {
  const auto flow = flow_of(view.flow);
  if (now < measure_from_ || !flow || flow->index >= flows_.size()) return;
  ++(flows_[flow->index].*(view.tcp.payload_bytes != 0 ? data : tcp_acks));
}

void network::on_transmission(const air::transmission& frame) {
  report_.on_transmission(frame);
  if (capture_ == nullptr || config_.air.mac.fidelity != air::mac_fidelity::core || !capture_->keeps(frame)) return;
  capture_->write(frame, frame.kind == frame_kind::data ? air::byte_span(slots_[frame.payload].msdu) : air::byte_span());
}

void network::on_frame_bytes(const air::transmission& frame, air::byte_span psdu) {
  if (capture_ != nullptr && capture_->keeps(frame)) capture_->write_psdu(frame, psdu);
}

void network::on_lost(const air::lost_frame& lost) {
  if (capture_ != nullptr) capture_->note(lost);
}

void network::write_msdu(air::node_id, const air::tx_request& request, std::vector<std::uint8_t>& msdu) {
  msdu = slots_[request.payload].msdu;
}

void network::on_delivery(air::tick now, air::node_id to, const air::transmission& frame) {
  // A copy: what the receiver sends on may take the memory that the slots lie in.
  const std::vector<std::uint8_t> msdu = slots_[frame.payload].msdu;
  const content carried = content_of(msdu);
  if (carried.header && carried.header->hops == 1) {
    report_.on_path_header_delay(now, frame.node, to, carried.header->total_delay_us, traffic_of(msdu));
  }
  if (counts(carried)) {
    ledgers_[to].neighbours[frame.node].from_air.add(carried.packet->view.ip_bytes);
    if (journeys_ != nullptr) note_here(to, std::span(msdu).last(carried.packet->view.ip_bytes));
  }
  node::packet_path& path = stations_[to]->path;
  path.at(now);
  path.on_reception({.receiver_address = frame.ra,
                     .transmitter_address = frame.ta,
                     .tsf_us = now,
                     .sequence = frame.sequence,
                     .rate_index = frame.rate_index,
                     .msdu = msdu});
  touch(to);
}

void network::on_completion(air::tick now, const air::completion& record) {
  const slot done = slots_[record.payload];
  report_.on_completion(record, traffic_of(done.msdu));
  if (const content sent = content_of(done.msdu); counts(sent)) {
    const bool delivered = record.result == tx_result::delivered || record.result == tx_result::group_sent;
    node_ledger::hop_ledger& there = ledgers_[record.node].neighbours[static_cast<air::node_id>(record.ra - node_address_base - 1)];
    (delivered ? there.delivered : there.mac_drops).add(sent.packet->view.ip_bytes);
    if (journeys_ != nullptr) tell_journey(record, std::span(done.msdu).last(sent.packet->view.ip_bytes));
  }
  if (record.result == tx_result::short_retry_limit || record.result == tx_result::long_retry_limit) {
    report_.on_link_failure(now, medium_.in_range(record.node, static_cast<air::node_id>(record.ra - node_address_base - 1)));
    if (const content given_up = content_of(done.msdu); given_up.packet) {
      count(now, given_up.packet->view, &flow_packets::mac_drops_data, &flow_packets::mac_drops_tcp_acks);
    }
  }
  if (is_group(record.ra)) {
    lingering_.emplace_back(now + group_linger_us, record.payload);
  } else {
    release(record.payload);
  }
  node::packet_path& path = stations_[record.node]->path;
  path.at(now);
  path.on_completion(done.cookie, run::record_of(record));
  touch(record.node);
}

}  // namespace perhop::kernels
