// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/rate_server.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "host/node/node_config.hpp"

namespace perhop::node {

namespace {

using nlohmann::json;

constexpr std::size_t most_clients = 256;

int checked(int result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

void watch(int epoll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  checked(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

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

rate_server::rate_server(const std::string& path, packet_path& packets) : packets_(packets) {
  epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  listener_ = checked(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  unlink(path.c_str());
  checked(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), path);
  checked(chmod(path.c_str(), 0666), path);
  checked(listen(listener_, 16), path);
  watch(epoll_, listener_);
}

rate_server::~rate_server() {
  for (const auto& [socket, client] : clients_) close(socket);
  close(listener_);
  close(epoll_);
}

void rate_server::accept() {
  for (;;) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    if (clients_.size() >= most_clients) {
      close(socket);
      continue;
    }
    clients_.emplace(socket, client{});
    watch(epoll_, socket);
  }
}

void rate_server::poll(time_us now) {
  std::array<epoll_event, 16> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const int socket = events[static_cast<std::size_t>(i)].data.fd;
    if (socket == listener_) {
      accept();
      continue;
    }
    const auto found = clients_.find(socket);
    if (found == clients_.end() || serve(now, socket, found->second)) continue;
    leave(found->second);
    clients_.erase(found);
    close(socket);
  }
  packets_.serve_exact(now);
}

bool rate_server::serve(time_us now, int socket, client& client) {
  const ssize_t size = recv(socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  std::string text;
  try {
    answer(now, client, std::string(buffer_.data(), static_cast<std::size_t>(size)));
    client.told = packets_.exact()->state(*client.flow);
    text = client.told ? text_of(*client.told) : R"({"ok": false, "error": "the flow was forgotten: too many flows"})";
  } catch (const std::exception& error) {
    text = json{{"ok", false}, {"error", error.what()}}.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return send_text(socket, text) || errno == EAGAIN;
}

void rate_server::answer(time_us now, client& client, const std::string& asked) {
  const json object = json::parse(asked, nullptr, false);
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
                              .protocol = shim::ip_protocol_udp};
    leave(client);
    client.flow = flow;
    exact.follow(now, flow, wanted_bps, queue_packets);
  } else if (!client.flow) {
    throw config_error("follow: is missing; the first message says which flow");
  } else if (object.contains("wanted_bps")) {
    exact.want(*client.flow, wanted_bps);
  }
}

void rate_server::leave(const client& client) {
  if (client.flow) packets_.exact()->unfollow(*client.flow);
}

bool rate_server::send_text(int socket, const std::string& text) {
  return send(socket, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

void rate_server::tell() {
  for (auto& [socket, client] : clients_) {
    if (!client.flow || !client.told) continue;
    const std::optional<exact_flow_state> state = packets_.exact()->state(*client.flow);
    if (!state || tells_the_same(*state, *client.told)) continue;
    // Who does not read is told at the next occasion.
    if (send_text(socket, text_of(*state))) client.told = state;
  }
}

}  // namespace perhop::node
