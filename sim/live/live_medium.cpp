// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/live/live_medium.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "host/sockets/json_message.hpp"
#include "sim/run/completion_record.hpp"
#include "sim/run/scripted_events.hpp"

namespace perhop::live {

namespace {

using nlohmann::json;

constexpr std::uint8_t protocol_version = wire::air_hello{}.version;
constexpr std::uint16_t no_node = 0xFFFF;
enum : std::uint8_t { status_welcome = 0, status_foreign_version = 1, status_no_such_node = 2 };

constexpr std::uint64_t most_address = 0xFFFF'FFFF'FFFF;
// The receivers of a group frame hear it a propagation time after its sender is done with it; far above that of any radio here.
constexpr air::tick group_linger_us = 1000;

template <typename Message>
std::vector<std::uint8_t> encoded(const Message& message) {
  std::vector<std::uint8_t> bytes(Message::size_bytes);
  message.encode(std::span<std::uint8_t, Message::size_bytes>(bytes));
  return bytes;
}

bool is_group(std::uint64_t address) { return (address >> group_address_bit & 1) != 0; }

}  // namespace

live_medium::live_medium(const run::run_config& config, outlet& out)
    : config_(config), out_(out), nodes_(config.air.nodes.size()), medium_(config.air, *this) {
  for (air::node_id id = 0; id < nodes_.size(); ++id) registers_.emplace_back(config.air, id);
  for (const run::event_config& event : config.events) run::apply(medium_, event);
}

std::uint32_t live_medium::node_of(connection_id connection) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [connection](const node& node) { return node.connection == connection; });
  return static_cast<std::uint32_t>(found - nodes_.begin());
}

void live_medium::on_message(connection_id from, std::span<const std::uint8_t> message) {
  const std::uint8_t kind = message.empty() ? 0 : message[0];
  const std::uint32_t id = node_of(from);
  if (kind == wire::air_hello{}.kind) {
    on_hello(from, message);
  } else if (kind == wire::air_send{}.kind && id < nodes_.size()) {
    on_send(id, message);
  } else if (kind == wire::air_registers{}.kind && id < nodes_.size()) {
    on_registers(id, message);
  } else if (kind == wire::air_command{}.kind && std::find(controllers_.begin(), controllers_.end(), from) != controllers_.end()) {
    on_command(from, message.subspan(std::min(message.size(), wire::air_command::size_bytes)));
  } else {
    ++counters_.malformed;
  }
  serve();
}

void live_medium::on_hello(connection_id from, std::span<const std::uint8_t> message) {
  const auto hello = wire::air_hello::decode(message);
  if (!hello || node_of(from) < nodes_.size()) {
    ++counters_.malformed;
    return;
  }
  wire::air_welcome welcome;
  if (hello->version != protocol_version) {
    welcome.status = status_foreign_version;
  } else if (hello->node != no_node && hello->node >= nodes_.size()) {
    welcome.status = status_no_such_node;
  }
  if (welcome.status != status_welcome) {
    ++counters_.malformed;
    out_.send(from, encoded(welcome));
    out_.close(from);
    return;
  }
  const air::mac_config& mac = config_.air.mac;
  welcome.send_credits = send_credits;
  welcome.profile = static_cast<std::uint8_t>(mac.profile - timing_profiles().data());
  welcome.data_rate = mac.data_rate_index;
  welcome.average_shift = mac.average_shift;
  welcome.rts_threshold_bytes = static_cast<std::uint16_t>(mac.rts_threshold_bytes);
  welcome.tsf_us = medium_.now();
  if (hello->node == no_node) {
    controllers_.push_back(from);
  } else {
    welcome.address = air::mac_address(hello->node);
    // A daemon started anew takes the place of the old one, which may not be known to be gone yet.
    if (nodes_[hello->node].connection != no_connection) disconnect(hello->node);
    nodes_[hello->node].connection = from;
    ++counters_.connections;
  }
  out_.send(from, encoded(welcome));
}

void live_medium::on_closed(connection_id connection) {
  std::erase(controllers_, connection);
  if (const std::uint32_t id = node_of(connection); id < nodes_.size()) leave(id);
}

/// What the MAC has been given it sends; what still waits here goes.
void live_medium::leave(air::node_id id) {
  node& left = nodes_[id];
  for (const air::tx_request& request : left.waiting) release(request.payload);
  left = node{.statistics = left.statistics};
}

