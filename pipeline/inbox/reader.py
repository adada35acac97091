"""A staged document is parsed, what it holds unpacked, and its pictures of text are read; on threads of a feed.

parse/README.md says what holds a parser.
"""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Protocol

from pipeline.document import Member, Parsed
from pipeline.errors import DocumentError, Failure, MachineRefusedError
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Ended, Outcome, Room, Work
from pipeline.openai.line import BATCH_FILE, REQUEST
from pipeline.parse import (
    Far,
    Limits,
    NotIsolatedError,
    Options,
    PageReader,
    ParserPool,
    Tesseract,
    find_tesseract,
    nowhere,
)
from pipeline.parse.sandbox import OF_PROGRAM, lacking
from pipeline.parse.sandbox import REQUIRED as OF_CHILD
from pipeline.plan import BEST_EFFORT, REQUIRED, RunPlan, Site
from pipeline.records.types import Isolation
from pipeline.report import Observer
from pipeline.states import State

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


_NEEDS = {
    "system_call_filter": "seccomp filters (x86-64 or aarch64), and no profile around it that forbids them",
    "no_new_privileges": "Linux 3.5",
    "no_capabilities": "Linux 2.6.26, and no profile around it that forbids capset",
    "memory_limit": "no lower hard limit on address space around it (ulimit -Hv)",
    "dies_with_parent": "no profile around it that forbids prctl",
    "no_files": "Landlock (Linux 5.13)",
    "no_network": "user namespaces that are not forbidden, for a network namespace",
}
"""What a protection takes, for the operator."""


def open_parsers(site: Site, workers: int) -> ParserPool:
    """The pool of a run. MachineRefusedError where the site requires what this machine does not give."""
    try:
        return ParserPool(workers, site.limits, required=site.isolation == REQUIRED)
    except NotIsolatedError as error:
        needed = "".join(f"\n    {name}: needs {_NEEDS[name]}" for name in error.lacking)
        raise MachineRefusedError(
            "the parsers of documents cannot be isolated on this machine, so none is started and nothing is processed."
            f" Not in force:{needed}\n"
            "    remedy:   give it that (to a container, in its seccomp profile); or, where documents are trusted, "
            f"write isolation: {BEST_EFFORT} under limits: in site.yaml, which every run then says"
        ) from error


def isolation_of(site: Site, pool: ParserPool) -> Isolation:
    """The protections that hold the parsers of an open pool."""
    return Isolation(site.isolation, lacking(pool.isolation, tuple(pool.isolation)))


def unconfined(site: Site, pool: ParserPool) -> str | None:
    """Why no other program may read pictures here; None if one may."""
    missing = lacking(pool.isolation, OF_PROGRAM) if site.isolation == REQUIRED else ()
    if not missing:
        return None
    needed = ", ".join(_NEEDS[name] for name in missing)
    return f"Tesseract cannot be held here, which needs {needed} or limits: {{isolation: {BEST_EFFORT}}}"


@dataclass(frozen=True)
class Protection:
    """A restriction of the kernel on parsers. `for_parsers`: without it no document is read where the site requires
    isolation; `for_programs`: without it Tesseract is not started there. `needs` says what it takes."""

    name: str
    in_force: bool
    for_parsers: bool
    for_programs: bool
    needs: str


def protections_here(limits: Limits) -> list[Protection]:
    """The restrictions that hold a parser on this machine, each with whether it is in force. RuntimeError if no parser
    starts."""
    with ParserPool(1, limits, required=False) as pool:
        return [
            Protection(name, there, name in OF_CHILD, name in OF_PROGRAM, _NEEDS.get(name, "a kernel that allows it"))
            for name, there in pool.isolation.items()
        ]
