-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Wireshark dissector of the path header (gateware/spec/frames.yaml), which stands between LLC/SNAP and the IP packet.
--
--   wireshark -X lua_script:sim/air/perhop.lua packets.pcapng

local path_header_bytes = 18
local delay_unit_us = 16

local proto = Proto("perhop", "perhop path header")

local fields = {
  version = ProtoField.uint8("perhop.version", "Version", base.DEC, nil, 0xF0),
  wired_hop_seen = ProtoField.bool("perhop.wired_hop_seen", "Wired hop seen", 8, nil, 0x01),
  silent_router_seen = ProtoField.bool("perhop.silent_router_seen", "Silent router seen", 8, nil, 0x02),
  echo_valid = ProtoField.bool("perhop.echo_valid", "Echo valid", 8, nil, 0x04),
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

local ip = Dissector.get("ip")
local ipv6 = Dissector.get("ipv6")

-- 16-bit float: exponent in the upper 5 bits, mantissa in the lower 11.
local function rate_bps(range)
  local code = range:uint()
  return (code % 2048) * 2 ^ math.floor(code / 2048)
end

function proto.dissector(buffer, pinfo, tree)
  if buffer:len() < path_header_bytes then return 0 end
  local header = tree:add(proto, buffer(0, path_header_bytes))
  header:add(fields.version, buffer(0, 1))
  header:add(fields.wired_hop_seen, buffer(0, 1))
  header:add(fields.silent_router_seen, buffer(0, 1))
  header:add(fields.echo_valid, buffer(0, 1))
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
  if buffer:len() == path_header_bytes then return path_header_bytes end

  local packet = buffer(path_header_bytes):tvb()
  local next_dissector = packet(0, 1):bitfield(0, 4) == 6 and ipv6 or ip
  next_dissector:call(packet, pinfo, tree)
  return buffer:len()
end

DissectorTable.get("ethertype"):add(0x88B5, proto)
