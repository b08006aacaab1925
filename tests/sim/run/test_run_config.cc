// SPDX-License-Identifier: GPL-2.0-or-later
//
// run.json: what is wrong is named, with the remedy.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "run_json.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::run {
namespace {

using nlohmann::json;

/// The message that a changed run.json gets; empty if it is accepted.
std::string message(const std::function<void(json&)>& change) {
  json run = two_node_run();
  change(run);
  try {
    parse_run_config(run.dump(), "run.json");
  } catch (const config_error& error) {
    return error.what();
  }
  return {};
}

TEST(run_config, a_valid_file_is_read) {
  json run = two_node_run();
  run["medium"]["propagation_us"] = 3;
  run["routes"] = {{0, 1, 1}, {1, 0, 0}};
  run["flows"].push_back(json::parse(R"({"kind": "tcp", "src": 0, "dst": 1, "variant": "newreno", "sack": false, "segment_bytes": 1460,
    "start_s": 0.1, "stop_s": null, "tcp_ack_every": 2, "max_window_packets": 44,
    "policy": {"cwl": "delay", "cwl_packets": 0, "round": "floor"}})"));
  const run_config config = parse_run_config(run.dump(), "run.json");
  EXPECT_EQ(config.air.mac.profile, find_profile("dsss_long"));
  EXPECT_EQ(config.air.medium.propagation_us, 3U);
  EXPECT_EQ(config.air.nodes.at(1).x_m, 250);
  EXPECT_EQ(config.path(0, 1), (std::vector<node_id>{0, 1}));
  EXPECT_EQ(config.flows.at(1).policy.cwl.kind, policy::cwl_kind::delay);
  EXPECT_EQ(config.flows.at(1).policy.cwl.rounding, policy::cwl_rounding::floor);
  EXPECT_FALSE(config.flows.at(1).stop_s);
  EXPECT_EQ(config.air.medium.sinr_threshold_db.size(), 4U);
}

TEST(run_config, an_unknown_choice_lists_the_known_ones) {
  EXPECT_EQ(
      message([](json& run) { run["mac"]["profile"] = "x"; }),
      "run.json: field mac.profile: unknown profile 'x'; one of dsss_long, dsss_short, ofdm_20mhz, erp_short_slot, ofdm_10mhz, host_phy, "
      "glomosim");
  EXPECT_EQ(message([](json& run) { run["medium"]["reception"] = "magic"; }),
            "run.json: field medium.reception: unknown reception rule 'magic'; one of ns2, sinr");
  EXPECT_EQ(message([](json& run) { run["warp"] = "off"; }),
            "run.json: field warp: unknown warp mode 'off'; one of on, all_nodes, every_tick");
}

TEST(run_config, only_dcf_acknowledges_on_the_link_unless_told_otherwise) {
  json run = two_node_run();
  const auto mac = [&run] { return parse_run_config(run.dump(), "run.json").air.mac; };
  EXPECT_EQ(mac().access, access_mode::dcf);
  EXPECT_TRUE(mac().mac_ack && mac().path_header);
  EXPECT_EQ(mac().vacation_us, 20U);
  run["mac"]["access_mode"] = "fama";
  EXPECT_EQ(mac().access, access_mode::fama);
  EXPECT_FALSE(mac().mac_ack);
  run["mac"]["mac_ack"] = true;
  EXPECT_TRUE(mac().mac_ack);
  EXPECT_EQ(message([](json& changed) { changed["mac"]["access_mode"] = "aloha"; }),
            "run.json: field mac.access_mode: unknown access mode 'aloha'; one of dcf, csma, fama");
}

TEST(run_config, fama_takes_settings_of_its_own) {
  json run = two_node_run();
  run["mac"]["access_mode"] = "fama";
  run["mac"]["fama"] = json::parse(R"({"sifs_us": 25, "cts_us": 597, "hold": true, "noise_us": 6150, "nav": false})");
  const air::fama_config fama = parse_run_config(run.dump(), "run.json").air.mac.fama;
  EXPECT_EQ(fama.sifs_us, 25U);
  EXPECT_EQ(fama.cts_us, 597U);
  EXPECT_FALSE(fama.rts_us || fama.random_step_us);
  EXPECT_TRUE(fama.hold && !fama.nav);
  EXPECT_EQ(fama.noise_us, 6150U);
  const auto refused = [&run](auto&& change) {
    return message([&](json& changed) {
      changed = run;
      change(changed["mac"]);
    });
  };
  EXPECT_EQ(refused([](json& mac) { mac["fama"]["cts_us"] = 0; }),
            "run.json: field mac.fama.cts_us: 0 is not a whole number from 1 to 8191");
  EXPECT_EQ(refused([](json& mac) { mac["fama"]["ack_us"] = 1; }),
            "run.json: field mac.fama.ack_us: unknown field; known here: sifs_us, rts_us, cts_us, random_step_us, hold, noise_us, nav");
  EXPECT_EQ(refused([](json& mac) { mac["access_mode"] = "csma"; }),
            "run.json: field mac.fama: is of access mode fama alone; leave it out");
  EXPECT_EQ(refused([](json& mac) { mac["compat"] = "ns2"; }), "run.json: field mac.fama: works with compat standard alone; leave it out");
  EXPECT_EQ(refused([](json& mac) { mac["fidelity"] = "bytes"; }), "run.json: field mac.fama: works at fidelity core alone; leave it out");
}

TEST(run_config, a_run_is_of_the_core_unless_it_wants_bytes) {
  json run = two_node_run();
  const auto mac = [&run] { return parse_run_config(run.dump(), "run.json").air.mac; };
  EXPECT_EQ(mac().fidelity, mac_fidelity::core);
  EXPECT_FALSE(mac().four_address);
  run["mac"]["fidelity"] = "bytes";
  run["mac"]["four_address"] = true;
  EXPECT_EQ(mac().fidelity, mac_fidelity::bytes);
  EXPECT_TRUE(mac().four_address);
  EXPECT_EQ(message([](json& changed) { changed["mac"]["fidelity"] = "waves"; }),
            "run.json: field mac.fidelity: unknown fidelity 'waves'; one of core, bytes, samples");
  EXPECT_EQ(message([](json& changed) {
              changed["mac"]["four_address"] = true;
              changed["outputs"]["pcapng"] = true;
            }),
            "run.json: field outputs.pcapng: of frames with four addresses needs the framer; set mac.fidelity to bytes, or "
            "mac.four_address to false");
}

TEST(run_config, samples_have_offsets_echoes_and_noise) {
  json run = two_node_run();
  run["mac"]["fidelity"] = "samples";
  const auto samples = [&run] { return parse_run_config(run.dump(), "run.json").air.medium.samples; };
  EXPECT_TRUE(samples().carrier_offset_hz.empty());
  EXPECT_TRUE(samples().taps.empty());
  run["medium"]["samples"] = json::parse(R"({"carrier_offset_hz": [1000, -2e3], "clock_offset_ppm": [25], "noise_figure_db": 9,
      "full_scale_dbm": -30, "taps": [{"delay_ns": 0, "gain_db": 0}, {"delay_ns": 90.5, "gain_db": -3, "phase_deg": 45}]})");
  EXPECT_EQ(samples().carrier_offset_hz, (std::vector<double>{1000, -2000}));
  EXPECT_EQ(samples().clock_offset_ppm, std::vector<double>{25});
  EXPECT_EQ(samples().noise_figure_db, 9);
  EXPECT_EQ(samples().full_scale_dbm, -30);
  ASSERT_EQ(samples().taps.size(), 2U);
  EXPECT_FALSE(samples().taps[0].phase_deg);
  EXPECT_EQ(samples().taps[1].delay_ns, 90.5);
  EXPECT_EQ(*samples().taps[1].phase_deg, 45);
}

