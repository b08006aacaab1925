// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/uhd/front_end.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <string>
#include <thread>
#include <uhd/exception.hpp>
#include <uhd/types/sensors.hpp>
#include <vector>

namespace perhop::drivers {

namespace {

// What synthesizers, gain stages and filters of USRPs round to, and less than matters to a modem that bears 25 ppm.
constexpr double frequency_tolerance_hz = 1e3, gain_tolerance_db = 1, rate_tolerance_hz = 1, bandwidth_tolerance = 0.1;
// An oscillator that has just been tuned may take a moment.
constexpr int lock_looks = 20;
constexpr std::chrono::milliseconds between_looks{50};

std::string text_of(double value) {
  std::ostringstream text;
  text.precision(12);
  text << value;
  return text.str();
}

void expect_near(const std::string& what, double found, double wanted, double tolerance, const char* unit, const char* remedy) {
  if (std::abs(found - wanted) <= tolerance) return;
  throw link_error("the radio's " + what + " reads back as " + text_of(found) + " " + unit + ", not " + text_of(wanted) + " " + unit +
                   ": " + remedy);
}

void expect_word(const std::string& what, const std::string& found, const std::string& wanted, const std::vector<std::string>& known) {
  if (found == wanted) return;
  std::string words;
  for (const std::string& each : known) words += (words.empty() ? "" : ", ") + each;
  throw link_error("the radio's " + what + " reads back as '" + found + "', not '" + wanted + "': it has " + words);
}

// The channel is 22 MHz wide, and the next one 25 MHz away. A narrower filter takes from the signal, and delays it more.
constexpr double channel_bandwidth_hz = 20e6;

/// 0: the filters stay as they are.
double bandwidth_of(const uhd_config& wanted, const ::uhd::meta_range_t& range) {
  if (wanted.bandwidth_hz) return *wanted.bandwidth_hz;
  return !range.empty() && range.start() <= channel_bandwidth_hz && range.stop() >= channel_bandwidth_hz ? channel_bandwidth_hz : 0;
}

/// What a device need not have: it is set where it is there.
template <typename Set>
void set_if_there(Set set) {
  try {
    set();
  } catch (const ::uhd::not_implemented_error&) {}
}

/// UHD has two names for the sensor of some devices.
bool tells_lock(const std::string& sensor) { return sensor.starts_with("lo") && sensor.find("lock") != std::string::npos; }

template <typename Read>
void expect_lock(const std::string& what, const std::string& remedy, Read read) {
  for (int look = 0; look < lock_looks; ++look) {
    if (look != 0) std::this_thread::sleep_for(between_looks);
    if (read()) return;
  }
  throw link_error("the radio's " + what + " does not lock: " + remedy);
}

/// Also where a device does not tell.
bool has_reference(::uhd::rfnoc::mb_controller& motherboard) {
  const std::vector<std::string> sensors = motherboard.get_sensor_names();
  return std::ranges::find(sensors, "ref_locked") == sensors.end() || motherboard.get_sensor("ref_locked").to_bool();
}

std::string reference_remedy(const uhd_config& wanted) {
  return "is the source '" + wanted.clock_source + "' connected? `clock_source: internal` needs none";
}

}  // namespace

std::string reference_trouble(::uhd::rfnoc::mb_controller& motherboard, const uhd_config& wanted) {
  if (has_reference(motherboard)) return {};
  return "the radio's reference clock has lost its lock: " + reference_remedy(wanted);
}

void set_front_end(::uhd::rfnoc::radio_control& radio, ::uhd::rfnoc::mb_controller& motherboard, const uhd_config& wanted) {
  // A clock that is set anew may reset what hangs on it.
  if (motherboard.get_clock_source() != wanted.clock_source) motherboard.set_clock_source(wanted.clock_source);
  if (motherboard.get_time_source() != wanted.time_source) motherboard.set_time_source(wanted.time_source);
  radio.set_tx_antenna(wanted.tx_antenna, wanted.channel);
  radio.set_rx_antenna(wanted.rx_antenna, wanted.channel);
  radio.set_tx_frequency(wanted.frequency_hz, wanted.channel);
  radio.set_rx_frequency(wanted.frequency_hz, wanted.channel);
  radio.set_tx_gain(wanted.tx_gain_db, wanted.channel);
  radio.set_rx_gain(wanted.rx_gain_db, wanted.channel);
  if (const double hz = bandwidth_of(wanted, radio.get_tx_bandwidth_range(wanted.channel)); hz != 0) {
    radio.set_tx_bandwidth(hz, wanted.channel);
  }
  if (const double hz = bandwidth_of(wanted, radio.get_rx_bandwidth_range(wanted.channel)); hz != 0) {
    radio.set_rx_bandwidth(hz, wanted.channel);
  }
  // Behind the frequency, to which what is calibrated belongs. The device's own gain control would take RSSI its meaning.
  set_if_there([&] { radio.set_rx_agc(false, wanted.channel); });
  set_if_there([&] { radio.set_rx_dc_offset(true, wanted.channel); });
  set_if_there([&] { radio.set_rx_iq_balance(true, wanted.channel); });
}

void check_front_end(::uhd::rfnoc::radio_control& radio, ::uhd::rfnoc::mb_controller& motherboard, const uhd_config& wanted,
                     double rate_hz) {
  const std::size_t channel = wanted.channel;
  expect_word("clock source", motherboard.get_clock_source(), wanted.clock_source, motherboard.get_clock_sources());
  expect_word("time source", motherboard.get_time_source(), wanted.time_source, motherboard.get_time_sources());
  expect_lock("reference clock", reference_remedy(wanted), [&] { return has_reference(motherboard); });
  expect_near("sample rate", radio.get_rate(), rate_hz, rate_tolerance_hz, "samples a second",
              "the image wants that master_clock_rate in `args`");
  constexpr const char* out_of_range = "give a value that this device can have (uhd_usrp_probe lists ranges)";
  expect_near("transmit frequency", radio.get_tx_frequency(channel), wanted.frequency_hz, frequency_tolerance_hz, "Hz", out_of_range);
  expect_near("receive frequency", radio.get_rx_frequency(channel), wanted.frequency_hz, frequency_tolerance_hz, "Hz", out_of_range);
  expect_near("transmit gain", radio.get_tx_gain(channel), wanted.tx_gain_db, gain_tolerance_db, "dB", out_of_range);
  expect_near("receive gain", radio.get_rx_gain(channel), wanted.rx_gain_db, gain_tolerance_db, "dB", out_of_range);
  if (const double hz = bandwidth_of(wanted, radio.get_tx_bandwidth_range(channel)); hz != 0) {
    expect_near("transmit bandwidth", radio.get_tx_bandwidth(channel), hz, bandwidth_tolerance * hz, "Hz", out_of_range);
  }
  if (const double hz = bandwidth_of(wanted, radio.get_rx_bandwidth_range(channel)); hz != 0) {
    expect_near("receive bandwidth", radio.get_rx_bandwidth(channel), hz, bandwidth_tolerance * hz, "Hz", out_of_range);
  }
  expect_word("transmit antenna", radio.get_tx_antenna(channel), wanted.tx_antenna, radio.get_tx_antennas(channel));
  expect_word("receive antenna", radio.get_rx_antenna(channel), wanted.rx_antenna, radio.get_rx_antennas(channel));
  constexpr const char* no_lock = "is the frequency one that the device can have? Its oscillator may be broken";
  for (const std::string& sensor : radio.get_tx_sensor_names(channel)) {
    if (tells_lock(sensor)) expect_lock("transmit oscillator", no_lock, [&] { return radio.get_tx_sensor(sensor, channel).to_bool(); });
  }
  for (const std::string& sensor : radio.get_rx_sensor_names(channel)) {
    if (tells_lock(sensor)) expect_lock("receive oscillator", no_lock, [&] { return radio.get_rx_sensor(sensor, channel).to_bool(); });
  }
}

}  // namespace perhop::drivers
