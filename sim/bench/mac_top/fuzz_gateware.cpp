// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// Frames and register accesses of any kind, in bursts, at mac_top; after each burst it must work as before.
///
/// A burst holds frames that are right, cut off, too long, with wrong lengths told, wrong FCS, the station's own address as
/// transmitter, any Duration (65535 among them), errors of the PHY, ends without starts and starts without ends; at any
/// distance, down to a frame in every few clocks; while host packets, some of them wrong, wait to be sent, and the host is
/// slow to take what comes, and the PHY slow to take what goes. In between registers are read and written at random. Then:
///   - the registers hold the settings of before (every write of another value was refused, for the MAC runs);
///   - the MAC comes to rest in the time that its packets may take (the NAV, then every attempt of every packet at its longest);
///   - a DATA frame for the station is answered, SIFS after its end, to the clock;
///   - a packet of the host goes out with its own bytes and is acknowledged.
/// In every tenth burst the host may also disable and enable the MAC at any time, and write settings when it is off. It then
/// disables the MAC and writes words of any value to any setting: one that is refused says so in the error register and
/// leaves the setting as it was, one that is not can be read. Under these settings, whatever they are, the MAC hears some
/// frames. Then the host begins anew, as one does that does not know what happened: it disables the MAC, loads the settings,
/// enables it.
///
/// The profile follows from the seed.
///
/// Usage: perhop-fuzz-gateware FRAMES SEED [fault]
/// Prints one JSON object. Exit status 1 if the MAC did not work after a burst, 2 for wrong arguments. `fault`: the host takes no
/// completion record any more after the first burst, which must be noticed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "host/core/wire/generated/registers.hpp"
#include "sim/bench/mac_top/mac_device.hpp"

namespace {

using namespace perhop;
using namespace perhop::bench;

constexpr std::uint64_t us_address = node_address_base + 1;
constexpr std::uint64_t peer_address = node_address_base + 2;
constexpr std::uint32_t frames_a_burst = 1000;
constexpr std::uint32_t every_error = 0xF;
constexpr std::uint32_t most_waiting = 24;     // packets that the host keeps back
constexpr std::uint32_t packets_a_queue = 8;   // that the MAC keeps
constexpr std::uint32_t most_msdu_bytes = 80;  // of a packet of the host
// What may only change while the MAC is off.
constexpr std::uint32_t settings_begin = registers::address::address, settings_end = registers::group::address(0);
constexpr const char* profiles[] = {"ofdm_20mhz", "erp_short_slot", "dsss_short", "ofdm_20mhz", "ofdm_10mhz", "dsss_long"};

class failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class fuzzer {
public:
  explicit fuzzer(std::uint64_t seed) : random_(seed), us_(mac_device::clocks_per_us()) {
    settings_ = {.profile = find_profile(profiles[seed % std::size(profiles)]),
                 .address = us_address,
                 .seed = 0x0123'4567'89AB'CDEF,
                 .tx_delay_clocks = 75,
                 .rx_delay_clocks = 140,
                 .short_retry_limit = 2,
                 .long_retry_limit = 2,
                 .more_response_timeout_us = 4};
    mac_.configure(settings_);
    expected_ = read_settings();
  }

  void run(std::uint64_t frames, bool fault) {
    while (frames_ < frames) {
      const bool power = bursts_ % 10 == 9;
      burst(std::min<std::uint64_t>(frames_a_burst, frames - frames_), power);
      if (power) misuse();
      ++bursts_;
      recover(power);
      if (fault) mac_.set_taking_completions(false);
    }
  }

  nlohmann::json result() const {
    return {{"frames", frames_},
            {"bursts", bursts_},
            {"exchanges_after_bursts", exchanges_},
            {"register_writes", writes_},
            {"register_reads", reads_},
            {"writes_judged", judged_},
            {"writes_refused", refused_},
            {"packets_given", packets_},
            {"starts_in_bursts", own_starts_},
            {"longest_rest_ms", static_cast<double>(longest_rest_) / static_cast<double>(1000 * us_)},
            {"profile", settings_.profile->name},
            {"clocks", mac_.now()}};
  }

private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool chance(double probability) { return static_cast<double>(random_() >> 11) * 0x1p-53 < probability; }

