"""Calling for help: when a run has ended, the commands of `notify` that ask for it are told, and the metrics written.

A command that fails, hangs or floods is a recorded warning: whatever it does, the night goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import audit
import pipeline
from jobs.config.job import JobConfig
from jobs.config.plan import make_plan, make_site
from jobs.config.when import NotifyConfig
from jobs.config.workspace import Workspace, load_job_of
from jobs.errors import ConfigError
from jobs.silence.seal import start
from jobs.visible import one_line

SUCCESS, FAILURE, REFUSED, NOTHING, UNLIKE = "success", "failure", "refused", "nothing_arrived", "unlike"
WINDOW_CLOSED = "window_closed"
_MOST_SENTENCE: Final = 2_000  # characters
_MOST_COMMAND: Final = 1_000
_AGAIN: Final = timedelta(hours=20)  # until it is told again that the log was not verified, or of the same refusal
_LOOK: Final = timedelta(hours=1)  # between two looks whether it was

Warn = Callable[[str], None]


@dataclass(frozen=True)
class Happening:
    """What a command is told, and the causes for which it is called. `run` is None where there was none."""

    cause: str
    sentence: str
    job: str | None = None
    run: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    also: tuple[str, ...] = ()

    @property
    def causes(self) -> set[str]:
        """The causes that a command may be asked to be called for."""
        return {self.cause, *self.also}


def happenings(config: JobConfig, report: pipeline.RunReport) -> Iterator[Happening]:
    """What there is to tell of a run that ended: at most how it ended, that its window closed before, and that the
    night is unlike those before."""
    counts, run = dict(report.counts), report.run
    arrived = report.seen - report.counts["ignored"]
    answered = arrived - report.counts["pending"]
    failed, happened = report.counts["failed"], list[tuple[str, str]]()
    ended = f"{answered - failed:,} of {answered:,} documents were answered; {failed:,} failed."
    if failed or (answered and not report.ended_early):
        happened.append((FAILURE if failed else SUCCESS, report.verdict or ended))
    elif config.schedule and not (arrived or report.retried or report.rerun or report.ended_early):
        happened.append((NOTHING, "Nothing arrived though it should have: the run found no document."))
    if report.window_closed:
        left = report.counts["pending"]
        told = f"The window closed before all documents were done; {left:,} wait for the next run."
        happened.append((WINDOW_CLOSED, told))
    if report.unlike:
        happened.append((UNLIKE, " ".join(report.unlike)))
    yield from (Happening(cause, sentence, report.job, run, counts) for cause, sentence in happened)


def refusal(name: str | None, error: Exception) -> Happening:
    """What there is to tell of a run that could not be: its model or a file was refused, or it could not go on; without
    a name, of a service that cannot go on.

    No text of an error of the system is told, for it may name a document.
    """
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return Happening(FAILURE, f"The run could not go on: {reason}.", name)
    if isinstance(error, audit.AuditError):
        what = "run" if name else "service"
        return Happening(FAILURE, f"The log stopped the {what}: {one_line(str(error))}", name)
    problems = error.problems if isinstance(error, ConfigError) else (error,)
    return Happening(REFUSED, one_line("; ".join(one_line(str(each)) for each in problems)), name, also=(FAILURE,))


@dataclass
class Calling:
    """Tells of what happens in a workspace. `warn` hears of what went wrong with that."""

    workspace: Workspace
    warn: Warn
    stop: Callable[[], bool] = lambda: False
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
        self._site = make_site(self.workspace)
        self._standing = pipeline.proof.StatusNow(self._site)
        self._looked: datetime | None = None
        self._refusals: dict[str | None, tuple[str, datetime]] = {}  # job -> what was last told of it, and when

    def ended(self, config: JobConfig, report: pipeline.RunReport) -> None:
        """A run has ended."""
        self._refusals.pop(report.job, None)
        self._write_metrics()
        for each in happenings(config, report):
            self._tell(each, config)
        self.look()

    def refused(self, name: str | None, config: JobConfig | None, error: Exception) -> None:
        """A run could not be; `config` is None where the job's file cannot be read, and `name` where it is the service.
        What is tried again and again is told once a day."""
        happening, now = refusal(name, error), self.now()
        sentence, told = self._refusals.get(name, ("", now))
        if sentence == happening.sentence and now - told < _AGAIN:
            return
        self._refusals[name] = happening.sentence, now
        self._write_metrics()
        self._tell(happening, config)

    def look(self) -> None:
        """Look, once in an hour, whether the log was verified as often as site.yaml says."""
        days, notify, now = self.workspace.site.log.verify_days, self.workspace.site.notify, self.now()
        if days is None or notify is None or (self._looked is not None and now - self._looked < _LOOK):
            return
        self._looked = now
        try:
            self._standing.look()
            checked = self._standing.checked
        except audit.AuditError:  # a run tells what is wrong with a log
            return
        sentence = checked.overdue(days, now)
        if sentence and not (checked.told and now - datetime.fromisoformat(checked.told) < _AGAIN):
            self._tell(Happening(pipeline.proof.NOT_VERIFIED, sentence), None)

    def _tell(self, happening: Happening, config: JobConfig | None) -> None:
        for notify in (self.workspace.site.notify, config.notify if config else None):
            if notify and happening.causes.intersection(notify.on):
                self._call(notify, happening)

    def _call(self, notify: NotifyConfig, happening: Happening) -> None:
        message = {
            "cause": happening.cause,
            "job": happening.job,
            "run": happening.run,
            "counts": dict(happening.counts),
            "sentence": happening.sentence[:_MOST_SENTENCE],
            "workspace": str(self.workspace.root),
            "time": self.now().isoformat(timespec="seconds"),
        }
        told = f"{json.dumps(message)}\n".encode()
        called = call(notify.command, told, notify.seconds, self.workspace.root, self.stop)
        command = shlex.join(notify.command)[:_MOST_COMMAND]
        if called.problem:
            said = f"; it said: {one_line(called.said)}" if called.said.strip() else ""
            self.warn(f"notify, {happening.cause}: {one_line(command)}: {called.problem}{said}")
        notified = pipeline.records.Notified(
            cause=happening.cause, of_job=happening.job, command=command, code=called.code, problem=called.problem
        )
        recorded = pipeline.records.record(self._site, notified)
        if recorded.why is not None:
            self.warn(f"notify, {happening.cause}: not recorded: {one_line(recorded.why)}")

    def _write_metrics(self) -> None:
        named = self.workspace.site.metrics
        if named is None:
            return
        try:
            self._standing.look()
            write_metrics(self.workspace, self._standing, self.workspace.root / named)
        except (OSError, audit.AuditError) as error:
            self.warn(f"metrics: {named} cannot be written: {one_line(str(error))}")


class Sample(NamedTuple):
    """A figure with its labels."""

    labels: Mapping[str, str]
    value: float


def write_metrics(workspace: Workspace, standing: pipeline.proof.StatusNow, path: Path) -> None:
    """Replace the file by one with the figures of now, which a reader sees whole or not at all. OSError."""
    audit.write_file_atomically(path, metrics(workspace, standing).encode())
    path.chmod(0o644)  # the exporter runs as another user


def metrics(workspace: Workspace, standing: pipeline.proof.StatusNow) -> str:
    """The figures in the Prometheus text format (version 0.0.4): HELP and TYPE for each family, then its samples."""
    jobs = standing.jobs
    families = (
        ("documents", "Rows that runs made, by job and state; also those that newer ones replaced.",
         [Sample({"job": each.job, "state": state.value}, each.totals[state.value])
          for each in jobs for state in pipeline.states.OF_RUNS]),
        ("last_run_seconds", "Seconds that the last run took which did something.",
         [Sample({"job": each.job}, each.seconds) for each in jobs if each.seconds is not None]),
        ("last_success_timestamp_seconds", "When the last run ended in which no document failed.",
         [Sample({"job": each.job}, _seconds(each.succeeded_at)) for each in jobs if each.succeeded_at]),
        ("last_verified_timestamp_seconds", "When the log was last verified with nothing found wrong.",
         [Sample({}, _seconds(standing.checked.verified))] if standing.checked.verified else []),
        ("log_entries", "Entries of the audit log.", [Sample({}, standing.size)]),
        ("waiting_files", "Complete files that wait in the folder of a job.", list(_waiting(workspace))),
    )  # fmt: skip
    return "".join(_family(f"cloister_{name}", says, samples) for name, says, samples in families)


def _waiting(workspace: Workspace) -> Iterator[Sample]:
    """The files of each job that has a file and a folder; the others are told of by `cloister status --check`."""
    for path in workspace.job_files():
        try:
            plan = make_plan(workspace, load_job_of(workspace, path))
            found = pipeline.scan(plan.input)
        except (ConfigError, OSError):
            continue
        yield Sample({"job": plan.job}, len(found.ready))


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _family(name: str, says: str, samples: list[Sample]) -> str:
    if not samples:
        return ""
    lines = [f"# HELP {name} {says}", f"# TYPE {name} gauge", *(_line(name, each) for each in samples)]
    return "\n".join(lines) + "\n"


def _line(name: str, sample: Sample) -> str:
    """A line such as `cloister_waiting_files{job="triage"} 3`: names of jobs and states need no escapes."""
    labels = ",".join(f'{key}="{value}"' for key, value in sample.labels.items())
    return f"{name}{{{labels}}} {sample.value:.15g}" if labels else f"{name} {sample.value:.15g}"


MOST_OUTPUT: Final = 65_536
"""Bytes that a command may write, stdout and stderr together."""
STOP_SECONDS: Final = 2.0
"""How long it may go on once the service is asked to stop."""
_LOOK_SECONDS: Final = 0.2
_SHOWN: Final = 400  # bytes of output, from its end


@dataclass(frozen=True)
class Called:
    """How a command ended. `code`: its exit code, None if it did not end by itself; `problem`: what went wrong, None
    if nothing did; `said`: the end of its output."""

    code: int | None
    problem: str | None
    said: str = ""


def call(command: Sequence[str], told: bytes, seconds: float, place: Path, stop: Callable[[], bool]) -> Called:
    """Run the command in the folder `place` with `told` on its standard input. Never raises because of the command."""
    try:
        process = start(
            command,
            cwd=place,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Called(None, f"it could not be started: {reason}")
    try:
        return _followed(process, told, seconds, stop)
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


def _followed(process: subprocess.Popen[bytes], told: bytes, seconds: float, stop: Callable[[], bool]) -> Called:
    assert process.stdin
    assert process.stdout
    with contextlib.suppress(OSError):  # it may have closed its input, or ended; a pipe has room for all of this
        os.set_blocking(process.stdin.fileno(), False)
        process.stdin.write(told)
        process.stdin.close()
    out, output, open_ = process.stdout.fileno(), b"", True
    end = time.monotonic() + seconds
    stopped_at: float | None = None
    while (ended := process.poll()) is None:
        now = time.monotonic()
        if stop():
            stopped_at = stopped_at or now
        if stopped_at is not None and now >= stopped_at + STOP_SECONDS:
            return Called(None, "it was killed, because the service is to stop", _shown(output))
        if now >= end:
            return Called(None, f"timed out: it was killed after {seconds:g} seconds", _shown(output))
        wait = max(0.0, min(_LOOK_SECONDS, end - now))
        if not open_:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(wait)
        elif select.select([out], [], [], wait)[0]:
            read = os.read(out, MOST_OUTPUT)
            output, open_ = output + read, bool(read)
        if len(output) > MOST_OUTPUT:
            return Called(None, f"it was killed, because it wrote more than {MOST_OUTPUT:,} bytes", _shown(output))
    output += _rest(out) if open_ else b""
    if ended < 0:
        return Called(None, f"it was ended by {_name_of(-ended)}", _shown(output))
    return Called(ended, f"it ended with exit code {ended}" if ended else None, _shown(output))


def _rest(out: int) -> bytes:
    """Read what is left in the pipe, without waiting for its end: a process that the command left may hold it open."""
    os.set_blocking(out, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(out, MOST_OUTPUT)
    return b""


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # of the real-time signals only the first and the last one have a name
        return f"signal {number}"


def _shown(output: bytes) -> str:
    return output[-_SHOWN:].decode(errors="replace")
