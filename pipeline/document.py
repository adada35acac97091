"""A document between the stages: its parsed text, and spans of it. Offsets are code points of the whole parsed text."""

import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from pipeline.errors import Failure

_DEEPEST = 100  # a level below all headings


@dataclass(frozen=True)
class Span:
    """text[start:end] of a parsed text."""

    start: int
    end: int


@dataclass(frozen=True)
class Evidence:
    """Where a value comes from: `text` is exactly parsed_text[start:end]; `page` from 1, None where there are none."""

    page: int | None
    start: int
    end: int
    text: str
    section: str | None = None  # the titles of the sections in which it stands, the outermost first


@dataclass(frozen=True)
class Section:
    """A part of a text that has a name, from `start` to the next section of the same or a lower level.

    Level 0: a page, sheet, slide or part of a mail; from 1: headings. `kind` is one word for people.
    """

    start: int
    level: int
    kind: str
    title: str


@dataclass(frozen=True)
class Hidden:
    """Text that no person sees: how it is hidden (a key of parse.hidden.KINDS), and how many characters of it."""

    kind: str
    characters: int


@dataclass(frozen=True)
class Unseen:
    """A piece of text that no person sees, in the way of `kind`."""

    kind: str
    text: str


@dataclass(frozen=True)
class Member:
    """A document inside another one. Its bytes are `size` bytes from `offset` of what the parser unpacked.

    One that cannot be given has a failure, and may have no bytes (`offset` None, `size` what the container says).
    """

    name: str
    size: int
    offset: int | None = None
    failure: Failure | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Picture:
    """A picture of text by its name: a PGM file, `size` bytes from `offset` of what the parser unpacked."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class Parsed:
    """The text and the facts that a parser found in a document.

    `page_starts` holds the offset at which each page (slide, sheet) begins, ascending, the first 0; empty where the
    format has no pages. `parser` names parser and library version. `encoding` and `encoding_confidence` (0 to 1) are
    the guess for formats that are bytes of text, else None. `notes` are facts about the parse that a reader of the
    result should know. `sections` ascend by start. `members` are documents inside this one; an archive has nothing
    else, and its text is "". `images` are pictures that wait to be read by OCR. `unsure` says why a person must look at
    the document: it could not be told whether text is hidden, or the text may not be what is shown. `unseen` are the
    hidden pieces themselves, where they were asked for, in the order in which they were met.
    """

    text: str
    media_type: str
    parser: str
    page_starts: tuple[int, ...] = ()
    encoding: str | None = None
    encoding_confidence: float | None = None
    notes: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    members: tuple[Member, ...] = ()
    images: tuple[Picture, ...] = ()
    unsure: tuple[str, ...] = ()
    unseen: tuple[Unseen, ...] = ()

    @cached_property
    def text_sha256(self) -> str:
        """The sha256 of the text as UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def page_of(self, offset: int) -> int | None:
        """The page, from 1, on which `offset` lies."""
        return bisect_right(self.page_starts, offset) if self.page_starts else None

    def evidence(self, start: int, end: int) -> Evidence:
        """The evidence for text[start:end], named by the page and the section in which it starts."""
        return Evidence(self.page_of(start), start, end, self.text[start:end], self.section_of(start))

    def section_of(self, offset: int) -> str | None:
        """The titles of the sections around `offset`, the outermost first; None where there are none."""
        titles: list[str] = []
        level = _DEEPEST
        for section in reversed(self.sections[: bisect_right(self.sections, offset, key=lambda one: one.start)]):
            if section.level < level:
                level = section.level
                titles.append(section.title)
            if level == 0:
                break
        return " > ".join(reversed(titles)) or None
