"""state/runs/: requests of `cloister run` to the service of its workspace, and what became of each.

The service makes the folder, which only its own user may enter, and root. A request is a file ID.json, there whole or
not at all. Who renames it has it: the service to ID.taken, or the one who left it, to take it back. It is removed when
the run has ended. Its id stands in the log with the run, so that no request is run again when the service was killed
before it could remove it.

Who follows a request holds a lock on ID.follow as long as it lives. What became of the request is ID.answer, which the
service writes and the follower reads; nothing of a request is kept that nobody follows.
"""

import fcntl
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import audit
import pipeline
from jobs.errors import Ending, ExitCode, Problem

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
    request: pipeline.RunRequest
    size: int

    @property
    def id(self) -> str:
        """The name that its files begin with."""
        return self.request.id

    @property
    def due(self) -> datetime:
        """When the run was due: a window counts from there."""
        return datetime.fromisoformat(self.request.at)


def runs_of(site: pipeline.Site) -> pipeline.Drop[Handed]:
    """The folder of the requests."""
    return pipeline.Drop(site, "runs", _MOST_BYTES, _parse_request)


def make_folder(site: pipeline.Site) -> None:
    """Make the folder of the requests, if it is missing. OSError."""
    runs_of(site).path.mkdir(mode=0o700, parents=True, exist_ok=True)


def new_request(site: pipeline.Site, job: str) -> Handed:
    """A request for a run of the job, with an id that no other has. audit.AuditError."""
    size = audit.read_checkpoint(site.audit, site.public_key).size
    return Handed(job, pipeline.RunRequest(secrets.token_hex(16), "", audit.stamp_now().time), size)


def leave_request(site: pipeline.Site, handed: Handed) -> None:
    """Leave a request for the service, on the disk when this returns. OSError."""
    runs_of(site).leave(f"{handed.id}{LEFT}", format_request(handed))


def format_request(handed: Handed) -> bytes:
    """The bytes of a request's file; who asks is the owner of the file."""
    said = {"v": 1, "id": handed.id, "job": handed.job, "at": handed.request.at, "size": handed.size}
    return audit.canonical(said)


def _parse_request(name: str, left: pipeline.LeftFile) -> Handed:
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
    handed = Handed(told["job"], pipeline.RunRequest(told["id"], left.owner, told["at"]), told["size"])
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
        "isolation": pipeline.Isolation(isolation["wanted"], tuple(isolation["lacking"])) if isolation else None,
    })  # fmt: skip


def _ending(said: Mapping[str, Any]) -> Ending:
    return Ending(ExitCode(said["code"]), said["message"], tuple(Problem(**each) for each in said["problems"]))