  bytes any_bytes(std::size_t count) {
    bytes data(count);
    for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random_());
    return data;
  }

  void clock(std::uint64_t count) {
    for (std::uint64_t clocks = 0; clocks < count; ++clocks) mac_.clock();
  }

  std::uint32_t any_duration() {
    const std::uint64_t what = below(20);
    if (what < 2) return 65535;
    if (!nav_) return 0;
    if (what == 2 && long_nav_) return static_cast<std::uint32_t>(32767 - below(2));
    return static_cast<std::uint32_t>(below(300));
  }

  std::uint64_t any_address() {
    const std::uint64_t addresses[] = {us_address, us_address, peer_address, broadcast_address, 0, random_() & 0xFFFF'FFFF'FFFF};
    return addresses[below(std::size(addresses))];
  }

  bytes any_frame() {
    const std::uint64_t what = below(12);
    const std::uint32_t duration_us = any_duration();
    const std::uint64_t ra = any_address(), ta = any_address(), a3 = any_address();
    if (what < 3) return control_frame(static_cast<frame_kind>(what == 2 ? 3 : what), duration_us, ra, ta);
    if (what < 7) {
      const std::uint32_t controls[] = {0x08, 0x08, 0x08, 0x88, 0x48, 0x09, 0x0308, 0x4008, 0x0408};
      const std::uint32_t control = controls[below(std::size(controls))];
      const auto sequence = static_cast<std::uint32_t>(below(4096));
      const bool retry = chance(0.5);
      return data_frame(duration_us, ra, ta, a3, sequence, retry, any_bytes(below(60)), control);
    }
    if (what == 7) return data_frame(32767, us_address, us_address, us_address, 5, true, any_bytes(20));
    if (what == 8) return with_fcs(any_bytes(below(60)));
    if (what == 9) return any_bytes(below(40));
    bytes frame = data_frame(duration_us, us_address, peer_address, 0, 9, false, any_bytes(below(50)));
    if (what == 10)
      frame.resize(below(frame.size()));
    else
      frame[below(frame.size())] ^= static_cast<std::uint8_t>(1 + below(255));
    return frame;
  }

  void schedule(clock_number at, phy_event::what kind, std::uint32_t value = 0, std::uint32_t rate = 0) {
    mac_.schedule({.at = at, .kind = kind, .value = value, .rate = rate});
  }

  /// Schedules a frame; returns when it is over.
  clock_number hear(const bytes& frame, clock_number at) {
    const bool line_rate = chance(0.7);
    const std::uint64_t byte_clocks = line_rate ? 1 : 1 + below(12);
    const auto rate = static_cast<std::uint32_t>(below(8));
    if (chance(0.9)) schedule(at, phy_event::what::carrier);
    const clock_number start = at + 1 + (line_rate ? 0 : below(100));
    const std::uint32_t told = chance(0.9) ? static_cast<std::uint32_t>(frame.size()) : static_cast<std::uint32_t>(below(4096));
    if (chance(0.98)) schedule(start, phy_event::what::start, told, rate);
    clock_number now = start + first_byte_clocks;
    for (const std::uint8_t byte : frame) {
      schedule(now, phy_event::what::byte, byte);
      now += byte_clocks;
    }
    if (chance(0.97)) schedule(now, phy_event::what::end, chance(0.05));
    if (chance(0.9)) schedule(now + below(3), phy_event::what::no_carrier);
    return now + first_byte_clocks;
  }

  host_packet any_packet() {
    host_packet packet{.queue = static_cast<std::uint32_t>(below(2)),
                       .ra = any_address(),
                       .rate = static_cast<std::uint32_t>(below(8)),
                       .force_rts = chance(0.5),
                       .msdu = any_bytes(1 + below(most_msdu_bytes)),
                       .peer = static_cast<std::uint32_t>(below(16)),
                       .peer_series = chance(0.2),
                       .four_address = chance(0.2)};
    if (chance(0.3)) {
      packet.series_attempts = static_cast<std::uint32_t>(below(1U << 20));
      packet.series_rate = static_cast<std::uint32_t>(below(1U << 9));
    }
    if (chance(0.1)) packet.told_bytes = static_cast<std::uint32_t>(chance(0.5) ? below(100) : below(4096));
    return packet;
  }

