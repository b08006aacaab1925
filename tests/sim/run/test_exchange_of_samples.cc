// SPDX-License-Identifier: GPL-2.0-or-later
//
// Radios that exchange samples: antenna to antenna, MAC and modem in the gateware, channel in C++.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "random_run.hpp"
#include "sim/air/fcs.hpp"
#include "sim/air/samples/channel.hpp"
#include "sim/air/samples/radio_node.hpp"

namespace perhop::run {

using namespace air;  // these tests watch the medium itself
namespace {

using nlohmann::json;
using samples::samples_per_us;

constexpr double sample_us = 1.0 / samples_per_us;

/// Everything that an air tells, in order.
struct diary final : listener {
  void on_transmission(const transmission& frame) override { frames.push_back(frame); }
  void on_frame_bytes(const transmission&, byte_span psdu) override { good_fcs += fcs_good(psdu); }
  void on_phy(const phy_event& event) override { events.push_back(event); }
  void on_delivery(tick, node_id to, const transmission& frame) override { deliveries.emplace_back(to, frame.sequence); }
  void on_completion(tick, const completion& record) override {
    records.push_back(record);
    if (again != nullptr) again->submit(record.node, next);
  }

  /// Of a node and a kind.
  std::vector<phy_event> events_of(node_id node, phy_event::what kind) const {
    std::vector<phy_event> found;
    for (const phy_event& event : events) {
      if (event.node == node && event.kind == kind) found.push_back(event);
    }
    return found;
  }
  /// Whose RTS was answered.
  std::set<node_id> answered() const {
    std::set<node_id> nodes;
    for (const transmission& frame : frames) {
      if (frame.kind == frame_kind::cts) nodes.insert(static_cast<node_id>(frame.ra - node_address_base - 1));
    }
    return nodes;
  }

