# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds every command that the pages show, and runs what commands.yaml says can be run here.

A command is a line of a block of `sh` or `console`, or code in the text that begins like one: `make synth`.
commands.yaml says of each whether it is run, by what words in place of its capitals, or what else tries it, and why not
this. A command that it does not know is a problem; so is an entry that no page shows, or that names what is gone.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.M | re.S)
SHELL = ("sh", "console", "bash")
# Code in the text that begins like a command.
INLINE = re.compile(
    r"(?<![`\\])`((?:make|perhop|\.venv[\w-]*/bin/[\w.-]+|ctest|cmake|dask|git grep|fusesoc|cloc|PERHOP_\w+=\S+)"
    r" [^`\n]+)`(?!`)"
)
INDENTED = re.compile(r"(?:^[ ]*\n|\A)((?:^    (?! ).*\n(?:^(?:    .*|[ ]*)\n)*))", re.M)
COMMENT = re.compile(r"(?:^|\s+)#(?: .*)?$")
TIMEOUT_S = 900


@dataclass(frozen=True)
class Shown:
    """A command where a page shows it."""

    page: str
    line: int
    text: str


@dataclass
class Ran:
    """What became of a command that was run."""

    shown: str
    text: str
    status: int
    wanted: tuple[int, ...]
    output: str

    @property
    def ok(self) -> bool:
        return self.status in self.wanted


def found_in(text: str, page: str) -> tuple[list[Shown], list[str]]:
    """The commands of a page, and what is wrong with its blocks."""
    shown, problems, kept, at = [], [], [], 0
    for block in BLOCK.finditer(text):
        first = text[: block.start()].count("\n") + 2
        if block["language"] in SHELL:
            shown += [Shown(page, first + number, line) for number, line in logical_lines(block["body"])]
        elif not block["language"]:
            problems += [
                f"{page}:{first + number}: a command in a block that does not say ```sh: {line.strip()}"
                for number, line in enumerate(block["body"].splitlines())
                if INLINE.fullmatch(f"`{COMMENT.sub('', line.strip())}`")
            ]
        # Lines stay where they are.
        kept += [text[at : block.start()], "\n" * block[0].count("\n")]
        at = block.end()
    prose = "".join([*kept, text[at:]])
    for block in INDENTED.finditer(prose):
        before = prose[: block.start(1)].rstrip().rsplit("\n", 1)[-1]
        if not re.match(r"\s*(?:[-*]|\d+\.) |\s{2,}\S", before):
            problems.append(
                f"{page}:{prose[: block.start(1)].count(chr(10)) + 1}: an indented block; say ```sh or ```text"
            )
    for inline in INLINE.finditer(prose):
        shown.append(Shown(page, prose[: inline.start()].count("\n") + 1, normal(inline[1])))
    return shown, problems


def logical_lines(body: str) -> Iterable[tuple[int, str]]:
    """(number, command) of a block: continued lines and loops are one command; comments are none."""
    waiting, first = "", 0
    for number, raw in enumerate(body.splitlines()):
        line = COMMENT.sub("", raw.strip().removeprefix("$ ")) if not waiting or not raw.strip().startswith("#") else ""
        if not line:
            continue
        first = first if waiting else number
        if line.endswith("\\"):
            waiting += line[:-1].rstrip() + " "
            continue
        whole = waiting + line
        open_loop = re.match(r"for .*", whole) and not re.search(r"(?:^|[;&] ?)done$", whole) and line != "done"
        if open_loop or whole.endswith("|"):
            waiting = whole + (" " if whole.endswith(("|", "do")) else "; ")
            continue
        yield first, normal(whole)
        waiting = ""


def normal(command: str) -> str:
    return re.sub(r"\s+", " ", command.replace(".venv/bin/perhop", "perhop").replace(".venv/bin/dask", "dask")).strip()


def find(root: Path, names: Iterable[str]) -> tuple[list[Shown], list[str]]:
    shown, problems = [], []
    for name in names:
        more, wrong = found_in((root / name).read_text(), name)
        shown += more
        problems += wrong
    return shown, problems