  void burst(std::uint64_t frames, bool power) {
    // The longest NAV takes 32 ms to run out, and many packets many times as long: now and then.
    long_nav_ = chance(0.05);
    // Without NAV the MAC's own frames go out in pauses, and meet what comes next.
    nav_ = chance(0.5);
    const double pause = nav_ ? 0.0 : 0.03;
    const std::uint64_t mood = below(40);
    const double packets = mood == 0 ? 0.3 : mood < 3 ? 0.05 : 0.003;
    mac_.set_byte_clocks(chance(0.5) ? 1 : 1 + static_cast<std::uint32_t>(below(9)));
    for (std::uint64_t frame = 0; frame < frames; ++frame) {
      const std::uint64_t gap_us = chance(pause) ? 400 : chance(0.1) ? 20 : 0;
      const clock_number until = hear(any_frame(), mac_.now() + 1 + below(gap_us * static_cast<std::uint64_t>(us_) + 1));
      ++frames_;
      if (chance(packets) && mac_.packets_waiting() < most_waiting) {
        mac_.give(any_packet());
        ++packets_;
      }
      if (chance(0.02)) mac_.set_taking(chance(0.7));
      if (chance(0.1)) access(power);
      while (mac_.now() < until) own_starts_ += mac_.clock() ? 1 : 0;
    }
    mac_.set_taking(true);
    mac_.set_byte_clocks(1);
  }

  /// The MAC is off: words of any value for any setting, and then it runs with what they have become.
  void misuse() {
    mac_.write(registers::control::address, 0);
    for (int times = 0; times < 200; ++times) {
      const std::uint32_t address = settings_begin + 4 * static_cast<std::uint32_t>(below((settings_end - settings_begin) / 4));
      const std::uint32_t before = mac_.read(address);
      // Near what is there, small, or anything.
      const std::uint64_t what = below(3);
      const std::uint32_t word = what == 0   ? before ^ 1U << below(32)
                                 : what == 1 ? static_cast<std::uint32_t>(below(64))
                                             : static_cast<std::uint32_t>(random_());
      mac_.write(registers::error::address, every_error);
      mac_.write(address, word);
      const std::uint32_t error = mac_.read(registers::error::address), after = mac_.read(address);
      const bool refused = (error & every_error) != 0;
      const std::string where = "the setting at " + std::to_string(address);
      if (refused && after != before) fail(where + " changed with a write that was refused");
      if (!refused && after != word) fail(where + " was written and is not what was written");
      if (refused && registers::error::at_address.get(error) != address) fail(where + " was refused, and the error is elsewhere");
      if (refused) ++refused_;
      ++writes_;
      ++judged_;
      if (address == registers::access_mode::address && registers::access_mode::mode.get(word) == 3 && !refused)
        fail("an access mode that does not exist was not refused");
    }
    mac_.write(registers::error::address, every_error);
    mac_.write(registers::control::address, 1);
    for (int frame = 0; frame < 20; ++frame) {
      const clock_number until = hear(any_frame(), mac_.now() + 1);
      if (chance(0.3)) mac_.give(any_packet());
      while (mac_.now() < until) mac_.clock();
    }
  }

  void access(bool power) {
    std::uint32_t address = static_cast<std::uint32_t>(below(1024)) & ~3U;
    if (chance(0.3)) {
      mac_.read(address);
      ++reads_;
      return;
    }
    std::uint32_t word = chance(0.5) ? static_cast<std::uint32_t>(random_()) : static_cast<std::uint32_t>(below(4));
    // Only such a burst may switch the MAC off, at random or on purpose.
    if (power && chance(0.2)) {
      address = registers::control::address;
      word = chance(0.5);
    } else if (!power && address == registers::control::address) {
      word |= 1;
    }
    mac_.write(address, word, chance(0.95) ? 0xF : static_cast<std::uint32_t>(below(16)));
    ++writes_;
  }

  /// Every setting that may only change while the MAC is off.
  std::vector<std::uint32_t> read_settings() {
    std::vector<std::uint32_t> words;
    for (std::uint32_t address = settings_begin; address < settings_end; address += 4) words.push_back(mac_.read(address));
    return words;
  }

  [[noreturn]] void fail(const std::string& what) {
    throw failure("after burst " + std::to_string(bursts_) + " (" + std::to_string(frames_) + " frames): " + what);
  }