  std::vector<transmission> frames;
  std::vector<phy_event> events;
  std::vector<std::pair<node_id, std::uint16_t>> deliveries;
  std::vector<completion> records;
  std::size_t good_fcs = 0;
  perhop::air::air* again = nullptr;
  tx_request next{};
};

air_config radios(std::vector<node_position> nodes, const char* profile, std::uint64_t seed = 1) {
  air_config config;
  config.nodes = std::move(nodes);
  config.seed = seed;
  config.mac.profile = find_profile(profile);
  config.mac.fidelity = mac_fidelity::samples;
  config.mac.data_rate_index = 1;
  return config;
}

tx_request packet_for(node_id to, std::uint16_t mpdu_bytes, bool use_rts = true) {
  return {.ra = mac_address(to), .peer = 0, .mpdu_bytes = mpdu_bytes, .rate_index = 1, .use_rts = use_rts, .payload = 5};
}

// ---- The radio by itself

struct silent_listener : samples::radio_listener {
  void on_frame_start(node_id, std::uint8_t, std::uint16_t, std::uint16_t) override { started = now; }
  void on_frame_bytes(node_id, byte_span) override {}
  void on_msdu(node_id, const rx_status&, byte_span) override {}
  void on_record(node_id, const completion_record&) override {}
  void on_phy(const phy_event&, unsigned) override {}
  std::size_t now = 0, started = 0;
};

TEST(radio_node, the_wave_of_a_frame_is_as_strong_and_begins_where_the_channel_takes_it_to) {
  const air_config config = radios({{0, 0}}, "dsss_long");
  VerilatedContext context;
  samples::radio_node radio(context, config, 0);
  const tx_request request = packet_for(1, 100, false);
  radio.give(request, 0, std::vector<std::uint8_t>(msdu_bytes(request), 0x5a));
  silent_listener listener;
  std::vector<std::complex<float>> sent;
  for (; listener.now < 700 * samples_per_us; ++listener.now) sent.push_back(radio.step({}, listener));
  ASSERT_GT(listener.started, 0U);

  double squares = 0;
  const std::size_t first = listener.started + 100, count = 400 * samples_per_us;
  for (std::size_t at = first; at < first + count; ++at) squares += std::norm(sent[at]);
  const double level = std::sqrt(squares / static_cast<double>(count));
  EXPECT_NEAR(20 * std::log10(level / samples::transmitter_level_steps), 0, 0.1) << level;

  // The Barker code (16.4.6.4), two samples a chip, over 20 symbols: where its correlation is largest chips have their middles.
  constexpr int barker[11] = {1, -1, 1, 1, -1, 1, 1, 1, -1, -1, -1};
  double largest = 0;
  std::size_t place = 0;
  for (std::size_t offset = 0; offset < 22; ++offset) {
    double sum = 0;
    for (std::size_t symbol = 2; symbol < 22; ++symbol) {
      std::complex<float> correlation = 0;
      // The pulse's middle lies between two samples: half of each.
      for (std::size_t chip = 0; chip < 11; ++chip) {
        const std::size_t at = listener.started + offset + 22 * symbol + 2 * chip;
        correlation += static_cast<float>(barker[chip]) * (sent[at] + sent[at + 1]);
      }
      sum += std::abs(correlation);
    }
    if (sum > largest) {
      largest = sum;
      place = offset;
    }
  }
  // The first chip's middle is half a sample after `place`; it begins a sample before its middle.
  EXPECT_NEAR(static_cast<double>(place) + 0.5 - 1, samples::samples_before_first_chip, 0.51);
}

// ---- Exchanges

TEST(samples, an_exchange_crosses_and_every_response_comes_sifs_after_what_it_answers) {
  for (const char* profile : {"dsss_long", "dsss_short"}) {
    for (const double apart_m : {20.0, 137.0, 240.0}) {
      diary log;
      air_config config = radios({{0, 0}, {apart_m, 0}}, profile, static_cast<std::uint64_t>(apart_m));
      perhop::air::air medium(config, log);
      medium.submit(0, packet_for(1, 60));
      medium.advance(2500);
      ASSERT_EQ(log.frames.size(), 4U) << profile << ' ' << apart_m;
      const auto starts = [&] {
        std::vector<double> times;
        for (const phy_event& event : log.events) {
          if (event.kind == phy_event::what::tx_start) times.push_back(event.time_us);
        }
        return times;
      }();
      const frame_kind kinds[] = {frame_kind::rts, frame_kind::cts, frame_kind::data, frame_kind::mac_ack};
      for (std::size_t index = 0; index < 4; ++index) {
        EXPECT_EQ(log.frames[index].kind, kinds[index]);
        EXPECT_NEAR(starts[index], static_cast<double>(log.frames[index].start), 0.5);
        if (index == 0) continue;
        const double airtime_us = static_cast<double>(log.frames[index - 1].end - log.frames[index - 1].start);
        const double sifs_us = starts[index] - (starts[index - 1] + airtime_us + apart_m / 299.8);
        // The end is told with a sample, and the response begins with one.
        EXPECT_NEAR(sifs_us, 10, 1.5 * sample_us) << profile << ' ' << apart_m << ' ' << index;
      }
      EXPECT_EQ(log.good_fcs, 4U);
      ASSERT_EQ(log.deliveries.size(), 1U);
      EXPECT_EQ(log.deliveries[0].first, 1U);
      ASSERT_EQ(log.records.size(), 1U);
      EXPECT_EQ(log.records[0].result, tx_result::delivered);
      EXPECT_EQ(log.records[0].payload, 5U);
      EXPECT_EQ(log.records[0].parts.sum_us(), log.records[0].t_done_us - log.records[0].t_enqueue_us);
    }
  }
}

TEST(samples, the_modem_measures_the_link_and_works_at_the_worst_offsets) {
  diary log;
  air_config config = radios({{0, 0}, {200, 0}}, "dsss_short");
  config.medium.samples.carrier_offset_hz = {61e3, -61e3};
  config.medium.samples.clock_offset_ppm = {25, -25};
  config.medium.cs_range_m = 250;
  config.medium.noise_dbm = -77;
  perhop::air::air medium(config, log);
  log.again = &medium;
  log.next = packet_for(1, 400);
  medium.submit(0, log.next);
  medium.advance(12'000);
  ASSERT_GT(log.records.size(), 2U);
  for (const completion& record : log.records) {
    EXPECT_EQ(record.result, tx_result::delivered);
    EXPECT_EQ(record.rts_attempts + record.data_attempts, 2);
  }
  const double power_dbm = 24.5 - 40 * std::log10(200);
  const auto ends = log.events_of(1, phy_event::what::rx_end);
  ASSERT_GT(ends.size(), 5U);
  for (const phy_event& end : ends) {
    EXPECT_FALSE(end.error);
    EXPECT_NEAR(end.rssi_dbm, power_dbm, 2);
    // A symbol is 22 samples.
    EXPECT_NEAR(end.snr_db, power_dbm - *config.medium.noise_dbm + 10 * std::log10(22), 3);
    const double carrier_hz = std::atan(end.tangent_128 / 128.0) / (2e-6 * std::numbers::pi);
    EXPECT_NEAR(carrier_hz, 122e3, 3e3);
  }
}

TEST(samples, the_same_seed_gives_the_same_events_however_time_is_cut) {
  const auto run = [](std::uint64_t seed, tick step) {
    diary log;
    air_config config = radios({{0, 0}, {200, 0}}, "dsss_short", seed);
    perhop::air::air medium(config, log);
    log.again = &medium;
    log.next = packet_for(1, 60);
    medium.submit(0, log.next);
    while (medium.now() < 3000) medium.advance(std::min<tick>(medium.now() + step, 3000));
    std::vector<double> told;
    for (const phy_event& event : log.events) told.insert(told.end(), {event.time_us, double(event.kind), double(event.rssi_dbm)});
    return told;
  };
  const auto once = run(3, 3000);
  EXPECT_EQ(once, run(3, 1));
  EXPECT_NE(once, run(4, 3000));
}

// ---- Three nodes

json hidden_chain(const char* fidelity) {
  json run = two_node_run();
  run["duration_s"] = 0.012;
  run["mac"]["profile"] = "dsss_short";
  run["mac"]["fidelity"] = fidelity;
  run["medium"]["reception"] = "sinr";
  run["medium"]["cs_range_m"] = 250;
  run["medium"]["propagation_us"] = 1;  // whole microseconds at fidelity core
  run["nodes"] = json::parse(R"([{"x_m": 0, "y_m": 0}, {"x_m": 200, "y_m": 0}, {"x_m": 400, "y_m": 0}])");
  run["flows"] = json::parse(R"([{"kind": "mac_saturated", "src": 0, "dst": 1, "ip_bytes": 60, "path_header": true},
                                 {"kind": "mac_saturated", "src": 1, "dst": 2, "ip_bytes": 60, "path_header": true}])");
  return run;
}

TEST(samples, a_chain_whose_ends_do_not_hear_each_other_sends_when_the_core_says) {
  const auto frames_of = [](const std::string& lines) {
    std::vector<std::string> frames;
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);) {
      if (line[0] == 'T') frames.push_back(line);
    }
    return frames;
  };
  const auto core = frames_of(simulate(hidden_chain("core"), "on").lines);
  const outcome radio = simulate(hidden_chain("samples"), "on");
  const auto sent = frames_of(radio.lines);
  EXPECT_EQ(radio.mismatches, 0U);
  ASSERT_GT(sent.size(), 30U);
  ASSERT_LE(sent.size(), core.size());
  for (std::size_t index = 0; index < sent.size(); ++index) EXPECT_EQ(sent[index], core[index]);
}

