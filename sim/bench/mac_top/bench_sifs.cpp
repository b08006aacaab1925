// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// How exact mac_top's transmissions are, in clocks: responses after SIFS, and starts on slot boundaries, over random
/// receptions at random times, good and bad, for this station and for others, with host and PHY at work all the while.
///
/// Usage: perhop-bench-sifs PROFILE RECEPTIONS STARTS SEED TX_DELAY_CLOCKS RX_DELAY_CLOCKS [fault]
/// Prints one JSON object: for responses and for starts the number of each delay or deviation seen. Exit status 1 if the MAC did
/// something else than the standard asks for (a response missing, or one too many), 2 for wrong arguments. `fault`: the MAC is told a
/// receive delay that is a clock too long, so all that it sends comes a clock too early.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "sim/bench/mac_top/mac_device.hpp"

namespace {

using namespace perhop;
using namespace perhop::bench;

using clocks = std::int64_t;
using histogram = std::map<clocks, std::uint64_t>;

constexpr std::uint64_t us_address = node_address_base + 1;
constexpr std::uint64_t peer_address = node_address_base + 2;
constexpr std::uint64_t other_address = node_address_base + 3;
constexpr std::uint64_t third_address = node_address_base + 4;
// Who a packet is for tells its queue: the PHY is not told.
constexpr std::uint64_t of_queue[2][2] = {{peer_address, broadcast_address}, {node_address_base + 5, 0x01005E000001}};

class failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class measurement {
public:
  measurement(const timing_profile& profile, std::uint64_t seed, std::uint32_t tx_delay_clocks, std::uint32_t rx_delay_clocks, bool fault)
      : profile_(profile),
        random_(seed),
        us_(mac_device::clocks_per_us()),
        tx_delay_clocks_(tx_delay_clocks),
        rx_delay_clocks_(rx_delay_clocks) {
    whole_frames_ = profile.phy_rx_start_delay_us > 1000;
    const std::uint32_t delays_us = (tx_delay_clocks + rx_delay_clocks) / mac_device::clocks_per_us() + 1;
    timeout_us_ = profile.response_timeout_us + delays_us;
    mac_.configure({.profile = &profile,
                    .address = us_address,
                    .seed = seed * 0x9E37'79B9'7F4A'7C15 + 1,
                    .tx_delay_clocks = tx_delay_clocks,
                    .rx_delay_clocks = rx_delay_clocks + (fault ? 1 : 0),
                    .more_response_timeout_us = delays_us});
    begun_ = now() - static_cast<clocks>(mac_.tsf_us()) * us_;
  }

  void run(std::uint64_t receptions, std::uint64_t starts) {
    // Responses first with nothing to send, then with a host that always has packets. Where a slot takes milliseconds, a host
    // without packets for all of them.
    while (responses_ < (whole_frames_ ? receptions : receptions / 2)) reception();
    check_tsf();
    contending_ = true;
    while (responses_ < receptions || slot_starts_ < starts) reception();
    check_tsf();
  }

  nlohmann::json result() const {
    nlohmann::json value;
    const auto put = [](const histogram& counted) {
      nlohmann::json list = nlohmann::json::object();
      for (const auto& [delay, count] : counted) list[std::to_string(delay)] = count;
      return list;
    };
    for (const auto& [name, counted] : delays_) value["responses"][name] = put(counted);
    for (const auto& [name, counted] : deviations_) value["starts"][name] = put(counted);
    value["clocks"] = mac_.now();
    value["clocks_per_us"] = us_;
    value["expected_clocks"] = sifs_clocks();
    value["delivered"] = delivered_;
    value["dropped"] = dropped_;
    value["collisions"] = collisions_;
    value["tsf_error_clocks"] = tsf_errors_;
    return value;
  }

private:
  clocks sifs_clocks() const { return profile_.sifs_us * us_ - tx_delay_clocks_ - rx_delay_clocks_; }
  clocks now() const { return static_cast<clocks>(mac_.now()); }

  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
  bool chance(double probability) { return static_cast<double>(random_() >> 11) * 0x1p-53 < probability; }

