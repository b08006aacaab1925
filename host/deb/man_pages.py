# SPDX-License-Identifier: GPL-2.0-or-later
"""Man pages of `perhop` and of each of its commands, written from what the commands themselves say of their options."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import typer
from click_man.man import ManPage
from perhop import __version__
from perhop.cli import app


def write(folder: Path) -> list[Path]:
    """perhop.1.gz, perhop-run.1.gz, perhop-live-up.1.gz, ... in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder, words, text) for words, text in pages().items()]


def pages() -> dict[str, str]:
    """The text of each page, by the words of its command."""
    found: dict[str, str] = {}
    _add(found, typer.main.get_command(app), "perhop", None)
    return found


def _add(found: dict[str, str], command: Any, words: str, parent: Any) -> None:
    context = command.context_class(command, info_name=words.split()[-1], parent=parent)
    page = ManPage(words)
    page.version = __version__
    text = (command.help or "").strip()
    page.short_help = _plain(text.split("\n")[0].rstrip("."))
    page.description = _plain(text)
    page.synopsis = _plain(" ".join(command.collect_usage_pieces(context)))
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    page.options = [(_plain(names), _plain(about) or "\\&") for names, about in filter(None, records)]
    commands = getattr(command, "commands", {})
    page.commands = [
        (_plain(name), _plain((each.help or "").strip().split("\n")[0])) for name, each in commands.items()
    ]
    found[words] = str(page) + "\n"
    for name, each in commands.items():
        _add(found, each, f"{words} {name}", context)


def _plain(text: str) -> str:
    r"""Without what roff takes for its own: backslashes, and a dot or an apostrophe where a line begins."""
    lines = text.replace("\\", r"\e").split("\n")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def _write(folder: Path, words: str, text: str) -> Path:
    file = folder / f"{words.replace(' ', '-')}.1.gz"
    file.write_bytes(gzip.compress(text.encode(), mtime=0))
    return file
