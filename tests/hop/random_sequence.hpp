// SPDX-License-Identifier: GPL-2.0-or-later
/// Connections that begin, flow and end at random, and what else may happen to a node.
#pragma once

#include <array>
#include <random>

#include "host_under_test.hpp"

namespace perhop::hop_test {

inline constexpr std::uint8_t fin = 1, syn = 2, rst = 4, tcp_ack_flag = 16;

struct tcp_fields {
  std::uint32_t source = 0, destination = 0;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint8_t flags = tcp_ack_flag;
  std::uint32_t sequence = 0, tcp_ack = 0;
  std::uint16_t window_bytes = 65535;
  std::size_t payload_bytes = 0;
};

inline void put16(bytes& packet, std::size_t at, std::uint32_t value) {
  packet[at] = static_cast<std::uint8_t>(value >> 8);
  packet[at + 1] = static_cast<std::uint8_t>(value);
}
inline void put32(bytes& packet, std::size_t at, std::uint32_t value) {
  put16(packet, at, value >> 16);
  put16(packet, at + 2, value & 0xffff);
}

inline bytes ipv4(std::uint32_t source, std::uint32_t destination, std::uint8_t protocol, std::size_t size) {
  bytes packet(size, 0);
  packet[0] = 0x45;
  put16(packet, 2, static_cast<std::uint32_t>(size));
  packet[8] = 64;
  packet[9] = protocol;
  put32(packet, 12, source);
  put32(packet, 16, destination);
  return packet;
}

inline bytes tcp(const tcp_fields& fields) {
  bytes packet = ipv4(fields.source, fields.destination, shim::ip_protocol_tcp, 40 + fields.payload_bytes);
  put16(packet, 20, fields.source_port);
  put16(packet, 22, fields.destination_port);
  put32(packet, 24, fields.sequence);
  put32(packet, 28, fields.tcp_ack);
  packet[32] = 5 << 4;
  packet[33] = fields.flags;
  put16(packet, 34, fields.window_bytes);
  return packet;
}

inline bytes udp(std::uint32_t source, std::uint32_t destination, std::uint16_t port, std::size_t payload_bytes) {
  bytes packet = ipv4(source, destination, shim::ip_protocol_udp, 28 + payload_bytes);
  put16(packet, 20, port);
  put16(packet, 22, port);
  put16(packet, 24, static_cast<std::uint32_t>(8 + payload_bytes));
  return packet;
}

class random_sequence {
public:
  explicit random_sequence(unsigned seed) : random_(seed) {
    for (std::uint32_t i = 0; i < connections_.size(); ++i) connections_[i].neighbour = 1 + i * neighbours / connections_.size();
  }

