# SPDX-License-Identifier: GPL-2.0-or-later
"""The blocks of flowgraphs/blocks, against the NumPy model, the standard's formats or stand-ins for its neighbours.

It is one file: each block has a few short tests, and all share the stand-ins.
"""

import json
import os
import random
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
# gr-perhop tests the package that it installs.
sys.path[:0] = [os.environ.get("PERHOP_GR", str(ROOT / "flowgraphs/blocks")), str(ROOT / "flowgraphs/examples")]

if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
    pytest.skip(
        "NO GNU RADIO HERE: Debian's is built for NumPy 1, this Python has 2; `make flowgraphs` runs these tests",
        allow_module_level=True,
    )
gr = pytest.importorskip("gnuradio.gr", reason="NO GNU RADIO: `make flowgraphs` installs it and runs these tests")

import perhop_gr  # noqa: E402
import pmt  # noqa: E402
from gnuradio import blocks  # noqa: E402
from perhop import modem  # noqa: E402
from perhop.phy import plcp, transmitter  # noqa: E402
from perhop_gr import frames, pdus  # noqa: E402
from perhop_gr.packet_source import packet_number  # noqa: E402
from waiting import wait_until  # noqa: E402

SEED = int(os.environ.get("PERHOP_SEED", random.randrange(2**32)))


@pytest.fixture
def draw() -> random.Random:
    """A generator whose seed is printed; PERHOP_SEED sets it."""
    print(f"PERHOP_SEED={SEED}")
    return random.Random(SEED)


class sender(gr.basic_block):
    """Sends messages that a test gives it."""

    def __init__(self) -> None:
        gr.basic_block.__init__(self, "sender", in_sig=None, out_sig=None)
        self.message_port_register_out(pmt.intern("out"))

    def send(self, message) -> None:
        self.message_port_pub(pmt.intern("out"), message)


class keeper(gr.basic_block):
    """Keeps the messages that it gets."""

    def __init__(self) -> None:
        gr.basic_block.__init__(self, "keeper", in_sig=None, out_sig=None)
        self.kept: list = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self._take)

    def _take(self, message) -> None:
        self.kept.append(message)

    def octets(self) -> list[tuple[dict, bytes]]:
        return [found for found in map(pdus.octets_of, self.kept) if found is not None]


def data_frame(draw: random.Random, octets: int = 60) -> bytes:
    header = bytes.fromhex("08000000") + bytes.fromhex("020000000002020000000001020000000000") + b"\0\0"
    return frames.with_fcs(header + draw.randbytes(octets))


def noisy(wave: np.ndarray, before: int = 3000, after: int = 3000, sigma: float = 0.003, seed: int = 1) -> np.ndarray:
    """A burst between silence, with noise."""
    noise = np.random.default_rng(seed)
    whole = np.concatenate([np.zeros(before), wave, np.zeros(after)])
    parts = noise.standard_normal((2, len(whole)))
    return (whole + sigma * (parts[0] + 1j * parts[1])).astype(np.complex64)


def demodulated(samples: np.ndarray, **settings) -> dict[str, keeper]:
    """What a demodulator says of samples, by port."""
    graph, block = gr.top_block(), perhop_gr.dsss_demodulator(**settings)
    graph.connect(blocks.vector_source_c(samples.tolist()), block)
    kept = {name: keeper() for name in ("psdu", "mpdu", "cca", "symbols", "phy")}
    for name, each in kept.items():
        graph.msg_connect(block, name, each, "in")
    graph.start()
    assert block.finished.wait(60)
    # Nobody stops it: a keeper ends behind the last message of a demodulator that has ended.
    ending = threading.Thread(target=graph.wait, daemon=True)
    ending.start()
    ending.join(60)
    assert not ending.is_alive()
    return kept


def test_the_modulator_sends_the_models_samples_between_tags(draw):
    graph, source, sink = gr.top_block(), sender(), blocks.vector_sink_c()
    block = perhop_gr.dsss_modulator(frames=3, amplitude=1.0, gap_samples=(50, 400))
    graph.msg_connect(source, "out", block, "psdu")
    graph.connect(block, sink)
    sent = [plcp.Frame(draw.randbytes(draw.randrange(1, 80)), rate) for rate in (0, 1, 1)]
    graph.start()
    for frame in sent:
        meta = {"rate": frame.rate, "short_preamble": False, "tx_time_s": 1.25}
        source.send(pdus.pdu(meta, frame.psdu))
    wait_until(lambda: sum(pmt.symbol_to_string(tag.key) == "tx_eob" for tag in sink.tags()) == 3)
    graph.stop()
    graph.wait()
    samples, tags = np.array(sink.data()), sink.tags()
    starts, ends, lengths, times = (
        [tag for tag in tags if pmt.symbol_to_string(tag.key) == key]
        for key in ("tx_sob", "tx_eob", "packet_len", "tx_time")
    )
    for frame, start, end, length, at in zip(sent, starts, ends, lengths, times, strict=True):
        expected = transmitter.transmitted(frame) / 2048
        assert pmt.to_long(length.value) == len(expected) == end.offset - start.offset + 1
        assert np.allclose(samples[start.offset : end.offset + 1], expected[:, 0] + 1j * expected[:, 1], atol=1e-6)
        assert pmt.to_python(at.value) == (1, 0.25)
    gap = np.array([start.offset for start in starts[1:]]) - [end.offset for end in ends[:-1]]
    assert ((gap > 50) & (gap <= 401)).all()


