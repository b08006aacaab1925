# SPDX-License-Identifier: GPL-2.0-or-later
"""The USRP block: over a stand-in for gr-uhd that behaves as UHD says, and over gr-uhd itself without a device."""

import os
import subprocess
import sys
import time
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
import uhd_stand_in  # noqa: E402
from gnuradio import blocks  # noqa: E402
from perhop_gr import pdus  # noqa: E402
from perhop_gr.faults import RadioError  # noqa: E402
from perhop_gr.usrp import rate_remedy  # noqa: E402
from perhop_gr.usrp_bursts import events_of  # noqa: E402
from uhd_stand_in import Device  # noqa: E402
from waiting import wait_until  # noqa: E402

SPEED = 0.05
"""Of the air where a burst must not be late: 8 ms of its latency are then 160 ms of the computer's."""


class sender(gr.basic_block):
    """Sends messages that a test gives it."""

    def __init__(self) -> None:
        gr.basic_block.__init__(self, "sender", in_sig=None, out_sig=None)
        self.message_port_register_out(pmt.intern("out"))

    def send(self, message) -> None:
        self.message_port_pub(pmt.intern("out"), message)


@pytest.fixture(autouse=True)
def gnuradio_stays_as_it_is():
    """Without the stand-in, and with Python's own switch interval, after each test."""
    import gnuradio

    kept = sys.modules.get("gnuradio.uhd"), getattr(gnuradio, "uhd", None), sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(kept[2])
    for holder, name, old in ((sys.modules, "gnuradio.uhd", kept[0]), (gnuradio.__dict__, "uhd", kept[1])):
        if old is None:
            holder.pop(name, None)
        else:
            holder[name] = old


class Node:
    """A USRP whose samples are kept, and a sender for its bursts."""

    def __init__(self, device: str, keep: bool = True, **settings) -> None:
        self.graph, self.sender = gr.top_block(), sender()
        self.radio = perhop_gr.usrp(device, **settings)
        self.sink = blocks.vector_sink_c() if keep else blocks.null_sink(gr.sizeof_gr_complex)
        self.graph.connect(self.radio, self.sink)
        self.graph.msg_connect(self.sender, "out", self.radio, "burst")

    def stop(self) -> None:
        self.graph.stop()
        self.graph.wait()


def test_a_burst_is_on_the_air_when_its_time_says_and_is_not_heard_by_who_sends():
    air = uhd_stand_in.installed([Device("serial=A"), Device("serial=B")], noise_dbfs=-60.0, speed=SPEED)
    one, other = Node("serial=A"), Node("serial=B")
    for node in (one, other):
        node.graph.start()
    wait_until(lambda: one.radio.time.first_s is not None and other.radio.time.first_s is not None)
    # Both streams begin at another time of the air, and the device's clock is not the flowgraph's.
    wave = np.ones(2200, dtype=np.complex64)
    at_us = round(len(one.sink.data()) / 22) + 5000
    one.sender.send(pdus.pdu({"time_us": at_us - 1000}))
    one.sender.send(pdus.samples_pdu({"at_us": at_us}, wave))
    begin = (at_us + 8000) * 22
    wait_until(lambda: min(len(one.sink.data()), len(other.sink.data())) > begin + 200_000)
    for node in (one, other):
        node.stop()
    assert (air.sent, air.late, one.radio.sent) == (1, 0, 1)
    assert not one.radio.faults.counts and not other.radio.faults.counts
    own = np.array(one.sink.data())
    assert (own[begin : begin + 2200] == 0).all() and (np.abs(own[begin - 100 : begin]) > 0).all()
    apart = round((one.radio.time.first_s - other.radio.time.first_s) * 22e6)
    heard = np.flatnonzero(np.abs(np.array(other.sink.data())) > 0.05)
    assert heard[0] == begin + apart and heard[-1] == begin + apart + 2199


