// SPDX-License-Identifier: GPL-2.0-or-later
//
// The calendar with kernels that are threads of the test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "fake_kernel.hpp"
#include "sim/kernel/calendar.hpp"

namespace perhop::kernels {
namespace {

using namespace std::chrono_literals;

constexpr auto always = [] { return true; };

class calendar_test : public testing::TestWithParam<std::pair<bool, bool>> {
protected:
  calendar_test() {
    std::string name = (std::filesystem::temp_directory_path() / "calendar-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~calendar_test() override {
    kernels_.clear();
    std::filesystem::remove_all(folder_);
  }

  calendar& make(std::size_t kernels) {
    calendar_ = std::make_unique<calendar>(calendar_config{
        .socket_path = path(), .kernels = kernels, .shared_memory = GetParam().first, .free_running = GetParam().second, .patience = 1s});
    return *calendar_;
  }
  void start(std::uint64_t number, fake_kernel::work does) {
    kernels_.push_back(std::make_unique<fake_kernel>(path(), number, std::move(does)));
  }
  void TearDown() override { calendar_.reset(); }
  std::string path() const { return folder_ / "time"; }
  /// One acts at a time, and the calendar's messages put them in order.
  void note(const std::string& who, time_ns when) { log_.push_back(who + "@" + std::to_string(when)); }

  std::filesystem::path folder_;
  std::vector<std::string> log_;
  std::latch over_{1};  ///< a kernel that spins waits for it
  std::unique_ptr<calendar> calendar_;
  std::vector<std::unique_ptr<fake_kernel>> kernels_;
};

TEST_P(calendar_test, all_begin_at_0_and_act_in_the_order_of_time) {
  calendar& time = make(2);
  // The second connects first.
  start(1, [this](fake_kernel& self) {
    note("b", self.now());
    for (const time_ns when : {20, 25, 60}) {
      self.sleep_until(when);
      note("b", self.now());
    }
  });
  start(0, [this](fake_kernel& self) {
    note("a", self.now());
    for (const time_ns when : {10, 30, 50}) {
      self.sleep_until(when);
      note("a", self.now());
    }
  });
  time.connect();
  time.at(15, [&] { note("event", time.now()); });
  time.run(55, always);
  EXPECT_EQ(log_, (std::vector<std::string>{"a@0", "b@0", "a@10", "event@15", "b@20", "b@25", "a@30", "a@50"}));
}

TEST_P(calendar_test, what_is_due_together_goes_in_a_stated_order) {
  struct one_event : event_source {
    std::function<void(time_ns)> does;
    time_ns when = 100;
    time_ns next_event() const override { return when; }
    void act(time_ns now) override {
      does(now);
      when = never_ns;
    }
  };
  calendar& time = make(2);
  one_event first, second;
  first.does = [this](time_ns now) { note("first source", now); };
  second.does = [this](time_ns now) { note("second source", now); };
  time.add(first);
  time.add(second);
  for (const std::uint64_t number : {1, 0}) {
    start(number, [this, number](fake_kernel& self) {
      self.sleep_until(100);
      note("kernel " + std::to_string(number), self.now());
    });
  }
  time.connect();
  time.at(100, [&] { note("event", time.now()); });
  time.at(100, [&] { note("later event", time.now()); });
  time.run(100, always);
  EXPECT_EQ(log_, (std::vector<std::string>{"first source@100", "second source@100", "event@100", "later event@100", "kernel 0@100",
                                            "kernel 1@100"}));
}

TEST_P(calendar_test, a_kernel_alone_takes_its_own_steps_where_it_may) {
  calendar& time = make(1);
  unsigned own_steps = 0;
  start(0, [&](fake_kernel& self) {
    for (time_ns when = 1000; when <= 10'000; when += 1000) self.sleep_until(when);
    own_steps = self.own_steps();
    note("done", self.now());
  });
  time.connect();
  time.at(20'000, [] {});
  time.run(20'000, always);
  EXPECT_EQ(log_, std::vector<std::string>{"done@10000"});
  // By messages it learns how long it is free when it is told to run, not when it begins.
  EXPECT_EQ(own_steps, !GetParam().second ? 0U : GetParam().first ? 10U : 9U);
}

TEST_P(calendar_test, a_kernel_that_ends_is_named) {
  calendar& time = make(2);
  start(0, [](fake_kernel& self) { self.sleep_until(500); });
  start(1, [](fake_kernel& self) {
    self.sleep_until(50);
    self.end();
  });
  time.connect();
  try {
    time.run(1000, always);
    FAIL() << "nobody noticed";
  } catch (const kernel_failure& failure) {
    EXPECT_EQ(failure.kernel(), 1U);
    EXPECT_STREQ(failure.what(), "has ended");
    EXPECT_EQ(time.now(), 50U);
  }
}

TEST_P(calendar_test, a_kernel_that_lets_no_time_pass_is_named) {
  calendar& time = make(1);
  start(0, [this](fake_kernel& self) {
    self.sleep_until(50);
    over_.wait();
  });
  time.connect();
  EXPECT_THROW(
      {
        try {
          time.run(1000, always);
        } catch (const kernel_failure& failure) {
          EXPECT_EQ(std::string(failure.what()), "has let no time pass for 1 s");
          throw;
        }
      },
      kernel_failure);
  over_.count_down();
}

TEST_P(calendar_test, a_kernel_that_speaks_nonsense_is_named) {
  calendar& time = make(1);
  start(0, [](fake_kernel& self) { self.say(static_cast<time_travel_op>(77), 0); });
  time.connect();
  EXPECT_THROW(time.run(1000, always), kernel_failure);
}

TEST_P(calendar_test, a_kernel_that_never_comes_is_missed) {
  calendar& time = make(2);
  start(0, [](fake_kernel&) {});
  try {
    time.connect();
    FAIL() << "nobody noticed";
  } catch (const kernel_failure& failure) {
    EXPECT_EQ(failure.kernel(), 1U);
  }
}

TEST_P(calendar_test, an_interrupt_ends_the_waiting_for_a_kernel) {
  calendar& time = make(1);
  start(0, [this](fake_kernel& self) {
    self.sleep_until(50);
    over_.wait();
  });
  time.connect();
  const auto begun = std::chrono::steady_clock::now();
  time.set_interrupted([begun] { return std::chrono::steady_clock::now() - begun > 100ms; });
  EXPECT_THROW(time.run(1000, always), kernel_failure);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 900ms);
  over_.count_down();
}

INSTANTIATE_TEST_SUITE_P(ways, calendar_test,
                         testing::Values(std::pair(true, true), std::pair(true, false), std::pair(false, true), std::pair(false, false)),
                         [](const auto& info) {
                           return std::string(info.param.first ? "shared_memory" : "messages") +
                                  (info.param.second ? "_free" : "_stepwise");
                         });

}  // namespace
}  // namespace perhop::kernels