def test_the_demodulator_tells_frames_and_their_signal(draw):
    psdu = data_frame(draw)
    wave = modem.transmitted_complex(psdu, 1, amplitude=0.1)
    turn = np.exp(2j * np.pi * 60e3 / 22e6 * np.arange(len(wave)))
    rms = float(np.sqrt(np.mean(np.abs(wave) ** 2)))
    sigma = rms * 10 ** (-(20 - 10 * np.log10(22)) / 20) / np.sqrt(2)
    kept = demodulated(noisy(wave * turn, sigma=sigma), symbols=True, phy=True, rssi_offset_db=-30.0)
    ((meta, got),) = kept["psdu"].octets()
    assert got == psdu and meta["fcs_ok"] and meta["rate"] == 1
    assert abs(meta["snr_db"] - 20) <= 3 and abs(meta["carrier_hz"] - 60e3) < 6e3
    assert abs(meta["rssi_db"] - (20 * np.log10(rms) - 30)) < 2
    # 3 chips from the first sample to the first chip's peak, and the correlation is at a symbol's last chip.
    assert abs(meta["start_us"] - 3000 / 22) < 1.5
    assert abs(meta["end_us"] - meta["start_us"] - modem.airtime_us(len(psdu), 1)) < 1.5
    ((_, without_fcs),) = kept["mpdu"].octets()
    assert without_fcs == psdu[:-4]
    assert [pmt.to_bool(message) for message in kept["cca"].kept] == [True, False]
    _, symbols = pdus.samples_of(kept["symbols"].kept[0])
    assert len(symbols) == 4 * len(psdu)
    assert np.abs(np.abs(symbols) - 1).mean() < 0.3
    # Frame, busy and free and marks, in order of time.
    times = [meta.get("time_us", meta.get("at_us", meta.get("end_us"))) for meta, _ in kept["phy"].octets()]
    assert times == sorted(times) and len(times) > 3


def test_a_frame_with_a_bad_fcs_is_told_but_is_no_mpdu(draw):
    psdu = bytearray(data_frame(draw))
    psdu[30] ^= 1
    kept = demodulated(noisy(modem.transmitted_complex(bytes(psdu), 0)))
    assert [meta["fcs_ok"] for meta, _ in kept["psdu"].octets()] == [False]
    assert kept["mpdu"].kept == []


def heard_over(settings: dict, bursts: dict[int, np.ndarray], at_us: int, until_us: int) -> list[np.ndarray]:
    """What each node hears of bursts, by sender, that are sent at one time."""
    graph, block = gr.top_block(), perhop_gr.medium(**settings)
    sinks = [blocks.vector_sink_c() for _ in range(block.antennas)]
    sources = [sender() for _ in range(block.nodes)]
    for antenna, sink in enumerate(sinks):
        graph.connect((block, antenna), sink)
    for node, source in enumerate(sources):
        graph.msg_connect(source, "out", block, f"burst{node}")
    graph.start()
    for node, wave in bursts.items():
        sources[node].send(pdus.samples_pdu({"at_us": at_us}, wave))
    # Two steps, so that pieces have other lengths in every run.
    for time_us in (until_us - 333, until_us):
        for source in sources:
            source.send(pdus.pdu({"time_us": time_us}))
    wanted = round((until_us + block.latency_us) * 22)
    wait_until(lambda: all(len(sink.data()) == wanted for sink in sinks))
    graph.stop()
    graph.wait()
    assert block.late == 0 and block.collisions == (len(bursts) > 1)
    return [np.array(sink.data()) for sink in sinks]


MEDIUM = {
    "gains_db": ((None, -20.0), (-6.0, None)),
    "noise_dbfs": -60.0,
    "carrier_offsets_hz": (10e3, -20e3),
    "latency_us": 500,
}


