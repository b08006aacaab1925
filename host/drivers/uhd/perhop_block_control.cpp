// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/uhd/perhop_block_control.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <uhd/exception.hpp>
#include <uhd/rfnoc/property.hpp>
#include <uhd/rfnoc/registry.hpp>

#include "host/core/wire/generated/registers.hpp"
#include "host/drivers/radio_setup.hpp"

namespace perhop::drivers::uhd_blocks {

namespace {

using ::uhd::rfnoc::property_t;
using ::uhd::rfnoc::res_source_info;
namespace reg = registers;

/// The registers of the block as a link, for radio_setup.
class register_link : public radio_link {
public:
  explicit register_link(::uhd::rfnoc::register_iface& regs) : regs_(regs) {}
  std::uint32_t read(std::uint32_t address) override { return regs_.peek32(address); }
  void write(std::uint32_t address, std::uint32_t word) override { regs_.poke32(address, word, ::uhd::time_spec_t::ASAP, true); }
  void send(std::span<const std::uint8_t>) override { throw link_error("registers carry no packets"); }
  std::size_t receive(std::span<std::uint8_t>) override { throw link_error("registers carry no packets"); }

private:
  ::uhd::rfnoc::register_iface& regs_;
};

const reg::register_info& find(std::string_view name) {
  std::span<const reg::register_info> list(reg::all);
  std::string_view rest = name;
  for (const auto& [prefix, of] : {std::pair<std::string_view, std::span<const reg::register_info>>("radio.", reg::radio::all),
                                   std::pair<std::string_view, std::span<const reg::register_info>>("shell.", reg::shell::all)}) {
    if (name.starts_with(prefix)) {
      list = of;
      rest = name.substr(prefix.size());
    }
  }
  const auto found = std::ranges::find(list, rest, &reg::register_info::name);
  if (found == list.end())
    throw ::uhd::key_error("perhop has no register " + std::string(name) + "; gateware/spec/reference.md lists them");
  return *found;
}

std::uint32_t address_of(const reg::register_info& found, std::uint32_t index) {
  if (index >= found.count) {
    throw ::uhd::index_error("register " + std::string(found.name) + " has " + std::to_string(found.count) + " entries, not one number " +
                             std::to_string(index));
  }
  return found.address + index * found.stride_bytes;
}

std::uint64_t parse_address(const std::string& text) {
  std::uint64_t address = 0;
  int digits = 0;
  for (const char each : text) {
    if (each == ':') continue;
    const auto digit = std::string_view("0123456789abcdef").find(static_cast<char>(each | 0x20));
    if (digit == std::string_view::npos) digits = 99;
    address = address << 4 | (digit & 0xF);
    ++digits;
  }
  if (digits != 12) throw ::uhd::value_error("address: '" + text + "' is none; six bytes are wanted, as 02:00:00:00:00:01");
  return address;
}

}  // namespace

class perhop_block_control_impl : public perhop_block_control {
public:
  perhop_block_control_impl(make_args_ptr make_args) : perhop_block_control(std::move(make_args)), link_(regs()) {
    try {
      check_identity(link_);
    } catch (const link_error& error) {
      throw ::uhd::runtime_error(std::string("block ") + get_unique_id() + ": " + error.what());
    }
    for (auto* each : std::initializer_list<::uhd::rfnoc::property_base_t*>{&profile_, &address_, &seed_, &rts_threshold_, &tx_delay_,
                                                                            &rx_delay_, &tx_gain_, &energy_threshold_, &rssi_base_,
                                                                            &heartbeat_limit_, &own_converter_, &enabled_}) {
      register_property(each);
    }
    // Those that stand until the MAC is enabled: checked at once, written then.
    add_property_resolver({&profile_}, {}, [this] {
      const timing_profile* found = find_profile(profile_.get());
      if (found == nullptr || !profile_.get().starts_with("dsss_")) {
        throw ::uhd::value_error("profile: the modem cannot keep '" + profile_.get() + "'; use dsss_long or dsss_short");
      }
      setup_.profile = found;
    });
    add_property_resolver({&address_}, {}, [this] { setup_.address = parse_address(address_.get()); });
    add_property_resolver({&seed_}, {}, [this] { setup_.seed = static_cast<std::uint64_t>(seed_.get()); });
    add_property_resolver({&rts_threshold_}, {},
                          [this] { setup_.rts_threshold_bytes = within("rts_threshold", rts_threshold_.get(), 0, 4095); });
    add_property_resolver({&tx_delay_}, {},
                          [this] { setup_.tx_delay_clocks = static_cast<std::uint16_t>(within("tx_delay", tx_delay_.get(), 0, 65535)); });
    add_property_resolver({&rx_delay_}, {},
                          [this] { setup_.rx_delay_clocks = static_cast<std::uint16_t>(within("rx_delay", rx_delay_.get(), 0, 65535)); });
    // Those that may change while it runs.
    add_property_resolver({&tx_gain_}, {}, [this] {
      if (!(tx_gain_.get() >= 0 && tx_gain_.get() <= 1)) throw ::uhd::value_error("tx_gain: must be 0 to 1");
      setup_.tx_gain_256 = static_cast<std::uint16_t>(std::lround(256 * tx_gain_.get()));
      write_register("radio.tx_gain", setup_.tx_gain_256);
    });
    add_property_resolver({&energy_threshold_}, {}, [this] {
      setup_.energy_threshold_dbm = static_cast<std::int8_t>(signed_within("energy_threshold", energy_threshold_.get()));
      const std::uint64_t before = read_register("radio.clear_channel");
      write_register("radio.clear_channel",
                     reg::radio::clear_channel::energy_threshold_dbm.put(before, static_cast<std::uint64_t>(energy_threshold_.get())));
    });
    add_property_resolver({&rssi_base_}, {}, [this] {
      setup_.rssi_base_dbm = static_cast<std::int16_t>(signed_within("rssi_base", rssi_base_.get(), 256));
      write_register("radio.rssi", reg::radio::rssi::base_dbm.put(0, static_cast<std::uint64_t>(rssi_base_.get())));
    });
    add_property_resolver({&heartbeat_limit_}, {}, [this] {
      setup_.heartbeat_limit_ms = static_cast<std::uint16_t>(within("heartbeat_limit", heartbeat_limit_.get(), 0, 65535));
      beat();
    });
    add_property_resolver({&own_converter_}, {},
                          [this] { write_register("shell.route", reg::shell::route::own_converter.put(0, own_converter_.get())); });
    add_property_resolver({&enabled_}, {&own_converter_}, [this] {
      if (!enabled_.get()) {
        write_register("control", 0);
        return;
      }
      try {
        set_up(link_, setup_);
      } catch (const link_error& error) {
        throw ::uhd::access_error(error.what());
      }
      own_converter_.set(true);
    });
  }

