"""The service's side of runs that were asked for: it takes requests up, and says what became of them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from structlog.typing import FilteringBoundLogger

import audit
import pipeline
from jobs.config.load import LoadedJob
from jobs.config.workspace import Workspace, load_job_of
from jobs.errors import ConfigError, Ending, ExitCode, Problem, ending_of
from jobs.visible import one_line

# The service makes the folder, which only its own user may enter, and root. A request is a file ID.json, there whole
# or not at all. Who renames it has it: the service to ID.taken, or the one who left it, to take it back. It is removed
# when the run has ended. Its id stands in the log with the run, so that no request is run again when the service was
# killed before it could remove it.
#
# Who follows a request holds a lock on ID.follow as long as it lives. What became of the request is ID.answer, which
# the service writes and the follower reads; nothing of a request is kept that nobody follows.


LEFT: Final = ".json"
TAKEN: Final = ".taken"
FOLLOW: Final = ".follow"
ANSWER: Final = ".answer"

_VERSION: Final = 1  # of an answer
_MOST_BYTES: Final = 64 * 2**20  # of an answer; a request is short
_MOST_REQUEST: Final = 4_096
_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_JOB = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z", re.ASCII)


@dataclass(frozen=True)
class Handed:
    """A request: for which job, who asked for it and when, and the size of the log at that time."""

    job: str
    request: pipeline.plan.RunRequest
    size: int

    @property
    def id(self) -> str:
        """The name that its files begin with."""
        return self.request.id

    @property
    def due(self) -> datetime:
        """When the run was due: a window counts from there."""
        return datetime.fromisoformat(self.request.at)


def runs_of(site: pipeline.Site) -> pipeline.records.Drop[Handed]:
    """The folder of the requests."""
    return pipeline.records.Drop(site, "runs", _MOST_BYTES, _parse_request)


def make_folder(site: pipeline.Site) -> None:
    """Make the folder of the requests, if it is missing. OSError."""
    runs_of(site).path.mkdir(mode=0o700, parents=True, exist_ok=True)


def new_request(site: pipeline.Site, job: str) -> Handed:
    """A request for a run of the job, with an id that no other has. audit.AuditError."""
    size = audit.read_checkpoint(site.audit, site.public_key).size
    return Handed(job, pipeline.plan.RunRequest(secrets.token_hex(16), "", audit.stamp_now().time), size)


def leave_request(site: pipeline.Site, handed: Handed) -> None:
    """Leave a request for the service, on the disk when this returns. OSError."""
    runs_of(site).leave(f"{handed.id}{LEFT}", format_request(handed))


def format_request(handed: Handed) -> bytes:
    """The bytes of a request's file; who asks is the owner of the file."""
    said = {"v": 1, "id": handed.id, "job": handed.job, "at": handed.request.at, "size": handed.size}
    return audit.canonical(said)


def _parse_request(name: str, left: pipeline.records.LeftFile) -> Handed:
    """The request that this user or root left in the file of this name. ValueError for anything else."""
    if left.uid not in (os.geteuid(), 0):
        raise ValueError(f"it belongs to {left.owner}, who may not ask for runs")
    data = left.whole()
    if len(data) > _MOST_REQUEST:
        raise ValueError(f"longer than {_MOST_REQUEST:,} bytes")
    told = audit.parse_canonical(data)
    if not isinstance(told, dict) or told.keys() != {"v", "id", "job", "at", "size"} or told["v"] != 1:
        raise ValueError("not what a command writes")
    texts = {"id": _ID, "job": _JOB, "at": _TIME}
    fit = all(isinstance(told[key], str) and form.fullmatch(told[key]) for key, form in texts.items())
    if not fit or type(told["size"]) is not int or told["size"] < 0 or name.split(".")[0] != told["id"]:
        raise ValueError("not what a command writes")
    handed = Handed(told["job"], pipeline.plan.RunRequest(told["id"], left.owner, told["at"]), told["size"])
    if handed.due.tzinfo is None:
        raise ValueError("not what a command writes")
    return handed


def is_followed(site: pipeline.Site, id_: str) -> bool:
    """Whether somebody follows the request: the kernel lets go of the lock with its process."""
    path = runs_of(site).path / f"{id_}{FOLLOW}"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@dataclass(frozen=True)
class Answer:
    """`report`: how the run ended; `ending`: why there was none; neither: it is on its way."""

    report: pipeline.RunReport | None = None
    ending: Ending | None = None


def write_answer(site: pipeline.Site, id_: str, answer: Answer) -> None:
    """Write what became of a request, in the place of what was said before. OSError."""
    said: dict[str, Any] = {"v": _VERSION, "report": None, "ending": None}
    if answer.report is not None:
        said["report"] = asdict(answer.report)
    if answer.ending is not None:
        said["ending"] = asdict(answer.ending)
    make_folder(site)
    runs_of(site).leave(f"{id_}{ANSWER}", json.dumps(said, default=str).encode())


def read_answer(site: pipeline.Site, id_: str) -> Answer | None:
    """Read what the service said of a request; None while it has said nothing. ValueError for what it cannot have
    said, or what another version of it said."""
    folder = runs_of(site)
    try:
        left = folder.read(f"{id_}{ANSWER}")
        trusted = {os.geteuid(), 0, folder.path.stat().st_uid}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(error.strerror) from error
    if left.uid not in trusted:
        raise ValueError(f"it belongs to {left.owner}")
    try:
        said = json.loads(left.whole())
        if said["v"] != _VERSION:
            raise ValueError("another version of Cloister wrote it")
        report, ending = said["report"], said["ending"]
        return Answer(_report(report) if report else None, _ending(ending) if ending else None)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("another version of Cloister wrote it") from error


def _report(said: Mapping[str, Any]) -> pipeline.RunReport:
    lists = {name: tuple(map(tuple, said[name])) for name in ("lost", "ignored", "pending", "failed")}
    isolation = said["isolation"]
    return pipeline.RunReport(**{
        **said,
        **lists,
        "parts": tuple(map(Path, said["parts"])),
        "unlike": tuple(said["unlike"]),
        "report": Path(said["report"]) if said["report"] else None,
        "isolation": isolation and pipeline.records.Isolation(isolation["wanted"], tuple(isolation["lacking"])),
    })  # fmt: skip


def _ending(said: Mapping[str, Any]) -> Ending:
    return Ending(ExitCode(said["code"]), said["message"], tuple(Problem(**each) for each in said["problems"]))


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

    def begin(self, job: str) -> tuple[pipeline.plan.RunRequest, ...]:
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
            if isinstance(handed, pipeline.records.RefusedFile):
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
    began: pipeline.records.RunStarted | None = None
    try:
        for entry in pipeline.records.read_entries(site, handed.size):
            if isinstance(entry, pipeline.records.RunStarted) and handed.id in {each.id for each in entry.requests}:
                began = entry
            elif isinstance(entry, pipeline.records.RunFinished) and began and entry.run == began.run:
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
