# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages that repeat what stands elsewhere say what it says: figures of reports, rows of the papers."""

import re
from pathlib import Path

import yaml
from perhop.reproduce import reproduction
from perhop.reproduce.check_versions import stale_rows

REPRODUCTION = "docs/reproduction/README.md"


def as_written(markdown: str) -> str:
    """The text of a table's cell or a list's item, without the marks that keep Markdown from reading it as its own."""
    return re.sub(r"\\([\\<>|*_`\[\]])", r"\1", markdown)


def row_on_page(page: str, name: str) -> dict[str, str]:
    """Verdict, claim and check of a row, by the section about it; of one that is not built, verdict and claim."""
    section = re.search(rf"^### {re.escape(name)} .*?(?=^### |^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if not section:
        line = re.search(rf"^\| {re.escape(name)} .*$", page, re.MULTILINE)
        assert line, f"{REPRODUCTION} knows no row {name}"
        _, _, claim, _, verdict, _ = (cell.strip() for cell in re.split(r"(?<!\\)\|", line[0]))
        return {"verdict": verdict, "claim": as_written(claim)}
    found = {"verdict": re.search(r"^\*\*(.+?)\*\*", section[0], re.MULTILINE)[1]}
    for field in ("claim", "check"):
        found[field] = as_written(re.search(rf"^- {field}: (.*)$", section[0], re.MULTILINE)[1])
    return found


def rows(root: Path) -> dict[str, dict]:
    return yaml.safe_load((root / "sim/experiments/rows.yaml").read_text())["rows"]


def test_the_page_of_the_papers_has_every_row_as_it_is_checked_today(root):
    page = (root / REPRODUCTION).read_text()
    stale = []
    for name, row in rows(root).items():
        shown = row_on_page(page, name)
        built = shown["verdict"] != "not built"
        if built != (row["experiment"] is not None):
            stale.append(f"{name}: the page says {shown['verdict']}, rows.yaml has experiment {row['experiment']}")
        stale += [f"{name}: other {field}" for field in shown.keys() - {"verdict"} if shown[field] != row[field]]
    known = reproduction.catalogue(root / "sim/experiments")
    stale += [f"{name}: judged by another check or experiment" for name in stale_rows(page, known)]
    assert not stale, f"{REPRODUCTION} is stale; `perhop reproduce all` writes it:\n" + "\n".join(stale)


def test_the_page_of_the_papers_says_from_what_it_was_written(root):
    head = (root / REPRODUCTION).read_text().split("\n## ")[0]
    assert re.search(r"^Written by `perhop reproduce all --(quick|full)( --full-of \S+)*`", head, re.MULTILINE)
    assert re.search(r"^- version: \S+ [0-9a-f]{7,}$", head, re.MULTILINE), "a version, without changes of its own"


def area(root: Path, top: str) -> tuple[int, float]:
    """LUT4 and MHz of a top on the ECP5, by the report."""
    cells = next(
        line.split("|")[4:]
        for line in (root / "hw/reports/synth.md").read_text().splitlines()
        if line.startswith(f"| {top} |")
    )
    return int(cells[0]), float(cells[-2])


def test_figures_of_area_are_those_of_the_report(root):
    told = re.search(r"takes ([\d,]+) LUT4 and routes at (\d+) MHz", (root / "README.md").read_text())
    assert told, "README.md tells the area of mac_top in other words"
    lut4, fmax_mhz = area(root, "mac_top")
    assert (int(told[1].replace(",", "")), int(told[2])) == (lut4, round(fmax_mhz))
    # Of the modem alone, and of the radio.
    words = " ".join((root / "docs/radio/README.md").read_text().split())
    told = re.findall(r"takes ([\d,]+) (?:of 24,288 )?LUT4[^;.]*? and routes at ([\d.]+) MHz", words)
    assert [(int(lut4.replace(",", "")), float(mhz)) for lut4, mhz in told] == [
        area(root, "dsss_phy"),
        area(root, "radio_top"),
    ]
