# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/lint_cxx.py calls clean only what clang-tidy found clean with exactly these inputs."""

import shutil
from pathlib import Path

import lint_cxx
import pytest

pytestmark = pytest.mark.skipif(shutil.which("clang-tidy") is None, reason="there is no clang-tidy")

HEADER = "inline int nothing_of(int x) { return 0; }  // NOLINT\n"
SOURCE = """
#include <one.hpp>
#if __has_include("other.hpp")
int with_other();
#endif
int one() { return nothing_of(1); }
"""


class Lint:
    """A source with a header in a folder of its own, and how often clang-tidy was run."""

    def __init__(self, folder: Path) -> None:
        self.code, self.clean, self.before = folder / "host/core", folder / "clean", folder / "before"
        for made in (self.code, self.clean, self.before):
            made.mkdir(parents=True)
        self.header, self.source, self.config = self.code / "one.hpp", self.code / "one.cpp", folder / ".clang-tidy"
        self.options = ["-std=c++20", f"-I{self.before}", f"-I{self.code}"]
        self.unit, self.runs = folder / "unit.cpp", 0
        self.header.write_text(HEADER)
        self.source.write_text(SOURCE)
        self.config.write_text("Checks: '-*,misc-unused-parameters'\nWarningsAsErrors: '*'\n")
        self.unit.write_text(f'#include "{self.source}"\n')

    def check(self) -> str:
        return lint_cxx.check(self.unit, self.code, tuple(self.options), self.config, self.clean)


@pytest.fixture
def lint(tmp_path, monkeypatch):
    made, run = Lint(tmp_path), lint_cxx.findings_of

    def counted(command, directory):
        made.runs += 1
        return run(command, directory)

    monkeypatch.setattr(lint_cxx, "findings_of", counted)
    return made


def append(file: Path, text: str) -> None:
    file.write_text(file.read_text() + text)


def another_clang_tidy(lint, monkeypatch):
    program, tool = lint_cxx.clang_tidy()
    monkeypatch.setattr(lint_cxx, "clang_tidy", lambda: (program, tool + b"patched"))


# Each leaves the unit clean.
CHANGES = {
    "the text of a header": lambda lint, _: append(lint.header, "int more();\n"),
    "a comment in a header": lambda lint, _: lint.header.write_text(HEADER.replace("NOLINT", "NOLINT(misc-*)")),
    "a comment in the source": lambda lint, _: append(lint.source, "// more\n"),
    "what __has_include finds": lambda lint, _: (lint.code / "other.hpp").touch(),
    "a header of the same text before it": lambda lint, _: shutil.copy(lint.header, lint.before),
    "the configuration": lambda lint, _: append(lint.config, "# more\n"),
    "an option": lambda lint, _: lint.options.append("-Wall"),
    "clang-tidy": another_clang_tidy,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_checked_and_what_did_not_change_is_not(lint, monkeypatch, change):
    assert [lint.check(), lint.check(), lint.runs] == ["", "", 1]
    CHANGES[change](lint, monkeypatch)
    assert [lint.check(), lint.runs] == ["", 2], change
    assert [lint.check(), lint.runs] == ["", 2]


def test_a_nolint_that_goes_is_a_finding_and_findings_are_not_kept(lint):
    assert lint.check() == ""
    lint.header.write_text(HEADER.partition("//")[0] + "\n")
    assert "parameter 'x' is unused" in lint.check() and "parameter 'x' is unused" in lint.check()
    assert lint.runs == 3
    lint.header.write_text(HEADER)
    assert [lint.check(), lint.runs] == ["", 3], "as it was when it was clean"


def test_a_file_that_is_written_during_the_check_leaves_no_verdict(lint, monkeypatch):
    run = lint_cxx.findings_of

    def written_meanwhile(command, directory):
        append(lint.header, "int more();\n")
        return run(command, directory)

    monkeypatch.setattr(lint_cxx, "findings_of", written_meanwhile)
    assert lint.check() == "" and not list(lint.clean.iterdir())


def test_what_the_preprocessor_refuses_is_a_finding_each_time(lint):
    append(lint.source, '#include "absent.hpp"\n')
    assert "absent.hpp" in lint.check() and "absent.hpp" in lint.check() and lint.runs == 2


def test_two_files_of_a_unit_with_one_name_for_two_things_are_named(lint):
    twin = lint.code / "two.cpp"
    append(lint.source, "namespace {\nint helper() { return 1; }\n}\n")
    twin.write_text("namespace {\nint helper() { return 2; }\n}\n")
    append(lint.unit, f'#include "{twin}"\n')
    said = f"lint_cxx: {lint.source} and {twin}, which are checked as one unit, both define 'helper': make it one"
    assert said in lint.check()


def test_parts_of_a_folder_have_all_of_its_files_and_few_lines_each():
    files = [
        str(file.relative_to(lint_cxx.ROOT)) for file in sorted((lint_cxx.ROOT / "host/core/policy").glob("*.cpp"))
    ]
    parts = list(lint_cxx.parts(files))
    assert [name for part in parts for name in part] == files and len(parts) > 1
    for part in parts:
        lines = sum((lint_cxx.ROOT / name).read_text().count("\n") for name in part)
        assert len(part) == 1 or lines <= lint_cxx.MOST_LINES
