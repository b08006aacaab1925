# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions to the daemons and to the medium: one JSON object a message over a Unix socket, one answer each."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from perhop.errors import PerhopError
from perhop.registers import spec_generated as spec

NO_NODE = 0xFFFF
MOST_ANSWER_BYTES = 1 << 20


class NoAnswer(PerhopError):
    """A process does not answer: it is not there, or not yet."""


def _connect(path: Path, timeout_s: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(timeout_s)
    try:
        connection.connect(str(path))
    except OSError as error:
        connection.close()
        raise NoAnswer(f"{path} does not answer: {error.strerror or error}", "see `perhop live status`") from error
    return connection


def _exchange(connection: socket.socket, path: Path, message: bytes) -> bytes:
    try:
        connection.send(message)
        answer = connection.recv(MOST_ANSWER_BYTES)
    except OSError as error:
        raise NoAnswer(f"{path} does not answer: {error}", "see `perhop live status`") from error
    if not answer:
        raise NoAnswer(f"{path} has ended the connection", "see `perhop live status`")
    return answer


def _checked(path: Path, text: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text)
    if not answer.get("ok"):
        raise PerhopError(f"{path} refuses: {answer.get('error', answer)}", "mend the command")
    return answer


def ask_node(path: Path, command: dict[str, Any], timeout_s: float = 5) -> dict[str, Any]:
    """Ask the daemon whose control socket is `path`. Raises NoAnswer, PerhopError."""
    with _connect(path, timeout_s) as connection:
        return _checked(path, _exchange(connection, path, json.dumps(command).encode()))


def ask_medium(path: Path, command: dict[str, Any], timeout_s: float = 5) -> dict[str, Any]:
    """Ask the emulated medium. Raises NoAnswer, PerhopError."""
    with _connect(path, timeout_s) as connection:
        _exchange(connection, path, spec.AirHello(node=NO_NODE).encode())
        answer = _exchange(connection, path, spec.AirCommand().encode() + json.dumps(command).encode())
        return _checked(path, answer[spec.AirAnswer.SIZE_BYTES :])
