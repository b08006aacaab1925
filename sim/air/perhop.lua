-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Wireshark dissector of the path header, which stands between LLC/SNAP and the IP packet, of what EXACT puts behind it
-- (exact_data, exact_feedback), and of EXACT's hellos (EtherType 0x88B6). Layouts: gateware/spec/frames.yaml.
--
--   wireshark -X lua_script:sim/air/perhop.lua packets.pcapng

local path_header_bytes = 18
local exact_data_bytes = 5
local exact_feedback_bytes = 24
local hello_bytes = 2
local hello_node_bytes = 16
local hello_neighbour_bytes = 4
local hello_flow_bytes = 10
local delay_unit_us = 16

local proto = Proto("perhop", "perhop path header")

local fields = {
  version = ProtoField.uint8("perhop.version", "Version", base.DEC, nil, 0xF0),
  wired_hop_seen = ProtoField.bool("perhop.wired_hop_seen", "Wired hop seen", 8, nil, 0x01),
  silent_router_seen = ProtoField.bool("perhop.silent_router_seen", "Silent router seen", 8, nil, 0x02),
  echo_valid = ProtoField.bool("perhop.echo_valid", "Echo valid", 8, nil, 0x04),
  exact_follows = ProtoField.bool("perhop.exact_follows", "EXACT follows", 8, nil, 0x08),
  hops = ProtoField.uint8("perhop.hops", "Radio hops so far"),
  total_delay_us = ProtoField.uint32("perhop.total_delay_us", "Sum of the hops' delays (us)"),
  max_delay_us = ProtoField.uint32("perhop.max_delay_us", "Largest of them (us)"),
  explicit_rate_bps = ProtoField.double("perhop.explicit_rate_bps", "Rate allowed by the routers so far (b/s)"),
  current_rate_bps = ProtoField.double("perhop.current_rate_bps", "Rate of the sender (b/s)"),
  packets_in_flight = ProtoField.uint8("perhop.packets_in_flight", "Packets in flight at the sender"),
  echo_total_delay_us = ProtoField.uint32("perhop.echo.total_delay_us", "Echo: sum of the hops' delays (us)"),
  echo_max_delay_us = ProtoField.uint32("perhop.echo.max_delay_us", "Echo: largest of them (us)"),
  echo_hops = ProtoField.uint8("perhop.echo.hops", "Echo: radio hops"),
  echo_rate_bps = ProtoField.double("perhop.echo.rate_bps", "Echo: rate allowed by the routers (b/s)"),
}
proto.fields = fields

local kinds = { [1] = "data", [2] = "feedback" }
local exact_proto = Proto("perhop_exact", "perhop EXACT")
local exact = {
  kind = ProtoField.uint8("perhop_exact.kind", "Kind", base.DEC, kinds, 0xF0),
  last = ProtoField.bool("perhop_exact.last", "Last packet of the flow", 8, nil, 0x01),
  sequence = ProtoField.uint32("perhop_exact.sequence", "Sequence"),
  silent_router_seen = ProtoField.bool("perhop_exact.silent_router_seen", "Silent router seen", 8, nil, 0x01),
  hops = ProtoField.uint8("perhop_exact.hops", "Radio hops of the last data packet"),
  explicit_rate_bps = ProtoField.double("perhop_exact.explicit_rate_bps", "Rate allowed by the routers (b/s)"),
  current_rate_bps = ProtoField.double("perhop_exact.current_rate_bps", "Rate of the sender (b/s)"),
  total_delay_us = ProtoField.uint32("perhop_exact.total_delay_us", "Sum of the hops' delays (us)"),
  max_delay_us = ProtoField.uint32("perhop_exact.max_delay_us", "Largest of them (us)"),
  held_us = ProtoField.uint32("perhop_exact.held_us", "Time at the receiver (us)"),
  highest_sequence = ProtoField.uint32("perhop_exact.highest_sequence", "Highest sequence that arrived"),
  received_packets = ProtoField.uint32("perhop_exact.received_packets", "Packets that arrived"),
  arrived_bitmap = ProtoField.uint32("perhop_exact.arrived_bitmap", "Arrived before the highest", base.HEX),
}
exact_proto.fields = exact

