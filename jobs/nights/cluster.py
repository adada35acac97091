"""The processes of a cluster on this machine: started, found again, served; and the workers that a forecast counts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pipeline
from jobs.config.cluster import begin_thread
from jobs.errors import ConfigError, Problem
from jobs.silence.seal import start as start_outside
from jobs.stop import Stop

_FILE: Final = "processes.json"
_STARTS_SECONDS: Final = 60.0
_ENDS_SECONDS: Final = 15.0
Found = Sequence[Mapping[str, Any]] | str
"""The workers that are listed; or why nobody can be asked."""
_LOOK_SECONDS = 0.5


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
        with contextlib.suppress(ChildProcessError):  # take note of those that ended, where `up` was this process, too
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.05)
    for process in local.alive():
        _signal(process, signal.SIGKILL)
    return len(alive)


def _signal(process: Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process.pid, number)


def began(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine did (proc(5): stat, field 22); None for none, or one that
    has ended."""
    try:
        fields: list[Any] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


@dataclass(frozen=True)
class Seen:
    """The machines that would work on a run now, at the scheduler of that address. `problem`: why they are fewer than
    a site wants, or are those of the last run."""

    address: str
    machines: int
    problem: str | None = None


def ask(cluster: pipeline.plan.Cluster) -> Found:
    """Ask who is listed."""
    try:
        return pipeline.cluster.look_at_workers(cluster)
    except pipeline.MachineRefusedError as error:
        return str(error)


def see(cluster: pipeline.plan.Cluster, found: Found, before: int) -> Seen:
    """Who of those that were found would work on a run. `before` machines worked on the job's last one: they count
    where nobody can be asked."""
    if isinstance(found, str):
        return Seen(cluster.scheduler, before, f"{found}; as many as in the last run are counted")
    ready = sum(member["state"] == "ready" for member in found)
    told = "; ".join(f"{member['worker']}: {member['why']}" for member in found if member["state"] != "ready")
    if not ready:
        why = f"no worker is ready ({told or 'none is listed'}): this machine would work alone"
        return Seen(cluster.scheduler, 1, why)
    return Seen(cluster.scheduler, ready, f"not counted: {told}" if told else None)


def until_signal(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Do the work on a thread of its own; SIGTERM and SIGINT set the event that it gets. Raises what it raises."""
    done: Future[None] = Future()
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    loop.set_default_executor(ThreadPoolExecutor(2, pipeline.plan.CLUSTER_THREADS))

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            done.set_result(loop.run_until_complete(work(stop)))
        except BaseException as error:
            done.set_exception(error)

    with Stop("Stopping.") as asked:
        begin_thread(threading.Thread(target=run, name=pipeline.plan.CLUSTER_THREADS, daemon=True))
        while not done.done():
            if asked.wait(_LOOK_SECONDS):
                loop.call_soon_threadsafe(stop.set)
                break
        done.result()
