// SPDX-License-Identifier: GPL-2.0-or-later
/// One Verilated shell_top with its three clocks: registers, packets both ways, and a converter of which every sample is handed over.
///
/// The clocks run as in the image but for the host's, which only moves registers and packets: it is slower here, so that more samples
/// are simulated in a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace perhop::virtual_usrp {

/// A sample of the converter: I and Q, 16 bits each.
struct sample {
  std::int16_t i = 0, q = 0;
};

class shell_node {
public:
  struct access {
    std::uint64_t tag;  ///< of whoever asks
    bool write;
    std::uint32_t address, word;
  };
  struct answer {
    std::uint64_t tag;
    std::uint32_t status;  ///< 0 done, 1 refused
    std::uint32_t word;
  };

  explicit shell_node(double samples_per_us);
  ~shell_node();
  shell_node(shell_node&&) noexcept;
  shell_node& operator=(shell_node&&) = delete;

  /// The time of one sample goes by. @param other of the converter's other user, where it sends
  /// @return what is sent in it; nothing while the front end does not send
  sample step(sample heard, std::optional<sample> other = {});
  /// Whether the front end was switched to sending in the last sample.
  bool sends() const { return sends_; }
  /// What the timekeeper says of the sample that comes next: one more than of the last, unless it is set.
  std::uint64_t ticks() const { return ticks_; }
  void set_ticks(std::uint64_t ticks) { ticks_ = ticks; }

  /// One access after the other; each takes about a microsecond.
  void ask(access wanted) { accesses_.push_back(wanted); }
  /// A packet for the MAC; it waits here while the MAC has no room.
  void give(const std::vector<std::uint8_t>& packet, bool ends_burst);
  /// Whether the host takes what the MAC has for it; what it does not take waits in the FPGA.
  void let_host_take(bool takes) { host_takes_ = takes; }

  /// A packet of the stream to the host.
  struct to_host {
    std::vector<std::uint32_t> words;
    bool ends_burst;                     ///< the MAC's packet ends with it
    std::optional<std::uint64_t> ticks;  ///< the time beside it
  };
  /// Answers and packets of the MAC since the last call.
  std::vector<answer> take_answers();
  std::vector<to_host> take_packets();

private:
  struct given {
    std::vector<std::uint32_t> words;
    std::uint16_t bytes;
    bool ends_burst;
  };
  struct model;

  static constexpr std::size_t clocks = 3;

  void let_fall(std::uint64_t now_ps);
  void settle(std::size_t number);
  void rise(std::size_t number);
  void evaluate();
  sample radio_edge(sample heard, std::optional<sample> other);
  void host_edge();
  void drive_host();

  std::unique_ptr<model> model_;
  std::uint64_t period_ps_[clocks], next_ps_[clocks] = {0, 0, 0};  ///< of the next rising edge
  bool is_high_[clocks] = {};                                      ///< as it was evaluated
  bool sends_ = false;
  std::uint64_t ticks_ = 0;
  std::deque<access> accesses_;
  bool host_takes_ = true;
  bool asked_ = false;  ///< the first of them is under way
  unsigned pause_ = 0;  ///< clocks until the next one may be
  std::vector<answer> answers_;
  std::deque<given> to_mac_;
  std::size_t at_ = 0;
  std::vector<std::uint32_t> coming_;
  std::vector<to_host> come_;
};

}  // namespace perhop::virtual_usrp