/// Nodes 0 and 2, which do not hear each other, send an RTS to node 1 between them; the second one so much later.
diary collide(double first_m, double second_m, tick second_after_us, std::uint64_t seed) {
  diary log;
  air_config config = radios({{-first_m, 0}, {0, 0}, {second_m, 0}}, "dsss_long", seed);
  config.blocked = {{0, 2}};
  config.medium.propagation_us = 1;  // chips on top of each other
  perhop::air::air medium(config, log);
  medium.advance(60);
  medium.submit(0, packet_for(1, 60));
  medium.advance(60 + second_after_us);
  medium.submit(2, packet_for(1, 60));
  medium.advance(60 + second_after_us + 352 + 10 + 304 + 20);
  return log;
}

TEST(samples, of_two_rts_of_equal_power_that_overlap_none_survives) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const diary log = collide(150, 150, 40, seed);
    EXPECT_TRUE(log.answered().empty()) << "seed " << seed;
    EXPECT_GE(log.events_of(1, phy_event::what::busy).size(), 1U);
  }
}

TEST(samples, the_stronger_of_two_rts_that_overlap_survives_where_it_comes_first_and_where_the_other_has_hardly_begun) {
  // Power falls with the fourth power of distance: 12 dB.
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    EXPECT_EQ(collide(120, 240, 40, seed).answered(), std::set<node_id>{0}) << "seed " << seed;
    EXPECT_EQ(collide(120, 240, 200, seed).answered(), std::set<node_id>{0}) << "seed " << seed;
    EXPECT_EQ(collide(240, 120, 3, seed).answered(), std::set<node_id>{2}) << "seed " << seed;
    // In the middle of its header the weaker first one is destroyed.
    EXPECT_EQ(collide(240, 120, 170, seed).answered().count(0), 0U) << "seed " << seed;
  }
}

TEST(samples, a_station_that_hears_a_cts_is_silent_until_the_mac_ack) {
  diary log;
  air_config config = radios({{-200, 0}, {0, 0}, {200, 0}}, "dsss_short");
  config.blocked = {{0, 2}};
  perhop::air::air medium(config, log);
  medium.submit(0, packet_for(1, 400));
  medium.advance(500);  // within DATA, of which node 2 hears nothing
  medium.submit(2, packet_for(1, 60));
  medium.advance(4500);
  ASSERT_GE(log.frames.size(), 8U);
  const transmission &mac_ack = log.frames[3], &second_rts = log.frames[4];
  EXPECT_EQ(mac_ack.kind, frame_kind::mac_ack);
  EXPECT_EQ(second_rts.node, 2U);
  EXPECT_GE(second_rts.start, mac_ack.end + 50);
  EXPECT_EQ(log.deliveries.size(), 2U);
}

}  // namespace
}  // namespace perhop::run
