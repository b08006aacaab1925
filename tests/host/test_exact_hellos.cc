// SPDX-License-Identifier: GPL-2.0-or-later
//
// What EXACT routers tell each other, and what air that takes.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "host/core/policy/exact_router.hpp"
#include "tests/host/exact_fixtures.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::policy {
namespace {

TEST(exact_neighbourhood, tells_of_near_nodes_behind_a_winding_path_and_of_no_far_ones) {
  exact_router_config config = config_of(exact_mode::m2);
  config.neighbourhood.position = {.x_m = 0, .y_m = 0};
  exact_neighbourhood ledger(config.neighbourhood);
  const auto told = [](std::uint32_t node, std::int16_t x_m) {
    wire::hello_node from{
        .node = node, .hops = 10, .sequence = 1, .position = wire::node_position{.x_m = x_m, .y_m = 0}, .neighbours = {90}};
    from.flows.push_back({.next = 0, .flow = 5, .cost_s_per_bit = 1e-6});
    return from;
  };
  wire::hello message;
  message.nodes = {{.node = 2, .sequence = 1, .position = wire::node_position{.x_m = 200, .y_m = 0}}, told(3, 500), told(4, 2000)};
  ledger.on_hello(0, message);
  wire::hello_node own{.neighbours = {2}};
  own.flows.push_back({.next = 0, .flow = 6, .cost_s_per_bit = 1e-6});
  ledger.set_own(0, own);
  const wire::hello passed_on = *ledger.make_hello(1000);
  EXPECT_TRUE(std::ranges::any_of(passed_on.nodes, [](const wire::hello_node& node) { return node.node == 3; }));
  EXPECT_FALSE(std::ranges::any_of(passed_on.nodes, [](const wire::hello_node& node) { return node.node == 4; }));
}

exact_neighbourhood router_with_a_flow(std::uint32_t node) {
  exact_neighbourhood router({.node = node});
  wire::hello_node own{.neighbours = {node - 1}};
  own.flows.push_back({.next = 0, .flow = node, .cost_s_per_bit = 1e-6});
  router.set_own(0, own);
  return router;
}

TEST(exact_neighbourhood, a_router_that_is_gone_is_soon_forgotten_by_all_and_one_that_begins_anew_is_known_at_once) {
  // A chain 1 2 3 4 5: the others hear of 5 one hello later each.
  PERHOP_TELL_SEED();
  constexpr std::uint64_t hello_us = 500'000, forget_us = exact_neighbourhood_config{}.forget_us,
                          refresh_us = exact_neighbourhood_config{}.refresh_us;
  std::mt19937 random(test_seed());
  std::uint64_t now_us = 0;
  std::vector<exact_neighbourhood> routers;
  std::vector<std::uint64_t> next_us;
  for (std::uint32_t node = 1; node <= 5; ++node) {
    routers.push_back(router_with_a_flow(node));
    next_us.push_back(random() % hello_us);
  }
  const auto pass = [&](std::uint64_t duration_us, std::size_t living) {
    for (const std::uint64_t end_us = now_us + duration_us;;) {
      const auto first = std::min_element(next_us.begin(), next_us.begin() + static_cast<std::ptrdiff_t>(living));
      const auto index = static_cast<std::size_t>(first - next_us.begin());
      if (*first >= end_us) {
        now_us = end_us;
        return;
      }
      now_us = std::max(now_us, *first);
      *first = now_us + hello_us - random() % (hello_us / 4);
      const wire::hello told = *routers[index].make_hello(now_us);
      if (index > 0) routers[index - 1].on_hello(now_us, told);
      if (index + 1 < living) routers[index + 1].on_hello(now_us, told);
      for (std::size_t each = 0; each < living; ++each) routers[each].update(now_us);
    }
  };
  const auto all_know = [&] {
    return std::all_of(routers.begin(), routers.begin() + 4, [](const exact_neighbourhood& router) { return router.nodes() == 4; });
  };
  const auto none_knows = [&] {
    return std::all_of(routers.begin(), routers.begin() + 4, [](const exact_neighbourhood& router) { return router.nodes() == 3; });
  };
  for (int life = 0; life < 20; ++life) {
    // Whoever begins anew is known as soon as three relays have spoken.
    routers[4] = router_with_a_flow(5);
    pass(4 * hello_us, 5);
    ASSERT_TRUE(all_know()) << "life " << life;
    pass(random() % 60'000'000, 5);
    // The last news take three relays to get through, which pass on what did not change after 2 refresh_us at the latest; each router
    // remembers them for forget_us.
    pass(forget_us + 3 * 2 * refresh_us + 3 * hello_us, 4);
    for (const std::uint64_t end_us = now_us + random() % 20'000'000; now_us < end_us; pass(100'000, 4)) {
      ASSERT_TRUE(none_knows()) << "life " << life;
    }
  }
}

TEST(exact_neighbourhood, a_node_that_a_flow_has_left_for_another_has_no_share_of_it_though_it_cannot_say_so) {
  exact_neighbourhood ledger({.node = 9});
  const auto told = [](std::uint32_t node, std::uint16_t sequence, std::uint32_t next) {
    wire::hello_node from{.node = node, .sequence = sequence, .neighbours = {next}};
    from.flows.push_back({.next = 0, .flow = 5, .cost_s_per_bit = 1e-6});
    return wire::hello{.nodes = {from}};
  };
  const auto links_after = [&](const wire::hello& message) {
    ledger.on_hello(0, message);
    ledger.update(0);
    return ledger.links();
  };
  // 1 sends by 2, and 3 sends to 2, too: it may be the same flow's other path.
  EXPECT_EQ(links_after(told(1, 1, 2)), 1U);
  EXPECT_EQ(links_after(told(2, 1, 4)), 2U);
  EXPECT_EQ(links_after(told(3, 1, 2)), 3U);
  EXPECT_EQ(links_after(told(1, 2, 6)), 3U) << "3 still sends to 2";
  EXPECT_EQ(links_after(told(3, 2, 6)), 2U) << "nobody sends to 2";
  EXPECT_EQ(links_after(told(2, 1, 4)), 2U) << "old news";
  EXPECT_EQ(links_after(told(2, 2, 4)), 3U) << "it says that it has the flow";

  // The same of this node's own flow.
  wire::hello_node own{.neighbours = {2}};
  own.flows.push_back({.next = 0, .flow = 5, .cost_s_per_bit = 1e-6});
  ledger.set_own(0, own);
  ledger.update(0);
  EXPECT_EQ(ledger.links(), 4U);
  own.neighbours = {6};
  ledger.set_own(0, own);
  ledger.update(0);
  EXPECT_EQ(ledger.links(), 3U);

  // It came back to 2, and then 1 had it no more: it is idle there, or has ended. What 2 has said stands until it says otherwise.
  EXPECT_EQ(links_after(told(1, 3, 2)), 4U) << "2 sends it on as before";
  EXPECT_EQ(links_after(told(2, 3, 4)), 4U);
  EXPECT_EQ(links_after({.nodes = {{.node = 1, .sequence = 4, .neighbours = {2}}}}), 3U);
}

TEST(exact_neighbourhood, a_flow_that_leaves_a_node_has_left_all_behind_it_before_they_say_so) {
  // 1 2 3 4 is the one way, 1 5 4 the other; 7 sends another flow by 2 and 3, and the first one comes to 3 from 8, too.
  exact_neighbourhood ledger({.node = 9});
  const auto told = [](std::uint32_t node, std::uint16_t sequence, std::uint32_t next, std::vector<std::uint32_t> flows) {
    wire::hello_node from{.node = node, .sequence = sequence, .neighbours = {next}};
    for (const std::uint32_t flow : flows) from.flows.push_back({.next = 0, .flow = flow, .cost_s_per_bit = 1e-6});
    return wire::hello{.nodes = {from}};
  };
  const auto shares_after = [&](const wire::hello& message, std::uint64_t now_us = 0) {
    ledger.on_hello(now_us, message);
    ledger.update(now_us);
    std::uint32_t shares = 0;
    ledger.for_each_link([&shares](std::uint32_t, std::uint32_t, std::uint32_t flows, double) { shares += flows; });
    return shares;
  };
  shares_after(told(1, 1, 2, {5}));
  shares_after(told(7, 1, 2, {6}));
  shares_after(told(2, 1, 3, {5, 6}));
  shares_after(told(3, 1, 4, {5, 6}));
  EXPECT_EQ(shares_after(told(8, 1, 3, {5})), 7U);
  EXPECT_EQ(shares_after(told(8, 2, 5, {5})), 7U) << "2 still sends it to 3";
  EXPECT_EQ(shares_after(told(1, 2, 5, {5})), 5U) << "gone from 2 and from 3; the other flow is where it was";
  EXPECT_EQ(shares_after(told(3, 2, 4, {5, 6})), 6U) << "it says that it has the flow";

  // 2 died. What it said last comes late, by others.
  const auto by_others = [&](std::uint16_t sequence, std::uint64_t at_us) {
    wire::hello late = told(2, sequence, 3, {5, 6});
    late.nodes.front().hops = 1;
    late.nodes.insert(late.nodes.begin(), {.node = 4, .sequence = sequence, .neighbours = {2}});
    return shares_after(late, at_us);
  };
  const std::uint64_t late_us = 2 * exact_neighbourhood_config{}.refresh_us;
  EXPECT_EQ(by_others(2, late_us), 6U);
  EXPECT_EQ(by_others(3, late_us + 1), 7U) << "it lives, and has the flow from somebody who is not known";

  // A ring of routes ends: 1 2 3 1 becomes 1 6. What 1 has just said of itself stands.
  exact_neighbourhood ring({.node = 9});
  for (const std::uint32_t node : {1U, 2U, 3U}) ring.on_hello(0, told(node, 1, node % 3 + 1, {5}));
  ring.on_hello(0, told(1, 2, 6, {5}));
  ring.update(0);
  EXPECT_EQ(ring.links(), 1U);
}

/// Node 9's ledger of flow 5, whose one way is 1 2 3 4 and whose other is 1 5 4. It hears of 2 and 3 by others, and seldom.
struct ledger_of_two_ways {
  exact_neighbourhood ledger{{.node = 9}};

  ledger_of_two_ways() {
    for (const std::uint32_t node : {1U, 2U, 3U}) links_after(0, node, 1, node + 1);
  }

  /// After what a node says of the flow: where it sends it; nothing: that it has it no more.
  std::size_t links_after(std::uint64_t now_us, std::uint32_t node, std::uint16_t sequence, std::optional<std::uint32_t> next) {
    wire::hello_node from{.node = node, .hops = node == 1 ? std::uint8_t{0} : std::uint8_t{2}, .sequence = sequence};
    if (next) {
      from.neighbours = {*next};
      from.flows.push_back({.next = 0, .flow = 5, .cost_s_per_bit = 1e-6});
    }
    ledger.on_hello(now_us, {.nodes = {{.node = 8, .sequence = 1}, from}});
    return links_at(now_us);
  }
  std::size_t links_at(std::uint64_t now_us) {
    ledger.update(now_us);
    return ledger.links();
  }
};

TEST(exact_neighbourhood, a_flow_that_soon_comes_back_to_a_node_goes_on_from_there_as_before) {
  constexpr std::uint64_t late_us = 2 * exact_neighbourhood_config{}.refresh_us;
  struct news {
    std::uint32_t node;
    std::optional<std::uint32_t> next;
  };
  const auto links_back = [&](std::uint64_t back_us, const std::optional<news>& meanwhile = std::nullopt) {
    ledger_of_two_ways of;
    EXPECT_EQ(of.links_after(0, 1, 2, 5), 1U) << "it has left 2 and 3";
    if (meanwhile) of.links_after(1, meanwhile->node, 2, meanwhile->next);
    return of.links_after(back_us, 1, 3, 2);
  };
  EXPECT_EQ(links_back(late_us), 3U);
  EXPECT_EQ(links_back(late_us + 1), 1U) << "what was known is too old";
  EXPECT_EQ(links_back(2, news{3, std::nullopt}), 2U) << "3 says that it is gone";
  EXPECT_EQ(links_back(2, news{2, std::nullopt}), 1U) << "2 says that it is gone, so 3 does not have it from there";
  EXPECT_EQ(links_back(2, news{2, 7}), 2U) << "2 would send it to 7 now";
  EXPECT_EQ(links_back(2, news{2, 3}), 3U) << "an account of 2 that came late";
}

TEST(exact_neighbourhood, a_flow_that_is_idle_before_it_goes_another_way_leaves_the_way_that_it_took_before) {
  ledger_of_two_ways at_once;
  EXPECT_EQ(at_once.links_after(1, 1, 2, std::nullopt), 2U) << "it is idle at 1: what 2 and 3 have said stands";
  EXPECT_EQ(at_once.links_after(2, 1, 3, 5), 1U);

  ledger_of_two_ways both_idle;
  EXPECT_EQ(both_idle.links_after(1, 2, 2, std::nullopt), 2U);
  EXPECT_EQ(both_idle.links_after(2, 1, 2, std::nullopt), 1U);
  EXPECT_EQ(both_idle.links_after(3, 1, 3, 5), 1U) << "it has left 3, too, which 2 sent it to";

  ledger_of_two_ways same_way;
  same_way.links_after(1, 1, 2, std::nullopt);
  EXPECT_EQ(same_way.links_after(2, 1, 3, 2), 3U);
  EXPECT_EQ(same_way.links_after(3, 1, 4, 5), 1U);
}

TEST(exact_neighbourhood, a_flow_that_stays_idle_is_counted_behind_that_node_until_nobody_has_said_for_a_while_that_it_has_it) {
  constexpr std::uint64_t grace_us = 2 * exact_neighbourhood_config{}.refresh_us;
  ledger_of_two_ways ended;
  ended.links_after(1, 1, 2, std::nullopt);
  EXPECT_EQ(ended.links_at(1 + grace_us), 2U);
  EXPECT_EQ(ended.links_at(2 + grace_us), 0U);

  ledger_of_two_ways still_there;
  still_there.links_after(1, 1, 2, std::nullopt);
  still_there.links_after(grace_us, 2, 2, 3);
  EXPECT_EQ(still_there.links_at(2 * grace_us), 2U) << "2 has said that it still has it";
  EXPECT_EQ(still_there.links_at(2 * grace_us + 1), 0U);

  ledger_of_two_ways back_again;
  back_again.links_after(1, 1, 2, std::nullopt);
  back_again.links_after(2, 1, 3, 2);
  EXPECT_EQ(back_again.links_at(3 * grace_us), 3U);
}

TEST(exact_neighbourhood, tells_a_change_once_and_what_did_not_change_seldom) {
  exact_neighbourhood ledger = router_with_a_flow(9);
  wire::hello message;
  message.nodes = {{.node = 2, .sequence = 1, .neighbours = {1}}};
  message.nodes[0].flows.push_back({.next = 0, .flow = 5, .cost_s_per_bit = 1e-6, .rate_limit_bps = 100'000});
  const auto tells_of_2 = [&](std::uint64_t now_us) { return ledger.make_hello(now_us)->nodes.size() == 2; };
  EXPECT_TRUE(ledger.on_hello(0, message));
  EXPECT_TRUE(tells_of_2(1));
  // The same again, and later, with a newer number only.
  ++message.nodes[0].sequence;
  EXPECT_FALSE(ledger.on_hello(500'000, message));
  EXPECT_FALSE(tells_of_2(600'000));
  message.nodes[0].flows[0].rate_limit_bps = 50'000;
  ++message.nodes[0].sequence;
  EXPECT_TRUE(ledger.on_hello(700'000, message));
  EXPECT_TRUE(tells_of_2(800'000));
  EXPECT_FALSE(tells_of_2(900'000));
  EXPECT_TRUE(tells_of_2(800'000 + exact_neighbourhood_config{}.refresh_us));
}

TEST(exact_neighbourhood, a_router_far_from_all_flows_is_silent_and_one_between_passes_on_what_is_lacking) {
  const auto told = [](std::uint32_t node, std::int16_t x_m, std::uint8_t hops) {
    wire::hello_node from{.node = node, .hops = hops, .sequence = 1, .position = wire::node_position{.x_m = x_m, .y_m = 0}};
    from.neighbours = {90 + node};
    from.flows.push_back({.next = 0, .flow = node, .cost_s_per_bit = 1e-6});
    return from;
  };
  exact_neighbourhood far({.node = 7, .position = wire::node_position{.x_m = 1200, .y_m = 0}});
  far.on_hello(0, {.nodes = {told(1, 0, 0)}});
  EXPECT_FALSE(far.make_hello(1000));

  exact_neighbourhood between({.node = 8, .position = wire::node_position{.x_m = 200, .y_m = 0}});
  between.on_hello(0, {.nodes = {told(1, 0, 0)}});
  between.on_hello(1000, {.nodes = {told(2, 400, 0)}});
  const auto passed_on = between.make_hello(2000);
  ASSERT_TRUE(passed_on);
  EXPECT_EQ(passed_on->nodes.size(), 3U);
  // Once both say that they know each other, nothing is left to say.
  const std::uint64_t later_us = exact_neighbourhood_config{}.refresh_us + 3000;
  between.on_hello(later_us, {.nodes = {told(1, 0, 0), told(2, 400, 1)}});
  between.on_hello(later_us, {.nodes = {told(2, 400, 0), told(1, 0, 1)}});
  EXPECT_FALSE(between.make_hello(later_us + 1));
  // What it hears anew, and what nobody has said to know for so long, goes again: else they forget each other.
  const std::uint64_t again_us = later_us + 5 * exact_neighbourhood_config{}.refresh_us / 2;
  const auto once_more = [&](std::uint32_t node, std::int16_t x_m) {
    wire::hello_node anew = told(node, x_m, 0);
    ++anew.sequence;
    between.on_hello(again_us, {.nodes = {anew}});
  };
  once_more(1, 0);
  once_more(2, 400);
  const auto passed_on_again = between.make_hello(again_us + 1);
  ASSERT_TRUE(passed_on_again);
  EXPECT_EQ(passed_on_again->nodes.size(), 3U);
}

// However often the ledger changes.
TEST(exact_router, hellos_take_their_share_of_the_channel_time_and_no_more) {
  exact_router_config config = config_of(exact_mode::m2);
  exact_router router(config);
  router.set_peer_node(0, 2);
  const delay_estimator delays(*config.profile);
  constexpr std::uint64_t duration_us = 100'000'000, step_us = 10'000;
  double spent_us = 0;
  std::uint64_t hellos = 0;
  std::uint16_t sequence = 1;
  for (std::uint64_t now_us = 0; now_us < duration_us; now_us += step_us) {
    router.on_packet(now_us, packet_of(1));
    wire::hello message;
    message.nodes = {{.node = 2, .sequence = ++sequence, .neighbours = {1}}};
    message.nodes[0].flows.push_back({.next = 0, .flow = 5, .cost_s_per_bit = 1e-6, .rate_limit_bps = 1000U * sequence});
    router.on_hello(now_us, message);
    if (router.deadline() && *router.deadline() <= now_us) router.on_deadline(now_us);
    if (const auto hello = router.take_hello(now_us)) {
      ++hellos;
      spent_us += delays.broadcast_delay_us(
          static_cast<std::uint32_t>(mac_header_bytes + llc_snap_bytes + wire::encode(*hello).size() + fcs_bytes));
    }
  }
  // Two routers talk here; each may also spend what it saves in 10 s.
  const double part = config.hello_share / 2;
  EXPECT_LE(spent_us, part * (duration_us + 10'000'000) + 5000);
  EXPECT_GT(spent_us, 0.8 * part * duration_us) << "the budget was never used: the test shows nothing";
  EXPECT_GT(hellos, 100U);
}

TEST(exact_router, whose_packet_came_last_is_no_news_nor_is_a_small_change) {
  exact_router router(config_of(exact_mode::m2));
  router.set_peer_node(0, 2);
  exact_neighbourhood reader({.node = 2});
  std::uint64_t news = 0;
  std::uint64_t last_us = 0;
  std::uint64_t longest_us = 0;
  for (std::uint64_t now_us = 0; now_us < 60'000'000; now_us += 10'000) {
    // Four flows, in another order each time; what they may use elsewhere changes by 2 %.
    exact_packet packet = packet_of(1 + (now_us / 10'000 * 7 + now_us / 70'000) % 4);
    packet.explicit_rate_bps = now_us / 10'000 % 2 == 0 ? 50'000 : 51'000;
    packet.current_rate_bps = 50'000;
    router.on_packet(now_us, packet);
    if (*router.deadline() <= now_us) router.on_deadline(now_us);
    if (const auto hello = router.take_hello(now_us)) {
      const bool changed = reader.on_hello(now_us, *wire::decode_hello(wire::encode(*hello)));
      news += now_us > 10'000'000 && changed ? 1 : 0;
      longest_us = std::max(longest_us, now_us - std::exchange(last_us, now_us));
    }
  }
  EXPECT_EQ(news, 0U);
  // The same again goes seldom, but goes.
  EXPECT_GT(longest_us, 3'000'000U);
  EXPECT_LE(longest_us, exact_neighbourhood_config{}.refresh_us + 100'000);
}

TEST(exact_router, a_flow_that_goes_another_way_is_news) {
  exact_router router(config_of(exact_mode::m2));
  router.set_peer_node(0, 2);
  router.set_peer_node(1, 3);
  // Where nothing changes, a hello goes every 5 s. The moves come at other places of that.
  constexpr std::uint64_t begin_us = 40'000'000, stay_us = 7'300'000;
  std::uint64_t moved_us = 0, longest_us = 0;
  std::uint8_t peer = 0;
  int told = 0;
  for (std::uint64_t now_us = 0; now_us < begin_us + 8 * stay_us; now_us += 10'000) {
    exact_packet packet = packet_of(1);
    packet.explicit_rate_bps = packet.current_rate_bps = 50'000;
    if (now_us >= begin_us && (now_us - begin_us) % stay_us == 0) {
      moved_us = now_us;
      peer ^= 1;
    }
    packet.peer = peer;
    router.on_packet(now_us, packet);
    if (*router.deadline() <= now_us) router.on_deadline(now_us);
    const auto hello = router.take_hello(now_us);
    if (moved_us == 0 || !hello || wire::next_node(hello->nodes[0], hello->nodes[0].flows.at(0)) != peer + 2U) continue;
    longest_us = std::max(longest_us, now_us - std::exchange(moved_us, 0));
    ++told;
  }
  EXPECT_EQ(told, 8);
  EXPECT_LE(longest_us, exact_router_config{}.hello_interval_us);
}

TEST(exact_neighbourhood, a_relay_takes_a_quarter_of_the_air_of_an_end_and_counts_the_relays_it_does_not_hear) {
  const auto told = [](std::uint32_t node, std::int16_t x_m, bool with_flow) {
    wire::hello_node from{.node = node, .sequence = 1, .position = wire::node_position{.x_m = x_m, .y_m = 0}};
    if (with_flow) {
      from.neighbours = {90 + node};
      from.flows.push_back({.next = 0, .flow = node, .cost_s_per_bit = 1e-6});
    }
    return from;
  };
  exact_neighbourhood relay({.node = 8, .position = wire::node_position{.x_m = 200, .y_m = 0}});
  relay.on_hello(0, {.nodes = {told(1, 0, true)}});
  relay.on_hello(0, {.nodes = {told(2, 400, true)}});
  EXPECT_DOUBLE_EQ(relay.hello_part_share(), 0.25 / 3);
  // Of 550 m around a station a relay hears 250 m.
  relay.on_hello(0, {.nodes = {told(3, 300, false)}});
  EXPECT_DOUBLE_EQ(relay.hello_part_share(), 0.25 / (3 + 0.25 * 4.84));
  relay.set_own(0, told(8, 200, true));
  EXPECT_DOUBLE_EQ(relay.hello_part_share(), 1 / (3 + 0.25 * 4.84));
}

TEST(exact_router, a_router_without_flows_around_asks_for_no_hello) {
  exact_router router(config_of(exact_mode::m2));
  EXPECT_FALSE(router.deadline());
  exact_packet other = packet_of(1);
  other.current_rate_bps = 0;
  router.on_packet(0, other);
  EXPECT_FALSE(router.deadline());
  EXPECT_FALSE(router.take_hello(10'000'000));
}

}  // namespace
}  // namespace perhop::policy
