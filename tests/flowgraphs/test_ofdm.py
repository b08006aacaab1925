# SPDX-License-Identifier: GPL-2.0-or-later
"""The OFDM PHY block: over a stand-in for gr-ieee802-11 with its ports and quirks, and the real one if it is here."""

import importlib.util
import json
import os
import random
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "flowgraphs/examples"
# gr-perhop tests the package that it installs.
sys.path[:0] = [os.environ.get("PERHOP_GR", str(ROOT / "flowgraphs/blocks")), str(EXAMPLES)]

if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
    pytest.skip(
        "NO GNU RADIO HERE: Debian's is built for NumPy 1, this Python has 2; `make flowgraphs` runs these tests",
        allow_module_level=True,
    )
gr = pytest.importorskip("gnuradio.gr", reason="NO GNU RADIO: `make flowgraphs` installs it and runs these tests")

import perhop_gr  # noqa: E402
import pmt  # noqa: E402
from gnuradio import channels  # noqa: E402
from perhop_gr import frames, pdus  # noqa: E402
from perhop_gr.faults import RadioError  # noqa: E402
from perhop_gr.packet_source import packet_number  # noqa: E402
from waiting import wait_until  # noqa: E402

SEED = int(os.environ.get("PERHOP_SEED", random.randrange(2**31)))
PACKETS = 4
INSTALLED = importlib.util.find_spec("ieee802_11") is not None


class some(gr.basic_block):
    """Sends messages that a test gives it, and keeps those that it gets."""

    def __init__(self) -> None:
        gr.basic_block.__init__(self, "some", in_sig=None, out_sig=None)
        self.kept: list = []
        self.message_port_register_out(pmt.intern("out"))
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self._take)

    def _take(self, message) -> None:
        self.kept.append(message)

    def send(self, message) -> None:
        self.message_port_pub(pmt.intern("out"), message)


class _quirks(gr.basic_block):
    """The message ports of wifi_phy_hier: good frames come out without FCS, with its metadata; of bad ones, nothing."""

    lose = 0.0

    def __init__(self) -> None:
        gr.basic_block.__init__(self, "quirks of wifi_phy_hier", in_sig=None, out_sig=None)
        self.message_port_register_out(pmt.intern("mac_out"))
        self.message_port_register_in(pmt.intern("psdu"))
        self.set_msg_handler(pmt.intern("psdu"), self._take)
        self.random = random.Random(SEED)

    def _take(self, message) -> None:
        meta, psdu = pdus.octets_of(message)
        if not meta["fcs_ok"] or self.random.random() < _quirks.lose:
            return
        kept = {"snr": meta["snr_db"], "frequency offset": meta["carrier_hz"], "encoding": 0}
        self.message_port_pub(pmt.intern("mac_out"), pdus.pdu(kept, psdu[: -frames.FCS_BYTES]))


class wifi_phy_hier(gr.hier_block2):
    """Stand-in with its ports and parameters: streams, mac_in, mac_out, carrier; bursts are told by packet_len.

    Its waveform is DSSS; like the real one it drops bad frames without a word and tells of no busy medium.
    """

    def __init__(self, bandwidth, chan_est, encoding, frequency, sensitivity) -> None:
        signature = gr.io_signature(1, 1, gr.sizeof_gr_complex)
        gr.hier_block2.__init__(self, "stand-in for wifi_phy_hier", signature, signature)
        self.message_port_register_hier_in("mac_in")
        for name in ("mac_out", "carrier"):
            self.message_port_register_hier_out(name)
        self.modulator = perhop_gr.dsss_modulator(rate=0, fill=False, gap_samples=(0, 0))
        self.demodulator = perhop_gr.dsss_demodulator(symbols=True)
        self.quirks = _quirks()
        self.connect(self, self.demodulator)
        self.connect(self.modulator, self)
        self.msg_connect(self, "mac_in", self.modulator, "psdu")
        self.msg_connect(self.demodulator, "psdu", self.quirks, "psdu")
        self.msg_connect(self.quirks, "mac_out", self, "mac_out")
        self.msg_connect(self.demodulator, "symbols", self, "carrier")


@pytest.fixture
def stand_in(monkeypatch):
    """gr-ieee802-11 as the block sees it."""
    module, hier = types.ModuleType("ieee802_11"), types.ModuleType("wifi_phy_hier")
    module.LS, module.QPSK_1_2, hier.wifi_phy_hier = 0, 2, wifi_phy_hier
    monkeypatch.setitem(sys.modules, "ieee802_11", module)
    monkeypatch.setitem(sys.modules, "wifi_phy_hier", hier)
    kept = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    _quirks.lose = 0.0
    sys.setswitchinterval(kept)


