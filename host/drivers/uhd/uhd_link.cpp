// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/uhd/uhd_link.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <uhd/exception.hpp>
#include <uhd/rfnoc/mb_controller.hpp>
#include <uhd/rfnoc/noc_block_base.hpp>
#include <uhd/rfnoc/radio_control.hpp>
#include <uhd/rfnoc_graph.hpp>
#include <utility>

#include "host/drivers/uhd/perhop_block_control.hpp"

namespace perhop::drivers {

namespace {

constexpr std::size_t most_words = 2048;
constexpr double send_timeout_s = 0.5, receive_timeout_s = 0.1;
// UHD turns items of other formats round, by halves or bytes. This one it copies as 32-bit words, which is what the FPGA has; that they
// are called floating point is its word for them.
constexpr const char* words_format = "f32";

/// UHD says some things in several lines; a log and a person want one, of plain ASCII.
[[noreturn]] void fail(const std::string& what, const std::exception& error) {
  std::istringstream words(error.what());
  std::string said = what + ":";
  for (std::string word; words >> word;) said += " " + word;
  std::ranges::replace_if(said, [](unsigned char each) { return each < ' ' || each > '~'; }, '?');
  throw link_error(said);
}

class uhd_stream : public packet_stream {
public:
  uhd_stream(::uhd::tx_streamer::sptr tx, ::uhd::rx_streamer::sptr rx) : tx_(std::move(tx)), rx_(std::move(rx)) {}
  ~uhd_stream() override { rx_->issue_stream_cmd(::uhd::stream_cmd_t::STREAM_MODE_STOP_CONTINUOUS); }

  std::size_t send(const std::uint32_t* words, std::size_t count) override {
    ::uhd::tx_metadata_t metadata;
    metadata.start_of_burst = metadata.end_of_burst = true;
    metadata.has_time_spec = false;
    return tx_->send(words, count, metadata, send_timeout_s);
  }

  std::size_t receive(std::uint32_t* words, std::size_t most) override {
    ::uhd::rx_metadata_t metadata;
    const std::size_t come = rx_->recv(words, most, metadata, receive_timeout_s, true);
    if (metadata.error_code == ::uhd::rx_metadata_t::ERROR_CODE_TIMEOUT) return 0;
    // What was lost on the way is counted by sequence: the records of the MAC tell which packets that were.
    if (metadata.error_code == ::uhd::rx_metadata_t::ERROR_CODE_OVERFLOW) return 0;
    if (metadata.error_code != ::uhd::rx_metadata_t::ERROR_CODE_NONE)
      throw link_error("the stream of the radio says: " + metadata.strerror());
    return come;
  }

private:
  ::uhd::tx_streamer::sptr tx_;
  ::uhd::rx_streamer::sptr rx_;
};

}  // namespace

struct uhd_link::device {
  ::uhd::rfnoc::rfnoc_graph::sptr graph;
  uhd_blocks::perhop_block_control::sptr block;
  ::uhd::tx_streamer::sptr idle_tx;
  ::uhd::rx_streamer::sptr idle_rx;

