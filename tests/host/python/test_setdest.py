# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces in setdest's format: what is read and written, what is refused, and that ns-2 sees the same motion."""

import math
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perhop.errors import ExperimentError
from perhop.mobility import setdest, waypoint
from perhop.mobility.trace import Trace, Turn

NODE_0 = "$node_(0) set X_ 83.36\n$node_(0) set Y_ 239.43\n$node_(0) set Z_ 0.000000000000\n"
MOVE = '$ns_ at 2.5 "$node_(0) setdest 90.44 44.89 1.37"\n'


def test_a_file_of_setdest_is_read():
    text = (
        "#\n# nodes: 2, pause: 2.00, max speed: 1.00  max x = 500.00, max y: 500.00\n#\n"
        + NODE_0
        + "$node_(1) set X_ 1e2\r\n$node_(1)  set  Y_  .5\r\n$node_(1) set Z_ 0.0\n\n"
        + "$god_ set-dist 0 1 1\n"
        + '$ns_ at 899.6 "$node_(1) setdest 1 2 0.0"\n'
        + MOVE
        + '$ns_ at 3.7 "$god_ set-dist 0 1 2"\n'
    )
    trace = setdest.parse(text, "trace")
    assert trace.starts == ((83.36, 239.43), (100.0, 0.5))
    assert trace.turns == (Turn(2.5, 0, 90.44, 44.89, 1.37), Turn(899.6, 1, 1, 2, 0))


BAD = {
    "nothing": ("", 1, "places no node", "write"),
    "Tcl": (NODE_0 + "exec rm\n", 4, "is no line of setdest's format: 'exec rm'", "setdest X Y SPEED"),
    "a loop": (NODE_0 + "for {set i 0} {$i < 9} {incr i} {}\n", 4, "is no line", "write"),
    "a jump": (NODE_0 + '$ns_ at 2 "$node_(0) set X_ 5"\n', 4, "is no line", "write"),
    "no axis": ("$node_(0) set X_ 5\n", 1, "does not say Y_ of node 0", "add `$node_(0) set Y_"),
    "a gap": (NODE_0.replace("(0)", "(2)"), 1, "does not say X_ of node 0, and names nodes up to 2", "add"),
    "an axis twice": (NODE_0 + "$node_(0) set X_ 5\n", 4, "gives X_ of node 0 a second time", "remove one"),
    "a far node": ("$node_(65536) set X_ 5\n", 1, "names node 65536", "at most 65535"),
    "an unplaced node": (NODE_0 + MOVE.replace("_(0)", "_(1)"), 4, "moves node 1, which has no place", "place it"),
    "a negative time": (NODE_0 + MOVE.replace("2.5", "-2.5"), 4, "the time is -2.5", "from 0 to"),
    "a negative speed": (NODE_0 + MOVE.replace("1.37", "-1"), 4, "the speed is -1", "from 0 to"),
    "a tiny speed": (NODE_0 + MOVE.replace("1.37", "1e-300"), 4, "has a speed of 1e-300 m/s", "give 0, or at least"),
    "infinity": (NODE_0 + MOVE.replace("90.44", "9e999"), 4, "x is 9e999", "from -1e+07 to"),
    "no number": (NODE_0 + MOVE.replace("90.44", "nan"), 4, "is no line", "write"),
    "a far place": (NODE_0 + MOVE.replace("44.89", "1e8"), 4, "y is 1e8", "from -1e+07 to"),
}


@pytest.mark.parametrize("text, line, problem, remedy", BAD.values(), ids=BAD)
def test_a_bad_file_ends_in_one_message_with_line_and_remedy(text, line, problem, remedy):
    with pytest.raises(ExperimentError) as raised:
        setdest.parse(text, "trace.tcl")
    error = raised.value
    assert (error.file, error.line) == ("trace.tcl", line)
    assert problem in error.problem and remedy in error.remedy


def test_files_that_are_no_text_or_not_there_end_in_one_message(tmp_path):
    with pytest.raises(ExperimentError, match="cannot be read"):
        setdest.load(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"# one\n# two \xff\n")
    with pytest.raises(ExperimentError, match="bytes:2: is not a text file in UTF-8"):
        setdest.load(tmp_path / "bytes")


metres = st.floats(-1e7, 1e7)
speeds = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


@st.composite
def traces(draw):
    nodes = draw(st.integers(1, 6))
    places = st.tuples(metres, metres)
    turns = st.builds(Turn, st.floats(0, 1e9), st.integers(0, nodes - 1), metres, metres, speeds)
    starts = draw(st.lists(places, min_size=nodes, max_size=nodes))
    return Trace(tuple(starts), tuple(sorted(draw(st.lists(turns, max_size=20)), key=lambda turn: turn.at_s)))


