// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/flow_config.hpp"

#include <utility>

#include "host/core/shim/flow_policy_fields.hpp"
#include "host/core/wire/generated/frames.hpp"
#include "sim/run/json_section.hpp"
#include "sim/run/table_fields.hpp"

namespace perhop::run {

namespace {

// A packet over UDP begins with its number and the time it left; one of the largest MPDU leaves room for the headers.
constexpr std::uint64_t least_payload_bytes = 12;
constexpr std::uint64_t most_payload_bytes = 2200;

void read_exact_flow(json_section& flow, flow_config& config) {
  config.application = flow.one_of<exact_application>("application", "application",
                                                      {{"greedy", exact_application::greedy}, {"audio", exact_application::audio}});
  const auto rate = [&](const char* key) { return flow.number(key, 0, 1e9); };
  flow.optional("demand_bps", config.demand_bps, rate);
  const auto seconds = [&](const char* key) { return flow.number(key, 0, 1e6); };
  flow.optional("diid_s", config.diid_s, seconds);
  const auto weight = [&](const char* key) { return flow.number(key, 1e-3, 1e3); };
  flow.optional("weight", config.weight, weight);
}

void read_tfrc_flow(json_section& flow, flow_config& config) {
  const auto profile = [&](const char* key) {
    return flow.one_of<policy::tfrc_profile>(key, "profile",
                                             {{"paper", policy::tfrc_profile::paper}, {"rfc5348", policy::tfrc_profile::rfc5348}});
  };
  flow.optional("profile", config.profile, profile);
  const auto intervals = [&](const char* key) { return static_cast<std::uint32_t>(flow.integer(key, 1, 1024)); };
  flow.optional("loss_intervals", config.loss_intervals, intervals);
  const auto flag = [&](const char* key) { return flow.boolean(key); };
  flow.optional("avoid_oscillation", config.avoid_oscillation, flag);
}

}  // namespace

flow_config read_flow(json_section flow, std::size_t nodes) {
  flow_config config;
  config.kind = flow.one_of<flow_kind>("kind", "flow kind",
                                       {{"tcp", flow_kind::tcp},
                                        {"cbr", flow_kind::cbr},
                                        {"exact", flow_kind::exact},
                                        {"tfrc", flow_kind::tfrc},
                                        {"mac_saturated", flow_kind::mac_saturated},
                                        {"mac_poisson", flow_kind::mac_poisson}});
  config.src = static_cast<node_id>(flow.integer("src", 0, nodes - 1));
  config.dst = static_cast<node_id>(flow.integer("dst", 0, nodes - 1));
  if (config.src == config.dst) flow.fail("dst", "is src itself; name another node");
  const auto seconds = [&](const char* key) { return flow.number(key, 0, 1e9); };
  flow.optional("start_s", config.start_s, seconds);
  flow.optional("stop_s", config.stop_s, seconds);
  if (config.stop_s && *config.stop_s <= config.start_s) flow.fail("stop_s", "must be later than start_s");

  if (is_udp(config.kind)) {
    const std::uint64_t least_bytes = least_payload_bytes + (config.kind == flow_kind::tfrc ? wire::tfrc_data::size_bytes : 0);
    config.payload_bytes = static_cast<std::uint32_t>(flow.integer("payload_bytes", least_bytes, most_payload_bytes));
    if (config.kind == flow_kind::tfrc) {
      read_tfrc_flow(flow, config);
    } else if (config.kind == flow_kind::cbr) {
      config.rate_bps = flow.positive("rate_bps", 1e9);
      const auto packets = [&](const char* key) { return static_cast<std::uint32_t>(flow.integer(key, 1, 1000)); };
      flow.optional("burst_packets", config.burst_packets, packets);
      flow.optional("expedited", config.expedited, [&](const char* key) { return flow.boolean(key); });
    } else {
      read_exact_flow(flow, config);
    }
    flow.finish();
    return config;
  }
  if (config.kind != flow_kind::tcp) {
    config.ip_bytes = static_cast<std::uint32_t>(flow.integer("ip_bytes", 1, 4000));
    config.path_header = flow.boolean("path_header");
    if (config.kind == flow_kind::mac_poisson) config.rate_packets_per_s = flow.positive("rate_packets_per_s", 1e6);
    flow.finish();
    return config;
  }
  config.variant = flow.text("variant");
  config.sack = flow.boolean("sack");
  flow.optional("ecn", config.ecn, [&](const char* key) { return flow.boolean(key); });
  config.segment_bytes = static_cast<std::uint32_t>(flow.integer("segment_bytes", 1, 4000));
  config.tcp_ack_every = static_cast<std::uint32_t>(flow.integer("tcp_ack_every", 1, 1000));
  const auto milliseconds = [&](const char* key) { return static_cast<std::uint32_t>(flow.integer(key, 1, longest_rto_ms)); };
  flow.optional("min_rto_ms", config.min_rto_ms, milliseconds);
  flow.optional("max_rto_ms", config.max_rto_ms, milliseconds);
  if (config.max_rto_ms < config.min_rto_ms) flow.fail("max_rto_ms", "is below min_rto_ms; raise it, or leave it out for 60000");
  const auto bytes = [&](const char* key) { return flow.integer(key, 1, 1'000'000'000'000); };
  flow.optional("transfer_bytes", config.transfer_bytes, bytes);
  const auto rate = [&](const char* key) { return flow.positive(key, 1e9); };
  flow.optional("rate_bps", config.tcp_rate_bps, rate);
  config.max_window_packets = static_cast<std::uint32_t>(flow.integer("max_window_packets", 0, 1'000'000));
  table_fields policy(flow.object("policy"));
  config.policy = shim::read_flow_policy(policy);
  if (config.policy.tcp_ack.kind != policy::tcp_ack_kind::every && config.tcp_ack_every != 1) {
    flow.fail("tcp_ack_every", "must be 1 where policy.tcp_ack decides when TCP ACKs are sent");
  }
  flow.finish();
  return config;
}

void load_own_policy(const shim::flow_policy& policy, const std::string& field) {
  try {
    own::load_own(policy);
  } catch (const own::policy_error& error) {
    throw config_error(field + ".own: " + error.text());
  }
}

}  // namespace perhop::run
