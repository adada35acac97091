"""Progress of a run: a bar on a terminal, a log line for each step elsewhere; and log lines on stderr, for a person or
as JSON. Results never go there. A service may write its lines into a file, too, which is put aside when it is full."""

import contextlib
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

import pipeline
from jobs.config.load import shown
from jobs.errors import ConfigError, Problem
from jobs.visible import inside_in_words, visible

Fact = str | int | float | None
EVERY_SECONDS = 10.0
_JSON: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)


class LineWatcher:
    """One log line for each step and each failed document, and the state of things every `EVERY_SECONDS`.

    Of a `private` job no document is named, and of a failure its class alone is told. `hears` is called for each thing
    that is told here.
    """

    def __init__(
        self,
        log: FilteringBoundLogger,
        job: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        private: bool = False,
        hears: Callable[[], None] = lambda: None,
    ) -> None:
        self._log = log.bind(job=job)
        self._clock, self._private, self._hears = clock, private, hears
        self._last = clock()
        self._total = 0
        self._states: Counter[str] = Counter()
        self._seconds_left: int | None = None

    def __enter__(self) -> "LineWatcher":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is kept open."""

    def note(self, event: str, **facts: Fact) -> None:
        """A step happened."""
        self._hears()
        self._log.info(event, **facts)

    @property
    def standing(self) -> str:
        """How far the run is, in a few words."""
        return f"{self._states.total():,} of {self._total:,} documents"

    def found(self, total: int) -> None:
        """Hear that the run will work on `total` documents."""
        if not self._total:  # those that archives and mails bring are told with the progress
            self._log.info("documents found", total=total)
        self._total = total

    def finished(self, path: str, state: str, reason: str | None) -> None:
        """One document reached its state."""
        self._states[state] += 1
        self._hears()
        if state == "failed" and self._private:
            self._log.warning("document failed", reason=(reason or "").partition(":")[0])
        elif state == "failed":
            self._log.warning("document failed", path=path, reason=reason)
        self._tell_if_due()

    def reached(self, states: Mapping[str, int]) -> None:
        """Hear of a run elsewhere how many documents have reached which state."""
        if states != self._states:
            self._states = Counter(states)
            self._tell_if_due()

    def _tell_if_due(self) -> None:
        if self._clock() - self._last >= EVERY_SECONDS:
            self._last = self._clock()
            left = {} if self._seconds_left is None else {"seconds_left": self._seconds_left}
            self._log.info("progress", finished=self._states.total(), total=self._total, **self._states, **left)

    def expects(self, seconds_left: float | None) -> None:
        """Hear in how many seconds all will be done; it is told with the progress."""
        self._seconds_left = None if seconds_left is None else round(seconds_left)


class BarWatcher:
    """A progress bar on stderr; steps and failed documents stand above it."""

    def __init__(self, job: str, clock: Callable[[], datetime] = lambda: datetime.now().astimezone()) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[done]}"),
            TextColumn("{task.fields[inside]}", markup=False),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(job, total=None, done="", inside="")
        self._clock = clock

    def __enter__(self) -> "BarWatcher":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def note(self, event: str, **facts: Fact) -> None:
        """A step happened."""
        if event in (pipeline.report.READING, pipeline.report.COMPUTING):
            counts = "pages" if event == pipeline.report.READING else "tokens"
            inside = {"document": facts.get("document"), "counts": counts, "done": facts[counts], "of": facts["of"]}
            self._bar.update(self._task, inside=inside_in_words(inside))
            return
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if value is not None)
        self._bar.console.print(
            visible(f"  {event}" + (f": {told}" if told else "")), style="dim", markup=False, highlight=False
        )

    def found(self, total: int) -> None:
        """Hear that the run will work on `total` documents."""
        self._bar.update(self._task, total=total)

    def finished(self, path: str, state: str, reason: str | None) -> None:
        """One document reached its state."""
        self._bar.advance(self._task)
        self._bar.update(self._task, inside="")
        if state == "failed":
            told = visible(f"  failed: {path}: {reason}")
            self._bar.console.print(told, style="red", markup=False, highlight=False)

    def reached(self, states: Mapping[str, int]) -> None:
        """Hear of a run elsewhere how many documents have reached which state."""
        self._bar.update(self._task, completed=sum(states.values()))

    def expects(self, seconds_left: float | None) -> None:
        """Hear in how many seconds all will be done; the bar says when that is."""
        self._bar.update(self._task, done=done_in(seconds_left, self._clock()))


def done_in(seconds: float | None, now: datetime) -> str:
    """`done about 03:12`, with the day if it is not today's; nothing where nobody can say."""
    if seconds is None:
        return ""
    done = now + timedelta(seconds=seconds)
    return f"done about {done:%H:%M}" if done.date() == now.date() else f"done about {done:%a %Y-%m-%d %H:%M}"


Watcher = LineWatcher | BarWatcher


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal for work that counts (done, total); None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def saying() -> Iterator[Callable[[str], None]]:
    """A line on a terminal for work that says where it is; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda fact: None
        return

    with Console(stderr=True).status("") as status:
        yield lambda fact: status.update(Text(visible(fact)))


@contextmanager
def telling(what: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[int, int, str], None]]:
    """Show work that counts and says where it is (done, total, at): by a bar on a terminal, else by a line now and
    then."""
    if not sys.stderr.isatty():
        yield _lines(what, clock)
        return

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, at: bar.update(task, completed=done, total=total, description=visible(at))


def _lines(what: str, clock: Callable[[], float]) -> Callable[[int, int, str], None]:
    log, last = start_logging(), clock()

    def tell(done: int, total: int, at: str) -> None:
        nonlocal last
        if done >= total or clock() - last >= EVERY_SECONDS:
            last = clock()
            log.info(what, done=done, total=total, at=at)

    return tell


def watcher_for(job: str, *, private: bool = False) -> Watcher:
    """The bar on a terminal, lines elsewhere."""
    if sys.stderr.isatty():
        return BarWatcher(job)

    return LineWatcher(start_logging(), job, private=private)


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
