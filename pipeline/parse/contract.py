"""The contract of a format: bytes that were recognised as its media type in, a parsed document out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding.decode import Decoded, declared_in_markup, decode
from pipeline.parse.limits import Limits
from pipeline.parse.members import Members
from pipeline.parse.options import Far, Options, nowhere
from pipeline.parse.pictures.given import Pictures
from pipeline.parse.sight.hidden import HiddenText
from pipeline.parse.writer import TextWriter


@dataclass(frozen=True)
class Source:
    """A document's bytes (at least one), its file's name as a hint, what it may cost, and how it is to be read.

    `members` takes the documents inside it; `out` is the descriptor of the file for their bytes, if there is one. `far`
    is told how many of its pages are read, of how many.
    """

    data: bytes
    name: str
    limits: Limits
    options: Options = field(default_factory=Options)
    out: int | None = None
    far: Far = nowhere

    @cached_property
    def decoded(self) -> Decoded:
        """The bytes as text, where they are text, by what markup says of itself; raises DocumentError(CORRUPT)."""
        return decode(self.data, declared_in_markup(self.data))

    @cached_property
    def members(self) -> Members:
        """Takes the documents inside this one."""
        return Members(self.out, len(self.data), self.limits, self.options.documents, self.options.bytes)

    @cached_property
    def pictures(self) -> Pictures:
        """Takes the pictures of text in this document, and gives what was recognised on them."""
        return Pictures(self.members, self.options)

    @cached_property
    def hidden(self) -> HiddenText:
        """Counts the text of this document that nobody sees."""
        return HiddenText(drop=self.options.hidden != "keep", tell=self.options.tell)

    def writer(self) -> TextWriter:
        """A writer that holds to the limit of this document's text and to the job's rule for what is hidden."""
        return TextWriter(self.limits.output_characters, self.hidden)


class Parser(Protocol):
    """A module for one format. `PARSER` is "format/our version", then the library and its version."""

    PARSER: str

    def parse(self, source: Source, media_type: str) -> Parsed:
        """The document; raises DocumentError. Any other exception is a defect that costs the document alone."""


@runtime_checkable
class Marked(Protocol):
    """A module for a format whose documents have a mark of their own, by which the module recognises them itself."""

    def is_mine(self, source: Source) -> bool:
        """Whether the document has this format's mark; raises nothing."""


def finish(
    source: Source,
    writer: TextWriter,
    media_type: str,
    parser: str,
    *,
    notes: Iterable[str] = (),
    decoded: Decoded | None = None,
) -> Parsed:
    """The parsed document that a writer holds; raises DocumentError(EMPTY) where its text is nothing but white space.

    A document without a text of its own that holds others is no empty one; one whose pictures could not be recognised
    is NEEDS_OCR.
    """
    text, page_starts = writer.finish()
    members, images = source.members.finish()
    more = decoded.notes if decoded else ()
    left = [f"documents inside it, not read: {members_left}"] if (members_left := source.members.left) else []
    notes = [*notes, *source.pictures.reasons(), *more, *left, *source.hidden.notes()]
    if not text or text.isspace():
        if not members and not images and source.pictures.unread:
            raise DocumentError(Failure.NEEDS_OCR, "; ".join(source.pictures.reasons()))
        if not members and not images:
            unseen = [f"{one.characters} characters of hidden text" for one in source.hidden.found()]
            raise DocumentError(Failure.EMPTY, "; ".join(["there is no text in it", *unseen[:1], *notes]))
        text, page_starts = "", ()
    return Parsed(
        text=text,
        media_type=media_type,
        parser=parser,
        page_starts=page_starts,
        encoding=decoded.encoding if decoded else None,
        encoding_confidence=decoded.confidence if decoded else None,
        notes=tuple(notes),
        sections=tuple(writer.sections) if text else (),
        hidden=source.hidden.found(),
        members=members,
        images=images,
        unsure=source.hidden.unsure,
        unseen=source.hidden.told(),
    )
