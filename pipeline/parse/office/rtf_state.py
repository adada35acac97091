"""What the reader of RTF keeps of a group, and of a stream of text, while it reads on."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree

from pipeline.parse.office.rtf_looks import Ground, Letters
from pipeline.parse.office.word.fields import Field
from pipeline.parse.writer import TextWriter


@dataclass
class Flow:
    """A stream of text: the body, a header, a footnote. `line` gathers until a paragraph or a cell ends.

    `written` is what a writer is to be told: it comes late, as footers and remarks do not stand where they are read.
    """

    kind: str = "body"
    written: list[Callable[[TextWriter], None]] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    built: bool = False  # the line ends in a formula

    def tell(self, writer: TextWriter) -> None:
        """Write all of it."""
        for write in self.written:
            write(writer)


@dataclass
class Group:
    """The state that an opening brace saves and its partner restores."""

    silent: bool = False
    deleted: bool = False
    hidden: bool = False  # marked as such (\\v)
    encoding: str = "cp1252"
    substitute: int = 1  # characters after \u that stand for it
    aside: Flow | None = None  # the flow that this group opened
    in_table: bool = False
    level: int = 0  # of the heading that the paragraph is, 0 for none
    letters: Letters = field(default_factory=Letters)
    ground: Ground = field(default_factory=Ground)
    font: int = -1  # -1: that of the document
    part: str = ""  # of a field: "fldinst" for its code, "ffl" for an entry of its list; "box" for a text box
    of_field: Field | None = None
    unknown: str = ""  # the control word behind \\* that this group is silent for, and that no table has
    formula: etree._Element | None = None  # the part of it that this group is
