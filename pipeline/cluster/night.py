"""A run on many machines: what reads and answers its documents is taken over by a crew."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final

from pipeline.answer.compute import Embedding
from pipeline.answer.converse import Conversing
from pipeline.cluster.answering import AnswerThere
from pipeline.cluster.commission import commission
from pipeline.cluster.crew import Crew
from pipeline.cluster.errors import BadWorkerError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.peers import HEAD_ROLE, read_credential
from pipeline.cluster.quiet import keep_quiet, without_pickles
from pipeline.cluster.roster import LARGE, Member
from pipeline.cluster.wire import parse_document, parse_unread
from pipeline.errors import DocumentError, Failure
from pipeline.inbox.reader import Read, ReadHere, Scratch, Stop
from pipeline.parse import Far, Limits, Options, StoppedError, Tesseract, nowhere
from pipeline.plan import Cluster, RunPlan
from pipeline.report import Observer

_LOST: Final = 3  # workers that may be lost with a document before it is read here
_LOOK_SECONDS: Final = 1.0  # between two looks whether to stop, of each of those who wait
_OTHERS, _PAGES = 10, 250  # times the limit of one reading that a worker may have a document, without OCR and with it
_SMALL: Final = 1 << 16  # bytes of a document that is sent together with others
_PART: Final = 1 << 30
_OF_MACHINE: Final = {Failure.TIMEOUT, Failure.OUT_OF_MEMORY, Failure.CRASHED}
"""Failures that depend on what reads a document, and not on the document alone."""


class ReadThere:
    """Reads documents on the workers of a crew."""

    def __init__(self, crew: Crew, here: ReadHere, limits: Limits) -> None:
        self._crew, self._here, self._limits = crew, here, limits
        self._closed = False

    @property
    def ocr(self) -> bool:
        """Whether pictures of text are read: on workers as here."""
        return self._here.ocr

    def __call__(
        self, document: int, name: str, options: Options, scratch: Scratch, stop: Stop, far: Far = nowhere
    ) -> Read:
        """The document, read by the worker with the most room; by another one where that is lost."""
        small = os.fstat(document).st_size <= _SMALL
        for _ in range(_LOST):
            member = self._taken(1 if small else LARGE, stop)
            if member is None:
                break
            try:
                answer = self._waited_for(self._asked(member, document, name, options, small=small), stop)
                return self._told(answer, options, scratch)
            except DocumentError as error:
                if error.failure not in _OF_MACHINE:
                    raise
                break  # on a quicker machine, or one with more memory, it may not fail: what counts is what is so here
            except (WorkerLostError, BadWorkerError, WorkerRefusedError) as error:
                self._crew.dismiss(member, error)
            finally:
                places = 1 if small else LARGE
                with self._crew.changed:
                    member.reads -= places
                    self._crew.room.notify(places)  # not all: as many as wait would see to it one after another
        return self._here(document, name, options, scratch, stop, far)

    def close(self) -> None:
        """End what is being read."""
        self._closed = True
        self._here.close()

    def _taken(self, places: int, stop: Stop) -> Member | None:
        """A worker with room, in which so many places are taken; None where none works. StoppedError."""
        with self._crew.changed:
            while (member := self._crew.roster.reader()) is None:
                if stop() or self._closed or self._crew.closed:
                    raise StoppedError
                if self._crew.roster.working():
                    self._crew.room.wait(_LOOK_SECONDS)
                elif not self._crew.wait_for_some():
                    return None
            member.reads += places
            return member

    def _asked(
        self, member: Member, document: int, name: str, options: Options, *, small: bool
    ) -> Future[dict[str, Any]]:
        told = {"commission": self._crew.told.digest, "name": name, "options": json.dumps(options.to_message())}
        room = 2 * self._limits.reply_bytes + self._most(options)
        return self._crew.read(member, room=room, timeout=self._patience, small=small, **told, data=_bytes_of(document))

    def _most(self, options: Options) -> int:
        """The bytes that a document may unpack to."""
        return min(options.bytes, self._limits.unpacked_bytes)

    def _told(self, answer: Mapping[str, Any], options: Options, scratch: Scratch) -> Read:
        """What a worker says of a document. DocumentError, BadWorkerError."""
        most = self._most(options)
        if "failure" in answer:
            failed, written = parse_unread(answer), answer.get("written")
            if type(written) is not int or written < 0:
                raise BadWorkerError("it does not say how much it wrote")
            if failed.failure not in _OF_MACHINE:  # what is read here again writes by itself
                scratch().truncate(min(written, most))
            raise failed
        parsed = parse_document(answer.get("parsed"), self._limits)
        # The bytes of the documents in one, no more than it was allowed. BadWorkerError where they are not there.
        unpacked = answer.get("unpacked")
        needed = max((one.offset + one.size for one in parsed.members if one.offset is not None), default=0)
        if not isinstance(unpacked, bytes) or not needed <= len(unpacked) <= most:
            raise BadWorkerError("it answered without the documents in a document")
        if not unpacked:
            return parsed, None
        out = scratch()
        out.write(unpacked)
        return parsed, out

    @property
    def _patience(self) -> float:
        """The seconds after which a worker that has not read a document never will: it has a few others before it, and
        of each it may read many pages that are pictures."""
        return self._limits.seconds * (_PAGES if self.ocr else _OTHERS)

    def _waited_for(self, asked: Future[dict[str, Any]], stop: Stop) -> dict[str, Any]:
        while True:
            try:
                return asked.result(_LOOK_SECONDS)
            except TimeoutError:
                if stop() or self._closed:
                    asked.cancel()
                    raise StoppedError from None


def _bytes_of(document: int) -> bytes:
    """All bytes of the file that is open there, of which one call gives no more than 2 GiB."""
    parts, offset = list[bytes](), 0
    while part := os.pread(document, _PART, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


READERS: Final = 1024
"""Documents that the head has read at a time, at most, by all workers together; each has a thread that waits for it."""


@contextlib.contextmanager
def crewed(
    plan: RunPlan,
    cluster: Cluster,
    model_sha256: str,
    reading: ReadHere,
    answers: Embedding | Conversing,
    tesseract: Tesseract | None,
    observer: Observer,
) -> Iterator[tuple[ReadThere, AnswerThere]]:
    """What reads and answers on the workers of the cluster, and here where there is none. ClusterError where there is
    no such cluster, or the credential is none for it: before any document is touched."""
    keep_quiet()
    without_pickles()
    told = commission(plan, model_sha256, tesseract.describe() if tesseract else None)
    paths = [plan.model.path, *([plan.model.head.path] if plan.model.head else [])]
    credential = read_credential(cluster.credential, HEAD_ROLE)
    files = {sha256: path for (sha256, _), path in zip(told.files, paths, strict=True)}
    with Crew(cluster.scheduler, credential, told, files, cluster.begin) as crew:
        yield ReadThere(crew, reading, plan.site.limits), AnswerThere(crew, answers, observer.note)
