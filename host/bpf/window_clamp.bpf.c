// SPDX-License-Identifier: GPL-2.0-or-later
//
// Holds the congestion window of this host's TCP senders to the limits of a map (snd_cwnd_clamp), by three programs:
//
//   limit_socket         sock_ops: as a connection opens, and once in every round trip of those opened since it was attached
//   limit_open_sockets   iter/tcp: all sockets of the reader's network namespace, when it is read; lets the others hear of them
//   limit_packet         cgroup_skb/egress: each packet of a socket that one of them has seen
//
// TCP lowers its window to a new clamp at the next TCP ACK while the window is what holds it back. Where the application or the
// receiver's window does, it keeps a window from before the limit until it is used up once, in a burst. limit_packet tells such a
// socket of congestion with each packet: it then ends a round trip with the slow start threshold as its window. What would be in
// flight beyond the limit until then it refuses, and TCP sends it when the next TCP ACK has come.
//
// Setting a clamp sets the slow start threshold, too. That is wanted where the threshold is above (loss recovery goes there,
// whatever the clamp), but would undo what a loss did to it where it is below.
#include <linux/bpf.h>
// After the types that it uses.
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "host/bpf/window_clamp_map.h"

char program_license[] SEC("license") = "GPL";

// The daemon's network namespace: a sock_ops program hears of all that its cgroup holds.
const volatile __u64 network_namespace = 0;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, window_clamp_flows);
  __type(key, struct window_clamp_flow);
  __type(value, window_clamp_packets);
} limits SEC(".maps");

// The sockets whose packets limit_packet looks at, and their keys in the map of limits.
struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct window_clamp_flow);
} flows_of_sockets SEC(".maps");

// Of the kernel's types only what is read here; the loader finds where the running kernel has it.
struct in6_addr {
  union {
    __u32 u6_addr32[4];
  } in6_u;
} __attribute__((preserve_access_index));
struct sock_common {
  __u32 skc_daddr;
  __u32 skc_rcv_saddr;
  __u16 skc_dport;
  __u16 skc_num;
  unsigned short skc_family;
  volatile unsigned char skc_state;
  struct in6_addr skc_v6_daddr;
  struct in6_addr skc_v6_rcv_saddr;
} __attribute__((preserve_access_index));
struct tcp_sock {
  __u32 snd_cwnd_clamp;
  __u32 snd_ssthresh;
} __attribute__((preserve_access_index));
struct bpf_iter__tcp {
  struct sock_common* sk_common;
} __attribute__((preserve_access_index));

enum {
  family_ipv4 = 2,
  family_ipv6 = 10,
  level_tcp = 6,
  no_limit_packets = 0x7fffffff,  // what TCP begins with, as a threshold
  socket_hooks = 1008,            // TCP_BPF_SOCK_OPS_CB_FLAGS of Linux 6.12; older ones refuse it
};

// What limit_packet makes of a packet (the kernel's BPF_PROG_CGROUP_INET_EGRESS_RUN_ARRAY). TCP keeps a refused one as not sent.
enum { pass = 1, refuse_and_tell = 2, pass_and_tell = 3 };

static __always_inline void set_ipv4(__u8* bytes, __u32 address) {
  __u32* words = (__u32*)bytes;
  words[0] = 0;
  words[1] = 0;
  words[2] = bpf_htonl(0xffff);
  words[3] = address;
}

/// @return the clamp that the flow's socket is to get, 0 when it has none or has it already
static __always_inline int wanted_clamp(const struct window_clamp_flow* flow, const struct tcp_sock* socket) {
  const window_clamp_packets* limit_packets = bpf_map_lookup_elem(&limits, flow);
  if (!limit_packets) return 0;
  const __u32 wanted_packets = *limit_packets ? *limit_packets : no_limit_packets;
  if (socket->snd_cwnd_clamp == wanted_packets && socket->snd_ssthresh <= wanted_packets) return 0;
  return (int)wanted_packets;
}

SEC("sockops")
int limit_socket(struct bpf_sock_ops* event) {
  const __u32 op = event->op;
  const int opened = op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB || op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
  if (!opened && op != BPF_SOCK_OPS_RTT_CB) return 1;
  if (bpf_get_netns_cookie(event) != network_namespace) return 1;
  if (opened) bpf_sock_ops_cb_flags_set(event, (int)(event->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTT_CB_FLAG));

  struct window_clamp_flow flow = {};
  if (event->family == family_ipv4) {
    set_ipv4(flow.source, event->local_ip4);
    set_ipv4(flow.destination, event->remote_ip4);
  } else if (event->family == family_ipv6) {
    __u32* source = (__u32*)flow.source;
    __u32* destination = (__u32*)flow.destination;
    source[0] = event->local_ip6[0];
    source[1] = event->local_ip6[1];
    source[2] = event->local_ip6[2];
    source[3] = event->local_ip6[3];
    destination[0] = event->remote_ip6[0];
    destination[1] = event->remote_ip6[1];
    destination[2] = event->remote_ip6[2];
    destination[3] = event->remote_ip6[3];
  } else {
    return 1;
  }
  flow.source_port = (__u16)event->local_port;
  flow.destination_port = (__u16)bpf_ntohl(event->remote_port);

  struct bpf_sock* const socket = event->sk;
  if (!socket) return 1;
  const struct tcp_sock* const tcp = bpf_skc_to_tcp_sock(socket);
  if (!tcp) return 1;
  bpf_sk_storage_get(&flows_of_sockets, socket, &flow, BPF_SK_STORAGE_GET_F_CREATE);
  int clamp_packets = wanted_clamp(&flow, tcp);
  if (clamp_packets) bpf_setsockopt(event, level_tcp, TCP_BPF_SNDCWND_CLAMP, &clamp_packets, sizeof clamp_packets);
  return 1;
}

