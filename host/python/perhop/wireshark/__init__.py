# SPDX-License-Identifier: GPL-2.0-or-later
"""What Wireshark gets from perhop: a dissector, a program for live captures, and where both belong."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from perhop import files
from perhop.errors import PerhopError

EXTCAP = "perhop-extcap"


def dissector() -> Path:
    """The script, for `tshark -X lua_script:FILE`. Generated from gateware/spec/frames.yaml."""
    return Path(__file__).with_name("perhop.lua")


def plugin_folder() -> Path:
    """Where Wireshark looks for this user's Lua plugins."""
    told = _folders().get("Personal Lua Plugins")
    return Path(told) if told else Path(os.environ.get("HOME", "~")).expanduser() / ".local/lib/wireshark/plugins"


def extcap_folder() -> Path:
    """Where Wireshark looks for programs that capture: in this user's folder (from Wireshark 4.2 on), or in all users'.

    Raises PerhopError.
    """
    told = _folders()
    for name in ("Personal Extcap path", "Extcap path", "Global Extcap path"):
        if told.get(name):
            return Path(told[name])
    raise PerhopError(
        "tshark does not say where programs that capture belong", "install tshark, or name a folder with --folder"
    )


def install(folder: Path | None = None) -> Path:
    """Copies the dissector to where Wireshark finds it. Raises PerhopError."""
    target = (folder or plugin_folder()) / dissector().name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(dissector(), target)
    except OSError as error:
        raise PerhopError(
            f"{target} cannot be written: {error.strerror}", "name another folder with --folder"
        ) from error
    return target


def install_extcap(folder: Path | None = None) -> Path:
    """Puts the program that captures (perhop.wireshark.extcap) where Wireshark finds it. Raises PerhopError."""
    target = (folder or extcap_folder()) / EXTCAP
    try:
        files.write_text(target, extcap_script(sys.executable))
        target.chmod(0o755)
    except OSError as error:
        raise PerhopError(
            f"{target} cannot be written: {error.strerror}", "do it as root, or name another folder with --folder"
        ) from error
    return target


def extcap_script(python: str) -> str:
    """A program of two lines, for any Python that has perhop."""
    return f'#!/bin/sh\nexec {shlex.quote(python)} -I -m perhop.wireshark.extcap "$@"\n'


def _folders() -> dict[str, str]:
    """What tshark says of its folders, by their names; empty without tshark."""
    tshark = shutil.which("tshark")
    if tshark is None:
        return {}
    told = subprocess.run([tshark, "-G", "folders"], capture_output=True, text=True, check=False).stdout
    pairs = (line.partition(":") for line in told.splitlines())
    return {what.strip(): folder.strip() for what, _, folder in pairs if folder.strip()}
