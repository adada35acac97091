"""Every command of OPERATING.md is run in its order, and the bad mornings that it is about are provoked before.

What begins with `cloister` is run in this process, as the other tests do it; a shell runs the rest."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from jobs.bundle.install import install
from jobs.bundle.versions import this_machine
from tests.bundle.disk import make_disk
from tests.jobs.conftest import Cloister, Done
from tests.pages import text_of

PAGE = "OPERATING.md"
JOB = "correspondence-triage"
MODEL = "all-minilm-l6-v2-q8_0"
CLOISTER = "from jobs.cli import main; main()"
TRIES = {"run": (0, 1), "rerun": (0, 1), "doctor": (0, 7), "status": (0, 7)}
"""Documents that fail and machines that have a problem are no mistake of the page."""
UNTRUSTED = " || true"
"""Ends a command that is to end with exit code 4."""


@dataclass(frozen=True)
class Operator:
    """A person with the page, a folder in which commands are given, a model, and an installation in `folder`/opt."""

    folder: Path
    model: Path
    cloister: Cloister

    def run(self, command: str) -> Done:
        """Run a line of the page; what is installed lies in the folder of the test, and capitals stand for names."""
        command = command.replace("DATE", self.newest("backups", "2*")).replace("PART.parquet", self.part().name)
        program, *words = shlex.split(command.removesuffix(UNTRUSTED))
        if program != "cloister":
            done = subprocess.run(command, shell=True, capture_output=True, text=True)
            return Done(done.returncode, done.stdout, done.stderr)
        if words[0] == "bundle" and words[1] != "verify":
            words += ["--prefix", str(self.folder / "opt")]
        return self.cloister(*words)

    def newest(self, folder: str, pattern: str) -> str:
        """The name of the last of some files; nothing where there is none."""
        return max((path.name for path in (self.folder / folder).glob(pattern)), default="")

    def part(self) -> Path:
        """The first table of the job."""
        outbox = self.folder / "office" / "outbox" / JOB
        return min(outbox.glob("*.parquet"), default=outbox)

    def alter(self) -> None:
        """Somebody changes a result."""
        self.part().write_bytes(self.part().read_bytes()[:-1])

    def drop(self, *names: str) -> None:
        """Documents come in."""
        inbox = self.folder / "office" / "inbox" / JOB
        for name in names:
            (inbox / f"{name}.txt").write_text(
                f"Invoice {name}. Total due: EUR 120.00. Please pay to the account below.\n"
            )

    def done(self) -> int:
        """How many documents have an answer."""
        rows = json.loads(self.run(f"cloister results {JOB} --json --workspace office").out)
        return sum(row["state"] in ("done", "abstained", "review") for row in rows)

    def first_day(self) -> None:
        """What an installation would bring for the example: its model and some documents."""
        self.run(f"cloister init office --example {JOB}")
        done = self.cloister("model", "import", self.model, "--name", MODEL, "--workspace", "office")
        assert done.code == 0, done.err
        self.drop("invoice-1001", "invoice-1002")

    def crash(self) -> None:
        """A run is killed in the middle."""
        self.drop(*(f"night-{number}" for number in range(40)))
        command = [sys.executable, "-P", "-c", CLOISTER, "run", JOB, "--workspace", "office"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            lock = self.folder / "office" / "archive" / JOB / ".staging"
            while process.poll() is None and not (lock.is_dir() and any(lock.iterdir())):
                time.sleep(0.01)  # until the run has taken a document in
            process.send_signal(signal.SIGKILL)

    def tamper(self) -> None:
        """Somebody changes a byte of the log."""
        entries = next(path for path in sorted((self.folder / "office" / "audit").rglob("*.jsonl")))
        data = bytearray(entries.read_bytes())
        data[len(data) // 2] ^= 1
        entries.write_bytes(data)

    def open_key(self) -> None:
        """Somebody lets others read the key of the log."""
        (self.folder / "office" / "keys" / "log.key").chmod(0o644)
        refused = self.run(f"cloister run {JOB} --workspace office")
        assert (refused.code, "chmod 600 " in refused.err) == (2, True)

    def invite(self) -> None:
        """Somebody may use the console who will leave."""
        assert self.run("cloister console invite Anna --role reviewer --workspace office").code == 0

    def nobody_sends(self) -> None:
        """A night passes in which no document comes."""
        assert self.run(f"cloister run {JOB} --workspace office").code == 0


PROVOKED: Mapping[str, Callable[[Operator], None]] = {
    "The first day": Operator.first_day,
    "The machine crashed, or somebody killed the run": Operator.crash,
    "A key or a folder has other rights": Operator.open_key,
    "A result or a document was changed": Operator.alter,
    "The log cannot be trusted": Operator.tamper,
    "Nothing came": Operator.nobody_sends,
    "The handover": Operator.invite,
}


def commands() -> list[tuple[str, str]]:
    """Each command of the page, with the heading above it."""
    heading, inside, found = "", False, []
    for line in text_of(PAGE).splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside and line.strip() == "```console"
        elif line.startswith("#"):
            heading = line.lstrip("# ")
        elif inside and line.strip().startswith("$ "):
            found.append((heading, line.strip()[2:]))
    return found


@pytest.fixture
def operator(tmp_path: Path, real_model: Path, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> Operator:
    """Somebody in an empty folder, with an installation of a small bundle, a newer one, and its maker's key."""
    folder, disk = tmp_path / "work", make_disk(tmp_path / "disk")
    folder.mkdir()
    install(disk.bundle("first"), folder / "opt", disk.public_key, str(date.today()), this_machine(), print)
    shutil.copy(disk.bundle("update"), folder / "new.bundle")
    (folder / "vendor.pub").write_text(disk.public_key + "\n")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CLOISTER_WORKSPACE", raising=False)
    return Operator(folder, real_model, cloister)


def test_every_command_of_the_page(operator: Operator) -> None:
    told: dict[str, str] = {}
    before = ""
    for heading, command in commands():
        if heading != before and heading in PROVOKED:
            PROVOKED[heading](operator)
        before = heading
        done = operator.run(command)
        words = command.split()
        expected = TRIES.get(words[1], (0,)) if words[0] == "cloister" else (0,)
        assert done.code in ((4,) if command.endswith(UNTRUSTED) else expected), (command, done.out, done.err)
        told[f"{heading}: {command}"] = done.out
        if heading.startswith("The machine crashed"):
            assert operator.done() == 42, "what came before the kill, and what came after it"
    changed = "A result or a document was changed: cloister audit verify --workspace office"
    assert "part-" in told[f"{changed} || true"]
    assert "unchanged, and nothing else" in told[changed]
    assert "CANNOT BE TRUSTED" in told["The log cannot be trusted: cloister audit verify --workspace office || true"]
    assert " whole: " in told["The log cannot be trusted: cloister audit verify --workspace office"]
    assert " whole: " in told["The machine is gone: cloister audit verify --workspace elsewhere"]
    assert "ok       key " in told["The machine is gone: cloister doctor --workspace elsewhere"]
    assert "no documents" in told["Nothing came: cloister status --workspace office"]
    assert "1.1" in told["The update: cloister bundle list"]
    assert "old file" in told["The handover: cloister audit key show --workspace office"]


def test_each_provoked_morning_is_on_the_page() -> None:
    headings = {heading for heading, _ in commands()}
    assert set(PROVOKED) <= headings
    assert len(commands()) >= 40
