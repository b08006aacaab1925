# SPDX-License-Identifier: GPL-2.0-or-later
"""A program in the place of a kernel, which comes to a bad end: `linux` of a run with planted accidents.

It is started as a kernel is: without an environment, in the run's folder, by ./linux. What becomes of it says the file
`accident` beside the program that the link leads to.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

START, WAIT = 1, 3
MESSAGE = struct.Struct("<IIQ")


def main() -> None:
    words = dict(word.partition("=")[::2] for word in sys.argv[1:])
    _, number, path = words["time-travel"].split(":")
    accident = Path(sys.argv[0]).resolve().with_name("accident").read_text()
    assert "LD_PRELOAD" in os.environ and "HOME" in os.environ and len(os.environ) <= 7
    if accident == "never comes":
        print("Kernel panic - not syncing: no memory", flush=True)
        return
    time_socket = socket.socket(socket.AF_UNIX)
    time_socket.connect(path)
    time_socket.send(MESSAGE.pack(START, 1, int(number)))
    time_socket.recv(MESSAGE.size)
    # What a kernel has started must not stay behind either.
    subprocess.Popen(["sleep", "1000"], start_new_session=False)
    print(f"started by {os.getppid()}", flush=True)
    if accident == "ends" and number == "1":
        print("Kernel panic - not syncing: Attempted to kill init!", flush=True)
        os._exit(1)
    if accident == "spins" and number == "1":
        signal.pause()
    time_socket.send(MESSAGE.pack(WAIT, 2, 0))
    signal.pause()


main()
