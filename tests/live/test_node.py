# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop node`: the daemon by itself, with a configuration file, as a service would run it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from perhop import paths, privileges
from perhop.errors import PerhopError
from perhop.live import namespaces
from perhop.live.messages import ask_node
from perhop.node import ebpf
from perhop.node.configuration import NodeFile, daemon_json, load_file
from waiting import wait_until

from .conftest import ROOT

PERHOP = [sys.executable, "-c", "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"]
UNIT = ROOT / "host/node/perhop-node@.service"
UNITS = sorted((ROOT / "host/node").glob("*.service"))
NOBODY = 65534
DROP_IN = ROOT / "host/node/perhop-node-ebpf.conf"


def as_a_service(*capabilities):
    """What a unit gives: some capabilities, no user, nothing more by any program."""
    given = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    return [
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"),
        *(f"--{kind}={given}" for kind in ("bounding-set", "inh-caps", "ambient-caps")),
    ]


AS_A_SERVICE = as_a_service("net_admin", "sys_nice")


def write_config(folder, number, log="text", **more):
    """The configuration of one of two nodes that talk to each other."""
    other = 3 - number
    config = folder / f"{number}.yaml"
    text = f"""
name: node {number}
interface: radio0
addresses: [10.70.0.{number}/24, "fd70::{number}/64"]
driver:
  kind: loopback
  socket: {folder}/{number}.sock
  peer: {folder}/{other}.sock
  mac: 02:00:00:00:00:0{number}
neighbours:
  10.70.0.{other}: 02:00:00:00:00:0{other}
  fd70::{other}: 02:00:00:00:00:0{other}
log: {log}
"""
    config.write_text(text + "".join(f"{name}: {value}\n" for name, value in more.items()))
    return config


class Pair:
    """Two namespaces, each for a node."""

    def __init__(self, folder):
        self.folder = folder
        self.name = f"n{os.getpid()}"
        self.started = []
        for number in (1, 2):
            subprocess.run(["ip", "netns", "add", self.namespace(number)], check=True)

    def namespace(self, number):
        return f"perhop-{self.name}-{number}"

    def run(self, number, *command, **more):
        inside = ["ip", "netns", "exec", self.namespace(number), *command]
        return subprocess.run(inside, capture_output=True, text=True, timeout=60, check=False, **more)

    def start(self, number, config, before=()):
        """perhop node, where anybody may use /dev/net/tun: that is for the unit's DeviceAllow to say."""
        device = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200"
        words = [*before, "env", f"RUNTIME_DIRECTORY={self.runtime(number)}", *PERHOP, "node", str(config)]
        command = ["ip", "netns", "exec", self.namespace(number), "sh", "-c", f'{device} && exec "$@"', "sh", *words]
        log = (self.folder / f"{number}.log").open("w")
        self.started.append(subprocess.Popen(command, stdout=log, stderr=log, cwd="/"))
        return self.started[-1]

    def runtime(self, number):
        folder = self.folder / f"run{number}"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        return folder

    def status(self, number):
        return ask_node(self.runtime(number) / "node.sock", {"command": "status"})

    def is_up(self, number):
        return (self.runtime(number) / "node.sock").exists() and self.status(number)["mac_up"]

    def log(self, number):
        return (self.folder / f"{number}.log").read_text()

    def end(self):
        for process in self.started:
            process.kill()
            process.wait()
        namespaces.delete(self.name)


@pytest.fixture
def pair():
    folder = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    folder.chmod(0o777)
    made = Pair(folder)
    yield made
    made.end()
    shutil.rmtree(folder)
    assert not namespaces.existing(made.name)


