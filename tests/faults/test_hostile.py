"""Nights over documents made to hurt, and over real ones: one state each, in time, with the right class."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pipeline
from pipeline.errors import DocumentError
from pipeline.parse import Limits, Options, ParserPool
from tests.faults.hostile import BOMBS, hostile
from tests.faults.night import OVERRUN, PER_PATH, Morning, copy, fill, make_plan, spend
from tests.faults.samples import SAMPLES

FILES = 10 * len(BOMBS)  # each bomb once


def night(root: Path, source: Path | int) -> Morning:
    plan, outside = make_plan(root / "workspace"), root / "elsewhere"
    outside.mkdir()
    folder = plan.input.folder
    allowed = fill(folder, source) if isinstance(source, int) else copy(source, folder)
    return spend(plan, allowed, outside)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for what is written outside a workspace."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    return tmp_path


def test_a_night_of_hostile_files(scratch: Path) -> None:
    morning = night(scratch, FILES)
    assert morning.wrong == ()
    assert morning.report.seen >= FILES


def test_a_night_of_real_documents(scratch: Path, data_folder: Path) -> None:
    morning = night(scratch, data_folder / "documents")
    assert morning.wrong == ()
    assert morning.per_path <= PER_PATH
    failures = {row["failure"] for row in morning.rows}
    assert failures <= {None, *(each.value for each in pipeline.Failure)} - {"crashed", "timeout", "out_of_memory"}


def test_the_generator_makes_the_same_files_again() -> None:
    assert [one.data for one in hostile(30)] == [one.data for one in hostile(30)]


@pytest.mark.parametrize("suffix", SAMPLES)
def test_what_is_damaged_was_valid(pool: ParserPool, suffix: str) -> None:
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as out:
        file.write(SAMPLES[suffix])
        file.flush()
        if suffix in {"png", "tiff", "jpg"}:
            with pytest.raises(DocumentError, match="needs_ocr"):
                pool.parse(file.fileno(), f"sample.{suffix}", Options(), out.fileno())
        else:
            parsed = pool.parse(file.fileno(), f"sample.{suffix}", Options(), out.fileno())
            assert parsed.text or parsed.members


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(1, Limits(seconds=4, memory_bytes=1 << 30)) as pool:
        yield pool


@pytest.mark.parametrize("name", BOMBS)
def test_no_bomb_outlives_its_limit(pool: ParserPool, name: str) -> None:
    bomb = next(one for one in hostile(FILES) if f"-{name}." in one.name)
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as out:
        file.write(bomb.data)
        file.flush()
        begun, ended = time.monotonic(), "done"
        try:
            pool.parse(file.fileno(), bomb.name, Options(), out.fileno())
        except DocumentError as error:
            ended = error.failure
        assert time.monotonic() - begun < 4 + OVERRUN
    assert not bomb.ends or ended in bomb.ends