  std::uint64_t read_register(std::string_view name, std::uint32_t index = 0) override {
    const reg::register_info& found = find(name);
    const std::uint32_t address = address_of(found, index);
    std::uint64_t value = regs().peek32(address);
    // The low word first: it holds the high one (tsf).
    if (found.width_bits > 32) value |= std::uint64_t{regs().peek32(address + 4)} << 32;
    return value;
  }

  void write_register(std::string_view name, std::uint64_t value, std::uint32_t index = 0) override {
    const reg::register_info& found = find(name);
    const std::uint32_t address = address_of(found, index);
    if (std::ranges::none_of(found.fields, [](const reg::field& each) { return each.access != reg::access::read_only; })) {
      throw ::uhd::access_error("register " + std::string(name) + " can only be read");
    }
    for (std::uint32_t word = 0; word < found.width_bits / 32U; ++word) {
      link_.write(address + 4 * word, static_cast<std::uint32_t>(value >> 32 * word));
    }
    if (was_refused(link_, address)) {
      throw ::uhd::access_error("register " + std::string(name) + " refused " + std::to_string(value) +
                                "; gateware/spec/reference.md says what it may be, and when");
    }
  }

  std::int64_t read_field(std::string_view name, std::string_view field, std::uint32_t index) override {
    const reg::register_info& found = find(name);
    const auto of = std::ranges::find(found.fields, field, &reg::field::name);
    if (of == found.fields.end()) throw ::uhd::key_error("register " + std::string(name) + " has no field " + std::string(field));
    const std::uint64_t value = read_register(name, index);
    return of->is_signed ? of->get_signed(value) : static_cast<std::int64_t>(of->get(value));
  }

