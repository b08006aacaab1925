// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/run_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <ostream>
#include <string_view>

namespace perhop::run {

using namespace air;

namespace {

using nlohmann::ordered_json;

double mean(double sum, std::uint64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); }

std::string_view name_of(flow_kind kind) {
  switch (kind) {
    case flow_kind::tcp:
      return "tcp";
    case flow_kind::cbr:
      return "cbr";
    case flow_kind::exact:
      return "exact";
    case flow_kind::tfrc:
      return "tfrc";
    case flow_kind::mac_saturated:
      return "mac_saturated";
    case flow_kind::mac_poisson:
      return "mac_poisson";
  }
  return {};
}

std::string_view name_of(mac_fidelity fidelity) {
  switch (fidelity) {
    case mac_fidelity::core:
      return "core";
    case mac_fidelity::bytes:
      return "bytes";
    case mac_fidelity::samples:
      return "samples";
  }
  return {};
}

std::string_view name_of(hop_traffic traffic) {
  switch (traffic) {
    case hop_traffic::data:
      return "forward";
    case hop_traffic::answer:
      return "return";
    case hop_traffic::control:
      return "control";
    case hop_traffic::broadcast:
      return "broadcast";
  }
  return {};
}

/// null where there is nothing.
ordered_json or_null(const std::optional<double>& value) { return value ? ordered_json(*value) : ordered_json(nullptr); }

void add_udp(ordered_json& json, const flow_result& measured) {
  const auto add = [&json](const char* name, const std::optional<double>& value) {
    if (value) json[name] = *value;
  };
  add("rtt_ms", measured.rtt_ms);
  add("sent_packets", measured.sent_packets);
  add("loss_share", measured.loss_share);
  add("delay_ms", measured.delay_ms);
  add("delay_p95_ms", measured.delay_p95_ms);
  add("rate_signal_bps", measured.rate_signal_bps);
  add("allowed_rate_bps", measured.allowed_rate_bps);
  add("app_rate_bps", measured.app_rate_bps);
  add("rate_changes", measured.rate_changes);
  add("signal_changes", measured.signal_changes);
  add("loss_event_rate", measured.loss_event_rate);
  add("loss_intervals", measured.loss_intervals);
  add("loss_prediction_error", measured.loss_prediction_error);
  add("no_feedback_halvings", measured.no_feedback_halvings);
}

void add_tcp(ordered_json& json, const flow_result& measured) {
  json.update(ordered_json{{"rtt_ms", or_null(measured.rtt_ms)},
                           {"cwl_packets", or_null(measured.cwl_packets)},
                           {"cwnd_packets", or_null(measured.cwnd_packets)},
                           {"sent_packets", or_null(measured.sent_packets)},
                           {"loss_share", or_null(measured.loss_share)},
                           {"retransmissions", measured.retransmissions},
                           {"timeouts", measured.timeouts},
                           {"rtt_p95_ms", or_null(measured.rtt_p95_ms)},
                           {"tcp_acks_sent", measured.tcp_acks_sent},
                           {"tcp_acks_per_packet", or_null(measured.tcp_acks_per_packet)},
                           {"tcp_acks_held", measured.tcp_acks_held},
                           {"tcp_acks_window_share", or_null(measured.tcp_acks_window_share)},
                           {"tcp_acks_timer_share", or_null(measured.tcp_acks_timer_share)},
                           {"tcp_acks_disorder_share", or_null(measured.tcp_acks_disorder_share)},
                           {"tcp_acks_repeated", measured.tcp_acks_repeated},
                           {"mac_drops_data_packets", measured.mac_drops_data_packets},
                           {"mac_drops_tcp_ack_packets", measured.mac_drops_tcp_ack_packets},
                           {"queue_drops_data_packets", measured.queue_drops_data_packets},
                           {"queue_drops_tcp_ack_packets", measured.queue_drops_tcp_ack_packets},
                           {"link_failure_drops_packets", measured.link_failure_drops_packets},
                           {"link_failure_drops_data_packets", measured.link_failure_drops_data_packets},
                           {"max_packets_in_flight", measured.max_packets_in_flight}});
  if (measured.allowed_rate_bps) json["allowed_rate_bps"] = *measured.allowed_rate_bps;
}

ordered_json clocks_json(const air_counters& counters) {
  ordered_json clocks;
  for (std::size_t cause = 0; cause < clock_cause_names.size(); ++cause) {
    clocks[std::string(clock_cause_names[cause])] = counters.clocks_for[cause];
  }
  return clocks;
}

constexpr std::string_view completions_header =
    "t_done_us,node,next_hop,tag,peer,sequence,mpdu_bytes,rate_index,result,rts_attempts,data_attempts,ssrc,slrc,cw,slots_drawn,"
    "t_enqueue_us,t_head_us,t_first_tx_us,queue_us,ifs_us,backoff_us,frozen_cca_us,frozen_nav_us,control_us,data_us,response_us,"
    "timeout_us,responder_us,avg_contention_us16,avg_overhead_us16,avg_data_attempts_256\n";

constexpr std::string_view phy_header = "time_us,node,event,rate_index,bytes,error,rssi_dbm,snr_db,carrier_khz\n";

}  // namespace

