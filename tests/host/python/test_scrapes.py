# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTTP server of `perhop metrics` beside clients that are slow, silent or many."""

import contextlib
import socket
import threading
import time
import urllib.request

import pytest
from perhop.export import scrapes
from waiting import wait_until


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"told\n" * 1000]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(scrapes, "MOST_S", 1.5)
    monkeypatch.setattr(scrapes._Handler, "timeout", 1.0)
    found = scrapes.Server("127.0.0.1", 0, application)
    thread = threading.Thread(target=found.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()
    thread.join()


def connect(server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), 5)


def scraped(server) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=5) as answer:
        return answer.read()


def ends(client) -> bool:
    """The server closes it within the five seconds of its time-out."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_a_client_that_says_nothing_is_put_out(server):
    with connect(server) as client:
        assert ends(client)
    assert scraped(server)


def test_a_client_that_says_a_byte_now_and_then_is_put_out(server):
    with connect(server) as client:
        closed_s = time.monotonic() + 5
        with contextlib.suppress(ConnectionError):
            for byte in b"GET /metrics HTTP/1.0\r\nX: " + b"x" * 1000:
                assert time.monotonic() < closed_s, "it is still listened to"
                client.sendall(bytes([byte]))
                time.sleep(0.05)


def test_a_hundred_silent_clients_keep_no_scrape_waiting(server):
    with contextlib.ExitStack() as clients:
        silent = [clients.enter_context(connect(server)) for _ in range(100)]
        began_s = time.monotonic()
        assert scraped(server) == b"told\n" * 1000
        assert time.monotonic() - began_s < scrapes.MOST_S, "it had to wait until somebody was put out"
        assert threading.active_count() < 60
        # The oldest gave way.
        assert ends(silent[0])


def test_a_client_that_does_not_read_is_put_out(monkeypatch, server):
    def endless(environ, start_response):
        start_response("200 OK", [])
        return [b"x" * 50_000_000]

    server.set_app(endless)
    with connect(server) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        wait_until(lambda: not server._visits, 5)


def test_rubbish_is_answered_or_closed_and_the_next_scrape_is_told(server, capfd):
    for rubbish in (b"\xff" * 70_000, b"\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"X" * 65_537):
        with connect(server) as client, contextlib.suppress(ConnectionError):
            client.sendall(rubbish)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
    assert scraped(server)
    assert "Traceback" not in capfd.readouterr().err
