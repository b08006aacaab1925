#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings a radio up, step by step; hw/README.md says when to do which. Run it with .venv-bench/bin/python.

    bringup.py selftest   --args addr=192.168.10.2,master_clock_rate=22e6
    bringup.py loopback   --args ... --frequency 2.412e9 --tx-gain 40 --recorder-gain 30
    bringup.py levels     --args ... --frequency 2.412e9 --rx-gain 40 [--known-dbm -50]
    bringup.py delays     --args ...       first delays for a calibration
    bringup.py station    --args OTHER --frequency 2.412e9 --address 02:00:00:00:00:02 [--tx-delay-clocks ..]
    bringup.py calibrate  --args ... --frequency 2.412e9 --tx-delay-clocks 67 --rx-delay-clocks 30       | --iq FILE
    bringup.py turnaround --args ... --frequency 2.412e9                                                | --iq FILE

calibrate and turnaround send packets to the peer, where `station` runs, and record both on another channel of this
radio: they measure the peer's responses. The delays that they are given are those that the peer has.

Every step prints what it measured, what to expect, and what to do where that differs. With --iq a recording stands
for the radio: 16-bit I and Q, little-endian, 22 million samples a second or what --recording-msps says. --json FILE
writes the values. Exit status 1 where something differs, 2 where a step cannot be done.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "host" / "python")]

import numpy as np  # noqa: E402
import recording  # noqa: E402
import steps  # noqa: E402
from perhop.errors import PerhopError  # noqa: E402
from perhop.registers import MacRegisters  # noqa: E402
from perhop.registers.radio import RadioRegisters  # noqa: E402
from perhop.registers.shell import ShellRegisters  # noqa: E402
from perhop.registers.spec_generated import DEFAULT_HEARTBEAT_LIMIT_MS, HostSend  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from uhd_radio import UhdRadio

GROUP = 0xFFFF_FFFF_FFFF
FRAMES = 20
PACKETS_PER_S = 300
LEAST_S = 0.5
"""That are recorded: the sender begins a little later than the recorder."""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "step", choices=["selftest", "loopback", "levels", "station", "calibrate", "turnaround", "delays"]
    )
    parser.add_argument("--args", help="which radio, as UHD says it")
    parser.add_argument("--block", default="0/perhop#0")
    parser.add_argument("--radio", default="0/Radio#0")
    parser.add_argument("--frequency", type=float, help="hertz: the centre of a channel that you may use")
    parser.add_argument("--tx-gain", type=float, default=0.0, help="dB")
    parser.add_argument("--rx-gain", type=float, default=30.0, help="dB")
    parser.add_argument("--recorder-gain", type=float, default=30.0, help="dB")
    parser.add_argument(
        "--recorder-channel", type=int, choices=[0, 1], default=1,
        help="that records: 1, or 0 where the image has no other; then it hears by port RX2 of channel 0, at --rx-gain",
    )  # fmt: skip
    parser.add_argument("--address", default="02:00:00:00:00:01", help="of this station")
    parser.add_argument(
        "--peer", default="02:00:00:00:00:02", help="whose responses are measured: `station` runs there"
    )
    parser.add_argument("--known-dbm", type=float, help="power at the antenna port while levels measures")
    parser.add_argument("--msps", type=float, default=22.0, help="million samples a second of the modem")
    parser.add_argument(
        "--recording-msps", type=float, help="million samples a second of the recording (--msps): the master clock rate"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="to record")
    parser.add_argument("--tx-delay-clocks", type=int)
    parser.add_argument("--rx-delay-clocks", type=int)
    parser.add_argument("--clocks-per-us", type=int, default=60)
    parser.add_argument(
        "--slow-down", type=float, default=1.0,
        help="of a virtual radio (hw/virtual_usrp): how many times slower its time passes than the host's",
    )  # fmt: skip
    parser.add_argument("--iq", help="a recording instead of a radio")
    parser.add_argument("--save-iq", help="where to write what was recorded")
    parser.add_argument("--json", help="where to write what was measured")
    found = parser.parse_args(arguments)
    found.recording_msps = found.recording_msps or found.msps
    if found.args is None and found.iq is None:
        parser.error("--args says which radio, or --iq names a recording")
    if found.iq and found.step not in ("calibrate", "turnaround"):
        parser.error(f"{found.step} needs a radio: --args")
    if found.args and found.step not in ("selftest", "delays") and found.frequency is None:
        parser.error(f"{found.step} needs --frequency")
    if found.step == "calibrate" and (found.tx_delay_clocks is None or found.rx_delay_clocks is None):
        parser.error(
            "calibrate needs --tx-delay-clocks and --rx-delay-clocks: those that both stations had in the "
            "recording; delays prints the first"
        )
    return found


def recorded(options: argparse.Namespace) -> NDArray[np.int16]:
    """The recording that a step is about: a file's, or of packets to the peer, whose responses are measured."""
    if options.iq:
        return recording.at_22(recording.read_iq(options.iq), options.recording_msps)
    count = int(options.seconds * PACKETS_PER_S)
    return send_and_record(options, int(options.peer.replace(":", ""), 16), [bytes(60)] * count)


class Heart:
    """Beats for as long as this program is there: a radio of nobody stops sending after a second."""

    PERIOD_S = 0.25

    def __init__(self, radio: UhdRadio) -> None:
        self._shell, self._stopping = ShellRegisters(radio), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(self.PERIOD_S):
            self._shell.write("heartbeat", limit_ms=DEFAULT_HEARTBEAT_LIMIT_MS)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


