// SPDX-License-Identifier: GPL-2.0-or-later
//
// The fast way to clock the Verilated model against the one of Verilator's manual.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "run_json.hpp"
#include "sim/air/core_node.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::run {

using namespace air;  // these tests watch the medium itself
namespace {

void expect_same_outputs(core_node& direct, core_node& reference, int step) {
#define EXPECT_SAME(pin) ASSERT_EQ(direct.pins().pin, reference.pins().pin) << "clock " << step
  EXPECT_SAME(quiescent);
  if (reference.quiescent()) {
    EXPECT_SAME(next_timer);
    EXPECT_SAME(want_rx_start);
    EXPECT_SAME(contending);
    EXPECT_SAME(sending);
    EXPECT_SAME(evt_backoff_slots[0]);
    EXPECT_SAME(nav_left_us);
    EXPECT_SAME(tsf_us);
  }
  EXPECT_SAME(desc_ready[0]);
  EXPECT_SAME(rx_deliver);
  EXPECT_SAME(phy_tx_start);
  EXPECT_SAME(phy_tx_kind);
  EXPECT_SAME(phy_tx_airtime_us);
  EXPECT_SAME(phy_tx_duration_us);
  EXPECT_SAME(phy_tx_ra);
  EXPECT_SAME(phy_tx_sequence);
  EXPECT_SAME(phy_tx_retry);
  EXPECT_SAME(phy_tx_tag);
  EXPECT_SAME(done_valid);
  EXPECT_SAME(done_tag);
  EXPECT_SAME(done_result);
  EXPECT_SAME(done_t_done_us);
  EXPECT_SAME(done_slots_drawn);
  EXPECT_SAME(done_ifs_us);
  EXPECT_SAME(done_backoff_us);
  EXPECT_SAME(done_frozen_cca_us);
  EXPECT_SAME(done_frozen_nav_us);
  EXPECT_SAME(done_timeout_us);
  EXPECT_SAME(done_avg_contention_us16);
  EXPECT_SAME(done_avg_data_attempts_256);
#undef EXPECT_SAME
}

void clear_strobes(core_node& node) {
  node.pins().phy_rx_start = 0;
  node.pins().phy_rx_end = 0;
  node.pins().desc_valid = 0;
}

TEST(core_node, a_direct_clock_does_what_eval_does) {
  for (const mac_compatibility compatibility : {mac_compatibility::standard, mac_compatibility::ns2}) {
    air_config config = parse_run_config(two_node_run().dump(), "run.json").air;
    config.mac.compatibility = compatibility;
    VerilatedContext context;
    core_node direct(context, config, 0), reference(context, config, 0);
    std::mt19937 random(11);
    std::uint16_t tag = 0;
    int transmissions = 0, completions = 0, deliveries = 0;
    std::uint32_t most_clocks = 0;
    std::uint64_t packets_seen = 0;
    // A receiver is deaf while its node sends, and frames do not end closer together than a preamble takes.
    constexpr tick frame_gap_us = 96;
    tick now = 0, deaf_until = 0;
    for (int step = 0; step < 200'000; ++step) {
      std::uint32_t ticks = 0;
      if (direct.quiescent())
        ticks = std::min<std::uint32_t>(direct.next_timer(), random() % 4 == 0 ? 1 + random() % 3000 : 1 + random() % 40);
      now += ticks;
      const bool hears = ticks != 0 && now >= deaf_until;
      const bool carrier = random() % 8 == 0 ? !direct.carrier() : direct.carrier();
      const unsigned event = random() % 16;
      transmission frame{};
      frame.kind = static_cast<frame_kind>(random() % 5);
      frame.rate_index = random() % 4;
      frame.duration_us = random() % 8000;
      frame.ra = random() % 3 == 0 ? mac_address(7) : random() % 8 == 0 ? broadcast_address : mac_address(0);
      frame.ta = mac_address(1 + random() % 2);
      frame.sequence = random() % 4096;
      frame.retry = random() % 2;
      const bool ok = random() % 4 != 0;
      const tx_request request{.ra = random() % 8 == 0 ? broadcast_address : mac_address(1),
                               .peer = static_cast<std::uint8_t>(random() % 16),
                               .mpdu_bytes = static_cast<std::uint16_t>(60 + random() % 1500),
                               .rate_index = 1,
                               .use_rts = random() % 2 == 0,
                               .payload = 0};
      for (core_node* node : {&direct, &reference}) {
        node->set_carrier(carrier);
        if (hears && event < 4) node->strobe_rx_end(frame, ok);
        if (hears && event == 4) node->strobe_rx_start(frame, {}, 0);
        if (event == 5 && node->descriptor_ready()) {
          node->strobe_descriptor(request, tag, airtime_us(*config.mac.profile, request.rate_index, request.mpdu_bytes), {});
        }
        node->pins().tick_n = ticks;
      }
      ++tag;
      if (hears && event < 4) deaf_until = now + frame_gap_us;
      const std::uint32_t clocks = direct.clock_direct();
      most_clocks = std::max(most_clocks, clocks);
      clear_strobes(direct);
      for (std::uint32_t clock = 0; clock < clocks; ++clock) {
        const bool over = reference.quiescent() || reference.tx_start() || reference.deliver() || reference.done();
        ASSERT_TRUE(clock == 0 || !over) << "at step " << step;
        reference.clock_reference();
        clear_strobes(reference);
        reference.pins().tick_n = 0;
      }
      expect_same_outputs(direct, reference, step);
      if (HasFatalFailure()) return;
      if (direct.tx_start()) deaf_until = now + direct.pins().phy_tx_airtime_us + 1;
      transmissions += direct.tx_start();
      completions += direct.done();
      deliveries += direct.deliver();
      if (reference.quiescent() && random() % 64 == 0) {
        const auto slot = static_cast<std::uint8_t>(random() % 16), bin = static_cast<std::uint8_t>(random() % 16);
        const neighbour_snapshot taken = direct.take_neighbour(slot, bin);
        reference.pins().nbr_take = 1;
        reference.pins().nbr_index = slot;
        reference.pins().nbr_bin = bin;
        reference.clock_reference();
        reference.pins().nbr_take = 0;
        const neighbour_snapshot expected = snapshot_of(reference.pins());
        ASSERT_EQ(taken.avg_contention_us16, expected.avg_contention_us16) << "at step " << step;
        ASSERT_EQ(taken.packets, expected.packets) << "at step " << step;
        ASSERT_EQ(taken.service_us, expected.service_us) << "at step " << step;
        ASSERT_EQ(taken.histogram_packets, expected.histogram_packets) << "at step " << step;
        expect_same_outputs(direct, reference, step);
        packets_seen += taken.packets;
      }
    }
    EXPECT_GT(transmissions, 500);
    EXPECT_GT(packets_seen, 1000U);
    EXPECT_GT(most_clocks, 2U) << "a core that settles goes on by itself";
    EXPECT_GT(completions, 100);
    EXPECT_GT(deliveries, 100);
  }
}

}  // namespace
}  // namespace perhop::run
