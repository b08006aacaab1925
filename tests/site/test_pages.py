# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of pages: links lead to pages, a broken one stays broken, the index is the navigation."""

import pages
import pytest

TREE = {
    "README.md": "# Top\n\nSee [a](a), [b](a/b), [`code`](a/b/x.cpp), [head](a/README.md#there), [no](nowhere.md), [out](https://x.org).\n",
    "a/README.md": "# A\n\n## There\n\n![p](p.svg) [up](../README.md) [licence](../LICENSE)\n",
    "a/p.svg": "<svg/>",
    "a/b/x.cpp": "int x;  // ```\n```\n",
    "LICENSE": "words",
}


@pytest.fixture
def staged(tree, tmp_path):
    pages.Stager(tree(TREE), tmp_path / "out").stage()
    return lambda name: (tmp_path / "out" / name).read_text()


def test_links_lead_to_what_is_staged(staged):
    top = staged("README.md")
    assert "[a](a/README.md)" in top and "[b](a/b/index.md)" in top and "[`code`](a/b/x.cpp.md)" in top
    assert "(a/README.md#there)" in top and "(https://x.org)" in top
    assert "[licence](../LICENSE.md)" in staged("a/README.md") and staged("a/p.svg") == "<svg/>"


def test_a_broken_link_is_left_for_mkdocs_to_refuse(staged):
    assert "[no](nowhere.md)" in staged("README.md")


def test_a_source_is_shown_whole_even_with_fences_in_it(staged):
    shown = staged("a/b/x.cpp.md")
    assert "````cpp\nint x;  // ```\n```\n````" in shown and "exclude: true" in shown
    assert "[`x.cpp`](x.cpp.md)" in staged("a/b/index.md")


def test_links_in_code_are_no_links(tree, tmp_path):
    text = "# T\n\n`[a](a)` and\n\n```text\n[a](a)\n```\n"
    pages.Stager(tree({"README.md": text, "a/README.md": "# A\n"}), tmp_path / "out").stage()
    assert (tmp_path / "out/README.md").read_text() == text


def test_lists_and_tables_get_the_empty_line_that_python_markdown_wants():
    assert pages.apart("Words:\n- one\n- two\n  more\n| a |\n|---|") == "Words:\n\n- one\n- two\n  more\n\n| a |\n|---|"
    assert pages.apart("1. one\n2. two\n   words\n3. three") == "1. one\n2. two\n   words\n3. three"


def test_the_navigation_is_the_index_each_page_once():
    index = """# I
## How to: solve
| task | page |
|---|---|
| add a *thing* | [one](one.md) |
| again | [one](one.md), [run.json](../two.md) |
### Measured
- [Three](three.md#heading), [Three](three.md)
"""
    nav = pages.navigation(index, ["docs/one.md", "two.md", "docs/three.md"])
    assert nav == [
        {"How to": [{"Add a thing": "docs/one.md"}, {"run.json": "two.md"}, {"Measured": [{"Three": "docs/three.md"}]}]}
    ]
