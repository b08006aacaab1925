# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that know nothing of perhop, over three hops of the MAC with the delay-based limit."""

import hashlib
import os
import pwd
import random
import shutil
import subprocess
import sys

import pytest
from waiting import wait_until

SSH_PORT = "2222"


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--policy", "delay")


@pytest.fixture(scope="module")
def ssh(live, tmp_path_factory):
    """The words of OpenSSH's client on node 0 that reaches a server of our own on node 3, with keys of our own.

    The server is Dropbear: whoever installs OpenSSH's has a service that listens from then on.
    """
    for program, package in (("ssh", "openssh-client"), ("dropbear", "dropbear-bin")):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            pytest.skip(f"there is no {program} (package {package}): ssh is NOT tested")
    folder = tmp_path_factory.mktemp("ssh")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "user"], check=True)
    made = subprocess.run(
        ["dropbearkey", "-t", "ed25519", "-f", folder / "host"], check=True, capture_output=True, text=True
    )
    host_key = next(line for line in made.stdout.splitlines() if line.startswith("ssh-ed25519 "))
    (folder / "known").write_text(f"[10.0.0.4]:{SSH_PORT} {host_key}\n")
    # The server reads the keys of whose home it is; what is mounted here is seen in its own mount namespace only.
    home = pwd.getpwuid(0).pw_dir
    keys = f"mkdir -m 700 {home}/.ssh && cp {folder / 'user.pub'} {home}/.ssh/authorized_keys"
    server = f"exec dropbear -F -E -s -P {folder / 'pid'} -r {folder / 'host'} -p 10.0.0.4:{SSH_PORT}"
    serve = f"PATH=$PATH:/usr/sbin; mount -t tmpfs -o mode=700 none {home} && {keys} && {server}"
    serving = live.start(3, "sh", "-c", serve)
    wait_until(lambda: SSH_PORT in live.run(3, "ss", "-Hltn").stdout or serving.poll() is not None, 10)
    assert serving.poll() is None, serving.stdout.read()
    options = [f"UserKnownHostsFile={folder / 'known'}", "StrictHostKeyChecking=yes", "BatchMode=yes"]
    words = ["ssh", "-F", "none", "-p", SSH_PORT, "-i", str(folder / "user")]
    return [*words, *(word for option in options for word in ("-o", option)), "10.0.0.4"]


def test_an_ssh_session_runs_commands_one_after_the_other(live, ssh):
    """One connection with a terminal at its other end, typed into."""
    typing = subprocess.run(
        ["ip", "netns", "exec", f"perhop-{live.name}-0", *ssh[:-1], "-tt", ssh[-1]],
        input="stty -echo; PS1=\necho one-$((1+1))\nip -br addr show radio0\nexit 7\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert typing.returncode == 7, typing.stderr
    assert "one-2" in typing.stdout and "10.0.0.4/32" in typing.stdout


def test_a_file_comes_through_ssh_unchanged(live, ssh):
    done = live.run(0, *ssh, "head -c 60000 /dev/zero | tr '\\0' x", timeout_s=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "x" * 60000


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
def test_a_download_over_http_has_the_right_checksum(live, tmp_path, family):
    if shutil.which("curl") is None:
        pytest.skip("there is no curl (package curl): HTTP is NOT tested")
    content = random.Random(7).randbytes(150_000)
    (tmp_path / "file.bin").write_bytes(content)
    address = live.status()["nodes"][3]["ipv4" if family == "IPv4" else "ipv6"]
    host = f"[{address}]" if family == "IPv6" else address
    port = "8004" if family == "IPv4" else "8006"
    serving = live.start(3, sys.executable, "-m", "http.server", port, "--bind", address, "--directory", str(tmp_path))
    wait_until(lambda: port in live.run(3, "ss", "-Hltn").stdout, 10)
    fetched = tmp_path / "fetched.bin"
    done = live.run(0, "curl", "-sS", "-g", "-o", str(fetched), f"http://{host}:{port}/file.bin", timeout_s=90)
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(fetched.read_bytes()).digest() == hashlib.sha256(content).digest()
    serving.terminate()


def test_ping_in_both_families_and_both_directions(live):
    nodes = live.status()["nodes"]
    for here, there in ((0, 3), (3, 0)):
        for address in (nodes[there]["ipv4"], nodes[there]["ipv6"]):
            done = live.ping(here, address)
            assert done.returncode == 0 and " 0% packet loss" in done.stdout, done.stdout


def test_large_pings_are_fragmented_and_put_together(live):
    done = live.ping(0, "10.0.0.4", 3, "-s", "4000")
    assert done.returncode == 0 and done.stdout.count("4008 bytes from") == 3, done.stdout
