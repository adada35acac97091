"""A staged document is parsed, what it holds unpacked, and its pictures of text are read; on threads of a feed."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO

from pipeline.document import Member
from pipeline.errors import DocumentError, Failure
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Ended, Outcome, Room
from pipeline.inbox.parsers import unconfined
from pipeline.inbox.reading import Read, Reading
from pipeline.inbox.rows import Work
from pipeline.openai.line import BATCH_FILE, REQUEST
from pipeline.parse import Options, ParserPool, Tesseract, find_tesseract
from pipeline.plan import RunPlan
from pipeline.report import Observer
from pipeline.states import State


@dataclass(frozen=True)
class Reader:
    """Reads by `reading`; where pictures of text are not read, `no_pages` says why. `far` hears how many pages of a
    document are read, of how many."""

    plan: RunPlan
    reading: Reading
    no_pages: str = ""
    stop: Callable[[], bool] = lambda: False
    far: Callable[[Arrival, int, int], None] = lambda arrival, done, of: None

    def __call__(self, arrival: Arrival, room: Room, taken: float = 0.0, member: Member | None = None) -> Outcome:
        """Parse a document that may unpack to `room`; `taken`: the seconds that taking it in took; `member`: what its
        container says of it.

        OSError where what it holds cannot be written, StoppedError when `stop()` becomes true before all is read.
        """
        if member and member.failure:
            return Outcome(Ended(arrival, State.FAILED, member.reason, member.failure))
        begun, files = time.perf_counter() - taken, list[IO[bytes]]()
        try:
            if arrival.size > (limit := self.plan.site.max_document_bytes):
                raise DocumentError(
                    Failure.TOO_LARGE, f"it has {arrival.size} bytes; limits.document_mib allows {limit}"
                )
            parsed, file = self._read(arrival, room, files)
        except DocumentError as error:
            if error.failure == Failure.NEEDS_OCR and self.no_pages:
                error = DocumentError(error.failure, f"{error.reason}; {self.no_pages}")
            written = os.fstat(files[0].fileno()).st_size if files else 0
            return Outcome(failed(arrival, error), written=written)
        work = Work(arrival, parsed, time.perf_counter() - begun)
        return Outcome(work, file if parsed.members else None, os.fstat(file.fileno()).st_size if file else 0)

    def close(self) -> None:
        """End what is being read: nobody asks for it any more."""
        self.reading.close()

    def _read(self, arrival: Arrival, room: Room, files: list[IO[bytes]]) -> Read:
        """The document, and the file of what it unpacked to, which is one of `files` that are made for that."""
        options = Options(
            self.plan.input.hidden, room.documents, room.bytes, self.reading.ocr,
            media_type=self._media_type(arrival),
        )  # fmt: skip

        def scratch() -> IO[bytes]:
            files.append(self._scratch())
            return files[-1]

        descriptor = self.plan.site.at_rest.open(arrival.staged(self.plan.archive))
        try:
            return self.reading(descriptor, arrival.name, options, scratch, self.stop, partial(self.far, arrival))
        finally:
            os.close(descriptor)

    def _media_type(self, arrival: Arrival) -> str:
        """The media type of a document; that of a batch job is fixed, whatever its bytes look like."""
        if not self.plan.is_batch:
            return ""
        return REQUEST if arrival.parent else BATCH_FILE

    def _scratch(self) -> IO[bytes]:
        """A file without a name for what is unpacked."""
        if memory := self.plan.site.at_rest.memory():
            return memory
        return tempfile.TemporaryFile(dir=self.plan.archive / ".staging", buffering=0)


def failed(arrival: Arrival, error: DocumentError) -> Ended:
    """A document that ended with `error`."""
    return Ended(arrival, State.FAILED, error.reason, error.failure)


def recognition(plan: RunPlan, pool: ParserPool, observer: Observer) -> tuple[Tesseract | None, str]:
    """The program that reads pictures of text in this run, or why there is none, which is noted."""
    found, why = recognizer(plan, pool)
    if found is None and plan.input.ocr.enabled:
        observer.note("pictures of text are not read", reason=why)
    return found, why


def recognizer(plan: RunPlan, pool: ParserPool) -> tuple[Tesseract | None, str]:
    """The program that reads pictures of text, or why there is none: then they fail as needs_ocr."""
    if not plan.input.ocr.enabled:
        return None, "text recognition is off in the job"
    found = find_tesseract(plan.input.ocr.languages)
    if isinstance(found, Tesseract):
        found = unconfined(plan.site, pool) or found
    return (found, "") if isinstance(found, Tesseract) else (None, found)
