# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the perhop command share: a build with a fake simulator, and small experiment files."""

import stat
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from perhop.cli import app
from perhop.report import figures
from typer.testing import CliRunner

FAKE = Path(__file__).with_name("fake_simulator.py")

# Lines are counted by test_bad_input.py: append, do not insert.
CHAIN = """\
name: small
topology:
  kind: chain
  hops: 2
  spacing_m: 250
medium:
  reception: ns2
  tx_range_m: 250
mac:
  profile: dsss_long
  data_rate_mbps: 2
flows:
  - kind: tcp
    src: first
    dst: last
policies: [none, fixed 8]
sweep:
  topology.hops: [1, 3]
seeds: [1, 2]
duration_s: 10
warmup_s: 2
"""


@pytest.fixture
def fake_build(tmp_path, monkeypatch) -> Path:
    """A build folder whose perhop-sim and perhop-air are fake_simulator.py; PERHOP_BUILD names it."""
    build = tmp_path / "build"
    for name in ("sim/ns3/perhop-sim", "sim/run/perhop-air"):
        program = build / name
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PERHOP_BUILD", str(build))
    return build


@pytest.fixture
def experiment(tmp_path) -> Path:
    """CHAIN in a file: two chains, two policies, two seeds, so eight runs."""
    file = tmp_path / "small.yaml"
    file.write_text(CHAIN)
    return file


@dataclass(frozen=True)
class Outcome:
    """What a command did. `stderr` has its line breaks; `said` has spaces for them, so that wrapping is no matter."""

    code: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        return " ".join(self.stderr.split())


@pytest.fixture
def perhop():
    """Call the command in this process: perhop("run", file, ...)."""

    def call(*arguments: object) -> Outcome:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Gives the labels of the runs that were started since the last call."""
    log = tmp_path / "made.log"
    monkeypatch.setenv("FAKE_LOG", str(log))

    def read() -> list[str]:
        labels = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return labels

    return read


@pytest.fixture
def home(tmp_path, monkeypatch, fake_build):
    """The folder in which commands are called, empty. Nothing is drawn: test_pages.py looks at pictures."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setattr(figures, "_svg", lambda figure: "<svg></svg>")
    monkeypatch.chdir(folder)
    return folder
