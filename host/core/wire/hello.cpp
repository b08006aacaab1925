// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/wire/hello.hpp"

#include <algorithm>
#include <cmath>

#include "host/core/wire/raw_frames.hpp"

namespace perhop::wire {

namespace {

constexpr double ps_per_s = 1e12;
constexpr double weight_steps = 16;
constexpr double busy_steps = 65536;
constexpr double usable_steps = 127;
constexpr std::size_t max_list = UINT8_MAX;

/// Rounded and saturated to 0..largest; what is no number counts as 0.
template <typename integer>
integer rounded(double value, double largest) {
  if (!(value > 0)) return 0;
  return static_cast<integer>(std::min(std::floor(value + 0.5), largest));
}

std::size_t node_bytes(std::size_t neighbours, std::size_t flows) {
  return exact_hello_node::size_bytes + neighbours * exact_hello_neighbour::size_bytes + flows * exact_hello_flow::size_bytes;
}

}  // namespace

std::vector<std::uint8_t> encode(const hello& message, std::size_t* left_out) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(max_hello_bytes);
  exact_hello head;
  append(bytes, head);
  std::size_t cut = 0;
  for (const hello_node& node : message.nodes) {
    const std::size_t room = max_hello_bytes - bytes.size();
    const bool own = &node == &message.nodes.front();
    std::size_t neighbours = std::min(node.neighbours.size(), max_list);
    std::size_t flows = std::min(node.flows.size(), max_list);
    if (own && room < node_bytes(neighbours, flows)) {
      neighbours = std::min(neighbours, (room - node_bytes(0, 0)) / exact_hello_neighbour::size_bytes);
      flows = std::min(flows, (room - node_bytes(neighbours, 0)) / exact_hello_flow::size_bytes);
    }
    if (head.node_count == max_list || room < node_bytes(neighbours, flows)) {
      ++cut;
      continue;
    }
    // A flow whose neighbour did not fit cannot be told about.
    const auto fits = [neighbours](const hello_flow& flow) { return flow.next < neighbours; };
    const auto listed = std::span(node.flows).first(flows);
    const auto told = static_cast<std::size_t>(std::ranges::count_if(listed, fits));
    cut += (node.neighbours.size() - neighbours) + (node.flows.size() - told);

    exact_hello_node raw;
    raw.node = node.node;
    raw.hops = node.hops;
    raw.sequence = node.sequence;
    raw.busy_65536 = rounded<std::uint16_t>(node.busy * busy_steps, busy_steps - 1);
    raw.usable_127 = std::max<std::uint8_t>(rounded<std::uint8_t>(node.usable * usable_steps, usable_steps), 1);
    if (node.position) {
      raw.flags = exact_hello_node::flags_position_known;
      raw.x_m = static_cast<std::uint16_t>(node.position->x_m);
      raw.y_m = static_cast<std::uint16_t>(node.position->y_m);
    }
    raw.neighbour_count = static_cast<std::uint8_t>(neighbours);
    raw.flow_count = static_cast<std::uint8_t>(told);
    append(bytes, raw);
    for (std::size_t i = 0; i < neighbours; ++i) append(bytes, exact_hello_neighbour{.node = node.neighbours[i]});
    for (const hello_flow& flow : listed) {
      if (!fits(flow)) continue;
      exact_hello_flow raw_flow;
      raw_flow.next = flow.next;
      raw_flow.flow = flow.flow;
      raw_flow.cost_ps = encode_rate(rounded<std::uint64_t>(flow.cost_s_per_bit * ps_per_s, static_cast<double>(unlimited_rate_bps)));
      raw_flow.rate_limit = encode_rate(flow.rate_limit_bps);
      raw_flow.weight_16 = std::max<std::uint8_t>(rounded<std::uint8_t>(flow.weight * weight_steps, 255), 1);
      append(bytes, raw_flow);
    }
    ++head.node_count;
  }
  std::ranges::copy(bytes_of(head), bytes.begin());
  if (left_out != nullptr) *left_out = cut;
  return bytes;
}

std::optional<hello> decode_hello(std::span<const std::uint8_t> bytes) {
  if (bytes.size() > max_hello_bytes) return std::nullopt;
  const std::optional<exact_hello> head = take<exact_hello>(bytes);
  if (!head || head->node_count == 0) return std::nullopt;
  hello message;
  for (unsigned count = 0; count < head->node_count; ++count) {
    const std::optional<exact_hello_node> raw = take<exact_hello_node>(bytes);
    // The sender's own node comes first, and only it is at no distance.
    if (!raw || (raw->hops == 0) != (count == 0)) return std::nullopt;
    hello_node node{.node = raw->node,
                    .hops = raw->hops,
                    .sequence = raw->sequence,
                    .usable = raw->usable_127 == 0 ? 1 : raw->usable_127 / usable_steps,
                    .busy = raw->busy_65536 / busy_steps};
    if (raw->flags != 0) node.position = node_position{static_cast<std::int16_t>(raw->x_m), static_cast<std::int16_t>(raw->y_m)};
    for (unsigned i = 0; i < raw->neighbour_count; ++i) {
      const std::optional<exact_hello_neighbour> neighbour = take<exact_hello_neighbour>(bytes);
      if (!neighbour) return std::nullopt;
      node.neighbours.push_back(neighbour->node);
    }
    for (unsigned i = 0; i < raw->flow_count; ++i) {
      const std::optional<exact_hello_flow> flow = take<exact_hello_flow>(bytes);
      if (!flow || flow->next >= raw->neighbour_count || flow->weight_16 == 0) return std::nullopt;
      node.flows.push_back({.next = flow->next,
                            .flow = flow->flow,
                            .cost_s_per_bit = static_cast<double>(decode_rate(flow->cost_ps)) / ps_per_s,
                            .rate_limit_bps = decode_rate(flow->rate_limit),
                            .weight = flow->weight_16 / weight_steps});
    }
    message.nodes.push_back(std::move(node));
  }
  if (!bytes.empty()) return std::nullopt;
  return message;
}

}  // namespace perhop::wire
