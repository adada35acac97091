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
from jobs.nights.requests import ANSWER, FOLLOW, LEFT, Answer, Handed, leave_request, new_request, read_answer, runs_of
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
        self._process = service_of(self.workspace) or None
        self._service = "the service" + (f" (process {self._process})" if self._process else "")
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
            name = _name(owner)
            told = f"{self._service} takes requests of {name} alone, as whom it runs."
            return self._held(told, f"sudo -u {name} cloister run {self.job}")
        handed = new_request(self._site, self.job)
        with self._followed(handed):
            leave_request(self._site, handed)
            self.watcher.note("handed over to the service", process=self._process)
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
        left = self._folder.path / f"{handed.id}{LEFT}"  # until the service takes the request up
        while True:
            service = service_of(self.workspace)  # before its answer is read: it may give one and end
            try:
                answer = read_answer(self._site, handed.id)
            except ValueError as error:
                told = f"what {self._service} said of the run cannot be read: {error}."
                return self._held(told, "cloister status shows what became of it")
            if answer and (ended := answer.report or answer.ending):
                return ended
            if service is None:
                remedy = "start cloister serve again: the request is kept, and it takes it up"
                return self._held(f"{self._service} ended before the run that it was asked for.", remedy)
            if not left.exists() or holder(self._site.audit / "lock") == service:  # in a run it takes nothing up
                self._idle = None
            elif self._is_out_of_patience():
                with contextlib.suppress(FileNotFoundError):  # the service was quicker
                    left.unlink()
                    return self._not_taken()
            self._tell(service, answer)
            if self.stop.wait(_LOOK_SECONDS):
                goes_on = "has not begun the run yet, and will" if left.exists() else "goes on with the run"
                told = f"{self.job}: followed no longer; the service {goes_on}. cloister status shows how far it is."
                return Ending(ExitCode.INTERRUPTED, told)

    def _is_out_of_patience(self) -> bool:
        now = self.clock()
        self._idle = now if self._idle is None else self._idle
        return now - self._idle >= self.patience

    def _tell(self, service: int, answer: Answer | None) -> None:
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
                event = pipeline.report.READING if told["counts"] == "pages" else pipeline.report.COMPUTING
                done = {str(told["counts"]): told["done"]}
                self.watcher.note(event, **done, of=told["of"], document=told["document"])
            self._inside = running.inside
            return
        whose = "the service" if writer == service else f"process {writer}" if writer else "another process"
        waits_for = "the service" if writer is None else f"{whose}, which runs {running.job}" if running else whose
        if waits_for != self._waits_for:
            self._waits_for = waits_for
            self.watcher.note(f"waiting for {waits_for}")

    def _not_taken(self) -> Ending:
        told = f"{self._service} did not take the request up within {self.patience:g} seconds, so it was taken back. It"
        return self._held(f"{told} is of an earlier version of Cloister, or held up.", "start cloister serve anew")

    def _held(self, told: str, remedy: str) -> Ending:
        return Ending(ExitCode.WORKSPACE_HELD, f"{self.job}: {told}\n    remedy:   {remedy}")


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
