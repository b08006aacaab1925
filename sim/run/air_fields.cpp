// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/air_fields.hpp"

#include <cmath>
#include <vector>

#include "sim/run/json_section.hpp"

namespace perhop::run {

using namespace air;
using nlohmann::json;

namespace {

// Smallest SINR at which a frame is received: published receiver specifications of 802.11b cards, and the minimum
// sensitivities of IEEE 802.11-2012, table 18-14, relative to 5 dB at BPSK 1/2.
const std::vector<double> default_dsss_threshold_db = {4, 7, 11, 16};
const std::vector<double> default_ofdm_threshold_db = {5, 6, 8, 10, 13, 17, 21, 22};

samples_config read_samples(json_section samples) {
  samples_config config;
  // One entry a node, repeated where there are fewer.
  const auto list_of = [&](const char* key, double most) {
    std::vector<double> values;
    for (const json& value : samples.list(key)) {
      if (!value.is_number() || std::abs(value.get<double>()) > most) {
        samples.fail(key, value.dump() + " is not a number from " + number_text(-most) + " to " + number_text(most));
      }
      values.push_back(value.get<double>());
    }
    return values;
  };
  samples.optional("carrier_offset_hz", config.carrier_offset_hz, [&](const char* key) { return list_of(key, 1e6); });
  samples.optional("clock_offset_ppm", config.clock_offset_ppm, [&](const char* key) { return list_of(key, 1000); });
  const auto decibels = [&](const char* key) { return samples.number(key, 0, 60); };
  samples.optional("noise_figure_db", config.noise_figure_db, decibels);
  // The modem's scale of levels ends a little above.
  const auto full_scale = [&](const char* key) { return samples.number(key, -100, 0); };
  samples.optional("full_scale_dbm", config.full_scale_dbm, full_scale);
  if (samples.has("taps")) {
    const std::size_t taps = samples.list("taps").size();
    if (taps == 0) samples.fail("taps", "is empty; give at least one path, or leave it out");
    for (std::size_t index = 0; index < taps; ++index) {
      json_section tap = samples.element("taps", index);
      multipath_tap& added = config.taps.emplace_back();
      added.delay_ns = tap.number("delay_ns", 0, 100'000);
      added.gain_db = tap.number("gain_db", -100, 20);
      tap.optional("phase_deg", added.phase_deg, [&](const char* key) { return tap.number(key, -360, 360); });
      tap.finish();
    }
  }
  samples.finish();
  return config;
}

fama_config read_fama(json_section fama) {
  fama_config config;
  // A Duration holds 15 bits, and an exchange with the longest DATA at 2 Mb/s must fit.
  const auto us = [&](const char* key) { return static_cast<std::uint32_t>(fama.integer(key, 1, 8191)); };
  fama.optional("sifs_us", config.sifs_us, us);
  fama.optional("rts_us", config.rts_us, us);
  fama.optional("cts_us", config.cts_us, us);
  fama.optional("random_step_us", config.random_step_us, us);
  const auto boolean = [&](const char* key) { return fama.boolean(key); };
  fama.optional("hold", config.hold, boolean);
  fama.optional("noise_us", config.noise_us, [&](const char* key) { return static_cast<std::uint32_t>(fama.integer(key, 0, 65535)); });
  fama.optional("nav", config.nav, boolean);
  fama.finish();
  return config;
}

}  // namespace

mac_config read_mac(json_section mac) {
  mac_config config;
  const std::string profile = mac.text("profile");
  config.profile = find_profile(profile);
  if (config.profile == nullptr) {
    std::string known;
    for (const timing_profile& candidate : timing_profiles()) known += (known.empty() ? "" : ", ") + std::string(candidate.name);
    mac.fail("profile", "unknown profile " + in_quotes(profile) + "; one of " + known);
  }
  config.compatibility = mac.one_of<mac_compatibility>("compat", "compatibility",
                                                       {{"standard", mac_compatibility::standard}, {"ns2", mac_compatibility::ns2}});
  if (mac.has("fidelity")) {
    config.fidelity = mac.one_of<mac_fidelity>(
        "fidelity", "fidelity", {{"core", mac_fidelity::core}, {"bytes", mac_fidelity::bytes}, {"samples", mac_fidelity::samples}});
  }
  if (mac.has("access_mode")) {
    config.access = mac.one_of<access_mode>("access_mode", "access mode",
                                            {{"dcf", access_mode::dcf}, {"csma", access_mode::csma}, {"fama", access_mode::fama}});
  }
  const auto boolean = [&](const char* key) { return mac.boolean(key); };
  config.mac_ack = config.access == access_mode::dcf;
  mac.optional("mac_ack", config.mac_ack, boolean);
  mac.optional("vacation_us", config.vacation_us, [&](const char* key) { return static_cast<std::uint32_t>(mac.integer(key, 0, 65535)); });
  if (mac.has("fama")) {
    if (config.access != access_mode::fama) mac.fail("fama", "is of access mode fama alone; leave it out");
    if (config.compatibility != mac_compatibility::standard) mac.fail("fama", "works with compat standard alone; leave it out");
    if (config.fidelity != mac_fidelity::core) mac.fail("fama", "works at fidelity core alone; leave it out");
    config.fama = read_fama(mac.object("fama"));
  }
  mac.optional("path_header", config.path_header, boolean);
  mac.optional("four_address", config.four_address, boolean);
  config.data_rate_index = static_cast<std::uint8_t>(mac.integer("data_rate_index", 0, config.profile->rates.size() - 1));
  config.rts_threshold_bytes = static_cast<std::uint32_t>(mac.integer("rts_threshold_bytes", 0, 4095));
  config.short_retry_limit = static_cast<std::uint8_t>(mac.integer("short_retry_limit", 1, 31));
  config.long_retry_limit = static_cast<std::uint8_t>(mac.integer("long_retry_limit", 1, 31));
  config.queue_packets = static_cast<std::uint32_t>(mac.integer("queue_packets", 1, 1'000'000));
  config.average_shift = static_cast<std::uint8_t>(mac.integer("average_shift", 0, 7));
  mac.finish();
  return config;
}

medium_config read_medium(json_section medium, const timing_profile& profile) {
  medium_config config;
  config.reception =
      medium.one_of<reception_kind>("reception", "reception rule", {{"ns2", reception_kind::ns2}, {"sinr", reception_kind::sinr}});
  config.loss = medium.one_of<loss_kind>(
      "loss", "loss model", {{"range", loss_kind::range}, {"two_ray", loss_kind::two_ray}, {"log_distance", loss_kind::log_distance}});
  config.tx_range_m = medium.number("tx_range_m", 1, 1e6);
  config.cs_range_m = medium.number("cs_range_m", 1, 1e6);
  if (config.cs_range_m < config.tx_range_m) {
    medium.fail("cs_range_m", number_text(config.cs_range_m) + " is less than tx_range_m (" + number_text(config.tx_range_m) +
                                  "): frames could be received unheard; give at least tx_range_m");
  }
  config.capture_ratio_db = medium.number("capture_ratio_db", 0, 200);
  if (medium.has("propagation_us")) {
    const json& value = medium.raw("propagation_us");
    if (value != "auto") {
      if (value.is_string()) medium.fail("propagation_us", in_quotes(value.get<std::string>()) + " is neither auto nor a whole number");
      config.propagation_us = static_cast<std::uint32_t>(medium.integer("propagation_us", value, 1, 1000));
    }
  }
  config.frame_error_rate = medium.number("frame_error_rate", 0, 1);
  const auto exponent = [&](const char* key) { return medium.number(key, 1, 10); };
  medium.optional("loss_exponent", config.loss_exponent, exponent);
  const auto decibels = [&](const char* key) { return medium.number(key, -200, 200); };
  medium.optional("tx_power_dbm", config.tx_power_dbm, decibels);
  medium.optional("noise_dbm", config.noise_dbm, decibels);
  medium.optional("relock_ratio_db", config.relock_ratio_db, decibels);
  if (medium.has("samples")) config.samples = read_samples(medium.object("samples"));
  config.sinr_threshold_db = profile.symbol_us == 0 ? default_dsss_threshold_db : default_ofdm_threshold_db;
  if (medium.has("sinr_threshold_db")) {
    const json& values = medium.list("sinr_threshold_db");
    config.sinr_threshold_db.clear();
    for (const json& value : values) {
      if (!value.is_number()) medium.fail("sinr_threshold_db", value.dump() + " is not a number");
      config.sinr_threshold_db.push_back(value.get<double>());
    }
    if (config.sinr_threshold_db.size() != profile.rates.size()) {
      medium.fail("sinr_threshold_db", "has " + std::to_string(config.sinr_threshold_db.size()) + " values; profile " +
                                           std::string(profile.name) + " has " + std::to_string(profile.rates.size()) + " rates");
    }
  }
  medium.finish();
  return config;
}

}  // namespace perhop::run
