import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import audit

ORIGIN = "example.org/cloister"


class Clock:
    """Stamps that differ from commit to commit and are the same in every run."""

    def __init__(self) -> None:
        self.commits = 0

    def __call__(self) -> audit.Stamp:
        self.commits += 1
        time = f"2026-11-20T22:00:00.{self.commits:06d}Z"
        return audit.Stamp(time, "b0075c3e-0000-4000-8000-000000000000", 1_000_000 + self.commits, "host", "user")


@dataclass
class Site:
    """A log with its key; `records(k)` are k small records, so that an entry takes about 180 bytes."""

    folder: Path
    key_path: Path
    public_key: str
    clock: Clock

    def open(self) -> audit.Log:
        return audit.Log.open(self.folder, key_path=self.key_path, public_key=self.public_key, stamp=self.clock)

    def commit(self, *counts: int) -> None:
        with self.open() as log:
            for count in counts:
                log.commit(self.records(count))

    def records(self, count: int) -> list[dict[str, object]]:
        return [{"type": "document", "run": "r", "score": 0.25, "name": f"döc {i}"} for i in range(count)]

    def verify(self, folder: Path | None = None) -> audit.VerifyReport:
        return audit.verify(folder or self.folder, self.public_key)

    def entries(self) -> list[dict[str, object]]:
        return [entry for _, entry in audit.read_entries(self.folder, self.public_key)]


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("key") / "log.key"
    return path, audit.generate_key(path, ORIGIN)


@pytest.fixture
def make_site(key: tuple[Path, str]) -> Callable[[Path], Site]:
    def make(folder: Path) -> Site:
        audit.Log.create(folder, key_path=key[0], public_key=key[1])
        return Site(folder, *key, Clock())

    return make


@pytest.fixture
def site(tmp_path: Path, make_site: Callable[[Path], Site]) -> Site:
    return make_site(tmp_path / "audit")


@pytest.fixture(scope="session")
def data() -> Path:
    """Where CLOISTER_DATA points: public test vectors, not part of this repository."""
    if "CLOISTER_DATA" not in os.environ:
        pytest.skip("CLOISTER_DATA is not set")
    return Path(os.environ["CLOISTER_DATA"])