local hello_proto = Proto("perhop_hello", "perhop EXACT hello")
local hello = {
  version = ProtoField.uint8("perhop_hello.version", "Version", base.DEC, nil, 0xF0),
  node_count = ProtoField.uint8("perhop_hello.node_count", "Nodes"),
  node = ProtoField.uint32("perhop_hello.node", "Node", base.HEX),
  hops = ProtoField.uint8("perhop_hello.hops", "Hops from the sender of the hello"),
  sequence = ProtoField.uint16("perhop_hello.sequence", "Sequence"),
  busy = ProtoField.double("perhop_hello.busy", "Share of time with other traffic"),
  position_known = ProtoField.bool("perhop_hello.position_known", "Position known", 8, nil, 0x01),
  x_m = ProtoField.int16("perhop_hello.x_m", "x (m)"),
  y_m = ProtoField.int16("perhop_hello.y_m", "y (m)"),
  neighbour_count = ProtoField.uint8("perhop_hello.neighbour_count", "Neighbours"),
  flow_count = ProtoField.uint8("perhop_hello.flow_count", "Flows"),
  neighbour = ProtoField.uint32("perhop_hello.neighbour", "Neighbour", base.HEX),
  next = ProtoField.uint8("perhop_hello.flow.next", "Place of the next hop in the neighbours"),
  flow = ProtoField.uint32("perhop_hello.flow", "Flow", base.HEX),
  cost_ps = ProtoField.double("perhop_hello.flow.cost_ps", "Channel time of a bit (ps)"),
  rate_limit_bps = ProtoField.double("perhop_hello.flow.rate_limit_bps", "Wants no more than (b/s)"),
  weight = ProtoField.double("perhop_hello.flow.weight", "Weight"),
}
hello_proto.fields = hello
local too_short = ProtoExpert.new("perhop_hello.too_short", "Fewer bytes than it says", expert.group.MALFORMED, expert.severity.ERROR)
hello_proto.experts = { too_short }

local ip = Dissector.get("ip")
local ipv6 = Dissector.get("ipv6")

-- 16-bit float, of rates and costs: exponent in the upper 5 bits, mantissa in the lower 11.
local function rate_bps(range)
  local code = range:uint()
  return (code % 2048) * 2 ^ math.floor(code / 2048)
end

-- What EXACT puts behind the path header. @return its bytes; 0 when it is none that we know
local function dissect_exact(buffer, tree)
  local kind = buffer:len() > 0 and buffer(0, 1):bitfield(0, 4) or 0
  if kind == 1 and buffer:len() >= exact_data_bytes then
    local header = tree:add(exact_proto, buffer(0, exact_data_bytes))
    header:add(exact.kind, buffer(0, 1))
    header:add(exact.last, buffer(0, 1))
    header:add(exact.sequence, buffer(1, 4))
    return exact_data_bytes
  end
  if kind ~= 2 or buffer:len() < exact_feedback_bytes then return 0 end
  local header = tree:add(exact_proto, buffer(0, exact_feedback_bytes))
  header:add(exact.kind, buffer(0, 1))
  header:add(exact.silent_router_seen, buffer(0, 1))
  header:add(exact.hops, buffer(1, 1))
  header:add(exact.explicit_rate_bps, buffer(2, 2), rate_bps(buffer(2, 2)))
  header:add(exact.current_rate_bps, buffer(4, 2), rate_bps(buffer(4, 2)))
  header:add(exact.total_delay_us, buffer(6, 2), buffer(6, 2):uint() * delay_unit_us)
  header:add(exact.max_delay_us, buffer(8, 2), buffer(8, 2):uint() * delay_unit_us)
  header:add(exact.held_us, buffer(10, 2), buffer(10, 2):uint() * delay_unit_us)
  header:add(exact.highest_sequence, buffer(12, 4))
  header:add(exact.received_packets, buffer(16, 4))
  header:add(exact.arrived_bitmap, buffer(20, 4))
  return exact_feedback_bytes
end