TEST(run_config, what_a_modem_of_dsss_cannot_do_is_refused) {
  const auto refused = [](auto&& change) {
    return message([&](json& run) {
      run["mac"]["fidelity"] = "samples";
      change(run);
    });
  };
  EXPECT_EQ(refused([](json& run) { run["mac"]["profile"] = "ofdm_20mhz"; }),
            "run.json: field mac.profile: fidelity samples has a DSSS PHY; give dsss_long or dsss_short, or another mac.fidelity");
  EXPECT_EQ(refused([](json& run) { run["mac"]["data_rate_index"] = 3; }),
            "run.json: field mac.data_rate_index: the DSSS PHY of fidelity samples sends 1 and 2 Mb/s; give 0 or 1");
  EXPECT_EQ(refused([](json& run) { run["links"] = json::parse(R"([{"from": 0, "to": 1, "data_rate_index": 2}])"); }),
            "run.json: field links[0].data_rate_index: the DSSS PHY of fidelity samples sends 1 and 2 Mb/s; give 0 or 1");
  EXPECT_EQ(refused([](json& run) { run["medium"]["frame_error_rate"] = 0.1; }),
            "run.json: field medium.frame_error_rate: at fidelity samples no frame is lost but by its waveform; give 0");
  EXPECT_EQ(refused([](json& run) { run["events"] = json::parse(R"([{"at_s": 0.1, "kind": "loss", "frame_error_rate": 0.5}])"); }),
            "run.json: field events[0].kind: at fidelity samples no frame is lost but by its waveform; leave the event out, or set "
            "mac.fidelity to core or bytes");
  EXPECT_EQ(refused([](json& run) {
              run["events"] = json::parse(R"([{"at_s": 0.1, "kind": "move", "node": 1, "x_m": 0, "y_m": 9, "speed_mps": 2}])");
            }),
            "run.json: field events[0].speed_mps: at fidelity samples nodes are elsewhere at once; leave it out, or set mac.fidelity to "
            "core or bytes");
  EXPECT_EQ(
      refused([](json& run) { run["medium"]["cs_range_m"] = 900; }),
      "run.json: field medium.cs_range_m: what arrives from there, -94 dBm, is no more than 4 dB above the receiver's noise, -95 dBm, "
      "which would be heard as carrier; give a smaller range, more medium.tx_power_dbm, or less noise (medium.noise_dbm, "
      "medium.samples.noise_figure_db)");
  EXPECT_EQ(refused([](json& run) { run["medium"]["samples"]["carrier_offset_hz"] = json::array({1, "much"}); }),
            "run.json: field medium.samples.carrier_offset_hz: \"much\" is not a number from -1e+06 to 1e+06");
  EXPECT_EQ(refused([](json& run) { run["medium"]["samples"]["taps"] = json::array(); }),
            "run.json: field medium.samples.taps: is empty; give at least one path, or leave it out");
  EXPECT_EQ(refused([](json& run) { run["medium"]["samples"]["taps"] = json::parse(R"([{"delay_ns": -1, "gain_db": 0}])"); }),
            "run.json: field medium.samples.taps[0].delay_ns: -1 is out of range; give a number from 0 to 100000");
}

