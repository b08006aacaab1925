# SPDX-License-Identifier: GPL-2.0-or-later
"""MAC: the gateware's MAC, Verilated, behind PDU ports."""

import heapq
import itertools
import threading
import time

import pmt
from gnuradio import gr
from perhop import station

from perhop_gr import frames, pdus

WAKE_S = 0.001
"""Step of a MAC that follows the computer's clock."""


def address_of(value: int | str) -> int:
    """An address: a node's number (below 1000), 48 bits, or text as 02:00:00:00:00:01."""
    if isinstance(value, str):
        return int(value.replace(":", ""), 16)
    return station.address_of(value) if value < 1000 else value


class mac(gr.basic_block):
    """One node's 802.11 MAC: `mac_bytes` of the gateware, RTS, CTS, DATA and MAC ACK, retries, back-off, NAV.

    To the host: port `app in` takes MSDUs; the dictionary's `next_hop` is a node's number or an address, and `at_us`
    a time before which the MAC does not get it. `app out` gives received ones with `source` and `at_us`. `done` gives
    a packet's completion record, and the MSDU with it.

    To the PHY: `phy out` gives MPDUs with FCS (`rate`, `at_us`), as gr-ieee802-11's `mac_in` takes them. `phy in` takes
    frames: with FCS where the dictionary has `fcs_ok`, else without (gr-ieee802-11's `mac_out`, which drops bad ones).
    `cca` takes True and False; without it the NAV alone says that the medium is busy.

    clock: "samples": time is what the PHY's time marks say (DSSS demodulator, port `phy`), and `phy out` passes marks
    on; "computer": the computer's clock, for PHYs without marks.
    """

    def __init__(
        self,
        node: int = 0,
        profile: str = "host_phy",
        data_rate: int = 1,
        rts_threshold_bytes: int = 0,
        seed: int = 1,
        clock: str = "samples",
        forward_to: int = -1,
        time_stretch: float = 1.0,
    ) -> None:
        """forward_to: a router of one route, which gives what it receives to this node at once; -1: none.

        time_stretch: seconds of the computer's clock that a second of the MAC takes, at all nodes the same; above 1 for
        a PHY or a host whose turnaround is longer than the profile's SIFS and time-outs allow.

        node: its address is 02:00:00:00:00:00 + node + 1. rts_threshold_bytes: a longer MPDU goes after an RTS.
        """
        gr.basic_block.__init__(self, f"MAC {node}", in_sig=None, out_sig=None)
        if clock not in ("samples", "computer"):
            raise ValueError('MAC: clock must be "samples" or "computer"')
        if time_stretch <= 0:
            raise ValueError("MAC: time_stretch must be above 0")
        self.node, self.time_stretch = node, time_stretch
        self.station = station.Station(node, profile, data_rate, rts_threshold_bytes, seed)
        self.sent_frames = self.received_frames = self.bad_frames = self.refused = 0
        self.kinds: dict[str, int] = {}
        self._clock = clock
        self._lock = threading.RLock()
        self._forward_to = forward_to
        self._waiting: list[tuple[int, int, int, bytes]] = []
        self._order = itertools.count()
        self._inside: dict[int, bytes] = {}
        self._tag = 0
        self._running = False
        self._thread: threading.Thread | None = None
        for name, handler in (
            ("app in", self._app_in),
            ("phy in", self._phy_in),
            ("cca", self._cca),
        ):
            self.message_port_register_in(pmt.intern(name))
            self.set_msg_handler(pmt.intern(name), handler)
        self._ports = {name: pmt.intern(name) for name in ("app out", "phy out", "done")}
        for port in self._ports.values():
            self.message_port_register_out(port)

    def start(self) -> bool:
        # The first mark lets a medium begin that waits for everybody.
        if self._clock == "samples":
            self._publish("phy out", pdus.pdu({"time_us": 0}))
        else:
            self._running = True
            self._begin_s = time.monotonic()
            self._thread = threading.Thread(target=self._follow_the_clock, daemon=True)
            self._thread.start()
        return super().start()

    def stop(self) -> bool:
        self._running = False
        if self._thread is not None:
            self._thread.join(timeout=1)
            self._thread = None
        return super().stop()

    def _follow_the_clock(self) -> None:
        while self._running:
            with self._lock:
                self._pass_time()
            time.sleep(WAKE_S)

    def _pass_time(self, until_us: int | None = None) -> None:
        if self._clock == "computer":
            elapsed_s = (time.monotonic() - self._begin_s) / self.time_stretch if self._running else None
            until_us = int(elapsed_s * 1e6) if elapsed_s is not None else None
        if until_us is None:
            until_us = self.station.now_us
        while self.station.now_us < until_us:
            step_us = until_us
            if self._waiting and self._waiting[0][0] > self.station.now_us:
                step_us = min(step_us, self._waiting[0][0])
            self.station.advance(step_us)
            self._tell()
        self._tell()

    def _tell(self) -> None:
        """What the MAC has done, and the next packets while it has room."""
        while True:
            for event in self.station.take_events():
                self._event(event)
            due = self._waiting and self._waiting[0][0] <= self.station.now_us
            if not due or not self.station.has_room:
                return
            _, _, address, msdu = heapq.heappop(self._waiting)
            self._tag = (self._tag + 1) % 65536
            self._inside[self._tag] = msdu
            self.station.submit(address, msdu, self._tag)

    def _give(self, at_us: int, address: int, msdu: bytes) -> None:
        heapq.heappush(self._waiting, (at_us, next(self._order), address, msdu))

    def _event(self, event: dict) -> None:
        kind = event.pop("event")
        if kind == "sent":
            psdu = event.pop("psdu")
            self.sent_frames += 1
            self.kinds[event["kind"]] = self.kinds.get(event["kind"], 0) + 1
            self._publish("phy out", pdus.pdu(event | {"node": self.node, "fcs_ok": True}, psdu))
        elif kind == "delivered":
            msdu = event.pop("msdu")
            if self._forward_to >= 0:
                self._give(event["at_us"], address_of(self._forward_to), msdu)
            self._publish("app out", pdus.pdu(event | {"node": self.node}, msdu))
        else:
            self._publish("done", pdus.pdu(event | {"node": self.node}, self._inside.pop(event["tag"], b"")))

    def _publish(self, port: str, message) -> None:
        self.message_port_pub(self._ports[port], message)

    def _refuse(self, why: str) -> None:
        self.refused += 1
        gr.log.warn(f"MAC {self.node}: a message was refused: {why}")

    def _app_in(self, message) -> None:
        found = pdus.octets_of(message)
        if found is None:
            return self._refuse("app in: not a PDU of octets")
        meta, msdu = found
        try:
            address = address_of(meta.get("next_hop", "ff:ff:ff:ff:ff:ff"))
        except (TypeError, ValueError):
            return self._refuse(f"app in: next_hop {meta.get('next_hop')!r} is no node and no address")
        if not 0 < len(msdu) <= 2304:
            return self._refuse(f"app in: an MSDU has 1 to 2304 octets, not {len(msdu)}")
        with self._lock:
            self._give(int(meta.get("at_us", 0)), address, msdu)
            self._pass_time()

    def _phy_in(self, message) -> None:
        found = pdus.octets_of(message)
        if found is None:
            return self._refuse("phy in: not a PDU of octets")
        meta, octets = found
        with self._lock:
            if not octets:
                self._mark(meta)
                return
            self._pass_time(int(meta["end_us"]) if "end_us" in meta else None)
            psdu = octets if "fcs_ok" in meta else frames.with_fcs(octets)
            good = self.station.receive(psdu, int(meta.get("rate", 0)), float(meta.get("rssi_db", 0.0)))
            self.received_frames += good
            self.bad_frames += not good
            self._tell()

    def _mark(self, meta: dict) -> None:
        if "cca" in meta:
            self._pass_time(int(meta["at_us"]))
            self.station.set_carrier(bool(meta["cca"]))
            self._tell()
        elif "time_us" in meta and self._clock == "samples":
            self._pass_time(int(meta["time_us"]))
            self._publish("phy out", pdus.pdu({"time_us": self.station.now_us}))

    def _cca(self, message) -> None:
        if not pmt.is_bool(message):
            return self._refuse("cca: neither True nor False")
        with self._lock:
            self._pass_time()
            self.station.set_carrier(pmt.to_bool(message))
            self._tell()
