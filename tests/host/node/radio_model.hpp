// SPDX-License-Identifier: GPL-2.0-or-later
/// A radio's FPGA as its host sees it, without one: registers with their reset values and rules enough for a driver, and the packet
/// streams. Written from gateware/spec, not from the driver. Thread safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "driver_conformance.hpp"
#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/generated/registers.hpp"

namespace perhop::drivers::conformance {

class radio_model {
public:
  radio_model() { reset(); }

  bool present() {
    const std::lock_guard lock(mutex_);
    return present_;
  }
  void be_present(bool present) {
    {
      const std::lock_guard lock(mutex_);
      present_ = present;
      if (present) {
        reset();
      } else {
        to_host_.clear();
      }
    }
    changed_.notify_all();
  }

  std::uint32_t read(std::uint32_t address) {
    const std::lock_guard lock(mutex_);
    reads_.push_back(address);
    if (address == registers::neighbour_data_attempts::address) {
      // The histogram's bin is chosen by the last write to neighbour_select.
      const std::uint64_t bin = registers::neighbour_select::histogram_bin.get(words_[registers::neighbour_select::address]);
      const std::uint64_t word = words_[address];
      return static_cast<std::uint32_t>(registers::neighbour_data_attempts::histogram_packets.put(word, 100 + bin));
    }
    if (address == registers::shell::stat_samples::address && !stands_) words_[address] += 22;
    return words_.contains(address) ? words_[address] : 0;
  }

  void write(std::uint32_t address, std::uint32_t word) {
    const std::lock_guard lock(mutex_);
    writes_.emplace_back(address, word);
    const std::uint32_t base = address & ~0x3FFU;
    const std::uint32_t error = base == 0 ? registers::error::address : registers::radio::error::address;
    if (address == error) {
      words_[error] &= ~word;
      return;
    }
    const bool runs = words_[registers::control::address] != 0;
    const auto* found = find(address);
    const bool may = found != nullptr &&
                     std::ranges::any_of(found->fields, [](const auto& each) { return each.access != registers::access::read_only; });
    if (!may) {
      if (base < shell_registers_base) words_[error] |= 8;
      return;
    }
    if (runs && idle_only_.contains(address)) {
      words_[error] |= 2;
      return;
    }
    const std::uint32_t offset = (address - found->address) % found->stride_bytes;
    for (const auto& each : found->fields) {
      if (each.low_bit / 32U != offset / 4U || each.is_signed || each.width_bits > 32) continue;
      const std::uint64_t value = each.get(std::uint64_t{word} << 8 * offset);
      if (value < each.min || value > each.max) {
        words_[error] |= 1;
        return;
      }
    }
    words_[address] = word;
  }

  /// A packet of the host. @return false: the radio is gone
  bool take(std::span<const std::uint8_t> packet) {
    const std::lock_guard lock(mutex_);
    if (!present_) return false;
    const auto head = wire::host_send::decode(packet);
    const std::size_t padded = (wire::host_send::size_bytes + (head ? head->msdu_bytes : 0) + 3) / 4 * 4;
    if (!head || packet.size() != padded) {
      ++refused;
      return true;
    }
    const auto msdu = packet.subspan(wire::host_send::size_bytes, head->msdu_bytes);
    sent_.push_back({head->receiver_address, head->peer, head->rate, head->force_rts != 0, bytes(msdu.begin(), msdu.end())});
    tags_.push_back(head->tag);
    return true;
  }