  /// Clocks pass until `end`, or until the MAC starts a frame: true.
  bool run_until(clocks end) {
    while (now() < end) {
      if (contending_ && mac_.packets_waiting() < 2) mac_.give(any_packet());
      if (mac_.clock()) return true;
    }
    for (const completion& record : mac_.completions()) {
      (record.result == tx_result::delivered || record.result == tx_result::group_sent ? delivered_ : dropped_) += 1;
    }
    mac_.completions().clear();
    return false;
  }

  /// How far the TSF is from the clock now; an access takes less than a microsecond.
  void check_tsf() {
    if (mac_.torn_records() != 0) throw failure("a completion record of the wrong length");
    const clocks error = static_cast<clocks>(mac_.tsf_us()) * us_ - (now() - begun_);
    if (mac_.take_start()) own_frame(nullptr, 0);
    tsf_errors_.push_back(error);
  }

  bytes any_bytes(std::size_t count) {
    bytes data(count);
    for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random_());
    return data;
  }

  std::uint32_t any_rate() { return static_cast<std::uint32_t>(below(profile_.rates.size())); }

  host_packet any_packet() {
    const std::uint64_t queue = below(2), group = chance(0.4);
    return {.queue = static_cast<std::uint32_t>(queue),
            .ra = of_queue[queue][group],
            .rate = any_rate(),
            .tag = 1,
            .force_rts = chance(0.4),
            .msdu = any_bytes(1 + below(60))};
  }

  static bool is_group(std::uint64_t ra) { return (ra >> group_address_bit & 1) != 0; }
  static int queue_of(std::uint64_t ra) { return ra == of_queue[1][0] || ra == of_queue[1][1]; }

  // ---- The PHY hears

  struct heard {
    clocks start = 0;  ///< of phy_rx_start
    clocks end = 0;    ///< of phy_rx_end
    clocks quiet = 0;  ///< of the carrier's fall
  };

  enum class damage { none, lost_carrier, plcp };

  /// A frame is on the air from `begin` on; schedules what the PHY says of it.
  heard hear(const bytes& frame, std::uint32_t rate, clocks begin, damage what = damage::none) {
    const clocks airtime = airtime_us(profile_, rate, static_cast<unsigned>(frame.size())) * us_;
    const clocks at = begin + rx_delay_clocks_;
    heard times{.start = at + profile_.rates[rate].preamble_us * us_, .end = at + airtime};
    const auto count = static_cast<clocks>(frame.size());
    if (whole_frames_) times.start = times.end - count - 8;
    clocks bytes_heard = count;
    if (what == damage::lost_carrier) {
      bytes_heard = static_cast<clocks>(below(frame.size()));
      times.end = times.start + 6 + (airtime - (times.start - at)) * bytes_heard / count + static_cast<clocks>(below(100));
    }
    // The carrier is heard within two microseconds, and may stay because of others: for any time, often shorter than the MAC
    // takes to know whether it answers.
    const std::uint64_t longest_us = chance(0.5) ? 2 : 22;
    times.quiet = times.end + (chance(0.2) ? 1 + static_cast<clocks>(below(longest_us * static_cast<std::uint64_t>(us_))) : 0);
    schedule(at + static_cast<clocks>(below(static_cast<std::uint64_t>(2 * us_))), phy_event::what::carrier);
    if (what != damage::plcp) {
      schedule(times.start, phy_event::what::start, static_cast<std::uint32_t>(count), rate);
      const clocks room = times.end - times.start - first_byte_clocks - 2;
      for (clocks index = 0; index < bytes_heard; ++index) {
        schedule(times.start + first_byte_clocks + (bytes_heard == 0 ? 0 : room * index / bytes_heard), phy_event::what::byte,
                 frame[static_cast<std::size_t>(index)]);
      }
      schedule(times.end, phy_event::what::end, what == damage::lost_carrier);
    }
    schedule(times.quiet, phy_event::what::no_carrier);
    return times;
  }

  void schedule(clocks at, phy_event::what kind, std::uint32_t value = 0, std::uint32_t rate = 0) {
    mac_.schedule({.at = static_cast<clock_number>(at), .kind = kind, .value = value, .rate = rate});
  }

  // ---- What the MAC must have understood

  /// The medium has been busy until `at`, as it is for a phy_tx_start.
  void busy_until(clocks at, const char* what) {
    edge_ = at;
    edge_name_ = what;
  }

