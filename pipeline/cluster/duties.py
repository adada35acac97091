"""What a worker does: it reads documents and answers them, as a commission says. The head does so too where it is
alone."""

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final

import engine
from pipeline.answer.compute import Embedding
from pipeline.answer.converse import Conversing
from pipeline.answer.models import Loaded, answerer, check_model, load_model
from pipeline.cluster.commission import Commission, plan_of
from pipeline.cluster.errors import WorkerRefusedError
from pipeline.cluster.place import Place
from pipeline.cluster.wire import format_document, format_rows, parse_works
from pipeline.errors import DocumentError, ModelRefusedError
from pipeline.inbox.reader import ReadHere
from pipeline.parse import (
    NotIsolatedError,
    Options,
    PageReader,
    ParserPool,
    StoppedError,
    Tesseract,
    find_tesseract,
)
from pipeline.plan import REQUIRED

MOST: Final = 2
"""Commissions that are kept: those of a job and of the one before it, or of two runs that have the same workers."""


class ForgottenError(Exception):
    """A commission is not known: this worker began anew, or has taken another one instead."""


class _NoRoomError(WorkerRefusedError):
    """The model cannot be loaded; it may be where less is held for others."""


@dataclass
class _Accepted:
    """A commission for which all is ready. `under_way`: documents, or groups of them, that are worked on by it."""

    told: Commission
    model: Loaded
    answers: Embedding | Conversing
    pool: ParserPool
    reading: ReadHere
    under_way: int = 0

    def close(self) -> None:
        """End its parsers."""
        self.pool.close()


class Duties:
    """The duties of one process. `read` may be called from several threads, `answer` from one at a time."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._accepted: dict[str, _Accepted] = {}
        self._lock, self._closed = threading.Lock(), False

    def missing(self, told: Commission) -> list[tuple[str, str]]:
        """The files, sha256 and ending, that must come before a commission can be accepted."""
        return [(sha256, ending) for sha256, ending in told.files if not self.place.has(sha256, ending)]

    def accept(self, told: Commission) -> dict[str, Any]:
        """Make ready for a commission; the facts of the engine that go into the entries of its rows, and how parsers
        are held. WorkerRefusedError, with why."""
        with self._lock:
            ready = self._accepted.get(told.digest)
            while ready is None and len(self._accepted) >= MOST:  # the oldest that nothing is under way for goes
                if not (idle := [digest for digest, other in self._accepted.items() if not other.under_way]):
                    again = "it is asked again until one of them has ended"
                    raise WorkerRefusedError(f"it works for {MOST} other runs, which is the most; {again}")
                self._accepted.pop(idle[0]).close()
        try:
            ready = ready or self._ready(told)
        except _NoRoomError:
            with self._lock:
                idle = [digest for digest, ready in self._accepted.items() if not ready.under_way]
                for digest in idle:
                    self._accepted.pop(digest).close()
            if not idle:
                raise
            ready = self._ready(told)  # what was held for other runs left too little memory
        with self._lock:
            self._accepted.pop(told.digest, None)
            self._accepted[told.digest] = ready  # as the newest
        return {"engine": dict(ready.model.facts), "isolation": ready.pool.isolation}

    @contextlib.contextmanager
    def _by(self, digest: str) -> Iterator[_Accepted]:
        """What is ready for a commission, which is kept meanwhile. ForgottenError."""
        with self._lock:
            ready = self._accepted.get(digest)
            if ready is None:
                raise ForgottenError("the worker began anew, or works for others, and knows nothing of this run")
            ready.under_way += 1
        try:
            yield ready
        finally:
            with self._lock:
                ready.under_way -= 1

    def _ready(self, told: Commission) -> _Accepted:
        plan = plan_of(told, self.place)
        required = told.message["isolation"] == REQUIRED
        try:
            pool = ParserPool(engine.threads(), told.limits, required=required)
        except NotIsolatedError as error:
            raise WorkerRefusedError(f"its parsers cannot be isolated: {error}") from error
        try:
            pages = self._pages(told, pool)
            sha256 = check_model(plan)
            model = load_model(plan, sha256, lambda fact: None)
            return _Accepted(told, model, answerer(plan, model), pool, ReadHere(pool, pages))
        except (ModelRefusedError, MemoryError) as error:
            pool.close()
            raise _NoRoomError(str(error) or "it has too little memory for the model") from error
        except BaseException:
            pool.close()
            raise

    def _pages(self, told: Commission, pool: ParserPool) -> PageReader | None:
        """What reads pictures of text, exactly as on the head. WorkerRefusedError."""
        needed = told.message["ocr"]
        if needed is None:
            return None
        found = find_tesseract(needed["wanted"])
        has = found.describe() if isinstance(found, Tesseract) else found
        if has != {name: value for name, value in needed.items() if name != "wanted"}:
            raise WorkerRefusedError(f"it does not read pictures of text as the head does: it has {has}")
        assert isinstance(found, Tesseract)
        return pool.reader(found)

    def read(self, digest: str, name: str, options: Mapping[str, Any], data: bytes) -> dict[str, Any]:
        """Read one document: "parsed" with what it unpacks to, or its failure."""
        files = list[IO[bytes]]()

        def scratch() -> IO[bytes]:
            files.append(_in_memory("unpacked"))
            return files[-1]

        with self._by(digest) as ready, _in_memory("document", data) as document:
            try:
                told = Options(**options)
                parsed, out = ready.reading(document.fileno(), name, told, scratch, lambda: self._closed)
                out.seek(0)
                return {"parsed": format_document(parsed), "unpacked": out.read() if parsed.members else b""}
            except DocumentError as error:
                written = os.fstat(files[0].fileno()).st_size if files else 0
                return {"failure": error.failure.value, "reason": error.reason, "written": written}
            finally:
                for file in files:
                    file.close()

    def answer(self, digest: str, documents: bytes) -> bytes:
        """The rows of documents that were read, in their order."""
        with self._by(digest) as ready:
            hidden = ready.told.message["review_hidden"]
            groups = ready.answers(parse_works(documents), self._pulse, review_hidden=hidden)
            return format_rows([row for group in groups for _, row in group if row is not None])

    def _pulse(self, done: int, total: int) -> None:
        """End what is computed once the worker is to end: nobody waits for a group that takes minutes."""
        if self._closed:
            raise StoppedError

    def close(self) -> None:
        """End the parsers, and what is under way."""
        self._closed = True
        with self._lock:
            for ready in self._accepted.values():
                ready.close()
            self._accepted.clear()


def _in_memory(name: str, data: bytes = b"") -> IO[bytes]:
    """A file without a name and without a disk, which holds `data`."""
    file = os.fdopen(os.memfd_create(name, os.MFD_CLOEXEC), "w+b", buffering=0)
    file.write(data)
    file.seek(0)
    return file
