# SPDX-License-Identifier: GPL-2.0-or-later
"""The Wireshark dissector of what perhop puts on the air, and where it belongs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from perhop.errors import PerhopError


def dissector() -> Path:
    """The script, for `tshark -X lua_script:FILE`. Generated from gateware/spec/frames.yaml."""
    return Path(__file__).with_name("perhop.lua")


def plugin_folder() -> Path:
    """Where Wireshark looks for this user's Lua plugins."""
    tshark = shutil.which("tshark")
    if tshark is not None:
        told = subprocess.run([tshark, "-G", "folders"], capture_output=True, text=True, check=False).stdout
        for line in told.splitlines():
            what, _, folder = line.partition(":")
            if what == "Personal Lua Plugins" and folder.strip():
                return Path(folder.strip())
    return Path(os.environ.get("HOME", "~")).expanduser() / ".local/lib/wireshark/plugins"


def install(folder: Path | None = None) -> Path:
    """Copies the script to where Wireshark finds it. Raises PerhopError."""
    target = (folder or plugin_folder()) / dissector().name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(dissector(), target)
    except OSError as error:
        raise PerhopError(
            f"{target} cannot be written: {error.strerror}", "name another folder with --folder"
        ) from error
    return target
