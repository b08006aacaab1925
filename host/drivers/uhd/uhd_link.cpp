// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/uhd/uhd_link.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <sstream>
#include <string>
#include <uhd/exception.hpp>
#include <uhd/rfnoc/mb_controller.hpp>
#include <uhd/rfnoc/noc_block_base.hpp>
#include <uhd/rfnoc/radio_control.hpp>
#include <uhd/rfnoc_graph.hpp>
#include <utility>

#include "host/core/wire/generated/registers.hpp"
#include "host/drivers/uhd/device_clock.hpp"
#include "host/drivers/uhd/front_end.hpp"
#include "host/drivers/uhd/perhop_block_control.hpp"

namespace perhop::drivers {

namespace {

constexpr std::size_t most_words = 2048;
constexpr double send_timeout_s = 0.5, receive_timeout_s = 0.1;
constexpr double chip_rate_hz = 11e6;  // IEEE 802.11-2012, 16.4.6.4
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
  /// @param ticks_per_s of the device's time, by which UHD tells it in seconds
  uhd_stream(::uhd::tx_streamer::sptr tx, ::uhd::rx_streamer::sptr rx, double ticks_per_s)
      : tx_(std::move(tx)), rx_(std::move(rx)), ticks_per_s_(ticks_per_s) {}
  ~uhd_stream() override { rx_->issue_stream_cmd(::uhd::stream_cmd_t::STREAM_MODE_STOP_CONTINUOUS); }

  std::size_t send(const std::uint32_t* words, std::size_t count) override {
    ::uhd::tx_metadata_t metadata;
    metadata.start_of_burst = metadata.end_of_burst = true;
    metadata.has_time_spec = false;
    return tx_->send(words, count, metadata, send_timeout_s);
  }

  stream_piece receive(std::uint32_t* words, std::size_t most) override {
    ::uhd::rx_metadata_t metadata;
    const std::size_t come = rx_->recv(words, most, metadata, receive_timeout_s, true);
    if (metadata.error_code == ::uhd::rx_metadata_t::ERROR_CODE_TIMEOUT) {
      count_events();
      return {};
    }
    count_events();
    switch (metadata.error_code) {
      // Which packets are missing the records of the MAC tell.
      case ::uhd::rx_metadata_t::ERROR_CODE_OVERFLOW:
        ++(metadata.out_of_sequence ? sequence_errors_ : overflows_);
        return {.lost = true};
      case ::uhd::rx_metadata_t::ERROR_CODE_LATE_COMMAND:
        ++late_;
        return {};
      default:
        break;
    }
    if (metadata.error_code != ::uhd::rx_metadata_t::ERROR_CODE_NONE)
      throw link_error("the stream of the radio says: " + metadata.strerror());
    ticks_.reset();
    if (metadata.has_time_spec) ticks_ = static_cast<std::uint64_t>(metadata.time_spec.to_ticks(ticks_per_s_));
    return {.words = come, .ends = metadata.end_of_burst && !metadata.more_fragments};
  }

  std::optional<std::uint64_t> ticks() const override { return ticks_; }

  link_counts counts() const override { return {.overflows = overflows_, .late = late_, .sequence_errors = sequence_errors_}; }

private:
  /// What the radio says of the packets that went to it.
  void count_events() {
    using event = ::uhd::async_metadata_t;
    for (event told; tx_->recv_async_msg(told, 0);) {
      if ((told.event_code & (event::EVENT_CODE_SEQ_ERROR | event::EVENT_CODE_SEQ_ERROR_IN_BURST)) != 0) ++sequence_errors_;
      if ((told.event_code & (event::EVENT_CODE_UNDERFLOW | event::EVENT_CODE_UNDERFLOW_IN_PACKET)) != 0) ++late_;
      if ((told.event_code & event::EVENT_CODE_TIME_ERROR) != 0) ++late_;
    }
  }

