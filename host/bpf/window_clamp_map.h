/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map between the daemon and the BPF programs: flow -> limit. In C, because both read it. */
#ifndef PERHOP_HOST_BPF_WINDOW_CLAMP_MAP_H
#define PERHOP_HOST_BPF_WINDOW_CLAMP_MAP_H

#include <linux/types.h>

/* A flow as its sender's socket sees it: the source is the local end. IPv4 addresses are mapped (::ffff:10.0.0.1). */
struct window_clamp_flow {
  __u8 source[16];
  __u8 destination[16];
  __u16 source_port; /* host byte order, as the destination's */
  __u16 destination_port;
};

/* Packets; 0: the flow had a limit and has none now. */
typedef __u32 window_clamp_packets;

/* More than the daemon remembers, so that a new flow has its place before an old one is forgotten. */
enum { window_clamp_flows = 4096 };

#endif