  void good_frame(const frame_fields& fields, clocks end) {
    bad_ = false;
    if (fields.ra == us_address) return;
    const clocks nav_end = end - tx_delay_clocks_ - rx_delay_clocks_ + static_cast<clocks>(fields.duration_us) * us_;
    if (fields.duration_us < 32768 && nav_end > nav_end_) {
      nav_end_ = nav_end;
      nav_edge_ = end;
    }
  }

  // ---- The MAC sends

  /// A frame of the MAC has just started. @param after the response that was due, or nullptr: it won the medium
  void own_frame(const char* after, clocks heard_end) {
    const sent_frame& sent = mac_.last_sent();
    const auto at = static_cast<clocks>(sent.at);
    if (after != nullptr) {
      ++delays_[after][at - heard_end];
      ++responses_;
    }
    const clocks airtime = static_cast<clocks>(sent.airtime_us) * us_;
    mac_.set_byte_clocks(static_cast<std::uint32_t>(1 + below(3)));
    if (run_until(at + tx_delay_clocks_ + airtime)) throw failure("a frame began while another was on the air");
    const auto fields = read_frame(sent.frame);
    if (!sent.whole || !fields || sent.frame.size() != sent.told_bytes) throw failure("a frame was not sent whole and right");
    if (after != nullptr && to_string(fields->kind) != after)
      throw failure(std::string("sent ") + std::string(to_string(fields->kind)) + " for " + after);
    if (after == nullptr) contention_start(at, queue_of(fields->ra));
    busy_until(at + airtime, "own frame");
    bad_ = false;
    const bool asks = fields->kind == frame_kind::rts || (fields->kind == frame_kind::data && !is_group(fields->ra));
    timeout_ = asks ? at + airtime + timeout_us_ * us_ : 0;
    if (asks) asked_queue_ = queue_of(fields->ra);
    if (!asks || !chance(0.85)) return;
    // Its response comes SIFS after its end on the air, within the tolerance of another station.
    const clocks begin = at + tx_delay_clocks_ + airtime + profile_.sifs_us * us_ + static_cast<clocks>(below(33)) - 16;
    const bool cts = fields->kind == frame_kind::rts;
    const std::uint32_t rate = profile_.rates[sent.rate].control_rate_index;
    const std::uint32_t duration_us = cts ? fields->duration_us : 0;
    receive(control_frame(cts ? frame_kind::cts : frame_kind::mac_ack, duration_us, us_address), rate, begin, damage::none,
            cts ? "data" : nullptr);
  }

  /// The MAC began a frame after contention: where in its slots?
  void contention_start(clocks at, int queue) {
    const std::uint64_t waited = own_starts_++;
    const bool known = contending_ && waited > 0 && !unknown_;
    unknown_ = false;
    clocks base = edge_;
    std::string name = edge_name_;
    if (nav_end_ > base) {
      // A NAV set before the last edge goes on through it: it ends within a microsecond of its own end.
      const bool same_edge = nav_edge_ - tx_delay_clocks_ - rx_delay_clocks_ == edge_;
      const clocks over = nav_end_ - base;
      name = same_edge ? "NAV" : "NAV of an earlier frame";
      base = same_edge ? nav_end_ : base + (over + us_ / 2) / us_ * us_;
    }
    const clocks timeout_left = timeout_ - base;
    if (queue != asked_queue_ && timeout_left > 0) {
      // To the other queue the medium was busy until then; behind an edge in whole microseconds from that.
      const bool same_edge = base == edge_ && std::string_view(edge_name_) == "own frame";
      name = same_edge ? "response timeout of the other queue" : "response timeout of the other queue, behind an edge";
      base += (timeout_left + us_ / 2) / us_ * us_;
    }
    base += (bad_ ? profile_.eifs_us : profile_.difs_us) * us_;
    if (queue == asked_queue_ && timeout_ > base) {
      base = timeout_;
      name = "response timeout";
    }
    const clocks slot = profile_.slot_us * us_;
    const clocks slots = (at - base + slot / 2) / slot;
    if (timeout_ == base && slots == 0) name = "response timeout, no slot drawn";
    if (!known) return;
    if (at - base < -slot / 2)
      throw failure("a frame began " + std::to_string(base - at) + " clocks before the inter-frame space ended, after " + name);
    ++deviations_[name][at - base - slots * slot];
    ++slot_starts_;
  }

  // ---- Receptions

