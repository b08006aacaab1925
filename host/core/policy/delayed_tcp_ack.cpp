// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/delayed_tcp_ack.hpp"

#include <algorithm>

#include "host/core/policy/with_policy.hpp"

namespace perhop::policy {

std::uint32_t packets_per_tcp_ack(const tcp_ack_config& config, std::uint32_t forward_hops, std::uint32_t min_rtt_us,
                                  std::uint32_t packets_in_flight) {
  switch (config.kind) {
    case tcp_ack_kind::every:
      break;
    case tcp_ack_kind::dca: {
      delayed_cumulative_tcp_ack policy({config.rule, config.fixed_window_packets, config.whole_window});
      policy.on_data(packets_in_flight, forward_hops, min_rtt_us);
      return policy.window_packets();
    }
    case tcp_ack_kind::daa:
      return tcp_daa_window::max_packets;
    case tcp_ack_kind::own:  // known at the receiver alone
      break;
  }
  return 1;
}

delayed_tcp_ack::delayed_tcp_ack(const tcp_ack_config& config, own_policy* own) : repeat_timer_(config.deviation) {
  switch (config.kind) {
    case tcp_ack_kind::every:
      break;
    case tcp_ack_kind::dca:
      policy_.emplace<delayed_cumulative_tcp_ack>(dca_config{config.rule, config.fixed_window_packets, config.whole_window});
      repeats_ = config.tcp_ack_retransmission;
      break;
    case tcp_ack_kind::daa:
      if (config.profile == daa_profile::own_papers) {
        policy_.emplace<tcp_daa>();
      } else {
        policy_.emplace<tcp_daa_as_in_001>();
      }
      break;
    case tcp_ack_kind::own:
      policy_.emplace<tcp_ack_own>(own);
      break;
  }
}

void delayed_tcp_ack::on_rtt(std::uint32_t rtt_us) { repeat_timer_.on_rtt(rtt_us); }

void delayed_tcp_ack::on_data(time_us now, const data_arrival& arrival) {
  if (!thins()) return;
  repeat_timer_.on_data();
  if (arrival.syn) {
    order_.on_syn(arrival.sequence);
    return;
  }
  last_arrival_ = now;
  largest_payload_bytes_ = std::max(largest_payload_bytes_, arrival.payload_bytes);
  if (const auto rtt_us =
          round_trip_.on_data(now, arrival.sequence, arrival.payload_bytes, arrival.packets_in_flight, arrival.timestamp_echo)) {
    repeat_timer_.on_rtt(*rtt_us);
  }

  if (pending_packets_ == 0) oldest_arrival_ = now;
  ++pending_packets_;
  fin_ = fin_ || arrival.fin;
  const arrival_order order = order_.on_data(arrival.sequence, arrival.payload_bytes + (arrival.fin ? 1 : 0));
  const bool disorder = order != arrival_order::in_order;
  disorder_ = disorder_ || disorder;
  if (disorder && std::holds_alternative<tcp_daa>(policy_)) {
    inter_arrival_.on_break();
  } else {
    inter_arrival_.on_arrival(now);
  }

  const std::uint32_t own_min_us = round_trip_.min_us();
  const std::uint32_t min_rtt_us =
      own_min_us == 0 || arrival.min_rtt_us == 0 ? std::max(own_min_us, arrival.min_rtt_us) : std::min(own_min_us, arrival.min_rtt_us);
  with_policy(policy_, [&](auto& policy) {
    policy.on_data(arrival.packets_in_flight, arrival.forward_hops, min_rtt_us);
    policy.on_order(!disorder);
  });
  if (auto* own = std::get_if<tcp_ack_own>(&policy_)) {
    own->on_arrival(now, {.payload_bytes = arrival.payload_bytes,
                          .packets_in_flight = arrival.packets_in_flight,
                          .forward_hops = arrival.forward_hops,
                          .least_round_trip_us = min_rtt_us,
                          .in_order = disorder ? 0U : 1U});
  }
}

std::optional<tcp_ack_reason> delayed_tcp_ack::reason_to_pass(const tcp_ack_departure& departure) const {
  if (!departure.bare) return tcp_ack_reason::at_once;
  const bool acknowledges_more = !last_tcp_ack_ || !not_after(departure.tcp_ack, *last_tcp_ack_);
  if (disorder_ || order_.has_gap() || departure.sack_blocks) return tcp_ack_reason::disorder;
  // The same number again is a window update, an answer to a probe, or tells of data that this object did not see.
  if (!acknowledges_more || pending_packets_ == 0) return tcp_ack_reason::at_once;
  if (fin_ || departure.window_bytes == 0 || window_was_closed_) return tcp_ack_reason::at_once;
  if (!inter_arrival_.average_us256()) return tcp_ack_reason::at_once;
  if (pending_packets_ >= window_packets()) return tcp_ack_reason::window;
  return std::nullopt;
}

tcp_ack_verdict delayed_tcp_ack::on_tcp_ack(time_us now, const tcp_ack_departure& departure) {
  if (!thins()) return {};
  const std::optional<tcp_ack_reason> reason = reason_to_pass(departure);
  order_.on_tcp_ack(departure.tcp_ack);
  last_tcp_ack_ = departure.tcp_ack;
  if (!reason) {
    held_ = departure;
    return {.action = tcp_ack_action::hold};
  }
  on_sent(now, departure, false);
  last_reason_ = *reason;
  return {.action = tcp_ack_action::pass, .reason = *reason};
}

void delayed_tcp_ack::on_sent(time_us now, const tcp_ack_departure& departure, bool timer_fired) {
  const std::uint32_t packets_in_vain = timer_fired ? pending_packets_ : 0;
  with_policy(policy_, [&](auto& policy) { policy.on_tcp_ack_sent(packets_in_vain); });
  if (auto* own = std::get_if<tcp_ack_own>(&policy_)) own->on_tcp_ack_sent(now, packets_in_vain);
  held_.reset();
  disorder_ = false;
  window_was_closed_ = departure.window_bytes == 0;
  // Data may have come between the local TCP's decision and now.
  const std::uint32_t bytes_beyond = order_.bytes_beyond(departure.tcp_ack);
  pending_packets_ = std::min(pending_packets_, (bytes_beyond + largest_payload_bytes_ - 1) / largest_payload_bytes_);
  round_trip_.on_tcp_ack_sent(now, departure.tcp_ack, departure.timestamp_value);
  // The sender of payload, or of a FIN, repeats it by itself.
  if (repeats_ && departure.bare && !fin_) repeat_timer_.on_tcp_ack_sent(now);
}

std::uint32_t delayed_tcp_ack::window_packets() const {
  std::uint32_t window = 1;
  with_policy(policy_, [&window](const auto& policy) { window = policy.window_packets(); });
  return window;
}

time_us delayed_tcp_ack::held_deadline() const {
  const tcp_ack_wait wait{
      .oldest_arrival = oldest_arrival_, .last_arrival = last_arrival_, .inter_arrival_us256 = inter_arrival_.average_us256().value_or(0)};
  time_us deadline = oldest_arrival_ + hard_limit_us;
  with_policy(policy_, [&](const auto& policy) { deadline = std::min(deadline, policy.deadline(wait)); });
  return deadline;
}

std::optional<time_us> delayed_tcp_ack::deadline() const { return held_ ? held_deadline() : repeat_timer_.deadline(); }

tcp_ack_release_verdict delayed_tcp_ack::on_deadline(time_us now) {
  const std::optional<time_us> due = deadline();
  if (!due || now < *due) return {};
  if (held_) {
    const bool hard = *due >= oldest_arrival_ + hard_limit_us;
    const tcp_ack_departure departure = *held_;
    on_sent(now, departure, true);
    last_reason_ = hard ? tcp_ack_reason::hard_limit : tcp_ack_reason::delay_timer;
    return {.release = tcp_ack_release::send_held, .reason = last_reason_};
  }
  round_trip_.on_repeated();
  repeat_timer_.on_repeated(now);
  last_reason_ = tcp_ack_reason::repeated;
  return {.release = tcp_ack_release::send_again, .reason = last_reason_};
}

}  // namespace perhop::policy
