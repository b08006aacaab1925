// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/pcapng.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/pcapng.hpp"
#include "host/core/wire/raw_frames.hpp"
#include "sim/air/fcs.hpp"

namespace perhop::air {
namespace {

using bytes = std::vector<std::uint8_t>;

void put_fcs(bytes& out) {
  const std::uint32_t fcs = crc32_ieee(out);
  for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::uint8_t>(fcs >> shift));
}

constexpr std::uint8_t control_flag_retry = 0x08;  // of the frame control field's second octet (8.2.4.1)

/// No receiver is so far away (300 km) that it could still report a frame.
constexpr tick longest_propagation_us = 1000;

}  // namespace

std::vector<std::uint8_t> frame_bytes(const transmission& frame, byte_span msdu) {
  const std::uint8_t control_flags = frame.retry ? control_flag_retry : 0;
  bytes out;
  out.reserve(frame.psdu_bytes);
  switch (frame.kind) {
    case frame_kind::rts:
      wire::append(out, wire::rts_frame{.control_flags = control_flags,
                                        .duration_us = frame.duration_us,
                                        .receiver_address = frame.ra,
                                        .transmitter_address = frame.ta});
      break;
    case frame_kind::cts:
      wire::append(out, wire::cts_frame{.duration_us = frame.duration_us, .receiver_address = frame.ra});
      break;
    case frame_kind::mac_ack:
      wire::append(out, wire::mac_ack_frame{.duration_us = frame.duration_us, .receiver_address = frame.ra});
      break;
    case frame_kind::data:
      wire::append(out, wire::data_header{.retry = frame.retry,
                                          .duration_us = frame.duration_us,
                                          .receiver_address = frame.ra,
                                          .transmitter_address = frame.ta,
                                          .bssid = node_address_base,
                                          .sequence = frame.sequence});
      break;
    case frame_kind::other:
      throw std::invalid_argument("a frame of an unknown kind was sent");
  }
  out.insert(out.end(), msdu.begin(), msdu.end());
  if (out.size() + fcs_bytes != frame.psdu_bytes) {
    throw std::length_error("a " + std::string(to_string(frame.kind)) + " of " + std::to_string(frame.psdu_bytes) +
                            " bytes was sent, but its header, " + std::to_string(msdu.size()) + " bytes of payload and FCS make " +
                            std::to_string(out.size() + fcs_bytes));
  }
  put_fcs(out);
  return out;
}

pcapng_writer::pcapng_writer(const std::filesystem::path& file, const timing_profile& profile, std::size_t nodes,
                             const std::vector<node_id>& chosen)
    : file_(file, std::ios::binary | std::ios::trunc), profile_(&profile) {
  if (!file_) {
    throw std::runtime_error("cannot write the capture " + file.string() + ": check that its directory exists and is writable");
  }
  if (!chosen.empty()) chosen_.resize(nodes);
  for (const node_id node : chosen) chosen_[node] = true;
  std::vector<std::string> names;
  for (node_id node = 0; node < nodes; ++node) names.push_back(name_of(node));
  wire::append_capture_section(block_, names);
  write_block();
}

pcapng_writer::~pcapng_writer() {
  try {
    finish();
  } catch (const std::runtime_error&) {  // finish() is for who wants to know
  }
}

void pcapng_writer::write_block() {
  file_.write(reinterpret_cast<const char*>(block_.data()), static_cast<std::streamsize>(block_.size()));
  block_.clear();
}

void pcapng_writer::write(const transmission& frame, byte_span msdu) {
  if (keeps(frame)) write_psdu(frame, frame_bytes(frame, msdu));
}

void pcapng_writer::write_psdu(const transmission& frame, byte_span on_air) {
  if (!keeps(frame)) return;
  while (!waiting_.empty() && waiting_.front().frame.end + longest_propagation_us < frame.start) write_first();
  waiting_.push_back({.frame = frame, .psdu = {on_air.begin(), on_air.end()}});
  ++frames_;
}

void pcapng_writer::note(const lost_frame& lost) {
  const auto found = std::ranges::lower_bound(waiting_, lost.id, {}, [](const waiting_frame& waiting) { return waiting.frame.id; });
  if (found == waiting_.end() || found->frame.id != lost.id) return;
  found->crc_error = true;
  if (!found->comment.empty()) found->comment += "; ";
  found->comment += to_string(lost);
}

void pcapng_writer::finish() {
  while (!waiting_.empty()) write_first();
  if (!file_.flush()) throw std::runtime_error("writing the capture failed: is the disk full?");
}

void pcapng_writer::write_first() {
  const waiting_frame first = std::move(waiting_.front());
  waiting_.pop_front();
  const transmission& frame = first.frame;
  wire::append_captured_frame(block_,
                              {.time_us = frame.start,
                               .interface = frame.node,
                               .direction = wire::capture_direction::outbound,
                               .crc_error = first.crc_error,
                               .comment = first.comment},
                              wire::radiotap_of(frame.end, *profile_, frame.rate_index, true), first.psdu);
  write_block();
  if (!file_) throw std::runtime_error("writing the capture failed: is the disk full?");
}

}  // namespace perhop::air
