"""The processes that `cluster up` starts on this machine, and how they are found again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from jobs.errors import ConfigError, Problem
from jobs.silence.outside import start as start_outside

_FILE: Final = "processes.json"
_STARTS_SECONDS: Final = 60.0
_ENDS_SECONDS: Final = 15.0


@dataclass(frozen=True)
class Process:
    """A process by its number, what it is, when it began (in clock ticks since the machine did), and its log."""

    what: str
    pid: int
    began: int
    log: str


@dataclass(frozen=True)
class Local:
    """The scheduler and workers that run on this machine for a workspace, and the address of that scheduler."""

    address: str
    processes: tuple[Process, ...]

    def alive(self) -> list[Process]:
        """Those that run: a number that another process has by now is none of them."""
        return [process for process in self.processes if began(process.pid) == process.began]


def folder_of(root: Path) -> Path:
    """Where what runs here is remembered, with its logs."""
    return root / "state" / "cluster"


def read_local(root: Path) -> Local | None:
    """The scheduler and workers that `cluster up` started for a workspace; None where none of them runs any more."""
    try:
        said = json.loads((folder_of(root) / _FILE).read_text())
        found = Local(said["address"], tuple(Process(**each) for each in said["processes"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.alive() else None


def write_local(root: Path, local: Local) -> None:
    """Remember it. OSError."""
    said = {"address": local.address, "processes": [asdict(process) for process in local.processes]}
    folder_of(root).mkdir(parents=True, exist_ok=True)
    (folder_of(root) / _FILE).write_text(json.dumps(said, indent=2) + "\n")


def start(root: Path, what: str, arguments: Sequence[str], **environment: str) -> Process:
    """Start a command of cloister in the background, in a session of its own; its stderr and stdout go to a log."""
    log = folder_of(root) / f"{what}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-c", "import sys; from jobs.cli import main; sys.exit(main())", *arguments]
    with log.open("wb") as out:
        process = start_outside(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            env={**os.environ, **environment},
        )  # fmt: skip
    return Process(what, process.pid, began(process.pid) or 0, str(log))


def wait_for_line(process: Process, begins: str) -> str:
    """The first line of a process's log that begins so. ConfigError with the log's end where the process ends before,
    or says nothing for a minute."""
    until = time.monotonic() + _STARTS_SECONDS
    log = Path(process.log)
    while True:
        for line in log.read_text(errors="replace").splitlines():
            if line.startswith(begins):
                return line
        if began(process.pid) != process.began or time.monotonic() > until:
            said = log.read_text(errors="replace").strip().splitlines()[-3:]
            told = " / ".join(said) or "nothing"
            raise ConfigError(Problem(f"the {process.what}", f"did not start; it said: {told}", f"see {log}"))
        time.sleep(0.05)


def end(local: Local) -> int:
    """End all processes, workers first; how many there were. Those that do not end are killed."""
    alive = local.alive()
    for process in sorted(alive, key=lambda one: one.what == "scheduler"):
        _signal(process, signal.SIGTERM)
    until = time.monotonic() + _ENDS_SECONDS
    while local.alive() and time.monotonic() < until:
        _reap()
        time.sleep(0.05)
    for process in local.alive():
        _signal(process, signal.SIGKILL)
    return len(alive)


def _signal(process: Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process.pid, number)


def _reap() -> None:
    """Take note of children of this process that ended: where `up` and `down` are one process."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def began(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine did (proc(5): stat, field 22); None for none, or one that
    has ended."""
    try:
        fields: list[Any] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])