  /// A frame is on the air from `begin` on, in a medium otherwise quiet. @param response what the MAC must answer, if it must
  void receive(const bytes& frame, std::uint32_t rate, clocks begin, damage what, const char* response) {
    const heard times = hear(frame, rate, begin, what);
    const bool started = what != damage::plcp;
    // SIFS may be disturbed: a carrier, the start of another frame, its end. The response goes out all the same.
    const clocks sifs = sifs_clocks();
    clocks last = times.quiet;
    if (response != nullptr && chance(0.3)) {
      const clocks from = times.quiet + 2, until = times.end + sifs - 1;
      if (until - from > 40) {
        const clocks rise = from + static_cast<clocks>(below(static_cast<std::uint64_t>(until - from - 30)));
        schedule(rise, phy_event::what::carrier);
        if (chance(0.6)) {
          const clocks start = rise + 2 + static_cast<clocks>(below(static_cast<std::uint64_t>(until - rise - 14)));
          schedule(start, phy_event::what::start, 100, 0);
          schedule(start + 3 + static_cast<clocks>(below(static_cast<std::uint64_t>(until - start - 10))), phy_event::what::end, 1);
        }
        last = until;
        schedule(until, phy_event::what::no_carrier);
      }
    }
    if (run_until(times.end + 1)) {
      // The MAC did not hear it in time: both are lost.
      ++collisions_;
      mac_.cancel_reception();
      unknown_ = true;
      const clocks quiet = std::max(times.quiet, last);
      own_frame_alone();
      if (now() < quiet + 2 && run_until(quiet + 2)) throw failure("a frame began on a busy medium");
      unknown_ = true;
      return;
    }
    if (started) {
      const auto fields = what == damage::none ? read_frame(frame) : std::nullopt;
      if (fields && frame_is_whole_)
        good_frame(*fields, times.end);
      else
        bad_ = true;
      if (timeout_ > times.start) timeout_ = 0;
    }
    if (times.quiet > times.end || !started)
      busy_until(times.quiet - tx_delay_clocks_ - rx_delay_clocks_, "carrier");
    else
      busy_until(times.end - tx_delay_clocks_ - rx_delay_clocks_, "reception");
    if (response != nullptr) {
      if (!run_until(times.end + sifs + 2 * us_))
        throw failure(std::string("no ") + response + " after " + std::to_string(2 * us_) + " clocks more than SIFS");
      own_frame(response, times.end);
    } else if (now() < last + 1 && run_until(last + 1)) {
      throw failure("a frame began on a busy medium");
    }
  }

  /// A frame of the MAC that nobody understands.
  void own_frame_alone() {
    const sent_frame& sent = mac_.last_sent();
    ++own_starts_;
    const clocks end = static_cast<clocks>(sent.at) + static_cast<clocks>(sent.airtime_us) * us_;
    const auto kind_end = end + tx_delay_clocks_;
    if (run_until(kind_end)) throw failure("a frame began while another was on the air");
    const auto fields = read_frame(sent.frame);
    if (!fields) throw failure("a frame was not sent whole and right");
    busy_until(end, "own frame");
    bad_ = false;
    const bool asks = fields->kind == frame_kind::rts || (fields->kind == frame_kind::data && !is_group(fields->ra));
    timeout_ = asks ? end + timeout_us_ * us_ : 0;
    if (asks) asked_queue_ = queue_of(fields->ra);
  }