-- One node of a hello, at `from`. @return where the next one is; nil when bytes are missing
local function dissect_node(buffer, from, tree)
  if buffer:len() < from + hello_node_bytes then return nil end
  local neighbours = buffer(from + 14, 1):uint()
  local flows = buffer(from + 15, 1):uint()
  local bytes = hello_node_bytes + neighbours * hello_neighbour_bytes + flows * hello_flow_bytes
  if buffer:len() < from + bytes then return nil end
  local node = tree:add(hello_proto, buffer(from, bytes), "Node")
  node:add(hello.node, buffer(from, 4))
  node:add(hello.hops, buffer(from + 4, 1))
  node:add(hello.sequence, buffer(from + 5, 2))
  node:add(hello.busy, buffer(from + 7, 2), buffer(from + 7, 2):uint() / 65536)
  node:add(hello.position_known, buffer(from + 13, 1))
  if buffer(from + 13, 1):bitfield(7, 1) == 1 then
    node:add(hello.x_m, buffer(from + 9, 2))
    node:add(hello.y_m, buffer(from + 11, 2))
  end
  node:add(hello.neighbour_count, buffer(from + 14, 1))
  node:add(hello.flow_count, buffer(from + 15, 1))
  local at = from + hello_node_bytes
  for _ = 1, neighbours do
    node:add(hello.neighbour, buffer(at, 4))
    at = at + hello_neighbour_bytes
  end
  for _ = 1, flows do
    local flow = node:add(hello.flow, buffer(at + 1, 4))
    flow:add(hello.next, buffer(at, 1))
    flow:add(hello.cost_ps, buffer(at + 5, 2), rate_bps(buffer(at + 5, 2)))
    flow:add(hello.rate_limit_bps, buffer(at + 7, 2), rate_bps(buffer(at + 7, 2)))
    flow:add(hello.weight, buffer(at + 9, 1), buffer(at + 9, 1):uint() / 16)
    at = at + hello_flow_bytes
  end
  return at
end

function hello_proto.dissector(buffer, pinfo, tree)
  if buffer:len() < hello_bytes or buffer(0, 1):bitfield(0, 4) ~= 1 then return 0 end
  pinfo.cols.protocol = "EXACT hello"
  local message = tree:add(hello_proto, buffer())
  message:add(hello.version, buffer(0, 1))
  message:add(hello.node_count, buffer(1, 1))
  local at = hello_bytes
  for _ = 1, buffer(1, 1):uint() do
    at = dissect_node(buffer, at, message)
    if at == nil then
      message:add_proto_expert_info(too_short)
      break
    end
  end
  return buffer:len()
end

function proto.dissector(buffer, pinfo, tree)
  if buffer:len() < path_header_bytes then return 0 end
  local header = tree:add(proto, buffer(0, path_header_bytes))
  header:add(fields.version, buffer(0, 1))
  header:add(fields.wired_hop_seen, buffer(0, 1))
  header:add(fields.silent_router_seen, buffer(0, 1))
  header:add(fields.echo_valid, buffer(0, 1))
  header:add(fields.exact_follows, buffer(0, 1))
  header:add(fields.hops, buffer(1, 1))
  header:add(fields.total_delay_us, buffer(2, 2), buffer(2, 2):uint() * delay_unit_us)
  header:add(fields.max_delay_us, buffer(4, 2), buffer(4, 2):uint() * delay_unit_us)
  header:add(fields.explicit_rate_bps, buffer(6, 2), rate_bps(buffer(6, 2)))
  header:add(fields.current_rate_bps, buffer(8, 2), rate_bps(buffer(8, 2)))
  header:add(fields.packets_in_flight, buffer(10, 1))
  if buffer(0, 1):bitfield(5, 1) == 1 then
    header:add(fields.echo_total_delay_us, buffer(11, 2), buffer(11, 2):uint() * delay_unit_us)
    header:add(fields.echo_max_delay_us, buffer(13, 2), buffer(13, 2):uint() * delay_unit_us)
    header:add(fields.echo_hops, buffer(15, 1))
    header:add(fields.echo_rate_bps, buffer(16, 2), rate_bps(buffer(16, 2)))
  end
  local from = path_header_bytes
  if buffer(0, 1):bitfield(4, 1) == 1 and buffer:len() > from then
    local bytes = dissect_exact(buffer(from):tvb(), tree)
    if bytes == 0 then return from end
    from = from + bytes
  end
  if buffer:len() == from then return from end

  local packet = buffer(from):tvb()
  local next_dissector = packet(0, 1):bitfield(0, 4) == 6 and ipv6 or ip
  next_dissector:call(packet, pinfo, tree)
  return buffer:len()
end

DissectorTable.get("ethertype"):add(0x88B5, proto)
DissectorTable.get("ethertype"):add(0x88B6, hello_proto)
