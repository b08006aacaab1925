# SPDX-License-Identifier: GPL-2.0-or-later
"""Two radios whose times are set at one pulse: a frame's end by the sender's TSF, and by the header of the receiver's.

device_times.py ARGS ARGS FRAMES: the first radio sends so many frames to everybody. Prints a JSON object: by how many
microseconds the receiver has each one later. Run it with .venv-bench/bin/python and UHD_MODULE_PATH.
"""

import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("hw/bringup", "host/python", "tests")]

from perhop.registers import MacRegisters, RadioRegisters  # noqa: E402
from perhop.registers.shell import ShellRegisters  # noqa: E402
from perhop.registers.spec_generated import (  # noqa: E402
    PROFILES,
    HostFrame,
    HostRecord,
    HostSend,
    airtime_us,
    decode_completion_record,
)
from uhd_radio import Place, UhdRadio  # noqa: E402
from waiting import wait_until  # noqa: E402

BROADCAST, RATE, MSDU = 0xFFFF_FFFF_FFFF, 1, bytes(60)
SAMPLES_PER_US, CLOCKS_PER_US, RX_DELAY_CLOCKS = 22, 60, 30
SECOND_TICKS = 1_700_000_000 * 22_000_000
LONGEST_WAIT_S, POLL_S = 60, 0.002
WORD = 1 << 32


def set_times(radios: list[UhdRadio]) -> None:
    """All at the pulse behind the next one, so that each has been told before it comes."""
    for radio in radios:
        radio.take_pulses_of("external")
    before = [radio.timekeeper.get_ticks_last_pps() for radio in radios]
    wait_until(lambda: radios[0].timekeeper.get_ticks_last_pps() != before[0], LONGEST_WAIT_S, "a pulse", poll_s=POLL_S)
    for radio in radios:
        radio.timekeeper.set_ticks_next_pps(SECOND_TICKS)
    are_set = lambda: all(radio.timekeeper.get_ticks_last_pps() >= SECOND_TICKS for radio in radios)  # noqa: E731
    wait_until(are_set, LONGEST_WAIT_S, "the pulse of the times", poll_s=POLL_S)


def set_up(radio: UhdRadio, address: int) -> None:
    mac, modem, shell = MacRegisters(radio), RadioRegisters(radio), ShellRegisters(radio)
    mac.disable()
    shell.load_profile(mac, modem, "dsss_long", SAMPLES_PER_US)
    mac.set_station(address, address)
    shell.write("heartbeat", limit_ms=0)
    shell.write("route", own_converter=1)
    mac.enable()


def packet_of(radio: UhdRadio) -> bytes:
    until_s = time.monotonic() + LONGEST_WAIT_S
    while not (packet := radio.receive_packet(0.5)):
        if time.monotonic() > until_s:
            raise RuntimeError(f"{radio.place.args}: no packet came")
    return packet


def main(one: str, two: str, frames: int) -> None:
    radios = [UhdRadio(Place(args)) for args in (one, two)]
    for number, radio in enumerate(radios, 1):
        radio.tune(2.412e9, 40, 40)
        radio.open_streams()
        set_up(radio, 0x0200_0000_0000 + number)
    set_times(radios)
    sender, receiver = radios
    shell = ShellRegisters(sender)
    profile = PROFILES["dsss_long"]
    later_us = []
    for tag in range(frames):
        head = HostSend(msdu_bytes=len(MSDU), tag=tag, receiver_address=BROADCAST, rate=RATE)
        sender.send_packet(head.encode() + MSDU)
        heard, ticks = packet_of(receiver), receiver.packet_ticks
        told = packet_of(sender)
        assert sender.packet_ticks is None and ticks is not None
        frame, words = (
            HostFrame.decode(heard),
            [int.from_bytes(told[at : at + 4], "little") for at in range(0, len(told), 4)],
        )
        assert told[0] == HostRecord().kind
        record = decode_completion_record(words[1:])
        looked_ticks, looked_us = shell.read_device_time()
        # The record has the low half of the TSF.
        ago_us = (looked_us - record["t_first_tx_us"]) % WORD
        sent_us = looked_ticks / SAMPLES_PER_US - ago_us + airtime_us(profile, RATE, frame.mpdu_bytes)
        later_us.append(ticks / SAMPLES_PER_US - RX_DELAY_CLOCKS / CLOCKS_PER_US - sent_us)
    print(json.dumps({"later_us": later_us}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
