// SPDX-License-Identifier: GPL-2.0-or-later
/// A radio with perhop in its FPGA, by UHD: its registers by the block's control port, its packets by two streams, its front end by
/// UHD's own radio block.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <uhd/rfnoc/register_iface.hpp>
#include <vector>

#include "host/drivers/make_uhd_link.hpp"

namespace perhop::drivers {

/// A stream of packets of 32-bit words; UHD's streamers are behind it, or a test.
/// A packet of UHD's stream: it carries all of one of the MAC's, or a piece of it.
struct stream_piece {
  std::size_t words = 0;  ///< 0: none came in time
  bool ends = false;      ///< the MAC's packet ends with it
  bool lost = false;      ///< one before it is missing
};

class packet_stream {
public:
  virtual ~packet_stream() = default;
  /// A packet of the MAC, in as many pieces as it needs. @return words that went, all or none
  virtual std::size_t send(const std::uint32_t* words, std::size_t count) = 0;
  virtual stream_piece receive(std::uint32_t* words, std::size_t most) = 0;
  /// The device's time beside the piece that came last.
  virtual std::optional<std::uint64_t> ticks() const { return {}; }
  virtual link_counts counts() const { return {}; }
};

class uhd_link : public radio_link {
public:
  /// Opens the device, finds the block, sets the front end and reads it back. It may take seconds.
  /// @throws link_error with UHD's words: no such device, no such block; a front end that is not as it was set
  explicit uhd_link(const uhd_config& config);
  /// On registers and streams that are there already.
  uhd_link(::uhd::rfnoc::register_iface& regs, std::unique_ptr<packet_stream> stream);
  ~uhd_link() override;
  uhd_link(const uhd_link&) = delete;
  uhd_link& operator=(const uhd_link&) = delete;

  std::uint32_t read(std::uint32_t address) override;
  void write(std::uint32_t address, std::uint32_t word) override;
  void send(std::span<const std::uint8_t> packet) override;
  std::size_t receive(std::span<std::uint8_t> packet) override;
  std::optional<std::uint64_t> packet_ticks() const override { return stream_->ticks(); }
  link_counts counts() const override { return stream_->counts(); }
  std::uint64_t ticks_per_s() const override { return ticks_per_s_; }
  std::optional<radio_time> time() const override;
  std::string time_trouble() override;

private:
  /// The converter's rate for which the image was made.
  double image_rate_hz();

  struct device;  ///< UHD's graph, block and clock, in the order of their lives
  std::unique_ptr<device> device_;
  uhd_config config_;
  std::uint64_t ticks_per_s_ = 0;
  ::uhd::rfnoc::register_iface* regs_;
  std::unique_ptr<packet_stream> stream_;
  std::vector<std::uint32_t> out_, in_;
  std::size_t joined_ = 0;  ///< words in in_ of a packet that goes on
};

}  // namespace perhop::drivers