  /// Occupies the radio block's ports of perhop's channel with streams that carry nothing, for as long as this lives. On an E3xx UHD
  /// switches the codec's chains on by the ports that are connected, and knows nothing of perhop's use of the converter: without these
  /// streams chain 1 alone runs, which on an E310 is channel 1's.
  void occupy_radio(const ::uhd::rfnoc::block_id_t& radio, std::size_t channel) {
    if (!graph->get_mb_controller()->get_mboard_name().starts_with("e3")) return;
    const ::uhd::stream_args_t samples("sc16", "sc16");
    idle_tx = graph->create_tx_streamer(1, samples);
    idle_rx = graph->create_rx_streamer(1, samples);
    graph->connect(idle_tx, 0, radio, channel);
    graph->connect(radio, channel, idle_rx, 0);
  }
};

uhd_link::uhd_link(const uhd_config& config) : device_(std::make_unique<device>()), regs_(nullptr), out_(most_words), in_(most_words) {
  using namespace ::uhd::rfnoc;
  uhd_blocks::register_blocks();
  try {
    device_->graph = rfnoc_graph::make(::uhd::device_addr_t(config.args));
    if (!device_->graph->has_block(block_id_t(config.block))) {
      std::string blocks;
      for (const auto& each : device_->graph->find_blocks("")) blocks += " " + each.to_string();
      throw link_error("the image of " + config.args + " has no block " + config.block + "; it has:" + blocks + ". Load one of hw/images");
    }
    device_->block = device_->graph->get_block<uhd_blocks::perhop_block_control>(block_id_t(config.block));
    auto radio = device_->graph->get_block<radio_control>(block_id_t(config.radio));
    radio->set_tx_antenna(config.tx_antenna, config.channel);
    radio->set_rx_antenna(config.rx_antenna, config.channel);
    radio->set_tx_frequency(config.frequency_hz, config.channel);
    radio->set_rx_frequency(config.frequency_hz, config.channel);
    radio->set_tx_gain(config.tx_gain_db, config.channel);
    radio->set_rx_gain(config.rx_gain_db, config.channel);
    ::uhd::stream_args_t format(words_format, words_format);
    auto tx = device_->graph->create_tx_streamer(1, format);
    auto rx = device_->graph->create_rx_streamer(1, format);
    device_->graph->connect(tx, 0, block_id_t(config.block), 0);
    device_->graph->connect(block_id_t(config.block), 0, rx, 0);
    device_->occupy_radio(block_id_t(config.radio), config.channel);
    device_->graph->commit();
    stream_ = std::make_unique<uhd_stream>(tx, rx);
    regs_ = &device_->block->regs();
  } catch (const ::uhd::exception& error) {
    fail("the radio '" + config.args + "'", error);
  } catch (const std::runtime_error& error) {
    if (dynamic_cast<const link_error*>(&error) != nullptr) throw;
    fail("the radio '" + config.args + "'", error);
  }
}

uhd_link::uhd_link(::uhd::rfnoc::register_iface& regs, std::unique_ptr<packet_stream> stream)
    : regs_(&regs), stream_(std::move(stream)), out_(most_words), in_(most_words) {}

uhd_link::~uhd_link() = default;

std::uint32_t uhd_link::read(std::uint32_t address) {
  try {
    return regs_->peek32(address);
  } catch (const std::exception& error) {
    fail("reading a register of the radio", error);
  }
}

void uhd_link::write(std::uint32_t address, std::uint32_t word) {
  try {
    regs_->poke32(address, word, ::uhd::time_spec_t::ASAP, true);
  } catch (const std::exception& error) {
    fail("writing a register of the radio", error);
  }
}

void uhd_link::send(std::span<const std::uint8_t> packet) {
  const std::size_t count = (packet.size() + 3) / 4;
  if (count == 0 || count > most_words) throw link_error("a packet of " + std::to_string(packet.size()) + " bytes cannot go to the radio");
  out_[count - 1] = 0;
  std::memcpy(out_.data(), packet.data(), packet.size());
  try {
    if (stream_->send(out_.data(), count) != count) throw link_error("the radio takes no packets");
  } catch (const ::uhd::exception& error) {
    fail("sending a packet to the radio", error);
  }
}

std::size_t uhd_link::receive(std::span<std::uint8_t> packet) {
  try {
    const std::size_t bytes = 4 * stream_->receive(in_.data(), most_words);
    if (bytes > packet.size()) throw link_error("the radio sent a packet of " + std::to_string(bytes) + " bytes");
    std::memcpy(packet.data(), in_.data(), bytes);
    return bytes;
  } catch (const ::uhd::exception& error) {
    fail("waiting for a packet of the radio", error);
  }
}

}  // namespace perhop::drivers
