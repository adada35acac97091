"""The service's side of runs that were asked for: it takes requests up, and says what became of them."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from structlog.typing import FilteringBoundLogger

import audit
import pipeline
from jobs.config.load import LoadedJob
from jobs.config.workspace import Workspace, load_job_of
from jobs.errors import ConfigError, ending_of
from jobs.nights.request import (
    ANSWER,
    FOLLOW,
    LEFT,
    TAKEN,
    Answer,
    Handed,
    is_followed,
    make_folder,
    runs_of,
    write_answer,
)
from jobs.visible import one_line


@dataclass
class Requests:
    """The requests of a workspace that this service has taken up and whose runs have not ended.

    The service asks `take` between runs, says `begin` before one and `ended` or `refused` after it. What it has taken
    when it is killed is taken up again by the next one.
    """

    workspace: Workspace
    site: pipeline.Site
    log: FilteringBoundLogger
    _open: dict[str, Handed] = field(default_factory=dict)  # id -> the request
    _told: str = ""

    def __post_init__(self) -> None:
        with self._telling():
            make_folder(self.site)
        self._take_up(TAKEN)

    def take(self, jobs: Mapping[str, LoadedJob], unfit: Mapping[str, ConfigError]) -> dict[str, datetime]:
        """The jobs that somebody asked for, each with when it was due: at its latest request.

        `jobs` are those that the service has read. One whose file was written a moment ago is left for the next call,
        and one whose file cannot be read, or is `unfit` beside the others, is refused.
        """
        with self._telling():
            make_folder(self.site)
        self._take_up(LEFT)
        # Remove what was said to somebody who does not listen any more: it may name documents.
        folder = runs_of(self.site)
        for suffix in (ANSWER, FOLLOW):
            ids = [Path(name).stem for name in folder.names(suffix)]
            folder.remove(f"{each}{suffix}" for each in ids if not is_followed(self.site, each))
        folder.remove(name for name in folder.names(".tmp") if Path(name).stem.endswith(ANSWER))  # cut off in writing
        due: dict[str, datetime] = {}
        for handed in sorted(self._open.values(), key=lambda each: each.due):
            if self._is_read(handed, jobs, unfit):
                due[handed.job] = handed.due
        return due

    def asks(self, job: str) -> bool:
        """Whether somebody asked for a run of the job, which has not ended."""
        return any(handed.job == job for handed in self._open.values())

    def begin(self, job: str) -> tuple[pipeline.RunRequest, ...]:
        """The requests that the run which begins now is for."""
        asked = [handed for handed in self._open.values() if handed.job == job]
        for handed in asked:
            self._answer(handed, Answer())
        return tuple(handed.request for handed in asked)

    def ended(self, report: pipeline.RunReport) -> None:
        """The run of a job has ended."""
        self._close(report.job, Answer(report=report))

    def refused(self, job: str, error: Exception) -> None:
        """A job could not be run, or its run could not go on."""
        if self.asks(job):
            self._close(job, Answer(ending=ending_of(error, self.workspace.root, processing=True)))

    def _take_up(self, suffix: str) -> None:
        """Take up what lies in the folder: what was left since, or what a service before this one had taken."""
        folder = runs_of(self.site)
        for name, _, handed in folder.taken(folder.names(suffix)):
            if isinstance(handed, pipeline.RefusedFile):
                self._set_aside(name, handed.why)
                continue
            with self._telling(), contextlib.suppress(FileNotFoundError):
                folder.rename(name, f"{handed.id}{TAKEN}")
                self._open[handed.id] = handed
                self.log.info("run asked for", job=handed.job, user=handed.request.user)
                if report := run_of(self.site, handed):
                    self._end(handed, Answer(report=report))

    def _set_aside(self, name: str, why: str) -> None:
        """Keep what is no request under another name, and say so once."""
        self.log.warning("request for a run refused", file=one_line(name), reason=one_line(why))
        with self._telling():
            folder = runs_of(self.site)
            folder.rename(name, folder.free_name(f"{Path(name).stem[:64]}.refused"))

    def _is_read(self, handed: Handed, jobs: Mapping[str, LoadedJob], unfit: Mapping[str, ConfigError]) -> bool:
        """Whether the service has read the job's file as it is now; it looks at each file twice before it does."""
        try:
            now = load_job_of(self.workspace, self.workspace.jobs / f"{handed.job}.yaml")
            if handed.job in unfit:
                raise unfit[handed.job]
        except ConfigError as error:
            self._end(handed, Answer(ending=ending_of(error)))
            return False
        read = jobs.get(handed.job)
        return read is not None and read.source.sha256 == now.source.sha256

    def _close(self, job: str, answer: Answer) -> None:
        for handed in [each for each in self._open.values() if each.job == job]:
            self._end(handed, answer)

    def _end(self, handed: Handed, answer: Answer) -> None:
        self._answer(handed, answer)
        self._open.pop(handed.id, None)
        runs_of(self.site).remove([f"{handed.id}{TAKEN}"])

    def _answer(self, handed: Handed, answer: Answer) -> None:
        if is_followed(self.site, handed.id):
            with self._telling():
                write_answer(self.site, handed.id, answer)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """What goes wrong with the folder is told, once as long as it is the same, and keeps no job from running."""
        try:
            yield
        except OSError as error:
            problem = one_line(str(error))
            if problem != self._told:
                self.log.warning("requests for runs cannot be answered", problem=problem)
            self._told = problem


def run_of(site: pipeline.Site, handed: Handed) -> pipeline.RunReport | None:
    """How the run that was for this request ended, as far as the log tells it; None where none has ended."""
    began: pipeline.RunStarted | None = None
    try:
        for entry in pipeline.read_entries(site, handed.size):
            if isinstance(entry, pipeline.RunStarted) and handed.id in {each.id for each in entry.requests}:
                began = entry
            elif isinstance(entry, pipeline.RunFinished) and began and entry.run == began.run:
                return pipeline.RunReport(
                    run=entry.run,
                    job=entry.job,
                    counts=entry.counts,
                    known=entry.known,
                    parts=(),
                    tokens=entry.tokens or 0,
                    seconds=entry.seconds,
                    interrupted=entry.interrupted,
                    window_closed=entry.window_closed,
                    model_sha256=began.model_sha256,
                    pinned=began.pinned,
                    retried=began.retry is not None,
                    lost=(),
                    ignored=(),
                    pending=(),
                    failed=(),
                    isolation=began.isolation,
                )
    except audit.AuditError:  # a run tells what is wrong with a log
        pass
    return None
