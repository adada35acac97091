"""How things end: the exit codes, the operator's mistakes, and the one place that turns an exception into both."""

from __future__ import annotations

import errno
import hashlib
import os
import pwd
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

import pipeline
from jobs.silence.guard import NetworkAttemptError
from jobs.stop import ServiceHeldError

if TYPE_CHECKING:
    import audit


class ExitCode(IntEnum):
    """The exit status of a command."""

    DONE = 0
    DOCUMENTS_FAILED = 1
    BAD_CONFIG = 2
    MODEL_REFUSED = 3
    AUDIT_FAILED = 4
    WORKSPACE_HELD = 5
    WINDOW_CLOSED = 6
    NEEDS_PERSON = 7  # of `status --check` and `doctor`
    DEFECT = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141  # 128 + SIGPIPE, as shells tell it


_PRECEDENCE = (
    ExitCode.PIPE_CLOSED,
    ExitCode.INTERRUPTED,
    ExitCode.DEFECT,
    ExitCode.AUDIT_FAILED,
    ExitCode.MODEL_REFUSED,
    ExitCode.WORKSPACE_HELD,
    ExitCode.BAD_CONFIG,
    ExitCode.WINDOW_CLOSED,
    ExitCode.NEEDS_PERSON,
    ExitCode.DOCUMENTS_FAILED,
    ExitCode.DONE,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The code that stands for several; DONE for none."""
    return min(codes, key=_PRECEDENCE.index, default=ExitCode.DONE)


Steps = tuple[str | int, ...]  # keys and indexes from the top of a YAML file to a value


@dataclass(frozen=True)
class Problem:
    """One mistake of the operator. `line` and `column` count from 1, `column` in characters."""

    where: str
    found: str
    expected: str | None = None
    remedy: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.where, self.line, self.column) if part is not None)
        lines = [f"{place}: {self.found}"]
        if self.expected:
            lines.append(f"    expected: {self.expected}")
        if self.remedy:
            lines.append(f"    remedy:   {self.remedy}")
        return "\n".join(lines)

    def one_line(self) -> str:
        """The problem as one line, for the log."""
        place, *rest = str(self).split("\n")
        return f"{place} ({'; '.join(' '.join(line.split()) for line in rest)})" if rest else place


class ConfigError(Exception):
    """A job, a site or a command that cannot be obeyed; every problem that was found, in the order of the file."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class StoppedError(Exception):
    """Ctrl-C ended a command, of which its framework tells nothing; its arguments say what is kept."""


class OutputError(Exception):
    """stdout takes nothing more: what it leads to is full, or its reader has gone."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"cannot write the output: {cause.strerror}")
        self.closed = cause.errno == errno.EPIPE


# a disk that is full, read-only or broken, a limit on file sizes, somebody else's folder: the operator's, no defect
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})
_KEPT = "its traceback is kept in"


@dataclass(frozen=True)
class Ending:
    """The end of a command by an exception: the exit code, one clear text, and the problems where there are several."""

    code: ExitCode
    message: str
    problems: tuple[Problem, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The document that a failed command prints under --json."""
        error = {"message": self.message, "problems": [asdict(problem) for problem in self.problems]}
        return {"error": error, "exit_code": int(self.code)}


def ending_of(error: BaseException, workspace: Path | None = None, *, processing: bool = False) -> Ending:
    """The ending for `error`. An unknown one is a defect, whose traceback is kept in the workspace or elsewhere.
    `processing`: what it ended was a run."""
    if isinstance(error, ConfigError):
        return Ending(ExitCode.BAD_CONFIG, str(error), error.problems)
    if isinstance(error, OutputError):
        return Ending(ExitCode.PIPE_CLOSED if error.closed else ExitCode.BAD_CONFIG, str(error))
    if isinstance(error, KeyboardInterrupt | StoppedError):
        left = ("The next run takes up what was left unfinished.",) if processing else ()
        return Ending(ExitCode.INTERRUPTED, " ".join(["Interrupted.", *(error.args or left)]))
    if isinstance(error, ServiceHeldError):
        return Ending(ExitCode.WORKSPACE_HELD, f"{error}\n    remedy:   stop that one first")
    if isinstance(error, NetworkAttemptError):
        return _attempted(error, workspace)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        more = "\n    What is committed stays; the next run goes on." if processing else ""
        owner = workspace.stat().st_uid if workspace and error.errno in _FORBIDDEN else os.geteuid()
        is_anothers = owner != os.geteuid()  # who may do what this user may not
        remedy = f"run this as {user_name(owner)}, who owns the workspace" if is_anothers else remedy_of(error)
        told = no_room(error, workspace) + more + (f"\n    remedy:   {remedy}" if remedy else "")
        return Ending(ExitCode.BAD_CONFIG, told)
    return _operators_ending(error, workspace, processing) or _defect(error, workspace)


def remedy_of(error: OSError) -> str | None:
    """What mends a disk that is full, or a right that was taken away; None where nothing is known to."""
    if error.errno in _FULL:
        return "make room on that disk"
    if error.filename is None or error.errno not in _FORBIDDEN:
        return None
    import audit  # which takes long, and the help needs none of it

    return audit.how_to_reach(error.filename)


def user_name(uid: int) -> str:
    """The name of a user; the number, where there is no account of it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def no_room(error: OSError, workspace: Path | None) -> str:
    """One line that says which file cannot be written, and why; for a full disk, how much room is left in the
    workspace."""
    place = error.filename or workspace
    return (f"{place}: {error.strerror}" if place else str(error.strerror)) + _room(error, workspace)


def _room(error: BaseException | None, workspace: Path | None) -> str:
    full = isinstance(error, OSError) and error.errno in _FULL
    if workspace is None or not full:
        return ""
    try:
        free = shutil.disk_usage(workspace).free
    except OSError:
        return ""
    return f" ({free / 2**20:,.1f} MiB free on the file system of the workspace {workspace})"


def _operators_ending(error: BaseException, workspace: Path | None, processing: bool) -> Ending | None:
    """How refusals of machine, model, part and log end."""
    import audit

    if isinstance(error, pipeline.MachineRefusedError):
        return Ending(ExitCode.BAD_CONFIG, str(error))
    if isinstance(error, pipeline.ModelRefusedError):
        return Ending(ExitCode.MODEL_REFUSED, f"Model refused: {error}")
    if isinstance(error, pipeline.atrest.EncryptedError):
        is_damaged = isinstance(error, pipeline.atrest.DamagedError)
        return Ending(ExitCode.AUDIT_FAILED if is_damaged else ExitCode.BAD_CONFIG, error.sentence)
    if isinstance(error, pipeline.BadPartError):
        return Ending(ExitCode.AUDIT_FAILED, str(error))
    if isinstance(error, audit.LogHeld):
        return Ending(ExitCode.WORKSPACE_HELD, str(error))
    if isinstance(error, audit.AuditError):
        more = "\n    Nothing more was processed." if processing else ""
        told = f"Audit log: {error}{_room(error.__cause__, workspace)}{more}"
        return _keys_ending(error, more) or Ending(ExitCode.AUDIT_FAILED, told)
    return None


def _keys_ending(error: audit.AuditError, more: str) -> Ending | None:
    """The ending where a key, or a right on a file of the log, is not as it has to be: nothing is wrong with the log,
    and whoever operates it mends that."""
    import audit

    cause = error.__cause__
    if isinstance(error, audit.KeyRefused):
        told, remedy = error.found, error.remedy
    elif isinstance(error, audit.LogUnwritable) and isinstance(cause, PermissionError) and cause.filename:
        told, remedy = str(error), audit.how_to_reach(cause.filename)
    else:
        return None
    return Ending(ExitCode.BAD_CONFIG, told + more + (f"\n    remedy:   {remedy}" if remedy else ""))


def _attempted(error: NetworkAttemptError, workspace: Path | None) -> Ending:
    """The ending of a command whose process reached for a network."""
    told = (
        f"A defect of Cloister: something in its process reached for a network, and was refused: {error}\n"
        "    Nothing was sent. What was committed stays; do not run it again before you know what asked for it.\n"
    )
    return Ending(ExitCode.DEFECT, f"{told}    {where_kept(error, workspace)}")


def _defect(error: BaseException, workspace: Path | None) -> Ending:
    place = where_kept(error, workspace)
    text = "" if place.startswith(_KEPT) else ":\n" + "".join(traceback.format_exception(error))
    return Ending(ExitCode.DEFECT, f"A defect of Cloister: {type(error).__name__}: {error}\n    {place}{text}")


def where_kept(error: BaseException, workspace: Path | None) -> str:
    """Keep the traceback of a defect, and say where it is, or why it could not be kept."""
    try:
        return f"{_KEPT} {keep_traceback(''.join(traceback.format_exception(error)), workspace)}"
    except OSError as failure:
        return f"its traceback could not be kept ({failure})"


def keep_traceback(text: str, workspace: Path | None) -> Path:
    """Writes a crash file (0600) and returns its path; OSError when there is no place for it. Of a defect that comes
    again at the same lines of code the workspace keeps the latest file."""
    lines = "\n".join(line for line in text.splitlines() if line.startswith("  File "))
    kind = hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()[:12]
    crashes = Path(tempfile.gettempdir())
    if workspace is not None and (workspace / "state").is_dir():
        crashes = workspace / "state" / "crashes"
        crashes.mkdir(exist_ok=True)
        for earlier in crashes.glob(f"cloister-*-{kind}-*.txt"):
            earlier.unlink(missing_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    handle, name = tempfile.mkstemp(prefix=f"cloister-{moment}-{kind}-", suffix=".txt", dir=crashes)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"python {sys.version}\narguments {sys.argv[1:]}\n\n{text}")
    return Path(name)