SEC("iter/tcp")
int limit_open_sockets(struct bpf_iter__tcp* context) {
  struct sock_common* const common = context->sk_common;
  // Not yet a whole socket, or no longer.
  if (!common || common->skc_state == BPF_TCP_TIME_WAIT || common->skc_state == BPF_TCP_NEW_SYN_RECV) return 0;

  struct window_clamp_flow flow = {};
  if (common->skc_family == family_ipv4) {
    set_ipv4(flow.source, common->skc_rcv_saddr);
    set_ipv4(flow.destination, common->skc_daddr);
  } else if (common->skc_family == family_ipv6) {
    __u32* source = (__u32*)flow.source;
    __u32* destination = (__u32*)flow.destination;
    for (int word = 0; word < 4; ++word) {
      source[word] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[word];
      destination[word] = common->skc_v6_daddr.in6_u.u6_addr32[word];
    }
  } else {
    return 0;
  }
  flow.source_port = common->skc_num;
  flow.destination_port = bpf_ntohs(common->skc_dport);

  struct tcp_sock* const socket = bpf_skc_to_tcp_sock(common);
  if (!socket) return 0;
  bpf_sk_storage_get(&flows_of_sockets, socket, &flow, BPF_SK_STORAGE_GET_F_CREATE);
  int hooks = BPF_SOCK_OPS_RTT_CB_FLAG;
  bpf_setsockopt(socket, level_tcp, socket_hooks, &hooks, sizeof hooks);
  int clamp_packets = wanted_clamp(&flow, socket);
  if (clamp_packets) bpf_setsockopt(socket, level_tcp, TCP_BPF_SNDCWND_CLAMP, &clamp_packets, sizeof clamp_packets);
  return 0;
}

/// Bytes of the TCP segment in an IP packet. @return 0 when it has none that this host's TCP would have made
static __always_inline __u32 read_segment(const struct __sk_buff* packet, __u32* sequence) {
  __u8 version_and_words = 0, offset_words = 0;
  if (bpf_skb_load_bytes(packet, 0, &version_and_words, 1)) return 0;
  const __u32 tcp_at = version_and_words >> 4 == 4 ? 4 * (version_and_words & 15u) : 40;
  __be32 big_endian = 0;
  if (bpf_skb_load_bytes(packet, tcp_at + 4, &big_endian, sizeof big_endian)) return 0;
  if (bpf_skb_load_bytes(packet, tcp_at + 12, &offset_words, 1)) return 0;
  *sequence = bpf_ntohl(big_endian);
  const __u32 headers_bytes = tcp_at + 4 * (offset_words >> 4);
  return packet->len > headers_bytes ? packet->len - headers_bytes : 0;
}

SEC("cgroup_skb/egress")
int limit_packet(struct __sk_buff* packet) {
  struct bpf_sock* socket = packet->sk;
  if (!socket) return pass;
  socket = bpf_sk_fullsock(socket);
  if (!socket) return pass;
  const struct window_clamp_flow* const flow = bpf_sk_storage_get(&flows_of_sockets, socket, 0, 0);
  if (!flow) return pass;
  const window_clamp_packets* const limit_packets = bpf_map_lookup_elem(&limits, flow);
  if (!limit_packets || !*limit_packets) return pass;
  const struct bpf_tcp_sock* const tcp = bpf_tcp_sock(socket);
  if (!tcp || tcp->snd_cwnd <= *limit_packets) return pass;

  __u32 sequence = 0;
  const __u32 payload_bytes = read_segment(packet, &sequence);
  // What goes out again is in the congestion window already; a probe of a window that is shut is not new either.
  if (payload_bytes == 0 || sequence != tcp->snd_nxt) return pass_and_tell;
  const __u32 segments = packet->gso_segs ? packet->gso_segs : 1;
  const __u32 left_packets = tcp->sacked_out + tcp->lost_out;
  const __u32 in_flight_packets = tcp->packets_out + tcp->retrans_out - left_packets;
  // Nothing would ask TCP to try again where nothing is in flight.
  return tcp->packets_out != 0 && in_flight_packets + segments > *limit_packets ? refuse_and_tell : pass_and_tell;
}