def test_the_medium_places_bursts_with_gain_offset_and_noise():
    burst = {0: np.ones(2200, dtype=np.complex64)}
    _, other = heard_over(MEDIUM, burst, 300, 1500)
    start = (300 + 500) * 22
    quiet, heard = other[: start - 10], other[start : start + 2200]
    assert abs(20 * np.log10(np.sqrt(np.mean(np.abs(quiet) ** 2))) + 60) < 0.3
    assert np.abs(np.abs(heard) - 10 ** (-6 / 20)).max() < 0.01
    turn_hz = np.angle(np.mean(heard[1:] * np.conj(heard[:-1]))) * 22e6 / (2 * np.pi)
    assert abs(turn_hz - 30e3) < 100


def test_a_listener_hears_the_nodes_and_needs_no_bursts():
    settings = {**MEDIUM, "gains_db": (*MEDIUM["gains_db"], (-3.0, None)), "carrier_offsets_hz": (10e3, -20e3, 0.0)}
    *_, heard = heard_over(settings, {0: np.ones(2200, dtype=np.complex64)}, 300, 1500)
    start = (300 + 500) * 22
    assert np.abs(np.abs(heard[start : start + 2200]) - 10 ** (-3 / 20)).max() < 0.01
    assert np.abs(heard[: start - 10]).max() < 0.01


def test_the_medium_gives_the_same_samples_again():
    bursts = {1: np.ones(22000, dtype=np.complex64)}
    runs = [heard_over(MEDIUM, bursts, 300, 9000) for _ in range(3)]
    for run in runs[1:]:
        assert all(np.array_equal(one, other) for one, other in zip(run, runs[0], strict=True))


def test_a_node_that_sends_hears_nothing_but_noise():
    wave = np.ones(2200, dtype=np.complex64)
    both = heard_over(MEDIUM, {0: wave, 1: wave}, 300, 1500)
    assert all(np.abs(heard).max() < 0.01 for heard in both)


def test_the_medium_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="carrier_offsets_hz must have 2"):
        perhop_gr.medium(carrier_offsets_hz=(0.0,))
    with pytest.raises(ValueError, match="columns"):
        perhop_gr.medium(gains_db=((None, 0.0),))


class hier_stand_in(gr.basic_block):
    """Two radios with gr-ieee802-11's wifi_phy_hier: port mac_in takes MPDUs with FCS, mac_out gives them without, some
    milliseconds later; bad frames are dropped without a word, and nothing tells of a busy medium."""

    def __init__(self, lose: random.Random, share: float) -> None:
        gr.basic_block.__init__(self, "stand-in for wifi_phy_hier", in_sig=None, out_sig=None)
        self.lose, self.share, self.carried = lose, share, 0
        for node in range(2):
            name = f"mac_in{node}"
            self.message_port_register_in(pmt.intern(name))
            self.set_msg_handler(pmt.intern(name), (self._take0, self._take1)[node])
            self.message_port_register_out(pmt.intern(f"mac_out{node}"))

    def _take0(self, message) -> None:
        self._carry(message, 1)

    def _take1(self, message) -> None:
        self._carry(message, 0)

    def _carry(self, message, to: int) -> None:
        psdu = bytes(pmt.u8vector_elements(pmt.cdr(message)))
        assert zlib.crc32(psdu[:-4]).to_bytes(4, "little") == psdu[-4:]
        if self.lose.random() < self.share:
            return
        self.carried += 1
        meta = {"snr": 20.0, "frequency offset": 0.0, "encoding": 0, "nominal frequency": 5.89e9}
        answer = pdus.pdu(meta, psdu[:-4])
        threading.Timer(0.002, lambda: self.message_port_pub(pmt.intern(f"mac_out{to}"), answer)).start()


@pytest.mark.parametrize("share", [0.0, 0.15])
def test_exchanges_over_a_phy_without_cca_that_drops_bad_frames(draw, share):
    graph, air = gr.top_block(), hier_stand_in(draw, share)
    # Where every packet must arrive, a machine that stands still for 80 ms is waited for.
    stretch = 8 if share == 0.0 else 1
    macs = [perhop_gr.mac(node, clock="computer", seed=SEED, time_stretch=stretch) for node in range(2)]
    source, delivered, done = perhop_gr.packet_source(8, 100, 1, first_us=0), keeper(), keeper()
    for node, mac in enumerate(macs):
        graph.msg_connect(mac, "phy out", air, f"mac_in{node}")
        graph.msg_connect(air, f"mac_out{node}", mac, "phy in")
    graph.msg_connect(source, "packets", macs[0], "app in")
    graph.msg_connect(macs[1], "app out", delivered, "in")
    graph.msg_connect(macs[0], "done", done, "in")
    graph.start()
    wait_until(lambda: len(done.kept) == 8, 120)
    graph.stop()
    graph.wait()
    results = [meta["result"] for meta, _ in done.octets()]
    numbers = [packet_number(msdu) for _, msdu in delivered.octets()]
    assert numbers == sorted(set(numbers))
    if share == 0.0:
        # A machine that stands still for longer than that costs an attempt, not a packet.
        assert results == ["delivered"] * 8 and numbers == list(range(8))
    assert macs[1].kinds["cts"] >= len(numbers) and macs[1].kinds["mac_ack"] >= len(numbers)
    for meta, _ in done.octets():
        assert sum(meta["parts_us"].values()) == meta["t_done_us"] - meta["t_enqueue_us"]


