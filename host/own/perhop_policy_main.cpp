// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-policy FILE NAME: loads a policy of one's own and prints which parts of a flow's policy it takes, by their keys in run.json, a
// line each. It runs the file.
// perhop-policy --cost FILE NAME: calls each of its functions many times and prints the CPU time of a call, `FUNCTION NANOSECONDS`, a line
// each. Exit status: 0 it is a policy, 1 it failed while it was called, 2 it is none; problem and remedy are on standard error.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

#include "host/own/load_policy.hpp"

namespace {

std::uint64_t cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// The least of several rounds: what else the computer does adds, and never takes away. @param call gets how many times it was called
template <typename call_type>
void print_cost(const char* function, call_type call) {
  constexpr std::uint64_t rounds = 20, calls = 2000;
  std::uint64_t least_ns = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t begun_ns = cpu_ns();
    for (std::uint64_t each = 0; each < calls; ++each) call(round * calls + each);
    least_ns = std::min(least_ns, cpu_ns() - begun_ns);
  }
  std::printf("%s %llu\n", function, static_cast<unsigned long long>(least_ns / calls));
}

/// What a flow over three hops tells, 10 ms from packet to packet.
int print_costs(const perhop_policy& table) {
  static bool failed = false;
  const perhop_host host{nullptr, [](void*, const char* problem) {
                           if (!failed) std::fprintf(stderr, "%s\n  remedy: mend the file\n", problem);
                           failed = true;
                         }};
  void* const object = table.create(&table, &host);
  if (object == nullptr || failed) return 1;
  const auto now_us = [](std::uint64_t times) { return 10'000 * times; };
  const perhop_path path{3, 3, 23'040, 7680, 5520, 0, 60'000, 31'000, 4, 1460};
  const perhop_sent sent{1460, 4};
  const perhop_release release{1460, 8};
  const perhop_arrival arrival{1460, 4, 3, 31'000, 1};
  const perhop_completion completion{.peer = 1, .delivered = 1, .mpdu_bytes = 1554, .rts_attempts = 1, .data_attempts = 1, .data_us = 6400};
  if (table.on_path != nullptr) print_cost("on_path", [&](auto times) { table.on_path(object, now_us(times), &path); });
  if (table.on_sent != nullptr) print_cost("on_sent", [&](auto times) { table.on_sent(object, now_us(times), &sent); });
  if (table.on_arrival != nullptr) print_cost("on_arrival", [&](auto times) { table.on_arrival(object, now_us(times), &arrival); });
  if (table.on_tcp_ack_sent != nullptr) print_cost("on_tcp_ack_sent", [&](auto times) { table.on_tcp_ack_sent(object, now_us(times), 0); });
  if (table.on_completion != nullptr)
    print_cost("on_completion", [&](auto times) { table.on_completion(object, now_us(times), &completion); });
  if (table.limit_packets != nullptr) print_cost("limit_packets", [&](auto) { table.limit_packets(object); });
  if (table.pacing_interval_us != nullptr) {
    print_cost("pacing_interval_us", [&](auto times) { table.pacing_interval_us(object, now_us(times), &release); });
  }
  if (table.tcp_ack_packets != nullptr) print_cost("tcp_ack_packets", [&](auto) { table.tcp_ack_packets(object); });
  if (table.tcp_ack_deadline_us != nullptr) {
    print_cost("tcp_ack_deadline_us", [&](auto times) {
      const perhop_tcp_ack_wait wait{now_us(times), now_us(times), 10'000 << 8};
      table.tcp_ack_deadline_us(object, &wait);
    });
  }
  table.destroy(object);
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool cost = argc == 4 && std::string_view(argv[1]) == "--cost";
  if (argc != 3 && !cost) {
    std::fprintf(stderr, "usage: perhop-policy [--cost] FILE NAME\n");
    return 2;
  }
  try {
    perhop::own::policy_file policy(argv[argc - 2], argv[argc - 1], [](const std::string&) {});
    policy.load();
    const perhop_policy& table = *policy.table();
    if (cost) return print_costs(table);
    if (table.limit_packets != nullptr) std::puts("cwl");
    if (table.tcp_ack_packets != nullptr) std::puts("tcp_ack");
    if (table.pacing_interval_us != nullptr) std::puts("pacing");
    return 0;
  } catch (const perhop::own::policy_error& error) {
    std::fprintf(stderr, "%s\n  remedy: %s\n", error.what(), error.remedy().c_str());
    return 2;
  }
}
