# SPDX-License-Identifier: GPL-2.0-or-later
"""XML that others wrote: each start of an element with its line, and nothing that could make a small file large.

A document type, and with it every entity that could be expanded or fetched, is refused.
"""

from __future__ import annotations

from xml.parsers import expat

from perhop.errors import ExperimentError

MOST_DEPTH = 32


class XmlReader:
    """Reads a document whose outermost element is `root`. Whoever derives from it gets start(), end() and comment()."""

    def __init__(self, name: str, root: str, what: str) -> None:
        """Messages call the file `name`; a remedy says `what` it should be."""
        self._name, self._root, self._what = name, root, what
        self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CommentHandler = self.comment
        self._parser.StartDoctypeDeclHandler = self._doctype

    def feed(self, content: bytes) -> None:
        """The whole document. Raises ExperimentError."""
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            raise ExperimentError(
                f"is no well-formed XML: {expat.ErrorString(error.code)}",
                f"give {self._what}",
                file=self._name,
                line=error.lineno,
            ) from None
        except (LookupError, ValueError) as error:
            # An encoding that Python has not.
            raise self.error(f"is in an encoding that cannot be read ({error})", "write it in UTF-8") from None

    def start(self, tag: str, fields: dict[str, str]) -> None:
        """An element begins."""

    def end(self, tag: str) -> None:
        """An element ends."""

    def comment(self, text: str) -> None:
        """A comment."""

    def field(self, tag: str, fields: dict[str, str], name: str) -> str:
        """A field that the element must have."""
        if name not in fields:
            raise self.error(f"<{tag}> has no field {name}", f'add {name}="..."')
        return fields[name]

    def error(self, problem: str, remedy: str, line: int | None = None) -> ExperimentError:
        return ExperimentError(problem, remedy, file=self._name, line=line or self.line)

    def refused(self, problem: str, remedy: str) -> ExperimentError:
        """The same, as trace_file.number() asks for it."""
        return self.error(problem, remedy)

    @property
    def line(self) -> int:
        """Of what is being read."""
        return self._parser.CurrentLineNumber

    def _start(self, tag: str, fields: dict[str, str]) -> None:
        if self._depth == 0 and tag != self._root:
            raise self.error(f"begins with <{tag[:40]}> and not <{self._root}>", f"give {self._what}")
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self.error(f"has elements in each other {self._depth} deep", f"give {self._what}")
        self.start(tag, fields)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self.end(tag)

    def _doctype(self, *_: object) -> None:
        raise self.error("has a document type (<!DOCTYPE ...>), whose entities are not read", "remove it")