def test_messages_that_are_no_pdus_are_counted_and_nothing_dies():
    graph, source = gr.top_block(), sender()
    mac, burst = perhop_gr.mac(0), perhop_gr.burst_modulator()
    for port in ("app in", "phy in", "cca"):
        graph.msg_connect(source, "out", mac, port)
    graph.msg_connect(source, "out", burst, "psdu")
    graph.start()
    strange = [pmt.PMT_NIL, pmt.intern("what"), pmt.from_long(3), pmt.cons(pmt.PMT_NIL, pmt.PMT_NIL)]
    for message in [
        *strange,
        pdus.pdu({"next_hop": "nobody"}, b"abc"),
        pdus.pdu({"rate": 7}, b"abc"),
        pdus.pdu({}, bytes(3000)),
    ]:
        source.send(message)
    wait_until(lambda: mac.refused >= 12 and burst.refused >= 5)
    graph.stop()
    graph.wait()


def test_who_records_samples_without_its_package_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sigmf", None)
    with pytest.raises(ImportError, match=r"SigMF recorder.*pip install"):
        perhop_gr.sigmf_recorder(str(tmp_path / "a"))
    assert not list(tmp_path.iterdir())


def test_recorders_write_what_others_read(draw, tmp_path):
    psdu = data_frame(draw)
    samples = noisy(modem.transmitted_complex(psdu, 1))
    graph, demodulator = gr.top_block(), perhop_gr.dsss_demodulator()
    capture = perhop_gr.frame_recorder(str(tmp_path / "a.pcapng"))
    recording = perhop_gr.sigmf_recorder(str(tmp_path / "a"))
    graph.connect(blocks.vector_source_c(samples.tolist()), demodulator)
    graph.connect(blocks.vector_source_c(samples.tolist()), recording)
    graph.msg_connect(demodulator, "psdu", capture, "psdu")
    graph.msg_connect(demodulator, "psdu", recording, "psdu")
    graph.start()
    wait_until(
        lambda: (
            demodulator.finished.is_set()
            and capture.frames == 1
            and recording.recording.annotations
            and recording.recording.samples == len(samples)
        )
    )
    graph.stop()
    graph.wait()
    sigmf = pytest.importorskip("sigmf")
    meta = sigmf.sigmffile.fromfile(str(tmp_path / "a.sigmf-meta"))
    meta.validate()
    (annotation,) = meta.get_annotations()
    assert annotation["core:label"] == "data" and annotation["perhop:fcs_ok"] is True
    assert (
        annotation["perhop:receiver"] == "02:00:00:00:00:02" and annotation["perhop:transmitter"] == "02:00:00:00:00:01"
    )
    assert abs(annotation["core:sample_start"] - 3000) < 30
    assert np.allclose(meta.read_samples(), samples, atol=1e-4)
    fields = (
        "wlan.fc.type_subtype",
        "wlan.ra",
        "radiotap.dbm_antsignal",
        "wlan_radio.data_rate",
        "wlan.fcs.status",
    )
    command = [
        "tshark",
        "-o",
        "wlan.check_checksum:TRUE",
        "-r",
        tmp_path / "a.pcapng",
        "-T",
        "json",
        *(word for field in fields for word in ("-e", field)),
    ]
    (read,) = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    layers = read["_source"]["layers"]
    assert layers["wlan.ra"] == ["02:00:00:00:00:02"] and layers["wlan_radio.data_rate"] == ["2"]
    assert layers["wlan.fcs.status"] in (["1"], ["Good"])


def test_a_folder_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="no/such/folder"):
        perhop_gr.frame_recorder("no/such/folder/a.pcapng")