  event next() {
    event made{.now = now_ += below(4) == 0 ? below(50'000) : below(2500)};
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        made.kind = event::what::complete;
        made.done = {.delivered = below(20) != 0,
                     .contention_us = below(9000),
                     .overhead_us = below(2000),
                     .data_us = 500 + below(7000),
                     .data_attempts = static_cast<std::uint8_t>(1 + below(7)),
                     .avg_contention_us16 = below(200'000),
                     .avg_overhead_us16 = below(30'000),
                     .avg_data_attempts_256 = static_cast<std::uint16_t>(256 + below(1500))};
        break;
      case 5:
        forwarded(made);
        break;
      case 6:
        made.ip = udp(ipv4_of(0), ipv4_of(1 + below(neighbours)), static_cast<std::uint16_t>(5000 + below(3)), below(1400));
        break;
      default:
        connected(made);
    }
    return made;
  }

private:
  struct connection {
    std::uint32_t neighbour = 0;
    bool open = false;
    std::uint32_t sent_end = 0, acknowledged = 0;  ///< of this node's data
    std::uint32_t heard_end = 0;                   ///< of the other's
    std::uint16_t port = 1000;
  };

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  wire::path_header header() {
    wire::path_header made;
    made.hops = static_cast<std::uint8_t>(1 + below(8));
    made.max_delay_us = wire::quantise_delay_us(2000 + below(20'000));
    made.total_delay_us = made.max_delay_us * (1 + below(made.hops));
    made.packets_in_flight = static_cast<std::uint8_t>(below(20));
    made.silent_router_seen = below(50) == 0;
    if (below(4) != 0) {
      const std::uint32_t echo_us = wire::quantise_delay_us(2000 + below(20'000));
      made.echo = wire::path_echo{.total_delay_us = made.hops * echo_us, .max_delay_us = echo_us, .hops = made.hops};
    }
    return rounded(made);
  }

  void forwarded(event& made) {
    made.kind = event::what::forward;
    const std::uint32_t from = 1 + below(neighbours), to = 1 + below(neighbours);
    made.header = header();
    if (below(2) == 0) {
      made.ip = tcp({.source = ipv4_of(from), .destination = ipv4_of(to), .source_port = 7, .destination_port = 8, .payload_bytes = 1000});
      return;
    }
    made.ip = udp(ipv4_of(from), ipv4_of(to), static_cast<std::uint16_t>(6000 + below(2)), 900);
    made.header.exact_follows = true;
    made.header.explicit_rate_bps = 100'000 + below(3'000'000);
    made.header.current_rate_bps = 1 + below(1'000'000);
    made.header = rounded(made.header);
    wire::exact_header rider;
    rider.sequence = below(1000);
    made.rider = rider;
  }

  void connected(event& made) {
    connection& with = connections_[below(connections_.size())];
    tcp_fields out{.source = ipv4_of(0),
                   .destination = ipv4_of(with.neighbour),
                   .source_port = with.port,
                   .destination_port = 80,
                   .sequence = with.sent_end,
                   .tcp_ack = with.heard_end};
    tcp_fields in{.source = out.destination,
                  .destination = out.source,
                  .source_port = 80,
                  .destination_port = with.port,
                  .sequence = with.heard_end,
                  .tcp_ack = with.sent_end,
                  .window_bytes = static_cast<std::uint16_t>(1000 + below(64'000))};
    if (!with.open || below(400) == 0) {  // begins, perhaps anew
      with = {.neighbour = with.neighbour, .open = true, .port = with.port};
      with.sent_end = static_cast<std::uint32_t>(random_());
      with.heard_end = static_cast<std::uint32_t>(random_());
      out.flags = syn;
      out.sequence = with.sent_end++;
      with.acknowledged = with.sent_end;
      made.ip = tcp(out);
      return;
    }
    switch (below(8)) {
      case 0:
      case 1:  // data of this node, sometimes again
        out.payload_bytes = below(5) == 0 ? 1 + below(1460) : 1460;
        if (below(12) == 0) {
          out.sequence = with.acknowledged;
        } else {
          with.sent_end += static_cast<std::uint32_t>(out.payload_bytes);
        }
        made.ip = tcp(out);
        break;
      case 2:
      case 3:  // the other end acknowledges
        made.kind = event::what::receive;
        made.header = header();
        with.acknowledged += (with.sent_end - with.acknowledged) / (1 + below(3));
        in.tcp_ack = with.acknowledged;
        made.ip = tcp(in);
        break;
      case 4:
      case 5:  // data of the other end, sometimes with a gap
        made.kind = event::what::receive;
        made.header = header();
        in.payload_bytes = 1000;
        if (below(15) == 0) in.sequence += 3000;
        if (below(15) != 0) with.heard_end = in.sequence + 1000;
        made.ip = tcp(in);
        break;
      case 6:  // a bare TCP ACK of this node
        made.ip = tcp(out);
        break;
      default:
        if (below(20) == 0) {
          out.flags = below(2) == 0 ? std::uint8_t{fin | tcp_ack_flag} : std::uint8_t{rst};
          with.open = out.flags != rst;
        }
        made.ip = tcp(out);
    }
  }

  std::mt19937 random_;
  time_us now_ = 1000;
  std::array<connection, 12> connections_{};
};

}  // namespace perhop::hop_test
