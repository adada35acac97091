"""Commands that people start from a page: children of the console, each recorded with the person's name before it
begins. What they print is kept until the console ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Final

import pipeline
from jobs.config.workspace import VARIABLE, Workspace
from jobs.console.attempt import RefusedError
from jobs.record import record
from jobs.silence.seal import start

# -P: commands run in the workspace, where nothing is code of ours, and audit/ is the log.
_CLOISTER: Final = (sys.executable, "-P", "-c", "import jobs.cli; jobs.cli.main()")
_MOST_AT_ONCE: Final = 4
_MOST_KEPT: Final = 50
_MOST_SHOWN: Final = 60_000
_PATIENCE_SECONDS: Final = 30.0
_PROGRESS: Final = re.compile(r"\"done\": (\d+), \"total\": (\d+)|\bdone=(\d+)\b.*?\btotal=(\d+)\b")


@dataclass
class Work:
    """A command that was started: by whom, when, and what became of it. `title` says in words what it does; `link`
    leads to where its results can be looked at."""

    number: int
    person: str
    title: str
    command: tuple[str, ...]
    job: str | None
    link: str | None
    started: datetime
    process: subprocess.Popen[bytes]
    out: IO[bytes]
    err: IO[bytes]
    ended: datetime | None = None

    @property
    def typed(self) -> str:
        """The command as somebody would type it."""
        return "cloister " + " ".join(self.command)

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        code = self.process.poll()
        if code is not None and self.ended is None:
            self.ended = datetime.now(UTC)
        return code

    @property
    def state(self) -> str:
        """How it is, in a word: running, done, "some failed", "window closed", or failed."""
        return {None: "running", 0: "done", 1: "some failed", 6: "window closed"}.get(self.code, "failed")

    def output(self) -> str:
        """Return what it printed on stdout."""
        return _text(self.out)

    def notes(self) -> str:
        """Return what it printed on stderr."""
        return _text(self.err)

    def progress(self) -> tuple[int, int] | None:
        """How far it said it is, if it says so: (done, total)."""
        said = _PROGRESS.findall(self.notes())
        done, total = (int(each) for each in said[-1] if each) if said else (0, 0)
        return (done, total) if total else None


@dataclass
class Works:
    """All that was started, the last ones at the end."""

    workspace: Workspace
    site: pipeline.Site
    _works: dict[int, Work] = field(default_factory=dict)
    _last: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(
        self, person: str, title: str, command: Sequence[str], *, job: str | None = None, link: str | None = None
    ) -> Work:
        """Start a command of `cloister`. RefusedError where one like it goes on, or too many do."""
        with self._lock:
            going_on = [each for each in self._works.values() if each.code is None]
            if any(each.command[:1] == tuple(command)[:1] and each.job == job and job for each in going_on):
                raise RefusedError(409, f"This goes on already for {job}.")
            if len(going_on) >= _MOST_AT_ONCE:
                raise RefusedError(409, f"{len(going_on)} commands go on already; wait for one of them to end.")
            typed = "cloister " + " ".join(command)
            record(self.site, pipeline.records.StartedThere(person=person, command=typed, of_job=job))
            self._last += 1
            out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
            process = start(
                [*_CLOISTER, *command],
                cwd=self.workspace.root,
                env={**os.environ, VARIABLE: str(self.workspace.root), "COLUMNS": "110"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,  # Ctrl-C in the console's terminal is not for them: `close` ends them
            )
            now = datetime.now(UTC)
            work = Work(
                self._last,
                person,
                title,
                tuple(command),
                job=job,
                link=link,
                started=now,
                process=process,
                out=out,
                err=err,
            )
            self._works[self._last] = work
            for number, old in list(self._works.items())[:-_MOST_KEPT]:
                if old.code is not None:
                    old.out.close()
                    old.err.close()
                    del self._works[number]
            return work

    def get(self, number: int) -> Work:
        """A command by its number. LookupError."""
        if number not in self._works:
            raise LookupError("This command is not remembered any more; the log says who started it.")
        return self._works[number]

    def all(self) -> list[Work]:
        """Return what is remembered, the latest first."""
        return list(self._works.values())[::-1]

    def close(self) -> None:
        """Ask what goes on to end, as a run does after its part, and wait for it; then end it in any case."""
        for work in self._works.values():
            if work.code is None:
                work.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + _PATIENCE_SECONDS
        for work in self._works.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                work.process.wait(max(0.1, until - time.monotonic()))
            if work.code is None:
                work.process.kill()
                work.process.wait()


def _text(file: IO[bytes]) -> str:
    """The end of what a child wrote, read without moving the place where it writes on."""
    size = os.fstat(file.fileno()).st_size
    start = max(0, size - _MOST_SHOWN)
    return os.pread(file.fileno(), _MOST_SHOWN, start).decode("utf-8", "replace")
