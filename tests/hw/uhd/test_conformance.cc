// SPDX-License-Identifier: GPL-2.0-or-later
/// The rfnoc driver passes the suite of all drivers with its real link to UHD: registers through the block controller on UHD's mock,
/// packets through what stands for UHD's streamers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

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
  /// Its transport carries no more than some words in a packet.
  stream_piece receive(std::uint32_t* words, std::size_t most) override {
    if (rest_.empty() && !model_.give(rest_)) throw ::uhd::io_error("the link is down");
    const std::size_t size = std::min(rest_.size(), 4 * longest_piece_words);
    if (size / 4 > most) throw ::uhd::value_error("too long");
    std::memcpy(words, rest_.data(), size);
    rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(size));
    return {.words = size / 4, .ends = size != 0 && rest_.empty()};
  }

private:
  static constexpr std::size_t longest_piece_words = 7;
  radio_model& model_;
  bytes rest_;
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

/// Pieces as a test lists them.
class listed_stream : public packet_stream {
public:
  explicit listed_stream(std::vector<std::pair<std::vector<std::uint32_t>, stream_piece>> pieces) : pieces_(std::move(pieces)) {}
  std::size_t send(const std::uint32_t*, std::size_t count) override { return count; }
  stream_piece receive(std::uint32_t* words, std::size_t most) override {
    if (next_ == pieces_.size()) return {};
    const auto& [content, piece] = pieces_[next_++];
    EXPECT_LE(content.size(), most);
    std::copy(content.begin(), content.end(), words);
    return {.words = content.size(), .ends = piece.ends, .lost = piece.lost};
  }

private:
  std::vector<std::pair<std::vector<std::uint32_t>, stream_piece>> pieces_;
  std::size_t next_ = 0;
};

/// What the link makes of them, packets by their words.
std::vector<std::vector<std::uint32_t>> joined(std::vector<std::pair<std::vector<std::uint32_t>, stream_piece>> pieces) {
  radio_model model;
  model.be_present(true);
  auto container = mock_block(std::make_shared<mock_registers>(model));
  auto block = container.get_block<uhd_blocks::perhop_block_control>();
  const std::size_t reads = pieces.size() + 1;
  uhd_link link(block->regs(), std::make_unique<listed_stream>(std::move(pieces)));
  std::vector<std::vector<std::uint32_t>> packets;
  bytes buffer(4096);
  for (std::size_t read = 0; read < reads; ++read) {
    const std::size_t size = link.receive(buffer);
    if (size == 0) continue;
    packets.emplace_back(size / 4);
    std::memcpy(packets.back().data(), buffer.data(), size);
  }
  return packets;
}

TEST(uhd_link, joins_the_pieces_of_a_packet_whatever_comes_between) {
  using packets = std::vector<std::vector<std::uint32_t>>;
  const stream_piece goes_on{}, ends{.ends = true}, none{}, lost{.lost = true};
  EXPECT_EQ(joined({{{1, 2}, goes_on}, {{}, none}, {{3}, ends}, {{4}, ends}}), (packets{{1, 2, 3}, {4}}));
  EXPECT_EQ(joined({{{1, 2}, goes_on}, {{}, lost}, {{5, 6}, goes_on}, {{7}, ends}}), (packets{{5, 6, 7}}))
      << "what lacks its end is no packet";
  EXPECT_EQ(joined({{{1}, ends}, {{}, lost}, {{2}, ends}}), (packets{{1}, {2}}));
}

TEST(uhd_link, a_packet_without_an_end_is_an_error_and_no_more_than_the_buffer) {
  std::vector<std::pair<std::vector<std::uint32_t>, stream_piece>> pieces(10, {std::vector<std::uint32_t>(256, 1), {}});
  EXPECT_THROW(joined(pieces), link_error);
}

INSTANTIATE_TYPED_TEST_SUITE_P(through_uhds_mock, driver_conformance, mock_bench);

}  // namespace
}  // namespace perhop::drivers::conformance