  void recover(bool power) {
    if ((mac_.read(registers::error::address) & every_error) != 0) ++refused_;
    if (power) {
      mac_.configure(settings_);
    } else {
      mac_.write(registers::error::address, every_error);
      // These may change while the MAC runs.
      mac_.write(registers::rts_threshold::address, settings_.rts_threshold_bytes);
      mac_.write(registers::receive_filter::address, 0);
    }
    const std::vector<std::uint32_t> found = read_settings();
    const auto [is, was] = std::ranges::mismatch(found, expected_);
    if (is != found.end()) {
      const auto address = settings_begin + 4 * static_cast<std::uint32_t>(is - found.begin());
      fail("the setting at " + std::to_string(address) + " was " + std::to_string(*was) + " and is " + std::to_string(*is));
    }
    // The PHY comes to rest, as one does: its carrier falls, a frame begun ends.
    schedule(mac_.now() + 2, phy_event::what::end, 1);
    schedule(mac_.now() + 3, phy_event::what::no_carrier);
    clock(64);
    rest();
    mac_.completions().clear();
    receive();
    send();
    ++exchanges_;
  }

  /// The longest time from a packet's turn to its end while nobody answers, NAV apart.
  std::uint64_t longest_packet_us() const {
    const timing_profile& profile = *settings_.profile;
    const std::uint64_t attempts = std::max(settings_.short_retry_limit, settings_.long_retry_limit);
    // The window doubles with each attempt; a packet of the other queue may go first each time, as often.
    std::uint64_t slots = 0, window = profile.cw_min;
    for (std::uint64_t attempt = 0; attempt <= attempts; ++attempt) {
      slots += window;
      window = std::min<std::uint64_t>(2 * window + 1, profile.cw_max);
    }
    return slots * profile.slot_us + (attempts + 1) * (profile.eifs_us + longest_silence_us());
  }

  /// The longest time for which a MAC that is in an exchange says nothing: a frame, and its response does not come.
  std::uint64_t longest_silence_us() const {
    const timing_profile& profile = *settings_.profile;
    return airtime_us(profile, 0, most_msdu_bytes + mac_header_bytes + 6 + fcs_bytes) + profile.response_timeout_us +
           settings_.more_response_timeout_us + profile.slot_us;
  }

