# SPDX-License-Identifier: GPL-2.0-or-later
"""Wireshark's extcap: what it is told of interfaces, and packets of simulations and live networks while they run."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
import time

import pytest
from perhop import pcapng, wireshark
from perhop.wireshark import extcap
from waiting import wait_until

SENTENCE = re.compile(r"(extcap|interface|dlt|arg) (\{[a-z]+=[^{}]*\})+")
needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def packet(number, at_us, content=b"\x00\x00\x08\x00\x00\x00\x00\x00" + bytes(10)):
    head = pcapng.PACKET_HEAD.pack(number, at_us >> 32, at_us & 0xFFFFFFFF, len(content), len(content))
    return pcapng.block(pcapng.PACKET, head + content + bytes(-len(content) % 4))


FILE = pcapng.section() + pcapng.interface("n0") + pcapng.interface("n1") + packet(0, 1) + packet(1, 2)


POLL_S = 0.01


@pytest.fixture
def look_again(monkeypatch):
    """Waits until the capture has looked for something new, found nothing, and looked again."""
    looks = 0
    pause = time.sleep

    def counted(pause_s):
        nonlocal looks
        looks += pause_s == POLL_S
        pause(pause_s)

    def wait():
        before = looks
        wait_until(lambda: looks >= before + 2, 20, "a look of the capture")

    monkeypatch.setattr(extcap, "POLL_S", POLL_S)
    monkeypatch.setattr(extcap.time, "sleep", counted)
    return wait


@pytest.fixture
def simulation(tmp_path, monkeypatch):
    """A process of a simulator in a /proc of our own, and the folder that it writes to."""
    monkeypatch.setattr(extcap, "PROC", tmp_path / "proc")
    run = tmp_path / "out" / "runs" / "abc.running"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"outputs": {"directory": str(run), "pcapng": True}}))
    process = tmp_path / "proc" / "77"
    process.mkdir(parents=True)
    (tmp_path / "proc" / "self").mkdir()
    (process / "cmdline").write_bytes(b"/somewhere/perhop-sim\0" + os.fsencode(run / "run.json") + b"\0")
    (process / "cwd").symlink_to(tmp_path)
    return run, process


def test_interfaces_are_the_simulation_and_each_live_network(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PERHOP_LIVE_STATE", str(tmp_path))
    (tmp_path / "mesh").mkdir()
    (tmp_path / "mesh" / "state.json").write_text("{}")
    (tmp_path / "half").mkdir()
    assert extcap.main(["--extcap-interfaces", "--extcap-version=4.0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(SENTENCE.fullmatch(line) for line in lines)
    values = [re.search(r"value=([^}]*)", line)[1] for line in lines if line.startswith("interface")]
    assert values == ["perhop-sim", "perhop-live-mesh"]
    for interface in values:
        for what in ("--extcap-dlts", "--extcap-config"):
            assert extcap.main(["--extcap-interface", interface, what]) == 0
            assert all(SENTENCE.fullmatch(line) for line in capsys.readouterr().out.splitlines())


def captured(tmp_path, *words):
    """What comes out of the pipe until the capture ends."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    code = extcap.main(["--capture", "--fifo", str(pipe), *words])
    reader.join(timeout=20)
    return code, got[0]


def test_a_running_simulation_is_followed_to_its_end_in_whole_blocks(tmp_path, simulation, look_again):
    run, process = simulation
    file = run / "packets.pcapng"
    file.write_bytes(FILE[:61])

    def simulate():
        for place in range(61, len(FILE), 7):
            look_again()
            with file.open("ab") as sink:
                sink.write(FILE[place : place + 7])
        # As one that was killed while it wrote.
        with file.open("ab") as sink:
            sink.write(packet(0, 3)[:20])
        shutil.rmtree(process)
        run.rename(run.with_suffix(""))

    writer = threading.Thread(target=simulate)
    writer.start()
    code, got = captured(tmp_path, "--extcap-interface", "perhop-sim")
    writer.join()
    assert (code, got) == (0, FILE)


def test_who_captures_before_a_simulation_runs_waits_for_it(tmp_path, simulation, look_again):
    run, process = simulation
    hidden = tmp_path / "hidden"
    process.rename(hidden)

    def simulate():
        look_again()
        (run / "packets.pcapng").write_bytes(FILE)
        hidden.rename(process)
        look_again()
        shutil.rmtree(process)

    writer = threading.Thread(target=simulate)
    writer.start()
    assert captured(tmp_path, "--extcap-interface", "perhop-sim") == (0, FILE)
    writer.join()