ordered_json flow_json(const flow_config& flow, const flow_result& measured, bool has_measured) {
  ordered_json json = {{"kind", name_of(flow.kind)}, {"src", flow.src}, {"dst", flow.dst}};
  if (!has_measured) return json;
  json.update(ordered_json{
      {"goodput_bps", measured.goodput_bps}, {"packets_per_s", measured.packets_per_s}, {"delivered_packets", measured.delivered_packets}});
  if (flow.kind == flow_kind::tcp) add_tcp(json, measured);
  if (flow.transfer_bytes != 0) json["completion_s"] = or_null(measured.completion_s);
  if (is_udp(flow.kind)) add_udp(json, measured);
  return json;
}

double predicted_service_us(const timing_profile& profile, const completion& record) {
  return static_cast<double>(record.avg_contention_us16 + record.avg_overhead_us16) / neighbour_average_steps_per_us +
         static_cast<double>(record.avg_data_attempts_256) / neighbour_attempt_steps *
             airtime_us(profile, record.rate_index, record.mpdu_bytes);
}

run_report::run_report(const run_config& config, std::ostream* lines, std::ostream* completions_csv, std::ostream* phy_csv)
    : config_(config),
      measure_from_(static_cast<tick>(std::llround(config.warmup_s * ticks_per_second))),
      trace_(lines),
      completions_csv_(completions_csv),
      phy_csv_(phy_csv),
      queue_drops_(config.node_count()),
      link_failure_drops_(config.node_count()) {
  for (const wire_config& wire : config.wires) {
    wires_.push_back({.from = wire.a, .to = wire.b});
    wires_.push_back({.from = wire.b, .to = wire.a});
  }
  if (completions_csv_ != nullptr) *completions_csv_ << completions_header;
  if (phy_csv_ != nullptr) *phy_csv_ << phy_header;
}

void run_report::on_wire_packet(tick now, node_id from, node_id to, bool taken) {
  if (now < measure_from_) return;
  const auto wire = std::ranges::find_if(wires_, [from, to](const wire_sums& sums) { return sums.from == from && sums.to == to; });
  ++(taken ? wire->packets : wire->drops);
}

run_report::hop_sums& run_report::hop(const hop_key& key) {
  if (last_hop_ < hops_.size() && hop_keys_[last_hop_] == key) return hops_[last_hop_];
  const auto [entry, added] = hop_index_.try_emplace(key, hops_.size());
  if (added) {
    hops_.emplace_back();
    hop_keys_.push_back(key);
  }
  last_hop_ = entry->second;
  return hops_[last_hop_];
}

