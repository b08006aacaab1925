// SPDX-License-Identifier: GPL-2.0-or-later
//
// Frames start at the same times whether the core alone is simulated or the whole MAC with its bytes.
#include <gtest/gtest.h>

#include <set>

#include "random_run.hpp"
#include "sim/air/fcs.hpp"
#include "sim/air/frame_damage.hpp"

namespace perhop::run {

using namespace air;  // these tests watch the medium itself
namespace {

using nlohmann::json;

outcome with_bytes(json run, const char* warp) {
  run["mac"]["fidelity"] = "bytes";
  return simulate(run, warp);
}

TEST(fidelity, bytes_leave_every_transmission_and_record_as_it_is) {
  std::uint64_t transmissions = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    json run = random_run(seed);
    if (run["flows"].empty()) continue;
    run["mac"]["four_address"] = seed % 3 == 0;
    const outcome core = simulate(run, "on"), bytes = with_bytes(run, seed % 2 == 0 ? "on" : "all_nodes");
    ASSERT_EQ(core.lines, bytes.lines) << "seed " << seed << ": " << run.dump();
    EXPECT_EQ(bytes.mismatches, 0U);
    transmissions += bytes.counters.transmissions;
  }
  EXPECT_GT(transmissions, 1500U) << "the networks hardly sent anything";
}

TEST(fidelity, bytes_leave_the_other_access_modes_as_they_are) {
  std::uint64_t transmissions = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    json run = random_run(seed);
    if (run["flows"].empty()) continue;
    use_other_access_modes(run, seed);
    const outcome core = simulate(run, "on"), bytes = with_bytes(run, "on");
    ASSERT_EQ(core.lines, bytes.lines) << "seed " << seed << ": " << run.dump();
    transmissions += bytes.counters.transmissions;
  }
  EXPECT_GT(transmissions, 500U) << "the networks hardly sent anything";
}

TEST(fidelity, bytes_leave_a_network_that_changes_under_way_as_it_is) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    json run = random_run(seed);
    if (run["flows"].empty()) continue;
    add_random_events(run, seed);
    ASSERT_EQ(simulate(run, "on").lines, with_bytes(run, "on").lines) << "seed " << seed << ": " << run.dump();
  }
}

TEST(fidelity, with_bytes_every_microsecond_may_be_clocked_too) {
  json run = random_run(3);
  run["duration_s"] = 0.05;
  EXPECT_EQ(simulate(run, "on").lines, with_bytes(run, "every_tick").lines);
}

/// Two nodes, and what the listener is told of bytes.
struct byte_log final : listener {
  void on_delivery(tick, node_id, const transmission&) override { ++deliveries; }
  void on_completion(tick, const completion&) override { ++completions; }
  void on_transmission(const transmission& frame) override { last = frame.id; }
  void on_frame_bytes(const transmission& frame, byte_span psdu) override {
    EXPECT_EQ(frame.id, last);
    EXPECT_EQ(frame.psdu_bytes, psdu.size());
    EXPECT_TRUE(fcs_good(psdu));
    if (frame.kind == frame_kind::data) data.assign(psdu.begin(), psdu.end());
  }
  std::uint64_t last = ~std::uint64_t{0};
  int deliveries = 0, completions = 0;
  std::vector<std::uint8_t> data;
};

TEST(fidelity, four_addresses_name_the_ends_of_the_path) {
  air_config config = parse_run_config(two_node_run().dump(), "run.json").air;
  config.mac.fidelity = mac_fidelity::bytes;
  byte_log log;
  perhop::air::air medium(config, log);
  medium.submit(0, {.ra = mac_address(1),
                    .peer = 0,
                    .mpdu_bytes = 100,
                    .rate_index = 1,
                    .use_rts = true,
                    .payload = 5,
                    .four_address = true,
                    .destination = mac_address(7),
                    .source = mac_address(4)});
  medium.advance(20'000);
  ASSERT_EQ(log.data.size(), 100U);
  EXPECT_EQ(log.data[1] & 3, 3);
  EXPECT_EQ(log.data[21], 8);  // the last octet of address 3, and that of address 4
  EXPECT_EQ(log.data[29], 5);
  EXPECT_EQ(log.deliveries, 1);
  EXPECT_EQ(log.completions, 1);
}

TEST(fidelity, a_packet_of_the_wrong_length_is_refused) {
  struct : listener {
    void on_delivery(tick, node_id, const transmission&) override {}
    void on_completion(tick, const completion&) override {}
    void write_msdu(node_id, const tx_request& request, std::vector<std::uint8_t>& msdu) override { msdu.resize(msdu_bytes(request) - 1); }
  } short_of_a_byte;
  air_config config = parse_run_config(two_node_run().dump(), "run.json").air;
  config.mac.fidelity = mac_fidelity::bytes;
  perhop::air::air medium(config, short_of_a_byte);
  EXPECT_THROW(medium.submit(0, {.ra = mac_address(1), .peer = 0, .mpdu_bytes = 100, .rate_index = 1, .use_rts = true, .payload = 5}),
               std::logic_error);
}

TEST(frame_damage, no_fcs_takes_a_damaged_frame_for_good) {
  std::vector<std::uint8_t> whole = {0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 1};
  const std::uint32_t fcs = crc32_ieee(whole);
  for (unsigned index = 0; index < fcs_bytes; ++index) whole.push_back(static_cast<std::uint8_t>(fcs >> (8 * index)));
  ASSERT_TRUE(fcs_good(whole));
  std::set<std::vector<std::uint8_t>> seen;
  int lost = 0;
  for (unsigned id = 0; id < 20'000; ++id) {
    std::vector<std::uint8_t> psdu = whole, again = whole;
    const bool carrier_lost = damage_frame(psdu, 1, id, 3);
    ASSERT_EQ(damage_frame(again, 1, id, 3), carrier_lost);
    ASSERT_EQ(psdu, again);
    ASSERT_TRUE(carrier_lost ? psdu.size() < whole.size() : !fcs_good(psdu)) << id;
    lost += carrier_lost;
    seen.insert(psdu);
  }
  EXPECT_GT(lost, 4000);
  EXPECT_GT(seen.size(), 5000U);
}

}  // namespace
}  // namespace perhop::run
