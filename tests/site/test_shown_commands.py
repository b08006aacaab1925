# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command that a page shows is found, and one that nobody tries is a problem."""

import re
import subprocess

import pytest
import shown_commands

TARGETS = {"chain", "docs"}
TABLE = r"""
commands:
  - {shown: 'perhop run FILE', run: 'perhop run mine.yaml'}
  - {shown: 'make chain', elsewhere: itself, because: takes a minute}
"""


def texts(page):
    return [command.text for command in shown_commands.found_in(page, "p.md")[0]]


def test_commands_of_blocks_and_of_text_are_found():
    page = """# T

```sh
make chain        # words
$ .venv/bin/perhop run mine.yaml \\
    --set 'a=[1, 2]'
for host in a b; do
  ssh $host "x; done"
done
# only words
```

| task | by |
|---|---|
| that | `perhop run FILE`, then `make docs JOBS=4` |

`perhop.run` and `perhop` and `make` are none.

```text
make nothing of this
```
"""
    assert texts(page) == [
        "make chain",
        "perhop run mine.yaml --set 'a=[1, 2]'",
        'for host in a b; do ssh $host "x; done"; done',
        "perhop run FILE",
        "make docs JOBS=4",
    ]


def test_the_line_of_a_command_is_told():
    found, _ = shown_commands.found_in("# T\n\n```sh\nmake a\nmake b\n```\n\n`make c d`\n", "p.md")
    assert [(command.line, command.text) for command in found] == [(4, "make a"), (5, "make b"), (8, "make c d")]


@pytest.mark.parametrize("block", ["```\nmake chain\n```\n", "    make chain\n"])
def test_a_command_that_no_fence_names_is_a_problem(block):
    _, problems = shown_commands.found_in(f"# T\n\nWords:\n\n{block}", "p.md")
    assert len(problems) == 1


def sorted_out(page, table=TABLE, exists=lambda name: True):
    read = shown_commands.Table(table, TARGETS, exists)
    to_run, elsewhere, problems = shown_commands.sort_out(shown_commands.found_in(page, "p.md")[0], read, TARGETS)
    return list(to_run), list(elsewhere), read.problems + problems


def test_a_command_is_run_or_tried_elsewhere():
    assert sorted_out("`perhop run FILE` `make chain`") == (["perhop run FILE"], ["make chain"], [])


def test_a_command_in_neither_is_a_problem():
    problems = sorted_out("`perhop run FILE` `make chain` `perhop conquer WORLD`")[2]
    assert problems == ["p.md:1: commands.yaml does not know `perhop conquer WORLD`"]


def test_a_target_that_is_gone_is_a_problem():
    assert "there is no target of `make gone`" in sorted_out("`perhop run FILE` `make chain` `make gone`")[2][0]


def test_an_entry_that_no_page_shows_is_a_problem():
    assert sorted_out("`make chain`")[2] == ["commands.yaml: no page shows 'perhop run FILE'"]


def test_an_entry_must_name_a_test_that_is_there_and_say_why():
    table = "commands:\n  - {shown: make chain, elsewhere: tests/gone.py}\n"
    problems = sorted_out("`make chain`", table, lambda name: False)[2]
    assert len(problems) == 2 and "does not say why" in problems[0] and "which is not there" in problems[1]


def test_an_option_that_perhop_does_not_have_is_a_problem():
    options = {"perhop": ["--version"], "perhop run": ["--set"], "perhop live": [], "perhop live up": ["--exact"]}
    page = (
        "`perhop run FILE --set a=1` `perhop live up FILE --exact m2 -h` `perhop run FILE --sett a=1` `perhop fly now`"
    )
    problems = shown_commands.unknown_options(shown_commands.found_in(page, "p.md")[0], options)
    assert problems == ["p.md:1: perhop run has no option --sett", "p.md:1: perhop has no command fly"]


def test_commands_run_once_for_the_same_words_and_their_status_counts(tmp_path):
    entries = {
        "make A": {"shown": "make A", "run": "echo x >>ran; cat ran"},
        "make B": {"shown": "make B", "run": "echo x >>ran; cat ran"},
        "make C": {"shown": "make C", "run": "exit 3"},
        "make D": {"shown": "make D", "run": "exit 3", "status": [0, 3]},
    }
    (tmp_path / ".venv/bin").mkdir(parents=True)
    ran = shown_commands.run_all(entries, ["touch ran"], tmp_path)
    assert [one.ok for one in ran] == [True, True, False, True]
    assert (tmp_path / "ran").read_text() == "x\n"


def test_nothing_that_a_command_started_outlives_it(tmp_path):
    (tmp_path / ".venv/bin").mkdir(parents=True)
    status, output = shown_commands.run("sleep 300 >/dev/null 2>&1 & echo $!", tmp_path)
    assert status == 0
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", output.strip()], capture_output=True, text=True, check=False
    ).stdout
    assert not state.strip() or state.startswith("Z")


def test_every_command_that_the_pages_show_is_known(root):
    import pages

    names = [name for name in pages.tracked(root) if name.endswith(".md") and name != "CHANGELOG.md"]
    shown, problems = shown_commands.find(root, names)
    targets = set(re.findall(r"^([a-z][a-z-]*):(?!=)", (root / "Makefile").read_text(), re.MULTILINE))
    table = shown_commands.Table(
        (root / "docs/site/commands.yaml").read_text(), targets, lambda name: (root / name).exists()
    )
    to_run, elsewhere, unknown = shown_commands.sort_out(shown, table, targets)
    assert not problems + table.problems + unknown
    assert len(to_run) > 30 and len(elsewhere) > 100
