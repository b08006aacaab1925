# SPDX-License-Identifier: GPL-2.0-or-later
"""The timeline's NAVs and back-offs: what is reconstructed from the frames is what the MAC's rules and records say."""

import base64
import csv
import json
import zlib

import numpy as np
import pytest
from built import needs
from perhop.registers import spec_generated as spec
from perhop.report import air, capture
from perhop.report.capture import CTS, DATA, MAC_ACK, NOBODY, RTS, Frames

PROFILE = spec.PROFILES["dsss_long"]
RUN = {
    "nodes": [{"x_m": x_m, "y_m": 0.0} for x_m in (0.0, 200.0, 400.0, 600.0, 1600.0)],
    "medium": {"tx_range_m": 250.0, "cs_range_m": 550.0, "propagation_us": "auto"},
    "mac": {"compat": "standard"},
}
OFF_MAX_SHARE = 0.02


def frames(*rows):
    """Each row is (start, air, node, receiver, kind, duration), and what else is not 0 by name."""
    names = ("start_us", "air_us", "node", "receiver", "kind", "duration_us")
    columns = {name: np.array([row[at] for row in rows]) for at, name in enumerate(names)}
    zeros = np.zeros(len(rows), dtype=np.int64)
    return Frames(**columns, psdu_bytes=zeros, retry=zeros, fate=zeros, nodes=5, left_out=0)


def exchange(start_us=1000):
    """Node 1 sends a packet to node 2: RTS, CTS, DATA, MAC ACK, a SIFS and a microsecond of way apart."""
    cts_us = start_us + 352 + 11
    data_us = cts_us + 304 + 11
    mac_ack_us = data_us + 6408 + 11
    return [
        (start_us, 352, 1, 2, RTS, 304 + 6408 + 304 + 30),
        (cts_us, 304, 2, 1, CTS, 6408 + 304 + 20),
        (data_us, 6408, 1, 2, DATA, 304 + 10),
        (mac_ack_us, 304, 2, 1, MAC_ACK, 0),
    ]


def navs(found, node):
    reserved, _ = found
    return [
        (int(start), int(end))
        for n, start, end in zip(reserved.node, reserved.start_us, reserved.end_us, strict=True)
        if n == node
    ]


def test_who_reads_an_exchange_of_others_has_a_nav_until_its_end_and_who_takes_part_has_none():
    rows = exchange()
    found = air.reconstruct(frames(*rows), RUN, PROFILE, list(range(5)))
    end_us = rows[-1][0] + 304
    # Node 0 reads the RTS, node 3 the CTS; both reserve until about the end of the MAC ACK.
    (nav_0,), (nav_3,) = navs(found, 0), navs(found, 3)
    assert nav_0[0] == 1000 + 352 + 1 and abs(nav_0[1] - end_us) <= 4
    assert nav_3[0] == rows[1][0] + 304 + 1 and abs(nav_3[1] - end_us) <= 4
    assert navs(found, 1) == navs(found, 2) == []
    assert navs(found, 4) == [], "it is out of range"


def test_an_rts_that_nobody_answers_reserves_until_that_is_noticed():
    found = air.reconstruct(frames(exchange()[0]), RUN, PROFILE, [0])
    assert navs(found, 0) == [(1353, 1353 + PROFILE.nav_reset_us)]


def test_what_overlaps_at_a_node_sets_no_nav_there():
    rows = [exchange()[0], (1100, 352, 3, NOBODY, DATA, 500)]
    found = air.reconstruct(frames(*rows), RUN, PROFILE, [0, 2])
    assert navs(found, 2) == [], "nodes 1 and 3 collide at node 2"
    # Node 3 is 600 m away from node 0, which does not sense it.
    assert len(navs(found, 0)) == 1


def test_a_node_that_is_down_is_not_heard():
    run = {
        **RUN,
        "events": [{"at_s": 0.0005, "kind": "node_down", "node": 1}, {"at_s": 1.0, "kind": "node_up", "node": 1}],
    }
    assert navs(air.reconstruct(frames(exchange()[0]), run, PROFILE, [0]), 0) == []
    cut = {**RUN, "events": [{"at_s": 0.0005, "kind": "link_down", "a": 1, "b": 0}]}
    assert navs(air.reconstruct(frames(exchange()[0]), cut, PROFILE, [0]), 0) == []
    late = {**RUN, "events": [{"at_s": 0.5, "kind": "link_down", "a": 1, "b": 0}]}
    assert len(navs(air.reconstruct(frames(exchange()[0]), late, PROFILE, [0]), 0)) == 1


def test_an_access_waits_a_difs_or_an_eifs_and_then_its_slots():
    rows = exchange()
    end_us = rows[-1][0] + 304
    access_us = end_us + 1 + PROFILE.difs_us + 7 * PROFILE.slot_us
    all_rows = [*rows, (access_us, 352, 1, 2, RTS, 500)]
    _, waits = air.reconstruct(frames(*all_rows), RUN, PROFILE, [1])
    assert (waits.idle_from_us[-1], waits.ifs_us[-1]) == (end_us + 1, PROFILE.difs_us)
    assert list(waits.idle_from_us[1:4]) == [air.NO_ACCESS] * 3, "a CTS, DATA that it called for and a MAC ACK"
    # Node 0 senses the MAC ACK of node 2, 400 m away, and cannot read it.
    _, waits = air.reconstruct(frames(*rows, (access_us + 400, 352, 0, 1, RTS, 500)), RUN, PROFILE, [0])
    assert waits.ifs_us[-1] == PROFILE.eifs_us


