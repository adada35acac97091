"""Documents are read by the workers of a cluster, and here where there is none."""

import json
import os
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final

from pipeline.cluster.crew import Crew
from pipeline.cluster.errors import BadWorkerError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.roster import Member
from pipeline.cluster.wire import parse_document, parse_unread
from pipeline.document import Parsed
from pipeline.inbox.reading import Read, ReadHere, Scratch, Stop
from pipeline.parse import Limits, Options, StoppedError

_LOST: Final = 3  # workers that may be lost with a document before it is read here
_LOOK_SECONDS: Final = 0.05


class ReadThere:
    """Reads documents on the workers of a crew."""

    def __init__(self, crew: Crew, here: ReadHere, limits: Limits) -> None:
        self._crew, self._here, self._limits = crew, here, limits
        self._closed = False

    @property
    def ocr(self) -> bool:
        """Whether pictures of text are read: on workers as here."""
        return self._here.ocr

    def __call__(self, document: int, name: str, options: Options, scratch: Scratch, stop: Stop) -> Read:
        """The document, read by the worker with the most room; by another one where that is lost."""
        for _ in range(_LOST):
            member = self._taken(stop)
            if member is None:
                break
            try:
                return self._read(member, document, name, options, scratch, stop)
            except (WorkerLostError, BadWorkerError, WorkerRefusedError):
                continue
            finally:
                self._give_back(member)
        return self._here(document, name, options, scratch, stop)

    def close(self) -> None:
        """End what is being read."""
        self._closed = True
        self._here.close()

    def _taken(self, stop: Stop) -> Member | None:
        """A worker with room; None where none works. StoppedError."""
        with self._crew.changed:
            while (member := self._crew.roster.reader()) is None:
                if stop() or self._closed:
                    raise StoppedError
                if self._crew.roster.working():
                    self._crew.changed.wait(_LOOK_SECONDS)
                elif not self._crew.wait_for_some():
                    return None
            member.reads += 1
            return member

    def _give_back(self, member: Member) -> None:
        with self._crew.changed:
            member.reads -= 1
            self._crew.changed.notify_all()

    def _read(self, member: Member, document: int, name: str, options: Options, scratch: Scratch, stop: Stop) -> Read:
        data = os.pread(document, os.fstat(document).st_size, 0)
        told = {"commission": self._crew.told.digest, "name": name, "options": json.dumps(options.to_message())}
        answer = self._waited_for(self._crew.call(member, "read", **told, data=data), stop)
        if "failure" in answer:
            scratch().truncate(min(int(answer.get("written", 0)), self._limits.unpacked_bytes))
            raise parse_unread(answer)
        parsed, out = parse_document(answer.get("parsed"), self._limits), scratch()
        out.write(_unpacked(answer, parsed))
        return parsed, out

    def _waited_for(self, asked: Future[dict[str, Any]], stop: Stop) -> dict[str, Any]:
        while True:
            try:
                return asked.result(_LOOK_SECONDS)
            except TimeoutError:
                if stop() or self._closed:
                    asked.cancel()
                    raise StoppedError from None


def _unpacked(answer: Mapping[str, Any], parsed: Parsed) -> bytes:
    """The bytes of the documents in one. BadWorkerError where they are not there."""
    data = answer.get("unpacked")
    needed = max((one.offset + one.size for one in parsed.members if one.offset is not None), default=0)
    if not isinstance(data, bytes) or len(data) < needed:
        raise BadWorkerError("it answered without the documents in a document")
    return data
