# SPDX-License-Identifier: GPL-2.0-or-later
"""Notebooks have no outputs in git, and the site has all of them."""

import json

import stripped


def test_what_git_should_not_have_is_found(tmp_path):
    cell = {"cell_type": "code", "execution_count": 3, "outputs": [{"output_type": "stream"}], "source": []}
    book = {"cells": [cell], "metadata": {"colab": {}}}
    (tmp_path / "b.ipynb").write_text(json.dumps(book))
    assert len(stripped.not_stripped(tmp_path / "b.ipynb")) == 3


def test_the_notebooks_are_stripped_and_listed(root):
    books = sorted((root / "docs/notebooks").glob("*.ipynb"))
    assert len(books) == 5
    assert not [line for book in books for line in stripped.not_stripped(book)]
    page = (root / "docs/notebooks/README.md").read_text()
    build = (root / "docs/site/build.py").read_text()
    assert not [book.name for book in books if f"({book.name})" not in page or f'"{book.stem}"' not in build]
