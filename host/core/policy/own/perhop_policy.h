/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The interface of a policy of one's own: a table of functions in C, by which perhop-sim, perhop-kernel and perhop-node drive a
 * policy that they load when they start. host/own/perhop_policy.hpp makes the table of a class in C++, python_policy.cpp there of one
 * in Python; whatever else exports `const perhop_policy* perhop_policy_NAME(void)` is a policy NAME, too.
 *
 * A policy is told what happened and asked what to do. It reads no clock (time is microseconds since any fixed moment, and never goes
 * back), it is called from one thread, and it answers at once: whoever asks waits. An object belongs to one direction of one
 * connection, at one of its ends:
 *
 *   at the sender of the data      limit_packets, pacing_interval_us      are asked
 *                                  on_path, on_sent                       are told
 *   at its receiver                tcp_ack_packets, tcp_ack_deadline_us   are asked
 *                                  on_arrival, on_tcp_ack_sent            are told
 *   at both                        on_completion                          is told
 *
 * Which of limit_packets, tcp_ack_packets and pacing_interval_us there are says which parts of a flow's policy it takes: the window
 * limit, the TCP ACK policy, the pacing. What is told is told before it is asked for; between two things told, an answer is asked for once.
 *
 * In all structs 0 is what is not known.
 */
#ifndef PERHOP_POLICY_H
#define PERHOP_POLICY_H

#include <stdint.h>

/* Changes when anything below does. Whoever loads a policy refuses one that was compiled with another. */
#define PERHOP_POLICY_INTERFACE 1

#ifdef __cplusplus
extern "C" {
#endif

/* A packet of the other end has told of the path. Hops and delays are those of wireless hops, as each hop's MAC measured them, queueing
 * excluded. */
typedef struct perhop_path {
  uint32_t forward_hops;        /* of the data */
  uint32_t return_hops;         /* of the TCP ACKs */
  uint32_t forward_total_us;    /* sum of the hops' delays of data packets */
  uint32_t forward_max_us;      /* the largest of them */
  uint32_t return_total_us;     /* sum of the hops' delays of TCP ACKs */
  uint32_t wired_round_trip_us; /* propagation of the wired part of the path, both ways */
  uint32_t round_trip_us;       /* the last that was measured from data to its TCP ACK, queues included */
  uint32_t least_round_trip_us; /* of the last 10 to 20 s */
  uint32_t packets_in_flight;   /* with the packet of the flow that left last */
  uint32_t delivered_bytes;     /* that this packet is the first to acknowledge */
} perhop_path;

/* A packet of the flow has left TCP for the queue. */
typedef struct perhop_sent {
  uint32_t payload_bytes;
  uint32_t packets_in_flight; /* with this one, as far as the sender's TCP tells or its sequence numbers do */
} perhop_sent;

/* A packet of the flow wants to leave. */
typedef struct perhop_release {
  uint32_t payload_bytes;
  uint32_t window_packets; /* that TCP may have in flight now, the window limit included */
} perhop_release;

/* A packet of data has arrived. */
typedef struct perhop_arrival {
  uint32_t payload_bytes;
  uint32_t packets_in_flight; /* at the sender when this one left, it counted */
  uint32_t forward_hops;
  uint32_t least_round_trip_us; /* as the receiver can tell it */
  uint32_t in_order;            /* 0: out of order, or it came a second time; else 1 */
} perhop_arrival;

/* What a receiver waits for, and since when. */
typedef struct perhop_tcp_ack_wait {
  uint64_t oldest_arrival_us;   /* of a packet that no TCP ACK has told of */
  uint64_t last_arrival_us;     /* of any packet */
  uint64_t inter_arrival_us256; /* average time between two packets, unit 1/256 us */
} perhop_tcp_ack_wait;

/* The MAC of this node is done with a packet, of whatever flow: the completion record (docs/glossary.md). */
typedef struct perhop_completion {
  uint32_t peer;          /* slot of the neighbour table, 0 to 15 */
  uint32_t delivered;     /* 1: the neighbour has it; 0: given up */
  uint32_t mpdu_bytes;    /* with header and FCS */
  uint32_t rate_index;    /* of the last DATA frame */
  uint32_t rts_attempts;  /* RTS frames sent */
  uint32_t data_attempts; /* DATA frames sent */
  uint32_t slots_drawn;   /* backoff slots, all draws */
  /* Where its time went: ten parts. */
  uint32_t queue_us;
  uint32_t ifs_us;
  uint32_t backoff_us;
  uint32_t frozen_cca_us;
  uint32_t frozen_nav_us;
  uint32_t control_us;
  uint32_t data_us;
  uint32_t response_us;
  uint32_t timeout_us;
  uint32_t responder_us;
  /* The neighbour's running averages after it. */
  uint32_t avg_contention_us16;   /* unit 1/16 us */
  uint32_t avg_overhead_us16;     /* unit 1/16 us */
  uint32_t avg_data_attempts_256; /* unit 1/256 */
} perhop_completion;

/* Whoever runs the policy. It outlives the objects that it is given to. */
typedef struct perhop_host {
  void* context;
  /* The object cannot go on. In a simulation the run ends with this text; on a host it is logged, and the flow goes on without the policy.
   * The object is then told and asked nothing more. Returns. */
  void (*fail)(void* context, const char* problem);
} perhop_host;

typedef struct perhop_policy perhop_policy;
struct perhop_policy {
  uint32_t interface_version; /* PERHOP_POLICY_INTERFACE */

  /* One object for one end of one direction of one connection. Null: it cannot, and has said why by fail. */
  void* (*create)(const perhop_policy* policy, const perhop_host* host);
  void (*destroy)(void* object);

  /* Those that the policy has no use for are null. */
  void (*on_path)(void* object, uint64_t now_us, const perhop_path* path);
  void (*on_sent)(void* object, uint64_t now_us, const perhop_sent* sent);
  void (*on_arrival)(void* object, uint64_t now_us, const perhop_arrival* arrival);
  void (*on_tcp_ack_sent)(void* object, uint64_t now_us, uint32_t packets_in_vain); /* of a run that its deadline ended, else 0 */
  void (*on_completion)(void* object, uint64_t now_us, const perhop_completion* completion);

  /* The largest congestion window allowed now; 0: no limit yet. */
  uint32_t (*limit_packets)(void* object);
  /* Time from this packet to the next one of its flow; 0: the next may go at once. At most 1 s is kept. */
  uint64_t (*pacing_interval_us)(void* object, uint64_t now_us, const perhop_release* release);
  /* Data packets that one TCP ACK is to stand for, 1 or more. Disorder, a FIN and a closed window are told at once in any case. */
  uint32_t (*tcp_ack_packets)(void* object);
  /* The moment until when the receiver waits for so many; 500 ms after the oldest arrival at the latest. Null: that. */
  uint64_t (*tcp_ack_deadline_us)(void* object, const perhop_tcp_ack_wait* wait);
};

#ifdef __cplusplus
}
#endif

#endif