  /// What the host gave goes out or is given up; nobody answers.
  void rest() {
    const auto us = static_cast<clock_number>(us_);
    const clock_number began = mac_.now();
    const std::uint64_t packets = mac_.packets_waiting() + 2 * (packets_a_queue + 1);
    const clock_number patience = began + (32'767 + packets * longest_packet_us()) * us;
    clock_number quiet_since = mac_.now();
    constexpr clock_number look_clocks = 1000;  // from a look at the MAC to the next
    while (mac_.now() - quiet_since < longest_silence_us() * us + 2 * look_clocks) {
      if (mac_.now() > patience) fail("it does not come to rest");
      clock(look_clocks);
      // A retry that draws no slot contends for a clock or two, which no look sees; but then it is on the air.
      if (mac_.busy() || mac_.last_sent().at > quiet_since) quiet_since = mac_.now();
    }
    longest_rest_ = std::max(longest_rest_, quiet_since - began);
  }

  /// Waits for the next start; 0 if none comes.
  clock_number started(clock_number patience) {
    while (mac_.now() < patience) {
      if (mac_.clock()) return mac_.last_sent().at;
    }
    return 0;
  }

  /// A frame as a PHY hears it; returns the clock of its end.
  clock_number hear_well(const bytes& frame, clock_number begin) {
    const timing_profile& profile = *settings_.profile;
    const clock_number end = begin + airtime_us(profile, 0, static_cast<unsigned>(frame.size())) * static_cast<clock_number>(us_);
    schedule(begin, phy_event::what::carrier);
    const clock_number start = begin + profile.preamble_us * static_cast<clock_number>(us_);
    schedule(start, phy_event::what::start, static_cast<std::uint32_t>(frame.size()), 0);
    for (std::size_t index = 0; index < frame.size(); ++index)
      schedule(start + first_byte_clocks + 8 * index, phy_event::what::byte, frame[index]);
    schedule(end, phy_event::what::end);
    schedule(end, phy_event::what::no_carrier);
    return end;
  }

  void receive() {
    const std::uint64_t before = mac_.frames_received();
    sequence_ = (sequence_ + 1) % 4096;
    const bytes msdu = any_bytes(30);
    const clock_number end = hear_well(data_frame(0, us_address, peer_address, 0, sequence_, false, msdu), mac_.now() + 10);
    const clock_number sifs =
        settings_.profile->sifs_us * static_cast<clock_number>(us_) - settings_.tx_delay_clocks - settings_.rx_delay_clocks;
    const clock_number at = started(end + 2 * sifs);
    if (at == 0) fail("a DATA frame is not answered");
    if (at != end + sifs) fail("the MAC ACK came " + std::to_string(at - end) + " clocks after the frame, not " + std::to_string(sifs));
    clock(mac_.last_sent().airtime_us * static_cast<clock_number>(us_) + 100);
    const auto fields = read_frame(mac_.last_sent().frame);
    if (!fields || fields->kind != frame_kind::mac_ack || fields->ra != peer_address) fail("what answers a DATA frame is no MAC ACK");
    if (mac_.frames_received() != before + 1) fail("the host did not get the frame");
  }

  void send() {
    tag_ = static_cast<std::uint16_t>(tag_ + 1);
    const bytes msdu = any_bytes(40);
    mac_.give({.ra = peer_address, .rate = 0, .tag = tag_, .force_rts = true, .msdu = msdu});
    const clock_number patience = mac_.now() + 2 * longest_packet_us() * static_cast<clock_number>(us_);
    for (const frame_kind expected : {frame_kind::rts, frame_kind::data}) {
      const clock_number at = started(patience);
      if (at == 0) fail("a packet does not go out");
      const clock_number airtime = mac_.last_sent().airtime_us * static_cast<clock_number>(us_);
      while (mac_.now() < at + airtime) mac_.clock();
      const auto fields = read_frame(mac_.last_sent().frame);
      if (!fields || fields->kind != expected || fields->ra != peer_address) fail("the wrong frame goes out");
      if (expected == frame_kind::data && !std::ranges::equal(fields->msdu, msdu)) fail("a packet's bytes are not its own");
      const clock_number begin = at + settings_.tx_delay_clocks + airtime + (settings_.profile->sifs_us * static_cast<clock_number>(us_)) +
                                 settings_.rx_delay_clocks;
      const bool rts = expected == frame_kind::rts;
      hear_well(control_frame(rts ? frame_kind::cts : frame_kind::mac_ack, rts ? fields->duration_us / 2 : 0, us_address), begin);
    }
    while (mac_.completions().empty()) {
      if (mac_.now() > patience) fail("a packet's completion does not come");
      mac_.clock();
    }
    if (mac_.completions().front().tag != tag_) fail("the completion of another packet comes");
    if (mac_.completions().front().result != tx_result::delivered) fail("a packet that was acknowledged was not delivered");
  }

  std::mt19937_64 random_;
  mac_device mac_;
  std::int64_t us_;
  station_settings settings_;
  std::vector<std::uint32_t> expected_;
  bool long_nav_ = false, nav_ = true;
  std::uint32_t sequence_ = 0;
  std::uint16_t tag_ = 0;
  std::uint64_t frames_ = 0, bursts_ = 0, writes_ = 0, reads_ = 0, refused_ = 0, packets_ = 0, exchanges_ = 0, judged_ = 0, own_starts_ = 0;
  clock_number longest_rest_ = 0;
};

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*text == '\0' || *end != '\0') throw std::invalid_argument(std::string(text) + " is no number");
  return value;
}

}  // namespace

int main(int count, char** values) {
  const bool fault = count == 4 && std::string_view(values[3]) == "fault";
  if (count != 3 && !fault) {
    std::fprintf(stderr, "usage: perhop-fuzz-gateware FRAMES SEED [fault]\n");
    return 2;
  }
  try {
    fuzzer bursts(number(values[2]));
    std::string problem;
    try {
      bursts.run(number(values[1]), fault);
    } catch (const failure& error) {
      problem = error.what();
    }
    nlohmann::json result = bursts.result();
    result["problem"] = problem;
    std::printf("%s\n", result.dump().c_str());
    return problem.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perhop-fuzz-gateware: %s\n", error.what());
    return 2;
  }
}
