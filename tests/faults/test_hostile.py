"""Nights over documents made to hurt, and over real ones: one state each, in time, with the right class."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import DocumentError
from pipeline.parse import Limits, Options, ParserPool
from tests.faults.hostile import BOMBS, hostile
from tests.faults.night import OVERRUN
from tests.faults.samples import SAMPLES

ROOT = Path(__file__).parents[2]
SECONDS = 2.0
FILES = 10 * len(BOMBS)  # each bomb once


def night(*arguments: str | Path) -> str:
    """In a process of its own, whose memory is measured: what it prints. Everything must hold."""
    command = [sys.executable, "-m", "tests.faults.night", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_night_of_hostile_files() -> None:
    assert "done" in night("--files", str(FILES))


def test_a_night_of_real_documents(data_folder: Path) -> None:
    told = night("--folder", data_folder / "documents")
    assert not {"crashed", "timeout", "out_of_memory"} & set(told.split())


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
    with ParserPool(1, Limits(seconds=SECONDS, memory_bytes=1 << 30)) as pool:
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
        assert time.monotonic() - begun < SECONDS + OVERRUN
    assert not bomb.ends or ended in bomb.ends
