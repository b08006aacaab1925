# SPDX-License-Identifier: GPL-2.0-or-later
"""A mistake in a source ends in one line that names file, line and field, and no code is written."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SPEC = ROOT / "gateware/spec"

# file, text that is there once, what a hasty hand made of it, words of the message behind file and line
MISTAKES = {
    "unknown field": (
        "protocol.yaml",
        "    symbol_us: 8\n",
        "    symbol_us: 8\n    symbols_us: 8\n",
        r"profiles\.ofdm_10mhz\.symbols_us: Extra inputs are not permitted",
    ),
    "word for a number": (
        "protocol.yaml",
        "    sifs_us: 32\n",
        "    sifs_us: soon\n",
        r"profiles\.ofdm_10mhz\.sifs_us: .*valid integer",
    ),
    "contention window": (
        "protocol.yaml",
        "    slot_us: 13\n    sifs_us: 32\n    cw_min: 15\n",
        "    slot_us: 13\n    sifs_us: 32\n    cw_min: 16\n",
        r"profiles\.ofdm_10mhz: cw_min 16 is not a power of two minus one",
    ),
    "time too long for its register": (
        "protocol.yaml",
        "    slot_us: 13\n",
        "    slot_us: 8192\n",
        r"profiles\.ofdm_10mhz: slot_us is 8192, more than widths\.slot_us \(13 bits\) can hold",
    ),
    "rate without whole bits a symbol": (
        "protocol.yaml",
        "      - {bps: 4500000, control_rate_index: 0}",
        "      - {bps: 4550000, control_rate_index: 0}",
        r"profiles\.ofdm_10mhz: rate 1: 4550000 b/s is not a whole number of bits in 8 us",
    ),
    "rate index past the last rate": (
        "protocol.yaml",
        "    lowest_basic_rate_index: 0  # EIFS",
        "    lowest_basic_rate_index: 4  # EIFS",
        r"profiles\.dsss_short: rate index 4 is past the last rate, 3",
    ),
    "enum member too large": (
        "protocol.yaml",
        "{name: group_sent, value: 3,",
        "{name: group_sent, value: 4,",
        r"enums\.tx_result: member value 4 does not fit 2 bits",
    ),
    "missing field": (
        "protocol.yaml",
        "    channel_mhz: 5900\n",
        "",
        r"profiles\.ofdm_10mhz\.channel_mhz: Field required",
    ),
    "not YAML": ("protocol.yaml", "  ofdm_10mhz:\n", "  ofdm_10mhz: [\n", r"not YAML: "),
    "frame that does not fill its bytes": (
        "frames.yaml",
        "{name: echo_hops, bits: 8,",
        "{name: echo_hops, bits: 7,",
        r"frames\.path_header: the fields from echo_hops on do not fill whole bytes",
    ),
    "header that is not as long as stated": (
        "frames.yaml",
        "{name: echo_hops, bits: 8,",
        "{name: echo_hops, bits: 16,",
        r"frames\.path_header: has 19 bytes; path_header_bytes says 18",
    ),
    "default too large": (
        "frames.yaml",
        "{name: control, bits: 8, must_be: 0x03,",
        "{name: control, bits: 8, must_be: 0x103,",
        r"frames\.llc_snap\.fields\.2: must_be 259 does not fit 8 bits",
    ),
    "field twice": (
        "frames.yaml",
        "{name: echo_rate, bits: 16,",
        "{name: current_rate, bits: 16,",
        r"frames\.path_header: field current_rate is listed twice",
    ),
    "mixed byte orders": (
        "frames.yaml",
        "{name: order, bits: 1, default: 0,",
        "{name: order, bits: 1, default: 0, byte_order: big,",
        r"frames\.data_header: field order shares a byte with a field of another byte order",
    ),
    "enum that is not there": (
        "frames.yaml",
        "enum: tx_result,",
        "enum: tx_results,",
        r"records\.completion_record\.fields\.5\.enum: tx_results is no enum of protocol\.yaml",
    ),
    "overlapping register fields": (
        "registers.rdl",
        "cw_max[25:16]",
        "cw_max[25:9]",
        r".*cw_max.*overlaps",
    ),
    "two registers at an address": ("registers.rdl", "} eifs @ 0x03C;", "} eifs @ 0x038;", r".*overlaps"),
    "unknown register property": (
        "registers.rdl",
        '    buffer_reads;\n    field { desc = "Time',
        '    buffer_read;\n    field { desc = "Time',
        r".*Unrecognized property 'buffer_read'",
    ),
    "reset value too large": ("registers.rdl", "shift[2:0] =", "shift[1:0] =", r".*reset"),
}


def generate_with(tmp_path: Path, file: str, old: str, new: str) -> tuple[subprocess.CompletedProcess, int, Path]:
    """Runs the generator on a copy with one edit; also gives the edit's line and the folder written to."""
    spec, out = tmp_path / "spec", tmp_path / "out"
    shutil.copytree(SPEC, spec, ignore=shutil.ignore_patterns("__pycache__"))
    text = (spec / file).read_text()
    assert text.count(old) == 1, f"the mistake's place in {file} has moved: {old!r}"
    (spec / file).write_text(text.replace(old, new))
    line = text[: text.index(old)].count("\n") + 1
    command = [sys.executable, SPEC / "generate.py", "--spec", spec, "--root", out]
    return subprocess.run(command, capture_output=True, text=True), line, out


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_named(mistake, tmp_path):
    file, old, new, message = MISTAKES[mistake]
    done, _, out = generate_with(tmp_path, file, old, new)
    assert done.returncode == 1
    assert re.match(rf"generate\.py: {re.escape(file)}:\d+: {message}", done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert not list(out.rglob("*.hpp")) and not list(out.rglob("*.sv"))


@pytest.mark.parametrize(
    "mistake", ["word for a number", "unknown field", "default too large", "enum that is not there"]
)
def test_line_of_a_mistake_is_right(mistake, tmp_path):
    file, old, new, _ = MISTAKES[mistake]
    done, line, _ = generate_with(tmp_path, file, old, new)
    line += mistake == "unknown field"  # added behind the line that marks the place
    assert done.stderr.startswith(f"generate.py: {file}:{line}: "), done.stderr


def test_missing_source_is_named(tmp_path):
    (tmp_path / "spec").mkdir()
    command = [sys.executable, SPEC / "generate.py", "--spec", tmp_path / "spec", "--root", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "generate.py: protocol.yaml: cannot be read: No such file or directory\n"
