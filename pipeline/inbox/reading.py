"""The bytes of one document become its text: its parser first, then Tesseract for its pictures of text, then its parser
again."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import IO, Protocol

from pipeline.document import Parsed
from pipeline.parse import Far, Options, PageReader, ParserPool, nowhere

Scratch = Callable[[], IO[bytes]]
"""Makes a file without a name for what is unpacked."""
Stop = Callable[[], bool]
Read = tuple[Parsed, IO[bytes] | None]
"""A document that was read, and the file of what it unpacked to; None where it unpacked to nothing."""


class Reading(Protocol):
    """Reads documents: by this process's parsers, or by those of other machines. Used on several threads."""

    @property
    def ocr(self) -> bool:
        """Whether pictures of text are read."""

    def __call__(
        self, document: int, name: str, options: Options, scratch: Scratch, stop: Stop, far: Far = nowhere
    ) -> Read:
        """The document open at the descriptor `document`. `far` hears now and then how many of its pages are read, of
        how many. Raises what ParserPool.parse raises, and StoppedError."""

    def close(self) -> None:
        """End what is being read: nobody asks for it any more."""


@dataclass(frozen=True)
class ReadHere:
    """Reads by the parsers of this process; `pages` reads pictures of text, if they are read."""

    pool: ParserPool
    pages: PageReader | None = None

    @property
    def ocr(self) -> bool:
        return self.pages is not None

    def __call__(
        self, document: int, name: str, options: Options, scratch: Scratch, stop: Stop, far: Far = nowhere
    ) -> tuple[Parsed, IO[bytes]]:
        out = scratch()
        parsed = self.pool.parse(document, name, options, out.fileno(), far)
        if self.pages and parsed.images:
            texts, unread = self.pages.read(out.fileno(), parsed.images, stop, far)
            out = scratch()
            options = replace(options, images=False, texts=texts, unread=unread)
            parsed = self.pages.named(self.pool.parse(document, name, options, out.fileno()))
        return parsed, out

    def close(self) -> None:
        self.pool.close()