def test_a_packet_over_two_usrps_at_a_rate_that_stretches_time():
    devices = [Device("serial=A", clock_hz=200e6), Device("serial=B", clock_hz=200e6)]
    air = uhd_stand_in.installed(devices, samp_rate=4e6)
    nodes, macs, kept = [], [], []
    source, probe = perhop_gr.packet_source(1, 100, 1, first_us=100_000), perhop_gr.path_delay_probe(1)
    for number, device in enumerate(("serial=A", "serial=B")):
        node = Node(device, keep=False, samp_rate=4e6)
        demodulator = perhop_gr.dsss_demodulator(4e6, phy=True, mac_time=True)
        mac, modulator = perhop_gr.mac(number, seed=4), perhop_gr.burst_modulator()
        node.graph.connect(node.radio, demodulator)
        node.graph.msg_connect(demodulator, "phy", mac, "phy in")
        node.graph.msg_connect(mac, "phy out", modulator, "psdu")
        node.graph.msg_connect(modulator, "burst", node.radio, "burst")
        air.waits_for(node.radio)
        nodes.append(node)
        macs.append(mac)
        kept += [demodulator, modulator]
    sink = blocks.null_sink(gr.sizeof_float)
    nodes[0].graph.msg_connect(source, "packets", macs[0], "app in")
    nodes[0].graph.msg_connect(macs[0], "done", probe, "done")
    nodes[0].graph.connect(probe, sink)
    for node in nodes:
        node.graph.start()
    wait_until(lambda: probe.complete() == [0], 120)
    for node in nodes:
        node.stop()
    assert [mac.kinds for mac in macs] == [{"rts": 1, "data": 1}, {"cts": 1, "mac_ack": 1}]
    assert not any(node.radio.faults.counts for node in nodes)
    assert all(0 < node.radio.time.most_lag_us < 8000 for node in nodes)
    # RTS, CTS, DATA, MAC ACK: four latencies and three SIFS, and airtimes; whatever a microsecond is in seconds.
    (delay_ms,) = probe.delays_ms(0)
    assert 4 * 8 + 3 * 5 < delay_ms < 4 * 8 + 3 * 5 + 5


@pytest.mark.parametrize(
    ("device", "settings", "field", "problem"),
    [
        (Device("serial=B"), {}, "device", "no USRP 'serial=A' is found"),
        (Device("serial=A", clock_hz=200e6), {}, "sample_rate_hz", "makes it 22222222.22"),
        (Device("serial=A", most_hz=2.2e9), {}, "frequency_hz", "at 2412 MHz: it makes it 2200 MHz"),
        (Device("serial=A"), {"rx_gain_db": 90.0}, "rx_gain_db", "90 dB"),
        (Device("serial=A"), {"tx_gain_db": 90.0}, "tx_gain_db", "90 dB"),
        (Device("serial=A"), {"rx_antenna": "RX3"}, "rx_antenna", "none called 'RX3'"),
        (Device("serial=A"), {"tx_antenna": "TX3"}, "tx_antenna", "none called 'TX3'"),
        (Device("serial=A"), {"clock_source": "gps"}, "clock_source", "none called 'gps'"),
    ],
)
def test_what_a_device_cannot_do_is_said_before_anything_runs(device, settings, field, problem):
    uhd_stand_in.installed([device])
    with pytest.raises(RadioError, match=problem) as error:
        perhop_gr.usrp("serial=A", **settings)
    assert error.value.field == field and error.value.remedy


def test_the_remedy_of_a_rate_names_rates_of_the_device():
    assert "use 20000000 or 22222222.22" in rate_remedy(200e6, 22e6)
    assert "uhd_usrp_probe" in rate_remedy(0.0, 22e6)


def test_lost_samples_are_told_and_end_the_flowgraph():
    uhd_stand_in.installed([Device("serial=A", overflows=[(100_000, 5000)])])
    node = Node("serial=A")
    node.graph.start()
    assert node.radio.faults.stopped.wait(30)
    looks = [-1]
    wait_until(lambda: looks.append(len(node.sink.data())) or looks[-1] == looks[-2])
    time.sleep(0.3)
    assert len(node.sink.data()) == looks[-1], "it goes on"
    node.stop()
    fault = node.radio.faults.first
    assert fault.kind == "overflow" and "5000 samples (0.23 ms) were lost" in fault.problem
    assert "sample_rate_hz" in fault.remedy


