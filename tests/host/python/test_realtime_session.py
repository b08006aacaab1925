# SPDX-License-Identifier: GPL-2.0-or-later
"""The conversation with the program on a node: kept up while nothing is asked, and ended where that ends."""

import pytest
from perhop.realtime import session
from perhop.realtime.session import NodeGone, Session
from waiting import wait_until


@pytest.fixture
def soon_alone(monkeypatch):
    """The program gives up after a second of silence instead of fifteen."""
    text = session.modules_text()
    assert text.count(b"SILENCE_S = 15.0") == 1
    monkeypatch.setattr(session, "modules_text", lambda: text.replace(b"SILENCE_S = 15.0", b"SILENCE_S = 1.0"))


def test_a_program_that_is_asked_nothing_knows_that_somebody_is_there(soon_alone, monkeypatch):
    monkeypatch.setattr(session, "KEEP_S", 0.2)
    with Session("here", []) as here:
        told = []
        ask = here.ask
        monkeypatch.setattr(here, "ask", lambda do, **more: told.append(ask(do, **more)))
        # A second is long enough for the program there to end, and has five of these.
        wait_until(lambda: len(told) >= 12)
        assert ask("hello")["user_id"] >= 0


def test_a_program_that_hears_nothing_ends_and_everybody_is_told(soon_alone):
    with Session("here", []) as here:
        here.ask("hello")
        wait_until(lambda: here._process.poll() is not None)
        for _ in range(2):
            with pytest.raises(NodeGone, match="here"):
                here.ask("hello", timeout_s=2)