TEST(run_config, unknown_missing_and_wrong_fields_are_named) {
  EXPECT_EQ(
      message([](json& run) { run["mac"]["retries"] = 3; }),
      "run.json: field mac.retries: unknown field; known here: profile, compat, fidelity, access_mode, mac_ack, vacation_us, fama, "
      "path_header, four_address, data_rate_index, rts_threshold_bytes, short_retry_limit, long_retry_limit, queue_packets, average_shift");
  EXPECT_EQ(message([](json& run) { run["flows"][0].erase("dst"); }), "run.json: field flows[0].dst: is missing; add it");
  EXPECT_EQ(message([](json& run) { run.erase("nodes"); }), "run.json: field nodes: is missing; add it");
  EXPECT_EQ(message([](json& run) { run["nodes"][1]["x_m"] = "far"; }), "run.json: field nodes[1].x_m: must be a number");
  EXPECT_EQ(message([](json& run) { run["flows"][0]["path_header"] = 1; }), "run.json: field flows[0].path_header: must be true or false");
  EXPECT_EQ(message([](json& run) { run["mac"] = 3; }), "run.json: field mac: must be an object {...}");
}

TEST(run_config, values_out_of_range_say_the_range) {
  EXPECT_EQ(message([](json& run) { run["mac"]["data_rate_index"] = 4; }),
            "run.json: field mac.data_rate_index: 4 is not a whole number from 0 to 3");
  EXPECT_EQ(message([](json& run) { run["mac"]["short_retry_limit"] = -1; }),
            "run.json: field mac.short_retry_limit: -1 is not a whole number from 1 to 31");
  EXPECT_EQ(message([](json& run) { run["medium"]["frame_error_rate"] = 1.5; }),
            "run.json: field medium.frame_error_rate: 1.5 is out of range; give a number from 0 to 1");
  EXPECT_EQ(message([](json& run) { run["flows"][0]["dst"] = 2; }), "run.json: field flows[0].dst: 2 is not a whole number from 0 to 1");
  EXPECT_EQ(message([](json& run) { run["flows"][0]["dst"] = 0; }), "run.json: field flows[0].dst: is src itself; name another node");
  EXPECT_EQ(message([](json& run) { run["warmup_s"] = 0.5; }),
            "run.json: field warmup_s: leaves nothing to measure; give less than duration_s");
  EXPECT_NE(message([](json& run) { run["medium"]["cs_range_m"] = 100; }), "");
  EXPECT_NE(message([](json& run) { run["medium"]["propagation_us"] = 0; }), "");
  EXPECT_NE(message([](json& run) { run["medium"]["propagation_us"] = "slow"; }), "");
  EXPECT_NE(message([](json& run) { run["medium"]["sinr_threshold_db"] = {1, 2}; }), "");
  EXPECT_NE(message([](json& run) { run["schema"] = 2; }), "");
  EXPECT_NE(message([](json& run) { run["nodes"] = json::array(); }), "");
}

