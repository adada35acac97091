"""Children that parse, one document at a time each; what happens to a child is the failure of its document alone."""

import contextlib
import os
import queue
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.child.channel import BadMessageError, ChannelClosedError, ChannelTimeoutError
from pipeline.parse.child.handed import handed
from pipeline.parse.child.process import ChildProcess, give_back, take_server
from pipeline.parse.child.reply import parse_failure, parse_reply
from pipeline.parse.limits import Limits
from pipeline.parse.ocr.tesseract import PageReader, Tesseract
from pipeline.parse.options import Far, Options, nowhere
from pipeline.parse.sandbox import lacking
from pipeline.parse.view.messages import BadPagesError, ask_pages, ask_pixels, parse_pages, parse_pixels
from pipeline.parse.view.seen import Pages, PageText, Pixels

T = TypeVar("T")
_UNSETTLING = {Failure.CRASHED, Failure.OUT_OF_MEMORY}  # after these a child's libraries are not trusted any more
_PLAIN = Options()
_SERVERS = 5  # that a document may see die
_NAME = 1000  # characters of a document's name; of more only the end matters


class _OrphanError(Exception):
    """A child died because its server did, which says nothing of its document."""


class NotIsolatedError(Exception):
    """This machine does not let parsers be held as they must be; `lacking` names what is not in force."""

    def __init__(self, lacking: Sequence[str]) -> None:
        super().__init__(f"not in force: {', '.join(lacking)}")
        self.lacking = tuple(lacking)


class ParserPool:
    """`workers` children, replaced as they die; a context manager. `parse` may be called from any number of threads.

    `required`: raises NotIsolatedError where not all of sandbox.REQUIRED is in force. Otherwise children are held by
    what there is, and `isolation` says by what.
    """

    def __init__(self, workers: int, limits: Limits | None = None, *, required: bool = True) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}, expected at least 1")
        self._limits = limits or Limits()
        self._server = take_server(required)
        self._closed = False
        self._idle: queue.SimpleQueue[ChildProcess | None] = queue.SimpleQueue()  # None: a child is to be forked
        try:
            first = self._server.fork(self._limits)
            if required and (missing := lacking(first.hello["isolation"])):
                raise NotIsolatedError(missing)
        except BaseException:
            self._server.close()
            raise
        self._hello = first.hello
        self._idle.put(first)
        for _ in range(workers - 1):
            self._idle.put(None)

    @property
    def isolation(self) -> dict[str, bool]:
        """The restrictions of the kernel on the children, by name, and whether each is in force."""
        return dict(self._hello["isolation"])

    def describe(self) -> dict[str, Any]:
        """Limits, parsers with their versions by media type, and isolation: for the record of a run."""
        return {
            "limits": dict(vars(self._limits)),
            "parsers": dict(self._hello["parsers"]),
            "isolation": self.isolation,
        }

    def parse(
        self, fd: int, name: str, options: Options = _PLAIN, out: int | None = None, far: Far = nowhere
    ) -> Parsed:
        """The text of the regular file open at `fd`, whose offset is neither used nor moved.

        `name` is a hint between kinds of text, nothing else. `out`, open for writing, takes the bytes of documents
        inside this one and of pages as pictures; `far` hears now and then how many pages are read. Raises
        DocumentError; OSError if `out` cannot be written; RuntimeError if no child starts, or the pool is closed
        meanwhile.
        """
        request = _request(name, options)
        return self._answer(fd, out, request, lambda answer: parse_reply(answer, self._limits), far)

    def pages(self, fd: int, options: Options, texts: Sequence[PageText]) -> Pages:
        """The sizes of the pages of a document of `options.media_type`, and the marks on those whose texts are given.

        Raises DocumentError, and RuntimeError as `parse` does.
        """
        request = _request("", options) | {"view": ask_pages(texts)}
        return self._answer(fd, None, request, lambda answer: parse_pages(answer, texts))

    def draw(self, fd: int, options: Options, number: int, width: int) -> Pixels:
        """The page `number`, from 1, of a document of `options.media_type`, `width` pixels across, or fewer.

        Raises DocumentError, and RuntimeError as `parse` does.
        """
        request = _request("", options) | {"view": ask_pixels(number, width)}
        out = os.memfd_create("pixels", os.MFD_CLOEXEC)
        try:
            return self._answer(fd, out, request, lambda answer: parse_pixels(answer, out))
        finally:
            os.close(out)

    def _answer(
        self, fd: int, out: int | None, request: dict[str, Any], read: Callable[[dict[str, Any]], T], far: Far = nowhere
    ) -> T:
        for _ in range(_SERVERS):
            with contextlib.suppress(_OrphanError):
                return self._of_child(fd, out, request, read, far)
        raise RuntimeError("the server of the document parsers is killed again and again")

    def _of_child(
        self, fd: int, out: int | None, request: dict[str, Any], read: Callable[[dict[str, Any]], T], far: Far
    ) -> T:
        child, keep = self._ready(self._idle.get()), False
        try:
            with handed(fd) as document:
                fds = [document] if out is None else [document, out]
                answer = child.ask(fds, request, self._limits, far)
            if "failure" in answer:
                raise parse_failure(answer)
            found = read(answer)
            keep = child.documents < self._limits.documents_per_child
            return found
        except DocumentError as error:
            keep = error.failure not in _UNSETTLING
            raise
        except ChannelTimeoutError as error:
            what = "drawn" if "view" in request else "parsed"
            raise DocumentError(Failure.TIMEOUT, f"not {what} within {self._limits.named('seconds')}") from error
        except ChannelClosedError as error:
            if self._closed:
                raise RuntimeError("the document parsers were closed during a parse") from error
            child.end()
            if child.is_orphan:
                raise _OrphanError from error
            if child.was_full(self._limits):
                reason = f"its parser took all of {self._limits.named('memory_bytes')} and died: {child.end()}"
                raise DocumentError(Failure.OUT_OF_MEMORY, reason) from error
            raise DocumentError(Failure.CRASHED, f"its parser died: {child.end()}") from error
        except (BadMessageError, BadPagesError) as error:
            raise DocumentError(Failure.CRASHED, f"its parser answered with nonsense: {error}") from error
        finally:
            if not keep or self._closed:
                child.end()
            self._idle.put(child if keep else None)

    def reader(self, tesseract: Tesseract) -> PageReader:
        """Reads pictures of pages, in processes of this pool's server and under its limits."""
        return PageReader(self._server, tesseract, self._limits)

    def _ready(self, child: ChildProcess | None) -> ChildProcess:
        """Take a living child: one that died while idle is not the next document's failure."""
        if self._closed:
            self._idle.put(None)
            raise RuntimeError("the document parsers have been closed")
        if child is not None and child.alive():
            return child
        if child is not None:
            child.end()
        try:
            return self._server.fork(self._limits)
        except BaseException:
            self._idle.put(None)
            raise

    def close(self) -> None:
        """End all children; a parse that is under way then raises RuntimeError, for it says nothing of its document."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                if (child := self._idle.get_nowait()) is not None:
                    child.end()
        self._idle.put(None)  # for who waits for a child yet, and is told then
        give_back(self._server)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _request(name: str, options: Options) -> dict[str, Any]:
    return {"name": name[-_NAME:], "options": options.to_message()}
