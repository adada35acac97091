"""The contract of a format: bytes that were recognised as its media type in, a parsed document out."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.decode import Decoded, declared_in_markup, decode
from pipeline.parse.limits import Limits
from pipeline.parse.writer import TextWriter


@dataclass(frozen=True)
class Source:
    """A document's bytes (at least one), its file's name as a hint, and what it may cost."""

    data: bytes
    name: str
    limits: Limits

    @cached_property
    def decoded(self) -> Decoded:
        """The bytes as text, where they are text, by what markup says of itself; raises DocumentError(CORRUPT)."""
        return decode(self.data, declared_in_markup(self.data))

    def writer(self) -> TextWriter:
        """A writer that holds to the limit of this document's text."""
        return TextWriter(self.limits.output_characters)


class Parser(Protocol):
    """A module for one format. `PARSER` is "format/our version", then the library and its version."""

    PARSER: str

    def parse(self, source: Source, media_type: str) -> Parsed:
        """The document; raises DocumentError. Any other exception is a defect that costs the document alone."""


def finish(
    writer: TextWriter, media_type: str, parser: str, *, notes: list[str] | None = None, decoded: Decoded | None = None
) -> Parsed:
    """What was written as a parsed document; raises DocumentError(EMPTY) where that is nothing but white space."""
    text, page_starts = writer.finish()
    notes = [*(notes or ()), *(decoded.notes if decoded else ())]
    if not text or text.isspace():
        raise DocumentError(Failure.EMPTY, "; ".join(["there is no text in it", *notes]))
    return Parsed(
        text=text,
        media_type=media_type,
        parser=parser,
        page_starts=page_starts,
        encoding=decoded.encoding if decoded else None,
        encoding_confidence=decoded.confidence if decoded else None,
        notes=tuple(notes),
    )