TEST(run_config, a_link_may_have_a_data_rate_of_its_own) {
  json run = two_node_run();
  run["links"] = json::parse(R"([{"from": 1, "to": 0, "data_rate_index": 3}])");
  const auto mac = parse_run_config(run.dump(), "run.json").air.mac;
  EXPECT_EQ(mac.data_rate_to(1, mac_address(0)), 3);
  EXPECT_EQ(mac.data_rate_to(0, mac_address(1)), 1);
  EXPECT_EQ(mac.data_rate_to(1, broadcast_address), mac.profile->lowest_basic_rate_index);
  EXPECT_EQ(mac.fastest_rate_from_bps(1), 11'000'000U);
  EXPECT_EQ(mac.fastest_rate_from_bps(0), 2'000'000U);
  const auto with = [](const char* links) { return message([links](json& changed) { changed["links"] = json::parse(links); }); };
  EXPECT_EQ(with(R"([{"from": 0, "to": 1, "data_rate_index": 4}])"),
            "run.json: field links[0].data_rate_index: 4 is not a whole number from 0 to 3");
  EXPECT_EQ(with(R"([{"from": 0, "to": 2, "data_rate_index": 0}])"), "run.json: field links[0].to: 2 is not a whole number from 0 to 1");
  EXPECT_EQ(with(R"([{"from": 1, "to": 1, "data_rate_index": 0}])"), "run.json: field links[0].to: is from itself; name another node");
  EXPECT_EQ(with(R"([{"from": 0, "to": 1}])"), "run.json: field links[0].data_rate_index: is missing; add it");
  EXPECT_EQ(with(R"([{"from": 0, "to": 1, "data_rate_index": 0, "rate": 1}])"),
            "run.json: field links[0].rate: unknown field; known here: from, to, data_rate_index");
  EXPECT_EQ(with(R"([{"from": 0, "to": 1, "data_rate_index": 0}, {"from": 0, "to": 1, "data_rate_index": 2}])"),
            "run.json: field links[1]: gives the rate from node 0 to node 1 a second time; remove one of the two");
}