def test_a_flowgraph_with_an_unknown_block_is_refused(tmp_path):
    text = (ROOT / "flowgraphs/examples/receive_file.grc").read_text()
    (tmp_path / "broken.grc").write_text(text.replace("perhop_frame_recorder", "perhop_frame_recoder"))
    command = [sys.executable, ROOT / "flowgraphs/examples/compile.py", tmp_path / "broken.grc", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "blocks that GNU Radio does not know: recorder" in done.stderr


def test_every_block_has_a_description_and_documentation():
    yaml = pytest.importorskip("yaml")
    described = {path.name.removesuffix(".block.yml") for path in (ROOT / "flowgraphs/blocks").glob("*.block.yml")}
    assert described == {f"perhop_{name}" for name in perhop_gr.__all__}
    for path in (ROOT / "flowgraphs/blocks").glob("*.block.yml"):
        block = yaml.safe_load(path.read_text())
        assert len(block["documentation"].split()) >= 5, path


def test_the_page_of_the_blocks_is_current():
    document = ROOT / "flowgraphs/blocks/document.py"
    assert subprocess.run([sys.executable, document, "--check"], check=False).returncode == 0


def test_companion_has_what_its_window_needs():
    """Debian's gnuradio does not ask for it."""
    code = "import gi; gi.require_version('Gtk', '3.0'); gi.require_version('PangoCairo', '1.0')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_block_put_into_a_flowgraph_is_right_but_for_its_wires():
    """With the settings that Companion gives it."""
    from gnuradio.grc.core.platform import Platform

    parts = (gr.major_version(), gr.api_version(), gr.minor_version())
    platform = Platform(name="test", prefs=gr.prefs(), version=gr.version(), version_parts=parts)
    folders = gr.prefs().get_string("grc", "global_blocks_path", "").split(":")
    platform.build_library([str(ROOT / "flowgraphs/blocks"), *folders])
    for name in perhop_gr.__all__:
        graph = platform.make_flow_graph()
        rate, block = graph.new_block("variable"), graph.new_block(f"perhop_{name}")
        rate.params["id"].set_value("samp_rate")
        rate.params["value"].set_value("22e6")
        block.params["id"].set_value("block")
        graph.rewrite()
        graph.validate()
        wrong = [f"{where}: {what}" for where, what in block.iter_error_messages() if what != "Port is not connected."]
        assert not wrong and not block.is_dummy_block, (name, wrong)


def chain_of_three(packets: int, most_samples: int) -> tuple[list[list[int]], list[dict[str, int]]]:
    """When each packet was done, hop by hop, over two hops as samples; and the frames that each MAC sent."""
    graph = gr.top_block()
    gains_db = ((None, -20, None), (-20, None, -20), (None, -20, None))
    medium = perhop_gr.medium(gains_db, -50.0, (20e3, -15e3, 5e3), latency_us=1000)
    medium.set_max_output_buffer(most_samples)
    macs = [perhop_gr.mac(node, seed=9, forward_to=2 if node == 1 else -1) for node in range(3)]
    source, probe = perhop_gr.packet_source(packets, 100, 1), perhop_gr.path_delay_probe(2)
    # GNU Radio does not keep a block's Python half: the flowgraph's maker does.
    modems = [(perhop_gr.dsss_demodulator(phy=True), perhop_gr.burst_modulator()) for _ in macs]
    for node, (mac, (demodulator, modulator)) in enumerate(zip(macs, modems, strict=True)):
        graph.connect((medium, node), demodulator)
        graph.msg_connect(demodulator, "phy", mac, "phy in")
        graph.msg_connect(mac, "phy out", modulator, "psdu")
        graph.msg_connect(modulator, "burst", medium, f"burst{node}")
        graph.msg_connect(mac, "done", probe, "done")
    graph.msg_connect(source, "packets", macs[0], "app in")
    graph.msg_connect(macs[2], "app out", probe, "arrived")
    for hop in range(2):
        graph.connect((probe, hop), blocks.null_sink(gr.sizeof_float))
    graph.start()
    wait_until(lambda: len(probe.complete()) == packets, 120)
    graph.stop()
    graph.wait()
    assert medium.late == 0 and medium.collisions == 0
    times_us = [[record["t_done_us"] for record in probe.records[number].values()] for number in probe.complete()]
    return times_us, [mac.kinds for mac in macs]


def test_a_chain_of_samples_takes_the_same_times_again():
    """Whatever the threads of GNU Radio do, and however the samples are cut."""
    times_us, kinds = chain_of_three(3, 65536)
    assert chain_of_three(3, 8192)[0] == times_us
    assert [each["rts"] for each in kinds[:2]] == [each["data"] for each in kinds[:2]] == [3, 3]
    assert [each["cts"] for each in kinds[1:]] == [each["mac_ack"] for each in kinds[1:]] == [3, 3]
