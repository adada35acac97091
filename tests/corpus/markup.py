"""The sources of the demo documents: headers, a blank line, and a body in a small markup.

The headers say where the document goes and what a person expects of it (make_demo.py reads them). The body knows

    # Heading, ## Heading      - an item of a list       | a cell | a cell |      (a table; its first row is its head)
    > a line that stays a line (addresses, signatures)   --- alone: a page break   anything else: a paragraph
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path


@dataclass(frozen=True)
class Block:
    """A piece of the body: `kind` is heading, paragraph, lines, items, table or break."""

    kind: str
    lines: tuple[str, ...] = ()
    level: int = 0

    @property
    def text(self) -> str:
        """The lines as one line."""
        return " ".join(self.lines)

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table, row by row."""
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in self.lines]


@dataclass(frozen=True)
class Source:
    """One document to be written: its headers, its body, and the sources that it attaches (e-mails only)."""

    headers: dict[str, str]
    body: str
    attached: dict[str, "Source"] = field(default_factory=dict)

    @property
    def blocks(self) -> list[Block]:
        """The body, cut into blocks."""
        return list(parse_body(self.body))

    @property
    def german(self) -> bool:
        """Whether page numbers and labels are German."""
        return self.headers["Language"] == "de"


def read_source(path: Path) -> Source:
    """The source at `path`; an `Attach: NAME = FILE` header reads FILE beside it."""
    head, _, body = path.read_text("utf-8").partition("\n\n")
    headers = dict(line.split(": ", 1) for line in head.splitlines())
    attached = {}
    if "Attach" in headers:
        name, file = headers["Attach"].split(" = ")
        attached[name] = read_source(path.with_name(file))
    return Source(headers, body.strip() + "\n", attached)


def parse_body(body: str) -> Iterator[Block]:
    """Neighbouring lines of one kind are one block; an empty line ends a block."""
    for kind, group in groupby(body.splitlines(), _kind_of):
        lines = list(group)
        if kind == "heading":
            for line in lines:
                marks, text = line.split(" ", 1)
                yield Block(kind, (text,), len(marks))
        elif kind in ("lines", "items"):
            yield Block(kind, tuple(line[2:] for line in lines))
        elif kind != "empty":
            yield Block(kind, tuple(lines))


def _kind_of(line: str) -> str:
    if not line.strip():
        return "empty"
    if line == "---":
        return "break"
    if line.startswith("#"):
        return "heading"
    return {"> ": "lines", "- ": "items", "| ": "table"}.get(line[:2], "paragraph")
