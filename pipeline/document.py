"""A document between the stages: its parsed text, and spans of it. Offsets are code points of the whole parsed text."""

import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


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


@dataclass(frozen=True)
class Parsed:
    """What a parser found.

    `page_starts` holds the offset at which each page (slide, sheet) begins, ascending, the first 0; empty where the
    format has no pages. `parser` names parser and library version. `encoding` and `encoding_confidence` (0 to 1) are
    the guess for formats that are bytes of text, else None. `notes` are facts about the parse that a reader of the
    result should know.
    """

    text: str
    media_type: str
    parser: str
    page_starts: tuple[int, ...] = ()
    encoding: str | None = None
    encoding_confidence: float | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def text_sha256(self) -> str:
        """Of the text as UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def page_of(self, offset: int) -> int | None:
        """The page, from 1, on which `offset` lies."""
        return bisect_right(self.page_starts, offset) if self.page_starts else None

    def evidence(self, start: int, end: int) -> Evidence:
        """The evidence for text[start:end], named by the page on which it starts."""
        return Evidence(self.page_of(start), start, end, self.text[start:end])