def capabilities(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return {name: int(value, 16) for name, value in re.findall(r"^(Cap\w+|NoNewPrivs):\s+(\w+)", text, re.MULTILINE)}


def test_two_nodes_run_as_services_and_hold_no_capability_once_they_are_up(pair):
    processes = {}
    for number in (1, 2):
        processes[number] = pair.start(number, write_config(pair.folder, number), AS_A_SERVICE)
    for number, process in processes.items():
        wait_until(lambda n=number, p=process: pair.is_up(n) or p.poll() is not None, 20)
        assert process.poll() is None, pair.log(number)
        assert Path(f"/proc/{process.pid}").stat().st_uid == NOBODY
        held = capabilities(process.pid)
        # The bounds stay: to lower them takes a capability that a service has no use for. NoNewPrivs makes them moot.
        bounds = held.pop("CapBnd")
        assert bounds == 1 << 12 | 1 << 23, hex(bounds)
        assert held == {"CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0, "NoNewPrivs": 1}
    for address in ("10.70.0.2", "fd70::2"):
        done = pair.run(1, "ping", "-n", "-c", "3", "-i", "0.2", address)
        assert done.returncode == 0, done.stdout
    assert pair.status(1)["packets"]["from_ip"] >= 6
    # Its interface outlives it, with its addresses, and the next one takes it over.
    processes[1].send_signal(signal.SIGKILL)
    processes[1].wait()
    assert "10.70.0.1/24" in pair.run(1, "ip", "-br", "addr").stdout
    again = pair.start(1, pair.folder / "1.yaml", AS_A_SERVICE)
    wait_until(lambda: pair.run(1, "ping", "-n", "-c", "1", "-W", "1", "10.70.0.2").returncode == 0, 20)
    assert again.poll() is None
    refused = pair.run(1, *PERHOP, "node", "--remove", str(pair.folder / "1.yaml"))
    assert refused.returncode == 2 and "end its daemon first" in refused.stderr
    again.terminate()
    again.wait(10)
    assert pair.run(1, *PERHOP, "node", "--remove", str(pair.folder / "1.yaml")).returncode == 0
    assert "radio0" not in pair.run(1, "ip", "-br", "link").stdout


def test_a_service_whose_interface_is_deleted_says_so_ends_and_starts_with_a_new_one(pair):
    """systemd starts it again (Restart=always): that makes the interface, as the first start did."""
    config = write_config(pair.folder, 1)
    process = pair.start(1, config, AS_A_SERVICE)
    wait_until(lambda: pair.is_up(1) or process.poll() is not None, 20)
    assert pair.run(1, "ip", "link", "del", "radio0").returncode == 0
    assert process.wait(5) == 1
    last = pair.log(1).splitlines()[-1]
    assert "failed" in last and "radio0 is gone" in last
    again = pair.start(1, config, AS_A_SERVICE)
    wait_until(lambda: pair.is_up(1) or again.poll() is not None, 20)
    assert again.poll() is None and "10.70.0.1/24" in pair.run(1, "ip", "-br", "addr").stdout


def test_a_service_clamps_windows_with_two_capabilities_more_and_holds_none_then(pair):
    try:
        ebpf.check(ebpf.cgroup())
    except PerhopError as error:
        pytest.skip(f"no window limit by eBPF here: {error.problem}")
    # `ip netns exec` hides the cgroups, which are below /sys.
    with_cgroup = ["sh", "-c", 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"', "sh"]
    config = write_config(pair.folder, 1, cwl="{enforce: ebpf}", policy="fixed 2")
    for missing in ("bpf", "perfmon"):
        given = [name for name in ("net_admin", "bpf", "perfmon") if name != missing]
        refused = pair.start(1, config, [*with_cgroup, *as_a_service(*given)])
        assert refused.wait(20) == 2
        assert f"CAP_{missing.upper()}" in pair.log(1) and pair.log(1).count("remedy") == 1
        assert "radio0" not in pair.run(1, "ip", "-br", "link").stdout
    refused = pair.start(1, config, as_a_service("net_admin", "bpf", "perfmon"))
    assert refused.wait(20) == 2
    assert "no cgroup of version 2" in pair.log(1) and pair.log(1).count("remedy") == 1

    process = pair.start(1, config, [*with_cgroup, *as_a_service("net_admin", "sys_nice", "bpf", "perfmon")])
    wait_until(lambda: pair.is_up(1) or process.poll() is not None, 20)
    assert process.poll() is None, pair.log(1)
    held = capabilities(process.pid)
    assert {name: held[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == dict.fromkeys(
        ("CapPrm", "CapEff", "CapInh", "CapAmb"), 0
    )
    # The limit reaches the kernel though nothing is held any more.
    pair.run(1, "timeout", "0.5", "bash", "-c", "</dev/tcp/10.70.0.2/9")
    assert pair.status(1)["cwl"] == {"enforce": "ebpf", "changes": 1, "scans": 0, "failed": 0}


def test_the_daemons_of_a_live_network_drop_everything_though_they_start_as_root(start_network):
    live = start_network(hops=1)
    for node in (0, 1):
        held = capabilities(live.pid(f"node-{node}"))
        assert set(held.values()) == {0, 1} and held.pop("NoNewPrivs") == 1 and not any(held.values()), held
    assert live.ping(0, "10.0.0.2").returncode == 0


def test_logs_are_json_lines_where_that_is_asked(pair):
    process = pair.start(1, write_config(pair.folder, 1, log="json"))
    wait_until(lambda: pair.is_up(1), 20)
    process.terminate()
    assert process.wait(10) == 0
    lines = [json.loads(line) for line in pair.log(1).splitlines()]
    assert [line["event"] for line in lines] == ["started", "mac_up", "ended"]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:]{8}\.\d{6}Z", line["time"]) for line in lines)
    assert lines[0]["name"] == "node 1" and lines[1]["address"] == "02:00:00:00:00:01"
    assert not (pair.runtime(1) / "node.sock").exists()


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"], "CAP_NET_ADMIN"),
        (["sh", "-c", 'rm /dev/net/tun && exec "$@"', "sh"], "/dev/net/tun"),
    ],
)
def test_without_what_it_needs_one_message_says_so_and_nothing_is_made(pair, without, said):
    process = pair.start(1, write_config(pair.folder, 1), without)
    assert process.wait(20) == 2
    assert said in pair.log(1) and pair.log(1).count("remedy") == 1 and "Traceback" not in pair.log(1)
    assert list(pair.runtime(1).iterdir()) == []
    assert "radio0" not in pair.run(1, "ip", "-br", "link").stdout


def test_without_the_device_no_live_network_is_begun(state):
    program = ["live", "up", str(ROOT / "sim/experiments/chain"), "--set", "topology.hops=1", "--name", "ttun"]
    hide = 'mount -t tmpfs none /dev/net && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hide, "sh", *PERHOP, *program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "/dev/net/tun" in done.stderr and done.stderr.count("remedy") == 1
    assert not namespaces.existing("ttun") and not (state / "ttun").exists()


def test_an_address_that_the_kernel_refuses_leaves_no_interface(pair):
    config = write_config(pair.folder, 1)
    config.write_text(config.read_text().replace("10.70.0.1/24", "10.70.0.1/24, ff02::5/64"))
    process = pair.start(1, config)
    assert process.wait(20) == 2, pair.log(1)
    assert "ip says" in pair.log(1) and "remedy" in pair.log(1)
    assert "radio0" not in pair.run(1, "ip", "-br", "link").stdout


@pytest.mark.parametrize("told", ["option", "window_field"])
def test_a_kernels_tcp_takes_data_that_tells_the_senders_window(pair, told):
    """The other end is Linux, which knows nothing of it, behind a node that does not thin TCP ACKs."""
    configs = {1: write_config(pair.folder, 1, tell_window=told), 2: write_config(pair.folder, 2)}
    processes = {number: pair.start(number, config) for number, config in configs.items()}
    for number, process in processes.items():
        wait_until(lambda n=number, p=process: "up" in pair.log(n) or p.poll() is not None, 20)
        assert process.poll() is None, pair.log(number)
    wait_until(lambda: pair.run(1, "ping", "-n", "-c", "1", "-W", "1", "10.70.0.2").returncode == 0, 20)
    listening = ["ip", "netns", "exec", pair.namespace(2), "iperf3", "-s", "-1"]
    with subprocess.Popen(listening, stdout=subprocess.DEVNULL) as server:
        wait_until(lambda: "5201" in pair.run(2, "ss", "-Hltn").stdout, 5)
        sent = json.loads(pair.run(1, "iperf3", "-c", "10.70.0.2", "-t", "2", "-J").stdout)
        server.wait(20)
    assert sent["end"]["sum_received"]["bytes"] >= 400 * 1024
    packets = pair.status(1)["packets"]
    assert packets["data_segments"] > 250 and packets["window_untold"] == 0
    maximum_segment = sent["start"]["tcp_mss_default"]
    assert maximum_segment == (1440 if told == "option" else 1448), "less timestamps, and less the option"


def test_syns_that_the_kernel_repeats_too_early_for_a_slower_radio_are_held(pair):
    """Linux sends a SYN anew after a second of its own clock, which is 2 ms of such a radio's."""
    processes = {number: pair.start(number, write_config(pair.folder, number, slow_down=600)) for number in (1, 2)}
    for number, process in processes.items():
        wait_until(lambda n=number, p=process: "up" in pair.log(n) or p.poll() is not None, 20)
        assert process.poll() is None, pair.log(number)
    wait_until(lambda: pair.run(1, "ping", "-n", "-c", "1", "-W", "1", "10.70.0.2").returncode == 0, 20)
    # The other end hears the SYN and has no way back: nothing ends the attempt.
    assert pair.run(2, "ip", "route", "add", "blackhole", "10.70.0.1/32").returncode == 0
    connect = "import socket; socket.create_connection(('10.70.0.2', 5201), 60)"
    inside = ["ip", "netns", "exec", pair.namespace(1), sys.executable, "-c", connect]
    with subprocess.Popen(inside, stderr=subprocess.DEVNULL) as attempt:
        wait_until(lambda: pair.status(1)["packets"]["early_syns"] >= 2, 20)
        attempt.kill()
    counted = pair.run(2, "cat", "/proc/net/snmp").stdout.splitlines()
    names, values = (line.split() for line in counted if line.startswith("Tcp:"))
    assert dict(zip(names, values, strict=True))["InSegs"] == "1"


# --- the file -------------------------------------------------------------------------------------------------------

LEAST = "driver: {kind: air, socket: /run/air.sock, node: 0}\n"
ANYWHERE = pytest.mark.anywhere


@ANYWHERE
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\n", ":1: driver: is missing"),
        ("\ndriver: {kind: air, socket: /a}\n", ":2: driver.node: is missing"),
        ("driver: {kind: wifi}\n", "driver.kind: is 'wifi'"),
        ("driver: {}\n", "driver.kind: is missing\n  remedy: add `kind: ..`, one of: air, loopback"),
        (LEAST + "polcy: delay\n", ":2: polcy: unknown field\n  remedy: did you mean 'policy'"),
        (LEAST + "policy: fixed\n", ":2: policy: is 'fixed', which is no policy"),
        (LEAST + "policy: fixed 1..4\n", "a flow has a single policy"),
        (LEAST + "mtu_bytes: 9000\n", "mtu_bytes: is 9000, but must be at most 2278"),
        (LEAST + "addresses: [10.0.0.256/24]\n", ":2: addresses.0: is '10.0.0.256/24', which is no IP address"),
        (LEAST + "neighbours: {10.0.0.2: 02-00}\n", "is '02-00', which is no MAC address"),
        (LEAST + "interface: a name with spaces\n", "interface: is 'a name with spaces', which is no name"),
        (LEAST + f"control_socket: /{'x' * 200}\n", "control_socket: has 201 bytes"),
        (LEAST + "log: xml\n", "log: is 'xml'"),
        (LEAST + "tell_window: always\n", "tell_window: is 'always'"),
        (
            "driver: {kind: air, socket: /a, node: 0, faults: {drop: 2}}\n",
            "driver.faults.drop: is 2, but must be at most 1",
        ),
        (LEAST + "cwl: {enforce: bpf}\n", "cwl.enforce: is 'bpf'"),
        (LEAST + "exact: {eta: 0}\n", "exact.eta: is 0, but must be at least 0.01"),
        ("driver: [\n", "is not valid YAML"),
        ("", "holds no fields\n  remedy: start from host/node/example.yaml"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_line_field_and_remedy(tmp_path, text, said):
    config = tmp_path / "node.yaml"
    config.write_text(text)
    done = subprocess.run([*PERHOP, "node", "--check", str(config)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr and str(config) in done.stderr and "remedy" in done.stderr
    assert "Traceback" not in done.stderr


@ANYWHERE
def test_the_example_is_a_configuration(tmp_path):
    example = load_file(ROOT / "host/node/example.yaml")
    assert example.name == "example"
    # With everything that its comments offer.
    text = (ROOT / "host/node/example.yaml").read_text()
    config = tmp_path / "all.yaml"
    config.write_text(re.sub(r"^(\s*)# ((?:capture|faults|cwl|exact): \{.*?\}).*$", r"\1\2", text, flags=re.MULTILINE))
    everything = load_file(config)
    assert everything.driver.capture and everything.driver.faults and everything.exact
    assert everything.cwl.enforce == "ebpf"


@ANYWHERE
def test_the_daemon_reads_whatever_the_schema_lets_pass(tmp_path):
    """Every field set: perhop-node gets as far as the interface, which nobody lets it open."""
    faults = {"seed": 3, "drop": 0.1, "duplicate": 0.1, "corrupt": 0.1, "delayed": 0.1, "delay_us": 5, "reorder": 0.1}
    wanted = NodeFile.model_validate(
        {
            "name": "all",
            "driver": {
                "kind": "loopback",
                "socket": str(tmp_path / "a"),
                "peer": str(tmp_path / "b"),
                "mac": "02:00:00:00:00:01",
                "profile": "ofdm_20mhz",
                "faults": faults,
                "capture": {"file": str(tmp_path / "c"), "most_bytes": 5},
            },
            "policy": "fixed 6 + dca 3 + paced",
            "cwl": {"enforce": "window", "cgroup": "/sys/fs/cgroup"},
            "neighbours": {"fd70::1": "02:00:00:00:00:02"},
            "exact": {"mode": "m1", "fairness": "airtime", "udp": "all", "queue_packets": 9},
            "log": "json",
        }
    )
    config = tmp_path / "node.json"
    config.write_text(json.dumps(daemon_json(wanted, tmp_path)))
    nobody = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if privileges.effective_capabilities() else []
    done = subprocess.run(
        [*nobody, str(paths.program("perhop-node")), str(config)], capture_output=True, text=True, check=False
    )
    line = json.loads(done.stderr)
    assert done.returncode == 1 and line["event"] == "failed", done.stderr
    assert "TUN interface" in line["error"] or "/dev/net/tun" in line["error"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node.json"]


# --- the service ----------------------------------------------------------------------------------------------------


@ANYWHERE
@pytest.mark.parametrize("source", UNITS, ids=lambda path: path.stem)
def test_systemd_accepts_the_unit_and_finds_it_confined(tmp_path, source):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here: the unit is not verified")
    program = tmp_path / "perhop"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for each in UNITS:  # they name one another
        text = each.read_text().replace("/usr/local/bin/perhop", str(program))
        (tmp_path / each.name.replace("@", "@x")).write_text(text)
    unit = tmp_path / source.name.replace("@", "@x")
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert verified.returncode == 0 and unit.name not in verified.stderr, verified.stderr
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    level = re.search(r"exposure level for \S+: ([\d.]+)", judged.stdout)
    if level is None:
        pytest.skip(f"this systemd-analyze cannot judge a unit offline: {judged.stderr.strip()}")
    assert float(level[1]) < 3, judged.stdout


@ANYWHERE
def test_the_units_of_modem_and_metrics_share_the_daemons_user_and_open_ports_at_most():
    given = {path.stem: dict(re.findall(r"^(\w+)=(.*)$", path.read_text(), re.MULTILINE)) for path in UNITS}
    assert set(given) == {"perhop-node@", "perhop-dlep@", "perhop-metrics@"}
    assert {unit["User"] for unit in given.values()} == {"perhop-%i"}
    assert {unit["NoNewPrivileges"] for unit in given.values()} == {"yes"}
    assert given["perhop-dlep@"]["CapabilityBoundingSet"] == "CAP_NET_BIND_SERVICE CAP_NET_RAW"
    assert given["perhop-metrics@"]["CapabilityBoundingSet"] == ""
    assert "AmbientCapabilities" not in given["perhop-metrics@"]


@ANYWHERE
def test_the_unit_gives_no_capability_but_the_two_that_are_listed():
    text = UNIT.read_text()
    for setting in ("AmbientCapabilities", "CapabilityBoundingSet"):
        given = re.findall(rf"^{setting}=(.*)$", text, re.MULTILINE)
        assert given == ["CAP_NET_ADMIN CAP_SYS_NICE"]
        more = re.findall(rf"^{setting}=(.*)$", DROP_IN.read_text(), re.MULTILINE)
        assert more == ["CAP_BPF CAP_PERFMON"]
