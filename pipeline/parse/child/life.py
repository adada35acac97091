"""The life of a child: one document after another, from a descriptor to an answer.

Here and only here, anything that goes wrong in a parser becomes that document's failure.
"""

import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse import sandbox
from pipeline.parse.child.channel import Channel, ChannelClosedError
from pipeline.parse.child.reply import format_failure, format_far, format_no_room, format_parsed
from pipeline.parse.formats import PARSERS, Source
from pipeline.parse.limits import Limits
from pipeline.parse.members import NoRoomError
from pipeline.parse.options import Far, Options
from pipeline.parse.sniff import media_type_of
from pipeline.parse.view import drawing

_EVERY_SECONDS = 1.0
_DEPTH = 12_000  # Python frames: more than any document that lxml accepts needs


def serve(channel: Channel, limits: Limits, isolation: dict[str, bool]) -> None:
    """Say what is in force, then answer requests until the channel closes."""
    sys.setrecursionlimit(_DEPTH)
    channel.send({"isolation": isolation, "parsers": {kind: m.PARSER for kind, m in PARSERS.items()}})
    while True:
        try:
            request, fds = channel.receive(limits.reply_bytes)
        except ChannelClosedError:
            return
        sandbox.allow_seconds(limits.seconds)
        answer = _answer(fds, request, limits, _Far(channel))
        text = answer.pop("text", None)
        channel.send(answer if text is None else answer | {"text_follows": True}, text=text)


class _Far:
    """Tells the parent now and then how far a document is read."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._told = channel, time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        if time.monotonic() - self._told >= _EVERY_SECONDS:
            self._channel.send(format_far(done, of))
            self._told = time.monotonic()


def _answer(fds: Sequence[int], request: dict[str, Any], limits: Limits, far: Far) -> dict[str, Any]:
    try:
        data = _read(fds[0] if fds else None)
        if not data:
            raise DocumentError(Failure.EMPTY, "the file has 0 bytes")
        options = Options(**request["options"])
        source = Source(data, request["name"], limits, options, fds[1] if len(fds) > 1 else None, far)
        view = request.get("view")
        return format_parsed(_parse(source)) if view is None else drawing.answer(source, view)
    except NoRoomError as error:
        return format_no_room(error)
    except DocumentError as error:
        return format_failure(error)
    except MemoryError:
        reason = f"its parser needs more than {limits.named('memory_bytes')} allows"
        return format_failure(DocumentError(Failure.OUT_OF_MEMORY, reason))
    except RecursionError:
        return format_failure(DocumentError(Failure.CORRUPT, "it is nested too deep to be read"))
    except BaseException as error:  # a panic of a Rust library is no Exception
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
        return format_failure(DocumentError(Failure.CRASHED, f"its parser failed: {where}"))
    finally:
        for fd in fds:
            os.close(fd)


def _parse(source: Source) -> Parsed:
    media_type = source.options.media_type or media_type_of(source)
    if media_type not in PARSERS:
        raise DocumentError(Failure.UNSUPPORTED, f"found {media_type}")
    return PARSERS[media_type].parse(source, media_type)


def _read(fd: int | None) -> bytes:
    """Read all bytes of a document. The parent has seen that it is a regular file; a locked process may ask where it
    ends, but not for its status, which in most versions of libc is a call that takes paths, too."""
    if fd is None:
        raise DocumentError(Failure.UNREADABLE, "no descriptor arrived")
    try:
        # Read `size` bytes, mostly at once, so that they are in memory only once. DocumentError: UNREADABLE.
        size = os.lseek(fd, 0, os.SEEK_END)
        pieces, read = list[bytes](), 0
        while read < size:
            pieces.append(os.pread(fd, size - read, read))
            if not pieces[-1]:
                raise DocumentError(Failure.UNREADABLE, f"it shrank to {read} of {size} bytes")
            read += len(pieces[-1])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    except OSError as error:
        raise DocumentError(Failure.UNREADABLE, f"reading failed: {error.strerror}") from error