void live_medium::on_send(air::node_id id, std::span<const std::uint8_t> message) {
  node& from = nodes_[id];
  const auto send = wire::air_send::decode(message);
  const std::size_t msdu_bytes = send ? message.size() - wire::air_send::size_bytes : 0;
  if (!send || msdu_bytes == 0 || msdu_bytes > most_msdu_bytes || send->peer >= neighbour_slots ||
      send->rate >= config_.air.mac.profile->rates.size() || send->receiver_address > most_address) {
    ++counters_.malformed;
    refuse_send(id);
    return;
  }
  if (from.outstanding >= send_credits) {
    ++counters_.over_credit;
    refuse_send(id);
    return;
  }
  const std::uint64_t index = take_slot();
  slot& taken = slots_[index];
  const std::span<const std::uint8_t> msdu = message.subspan(wire::air_send::size_bytes);
  taken.node = id;
  taken.connection = from.connection;
  taken.cookie = send->cookie;
  taken.msdu.assign(msdu.begin(), msdu.end());
  ++from.outstanding;
  ++counters_.sent;
  from.waiting.push_back({.ra = send->receiver_address,
                          .peer = send->peer,
                          .mpdu_bytes = static_cast<std::uint16_t>(mac_header_bytes + msdu_bytes + fcs_bytes),
                          .rate_index = send->rate,
                          .use_rts = (send->flags & wire::air_send::flags_use_rts) != 0 && !is_group(send->receiver_address),
                          .payload = index});
  work_ = true;
}

/// No completion comes for what is not sent, and its daemon would wait for the credit for ever: it shall connect anew.
void live_medium::refuse_send(air::node_id id) {
  ++nodes_[id].statistics.tx_refused;
  disconnect(id);
}

void live_medium::disconnect(air::node_id id) {
  const connection_id gone = nodes_[id].connection;
  leave(id);
  out_.close(gone);
}

void live_medium::on_registers(air::node_id id, std::span<const std::uint8_t> message) {
  using access = wire::air_register_access;
  using answer = wire::air_register_value;
  const auto asked = wire::air_registers::decode(message);
  const std::size_t bytes = asked ? message.size() - wire::air_registers::size_bytes : 0;
  const std::size_t count = bytes / access::size_bytes;
  if (!asked || bytes % access::size_bytes != 0 || count == 0 || count > air_most_register_accesses) {
    ++counters_.malformed;
    return;
  }
  wire::air_register_values head;
  head.cookie = asked->cookie;
  std::vector<std::uint8_t> values = encoded(head);
  values.resize(wire::air_register_values::size_bytes + count * answer::size_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto wanted = *access::decode(message.subspan(wire::air_registers::size_bytes + i * access::size_bytes));
    answer done;
    if ((wanted.flags & access::flags_write) != 0) {
      done.flags = registers_[id].write(wanted.address, wanted.value, medium_) ? answer::flags_done : 0;
    } else if (const auto word = registers_[id].read(wanted.address, medium_.now(), nodes_[id].statistics)) {
      done.flags = answer::flags_done;
      done.value = *word;
    }
    done.encode(std::span(values).subspan(wire::air_register_values::size_bytes + i * answer::size_bytes).first<answer::size_bytes>());
  }
  out_.send(nodes_[id].connection, values);
}

void live_medium::serve() {
  while (std::exchange(work_, false)) {
    for (air::node_id id = 0; id < nodes_.size(); ++id) submit_waiting(id);
  }
}

void live_medium::submit_waiting(air::node_id id) {
  node& from = nodes_[id];
  while (!from.waiting.empty() && medium_.can_submit(id)) {
    const air::tx_request request = from.waiting.front();
    from.waiting.pop_front();
    medium_.submit(id, request);
  }
}

std::uint64_t live_medium::take_slot() {
  while (!lingering_.empty() && lingering_.front().until <= medium_.now()) {
    release(lingering_.front().index);
    lingering_.pop_front();
  }
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::uint64_t index = free_.back();
  free_.pop_back();
  return index;
}

void live_medium::release(std::uint64_t index) {
  slots_[index].connection = no_connection;
  free_.push_back(index);
}

void live_medium::on_delivery(air::tick now, air::node_id to, const air::transmission& frame) {
  if (nodes_[to].connection == no_connection) {
    ++counters_.receptions_unheard;
    return;
  }
  wire::air_reception reception;
  reception.rate = frame.rate_index;
  reception.sequence = frame.sequence;
  reception.receiver_address = frame.ra;
  reception.transmitter_address = frame.ta;
  reception.tsf_us = now;
  message_.resize(wire::air_reception::size_bytes);
  reception.encode(std::span<std::uint8_t, wire::air_reception::size_bytes>(message_));
  const std::vector<std::uint8_t>& msdu = slots_[frame.payload].msdu;
  message_.insert(message_.end(), msdu.begin(), msdu.end());
  const bool heard = out_.send(nodes_[to].connection, message_);
  ++(heard ? counters_.delivered : counters_.receptions_lost);
  ++(heard ? nodes_[to].statistics.rx_delivered : nodes_[to].statistics.rx_overflow);
}

