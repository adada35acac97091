"""Log lines on stderr: for a person on a terminal, JSON elsewhere. Results never go there, and nothing else does.

A service may write its lines, as JSON, into a file too, which is put aside when it is full.
"""

import contextlib
import logging
import sys
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from jobs.errors import ConfigError, Problem
from jobs.load import shown
from jobs.visible import visible

_JSON: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)


def start_logging(stream: TextIO | None = None, file: logging.Handler | None = None) -> FilteringBoundLogger:
    """Configures structlog for the whole process and returns the logger; `file` gets each line as JSON too."""
    out = stream or sys.stderr
    last: list[Processor] = [_JSON]
    if out.isatty():
        last = [_make_visible, structlog.dev.ConsoleRenderer(pad_event_to=0)]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *([_Also(file)] if file else []),
            *last,
        ],
        logger_factory=structlog.PrintLoggerFactory(out),
    )
    logger: FilteringBoundLogger = structlog.get_logger()
    return logger


@contextlib.contextmanager
def log_file(path: Path | None, size: int, keep: int) -> Iterator[logging.Handler | None]:
    """The file of a service's lines, put aside as NAME.1 before it is larger than `size` bytes; `keep` of those are
    kept. None without a path. ConfigError where it cannot be opened."""
    if path is None:
        yield None
        return
    try:
        file = _File(path, maxBytes=size, backupCount=keep, encoding="utf-8", errors="replace")
    except OSError as error:
        found = f"service.log_file: the file cannot be opened: {error.strerror}"
        raise ConfigError(Problem(shown(path), found, "a file that can be written", "make its folder")) from None
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):  # of a disk that is full: what is left in its buffer cannot be written
            file.close()


class _File(RotatingFileHandler):
    """A file that cannot be written, on a full disk perhaps, ends no service: stderr has the lines, and says so once
    until one is written again."""

    problem: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        before, self.problem = self.problem, None
        super().emit(record)
        if self.problem and not before:
            with contextlib.suppress(OSError):
                print(f"{self.baseFilename}: log lines cannot be written: {self.problem}", file=sys.stderr)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging calls
        """Take note that a line was not written."""
        self.problem = str(sys.exc_info()[1])


class _Also:
    """A step of structlog that gives each line to a file as JSON, and passes it on."""

    def __init__(self, file: logging.Handler) -> None:
        self._file = file

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
        line = _JSON(logger, name, dict(event))
        self._file.handle(logging.makeLogRecord({"msg": "%s", "args": (line,)}))
        return event


def _make_visible(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {name: visible(value) if isinstance(value, str) else value for name, value in event.items()}
