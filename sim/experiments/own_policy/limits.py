# SPDX-License-Identifier: GPL-2.0-or-later
"""Two policies of one's own: Table 1 of the CWL paper again, and Vegas's idea with what the MACs measure."""

# Round-trip hops up to which a limit holds: K. Chen, Y. Xue, S. Shah, K. Nahrstedt, "Understanding bandwidth-delay
# product in mobile ad hoc networks", Computer Communications 2004, Table 1.
TABLE = {4: 2, 8: 1, 12: 2, 20: 3, 26: 4, 30: 5}


class ByHops:
    """The same as perhop's own policy `hop`, up to 30 round-trip hops."""

    limit = None

    def on_path(self, now_us, path):
        if path.forward_hops and path.return_hops:
            hops = path.forward_hops + path.return_hops
            self.limit = next(packets for most, packets in TABLE.items() if hops <= most)

    def limit_packets(self):
        return self.limit


class Waiting:
    """Keeps one to three packets waiting on the way, as Vegas does (Brakmo, O'Malley, Peterson, SIGCOMM 1994).

    Vegas takes the smallest round trip for one without queues. Here every TCP ACK tells that: the sum of all delays of
    hops.
    """

    LEAST, MOST = 1, 3

    def __init__(self):
        self.limit = 2
        self.next_us = 0

    def on_path(self, now_us, path):
        idle_us = path.forward_total_us + path.return_total_us
        if not idle_us or not path.round_trip_us or now_us < self.next_us:
            return
        self.next_us = now_us + path.round_trip_us
        waiting = self.limit * max(1 - idle_us / path.round_trip_us, 0)
        if waiting < self.LEAST:
            self.limit += 1
        elif waiting > self.MOST:
            self.limit = max(self.limit - 1, 1)

    def limit_packets(self):
        return self.limit