void live_medium::on_completion(air::tick now, const air::completion& record) {
  work_ = true;
  ++counters_.completed;
  const slot& done = slots_[record.payload];
  node& from = nodes_[record.node];
  from.statistics.note_done(record);
  if (done.connection != from.connection) {
    ++counters_.completions_unheard;
  } else {
    --from.outstanding;
    wire::air_completion completion;
    completion.cookie = done.cookie;
    message_.resize(wire::air_completion::size_bytes);
    completion.encode(std::span<std::uint8_t, wire::air_completion::size_bytes>(message_));
    for (const std::uint32_t word : encode_completion_record(run::record_of(record))) {
      for (unsigned byte = 0; byte < 4; ++byte) message_.push_back(static_cast<std::uint8_t>(word >> 8 * byte));
    }
    // A daemon that misses a completion would wait for its credit for ever: it shall connect anew.
    if (!out_.send(from.connection, message_)) {
      ++counters_.completions_unheard;
      ++from.statistics.done_overflow;
      disconnect(record.node);
    }
  }
  if (record.result == tx_result::group_sent) {
    lingering_.push_back({record.payload, now + group_linger_us});
  } else {
    release(record.payload);
  }
}

void live_medium::on_command(connection_id from, std::span<const std::uint8_t> text) {
  const std::string answer = command(text);
  std::vector<std::uint8_t> message = encoded(wire::air_answer{});
  message.insert(message.end(), answer.begin(), answer.end());
  out_.send(from, message);
}

std::string live_medium::command(std::span<const std::uint8_t> text) {
  using event_kind = run::event_config::event_kind;
  const json asked = sockets::parse_message({reinterpret_cast<const char*>(text.data()), text.size()});
  try {
    if (!asked.is_object()) throw std::out_of_range("is no JSON object");
    const std::string name = asked.at("command").get<std::string>();
    const auto node_named = [&](const char* key) {
      const auto id = asked.at(key).get<std::uint32_t>();
      if (id >= nodes_.size()) throw std::out_of_range(std::string(key) + ": there are " + std::to_string(nodes_.size()) + " nodes");
      return id;
    };
    if (name == "status") return status();
    if (name == "reset_lateness") {
      lateness_ = {};
    } else if (name == "link_down" || name == "link_up") {
      run::event_config event{.kind = name == "link_down" ? event_kind::link_down : event_kind::link_up};
      event.a = node_named("a");
      event.b = node_named("b");
      if (event.a == event.b) throw std::out_of_range("b: is a itself");
      run::apply(medium_, event);
    } else if (name == "move") {
      run::event_config event{.kind = event_kind::move};
      event.a = node_named("node");
      event.position = {asked.at("x_m").get<double>(), asked.at("y_m").get<double>()};
      run::apply(medium_, event);
    } else if (name == "node_down" || name == "node_up") {
      run::event_config event{.kind = name == "node_down" ? event_kind::node_down : event_kind::node_up};
      event.a = node_named("node");
      run::apply(medium_, event);
    } else if (name == "loss") {
      run::event_config event{.kind = event_kind::loss};
      event.frame_error_rate = asked.at("frame_error_rate").get<double>();
      if (!(event.frame_error_rate >= 0 && event.frame_error_rate <= 1)) throw std::out_of_range("frame_error_rate: give 0 to 1");
      run::apply(medium_, event);
    } else {
      throw std::out_of_range("there is no command '" + name + "'");
    }
    return R"({"ok": true})";
  } catch (const std::exception& error) {
    ++counters_.malformed;
    return json{{"ok", false}, {"error", error.what()}}.dump(-1, ' ', false, json::error_handler_t::replace);
  }
}

std::string live_medium::status() const {
  json connected = json::array();
  for (const node& node : nodes_) connected.push_back(node.connection != no_connection);
  json counts = json::array();
  for (const std::uint64_t count : lateness_.counts()) counts.push_back(count);
  const medium_counters& c = counters_;
  return json{{"ok", true},
              {"time_us", medium_.now()},
              {"connected", connected},
              {"transmissions", medium_.counters().transmissions},
              {"late",
               {{"events", lateness_.events()},
                {"p50_us", lateness_.quantile_us(0.5)},
                {"p99_us", lateness_.quantile_us(0.99)},
                {"p999_us", lateness_.quantile_us(0.999)},
                {"late_1ms", lateness_.late_1ms()},
                {"max_us", lateness_.max_us()},
                {"log2_counts", counts}}},
              {"sent", c.sent},
              {"delivered", c.delivered},
              {"completed", c.completed},
              {"malformed", c.malformed},
              {"over_credit", c.over_credit},
              {"receptions_lost", c.receptions_lost},
              {"receptions_unheard", c.receptions_unheard},
              {"completions_unheard", c.completions_unheard},
              {"connections", c.connections},
              {"slips", c.slips},
              {"slipped_us", c.slipped_us}}
      .dump();
}

}  // namespace perhop::live
