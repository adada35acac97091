"""The indexes of a log that is far ahead of them are made by a child of the console, and pages say how far it is."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pipeline
from jobs.console import indexes
from jobs.console.indexes import Indexes
from tests.benchmarks.bench_queue import site_in, write_documents

DOCUMENTS = 6_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with more rows than a console takes in by itself."""
    root = tmp_path_factory.mktemp("large") / "ws"
    write_documents(root, site_in(root), 0, DOCUMENTS)
    return root


@pytest.fixture
def behind(large: Path) -> Iterator[Indexes]:
    """Its indexes, which are not made yet."""
    for file in (large / "state").glob("*.sqlite*"):
        file.unlink()
    made = Indexes(site_in(large))
    yield made
    made.close()


def until(made: Indexes, *, seconds: float = 60) -> None:
    """Wait until they are made."""
    end = time.monotonic() + seconds
    while made.behind():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_child_makes_them_and_pages_tell_how_far_it_is(behind: Indexes, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken_in_here(*_: object) -> bool:
        raise AssertionError("the console itself took in what a child should have")

    before, size = behind.behind() or (-1, -1)
    assert (before, size > DOCUMENTS) == (0, True)
    monkeypatch.setattr(pipeline.index.open_index(behind.site).__class__, "_take_in", taken_in_here)
    behind.start()
    until(behind)
    with behind.opened() as index:
        assert index.count(pipeline.index.Filter()) == DOCUMENTS
        assert sum(run.rows for run in index.runs()) == DOCUMENTS


def test_where_no_child_can_be_had_the_console_makes_them(behind: Indexes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes.sys, "executable", "/bin/false")
    behind.start()
    until(behind)
    with behind.opened() as queue:
        assert queue.count(pipeline.index.Filter()) == DOCUMENTS


def test_a_console_that_ends_ends_the_child(behind: Indexes) -> None:
    behind.start()
    while not behind._making:
        time.sleep(0.01)
    began = time.monotonic()
    behind.close()
    assert time.monotonic() - began < 60
    assert behind._thread is not None
    assert not behind._thread.is_alive()
