// SPDX-License-Identifier: GPL-2.0-or-later
/// What a kernel's flow end is told, and what it says: the words of its file `plan`, and of its lines on the console.
///
/// The plan is lines of words: a keyword, then values. Times are CLOCK_MONOTONIC of the kernel, which is virtual time.
///
///     address 10.0.0.1
///     sysctl net/ipv4/tcp_sack 0
///     route 10.0.0.5 44 64240 200 1        the other end, initial window in packets, largest window in bytes, least timeout in ms,
///                                          and whether each segment is acknowledged at once
///     neighbour 10.0.0.9                   another kernel, which programs may reach; as Linux has it by itself
///     edge 1000000000                      at this moment each flow tells its counters; in order of time
///     measure_from 6000000000              round trips of the tail are those from here on
///     send 0 49152 10.0.0.5 60000 1100000000 31000000000 1472 cubic
///                                          flow, port, the other end and its port, start, stop, largest segment, congestion control
///     receive 0 60000 1472 63712 cubic     flow, port, largest segment, largest window in bytes, congestion control: DCTCP's receiver is
///                                          another one
///     rates 49151                          the rates that EXACT allows flows are told to this port
///     program 1200000000 1 wget -O- http://10.0.0.9/      start, whether it is traced, command: for /bin/sh where there is one
///
/// A rate is told in a UDP packet: a flow and bits a second of its IP packets, `0 312000`. From then on the flow's TCP paces itself by
/// it (SO_MAX_PACING_RATE, which counts payload).
///
/// What it says are JSON objects, one a line:
///
///     {"ready_ns": 12345}
///     {"flow": 0, "end": "send", "at_ns": .., "looks": .., "rtt_us": .., "window_packets": .., "retransmissions": ..,
///      "timeouts": ..}                     sums since the start; window_packets in thousandths
///                                         and `pacing_bytes_per_s`, what the socket has, of a flow that has been told a rate
///     {"flow": 0, "end": "receive", "at_ns": .., "received_bytes": ..}
///     {"flow": 0, "end": "send", "rtt_p95_us": ..}   after the last edge
///     {"flow": 0, "problem": ".."}
///     {"program": 0, "started_ns": ..}    {"program": 0, "ended_ns": .., "status": ..}
///     {"program": 0, "call": "write", "process": 17, "at_ns": .., "until_ns": .., "bytes": .., "here": "10.0.0.9:80", "there": ..}
///                                         of a program that is traced: a call that reads from or writes to a connection of TCP
#pragma once

namespace perhop::kernels::flow_plan {

inline constexpr const char* file_name = "plan";
inline constexpr const char* program_name = "init";
inline constexpr const char* interface = "eth0";
inline constexpr unsigned rate_port = 49151;
/// A flow's state is looked at so often; a kernel's round trip is smoothed over eight samples anyway.
inline constexpr long long look_interval_ns = 50'000'000;
inline constexpr long long second_ns = 1'000'000'000;

}  // namespace perhop::kernels::flow_plan
