// SPDX-License-Identifier: GPL-2.0-or-later
//
// Two real kernels over a link of a fixed delay and rate: their times are exact to the nanosecond. Needs what `make kernel` builds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/kernel/calendar.hpp"
#include "sim/kernel/flow_plan.hpp"
#include "sim/kernel/initramfs.hpp"
#include "sim/kernel/kernel_process.hpp"
#include "sim/kernel/network_card.hpp"
#include "sim/kernel/rate_message.hpp"

namespace perhop::kernels {
namespace {

constexpr time_ns delay_ns = 5'000'000, ns_per_byte = 4'000;  // 2 Mb/s
constexpr time_ns told_at = 1'200'000'000;
constexpr std::uint8_t syn = 0x02, tcp_ack = 0x10;

std::filesystem::path image() {
  const char* const other = std::getenv("PERHOP_KERNEL");
  return other != nullptr ? other : PERHOP_KERNEL_IMAGE;
}

struct passing {
  time_ns when;
  std::size_t kernel;
  bool sent;
  std::size_t bytes;
  std::uint8_t flags;  ///< of TCP

  friend auto operator<=>(const passing&, const passing&) = default;
};

class fixed_link : public testing::Test {
protected:
  void SetUp() override {
    if (!std::filesystem::exists(image())) {
      std::printf("\n*** NO KERNEL at %s: what only real kernels can show is NOT TESTED. `make kernel` builds one. ***\n\n",
                  image().c_str());
      GTEST_SKIP();
    }
    std::string name = (std::filesystem::temp_directory_path() / "link-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    before_ = std::filesystem::current_path();
  }
  void TearDown() override {
    if (folder_.empty()) return;
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

  /// A flow from kernel 0 to kernel 1 for a virtual second. @param told_bps a rate of EXACT, told to it when a fifth of that has passed; 0:
  /// none. @return what passed
  std::vector<passing> run(const std::string& congestion_control, bool shared_memory = true, std::uint64_t told_bps = 0) {
    const std::filesystem::path here = folder_ / std::to_string(++runs_);
    std::filesystem::create_directories(here / "uml");
    std::filesystem::current_path(here);
    std::filesystem::create_symlink(image(), kernel_link);
    std::filesystem::create_symlink(std::filesystem::path(PERHOP_KERNEL_PARTS) / "libperhop_seeded_random.so", random_link);
    std::ifstream program(std::filesystem::path(PERHOP_KERNEL_PARTS) / "perhop-flow-end.cpio.gz", std::ios::binary);
    std::string flow_end{std::istreambuf_iterator<char>(program), {}};
    flow_end.resize((flow_end.size() + 3) / 4 * 4);

    std::vector<passing> log;
    calendar time({.socket_path = "time.sock", .kernels = 2, .shared_memory = shared_memory});
    std::vector<std::unique_ptr<network_card>> cards;
    std::array<time_ns, 2> sent_by{};  // when each direction of the link is free
    kernel_processes processes;
    for (std::size_t kernel = 0; kernel < 2; ++kernel) {
      cards.push_back(std::make_unique<network_card>(
          time, kernel, "card-" + std::to_string(kernel), 0x0200'0000'0001 + kernel, [&, kernel](std::span<const std::uint8_t> frame) {
            note(log, time.now(), kernel, true, frame);
            std::vector<std::uint8_t> bytes(frame.begin(), frame.end());
            for (std::size_t octet = 0; octet < 6; ++octet)
              bytes[octet] = octet == 0 ? 2 : octet == 5 ? static_cast<std::uint8_t>(2 - kernel) : 0;
            sent_by[kernel] = std::max(sent_by[kernel], time.now()) + ns_per_byte * frame.size();
            time.at(sent_by[kernel] + delay_ns, [&, kernel, bytes] {
              note(log, time.now(), 1 - kernel, false, bytes);
              cards[1 - kernel]->deliver(bytes);
            });
          }));
      const std::string plan =
          kernel == 0 ? "address 10.0.0.1\nrates 49151\nsend 0 49152 10.0.0.2 60000 1000000000 3000000000 1460 " + congestion_control + "\n"
                      : "address 10.0.0.2\nreceive 0 60000 1460 0 " + congestion_control + "\n";
      const std::vector<initramfs_file> files = {
          {.name = flow_plan::file_name, .content = plan + "edge 2000000000\nmeasure_from 1000000000\n"}};
      std::ofstream("initramfs-" + std::to_string(kernel), std::ios::binary) << flow_end << make_initramfs({}, files);
      processes.start(
          here, {.arguments = {"mem=32M", "uml_dir=uml/", "umid=k" + std::to_string(kernel),
                               "time-travel=ext:" + std::to_string(kernel) + ":time.sock",
                               "virtio_uml.device=card-" + std::to_string(kernel) + ":1", "initrd=initramfs-" + std::to_string(kernel),
                               "con=null", "con0=null,fd:1", "quiet", "random.trust_cpu=0", "panic=-1"},
                 .seed = 7 + kernel,
                 .console = "console-" + std::to_string(kernel)});
    }
    if (told_bps != 0) {
      time.at(told_at, [&] {
        const std::vector<std::uint8_t> message = rate_message(0x0A000001, 0, told_bps);
        std::vector<std::uint8_t> frame = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
        frame.insert(frame.end(), message.begin(), message.end());
        cards[0]->deliver(frame);
      });
    }
    time.connect();
    time.run(2'001'000'000, [] { return true; });
    processes.end();
    for (const char* const name : {"console-0", "console-1"}) {
      std::ifstream console(here / name);
      said_ = {std::istreambuf_iterator<char>(console), {}};
      if (std::string_view(name) == "console-0") sender_said_ = said_;
    }
    return log;
  }

  static void note(std::vector<passing>& log, time_ns when, std::size_t kernel, bool sent, std::span<const std::uint8_t> frame) {
    constexpr std::size_t protocol_at = 14 + 9, flags_at = 14 + 20 + 13;
    const bool tcp = frame.size() > flags_at && frame[protocol_at] == 6;
    log.push_back({when, kernel, sent, frame.size(), tcp ? frame[flags_at] : std::uint8_t{0}});
  }

  std::filesystem::path folder_, before_;
  int runs_ = 0;
  std::string said_, sender_said_;
};

TEST_F(fixed_link, a_syn_is_answered_after_two_delays_and_two_airtimes_to_the_nanosecond) {
  const std::vector<passing> log = run("cubic");
  const auto find = [&log](std::size_t kernel, bool sent, std::uint8_t flags) {
    return std::find_if(log.begin(), log.end(),
                        [&](const passing& one) { return one.kernel == kernel && one.sent == sent && one.flags == flags; });
  };
  const auto asked = find(0, true, syn), answered = find(0, false, syn | tcp_ack);
  ASSERT_NE(asked, log.end());
  ASSERT_NE(answered, log.end());
  EXPECT_EQ(answered->when - asked->when, 2 * delay_ns + ns_per_byte * (asked->bytes + answered->bytes));
  EXPECT_GE(asked->when, 1'000'000'000U) << "when the flow was to start";
  EXPECT_LT(asked->when, 1'000'100'000U);
}

TEST_F(fixed_link, the_receiver_has_read_what_was_sent_and_nothing_else) {
  const std::vector<passing> log = run("reno");
  std::size_t payload_bytes = 0;
  constexpr std::size_t headers = 14 + 20 + 32;  // with time stamps
  for (const passing& one : log) {
    if (one.kernel == 1 && !one.sent && (one.flags & syn) == 0 && one.bytes > headers && one.when <= 2'000'000'000)
      payload_bytes += one.bytes - headers;
  }
  EXPECT_GT(payload_bytes, 100'000U);
  EXPECT_NE(said_.find("\"at_ns\": 2000000000, \"received_bytes\": " + std::to_string(payload_bytes) + "}"), std::string::npos)
      << payload_bytes << " bytes came; it says " << said_;
}

TEST_F(fixed_link, two_runs_are_the_same_by_shared_memory_and_by_messages) {
  const std::vector<passing> log = run("bbr");
  EXPECT_GT(log.size(), 100U);
  EXPECT_EQ(run("bbr"), log);
  EXPECT_EQ(run("bbr", false), log);
}

/// When data left a kernel from some time on.
std::vector<time_ns> data_after(const std::vector<passing>& log, time_ns from) {
  std::vector<time_ns> found;
  for (const passing& one : log) {
    if (one.kernel == 0 && one.sent && one.bytes > 1000 && one.when >= from) found.push_back(one.when);
  }
  return found;
}

TEST_F(fixed_link, a_kernel_that_is_told_a_rate_of_exact_sends_no_faster) {
  constexpr std::uint64_t rate_bps = 400'000;  // 30 ms a packet of 1500 bytes; the link takes 6
  constexpr time_ns packet_ns = 30'000'000, settled = told_at + 200'000'000, end = 2'000'000'000;
  for (const char* const tcp : {"reno", "cubic", "bbr"}) {
    const auto free = data_after(run(tcp), settled), paced = data_after(run(tcp, true, rate_bps), settled);
    EXPECT_GT(free.size(), 80U) << tcp << ": without a rate the link's is used";
    ASSERT_GT(paced.size(), static_cast<std::size_t>((end - settled) / packet_ns * 9 / 10)) << tcp;
    // Linux may send two segments at a time, and then waits for both.
    for (std::size_t index = 2; index < paced.size(); ++index) {
      EXPECT_GE(paced[index] - paced[index - 2], packet_ns) << tcp << ", packet " << index;
    }
    EXPECT_LE(paced.size(), static_cast<std::size_t>((end - settled) / packet_ns) + 3) << tcp;
    EXPECT_NE(sender_said_.find("\"pacing_bytes_per_s\": 48266}"), std::string::npos) << sender_said_;
  }
}

}  // namespace
}  // namespace perhop::kernels
