# SPDX-License-Identifier: GPL-2.0-or-later
"""The program on a node: what it changed is taken back, by the next one where it was killed."""

import pytest
from perhop.agent import host


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "STATE", tmp_path / "state")
    return tmp_path / "state"


def test_what_a_killed_program_left_is_taken_back_by_the_next(state, tmp_path):
    """A third one, which changed nothing and ends in between, leaves the record alone: the study's own, under a run."""
    killed, beside, following = host.Changes(), host.Changes(), host.Changes()
    killed.make_folder(str(tmp_path / "run"))
    beside.take_back()
    assert following.clean_up_earlier()
    assert not (tmp_path / "run").exists()
    assert not following.clean_up_earlier(), "there is nothing more"


def test_a_host_is_locked_for_all_but_those_with_the_same_token(state):
    first, friend, stranger = host.Lock(), host.Lock(), host.Lock()
    first.take("a", "alice@here (a run)")
    friend.take("a", "alice@here (a run)")
    with pytest.raises(host.HostError, match="is in use by alice@here"):
        stranger.take("b", "bob@there (a run)")
    first.release()
    stranger.take("b", "bob@there (a run)")
    stranger.release()
