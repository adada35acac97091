"""state/runs/: requests of `cloister run` to the service of its workspace.

The service makes the folder, which only its own user may enter, and root. A request is a file ID.json, there whole or
not at all. Who renames it has it: the service to ID.taken, or the one who left it, to take it back. It is removed when
the run has ended. Its id stands in the log with the run, so that no request is run again when the service was killed
before it could remove it.

Who follows a request holds a lock on ID.follow as long as it lives. What became of the request is ID.answer
(answer.py); nothing of a request is kept that nobody follows.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import audit
import pipeline

LEFT: Final = ".json"
TAKEN: Final = ".taken"
FOLLOW: Final = ".follow"
ANSWER: Final = ".answer"

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
