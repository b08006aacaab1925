// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/rate_server.hpp"

#include <nlohmann/json.hpp>

#include "host/node/log.hpp"
#include "host/node/node_config.hpp"
#include "host/sockets/json_message.hpp"

namespace perhop::node {

namespace {

using nlohmann::json;

constexpr std::size_t most_clients = 256;
// The socket is for all users of the node: one of them leaves places to the others.
constexpr std::size_t most_of_a_user = 128;

/// What an application acts on; the rest of the state only comes along.
bool tells_the_same(const exact_flow_state& one, const exact_flow_state& other) {
  return one.reported == other.reported && one.rate_bps == other.rate_bps && one.path_bps == other.path_bps && one.hops == other.hops &&
         one.silent_router == other.silent_router && one.full == other.full;
}

json json_of(const exact_flow_state& state) {
  return {{"ok", true},
          {"reported", state.reported},
          {"rate_bps", state.rate_bps},
          {"path_bps", state.path_bps},
          {"hops", state.hops},
          {"silent_router", state.silent_router},
          {"full", state.full},
          {"waiting_packets", state.waiting_packets},
          {"room_packets", state.room_packets},
          {"window_packets", state.window_packets},
          {"unacknowledged_packets", state.unacknowledged_packets},
          {"round_trip_us", state.round_trip_us},
          {"sent_packets", state.sent_packets},
          {"refused_packets", state.refused_packets},
          {"reports", state.reports},
          {"unreported_packets", state.unreported_packets},
          {"halvings", state.halvings},
          {"reroutes", state.reroutes},
          {"reroute_us", state.reroute_us}};
}

std::uint16_t port_of(const json& object, const char* key) {
  const auto port = object.at(key).get<std::int64_t>();
  if (port < 1 || port > 65535) throw config_error(std::string(key) + ": is " + std::to_string(port) + "; give a port");
  return static_cast<std::uint16_t>(port);
}

std::uint8_t protocol_of(const json& object) {
  const std::string name = object.value("protocol", "udp");
  if (name != "udp" && name != "tcp") throw config_error("protocol: is '" + name + "'; give udp or tcp");
  return name == "tcp" ? shim::ip_protocol_tcp : shim::ip_protocol_udp;
}

std::optional<std::size_t> queue_of(const json& object) {
  const auto found = object.find("queue_packets");
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (!found->is_number_unsigned() || found->get<std::size_t>() < 1 || found->get<std::size_t>() > 1024) {
    throw config_error("queue_packets: is " + found->dump() + "; give a whole number from 1 to 1024");
  }
  return found->get<std::size_t>();
}

std::optional<std::uint64_t> wanted_of(const json& object) {
  const auto found = object.find("wanted_bps");
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (!found->is_number() || found->get<double>() < 1 || found->get<double>() > 1e12) {
    throw config_error("wanted_bps: is " + found->dump() + "; give bits a second");
  }
  return static_cast<std::uint64_t>(found->get<double>());
}

}  // namespace

std::string text_of(const exact_flow_state& state) { return json_of(state).dump(); }

rate_server::rate_server(const std::string& path, packet_path& packets)
    : path_(path),
      packets_(packets),
      server_(
          {.path = path, .most_clients = most_clients, .most_kept_of_a_user = most_of_a_user, .most_message_bytes = 4096, .mode = 0666}) {}

void rate_server::poll(time_us now) {
  now_ = now;
  server_.poll(static_cast<std::uint64_t>(now), *this);
  packets_.serve_exact(now);
}

void rate_server::on_message(sockets::client_id from, std::span<const std::uint8_t> message) {
  client& client = clients_[from];
  std::string text;
  try {
    answer(client, {reinterpret_cast<const char*>(message.data()), message.size()});
    if (!server_.keep(from)) {
      leave(client);
      client.flow.reset();
      throw config_error("follow: this user follows " + std::to_string(most_of_a_user) + " flows; end one of them first");
    }
    client.told = packets_.exact()->state(*client.flow);
    text = client.told ? text_of(*client.told) : R"({"ok": false, "error": "the flow was forgotten: too many flows"})";
  } catch (const std::exception& error) {
    text = json{{"ok", false}, {"error", error.what()}}.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  server_.send(from, text);
}

void rate_server::on_closed(sockets::client_id gone) {
  const auto found = clients_.find(gone);
  if (found == clients_.end()) return;
  leave(found->second);
  clients_.erase(found);
}

void rate_server::on_trouble(const std::string& what) { log("socket", {{"path", path_}, {"problem", what}}); }

void rate_server::answer(client& client, std::string_view asked) {
  const json object = sockets::parse_message(asked);
  if (!object.is_object()) throw config_error("is no JSON object");
  const std::optional<std::uint64_t> wanted_bps = wanted_of(object);
  const std::optional<std::size_t> queue_packets = queue_of(object);
  exact_flows& exact = *packets_.exact();
  if (const auto follow = object.find("follow"); follow != object.end()) {
    if (!follow->is_object()) throw config_error("follow: must be an object {...}");
    const shim::flow_key flow{.source = parse_address(follow->at("source").get<std::string>()),
                              .destination = parse_address(follow->at("destination").get<std::string>()),
                              .source_port = port_of(*follow, "source_port"),
                              .destination_port = port_of(*follow, "destination_port"),
                              .protocol = protocol_of(*follow)};
    leave(client);
    client.flow = flow;
    exact.follow(now_, flow, wanted_bps, queue_packets);
  } else if (!client.flow) {
    throw config_error("follow: is missing; the first message says which flow");
  } else if (object.contains("wanted_bps")) {
    exact.want(*client.flow, wanted_bps);
  }
}

void rate_server::leave(const client& client) {
  if (client.flow) packets_.exact()->unfollow(*client.flow);
}

void rate_server::tell() {
  for (auto& [id, client] : clients_) {
    if (!client.flow || !client.told) continue;
    const std::optional<exact_flow_state> state = packets_.exact()->state(*client.flow);
    if (!state || tells_the_same(*state, *client.told)) continue;
    // Who does not read is told at the next occasion.
    if (server_.send(id, text_of(*state))) client.told = state;
  }
}

}  // namespace perhop::node
