"""The other side of runs that were asked for: `cloister run` leaves a request, and follows it until it has ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace
from jobs.errors import Ending, ExitCode
from jobs.nights.request import ANSWER, FOLLOW, LEFT, Answer, Handed, leave_request, new_request, read_answer, runs_of
from jobs.progress import Watcher
from jobs.stop import Stop, holder

PATIENCE_SECONDS: Final = 120.0
"""How long a service that runs nothing may take to take a request up: a command of `notify` may hold it up."""
_LOOK_SECONDS: Final = 0.25


def service_of(workspace: Workspace) -> int | None:
    """The process of the service that serves the workspace; 0 for one of another container; None if there is none."""
    return holder(workspace.log)


@dataclass
class Follower:
    """Asks the service of a workspace for a run of a job, and follows it. `watcher` is told what happens."""

    workspace: Workspace
    job: str
    watcher: Watcher
    stop: Stop
    patience: float = PATIENCE_SECONDS
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._site = make_site(self.workspace)
        self._folder = runs_of(self._site)
        self._service = service_of(self.workspace) or 0
        self._idle: float | None = None  # since when the service could have taken the request up
        self._waits_for = ""
        self._inside: dict[str, str | int | None] | None = None
        self._total: int | None = None

    def run(self) -> pipeline.RunReport | Ending:
        """Have the job run: how its run ended, or why nothing more can be said of it. OSError, audit.AuditError."""
        while not self._folder.path.is_dir():  # of a service that begins, for a moment
            if self._is_out_of_patience() or service_of(self.workspace) is None:
                return self._not_taken()
            if self.stop.wait(_LOOK_SECONDS):
                return Ending(ExitCode.INTERRUPTED, f"{self.job}: nothing was asked of the service yet.")
        owner = self._folder.path.stat().st_uid
        if os.geteuid() not in (owner, 0):
            return self._other_user(owner)
        handed = new_request(self._site, self.job)
        with self._followed(handed):
            leave_request(self._site, handed)
            self.watcher.note("handed over to the service", process=self._service or None)
            return self._follow(handed)

    @contextlib.contextmanager
    def _followed(self, handed: Handed) -> Iterator[None]:
        """Hold the lock that says that somebody follows, from before the request is there."""
        path = self._folder.path / f"{handed.id}{FOLLOW}"
        new = path.with_suffix(".new")
        handle = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            new.rename(path)
            yield
        finally:
            self._folder.remove([f"{handed.id}{ANSWER}", f"{handed.id}{FOLLOW}"])
            os.close(handle)

    def _follow(self, handed: Handed) -> pipeline.RunReport | Ending:
        while True:
            service = service_of(self.workspace)  # before its answer is read: it may give one and end
            try:
                answer = read_answer(self._site, handed.id)
            except ValueError as error:
                return self._not_understood(error)
            if answer and (ended := answer.report or answer.ending):
                return ended
            if service is None:
                return self._service_ended()
            if self._is_overdue(handed, service) and self._take_back(handed):
                return self._not_taken()
            self._tell(service, answer)
            if self.stop.wait(_LOOK_SECONDS):
                return self._stopped(handed)

    def _is_overdue(self, handed: Handed, service: int) -> bool:
        """Whether the service could have taken the request up for a long time, and has not. In a run it takes nothing
        up."""
        if not self._is_left(handed) or holder(self._site.audit / "lock") == service:
            self._idle = None
            return False
        return self._is_out_of_patience()

    def _is_left(self, handed: Handed) -> bool:
        """Whether the service has not taken the request up."""
        return (self._folder.path / f"{handed.id}{LEFT}").exists()

    def _is_out_of_patience(self) -> bool:
        now = self.clock()
        self._idle = now if self._idle is None else self._idle
        return now - self._idle >= self.patience

    def _take_back(self, handed: Handed) -> bool:
        """Remove the request; False where the service was quicker."""
        try:
            (self._folder.path / f"{handed.id}{LEFT}").unlink()
        except FileNotFoundError:
            return False
        return True

    def _tell(self, service: int, answer: Answer | None) -> None:
        """Tell how far the run is, or what it waits for."""
        running, writer = pipeline.running(self._site), holder(self._site.audit / "lock")
        if running and writer not in (0, running.pid):
            running = None  # a run that was killed left it
        if answer and running and running.job == self.job and writer == service:
            if running.total is not None and running.total != self._total:
                self._total = running.total
                self.watcher.found(running.total)
            self.watcher.reached(running.counts)
            if running.inside and running.inside != self._inside:
                told = running.inside
                event = pipeline.READING if told["counts"] == "pages" else pipeline.COMPUTING
                done = {str(told["counts"]): told["done"]}
                self.watcher.note(event, **done, of=told["of"], document=told["document"])
            self._inside = running.inside
            return
        whose = "the service" if writer == service else f"process {writer}" if writer else "another process"
        waits_for = "the service" if writer is None else f"{whose}, which runs {running.job}" if running else whose
        if waits_for != self._waits_for:
            self._waits_for = waits_for
            self.watcher.note(f"waiting for {waits_for}")

    def _stopped(self, handed: Handed) -> Ending:
        goes_on = "the service goes on with the run"
        if self._is_left(handed):
            goes_on = "the service has not begun the run yet, and will"
        told = f"{self.job}: followed no longer; {goes_on}. cloister status shows how far it is."
        return Ending(ExitCode.INTERRUPTED, told)

    def _service_ended(self) -> Ending:
        told = f"{self.job}: the service{self._process()} ended before the run that it was asked for."
        remedy = "start cloister serve again: the request is kept, and it takes it up"
        return Ending(ExitCode.WORKSPACE_HELD, f"{told}\n    remedy:   {remedy}")

    def _not_taken(self) -> Ending:
        told = (
            f"{self.job}: the service{self._process()} did not take the request up within {self.patience:g} seconds, "
            "so it was taken back. It is of an earlier version of Cloister, or held up."
        )
        return Ending(ExitCode.WORKSPACE_HELD, f"{told}\n    remedy:   start cloister serve anew")

    def _not_understood(self, error: ValueError) -> Ending:
        told = f"{self.job}: what the service{self._process()} said of the run cannot be read: {error}."
        return Ending(ExitCode.WORKSPACE_HELD, f"{told}\n    remedy:   cloister status shows what became of it")

    def _other_user(self, owner: int) -> Ending:
        told = f"{self.job}: the service{self._process()} takes requests of {_name(owner)} alone, as whom it runs."
        return Ending(ExitCode.WORKSPACE_HELD, f"{told}\n    remedy:   sudo -u {_name(owner)} cloister run {self.job}")

    def _process(self) -> str:
        return f" (process {self._service})" if self._service else ""


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
