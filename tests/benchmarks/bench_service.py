"""The service over many jobs and a long log: its start, what it costs while nothing happens, and how soon it ends.

    python -m tests.benchmarks.bench_service [--documents N] [--jobs N] [--seconds S] [--folder DIR] [--writer FILE]

Needs CLOISTER_MODEL, an encoder. The log and the results are those of bench_queue; to them come so many jobs, of which
every other one has a schedule. The workspace stays in --folder, if that is given, and is taken as it is if it is there.
`cloister serve` is started as systemd starts it, with a socket that is told when it is ready: first without any index
in state/, then with what that start left there. Of each start: seconds from exec to READY=1; the share of one CPU that
the process and its children take in --seconds (60) in which nothing happens, from 30 seconds after READY=1 on, and the
largest sum of their PSS meanwhile; then seconds from SIGTERM to exit while a text of some 600,000 tokens is computed.
With --writer, a GGUF file, also while that model writes.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.benchmarks.bench_job import ENDS, OBJECTS, SUBJECTS, VERBS, tree_pss
from tests.benchmarks.bench_queue import site_in, write_documents

MIB: Final = 1 << 20
BARS: Final = {"start": 3.0, "idle": 1.0, "memory": 300.0, "stop": 5.0}
SETTLE_SECONDS: Final = 30.0
READY_SECONDS: Final = 600.0
SENTENCES: Final = 45_000
JOB: Final = """\
job: {name}
input: {{settle_seconds: 0}}
{schedule}model: {{name: {model}}}
task:
  type: {task}
  labels:
    - {{name: invoice, description: "an invoice: the amount that is due"}}
    - {{name: letter, description: "a letter with a question or a complaint"}}
"""
SCHEDULE: Final = 'schedule: {{cron: "{minute} 3 1 1 *", timezone: UTC}}\n'


def make_workspace(root: Path, documents: int, jobs: int, writer: Path | None) -> None:
    """Make what is not there yet."""
    site = site_in(root)
    if not (root / "made").exists():
        write_documents(root, site, 0, documents)
        (root / "made").write_text(str(documents))
    models = {"encoder": Path(os.environ["CLOISTER_MODEL"]), **({"writer": writer} if writer else {})}
    for name, file in models.items():
        shutil.copy(file, root / "models" / f"{name}.gguf")
    for number in range(jobs):
        schedule = SCHEDULE.format(minute=number % 60) if number % 2 else ""
        _write_job(root, f"job-{number:03d}", "encoder", schedule)
    for name in models:
        _write_job(root, name, name, "")


def _write_job(root: Path, name: str, model: str, schedule: str) -> None:
    text = JOB.format(name=name, model=model, task="classify", schedule=schedule)
    (root / "jobs" / f"{name}.yaml").write_text(text)


class Served:
    """`cloister serve` as systemd starts it."""

    def __init__(self, root: Path) -> None:
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.bind(f"\0cloister-bench-{os.getpid()}-{time.monotonic_ns()}")
        address = "@" + self.told.getsockname()[1:].decode()
        command = [sys.executable, "-P", "-c", "from jobs.cli import main; main()", "serve", "--workspace", str(root)]
        environment = os.environ | {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "900000000"}
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True)

    def ready_after(self) -> float:
        """Seconds from exec to READY=1."""
        self.told.settimeout(READY_SECONDS)
        while b"READY=1" not in self.told.recv(4096):
            pass
        return time.perf_counter() - self.begun

    def idle(self, seconds: float) -> tuple[float, float]:
        """Percent of one CPU, and the largest PSS in MiB, while nothing happens."""
        time.sleep(SETTLE_SECONDS)
        begun, before, most = time.perf_counter(), _cpu_seconds(self.process.pid), 0
        while (passed := time.perf_counter() - begun) < seconds:
            most = max(most, tree_pss(self.process.pid))
            time.sleep(min(5.0, seconds - passed))
        return 100 * (_cpu_seconds(self.process.pid) - before) / (time.perf_counter() - begun), most / MIB

    def wait_for(self, event: str) -> None:
        """Read its lines up to this one."""
        assert self.process.stderr
        for line in self.process.stderr:
            if json.loads(line)["event"] == event:
                return
        raise AssertionError(f"the service ended before {event!r}")

    def stopped_after(self) -> float:
        """Seconds from SIGTERM to the end."""
        begun = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=READY_SECONDS)
        assert self.process.returncode == 0
        return time.perf_counter() - begun


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process, its threads and the children that it waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def write_long(path: Path, sentences: int) -> None:
    """A text without an end, for a model."""
    chance = random.Random(7)
    lines = (" ".join(map(chance.choice, (SUBJECTS, VERBS, OBJECTS, ENDS))) for _ in range(sentences))
    path.write_text(f"{time.time_ns()}\n" + ".\n".join(lines))


def measure(root: Path, title: str, seconds: float, writer: Path | None) -> None:
    """Start, wait, give it a document, end it, and print a table."""
    figures = {}
    served = Served(root)
    figures["start", "seconds to READY=1"] = served.ready_after()
    share, memory = served.idle(seconds)
    figures["idle", "percent of a CPU while nothing happens"] = share
    figures["memory", "MiB of PSS while nothing happens"] = memory
    write_long(root / "inbox" / "encoder" / "long.txt", SENTENCES)
    served.wait_for("computing a long document")
    figures["memory", "MiB of PSS with a document in work"] = tree_pss(served.process.pid) / MIB
    figures["stop", "seconds from SIGTERM to exit, an encoder"] = served.stopped_after()
    (root / "inbox" / "encoder" / "long.txt").unlink()
    if writer:
        served = Served(root)
        served.ready_after()
        for number in range(8):
            write_long(root / "inbox" / "writer" / f"{number}.txt", 300)
        served.wait_for("documents found")
        time.sleep(SETTLE_SECONDS)
        figures["stop", "seconds from SIGTERM to exit, a model that writes"] = served.stopped_after()
        for file in (root / "inbox" / "writer").iterdir():
            file.unlink()
    print(f"\n{title}\n\n| | | bar |\n|---|---|---|")
    for (bar, what), value in figures.items():
        print(f"| {what} | {value:.2f} | {BARS[bar]:g}{'' if value < BARS[bar] else ', missed'} |", flush=True)


def main() -> None:
    """The command."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--documents", type=int, default=1_000_000)
    told.add_argument("--jobs", type=int, default=200)
    told.add_argument("--seconds", type=float, default=60.0)
    told.add_argument("--folder", type=Path)
    told.add_argument("--writer", type=Path)
    asked = told.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = asked.folder or Path(folder) / "ws"
        make_workspace(root, asked.documents, asked.jobs, asked.writer)
        for kept in ("history", "nights"):
            shutil.rmtree(root / "state" / kept, ignore_errors=True)
        for file in (root / "state").glob("*.sqlite*"):
            file.unlink()
        measure(root, "without indexes", asked.seconds, asked.writer)
        measure(root, "with indexes", asked.seconds, asked.writer)


if __name__ == "__main__":
    main()