def test_where_faults_are_only_counted_time_stays_the_radios():
    devices = [Device("serial=A", overflows=[(100_000, 5000), (200_000, 300)]), Device("serial=B")]
    air = uhd_stand_in.installed(devices, speed=SPEED)
    one, other = Node("serial=A", keep=False, stop_on_fault=False), Node("serial=B")
    for node in (other, one):
        node.graph.start()
    wait_until(lambda: one.radio.faults.counts.get("overflow") == 2)
    at_us = round(one.sink.nitems_read(0) / 22) + 3000
    one.sender.send(pdus.samples_pdu({"at_us": at_us}, np.ones(2200, dtype=np.complex64)))
    sample = one.radio.time.sample_of(at_us)
    wait_until(lambda: one.sink.nitems_read(0) > sample + 400_000)
    for node in (one, other):
        node.stop()
    # By the stand-in's own count of samples, those that were lost too.
    begin = one.radio.source.begin + 5000 + 300 + sample - other.radio.source.begin
    heard = np.flatnonzero(np.abs(np.array(other.sink.data())) > 0.05)
    assert air.late == 0 and not one.radio.faults.stopped.is_set() and heard[0] == begin


def test_a_gap_in_a_burst_and_a_burst_that_is_late_end_the_flowgraph():
    uhd_stand_in.installed([Device("serial=A", underflow_at=0)], speed=SPEED)
    wave = np.ones(2200, dtype=np.complex64)
    for kind, latency_us in (("underflow", 8000), ("late", 0)):
        node = Node("serial=A", keep=False, latency_us=latency_us)
        node.graph.start()
        wait_until(lambda: node.sink.nitems_read(0) > 50_000)  # noqa: B023  (used at once)
        node.sender.send(pdus.samples_pdu({"at_us": round(node.sink.nitems_read(0) / 22)}, wave))
        assert node.radio.faults.stopped.wait(30)
        node.stop()
        assert node.radio.faults.counts == {kind: 1}


def test_messages_of_the_sink_are_read_as_gr_uhd_sends_them():
    codes = pmt.list_add(pmt.list1(pmt.intern("underflow")), pmt.intern("time_error"))
    told = pmt.dict_add(pmt.make_dict(), pmt.intern("event_code"), codes)
    told = pmt.dict_add(told, pmt.intern("time_spec"), pmt.cons(pmt.from_long(1), pmt.from_double(0.5)))
    assert events_of(pmt.cons(pmt.intern("uhd_async_msg"), told)) == ["underflow", "time_error"]
    assert events_of(pmt.PMT_NIL) == events_of(pmt.intern("x")) == []


def test_what_is_no_burst_is_counted_and_nothing_dies():
    uhd_stand_in.installed([Device("serial=A")])
    node = Node("serial=A", keep=False)
    node.graph.start()
    for message in (
        pmt.PMT_NIL,
        pmt.intern("what"),
        pdus.pdu({}, b"abc"),
        pdus.samples_pdu({}, np.zeros(0, np.complex64)),
    ):
        node.sender.send(message)
    wait_until(lambda: node.radio._bursts.refused == 4)
    node.stop()
    assert node.radio.sent == 0


@pytest.mark.parametrize("example", ["host_phy_transceiver", "receive_usrp"])
def test_without_a_device_gr_uhd_itself_leads_to_a_clear_message(example, tmp_path):
    """No stand-in: gr-uhd looks for a device that nobody has."""
    line = [sys.executable, EXAMPLES / "run.py", example, "device=serial=NOBODY", f"capture={tmp_path / 'a.pcapng'}"]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run([*line, "--compiled", tmp_path], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 3, done.stderr
    assert "error: device: no USRP 'serial=NOBODY' is found\n  remedy: connect it" in done.stderr
    assert "Traceback" not in done.stderr
