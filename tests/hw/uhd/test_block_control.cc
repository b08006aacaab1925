// SPDX-License-Identifier: GPL-2.0-or-later
/// The block controller on UHD's mock block: every register, every property, snapshots, stream items, wrong ids, timeouts.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <uhd/convert.hpp>

#include "host/drivers/radio_setup.hpp"
#include "mock_radio.hpp"

namespace perhop::drivers::conformance {
namespace {

using uhd_blocks::perhop_block_control;

class block_control : public testing::Test {
protected:
  block_control() {
    model.be_present(true);
    registers_ = std::make_shared<mock_registers>(model);
    auto container = mock_block(registers_);
    block = container.get_block<perhop_block_control>();
  }
  radio_model model;
  std::shared_ptr<mock_registers> registers_;
  perhop_block_control::sptr block;
};

TEST_F(block_control, is_made_for_both_blocks_and_for_no_other) {
  ASSERT_TRUE(block);
  EXPECT_EQ(block->get_noc_id(), 0x88B50001U);
  auto streamed = mock_block(std::make_shared<mock_registers>(model), 0x88B50002);
  EXPECT_TRUE(streamed.get_block<perhop_block_control>());
  // UHD gives its own plain controller to an id that nobody registered.
  auto strange = mock_block(std::make_shared<mock_registers>(model), 0x88B50003);
  EXPECT_FALSE(strange.get_block<perhop_block_control>());
}

TEST_F(block_control, refuses_a_block_whose_registers_are_none_of_ours) {
  for (const std::uint32_t address :
       {registers::id::address, registers::radio::id::address, registers::shell::id::address, registers::version::address,
        registers::radio::version::address, registers::shell::version::address}) {
    radio_model other;
    other.be_present(true);
    other.set(address, 0xBAD0'0000);
    auto container = mock_block(std::make_shared<mock_registers>(other));
    EXPECT_THROW(container.get_block<perhop_block_control>(), ::uhd::runtime_error) << address;
  }
}

TEST_F(block_control, every_register_reads_what_the_hardware_holds) {
  model.let_converter_stand(true);  // its samples are counted
  const auto check = [&](const std::string& prefix, std::span<const registers::register_info> list) {
    std::size_t number = 0;
    for (const auto& each : list) {
      for (std::uint32_t entry = 0; entry < each.count; ++entry) {
        if (each.name == "neighbour_data_attempts") continue;  // it follows neighbour_select
        const std::uint32_t low = 0x1000'0000 + static_cast<std::uint32_t>(++number), high = 0x2000'0000 + entry;
        const std::uint32_t address = each.address + entry * each.stride_bytes;
        model.set(address, low);
        if (each.width_bits > 32) model.set(address + 4, high);
        const std::uint64_t wanted = each.width_bits > 32 ? std::uint64_t{high} << 32 | low : low;
        EXPECT_EQ(block->read_register(prefix + std::string(each.name), entry), wanted) << prefix << each.name << "[" << entry << "]";
        for (const auto& field : each.fields) {
          const std::int64_t value = block->read_field(prefix + std::string(each.name), field.name, entry);
          EXPECT_EQ(value, field.is_signed ? field.get_signed(wanted) : static_cast<std::int64_t>(field.get(wanted)))
              << each.name << "." << field.name;
        }
      }
      EXPECT_THROW(block->read_register(prefix + std::string(each.name), each.count), ::uhd::index_error) << each.name;
    }
  };
  check("", registers::all);
  check("radio.", registers::radio::all);
  check("shell.", registers::shell::all);
  EXPECT_THROW(block->read_register("no_such"), ::uhd::key_error);
  EXPECT_THROW(block->read_register("radio.slot"), ::uhd::key_error);
  EXPECT_THROW(block->read_field("slot", "no_such"), ::uhd::key_error);
}

TEST_F(block_control, every_register_is_written_where_it_may_be_and_nowhere_else) {
  const auto check = [&](const std::string& prefix, std::span<const registers::register_info> list) {
    for (const auto& each : list) {
      const std::string name = prefix + std::string(each.name);
      const bool writable =
          std::ranges::any_of(each.fields, [](const auto& field) { return field.access != registers::access::read_only; });
      if (!writable) {
        EXPECT_THROW(block->write_register(name, 0), ::uhd::access_error) << name;
        continue;
      }
      if (each.name == "error") continue;  // write one to clear
      for (std::uint32_t entry = 0; entry < each.count; ++entry) {
        std::uint64_t value = 0;
        for (const auto& field : each.fields) {
          if (field.access == registers::access::read_write) value = field.put(value, field.min > 0 ? field.min : field.max);
        }
        ASSERT_NO_THROW(block->write_register(name, value, entry)) << name;
        const std::uint32_t address = each.address + entry * each.stride_bytes;
        EXPECT_EQ(model.get(address), static_cast<std::uint32_t>(value)) << name;
        if (each.width_bits > 32) {
          EXPECT_EQ(model.get(address + 4), static_cast<std::uint32_t>(value >> 32)) << name;
        }
        if (each.name == "control") block->write_register("control", 0);
      }
    }
  };
  check("", registers::all);
  check("radio.", registers::radio::all);
  check("shell.", registers::shell::all);
  EXPECT_EQ(registers_->unanswered_writes, 0U) << "a write that UHD does not wait for may be lost in silence";
}

TEST_F(block_control, what_the_hardware_refuses_is_an_error_with_the_registers_name) {
  block->write_register("control", 1);
  try {
    block->write_register("slot", 20);
    FAIL() << "a setting was changed while the MAC runs";
  } catch (const ::uhd::access_error& error) {
    EXPECT_NE(std::string(error.what()).find("slot"), std::string::npos);
  }
  EXPECT_THROW(block->write_register("radio.tx_gain", 257), ::uhd::access_error);
  // And the next is judged by itself.
  EXPECT_NO_THROW(block->write_register("radio.tx_gain", 256));
}

TEST_F(block_control, every_property_reaches_its_register) {
  block->set_property<std::string>("profile", "dsss_short");
  block->set_property<std::string>("address", "02:00:00:00:00:2a");
  block->set_property<int>("seed", 7);
  block->set_property<int>("rts_threshold", 500);
  block->set_property<int>("tx_delay", 101);
  block->set_property<int>("rx_delay", 66);
  block->set_property<double>("tx_gain", 0.5);
  block->set_property<int>("energy_threshold", -82);
  block->set_property<int>("rssi_base", -117);
  EXPECT_EQ(model.get(registers::radio::tx_gain::address), 128U);
  EXPECT_EQ(block->read_field("radio.clear_channel", "energy_threshold_dbm"), -82);
  EXPECT_EQ(block->read_field("radio.rssi", "base_dbm"), -117);
  EXPECT_EQ(model.get(registers::control::address), 0U);
  block->set_property<bool>("enabled", true);
  EXPECT_EQ(model.get(registers::control::address), 1U);
  EXPECT_EQ(model.get(registers::shell::route::address), 1U);
  EXPECT_TRUE(block->get_property<bool>("own_converter"));
  EXPECT_EQ(model.get(registers::address::address), 0x2AU);
  EXPECT_EQ(model.get(registers::address::address + 4), 0x0200U);
  EXPECT_EQ(model.get(registers::rts_threshold::address), 500U);
  EXPECT_EQ(model.get(registers::phy_delay::address), 101U | 66U << 16);
  EXPECT_EQ(model.get(registers::radio::preamble::address), 1U);
  EXPECT_EQ(model.get(registers::radio::tx_gain::address), 128U);
  EXPECT_EQ(block->read_field("radio.clear_channel", "energy_threshold_dbm"), -82);
  EXPECT_NE(block->read_register("seed"), 7U) << "seeds are mixed";
  EXPECT_EQ(model.get(registers::shell::heartbeat::address), default_heartbeat_limit_ms);
  block->set_property<int>("heartbeat_limit", 300);
  EXPECT_EQ(model.get(registers::shell::heartbeat::address), 300U);
  const auto beat = std::pair(registers::shell::heartbeat::address, 300U);
  const auto before = std::ranges::count(model.writes(), beat);
  block->beat();
  EXPECT_EQ(std::ranges::count(model.writes(), beat), before + 1);
  block->set_property<bool>("own_converter", false);
  EXPECT_EQ(model.get(registers::shell::route::address), 0U);
  block->set_property<bool>("enabled", false);
  EXPECT_EQ(model.get(registers::control::address), 0U);
}

TEST_F(block_control, a_property_that_cannot_be_is_refused_with_a_reason) {
  EXPECT_ANY_THROW(block->set_property<std::string>("profile", "ofdm_20mhz"));
  block->set_property<std::string>("profile", "dsss_long");
  EXPECT_ANY_THROW(block->set_property<std::string>("address", "02:00:00:00:00"));
  block->set_property<std::string>("address", "02:00:00:00:00:01");
  EXPECT_ANY_THROW(block->set_property<double>("tx_gain", 1.5));
  block->set_property<double>("tx_gain", 1.0);
  EXPECT_ANY_THROW(block->set_property<int>("energy_threshold", -200));
  block->set_property<int>("energy_threshold", -70);
  EXPECT_ANY_THROW(block->set_property<int>("heartbeat_limit", 70'000));
  block->set_property<int>("heartbeat_limit", 1000);
  EXPECT_ANY_THROW(block->set_property<int>("rts_threshold", 5000));
}

TEST_F(block_control, a_snapshot_of_a_neighbour_is_that_of_its_slot) {
  model.set(registers::neighbour_contention::address,
            static_cast<std::uint32_t>(registers::neighbour_contention::average_us16.put(0, 16 * 300 + 8)));
  model.set(registers::neighbour_overhead::address,
            static_cast<std::uint32_t>(registers::neighbour_overhead::average_us16.put(0, 16 * 500)));
  model.set(registers::neighbour_data_attempts::address,
            static_cast<std::uint32_t>(registers::neighbour_data_attempts::average_256.put(0, 256 + 64)));
  model.set(registers::neighbour_packets::address, 77);
  model.set(registers::neighbour_drops::address, 3);
  model.set(registers::neighbour_service::address, 0x8000'0001);
  model.set(registers::neighbour_service::address + 4, 2);
  const auto told = block->snapshot_neighbour(5);
  EXPECT_DOUBLE_EQ(told.contention_us, 300.5);
  EXPECT_DOUBLE_EQ(told.overhead_us, 500);
  EXPECT_DOUBLE_EQ(told.data_attempts, 1.25);
  EXPECT_EQ(told.packets, 77U);
  EXPECT_EQ(told.drops, 3U);
  EXPECT_EQ(told.service_us, 0x2'8000'0001U);
  EXPECT_DOUBLE_EQ(told.delay_us(1000), 300.5 + 500 + 1250);
  for (std::uint32_t bin = 0; bin < 16; ++bin) EXPECT_EQ(told.histogram[bin], 100 + bin);
  EXPECT_EQ(registers::neighbour_select::index.get(model.get(registers::neighbour_select::address)), 5U);
  EXPECT_THROW(block->snapshot_neighbour(neighbour_slots), ::uhd::index_error);
}

TEST_F(block_control, the_tsf_timer_is_read_low_word_first) {
  model.set(registers::tsf::address, 0xFFFF'FFFF);
  model.set(registers::tsf::address + 4, 1);
  EXPECT_EQ(block->read_tsf_us(), 0x1'FFFF'FFFFU);
}

TEST_F(block_control, a_radio_that_does_not_answer_is_a_timeout) {
  registers_->silent = true;
  EXPECT_THROW(block->read_register("slot"), ::uhd::op_timeout);
  EXPECT_THROW(block->write_register("radio.tx_gain", 1), ::uhd::op_timeout);
  EXPECT_THROW(block->snapshot_neighbour(0), ::uhd::op_timeout);
  registers_->silent = false;
  EXPECT_NO_THROW(block->read_register("slot"));
}

TEST(stream_items, uhd_copies_every_bit_of_the_format_that_the_streams_use) {
  // Floating point in name: quiet and signalling NaNs, denormals and negative zero must come out as they went in.
  for (const auto& [from, to] : {std::pair("f32", "f32_chdr"), std::pair("f32_chdr", "f32")}) {
    const ::uhd::convert::id_type id{.input_format = from, .num_inputs = 1, .output_format = to, .num_outputs = 1};
    auto converter = ::uhd::convert::get_converter(id)();
    converter->set_scalar(1.0);
    const std::array<std::uint32_t, 8> words{0x7FA0'0001, 0xFFC0'0000, 0x0000'0001, 0x8000'0000,
                                             0x7F80'0000, 0x0102'0304, 0xFFFF'FFFF, 0x7F80'0001};
    std::array<std::uint32_t, 8> come{};
    const ::uhd::ref_vector<const void*> in(words.data());
    const ::uhd::ref_vector<void*> out(come.data());
    converter->conv(in, out, words.size());
    EXPECT_EQ(come, words) << from << " to " << to;
  }
}

}  // namespace
}  // namespace perhop::drivers::conformance