  void reception() {
    const clocks difs = profile_.difs_us * us_, slot = profile_.slot_us * us_;
    const double where = static_cast<double>(random_() >> 11) * 0x1p-53;
    const double at_once = contending_ ? 0.25 : 0.5;  // within the inter-frame space
    const clocks longest = where < at_once ? difs : where < 0.95 ? difs + (contending_ ? 25 : 10) * slot : 2000 * us_;
    clocks gap = 1 + static_cast<clocks>(below(static_cast<std::uint64_t>(longest)));
    if (whole_frames_ && !contending_) gap = 1 + static_cast<clocks>(below(static_cast<std::uint64_t>(500 * us_)));
    if (run_until(now() + gap)) {
      own_frame(nullptr, 0);
      return;
    }
    const std::uint32_t rate = any_rate();
    const clocks begin = now() + 1;
    const std::uint64_t most = below(40) == 0 ? 1500 : 100;
    const auto msdu = any_bytes(below(most));
    const std::uint32_t short_us = static_cast<std::uint32_t>(below(std::min<std::uint32_t>(profile_.nav_reset_us, 400)));
    frame_is_whole_ = true;
    const std::uint64_t what = below(100);
    if (what < 40) {
      const bool retry = chance(0.1);
      if (!retry) sequence_ = (sequence_ + 1) % 4096;
      receive(data_frame(short_us, us_address, peer_address, other_address, sequence_, retry, msdu), rate, begin, damage::none, "mac_ack");
    } else if (what < 62) {
      // Whether its CTS may go depends on the NAV when it ends.
      const bytes frame = control_frame(frame_kind::rts, 2000 + short_us, us_address, peer_address);
      const clocks end = begin + rx_delay_clocks_ + airtime_us(profile_, rate, rts_bytes) * us_ - tx_delay_clocks_ - rx_delay_clocks_;
      if (nav_end_ > end - 3 * us_ && nav_end_ < end + 3 * us_) return;
      receive(frame, rate, begin, damage::none, nav_end_ > end ? nullptr : "cts");
    } else if (what < 72) {
      receive(data_frame(0, broadcast_address, peer_address, other_address, 1, false, msdu), rate, begin, damage::none, nullptr);
    } else if (what < 86) {
      const std::uint64_t kind = below(3);
      receive(kind == 0   ? control_frame(frame_kind::rts, short_us, other_address, third_address)
              : kind == 1 ? control_frame(frame_kind::cts, short_us, other_address)
                          : data_frame(short_us, other_address, third_address, us_address, 3, false, msdu),
              rate, begin, damage::none, nullptr);
    } else if (what < 92) {
      bytes frame = data_frame(0, us_address, peer_address, other_address, 7, false, msdu);
      frame[below(frame.size())] ^= static_cast<std::uint8_t>(1U << below(8));
      receive(frame, rate, begin, damage::none, nullptr);
    } else if (what < 96) {
      receive(data_frame(0, us_address, peer_address, other_address, 7, false, msdu), rate, begin, damage::lost_carrier, nullptr);
    } else {
      receive(bytes(20 + below(60)), rate, begin, damage::plcp, nullptr);
    }
  }

  const timing_profile& profile_;
  std::mt19937_64 random_;
  mac_device mac_;
  clocks us_;
  clocks tx_delay_clocks_, rx_delay_clocks_;
  clocks timeout_us_ = 0;
  bool whole_frames_ = false;  // the modem reports whole frames only
  bool contending_ = false;
  bool frame_is_whole_ = true;
  bool unknown_ = false;  // what the MAC heard last is not certain
  bool bad_ = false;      // what it heard last was not understood
  std::uint32_t sequence_ = 0;
  clocks edge_ = 0, nav_end_ = 0, nav_edge_ = 0, timeout_ = 0, begun_ = 0;
  int asked_queue_ = 0;  // whose frame the response timeout is of
  const char* edge_name_ = "reset";
  std::uint64_t responses_ = 0, slot_starts_ = 0, own_starts_ = 0, delivered_ = 0, dropped_ = 0, collisions_ = 0;
  std::vector<clocks> tsf_errors_;
  std::map<std::string, histogram> delays_, deviations_;
};

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*text == '\0' || *end != '\0') throw std::invalid_argument(std::string(text) + " is no number");
  return value;
}

}  // namespace

int main(int count, char** values) {
  const bool fault = count == 8 && std::string_view(values[7]) == "fault";
  if ((count != 7 && !fault) || find_profile(values[1]) == nullptr) {
    std::fprintf(stderr, "usage: perhop-bench-sifs PROFILE RECEPTIONS STARTS SEED TX_DELAY_CLOCKS RX_DELAY_CLOCKS [fault]\n");
    return 2;
  }
  try {
    measurement measured(*find_profile(values[1]), number(values[4]), static_cast<std::uint32_t>(number(values[5])),
                         static_cast<std::uint32_t>(number(values[6])), fault);
    std::string problem;
    try {
      measured.run(number(values[2]), number(values[3]));
    } catch (const failure& error) {
      problem = error.what();
    }
    nlohmann::json result = measured.result();
    result["problem"] = problem;
    std::printf("%s\n", result.dump().c_str());
    return problem.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perhop-bench-sifs: %s\n", error.what());
    return 2;
  }
}