  /// A packet for the host, within a moment. @return false: the radio is gone
  bool give(bytes& packet) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(20), [this] { return !present_ || !to_host_.empty(); });
    packet.clear();
    if (!present_) return false;
    if (!to_host_.empty()) {
      packet = std::move(to_host_.front());
      to_host_.pop_front();
    }
    return true;
  }

  std::vector<sent_packet> sent() {
    const std::lock_guard lock(mutex_);
    return sent_;
  }

  void complete(std::size_t nth, tx_result result) {
    const std::lock_guard lock(mutex_);
    completion_record record;
    record.tag = tags_.at(nth);
    record.result = result;
    bytes packet(wire::host_record::size_bytes);
    wire::host_record().encode(std::span(packet).first<wire::host_record::size_bytes>());
    for (const std::uint32_t word : encode_completion_record(record)) append(packet, word);
    to_host_.push_back(std::move(packet));
    changed_.notify_all();
  }

  void hear(std::uint64_t receiver, std::uint64_t transmitter, std::uint16_t sequence, const bytes& msdu, bool good = true) {
    wire::host_frame head;
    head.rate = 1;
    head.frame_kind = static_cast<std::uint8_t>(frame_kind::data);
    head.fcs_ok = good;
    head.mpdu_bytes = static_cast<std::uint16_t>(msdu.size() + mac_header_bytes + fcs_bytes);
    head.sequence = sequence;
    head.tsf_us = 1'000'000;
    head.receiver_address = receiver;
    head.transmitter_address = transmitter;
    bytes packet(wire::host_frame::size_bytes);
    head.encode(std::span(packet).first<wire::host_frame::size_bytes>());
    packet.insert(packet.end(), msdu.begin(), msdu.end());
    packet.resize((packet.size() + 3) / 4 * 4);
    append(packet, static_cast<std::uint32_t>(msdu.size()));
    say(std::move(packet));
  }

  void say(bytes packet) {
    const std::lock_guard lock(mutex_);
    to_host_.push_back(std::move(packet));
    changed_.notify_all();
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> writes() {
    const std::lock_guard lock(mutex_);
    return writes_;
  }
  std::vector<std::uint32_t> reads() {
    const std::lock_guard lock(mutex_);
    return reads_;
  }
  void set(std::uint32_t address, std::uint32_t word) {
    const std::lock_guard lock(mutex_);
    words_[address] = word;
  }
  /// The converter's clock stands, or runs again: no sample is counted any more.
  void let_converter_stand(bool stands) {
    const std::lock_guard lock(mutex_);
    stands_ = stands;
  }
  /// The register has this word from the next be_present() on.
  void set_version_on_reset(std::uint32_t address, std::uint32_t word) {
    const std::lock_guard lock(mutex_);
    other_versions_[address] = word;
  }
  std::uint32_t get(std::uint32_t address) {
    const std::lock_guard lock(mutex_);
    return words_[address];
  }
  std::size_t refused = 0;

private:
  static void append(bytes& packet, std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) packet.push_back(static_cast<std::uint8_t>(word >> shift));
  }

  static const registers::register_info* find(std::uint32_t address) {
    for (const auto list :
         {std::span<const registers::register_info>(registers::all), std::span<const registers::register_info>(registers::radio::all),
          std::span<const registers::register_info>(registers::shell::all)}) {
      for (const auto& each : list) {
        if (address >= each.address && address < each.address + (each.count - 1U) * each.stride_bytes + each.width_bits / 8U) return &each;
      }
    }
    return nullptr;
  }

  void reset() {
    words_.clear();
    for (const auto list :
         {std::span<const registers::register_info>(registers::all), std::span<const registers::register_info>(registers::radio::all),
          std::span<const registers::register_info>(registers::shell::all)}) {
      for (const auto& each : list) {
        std::uint64_t value = 0;
        for (const auto& field : each.fields) value = field.put(value, field.reset);
        for (std::uint32_t entry = 0; entry < each.count; ++entry) {
          for (std::uint32_t word = 0; word < each.width_bits / 32U; ++word) {
            words_[each.address + entry * each.stride_bytes + 4 * word] = static_cast<std::uint32_t>(value >> 32 * word);
          }
        }
      }
    }
    words_[registers::clock::address] =
        static_cast<std::uint32_t>(registers::clock::delay_per_us.put(registers::clock::per_us.put(0, 60), 44));
    words_[registers::radio::modem::address] = 2;
    words_[registers::shell::build::address] = 16;
    for (const auto& [address, word] : other_versions_) words_[address] = word;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool present_ = false;
  bool stands_ = false;
  std::map<std::uint32_t, std::uint32_t> other_versions_;
  std::map<std::uint32_t, std::uint32_t> words_;
  const std::map<std::uint32_t, bool> idle_only_{
      {registers::slot::address, true}, {registers::sifs::address, true}, {registers::phy_delay::address, true}};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> writes_;
  std::vector<std::uint32_t> reads_;
  std::vector<sent_packet> sent_;
  std::vector<std::uint16_t> tags_;
  std::deque<bytes> to_host_;
};

}  // namespace perhop::drivers::conformance
