# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that know nothing of perhop, over three hops of the MAC with the delay-based limit."""

import hashlib
import os
import random
import shutil
import subprocess
import sys

import pytest

from .conftest import wait_until

SSH_PORT = "2222"


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--policy", "delay")


@pytest.fixture(scope="module")
def ssh(live, tmp_path_factory):
    """The words of a client on node 0 that reaches a server of our own on node 3, with keys of our own."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if server is None or shutil.which("ssh") is None:
        pytest.skip("no OpenSSH here: install openssh-server and openssh-client")
    folder = tmp_path_factory.mktemp("ssh")
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    (folder / "known").write_text(f"[10.0.0.4]:{SSH_PORT} {(folder / 'host.pub').read_text()}")
    settings = {
        "Port": SSH_PORT,
        "ListenAddress": "10.0.0.4",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
    }
    (folder / "config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    # The server wants a folder in /run; what is mounted here is seen in its own mount namespace only.
    serve = f"mount -t tmpfs none /run && mkdir /run/sshd && exec {server} -D -e -f {folder / 'config'}"
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
        pytest.skip("no curl here")
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