def test_a_medium_that_was_idle_for_longer_than_a_back_off_tells_of_none():
    rows = [*exchange(), (1_000_000, 352, 1, 2, RTS, 500)]
    _, waits = air.reconstruct(frames(*rows), RUN, PROFILE, [1])
    assert waits.idle_from_us[-1] == air.NO_ACCESS


CHAIN = """\
name: air
topology: {kind: chain, hops: 4, spacing_m: 200}
flows: [{kind: tcp, src: first, dst: last}]
policies: [fixed 4]
duration_s: 4
warmup_s: 1
outputs: {completions: true}
"""


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    from perhop.cli import app
    from typer.testing import CliRunner

    folder = tmp_path_factory.mktemp("air")
    (folder / "air.yaml").write_text(CHAIN)
    done = CliRunner().invoke(app, ["run", str(folder / "air.yaml"), "--out", str(folder / "out")])
    assert done.exit_code == 0, done.output
    (run,) = (folder / "out/runs").iterdir()
    return run, (folder / "out/report.html").read_text()


@needs("perhop-sim")
def test_what_is_left_of_each_wait_of_the_gateware_is_whole_slots(chain):
    run, _ = chain
    config = json.loads((run / "run.json").read_text())
    read = capture.read(run / "packets.pcapng", PROFILE, 10**6)
    assert read is not None and len(read.start_us) == json.loads((run / "result.json").read_text())["transmissions"]
    _, waits = air.reconstruct(read, config, PROFILE, list(range(5)))
    known = waits.idle_from_us != air.NO_ACCESS
    assert known.sum() > 500
    slots_us = (read.start_us - waits.idle_from_us - waits.ifs_us)[known]
    # Where a node captures one of two frames, or was sending as one began, the reconstruction is off.
    assert (slots_us % PROFILE.slot_us == 0).mean() > 1 - OFF_MAX_SHARE
    assert (slots_us < 0).mean() < OFF_MAX_SHARE


@needs("perhop-sim")
def test_the_back_off_of_a_packet_that_found_no_other_traffic_is_that_of_its_completion_record(chain):
    run, _ = chain
    config = json.loads((run / "run.json").read_text())
    read = capture.read(run / "packets.pcapng", PROFILE, 10**6)
    _, waits = air.reconstruct(read, config, PROFILE, list(range(5)))
    at = {
        (int(node), int(start)): index for index, (node, start) in enumerate(zip(read.node, read.start_us, strict=True))
    }
    compared = equal = 0
    with (run / "completions.csv").open() as lines:
        for row in csv.DictReader(lines):
            number = {name: int(row[name]) for name in row if name not in ("result", "next_hop")}
            disturbed = number["frozen_cca_us"] + number["frozen_nav_us"] + number["responder_us"]
            index = at.get((number["node"], number["t_first_tx_us"]))
            once = number["rts_attempts"] == number["data_attempts"] == 1
            if disturbed or not once or index is None or not number["backoff_us"]:
                continue
            if waits.idle_from_us[index] == air.NO_ACCESS:
                continue
            # The record begins when the packet is at the head of the queue, which may be later.
            began_us = max(number["t_head_us"], int(waits.idle_from_us[index]))
            off_us = int(read.start_us[index]) - began_us - number["backoff_us"] - number["ifs_us"]
            compared += 1
            equal += abs(off_us) <= 2
    assert compared > 20
    assert equal / compared > 1 - OFF_MAX_SHARE, f"{equal} of {compared}"


@needs("perhop-sim")
def test_the_page_has_every_frame_of_the_capture(chain):
    run, text = chain
    about = json.loads(text.split('id="air-about">')[1].split("</script>")[0])
    packed = zlib.decompress(base64.b64decode(text.split('id="air-data">')[1].split("</script>")[0]))
    columns, at = {}, 0
    for name, kind, count in about["columns"]:
        columns[name] = np.frombuffer(packed, f"<{kind}", count, at)
        at += columns[name].nbytes
    assert at == len(packed)
    read = capture.read(run / "packets.pcapng", PROFILE, 10**6)
    assert (np.cumsum(columns["start"]) == read.start_us).all()
    assert (columns["air"] == read.air_us).all() and (columns["receiver"] == read.receiver).all()
    assert (columns["kind"] & 3 == read.kind).all() and (columns["kind"] >> 3 == read.fate).all()
    assert len(columns["nav_start"]) == len(columns["nav_node"]) > 100


def test_a_capture_that_was_cut_short_has_no_timeline(tmp_path):
    (tmp_path / "packets.pcapng").write_bytes(b"\x0a\x0d\x0d\x0a\xff\x00\x00\x00" + b"\x00" * 40)
    with pytest.raises(ValueError, match="cut short"):
        capture.read(tmp_path / "packets.pcapng", PROFILE, 10)
    (tmp_path / "packets.pcapng").write_bytes(b"")
    assert capture.read(tmp_path / "packets.pcapng", PROFILE, 10) is None


@needs("perhop-sim")
def test_of_too_many_frames_some_are_read_and_the_others_are_counted(chain):
    run, _ = chain
    some = capture.read(run / "packets.pcapng", PROFILE, 100)
    whole = capture.read(run / "packets.pcapng", PROFILE, 10**6)
    assert len(some.start_us) == 100 and some.left_out == len(whole.start_us) - 100
    later = capture.read(run / "packets.pcapng", PROFILE, 100, from_us=2_000_000)
    assert later.start_us[0] >= 2_000_000 and len(later.start_us) == 100
