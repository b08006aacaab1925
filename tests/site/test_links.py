# SPDX-License-Identifier: GPL-2.0-or-later
"""The look at a built site finds what is planted: a page, heading and picture that are gone, and what is fetched."""

import links

GOOD = '<h1 id="top">T</h1><a href="b/index.html#there">x</a><a href="https://elsewhere.org">y</a><img src="p.svg">'


def site(tmp_path, **files):
    files = {
        "index.html": GOOD,
        "p.svg": "",
        "b/index.html": '<h2 id="there">h</h2><a href="../index.html">up</a>',
        **files,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return links.broken(tmp_path)


def test_a_good_site_has_nothing(tmp_path):
    assert site(tmp_path) == []


def test_a_missing_page_heading_and_picture_are_found(tmp_path):
    planted = GOOD + '<a href="c.html">c</a><a href="b/index.html#gone">d</a><img src="q.png"><a href="#nowhere">e</a>'
    assert site(tmp_path, **{"index.html": planted}) == [
        "index.html: c.html",
        "index.html: b/index.html#gone has no such heading",
        "index.html: q.png",
        "index.html: #nowhere has no such heading",
    ]


def test_what_a_browser_would_fetch_from_elsewhere_is_found(tmp_path):
    planted = GOOD + '<script src="https://unpkg.com/x"></script><link rel="stylesheet" href="//fonts.org/f.css">'
    found = site(tmp_path, **{"index.html": planted, "s.css": "a{background:url('https://cdn.org/p.png')}"})
    assert [line.split(": ", 1)[1] for line in found] == [
        "https://unpkg.com/x is fetched from elsewhere",
        "//fonts.org/f.css is fetched from elsewhere",
        "https://cdn.org/p.png is fetched from elsewhere",
    ]