TEST(run_config, tcp_needs_routes_both_ways) {
  const auto tcp = [](json& run) {
    run["flows"] = json::parse(R"([{"kind": "tcp", "src": 0, "dst": 1, "variant": "newreno", "sack": false, "segment_bytes": 1460,
      "start_s": 0, "stop_s": null, "tcp_ack_every": 1, "max_window_packets": 0, "policy": {"cwl": "none"}}])");
  };
  EXPECT_EQ(message([&](json& run) {
              tcp(run);
              run["routes"] = {{0, 1, 1}};
            }),
            "run.json: field flows[0].dst: routes do not lead from node 0 to node 1 and back; add them to routes");
  EXPECT_EQ(message([&](json& run) {
              tcp(run);
              run["routes"] = {{0, 1, 1}, {1, 0, 0}};
            }),
            "");
}

TEST(run_config, who_routes_on_demand_needs_no_route_at_the_start) {
  EXPECT_EQ(message([](json& run) {
              run["routing"] = "aodv";
              run["flows"] = json::parse(R"([{"kind": "cbr", "src": 0, "dst": 1, "start_s": 0, "stop_s": null, "rate_bps": 8000,
                "burst_packets": 1, "payload_bytes": 1000}])");
            }),
            "");
}

TEST(run_config, swan_is_there_when_it_is_named_and_has_its_defaults) {
  json run = two_node_run();
  EXPECT_FALSE(parse_run_config(run.dump(), "run.json").swan);
  run["swan"] = json::object();
  EXPECT_EQ(parse_run_config(run.dump(), "run.json").swan->threshold_us, policy::swan_settings{}.threshold_us);
  run["swan"] = {{"period_ms", 500}, {"threshold_ms", 30}, {"increase_bps", 7000}, {"decrease_share", 0.25}, {"gap_share", 2.0}};
  const policy::swan_settings swan = *parse_run_config(run.dump(), "run.json").swan;
  EXPECT_EQ(swan.period_us, 500'000U);
  EXPECT_EQ(swan.threshold_us, 30'000U);
  EXPECT_EQ(swan.increase_bps, 7000U);
  EXPECT_EQ(swan.decrease_share, 0.25);
  EXPECT_EQ(swan.gap_share, 2.0);
  EXPECT_NE(message([](json& bad) { bad["swan"] = {{"decrease_share", 1.0}}; }).find("run.json: field swan.decrease_share: 1"),
            std::string::npos);
  EXPECT_NE(message([](json& bad) { bad["swan"] = {{"threshold_us", 1}}; }).find("swan.threshold_us: unknown field"), std::string::npos);
}

TEST(run_config, a_move_takes_its_time_or_none) {
  json run = two_node_run();
  run["events"] = json::parse(R"([{"at_s": 0.1, "kind": "move", "node": 1, "x_m": 3, "y_m": 9, "speed_mps": 2.5},
                                  {"at_s": 0.2, "kind": "move", "node": 1, "x_m": 4, "y_m": 9}])");
  const run_config config = parse_run_config(run.dump(), "run.json");
  EXPECT_EQ(config.events[0].speed_mps, 2.5);
  EXPECT_EQ(config.events[1].speed_mps, air::no_time_mps);
  EXPECT_EQ(message([](json& bad) {
              bad["events"] = json::parse(R"([{"at_s": 0.1, "kind": "move", "node": 1, "x_m": 3, "y_m": 9, "speed_mps": 0}])");
            }),
            "run.json: field events[0].speed_mps: 0 is out of range; give a number from 1e-06 to 1e+06");
}

TEST(run_config, routing_is_static_and_ignores_failed_links_unless_the_file_says_otherwise) {
  json run = two_node_run();
  EXPECT_EQ(parse_run_config(run.dump(), "run.json").routing, routing_kind::fixed);
  EXPECT_EQ(parse_run_config(run.dump(), "run.json").link_failure, link_failure_kind::ignore);
  run["routing"] = "aodv";
  run["link_failure"] = "purge";
  EXPECT_EQ(parse_run_config(run.dump(), "run.json").routing, routing_kind::aodv);
  EXPECT_EQ(parse_run_config(run.dump(), "run.json").link_failure, link_failure_kind::purge);
  EXPECT_EQ(message([](json& wrong) { wrong["routing"] = "ospf"; }),
            "run.json: field routing: unknown routing protocol 'ospf'; one of static, aodv, dsr, gpsr");
}

TEST(run_config, local_repair_is_ns2s_unless_the_file_says_otherwise_and_is_for_aodv) {
  json run = two_node_run();
  run["routing"] = "aodv";
  const auto repair = [&run] { return parse_run_config(run.dump(), "run.json").local_repair; };
  EXPECT_EQ(repair(), local_repair_kind::as_ns2);
  run["local_repair"] = "rfc3561";
  EXPECT_EQ(repair(), local_repair_kind::by_rfc);
  run["local_repair"] = "off";
  EXPECT_EQ(repair(), local_repair_kind::off);
  EXPECT_EQ(message([](json& wrong) { wrong["local_repair"] = "off"; }), "run.json: field local_repair: is for routing aodv; leave it out");
}

TEST(run_config, the_policies_of_a_tcp_flow_are_read_and_default_to_none) {
  const auto flow_with = [](const char* policy, unsigned tcp_ack_every = 1) {
    json run = two_node_run();
    run["routes"] = {{0, 1, 1}, {1, 0, 0}};
    run["flows"] = json::parse(R"([{"kind": "tcp", "src": 0, "dst": 1, "variant": "newreno", "sack": false, "segment_bytes": 1460,
      "tcp_ack_every": 1, "max_window_packets": 44}])");
    run["flows"][0]["policy"] = json::parse(policy);
    run["flows"][0]["tcp_ack_every"] = tcp_ack_every;
    return run;
  };
  const auto read = [&](const char* policy) { return parse_run_config(flow_with(policy).dump(), "run.json").flows.at(0); };
  const auto refusal = [&](const char* policy, unsigned tcp_ack_every = 1) -> std::string {
    try {
      parse_run_config(flow_with(policy, tcp_ack_every).dump(), "run.json");
    } catch (const config_error& error) {
      return error.what();
    }
    return {};
  };

  const flow_config plain = read(R"({"cwl": "none"})");
  EXPECT_EQ(plain.policy.tcp_ack.kind, policy::tcp_ack_kind::every);
  EXPECT_EQ(plain.policy.pacing.kind, policy::pacing_kind::none);
  EXPECT_TRUE(plain.policy.tcp_ack.tcp_ack_retransmission);
  const flow_config full = read(R"({"cwl": "delay", "tcp_ack": "dca", "tcp_ack_window": 3,
    "tcp_ack_whole_window": false, "tcp_ack_retransmission": false, "pacing": "path"})");
  EXPECT_EQ(full.policy.tcp_ack.kind, policy::tcp_ack_kind::dca);
  EXPECT_EQ(full.policy.tcp_ack.fixed_window_packets, 3U);
  EXPECT_FALSE(full.policy.tcp_ack.tcp_ack_retransmission);
  EXPECT_EQ(full.policy.pacing.kind, policy::pacing_kind::path);
  EXPECT_TRUE(read(R"({"cwl": "none", "tcp_ack": "dca", "tcp_ack_whole_window": true})").policy.tcp_ack.whole_window);
  EXPECT_EQ(read(R"({"cwl": "none", "tcp_ack": "dca", "tcp_ack_rule": "hop_and_delay"})").policy.tcp_ack.rule,
            policy::dca_window_rule::hop_and_delay);
  EXPECT_EQ(read(R"({"cwl": "none", "tcp_ack": "daa", "pacing": "adaptive"})").policy.pacing.kind, policy::pacing_kind::adaptive);
  EXPECT_EQ(read(R"({"cwl": "none", "tcp_ack": "daa"})").policy.tcp_ack.profile, policy::daa_profile::own_papers);
  EXPECT_EQ(read(R"({"cwl": "none", "tcp_ack": "daa", "tcp_ack_profile": "as_in_001"})").policy.tcp_ack.profile,
            policy::daa_profile::as_in_001);
  EXPECT_EQ(read(R"({"cwl": "none", "pacing": "adaptive", "pacing_variation": "mean_deviation"})").policy.pacing.adaptive.variation,
            policy::round_trip_variation::mean_deviation);

  EXPECT_EQ(refusal(R"({"cwl": "none", "pacing": "path", "pacing_variation": "mean_deviation"})"),
            "run.json: field flows[0].policy.pacing_variation: has a meaning with pacing adaptive only; leave it out");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack": "daa", "tcp_ack_profile": "as_in_002"})"),
            "run.json: field flows[0].policy.tcp_ack_profile: unknown profile 'as_in_002'; one of own_papers, as_in_001");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack": "dca", "tcp_ack_profile": "as_in_001"})"),
            "run.json: field flows[0].policy.tcp_ack_profile: has a meaning with tcp_ack daa only; leave it out");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack": "some"})"),
            "run.json: field flows[0].policy.tcp_ack: unknown TCP ACK policy 'some'; one of every, dca, daa, own");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack": "dca", "tcp_ack_window": 256})"),
            "run.json: field flows[0].policy.tcp_ack_window: 256 is not a whole number from 0 to 255");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack": "dca", "tcp_ack_window": 2, "tcp_ack_whole_window": true})"),
            "run.json: field flows[0].policy.tcp_ack_window: must be 0 with tcp_ack_whole_window");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack": "dca", "tcp_ack_window": 2, "tcp_ack_rule": "delay"})"),
            "run.json: field flows[0].policy.tcp_ack_window: must be 0 with tcp_ack_rule");
  EXPECT_EQ(refusal(R"({"cwl": "hop", "cwl_packets": 2})"),
            "run.json: field flows[0].policy.cwl_packets: has a meaning with cwl fixed only; leave it out");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack": "daa", "tcp_ack_window": 2})"),
            "run.json: field flows[0].policy.tcp_ack_window: has a meaning with tcp_ack dca only; leave it out");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack_retransmission": false})"),
            "run.json: field flows[0].policy.tcp_ack_retransmission: has a meaning with tcp_ack dca only; leave it out");
  EXPECT_EQ(refusal(R"({"cwl": "none", "tcp_ack": "dca"})", 2),
            "run.json: field flows[0].tcp_ack_every: must be 1 where policy.tcp_ack decides when TCP ACKs are sent");
  EXPECT_EQ(refusal(R"({"cwl": "none", "pacing": "slow"})"),
            "run.json: field flows[0].policy.pacing: unknown pacing 'slow'; one of none, window, adaptive, path, exact, own");
}