def test_an_output_folder_gives_its_packets_when_nothing_runs(tmp_path, simulation):
    shutil.rmtree(simulation[1])
    (tmp_path / "out" / "packets.pcapng").write_bytes(FILE)
    assert captured(tmp_path, "--extcap-interface", "perhop-sim", "--folder", str(tmp_path / "out")) == (0, FILE)


def test_a_live_network_is_one_section_with_an_interface_a_node(tmp_path, monkeypatch, look_again):
    monkeypatch.setenv("PERHOP_LIVE_STATE", str(tmp_path / "live"))
    folder = tmp_path / "live" / "mesh"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(json.dumps({"nodes": [{"index": 0}, {"index": 1}]}))
    head = pcapng.section() + pcapng.interface("perhop-node")
    (folder / "capture-0.pcapng").write_bytes(head + packet(0, 10))
    (folder / "capture-1.pcapng").write_bytes(head + packet(0, 20))

    def live():
        look_again()
        with (folder / "capture-1.pcapng").open("ab") as sink:
            sink.write(packet(0, 30))
        with (folder / "capture-0.pcapng").open("ab") as sink:
            sink.write(head + packet(0, 25))  # a daemon that was started anew
        look_again()
        (folder / "state.json").unlink()

    writer = threading.Thread(target=live)
    writer.start()
    code, got = captured(tmp_path, "--extcap-interface", "perhop-live-mesh")
    writer.join()
    names = pcapng.section() + pcapng.interface("n0") + pcapng.interface("n1")
    assert code == 0 and got[: len(names)] == names
    # What was there before is left out, and each packet is at its node's interface.
    assert sorted((got[len(names) : len(names) + 52], got[len(names) + 52 :])) == sorted((packet(0, 25), packet(1, 30)))


BAD = {
    "no interface": (["--capture", "--fifo", "PIPE", "--extcap-interface", "eth0"], "no interface 'eth0'"),
    "no pipe": (["--capture", "--extcap-interface", "perhop-sim"], "needs a pipe"),
    "nothing": ([], "that Wireshark calls"),
    "no network": (["--capture", "--fifo", "PIPE", "--extcap-interface", "perhop-live-none"], "no captures"),
    "another folder": (["--capture", "--fifo", "PIPE", "--extcap-interface", "perhop-live-../x"], "no name of"),
    "no packets": (
        ["--capture", "--fifo", "PIPE", "--extcap-interface", "perhop-sim", "--folder", "/nowhere"],
        "has no",
    ),
}


@pytest.mark.parametrize("words, problem", BAD.values(), ids=BAD)
def test_what_cannot_be_captured_is_said_with_a_remedy(words, problem, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PERHOP_LIVE_STATE", str(tmp_path / "none"))
    (tmp_path / "pipe").touch()
    assert extcap.main([str(tmp_path / "pipe") if word == "PIPE" else word for word in words]) == 1
    told = capsys.readouterr().err
    assert problem in told and "remedy" in told


def test_what_is_no_block_ends_a_file(tmp_path):
    (tmp_path / "bad").write_bytes(FILE + struct.pack("<II", 6, 13) + bytes(40))
    assert b"".join(pcapng.block(*each) for each in pcapng.read_blocks(tmp_path / "bad")) == FILE


def test_wireshark_need_not_wait_for_it():
    heavy = "{'pydantic', 'rich', 'typer', 'numpy', 'yaml', 'ruamel'}"
    # What Python itself begins with is left out: a Debian package may load ruamel into every program.
    told = (
        "import sys; begun = set(sys.modules); import perhop.wireshark.extcap; "
        f"print(sorted({heavy} & (set(sys.modules) - begun)))"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@needs_tshark
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a mount of its own over Wireshark's folder")
def test_wiresharks_own_list_has_it_and_tshark_captures_with_names_of_nodes(tmp_path, perhop):
    """In a mount namespace, where its folder of programs that capture is one of ours."""
    (tmp_path / "extcap").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "packets.pcapng").write_bytes(FILE)
    done = perhop("wireshark", "--install-extcap", "--folder", str(tmp_path / "extcap"))
    assert done.code == 0 and os.access(tmp_path / "extcap" / wireshark.EXTCAP, os.X_OK)
    folder = wireshark._folders()["Extcap path"]
    script = (
        f"mount --bind {tmp_path}/extcap {folder} || exit 77; tshark -D; "
        f"tshark -i perhop-sim -o extcap.perhop_sim.folder:{tmp_path}/out -w {tmp_path}/got.pcapng; "
        f"tshark -r {tmp_path}/got.pcapng -T fields -e frame.interface_name"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr.strip()}")
    lines = done.stdout.splitlines()
    assert any("perhop-sim (perhop: the running simulation)" in line for line in lines), done.stdout + done.stderr
    assert lines[-2:] == ["n0", "n1"], done.stdout + done.stderr