def open_radio(options: argparse.Namespace, recorder_channel: int | None = None) -> UhdRadio:
    from uhd_radio import Place, UhdRadio

    return UhdRadio(Place(options.args, options.block, options.radio, recorder_channel=recorder_channel))


def set_up(radio: UhdRadio, options: argparse.Namespace) -> Heart:
    """A station with this tool's address; with the delays that were given, else those of modem and shell."""
    radio.tune(options.frequency, options.tx_gain, options.rx_gain)
    mac, modem, shell = MacRegisters(radio), RadioRegisters(radio), ShellRegisters(radio)
    mac.disable()
    shell.load_profile(mac, modem, "dsss_long", options.msps)
    if options.tx_delay_clocks is not None and options.rx_delay_clocks is not None:
        mac.load_profile("dsss_long", options.tx_delay_clocks, options.rx_delay_clocks)
    address = int(options.address.replace(":", ""), 16)
    mac.set_station(address, address)
    shell.write("heartbeat", limit_ms=DEFAULT_HEARTBEAT_LIMIT_MS)
    shell.write("route", own_converter=1)
    mac.enable()
    return Heart(radio)


def let_go(radio: UhdRadio, heart: Heart) -> None:
    heart.stop()
    MacRegisters(radio).disable()
    ShellRegisters(radio).write("route", own_converter=0)


def send_and_record(options: argparse.Namespace, receiver: int, msdus: list[bytes]) -> NDArray[np.int16]:
    """Packets to a station, and what another channel hears meanwhile."""
    radio = open_radio(options, options.recorder_channel)
    heart = set_up(radio, options)
    radio.open_streams()

    def send() -> None:
        for tag, msdu in enumerate(msdus):
            head = HostSend(msdu_bytes=len(msdu), tag=tag & 0xFFFF, receiver_address=receiver, rate=1)
            radio.send_packet(head.encode() + msdu)
            radio.receive_packet(0.5)

    sender = threading.Timer(0.2, send)
    sender.start()
    try:
        samples = radio.record(
            options.frequency, options.recorder_gain, max(options.seconds, LEAST_S / options.slow_down)
        )
    finally:
        sender.join()
        let_go(radio, heart)
    if options.save_iq:
        samples.astype("<i2").tofile(options.save_iq)
    return recording.at_22(samples, options.recording_msps)


def run_station(options: argparse.Namespace) -> steps.Step:
    """A station that answers, until the tool is told to end."""
    radio = open_radio(options)
    heart = set_up(radio, options)
    print(f"station {options.address} answers; Ctrl-C ends it", flush=True)
    counters = RadioRegisters(radio).read_statistics()
    with contextlib.suppress(KeyboardInterrupt):
        time.sleep(options.seconds if options.seconds > 60 else 86_400)
    heard = RadioRegisters(radio).read_statistics()["rx_frames"] - counters["rx_frames"]
    let_go(radio, heart)
    step = steps.Step("station", values={"frames": heard})
    step.add("frames heard", heard, "more than 0", heard > 0, "nobody sent, or the level is too low: levels")
    return step


def run_selftest(options: argparse.Namespace) -> steps.Step:
    """In the radio's time: a virtual one's passes more slowly, but evenly, so a part of a second tells its rates."""
    slow_down = options.slow_down
    return steps.selftest(
        open_radio(options), options.msps, lambda: time.monotonic() / slow_down,
        lambda seconds: time.sleep(slow_down * seconds), 1.0 if slow_down == 1 else 0.1,
        options.clocks_per_us,
    )  # fmt: skip


def run_loopback(options: argparse.Namespace) -> steps.Step:
    sent = [bytes([number] * (20 + number)) for number in range(FRAMES)]
    return steps.loopback(sent, send_and_record(options, GROUP, sent))


def run(options: argparse.Namespace) -> steps.Step:
    if options.step == "selftest":
        return run_selftest(options)
    if options.step == "station":
        return run_station(options)
    if options.step == "loopback":
        return run_loopback(options)
    if options.step == "levels":
        radio = open_radio(options)
        radio.tune(options.frequency, options.tx_gain, options.rx_gain)
        mac = MacRegisters(radio)
        mac.enable()
        try:
            return steps.levels(radio, options.known_dbm)
        finally:
            mac.disable()
    if options.step == "calibrate":
        return steps.calibrate(
            recorded(options), options.tx_delay_clocks, options.rx_delay_clocks, options.clocks_per_us
        )
    if options.step == "turnaround":
        return steps.turnaround(recorded(options))
    tx, rx = steps.first_delays_clocks(open_radio(options), options.msps)
    step = steps.Step("delays", values={"tx_delay_clocks": tx, "rx_delay_clocks": rx})
    step.add("delays of modem and shell", f"tx {tx}, rx {rx} clocks", "any", True, "")
    return step


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        step = run(options)
    except PerhopError as error:
        print(f"bringup.py {options.step}: {error}", file=sys.stderr)
        return 2
    print(step.name)
    for finding in step.findings:
        print(finding)
    for name, value in step.values.items():
        print(f"  {name}: {value:g}")
    if options.json:
        Path(options.json).write_text(
            json.dumps({"step": step.name, "good": step.good, "values": step.values}, indent=1) + "\n"
        )
    return 0 if step.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
