"""A workspace as `cloister init` makes it, with a small model, and the command itself, run in this process."""

import contextlib
import inspect
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import audit
from jobs.cli import main
from jobs.config.load import load_site
from tests.conftest import made_once

LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"
INVOICE = "Invoice 2026-17. Total due: EUR 120.00. Please pay to the account below.\n"
# Without pictures: no run has to ask Tesseract what it can.
SORT = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}, ocr: off}}
model: {{name: tiny}}
task:
  type: classify
  threshold: 0.0
  labels:
    - {{name: lease, description: "a lease of a flat: landlord, tenant"}}
    - {{name: invoice, description: "an invoice: total due"}}
"""
WITH_PICTURES = SORT.replace(", ocr: off", "")
"""The same job, which reads pictures, as all do that say nothing of it."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout, which has to be one JSON document."""
        return json.loads(self.out)


Cloister = Callable[..., Done]


@pytest.fixture
def cloister(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cloister:
    """Runs the command with these arguments."""
    monkeypatch.delenv("COLUMNS", raising=False)  # as wide as where there is no terminal

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["cloister", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        told = capfd.readouterr()
        return Done(int(end.value.code or 0), told.out, told.err)

    return run


@dataclass(frozen=True)
class Place:
    """A workspace under test."""

    root: Path

    def job(self, name: str, text: str = SORT, afterwards: str = "archive") -> Path:
        """Writes a job file and makes its inbox."""
        (self.root / "inbox" / name).mkdir(exist_ok=True)
        file = self.root / "jobs" / f"{name}.yaml"
        file.write_text(text.format(name=name, afterwards=afterwards))
        return file

    def drop(self, job: str, name: str, text: str) -> Path:
        """Puts a document into a job's folder."""
        path = self.root / "inbox" / job / name
        path.write_text(text)
        return path

    def parts(self, job: str) -> list[Path]:
        """The finished parts of a job."""
        return sorted((self.root / "outbox" / job).glob("*.parquet"))


def entries(place: Place, *kinds: str) -> list[dict[str, Any]]:
    """The log's entries, all of them or those of some types."""
    key = load_site(place.root / "site.yaml").log.public_key
    return [entry for _, entry in audit.read_entries(place.root / "audit", key) if not kinds or entry["type"] in kinds]


@contextlib.contextmanager
def held(place: Place) -> Iterator[audit.Log]:
    """The log of a workspace, held by somebody who takes nothing up."""
    log = load_site(place.root / "site.yaml").log
    with audit.Log.open(place.root / "audit", key_path=place.root / log.key, public_key=log.public_key) as held:
        yield held


def finished(make: Callable[..., Place]) -> Any:
    """A fixture of a workspace, in which commands run: `make` makes it once in a run of the suite, and each test has a
    copy."""
    needs = [*inspect.signature(make).parameters]

    def brought(
        request: pytest.FixtureRequest,
        tmp_path: Path,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Place:
        def fill(folder: Path) -> None:
            made = make(**{name: request.getfixturevalue(name) for name in needs})
            made.root.rename(folder / "ws")

        kept = made_once(tmp_path_factory, f"{make.__module__}.{make.__name__}", fill)
        shutil.rmtree(tmp_path / "ws", ignore_errors=True)  # of another fixture, on which this one would go on
        place = Place(shutil.copytree(kept / "ws", tmp_path / "ws", symlinks=True))
        monkeypatch.chdir(place.root)
        monkeypatch.delenv("CLOISTER_WORKSPACE", raising=False)
        return place

    return pytest.fixture(name=make.__name__)(brought)


@finished
def place(tmp_path: Path, cloister: Cloister) -> Place:
    """An empty workspace."""
    assert cloister("init", tmp_path / "ws", "--origin", "test.example/log").code == 0
    return Place(tmp_path / "ws")


@finished
def ready(place: Place, tiny_model: Path) -> Place:
    """A workspace with a model and the job `sort`."""
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("sort")
    return place


@finished
def answered(ready: Place, cloister: Cloister) -> Place:
    """The same after a run of one document, lease.txt."""
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    return ready