  ::uhd::tx_streamer::sptr tx_;
  ::uhd::rx_streamer::sptr rx_;
  double ticks_per_s_;
  std::optional<std::uint64_t> ticks_;
  std::atomic<std::uint64_t> overflows_ = 0, late_ = 0, sequence_errors_ = 0;
};

}  // namespace

struct uhd_link::device {
  ::uhd::rfnoc::rfnoc_graph::sptr graph;
  uhd_blocks::perhop_block_control::sptr block;
  ::uhd::tx_streamer::sptr idle_tx;
  ::uhd::rx_streamer::sptr idle_rx;
  ::uhd::rfnoc::mb_controller::timekeeper::sptr keeper;
  std::unique_ptr<device_clock> clock;

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

uhd_link::uhd_link(const uhd_config& config)
    : device_(std::make_unique<device>()), config_(config), regs_(nullptr), out_(most_words), in_(most_words) {
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
    auto motherboard = device_->graph->get_mb_controller();
    set_front_end(*radio, *motherboard, config);
    ::uhd::stream_args_t format(words_format, words_format);
    auto tx = device_->graph->create_tx_streamer(1, format);
    auto rx = device_->graph->create_rx_streamer(1, format);
    device_->graph->connect(tx, 0, block_id_t(config.block), 0);
    device_->graph->connect(block_id_t(config.block), 0, rx, 0);
    device_->occupy_radio(block_id_t(config.radio), config.channel);
    device_->graph->commit();
    regs_ = &device_->block->regs();
    const double rate_hz = image_rate_hz();
    stream_ = std::make_unique<uhd_stream>(tx, rx, rate_hz);
    check_front_end(*radio, *motherboard, config, rate_hz);
    // A tick a sample of the converter.
    ticks_per_s_ = static_cast<std::uint64_t>(std::llround(rate_hz));
    device_->keeper = motherboard->get_timekeeper(0);
    device_->clock = std::make_unique<device_clock>(*device_->keeper, config.time_source, config.pulse_wait_s);
    device_->clock->set();
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

double uhd_link::image_rate_hz() {
  const std::uint32_t modem = read(registers::radio::modem::address), build = read(registers::shell::build::address);
  const auto rate_in = static_cast<double>(registers::radio::modem::rate_in.get(modem));
  const auto rate_22 = static_cast<double>(registers::radio::modem::rate_22.get(modem));
  const auto samples_per_chip = static_cast<double>(registers::radio::modem::samples_per_chip.get(modem));
  const double modem_hz = rate_in == 0 ? chip_rate_hz * samples_per_chip : 2 * chip_rate_hz * rate_in / rate_22;
  return modem_hz * static_cast<double>(registers::shell::build::decimation.get(build));
}

std::optional<radio_time> uhd_link::time() const {
  if (!device_) return {};
  return device_->clock->state();
}

std::string uhd_link::time_trouble() {
  if (!device_) return {};
  try {
    if (std::string why = reference_trouble(*device_->graph->get_mb_controller(), config_); !why.empty()) return why;
    return device_->clock->look();
  } catch (const std::exception& error) {
    fail("asking the radio for its clocks", error);
  }
}

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
    // UHD's packets are as long as its transport carries them; the FPGA cuts what is longer.
    const stream_piece piece = stream_->receive(in_.data() + joined_, most_words - joined_);
    if (piece.lost) joined_ = 0;
    joined_ += piece.words;
    if (!piece.ends && joined_ < most_words) return 0;
    const std::size_t bytes = 4 * std::exchange(joined_, 0);
    if (bytes > packet.size()) throw link_error("the radio sent a packet of " + std::to_string(bytes) + " bytes");
    std::memcpy(packet.data(), in_.data(), bytes);
    return bytes;
  } catch (const ::uhd::exception& error) {
    fail("waiting for a packet of the radio", error);
  }
}

}  // namespace perhop::drivers