class Table:
    """commands.yaml, read."""

    def __init__(self, text: str, targets: Iterable[str], exists: Callable[[str], bool]) -> None:
        said = yaml.safe_load(text)
        self.before, self.entries, self.problems = said.get("before", []), said["commands"], []
        self.used: set[int] = set()
        for entry in self.entries:
            elsewhere = entry.get("elsewhere")
            if ("run" in entry) == (elsewhere is not None):
                self.problems.append(f"commands.yaml: {entry['shown']!r} is to be run, or tried elsewhere: say one")
            if elsewhere is None:
                continue
            if not entry.get("because"):
                self.problems.append(f"commands.yaml: {entry['shown']!r} does not say why it is not run here")
            name = elsewhere.removeprefix("make ")
            if not (name in targets if elsewhere.startswith("make ") else elsewhere == "itself" or exists(elsewhere)):
                self.problems.append(f"commands.yaml: {entry['shown']!r} is tried by {elsewhere}, which is not there")

    def entry(self, command: str) -> dict | None:
        for at, entry in enumerate(self.entries):
            if re.fullmatch(entry["shown"], command):
                self.used.add(at)
                return entry
        return None

    def unused(self) -> list[str]:
        return [
            f"commands.yaml: no page shows {entry['shown']!r}"
            for at, entry in enumerate(self.entries)
            if at not in self.used
        ]


def sort_out(
    shown: list[Shown], table: Table, targets: Iterable[str]
) -> tuple[dict[str, dict], dict[str, dict], list[str]]:
    """Commands to run and those tried elsewhere, by their text, and what is in neither."""
    to_run, elsewhere, problems = {}, {}, []
    for command in shown:
        target = re.fullmatch(r"make ([a-z][a-z-]*)(?: [A-Z_]+=.*)?", command.text)
        entry = table.entry(command.text)
        if target and target[1] not in targets:
            problems.append(f"{command.page}:{command.line}: there is no target of `{command.text}`")
        elif entry is None:
            problems.append(f"{command.page}:{command.line}: commands.yaml does not know `{command.text}`")
        else:
            (to_run if "run" in entry else elsewhere)[command.text] = entry
    return to_run, elsewhere, problems + table.unused()


def unknown_options(shown: Iterable[Shown], options: dict[str, list[str]]) -> list[str]:
    """Options of `perhop` that pages show and the program does not have."""
    found = []
    for command in shown:
        words = command.text.split(" -- ")[0].split()
        if words[0] != "perhop":
            continue
        name, at = "perhop", 1
        while at < len(words) and f"{name} {words[at]}" in options:
            name, at = f"{name} {words[at]}", at + 1
        if at < len(words) and at == 1 and words[at][0] != "-" and not words[at].isupper():
            found.append(f"{command.page}:{command.line}: perhop has no command {words[at]}")
        given = [word.split("=")[0] for word in words[at:] if re.match(r"--?[a-z]", word)]
        found += [
            f"{command.page}:{command.line}: {name} has no option {option}"
            for option in given
            if option not in [*options.get(name, []), "--help", "-h"]
        ]
    return found


def scratch(root: Path, folder: Path) -> None:
    """A folder that looks like the checkout and has an `out` of its own, but for what is built."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    for entry in root.iterdir():
        if entry.name not in ("out", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "out/build").symlink_to(root / "out/build")


def run(command: str, folder: Path) -> tuple[int, str]:
    """Its exit status and what it said; 124 when it took too long. Nothing that it started outlives it."""
    environment = {
        **os.environ,
        "PATH": f"{folder / '.venv/bin'}:{os.environ['PATH']}",
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "CHECKOUT": str(Path(__file__).resolve().parents[2]),
    }
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", process_group=0,
    )  # fmt: skip
    try:
        output = process.communicate(timeout=TIMEOUT_S)[0]
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return 124, f"stopped after {TIMEOUT_S} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_all(
    to_run: dict[str, dict], before: list[str], folder: Path, on_ran: Callable[[Ran], None] = lambda ran: None
) -> list[Ran]:
    """Runs them in the order of the pages; what is the same when its capitals have values, once."""
    done: dict[str, Ran] = {}
    for command in before:
        status, output = run(command, folder)
        if status:
            return [Ran("before", command, status, (0,), output)]
    ran = []
    for shown, entry in to_run.items():
        text = shown if entry["run"] is True else re.sub(entry["shown"], entry["run"], shown)
        wanted = tuple(entry.get("status", [0]))
        if text not in done:
            status, output = run(text, folder)
            done[text] = Ran(shown, text, status, wanted, output)
            on_ran(done[text])
        ran.append(Ran(shown, text, done[text].status, wanted, done[text].output))
    return ran


def as_line(ran: Ran) -> str:
    return json.dumps(vars(ran)) + "\n"
