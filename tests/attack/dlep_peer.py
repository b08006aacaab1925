# SPDX-License-Identifier: GPL-2.0-or-later
"""Peers of a DLEP modem, good and bad, with the hop limit of a neighbour.

dlep_peer.py session MODEM ADDRESS          one session; prints how long it took to stand
dlep_peer.py hold MODEM FIRST LAST          each address 192.0.2.FIRST to LAST tries to have a session, for ever
dlep_peer.py flood MODEM FIRST LAST RATE    so many connections a second from these; prints how many at SIGTERM
"""

import contextlib
import errno
import selectors
import signal
import socket
import sys
import time

from perhop.dlep import wire
from perhop.dlep.wire import Item, Message, Status

INITIALIZATION = wire.encode_message(
    Message.SESSION_INITIALIZATION,
    [wire.number_item(Item.HEARTBEAT_INTERVAL, 1000), wire.peer_type("router")],
)


def opened(address, blocking=True):
    end = socket.socket()
    end.setblocking(blocking)
    end.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end.bind((address, 0))
    return end


def session(modem, address):
    begun_s = time.monotonic()
    end = opened(address)
    end.settimeout(5)
    end.connect((modem, wire.PORT))
    end.sendall(INITIALIZATION)
    reader = wire.MessageReader()
    message = None
    while message is None:
        data = end.recv(4096)
        if not data:
            raise SystemExit("the modem closed the connection")
        reader.feed(data)
        message = reader.next()
    assert message.kind == Message.SESSION_INITIALIZATION_RESPONSE, message
    print(time.monotonic() - begun_s)
    end.sendall(wire.encode_message(Message.SESSION_TERMINATION, [wire.status_item(Status.SUCCESS)]))
    while end.recv(4096):
        pass


def hold(modem, first, last):
    """With heartbeats, as a session that means to stay; again when it is put out."""
    ends = {}
    print("holding", flush=True)
    while True:
        for last_byte in range(first, last + 1):
            with contextlib.suppress(OSError):
                if last_byte not in ends:
                    end = opened(f"192.0.2.{last_byte}")
                    end.settimeout(0.2)
                    end.connect((modem, wire.PORT))
                    end.sendall(INITIALIZATION)
                    end.setblocking(False)
                    ends[last_byte] = end
                    continue
            end = ends.get(last_byte)
            if end is None:
                continue
            try:
                end.sendall(wire.encode_message(Message.HEARTBEAT))
                while True:
                    if not end.recv(65536):
                        raise ConnectionResetError
            except BlockingIOError:
                pass
            except OSError:
                end.close()
                del ends[last_byte]
        time.sleep(0.1)


def flood(modem, first, last, per_s):
    """Connections that say rubbish, or nothing, and are given up after half a second. Counts those that came about."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    waiting = selectors.DefaultSelector()
    tried, made, begun_s, open_ends = 0, 0, time.monotonic(), []
    print("flooding", flush=True)
    try:
        while True:
            now_s = time.monotonic()
            while tried < (now_s - begun_s) * per_s:
                with contextlib.suppress(OSError):
                    end = opened(f"192.0.2.{first + tried % (last - first + 1)}", blocking=False)
                    end.connect_ex((modem, wire.PORT))
                    waiting.register(end, selectors.EVENT_WRITE)
                    open_ends.append((now_s, end))
                tried += 1
            for key, _ in waiting.select(0.001):
                waiting.unregister(key.fileobj)
                # One that the modem has closed again by now came about, too.
                made += key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in (0, errno.ECONNRESET)
                with contextlib.suppress(OSError):
                    key.fileobj.send((b"\xff" * 300, INITIALIZATION, b"\0")[made % 3])
            while open_ends and open_ends[0][0] < now_s - 0.5:
                end = open_ends.pop(0)[1]
                with contextlib.suppress(KeyError, ValueError):
                    waiting.unregister(end)
                end.close()
    finally:
        print(made, flush=True)


if __name__ == "__main__":
    role, modem, *words = sys.argv[1:]
    if role == "session":
        session(modem, *words)
    elif role == "hold":
        hold(modem, *map(int, words))
    else:
        flood(modem, *map(int, words))