@given(traces())
def test_what_is_written_is_read_to_the_last_bit(trace):
    assert setdest.parse(setdest.write(trace, "of a test\nin two lines"), "trace") == trace


WORDS = '$node_(0) $node_(1) $node_(99999999999) $ns_ $god_ at set X_ Y_ Z_ " setdest # 1 2.5 1e400 - . nan { ]'
words = st.sampled_from([*WORDS.split(" "), "\n", " ", "\r", "\t", "\x85", "\u0663"])
several = st.lists(words, max_size=40)


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=200), several.map(" ".join), several.map("".join)))
def test_any_text_is_a_trace_or_ends_in_one_message(text):
    try:
        trace = setdest.parse(NODE_0 + text, "trace")
    except ExperimentError as error:
        assert 1 <= error.line <= text.count("\n") + 4
        assert error.problem and error.remedy
        return
    numbers = [value for turn in trace.turns for value in (turn.at_s, turn.x_m, turn.y_m, turn.speed_mps)]
    assert all(map(math.isfinite, numbers))
    assert setdest.parse(setdest.write(trace), "trace") == trace


@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=3))
def test_a_damaged_file_is_a_trace_or_ends_in_one_message(tmp_path_factory, place, damage):
    content = bytearray(setdest.write(waypoint.draw(waypoint.Waypoints(2, 99, 99, 1, 5, 0, 60), 1)).encode())
    start = place % len(content)
    content[start : start + len(damage)] = damage
    file = tmp_path_factory.getbasetemp() / "damaged"
    file.write_bytes(content)
    try:
        setdest.load(file)
    except ExperimentError as error:
        assert error.file == str(file) and error.line and error.remedy


# What ns-2 knows of positions it computes when a node is told where to go, so each time has nodes of its own.
NS2 = """
set ns_ [new Simulator]
set topo [new Topography]
$topo load_flatgrid 1000 1000
set channel [new Channel/WirelessChannel]
$topo channel $channel
proc look {node time index} {
  $node setdest 1 1 0.001
  puts "PLACE $time $index [$node set X_] [$node set Y_]"
}
foreach time {TIMES} {
  for {set index 0} {$index < NODES} {incr index} {
    set node_($index) [new Node/MobileNode]
    $node_($index) random-motion 0
    $node_($index) topography $topo
    $channel add-node $node_($index)
  }
  source TRACE
  for {set index 0} {$index < NODES} {incr index} {
    $ns_ at $time "look $node_($index) $time $index"
  }
}
$ns_ at 301 "exit 0"
$ns_ run
"""


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
@pytest.mark.parametrize("pause_s", [0.0, 7.5])
def test_ns2_has_its_nodes_where_we_have_them(tmp_path, pause_s):
    nodes, times_s = 6, (0.5, 33.3, 100.0, 177.7, 299.9)
    drawn = waypoint.draw(waypoint.Waypoints(nodes, 1000, 1000, 0, 20, pause_s, 300), 11)
    # Told elsewhere under way, and told to stay.
    more = (Turn(50.25, 0, 500.0, 500.0, 3.0), Turn(80.0, 1, 1.5, 2.5, 0.0))
    trace = Trace(drawn.starts, tuple(sorted(drawn.turns + more)))
    (tmp_path / "trace.tcl").write_text(setdest.write(trace))
    script = NS2.replace("TIMES", " ".join(map(str, times_s))).replace("NODES", str(nodes))
    (tmp_path / "look.tcl").write_text(script.replace("TRACE", str(tmp_path / "trace.tcl")))
    done = subprocess.run(["ns", "look.tcl"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    seen = [line.split() for line in done.stdout.splitlines() if line.startswith("PLACE")]
    assert len(seen) == nodes * len(times_s), done.stdout + done.stderr
    for _, time_s, node, x_m, y_m in seen:
        ours = trace.at(int(node), float(time_s))
        assert math.dist(ours, (float(x_m), float(y_m))) < 1e-4, (time_s, node)


def test_a_trace_that_setdest_made_is_read(tmp_path):
    if shutil.which("setdest") is None:
        pytest.skip("ns-2's setdest is not installed")
    made = subprocess.run(
        ["setdest", "-v", "1", "-n", "5", "-p", "2", "-M", "9", "-t", "100", "-x", "500", "-y", "400"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    trace = setdest.parse(made.stdout, "made")
    assert len(trace.starts) == 5 and len(trace.turns) > 5
    for node in range(5):
        assert all(0 <= place[0] <= 500 and 0 <= place[1] <= 400 for _, place in trace.breakpoints(node, 100))