void run_report::on_completion(const completion& record, hop_traffic traffic) {
  trace_.add(record);
  ++completions_checked_;
  const auto parts = record.parts.values();
  if (record.parts.sum_us() != record.t_done_us - record.t_enqueue_us) ++sum_mismatches_;
  const auto to = record.ra == broadcast_address ? static_cast<node_id>(-1) : static_cast<node_id>(record.ra - node_address_base - 1);

  if (completions_csv_ != nullptr) {
    std::ostream& csv = *completions_csv_;
    csv << record.t_done_us << ',' << record.node << ',' << static_cast<std::int64_t>(static_cast<std::int32_t>(to)) << ',' << record.tag
        << ',' << +record.peer << ',' << record.sequence << ',' << record.mpdu_bytes << ',' << +record.rate_index << ','
        << to_string(record.result) << ',' << +record.rts_attempts << ',' << +record.data_attempts << ',' << +record.ssrc << ','
        << +record.slrc << ',' << record.cw << ',' << record.slots_drawn << ',' << record.t_enqueue_us << ',' << record.t_head_us << ','
        << record.t_first_tx_us;
    for (const std::uint32_t part : parts) csv << ',' << part;
    csv << ',' << record.avg_contention_us16 << ',' << record.avg_overhead_us16 << ',' << record.avg_data_attempts_256 << '\n';
  }

  if (record.t_done_us < measure_from_) return;
  hop_sums& sums = hop({record.node, to, record.ra == broadcast_address ? hop_traffic::broadcast : traffic});
  ++sums.packets;
  const bool delivered = record.result == tx_result::delivered || record.result == tx_result::group_sent;
  ++(delivered ? sums.delivered : sums.drops);
  sums.rts_attempts += record.rts_attempts;
  sums.data_attempts += record.data_attempts;
  // Every attempt after the first exchange: RTS without CTS, and DATA without MAC ACK.
  const unsigned attempts = record.rts_attempts != 0 ? record.rts_attempts : record.data_attempts;
  sums.retries += attempts - std::min(attempts, 1U);
  sums.service_us += record.service_time_us();
  for (std::size_t part = 0; part < parts.size(); ++part) sums.parts_us[part] += parts[part];
  sums.table_service_us += predicted_service_us(*config_.air.mac.profile, record);
  sums.table_contention_us += static_cast<double>(record.avg_contention_us16) / neighbour_average_steps_per_us;
  sums.table_overhead_us += static_cast<double>(record.avg_overhead_us16) / neighbour_average_steps_per_us;
  sums.table_data_attempts += static_cast<double>(record.avg_data_attempts_256) / neighbour_attempt_steps;
}

void run_report::on_phy(const phy_event& event) {
  if (phy_csv_ == nullptr) return;
  constexpr double symbol_us = 1;
  const double carrier_khz = std::atan(event.tangent_128 / 128.0) / (2 * std::numbers::pi * symbol_us) * 1e3;
  std::array<char, 120> line;
  const int length = std::snprintf(line.data(), line.size(), "%.3f,%u,%s,%u,%u,%d,%d,%d,%.1f\n", event.time_us, event.node,
                                   phy_event::names[static_cast<std::size_t>(event.kind)].data(), event.rate_index, event.bytes,
                                   event.error, event.rssi_dbm, event.snr_db, carrier_khz);
  phy_csv_->write(line.data(), length);
}

void run_report::on_path_header_delay(tick now, node_id from, node_id to, double delay_us, hop_traffic traffic) {
  if (now < measure_from_) return;
  hop_sums& sums = hop({from, to, traffic});
  ++sums.stamps;
  sums.stamps_us += delay_us;
}