@pytest.mark.parametrize("lose", [0.0, 0.1])
def test_control_frames_pass_and_nothing_dies_over_a_phy_like_that_of_gr_ieee802_11(stand_in, lose):
    print(f"PERHOP_SEED={SEED}")
    _quirks.lose = lose
    graph = gr.top_block()
    # Its time is the computer's: ten times as long, so that a fifth of a second of standing still costs nothing.
    macs = [perhop_gr.mac(node, seed=SEED + node, clock="computer", time_stretch=10.0) for node in range(2)]
    phys = [perhop_gr.ofdm_phy() for _ in macs]
    streams = [perhop_gr.burst_stream() for _ in macs]
    paths = [channels.channel_model(0.003, offset_hz / 22e6) for offset_hz in (5e3, -5e3)]
    source, delivered, done = perhop_gr.packet_source(PACKETS, 100, 1, first_us=0), some(), some()
    for node, (mac, phy, stream, path) in enumerate(zip(macs, phys, streams, paths, strict=True)):
        graph.msg_connect(mac, "phy out", phy, "mac_in")
        graph.msg_connect(phy, "mac_out", mac, "phy in")
        graph.msg_connect(phy, "burst", stream, "burst")
        graph.connect(stream, path, phys[1 - node])
    graph.msg_connect(source, "packets", macs[0], "app in")
    graph.msg_connect(macs[1], "app out", delivered, "in")
    graph.msg_connect(macs[0], "done", done, "in")
    graph.start()
    wait_until(lambda: len(done.kept) == PACKETS, 240)
    graph.stop()
    graph.wait()
    records = [meta for meta, _ in map(pdus.octets_of, done.kept)]
    numbers = [packet_number(msdu) for _, msdu in map(pdus.octets_of, delivered.kept)]
    assert numbers == sorted(set(numbers))
    if lose == 0.0:
        assert [record["result"] for record in records] == ["delivered"] * PACKETS and numbers == list(range(PACKETS))
    assert macs[1].kinds["cts"] >= len(numbers) and macs[1].kinds["mac_ack"] >= len(numbers)
    assert all(sum(record["parts_us"].values()) == record["t_done_us"] - record["t_enqueue_us"] for record in records)
    assert all(phy.ways.received > 0 and phy.ways.own == 0 for phy in phys)


def test_a_node_does_not_take_what_it_hears_of_itself_for_a_frame(stand_in):
    graph, phy, stream, ends = gr.top_block(), perhop_gr.ofdm_phy(), perhop_gr.burst_stream(), some()
    graph.msg_connect(ends, "out", phy, "mac_in")
    graph.msg_connect(phy, "burst", stream, "burst")
    graph.msg_connect(phy, "mac_out", ends, "in")
    noise = channels.channel_model(0.003)
    graph.connect(stream, noise, phy)
    graph.start()
    rts = frames.with_fcs(bytes.fromhex("b4000000020000000002020000000001"))
    for message in (pmt.PMT_NIL, pmt.intern("what"), pdus.pdu({"time_us": 3}), pdus.pdu({}, rts)):
        ends.send(message)
    wait_until(lambda: phy.ways.own == 1)
    graph.stop()
    graph.wait()
    assert ends.kept == [] and (phy.ways.sent, phy.ways.refused) == (1, 2)


def test_without_gr_ieee802_11_or_its_hierarchical_block_the_message_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "ieee802_11", None)
    with pytest.raises(RadioError, match=r"gr-ieee802-11 is not installed") as error:
        perhop_gr.ofdm_phy()
    assert "maint-3.10" in error.value.remedy and "phy: dsss" in error.value.remedy
    monkeypatch.setitem(sys.modules, "ieee802_11", types.ModuleType("ieee802_11"))
    monkeypatch.setitem(sys.modules, "wifi_phy_hier", None)
    with pytest.raises(RadioError, match=r"not its hierarchical block") as error:
        perhop_gr.ofdm_phy()
    assert "wifi_phy_hier.grc" in error.value.remedy


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="encoding 'BPSK'"):
        perhop_gr.ofdm_phy(encoding="BPSK")
    with pytest.raises(ValueError, match="time_stretch"):
        perhop_gr.mac(0, clock="computer", time_stretch=0.0)
    with pytest.raises(ValueError, match="after_samples"):
        perhop_gr.burst_stream(after_samples=-1)


@pytest.mark.parametrize("example", ["ofdm_exchange", "ofdm_transceiver"])
def test_an_example_without_gr_ieee802_11_ends_with_the_message(example, tmp_path):
    """Also where it is installed: a module that cannot be imported stands before it."""
    (tmp_path / "ieee802_11.py").write_text("raise ImportError('not here')\n")
    line = [sys.executable, EXAMPLES / "run.py", example, f"capture={tmp_path / 'a.pcapng'}", "--compiled", tmp_path]
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": paths}
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 3 and "Traceback" not in done.stderr, done.stderr
    assert "error: phy: gr-ieee802-11 is not installed" in done.stderr and "remedy: install it" in done.stderr


@pytest.mark.skipif(not INSTALLED, reason="GR-IEEE802-11 IS NOT INSTALLED: its PHY was NOT tested, only a stand-in")
def test_the_real_phy_carries_200_of_200_exchanges(tmp_path):
    line = [sys.executable, EXAMPLES / "run.py", "ofdm_exchange", "packets=200", f"capture={tmp_path / 'a.pcapng'}"]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [*line, "--compiled", tmp_path, "--seconds", "300"],
        capture_output=True,
        text=True,
        timeout=500,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads([text for text in done.stdout.splitlines() if text.startswith("{")][-1])
    assert (result["complete"], result["arrived"], result["given_up"]) == (200, 200, 0)