/// run.json of two nodes with radios, and a server behind the second.
json hybrid_run() {
  json run = two_node_run();
  run["servers"] = 1;
  run["wires"] = json::parse(R"([{"a": 1, "b": 2, "rate_bps": 1e7, "delay_us": 30000, "queue_packets": 100}])");
  run["routes"] = {{0, 2, 1}, {1, 2, 2}, {2, 0, 1}, {1, 0, 0}};
  run["flows"] = json::parse(R"([{"kind": "cbr", "src": 0, "dst": 2, "payload_bytes": 1000, "rate_bps": 1e5}])");
  return run;
}

std::string hybrid_message(const std::function<void(json&)>& change) {
  return message([&change](json& run) {
    run = hybrid_run();
    change(run);
  });
}

TEST(run_config, a_wire_leads_to_a_server) {
  const run_config config = parse_run_config(hybrid_run().dump(), "run.json");
  EXPECT_EQ(config.air.nodes.size(), 2U);
  EXPECT_EQ(config.node_count(), 3U);
  EXPECT_EQ(config.path(0, 2), (std::vector<node_id>{0, 1, 2}));
  EXPECT_TRUE(config.wired(2, 1));
  EXPECT_FALSE(config.wired(0, 2));
  EXPECT_EQ(config.wires.at(0).delay_us, 30'000U);
  EXPECT_EQ(config.wires.at(0).queue_packets, 100U);
  EXPECT_EQ(config.wires.at(0).rate_bps, 1e7);
}

TEST(run_config, nothing_reaches_a_server_but_over_its_wires) {
  EXPECT_EQ(
      hybrid_message([](json& run) { run["routes"][0] = {0, 2, 2}; }),
      "run.json: field routes[0]: leads from node 0 to node 2, of which one has no radio, and no wire joins the two; add it to wires");
  EXPECT_EQ(hybrid_message([](json& run) { run["events"] = json::parse(R"([{"at_s": 0.1, "kind": "route", "path": [0, 2]}])"); }),
            "run.json: field events[0].path: leads from node 0 to node 2, of which one has no radio, and no wire joins the two; add it to "
            "wires");
  EXPECT_EQ(hybrid_message([](json& run) { run["events"] = json::parse(R"([{"at_s": 0.1, "kind": "node_down", "node": 2}])"); }),
            "run.json: field events[0].node: 2 is not a whole number from 0 to 1");
  EXPECT_EQ(hybrid_message([](json& run) { run["wires"] = json::array(); }),
            "run.json: field servers: node 2 is a server without a wire; add one to wires");
}

TEST(run_config, wires_are_checked) {
  EXPECT_EQ(hybrid_message([](json& run) { run["wires"][0]["b"] = 1; }), "run.json: field wires[0].b: is a itself; name another node");
  EXPECT_EQ(hybrid_message([](json& run) {
              run["wires"].push_back(run["wires"][0]);
              std::swap(run["wires"][1]["a"], run["wires"][1]["b"]);
            }),
            "run.json: field wires[1].b: is joined to node 2 by another wire already; remove one of the two");
  EXPECT_EQ(hybrid_message([](json& run) { run["wires"][0]["queue_packets"] = 0; }),
            "run.json: field wires[0].queue_packets: 0 is not a whole number from 1 to 1000000");
  EXPECT_EQ(hybrid_message([](json& run) { run["wires"][0]["rate_bps"] = 1; }),
            "run.json: field wires[0].rate_bps: 1 is out of range; give a number from 1000 to 1e+12");
  EXPECT_EQ(hybrid_message([](json& run) { run["wires"][0]["loss"] = 1; }),
            "run.json: field wires[0].loss: unknown field; known here: a, b, rate_bps, delay_us, queue_packets");
  EXPECT_EQ(hybrid_message([](json& run) { run["wires"][0]["b"] = 3; }), "run.json: field wires[0].b: 3 is not a whole number from 0 to 2");
  EXPECT_EQ(hybrid_message([](json& run) { run["routing"] = "dsr"; }),
            "run.json: field routing: is dsr, which crosses no wire; give static or aodv, or leave wires out");
  EXPECT_EQ(hybrid_message([](json& run) { run["routing"] = "gpsr"; }),
            "run.json: field routing: is gpsr, which crosses no wire; give static or aodv, or leave wires out");
  EXPECT_EQ(hybrid_message([](json& run) {
              run["flows"] = json::parse(R"([{"kind": "exact", "src": 0, "dst": 1, "payload_bytes": 1000, "application": "greedy"}])");
            }),
            "run.json: field flows[0].kind: crosses no wire; use kind tcp, cbr or tfrc, or leave wires out");
  EXPECT_EQ(hybrid_message([](json& run) { run["links"] = json::parse(R"([{"from": 1, "to": 2, "data_rate_index": 0}])"); }),
            "run.json: field links[0].to: 2 is not a whole number from 0 to 1");
}

TEST(run_config, broken_json_is_told_with_its_line) {
  try {
    parse_run_config("{\n \"schema\": 1,\n \"label\": }", "run.json");
    FAIL();
  } catch (const config_error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("run.json: line 3: no valid JSON", 0), 0U) << error.what();
  }
  EXPECT_THROW(load_run_config("/nonexistent/run.json"), config_error);
}

}  // namespace
}  // namespace perhop::run