ordered_json run_report::hops_json() const {
  // Forward hops of the first flow's path first, then the rest as they appear in the routes of the flows.
  std::vector<std::size_t> order;
  std::vector<bool> taken(hops_.size());
  const auto take = [&](const hop_key& key) {
    const auto found = hop_index_.find(key);
    if (found == hop_index_.end() || taken[found->second]) return;
    taken[found->second] = true;
    order.push_back(found->second);
  };
  const auto take_path = [&](const std::vector<node_id>& path, hop_traffic traffic) {
    for (std::size_t index = 1; index < path.size(); ++index) take({path[index - 1], path[index], traffic});
  };
  for (const flow_config& flow : config_.flows) {
    take_path(has_ip(flow.kind) ? config_.path(flow.src, flow.dst) : std::vector{flow.src, flow.dst}, hop_traffic::data);
    if (answers(flow.kind)) take_path(config_.path(flow.dst, flow.src), hop_traffic::answer);
  }
  for (const hop_key& key : hop_keys_) take(key);

  ordered_json hops = ordered_json::array();
  for (const std::size_t index : order) {
    const hop_sums& sums = hops_[index];
    const auto& [from, to, traffic] = hop_keys_[index];
    ordered_json parts;
    for (std::size_t part = 0; part < sums.parts_us.size(); ++part) {
      parts[std::string(service_parts::names[part])] = mean(static_cast<double>(sums.parts_us[part]), sums.packets);
    }
    const auto part_mean = [&](std::string_view name) { return parts[std::string(name)].get<double>(); };
    const double airtime_us = part_mean("control") + part_mean("data") + part_mean("response");
    const double service_us = mean(static_cast<double>(sums.service_us), sums.packets);
    hops.push_back({{"from", from},
                    {"to", static_cast<std::int64_t>(static_cast<std::int32_t>(to))},
                    {"direction", name_of(traffic)},
                    {"packets", sums.packets},
                    {"service_time_us", service_us},
                    {"contention_us", service_us - airtime_us},
                    {"airtime_us", airtime_us},
                    {"parts_us", parts},
                    {"rts_attempts", sums.rts_attempts},
                    {"data_attempts", sums.data_attempts},
                    {"retries", sums.retries},
                    {"drops", sums.drops},
                    {"neighbour_table",
                     {{"mean_service_us", mean(sums.table_service_us, sums.packets)},
                      {"avg_contention_us", mean(sums.table_contention_us, sums.packets)},
                      {"avg_overhead_us", mean(sums.table_overhead_us, sums.packets)},
                      {"avg_data_attempts", mean(sums.table_data_attempts, sums.packets)}}},
                    {"path_header_delay_us", mean(sums.stamps_us, sums.stamps)}});
  }
  return hops;
}

ordered_json run_report::result(tick end, const air_counters& counters, const cpu_times& cpu, const std::vector<flow_result>& flows,
                                bool interrupted) const {
  ordered_json result = {
      {"label", config_.label},
      {"seed", config_.seed},
      {"duration_s", config_.duration_s},
      {"measured_s", end > measure_from_ ? static_cast<double>(end - measure_from_) / ticks_per_second : 0.0},
      {"reception", config_.air.medium.reception == reception_kind::ns2 ? "ns2" : "sinr"},
      {"profile", config_.air.mac.profile->name},
      {"fidelity", name_of(config_.air.mac.fidelity)},
      {"compat", config_.air.mac.compatibility == mac_compatibility::ns2 ? "ns2" : "standard"},
      {"transmissions", transmissions_},
      {"trace_hash", trace_.hash_text()},
      {"completions_checked", completions_checked_},
      {"sum_mismatches", sum_mismatches_},
      {"cpu_s",
       {{"total", cpu.total_s}, {"rtl", cpu.rtl_s}, {"medium", cpu.medium_s}, {"transport", cpu.transport_s}, {"other", cpu.other_s}}},
      {"clocks", counters.clocks},
      {"clocks_for", clocks_json(counters)},
      {"wakes", counters.wakes},
      {"flows", ordered_json::array()},
      {"hops", hops_json()},
      {"queue_drops", queue_drops_},
      {"link_failure_drops", link_failure_drops_},
      {"interrupted", interrupted}};
  if (std::ranges::any_of(config_.flows, [](const flow_config& flow) { return has_ip(flow.kind); })) {
    result["link_failures"] = link_failures_;
    result["false_link_failures"] = false_link_failures_;
  }
  for (const wire_sums& wire : wires_) {
    result["wires"].push_back({{"from", wire.from}, {"to", wire.to}, {"packets", wire.packets}, {"drops", wire.drops}});
  }
  for (std::size_t index = 0; index < config_.flows.size() && index < flows.size(); ++index) {
    result["flows"].push_back(flow_json(config_.flows[index], flows[index], end > measure_from_));
  }
  return result;
}

}  // namespace perhop::run
