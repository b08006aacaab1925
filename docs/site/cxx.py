# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a reference page for each folder of host/core: its public classes and their comments, by doxygen."""

import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

SETTINGS = """
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
JAVADOC_AUTOBRIEF = YES
EXTRACT_ALL = NO
WARN_IF_UNDOCUMENTED = NO
WARN_IF_INCOMPLETE_DOC = NO
WARN_NO_PARAMDOC = NO
QUIET = YES
RECURSIVE = YES
FILE_PATTERNS = *.hpp
EXCLUDE_PATTERNS = */generated/* */tests/*
"""


def prose(element: ET.Element | None) -> str:
    """A description as Markdown: paragraphs, code and lists of parameters."""
    if element is None:
        return ""
    paragraphs = []
    for para in element.iter("para"):
        text = inline(para)
        if text:
            paragraphs.append(text)
    return "\n\n".join(dict.fromkeys(paragraphs))


def inline(element: ET.Element) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag == "computeroutput":
            parts.append(f"`{''.join(child.itertext())}`")
        elif child.tag == "parameterlist":
            for item in child.iter("parameteritem"):
                name = "".join(item.find("parameternamelist").itertext()).strip()
                parts.append(f" `{name}`: {''.join(item.find('parameterdescription').itertext()).strip()}.")
        elif child.tag not in ("para", "itemizedlist", "orderedlist"):
            parts.append(inline(child))
        parts.append(child.tail or "")
    return re.sub(r"\s+", " ", "".join(parts)).replace("<", "&lt;").strip()


def signature(member: ET.Element) -> str:
    kind = "".join(member.find("type").itertext()).strip() if member.find("type") is not None else ""
    name, arguments = member.findtext("name"), member.findtext("argsstring") or ""
    text = f"{kind} {name}{arguments}".strip()
    value = "".join(member.find("initializer").itertext()) if member.find("initializer") is not None else ""
    if member.get("kind") == "variable" and len(value) < 40:
        text += f" {value}" if value.startswith("=") else value
    text = re.sub(r" ([&*]+)(?=\w)", r"\1 ", text)
    return re.sub(r"<\s+", "<", re.sub(r"\s+>", ">", re.sub(r"\s+", " ", text)))


def members(compound: ET.Element) -> list[str]:
    lines = []
    for section in compound.findall("sectiondef"):
        if section.get("kind", "").startswith(("private", "protected")):
            continue
        for member in section.findall("memberdef"):
            told = " ".join(
                filter(None, (prose(member.find("briefdescription")), prose(member.find("detaileddescription"))))
            )
            if member.get("kind") == "enum":
                values = ", ".join(f"`{value.findtext('name')}`" for value in member.findall("enumvalue"))
                lines.append(f"| `enum {member.findtext('name')}` | {told} {values} |".replace("\n\n", " "))
            elif member.get("kind") in ("function", "variable") and told:
                shown = signature(member).replace("|", "\\|")
                lines.append(f"| `{shown}` | {told} |".replace("\n\n", " "))
    return ["", "| member | |", "|---|---|", *lines] if lines else []


def pages(root: Path, work: Path) -> dict[str, str]:
    """Markdown by the name of the folder below host/core."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "Doxyfile").write_text(
        f"{SETTINGS}INPUT = host/core\nOUTPUT_DIRECTORY = {work}\nSTRIP_FROM_PATH = {root}\n"
    )
    done = subprocess.run(["doxygen", str(work / "Doxyfile")], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode or "error" in done.stderr:
        raise SystemExit(f"doxygen: {done.stderr.strip()}")
    found: dict[str, list[tuple[str, str, list[str]]]] = {}
    for path in sorted((work / "xml").glob("*.xml")):
        compound = ET.parse(path).getroot().find("compounddef")
        if compound is None or compound.get("kind") not in ("class", "struct") or compound.get("prot") == "private":
            continue
        told = "\n\n".join(
            filter(None, (prose(compound.find("briefdescription")), prose(compound.find("detaileddescription"))))
        )
        listed = members(compound)
        if not (told or listed):
            continue
        location = compound.find("location").get("file")
        location = location if location.startswith("host/") else str(Path(location).relative_to(root))
        folder = location.split("/")[2]
        name = compound.findtext("compoundname").removeprefix("perhop::")
        # Of templates that are specialised, and of what stands in a class, the name has all that is needed.
        lines = ["", f"## {name}", "", f"{compound.get('kind')}, `{location}`", "", told, *listed]
        found.setdefault(folder, []).append((location, name, lines))
    written = {}
    for folder, classes in found.items():
        head = [
            f"# C++: host/core/{folder}",
            "",
            f"The public classes of `host/core/{folder}` and what their comments say. "
            "[host/core](../../host/core/README.md) tells how they belong together.",
        ]
        classes.sort(key=lambda entry: entry[1])
        written[folder] = "\n".join([*head, *(line for _, _, lines in classes for line in lines)]) + "\n"
    return written
