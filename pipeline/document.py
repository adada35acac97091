"""A document between the stages: its parsed text, spans of it, and its row. Offsets are code points of the whole parsed
text."""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from pipeline.errors import Failure

T = TypeVar("T")
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


class Column(Generic[T]):
    """A column of every row by its name; None where a row does not have it (yet)."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, row: "Row", owner: type) -> T:
        return cast(T, row.columns.get(self._name))


@dataclass(frozen=True)
class Decided:
    """A person's decision in a row: what he did, who he is, why, and the entry of the row that he saw."""

    action: str
    by: str
    reason: str | None
    of: int


@dataclass(frozen=True, eq=False)
class Row(Mapping[str, Any]):
    """The row of a document: the columns of every row as attributes, and all of them, also those of its task, by name.

    `columns` are plain values, and exactly those that the table has: the digest of a row covers no other. `made_by`,
    `other_settings` and `newer_file` stand beside them: the worker of a cluster that made the row; whether its job has
    other settings now; the entry of a newer file at its path. `finished_at` is a text in what `results` gives.
    """

    columns: Mapping[str, Any]

    job = Column[str]()
    task = Column[str | None]()
    document = Column[str | None]()
    path = Column[str]()
    parent = Column[str | None]()
    size = Column[int]()
    media_type = Column[str | None]()
    language = Column[str | None]()
    pages = Column[int | None]()
    state = Column[str]()
    failure = Column[str | None]()
    reason = Column[str | None]()
    notes = Column[Sequence[str] | None]()
    hidden = Column[Sequence[Mapping[str, Any]] | None]()
    duplicate_of = Column[str | None]()
    supersedes = Column[int | None]()
    model_sha256 = Column[str | None]()
    numerics = Column[str | None]()
    job_digest = Column[str | None]()
    parser = Column[str | None]()
    text_sha256 = Column[str | None]()
    software = Column[str | None]()
    run = Column[str]()
    audit_index = Column[int]()
    replaces = Column[Sequence[int] | None]()
    tokens = Column[int]()
    seconds = Column[float]()
    finished_at = Column[Any]()
    made_by = Column[Mapping[str, Any] | None]()
    other_settings = Column[bool | None]()
    newer_file = Column[int | None]()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The places that the answer rests on."""
        return tuple(Evidence(**place) for place in self.columns.get("evidence") or ())

    @property
    def decided(self) -> Decided | None:
        """The decision of a person that the row is."""
        review = self.columns.get("review")
        return None if review is None else Decided(**review)

    def having(self, **columns: Any) -> "Row":
        """The row with other values in these columns."""
        return Row({**self.columns, **columns})

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)
