"""A scheduler and workers as processes of this machine, as `cluster up` starts them, for tests that kill them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.cluster.authority import make_credentials
from pipeline.plan import Cluster

COMMAND = (sys.executable, "-P", "-c", "import sys; from jobs.cli import main; sys.exit(main())")
PATIENCE = 900.0  # seconds: in a fresh checkout, on a busy machine, workers compile for minutes


@dataclass
class Started:
    """A process, and the log of what it says."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def wait_for(self, begins: str, since: int = 0) -> str:
        """What follows `begins` in the first line of the log that begins so, after `since` bytes."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for line in self.log.read_bytes()[since:].decode("utf-8", "replace").splitlines():
                if line.startswith(begins):
                    return line.removeprefix(begins)
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        raise AssertionError(f"it did not say {begins!r}: {self.log.read_text()}")

    def kill(self) -> None:
        """End it at once, also where it is stopped."""
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()


@dataclass
class Machines:
    """A cluster on this machine. `folder` has credentials, logs, and the models of each worker."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    scheduler: Started | None = None
    workers: dict[str, Started] = field(default_factory=dict)

    @property
    def head(self) -> Path:
        return make_credentials(self.folder / "keys")[0]

    @property
    def worker(self) -> Path:
        return make_credentials(self.folder / "keys")[1]

    @property
    def address(self) -> str:
        return f"tls://{self.host}:{self.port}"

    @property
    def cluster(self) -> Cluster:
        """The cluster, as a plan is told of it."""
        return Cluster(self.address, self.head)

    def start_scheduler(self, *, listens: bool = True) -> None:
        """Start the scheduler, at the port that it had before; `listens`: wait until it does."""
        arguments = [
            "cluster",
            "scheduler",
            "--host",
            self.host,
            "--port",
            str(self.port),
            "--credential",
            str(self.head),
        ]
        self.scheduler = self._start("scheduler", arguments)
        if listens:
            self.port = int(self.scheduler.wait_for("listening: ").rpartition(":")[2])

    def start_worker(
        self,
        name: str,
        *,
        isa: str | None = None,
        models: str | None = None,
        listed: bool = True,
        within: Sequence[str] = (),
    ) -> None:
        """Start a worker with one thread, and models of its own or in the folder models-MODELS; `listed`: wait until it
        is; `within`: a command that starts it somewhere else."""
        folder = self.folder / f"models-{models or name}"
        arguments = ["worker", self.address, "--credential", str(self.worker), "--models", str(folder), "--name", name]
        more = {"CLOISTER_ISA": isa} if isa else {}
        self.workers[name] = self._start(name, arguments, within, CLOISTER_THREADS="1", **more)
        if listed:
            self.workers[name].wait_for("listed: ")

    def _start(self, name: str, arguments: Sequence[str], within: Sequence[str] = (), **environment: str) -> Started:
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*within, *COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={**os.environ, **environment},
            )  # fmt: skip
        return Started(process, log)

    def end(self) -> None:
        """End all."""
        for each in [*self.workers.values(), *([self.scheduler] if self.scheduler else [])]:
            each.kill()


@contextmanager
def machines(folder: Path, workers: Sequence[str] = (), host: str = "127.0.0.1") -> Iterator[Machines]:
    """A cluster with these workers, whose processes end with it; `host`: the address of the scheduler."""
    folder.mkdir(exist_ok=True)
    found = Machines(folder, host)
    try:
        found.start_scheduler()
        for name in workers:
            found.start_worker(name, listed=False)
        for each in found.workers.values():
            each.wait_for("listed: ")
        yield found
    finally:
        found.end()


def hang(started: Started) -> None:
    """Stop a process as if it hung."""
    started.process.send_signal(signal.SIGSTOP)


def on(started: Started) -> None:
    """Let a process go on that was stopped."""
    started.process.send_signal(signal.SIGCONT)