  neighbour_snapshot snapshot_neighbour(std::uint32_t slot) override {
    if (slot >= neighbour_slots) throw ::uhd::index_error("the neighbour table has no slot " + std::to_string(slot));
    neighbour_snapshot told{};
    for (std::uint32_t bin = 0; bin < told.histogram.size(); ++bin) {
      using namespace reg::neighbour_select;
      write_register("neighbour_select", take.put(histogram_bin.put(reg::neighbour_select::index.put(0, slot), bin), 1));
      told.histogram[bin] = static_cast<std::uint32_t>(read_field("neighbour_data_attempts", "histogram_packets", 0));
    }
    told.contention_us = static_cast<double>(read_field("neighbour_contention", "average_us16", 0)) / 16;
    told.overhead_us = static_cast<double>(read_field("neighbour_overhead", "average_us16", 0)) / 16;
    told.data_attempts = static_cast<double>(read_field("neighbour_data_attempts", "average_256", 0)) / 256;
    told.packets = static_cast<std::uint32_t>(read_field("neighbour_packets", "value", 0));
    told.drops = static_cast<std::uint32_t>(read_field("neighbour_drops", "value", 0));
    told.service_us = static_cast<std::uint64_t>(read_field("neighbour_service", "sum_low_us", 0)) |
                      static_cast<std::uint64_t>(read_field("neighbour_service", "sum_high_us", 0)) << 32;
    return told;
  }

  std::uint64_t read_tsf_us() override { return read_register("tsf", 0); }

  void beat() override { write_register("shell.heartbeat", setup_.heartbeat_limit_ms); }

private:
  static std::uint32_t within(const char* name, int value, int least, int most) {
    if (value < least || value > most) {
      throw ::uhd::value_error(std::string(name) + ": " + std::to_string(value) + " is not between " + std::to_string(least) + " and " +
                               std::to_string(most));
    }
    return static_cast<std::uint32_t>(value);
  }
  static int signed_within(const char* name, int value, int most = 128) {
    if (value < -most || value >= most) {
      throw ::uhd::value_error(std::string(name) + ": " + std::to_string(value) + " dBm is not between " + std::to_string(-most) + " and " +
                               std::to_string(most - 1));
    }
    return value;
  }

  inline static const res_source_info user{res_source_info::USER};
  register_link link_;
  radio_setup setup_{.profile = find_profile("dsss_long")};
  property_t<std::string> profile_{"profile", "dsss_long", user};
  property_t<std::string> address_{"address", "02:00:00:00:00:01", user};
  property_t<int> seed_{"seed", 0, user};
  property_t<int> rts_threshold_{"rts_threshold", 4095, user};
  property_t<int> tx_delay_{"tx_delay", 0, user};
  property_t<int> rx_delay_{"rx_delay", 0, user};
  property_t<double> tx_gain_{"tx_gain", 1.0, user};
  property_t<int> energy_threshold_{"energy_threshold", -70, user};
  property_t<int> rssi_base_{"rssi_base", -120, user};
  property_t<int> heartbeat_limit_{"heartbeat_limit", default_heartbeat_limit_ms, user};
  property_t<bool> own_converter_{"own_converter", false, user};
  property_t<bool> enabled_{"enabled", false, user};
};

namespace {

::uhd::rfnoc::noc_block_base::sptr make_perhop(::uhd::rfnoc::noc_block_base::make_args_ptr make_args) {
  return std::make_shared<perhop_block_control_impl>(std::move(make_args));
}

}  // namespace

void register_blocks() {
  static const bool done = [] {
    const auto add = [](std::uint32_t noc_id, const char* name, const std::string& time_clock) {
      ::uhd::rfnoc::registry::register_block_direct(noc_id, ::uhd::rfnoc::ANY_DEVICE, name, false, time_clock, "bus_clk", &make_perhop);
    };
    // A frame's time is the device's, a tick a sample of the converter.
    add(perhop_noc_id, "perhop", "radio_clk");
    add(perhop_stream_noc_id, "perhop_stream", ::uhd::rfnoc::CLOCK_KEY_GRAPH);
    return true;
  }();
  (void)done;
}

namespace {

/// For other programs, that load this as a module (UHD_MODULE_PATH).
[[maybe_unused]] const bool registered = (register_blocks(), true);

}  // namespace

}  // namespace perhop::drivers::uhd_blocks
