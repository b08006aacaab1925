// SPDX-License-Identifier: GPL-2.0-or-later
/// The rfnoc driver passes the suite of all drivers with its real link to UHD: registers through the block controller on UHD's mock,
/// packets through what stands for UHD's streamers.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

#include "driver_conformance.hpp"
#include "host/drivers/rfnoc_driver.hpp"
#include "host/drivers/uhd/uhd_link.hpp"
#include "mock_radio.hpp"

namespace perhop::drivers::conformance {
namespace {

class model_stream : public packet_stream {
public:
  explicit model_stream(radio_model& model) : model_(model) {}
  std::size_t send(const std::uint32_t* words, std::size_t count) override {
    bytes packet(4 * count);
    std::memcpy(packet.data(), words, packet.size());
    return model_.take(packet) ? count : 0;
  }
  std::size_t receive(std::uint32_t* words, std::size_t most) override {
    bytes packet;
    if (!model_.give(packet)) throw ::uhd::io_error("the link is down");
    if (packet.size() / 4 > most) throw ::uhd::value_error("too long");
    std::memcpy(words, packet.data(), packet.size());
    return packet.size() / 4;
  }

private:
  radio_model& model_;
};

class mock_bench {
public:
  static constexpr std::uint64_t own_address = 0x020000000001, peer_address = 0x0200000000AA;
  static constexpr std::uint32_t readable = registers::id::address, its_word = core_id, refused = registers::slot::address,
                                 refused_word = 20;

  mock_bench() {
    rfnoc_config config;
    config.setup.address = own_address;
    config.setup.profile = find_profile("dsss_long");
    config.retry_ms = 100;  // long enough to ask in between
    driver_.emplace(
        [this]() -> std::unique_ptr<radio_link> {
          if (!model_.present()) throw link_error("there is no radio");
          auto container = mock_block(std::make_shared<mock_registers>(model_));
          try {
            block_ = container.get_block<uhd_blocks::perhop_block_control>();
          } catch (const ::uhd::exception& error) {
            throw link_error(error.what());
          }
          return std::make_unique<uhd_link>(block_->regs(), std::make_unique<model_stream>(model_));
        },
        config);
  }
  driver& dut() { return *driver_; }
  void bring_up() { model_.be_present(true); }
  void vanish() { model_.be_present(false); }
  std::vector<sent_packet> sent() { return model_.sent(); }
  void complete(std::size_t nth, tx_result result) { model_.complete(nth, result); }
  void hear(std::uint16_t sequence, const bytes& msdu) { model_.hear(own_address, peer_address, sequence, msdu); }
  void spoil() { model_.say({0xEE, 1, 2, 3}); }

private:
  radio_model model_;
  uhd_blocks::perhop_block_control::sptr block_;
  std::optional<rfnoc_driver> driver_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(through_uhds_mock, driver_conformance, mock_bench);

}  // namespace
}  // namespace perhop::drivers::conformance
